//! Messages: each send with the receive that it matches.
//!
//! Messages between two processes with the same communicator and tag match in order (MPI-3.1 section 3.5). A receive with
//! wildcards states in its status the message that it has received, so that no receive is ambiguous.

use crate::objects::CommId;
use crate::operations::{JobOperations, Operation, OperationId, OperationKind, PROC_NULL, each};
use std::collections::{HashMap, VecDeque};

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Its send.
    pub send: OperationId,
    /// Its receive.
    pub receive: OperationId,
}

/// Messages of a job.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// Matched messages, in the order of the receivers' ranks and receives.
    pub matched: Vec<Message>,
    /// Sends without a receive.
    pub unmatched_sends: Vec<OperationId>,
    /// Receives without a send.
    pub unmatched_receives: Vec<OperationId>,
}

#[derive(PartialEq, Eq, Hash)]
struct Channel {
    comm: CommId,
    source: usize,
    destination: usize,
    tag: i64,
}

impl Messages {
    /// Matches the sends and receives of a job.
    #[must_use]
    pub fn find(operations: &JobOperations) -> Self {
        let mut messages = Self::default();
        let mut sends: HashMap<Channel, VecDeque<OperationId>> = HashMap::new();
        for (id, operation) in each(operations) {
            if let OperationKind::Send(_) = operation.kind
                && !operation.has_failed
                && let Some(channel) = send_channel(id, operation)
            {
                sends.entry(channel).or_default().push_back(id);
            }
        }
        for (id, operation) in each(operations) {
            let is_receive = operation.kind == OperationKind::Receive && !operation.has_failed;
            if !is_receive || operation.is_cancelled() || operation.partner == PROC_NULL {
                continue;
            }
            let channel = receive_channel(id, operation);
            match channel.and_then(|channel| sends.get_mut(&channel)?.pop_front()) {
                Some(send) => messages.matched.push(Message { send, receive: id }),
                None => messages.unmatched_receives.push(id),
            }
        }
        messages.unmatched_sends = sends.into_values().flatten().collect();
        messages.unmatched_sends.sort_unstable();
        messages
    }
}

fn send_channel(id: OperationId, send: &Operation) -> Option<Channel> {
    let comm = send.comm.as_ref().filter(|_| !send.is_cancelled())?;
    Some(Channel {
        comm: comm.id,
        source: id.rank,
        destination: comm.partner(send.partner)?,
        tag: send.tag,
    })
}

fn receive_channel(id: OperationId, receive: &Operation) -> Option<Channel> {
    let comm = receive.comm.as_ref()?;
    let envelope = receive.envelope()?;
    Some(Channel {
        comm: comm.id,
        source: comm.partner(envelope.source)?,
        destination: id.rank,
        tag: envelope.tag,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{INT, Script};

    const RANKS: usize = 4;

    /// Pseudo-random numbers (Numerical Recipes, section 7.1).
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    /// A message that has arrived.
    struct Arrived {
        send: OperationId,
        destination: usize,
        tag: i64,
    }

    /// Writes a random job, and matches each receive with the first message in the order of arrival that it accepts.
    fn random_job(seed: u64) -> (Script, Vec<Message>) {
        let mut random = Random(seed);
        let mut script = Script::new(RANKS);
        let mut operations = [0; RANKS];
        let (mut arrived, mut expected): (Vec<Arrived>, Vec<Message>) = (Vec::new(), Vec::new());
        for _ in 0..200 {
            let rank = random.below(RANKS as u64) as usize;
            let id = OperationId {
                rank,
                index: operations[rank],
            };
            if random.below(2) == 0 {
                let (destination, tag) = (random.below(RANKS as u64) as usize, random.below(3) as i64);
                script.send(rank, destination as i64, tag, INT);
                arrived.push(Arrived {
                    send: id,
                    destination,
                    tag,
                });
                operations[rank] += 1;
                continue;
            }
            // A receive that would wait is left out. A wildcard takes the first message with the tag, of any source.
            let (source, tag, is_wildcard) = (
                random.below(RANKS as u64) as usize,
                random.below(3) as i64,
                random.below(2) == 0,
            );
            let accepts = |message: &Arrived| {
                message.destination == rank && message.tag == tag && (is_wildcard || message.send.rank == source)
            };
            if let Some(at) = arrived.iter().position(accepts) {
                let message = arrived.remove(at);
                script.receive(rank, message.send.rank as i64, tag, INT, is_wildcard);
                operations[rank] += 1;
                expected.push(Message {
                    send: message.send,
                    receive: id,
                });
            }
        }
        (script, expected)
    }

    #[test]
    fn messages_match_in_the_order_of_a_simple_queue() {
        for seed in 0..200 {
            let (script, mut expected) = random_job(seed);
            let operations = JobOperations::collect(&script.decode());
            let messages = Messages::find(&operations);
            expected.sort_by_key(|message| message.receive);
            assert_eq!(messages.matched, expected, "seed {seed}");
            let sends = each(&operations)
                .filter(|(_, operation)| operation.kind != OperationKind::Receive)
                .count();
            assert_eq!(messages.unmatched_sends.len(), sends - expected.len(), "seed {seed}");
            assert!(messages.unmatched_receives.is_empty());
        }
    }
}
