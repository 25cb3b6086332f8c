//! Broadcast and allreduce of short messages along the lines of a box of the torus.
//!
//! # Broadcast
//! The root sends along its line in Z, each process of that line along Y, and each of those along X: a tree whose
//! branches are as long as the path. Each line is served in both directions. A process with n others behind it on a
//! side sends to the one in their middle, and this one sends to those behind itself. So a line of eight requires at
//! most three consecutive messages, and no link carries two messages that wait long for each other.
//!
//! # Allreduce
//! Dimension by dimension, X first, all processes of a line compute the line's result by recursive halving; a line of
//! one has it already. When both halves of a line have their results, the two neighbours at the cut exchange and
//! combine them. Each forwards the combined result away from the cut. If the line is a ring, the halves meet at both
//! ends, and a process receives from the nearer one. So a ring of eight takes five hops, one more than its radius,
//! whereas a path to the root and back takes eight. A partial result always covers consecutive ranks, with the lower
//! ranks on the left, so operations need not commute. Every process combines the same ranks in the same order every
//! time.
//!
//! A line of two that is not in the last dimension is folded: one process sends its partial result to the other, and
//! receives the result at the end. That costs one hop, but halves the number of messages from there on. This matters on
//! few nodes.
#![forbid(unsafe_code)]

