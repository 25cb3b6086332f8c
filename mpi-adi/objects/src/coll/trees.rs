//! Long broadcasts in a box of the torus: pipelined over trees without a common link.
//!
//! A box of D dimensions has 2 D trees, one for each direction out of the root. Each transports a part of the message.
//! In the tree of a direction the message passes
//!
//! 1. from the root once around its line in that direction,
//! 2. from there, except from the root, around the lines in the next dimension, all in the same direction,
//! 3. from all of these around the lines in the dimension after that,
//! 4. and by one more hop in the first direction to the remaining processes, whose coordinate in it is the root's.
//!
//! On a torus no two trees use the same link in the same direction, and every process except the root receives a
//! message on each of its links. For links with equal load this is optimal. If a line is not a ring, its last process
//! sends to its first one over all links of the line in the opposite direction, so these carry twice the load.
//!
//! A part is sent in pieces. Each is received in its final location and forwarded from there to at most three
//! processes; while a process forwards one, it receives the next one. Each tree has lanes for this, so that a link does
//! not wait for acknowledgements. Data is stored only in the program's own buffers.
//!
//! Of short pieces, only those in a tree's last lane are acknowledged immediately. The other acknowledgements are
//! delayed, and piggybacked on these or on a piece in the other direction. A process advances in the last lane
//! independently of the others, because its pieces, acknowledgements and receives need no other lane. After the last
//! piece in it, the others are also acknowledged immediately.
#![forbid(unsafe_code)]

use crate::coll::schedule::{DestList, LANES, LaneConfig, MAX_LANES, RankInfo, Schedule, ScheduleStep};
use crate::coll::segments::RING_BYTES;
use crate::comm::CommRank;
use crate::grid::{BoxCoords, TorusBox};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::wire::INLINE_BYTES;

/// Maximum number of trees.
const TREES: usize = 6;
/// Maximum number of lanes of a tree.
const MAX_EACH: usize = 4;
const _: () = assert!(TREES * MAX_EACH <= MAX_LANES);

/// Cut-off in bytes per node of the machine's three lines. Up to it a tree's part is sent in pieces that fit their
/// RTSs. On a longer path a long piece takes longer to fill the pipeline. On a short path fewer messages are better.
const SHORT_A_NODE: usize = 1536;
/// Bytes of such a piece, and lanes of a tree: an acknowledgement for every fourth piece.
const SHORT: (usize, usize) = (INLINE_BYTES, MAX_EACH);
/// The same for longer pieces: longer pieces need fewer packets, but take longer to fill the pipeline.
const LONG: (usize, usize) = (RING_BYTES, 2);

/// Position of this process in a tree.
#[derive(Clone, Copy, Default)]
struct TreePosition {
    parent: Option<CommRank>,
    children: DestList,
}

pub(super) struct TreeBcast {
    span: BufferSlice,
    piece: usize,
    /// Lanes of a tree.
    each: usize,
    count: usize,
    trees: [TreePosition; TREES],
    /// Performed steps of each lane.
    taken: [u32; TREES * MAX_EACH],
}

impl TreeBcast {
    pub(super) fn new(ranks: RankInfo, grid: TorusBox, span: BufferSlice, root: CommRank) -> TreeBcast {
        let (own, root) = (grid.at(ranks.own), grid.at(root.0));
        let mut trees = [TreePosition::default(); TREES];
        let mut count = 0;
        for dim in grid.dimensions() {
            for is_plus in [true, false] {
                trees[count] = tree(&grid, own, root, dim, is_plus);
                count += 1;
            }
        }
        let part = span.len() / count.max(1);
        let nodes: usize = grid.extents.iter().copied().map(usize::from).sum();
        let (piece, each) = if part <= SHORT_A_NODE * nodes { SHORT } else { LONG };
        TreeBcast {
            span,
            piece,
            each,
            count,
            trees,
            taken: [0; TREES * MAX_EACH],
        }
    }

