//! What of a message's transfer is hidden behind what its two processes compute (thesis 001, chapter 3), in virtual time:
//! what is measured is a function of the arguments alone.
#![forbid(unsafe_code)]

use std::sync::Mutex;

use crate::as_program;
use midplane_cluster::{Cluster, Failure, Node};
use midplane_rust::traits::*;
use midplane_rust::{initialize, request};

use super::timed::Costs;

/// Who comes first; the other comes [`LAG_NS`] later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum First {
    /// The message is on its way before it is received.
    Sender,
    /// The receive waits for the message.
    Receiver,
}

/// How the message is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Receive {
    /// By MPI_Recv, before anything is computed.
    Blocking,
    /// By MPI_Irecv, and MPI_Wait behind what is computed.
    Nonblocking,
}

/// A message to a neighbour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overlap {
    /// Its bytes.
    pub bytes: usize,
    /// How long each process computes once it has begun, in nanoseconds.
    pub compute_ns: u64,
    /// Who begins.
    pub first: First,
    /// How it is received.
    pub receive: Receive,
    /// What things cost.
    pub costs: Costs,
}

/// One side of a transfer, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// From its first call until its last has returned.
    pub total_ns: u64,
    /// In MPI_Wait, or in MPI_Recv.
    pub waited_ns: u64,
    /// What computing took beyond its own time: interrupts.
    pub served_ns: u64,
}

/// Both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// That of the sender.
    pub sender: Side,
    /// That of the receiver.
    pub receiver: Side,
}

impl Side {
    /// The share of a transfer of so many nanoseconds that is not waited for.
    pub fn hidden(&self, transfer_ns: u64) -> f64 {
        1.0 - (self.waited_ns as f64 / transfer_ns as f64).min(1.0)
    }

    /// By what share of a transfer of so many nanoseconds computing took longer for it.
    pub fn served(&self, transfer_ns: u64) -> f64 {
        self.served_ns as f64 / transfer_ns as f64
    }
}

/// By how much one side comes later: more than a short message takes.
pub const LAG_NS: u64 = 20_000;
/// When both have left the barrier at the start.
const SETTLED_NS: u64 = 200_000;
const TAG: i32 = 1;

impl Overlap {
    /// What the transfer takes, of which nothing is computed: that of the side that comes later.
    pub fn transfer_ns(self) -> Result<u64, Failure> {
        let alone = Overlap {
            compute_ns: 0,
            receive: Receive::Nonblocking,
            ..self
        };
        let Measured { sender, receiver } = alone.run()?;
        Ok(match self.first {
            First::Sender => receiver.total_ns,
            // A short message is sent at once.
            First::Receiver => sender
                .total_ns
                .max(receiver.total_ns.saturating_sub(LAG_NS)),
        })
    }

    /// Runs it.
    pub fn run(self) -> Result<Measured, Failure> {
        let measured = Mutex::new([Side::default(); 2]);
        let process = |node: &Node<'_, '_>| {
            let side = as_program(node, || self.play(node));
            measured.lock().unwrap_or_else(|held| held.into_inner())[node.rank() as usize] = side;
            0
        };
        Cluster::new([2, 1, 1]).costs(self.costs).run(process)?;
        let [sender, receiver] = measured
            .into_inner()
            .unwrap_or_else(|held| held.into_inner());
        Ok(Measured { sender, receiver })
    }

    fn play(self, node: &Node<'_, '_>) -> Side {
        let universe = initialize().expect("once");
        let world = universe.world();
        world.barrier();
        let is_sender = node.rank() == 0;
        let lag = match is_sender == (self.first == First::Sender) {
            true => 0,
            false => LAG_NS,
        };
        node.compute_ns((SETTLED_NS + lag).saturating_sub(node.now_ns()));
        let mut bytes = vec![if is_sender { 7 } else { 0_u8 }; self.bytes];
        let began = node.now_ns();
        let compute = || {
            let before = node.now_ns();
            node.compute_ns(self.compute_ns);
            node.now_ns() - before - self.compute_ns
        };
        let mut side = Side::default();
        if !is_sender && self.receive == Receive::Blocking {
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
        assert!(
            bytes.iter().all(|byte| *byte == 7),
            "other bytes than were sent"
        );
        side
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    /// Behind a computation of twice its length.
    fn hidden(overlap: Overlap) -> [f64; 2] {
        let transfer = overlap.transfer_ns().expect("a run");
        let measured = Overlap {
            compute_ns: 2 * transfer,
            ..overlap
        };
        let Measured { sender, receiver } = measured.run().expect("a run");
        [sender, receiver].map(|side| side.hidden(transfer))
    }

    fn of(first: First, interrupt_percent: u64) -> Overlap {
        Overlap {
            bytes: MEGABYTE,
            compute_ns: 0,
            first,
            receive: Receive::Nonblocking,
            costs: Costs {
                interrupt_percent,
                ..Costs::BLUE_GENE
            },
        }
    }

    #[test]
    fn a_transfer_is_over_when_twice_its_length_has_been_computed_at_both_sides() {
        for first in [First::Sender, First::Receiver] {
            for percent in [100, 50] {
                let [sender, receiver] = hidden(of(first, percent));
                assert!(
                    sender >= 0.95 && receiver >= 0.95,
                    "{first:?} first, {percent} %: {sender}, {receiver}"
                );
            }
        }
    }

    /// What the thesis has without progress: nothing at the one side or the other.
    #[test]
    fn without_interrupts_nothing_is_hidden() {
        for first in [First::Sender, First::Receiver] {
            let [sender, receiver] = hidden(of(first, 0));
            assert!(
                sender < 0.05 || receiver < 0.05,
                "{first:?} first: {sender}, {receiver}"
            );
        }
    }

    #[test]
    fn interrupts_take_no_more_than_their_share() {
        let transfer = of(First::Receiver, 25).transfer_ns().expect("a run");
        let overlap = Overlap {
            compute_ns: transfer,
            ..of(First::Receiver, 25)
        };
        let Measured { sender, receiver } = overlap.run().expect("a run");
        for side in [sender, receiver] {
            // A third of what the program has.
            let share = side.served_ns as f64 / transfer as f64;
            assert!(share > 0.2 && share < 0.35, "{share}");
        }
    }
}
