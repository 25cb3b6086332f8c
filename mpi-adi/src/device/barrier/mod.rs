//! The barrier of all processes, along the lines of the torus.
//!
//! ```text
//! each dimension of two nodes:    the second of a pair tells the first (ARRIVE), and goes no further
//! each longer one, in turn:       the nodes of a line tell each other (TELL, see `line`)
//! then those of two, backwards:   the first of a pair tells the second that all have arrived (RELEASE)
//! ```
//! Packets that tell a line leave a copy at every node they pass (the deposit bit). In a line of eight each node injects
//! two packets and takes four. On 8x8x8 that makes three steps of two packets one behind the other on the way from any
//! node to any other, whose hops are those of the torus's depth; a head of each line that gathers and releases makes
//! fewer packets but six steps, and its packets queue for the links into the heads (measured: 3.47 times the depth
//! for 1.9). In a pair there is nothing to gain but packets, so there the first gathers. A dissemination barrier
//! (Hensgen, Finkel and Manber) over point to point takes N log2 N messages, each to be answered.
//!
//! Packets are of the priority class and change a constant amount of state, so the barrier needs no MPI
//! memory and cannot be refused. A process can be told of the next barrier while it is in this one (`state`).
#![forbid(unsafe_code)]

mod line;
pub(super) mod state;

use msg_layer::header::Header;
use msg_layer::{Arrival, Malformed, Port};
use net_torus::{Coord, Direction};

use crate::device::adi::Adi;
use crate::device::barrier::line::{Circle, LinePosition};
use crate::device::barrier::state::BarrierStage;
use crate::device::matching::Matching;
use crate::device::protocol::Rules;
use crate::device::wire::{ARRIVE, RELEASE, TELL};

/// The bits of a header's argument beside the dimension.
const DIMENSION_BITS: u16 = 0b11;
const IS_ODD: u16 = 1 << 2;
const IS_LINE: u16 = 1 << 3;

/// The same place but for one dimension, where it is the pair's first or second.
fn of_pair(here: Coord, dimension: u8, is_second: bool) -> Coord {
    let at = u8::from(is_second);
    match dimension {
        0 => Coord { x: at, ..here },
        1 => Coord { y: at, ..here },
        _ => Coord { z: at, ..here },
    }
}

/// From the second of a pair to the first, or the other way.
fn pair_way(dimension: u8, is_second: bool) -> Direction {
    Direction::ALL[2 * usize::from(dimension) + usize::from(is_second)]
}

impl<R: Rules, E: Matching> Adi<R, E> {
    /// Enters the barrier of all processes. [`Adi::progress`] takes it from there.
    ///
    /// # Panics
    /// When this process is in it already.
    pub fn enter_barrier(&mut self) {
        assert!(self.barrier.stage == BarrierStage::Outside);
        self.barrier.is_odd = !self.barrier.is_odd;
        self.barrier.stage = self.pair_from(0);
    }

    /// Leaves the barrier, if everybody has entered it.
    pub fn leave_barrier(&mut self) -> bool {
        let done = self.barrier.stage == BarrierStage::Done;
        if done {
            self.barrier.stage = BarrierStage::Outside;
        }
        done
    }

    /// Whether the network, as of the last [`Adi::progress`], has what the barrier needs.
    pub fn has_barrier(&self) -> bool {
        self.has_lines
    }

    /// Goes on with the barrier as far as there is room. Returns the steps made; a call may wait for any.
    #[inline]
    pub(crate) fn send_barrier<P: Port>(&mut self, port: &mut P) -> usize {
        self.has_lines = P::LINES;
        match self.barrier.has_steps() {
            true => self.go_through(port),
            false => 0,
        }
    }

    /// The barrier can go on by itself, if the network has room.
    #[inline]
    pub(in crate::device) fn barrier_can_go_on(&self) -> bool {
        self.barrier.has_steps() && !self.waits_for_others()
    }

    fn is_pair(&self, dimension: u8) -> bool {
        self.shape.extents()[usize::from(dimension)] == 2
    }

    /// It is the second of its pair in this dimension.
    fn is_second(&self, dimension: u8) -> bool {
        self.is_pair(dimension) && self.here.axes()[usize::from(dimension)] == 1
    }

    /// It is the first of its pairs in so many of the first dimensions, and the first of them in no more.
    fn firsts(&self) -> u8 {
        (0..3)
            .find(|&dimension| self.is_second(dimension))
            .unwrap_or(3)
    }

    fn place_on_line(&self, dimension: u8) -> LinePosition {
        LinePosition::new(&self.shape, self.here, dimension.into())
    }

    /// What comes next in this dimension of two nodes, or in later ones.
    fn pair_from(&self, dimension: u8) -> BarrierStage {
        match (dimension..3).find(|&dimension| self.is_pair(dimension)) {
            Some(dimension) if self.is_second(dimension) => BarrierStage::Arriving(dimension),
            Some(dimension) => BarrierStage::Gathering(dimension),
            None => self.line_from(0),
        }
    }

    /// What comes next in this dimension of more nodes, or in later ones.
    fn line_from(&self, dimension: u8) -> BarrierStage {
        match (dimension..3).find(|&dimension| self.shape.extents()[usize::from(dimension)] > 2) {
            Some(dimension) => BarrierStage::Telling(dimension, Circle::Group, 0),
            None => BarrierStage::Releasing(3),
        }
    }

