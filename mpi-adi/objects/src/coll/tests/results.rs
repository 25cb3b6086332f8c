//! Results of the schedules of all ranks, for every small number of ranks and every root.

use super::interpreter::{ELEMENT, Process, UNTOUCHED, combined, element, run, span};
use crate::coll::alltoall::{InPlace, PairwiseExchange};
use crate::coll::barrier::DisseminationBarrier;
use crate::coll::bcast::BcastSchedule;
use crate::coll::gather::{BruckAllgather, RingAllgather, StarGather, StarScatter};
use crate::coll::reduce::{ReduceScatter, ThroughRoot, TreeReduce};
use crate::coll::run::ReduceAreas;
use crate::coll::scan::ChainScan;
use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep};
use crate::comm::CommRank;
use midplane_device::memory::buffer_slice::BufferSlice;

const SIZES: core::ops::RangeInclusive<u32> = 1..=9;
/// Elements: none, one, one segment, one more, and three segments.
const LENGTHS: [usize; 5] = [0, 1, 341, 342, 1000];
/// Offset of the results.
const RESULT: usize = 32 << 10;

fn row(f: impl Fn(usize) -> [u8; ELEMENT], elements: usize) -> Vec<u8> {
    (0..elements).flat_map(f).collect()
}

fn every(test: impl Fn(u32, usize)) {
    for size in SIZES {
        for elements in LENGTHS {
            test(size, elements);
        }
    }
}

fn every_root(test: impl Fn(u32, usize, CommRank)) {
    every(|size, elements| (0..size).for_each(|root| test(size, elements, CommRank(root))));
}

/// Stores each rank's own elements at `data`.
fn own(data: BufferSlice) -> impl Fn(u32, &mut Process) {
    move |rank, process| {
        let bytes = row(|i| element(rank, i), data.len() / ELEMENT);
        process.at(data).copy_from_slice(&bytes);
    }
}

/// Parts of different lengths with a gap after each: that of rank r is r mod 3 elements shorter.
fn part(base: usize, elements: usize) -> impl Fn(CommRank) -> BufferSlice + Copy {
    move |rank| {
        let len = elements.saturating_sub(rank.0 as usize % 3);
        span(base + rank.0 as usize * (elements + 1) * ELEMENT, len * ELEMENT)
    }
}

/// A schedule without steps.
struct Nothing;

impl Schedule for Nothing {
    fn next(&mut self) -> Option<ScheduleStep> {
        None
    }
}

fn check(process: &mut Process, span: BufferSlice, expected: &[u8], what: &str) {
    assert!(process.at(span) == expected, "{what}");
}

#[test]
fn a_barrier_lets_a_rank_go_when_it_has_heard_of_all() {
    for size in SIZES {
        let processes = run(size, |_, _| (), DisseminationBarrier::new);
        let rounds = size.next_power_of_two().ilog2() as usize;
        for process in processes {
            assert_eq!((process.sent, process.heard), (rounds, (1 << size) - 1));
        }
    }
}

#[test]
fn a_broadcast_gives_every_rank_the_roots_bytes() {
    every_root(|size, elements, root| {
        let data = span(0, elements * ELEMENT);
        let mut processes = run(size, own(data), |ranks| BcastSchedule::new(ranks, data, root));
        let expected = row(|i| element(root.0, i), elements);
        for process in &mut processes {
            check(process, data, &expected, "the root's");
            assert!(process.sent <= size.next_power_of_two().ilog2() as usize);
        }
        let sent: usize = processes.iter().map(|process| process.sent).sum();
        assert_eq!(sent, size as usize - 1);
    });
}

#[test]
fn a_reduction_combines_in_the_order_of_the_ranks_at_every_root() {
    every_root(|size, elements, root| {
        let data = span(0, elements * ELEMENT);
        let expected = row(|i| combined(0, size - 1, i), elements);
        for result in [data, span(RESULT, data.len())] {
            let mut processes = run(size, own(data), |ranks| {
                TreeReduce::new(ranks, ReduceAreas { data, result }, ELEMENT, root)
            });
            check(&mut processes[root.0 as usize], result, &expected, "the root's");
            for (rank, process) in (0..).zip(&mut processes) {
                let mine = row(|i| element(rank, i), elements);
                let is_kept = rank != root.0 || result != data;
                assert!(!is_kept || process.at(data) == mine, "data stays");
            }
        }
    });
}

