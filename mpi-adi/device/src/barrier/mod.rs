//! Barrier of all processes, along the lines of the torus.
//!
//! ```text
//! each dimension of two nodes:    the second of a pair notifies the first (ARRIVE) and stops
//! each longer one, in turn:       the nodes of a line notify each other (TELL, see `line`)
//! then those of two, backwards:   the first of a pair releases the second (RELEASE)
//! ```
//! Announcements along a line deposit a copy at every node that they pass (the deposit bit). In a line of eight, each
//! node injects two packets and receives four. On 8x8x8, the path from any node to any other consists of three steps of
//! two sequential packets, with as many hops as the torus is deep. With a head node per line that gathers and releases,
//! there are fewer packets, but six steps, and the packets queue for the links into the head nodes (measured: 3.47
//! times the depth instead of 1.9). In a pair only packets can be saved, so its first node gathers. A dissemination
//! barrier (Hensgen, Finkel and Manber) over point-to-point messages requires N log2 N messages, each with an
//! acknowledgement.
//!
//! Packets use the priority class and update a constant amount of state, so the barrier requires no MPI memory and
//! cannot be rejected. A process may receive packets of the next barrier while it is in this one (`state`).
//!
//! # Values
//! A barrier can carry a value of each process, up to [`VALUE_BYTES`], in its packets: an in-network allreduce. A
//! process announces the combination of all values that it represents. When all values of a pair, a group or a line's
//! groups have been received, the barrier pauses until the program has combined them. The order is that of coordinates,
//! so all processes get the same bits; the device does not know the operation. The release of a pair's second node
//! contains the result. Pairs are combined first in any dimension, so the order differs from that of the ranks: the
//! operation has to be commutative.
//!
//! Values of different lengths are a program error. The process that detects it stops combining and announces the
//! mismatch instead of a value. Each process still completes the barrier and is notified ([`AllreduceStep::Mismatch`],
//! [`Adi::barrier_mismatch`]).
//!
//! # The last barrier
//! Packets of the barrier in MPI_Finalize are marked. If other processes are in another barrier, a program error as
//! well, all processes are notified.
#![forbid(unsafe_code)]

pub mod call;
pub(super) mod engine;
mod line;
pub(super) mod state;
pub(super) mod values;

use msg_layer::header::Header;
use msg_layer::{MalformedPacket, Port, ReceivedPacket};
use net_torus::{Coord, Direction};

use crate::adi::Adi;
use crate::barrier::line::{AnnounceScope, LinePosition};
use crate::barrier::state::{BarrierStage, OriginPackets};
use crate::barrier::values::{PacketOrigin, ReceivedValue};
use crate::protocol::ProtocolRules;
use crate::wire::{ARRIVE, RELEASE, TELL};

pub use crate::barrier::values::VALUE_BYTES;

/// Fields of a header's argument: the dimension and flags.
const DIMENSION_BITS: u16 = 0b11;
const IS_ODD: u16 = 1 << 2;
const IS_LINE: u16 = 1 << 3;
/// The processes' values do not match, or could not be stored, or not all processes are in the same call. No more
/// values are combined.
const DIFFER: u16 = 1 << 4;
/// This is the last barrier of the process; with [`DIFFER`], of one of those that it represents.
const IS_LAST: u16 = 1 << 5;
const MARKS: u16 = DIFFER | IS_LAST;
/// Received marks only: for some process it is not the last barrier.
const IS_NOT_LAST: u16 = IS_LAST << 1;

/// Returns the coordinates of the pair's first or second node in this dimension.
fn pair_coord(here: Coord, dimension: u8, is_second: bool) -> Coord {
    let at = u8::from(is_second);
    match dimension {
        0 => Coord { x: at, ..here },
        1 => Coord { y: at, ..here },
        _ => Coord { z: at, ..here },
    }
}

/// Returns the direction from the second node of a pair to the first, or vice versa.
fn pair_direction(dimension: u8, is_second: bool) -> Direction {
    Direction::ALL[2 * usize::from(dimension) + usize::from(is_second)]
}

