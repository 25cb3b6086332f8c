//! Detection of a hang: every rank is blocked in MPI or has ended, and no packet moves. Free of side effects.
//!
//! A packet in transit could still wake a rank, so it is not sufficient that all ranks are blocked. The detector uses
//! the counters of sent and received packets, which a node publishes after each change (four-counter method: F. Mattern,
//! "Algorithms for distributed termination detection", 1987):
//!
//! ```text
//!   all ranks are in calls for BLOCKED_FOR  ->  first sample  -> SAMPLE_INTERVAL ->  second sample
//! ```
//! A sample contains the packets and the messages that all nodes have sent and received. If both samples are equal and as
//! many packets were received as sent, no packet was in transit between the samples. A node shows a call only after it has
//! waited in it, and all processors must sleep. No rank had work then: nothing can move any more. A busy host delays the
//! detection and causes no false one.
//!
//! The number of a call is not compared: a call that consists of several steps, as MPI_Wait of a nonblocking collective,
//! is shown with a new number after each timeout of its wait.
//!
//! The method requires links that deliver at once: a packet that waits for a retransmission is counted neither as sent
//! nor as received. Jobs with such links are not checked.

use crate::run::node::Node;
use crate::run::outcome::ObservedNode;
use midplane_abi::blackboard::{BlackboardSnapshot, NodeState};
use midplane_abi::counters::Counter;
use std::time::{Duration, Instant};

/// Interval between looks at the ranks' calls.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(150);
/// Time for which all ranks must be in the same calls before the first sample.
const BLOCKED_FOR: Duration = Duration::from_millis(300);
/// Minimum time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(400);

/// State of one rank at a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankGlance {
    /// The program is in a call.
    InCall,
    /// The program has ended.
    Ended,
    /// The program computes, or the node is not up.
    Active,
}

/// Counters of all nodes at one time.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct StallSample {
    messages: u64,
    packets_sent: u64,
    packets_received: u64,
}

impl StallSample {
    /// Adds the counters of a node whose process is about to be replaced.
    pub fn add(&mut self, node: &Node) {
        if let Ok(account) = node.snapshot() {
            self.add_account(&account);
        }
    }

    fn add_account(&mut self, account: &BlackboardSnapshot) {
        let messages = [Counter::MessagesSent, Counter::MessagesReceived].map(|counter| account.counter(counter));
        for count in messages {
            self.messages = self.messages.wrapping_add(count);
        }
        self.packets_sent = self.packets_sent.wrapping_add(account.counter(Counter::PacketsSent));
        self.packets_received = self
            .packets_received
            .wrapping_add(account.counter(Counter::PacketsReceived));
    }

    /// Creates the sample of these nodes, in addition to `earlier` counters; `None` unless each of them is blocked in MPI or has ended.
    pub fn from_nodes(nodes: &[ObservedNode], earlier: Self) -> Option<Self> {
        let is_stuck = |node: &ObservedNode| match node.state() {
            Some(NodeState::Done) => true,
            Some(NodeState::Running) => node.blocking_call().is_some(),
            _ => false,
        };
        if !nodes.iter().all(is_stuck) {
            return None;
        }
        let mut sample = earlier;
        let accounts = nodes.iter().filter_map(|node| node.account.as_ref().ok());
        accounts.for_each(|account| sample.add_account(account));
        Some(sample)
    }
}

/// Detector of a hang.
#[derive(Debug)]
pub struct StallDetector {
    ranks: Vec<RankGlance>,
    /// Time since which all ranks are in calls or have ended.
    since: Instant,
    /// The last sample since then, and its time.
    sample: Option<(Instant, StallSample)>,
}

impl StallDetector {
    /// Creates the detector at the start of the job.
    pub fn new(now: Instant) -> Self {
        Self {
            ranks: Vec::new(),
            since: now,
            sample: None,
        }
    }

    /// Records the ranks' states. Returns whether a sample is due.
    pub fn record_states(&mut self, now: Instant, ranks: Vec<RankGlance>) -> bool {
        let is_blocked = |ranks: &[RankGlance]| {
            ranks.iter().all(|rank| *rank != RankGlance::Active) && ranks.contains(&RankGlance::InCall)
        };
        if ranks != self.ranks || !is_blocked(&ranks) {
            *self = Self {
                ranks,
                ..Self::new(now)
            };
            return false;
        }
        match &self.sample {
            None => now >= self.since + BLOCKED_FOR,
            Some((at, _)) => now >= *at + SAMPLE_INTERVAL,
        }
    }

