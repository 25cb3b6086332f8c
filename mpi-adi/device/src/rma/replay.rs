//! Deferred operations and flushes on their way: recorded by a call, and sent when their epoch allows it. Operations of one
//! epoch for one target keep their order; others may overtake each other.
#![forbid(unsafe_code)]

use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::deferred_ops::{DeferredAction, DeferredEntry, RecordedOperation};
use crate::rma::epoch_steps::{PendingHead, RmaTxResult};
use crate::rma::epochs::{TicketRef, WindowSequence};
use crate::rma::one_sided::OneSided;
use crate::rma::origin_requests::ReplyPurpose;
use crate::rma::peers::PeerFlags;
use crate::rma::rules::EpochRules;
use crate::rma::wire::{HEAD_BYTES, MAX_BYTES, PIECE_BYTES, PacketKind, RequestHead, emit_piece, get_request};

/// Bytes of a reply's result.
const RESULT_BYTES: usize = 16;
/// Maximum bytes of one get of a deferred operation.
pub(super) const GET_BYTES: usize = 1 << 20;

/// Returns the displacement and length of the first contiguous run of up to `most` bytes.
fn first_run<R: EpochRules>(all: &OneSided<R>, span: Span, done: usize, most: usize) -> (u64, usize) {
    let mut first = None;
    (all.walk)(span, done, most, &mut |place, _, bytes| {
        first.get_or_insert((place as u64, bytes));
    });
    first.unwrap_or((0, most))
}

