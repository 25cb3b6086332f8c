//! Reduce, allreduce and reduce-scatter (MPI-3.1 sections 5.9 and 5.10).
#![forbid(unsafe_code)]

use crate::coll::bcast::BinomialBcast;
use crate::coll::lines::LineAllreduce;
use crate::coll::network_allreduce;
use crate::coll::rings::RingAllreduce;
use crate::coll::run::{CombineFn, ReduceAreas, ReduceElements, SegmentSizes, run_in_segments};
use crate::coll::running::run_side_by_side;
use crate::coll::schedule::{REDUCE, RankInfo, Schedule, ScheduleStep, SegmentHalf, SelectedSchedule, StepBuffer};
use crate::coll::segments::{LongSegments, RING_BYTES, SEGMENT_BYTES, Segment, SegmentWalk, read, same_length, write};
use crate::coll::tree;
use crate::comm::{CommRank, Communicator};
use crate::datatype::BasicType;
use crate::error::Error;
use crate::op::PredefinedOp;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Returns the combining function of a predefined operation. Fails with [`Error::Undefined`].
pub fn predefined(op: PredefinedOp, basic: BasicType) -> Result<impl FnMut(&[u8], &mut [u8]), Error> {
    if !op.is_defined(basic) {
        return Err(Error::Undefined);
    }
    Ok(move |left: &[u8], right: &mut [u8]| op.combine(basic, left, right).expect("defined, as just checked"))
}

/// Combines local data: `right[i] = left[i] op right[i]`; both must be equally long. Fails with [`Error::NoSpace`] if an
/// element is longer than a segment and the heap has no space for two.
pub fn combine_local(
    comm: Communicator<'_>,
    left: BufferSlice,
    right: BufferSlice,
    element: usize,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    if element > SEGMENT_BYTES {
        let mut segments = LongSegments::new(element, 1)?;
        combine_through(comm, left, right, element, combine, segments.both(0));
        return Ok(());
    }
    let [a, b] = &mut [Segment::<SEGMENT_BYTES>::ZERO; 2];
    let segments = [&mut a.0[..], &mut b.0[..]];
    combine_through(comm, left, right, element, combine, segments);
    Ok(())
}

fn combine_through(
    comm: Communicator<'_>,
    left: BufferSlice,
    right: BufferSlice,
    element: usize,
    combine: &mut CombineFn<'_>,
    [a, b]: [&mut [u8]; 2],
) {
    let mut walk = SegmentWalk::new(left.len(), element);
    while let (Some(left), Some(right)) = (walk.part(left), walk.part(right)) {
        let (a, b) = (&mut a[..left.len()], &mut b[..left.len()]);
        read(comm, left, a);
        read(comm, right, b);
        combine(a, b);
        write(comm, right, b);
        walk.advance();
    }
}

/// Combines all processes' `data` into the root's `result` of the same length; other processes do not use `result`.
/// `result` may be `data`.
pub fn reduce(
    comm: Communicator<'_>,
    function: &'static str,
    ReduceAreas { data, result }: ReduceAreas,
    element: usize,
    combine: &mut CombineFn<'_>,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    if comm.own_rank() == root {
        same_length(data.len(), result.len())?;
    }
    let mut schedule = TreeReduce::new(RankInfo::from_comm(comm), ReduceAreas { data, result }, element, root);
    let sizes = SegmentSizes {
        element,
        max_bytes: data.len(),
    };
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Combines all processes' `data` into every process's `result`. It must be as long, and may be `data`.
pub fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    ReduceAreas { data, result }: ReduceAreas,
    elements: ReduceElements,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    if let Some(ended) = network_allreduce::allreduce(comm, function, ReduceAreas { data, result }, elements, combine) {
        return ended;
    }
    let mut schedule = AllreduceSchedule::new(RankInfo::placed(comm), ReduceAreas { data, result }, elements);
    let sizes = SegmentSizes {
        element: elements.size,
        max_bytes: data.len(),
    };
    run_side_by_side(comm, function, &mut schedule, sizes, combine)
}

