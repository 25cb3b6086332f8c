//! Reduce, allreduce and reduce-scatter (MPI-3.1 sections 5.9 and 5.10).
#![forbid(unsafe_code)]

use crate::coll::bcast::Binomial;
use crate::coll::carried;
use crate::coll::lines::Halves;
use crate::coll::rings::Rings;
use crate::coll::run::{Combine, Elements, run_in_segments};
use crate::coll::running::run_side_by_side;
use crate::coll::schedule::{Buffer, Chosen, Half, REDUCE, Ranks, Schedule, Step};
use crate::coll::segments::{
    LongSegments, RING_BYTES, SEGMENT_BYTES, Segment, Walk, read, same_length, write,
};
use crate::coll::tree;
use crate::comm::{CommRank, Communicator};
use crate::datatype::Basic;
use crate::error::Error;
use crate::op::Op;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Returns the combining function of a predefined operation. Fails with [`Error::Undefined`].
pub fn predefined(op: Op, basic: Basic) -> Result<impl FnMut(&[u8], &mut [u8]), Error> {
    if !op.is_defined(basic) {
        return Err(Error::Undefined);
    }
    Ok(move |left: &[u8], right: &mut [u8]| {
        op.combine(basic, left, right)
            .expect("defined, as just checked")
    })
}

/// Combines local data: `right[i] = left[i] op right[i]`; both must be equally long. Fails with [`Error::NoRoom`] if an
/// element is longer than a segment and the heap has no space for two.
pub fn combine_local(
    comm: Communicator<'_>,
    (left, right): (BufferSlice, BufferSlice),
    element: usize,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    if element > SEGMENT_BYTES {
        let mut segments = LongSegments::new(element, 1)?;
        combine_through(comm, (left, right), element, combine, segments.both(0));
        return Ok(());
    }
    let [a, b] = &mut [Segment::<SEGMENT_BYTES>::ZERO; 2];
    let segments = [&mut a.0[..], &mut b.0[..]];
    combine_through(comm, (left, right), element, combine, segments);
    Ok(())
}

fn combine_through(
    comm: Communicator<'_>,
    (left, right): (BufferSlice, BufferSlice),
    element: usize,
    combine: &mut Combine<'_>,
    [a, b]: [&mut [u8]; 2],
) {
    let mut walk = Walk::new(left.len(), element);
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
    (data, result): (BufferSlice, BufferSlice),
    element: usize,
    combine: &mut Combine<'_>,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    if comm.own_rank() == root {
        same_length(data.len(), result.len())?;
    }
    let mut schedule = Reduce::new(Ranks::of(comm), (data, result), element, root);
    let sizes = (element, data.len());
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Combines all processes' `data` into every process's `result`. It must be as long, and may be `data`.
pub fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    (data, result): (BufferSlice, BufferSlice),
    elements: Elements,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    if let Some(ended) = carried::allreduce(comm, function, (data, result), elements, combine) {
        return ended;
    }
    let mut schedule = Allreduce::new(Ranks::placed(comm), (data, result), elements);
    let sizes = (elements.size, data.len());
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
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    same_length(part(comm.own_rank()).len(), result.len())?;
    let mut schedule = ReduceScatter::new(Ranks::of(comm), part, result, element);
    let sizes = (element, SEGMENT_BYTES);
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Reduces along the tree to rank 0 and from there to the root, segment by segment.
///
/// The root sends each of its own segments before it receives the result of that segment. So if `data` is `result`, it
/// overwrites only data that has been sent.
pub(super) struct Reduce {
    ranks: Ranks,
    root: CommRank,
    data: BufferSlice,
    result: BufferSlice,
    walk: Walk,
    stage: Stage,
}

/// Next action for the present segment. `gathered` contains the combination of this rank and its children at distances
/// below `bit`.
#[derive(Clone, Copy)]
enum Stage {
    Load,
    Receive { gathered: Half, bit: u32 },
    Combine { gathered: Half, bit: u32 },
    Deliver { gathered: Half },
    Collect,
}

impl Reduce {
    pub(super) fn new(
        ranks: Ranks,
        (data, result): (BufferSlice, BufferSlice),
        element: usize,
        root: CommRank,
    ) -> Reduce {
        Reduce {
            ranks,
            root,
            data,
            result,
            walk: Walk::new(data.len(), element),
            stage: Stage::Load,
        }
    }

    /// Forwards the combination of this rank and its subtree.
    fn deliver(&self, gathered: Half) -> Option<Step> {
        let dest = match tree::parent(self.ranks.own) {
            Some(parent) => CommRank(parent),
            None if self.root != CommRank(0) => self.root,
            None => {
                let to = self.walk.part(self.result)?;
                return Some(Step::Store { from: gathered, to });
            }
        };
        Some(Step::Send {
            dest,
            tag: REDUCE,
            data: Buffer::Segment(gathered, self.walk.bytes()),
        })
    }

