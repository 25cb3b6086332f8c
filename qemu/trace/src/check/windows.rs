//! Conflicts of one-sided communication (MPI-3.1 section 11.7): two accesses to the same memory of a window, of which one
//! writes, and that no synchronization orders.
//!
//! An operation lasts from its call to the synchronization that completes it. The order of calls is that of
//! `causality`. Exclusive locks exclude each other. Windows on which a program synchronizes by other
//! means are not checked: by groups (MPI_Win_post), by MPI_Win_sync, by epochs that do not block, or by operations that
//! return a value.
//!
//! A load or store of a process in its own window without a lock, and an operation under a lock, are a warning.

use super::causality::{Causality, LazyCausality, Moment};
use super::findings::{FindingClass, FindingList};
use super::job::{CallAt, CheckedJob};
use super::window_list::{WindowId, Windows, window_at};
use crate::job::{AccessedMemory, Call, Event};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of accesses to the window of a process that are compared.
const MAX_ACCESSES: usize = 10_000;
/// MPI_LOCK_EXCLUSIVE.
const LOCK_EXCLUSIVE: i64 = 301;

/// Effect of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    Read,
    Write,
    /// Accumulates with this operation. Two with the same operation do not conflict.
    Accumulate(i64),
}

impl Effect {
    fn conflicts(self, other: Effect) -> bool {
        match (self, other) {
            (Effect::Read, Effect::Read) => false,
            (Effect::Accumulate(one), Effect::Accumulate(other)) => one != other,
            _ => true,
        }
    }
}

/// Access to the memory of a window.
struct WindowAccess {
    rank: usize,
    bytes: Range<i64>,
    effect: Effect,
    begin: Moment,
    /// End; `None`: never complete.
    end: Option<Moment>,
    is_exclusive: bool,
    is_locked: bool,
    origin: Origin,
}

impl WindowAccess {
    /// Checks for a load or a store of the process itself.
    fn is_local(&self) -> bool {
        matches!(self.origin, Origin::Instruction(_))
    }
}

/// Code that makes an access.
#[derive(Clone, Copy)]
enum Origin {
    Call(CallAt),
    Instruction(u64),
}

pub(super) fn check(job: &CheckedJob<'_>, causality: &LazyCausality<'_>, findings: &mut FindingList) {
    let windows = Windows::of_job(job);
    if windows.ranks.iter().all(Vec::is_empty) {
        return;
    }
    let Some(causality) = &**causality else {
        return;
    };
    let mut all: BTreeMap<(WindowId, usize), Vec<WindowAccess>> = BTreeMap::new();
    let unchecked = synchronized_otherwise(job, &windows);
    for rank in 0..job.job.ranks.len() {
        collect_operations(job, &windows, rank, &mut all);
        collect_accesses(job, &windows, rank, &mut all);
    }
    for ((window, target), accesses) in &mut all {
        if unchecked.contains(window) || accesses.len() > MAX_ACCESSES {
            continue;
        }
        accesses.sort_by_key(|access| access.bytes.start);
        for (index, one) in accesses.iter().enumerate() {
            let overlapping = accesses[index + 1..]
                .iter()
                .take_while(|other| other.bytes.start < one.bytes.end);
            for other in overlapping.filter(|other| is_conflict(causality, one, other)) {
                report(job, *target, one, other, findings);
            }
        }
    }
}

/// Returns the class of a conflict. In the memory model MPI_WIN_UNIFIED a process may access its window without a lock while
/// others hold one (MPI-3.1 section 11.7).
fn class_of(one: &WindowAccess, other: &WindowAccess) -> FindingClass {
    let is_free = |access: &WindowAccess| access.is_local() && !access.is_locked;
    if is_free(one) && other.is_locked || is_free(other) && one.is_locked {
        FindingClass::UnorderedAccess
    } else {
        FindingClass::WindowConflict
    }
}

