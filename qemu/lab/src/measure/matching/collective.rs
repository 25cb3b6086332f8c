//! Messages of collectives at one process, as measured in paper 002 (section 5.2).
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, Stream};
use midplane_device::{Context, Tag};

use super::traffic::{Step, Traffic};

/// A collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collective {
    /// The root of a linear gather: a message from each other process.
    Gather,
    /// Recursive doubling: a message from each of log2 n partners.
    Allreduce,
    /// Recursive doubling, with two calls in progress at a time.
    Iallgather,
}

impl Collective {
    /// All collectives.
    pub const ALL: [Collective; 3] = [
        Collective::Gather,
        Collective::Allreduce,
        Collective::Iallgather,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Collective::Gather => "Gather",
            Collective::Allreduce => "Allreduce",
            Collective::Iallgather => "Iallgather",
        }
    }

    /// Returns the published speed-up of its latency over a list for 1024, 2048 and 4096 processes ("up to").
    pub const fn published(self, processes: u32) -> Option<f64> {
        match (self, processes) {
            (Collective::Gather, 1024) => Some(1.5),
            (Collective::Gather, 2048) => Some(2.4),
            (Collective::Gather, 4096) => Some(5.4),
            (Collective::Allreduce, 4096) => Some(1.16),
            (Collective::Iallgather, 4096) => Some(1.26),
            _ => None,
        }
    }

    /// Returns its tag in the context of a communicator's collectives.
    const fn tag(self) -> Tag {
        match self {
            Collective::Gather => 1,
            Collective::Allreduce => 2,
            Collective::Iallgather => 3,
        }
    }

    fn partners(self, processes: u32) -> Vec<u32> {
        match self {
            Collective::Gather => (1..processes).collect(),
            Collective::Allreduce | Collective::Iallgather => {
                (0..processes.ilog2()).map(|step| 1 << step).collect()
            }
        }
    }

    /// Returns the traffic of several calls. In each, half of the messages arrive before their receives are posted, in
    /// random order, like in a network.
    pub fn traffic(self, processes: u32) -> Traffic {
        let mut random = Random::new(u64::from(processes), Stream::Traffic);
        let partners = self.partners(processes);
        let at_once = match self {
            Collective::Iallgather => 2,
            _ => 1,
        };
        let mut steps = Vec::new();
        for _ in 0..CALLS {
            let mut arriving = partners.clone();
            random.shuffle(&mut arriving);
            let (early, late) = arriving.split_at(arriving.len() / 2);
            let messages = |senders: &[u32]| -> Vec<Step> {
                let all = std::iter::repeat_n(senders, at_once).flatten();
                let message = |&from| Step::message(from, self.tag(), COLLECTIVE_CONTEXT);
                all.map(message).collect()
            };
            steps.extend(messages(early));
            let receives = std::iter::repeat_n(&partners, at_once).flatten();
            let receive = |&from| Step::receive(Some(from), self.tag(), COLLECTIVE_CONTEXT);
            steps.extend(receives.map(receive));
            steps.extend(messages(late));
        }
        Traffic {
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
