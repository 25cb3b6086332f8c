//! A window whose memory is attached and detached piece by piece, and operations beyond it.

use std::ops::Range;

use midplane_device::rma::wire::PacketKind;

use super::{JobDraw, LARGE, large};
use crate::epochs::memory::{DYNAMIC, address, part};
use crate::epochs::script::{ScriptCall, TargetOp};

/// Unit of attached memory in bytes; a piece is one or a few units.
const SLOT: usize = 192;
/// Maximum length of an operation beyond the window in bytes: one packet, or for a fetch one reply.
const MAX_BEYOND: usize = 64;
const MAX_FETCHED: usize = 8;
/// Addresses without memory in any process.
const NOWHERE: Range<usize> = 1..256;

/// Returns the target displacement that operations use for an offset in the window.
pub(super) fn name(window: usize, place: usize) -> usize {
    match window {
        DYNAMIC => address(place),
        _ => place,
    }
}

impl JobDraw {
    /// Checks whether these bytes of the window are attached.
    pub(super) fn is_exposed(&self, window: usize, target: u32, bytes: Range<usize>) -> bool {
        window != DYNAMIC || self.dynamic[target as usize].gap(bytes).is_none()
    }

    /// Returns the offset of the first `len` attached bytes, from `free` on.
    pub(super) fn exposed_from(&self, target: u32, free: usize, len: usize) -> Option<usize> {
        let mut place = free;
        while place + len <= part(DYNAMIC).len() {
            match self.dynamic[target as usize].gap(place..place + len) {
                None => return Some(place),
                Some(gap) => place = gap + 1,
            }
        }
        None
    }

    /// Lets all processes attach and detach when the window is idle, and then use it.
    pub(super) fn attachments(&mut self) {
        self.meet(DYNAMIC);
        for rank in 0..self.size {
            self.ask_for_faults(rank, DYNAMIC);
            self.attach_and_detach(rank);
        }
        match self.random.below(5) {
            0 => return self.fences(DYNAMIC),
            1 => return self.posts(DYNAMIC),
            _ => self.meet(DYNAMIC),
        }
        match self.random.below(3) {
            0 => self.locks(DYNAMIC),
            1 => self.nested_locks(DYNAMIC),
            _ => self.locks_of_all(DYNAMIC),
        }
    }

    fn attach_and_detach(&mut self, rank: u32) {
        let JobDraw {
            random,
            dynamic,
            scripts,
            ..
        } = self;
        let (pieces, script) = (&mut dynamic[rank as usize].pieces, &mut scripts[rank as usize]);
        if !pieces.is_empty() && random.chance(0.3) {
            let piece = pieces.swap_remove(random.index(pieces.len()));
            script.push(ScriptCall::Detach(piece.start));
        }
        let slots = part(DYNAMIC).len() / SLOT;
        for _ in 0..random.below(5) {
            let first = random.index(slots);
            let last = (first + random.index(4)).min(slots - 1);
            let piece = first * SLOT..(last + 1) * SLOT;
            let meets = |other: &Range<usize>| piece.start < other.end && other.start < piece.end;
            if !pieces.iter().any(meets) {
                script.push(ScriptCall::Attach(piece.clone()));
                pieces.push(piece);
            }
        }
    }

    /// Draws some operations, a few of which are beyond the attached memory.
    pub(super) fn operate_dynamically(&mut self, rank: u32, epoch: usize, target: u32) {
        for _ in 0..self.random.below(4) {
            match self.random.below(8) {
                0..3 => self.draw_put(rank, DYNAMIC, epoch, target),
                3 | 4 => self.draw_ordered(rank, DYNAMIC, epoch, target),
                5 => self.draw_beyond(rank, epoch, target),
                _ => self.draw_get(rank, DYNAMIC, epoch),
            }
        }
    }

    /// Draws an operation that is partly or completely beyond the attached memory: it has no effect.
    fn draw_beyond(&mut self, rank: u32, epoch: usize, target: u32) {
        let r = &mut self.random;
        let kinds = [
            PacketKind::Put,
            PacketKind::Accumulate,
            PacketKind::Get,
            PacketKind::Fetch,
            PacketKind::Compare,
        ];
        let kind = r.pick(&kinds);
        let len = 1 + r.index(match kind {
            PacketKind::Fetch | PacketKind::Compare => MAX_FETCHED,
            _ => MAX_BEYOND,
        });
        let place = r.index(part(DYNAMIC).len());
        let is_there = self.is_exposed(DYNAMIC, target, place..place + len);
        let place = if is_there || self.random.chance(0.2) {
            NOWHERE.start + self.random.index(NOWHERE.len())
        } else {
            address(place)
        };
        let Some(result) = self.result(rank, LARGE, 2 * len) else {
            return;
        };
        let from = match kind {
            PacketKind::Get => result,
            _ => large::source(DYNAMIC),
        };
        let what = TargetOp {
            other: result,
            is_straight: self.random.chance(0.5),
            ..TargetOp::new(epoch, target, kind, place, from, len)
        };
        self.perform(rank, what);
        self.dynamic[rank as usize].is_faulty = true;
    }

    /// Checks for a pending error, after the process has waited for all its operations in the window.
    pub(super) fn ask_for_faults(&mut self, rank: u32, window: usize) {
        let is_faulty = &mut self.dynamic[rank as usize].is_faulty;
        let is_faulty = window == DYNAMIC && std::mem::take(is_faulty);
        self.scripts[rank as usize].push(ScriptCall::Fault(window, is_faulty));
    }
}