/// Combines all processes' data. Each rank receives the result of its own `part` in `result`; it may be the beginning
/// of the data.
pub fn reduce_scatter(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> BufferSlice,
    result: BufferSlice,
    element: usize,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    same_length(part(comm.own_rank()).len(), result.len())?;
    let mut schedule = ReduceScatter::new(RankInfo::from_comm(comm), part, result, element);
    let sizes = SegmentSizes {
        element,
        max_bytes: SEGMENT_BYTES,
    };
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Reduces along the tree to rank 0 and from there to the root, segment by segment.
///
/// The root sends each of its own segments before it receives the result of that segment. So if `data` is `result`, it
/// overwrites only data that has been sent.
pub(super) struct TreeReduce {
    ranks: RankInfo,
    root: CommRank,
    data: BufferSlice,
    result: BufferSlice,
    walk: SegmentWalk,
    stage: ReduceStage,
}

/// Next action for the present segment. `gathered` contains the combination of this rank and its children at distances
/// below `bit`.
#[derive(Clone, Copy)]
enum ReduceStage {
    Load,
    Receive { gathered: SegmentHalf, bit: u32 },
    Combine { gathered: SegmentHalf, bit: u32 },
    Deliver { gathered: SegmentHalf },
    Collect,
}

impl TreeReduce {
    pub(super) fn new(
        ranks: RankInfo,
        ReduceAreas { data, result }: ReduceAreas,
        element: usize,
        root: CommRank,
    ) -> TreeReduce {
        TreeReduce {
            ranks,
            root,
            data,
            result,
            walk: SegmentWalk::new(data.len(), element),
            stage: ReduceStage::Load,
        }
    }

    /// Forwards the combination of this rank and its subtree.
    fn deliver(&self, gathered: SegmentHalf) -> Option<ScheduleStep> {
        let dest = match tree::parent(self.ranks.own) {
            Some(parent) => CommRank(parent),
            None if self.root != CommRank(0) => self.root,
            None => {
                let to = self.walk.part(self.result)?;
                return Some(ScheduleStep::Store { from: gathered, to });
            }
        };
        Some(ScheduleStep::Send {
            dest,
            tag: REDUCE,
            data: StepBuffer::Segment(gathered, self.walk.bytes()),
        })
    }

    /// Receives the result of this segment, if it comes in a message.
    fn collect(&self) -> Option<ScheduleStep> {
        if self.root == CommRank(0) || self.root != CommRank(self.ranks.own) {
            return None;
        }
        Some(ScheduleStep::Receive {
            source: CommRank(0),
            tag: REDUCE,
            data: StepBuffer::User(self.walk.part(self.result)?),
        })
    }
}

impl Schedule for TreeReduce {
    fn next(&mut self) -> Option<ScheduleStep> {
        let RankInfo { own, size, .. } = self.ranks;
        loop {
            match self.stage {
                ReduceStage::Load => {
                    let from = self.walk.part(self.data)?;
                    let (gathered, bit) = (SegmentHalf::First, 1);
                    self.stage = ReduceStage::Receive { gathered, bit };
                    return Some(ScheduleStep::Load { from, to: gathered });
                }
                ReduceStage::Receive { gathered, bit } if tree::is_branch(own, size, bit) => {
                    if own + bit < size {
                        self.stage = ReduceStage::Combine { gathered, bit };
                        return Some(ScheduleStep::Receive {
                            source: CommRank(own + bit),
                            tag: REDUCE,
                            data: StepBuffer::Segment(gathered.other(), self.walk.bytes()),
                        });
                    }
                    let bit = bit * 2;
                    self.stage = ReduceStage::Receive { gathered, bit };
                }
                ReduceStage::Receive { gathered, .. } => self.stage = ReduceStage::Deliver { gathered },
                ReduceStage::Combine { gathered: left, bit } => {
                    // The received data is of higher ranks: it is the right operand, and becomes the result.
                    let (gathered, bit) = (left.other(), bit * 2);
                    self.stage = ReduceStage::Receive { gathered, bit };
                    let bytes = self.walk.bytes();
                    return Some(ScheduleStep::Combine { left, bytes });
                }
                ReduceStage::Deliver { gathered } => {
                    self.stage = ReduceStage::Collect;
                    return self.deliver(gathered);
                }
                ReduceStage::Collect => {
                    let step = self.collect();
                    self.walk.advance();
                    self.stage = ReduceStage::Load;
                    if step.is_some() {
                        return step;
                    }
                }
            }
        }
    }
}

/// Longer allreduces use the rings of the torus, if the operation commutes.
const SHORT_ALLREDUCE: usize = SEGMENT_BYTES;

/// An allreduce algorithm, selected by the rules of docs/collectives.md.
// Stored inline, so that a blocking call needs no heap memory.
#[allow(clippy::large_enum_variant)]
pub(super) enum AllreduceSchedule {
    Tree(ThroughRoot),
    Lines(LineAllreduce),
    Rings(RingAllreduce),
}

impl AllreduceSchedule {
    pub(super) fn new(
        ranks: RankInfo,
        areas: ReduceAreas,
        ReduceElements { size, commute, .. }: ReduceElements,
    ) -> AllreduceSchedule {
        let bytes = areas.data.len();
        match ranks.grid {
            Some(grid) if commute && bytes > SHORT_ALLREDUCE && size <= RING_BYTES => {
                AllreduceSchedule::Rings(RingAllreduce::new(ranks, grid, areas, size))
            }
            Some(grid) if bytes <= SHORT_ALLREDUCE => AllreduceSchedule::Lines(LineAllreduce::new(ranks, grid, areas)),
            _ => AllreduceSchedule::Tree(ThroughRoot::new(ranks, areas, size)),
        }
    }
}

impl SelectedSchedule for AllreduceSchedule {
    fn selected(&mut self) -> &mut dyn Schedule {
        match self {
            AllreduceSchedule::Tree(schedule) => schedule,
            AllreduceSchedule::Lines(schedule) => schedule,
            AllreduceSchedule::Rings(schedule) => schedule,
        }
    }
}

/// Reduces to rank 0, then broadcasts.
pub(super) struct ThroughRoot {
    reduce: TreeReduce,
    bcast: BinomialBcast,
}

impl ThroughRoot {
    pub(super) fn new(ranks: RankInfo, ReduceAreas { data, result }: ReduceAreas, element: usize) -> ThroughRoot {
        let root = CommRank(0);
        ThroughRoot {
            reduce: TreeReduce::new(ranks, ReduceAreas { data, result }, element, root),
            bcast: BinomialBcast::new(ranks, result, root),
        }
    }
}

impl Schedule for ThroughRoot {
    fn next(&mut self) -> Option<ScheduleStep> {
        self.reduce.next().or_else(|| self.bcast.next())
    }
}

/// Reduces to each rank in turn.
///
/// If the result is the beginning of the data, it overwrites only data that has been sent: parts of lower ranks, and of
/// the own part the bytes before the segment just combined.
pub(super) struct ReduceScatter<P> {
    ranks: RankInfo,
    part: P,
    result: BufferSlice,
    element: usize,
    reduce: TreeReduce,
    /// Root of the next reduction.
    next_root: u32,
}

impl<P: Fn(CommRank) -> BufferSlice> ReduceScatter<P> {
    pub(super) fn new(ranks: RankInfo, part: P, result: BufferSlice, element: usize) -> Self {
        let root = CommRank(0);
        let reduce = TreeReduce::new(
            ranks,
            ReduceAreas {
                data: part(root),
                result,
            },
            element,
            root,
        );
        ReduceScatter {
            ranks,
            part,
            result,
            element,
            reduce,
            next_root: 1,
        }
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for ReduceScatter<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        loop {
            if let Some(step) = self.reduce.next() {
                return Some(step);
            }
            let root = CommRank(self.next_root);
            if root.0 >= self.ranks.size {
                return None;
            }
            self.next_root += 1;
            let areas = ReduceAreas {
                data: (self.part)(root),
                result: self.result,
            };
            self.reduce = TreeReduce::new(self.ranks, areas, self.element, root);
        }
    }
}
