//! A collective under way: what it does next, and the messages that it waits for.
//!
//! A plan is run at one go, or started. Then it goes on in any call that makes progress ([`crate::mpi::call`]), until a
//! step has to wait for messages; nothing of it is on a stack. Its memory is from the program's heap, taken when it is
//! started: the schedule and what belongs to it, the places of its messages, what the device needs for them, and, where it
//! computes, two segments a lane. So a program that uses its heap up meanwhile does not keep others waiting.
//!
//! A call that blocks runs a schedule with lanes in the same way ([`run_side_by_side`]), if the heap has the memory.
//! Otherwise it goes through them one after the other, as [`Lanes`] allows, and needs none.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Adi;
use crate::device::envelope::Tag;
use crate::device::matching::Matching;
use crate::device::memory::Span;
use crate::device::memory::area::Place;
use crate::device::protocol::Sound;
use crate::device::request::{KEPT_SLOTS, Mode, RequestId};
use crate::device::wire::INLINE_BYTES;
use crate::mpi::call::{block_on, immediate};
use crate::mpi::coll::run::{Combine, Workspace, exactly, run_in_segments};
use crate::mpi::coll::schedule::{Buffer, Lanes, MOST_LANES, Schedule, Step, numbered};
use crate::mpi::coll::segments::{LongSegments, RING_BYTES, SEGMENT_BYTES, Segment};
use crate::mpi::comm::{CommRank, Communicator, wait_cancelled};
use crate::mpi::error::Error;

/// What a collective does, with all that belongs to it.
pub(super) trait Work {
    /// As [`Schedule::next`]. Called outside of the device.
    fn next(&mut self) -> Result<Option<Step>, Error>;

    /// As [`Schedule::lanes`].
    fn lanes(&mut self) -> Lanes {
        Lanes::ONE
    }

    /// As [`Schedule::next_in`]. Called outside of the device.
    fn next_in(&mut self, lane: usize) -> Result<Option<Step>, Error> {
        let _ = lane;
        self.next()
    }

    /// Combines elements: `right[i] = left[i] op right[i]`.
    fn combine(&mut self, left: &[u8], right: &mut [u8]);

    /// An error of a step in the program's terms, where its ranks are not those of the steps.
    fn explained(&self, error: Error) -> Error {
        error
    }
}

/// A collective that is to be started.
pub(crate) struct Plan {
    work: Box<dyn Work + Send>,
    /// Bytes of an element of a segment; `None`: there are no segments.
    element: Option<usize>,
    lanes: Lanes,
    /// No message waits for the one before.
    at_once: bool,
}

impl Plan {
    /// Step by step, in segments if there is an element.
    pub(super) fn by_steps(
        mut work: impl Work + Send + 'static,
        element: Option<usize>,
    ) -> Result<Plan, Error> {
        Ok(Plan {
            lanes: work.lanes(),
            work: boxed(work)?,
            element,
            at_once: false,
        })
    }

    /// All messages at once, which are all that it does.
    pub(super) fn at_once(
        work: impl Work + Send + 'static,
        messages: usize,
    ) -> Result<Plan, Error> {
        let lanes = Lanes {
            messages,
            ..Lanes::ONE
        };
        Ok(Plan {
            work: boxed(work)?,
            element: None,
            lanes,
            at_once: true,
        })
    }

    /// Runs it to its end in a blocking call, step by step.
    pub(crate) fn run<E: Matching>(
        mut self,
        comm: Communicator<'_, E>,
        function: &'static str,
    ) -> Result<(), Error> {
        let done = match self.element {
            Some(element) if element > SEGMENT_BYTES => {
                let mut segments = LongSegments::new(element, 1)?;
                self.drive(comm, function, segments.both(0))
            }
            Some(_) => {
                let [first, second] = &mut [Segment::<SEGMENT_BYTES>::ZERO; 2];
                self.drive(comm, function, [&mut first.0[..], &mut second.0[..]])
            }
            None => self.drive(comm, function, [&mut [], &mut []]),
        };
        done.map_err(|error| self.work.explained(error))
    }

    fn drive<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        function: &'static str,
        [first, second]: [&mut [u8]; 2],
    ) -> Result<(), Error> {
        let partners = comm.partners().for_collectives();
        while let Some(step) = self.work.next()? {
            let mut workspace = Workspace {
                segments: [&mut *first, &mut *second],
                combine: &mut |left: &[u8], right: &mut [u8]| self.work.combine(left, right),
            };
            workspace.perform(comm, partners, function, step)?;
        }
        Ok(())
    }
}

impl<W: Work> Work for [W; 1] {
    fn next(&mut self) -> Result<Option<Step>, Error> {
        self[0].next()
    }