    /// It waits for packets of others.
    // A call, as most steps are in no barrier.
    #[inline(never)]
    fn waits_for_others(&self) -> bool {
        match self.barrier.stage {
            BarrierStage::Gathering(dimension) => !self.barrier.arrived[usize::from(dimension)],
            BarrierStage::Hearing(dimension, circle) => {
                let mut barrier = self.barrier;
                *barrier.heard(barrier.is_odd, dimension, circle)
                    < self.place_on_line(dimension).expected(circle)
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn go_through<P: Port>(&mut self, port: &mut P) -> usize {
        let mut steps = 0;
        while self.barrier.has_steps() && !self.waits_for_others() {
            let Some(next) = self.make_step(port) else {
                break;
            };
            self.barrier.stage = next;
            steps += 1;
        }
        steps
    }

    /// Makes a step, which waits for nothing but room; what comes next.
    #[inline(always)]
    fn make_step<P: Port>(&mut self, port: &mut P) -> Option<BarrierStage> {
        Some(match self.barrier.stage {
            stage @ (BarrierStage::Outside | BarrierStage::Waiting | BarrierStage::Done) => stage,
            BarrierStage::Arriving(dimension) => {
                self.tell(
                    port,
                    (pair_way(dimension, true), 1),
                    ARRIVE,
                    dimension.into(),
                )?;
                BarrierStage::Waiting
            }
            BarrierStage::Gathering(dimension) => {
                self.barrier.arrived[usize::from(dimension)] = false;
                self.pair_from(dimension + 1)
            }
            BarrierStage::Telling(dimension, circle, 2) => BarrierStage::Hearing(dimension, circle),
            BarrierStage::Telling(dimension, circle, packet) => {
                let way = self.place_on_line(dimension).hops(circle)[usize::from(packet)];
                let is_odd = if self.barrier.is_odd { IS_ODD } else { 0 };
                let is_line = if circle == Circle::Line { IS_LINE } else { 0 };
                self.tell(port, way, TELL, u16::from(dimension) | is_odd | is_line)?;
                BarrierStage::Telling(dimension, circle, packet + 1)
            }
            BarrierStage::Hearing(dimension, circle) => {
                let is_odd = self.barrier.is_odd;
                *self.barrier.heard(is_odd, dimension, circle) = 0;
                match circle {
                    Circle::Group => BarrierStage::Telling(dimension, Circle::Line, 0),
                    Circle::Line => self.line_from(dimension + 1),
                }
            }
            BarrierStage::Releasing(0) => BarrierStage::Done,
            BarrierStage::Releasing(left) => {
                let dimension = left - 1;
                if self.is_pair(dimension) {
                    self.tell(
                        port,
                        (pair_way(dimension, false), 1),
                        RELEASE,
                        dimension.into(),
                    )?;
                }
                BarrierStage::Releasing(dimension)
            }
        })
    }

    /// Tells so many nodes in this direction; `None`: there is no room.
    fn tell<P: Port>(
        &self,
        port: &mut P,
        (direction, hops): (Direction, u16),
        handler: u8,
        argument: u16,
    ) -> Option<()> {
        let header = Header {
            argument,
            ..self.header(handler)
        };
        let emit = |body: &mut [u8]| {
            header.emit(body, 0);
        };
        let told = hops == 0 || port.inject_line(direction, hops, header.bytes(), emit);
        told.then_some(())
    }

    /// The second of a pair has arrived.
    pub(in crate::device) fn take_arrival(
        &mut self,
        arrival: &Arrival<'_>,
    ) -> Result<(), Malformed> {
        let dimension = u8::try_from(arrival.argument).unwrap_or(u8::MAX);
        let ours = dimension < self.firsts()
            && self.is_pair(dimension)
            && arrival.source == of_pair(self.here, dimension, true)
            && !self.barrier.arrived[usize::from(dimension)];
        if !ours {
            return Err(Malformed);
        }
        self.barrier.arrived[usize::from(dimension)] = true;
        Ok(())
    }

    /// A node of a line has arrived, with all for which it speaks.
    pub(in crate::device) fn take_told(&mut self, arrival: &Arrival<'_>) -> Result<(), Malformed> {
        let dimension = (arrival.argument & DIMENSION_BITS) as u8;
        let along = usize::from(dimension);
        let is_odd = arrival.argument & IS_ODD != 0;
        let circle = match arrival.argument & IS_LINE {
            0 => Circle::Group,
            _ => Circle::Line,
        };
        let (at, from) = (self.here.axes(), arrival.source.axes());
        let is_on_line = (0..3).all(|other| other == along || at[other] == from[other]);
        let ours = arrival.argument & !(DIMENSION_BITS | IS_ODD | IS_LINE) == 0
            && dimension < 3
            && is_on_line
            && self.firsts() == 3
            && self.shape.extents()[along] > 2
            && self.place_on_line(dimension).hears(circle, from[along]);
        if !ours {
            return Err(Malformed);
        }
        let expected = self.place_on_line(dimension).expected(circle);
        let heard = self.barrier.heard(is_odd, dimension, circle);
        if *heard >= expected {
            return Err(Malformed);
        }
        *heard += 1;
        Ok(())
    }

    /// All have arrived.
    pub(in crate::device) fn take_release(
        &mut self,
        arrival: &Arrival<'_>,
    ) -> Result<(), Malformed> {
        let firsts = self.firsts();
        let ours = arrival.argument == firsts.into()
            && self.barrier.stage == BarrierStage::Waiting
            && arrival.source == of_pair(self.here, firsts, false);
        if !ours {
            return Err(Malformed);
        }
        self.barrier.stage = BarrierStage::Releasing(firsts);
        Ok(())
    }
}