    /// Records a sample, or the absence of one. Returns whether the job hangs.
    pub fn add_sample(&mut self, now: Instant, sample: Option<StallSample>) -> bool {
        let Some(sample) = sample else {
            self.sample = None;
            return false;
        };
        let is_at_rest = sample.packets_sent == sample.packets_received;
        let is_same = self.sample.as_ref().is_some_and(|(_, before)| *before == sample);
        self.sample = Some((now, sample));
        is_at_rest && is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outcome::tests::seen;
    use midplane_abi::blackboard::CallSnapshot;

    const STEP: Duration = Duration::from_millis(500);

    fn in_call(account: &mut BlackboardSnapshot, function: &str, packets: [u64; 2]) {
        account.call = Some(CallSnapshot {
            function: function.try_into().unwrap(),
            peer: None,
            tag: None,
        });
        account.last_call = function.try_into().unwrap();
        account.calls_entered = 3;
        account.counters[Counter::PacketsSent as usize] = packets[0];
        account.counters[Counter::PacketsReceived as usize] = packets[1];
    }

    fn blocked(rank: u32, function: &str, packets: [u64; 2]) -> ObservedNode {
        seen(rank, NodeState::Running, |account| in_call(account, function, packets))
    }

    /// Looks and samples repeatedly; returns whether a hang is detected.
    fn detects(mut looks: impl FnMut(usize) -> (Vec<RankGlance>, Option<StallSample>)) -> bool {
        let mut now = Instant::now();
        let mut detector = StallDetector::new(now);
        (0..8).any(|turn| {
            now += STEP;
            let (ranks, sample) = looks(turn);
            detector.record_states(now, ranks) && detector.add_sample(now, sample)
        })
    }

    #[test]
    fn blocked_ranks_without_packets_in_transit_hang() {
        let nodes = [blocked(0, "MPI_Recv", [4, 1]), blocked(1, "MPI_Ssend", [0, 3])];
        let ranks = vec![RankGlance::InCall, RankGlance::InCall];
        assert!(detects(|_| (
            ranks.clone(),
            StallSample::from_nodes(&nodes, StallSample::default())
        )));
        let ended = [blocked(0, "MPI_Recv", [1, 1]), seen(1, NodeState::Done, |_| {})];
        let ranks = vec![RankGlance::InCall, RankGlance::Ended];
        assert!(detects(|_| (
            ranks.clone(),
            StallSample::from_nodes(&ended, StallSample::default())
        )));
    }

    #[test]
    fn a_packet_in_transit_is_no_hang() {
        let nodes = [blocked(0, "MPI_Recv", [4, 1]), blocked(1, "MPI_Recv", [0, 2])];
        let ranks = vec![RankGlance::InCall, RankGlance::InCall];
        assert!(!detects(|_| (
            ranks.clone(),
            StallSample::from_nodes(&nodes, StallSample::default())
        )));
    }

    #[test]
    fn packets_between_the_samples_are_no_hang() {
        let ranks = vec![RankGlance::InCall, RankGlance::InCall];
        let moving = |turn: usize| {
            let packets = [turn as u64; 2];
            StallSample::from_nodes(
                &[blocked(0, "MPI_Recv", packets), blocked(1, "MPI_Recv", packets)],
                StallSample::default(),
            )
        };
        assert!(!detects(|turn| (ranks.clone(), moving(turn))));
    }

    #[test]
    fn ranks_that_compute_between_calls_are_no_hang() {
        let nodes = [blocked(0, "MPI_Recv", [0, 0]), blocked(1, "MPI_Recv", [0, 0])];
        let sample = || StallSample::from_nodes(&nodes, StallSample::default());
        let changing = |turn: usize| match turn % 2 {
            0 => vec![RankGlance::InCall; 2],
            _ => vec![RankGlance::InCall, RankGlance::Active],
        };
        assert!(!detects(|turn| (changing(turn), sample())));
        assert!(!detects(|_| (vec![RankGlance::InCall, RankGlance::Active], sample())));
        assert!(
            !detects(|_| (vec![RankGlance::Ended; 2], sample())),
            "the job has ended"
        );
    }

    #[test]
    fn only_blocking_calls_of_mpi_are_sampled() {
        let with = |function| StallSample::from_nodes(&[blocked(0, function, [0, 0])], StallSample::default());
        assert!(with("MPI_Recv").is_some());
        assert!(with("read").is_none(), "a rank that waits for its input");
        assert!(with("MPI_Test").is_none(), "a rank that polls");
        assert!(with("MPI_Bsend").is_none(), "a rank that looks for space in its buffer");
        assert!(StallSample::from_nodes(&[seen(0, NodeState::Booting, |_| {})], StallSample::default()).is_none());
    }
}
