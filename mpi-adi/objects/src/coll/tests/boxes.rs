//! Schedules of boxes of the torus: combined results of all ranks, for every order of their lanes.

use crate::coll::run::ReduceAreas;
use net_torus::Shape;

use super::interpreter::{ELEMENT, UNTOUCHED, combine, combined, element, span};
use crate::coll::alltoall::PairwiseExchange;
use crate::coll::bcast::BcastSchedule;
use crate::coll::lines::{LineAllreduce, LineBcast};
use crate::coll::rings::RingAllreduce;
use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep, StepBuffer};
use crate::coll::segments::SEGMENT_BYTES;
use crate::coll::trees::TreeBcast;
use crate::comm::CommRank;
use crate::grid::TorusBox;
use midplane_device::envelope::Tag;

const MEMORY_BYTES: usize = 1 << 16;
const RESULT: usize = 1 << 15;

const BOXES: [([u16; 3], [bool; 3]); 12] = [
    ([2, 1, 1], [true; 3]),
    ([1, 3, 1], [true; 3]),
    ([1, 1, 8], [true; 3]),
    ([5, 1, 1], [false; 3]),
    ([7, 1, 2], [true; 3]),
    ([2, 2, 2], [true; 3]),
    ([4, 2, 1], [false; 3]),
    ([4, 4, 4], [true; 3]),
    ([3, 2, 4], [true, false, true]),
    ([3, 4, 5], [false, true, true]),
    ([2, 6, 1], [true; 3]),
    ([2, 2, 5], [false; 3]),
];

/// Order in which the ranks run the lanes of their schedules.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    SideBySide,
    OneAfterTheOther,
    /// The ranks alternate between the two orders.
    Mixed,
}

/// A lane of a rank: its segments and the messages of its present step, in strict sequence.
struct Lane {
    segments: [[u8; SEGMENT_BYTES]; 2],
    sends: Vec<(CommRank, Tag, Vec<u8>)>,
    receive: Option<(CommRank, Tag, StepBuffer)>,
    is_over: bool,
}

struct Process {
    memory: Vec<u8>,
    lanes: Vec<Lane>,
    /// Ranks to which it has sent.
    sent: Vec<CommRank>,
}

impl Process {
    fn bytes(&mut self, lane: usize, buffer: StepBuffer) -> &mut [u8] {
        match buffer {
            StepBuffer::User(area) => &mut self.memory[area.address()..][..area.len()],
            StepBuffer::Segment(half, bytes) => &mut self.lanes[lane].segments[half as usize][..bytes],
        }
    }

    fn send(&mut self, lane: usize, dest: CommRank, tag: Tag, data: StepBuffer) {
        let bytes = self.bytes(lane, data).to_vec();
        self.lanes[lane].sends.push((dest, tag, bytes));
        self.sent.push(dest);
    }

    fn begin(&mut self, lane: usize, step: ScheduleStep, combine: fn(&[u8], &mut [u8])) {
        match step {
            ScheduleStep::Send { dest, tag, data } => self.send(lane, dest, tag, data),
            ScheduleStep::Receive { source, tag, data } => {
                self.lanes[lane].receive = Some((source, tag, data));
            }
            ScheduleStep::Exchange { tag, given, taken } => {
                self.lanes[lane].receive = Some((taken.1, tag, taken.0));
                self.send(lane, given.1, tag, given.0);
            }
            ScheduleStep::Pass {
                tag,
                followed: _,
                given: (given, dests),
                taken,
            } => {
                let taken = taken.map(|(area, source)| (source, tag, StepBuffer::User(area)));
                self.lanes[lane].receive = taken;
                for dest in dests.iter() {
                    self.send(lane, dest, tag, StepBuffer::User(given));
                }
            }
            ScheduleStep::Combine { left, bytes } => {
                let given = self.bytes(lane, StepBuffer::Segment(left, bytes)).to_vec();
                combine(&given, self.bytes(lane, StepBuffer::Segment(left.other(), bytes)));
            }
            ScheduleStep::Load { from, to } => {
                let given = self.bytes(lane, StepBuffer::User(from)).to_vec();
                let to = StepBuffer::Segment(to, given.len());
                self.bytes(lane, to).copy_from_slice(&given);
            }
            ScheduleStep::Store { from, to } => {
                let given = self.bytes(lane, StepBuffer::Segment(from, to.len())).to_vec();
                self.bytes(lane, StepBuffer::User(to)).copy_from_slice(&given);
            }
            ScheduleStep::Copy { from, to } => {
                let given = self.bytes(lane, StepBuffer::User(from)).to_vec();
                self.bytes(lane, StepBuffer::User(to)).copy_from_slice(&given);
            }
        }
    }
}

