//! Exact steps of single ranks.

use core::fmt::Write;

use super::interpreter::{ELEMENT, span};
use crate::coll::alltoall::{InPlace, Pairs};
use crate::coll::barrier::Dissemination;
use crate::coll::bcast::Bcast;
use crate::coll::gather::{Gather, Ring, Scatter};
use crate::coll::lines::Halves;
use crate::coll::reduce::{Reduce, ReduceScatter, ThroughRoot};
use crate::coll::rings::Rings;
use crate::coll::scan::Scan;
use crate::coll::schedule::{Buffer, Half, Ranks, Schedule, Step};
use crate::coll::trees::Trees;
use crate::comm::CommRank;

/// Formats steps, one per line: a span as its first byte + its length, a segment as A or B.
fn steps(mut schedule: impl Schedule) -> String {
    let span =
        |span: midplane_device::memory::buffer_slice::BufferSlice| format!("{}+{}", span.address(), span.len());
    let half = |half| if half == Half::First { 'A' } else { 'B' };
    let buffer = |buffer| match buffer {
        Buffer::User(user) => span(user),
        Buffer::Segment(segment, bytes) => format!("{}+{bytes}", half(segment)),
    };
    let mut text = String::new();
    while let Some(step) = schedule.next() {
        let line = match step {
            Step::Send { dest, data, .. } => format!("send {} to {}", buffer(data), dest.0),
            Step::Receive { source, data, .. } => {
                format!("receive {} from {}", buffer(data), source.0)
            }
            Step::Exchange { given, taken, .. } => format!(
                "give {} to {}, take {} from {}",
                buffer(given.0),
                given.1.0,
                buffer(taken.0),
                taken.1.0
            ),
            Step::Pass { .. } => unreachable!("of boxes alone"),
            Step::Combine { left, bytes } => {
                format!("combine {}+{bytes} into {}", half(left), half(left.other()))
            }
            Step::Load { from, to } => format!("load {} to {}", span(from), half(to)),
            Step::Store { from, to } => format!("store {} to {}", half(from), span(to)),
            Step::Copy { from, to } => format!("copy {} to {}", span(from), span(to)),
        };
        writeln!(text, "{line}").expect("text");
    }
    text
}

fn of(own: u32, size: u32) -> Ranks {
    let grid = None;
    Ranks { own, size, grid }
}

/// Three elements for each rank, from `base` on.
fn parts(base: usize) -> impl Fn(CommRank) -> midplane_device::memory::buffer_slice::BufferSlice + Copy {
    move |rank| span(base + 9 * rank.0 as usize, 9)
}

#[test]
fn barrier_of_5() {
    assert_eq!(
        steps(Dissemination::new(of(3, 5))),
        "give 0+0 to 4, take 0+0 from 2\n\
         give 0+0 to 0, take 0+0 from 1\n\
         give 0+0 to 2, take 0+0 from 4\n"
    );
    assert_eq!(steps(Dissemination::new(of(0, 1))), "");
}

#[test]
fn bcast_of_5_from_rank_2() {
    let steps = |own| steps(Bcast::new(of(own, 5), span(0, 9), CommRank(2)));
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
    let spans = (span(0, 9), span(100, 9));
    let steps = |own| steps(Reduce::new(of(own, 4), spans, ELEMENT, CommRank(2)));
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
    let spans = (span(0, 1026), span(2000, 1026));
    assert_eq!(
        steps(Reduce::new(of(0, 2), spans, ELEMENT, CommRank(0))),
        "load 0+1023 to A\nreceive B+1023 from 1\ncombine A+1023 into B\nstore B to 2000+1023\n\
         load 1023+3 to A\nreceive B+3 from 1\ncombine A+3 into B\nstore B to 3023+3\n"
    );
}

#[test]
fn allreduce_of_3() {
    let spans = (span(0, 9), span(100, 9));
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
        let spans = (span(0, 9), span(100, 9));
        steps(Scan::new(of(own, 3), spans, ELEMENT, inclusive))
    };
    assert_eq!(
        steps(0, true),
        "load 0+9 to B\nsend B+9 to 1\nstore B to 100+9\n"
    );
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
    let gather = |own| steps(Gather::new(of(own, 3), span(0, 9), parts(100), root));
    assert_eq!(gather(0), "send 0+9 to 1\n");
    assert_eq!(
        gather(1),
        "copy 0+9 to 109+9\nreceive 100+9 from 0\nreceive 118+9 from 2\n"
    );
    let scatter = |own| steps(Scatter::new(of(own, 3), parts(100), span(0, 9), root));
    assert_eq!(
        scatter(1),
        "send 100+9 to 0\nsend 118+9 to 2\ncopy 109+9 to 0+9\n"
    );
    assert_eq!(scatter(2), "receive 0+9 from 1\n");
}

#[test]
fn allgather_of_3() {
    assert_eq!(
        steps(Ring::new(of(0, 3), span(0, 9), parts(100))),
        "copy 0+9 to 100+9\n\
         give 100+9 to 1, take 118+9 from 2\n\
         give 118+9 to 1, take 109+9 from 2\n"
    );
}

#[test]
fn alltoall_of_3() {
    assert_eq!(
        steps(Pairs::new(of(0, 3), parts(0), parts(100))),
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
    assert!(size_of::<Halves>() <= 150);
    assert!(size_of::<Trees>() <= 400);
    assert!(size_of::<Rings>() <= 1000);
    assert!(size_of::<Scan>() <= 100);
}