impl<R: EpochRules> OneSided<R> {
    /// Records an operation of an epoch on `target`, and returns its sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn defer(
        &mut self,
        context: Context,
        epoch: WindowSequence,
        target: Rank,
        operation: RecordedOperation,
        told: TicketRef,
    ) -> Option<WindowSequence> {
        let what = DeferredAction::Operation {
            operation,
            done: 0,
            is_asking: false,
        };
        self.record(context, epoch, Some(target), what, told)
    }

    /// Records a flush of all earlier operations of the epoch (0: all epochs) at `target` or everywhere; returns its
    /// sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn flush(
        &mut self,
        of: (Context, WindowSequence, Option<Rank>),
        is_local: bool,
        told: TicketRef,
    ) -> Option<WindowSequence> {
        let what = DeferredAction::Flush {
            is_local,
            from: 0,
            number: None,
        };
        let (context, epoch, target) = of;
        self.record(context, epoch, target, what, told)
    }

    /// Returns whether a flush at `target`, or everywhere, would send nothing and wait only for replies: nothing is
    /// deferred, and each operation sent has its reply, or only local completion is required.
    pub fn is_answered(&mut self, context: Context, target: Option<Rank>, is_local: bool) -> bool {
        self.window(context).is_none_or(|window| {
            let is_touched = match target {
                _ if is_local => false,
                Some(target) => window.peers.has(target, PeerFlags::TOUCHED),
                None => window.peers.next_with(PeerFlags::TOUCHED, 0).is_some(),
            };
            !is_touched && window.deferred.iter().all(DeferredEntry::is_done)
        })
    }

    fn record(
        &mut self,
        context: Context,
        epoch: WindowSequence,
        target: Option<Rank>,
        what: DeferredAction,
        told: TicketRef,
    ) -> Option<WindowSequence> {
        self.outgoing.is_held = false;
        let window = self.window(context).expect("a window");
        window.remove_completed();
        window.deferred.try_reserve(1).ok()?;
        let serial = window.next_sequence();
        window.deferred.push(DeferredEntry {
            serial,
            epoch,
            target,
            what,
            told,
        });
        self.is_due = true;
        Some(serial)
    }

    /// Advances the deferred operations of the window at `at`, up to one packet; with `only_here`, without packets.
    pub(super) fn replay(
        &mut self,
        at: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> RmaTxResult {
        let mut result = RmaTxResult::NoSpace;
        for place in 0..self.windows[at].deferred.len() {
            let sent = match self.windows[at].deferred[place].what {
                DeferredAction::Done => continue,
                DeferredAction::Operation { .. } => self.advance_operation(at, place, memory, out, only_here),
                DeferredAction::Flush { .. } => self.advance_flush(at, place, memory, out, only_here),
            };
            match sent {
                RmaTxResult::Packet(leaving) => {
                    result = RmaTxResult::Packet(leaving);
                    break;
                }
                RmaTxResult::Local => result = RmaTxResult::Local,
                RmaTxResult::NoSpace => {}
            }
        }
        // The blocked flags are valid only within this pass.
        for place in 0..self.windows[at].deferred.len() {
            if let Some(target) = self.windows[at].deferred[place].target {
                self.windows[at].peers.clear(target, PeerFlags::BLOCKED);
            }
        }
        result
    }

    /// Advances an operation, if it may.
    fn advance_operation(
        &mut self,
        at: usize,
        place: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> RmaTxResult {
        let window = &self.windows[at];
        let (context, deferred) = (window.context, &window.deferred[place]);
        let (serial, Some(target)) = (deferred.serial, deferred.target) else {
            return RmaTxResult::NoSpace;
        };
        if !deferred.has_pending_tx() {
            if self.origin_requests.awaits_for(context, serial) {
                return RmaTxResult::NoSpace;
            }
            self.windows[at].deferred[place].end(false);
            return RmaTxResult::Local;
        }
        let epoch = window.epoch_at(deferred.epoch);
        let is_blocked = window.peers.has(target, PeerFlags::BLOCKED) || only_here && target != self.here;
        let has_access = |epoch| window.has_access(self.rules, epoch, target);
        let sent = match epoch {
            Some(epoch) if !is_blocked && has_access(epoch) => self.issue(at, place, (context, target), memory, out),
            Some(epoch) if !is_blocked && self.windows[at].want(epoch, target) => {
                self.is_due = true;
                RmaTxResult::NoSpace
            }
            _ => RmaTxResult::NoSpace,
        };
        // A self-targeted operation may have advanced partly without a packet.
        let window = &mut self.windows[at];
        if matches!(sent, RmaTxResult::NoSpace) || window.deferred[place].has_pending_tx() {
            window.peers.set(target, PeerFlags::BLOCKED);
        }
        sent
    }

    /// Emits the next packet of an operation.
    fn issue(
        &mut self,
        at: usize,
        place: usize,
        of: (Context, Rank),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> RmaTxResult {
        let serial = self.windows[at].deferred[place].serial;
        let DeferredAction::Operation {
            operation,
            done,
            is_asking,
        } = self.windows[at].deferred[place].what
        else {
            return RmaTxResult::NoSpace;
        };
        let mut ends = None;
        let (name, len, passed, asks) = match operation.head.kind {
            _ if is_asking => return RmaTxResult::NoSpace,
            PacketKind::Get => return self.issue_get(at, place, of, memory, out),
            PacketKind::Put | PacketKind::Accumulate => {
                let (len, passed) = self.emit_pieces(operation, done, memory, out);
                if done + passed == operation.len {
                    ends = self.ends_with(at, place, of.1);
                }
                let awaited = ends.and_then(|(_, due)| due.awaited);
                let name = awaited.map(|awaited| self.await_reply(of, awaited, (Span::EMPTY, 0)));
                if name == Some(None) {
                    ends = None;
                }
                let head = RequestHead {
                    ends: ends.map(|(_, due)| due.kind),
                    ..operation.head
                };
                head.emit(out);
                (name.flatten().unwrap_or(0), len, passed, false)
            }
            _ => {
                let (len, bytes) = self.emit_request_of(operation, done, memory, out);
                let awaited = ReplyPurpose::Result(bytes as u32);
                let Some(name) = self.await_reply_for(serial, of.0, of.1, awaited, operation.into, done) else {
                    return RmaTxResult::NoSpace;
                };
                (name, len, 0, true)
            }
        };
        self.windows[at].deferred[place].count_sent(passed, asks);
        if of.1 == self.here {
            // Cannot fail: the origin has checked the packet.
            let _ = self.act_on_self(memory, name, &out[..len]);
        } else if !asks {
            self.windows[at].peers.set(of.1, PeerFlags::TOUCHED);
        }
        if let Some((epoch, due)) = ends {
            self.note_sent(at, epoch, due);
        }
        if of.1 == self.here {
            return RmaTxResult::Local;
        }
        RmaTxResult::Packet(OutgoingPacket {
            dest: of.1,
            argument: name,
            place: None,
            len,
        })
    }

    /// Emits a packet of a put or an accumulate; returns its length, and the data bytes in it.
    fn emit_pieces(
        &self,
        operation: RecordedOperation,
        done: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> (usize, usize) {
        operation.head.emit(out);
        let (mut end, mut passed, mut is_full) = (HEAD_BYTES, 0, false);
        let most = (operation.len - done).min(MAX_BYTES);
        (self.walk)(operation.to, done, most, &mut |place, before, bytes| {
            let room = (SHORT_BYTES - end).saturating_sub(PIECE_BYTES);
            let bytes = bytes.min(room) / operation.unit * operation.unit;
            // A run that does not fit starts the next packet; after a split run no further unit fits.
            is_full |= bytes == 0;
            if is_full {
                return;
            }
            let piece = emit_piece(&mut out[end..], place as u64, bytes);
            memory.read(operation.from, done + before, piece);
            (end, passed) = (end + PIECE_BYTES + bytes, passed + bytes);
        });
        (end, passed)
    }

    /// Emits a packet of a fetch or a compare; returns its length, and the number of bytes requested.
    fn emit_request_of(
        &self,
        operation: RecordedOperation,
        done: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> (usize, usize) {
        operation.head.emit(out);
        let room = if operation.unit <= RESULT_BYTES {
            RESULT_BYTES
        } else {
            MAX_BYTES
        };
        let most = (room / operation.unit * operation.unit).min(operation.len - done);
        let (place, bytes) = first_run(self, operation.to, done, most);
        let begin = HEAD_BYTES + PIECE_BYTES;
        let operand = emit_piece(&mut out[HEAD_BYTES..], place, bytes);
        if operation.head.kind == PacketKind::Compare {
            memory.read(operation.compare, 0, operand);
            memory.read(operation.from, 0, &mut out[begin + bytes..][..bytes]);
            return (begin + 2 * bytes, bytes);
        }
        if operation.from.is_empty() {
            return (begin, bytes);
        }
        memory.read(operation.from, done, operand);
        (begin + bytes, bytes)
    }

    /// Requests the next run of a get.
    fn issue_get(
        &mut self,
        at: usize,
        place: usize,
        of: (Context, Rank),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> RmaTxResult {
        let serial = self.windows[at].deferred[place].serial;
        let DeferredAction::Operation { operation, done, .. } = self.windows[at].deferred[place].what else {
            return RmaTxResult::NoSpace;
        };
        let most = (operation.len - done).min(GET_BYTES);
        let (from, bytes) = first_run(self, operation.to, done, most);
        let awaited = ReplyPurpose::Data {
            place: from,
            len: bytes as u32,
        };
        let Some(name) = self.await_reply_for(serial, of.0, of.1, awaited, operation.into, done) else {
            return RmaTxResult::NoSpace;
        };
        if let DeferredAction::Operation { done, .. } = &mut self.windows[at].deferred[place].what {
            *done += bytes;
        }
        if of.1 == self.here {
            let mut packet = [0; SHORT_BYTES];
            let len = get_request(&mut packet, of.0, from, bytes as u32);
            // As above.
            let _ = self.act_on_self(memory, name, &packet[..len]);
            return RmaTxResult::Local;
        }
        // Before the flush behind it, which checks whether it was out of bounds.
        self.origin_requests
            .request_now(name, out)
            .map_or(RmaTxResult::Local, RmaTxResult::Packet)
    }

    /// Advances a flush: after all earlier operations, it flushes each touched target, and waits for the replies.
    fn advance_flush(
        &mut self,
        at: usize,
        place: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> RmaTxResult {
        let window = &self.windows[at];
        let (context, flush) = (window.context, &window.deferred[place]);
        let target = flush.target;
        let DeferredAction::Flush { is_local, from, number } = flush.what else {
            return RmaTxResult::NoSpace;
        };
        let waits_for = |before: &DeferredEntry| {
            let is_of_it = flush.epoch == 0 || before.epoch == flush.epoch;
            is_of_it && before.is_for(target) && before.has_pending_tx()
        };
        if window.deferred[..place].iter().any(waits_for) {
            return RmaTxResult::NoSpace;
        }
        if let Some(number) = number {
            if self.origin_requests.awaits_before(number, context, target) {
                return RmaTxResult::NoSpace;
            }
            let window = &mut self.windows[at];
            let tells = window.deferred[place].told.is_some();
            let is_faulty = tells && core::mem::take(&mut window.is_faulty);
            window.deferred[place].end(is_faulty);
            return RmaTxResult::Local;
        }
        let from = from.max(target.map_or(0, Rank::index));
        let next = window
            .peers
            .next_with(PeerFlags::TOUCHED, from)
            .filter(|next| !is_local && target.is_none_or(|target| target == *next));
        let sent = match next {
            None => RmaTxResult::Local,
            Some(_) if only_here => RmaTxResult::NoSpace,
            Some(next) => {
                let due = PendingHead::with_reply(next, PacketKind::Flush, ReplyPurpose::Done);
                self.send_head(at, due, memory, out)
            }
        };
        let asked = self.origin_requests.asked;
        if !matches!(sent, RmaTxResult::NoSpace)
            && let DeferredAction::Flush { from, number, .. } = &mut self.windows[at].deferred[place].what
        {
            match next {
                None => *number = Some(asked),
                Some(next) => *from = next.index() + 1,
            }
        }
        sent
    }
}