/// Runs the schedules of all ranks of a box, in memories initialized by `fill`.
fn run<S: Schedule>(
    grid: TorusBox,
    way: Way,
    combine: fn(&[u8], &mut [u8]),
    fill: impl Fn(u32, &mut [u8]),
    schedule: impl Fn(RankInfo) -> S,
) -> Vec<Process> {
    let size = grid.extents.iter().map(|&extent| u32::from(extent)).product();
    let mut schedules = Vec::new();
    let mut processes = Vec::new();
    for own in 0..size {
        let grid = Some(grid);
        let mut schedule = schedule(RankInfo { own, size, grid });
        let is_one = way == Way::OneAfterTheOther || way == Way::Mixed && own % 2 == 1;
        let count = if is_one { 1 } else { schedule.lanes().count };
        let lane = |_| Lane {
            segments: [[UNTOUCHED; SEGMENT_BYTES]; 2],
            sends: Vec::new(),
            receive: None,
            is_over: false,
        };
        let mut memory = vec![UNTOUCHED; MEMORY_BYTES];
        fill(own, &mut memory);
        processes.push(Process {
            memory,
            lanes: (0..count).map(lane).collect(),
            sent: Vec::new(),
        });
        schedules.push((schedule, is_one));
    }
    loop {
        let mut has_moved = false;
        for (process, (schedule, is_one)) in processes.iter_mut().zip(&mut schedules) {
            for lane in 0..process.lanes.len() {
                loop {
                    let state = &mut process.lanes[lane];
                    if state.is_over || !state.sends.is_empty() || state.receive.is_some() {
                        break;
                    }
                    let step = if *is_one {
                        schedule.next()
                    } else {
                        schedule.next_in(lane)
                    };
                    has_moved = true;
                    match step {
                        Some(step) => process.begin(lane, step, combine),
                        None => state.is_over = true,
                    }
                }
            }
        }
        for from in 0..size {
            has_moved |= deliver(&mut processes, CommRank(from));
        }
        if !has_moved {
            break;
        }
    }
    let is_over = |process: &Process| process.lanes.iter().all(|lane| lane.is_over);
    assert!(processes.iter().all(is_over), "{grid:?} {way:?}");
    processes
}

/// Delivers the messages of `from` whose receives are posted.
fn deliver(processes: &mut [Process], from: CommRank) -> bool {
    let mut has_moved = false;
    for lane in 0..processes[from.0 as usize].lanes.len() {
        let sends = std::mem::take(&mut processes[from.0 as usize].lanes[lane].sends);
        for (dest, tag, bytes) in sends {
            assert_ne!(dest, from, "a message to itself");
            let to = &mut processes[dest.0 as usize];
            let is_it = |lane: &Lane| lane.receive.is_some_and(|(s, t, _)| (s, t) == (from, tag));
            match to.lanes.iter().position(is_it) {
                Some(at) => {
                    let (_, _, buffer) = to.lanes[at].receive.take().expect("just found");
                    to.bytes(at, buffer).copy_from_slice(&bytes);
                    has_moved = true;
                }
                None => {
                    let sends = &mut processes[from.0 as usize].lanes[lane].sends;
                    sends.push((dest, tag, bytes));
                }
            }
        }
    }
    has_moved
}

fn grids() -> impl Iterator<Item = TorusBox> {
    BOXES.into_iter().map(|(extents, wraps)| TorusBox { extents, wraps })
}

fn all(test: impl Fn(TorusBox, Way)) {
    for grid in grids() {
        for way in [Way::SideBySide, Way::OneAfterTheOther, Way::Mixed] {
            test(grid, way);
        }
    }
}

fn size(grid: TorusBox) -> u32 {
    grid.extents.iter().map(|&extent| u32::from(extent)).product()
}

fn nothing(_: &[u8], _: &mut [u8]) {}

