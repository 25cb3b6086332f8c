//! State of a job at one time, as it is sent to `midplane top`.

use crate::run::activity::describe_activity;
use crate::run::outcome::ObservedNode;
use crate::run::plan::JobPlan;
use midplane_abi::counters::{ChannelCounter, Counter};
use midplane_abi::message_queues::QueueKind;
use net_torus::Direction;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// State of a job.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct JobSnapshot {
    /// Process of the command.
    pub pid: u32,
    /// File of the program.
    pub program: String,
    /// Extents along X, Y, Z.
    pub torus: [u16; 3],
    /// Seconds since the start of the first node.
    pub seconds: f64,
    /// State by rank.
    pub ranks: Vec<RankSnapshot>,
}

/// State of a rank.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RankSnapshot {
    /// Rank.
    pub rank: u32,
    /// Coordinates in the torus.
    pub coordinates: [u8; 3],
    /// State of the program, or its call with peer and tag.
    pub activity: String,
    /// Calls that have waited.
    pub calls: u64,
    /// Queues of a rank that is blocked without progress.
    pub queues: Option<QueueLengths>,
    /// Packets sent on each link.
    pub links: Vec<LinkSnapshot>,
    /// Counters with a column, by their names.
    #[serde(flatten)]
    pub counters: BTreeMap<String, u64>,
}

/// Checks whether a counter has a column.
pub const fn has_column(counter: Counter) -> bool {
    let views = counter.views();
    views.top.is_some() || views.rate.is_some()
}

/// Lengths of the queues of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct QueueLengths {
    /// Receives that no message has matched.
    pub posted_receives: u32,
    /// Messages that no receive has matched.
    pub unexpected_messages: u32,
}

/// Packets of a link.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkSnapshot {
    /// Direction.
    pub direction: String,
    /// Packets sent.
    pub packets_sent: u64,
}

impl JobSnapshot {
    /// Creates the state from the observed nodes.
    pub fn new(plan: &JobPlan<'_>, program: &str, elapsed: Duration, nodes: &[ObservedNode]) -> Self {
        Self {
            pid: std::process::id(),
            program: program.into(),
            torus: plan.shape.extents(),
            seconds: elapsed.as_secs_f64(),
            ranks: nodes.iter().map(|node| RankSnapshot::new(plan, node)).collect(),
        }
    }
}

impl RankSnapshot {
    /// Returns the value of a counter with a column; 0 for others.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(counter.about().name).copied().unwrap_or(0)
    }

    fn new(plan: &JobPlan<'_>, node: &ObservedNode) -> Self {
        let account = node.account.as_ref().ok();
        let value = |counter| account.map_or(0, |account| account.counter(counter));
        let shown = Counter::ALL.into_iter().filter(|counter| has_column(*counter));
        let counters = shown.map(|counter| (counter.about().name.to_string(), value(counter)));
        let links = Direction::ALL.into_iter().filter_map(|direction| {
            plan.shape.neighbour(node.coord, direction)?;
            let counters = &account?.links[direction as usize];
            Some(LinkSnapshot {
                direction: direction.name().into(),
                packets_sent: counters.all_channels_counter(ChannelCounter::PacketsSent),
            })
        });
        Self {
            rank: node.rank,
            coordinates: [node.coord.x, node.coord.y, node.coord.z],
            activity: describe_activity(node),
            calls: account.map_or(0, |account| account.calls_entered),
            queues: node.queues.as_ref().map(|queues| QueueLengths {
                posted_receives: queues.totals[QueueKind::PostedReceive as usize],
                unexpected_messages: queues.totals[QueueKind::UnexpectedMessage as usize],
            }),
            links: links.collect(),
            counters: counters.collect(),
        }
    }
}
