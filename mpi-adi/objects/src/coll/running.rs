//! A collective under way: what it does next, and the messages that it waits for.
//!
//! A plan is run at one go, or started. Then it goes on in any call that makes progress ([`crate::call`]), until a
//! step has to wait for messages; nothing of it is on a stack. Its memory is from the program's heap, taken when it is
//! started: the schedule and what belongs to it, the places of its messages, what the device needs for them, and, where it
//! computes, two segments a lane. So a program that uses its heap up meanwhile does not keep others waiting.
//!
//! # While the program computes
//! The next steps are made by interrupts, too ([`Running::advance_in_interrupt`]), wherever in the program they have come, in
//! `malloc` for example. So they take nothing of the heap and give nothing back: a step is made only if what its messages
//! need of the device is reserved already, and comes back when they are over. To a call is left
//!
//! * the end: it frees the memory, and tells the program;
//! * an error, as messages under way have to be waited for;
//! * what takes memory on its way ([`Work::is_for_calls`]);
//! * all of a plan that runs functions of the program's ([`Plan::advances_in_interrupts`]).
//!
//! A copy within the program's memory can be of any length: an interrupt makes it a segment at a time.
//!
//! A collective is with the interrupts or with a call, never with both: a call takes it out of where interrupts look
//! ([`State`](super::under_way::State)), and puts it back within the device, so that what has come before is found after.
//!
//! # Lanes
//! A call that blocks runs a schedule with lanes in the same way ([`run_side_by_side`]), if the heap has the memory.
//! Otherwise it goes through them one after the other, as [`Lanes`] allows, and needs none.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::call::{are_finished, block_until};
use crate::coll::run::{Combine, Workspace, exactly, run_in_segments};
use crate::coll::schedule::{Buffer, Lanes, MOST_LANES, Schedule, Step, numbered};
use crate::coll::segments::{LongSegments, RING_BYTES, SEGMENT_BYTES, Segment};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::envelope::Tag;
use midplane_device::interface::{
    Cancel, Device, Incoming, Outgoing, RequestMemory, Reserve, TestResult,
};
use midplane_device::kernel::CallNote;
use midplane_device::memory::Span;
use midplane_device::memory::area::{Area, TypedSlot};
use midplane_device::request::{KEPT_SLOTS, Mode, RequestId, RequestPool};
use midplane_device::wire::INLINE_BYTES;

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

    /// No interrupt asks for what is next: it takes memory, or enters the device.
    fn is_for_calls(&self) -> bool {
        false
    }

    /// An error of a step in the program's terms, where its ranks are not those of the steps.
    fn explained(&self, error: Error) -> Error {
        error
    }
}

/// A collective that is to be started.
pub struct Plan {
    work: Box<dyn Work + Send>,
    /// Bytes of an element of a segment; `None`: there are no segments.
    element: Option<usize>,
    lanes: Lanes,
    /// No message waits for the one before.
    at_once: bool,
    /// Interrupts may make its steps.
    meanwhile: bool,
}