/// Converts the marks of a packet's argument to the format of [`OriginPackets::marks`].
#[inline]
fn received_marks(argument: u16) -> u16 {
    argument & MARKS | (!argument & IS_LAST) << 1
}
const _: () = assert!(IS_NOT_LAST == IS_LAST << 1 && MARKS & IS_NOT_LAST == 0);

/// Combines each value with the next one, which is replaced by the result.
fn combine_in_order(values: &mut [ReceivedValue], combine: &mut impl FnMut(&ReceivedValue, &mut ReceivedValue)) {
    for at in 1..values.len() {
        let (left, right) = values.split_at_mut(at);
        combine(&left[at - 1], &mut right[0]);
    }
}

/// Mismatch between the calls in which the processes entered a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierMismatch {
    /// It was the last barrier for some processes only.
    Last,
    /// Their values have different lengths, or some have none.
    Values,
}

/// Next action for the caller of an in-network allreduce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllreduceStep {
    /// None yet.
    Wait,
    /// Combine this number of values: in place ([`Adi::combine_values`]), or one by one ([`Adi::combined_value`]) outside the
    /// device, followed by [`Adi::set_value`] with the result.
    Combine(usize),
    /// None: [`Adi::combined_value`] 0 is the result, and the process is out of the barrier.
    Done,
    /// None: the calls do not match ([`Adi::barrier_mismatch`]), and the process is out of the barrier.
    Mismatch,
}

impl<R: ProtocolRules> Adi<R> {
    /// Enters the barrier of all processes. Does not block; [`Adi::progress`] advances it.
    ///
    /// # Panics
    /// If this process is already in a barrier.
    pub fn enter_barrier(&mut self) {
        self.enter_with(&[], 0);
    }

    /// Enters the last barrier of this process, like [`Adi::enter_barrier`].
    ///
    /// # Panics
    /// If this process is already in a barrier.
    pub fn enter_last_barrier(&mut self) {
        self.enter_with(&[], IS_LAST);
    }

    /// Enters the barrier with a value of 1 to [`VALUE_BYTES`] bytes. [`Adi::allreduce_step`] returns the next action.
    /// Returns false and does nothing for any other length, or if barriers carry no values ([`DeviceMemory::with_values`]).
    ///
    /// # Panics
    /// If this process is already in a barrier.
    ///
    /// [`DeviceMemory::with_values`]: crate::DeviceMemory::with_values
    pub fn enter_allreduce(&mut self, value: &[u8]) -> bool {
        let can = (1..=VALUE_BYTES).contains(&value.len()) && self.barrier.values.is_allocated();
        if can {
            self.enter_with(value, 0);
        }
        can
    }

    #[inline]
    fn enter_with(&mut self, value: &[u8], marks: u16) {
        assert!(matches!(self.barrier.state.stage, BarrierStage::Outside));
        self.barrier.state.is_odd = !self.barrier.state.is_odd;
        self.barrier.state.value.set(value);
        self.barrier.state.marks = marks;
        self.barrier.state.unwanted = DIFFER | received_marks(!marks) & (IS_LAST | IS_NOT_LAST);
        self.barrier.state.stage = self.pair_stage_from(0);
    }

    /// Checks whether all processes have entered the barrier, and exits it if so.
    pub fn leave_barrier(&mut self) -> bool {
        let done = matches!(self.barrier.state.stage, BarrierStage::Done);
        if done {
            self.barrier.state.stage = BarrierStage::Outside;
        }
        done
    }

    /// Returns the mismatch between the processes' calls in the last completed barrier, if any.
    #[inline]
    pub fn barrier_mismatch(&self) -> Option<BarrierMismatch> {
        match self.barrier.state.marks & MARKS {
            MARKS => Some(BarrierMismatch::Last),
            DIFFER => Some(BarrierMismatch::Values),
            _ => None,
        }
    }

