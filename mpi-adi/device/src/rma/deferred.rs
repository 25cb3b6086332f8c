//! Deferred operations and flushes: those of epochs that have not begun, those whose targets have not granted access
//! yet, and those with a request of the program.
//!
//! A record contains the call's arguments: spans and no bytes. Both spans are walked packet by packet in its turn, so
//! that no memory is used for the data. The buffers stay in use until then, as the standard specifies. Operations of
//! one epoch for one target keep their order; others may overtake each other.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};
use crate::parts::Leaving;
use crate::rma::epochs::{Due, Rules, Sent, Serial, Told};
use crate::rma::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece};
use crate::rma::{Awaited, Flags, OneSided, Window, get_request};

/// Bytes of a reply's result.
const RESULT_BYTES: usize = 16;
/// Maximum bytes of one get of a deferred operation.
pub(super) const GET_BYTES: usize = 1 << 20;

/// A recorded operation.
#[derive(Clone, Copy, Hash, Debug)]
pub struct Operation {
    /// Kind, operation and elements.
    pub head: Head,
    /// The origin's bytes; for a compare, the new element. Empty when there are none.
    pub from: Span,
    /// The element to compare with.
    pub compare: Span,
    /// The result buffer.
    pub into: Span,
    /// The bytes at the target: a span of displacements.
    pub to: Span,
    /// Length in bytes, 1 or more.
    pub len: usize,
    /// Bytes that must not be split.
    pub unit: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Operation {
        operation: Operation,
        /// Bytes that have been sent or requested.
        done: usize,
        /// A result is outstanding, before which nothing more is requested.
        is_asking: bool,
    },
    Flush {
        /// Local completion only: the origin's buffers can be reused.
        is_local: bool,
        /// Processes before this one have been flushed.
        from: u32,
        /// Set when all have been flushed: replies with a lower number are outstanding.
        number: Option<u64>,
    },
    Over,
}

/// A deferred operation or flush.
#[derive(Clone, Debug)]
pub struct Deferred {
    serial: Serial,
    pub(super) epoch: Serial,
    /// Of a flush: `None` means all targets.
    target: Option<Rank>,
    what: What,
    told: Told,
}

/// Size of a record in bytes.
pub const DEFERRED_BYTES: usize = size_of::<Deferred>();

impl Hash for Deferred {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.serial, self.epoch, self.target).hash(state);
        match self.what {
            What::Operation {
                done, is_asking, ..
            } => (done, is_asking).hash(state),
            What::Flush { from, number, .. } => (from, number.is_some()).hash(state),
            What::Over => {}
        }
    }
}

impl Deferred {
    pub(super) fn is_over(&self) -> bool {
        matches!(self.what, What::Over)
    }

    /// Returns whether it has this sequence number and is incomplete.
    pub(super) fn waits(&self, serial: Serial) -> bool {
        self.serial == serial && !self.is_over()
    }

    /// Returns whether part of it is still to be sent.
    fn is_to_leave(&self) -> bool {
        match self.what {
            What::Operation {
                operation,
                done,
                is_asking,
            } => done < operation.len || is_asking,
            _ => false,
        }
    }

    /// Records that `bytes` more bytes have been sent, and whether a reply is outstanding for the rest.
    fn note_passed(&mut self, bytes: usize, asks: bool) {
        if let What::Operation {
            done, is_asking, ..
        } = &mut self.what
        {
            (*done, *is_asking) = (*done + bytes, asks);
        }
    }

    fn is_for(&self, target: Option<Rank>) -> bool {
        self.target.is_none() || target.is_none() || self.target == target
    }

    fn end(&mut self, is_faulty: bool) {
        self.what = What::Over;
        if let Some(ticket) = self.told.take() {
            ticket.end(is_faulty);
        }
    }
}

impl Window {
    /// Returns whether operations of this epoch, for `target` if specified, are still to be sent.
    pub(super) fn has_deferred(&self, epoch: Serial, target: Option<Rank>) -> bool {
        let is_so = |deferred: &Deferred| {
            deferred.epoch == epoch && deferred.is_for(target) && deferred.is_to_leave()
        };
        self.deferred.iter().any(is_so)
    }

