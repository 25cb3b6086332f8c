//! Execution of a nonblocking collective: its next steps and its pending messages.
//!
//! A plan is run to completion, or started. A started plan advances in any call that makes progress
//! ([`crate::call`]), until a step must wait for messages; it uses no stack in between. Its memory is allocated
//! from the program's heap at the start: the schedule with its data, the slots of its messages, the device's memory for
//! them and, for reductions, two segments a lane. So other processes never wait because this program exhausts its heap
//! later.
//!
//! # While the program computes
//! Interrupt handlers also perform steps ([`Running::advance_in_interrupt`]). They may interrupt the program anywhere,
//! for example in `malloc`, so they neither allocate nor free heap memory. They perform a step only if the device
//! memory for its messages is already reserved, and reserve it again when the messages complete. The following remains
//! for a call:
//!
//! * the end, which frees the memory and notifies the program;
//! * an error, because messages in transit must complete first;
//! * work that allocates memory between steps ([`Work::is_for_calls`]);
//! * plans that run functions of the program ([`Plan::advances_in_interrupts`]).
//!
//! A copy within the program's memory can have any length: an interrupt handler copies one segment at a time.
//!
//! A collective belongs either to the interrupt handlers or to a call. A call removes it from the list that interrupt
//! handlers check ([`State`](super::under_way::State)). It returns the collective inside the device, so that messages
//! that arrived before are found afterwards.
//!
//! # Lanes
//! A blocking call runs a schedule with lanes in the same way ([`run_side_by_side`]), if the heap has enough memory.
//! Otherwise it runs one lane after the other, as [`Lanes`] allows, and needs no memory.

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
    CancelPhase, Device, IncomingMessage, OutgoingMessage, RequestMemory, ReserveAction, TestResult,
};
use midplane_device::kernel::CallInfo;
use midplane_device::memory::Span;
use midplane_device::memory::buffer_slice::{BufferSlice, TypedSlot};
use midplane_device::request::{RESERVED_SLOTS, SendMode, RequestId, RequestPool};
use midplane_device::wire::INLINE_BYTES;

/// Work of a collective, with all data that belongs to it.
pub(super) trait Work {
    /// Returns the next step; see [`Schedule::next`]. Called outside the device.
    fn next(&mut self) -> Result<Option<Step>, Error>;

    /// Returns the lanes; see [`Schedule::lanes`].
    fn lanes(&mut self) -> Lanes {
        Lanes::ONE
    }

    /// Returns the next step of a lane; see [`Schedule::next_in`]. Called outside the device.
    fn next_in(&mut self, lane: usize) -> Result<Option<Step>, Error> {
        let _ = lane;
        self.next()
    }

    /// Combines elements: `right[i] = left[i] op right[i]`.
    fn combine(&mut self, left: &[u8], right: &mut [u8]);

    /// Checks whether only a call may request the next step, because that allocates memory or enters the device.
    fn is_for_calls(&self) -> bool {
        false
    }

    /// Converts an error of a step to the program's terms, if the steps use other ranks.
    fn explained(&self, error: Error) -> Error {
        error
    }
}

/// A collective ready to be started.
pub struct Plan {
    work: Box<dyn Work + Send>,
    /// Bytes of an element of a segment; `None`: there are no segments.
    element: Option<usize>,
    lanes: Lanes,
    /// All messages are concurrent.
    at_once: bool,
    /// Interrupt handlers may perform its steps.
    meanwhile: bool,
}

impl Plan {
    /// Enables steps in interrupt handlers if `may` is set. The work, except the part for calls (`Work::is_for_calls`),
    /// and the combining function must then be no function of the program, must not use the heap, and must have a short
    /// run time.
    pub fn advances_in_interrupts(self, may: bool) -> Plan {
        Plan {
            meanwhile: may,
            ..self
        }
    }

    /// Creates a plan performed step by step, with segments if `element` is set.
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

    /// Creates a plan of concurrent messages without other steps.
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

    /// Runs it to completion in a blocking call, step by step.
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

/// Allocates a box. Fails with [`Error::NoRoom`].
fn boxed<W: Work + Send + 'static>(work: W) -> Result<Box<dyn Work + Send>, Error> {
    let mut one = room(1)?;
    one.push(work);
    match <Box<[W; 1]>>::try_from(one) {
        Ok(one) => Ok(one),
        Err(_) => unreachable!("it has one"),
    }
}

/// Returns an empty list with capacity for `count`. Fails with [`Error::NoRoom`].
pub fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let none = |_| Error::NoRoom { bytes };
    list.try_reserve_exact(count).map_err(none)?;
    Ok(list)
}

/// A schedule of a blocking call, and its combining function.
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

/// Runs a schedule like [`run_in_segments`], with all lanes concurrent if the program's heap has enough memory.
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
            let note = CallInfo::without_peer(function);
            while !flight.advance(comm, &mut work)? {
                block_until(comm.env(), note, || flight.is_ready_outside(comm));
            }
            return Ok(());
        }
    }
    run_in_segments(comm, function, schedule, sizes, combine)
}