#[test]
fn an_allreduce_gives_the_combination_to_all() {
    every(|size, elements| {
        let data = span(0, elements * ELEMENT);
        let expected = row(|i| combined(0, size - 1, i), elements);
        for result in [data, span(RESULT, data.len())] {
            let spans = ReduceAreas { data, result };
            let mut processes = run(size, own(data), |ranks| ThroughRoot::new(ranks, spans, ELEMENT));
            for process in &mut processes {
                check(process, result, &expected, "everybody's");
            }
        }
    });
}

#[test]
fn a_reduce_scatter_gives_each_rank_its_part_in_place_or_elsewhere() {
    every(|size, elements| {
        let parts = part(0, elements);
        let fill = |rank, process: &mut Process| {
            (0..size).for_each(|to| own(parts(CommRank(to)))(rank, process));
        };
        for is_in_place in [false, true] {
            let result = |own: u32| {
                let len = parts(CommRank(own)).len();
                span(if is_in_place { 0 } else { RESULT }, len)
            };
            let mut processes = run(size, fill, |ranks| {
                ReduceScatter::new(ranks, parts, result(ranks.own), ELEMENT)
            });
            let untouched = run(size, fill, |_| Nothing);
            for ((rank, process), given) in (0..).zip(&mut processes).zip(untouched) {
                let result = result(rank);
                let expected = row(|i| combined(0, size - 1, i), result.len() / ELEMENT);
                check(process, result, &expected, "the own part");
                let data = if is_in_place { result.len() } else { 0 }..RESULT;
                assert!(process.memory[data.clone()] == given.memory[data], "the rest");
            }
        }
    });
}

#[test]
fn a_scan_combines_the_ranks_up_to_each_or_before_it() {
    every(|size, elements| {
        let data = span(0, elements * ELEMENT);
        for (is_inclusive, result) in [
            (true, data),
            (true, span(RESULT, data.len())),
            (false, data),
            (false, span(RESULT, data.len())),
        ] {
            let mut processes = run(size, own(data), |ranks| {
                ChainScan::new(ranks, ReduceAreas { data, result }, ELEMENT, is_inclusive)
            });
            for (rank, process) in (0..).zip(&mut processes) {
                let expected = match (is_inclusive, rank) {
                    (true, _) => row(|i| combined(0, rank, i), elements),
                    (false, 0) if result == data => row(|i| element(0, i), elements),
                    (false, 0) => vec![UNTOUCHED; result.len()],
                    (false, _) => row(|i| combined(0, rank - 1, i), elements),
                };
                check(process, result, &expected, "the prefix");
            }
        }
    });
}

#[test]
fn a_gather_puts_every_ranks_bytes_in_its_place_at_the_root() {
    every_root(|size, elements, root| {
        let places = part(RESULT, elements);
        let data = |rank: u32| span(0, places(CommRank(rank)).len());
        let mut processes = run(
            size,
            |rank, process| own(data(rank))(rank, process),
            |ranks| StarGather::new(ranks, data(ranks.own), places, root),
        );
        for (rank, process) in (0..).zip(&mut processes) {
            for from in 0..size {
                let place = places(CommRank(from));
                let expected = if rank == root.0 {
                    row(|i| element(from, i), place.len() / ELEMENT)
                } else {
                    vec![UNTOUCHED; place.len()]
                };
                check(process, place, &expected, "the place");
            }
            assert_eq!(process.sent, usize::from(rank != root.0));
        }
    });
}

#[test]
fn a_scatter_gives_each_rank_its_part_of_the_roots() {
    every_root(|size, elements, root| {
        let parts = part(0, elements);
        let result = |rank: u32| span(RESULT, parts(CommRank(rank)).len());
        let fill = |rank: u32, process: &mut Process| {
            for to in (0..size).filter(|_| rank == root.0) {
                own(parts(CommRank(to)))(to, process);
            }
        };
        let mut processes = run(size, fill, |ranks| {
            StarScatter::new(ranks, parts, result(ranks.own), root)
        });
        for (rank, process) in (0..).zip(&mut processes) {
            let result = result(rank);
            let expected = row(|i| element(rank, i), result.len() / ELEMENT);
            check(process, result, &expected, "the part");
        }
    });
}