    /// Returns whether other operations for `target` of the same epoch as the one at `last` are still to be sent.
    pub(super) fn has_deferred_but(&self, last: usize, target: Rank) -> bool {
        let epoch = self.deferred[last].epoch;
        self.deferred.iter().enumerate().any(|(at, deferred)| {
            at != last
                && deferred.epoch == epoch
                && deferred.is_for(Some(target))
                && deferred.is_to_leave()
        })
    }
}

/// Returns the displacement and length of the first contiguous run of up to `most` bytes.
fn first_run<R: Rules>(all: &OneSided<R>, span: Span, done: usize, most: usize) -> (u64, usize) {
    let mut first = None;
    (all.walk)(span, done, most, &mut |place, _, bytes| {
        first.get_or_insert((place as u64, bytes));
    });
    first.unwrap_or((0, most))
}

impl<R: Rules> OneSided<R> {
    /// Records an operation of an epoch on `target`, and returns its sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn defer(
        &mut self,
        (context, epoch, target): (Context, Serial, Rank),
        operation: Operation,
        told: Told,
    ) -> Option<Serial> {
        let what = What::Operation {
            operation,
            done: 0,
            is_asking: false,
        };
        self.record((context, epoch, Some(target)), what, told)
    }

    /// Records a flush of all earlier operations of the epoch (0: all epochs) at `target` or everywhere; returns its
    /// sequence number. `None`: the heap is full.
    ///
    /// # Panics
    /// When the window does not exist.
    pub fn flush(
        &mut self,
        of: (Context, Serial, Option<Rank>),
        is_local: bool,
        told: Told,
    ) -> Option<Serial> {
        let what = What::Flush {
            is_local,
            from: 0,
            number: None,
        };
        self.record(of, what, told)
    }

    /// Returns whether a flush at `target`, or everywhere, would send nothing and wait only for replies: nothing is
    /// deferred, and each operation sent has its reply, or only local completion is required.
    pub fn is_answered(&mut self, context: Context, target: Option<Rank>, is_local: bool) -> bool {
        self.window(context).is_none_or(|window| {
            let is_touched = match target {
                _ if is_local => false,
                Some(target) => window.has(target, Flags::TOUCHED),
                None => window.next_with(Flags::TOUCHED, 0).is_some(),
            };
            !is_touched && window.deferred.iter().all(Deferred::is_over)
        })
    }

    fn record(
        &mut self,
        (context, epoch, target): (Context, Serial, Option<Rank>),
        what: What,
        told: Told,
    ) -> Option<Serial> {
        self.outbox.is_held = false;
        let window = self.window(context).expect("a window");
        window.sweep();
        window.deferred.try_reserve(1).ok()?;
        let serial = window.number();
        window.deferred.push(Deferred {
            serial,
            epoch,
            target,
            what,
            told,
        });
        self.is_due = true;
        Some(serial)
    }

    /// Handles the result of a deferred operation, `len` bytes; 0: rejected, to be requested again.
    pub(super) fn answered(&mut self, context: Context, serial: Serial, len: usize) {
        let Some(window) = self.window(context) else {
            return;
        };
        let is_it = |deferred: &&mut Deferred| deferred.serial == serial;
        if let Some(deferred) = window.deferred.iter_mut().find(is_it)
            && let What::Operation {
                done, is_asking, ..
            } = &mut deferred.what
        {
            (*done, *is_asking) = (*done + len, false);
        }
        self.is_due = true;
    }

    /// Advances the deferred operations of the window at `at`, up to one packet; with `only_here`, without packets.
    pub(super) fn replay(
        &mut self,
        at: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> Sent {
        let mut result = Sent::NoRoom;
        for place in 0..self.windows[at].deferred.len() {
            let sent = match self.windows[at].deferred[place].what {
                What::Over => continue,
                What::Operation { .. } => self.go_on((at, place), memory, out, only_here),
                What::Flush { .. } => self.flush_on((at, place), memory, out, only_here),
            };
            match sent {
                Sent::Packet(leaving) => {
                    result = Sent::Packet(leaving);
                    break;
                }
                Sent::Here => result = Sent::Here,
                Sent::NoRoom => {}
            }
        }
        // The blocked flags are valid only within this pass.
        for place in 0..self.windows[at].deferred.len() {
            if let Some(target) = self.windows[at].deferred[place].target {
                self.windows[at].clear(target, Flags::BLOCKED);
            }
        }
        result
    }

    /// Advances an operation, if it may.
    fn go_on(
        &mut self,
        (at, place): (usize, usize),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> Sent {
        let window = &self.windows[at];
        let (context, deferred) = (window.context, &window.deferred[place]);
        let (serial, Some(target)) = (deferred.serial, deferred.target) else {
            return Sent::NoRoom;
        };
        if !deferred.is_to_leave() {
            if self.awaits_for(context, serial) {
                return Sent::NoRoom;
            }
            self.windows[at].deferred[place].end(false);
            return Sent::Here;
        }
        let epoch = window.epoch_at(deferred.epoch);
        let is_blocked = window.has(target, Flags::BLOCKED) || only_here && target != self.here;
        let has_access = |epoch| window.has_access(self.rules, epoch, target);
        let sent = match epoch {
            Some(epoch) if !is_blocked && has_access(epoch) => {
                self.issue((at, place), (context, target), memory, out)
            }
            Some(epoch) if !is_blocked && self.want(context, epoch, target) => {
                self.is_due = true;
                Sent::NoRoom
            }
            _ => Sent::NoRoom,
        };
        // A self-targeted operation may have advanced partly without a packet.
        let window = &mut self.windows[at];
        if (matches!(sent, Sent::NoRoom) || window.deferred[place].is_to_leave())
            && let Some(flags) = window.flags(target)
        {
            flags.set(Flags::BLOCKED, true);
        }
        sent
    }

    /// Emits the next packet of an operation.
    fn issue(
        &mut self,
        (at, place): (usize, usize),
        of: (Context, Rank),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Sent {
        let serial = self.windows[at].deferred[place].serial;
        let What::Operation {
            operation,
            done,
            is_asking,
        } = self.windows[at].deferred[place].what
        else {
            return Sent::NoRoom;
        };
        let mut ends = None;
        let (name, len, passed, asks) = match operation.head.kind {
            _ if is_asking => return Sent::NoRoom,
            Kind::Get => return self.issue_get((at, place), of, memory, out),
            Kind::Put | Kind::Accumulate => {
                let (len, passed) = self.emit_pieces(operation, done, memory, out);
                if done + passed == operation.len {
                    ends = self.ends_with(at, place, of.1);
                }
                let awaited = ends.and_then(|(_, due)| due.awaited);
                let name = awaited.map(|awaited| self.await_answer(of, awaited, (Span::EMPTY, 0)));
                if name == Some(None) {
                    ends = None;
                }
                let head = Head {
                    ends: ends.map(|(_, due)| due.kind),
                    ..operation.head
                };
                head.emit(out);
                (name.flatten().unwrap_or(0), len, passed, false)
            }
            _ => {
                let (len, bytes) = self.emit_question(operation, done, memory, out);
                let (awaited, into) = (Awaited::Result(bytes as u32), (operation.into, done));
                let Some(name) = self.await_for(serial, of, awaited, into) else {
                    return Sent::NoRoom;
                };
                (name, len, 0, true)
            }
        };
        self.windows[at].deferred[place].note_passed(passed, asks);
        if of.1 == self.here {
            // Cannot fail: the origin has checked the packet.
            let _ = self.act_here(memory, name, &out[..len]);
        } else if !asks {
            self.windows[at].touch(of.1);
        }
        if let Some((epoch, due)) = ends {
            self.note_sent(at, epoch, due);
        }
        if of.1 == self.here {
            return Sent::Here;
        }
        Sent::Packet(Leaving {
            dest: of.1,
            argument: name,
            place: None,
            len,
        })
    }

    /// Emits a packet of a put or an accumulate; returns its length, and the data bytes in it.
    fn emit_pieces(
        &self,
        operation: Operation,
        done: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> (usize, usize) {
        operation.head.emit(out);
        let (mut end, mut passed, mut is_full) = (HEAD_BYTES, 0, false);
        let most = (operation.len - done).min(MOST_BYTES);
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
    fn emit_question(
        &self,
        operation: Operation,
        done: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> (usize, usize) {
        operation.head.emit(out);
        let room = if operation.unit <= RESULT_BYTES {
            RESULT_BYTES
        } else {
            MOST_BYTES
        };
        let most = (room / operation.unit * operation.unit).min(operation.len - done);
        let (place, bytes) = first_run(self, operation.to, done, most);
        let begin = HEAD_BYTES + PIECE_BYTES;
        let operand = emit_piece(&mut out[HEAD_BYTES..], place, bytes);
        if operation.head.kind == Kind::Compare {
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
        (at, place): (usize, usize),
        of: (Context, Rank),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Sent {
        let serial = self.windows[at].deferred[place].serial;
        let What::Operation {
            operation, done, ..
        } = self.windows[at].deferred[place].what
        else {
            return Sent::NoRoom;
        };
        let most = (operation.len - done).min(GET_BYTES);
        let (from, bytes) = first_run(self, operation.to, done, most);
        let awaited = Awaited::Data {
            place: from,
            len: bytes as u32,
        };
        let Some(name) = self.await_for(serial, of, awaited, (operation.into, done)) else {
            return Sent::NoRoom;
        };
        if let What::Operation { done, .. } = &mut self.windows[at].deferred[place].what {
            *done += bytes;
        }
        if of.1 == self.here {
            let mut packet = [0; SHORT_BYTES];
            let len = get_request(&mut packet, of.0, from, bytes as u32);
            // As above.
            let _ = self.act_here(memory, name, &packet[..len]);
            return Sent::Here;
        }
        // Before the flush behind it, which checks whether it was out of bounds.
        self.ask_now(name, out).map_or(Sent::Here, Sent::Packet)
    }

    /// Advances a flush: after all earlier operations, it flushes each touched target, and waits for the replies.
    fn flush_on(
        &mut self,
        (at, place): (usize, usize),
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
        only_here: bool,
    ) -> Sent {
        let window = &self.windows[at];
        let (context, flush) = (window.context, &window.deferred[place]);
        let target = flush.target;
        let What::Flush {
            is_local,
            from,
            number,
        } = flush.what
        else {
            return Sent::NoRoom;
        };
        let waits_for = |before: &Deferred| {
            let is_of_it = flush.epoch == 0 || before.epoch == flush.epoch;
            is_of_it && before.is_for(target) && before.is_to_leave()
        };
        if window.deferred[..place].iter().any(waits_for) {
            return Sent::NoRoom;
        }
        if let Some(number) = number {
            if self.awaits_before(number, context, target) {
                return Sent::NoRoom;
            }
            let window = &mut self.windows[at];
            let tells = window.deferred[place].told.is_some();
            let is_faulty = tells && core::mem::take(&mut window.is_faulty);
            window.deferred[place].end(is_faulty);
            return Sent::Here;
        }
        let from = from.max(target.map_or(0, Rank::index));
        let next = window
            .next_with(Flags::TOUCHED, from)
            .filter(|next| !is_local && target.is_none_or(|target| target == *next));
        let sent = match next {
            None => Sent::Here,
            Some(_) if only_here => Sent::NoRoom,
            Some(next) => {
                let due = Due::ask(next, Kind::Flush, Awaited::Done);
                self.send_due(at, due, memory, out)
            }
        };
        let asked = self.questions.asked;
        if !matches!(sent, Sent::NoRoom)
            && let What::Flush { from, number, .. } = &mut self.windows[at].deferred[place].what
        {
            match next {
                None => *number = Some(asked),
                Some(next) => *from = next.index() + 1,
            }
        }
        sent
    }
}