fn is_conflict(causality: &Causality, one: &WindowAccess, other: &WindowAccess) -> bool {
    let is_before =
        |one: &WindowAccess, other: &WindowAccess| one.end.is_some_and(|end| causality.is_before(end, other.begin));
    let is_excluded =
        one.is_locked && other.is_locked && (one.is_exclusive || other.is_exclusive) && one.rank != other.rank;
    let is_harmless = one.is_local() && other.is_local() || !one.effect.conflicts(other.effect);
    let is_ordered = is_excluded || is_before(one, other) || is_before(other, one);
    !is_harmless && !is_ordered
}

fn report(job: &CheckedJob<'_>, target: usize, one: &WindowAccess, other: &WindowAccess, findings: &mut FindingList) {
    let describe = |access: &WindowAccess| match access.origin {
        Origin::Call(at) => job.describe(at),
        Origin::Instruction(address) => {
            let verb = if access.effect == Effect::Read {
                "a load"
            } else {
                "a store"
            };
            format!("{verb} of rank {} ({})", access.rank, job.line(access.rank, address))
        }
    };
    let site = |access: &WindowAccess| match access.origin {
        Origin::Call(at) => job.site(at),
        Origin::Instruction(address) => super::findings::CallSite { address },
    };
    findings.add(class_of(one, other), &[site(one), site(other)], || {
        format!(
            "{} and {} access the same memory in the window of rank {target}, and no synchronization orders them",
            describe(one),
            describe(other)
        )
    });
}

/// Windows on which the program synchronizes by means that the order of calls does not contain.
fn synchronized_otherwise(job: &CheckedJob<'_>, windows: &Windows) -> Vec<WindowId> {
    const MEANS: [&str; 7] = [
        "MPI_Win_post",
        "MPI_Win_start",
        "MPI_Win_sync",
        "MPI_Fetch_and_op",
        "MPI_Compare_and_swap",
        "MPI_Get_accumulate",
        "MPI_Rget_accumulate",
    ];
    let is_means = |name: &str| MEANS.contains(&name) || name.starts_with("MPI_Win_i");
    let mut found = Vec::new();
    for (rank, list) in windows.ranks.iter().enumerate() {
        for (index, call) in job.job.ranks[rank].calls.iter().enumerate() {
            if is_means(call.function.name)
                && let Some(window) = window_at(list, call.input("win"), index)
            {
                found.push(window.id);
            }
        }
    }
    found
}

type Accesses = BTreeMap<(WindowId, usize), Vec<WindowAccess>>;

/// Collects the operations of an origin.
fn collect_operations(job: &CheckedJob<'_>, windows: &Windows, rank: usize, all: &mut Accesses) {
    let calls = &job.job.ranks[rank].calls;
    for (index, call) in calls.iter().enumerate().filter(|(_, call)| call.has_succeeded()) {
        let effect = match call.function.name {
            "MPI_Put" | "MPI_Rput" => Effect::Write,
            "MPI_Get" | "MPI_Rget" => Effect::Read,
            "MPI_Accumulate" | "MPI_Raccumulate" => Effect::Accumulate(call.input("op")),
            _ => continue,
        };
        let Some(window) = window_at(&windows.ranks[rank], call.input("win"), index) else {
            continue;
        };
        let member = usize::try_from(call.input("target_rank"))
            .ok()
            .and_then(|rank| window.members.get(rank));
        let Some(target) = member.and_then(|member| usize::try_from(*member).ok()) else {
            continue;
        };
        let unit = windows.ranks[target]
            .iter()
            .find(|other| other.id == window.id)
            .map_or(1, |other| other.unit);
        let Some(bytes) = target_bytes(job, rank, index, call, unit) else {
            continue;
        };
        let lock = lock_of(calls, index, window.handle, call.input("target_rank"));
        let end = if call.function.name == "MPI_Get" && job.job.ranks[rank].is_rust() {
            // In Rust it returns the data.
            Some(Moment::Leave(CallAt { rank, index }))
        } else {
            let end = completion(calls, index, window.handle, call.input("target_rank"));
            end.map(|index| Moment::Enter(CallAt { rank, index }))
        };
        all.entry((window.id, target)).or_default().push(WindowAccess {
            rank,
            bytes,
            effect,
            begin: Moment::Enter(CallAt { rank, index }),
            end,
            is_exclusive: lock == Some(LOCK_EXCLUSIVE),
            is_locked: lock.is_some(),
            origin: Origin::Call(CallAt { rank, index }),
        });
    }
}