/// A message in transit.
struct Message {
    id: RequestId,
    lane: usize,
    /// Bytes of the buffer that a receive must fill; `None`: a send.
    expected: Option<usize>,
}

/// State of a collective in progress. Must not be dropped before its end: [`Flight::advance`].
struct Flight {
    function: &'static str,
    /// Offset added to the tags of its steps.
    tags: Tag,
    at_once: bool,
    /// A call blocks until its end, and may use memory reserved for blocking calls.
    blocks: bool,
    lanes: Lanes,
    /// Completed lanes, one bit each.
    over: u32,
    segments: LongSegments,
    messages: Vec<Message>,
    /// One per message; not written while the message is in transit.
    places: Vec<TypedSlot>,
    /// Number of messages with reserved device memory.
    reserved: u32,
    has_begun: bool,
    left: Left,
}

/// Work that an interrupt handler leaves to the next one or to a call.
enum Left {
    /// Only the end.
    Nothing,
    /// The rest of a lane's [`Step::Copy`].
    Copy { lane: usize, from: BufferSlice, to: BufferSlice },
    /// This error, to be returned by a call.
    Error(Error),
}

/// Limits of one advance of a flight.
struct Turn<'t> {
    /// Steps that an interrupt handler may still perform; `None` for a call.
    steps: Option<&'t mut u32>,
    has_moved: bool,
}