    /// Returns the piece with index `number` of a tree's part.
    fn piece(&self, tree: usize, number: usize) -> Option<BufferSlice> {
        let bound = |tree: usize| {
            let (whole, rest) = (self.span.len() / self.count, self.span.len() % self.count);
            whole * tree + rest.min(tree)
        };
        let (from, to) = (bound(tree), bound(tree + 1));
        let at = from + number * self.piece;
        (at < to).then(|| self.span.part(at, self.piece.min(to - at)))
    }

    /// Checks whether this process must still send a piece in a tree's last lane.
    fn continues_in_last(&self, tree: usize) -> bool {
        let last = self.each - 1;
        let steps = self.taken[tree * self.each + last] as usize;
        // In its first step a process other than the root sends nothing.
        let given = match self.trees[tree].parent {
            None => steps,
            Some(_) => steps.saturating_sub(1),
        };
        self.piece(tree, last + given * self.each).is_some()
    }
}

/// Returns the position of `own` in the tree that begins in the specified direction.
fn tree(grid: &TorusBox, own: BoxCoords, root: BoxCoords, first: usize, is_plus: bool) -> TreePosition {
    // Dimensions in the tree's order: distance of this process from the root, in the tree's direction.
    let order = [first, (first + 1) % 3, (first + 2) % 3];
    let [a, b, c] = order.map(|dim| {
        let extent = grid.extents[dim];
        let up = (own[dim] + extent - root[dim]) % extent;
        if is_plus { up } else { (extent - up) % extent }
    });
    let [len_a, len_b, len_c] = order.map(|dim| grid.extents[dim]);
    let by = |dim: usize, is_on: bool| {
        let extent = grid.extents[dim];
        let place = if is_on == is_plus {
            (own[dim] + 1) % extent
        } else {
            (own[dim] + extent - 1) % extent
        };
        CommRank(grid.on_line(own, dim, place))
    };
    let before = match (a, b, c) {
        (0, 0, 0) => None,
        (0, ..) | (_, 0, 0) => Some(order[0]),
        (_, _, 0) => Some(order[1]),
        _ => Some(order[2]),
    };
    let mut children = DestList::default();
    let is_in_line = (b, c) == (0, 0);
    // Forward on the first line; from its last process, and from all with its coordinate, to the root's coordinate.
    if is_in_line && a + 1 < len_a || !is_in_line && a + 1 == len_a {
        children.push(by(order[0], true));
    }
    if a > 0 && c == 0 && b + 1 < len_b {
        children.push(by(order[1], true));
    }
    if a > 0 && c + 1 < len_c {
        children.push(by(order[2], true));
    }
    TreePosition {
        parent: before.map(|dim| by(dim, false)),
        children,
    }
}

impl Schedule for TreeBcast {
    fn next(&mut self) -> Option<ScheduleStep> {
        (0..self.lanes().count).find_map(|lane| self.next_in(lane))
    }

    fn lanes(&mut self) -> LaneConfig {
        LaneConfig {
            count: self.count * self.each,
            messages: DestList::MAX + 1,
            cross: false,
        }
    }

    fn next_in(&mut self, lane: usize) -> Option<ScheduleStep> {
        let (at, first) = (lane / self.each, lane % self.each);
        let TreePosition { parent, children } = self.trees[at];
        let number = self.taken[lane] as usize;
        let place = |number: usize| self.piece(at, first + number * self.each);
        let tag = LANES + lane as i32;
        let followed = first + 1 < self.each && self.continues_in_last(at);
        let step = match parent {
            None => ScheduleStep::Pass {
                tag,
                followed,
                given: (place(number)?, children),
                taken: None,
            },
            Some(source) => {
                let taken = place(number).map(|area| (area, source));
                let given = match number.checked_sub(1) {
                    Some(before) => (place(before)?, children),
                    None => (BufferSlice::EMPTY, DestList::default()),
                };
                if taken.is_none() && given.1.is_empty() {
                    return None;
                }
                ScheduleStep::Pass {
                    tag,
                    followed,
                    given,
                    taken,
                }
            }
        };
        self.taken[lane] += 1;
        Some(step)
    }
}
