//! Messages: each send with the receive that it matches.
//!
//! Messages between two processes with the same communicator and tag match in order (MPI-3.1 section 3.5). A receive with
//! wildcards states in its status the message that it has received, so that no receive is ambiguous.

use crate::objects::CommId;
use crate::operations::{JobOperations, Operation, OperationKind, PROC_NULL};
use std::collections::{HashMap, VecDeque};

/// Position of an operation: rank in MPI_COMM_WORLD, and index in its list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId {
    /// Rank.
    pub rank: usize,
    /// Index in [`RankOperations::list`](crate::operations::RankOperations::list).
    pub index: usize,
}

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

/// Iterates over all operations.
pub fn each(operations: &JobOperations) -> impl Iterator<Item = (OperationId, &Operation)> {
    operations.ranks.iter().enumerate().flat_map(|(rank, list)| {
        { list.list.iter().enumerate() }.map(move |(index, operation)| (OperationId { rank, index }, operation))
    })
}

impl JobOperations {
    /// Returns an operation.
    #[must_use]
    pub fn get(&self, id: OperationId) -> &Operation {
        &self.ranks[id.rank].list[id.index]
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
