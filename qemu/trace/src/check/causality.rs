//! Order of calls of different ranks: vector clocks (Mattern 1989; Fidge 1988) over messages, collective calls and fences.
//!
//! A clock has a component for each rank, which increases at the begin and at the end of each call. A call that completes
//! a receive is after the begin of the send; a call that completes a collective operation is after the begin of the calls
//! whose data it needs.

use super::job::{CallAt, CheckedJob};
use super::window_list::Windows;
use crate::job::Event;
use crate::operations::{Operation, OperationId, OperationKind, SendMode, collective_of};
use std::cell::LazyCell;
use std::collections::HashMap;

/// Maximum number of ranks whose calls are ordered.
pub(super) const MAX_RANKS: usize = 64;
/// Maximum number of calls times ranks, for a bound of the memory.
const MAX_COMPONENTS: usize = 1 << 26;

/// The order of a job's calls, computed at its first use; `None` for too many ranks or calls.
pub(super) type LazyCausality<'j> = LazyCell<Option<Causality>, Box<dyn FnOnce() -> Option<Causality> + 'j>>;

/// Begin or end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Moment {
    Enter(CallAt),
    Leave(CallAt),
}

impl Moment {
    fn call(self) -> CallAt {
        match self {
            Moment::Enter(at) | Moment::Leave(at) => at,
        }
    }
}

/// Clocks of all calls.
pub(super) struct Causality {
    ranks: usize,
    /// By rank and twice the index of the call, plus 1 for its end.
    clocks: Vec<HashMap<usize, Vec<u32>>>,
}

impl Causality {
    /// Computes the order. `None` for too many ranks or calls.
    pub(super) fn of_job(job: &CheckedJob<'_>) -> Option<Self> {
        let ranks = job.job.ranks.len();
        let calls: usize = job.job.ranks.iter().map(|rank| rank.calls.len()).sum();
        if ranks > MAX_RANKS || calls.checked_mul(2 * ranks)? > MAX_COMPONENTS {
            return None;
        }
        let dependencies = dependencies(job);
        let mut causality = Self {
            ranks,
            clocks: vec![HashMap::new(); ranks],
        };
        let mut position = vec![0; ranks];
        let mut now = vec![vec![0; ranks]; ranks];
        loop {
            let mut has_moved = false;
            for rank in 0..ranks {
                while causality.step(job, &dependencies, rank, &mut position[rank], &mut now[rank]) {
                    has_moved = true;
                }
            }
            if !has_moved {
                return Some(causality);
            }
        }
    }

    /// Handles the next event of a rank; false if it depends on one that was not handled yet.
    fn step(
        &mut self,
        job: &CheckedJob<'_>,
        dependencies: &HashMap<CallAt, Vec<CallAt>>,
        rank: usize,
        position: &mut usize,
        now: &mut [u32],
    ) -> bool {
        let Some(event) = job.job.ranks[rank].events.get(*position) else {
            return false;
        };
        let moment = match event {
            Event::Enter(index) => Moment::Enter(CallAt { rank, index: *index }),
            Event::Leave(index) => Moment::Leave(CallAt { rank, index: *index }),
            _ => {
                *position += 1;
                return true;
            }
        };
        if let Moment::Leave(at) = moment {
            let needed = dependencies.get(&at).map_or(&[][..], Vec::as_slice);
            if needed.iter().any(|needed| self.clock(Moment::Enter(*needed)).is_none()) {
                return false;
            }
            for needed in needed {
                if let Some(clock) = self.clock(Moment::Enter(*needed)) {
                    for (own, other) in now.iter_mut().zip(clock) {
                        *own = (*own).max(*other);
                    }
                }
            }
        }
        now[rank] += 1;
        self.clocks[rank].insert(key(moment), now.to_vec());
        *position += 1;
        true
    }

    fn clock(&self, moment: Moment) -> Option<&[u32]> {
        self.clocks[moment.call().rank].get(&key(moment)).map(Vec::as_slice)
    }

    /// Checks whether one moment is before another one in each execution with the same messages.
    pub(super) fn is_before(&self, one: Moment, other: Moment) -> bool {
        let rank = one.call().rank;
        debug_assert!(rank < self.ranks);
        match (self.clock(one), self.clock(other)) {
            (Some(one), Some(other)) => one[rank] <= other[rank],
            // A moment that did not happen is after all others.
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

fn key(moment: Moment) -> usize {
    match moment {
        Moment::Enter(at) => 2 * at.index,
        Moment::Leave(at) => 2 * at.index + 1,
    }
}

/// Returns for the end of each call the calls whose begin is before it.
fn dependencies(job: &CheckedJob<'_>) -> HashMap<CallAt, Vec<CallAt>> {
    let mut dependencies: HashMap<CallAt, Vec<CallAt>> = HashMap::new();
    let mut add = |rank: usize, completed: Option<usize>, needed: CallAt| {
        if let Some(index) = completed {
            dependencies.entry(CallAt { rank, index }).or_default().push(needed);
        }
    };
    for message in &job.messages.matched {
        let (send, receive) = (job.operations.get(message.send), job.operations.get(message.receive));
        let start = |rank: usize, operation: &Operation| CallAt {
            rank,
            index: operation.started,
        };
        add(message.receive.rank, receive.completed, start(message.send.rank, send));
        if send.kind == OperationKind::Send(SendMode::Synchronous) {
            add(message.send.rank, send.completed, start(message.receive.rank, receive));
        }
    }
    for sequences in job.operations.collectives().values() {
        let longest = sequences.values().map(Vec::len).max().unwrap_or(0);
        for number in 0..longest {
            let members: Vec<OperationId> = sequences
                .values()
                .filter_map(|list| list.get(number))
                .copied()
                .collect();
            for member in &members {
                let one = job.operations.get(*member);
                for id in members.iter().filter(|other| other.rank != member.rank) {
                    let other = job.operations.get(*id);
                    if needs(job, *member, one, other) {
                        add(
                            member.rank,
                            one.completed,
                            CallAt {
                                rank: id.rank,
                                index: other.started,
                            },
                        );
                    }
                }
            }
        }
    }
    for fences in Windows::of_job(job).fences() {
        for fence in &fences {
            for other in &fences {
                add(fence.rank, Some(fence.index), *other);
            }
        }
    }
    dependencies
}

/// Checks whether a process must wait for the begin of another one's call.
fn needs(job: &CheckedJob<'_>, id: OperationId, one: &Operation, other: &Operation) -> bool {
    let call = job.call(CallAt {
        rank: id.rank,
        index: one.started,
    });
    let rank = |operation: &Operation| operation.comm.as_ref().map_or(-1, |comm| comm.rank);
    let root = call.input("root");
    match collective_of(call.function.name) {
        Some("bcast" | "scatter" | "scatterv") => rank(other) == root,
        Some("gather" | "gatherv" | "reduce") => rank(one) == root,
        Some("scan" | "exscan") => rank(other) < rank(one),
        Some(name) if name.starts_with("neighbor") => false,
        _ => true,
    }
}