    /// Checks whether [`Adi::allreduce_step`] has no action for the caller yet.
    #[inline]
    pub fn allreduce_waits(&self) -> bool {
        let stage = self.barrier.state.stage;
        !matches!(stage, BarrierStage::Combining(_) | BarrierStage::Done)
    }

    /// Returns the next action of the allreduce that this process has entered. Exits the barrier if it is complete.
    pub fn allreduce_step(&mut self) -> AllreduceStep {
        if let BarrierStage::Combining(origin) = self.barrier.state.stage {
            return AllreduceStep::Combine(self.expected_packets(origin) + 1);
        }
        match (self.leave_barrier(), self.barrier_mismatch()) {
            (false, _) => AllreduceStep::Wait,
            (true, Some(_)) => AllreduceStep::Mismatch,
            (true, None) => AllreduceStep::Done,
        }
    }

    /// Returns the `index`th of the values to combine, in the order of their processes' coordinates. If none are to be
    /// combined, returns this process's value. Empty if the index is out of range.
    pub fn combined_value(&self, index: usize) -> &[u8] {
        let own = self.barrier.state.value.bytes();
        let BarrierStage::Combining(origin) = self.barrier.state.stage else {
            return own;
        };
        let lower = self.lower(origin);
        if index == lower {
            return own;
        }
        let heard = self.received_values(origin);
        let value = heard.get(index - usize::from(index > lower));
        value.map_or(&[], |value| value.bytes())
    }

    /// Combines the pending values in place and in order, then continues the barrier. `combine` replaces its second
    /// value by the combination of both. Does nothing if there are no values to combine.
    pub fn combine_values(&mut self, mut combine: impl FnMut(&[u8], &mut [u8])) {
        let BarrierStage::Combining(origin) = self.barrier.state.stage else {
            return;
        };
        let (lower, count) = (self.lower(origin), self.expected_packets(origin));
        let own = &mut self.barrier.state.value;
        let heard = self
            .barrier
            .values
            .values_from_mut((self.barrier.state.is_odd, origin), count);
        let (below, above) = heard.split_at_mut(lower.min(heard.len()));
        let mut combine = |left: &ReceivedValue, right: &mut ReceivedValue| combine(left.bytes(), right.bytes_mut());
        combine_in_order(below, &mut combine);
        if let Some(last) = below.last() {
            combine(last, own);
        }
        if let Some(first) = above.first_mut() {
            combine(own, first);
        }
        combine_in_order(above, &mut combine);
        if let Some(last) = above.last() {
            own.set(last.bytes());
        }
        self.barrier.state.stage = self.stage_after(origin);
    }

    /// Sets the result of the pending combination, which has the same length as the values, then continues the barrier.
    ///
    /// # Panics
    /// If there are no values to combine, or the length differs.
    pub fn set_value(&mut self, value: &[u8]) {
        let BarrierStage::Combining(origin) = self.barrier.state.stage else {
            panic!("no values to combine");
        };
        assert!(value.len() == self.barrier.state.value.bytes().len());
        self.barrier.state.value.set(value);
        self.barrier.state.stage = self.stage_after(origin);
    }

    /// Checks whether the network, as of the last [`Adi::progress`], supports the barrier, and this process is in none.
    pub fn has_barrier(&self) -> bool {
        self.barrier.has_lines && matches!(self.barrier.state.stage, BarrierStage::Outside)
    }

    /// Advances the barrier while the injection FIFO has space. Returns the number of steps, since a blocking call may
    /// wait for any.
    #[inline]
    pub(crate) fn send_barrier<P: Port>(&mut self, port: &mut P) -> usize {
        self.barrier.has_lines = P::LINES;
        if self.barrier.state.has_steps() {
            self.run_barrier_steps(port)
        } else {
            0
        }
    }

    /// Checks whether the barrier can advance without further packets, if the network has space.
    #[inline]
    pub(crate) fn can_advance_barrier(&self) -> bool {
        self.barrier.state.has_steps() && !self.waits_for_packets()
    }

