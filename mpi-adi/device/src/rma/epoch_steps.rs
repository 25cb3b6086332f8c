//! Calls on epochs, and their next actions.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::epochs::{
    Epoch, EpochArgs, EpochKind, EpochMember, EpochState, TicketRef, WindowEvent, WindowSequence,
};
use crate::rma::one_sided::OneSided;
use crate::rma::origin_requests::ReplyPurpose;
use crate::rma::peers::PeerFlags;
use crate::rma::rules::{BrokenRule, EpochRules};
use crate::rma::window::Window;
use crate::rma::wire::{self, HEAD_BYTES, PacketKind, RequestHead};

/// Next action of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EpochAction {
    /// None, for now.
    Wait,
    Open,
    /// Completes.
    End,
    /// Sends a packet.
    Send(PendingHead),
}

/// A packet that contains only a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PendingHead {
    pub(super) target: Rank,
    pub(super) kind: PacketKind,
    pub(super) operation: u8,
    pub(super) awaited: Option<ReplyPurpose>,
}

impl PendingHead {
    pub(super) fn one_way(target: Rank, kind: PacketKind) -> PendingHead {
        PendingHead {
            target,
            kind,
            operation: 0,
            awaited: None,
        }
    }

    pub(super) fn with_reply(target: Rank, kind: PacketKind, awaited: ReplyPurpose) -> PendingHead {
        PendingHead {
            awaited: Some(awaited),
            ..PendingHead::one_way(target, kind)
        }
    }

    fn lock(target: Rank, operation: u8) -> PendingHead {
        PendingHead {
            operation,
            ..PendingHead::one_way(target, PacketKind::Lock)
        }
    }
}

/// Result of an attempt to send.
pub(super) enum RmaTxResult {
    /// A packet to transmit.
    Packet(OutgoingPacket),
    /// Handled locally, or requires no packet of its own.
    Local,
    /// Must wait.
    NoSpace,
}

