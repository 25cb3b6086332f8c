//! Exact steps of single ranks.

use core::fmt::Write;

use super::interpreter::{ELEMENT, span};
use crate::coll::alltoall::{InPlace, PairwiseExchange};
use crate::coll::barrier::DisseminationBarrier;
use crate::coll::bcast::BcastSchedule;
use crate::coll::gather::{RingAllgather, StarGather, StarScatter};
use crate::coll::lines::LineAllreduce;
use crate::coll::reduce::{ReduceScatter, ThroughRoot, TreeReduce};
use crate::coll::rings::RingAllreduce;
use crate::coll::run::ReduceAreas;
use crate::coll::scan::ChainScan;
use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::coll::trees::TreeBcast;
use crate::comm::CommRank;

/// Formats steps, one per line: a span as its first byte + its length, a segment as A or B.
fn steps(mut schedule: impl Schedule) -> String {
    let span = |span: midplane_device::memory::buffer_slice::BufferSlice| format!("{}+{}", span.address(), span.len());
    let half = |half| if half == SegmentHalf::First { 'A' } else { 'B' };
    let buffer = |buffer| match buffer {
        StepBuffer::User(user) => span(user),
        StepBuffer::Segment(segment, bytes) => format!("{}+{bytes}", half(segment)),
    };
    let mut text = String::new();
    while let Some(step) = schedule.next() {
        let line = match step {
            ScheduleStep::Send { dest, data, .. } => format!("send {} to {}", buffer(data), dest.0),
            ScheduleStep::Receive { source, data, .. } => {
                format!("receive {} from {}", buffer(data), source.0)
            }
            ScheduleStep::Exchange { given, taken, .. } => format!(
                "give {} to {}, take {} from {}",
                buffer(given.0),
                given.1.0,
                buffer(taken.0),
                taken.1.0
            ),
            ScheduleStep::Pass { .. } => unreachable!("of boxes alone"),
            ScheduleStep::Combine { left, bytes } => {
                format!("combine {}+{bytes} into {}", half(left), half(left.other()))
            }
            ScheduleStep::Load { from, to } => format!("load {} to {}", span(from), half(to)),
            ScheduleStep::Store { from, to } => format!("store {} to {}", half(from), span(to)),
            ScheduleStep::Copy { from, to } => format!("copy {} to {}", span(from), span(to)),
        };
        writeln!(text, "{line}").expect("text");
    }
    text
}

fn of(own: u32, size: u32) -> RankInfo {
    let grid = None;
    RankInfo { own, size, grid }
}

/// Three elements for each rank, from `base` on.
fn parts(base: usize) -> impl Fn(CommRank) -> midplane_device::memory::buffer_slice::BufferSlice + Copy {
    move |rank| span(base + 9 * rank.0 as usize, 9)
}

#[test]
fn barrier_of_5() {
    assert_eq!(
        steps(DisseminationBarrier::new(of(3, 5))),
        "give 0+0 to 4, take 0+0 from 2\n\
         give 0+0 to 0, take 0+0 from 1\n\
         give 0+0 to 2, take 0+0 from 4\n"
    );
    assert_eq!(steps(DisseminationBarrier::new(of(0, 1))), "");
}

#[test]
fn bcast_of_5_from_rank_2() {
    let steps = |own| steps(BcastSchedule::new(of(own, 5), span(0, 9), CommRank(2)));
    assert_eq!(
        [0, 1, 2, 3, 4].map(steps),
        [
            "receive 0+9 from 4\n",
            "receive 0+9 from 2\n",
            "send 0+9 to 1\nsend 0+9 to 4\nsend 0+9 to 3\n",
            "receive 0+9 from 2\n",
            "receive 0+9 from 2\nsend 0+9 to 0\n",
        ]
    );
}

#[test]
fn reduce_of_4_to_rank_2() {
    let spans = ReduceAreas {
        data: span(0, 9),
        result: span(100, 9),
    };
    let steps = |own| steps(TreeReduce::new(of(own, 4), spans, ELEMENT, CommRank(2)));
    assert_eq!(
        [0, 1, 2, 3].map(steps),
        [
            "load 0+9 to A\nreceive B+9 from 1\ncombine A+9 into B\nreceive A+9 from 2\n\
             combine B+9 into A\nsend A+9 to 2\n",
            "load 0+9 to A\nsend A+9 to 0\n",
            "load 0+9 to A\nreceive B+9 from 3\ncombine A+9 into B\nsend B+9 to 0\n\
             receive 100+9 from 0\n",
            "load 0+9 to A\nsend A+9 to 2\n",
        ]
    );
}