    fn line_position(&self, dimension: u8) -> LinePosition {
        LinePosition::new(&self.identity.shape, self.identity.here, dimension.into())
    }

    /// Returns the next stage in this or a later dimension of two nodes.
    fn pair_stage_from(&self, dimension: u8) -> BarrierStage {
        match self.barrier.pairs.next(dimension) {
            Some(dimension) if self.barrier.pairs.is_second(dimension) => BarrierStage::Arriving(dimension),
            Some(dimension) => BarrierStage::Gathering(dimension),
            None => self.line_stage_from(0),
        }
    }

    /// Returns the next stage in this or a later dimension of more than two nodes.
    fn line_stage_from(&self, dimension: u8) -> BarrierStage {
        match (dimension..3).find(|&dimension| self.identity.shape.extents()[usize::from(dimension)] > 2) {
            Some(dimension) => BarrierStage::Announcing(dimension, AnnounceScope::Group, 0),
            None => BarrierStage::Releasing(3),
        }
    }

    /// Returns the stage after this origin has been received and its values have been combined.
    fn stage_after(&self, origin: PacketOrigin) -> BarrierStage {
        match origin {
            PacketOrigin::Pair(dimension) => self.pair_stage_from(dimension + 1),
            PacketOrigin::Line(dimension, AnnounceScope::Group) => {
                BarrierStage::Announcing(dimension, AnnounceScope::Line, 0)
            }
            PacketOrigin::Line(dimension, AnnounceScope::Line) => self.line_stage_from(dimension + 1),
        }
    }

    /// Returns the number of packets expected from this origin.
    fn expected_packets(&self, origin: PacketOrigin) -> usize {
        match origin {
            PacketOrigin::Pair(_) => 1,
            PacketOrigin::Line(dimension, circle) => self.line_position(dimension).expected(circle).into(),
        }
    }

    /// Returns the number of packets of this origin from coordinates below this node's.
    fn lower(&self, origin: PacketOrigin) -> usize {
        match origin {
            PacketOrigin::Pair(_) => 0,
            PacketOrigin::Line(dimension, circle) => self.line_position(dimension).packets_below(circle),
        }
    }

    /// Returns this barrier's received values of this origin, once it is complete.
    fn received_values(&self, origin: PacketOrigin) -> &[ReceivedValue] {
        let of = (self.barrier.state.is_odd, origin);
        self.barrier.values.values_from(of, self.expected_packets(origin))
    }

    /// Checks whether the barrier waits for packets.
    // Outlined, as most progress steps are outside barriers.
    #[inline(never)]
    fn waits_for_packets(&self) -> bool {
        let (origin, expected) = match self.barrier.state.stage {
            BarrierStage::Gathering(dimension) => (PacketOrigin::Pair(dimension), 1),
            BarrierStage::Collecting(dimension, circle) => {
                let origin = PacketOrigin::Line(dimension, circle);
                (origin, self.expected_packets(origin))
            }
            _ => return false,
        };
        let heard = self.barrier.state.received(self.barrier.state.is_odd, origin);
        usize::from(heard.packets) < expected
    }

    /// Returns the next stage if `expected` packets of this origin have been received, otherwise `None`.
    #[inline]
    fn count_received(&mut self, origin: PacketOrigin, expected: usize) -> Option<BarrierStage> {
        let heard = self.barrier.state.received_mut(self.barrier.state.is_odd, origin);
        if usize::from(heard.packets) < expected {
            return None;
        }
        let heard = core::mem::take(heard);
        let bytes = self.barrier.state.value.bytes().len();
        let is_told = heard.values > 0 || bytes > 0 || heard.marks & self.barrier.state.unwanted != 0;
        Some(if is_told {
            self.count_received_values(origin, heard)
        } else {
            self.stage_after(origin)
        })
    }