fn sum(left: &[u8], right: &mut [u8]) {
    for (left, right) in left.iter().zip(right) {
        *right = right.wrapping_add(*left);
    }
}

fn row(rank: u32, len: usize) -> impl Iterator<Item = u8> {
    (0..len).map(move |at| (7 * at + 31 * rank as usize) as u8)
}

fn fill_row(len: usize) -> impl Fn(u32, &mut [u8]) {
    move |rank, memory| {
        memory.iter_mut().zip(row(rank, len)).for_each(|(to, byte)| *to = byte);
    }
}

#[test]
fn short_broadcasts_go_to_every_rank_once() {
    for grid in grids() {
        for root in 0..size(grid) {
            let processes = run(grid, Way::OneAfterTheOther, nothing, fill_row(9), |ranks| {
                LineBcast::new(ranks, grid, span(0, 9), CommRank(root))
            });
            let mut told: Vec<u32> = Vec::new();
            for process in &processes {
                assert!(row(root, 9).eq(process.memory[..9].iter().copied()));
                told.extend(process.sent.iter().map(|rank| rank.0));
            }
            told.sort_unstable();
            assert!(told.into_iter().eq((0..size(grid)).filter(|&rank| rank != root)));
        }
    }
}

#[test]
fn long_broadcasts_go_to_every_rank_by_trees_that_have_no_link_in_common() {
    all(|grid, way| {
        for (root, len) in [(0, 1), (1, 500), (size(grid) - 1, 4999)] {
            let processes = run(grid, way, nothing, fill_row(len), |ranks| {
                TreeBcast::new(ranks, grid, span(0, len), CommRank(root))
            });
            for process in &processes {
                assert!(row(root, len).eq(process.memory[..len].iter().copied()));
                assert_eq!(process.memory[len], UNTOUCHED);
            }
        }
    });
    // If all lines are rings of more than two, each link belongs to one tree.
    let extents = [4; 3];
    let grid = TorusBox {
        extents,
        wraps: [true; 3],
    };
    let shape = Shape::new(extents, [true; 3]).expect("a shape");
    let links = |root| {
        let processes = run(grid, Way::SideBySide, nothing, fill_row(6), |ranks| {
            TreeBcast::new(ranks, grid, span(0, 6), CommRank(root))
        });
        let mut links = Vec::new();
        for (from, process) in (0..).zip(processes) {
            let here = shape.coord(from).expect("a node");
            for to in process.sent {
                let there = shape.coord(to.0).expect("a node");
                assert_eq!(shape.distance(here, there), 1);
                links.push((from, to));
            }
        }
        links
    };
    for root in [0, 27] {
        let mut links = links(root);
        assert_eq!(links.len(), 6 * 63);
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), 6 * 63);
    }
}

#[test]
fn short_allreduces_combine_in_the_order_of_the_ranks() {
    for grid in grids() {
        let ranks = size(grid);
        for (elements, result) in [(1, RESULT), (5, 0)] {
            let len = elements * ELEMENT;
            let fill = |rank, memory: &mut [u8]| {
                for i in 0..elements {
                    memory[ELEMENT * i..][..ELEMENT].copy_from_slice(&element(rank, i));
                }
            };
            let processes = run(grid, Way::OneAfterTheOther, combine, fill, |ranks| {
                LineAllreduce::new(
                    ranks,
                    grid,
                    ReduceAreas {
                        data: span(0, len),
                        result: span(result, len),
                    },
                )
            });
            for process in &processes {
                let expected = (0..elements).flat_map(|i| combined(0, ranks - 1, i));
                assert!(expected.eq(process.memory[result..][..len].iter().copied()), "{grid:?}");
            }
        }
    }
}

