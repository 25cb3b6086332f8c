//! Short messages along the lines of a box of the torus.
//!
//! # Broadcast
//! From the root along its line in Z, from each process of that along Y, from each of those along X: a tree whose
//! branches are as long as the way is. Each line is told from both sides. A process with n others behind it on a side tells
//! the one in their middle, which tells those behind itself; so a line of eight takes three messages one after the other
//! at most, and no link carries two that wait for each other for long.
//!
//! # Allreduce
//! Dimension by dimension, X first, all processes of a line come to know what the line comes to, by halves: a line of one
//! knows. When both halves of a line know, the two neighbours at the cut exchange what they know, combine it, and
//! pass the result on, each away from the cut. Where the line is a ring, the two halves meet at both ends, and a process
//! is told from the nearer one. So a ring of eight takes five hops, one more than its radius, where to the root and back
//! takes eight. What a process knows is always that of consecutive ranks, and the lower ones stand on the left, so
//! operations need not commute; the same ranks are combined in the same order at every process and at any time.
//!
//! A line of two in a dimension that is not the last one is folded: one process gives what it knows to the other and is
//! told the result in the end. That is one hop more, and half the messages from there on, which is what counts on few
//! nodes.
#![forbid(unsafe_code)]

use crate::coll::schedule::{BCAST, Buffer, Half, REDUCE, Ranks, Schedule, Step};
use crate::comm::CommRank;
use crate::grid::{At, Grid};
use midplane_device::memory::area::Area;

/// How many processes are on a side of this place of a line in a box: round a ring half of the others each.
fn side(grid: &Grid, dim: usize, place: u16, is_plus: bool) -> u16 {
    let others = grid.extents[dim] - 1;
    match (grid.wraps[dim], is_plus) {
        (true, true) => others.div_ceil(2),
        (true, false) => others / 2,
        (false, true) => others - place,
        (false, false) => place,
    }
}

/// By which place of a side of `len` processes, behind the teller at 0, this place is told, and how many behind it it is
/// to tell.
fn told_by(place: u16, len: u16) -> (u16, u16) {
    let (mut from, mut rest) = (0, len);
    loop {
        let middle = from + rest.div_ceil(2);
        let behind = rest / 2;
        if place == middle {
            return (from, behind);
        }
        (from, rest) = match place > middle {
            true => (middle, behind),
            false => (from, middle - from - 1),
        };
    }
}

/// A broadcast.
pub(super) struct Spread {
    span: Area,
    grid: Grid,
    own: At,
    /// From whom to receive first.
    parent: Option<CommRank>,
    /// The line that is told, by its dimension, and the side.
    dim: usize,
    is_plus: bool,
    /// Both sides of the line are told from here.
    is_middle: bool,
    /// Those behind this process on the side who are still to be told.
    rest: u16,
}

impl Spread {
    pub(super) fn new(ranks: Ranks, grid: Grid, span: Area, root: CommRank) -> Spread {
        let (own, root) = (grid.at(ranks.own), grid.at(root.0));
        let mut spread = Spread {
            span,
            grid,
            own,
            parent: None,
            dim: 3,
            is_plus: false,
            is_middle: false,
            rest: 0,
        };
        // It is told along the first dimension, X before Y, in which it is not where the root is.
        if let Some(dim) = (0..3).find(|&dim| own[dim] != root[dim]) {
            let (at, from, extent) = (own[dim], root[dim], grid.extents[dim]);
            let up = (at + extent - from) % extent;
            let is_plus = match grid.wraps[dim] {
                true => up <= side(&grid, dim, from, true),
                false => at > from,
            };
            let place = if is_plus { up } else { extent - up };
            let (teller, rest) = told_by(place, side(&grid, dim, from, is_plus));
            (spread.dim, spread.is_plus, spread.rest) = (dim, is_plus, rest);
            spread.parent = Some(spread.along(i32::from(teller) - i32::from(place)));
        }
        spread
    }

