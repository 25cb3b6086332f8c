//! Messages of collectives at one process, as measured in paper 002 (section 5.2).
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::{Context, Tag};

use super::traffic::{QueueTraffic, TrafficStep};

/// A collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveTraffic {
    /// The root of a linear gather: a message from each other process.
    Gather,
    /// Recursive doubling: a message from each of log2 n partners.
    Allreduce,
    /// Recursive doubling, with two calls in progress at a time.
    Iallgather,
}

impl CollectiveTraffic {
    /// All collectives.
    pub const ALL: [CollectiveTraffic; 3] = [
        CollectiveTraffic::Gather,
        CollectiveTraffic::Allreduce,
        CollectiveTraffic::Iallgather,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            CollectiveTraffic::Gather => "Gather",
            CollectiveTraffic::Allreduce => "Allreduce",
            CollectiveTraffic::Iallgather => "Iallgather",
        }
    }

    /// Returns the published speed-up of its latency over a list for 1024, 2048 and 4096 processes ("up to").
    pub const fn published(self, processes: u32) -> Option<f64> {
        match (self, processes) {
            (CollectiveTraffic::Gather, 1024) => Some(1.5),
            (CollectiveTraffic::Gather, 2048) => Some(2.4),
            (CollectiveTraffic::Gather, 4096) => Some(5.4),
            (CollectiveTraffic::Allreduce, 4096) => Some(1.16),
            (CollectiveTraffic::Iallgather, 4096) => Some(1.26),
            _ => None,
        }
    }

    /// Returns its tag in the context of a communicator's collectives.
    const fn tag(self) -> Tag {
        match self {
            CollectiveTraffic::Gather => 1,
            CollectiveTraffic::Allreduce => 2,
            CollectiveTraffic::Iallgather => 3,
        }
    }

    fn partners(self, processes: u32) -> Vec<u32> {
        match self {
            CollectiveTraffic::Gather => (1..processes).collect(),
            CollectiveTraffic::Allreduce | CollectiveTraffic::Iallgather => {
                (0..processes.ilog2()).map(|step| 1 << step).collect()
            }
        }
    }

    /// Returns the traffic of several calls. In each, half of the messages arrive before their receives are posted, in
    /// random order, like in a network.
    pub fn traffic(self, processes: u32) -> QueueTraffic {
        let mut random = Random::new(u64::from(processes), RandomStream::Traffic);
        let partners = self.partners(processes);
        let at_once = match self {
            CollectiveTraffic::Iallgather => 2,
            _ => 1,
        };
        let mut steps = Vec::new();
        for _ in 0..CALLS {
            let mut arriving = partners.clone();
            random.shuffle(&mut arriving);
            let (early, late) = arriving.split_at(arriving.len() / 2);
            let messages = |senders: &[u32]| -> Vec<TrafficStep> {
                let all = std::iter::repeat_n(senders, at_once).flatten();
                let message = |&from| TrafficStep::message(from, self.tag(), COLLECTIVE_CONTEXT);
                all.map(message).collect()
            };
            steps.extend(messages(early));
            let receives = std::iter::repeat_n(&partners, at_once).flatten();
            let receive = |&from| TrafficStep::receive(Some(from), self.tag(), COLLECTIVE_CONTEXT);
            steps.extend(receives.map(receive));
            steps.extend(messages(late));
        }
        QueueTraffic {
            peers: processes,
            contexts: vec![0, COLLECTIVE_CONTEXT],
            fill: Vec::new(),
            drain: steps,
            nested: false,
        }
    }
}

/// Consecutive calls: enough for an adaptive engine to adapt.
const CALLS: u32 = 16;
/// Context of MPI_COMM_WORLD's collectives.
pub(super) const COLLECTIVE_CONTEXT: Context = 1;