impl Plan {
    /// Interrupts may make its steps, if `may`: what gives them, but for what is for calls (`Work::is_for_calls`), and what
    /// combines elements is none of the program's functions, takes nothing of the heap, and comes to an end soon.
    pub fn advances_in_interrupts(self, may: bool) -> Plan {
        Plan {
            meanwhile: may,
            ..self
        }
    }

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
            meanwhile: false,
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
            meanwhile: false,
        })
    }

    /// Runs it to its end in a blocking call, step by step.
    pub fn run(mut self, comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
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

    fn drive(
        &mut self,
        comm: Communicator<'_>,
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

    fn is_for_calls(&self) -> bool {
        self[0].is_for_calls()
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
pub fn room<T>(count: usize) -> Result<Vec<T>, Error> {
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
pub(super) fn run_side_by_side(
    comm: Communicator<'_>,
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
            let note = CallNote::of(function);
            while !flight.advance(comm, &mut work)? {
                block_until(comm.env(), note, || flight.is_ready_outside(comm));
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
    places: Vec<TypedSlot>,
    /// For how many messages the device has reserved memory.
    reserved: u32,
    has_begun: bool,
    left: Left,
}

/// What an interrupt leaves to the next one, or to a call.
enum Left {
    /// No more than the end.
    Nothing,
    /// The rest of a lane's [`Step::Copy`].
    Copy { lane: usize, from: Area, to: Area },
    /// This error, to a call.
    Error(Error),
}

/// What a flight may do before it comes back.
struct Turn<'t> {
    /// Steps that an interrupt may still make; `None`: this is a call.
    steps: Option<&'t mut u32>,
    has_moved: bool,
}

impl Turn<'_> {
    /// As much as can be done.
    fn of_call() -> Self {
        Turn {
            steps: None,
            has_moved: false,
        }
    }

    fn is_call(&self) -> bool {
        self.steps.is_none()
    }
}

const _: () = assert!(MOST_LANES < u32::BITS as usize);

impl Flight {
    /// Of a call that blocks, or to be numbered; nothing has been done. Fails with [`Error::NoRoom`] or
    /// [`Error::NoMemory`].
    fn new(
        comm: Communicator<'_>,
        function: &'static str,
        segment: usize,
        (lanes, at_once): (Lanes, bool),
    ) -> Result<Flight, Error> {
        let messages = lanes.count * lanes.messages;
        let mut places = room(messages)?;
        places.resize(messages, TypedSlot::EMPTY);
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
            reserved: 0,
            has_begun: false,
            left: Left::Nothing,
        };
        // A process alone goes through all steps at once, without messages; but it can be its own neighbour.
        if comm.size() > 1 || at_once {
            flight.reserve_all(comm, messages)?;
        }
        Ok(flight)
    }

    /// Reserves what so many messages need, or nothing.
    fn reserve_all(&mut self, comm: Communicator<'_>, messages: usize) -> Result<(), Error> {
        for _ in 0..messages {
            if let Err(error) = self.reserve(comm, KEPT_SLOTS) {
                self.end(comm);
                return Err(error);
            }
        }
        Ok(())
    }

    fn reserve(&mut self, comm: Communicator<'_>, keep: u32) -> Result<(), Error> {
        comm.env().reserve(Reserve::Message { keep })?;
        self.reserved += 1;
        Ok(())
    }

    /// Gives back what is reserved for it.
    fn end(&mut self, comm: Communicator<'_>) {
        let messages = core::mem::take(&mut self.reserved);
        if messages > 0 {
            // It cannot fail.
            let _ = comm.env().reserve(Reserve::Return { messages });
        }
    }

    /// A lane can advance, or all are at their end, or there is an error to return. For a hook, which has the requests.
    fn is_ready(&self, requests: &RequestPool) -> bool {
        self.is_ready_if(|message| requests.is_done(message.id).unwrap_or(true))
    }

    /// The same, outside of the device.
    fn is_ready_outside(&self, comm: Communicator<'_>) -> bool {
        self.is_ready_if(|message| are_finished(comm.env(), [message.id].into_iter()))
    }

    fn is_ready_if(&self, is_done: impl Fn(&Message) -> bool) -> bool {
        let mut waiting = self.over;
        for message in &self.messages {
            if !is_done(message) {
                // The rest of one lane alone does not matter any more.
                if self.lanes.count == 1 {
                    return self.has_failed();
                }
                waiting |= 1 << message.lane;
            }
        }
        let all = self.all();
        waiting != all || self.over == all || self.has_failed()
    }

    /// There is an error that a call is to tell.
    fn has_failed(&self) -> bool {
        matches!(self.left, Left::Error(_))
    }

    /// A bit for each lane.
    fn all(&self) -> u32 {
        (1 << self.lanes.count) - 1
    }

    /// Goes on until all lanes have to wait for messages: false; or to its end. Waits for none itself. After an error,
    /// which is also its end, none of its messages is under way.
    fn advance(&mut self, comm: Communicator<'_>, work: &mut dyn Work) -> Result<bool, Error> {
        let result = match self.left {
            Left::Error(error) => Err(error),
            _ => self.go_on(comm, work, &mut Turn::of_call()),
        };
        let result = result.map_err(|error| work.explained(error));
        if result.is_err() {
            for message in self.messages.drain(..) {
                comm.env().cancel(self.function, message.id, Cancel::Finish);
            }
        }
        if !matches!(result, Ok(false)) {
            self.end(comm);
        }
        result
    }

    /// As [`Flight::advance`], from an interrupt, by so many steps at most; true when it got on.
    fn advance_in_interrupt(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn Work,
        steps: &mut u32,
    ) -> bool {
        if self.has_failed() || self.over == self.all() {
            return false;
        }
        let mut turn = Turn {
            steps: Some(steps),
            has_moved: false,
        };
        if let Err(error) = self.go_on(comm, work, &mut turn) {
            self.left = Left::Error(error);
        }
        turn.has_moved
    }

    fn go_on(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn Work,
        turn: &mut Turn<'_>,
    ) -> Result<bool, Error> {
        for lane in 0..self.lanes.count {
            if self.over & 1 << lane == 0 && self.conclude(comm, lane, turn)? {
                self.go_on_in(comm, work, lane, turn)?;
            }
        }
        Ok(self.over == self.all())
    }

    /// Goes on in a lane that waits for nothing.
    fn go_on_in(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn Work,
        lane: usize,
        turn: &mut Turn<'_>,
    ) -> Result<(), Error> {
        while self.may_go_on(comm, work, lane, turn) {
            let next = match self.left {
                Left::Copy { lane: of, from, to } if of == lane => {
                    self.left = Left::Nothing;
                    Some(Step::Copy { from, to })
                }
                _ => work.next_in(lane)?,
            };
            turn.has_moved = true;
            let Some(mut step) = next else {
                if self.conclude(comm, lane, turn)? {
                    self.over |= 1 << lane;
                }
                return Ok(());
            };
            if !turn.is_call() {
                self.shorten(lane, &mut step);
            }
            self.perform(comm, work, (lane, step), turn)?;
            if !self.at_once && !self.conclude(comm, lane, turn)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next step of a lane can be made now; an interrupt makes it only if it needs nothing of the heap.
    fn may_go_on(
        &self,
        comm: Communicator<'_>,
        work: &dyn Work,
        lane: usize,
        turn: &mut Turn<'_>,
    ) -> bool {
        let Some(steps) = &mut turn.steps else {
            return true;
        };
        // There is one place for what is left.
        let is_next = !matches!(self.left, Left::Copy { lane: of, .. } if of != lane);
        let is_reserved = comm.env().reserve(Reserve::Check).is_ok();
        let enough = self.reserved as usize >= self.lanes.messages && is_reserved;
        let may = **steps > 0 && enough && is_next && !work.is_for_calls();
        **steps -= u32::from(may);
        may
    }

    /// Of a copy an interrupt makes a piece, [`SEGMENT_BYTES`], and leaves the rest.
    fn shorten(&mut self, lane: usize, step: &mut Step) {
        if let Step::Copy { from, to } = step
            && from.len() > SEGMENT_BYTES
            && from.len() == to.len()
            && from != to
        {
            let rest = |area: &Area| area.part(SEGMENT_BYTES, area.len() - SEGMENT_BYTES);
            let (rest_from, rest_to) = (rest(from), rest(to));
            self.left = Left::Copy {
                lane,
                from: rest_from,
                to: rest_to,
            };
            *from = from.part(0, SEGMENT_BYTES);
            *to = to.part(0, SEGMENT_BYTES);
        }
    }

    /// Ends the messages under way in a lane; false, and nothing done, when one has not arrived yet.
    fn conclude(
        &mut self,
        comm: Communicator<'_>,
        lane: usize,
        turn: &mut Turn<'_>,
    ) -> Result<bool, Error> {
        let (env, messages) = (comm.env(), &mut self.messages);
        if !messages.iter().any(|message| message.lane == lane) {
            return Ok(true);
        }
        let of_lane = messages.iter().filter(|message| message.lane == lane);
        if !are_finished(env, of_lane.map(|message| message.id)) {
            return Ok(false);
        }
        turn.has_moved = true;
        // As much as becomes free is reserved. When others have taken it, this one takes what it can get later.
        let reserve = match turn.is_call() {
            true => Reserve::Message { keep: 0 },
            false => Reserve::FreeMessage,
        };
        let mut result = Ok(true);
        messages.retain(|message| {
            if message.lane != lane {
                return true;
            }
            if let (TestResult::Complete(ended), Some(expected)) =
                (env.test(None, message.id), message.expected)
                && let Err(error) = exactly(expected, comm.partners().received(ended.outcome()))
            {
                result = Err(error);
            }
            self.reserved += u32::from(env.reserve(reserve).is_ok());
            false
        });
        result
    }

    /// Starts the messages of a step, or does all of it.
    fn perform(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn Work,
        (lane, step): (usize, Step),
        turn: &Turn<'_>,
    ) -> Result<(), Error> {
        let at = (lane, turn.is_call());
        match step {
            Step::Send { dest, tag, data } => self.send(comm, at, (dest, tag, false), data),
            Step::Receive { source, tag, data } => self.receive(comm, at, (source, tag), data),
            Step::Exchange { tag, given, taken } => {
                self.receive(comm, at, (taken.1, tag), taken.0)?;
                self.send(comm, at, (given.1, tag, false), given.0)
            }
            Step::Pass {
                tag,
                followed,
                given: (given, dests),
                taken,
            } => {
                if let Some((taken, source)) = taken {
                    self.receive(comm, at, (source, tag), Buffer::User(taken))?;
                }
                let data = Buffer::User(given);
                let mut dests = dests.iter();
                dests.try_for_each(|dest| self.send(comm, at, (dest, tag, followed), data))
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

    fn send(
        &mut self,
        comm: Communicator<'_>,
        (lane, is_call): (usize, bool),
        (dest, tag, followed): (CommRank, Tag, bool),
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(lane, data));
        let partners = comm.partners().for_collectives();
        // Eager data keeps to the order of the offers, and so to one way; what waits for its receive goes all ways.
        let mode = match span.len() > INLINE_BYTES {
            true if self.lanes.cross => Mode::Synchronous,
            false if followed => Mode::Followed,
            _ => Mode::Standard,
        };
        let to = partners.send_to(span, dest, tag, mode)?;
        let memory = self.memory(is_call);
        let outgoing = Outgoing { to, span };
        let id = comm.env().start_send(self.function, &outgoing, memory)?;
        self.has_begun = true;
        let expected = None;
        match id {
            Some(id) => self.messages.push(Message { id, lane, expected }),
            // It is complete already.
            None if is_call => self.reserve(comm, 0).unwrap_or_default(),
            None => {
                self.reserved += u32::from(comm.env().reserve(Reserve::FreeMessage).is_ok());
            }
        }
        Ok(())
    }

    fn receive(
        &mut self,
        comm: Communicator<'_>,
        (lane, is_call): (usize, bool),
        (source, tag): (CommRank, Tag),
        data: Buffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(lane, data));
        let partners = comm.partners().for_collectives();
        let pattern = partners.pattern(Some(source), Some(tag))?;
        let memory = self.memory(is_call);
        let incoming = Incoming { pattern, span };
        let id = comm.env().start_receive(self.function, &incoming, memory)?;
        self.has_begun = true;
        let expected = Some(span.len());
        self.messages.push(Message { id, lane, expected });
        Ok(())
    }

    /// The memory of the next message's request: what is reserved for one, as far as there is.
    fn memory(&mut self, is_call: bool) -> RequestMemory {
        let has_reserved = self.reserved > 0;
        self.reserved -= u32::from(has_reserved);
        match (has_reserved, is_call) {
            (true, true) => RequestMemory::Reserved,
            (true, false) => RequestMemory::ReservedInInterrupt,
            (false, _) if self.blocks => RequestMemory::Blocking,
            (false, _) => RequestMemory::Shared,
        }
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
pub struct Running {
    work: Box<dyn Work + Send>,
    flight: Flight,
    meanwhile: bool,
}

impl Running {
    /// The collective with this number on its communicator, of which nothing has been done. Fails with
    /// [`Error::NoRoom`] or [`Error::NoMemory`].
    pub fn new(
        comm: Communicator<'_>,
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
            meanwhile: plan.meanwhile,
        })
    }

    /// A message of it has been started.
    pub fn has_begun(&self) -> bool {
        self.flight.has_begun
    }

    /// Messages under way.
    pub fn messages(&self) -> u32 {
        self.flight.messages.len() as u32
    }

    /// The messages that it waits for are there.
    pub fn is_ready(&self, requests: &RequestPool) -> bool {
        self.flight.is_ready(requests)
    }

    /// The same, outside of the device.
    pub fn is_ready_outside(&self, comm: Communicator<'_>) -> bool {
        self.flight.is_ready_outside(comm)
    }

    /// Goes on until it has to wait for messages: false; or to its end. Waits for none itself. After an error, which
    /// is also its end, none of its messages is under way.
    pub fn advance(&mut self, comm: Communicator<'_>) -> Result<bool, Error> {
        self.flight.advance(comm, &mut *self.work)
    }

    /// As [`Running::advance`], from an interrupt, whose device is in hand: by so many steps at most, of which those that
    /// it makes are taken off. True when it got on. What it leaves is found to be [ready](Running::is_ready).
    pub fn advance_in_interrupt(&mut self, comm: Communicator<'_>, steps: &mut u32) -> bool {
        self.meanwhile
            && self
                .flight
                .advance_in_interrupt(comm, &mut *self.work, steps)
    }
}