    /// The process so far away on the present side of the line.
    fn along(&self, away: i32) -> CommRank {
        let extent = i32::from(self.grid.extents[self.dim]);
        let away = if self.is_plus { away } else { -away };
        let place = (i32::from(self.own[self.dim]) + away).rem_euclid(extent);
        CommRank(self.grid.on_line(self.own, self.dim, place as u16))
    }
}

impl Schedule for Spread {
    fn next(&mut self) -> Option<Step> {
        let (tag, data) = (BCAST, Buffer::User(self.span));
        if let Some(source) = self.parent.take() {
            return Some(Step::Receive { source, tag, data });
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
        Some(Step::Send { dest, tag, data })
    }
}

/// What a process does next in an allreduce.
#[derive(Clone, Copy)]
enum Move {
    /// Exchanges what it knows with this one.
    Exchange(CommRank),
    /// Receives what this one knows.
    Take(CommRank),
    /// Combines what it knows with what has come, on the left or the right of it.
    Combine { is_left: bool },
    /// Is told the result by this one.
    Hear(CommRank),
    /// Tells what it knows.
    Tell(CommRank),
}

/// Where a process is in an allreduce.
#[derive(Clone, Copy)]
enum Stage {
    Load,
    /// Up the levels of halves of a line: the next one, none is left at 0.
    Line {
        dim: usize,
        levels: u32,
    },
    /// Telling those whose lines were folded, below this dimension.
    Unfold {
        dims: usize,
    },
    Store,
    Over,
}

/// An allreduce of no more than a segment.
pub(super) struct Halves {
    grid: Grid,
    own: At,
    data: Area,
    result: Area,
    stage: Stage,
    moves: [Option<Move>; 3],
    /// Where what this process knows is.
    known: Half,
}

impl Halves {
    pub(super) fn new(ranks: Ranks, grid: Grid, (data, result): (Area, Area)) -> Halves {
        Halves {
            grid,
            own: grid.at(ranks.own),
            data,
            result,
            stage: Stage::Load,
            moves: [None; 3],
            known: Half::First,
        }
    }

    fn on_line(&self, dim: usize, place: u16) -> CommRank {
        CommRank(self.grid.on_line(self.own, dim, place))
    }

    fn is_folded(&self, dim: usize) -> bool {
        let mut dims = self.grid.dimensions();
        self.grid.extents[dim] == 2 && dims.next_back() != Some(dim)
    }

    /// The line in `dim` begins; behind the last one what was folded unfolds.
    fn line(&self, dim: usize) -> Stage {
        match self.grid.extents.get(dim) {
            Some(&extent) => Stage::Line {
                dim,
                levels: halvings(extent, self.own[dim]).count() as u32,
            },
            None => Stage::Unfold { dims: 3 },
        }
    }

    /// What is next; false: nothing is.
    fn go_on(&mut self) -> bool {
        match self.stage {
            Stage::Line { dim, .. } if self.is_folded(dim) => {
                let [here, there] = [self.on_line(dim, 0), self.on_line(dim, 1)];
                let is_left = false;
                (self.moves, self.stage) = match self.own[dim] {
                    0 => (
                        [
                            Some(Move::Take(there)),
                            Some(Move::Combine { is_left }),
                            None,
                        ],
                        self.line(dim + 1),
                    ),
                    _ => (
                        [Some(Move::Tell(here)), Some(Move::Hear(here)), None],
                        Stage::Unfold { dims: dim },
                    ),
                };
            }
            Stage::Line { dim, levels: 0 } => self.stage = self.line(dim + 1),
            Stage::Line { dim, levels } => {
                let levels = levels - 1;
                self.stage = Stage::Line { dim, levels };
                self.moves = self.level(dim, levels);
            }
            Stage::Unfold { dims: 0 } => self.stage = Stage::Store,
            Stage::Unfold { dims } => {
                let dim = dims - 1;
                self.stage = Stage::Unfold { dims: dim };
                if self.is_folded(dim) {
                    self.moves = [Some(Move::Tell(self.on_line(dim, 1))), None, None];
                }
            }
            Stage::Load | Stage::Store | Stage::Over => return false,
        }
        true
    }