impl Window {
    /// Returns the next action of a closed start epoch: the dones to its targets.
    fn done_of<R: EpochRules>(&self, rules: R, place: usize, is_free: impl Fn(Rank) -> bool) -> EpochAction {
        let epoch = &self.epochs[place];
        for member in epoch.members.iter().filter(|member| !member.is_told) {
            let rank = member.rank;
            let granted = !epoch.checks || self.peers.grants(rank) > 0;
            let is_first = self.is_done_next(place, rank) || rules.is_broken(BrokenRule::DonesInAnyOrder);
            if !is_first || !granted || !is_free(rank) {
                continue;
            }
            // Operations and the end of the epoch keep their order; only errors require a reply.
            return EpochAction::Send(
                if self.exposure.is_dynamic && self.peers.has(rank, PeerFlags::TOUCHED) {
                    PendingHead::with_reply(rank, PacketKind::Flush, ReplyPurpose::Done)
                } else {
                    PendingHead::one_way(rank, PacketKind::Complete)
                },
            );
        }
        if epoch.members.iter().all(|member| member.is_told) {
            EpochAction::End
        } else {
            EpochAction::Wait
        }
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Returns the next action of the epoch at `place` of the window at `at`.
    pub(super) fn next_step(&self, at: usize, place: usize) -> EpochAction {
        let window = &self.windows[at];
        let epoch = &window.epochs[place];
        if !epoch.is_active() {
            return EpochAction::Wait;
        }
        match epoch.sort {
            EpochKind::Post => Self::next_of_post(epoch),
            EpochKind::Start if epoch.closed.is_none() => EpochAction::Wait,
            EpochKind::Start => window.done_of(self.rules, place, |rank| {
                let has_left =
                    !window.has_deferred(epoch.serial, Some(rank)) || self.is_broken(BrokenRule::DoneBeforeOperations);
                let has_come =
                    !self.awaits(window.context, Some(rank)) || self.is_broken(BrokenRule::DoneBeforeResults);
                has_left && has_come
            }),
            EpochKind::Lock { target, is_exclusive } => self.next_of_lock(window, epoch, target, is_exclusive),
            EpochKind::LockAll => self.next_of_lock_all(window, epoch),
            EpochKind::Fence => self.next_of_fence(window, epoch),
        }
    }

    fn next_of_post(epoch: &Epoch) -> EpochAction {
        let untold = epoch.members.iter().find(|member| !member.is_told);
        match untold {
            Some(member) => EpochAction::Send(PendingHead::one_way(member.rank, PacketKind::Post)),
            None if epoch.step < EpochState::Open => EpochAction::Open,
            None if epoch.closed.is_some() && epoch.members.iter().all(|one| one.has_done) => EpochAction::End,
            None => EpochAction::Wait,
        }
    }

    fn next_of_lock(&self, window: &Window, epoch: &Epoch, target: Rank, is_exclusive: bool) -> EpochAction {
        let awaits = || self.awaits(window.context, Some(target));
        let flush = EpochAction::Send(PendingHead::with_reply(target, PacketKind::Flush, ReplyPurpose::Done));
        let is_left = || {
            let waits = window.has_deferred(epoch.serial, None) || awaits();
            epoch.closed.is_some() && (!waits || self.is_broken(BrokenRule::UnlocksEarly))
        };
        match epoch.step {
            EpochState::Begun => EpochAction::Send(PendingHead::lock(target, self.wanted_lock(epoch, is_exclusive))),
            EpochState::Requested | EpochState::Urged if window.peers.has(target, PeerFlags::HELD) => EpochAction::Open,
            EpochState::Requested if self.has_others(epoch) && !self.is_broken(BrokenRule::NeverUrges) => {
                EpochAction::Send(PendingHead::lock(target, wire::URGENT))
            }
            EpochState::Open if !is_left() => EpochAction::Wait,
            EpochState::Open if epoch.checks => {
                EpochAction::Send(PendingHead::with_reply(target, PacketKind::Unlock, ReplyPurpose::Done))
            }
            EpochState::Open if window.peers.has(target, PeerFlags::TOUCHED) => flush,
            EpochState::Open => EpochAction::End,
            EpochState::Ending if !awaits() => EpochAction::End,
            _ => EpochAction::Wait,
        }
    }

    /// Returns the lock type of an epoch's LOCK.
    fn wanted_lock(&self, epoch: &Epoch, is_exclusive: bool) -> u8 {
        if is_exclusive {
            wire::EXCLUSIVE
        } else if self.has_others(epoch) {
            wire::SHARED_BESIDE
        } else {
            wire::SHARED
        }
    }

    /// Returns whether this process may have other locks than that of the epoch, or get them while it waits.
    fn has_others(&self, epoch: &Epoch) -> bool {
        let mut all = self.windows.iter().flat_map(|window| &window.epochs);
        let is_another = |other: &Epoch| {
            let locks = matches!(other.sort, EpochKind::Lock { .. } | EpochKind::LockAll);
            locks && other.is_active() && !core::ptr::eq(other, epoch)
        };
        all.any(is_another) && !self.is_broken(BrokenRule::QueuesBeside)
    }

    fn next_of_lock_all(&self, window: &Window, epoch: &Epoch) -> EpochAction {
        if let Some(target) = window.peers.next_with(PeerFlags::WANTED, 0) {
            let wish = if self.is_broken(BrokenRule::QueuesBeside) {
                wire::SHARED
            } else {
                wire::SHARED_BESIDE
            };
            return EpochAction::Send(PendingHead::lock(target, wish));
        }
        let is_left =
            epoch.closed.is_some() && !window.has_deferred(epoch.serial, None) && !self.awaits(window.context, None);
        if !is_left {
            return EpochAction::Wait;
        }
        let ask = |target, kind| EpochAction::Send(PendingHead::with_reply(target, kind, ReplyPurpose::Done));
        if let Some(target) = window.peers.next_with(PeerFlags::HELD, 0) {
            return ask(target, PacketKind::Unlock);
        }
        match window.peers.next_with(PeerFlags::TOUCHED, 0) {
            Some(target) => ask(target, PacketKind::Flush),
            None if window.peers.next_with(PeerFlags::ASKED, 0).is_some() => EpochAction::Wait,
            None => EpochAction::End,
        }
    }

    fn next_of_fence(&self, window: &Window, epoch: &Epoch) -> EpochAction {
        let tree = &window.tree;
        match epoch.step {
            EpochState::Begun if !tree.have_all_arrived() && !self.is_broken(BrokenRule::ArrivesAlone) => {
                EpochAction::Wait
            }
            EpochState::Begun => match tree.parent {
                Some(parent) => EpochAction::Send(PendingHead::one_way(parent, PacketKind::Arrived)),
                None => EpochAction::Open,
            },
            EpochState::Open if epoch.closed.is_some() => {
                if window.has_deferred(epoch.serial, None) {
                    return EpochAction::Wait;
                }
                if self.is_broken(BrokenRule::ArrivesUnflushed) {
                    return EpochAction::End;
                }
                match window.peers.next_with(PeerFlags::TOUCHED, 0) {
                    Some(target) => {
                        EpochAction::Send(PendingHead::with_reply(target, PacketKind::Flush, ReplyPurpose::Done))
                    }
                    None if self.awaits(window.context, None) => EpochAction::Wait,
                    None => EpochAction::End,
                }
            }
            _ => EpochAction::Wait,
        }
    }

    /// Sends a pending packet: handles it locally, or emits it.
    pub(super) fn send_head(
        &mut self,
        at: usize,
        due: PendingHead,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> RmaTxResult {
        let (context, target) = (self.windows[at].context, due.target);
        let name = match due.awaited {
            None => 0,
            Some(awaited) => {
                let into = (Span::EMPTY, 0);
                match self.await_reply((context, target), awaited, into) {
                    Some(name) => name,
                    None => return RmaTxResult::NoSpace,
                }
            }
        };
        if due.kind == PacketKind::Flush {
            self.windows[at].peers.clear(target, PeerFlags::TOUCHED);
        }
        let head = RequestHead {
            operation: due.operation,
            ..RequestHead::new(due.kind, context)
        };
        head.emit(out);
        if target == self.here {
            // Cannot fail: the origin has checked the packet.
            let _ = self.act_on_self(memory, name, &out[..HEAD_BYTES]);
            return RmaTxResult::Local;
        }
        RmaTxResult::Packet(OutgoingPacket {
            dest: target,
            argument: name,
            place: None,
            len: HEAD_BYTES,
        })
    }

    /// Returns the end of an epoch that can be piggybacked on the operation at `last`, which is to be sent to `target`
    /// now: no other operation is pending there, and no reply is outstanding from there.
    pub(super) fn ends_with(&self, at: usize, last: usize, target: Rank) -> Option<(usize, PendingHead)> {
        let window = &self.windows[at];
        let place = window.epoch_at(window.deferred[last].epoch)?;
        let epoch = &window.epochs[place];
        let is_closed = epoch.closed.is_some() && epoch.checks && epoch.step == EpochState::Open;
        let is_last = || !window.has_deferred_but(last, target) && !self.awaits(window.context, Some(target));
        if !is_closed || !is_last() && !self.is_broken(BrokenRule::EndsWithAny) {
            return None;
        }
        let granted = || window.peers.grants(target) > 0 && window.is_done_next(place, target);
        let due = match epoch.sort {
            EpochKind::Lock { .. } => PendingHead::with_reply(target, PacketKind::Unlock, ReplyPurpose::Done),
            // Only a flush reports displacements outside of attached memory.
            EpochKind::Start if !window.exposure.is_dynamic && granted() => {
                PendingHead::one_way(target, PacketKind::Complete)
            }
            _ => return None,
        };
        Some((place, due))
    }

    /// Updates the epoch after this packet was sent.
    pub(super) fn note_sent(&mut self, at: usize, place: usize, due: PendingHead) {
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        match due.kind {
            PacketKind::Post | PacketKind::Complete => {
                let is_it = |member: &&mut EpochMember| member.rank == due.target && !member.is_told;
                if let Some(member) = epoch.members.iter_mut().find(is_it) {
                    member.is_told = true;
                }
                let checks = epoch.checks;
                if due.kind == PacketKind::Complete
                    && checks
                    && let Some(peer) = window.peers.peer(due.target)
                {
                    peer.grants -= 1;
                }
            }
            PacketKind::Lock if epoch.sort == EpochKind::LockAll => {
                window.peers.clear(due.target, PeerFlags::WANTED);
                window.peers.set(due.target, PeerFlags::ASKED);
            }
            PacketKind::Lock => {
                let may_queue = due.operation == wire::SHARED;
                epoch.reach(
                    if may_queue {
                        EpochState::Requested
                    } else {
                        EpochState::Urged
                    },
                    false,
                );
                // Another epoch with an earlier LOCK may have to urge.
                self.is_due = true;
            }
            PacketKind::Arrived => epoch.reach(EpochState::Requested, false),
            PacketKind::Unlock => {
                if epoch.sort != EpochKind::LockAll {
                    epoch.reach(EpochState::Ending, false);
                }
                for flag in [PeerFlags::TOUCHED, PeerFlags::HELD, PeerFlags::ASKED] {
                    window.peers.clear(due.target, flag);
                }
            }
            _ => {}
        }
    }

    /// Sets the epoch to open or complete.
    fn reach(&mut self, at: usize, place: usize, step: EpochState) {
        self.has_moved = true;
        let window = &mut self.windows[at];
        let epoch = &mut window.epochs[place];
        let tells = match step {
            EpochState::Complete => epoch.closing.is_some(),
            _ => epoch.opening.is_some() && epoch.sort == EpochKind::Fence,
        };
        let is_faulty = tells && core::mem::take(&mut window.is_faulty);
        epoch.reach(step, is_faulty);
        if epoch.sort == EpochKind::Fence && step == EpochState::Open {
            window.tree.release();
        }
    }

    /// Advances epochs as far as possible without a packet.
    pub(super) fn advance_epochs(&mut self, at: usize) {
        let rules = self.rules;
        let mut moved = true;
        while core::mem::take(&mut moved) {
            self.windows[at].begin(rules);
            for place in 0..self.windows[at].epochs.len() {
                let step = match self.next_step(at, place) {
                    EpochAction::Open => EpochState::Open,
                    EpochAction::End => EpochState::Complete,
                    _ => continue,
                };
                self.reach(at, place, step);
                moved = true;
            }
        }
    }

    /// Allocates memory for another epoch; returns false when the heap is full.
    pub fn prepare_epoch(&mut self, context: Context) -> bool {
        self.window(context).is_some_and(|window| {
            window.remove_completed();
            window.epochs.try_reserve(1).is_ok()
        })
    }

    /// Opens an epoch; returns its sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn open(&mut self, context: Context, opening: EpochArgs<'_>, told: TicketRef) -> Option<WindowSequence> {
        let at = self.place(context).expect("a window");
        self.outgoing.is_held = false;
        let window = &mut self.windows[at];
        window.remove_completed();
        let mut members = Vec::new();
        members.try_reserve_exact(opening.members.len()).ok()?;
        members.extend(opening.members.iter().map(|rank| EpochMember {
            rank: *rank,
            is_told: false,
            has_done: false,
        }));
        window.epochs.try_reserve(1).ok()?;
        let serial = window.next_sequence();
        window.epochs.push(Epoch {
            serial,
            sort: opening.sort,
            members,
            checks: opening.checks,
            step: EpochState::Deferred,
            closed: None,
            opening: told,
            closing: None,
        });
        self.advance_epochs(at);
        self.is_due = true;
        Some(serial)
    }

    /// Closes an epoch that is open in the program.
    pub fn close(&mut self, context: Context, epoch: WindowSequence, told: TicketRef) {
        let Some(at) = self.place(context) else {
            return;
        };
        self.outgoing.is_held = false;
        let window = &mut self.windows[at];
        let now = window.serial;
        if let Some(place) = window.epoch_at(epoch) {
            let epoch = &mut window.epochs[place];
            (epoch.closed, epoch.closing) = (Some(now), told);
        }
        self.advance_epochs(at);
        self.is_due = true;
    }

    /// Returns whether the watched condition is met.
    pub fn has_occurred(&self, context: Context, watch: WindowEvent) -> bool {
        let Some(at) = self.place(context) else {
            return true;
        };
        let window = &self.windows[at];
        let step = |serial| window.epoch_at(serial).map(|at| window.epochs[at].step);
        match watch {
            WindowEvent::Opened(serial) => step(serial).is_none_or(|step| step >= EpochState::Open),
            WindowEvent::Closed(serial) => step(serial).is_none_or(|step| step == EpochState::Complete),
            WindowEvent::Done(serial) => !window.deferred.iter().any(|deferred| deferred.waits(serial)),
        }
    }

    /// Returns whether all origins of an exposure epoch have completed their access, so that closing would complete it.
    pub fn can_end(&mut self, context: Context, epoch: WindowSequence) -> bool {
        let Some(window) = self.window(context) else {
            return true;
        };
        window.epoch_at(epoch).is_none_or(|at| {
            let epoch = &window.epochs[at];
            epoch.is_active() && epoch.members.iter().all(|member| member.has_done)
        })
    }

    /// Returns whether the epoch provides access to this process.
    pub fn includes(&mut self, context: Context, epoch: WindowSequence, target: Rank) -> bool {
        self.window(context).is_some_and(|window| {
            let place = window.epoch_at(epoch);
            place.is_some_and(|at| window.epochs[at].is_access_to(target))
        })
    }

    /// Returns whether operations of the epoch may be sent to `target` now, none waiting before them. Requests a
    /// required lock.
    pub fn can_access(&mut self, context: Context, epoch: WindowSequence, target: Rank) -> bool {
        let rules = self.rules;
        let Some(window) = self.window(context) else {
            return false;
        };
        let Some(place) = window.epoch_at(epoch) else {
            return false;
        };
        if window.has_deferred(epoch, Some(target)) {
            return false;
        }
        let has_access = window.has_access(rules, place, target);
        let is_wanted = !has_access && window.want(place, target);
        self.is_due |= is_wanted;
        has_access
    }

    /// Returns whether two epochs of a window are concurrently active that must not be: for a model checker.
    #[doc(hidden)]
    pub fn has_conflict(&self) -> bool {
        self.windows.iter().any(Window::has_conflict)
    }

    /// Returns whether the window has no incomplete epoch and no deferred operation.
    pub fn is_idle(&mut self, context: Context) -> bool {
        self.window(context).is_none_or(|window| window.is_idle())
    }
}
