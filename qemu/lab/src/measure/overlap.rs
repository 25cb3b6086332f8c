//! Overlap of a message's transfer with the computation of its two processes (thesis 001, chapter 3), in virtual time:
//! the result is a function of the arguments alone.
#![forbid(unsafe_code)]

use std::sync::Mutex;

use crate::as_program;
use midplane_cluster::{Cluster, JobFailure, SimProcess};
use midplane_rust::traits::*;
use midplane_rust::{initialize, request};

use super::timed::OperationCosts;

/// The side that starts first; the other starts [`LAG_NS`] later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstSide {
    /// The message is in flight before its receive.
    Sender,
    /// The receive waits for the message.
    Receiver,
}

/// Kind of receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveKind {
    /// MPI_Recv before the computation.
    Blocking,
    /// MPI_Irecv, and MPI_Wait after the computation.
    Nonblocking,
}

/// A message to a neighbour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OverlapTransfer {
    /// Its size in bytes.
    pub bytes: usize,
    /// Time that each process computes after its start, in nanoseconds.
    pub compute_ns: u64,
    /// The side that starts first.
    pub first: FirstSide,
    /// Kind of receive.
    pub receive: ReceiveKind,
    /// Cost model.
    pub costs: OperationCosts,
}

/// Times of one side of a transfer, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SideTimes {
    /// From its first call until its last has returned.
    pub total_ns: u64,
    /// In MPI_Wait or MPI_Recv.
    pub waited_ns: u64,
    /// Extension of the computation by interrupts.
    pub served_ns: u64,
}

/// Times of both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverlapTimes {
    /// Of the sender.
    pub sender: SideTimes,
    /// Of the receiver.
    pub receiver: SideTimes,
}

impl SideTimes {
    /// Returns the share of a transfer of `transfer_ns` that is hidden: not waited for.
    pub fn hidden(&self, transfer_ns: u64) -> f64 {
        1.0 - (self.waited_ns as f64 / transfer_ns as f64).min(1.0)
    }

    /// Returns the extension of the computation, relative to a transfer of `transfer_ns`.
    pub fn served(&self, transfer_ns: u64) -> f64 {
        self.served_ns as f64 / transfer_ns as f64
    }
}

/// Delay of the second side: longer than a short message requires.
pub const LAG_NS: u64 = 20_000;
/// Time at which both sides have completed the initial barrier.
const SETTLED_NS: u64 = 200_000;
const TAG: i32 = 1;

impl OverlapTransfer {
    /// Returns the time of the transfer without computation: that of the side that starts later.
    pub fn transfer_ns(self) -> Result<u64, JobFailure> {
        let alone = OverlapTransfer {
            compute_ns: 0,
            receive: ReceiveKind::Nonblocking,
            ..self
        };
        let OverlapTimes { sender, receiver } = alone.run()?;
        Ok(match self.first {
            FirstSide::Sender => receiver.total_ns,
            // A short message is sent immediately.
            FirstSide::Receiver => sender.total_ns.max(receiver.total_ns.saturating_sub(LAG_NS)),
        })
    }

    /// Runs the measurement.
    pub fn run(self) -> Result<OverlapTimes, JobFailure> {
        let measured = Mutex::new([SideTimes::default(); 2]);
        let process = |node: &SimProcess<'_, '_>| {
            let side = as_program(node, || self.play(node));
            measured.lock().unwrap_or_else(|held| held.into_inner())[node.rank() as usize] = side;
            0
        };
        Cluster::new([2, 1, 1]).costs(self.costs).run(process)?;
        let [sender, receiver] = measured.into_inner().unwrap_or_else(|held| held.into_inner());
        Ok(OverlapTimes { sender, receiver })
    }

    fn play(self, node: &SimProcess<'_, '_>) -> SideTimes {
        let universe = initialize().expect("once");
        let world = universe.world();
        world.barrier();
        let is_sender = node.rank() == 0;
        let lag = if is_sender == (self.first == FirstSide::Sender) {
            0
        } else {
            LAG_NS
        };
        node.compute_ns((SETTLED_NS + lag).saturating_sub(node.now_ns()));
        let mut bytes = vec![if is_sender { 7 } else { 0_u8 }; self.bytes];
        let began = node.now_ns();
        let compute = || {
            let before = node.now_ns();
            node.compute_ns(self.compute_ns);
            node.now_ns() - before - self.compute_ns
        };
        let mut side = SideTimes::default();
        if !is_sender && self.receive == ReceiveKind::Blocking {
            { world.process_at_rank(0) }.receive_into_with_tag(&mut bytes, TAG);
            side.waited_ns = node.now_ns() - began;
            side.served_ns = compute();
        } else {
            request::scope(|scope| {
                let waits: u64;
                if is_sender {
                    let receiver = world.process_at_rank(1);
                    let request = receiver.immediate_send_with_tag(scope, &bytes, TAG);
                    side.served_ns = compute();
                    waits = node.now_ns();
                    request.wait();
                } else {
                    let sender = world.process_at_rank(0);
                    let request = sender.immediate_receive_into_with_tag(scope, &mut bytes, TAG);
                    side.served_ns = compute();
                    waits = node.now_ns();
                    request.wait();
                }
                side.waited_ns = node.now_ns() - waits;
            });
        }
        side.total_ns = node.now_ns() - began;
        assert!(bytes.iter().all(|byte| *byte == 7), "other bytes than were sent");
        side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    /// With a computation of twice the transfer's time.
    fn hidden(overlap: OverlapTransfer) -> [f64; 2] {
        let transfer = overlap.transfer_ns().expect("a run");
        let measured = OverlapTransfer {
            compute_ns: 2 * transfer,
            ..overlap
        };
        let OverlapTimes { sender, receiver } = measured.run().expect("a run");
        [sender, receiver].map(|side| side.hidden(transfer))
    }

    fn transfer_of(first: FirstSide, interrupt_percent: u64) -> OverlapTransfer {
        OverlapTransfer {
            bytes: MEGABYTE,
            compute_ns: 0,
            first,
            receive: ReceiveKind::Nonblocking,
            costs: OperationCosts {
                interrupt_percent,
                ..OperationCosts::BLUE_GENE
            },
        }
    }

    #[test]
    fn a_transfer_is_over_when_twice_its_length_has_been_computed_at_both_sides() {
        for first in [FirstSide::Sender, FirstSide::Receiver] {
            for percent in [100, 50] {
                let [sender, receiver] = hidden(transfer_of(first, percent));
                assert!(
                    sender >= 0.95 && receiver >= 0.95,
                    "{first:?} first, {percent} %: {sender}, {receiver}"
                );
            }
        }
    }

    /// The thesis's result without progress: nothing is hidden on one side or the other.
    #[test]
    fn without_interrupts_nothing_is_hidden() {
        for first in [FirstSide::Sender, FirstSide::Receiver] {
            let [sender, receiver] = hidden(transfer_of(first, 0));
            assert!(
                sender < 0.05 || receiver < 0.05,
                "{first:?} first: {sender}, {receiver}"
            );
        }
    }

    #[test]
    fn interrupts_take_no_more_than_their_share() {
        let transfer = transfer_of(FirstSide::Receiver, 25).transfer_ns().expect("a run");
        let overlap = OverlapTransfer {
            compute_ns: transfer,
            ..transfer_of(FirstSide::Receiver, 25)
        };
        let OverlapTimes { sender, receiver } = overlap.run().expect("a run");
        for side in [sender, receiver] {
            // A third of the program's compute time.
            let share = side.served_ns as f64 / transfer as f64;
            assert!(share > 0.2 && share < 0.35, "{share}");
        }
    }
}