impl Turn<'_> {
    /// Creates the turn of a call, without limit.
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
    /// Creates an idle flight for a blocking call, or one to be numbered later. Fails with [`Error::NoRoom`] or
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
        // A single process performs all steps without messages, unless it is its own neighbour.
        if comm.size() > 1 || at_once {
            flight.reserve_all(comm, messages)?;
        }
        Ok(flight)
    }

    /// Reserves device memory for `messages` messages, or none.
    fn reserve_all(&mut self, comm: Communicator<'_>, messages: usize) -> Result<(), Error> {
        for _ in 0..messages {
            if let Err(error) = self.reserve(comm, RESERVED_SLOTS) {
                self.end(comm);
                return Err(error);
            }
        }
        Ok(())
    }

    fn reserve(&mut self, comm: Communicator<'_>, keep: u32) -> Result<(), Error> {
        comm.env().reserve(ReserveAction::Message { keep })?;
        self.reserved += 1;
        Ok(())
    }

    /// Returns the reserved memory.
    fn end(&mut self, comm: Communicator<'_>) {
        let messages = core::mem::take(&mut self.reserved);
        if messages > 0 {
            // It cannot fail.
            let _ = comm.env().reserve(ReserveAction::Return { messages });
        }
    }

    /// Checks whether a lane can advance, all lanes are complete, or there is an error to return. For a hook with
    /// access to the requests.
    fn is_ready(&self, requests: &RequestPool) -> bool {
        self.is_ready_if(|message| requests.is_done(message.id).unwrap_or(true))
    }

    /// Checks the same outside the device.
    fn is_ready_outside(&self, comm: Communicator<'_>) -> bool {
        self.is_ready_if(|message| are_finished(comm.env(), [message.id].into_iter()))
    }

    fn is_ready_if(&self, is_done: impl Fn(&Message) -> bool) -> bool {
        let mut waiting = self.over;
        for message in &self.messages {
            if !is_done(message) {
                // With a single lane, its other messages are irrelevant.
                if self.lanes.count == 1 {
                    return self.has_failed();
                }
                waiting |= 1 << message.lane;
            }
        }
        let all = self.all();
        waiting != all || self.over == all || self.has_failed()
    }

    /// Checks whether there is an error for a call to return.
    fn has_failed(&self) -> bool {
        matches!(self.left, Left::Error(_))
    }

    /// Returns a mask with one bit per lane.
    fn all(&self) -> u32 {
        (1 << self.lanes.count) - 1
    }

    /// Advances until all lanes must wait for messages (false) or to the end. Does not block. After an error, which
    /// also ends it, none of its messages is in transit.
    fn advance(&mut self, comm: Communicator<'_>, work: &mut dyn Work) -> Result<bool, Error> {
        let result = match self.left {
            Left::Error(error) => Err(error),
            _ => self.go_on(comm, work, &mut Turn::of_call()),
        };
        let result = result.map_err(|error| work.explained(error));
        if result.is_err() {
            for message in self.messages.drain(..) {
                comm.env().cancel(self.function, message.id, CancelPhase::Finish);
            }
        }
        if !matches!(result, Ok(false)) {
            self.end(comm);
        }
        result
    }

    /// Advances from an interrupt handler, by at most `steps` steps. Returns true if it made progress.
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

    /// Advances a lane that waits for no message.
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

    /// Checks whether the next step of a lane can run now. An interrupt handler runs it only if it needs no heap
    /// memory.
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
        // Only one remainder can be stored.
        let is_next = !matches!(self.left, Left::Copy { lane: of, .. } if of != lane);
        let is_reserved = comm.env().reserve(ReserveAction::Check).is_ok();
        let enough = self.reserved as usize >= self.lanes.messages && is_reserved;
        let may = **steps > 0 && enough && is_next && !work.is_for_calls();
        **steps -= u32::from(may);
        may
    }

    /// Limits a copy in an interrupt handler to [`SEGMENT_BYTES`], and stores the rest.
    fn shorten(&mut self, lane: usize, step: &mut Step) {
        if let Step::Copy { from, to } = step
            && from.len() > SEGMENT_BYTES
            && from.len() == to.len()
            && from != to
        {
            let rest = |area: &BufferSlice| area.part(SEGMENT_BYTES, area.len() - SEGMENT_BYTES);
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

    /// Completes the messages of a lane. Returns false without effect if one is not complete.
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
        // Reserves the memory that becomes free. If others have used it, the flight reserves available memory later.
        let reserve = if turn.is_call() {
            ReserveAction::Message { keep: 0 }
        } else {
            ReserveAction::FreeMessage
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

    /// Starts the messages of a step, or performs it completely.
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
        // Eager data keeps the order of the RTSs, and so uses one route; rendezvous data uses all routes.
        let mode = match span.len() > INLINE_BYTES {
            true if self.lanes.cross => SendMode::Synchronous,
            false if followed => SendMode::StandardDelayedAck,
            _ => SendMode::Standard,
        };
        let to = partners.send_to(span, dest, tag, mode)?;
        let memory = self.memory(is_call);
        let outgoing = OutgoingMessage { to, span };
        let id = comm.env().start_send(self.function, &outgoing, memory)?;
        self.has_begun = true;
        let expected = None;
        match id {
            Some(id) => self.messages.push(Message { id, lane, expected }),
            // The send is complete already.
            None if is_call => self.reserve(comm, 0).unwrap_or_default(),
            None => {
                self.reserved += u32::from(comm.env().reserve(ReserveAction::FreeMessage).is_ok());
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
        let incoming = IncomingMessage { pattern, span };
        let id = comm.env().start_receive(self.function, &incoming, memory)?;
        self.has_begun = true;
        let expected = Some(span.len());
        self.messages.push(Message { id, lane, expected });
        Ok(())
    }

    /// Returns the memory for the next message's request: reserved memory, if any.
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

    /// Returns the buffer's bytes for the next message of the lane.
    fn span(&mut self, lane: usize, buffer: Buffer) -> Span {
        match buffer {
            Buffer::User(area) => {
                let of_lane = self.messages.iter().filter(|message| message.lane == lane);
                let place = &mut self.places[lane * self.lanes.messages + of_lane.count()];
                // SAFETY: the slot is on the heap, and is written again only after `conclude` has found all messages of
                // the lane to be complete. A flight that is dropped has none in transit (`advance`).
                unsafe { area.span(place) }
            }
            // SAFETY: as above, for a segment: it has this many bytes (`Walk`), and the two messages of a step use
            // different ones.
            Buffer::Segment(half, bytes) => unsafe {
                Span::new(self.segments.pointer(lane, half), bytes)
            },
        }
    }
}

/// A collective in progress. Must not be dropped before its end: [`Running::advance`].
pub struct Running {
    work: Box<dyn Work + Send>,
    flight: Flight,
    meanwhile: bool,
}

impl Running {
    /// Creates the collective with this sequence number on its communicator. Performs no step. Fails with
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

    /// Checks whether it has started a message.
    pub fn has_begun(&self) -> bool {
        self.flight.has_begun
    }

    /// Returns the number of messages in transit.
    pub fn messages(&self) -> u32 {
        self.flight.messages.len() as u32
    }

    /// Checks whether its pending messages are complete.
    pub fn is_ready(&self, requests: &RequestPool) -> bool {
        self.flight.is_ready(requests)
    }

    /// Checks the same outside the device.
    pub fn is_ready_outside(&self, comm: Communicator<'_>) -> bool {
        self.flight.is_ready_outside(comm)
    }

    /// Advances until it must wait for messages (false) or to its end. Does not block. After an error, which also ends
    /// it, none of its messages is in transit.
    pub fn advance(&mut self, comm: Communicator<'_>) -> Result<bool, Error> {
        self.flight.advance(comm, &mut *self.work)
    }

    /// Advances from an interrupt handler with the borrowed device: by at most `steps` steps, and subtracts the
    /// performed ones. Returns true if it made progress. Work that remains for a call makes it
    /// [ready](Running::is_ready).
    pub fn advance_in_interrupt(&mut self, comm: Communicator<'_>, steps: &mut u32) -> bool {
        self.meanwhile
            && self
                .flight
                .advance_in_interrupt(comm, &mut *self.work, steps)
    }
}
