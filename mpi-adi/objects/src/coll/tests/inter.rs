//! Results of intercommunicator schedules, among all processes of both groups.

use crate::coll::run::ReduceAreas;
use std::boxed::Box;

use super::interpreter::{ELEMENT, Process, UNTOUCHED, combined, element, run, span};
use crate::coll::bcast::BcastSchedule;
use crate::coll::gather::{StarGather, StarScatter};
use crate::coll::inter::group_exchange::{InterAllreduce, InterPairs, LeaderSwap, ReduceScatter};
use crate::coll::inter::remote_root::{InRootedGroup, RemoteCollect, RootedGroup};
use crate::coll::reduce::TreeReduce;
use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep};
use crate::comm::CommRank;
use crate::inter_groups::GroupRanges;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Sizes of the groups.
const GROUPS: [(u32, u32); 6] = [(1, 1), (1, 4), (3, 1), (3, 5), (4, 4), (7, 2)];
/// Elements: none, one, and more than a segment with a remainder.
const COUNTS: [usize; 3] = [0, 1, 800];
/// Offsets of data and results.
const DATA: usize = 0;
const RESULT: usize = 30_000;

/// Any schedule, or none.
struct Any<'a>(Option<Box<dyn Schedule + 'a>>);

impl<'a> Any<'a> {
    fn of(schedule: impl Schedule + 'a) -> Self {
        Any(Some(Box::new(schedule)))
    }
}

impl Schedule for Any<'_> {
    fn next(&mut self) -> Option<ScheduleStep> {
        self.0.as_mut()?.next()
    }
}

fn halves(first: u32, ranks: RankInfo) -> GroupRanges {
    GroupRanges {
        first,
        all: ranks.size,
        rank: CommRank(ranks.own),
    }
}

fn elements(rank: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| element(rank, i)).collect()
}

fn sums(first: u32, last: u32, count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| combined(first, last, i)).collect()
}

/// Stores each process's elements at the beginning of its data.
fn fill(count: usize) -> impl Fn(u32, &mut Process) {
    move |rank, process| {
        let bytes = elements(rank, count);
        process.at(span(DATA, bytes.len())).copy_from_slice(&bytes);
    }
}

/// Returns the first and the last rank among all of the group that does not contain `rank`.
fn others(first: u32, size: u32, rank: u32) -> (u32, u32) {
    if rank < first {
        (first, size - 1)
    } else {
        (0, first - 1)
    }
}

/// Runs `check` for all group sizes with every rank among all as the root.
fn for_all_roots(mut check: impl FnMut(u32, u32, u32)) {
    for (first, second) in GROUPS {
        for root in 0..first + second {
            check(first + second, first, root);
        }
    }
}

/// Returns the rooted group for this root; `None` for non-participants.
fn rooted_group(halves: GroupRanges, root: u32) -> Option<RootedGroup> {
    let is_local = halves.local_ranks().contains(&root);
    if halves.rank == CommRank(root) {
        return Some(RootedGroup::for_remote_root(halves.remote_ranks(), halves.rank));
    }
    (!is_local).then(|| RootedGroup::for_member(halves.local_ranks(), CommRank(root), halves.rank))
}

#[test]
fn the_other_group_gets_the_roots_data() {
    for_all_roots(|size, first, root| {
        let area = span(DATA, ELEMENT);
        let processes = run(size, fill(1), |ranks| {
            let rooted_group = rooted_group(halves(first, ranks), root);
            Any(rooted_group.map(|rooted_group| {
                let bcast = BcastSchedule::new(rooted_group.all(), area, rooted_group.remote_root_rank());
                Box::new(InRootedGroup::new(bcast, rooted_group)) as Box<dyn Schedule>
            }))
        });
        for (rank, mut process) in (0..).zip(processes) {
            let is_other = (rank < first) != (root < first);
            let from = if is_other { root } else { rank };
            assert_eq!(process.at(area), elements(from, 1));
        }
    });
}

#[test]
fn a_root_gathers_from_the_other_group_and_scatters_to_it() {
    for_all_roots(|size, first, root| {
        let (start, end) = others(first, size, root);
        let place = |rank: CommRank| {
            if rank.0 <= end - start {
                span(RESULT + rank.0 as usize * ELEMENT, ELEMENT)
            } else {
                BufferSlice::EMPTY
            }
        };
        let is_root = |rooted_group: &RootedGroup| rooted_group.all().own == rooted_group.remote_root_rank().0;
        let processes = run(size, fill(1), |ranks| {
            let rooted_group = rooted_group(halves(first, ranks), root);
            Any(rooted_group.map(|rooted_group| {
                let data = if is_root(&rooted_group) {
                    BufferSlice::EMPTY
                } else {
                    span(DATA, ELEMENT)
                };
                let gather = StarGather::new(rooted_group.all(), data, place, rooted_group.remote_root_rank());
                Box::new(InRootedGroup::new(gather, rooted_group)) as Box<dyn Schedule>
            }))
        });
        for (rank, mut process) in (0..).zip(processes) {
            for from in start..=end {
                let got = process.at(place(CommRank(from - start)));
                if rank == root {
                    assert_eq!(got, elements(from, 1))
                } else {
                    assert_eq!(got, [UNTOUCHED; ELEMENT])
                }
            }
        }
        // Data to scatter: at the root the concatenated elements of all ranks.
        let part = |rank: CommRank| {
            if rank.0 <= end - start {
                span(DATA + rank.0 as usize * ELEMENT, ELEMENT)
            } else {
                BufferSlice::EMPTY
            }
        };
        let processes = run(size, fill(size as usize), |ranks| {
            let rooted_group = rooted_group(halves(first, ranks), root);
            Any(rooted_group.map(|rooted_group| {
                let result = if is_root(&rooted_group) {
                    BufferSlice::EMPTY
                } else {
                    span(RESULT, ELEMENT)
                };
                let scatter = StarScatter::new(rooted_group.all(), part, result, rooted_group.remote_root_rank());
                Box::new(InRootedGroup::new(scatter, rooted_group)) as Box<dyn Schedule>
            }))
        });
        for (rank, mut process) in (0..).zip(processes) {
            let got = process.at(span(RESULT, ELEMENT));
            if (start..=end).contains(&rank) {
                assert_eq!(got, element(root, (rank - start) as usize))
            } else {
                assert_eq!(got, [UNTOUCHED; ELEMENT])
            }
        }
    });
}

