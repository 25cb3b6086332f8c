//! Operations and flushes that are done when they can be: those of epochs that have not begun, or whose targets have
//! not granted access yet, and those that the program has a request for.
//!
//! A record is what the call was given: spans and no bytes. Both are walked when its turn comes, packet by packet, so
//! that nothing is kept for the data; the buffers are in use until then, as the standard says. Those of one epoch for
//! one target keep their order; others pass each other.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::header::SHORT_BYTES;

use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};
use crate::parts::Leaving;
use crate::rma::epochs::{Due, Rules, Sent, Serial, Told};
use crate::rma::wire::{HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece};
use crate::rma::{Awaited, Flags, OneSided, Window, get_request};

/// Bytes of an answer's result.
const RESULT_BYTES: usize = 16;
/// Bytes of one get of a deferred operation, at most.
pub(super) const GET_BYTES: usize = 1 << 20;

/// An operation, as it is recorded.
#[derive(Clone, Copy, Hash, Debug)]
pub struct Operation {
    /// Kind, operation and elements.
    pub head: Head,
    /// The origin's bytes; of a comparison the new element. Empty when there are none.
    pub from: Span,
    /// What a comparison compares.
    pub compare: Span,
    /// Where the result goes.
    pub into: Span,
    /// Where the bytes are at the target: a span of places.
    pub to: Span,
    /// Bytes, at least 1.
    pub len: usize,
    /// Bytes that stay together.
    pub unit: usize,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Operation {
        operation: Operation,
        /// Bytes that have left, or been asked for.
        done: usize,
        /// A result is awaited, before which nothing more is asked for.
        is_asking: bool,
    },
    Flush {
        /// Only the origin's buffers are of interest.
        is_local: bool,
        /// Processes before this one have been asked.
        from: u32,
        /// All have been asked: answers awaited before this one are to come.
        number: Option<u64>,
    },
    Over,
}

/// What is deferred.
#[derive(Clone, Debug)]
pub struct Deferred {
    serial: Serial,
    pub(super) epoch: Serial,
    /// Of a flush: `None` is all.
    target: Option<Rank>,
    what: What,
    told: Told,
}

/// Bytes of what is deferred.
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

    /// It is of this number, and not over.
    pub(super) fn waits(&self, serial: Serial) -> bool {
        self.serial == serial && !self.is_over()
    }

    /// Some of it is still to leave.
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

    /// So many bytes more of it have passed, and whether an answer is to come for the rest.
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
    /// Operations of this epoch, for `target` if that is given, are still to leave.
    pub(super) fn has_deferred(&self, epoch: Serial, target: Option<Rank>) -> bool {
        let is_so = |deferred: &Deferred| {
            deferred.epoch == epoch && deferred.is_for(target) && deferred.is_to_leave()
        };
        self.deferred.iter().any(is_so)
    }

    /// Operations of the same epoch as the one at `last`, beside that, are still to leave for `target`.
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

/// The first run of up to `most` bytes: its place, and how many it has.
fn first_run<R: Rules>(all: &OneSided<R>, span: Span, done: usize, most: usize) -> (u64, usize) {
    let mut first = None;
    (all.walk)(span, done, most, &mut |place, _, bytes| {
        first.get_or_insert((place as u64, bytes));
    });
    first.unwrap_or((0, most))
}

impl<R: Rules> OneSided<R> {
    /// Records an operation of an epoch on `target`, which is done as soon as it can be; its number. `None`: the heap has
    /// no room for it.
    ///
    /// # Panics
    /// When the window is not there.
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

    /// Records a flush of what the epoch has done so far (0: all epochs), at `target` or everywhere; its number. `None`: the heap has no
    /// room for it.
    ///
    /// # Panics
    /// When the window is not there.
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

    /// A flush would send nothing, at `target` or everywhere, and have nothing to wait for but answers: nothing is
    /// deferred, and what has left is answered, or only the origin's buffers are of interest.
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

    /// The result that a deferred operation has asked for has come, so many bytes; 0: it is to ask again.
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

    /// Does what can be done of what is deferred at the window at `at`, as far as a packet; with `only_here` there is none.
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
        // Nothing is blocked outside of this look.
        for place in 0..self.windows[at].deferred.len() {
            if let Some(target) = self.windows[at].deferred[place].target {
                self.windows[at].clear(target, Flags::BLOCKED);
            }
        }
        result
    }

    /// An operation goes on, if it may.
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
        // One on this process itself may have done a part of it without a packet.
        let window = &mut self.windows[at];
        if (matches!(sent, Sent::NoRoom) || window.deferred[place].is_to_leave())
            && let Some(flags) = window.flags(target)
        {
            flags.set(Flags::BLOCKED, true);
        }
        sent
    }

    /// The next packet of an operation.
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
            // What it says of itself it has checked.
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

    /// A packet of a put or an accumulate: its length, and how many bytes travel.
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
            // What does not fit comes first in the next packet: behind a run that is cut no unit has room.
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

    /// A packet that fetches, or compares: its length, and how many bytes are asked for.
    fn emit_question(
        &self,
        operation: Operation,
        done: usize,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> (usize, usize) {
        operation.head.emit(out);
        let room = match operation.unit <= RESULT_BYTES {
            true => RESULT_BYTES,
            false => MOST_BYTES,
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

    /// A get asks for its next run.
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
        // Before the flush behind it, which asks whether it was beyond the window.
        self.ask_now(name, out).map_or(Sent::Here, Sent::Packet)
    }

    /// A flush goes on: when what was before it has left it asks those that have been touched, and waits for answers.
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