#[test]
fn short_allreduces_take_few_hops() {
    // Consecutive messages, each to a neighbour.
    for (extents, most) in [([8, 1, 1], 5), ([4, 4, 4], 6), ([8, 8, 8], 15), ([2, 2, 2], 5)] {
        let grid = TorusBox {
            extents,
            wraps: [true; 3],
        };
        let mut clocks = vec![0; size(grid) as usize];
        let schedules = (0..size(grid)).map(|own| {
            let ranks = RankInfo {
                own,
                size: size(grid),
                grid: Some(grid),
            };
            LineAllreduce::new(
                ranks,
                grid,
                ReduceAreas {
                    data: span(0, 3),
                    result: span(0, 3),
                },
            )
        });
        let mut steps: Vec<Vec<ScheduleStep>> = schedules
            .map(|mut schedule| std::iter::from_fn(|| schedule.next()).collect())
            .collect();
        let mut sent: Vec<(u32, u32, u32)> = Vec::new();
        // The first half of an exchange is complete while the second one waits.
        let mut halves = vec![false; clocks.len()];
        loop {
            let mut has_moved = false;
            for own in 0..clocks.len() {
                while let Some(step) = steps[own].first().copied() {
                    let (dest, source) = match step {
                        ScheduleStep::Send { dest, .. } => (Some(dest), None),
                        ScheduleStep::Receive { source, .. } => (None, Some(source)),
                        ScheduleStep::Exchange { given, taken, .. } => (Some(given.1), Some(taken.1)),
                        _ => (None, None),
                    };
                    if let Some(dest) = dest.filter(|_| !halves[own]) {
                        sent.push((own as u32, dest.0, clocks[own] + 1));
                        halves[own] = true;
                    }
                    if let Some(source) = source {
                        let is_it = |message: &(u32, u32, u32)| (message.0, message.1) == (source.0, own as u32);
                        let Some(at) = sent.iter().position(is_it) else {
                            break;
                        };
                        clocks[own] = clocks[own].max(sent.remove(at).2);
                    }
                    halves[own] = false;
                    has_moved = true;
                    steps[own].remove(0);
                }
            }
            if !has_moved {
                break;
            }
        }
        assert!(steps.iter().all(Vec::is_empty) && sent.is_empty());
        assert_eq!(clocks.into_iter().max(), Some(most), "{extents:?}");
    }
}

#[test]
fn long_allreduces_come_to_the_same_everywhere_and_touch_nothing_else() {
    all(|grid, way| {
        for (element, elements, result) in [(1, 1, RESULT), (8, 97, RESULT), (3, 1500, 0)] {
            let len = element * elements;
            let processes = run(grid, way, sum, fill_row(len), |ranks| {
                RingAllreduce::new(
                    ranks,
                    grid,
                    ReduceAreas {
                        data: span(0, len),
                        result: span(result, len),
                    },
                    element,
                )
            });
            let mut expected = vec![0; len];
            for rank in 0..size(grid) {
                sum(&row(rank, len).collect::<Vec<u8>>(), &mut expected);
            }
            for (rank, process) in (0..).zip(&processes) {
                assert!(process.memory[result..][..len] == expected[..], "{grid:?} {way:?}");
                assert_eq!(process.memory[result + len], UNTOUCHED);
                assert!(result == 0 || row(rank, len).eq(process.memory[..len].iter().copied()));
            }
        }
    });
}

#[test]
fn an_exchange_of_all_with_all_gives_each_its_part() {
    all(|grid, way| {
        let part = |base: usize| move |rank: CommRank| span(base + 9 * rank.0 as usize, 9);
        let count = 9 * size(grid) as usize;
        let processes = run(grid, way, nothing, fill_row(count), |ranks| {
            PairwiseExchange::new(ranks, part(0), part(RESULT))
        });
        for (own, process) in (0..).zip(&processes) {
            for from in 0..size(grid) {
                let given = row(from, count).skip(9 * own).take(9);
                let taken = &process.memory[RESULT + 9 * from as usize..][..9];
                assert!(given.eq(taken.iter().copied()), "{grid:?} {way:?}");
            }
            assert_eq!(process.sent.len(), processes.len() - 1);
        }
    });
}

#[test]
fn what_is_chosen_is_the_same_at_every_rank() {
    let grid = grids().nth(7).expect("a box");
    let size = size(grid);
    for (len, is_long) in [(8, false), (100_000, true)] {
        for own in 0..size {
            let grid = Some(grid);
            let mut bcast = BcastSchedule::new(
                RankInfo { own, size, grid },
                span(0, MEMORY_BYTES.min(len)),
                CommRank(3),
            );
            assert_eq!(bcast.lanes().count > 1, is_long);
            let anywhere = RankInfo { own, size, grid: None };
            let mut bcast = BcastSchedule::new(anywhere, span(0, MEMORY_BYTES.min(len)), CommRank(3));
            assert_eq!(bcast.lanes().count, 1);
        }
    }
}