#[test]
fn a_root_gets_what_the_other_groups_data_comes_to() {
    for count in COUNTS {
        for_all_roots(|size, first, root| {
            let (data, result) = (span(DATA, count * ELEMENT), span(RESULT, count * ELEMENT));
            let processes = run(size, fill(count), |ranks| {
                match rooted_group(halves(first, ranks), root) {
                    None => Any(None),
                    Some(rooted_group) if ranks.own == root => {
                        Any::of(InRootedGroup::new(RemoteCollect::new(result, ELEMENT), rooted_group))
                    }
                    Some(rooted_group) => {
                        let (areas, remote_root) = (
                            ReduceAreas {
                                data,
                                result: BufferSlice::EMPTY,
                            },
                            rooted_group.remote_root_rank(),
                        );
                        let reduce = TreeReduce::new(rooted_group.members(), areas, ELEMENT, remote_root);
                        Any::of(InRootedGroup::new(reduce, rooted_group))
                    }
                }
            });
            let (start, end) = others(first, size, root);
            for (rank, mut process) in (0..).zip(processes) {
                if rank == root {
                    assert_eq!(process.at(result), sums(start, end, count))
                } else {
                    assert!(process.at(result).iter().all(|byte| *byte == UNTOUCHED))
                }
            }
        });
    }
}

#[test]
fn each_group_gets_what_the_others_data_comes_to() {
    for (first, second) in GROUPS {
        let size = first + second;
        for count in COUNTS {
            let (data, result) = (span(DATA, count * ELEMENT), span(RESULT, count * ELEMENT));
            let processes = run(size, fill(count), |ranks| {
                InterAllreduce::new(halves(first, ranks), ReduceAreas { data, result }, ELEMENT)
            });
            for (rank, mut process) in (0..).zip(processes) {
                let (start, end) = others(first, size, rank);
                assert_eq!(process.at(result), sums(start, end, count));
            }
        }
    }
}

#[test]
fn the_ranks_of_the_other_group_divide_what_the_data_comes_to() {
    for (first, second) in GROUPS {
        let size = first + second;
        // A number of elements divisible by both group sizes.
        let total = (first * second * 100) as usize;
        let processes = run(size, fill(total), |ranks| {
            let halves = halves(first, ranks);
            let given = total / halves.remote_ranks().len() * ELEMENT;
            let taken = total / halves.local_ranks().len() * ELEMENT;
            let part = move |rank: CommRank| span(DATA + rank.0 as usize * given, given);
            ReduceScatter::new(halves, part, span(RESULT, taken), ELEMENT)
        });
        for (rank, mut process) in (0..).zip(processes) {
            let (start, end) = others(first, size, rank);
            let (local, members) = if rank < first {
                (rank, first)
            } else {
                (rank - first, second)
            };
            let each = total / members as usize;
            let all = sums(start, end, total);
            let from = local as usize * each * ELEMENT;
            let wanted = &all[from..from + each * ELEMENT];
            assert_eq!(process.at(span(RESULT, each * ELEMENT)), wanted);
        }
    }
}

#[test]
fn pairs_take_every_part_to_its_place() {
    for (first, second) in GROUPS {
        let size = first + second;
        let part = |rank: CommRank| span(DATA + rank.0 as usize * ELEMENT, ELEMENT);
        let place = |rank: CommRank| span(RESULT + rank.0 as usize * ELEMENT, ELEMENT);
        let processes = run(size, fill(size as usize), |ranks| {
            InterPairs::new(halves(first, ranks), part, place)
        });
        for (rank, mut process) in (0..).zip(processes) {
            let (start, end) = others(first, size, rank);
            let local = if rank < first { rank } else { rank - first };
            for from in start..=end {
                let got = process.at(place(CommRank(from - start)));
                assert_eq!(got, element(from, local as usize));
            }
            assert_eq!(process.sent as u32, end + 1 - start);
        }
    }
}

#[test]
fn groups_swap_what_their_processes_have_alike() {
    for (first, second) in GROUPS {
        let size = first + second;
        let processes = run(
            size,
            |rank, process| {
                let group = u32::from(rank >= first);
                let bytes = elements(group, 5);
                process.at(span(DATA, bytes.len())).copy_from_slice(&bytes);
            },
            |ranks| {
                let (given, taken) = (span(DATA, 5 * ELEMENT), span(RESULT, 5 * ELEMENT));
                LeaderSwap::new(halves(first, ranks), given, taken)
            },
        );
        for (rank, mut process) in (0..).zip(processes) {
            let wanted = elements(u32::from(rank < first), 5);
            assert_eq!(process.at(span(RESULT, 5 * ELEMENT)), wanted);
        }
    }
}