    fn lanes(&mut self) -> Lanes {
        self[0].lanes()
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<Step>, Error> {
        self[0].next_in(lane)
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        self[0].combine(left, right);
    }

    fn explained(&self, error: Error) -> Error {
        self[0].explained(error)
    }
}

/// As [`Box::new`], but fails with [`Error::NoRoom`].
fn boxed<W: Work + Send + 'static>(work: W) -> Result<Box<dyn Work + Send>, Error> {
    let mut one = room(1)?;
    one.push(work);
    match <Box<[W; 1]>>::try_from(one) {
        Ok(one) => Ok(one),
        Err(_) => unreachable!("it has one"),
    }
}

/// An empty list with room for `count`. Fails with [`Error::NoRoom`].
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let none = |_| Error::NoRoom { bytes };
    list.try_reserve_exact(count).map_err(none)?;
    Ok(list)
}

/// A schedule of a call that blocks, and what combines its elements.
struct Lent<'s, 'c> {
    schedule: &'s mut dyn Schedule,
    combine: &'s mut Combine<'c>,
}

impl Work for Lent<'_, '_> {
    fn next(&mut self) -> Result<Option<Step>, Error> {
        Ok(self.schedule.next())
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<Step>, Error> {
        Ok(self.schedule.next_in(lane))
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        (self.combine)(left, right);
    }
}

/// As [`run_in_segments`], all lanes at once where the program's heap has room for what that takes.
#[inline(never)]
pub(super) fn run_side_by_side<E: Matching>(
    comm: Communicator<'_, E>,
    function: &'static str,
    schedule: &mut dyn Schedule,
    sizes: (usize, usize),
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    let lanes = schedule.lanes();
    if lanes.count > 1 {
        let bytes = sizes.0.max(RING_BYTES.min(sizes.1));
        if let Ok(mut flight) = Flight::new(comm, function, bytes, (lanes, false)) {
            let mut work = Lent { schedule, combine };
            let note = comm.partners().for_collectives().note(function, None, None);
            while !flight.advance(comm, &mut work)? {
                block_on(comm.env(), note, |adi, _| {
                    flight.is_ready(adi).then_some(())
                });
            }
            return Ok(());
        }
    }
    run_in_segments(comm, function, schedule, sizes, combine)
}

/// A message under way.
struct Message {
    id: RequestId,
    lane: usize,
    /// Bytes of the buffer that a receive is to fill; `None`: a send.
    expected: Option<usize>,
}

/// What is under way of a collective. It is not dropped before its end: [`Flight::advance`].
struct Flight {
    function: &'static str,
    /// What is added to the tags of its steps.
    tags: Tag,
    at_once: bool,
    /// A call blocks until its end, and may use what is kept for such calls.
    blocks: bool,
    lanes: Lanes,
    /// The lanes that are at their end, a bit for each.
    over: u32,
    segments: LongSegments,
    messages: Vec<Message>,
    /// One for each message: not written while that is under way.
    places: Vec<Place>,
    /// For how many messages the device has set memory aside.
    aside: u32,
    has_begun: bool,
}

const _: () = assert!(MOST_LANES < u32::BITS as usize);

impl Flight {
    /// Of a call that blocks, or to be numbered; nothing has been done. Fails with [`Error::NoRoom`] or
    /// [`Error::NoMemory`].
    fn new<E: Matching>(
        comm: Communicator<'_, E>,
        function: &'static str,
        segment: usize,
        (lanes, at_once): (Lanes, bool),
    ) -> Result<Flight, Error> {
        let messages = lanes.count * lanes.messages;
        let mut places = room(messages)?;
        places.resize(messages, Place::EMPTY);
        let mut flight = Flight {
            function,
            tags: 0,
            at_once,
            blocks: true,
            lanes,
            over: 0,
            segments: LongSegments::new(segment, lanes.count)?,
            messages: room(messages)?,
            places,
            aside: 0,
            has_begun: false,
        };
        // A process alone goes through all steps at once, without messages; but it can be its own neighbour.
        if comm.size() > 1 || at_once {
            flight.set_all_aside(comm, messages)?;
        }
        Ok(flight)
    }

    /// Sets aside what so many messages need, or nothing.
    fn set_all_aside<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        messages: usize,
    ) -> Result<(), Error> {
        for _ in 0..messages {
            if let Err(error) = self.set_aside(comm, KEPT_SLOTS) {
                self.end(comm);
                return Err(error);
            }
        }
        Ok(())
    }