    /// Implements [`Adi::count_received`] for a barrier with values or a mismatch.
    #[inline(never)]
    fn count_received_values(&mut self, origin: PacketOrigin, heard: OriginPackets) -> BarrierStage {
        let bytes = self.barrier.state.value.bytes().len();
        let fits = |value: &ReceivedValue| value.bytes().len() == bytes;
        let all_fit = match bytes {
            0 => heard.values == 0,
            _ => heard.values == heard.packets && self.received_values(origin).iter().all(fits),
        };
        if heard.marks & self.barrier.state.unwanted != 0 {
            let is_mixed = heard.marks & DIFFER == 0;
            let last = if is_mixed { IS_LAST } else { 0 };
            self.barrier.state.marks |= heard.marks & MARKS | DIFFER | last;
        }
        if !all_fit {
            self.barrier.state.marks |= DIFFER;
        }
        if heard.values > 0 && self.barrier.state.marks & DIFFER == 0 {
            BarrierStage::Combining(origin)
        } else {
            self.stage_after(origin)
        }
    }

    #[inline(never)]
    fn run_barrier_steps<P: Port>(&mut self, port: &mut P) -> usize {
        let mut steps = 0;
        while let Some(next) = self.run_barrier_step(port) {
            self.barrier.state.stage = next;
            steps += 1;
        }
        steps
    }

    /// Executes one step and returns the next stage. `None` if no step is possible now.
    #[inline(always)]
    fn run_barrier_step<P: Port>(&mut self, port: &mut P) -> Option<BarrierStage> {
        Some(match self.barrier.state.stage {
            BarrierStage::Outside | BarrierStage::Waiting | BarrierStage::Combining(_) | BarrierStage::Done => {
                return None;
            }
            BarrierStage::Arriving(dimension) => {
                self.announce(port, pair_direction(dimension, true), 1, ARRIVE, dimension.into())?;
                BarrierStage::Waiting
            }
            BarrierStage::Gathering(dimension) => self.count_received(PacketOrigin::Pair(dimension), 1)?,
            BarrierStage::Announcing(dimension, circle, 2) => BarrierStage::Collecting(dimension, circle),
            BarrierStage::Announcing(dimension, circle, packet) => {
                let (direction, hops) = self.line_position(dimension).hops(circle)[usize::from(packet)];
                let is_odd = if self.barrier.state.is_odd { IS_ODD } else { 0 };
                let is_line = if circle == AnnounceScope::Line { IS_LINE } else { 0 };
                self.announce(port, direction, hops, TELL, u16::from(dimension) | is_odd | is_line)?;
                BarrierStage::Announcing(dimension, circle, packet + 1)
            }
            BarrierStage::Collecting(dimension, circle) => {
                let origin = PacketOrigin::Line(dimension, circle);
                self.count_received(origin, self.expected_packets(origin))?
            }
            BarrierStage::Releasing(0) => BarrierStage::Done,
            BarrierStage::Releasing(left) => {
                let dimension = left - 1;
                if self.barrier.pairs.contains(dimension) {
                    self.announce(port, pair_direction(dimension, false), 1, RELEASE, dimension.into())?;
                }
                BarrierStage::Releasing(dimension)
            }
        })
    }

    /// Injects a packet to `hops` nodes in this direction, with the value if there is one. `None` if the FIFO is full.
    fn announce<P: Port>(
        &self,
        port: &mut P,
        direction: Direction,
        hops: u16,
        handler: u8,
        argument: u16,
    ) -> Option<()> {
        let marks = self.barrier.state.marks;
        let value = match marks & DIFFER {
            0 => self.barrier.state.value.bytes(),
            _ => &[],
        };
        let header = Header {
            argument: argument | marks,
            ..self.header(handler)
        };
        let emit = |body: &mut [u8]| {
            let place = header.emit(body, value.len());
            if !value.is_empty() {
                place.copy_from_slice(value);
            }
        };
        let bytes = header.bytes() + value.len();
        let told = hops == 0 || port.inject_line(direction, hops, bytes, emit);
        told.then_some(())
    }