/// Returns the memory of the target, relative to its window. `None` for a datatype with gaps.
fn target_bytes(job: &CheckedJob<'_>, rank: usize, index: usize, call: &Call, unit: i64) -> Option<Range<i64>> {
    let datatype = job.datatypes[rank].get(call.input("target_datatype"), index)?;
    let count = call.input("target_count");
    let start = call
        .input("target_disp")
        .checked_mul(unit)?
        .checked_add(datatype.sizes.true_lower)?;
    let bytes = datatype.sizes.size.checked_mul(count)?;
    (datatype.is_contiguous(count) && bytes > 0).then_some(start..start.checked_add(bytes)?)
}

/// Returns the kind of the lock under which a call is made.
fn lock_of(calls: &[Call], index: usize, window: i64, target: i64) -> Option<i64> {
    for call in calls[..index].iter().rev().filter(|call| call.input("win") == window) {
        let is_target = call.input("rank") == target;
        match call.function.name {
            "MPI_Win_lock" if is_target => return Some(call.input("lock_type")),
            "MPI_Win_lock_all" => return Some(0),
            "MPI_Win_unlock" if is_target => return None,
            "MPI_Win_unlock_all" | "MPI_Win_fence" => return None,
            _ => {}
        }
    }
    None
}

/// Returns the call that completes an operation at its target.
fn completion(calls: &[Call], index: usize, window: i64, target: i64) -> Option<usize> {
    let completes = |call: &Call| {
        call.input("win") == window
            && match call.function.name {
                "MPI_Win_fence" | "MPI_Win_unlock_all" | "MPI_Win_flush_all" | "MPI_Win_free" => true,
                "MPI_Win_unlock" | "MPI_Win_flush" => call.input("rank") == target,
                _ => false,
            }
    };
    let later = calls.iter().enumerate().skip(index + 1);
    { later }.find(|(_, call)| completes(call)).map(|(index, _)| index)
}

/// Collects the accesses of the program to the memory of its own window.
fn collect_accesses(job: &CheckedJob<'_>, windows: &Windows, rank: usize, all: &mut Accesses) {
    let trace = &job.job.ranks[rank];
    let mut last = None;
    for event in &trace.events {
        match event {
            Event::Leave(index) => last = Some(*index),
            Event::Access(access) if access.memory == AccessedMemory::Window => {
                let Some(index) = last else { continue };
                let Some(window) = window_at(&windows.ranks[rank], access.key, index) else {
                    continue;
                };
                let start = access.address.wrapping_sub(window.base) as i64;
                let member = window.members.iter().position(|member| *member == rank as i64);
                let lock = lock_of(&trace.calls, index + 1, window.handle, member.unwrap_or(0) as i64);
                all.entry((window.id, rank)).or_default().push(WindowAccess {
                    rank,
                    bytes: start..start.saturating_add(access.bytes as i64),
                    effect: if access.is_write { Effect::Write } else { Effect::Read },
                    begin: Moment::Leave(CallAt { rank, index }),
                    end: Some(Moment::Enter(CallAt { rank, index: index + 1 })),
                    is_exclusive: lock == Some(LOCK_EXCLUSIVE),
                    is_locked: lock.is_some(),
                    origin: Origin::Instruction(access.instruction),
                });
            }
            _ => {}
        }
    }
}