#[test]
fn reduce_of_2_goes_by_segments_of_whole_elements() {
    let spans = ReduceAreas {
        data: span(0, 1026),
        result: span(2000, 1026),
    };
    assert_eq!(
        steps(TreeReduce::new(of(0, 2), spans, ELEMENT, CommRank(0))),
        "load 0+1023 to A\nreceive B+1023 from 1\ncombine A+1023 into B\nstore B to 2000+1023\n\
         load 1023+3 to A\nreceive B+3 from 1\ncombine A+3 into B\nstore B to 3023+3\n"
    );
}

#[test]
fn allreduce_of_3() {
    let spans = ReduceAreas {
        data: span(0, 9),
        result: span(100, 9),
    };
    let steps = |own| steps(ThroughRoot::new(of(own, 3), spans, ELEMENT));
    assert_eq!(
        [0, 1, 2].map(steps),
        [
            "load 0+9 to A\nreceive B+9 from 1\ncombine A+9 into B\nreceive A+9 from 2\n\
             combine B+9 into A\nstore A to 100+9\nsend 100+9 to 2\nsend 100+9 to 1\n",
            "load 0+9 to A\nsend A+9 to 0\nreceive 100+9 from 0\n",
            "load 0+9 to A\nsend A+9 to 0\nreceive 100+9 from 0\n",
        ]
    );
}

#[test]
fn reduce_scatter_of_2_in_place() {
    let result = span(0, 9);
    assert_eq!(
        steps(ReduceScatter::new(of(1, 2), parts(0), result, ELEMENT)),
        "load 0+9 to A\nsend A+9 to 0\n\
         load 9+9 to A\nsend A+9 to 0\nreceive 0+9 from 0\n"
    );
}

#[test]
fn scans_of_3() {
    let steps = |own, inclusive| {
        let spans = ReduceAreas {
            data: span(0, 9),
            result: span(100, 9),
        };
        steps(ChainScan::new(of(own, 3), spans, ELEMENT, inclusive))
    };
    assert_eq!(steps(0, true), "load 0+9 to B\nsend B+9 to 1\nstore B to 100+9\n");
    assert_eq!(steps(0, false), "load 0+9 to B\nsend B+9 to 1\n");
    assert_eq!(
        steps(1, false),
        "load 0+9 to B\nreceive A+9 from 0\ncombine A+9 into B\nsend B+9 to 2\nstore A to 100+9\n"
    );
    assert_eq!(
        steps(2, true),
        "load 0+9 to B\nreceive A+9 from 1\ncombine A+9 into B\nstore B to 100+9\n"
    );
}

#[test]
fn gather_and_scatter_of_3_at_rank_1() {
    let root = CommRank(1);
    let gather = |own| steps(StarGather::new(of(own, 3), span(0, 9), parts(100), root));
    assert_eq!(gather(0), "send 0+9 to 1\n");
    assert_eq!(
        gather(1),
        "copy 0+9 to 109+9\nreceive 100+9 from 0\nreceive 118+9 from 2\n"
    );
    let scatter = |own| steps(StarScatter::new(of(own, 3), parts(100), span(0, 9), root));
    assert_eq!(scatter(1), "send 100+9 to 0\nsend 118+9 to 2\ncopy 109+9 to 0+9\n");
    assert_eq!(scatter(2), "receive 0+9 from 1\n");
}

#[test]
fn allgather_of_3() {
    assert_eq!(
        steps(RingAllgather::new(of(0, 3), span(0, 9), parts(100))),
        "copy 0+9 to 100+9\n\
         give 100+9 to 1, take 118+9 from 2\n\
         give 118+9 to 1, take 109+9 from 2\n"
    );
}

#[test]
fn alltoall_of_3() {
    assert_eq!(
        steps(PairwiseExchange::new(of(0, 3), parts(0), parts(100))),
        "copy 0+9 to 100+9\n\
         give 9+9 to 1, take 118+9 from 2\n\
         give 18+9 to 2, take 109+9 from 1\n"
    );
    assert_eq!(
        steps(InPlace::new(of(0, 3), parts(0))),
        "load 9+9 to A\ngive A+9 to 1, take B+9 from 1\nstore B to 9+9\n\
         load 18+9 to A\ngive A+9 to 2, take B+9 from 2\nstore B to 18+9\n"
    );
}

/// Checks the memory of a stored schedule without its two segments, in bytes on a host.
#[test]
fn schedules_are_small() {
    assert!(size_of::<ThroughRoot>() <= 200);
    assert!(size_of::<LineAllreduce>() <= 150);
    assert!(size_of::<TreeBcast>() <= 400);
    assert!(size_of::<RingAllreduce>() <= 1000);
    assert!(size_of::<ChainScan>() <= 100);
}
