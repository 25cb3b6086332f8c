//! State of an exploration's [schedule](super::explored_schedule), beside that of all schedules.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};

use midplane_device::envelope::MatchPattern;

use super::packet_gate::{PacketGate, SourceQueue};
use crate::match_orders::DecisionKind;

/// State of all nodes of an exploration.
pub(super) struct ExploredState {
    pub(super) ranks: Vec<ExploredRank>,
    pub(super) deferrals: RefCell<Vec<Deferral>>,
    /// Decisions that did not select [`Later`](crate::match_orders::MatchAlternative::Later), and for which it is not known to lead anywhere.
    pub(super) settled: RefCell<Vec<SettledChoice>>,
}

/// A decision, and the messages that it could have left its receive to.
pub(super) struct SettledChoice {
    /// Index of the decision in the run.
    pub(super) index: usize,
    pub(super) rank: usize,
    pub(super) pattern: MatchPattern,
    pub(super) offered: Vec<usize>,
}

/// State of a node.
pub(super) struct ExploredRank {
    pub(super) gate: RefCell<PacketGate>,
    pub(super) pause: Cell<CallPause>,
    /// Consecutive polls that did not see an available message.
    pub(super) missed: Cell<u32>,
    /// Consecutive polls without an available message.
    pub(super) idle: Cell<u32>,
}

/// Pause of a program until nothing else moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallPause {
    /// The program is in its own code or in a blocking call.
    None,
    /// It enters a call, and has unexpected messages.
    Entry,
    /// It polls.
    Poll,
    /// It may continue.
    Over,
}

/// Identity of a choice, while the receive or the call exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChoiceId {
    pub(super) rank: usize,
    pub(super) kind: DecisionKind,
    /// Sequence number of the receive; 0 for a call.
    pub(super) serial: u64,
}

/// Messages that a choice was offered, and that it leaves to others.
pub(super) struct Deferral {
    pub(super) choice: ChoiceId,
    pub(super) sources: Vec<usize>,
}

impl ExploredState {
    /// Creates the state of a machine of this many nodes.
    pub(super) fn new(nodes: usize) -> ExploredState {
        let rank = |_| ExploredRank {
            gate: RefCell::new(PacketGate::new(nodes)),
            pause: Cell::new(CallPause::None),
            missed: Cell::new(0),
            idle: Cell::new(0),
        };
        ExploredState {
            ranks: (0..nodes).map(rank).collect(),
            deferrals: RefCell::default(),
            settled: RefCell::default(),
        }
    }

    /// Returns the gate of the node of `rank`.
    pub(super) fn gate(&self, rank: usize) -> &RefCell<PacketGate> {
        &self.ranks[rank].gate
    }

    /// Returns whether the program of `rank` must run because of a release.
    pub(super) fn is_released(&self, rank: usize) -> bool {
        self.ranks[rank].pause.get() == CallPause::Over || self.ranks[rank].gate.borrow().is_open()
    }

    pub(super) fn queues(&self, rank: usize) -> Vec<SourceQueue> {
        self.ranks[rank].gate.borrow().queues().collect()
    }

    /// Returns the queues of the sources whose messages no deferred choice of this rank was offered.
    pub(super) fn free_queues(&self, rank: usize) -> Vec<SourceQueue> {
        let deferrals = self.deferrals.borrow();
        let is_offered = |queue: &SourceQueue| {
            let mut of_rank = deferrals.iter().filter(|deferral| deferral.choice.rank == rank);
            of_rank.any(|deferral| deferral.sources.contains(&queue.source))
        };
        let mut queues = self.queues(rank);
        queues.retain(|queue| !is_offered(queue));
        queues
    }
}
