//! Execution of a nonblocking collective: its next steps and its pending messages.
//!
//! A plan is run to completion, or started. A started plan advances in any call that makes progress
//! ([`crate::call`]), until a step must wait for messages; it uses no stack in between. Its memory is allocated
//! from the program's heap at the start: the schedule with its data, the slots of its messages, the device's memory for
//! them and, for reductions, two segments a lane. So other processes never wait because this program exhausts its heap
//! later.
//!
//! # While the program computes
//! Interrupt handlers also perform steps ([`RunningCollective::advance_in_interrupt`]). They may interrupt the program anywhere,
//! for example in `malloc`, so they neither allocate nor free heap memory. They perform a step only if the device
//! memory for its messages is already reserved, and reserve it again when the messages complete. The following remains
//! for a call:
//!
//! * the end, which frees the memory and notifies the program;
//! * an error, because messages in transit must complete first;
//! * work that allocates memory between steps ([`ScheduleWork::is_for_calls`]);
//! * plans that run functions of the program ([`CollectiveSchedule::advances_in_interrupts`]).
//!
//! A copy within the program's memory can have any length: an interrupt handler copies one segment at a time.
//!
//! A collective belongs either to the interrupt handlers or to a call. A call removes it from the list that interrupt
//! handlers check ([`CollectiveState`](super::in_flight::CollectiveState)). It returns the collective inside the device, so that messages
//! that arrived before are found afterwards.
//!
//! # Lanes
//! A blocking call runs a schedule with lanes in the same way ([`run_side_by_side`]), if the heap has enough memory.
//! Otherwise it runs one lane after the other, as [`LaneConfig`] allows, and needs no memory.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::call::{are_finished, block_until};
use crate::coll::run::{CombineFn, SegmentSizes, Workspace, exactly, run_in_segments};
use crate::coll::schedule::{LaneConfig, MAX_LANES, Schedule, ScheduleStep, StepBuffer, numbered};
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
use midplane_device::request::{RESERVED_SLOTS, RequestId, RequestPool, SendMode};
use midplane_device::wire::INLINE_BYTES;

/// Work of a collective, with all data that belongs to it.
pub(super) trait ScheduleWork {
    /// Returns the next step; see [`Schedule::next`]. Called outside the device.
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error>;

    /// Returns the lanes; see [`Schedule::lanes`].
    fn lanes(&mut self) -> LaneConfig {
        LaneConfig::ONE
    }