use crate::coll::run::ReduceAreas;
use crate::coll::schedule::{BCAST, REDUCE, RankInfo, Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::comm::CommRank;
use crate::grid::{BoxCoords, TorusBox};
use midplane_device::memory::buffer_slice::BufferSlice;

/// Returns the number of processes on one side of index `place` of a line; on a ring, half of the others.
fn side(grid: &TorusBox, dim: usize, place: u16, is_plus: bool) -> u16 {
    let others = grid.extents[dim] - 1;
    match (grid.wraps[dim], is_plus) {
        (true, true) => others.div_ceil(2),
        (true, false) => others / 2,
        (false, true) => others - place,
        (false, false) => place,
    }
}

/// Returns the index on a side of `len` processes from which `place` receives (the sender is 0), and the number of
/// processes behind `place` to which it forwards.
fn predecessor(place: u16, len: u16) -> (u16, u16) {
    let (mut from, mut rest) = (0, len);
    loop {
        let middle = from + rest.div_ceil(2);
        let behind = rest / 2;
        if place == middle {
            return (from, behind);
        }
        (from, rest) = if place > middle {
            (middle, behind)
        } else {
            (from, middle - from - 1)
        };
    }
}

pub(super) struct LineBcast {
    span: BufferSlice,
    grid: TorusBox,
    own: BoxCoords,
    /// Parent, the source of the first receive.
    parent: Option<CommRank>,
    /// Dimension and side of the present line.
    dim: usize,
    is_plus: bool,
    /// This process serves both sides of the line.
    is_middle: bool,
    /// Processes behind this one on the side that have not received yet.
    rest: u16,
}

impl LineBcast {
    pub(super) fn new(ranks: RankInfo, grid: TorusBox, span: BufferSlice, root: CommRank) -> LineBcast {
        let (own, root) = (grid.at(ranks.own), grid.at(root.0));
        let mut spread = LineBcast {
            span,
            grid,
            own,
            parent: None,
            dim: 3,
            is_plus: false,
            is_middle: false,
            rest: 0,
        };
        // It receives along the first dimension, X before Y, in which its coordinate differs from the root's.
        if let Some(dim) = (0..3).find(|&dim| own[dim] != root[dim]) {
            let (at, from, extent) = (own[dim], root[dim], grid.extents[dim]);
            let up = (at + extent - from) % extent;
            let is_plus = if grid.wraps[dim] {
                up <= side(&grid, dim, from, true)
            } else {
                at > from
            };
            let place = if is_plus { up } else { extent - up };
            let (teller, rest) = predecessor(place, side(&grid, dim, from, is_plus));
            (spread.dim, spread.is_plus, spread.rest) = (dim, is_plus, rest);
            spread.parent = Some(spread.along(i32::from(teller) - i32::from(place)));
        }
        spread
    }

    /// Returns the process at distance `away` on the present side of the line.
    fn along(&self, away: i32) -> CommRank {
        let extent = i32::from(self.grid.extents[self.dim]);
        let away = if self.is_plus { away } else { -away };
        let place = (i32::from(self.own[self.dim]) + away).rem_euclid(extent);
        CommRank(self.grid.on_line(self.own, self.dim, place as u16))
    }
}

impl Schedule for LineBcast {
    fn next(&mut self) -> Option<ScheduleStep> {
        let (tag, data) = (BCAST, StepBuffer::User(self.span));
        if let Some(source) = self.parent.take() {
            return Some(ScheduleStep::Receive { source, tag, data });
        }
        while self.rest == 0 {
            if self.is_middle && self.is_plus {
                self.is_plus = false;
            } else {
                self.dim = self.dim.checked_sub(1)?;
                (self.is_middle, self.is_plus) = (true, true);
            }
            self.rest = side(&self.grid, self.dim, self.own[self.dim], self.is_plus);
        }
        let away = self.rest.div_ceil(2);
        self.rest = away - 1;
        let dest = self.along(away.into());
        Some(ScheduleStep::Send { dest, tag, data })
    }
}

/// Next action of a process in an allreduce.
#[derive(Clone, Copy)]
enum LineMove {
    /// Exchanges partial results with this process.
    Exchange(CommRank),
    /// Receives this process's partial result.
    ReceivePartial(CommRank),
    /// Combines its partial result with the received one on its left or right.
    Combine { is_left: bool },
    /// Receives the final result from this process.
    ReceiveResult(CommRank),
    /// Sends its result.
    SendResult(CommRank),
}

/// Stage of a process in an allreduce.
#[derive(Clone, Copy)]
enum LineStage {
    Load,
    /// Remaining halving levels of a line, innermost first; 0 at the end.
    Line {
        dim: usize,
        levels: u32,
    },
    /// Sends the result to the processes of folded lines, below this dimension.
    Unfold {
        dims: usize,
    },
    Store,
    Done,
}

/// An allreduce of at most one segment.
pub(super) struct LineAllreduce {
    grid: TorusBox,
    own: BoxCoords,
    data: BufferSlice,
    result: BufferSlice,
    stage: LineStage,
    moves: [Option<LineMove>; 3],
    /// Segment with this process's partial result.
    known: SegmentHalf,
}

impl LineAllreduce {
    pub(super) fn new(ranks: RankInfo, grid: TorusBox, ReduceAreas { data, result }: ReduceAreas) -> LineAllreduce {
        LineAllreduce {
            grid,
            own: grid.at(ranks.own),
            data,
            result,
            stage: LineStage::Load,
            moves: [None; 3],
            known: SegmentHalf::First,
        }
    }

    fn on_line(&self, dim: usize, place: u16) -> CommRank {
        CommRank(self.grid.on_line(self.own, dim, place))
    }

    fn is_folded(&self, dim: usize) -> bool {
        let mut dims = self.grid.dimensions();
        self.grid.extents[dim] == 2 && dims.next_back() != Some(dim)
    }

    /// Begins the line in `dim`; after the last one, begins unfolding.
    fn line(&self, dim: usize) -> LineStage {
        match self.grid.extents.get(dim) {
            Some(&extent) => LineStage::Line {
                dim,
                levels: halvings(extent, self.own[dim]).count() as u32,
            },
            None => LineStage::Unfold { dims: 3 },
        }
    }

    /// Determines the next moves. Returns false if there are none.
    fn next_moves(&mut self) -> bool {
        match self.stage {
            LineStage::Line { dim, .. } if self.is_folded(dim) => {
                let [here, there] = [self.on_line(dim, 0), self.on_line(dim, 1)];
                let is_left = false;
                (self.moves, self.stage) = match self.own[dim] {
                    0 => (
                        [
                            Some(LineMove::ReceivePartial(there)),
                            Some(LineMove::Combine { is_left }),
                            None,
                        ],
                        self.line(dim + 1),
                    ),
                    _ => (
                        [
                            Some(LineMove::SendResult(here)),
                            Some(LineMove::ReceiveResult(here)),
                            None,
                        ],
                        LineStage::Unfold { dims: dim },
                    ),
                };
            }
            LineStage::Line { dim, levels: 0 } => self.stage = self.line(dim + 1),
            LineStage::Line { dim, levels } => {
                let levels = levels - 1;
                self.stage = LineStage::Line { dim, levels };
                self.moves = self.level(dim, levels);
            }
            LineStage::Unfold { dims: 0 } => self.stage = LineStage::Store,
            LineStage::Unfold { dims } => {
                let dim = dims - 1;
                self.stage = LineStage::Unfold { dims: dim };
                if self.is_folded(dim) {
                    self.moves = [Some(LineMove::SendResult(self.on_line(dim, 1))), None, None];
                }
            }
            LineStage::Load | LineStage::Store | LineStage::Done => return false,
        }
        true
    }

    /// Returns the moves at one halving level of the line in `dim`, where two halves meet.
    fn level(&self, dim: usize, level: u32) -> [Option<LineMove>; 3] {
        let (extent, own) = (self.grid.extents[dim], self.own[dim]);
        let Some(LineHalf { from, cut, to }) = halvings(extent, own).nth(level as usize) else {
            return [None; 3];
        };
        let is_low = own < cut;
        // This process's half: the end at the cut, the other end, and its distance to each.
        let (near, far, len) = if is_low {
            (cut - 1, from, cut - from)
        } else {
            (cut, to - 1, to - cut)
        };
        let (to_near, to_far) = (own.abs_diff(near), own.abs_diff(far));
        let is_ring = level == 0 && self.grid.wraps[dim] && (cut - from).min(to - cut) > 1;
        let is_near = !is_ring || to_near <= to_far;
        // Towards the cut if the result comes from there, otherwise towards the other end.
        let place = |away: i32| self.on_line(dim, (i32::from(own) + away) as u16);
        let towards = if is_low == is_near { 1 } else { -1 };
        // Whether the next process away from there receives from the same end.
        let has_next = if is_near {
            to_near + 1 < len && (!is_ring || to_near + 2 <= to_far)
        } else {
            to_far + 2 < to_near
        };
        let tell = has_next.then(|| LineMove::SendResult(place(-towards)));
        let away = if is_near { to_near } else { to_far };
        if away > 0 {
            return [None, Some(LineMove::ReceiveResult(place(towards))), tell];
        }
        let other = match (is_near, is_low) {
            (true, true) => cut,
            (true, false) => cut - 1,
            (false, true) => to - 1,
            (false, false) => from,
        };
        let combine = LineMove::Combine { is_left: !is_low };
        [Some(LineMove::Exchange(self.on_line(dim, other))), Some(combine), tell]
    }

    fn step(&mut self, next: LineMove, bytes: usize) -> ScheduleStep {
        let tag = REDUCE;
        let segment = |half| StepBuffer::Segment(half, bytes);
        let (known, other) = (self.known, self.known.other());
        match next {
            LineMove::Exchange(peer) => ScheduleStep::Exchange {
                tag,
                given: (segment(known), peer),
                taken: (segment(other), peer),
            },
            LineMove::ReceivePartial(source) => ScheduleStep::Receive {
                source,
                tag,
                data: segment(other),
            },
            LineMove::Combine { is_left } => {
                // The result replaces the right operand.
                let left = if is_left { other } else { known };
                self.known = left.other();
                ScheduleStep::Combine { left, bytes }
            }
            LineMove::ReceiveResult(source) => ScheduleStep::Receive {
                source,
                tag,
                data: segment(known),
            },
            LineMove::SendResult(dest) => ScheduleStep::Send {
                dest,
                tag,
                data: segment(known),
            },
        }
    }
}

impl Schedule for LineAllreduce {
    fn next(&mut self) -> Option<ScheduleStep> {
        loop {
            if let Some(next) = self.moves.iter_mut().find_map(Option::take) {
                return Some(self.step(next, self.data.len()));
            }
            if self.next_moves() {
                continue;
            }
            return match self.stage {
                LineStage::Load if !self.data.is_empty() => {
                    self.stage = self.line(0);
                    let (from, to) = (self.data, self.known);
                    Some(ScheduleStep::Load { from, to })
                }
                LineStage::Store => {
                    self.stage = LineStage::Done;
                    let (from, to) = (self.known, self.result);
                    Some(ScheduleStep::Store { from, to })
                }
                _ => None,
            };
        }
    }
}

/// A part of a line, `from` to `to`, and its halving index.
#[derive(Clone, Copy)]
struct LineHalf {
    from: u16,
    cut: u16,
    to: u16,
}

/// Returns the parts of a line that contain this index, from the complete line to the smallest part that can be halved.
fn halvings(extent: u16, place: u16) -> impl Iterator<Item = LineHalf> {
    let cut = |from: u16, to: u16| {
        let cut = from + (to - from) / 2;
        (to - from > 1).then_some(LineHalf { from, cut, to })
    };
    core::iter::successors(cut(0, extent), move |part| {
        if place < part.cut {
            cut(part.from, part.cut)
        } else {
            cut(part.cut, part.to)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_side_is_told_once_by_one_before_it() {
        for len in 1..40 {
            let mut told = Vec::new();
            let mut tellers = vec![(0, len)];
            while let Some((teller, mut rest)) = tellers.pop() {
                while rest > 0 {
                    let place = teller + u16::div_ceil(rest, 2);
                    let behind = rest / 2;
                    assert_eq!(predecessor(place, len), (teller, behind), "{place} of {len}");
                    told.push(place);
                    tellers.push((place, behind));
                    rest = place - teller - 1;
                }
            }
            told.sort_unstable();
            assert!(told.into_iter().eq(1..=len));
        }
    }
}
