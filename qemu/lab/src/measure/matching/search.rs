//! The search tests of papers 000 (figure 3) and 001 (section 4.6.2): one receiver, many senders with some messages
//! each; a queue is filled and then emptied from its head or from its end.
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::Tag;
use midplane_device::request::MAX_SLOTS;

use super::traffic::{QueueTraffic, TrafficStep};

/// The long queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LongQueue {
    /// The posted receive queue (PRQ).
    Posted,
    /// The unexpected message queue (UMQ).
    Unexpected,
}

impl LongQueue {
    /// Returns its name in the papers.
    pub const fn name(self) -> &'static str {
        match self {
            LongQueue::Posted => "PRQ",
            LongQueue::Unexpected => "UMQ",
        }
    }
}

/// Position of the matching entry in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SearchOrder {
    /// At its head.
    Forward,
    /// At its end.
    Reverse,
}

impl SearchOrder {
    /// Returns its name in the papers.
    pub const fn name(self) -> &'static str {
        match self {
            SearchOrder::Forward => "forward",
            SearchOrder::Reverse => "reverse",
        }
    }
}

/// One test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SearchTest {
    /// The long queue.
    pub queue: LongQueue,
    /// The end from which it is emptied.
    pub order: SearchOrder,
    /// Number of senders.
    pub senders: u32,
    /// Messages of each sender in each communicator.
    pub pending: u32,
    /// Number of communicators, whose entries are consecutive in the queue.
    pub communicators: u32,
    /// Share of the senders whose messages are received from any source.
    pub any_source: f64,
}

impl SearchTest {
    /// Returns the number of entries of the full queue.
    pub fn entries(&self) -> usize {
        self.senders as usize * self.pending as usize * self.communicators as usize
    }

    /// Checks whether there are enough request IDs.
    pub fn is_possible(&self) -> bool {
        self.entries() <= MAX_SLOTS
    }

    /// Returns the traffic, which is equal for each call. A sender's messages differ in their tags. Messages received
    /// from any source use separate tags, so that the sender does not matter and each message matches a receive.
    pub fn traffic(&self) -> QueueTraffic {
        let mut random = Random::new(u64::from(self.senders), RandomStream::Traffic);
        let any: Vec<bool> = (0..self.senders).map(|_| random.chance(self.any_source)).collect();
        let mut pairs = Vec::with_capacity(self.entries());
        let contexts: Vec<_> = (0..self.communicators).map(|c| 2 * c as u16).collect();
        for &context in &contexts {
            for (source, &any) in (1..).zip(&any) {
                for tag in 0..self.pending {
                    let tag = (tag + if any { self.pending } else { 0 }) as Tag;
                    let receive = TrafficStep::receive((!any).then_some(source), tag, context);
                    pairs.push((receive, TrafficStep::message(source, tag, context)));
                }
            }
        }
        let (receives, messages) = pairs.into_iter().unzip();
        let (fill, mut drain): (Vec<TrafficStep>, Vec<TrafficStep>) = match self.queue {
            LongQueue::Posted => (receives, messages),
            LongQueue::Unexpected => (messages, receives),
        };
        if self.order == SearchOrder::Reverse {
            drain.reverse();
        }
        QueueTraffic {
            peers: self.senders + 1,
            contexts,
            fill,
            drain,
            nested: self.order == SearchOrder::Reverse && !any.contains(&true),
        }
    }
}
