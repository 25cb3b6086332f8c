//! Packets to a target, and waiting for its answers: what the calls of this chapter are made of.

use msg_layer::header::SHORT_BYTES;

use super::state::{Extent, Home, Window, no_window, wrong};
use crate::device::envelope::Rank;
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::rma::epochs::Watch;
use crate::device::rma::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece};
use crate::device::rma::{self, Awaited, OneSided};
use crate::mpi::call;
use crate::mpi::error::{Class, Error};
use crate::mpi::lend::lend_until_over;

/// What a target has found, and tells when it is asked.
pub(crate) const BEYOND: Error = wrong(
    Class::RmaRange,
    "an operation since the last synchronization was beyond what its target exposes, and not done",
);

impl<H: Home> Window<'_, H> {
    pub fn note(&self, target: Option<Rank>) -> CallNote {
        CallNote {
            function: self.function,
            peer: target.map(|target| target.index() as i32),
            tag: None,
        }
    }

    /// Waits until `is_so` of the device.
    pub fn wait_until(&self, target: Option<Rank>, mut is_so: impl FnMut(&mut OneSided) -> bool) {
        call::block_on(self.env, self.note(target), |adi, _| {
            adi.with_one_sided(&mut is_so)?.then_some(())
        });
    }

    /// Waits until what is watched for is so.
    pub fn wait_for(&self, target: Option<Rank>, watch: Watch) {
        let context = self.context();
        self.wait_until(target, |all| all.is_over(context, watch));
    }

    /// Runs `f` on the device's windows.
    pub fn with_all<R>(&self, f: impl FnOnce(&mut OneSided) -> R) -> Result<R, Error> {
        let (mut f, mut result) = (Some(f), None);
        self.env.with(&mut |adi, _| {
            result = f.take().and_then(|f| adi.with_one_sided(f));
        });
        result.ok_or(no_window())
    }

    /// Runs `f` on the window as the device has it.
    pub fn change<R>(&self, f: impl FnOnce(&mut rma::Window) -> R) -> Option<R> {
        let (mut f, mut result) = (Some(f), None);
        let context = self.context();
        self.env.with(&mut |adi, _| {
            let change = f
                .take()
                .map(|f| move |all: &mut OneSided| all.window(context).map(f));
            result = change
                .and_then(|change| adi.with_one_sided(change))
                .flatten();
        });
        result
    }

    /// Sends a packet that is not answered; waits while there is no room for it.
    pub fn tell(&self, target: Rank, packet: &[u8]) {
        let (context, here) = (self.context(), self.here());
        call::block_on(self.env, self.note(Some(target)), |adi, kernel| {
            let is_told = adi.with_one_sided(|one_sided| {
                if target == here {
                    // What it says of itself it has checked.
                    let _ = one_sided.act_here(kernel.memory(), 0, packet);
                    return true;
                }
                one_sided.push((context, target), 0, packet)
            });
            is_told?.then_some(())
        });
    }

    /// Sends a packet that is answered, with the result to `offset` of the span; waits while there is no room for it.
    pub fn ask(&self, target: Rank, awaited: Awaited, into: (Span, usize), packet: &[u8]) {
        let (context, here) = (self.context(), self.here());
        call::block_on(self.env, self.note(Some(target)), |adi, kernel| {
            let ask = |one_sided: &mut OneSided| {
                let is_data = matches!(awaited, Awaited::Data { .. });
                if target != here && !is_data && !one_sided.has_room() {
                    return None;
                }
                let name = one_sided.await_answer((context, target), awaited, into)?;
                if target == here {
                    // As above.
                    let _ = one_sided.act_here(kernel.memory(), name, packet);
                } else if !is_data {
                    one_sided.push((context, target), name, packet);
                }
                Some(())
            };
            adi.with_one_sided(ask)?
        });
    }

    /// What has been made ready leaves, as far as the network has room now.
    pub fn set_off(&self) {
        self.env.with(&mut |adi, kernel| {
            adi.with_one_sided(|all| {
                if all.is_due() {
                    all.go_on_here(kernel.memory());
                }
            });
            if adi.has_to_send() {
                kernel.poll(adi);
            }
        });
    }

    /// Waits until all answers have come, or those of `target`.
    pub fn drain(&self, target: Option<Rank>) {
        let context = self.context();
        call::block_on(self.env, self.note(target), |adi, _| {
            let awaits = adi.with_one_sided(|all| all.awaits(context, target))?;
            (!awaits).then_some(())
        });
    }

    /// The packet of this kind that is nothing but its head.
    pub fn head(&self, kind: Kind, operation: u8) -> [u8; HEAD_BYTES] {
        let mut packet = [0; HEAD_BYTES];
        let head = Head {
            operation,
            ..Head::new(kind, self.context())
        };
        head.emit(&mut packet);
        packet
    }

    /// Fails if targets have found operations from here to be wrong.
    pub fn faults(&self) -> Result<(), Error> {
        match self.change(rma::Window::take_fault) {
            Some(true) => Err(BEYOND),
            _ => Ok(()),
        }
    }

    /// The target's part of the window.
    pub fn extent(&self, target: Rank) -> Result<Extent, Error> {
        let find = |(rank, _): &(Rank, Extent)| rank.index();
        let known = self.with(|object| {
            let place = object.extents.binary_search_by_key(&target.index(), find);
            Ok(object.uniform.or(place.ok().map(|at| object.extents[at].1)))
        })?;
        if let Some(extent) = known {
            return Ok(extent);
        }
        let mut bytes = [0u8; 16];
        lend_until_over(&mut bytes, |span| {
            let packet = self.head(Kind::Size, 0);
            self.ask(target, Awaited::Result(16), (span, 0), &packet);
            self.drain(Some(target));
        });
        let word = |at: usize| bytes[at..].first_chunk().copied().unwrap_or_default();
        let extent = Extent {
            size: u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default()),
            disp_unit: u32::from_le_bytes(word(8)),
        };
        self.with(|object| {
            let none = |_| Error::NoRoom {
                bytes: size_of::<(Rank, Extent)>(),
            };
            object.extents.try_reserve(1).map_err(none)?;
            if let Err(at) = object.extents.binary_search_by_key(&target.index(), find) {
                object.extents.insert(at, (target, extent));
            }
            Ok(extent)
        })
    }
}