#[test]
fn an_allgather_puts_every_ranks_bytes_in_its_place_everywhere() {
    every(|size, elements| {
        let places = part(RESULT, elements);
        let data = |rank: u32| span(0, places(CommRank(rank)).len());
        let mut processes = run(
            size,
            |rank, process| own(data(rank))(rank, process),
            |ranks| RingAllgather::new(ranks, data(ranks.own), places),
        );
        for process in &mut processes {
            for from in 0..size {
                let place = places(CommRank(from));
                let expected = row(|i| element(from, i), place.len() / ELEMENT);
                check(process, place, &expected, "the place");
            }
            assert_eq!(process.sent, size as usize - 1);
        }
    });
}

#[test]
fn an_allgather_in_runs_takes_few_messages_whatever_the_size() {
    for size in 1..32 {
        let all = span(0, size as usize * ELEMENT);
        let place = |rank: u32| all.part(rank as usize * ELEMENT, ELEMENT);
        let fill = |rank: u32, process: &mut Process| own(place(rank))(rank, process);
        let mut processes = run(size, fill, |ranks| BruckAllgather::new(ranks, all));
        let rounds = size.next_power_of_two().trailing_zeros() as usize;
        for process in &mut processes {
            for from in 0..size {
                let expected = row(|i| element(from, i), 1);
                check(process, place(from), &expected, "the place");
            }
            assert!((rounds..=2 * rounds).contains(&process.sent), "{size}");
        }
    }
}

/// Returns the data from one rank to another; equally long in both directions.
fn between(from: u32, to: u32, elements: usize) -> Vec<u8> {
    let len = elements.saturating_sub((from + to) as usize % 3);
    row(|i| [from as u8, to as u8, i as u8], len)
}

/// Returns the span at rank `own` for the data to or from another rank.
fn with(base: usize, own: u32, elements: usize) -> impl Fn(CommRank) -> BufferSlice + Copy {
    move |rank| {
        let len = between(own, rank.0, elements).len();
        span(base + rank.0 as usize * elements * ELEMENT, len)
    }
}

#[test]
fn an_alltoall_gives_each_rank_its_part_of_each_others() {
    every(|size, elements| {
        let fill = |own: u32, process: &mut Process| {
            for to in 0..size {
                let part = with(0, own, elements)(CommRank(to));
                process.at(part).copy_from_slice(&between(own, to, elements));
            }
        };
        let apart = run(size, fill, |ranks| {
            let parts = with(0, ranks.own, elements);
            PairwiseExchange::new(ranks, parts, with(RESULT, ranks.own, elements))
        });
        let in_place = run(size, fill, |ranks| InPlace::new(ranks, with(0, ranks.own, elements)));
        for (mut processes, base) in [(apart, RESULT), (in_place, 0)] {
            for (own, process) in (0..).zip(&mut processes) {
                for from in 0..size {
                    let place = with(base, own, elements)(CommRank(from));
                    check(process, place, &between(from, own, elements), "the part");
                }
            }
        }
    });
}

/// A completed schedule may be polled again.
#[test]
fn a_schedule_that_is_over_stays_over() {
    fn over(mut schedule: impl Schedule) {
        let mut steps = 0;
        while schedule.next().is_some() {
            steps += 1;
            assert!(steps < 1000, "an end");
        }
        assert_eq!([(); 3].map(|()| schedule.next()), [None::<ScheduleStep>; 3]);
    }
    let (data, result) = (span(0, 700 * ELEMENT), span(RESULT, 700 * ELEMENT));
    let root = CommRank(1);
    for own in 0..3 {
        let (size, grid) = (3, None);
        let ranks = RankInfo { own, size, grid };
        let parts = part(0, 700);
        over(DisseminationBarrier::new(ranks));
        over(BcastSchedule::new(ranks, data, root));
        over(TreeReduce::new(ranks, ReduceAreas { data, result }, ELEMENT, root));
        over(ThroughRoot::new(ranks, ReduceAreas { data, result }, ELEMENT));
        over(ReduceScatter::new(ranks, parts, parts(CommRank(own)), ELEMENT));
        over(ChainScan::new(ranks, ReduceAreas { data, result }, ELEMENT, false));
        over(StarGather::new(ranks, data, parts, root));
        over(StarScatter::new(ranks, parts, data, root));
        over(RingAllgather::new(ranks, data, parts));
        over(BruckAllgather::new(ranks, data));
        over(PairwiseExchange::new(ranks, parts, parts));
        over(InPlace::new(ranks, parts));
    }
}