    /// The two halves of a part of the line in `dim` meet, that of so many halvings.
    fn level(&self, dim: usize, level: u32) -> [Option<Move>; 3] {
        let (extent, own) = (self.grid.extents[dim], self.own[dim]);
        let Some(Halving { from, cut, to }) = halvings(extent, own).nth(level as usize) else {
            return [None; 3];
        };
        let is_low = own < cut;
        // This process's half: the end at the cut, the other end, and how far it is from each.
        let (near, far, len) = match is_low {
            true => (cut - 1, from, cut - from),
            false => (cut, to - 1, to - cut),
        };
        let (to_near, to_far) = (own.abs_diff(near), own.abs_diff(far));
        let is_ring = level == 0 && self.grid.wraps[dim] && (cut - from).min(to - cut) > 1;
        let is_near = !is_ring || to_near <= to_far;
        // Towards the cut where it is told from there, else towards the other end.
        let place = |away: i32| self.on_line(dim, (i32::from(own) + away) as u16);
        let towards = if is_low == is_near { 1 } else { -1 };
        // The next one away from there, if it is told from the same end.
        let has_next = match is_near {
            true => to_near + 1 < len && (!is_ring || to_near + 2 <= to_far),
            false => to_far + 2 < to_near,
        };
        let tell = has_next.then(|| Move::Tell(place(-towards)));
        let away = if is_near { to_near } else { to_far };
        if away > 0 {
            return [None, Some(Move::Hear(place(towards))), tell];
        }
        let other = match (is_near, is_low) {
            (true, true) => cut,
            (true, false) => cut - 1,
            (false, true) => to - 1,
            (false, false) => from,
        };
        let combine = Move::Combine { is_left: !is_low };
        [
            Some(Move::Exchange(self.on_line(dim, other))),
            Some(combine),
            tell,
        ]
    }

    fn step(&mut self, next: Move, bytes: usize) -> Step {
        let tag = REDUCE;
        let segment = |half| Buffer::Segment(half, bytes);
        let (known, other) = (self.known, self.known.other());
        match next {
            Move::Exchange(peer) => Step::Exchange {
                tag,
                given: (segment(known), peer),
                taken: (segment(other), peer),
            },
            Move::Take(source) => Step::Receive {
                source,
                tag,
                data: segment(other),
            },
            Move::Combine { is_left } => {
                // The result stands where the right one stood.
                let left = if is_left { other } else { known };
                self.known = left.other();
                Step::Combine { left, bytes }
            }
            Move::Hear(source) => Step::Receive {
                source,
                tag,
                data: segment(known),
            },
            Move::Tell(dest) => Step::Send {
                dest,
                tag,
                data: segment(known),
            },
        }
    }
}

impl Schedule for Halves {
    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(next) = self.moves.iter_mut().find_map(Option::take) {
                return Some(self.step(next, self.data.len()));
            }
            if self.go_on() {
                continue;
            }
            return match self.stage {
                Stage::Load if !self.data.is_empty() => {
                    self.stage = self.line(0);
                    let (from, to) = (self.data, self.known);
                    Some(Step::Load { from, to })
                }
                Stage::Store => {
                    self.stage = Stage::Over;
                    let (from, to) = (self.known, self.result);
                    Some(Step::Store { from, to })
                }
                _ => None,
            };
        }
    }
}

/// A part of a line, `from` to `to`, and where it is cut in half.
#[derive(Clone, Copy)]
struct Halving {
    from: u16,
    cut: u16,
    to: u16,
}

/// The parts of a line that this place is in, from the whole line on, as far as they can be cut.
fn halvings(extent: u16, place: u16) -> impl Iterator<Item = Halving> {
    let cut = |from: u16, to: u16| {
        let cut = from + (to - from) / 2;
        (to - from > 1).then_some(Halving { from, cut, to })
    };
    core::iter::successors(cut(0, extent), move |part| match place < part.cut {
        true => cut(part.from, part.cut),
        false => cut(part.cut, part.to),
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
                    assert_eq!(told_by(place, len), (teller, behind), "{place} of {len}");
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
