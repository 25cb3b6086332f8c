//! The barrier of all processes, along the lines of the torus.
//!
//! ```text
//!   arrive, dimension by dimension           leave, the other way
//!   (x,y,z) --> (0,y,z)                      (0,0,0) ==> its Z line
//!               (0,y,z) --> (0,0,z)                      (0,0,z) ==> its Y line
//!                           (0,0,z) --> (0,0,0)                      (0,y,z) ==> its X line
//! ```
//! The node at the beginning of a line counts who has arrived, and tells the whole line with one packet that
//! leaves a copy at every node it passes (the deposit bit). For N processes that makes N - 1 packets to arrive
//! and one or two a line to leave, where a dissemination barrier (Hensgen, Finkel and Manber) over point to
//! point takes 2 N log2 N.
//!
//! Packets are of the priority class and change a constant amount of state, so the barrier needs no MPI
//! memory and cannot be refused. No process arrives at the next barrier before the head of its line has left
//! this one, so one count a dimension is enough.
#![forbid(unsafe_code)]

pub(super) mod state;

use msg_layer::header::Header;
use msg_layer::{Arrival, Class, Malformed, Port};
use net_torus::{Coord, Direction};

use crate::device::adi::Adi;
use crate::device::barrier::state::BarrierStage;
use crate::device::matching::Matching;
use crate::device::protocol::Rules;
use crate::device::wire;

/// How many dimensions there are of whose line through `here` it is the head.
fn heads(here: Coord) -> usize {
    let along = [here.x, here.y, here.z];
    along.iter().position(|&at| at != 0).unwrap_or(3)
}

/// The head of the line through `here` in `dimension`.
fn head(here: Coord, dimension: usize) -> Coord {
    match dimension {
        0 => Coord { x: 0, ..here },
        1 => Coord { y: 0, ..here },
        _ => Coord { z: 0, ..here },
    }
}

impl<R: Rules, E: Matching> Adi<R, E> {
    /// Enters the barrier of all processes. [`Adi::progress`] takes it from there.
    ///
    /// # Panics
    /// When this process is in it already.
    pub fn enter_barrier(&mut self) {
        assert!(self.barrier.stage == BarrierStage::Outside);
        self.barrier.stage = BarrierStage::Gathering(0);
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
        self.barrier.has_steps() && !self.waits_for_line()
    }

    /// It gathers a line whose head it is, and not all have arrived.
    fn waits_for_line(&self) -> bool {
        match self.barrier.stage {
            BarrierStage::Gathering(dimension) if dimension < heads(self.here) => {
                self.barrier.arrived[dimension] < self.shape.extents()[dimension] - 1
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn go_through<P: Port>(&mut self, port: &mut P) -> usize {
        let mut steps = 0;
        loop {
            let next = match self.barrier.stage {
                BarrierStage::Outside | BarrierStage::Waiting | BarrierStage::Done => return steps,
                BarrierStage::Releasing(0) => BarrierStage::Done,
                BarrierStage::Releasing(left) => {
                    let (direction, hops) = self.half_line(left - 1);
                    if hops > 0 {
                        let header = self.barrier_header(wire::RELEASE, (left - 1) / 2);
                        let emit = |body: &mut [u8]| {
                            header.emit(body, 0);
                        };
                        if !port.inject_line(direction, hops, header.bytes(), emit) {
                            return steps;
                        }
                    }
                    BarrierStage::Releasing(left - 1)
                }
                BarrierStage::Gathering(3) => BarrierStage::Releasing(2 * 3),
                BarrierStage::Gathering(dimension) if dimension < heads(self.here) => {
                    if self.waits_for_line() {
                        return steps;
                    }
                    self.barrier.arrived[dimension] = 0;
                    BarrierStage::Gathering(dimension + 1)
                }
                BarrierStage::Gathering(dimension) => {
                    let header = self.barrier_header(wire::ARRIVE, dimension);
                    let to = head(self.here, dimension);
                    let emit = |body: &mut [u8]| {
                        header.emit(body, 0);
                    };
                    if !port.inject(Class::Priority, to, header.bytes(), emit) {
                        return steps;
                    }
                    BarrierStage::Waiting
                }
            };
            self.barrier.stage = next;
            steps += 1;
        }
    }

    fn barrier_header(&self, handler: u8, dimension: usize) -> Header {
        Header {
            argument: dimension as u16,
            ..self.header(handler)
        }
    }

    /// The half line from here in this direction: a mesh's whole line up, and around a ring half each way.
    fn half_line(&self, direction: usize) -> (Direction, u16) {
        let direction = Direction::ALL[direction];
        let extent = self.shape.extents()[direction.dimension()];
        let up = match self.shape.wraps()[direction.dimension()] {
            true => extent / 2,
            false => extent - 1,
        };
        let hops = if direction.is_plus() {
            up
        } else {
            extent - 1 - up
        };
        (direction, hops)
    }

    pub(in crate::device) fn take_arrival(
        &mut self,
        arrival: &Arrival<'_>,
    ) -> Result<(), Malformed> {
        let dimension = usize::from(arrival.argument);
        let ours = dimension < heads(self.here)
            && arrival.source != self.here
            && head(arrival.source, dimension) == self.here;
        let arrived = self.barrier.arrived.get_mut(dimension).ok_or(Malformed)?;
        if !ours || *arrived + 1 >= self.shape.extents()[dimension] {
            return Err(Malformed);
        }
        *arrived += 1;
        Ok(())
    }

    pub(in crate::device) fn take_release(
        &mut self,
        arrival: &Arrival<'_>,
    ) -> Result<(), Malformed> {
        let heads = heads(self.here);
        let ours = usize::from(arrival.argument) == heads
            && self.barrier.stage == BarrierStage::Waiting
            && arrival.source == head(self.here, heads);
        if !ours {
            return Err(Malformed);
        }
        self.barrier.stage = BarrierStage::Releasing(2 * heads);
        Ok(())
    }
}