    /// Returns the next step of a lane; see [`Schedule::next_in`]. Called outside the device.
    fn next_in(&mut self, lane: usize) -> Result<Option<ScheduleStep>, Error> {
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
pub struct CollectiveSchedule {
    work: Box<dyn ScheduleWork + Send>,
    /// Bytes of an element of a segment; `None`: there are no segments.
    element: Option<usize>,
    lanes: LaneConfig,
    /// All messages are concurrent.
    concurrent: bool,
    /// Interrupt handlers may perform its steps.
    in_interrupts: bool,
}

impl CollectiveSchedule {
    /// Enables steps in interrupt handlers if `may` is set. The work, except the part for calls (`ScheduleWork::is_for_calls`),
    /// and the combining function must then be no function of the program, must not use the heap, and must have a short
    /// run time.
    pub fn advances_in_interrupts(self, may: bool) -> CollectiveSchedule {
        CollectiveSchedule {
            in_interrupts: may,
            ..self
        }
    }

    /// Creates a plan performed step by step, with segments if `element` is set.
    pub(super) fn from_steps(
        mut work: impl ScheduleWork + Send + 'static,
        element: Option<usize>,
    ) -> Result<CollectiveSchedule, Error> {
        Ok(CollectiveSchedule {
            lanes: work.lanes(),
            work: boxed(work)?,
            element,
            concurrent: false,
            in_interrupts: false,
        })
    }

    /// Creates a plan of concurrent messages without other steps.
    pub(super) fn from_concurrent_steps(
        work: impl ScheduleWork + Send + 'static,
        messages: usize,
    ) -> Result<CollectiveSchedule, Error> {
        let lanes = LaneConfig {
            messages,
            ..LaneConfig::ONE
        };
        Ok(CollectiveSchedule {
            work: boxed(work)?,
            element: None,
            lanes,
            concurrent: true,
            in_interrupts: false,
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

impl<W: ScheduleWork> ScheduleWork for [W; 1] {
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        self[0].next()
    }

    fn lanes(&mut self) -> LaneConfig {
        self[0].lanes()
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<ScheduleStep>, Error> {
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

/// Allocates a box. Fails with [`Error::NoSpace`].
fn boxed<W: ScheduleWork + Send + 'static>(work: W) -> Result<Box<dyn ScheduleWork + Send>, Error> {
    let mut one = try_with_capacity(1)?;
    one.push(work);
    match <Box<[W; 1]>>::try_from(one) {
        Ok(one) => Ok(one),
        Err(_) => unreachable!("it has one"),
    }
}

/// Returns an empty list with capacity for `count`. Fails with [`Error::NoSpace`].
pub fn try_with_capacity<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    let none = |_| Error::NoSpace { bytes };
    list.try_reserve_exact(count).map_err(none)?;
    Ok(list)
}

/// A schedule of a blocking call, and its combining function.
struct BorrowedSchedule<'s, 'c> {
    schedule: &'s mut dyn Schedule,
    combine: &'s mut CombineFn<'c>,
}

impl ScheduleWork for BorrowedSchedule<'_, '_> {
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        Ok(self.schedule.next())
    }

    fn next_in(&mut self, lane: usize) -> Result<Option<ScheduleStep>, Error> {
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
    sizes: SegmentSizes,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    let lanes = schedule.lanes();
    if lanes.count > 1 {
        let bytes = sizes.element.max(RING_BYTES.min(sizes.max_bytes));
        if let Ok(mut flight) = ScheduleExecutor::new(comm, function, bytes, lanes, false) {
            let mut work = BorrowedSchedule { schedule, combine };
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
struct InFlightMessage {
    id: RequestId,
    lane: usize,
    /// Bytes of the buffer that a receive must fill; `None`: a send.
    expected: Option<usize>,
}

/// Destination and tag of a message; `followed`: a later message can carry its acknowledgement.
#[derive(Clone, Copy)]
struct SendTarget {
    dest: CommRank,
    tag: Tag,
    followed: bool,
}

/// State of a collective in progress. Must not be dropped before its end: [`ScheduleExecutor::advance`].
struct ScheduleExecutor {
    function: &'static str,
    /// Offset added to the tags of its steps.
    tags: Tag,
    concurrent: bool,
    /// A call blocks until its end, and may use memory reserved for blocking calls.
    blocks: bool,
    lanes: LaneConfig,
    /// Completed lanes, one bit each.
    over: u32,
    segments: LongSegments,
    messages: Vec<InFlightMessage>,
    /// One per message; not written while the message is in transit.
    places: Vec<TypedSlot>,
    /// Number of messages with reserved device memory.
    reserved: u32,
    has_begun: bool,
    left: DeferredWork,
}

/// Work that an interrupt handler leaves to the next one or to a call.
enum DeferredWork {
    /// Only the end.
    None,
    /// The rest of a lane's [`ScheduleStep::Copy`].
    Copy {
        lane: usize,
        from: BufferSlice,
        to: BufferSlice,
    },
    /// This error, to be returned by a call.
    Error(Error),
}

/// Limits of one advance of a flight.
struct AdvanceBudget<'t> {
    /// Steps that an interrupt handler may still perform; `None` for a call.
    steps: Option<&'t mut u32>,
    has_moved: bool,
}

impl AdvanceBudget<'_> {
    /// Creates the turn of a call, without limit.
    fn of_call() -> Self {
        AdvanceBudget {
            steps: None,
            has_moved: false,
        }
    }

    fn is_call(&self) -> bool {
        self.steps.is_none()
    }
}

const _: () = assert!(MAX_LANES < u32::BITS as usize);

impl ScheduleExecutor {
    /// Creates an idle flight for a blocking call, or one to be numbered later. Fails with [`Error::NoSpace`] or
    /// [`Error::NoMemory`].
    fn new(
        comm: Communicator<'_>,
        function: &'static str,
        segment: usize,
        lanes: LaneConfig,
        concurrent: bool,
    ) -> Result<ScheduleExecutor, Error> {
        let messages = lanes.count * lanes.messages;
        let mut places = try_with_capacity(messages)?;
        places.resize(messages, TypedSlot::EMPTY);
        let mut flight = ScheduleExecutor {
            function,
            tags: 0,
            concurrent,
            blocks: true,
            lanes,
            over: 0,
            segments: LongSegments::new(segment, lanes.count)?,
            messages: try_with_capacity(messages)?,
            places,
            reserved: 0,
            has_begun: false,
            left: DeferredWork::None,
        };
        // A single process performs all steps without messages, unless it is its own neighbour.
        if comm.size() > 1 || concurrent {
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

    fn is_ready_if(&self, is_done: impl Fn(&InFlightMessage) -> bool) -> bool {
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
        matches!(self.left, DeferredWork::Error(_))
    }

    /// Returns a mask with one bit per lane.
    fn all(&self) -> u32 {
        (1 << self.lanes.count) - 1
    }

    /// Advances until all lanes must wait for messages (false) or to the end. Does not block. After an error, which
    /// also ends it, none of its messages is in transit.
    fn advance(&mut self, comm: Communicator<'_>, work: &mut dyn ScheduleWork) -> Result<bool, Error> {
        let result = match self.left {
            DeferredWork::Error(error) => Err(error),
            _ => self.advance_lanes(comm, work, &mut AdvanceBudget::of_call()),
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
    fn advance_in_interrupt(&mut self, comm: Communicator<'_>, work: &mut dyn ScheduleWork, steps: &mut u32) -> bool {
        if self.has_failed() || self.over == self.all() {
            return false;
        }
        let mut turn = AdvanceBudget {
            steps: Some(steps),
            has_moved: false,
        };
        if let Err(error) = self.advance_lanes(comm, work, &mut turn) {
            self.left = DeferredWork::Error(error);
        }
        turn.has_moved
    }

    fn advance_lanes(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn ScheduleWork,
        turn: &mut AdvanceBudget<'_>,
    ) -> Result<bool, Error> {
        for lane in 0..self.lanes.count {
            if self.over & 1 << lane == 0 && self.collect_completed(comm, lane, turn)? {
                self.advance_lane(comm, work, lane, turn)?;
            }
        }
        Ok(self.over == self.all())
    }

    /// Advances a lane that waits for no message.
    fn advance_lane(
        &mut self,
        comm: Communicator<'_>,
        work: &mut dyn ScheduleWork,
        lane: usize,
        turn: &mut AdvanceBudget<'_>,
    ) -> Result<(), Error> {
        while self.may_advance(comm, work, lane, turn) {
            let next = match self.left {
                DeferredWork::Copy { lane: of, from, to } if of == lane => {
                    self.left = DeferredWork::None;
                    Some(ScheduleStep::Copy { from, to })
                }
                _ => work.next_in(lane)?,
            };
            turn.has_moved = true;
            let Some(mut step) = next else {
                if self.collect_completed(comm, lane, turn)? {
                    self.over |= 1 << lane;
                }
                return Ok(());
            };
            if !turn.is_call() {
                self.shorten(lane, &mut step);
            }
            self.perform(comm, work, lane, step, turn)?;
            if !self.concurrent && !self.collect_completed(comm, lane, turn)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Checks whether the next step of a lane can run now. An interrupt handler runs it only if it needs no heap
    /// memory.
    fn may_advance(
        &self,
        comm: Communicator<'_>,
        work: &dyn ScheduleWork,
        lane: usize,
        turn: &mut AdvanceBudget<'_>,
    ) -> bool {
        let Some(steps) = &mut turn.steps else {
            return true;
        };
        // Only one remainder can be stored.
        let is_next = !matches!(self.left, DeferredWork::Copy { lane: of, .. } if of != lane);
        let is_reserved = comm.env().reserve(ReserveAction::Check).is_ok();
        let enough = self.reserved as usize >= self.lanes.messages && is_reserved;
        let may = **steps > 0 && enough && is_next && !work.is_for_calls();
        **steps -= u32::from(may);
        may
    }

    /// Limits a copy in an interrupt handler to [`SEGMENT_BYTES`], and stores the rest.
    fn shorten(&mut self, lane: usize, step: &mut ScheduleStep) {
        if let ScheduleStep::Copy { from, to } = step
            && from.len() > SEGMENT_BYTES
            && from.len() == to.len()
            && from != to
        {
            let rest = |area: &BufferSlice| area.part(SEGMENT_BYTES, area.len() - SEGMENT_BYTES);
            let (rest_from, rest_to) = (rest(from), rest(to));
            self.left = DeferredWork::Copy {
                lane,
                from: rest_from,
                to: rest_to,
            };
            *from = from.part(0, SEGMENT_BYTES);
            *to = to.part(0, SEGMENT_BYTES);
        }
    }

    /// Completes the messages of a lane. Returns false without effect if one is not complete.
    fn collect_completed(
        &mut self,
        comm: Communicator<'_>,
        lane: usize,
        turn: &mut AdvanceBudget<'_>,
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
            if let (TestResult::Complete(ended), Some(expected)) = (env.test(None, message.id), message.expected)
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
        work: &mut dyn ScheduleWork,
        lane: usize,
        step: ScheduleStep,
        turn: &AdvanceBudget<'_>,
    ) -> Result<(), Error> {
        let is_call = turn.is_call();
        match step {
            ScheduleStep::Send { dest, tag, data } => self.send(
                comm,
                lane,
                is_call,
                SendTarget {
                    dest,
                    tag,
                    followed: false,
                },
                data,
            ),
            ScheduleStep::Receive { source, tag, data } => self.receive(comm, lane, is_call, source, tag, data),
            ScheduleStep::Exchange { tag, given, taken } => {
                self.receive(comm, lane, is_call, taken.1, tag, taken.0)?;
                let target = SendTarget {
                    dest: given.1,
                    tag,
                    followed: false,
                };
                self.send(comm, lane, is_call, target, given.0)
            }
            ScheduleStep::Pass {
                tag,
                followed,
                given: (given, dests),
                taken,
            } => {
                if let Some((taken, source)) = taken {
                    self.receive(comm, lane, is_call, source, tag, StepBuffer::User(taken))?;
                }
                let data = StepBuffer::User(given);
                let mut dests = dests.iter();
                dests.try_for_each(|dest| self.send(comm, lane, is_call, SendTarget { dest, tag, followed }, data))
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
        lane: usize,
        is_call: bool,
        SendTarget { dest, tag, followed }: SendTarget,
        data: StepBuffer,
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
            Some(id) => self.messages.push(InFlightMessage { id, lane, expected }),
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
        lane: usize,
        is_call: bool,
        source: CommRank,
        tag: Tag,
        data: StepBuffer,
    ) -> Result<(), Error> {
        let (tag, span) = (tag + self.tags, self.span(lane, data));
        let partners = comm.partners().for_collectives();
        let pattern = partners.pattern(Some(source), Some(tag))?;
        let memory = self.memory(is_call);
        let incoming = IncomingMessage { pattern, span };
        let id = comm.env().start_receive(self.function, &incoming, memory)?;
        self.has_begun = true;
        let expected = Some(span.len());
        self.messages.push(InFlightMessage { id, lane, expected });
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
    fn span(&mut self, lane: usize, buffer: StepBuffer) -> Span {
        match buffer {
            StepBuffer::User(area) => {
                let of_lane = self.messages.iter().filter(|message| message.lane == lane);
                let place = &mut self.places[lane * self.lanes.messages + of_lane.count()];
                // SAFETY: the slot is on the heap, and is written again only after `collect_completed` has found all messages of
                // the lane to be complete. A flight that is dropped has none in transit (`advance`).
                unsafe { area.span(place) }
            }
            // SAFETY: as above, for a segment: it has this many bytes (`SegmentWalk`), and the two messages of a step use
            // different ones.
            StepBuffer::Segment(half, bytes) => unsafe { Span::new(self.segments.pointer(lane, half), bytes) },
        }
    }
}

/// A collective in progress. Must not be dropped before its end: [`RunningCollective::advance`].
pub struct RunningCollective {
    work: Box<dyn ScheduleWork + Send>,
    flight: ScheduleExecutor,
    in_interrupts: bool,
}

impl RunningCollective {
    /// Creates the collective with this sequence number on its communicator. Performs no step. Fails with
    /// [`Error::NoSpace`] or [`Error::NoMemory`].
    pub fn new(
        comm: Communicator<'_>,
        function: &'static str,
        number: u32,
        plan: CollectiveSchedule,
    ) -> Result<RunningCollective, Error> {
        let bytes = plan.element.map(|element| element.max(SEGMENT_BYTES));
        let mut flight = ScheduleExecutor::new(comm, function, bytes.unwrap_or(0), plan.lanes, plan.concurrent)?;
        flight.tags = numbered(number);
        flight.blocks = false;
        Ok(RunningCollective {
            work: plan.work,
            flight,
            in_interrupts: plan.in_interrupts,
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
    /// [ready](RunningCollective::is_ready).
    pub fn advance_in_interrupt(&mut self, comm: Communicator<'_>, steps: &mut u32) -> bool {
        self.in_interrupts && self.flight.advance_in_interrupt(comm, &mut *self.work, steps)
    }
}