/// Pieces on their way to a target, as many in a packet as it holds.
pub(super) struct Pieces<'a, H> {
    window: &'a Window<'a, H>,
    target: Rank,
    /// Where the bytes come from.
    from: Span,
    /// Bytes that stay together.
    unit: usize,
    packet: [u8; SHORT_BYTES],
    len: usize,
}

impl<'a, H: Home> Pieces<'a, H> {
    pub fn new(
        window: &'a Window<'a, H>,
        target: Rank,
        head: Head,
        (from, unit): (Span, usize),
    ) -> Pieces<'a, H> {
        let mut packet = [0; SHORT_BYTES];
        head.emit(&mut packet);
        Pieces {
            window,
            target,
            from,
            unit,
            packet,
            len: HEAD_BYTES,
        }
    }

    /// Sends `len` bytes from `offset` of the span to `place`.
    pub fn add(&mut self, mut place: u64, mut offset: usize, mut len: usize) {
        while len > 0 {
            let room = (SHORT_BYTES - self.len).saturating_sub(PIECE_BYTES);
            let most = len.min(room).min(MOST_BYTES);
            let bytes = most - most % self.unit;
            if bytes == 0 {
                self.leave();
                continue;
            }
            let from = self.from;
            let out = emit_piece(&mut self.packet[self.len..], place, bytes);
            self.window
                .env
                .with(&mut |_, kernel| kernel.memory().read(from, offset, out));
            self.len += PIECE_BYTES + bytes;
            (place, offset, len) = (place + bytes as u64, offset + bytes, len - bytes);
        }
    }

    fn leave(&mut self) {
        self.window.tell(self.target, &self.packet[..self.len]);
        self.len = HEAD_BYTES;
    }

    /// Sends what is left.
    pub fn end(mut self) {
        if self.len > HEAD_BYTES {
            self.leave();
        }
        self.window.set_off();
    }
}