    fn set_aside<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        keep: u32,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        comm.env().with(&mut |adi, _| result = adi.set_aside(keep));
        result?;
        self.aside += 1;
        Ok(())
    }

    /// Gives back what is set aside for it.
    fn end<E: Matching>(&mut self, comm: Communicator<'_, E>) {
        let aside = core::mem::take(&mut self.aside);
        comm.env()
            .with(&mut |adi, _| (0..aside).for_each(|_| adi.put_back()));
    }

    /// The messages that a lane waits for are there.
    fn is_ready<E: Matching>(&self, adi: &Adi<Sound, E>) -> bool {
        let (mut waiting, mut unfinished) = (0_u32, 0_u32);
        for message in &self.messages {
            let lane = 1 << message.lane;
            waiting |= lane;
            if !adi.is_done(message.id) {
                // The rest of one lane alone does not matter any more.
                if self.lanes.count == 1 {
                    return false;
                }
                unfinished |= lane;
            }
        }
        waiting == 0 || waiting & !unfinished != 0
    }

    /// Goes on until all lanes have to wait for messages: false; or to its end. Waits for none itself. After an error,
    /// which is also its end, none of its messages is under way.
    fn advance<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        work: &mut dyn Work,
    ) -> Result<bool, Error> {
        let result = self
            .go_on(comm, work)
            .map_err(|error| work.explained(error));
        if result.is_err() {
            let partners = comm.partners().for_collectives();
            let note = partners.note(self.function, None, None);
            for message in self.messages.drain(..) {
                wait_cancelled(comm.env(), note, message.id);
            }
        }
        if !matches!(result, Ok(false)) {
            self.end(comm);
        }
        result
    }

    fn go_on<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        work: &mut dyn Work,
    ) -> Result<bool, Error> {
        for lane in 0..self.lanes.count {
            if self.over & 1 << lane == 0 && self.conclude(comm, lane)? {
                self.go_on_in(comm, work, lane)?;
            }
        }
        Ok(self.over.count_ones() as usize == self.lanes.count)
    }

    /// Goes on in a lane that waits for nothing.
    fn go_on_in<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        work: &mut dyn Work,
        lane: usize,
    ) -> Result<(), Error> {
        while let Some(step) = work.next_in(lane)? {
            self.perform(comm, work, lane, step)?;
            if !self.at_once && !self.conclude(comm, lane)? {
                return Ok(());
            }
        }
        if self.conclude(comm, lane)? {
            self.over |= 1 << lane;
        }
        Ok(())
    }

    /// Ends the messages under way in a lane; false, and nothing done, when one has not arrived yet.
    fn conclude<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        lane: usize,
    ) -> Result<bool, Error> {
        let mut result = Ok(true);
        let messages = &mut self.messages;
        if !messages.iter().any(|message| message.lane == lane) {
            return result;
        }
        comm.env().with(&mut |adi, _| {
            let mut of_lane = messages.iter().filter(|message| message.lane == lane);
            if !of_lane.all(|message| adi.is_done(message.id)) {
                result = Ok(false);
                return;
            }
            messages.retain(|message| {
                if message.lane != lane {
                    return true;
                }
                if let (Some(outcome), Some(expected)) = (adi.test(message.id), message.expected)
                    && let Err(error) = exactly(expected, comm.partners().received(outcome))
                {
                    result = Err(error);
                }
                // As much as has just become free. When others have taken it, this one takes what it can get later.
                self.aside += u32::from(adi.set_aside(0).is_ok());
                false
            });
        });
        result
    }

    /// Starts the messages of a step, or does all of it.
    fn perform<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        work: &mut dyn Work,
        lane: usize,
        step: Step,
    ) -> Result<(), Error> {
        match step {
            Step::Send { dest, tag, data } => self.send(comm, lane, (dest, tag), data),
            Step::Receive { source, tag, data } => self.receive(comm, lane, (source, tag), data),
            Step::Exchange { tag, given, taken } => {
                self.receive(comm, lane, (taken.1, tag), taken.0)?;
                self.send(comm, lane, (given.1, tag), given.0)
            }
            Step::Pass {
                tag,
                given: (given, dests),
                taken,
            } => {
                if let Some((taken, source)) = taken {
                    self.receive(comm, lane, (source, tag), Buffer::User(taken))?;
                }
                let data = Buffer::User(given);
                let mut dests = dests.iter();
                dests.try_for_each(|dest| self.send(comm, lane, (dest, tag), data))
            }
            here => {
                let mut workspace = Workspace {
                    segments: self.segments.both(lane),
                    combine: &mut |left: &[u8], right: &mut [u8]| work.combine(left, right),
                };
                workspace.perform(comm, comm.partners(), self.function, here)
            }
        }
    }

    fn send<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        lane: usize,
        (dest, tag): (CommRank, Tag),
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(lane, data));
        let partners = comm.partners().for_collectives();
        // Eager data keeps to the order of the offers, and so to one way; what waits for its receive goes all ways.
        let mode = match self.lanes.cross && span.len() > INLINE_BYTES {
            true => Mode::Synchronous,
            false => Mode::Standard,
        };
        let to = partners.send_to(span, dest, tag, mode)?;
        let note = partners.note(self.function, Some(dest), Some(tag));
        let (is_aside, blocks) = (self.take_aside(), self.blocks);
        let id = immediate(
            comm.env(),
            || note,
            |adi, kernel| match is_aside {
                true => adi.send_set_aside(kernel.memory(), to, span),
                false if blocks => adi.send_within_call(kernel.memory(), to, span),
                false => adi.isend(kernel.memory(), to, span).map(Some),
            },
        )?;
        self.has_begun = true;
        let expected = None;
        match id {
            Some(id) => self.messages.push(Message { id, lane, expected }),
            // It is complete already.
            None => self.set_aside(comm, 0).unwrap_or_default(),
        }
        Ok(())
    }

    fn receive<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
        lane: usize,
        (source, tag): (CommRank, Tag),
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(lane, data));
        let partners = comm.partners().for_collectives();
        let pattern = partners.pattern(Some(source), Some(tag))?;
        let note = partners.note(self.function, Some(source), Some(tag));
        let (is_aside, blocks) = (self.take_aside(), self.blocks);
        let id = immediate(
            comm.env(),
            || note,
            |adi, kernel| match is_aside {
                true => adi.recv_set_aside(kernel.memory(), pattern, span),
                false if blocks => adi.recv_within_call(kernel.memory(), pattern, span),
                false => adi.irecv(kernel.memory(), pattern, span),
            },
        )?;
        self.has_begun = true;
        let expected = Some(span.len());
        self.messages.push(Message { id, lane, expected });
        Ok(())
    }

    /// Takes what the device has set aside for a message; false when there is nothing.
    fn take_aside(&mut self) -> bool {
        let is_aside = self.aside > 0;
        self.aside -= u32::from(is_aside);
        is_aside
    }

    /// The buffer's bytes, for the next message of the lane.
    fn span(&mut self, lane: usize, buffer: Buffer) -> Span {
        match buffer {
            Buffer::User(area) => {
                let of_lane = self.messages.iter().filter(|message| message.lane == lane);
                let place = &mut self.places[lane * self.lanes.messages + of_lane.count()];
                // SAFETY: the place is on the heap, and is written again only after `conclude` has found all
                // messages of the lane to be complete. What is dropped has none under way (`advance`).
                unsafe { area.span(place) }
            }
            // SAFETY: as above, of a segment: it has so many bytes (`Walk`), and the two messages of a step have
            // different ones.
            Buffer::Segment(half, bytes) => unsafe {
                Span::new(self.segments.pointer(lane, half), bytes)
            },
        }
    }
}