    /// Receives the result of this segment, if it comes in a message.
    fn collect(&self) -> Option<Step> {
        if self.root == CommRank(0) || self.root != CommRank(self.ranks.own) {
            return None;
        }
        Some(Step::Receive {
            source: CommRank(0),
            tag: REDUCE,
            data: Buffer::User(self.walk.part(self.result)?),
        })
    }
}

impl Schedule for Reduce {
    fn next(&mut self) -> Option<Step> {
        let Ranks { own, size, .. } = self.ranks;
        loop {
            match self.stage {
                Stage::Load => {
                    let from = self.walk.part(self.data)?;
                    let (gathered, bit) = (Half::First, 1);
                    self.stage = Stage::Receive { gathered, bit };
                    return Some(Step::Load { from, to: gathered });
                }
                Stage::Receive { gathered, bit } if tree::is_branch(own, size, bit) => {
                    if own + bit < size {
                        self.stage = Stage::Combine { gathered, bit };
                        return Some(Step::Receive {
                            source: CommRank(own + bit),
                            tag: REDUCE,
                            data: Buffer::Segment(gathered.other(), self.walk.bytes()),
                        });
                    }
                    let bit = bit * 2;
                    self.stage = Stage::Receive { gathered, bit };
                }
                Stage::Receive { gathered, .. } => self.stage = Stage::Deliver { gathered },
                Stage::Combine {
                    gathered: left,
                    bit,
                } => {
                    // The received data is of higher ranks: it is the right operand, and becomes the result.
                    let (gathered, bit) = (left.other(), bit * 2);
                    self.stage = Stage::Receive { gathered, bit };
                    let bytes = self.walk.bytes();
                    return Some(Step::Combine { left, bytes });
                }
                Stage::Deliver { gathered } => {
                    self.stage = Stage::Collect;
                    return self.deliver(gathered);
                }
                Stage::Collect => {
                    let step = self.collect();
                    self.walk.advance();
                    self.stage = Stage::Load;
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
pub(super) enum Allreduce {
    Tree(ThroughRoot),
    Lines(Halves),
    Rings(Rings),
}

impl Allreduce {
    pub(super) fn new(
        ranks: Ranks,
        areas: (BufferSlice, BufferSlice),
        Elements { size, commute, .. }: Elements,
    ) -> Allreduce {
        let bytes = areas.0.len();
        match ranks.grid {
            Some(grid) if commute && bytes > SHORT_ALLREDUCE && size <= RING_BYTES => {
                Allreduce::Rings(Rings::new(ranks, grid, areas, size))
            }
            Some(grid) if bytes <= SHORT_ALLREDUCE => {
                Allreduce::Lines(Halves::new(ranks, grid, areas))
            }
            _ => Allreduce::Tree(ThroughRoot::new(ranks, areas, size)),
        }
    }
}

impl Chosen for Allreduce {
    fn chosen(&mut self) -> &mut dyn Schedule {
        match self {
            Allreduce::Tree(schedule) => schedule,
            Allreduce::Lines(schedule) => schedule,
            Allreduce::Rings(schedule) => schedule,
        }
    }
}

/// Reduces to rank 0, then broadcasts.
pub(super) struct ThroughRoot {
    reduce: Reduce,
    bcast: Binomial,
}

impl ThroughRoot {
    pub(super) fn new(ranks: Ranks, (data, result): (BufferSlice, BufferSlice), element: usize) -> ThroughRoot {
        let root = CommRank(0);
        ThroughRoot {
            reduce: Reduce::new(ranks, (data, result), element, root),
            bcast: Binomial::new(ranks, result, root),
        }
    }
}

impl Schedule for ThroughRoot {
    fn next(&mut self) -> Option<Step> {
        self.reduce.next().or_else(|| self.bcast.next())
    }
}

/// Reduces to each rank in turn.
///
/// If the result is the beginning of the data, it overwrites only data that has been sent: parts of lower ranks, and of
/// the own part the bytes before the segment just combined.
pub(super) struct ReduceScatter<P> {
    ranks: Ranks,
    part: P,
    result: BufferSlice,
    element: usize,
    reduce: Reduce,
    /// Root of the next reduction.
    next_root: u32,
}

impl<P: Fn(CommRank) -> BufferSlice> ReduceScatter<P> {
    pub(super) fn new(ranks: Ranks, part: P, result: BufferSlice, element: usize) -> Self {
        let root = CommRank(0);
        let reduce = Reduce::new(ranks, (part(root), result), element, root);
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
    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.reduce.next() {
                return Some(step);
            }
            let root = CommRank(self.next_root);
            if root.0 >= self.ranks.size {
                return None;
            }
            self.next_root += 1;
            let areas = ((self.part)(root), self.result);
            self.reduce = Reduce::new(self.ranks, areas, self.element, root);
        }
    }
}