    /// Handles ARRIVE: the second node of a pair has arrived.
    pub(crate) fn handle_arrive(&mut self, arrival: &ReceivedPacket<'_>) -> Result<(), MalformedPacket> {
        let dimension = u8::try_from(arrival.argument & !MARKS).unwrap_or(u8::MAX);
        let ours = dimension < self.barrier.pairs.leading_firsts()
            && self.barrier.pairs.contains(dimension)
            && arrival.source == pair_coord(self.identity.here, dimension, true);
        if !ours {
            return Err(MalformedPacket);
        }
        self.handle_announcement(false, PacketOrigin::Pair(dimension), 0, arrival)
    }

    /// Handles TELL: a node of a line has arrived, with all that it represents.
    pub(crate) fn handle_tell(&mut self, arrival: &ReceivedPacket<'_>) -> Result<(), MalformedPacket> {
        let dimension = (arrival.argument & DIMENSION_BITS) as u8;
        let along = usize::from(dimension);
        let is_odd = arrival.argument & IS_ODD != 0;
        let circle = match arrival.argument & IS_LINE {
            0 => AnnounceScope::Group,
            _ => AnnounceScope::Line,
        };
        let (at, from) = (self.identity.here.axes(), arrival.source.axes());
        let is_on_line = (0..3).all(|other| other == along || at[other] == from[other]);
        let ours = arrival.argument & !(DIMENSION_BITS | IS_ODD | IS_LINE | MARKS) == 0
            && dimension < 3
            && is_on_line
            && self.barrier.pairs.leading_firsts() == 3
            && self.identity.shape.extents()[along] > 2
            && self.line_position(dimension).receives_from(circle, from[along]);
        if !ours {
            return Err(MalformedPacket);
        }
        let index = match arrival.bytes {
            [] => 0,
            _ => self.line_position(dimension).packet_index(circle, from[along]),
        };
        self.handle_announcement(is_odd, PacketOrigin::Line(dimension, circle), index, arrival)
    }

    /// Counts a packet of this origin, and stores its value, if any, at `index`.
    fn handle_announcement(
        &mut self,
        is_odd: bool,
        origin: PacketOrigin,
        index: usize,
        arrival: &ReceivedPacket<'_>,
    ) -> Result<(), MalformedPacket> {
        let bytes = arrival.bytes;
        let is_more = usize::from(self.barrier.state.received(is_odd, origin).packets) >= self.expected_packets(origin);
        if is_more || bytes.len() > VALUE_BYTES {
            return Err(MalformedPacket);
        }
        let has_value = !bytes.is_empty();
        let is_lost = has_value && !self.barrier.values.store(is_odd, origin, index, bytes);
        let heard = self.barrier.state.received_mut(is_odd, origin);
        heard.packets += 1;
        heard.values += u16::from(has_value);
        heard.marks |= received_marks(arrival.argument);
        if is_lost {
            heard.marks |= DIFFER;
        }
        Ok(())
    }

    /// Handles RELEASE: all processes have arrived.
    pub(crate) fn handle_release(&mut self, arrival: &ReceivedPacket<'_>) -> Result<(), MalformedPacket> {
        let firsts = self.barrier.pairs.leading_firsts();
        let ours = arrival.argument & !MARKS == firsts.into()
            && matches!(self.barrier.state.stage, BarrierStage::Waiting)
            && arrival.source == pair_coord(self.identity.here, firsts, false)
            && arrival.bytes.len() <= VALUE_BYTES;
        if !ours {
            return Err(MalformedPacket);
        }
        let fits = arrival.bytes.len() == self.barrier.state.value.bytes().len();
        if fits && arrival.argument & DIFFER == 0 {
            self.barrier.state.value.set(arrival.bytes)
        } else {
            self.barrier.state.marks |= arrival.argument & MARKS | DIFFER
        }
        self.barrier.state.stage = BarrierStage::Releasing(firsts);
        Ok(())
    }
}
