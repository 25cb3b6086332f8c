//! Windows of a job, identified across its ranks by their communicator and their number.

use super::job::{CallAt, CheckedJob};
use crate::job::Call;
use crate::objects::CommId;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Number of a window: its communicator, and the number of windows that were created on it before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct WindowId {
    comm: CommId,
    number: usize,
}

/// A window of a process.
pub(super) struct RankWindow {
    pub(super) id: WindowId,
    pub(super) handle: i64,
    pub(super) members: Vec<i64>,
    pub(super) base: u64,
    pub(super) unit: i64,
    /// Calls from its creation to its end.
    pub(super) calls: Range<usize>,
}

/// Windows of all ranks.
pub(super) struct Windows {
    pub(super) ranks: Vec<Vec<RankWindow>>,
    /// Fences of each window and rank.
    fences: BTreeMap<WindowId, BTreeMap<usize, Vec<CallAt>>>,
}

impl Windows {
    /// Collects the windows of a job.
    pub(super) fn of_job(job: &CheckedJob<'_>) -> Windows {
        let ranks: Vec<Vec<RankWindow>> = (0..job.job.ranks.len()).map(|rank| rank_windows(job, rank)).collect();
        let mut fences: BTreeMap<WindowId, BTreeMap<usize, Vec<CallAt>>> = BTreeMap::new();
        for (rank, windows) in ranks.iter().enumerate() {
            let calls = job.job.ranks[rank].calls.iter().enumerate();
            for (index, call) in
                calls.filter(|(_, call)| matches!(call.function.name, "MPI_Win_fence" | "MPI_Win_free"))
            {
                if let Some(window) = window_at(windows, call.input("win"), index) {
                    let all = fences.entry(window.id).or_default();
                    all.entry(rank).or_default().push(CallAt { rank, index });
                }
            }
        }
        Windows { ranks, fences }
    }
}

impl Windows {
    /// Returns the calls of each fence.
    pub(super) fn fences(&self) -> Vec<Vec<CallAt>> {
        let mut all = Vec::new();
        for ranks in self.fences.values() {
            let longest = ranks.values().map(Vec::len).max().unwrap_or(0);
            for number in 0..longest {
                all.push(ranks.values().filter_map(|calls| calls.get(number)).copied().collect());
            }
        }
        all
    }
}

/// Returns the window that a handle identifies in a call.
pub(super) fn window_at(windows: &[RankWindow], handle: i64, call: usize) -> Option<&RankWindow> {
    windows
        .iter()
        .rev()
        .find(|window| window.handle == handle && window.calls.contains(&call))
}

fn rank_windows(job: &CheckedJob<'_>, rank: usize) -> Vec<RankWindow> {
    let calls = &job.job.ranks[rank].calls;
    let mut numbers: HashMap<CommId, usize> = HashMap::new();
    let mut windows: Vec<RankWindow> = Vec::new();
    for operation in &job.operations.ranks[rank].list {
        let call = &calls[operation.call];
        let (true, Some(comm)) = (call.function.name.starts_with("MPI_Win_"), &operation.comm) else {
            continue;
        };
        let (Some(handle), true) = (call.output("win"), call.has_succeeded()) else {
            continue;
        };
        let number = numbers.entry(comm.id).or_default();
        let base = call.output("baseptr").unwrap_or_else(|| call.input("base"));
        windows.push(RankWindow {
            id: WindowId {
                comm: comm.id,
                number: *number,
            },
            handle,
            members: comm.members.clone(),
            base: base as u64,
            unit: call.input("disp_unit").max(1),
            calls: operation.call..end_of_window(calls, handle, operation.call),
        });
        *number += 1;
    }
    windows
}

/// Returns the index after the call that frees a window.
fn end_of_window(calls: &[Call], handle: i64, created: usize) -> usize {
    let later = calls.iter().enumerate().skip(created);
    let mut frees = later.filter(|(_, call)| call.function.name == "MPI_Win_free" && call.input("win") == handle);
    frees.next().map_or(calls.len(), |(index, _)| index + 1)
}