/// A collective under way. It is not dropped before its end: [`Running::advance`].
pub(crate) struct Running {
    work: Box<dyn Work + Send>,
    flight: Flight,
}

impl Running {
    /// The collective with this number on its communicator, of which nothing has been done. Fails with
    /// [`Error::NoRoom`] or [`Error::NoMemory`].
    pub(crate) fn new<E: Matching>(
        comm: Communicator<'_, E>,
        function: &'static str,
        number: u32,
        plan: Plan,
    ) -> Result<Running, Error> {
        let bytes = plan.element.map(|element| element.max(SEGMENT_BYTES));
        let how = (plan.lanes, plan.at_once);
        let mut flight = Flight::new(comm, function, bytes.unwrap_or(0), how)?;
        flight.tags = numbered(number);
        flight.blocks = false;
        Ok(Running {
            work: plan.work,
            flight,
        })
    }

    /// A message of it has been started.
    pub(crate) fn has_begun(&self) -> bool {
        self.flight.has_begun
    }

    /// Messages under way.
    pub(crate) fn messages(&self) -> u32 {
        self.flight.messages.len() as u32
    }

    /// The messages that it waits for are there.
    pub(crate) fn is_ready<E: Matching>(&self, adi: &Adi<Sound, E>) -> bool {
        self.flight.is_ready(adi)
    }

    /// Goes on until it has to wait for messages: false; or to its end. Waits for none itself. After an error, which
    /// is also its end, none of its messages is under way.
    pub(crate) fn advance<E: Matching>(
        &mut self,
        comm: Communicator<'_, E>,
    ) -> Result<bool, Error> {
        self.flight.advance(comm, &mut *self.work)
    }
}
