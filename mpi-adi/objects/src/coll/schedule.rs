//! A collective as data: what one process does, step by step.
//!
//! A schedule knows ranks, lengths and spans, and no device. It gives one [`Step`] at a time, and goes on when
//! that one is done. What it knows between two steps is its own value of a fixed size, on no stack and without
//! memory from the heap: a blocking call runs it at one go ([`super::run`]), a nonblocking one can keep
//! it in its request and go on whenever messages do (MPI-3.1 section 5.12). The same steps in the same order
//! serve both, so that the messages match whichever way a process waits.
//!
//! Reductions compute in two segments. They too belong to whoever runs the schedule; steps name them by
//! [`Half`].
#![forbid(unsafe_code)]

use crate::comm::{CommRank, Communicator};
use crate::grid::Grid;
use midplane_device::envelope::Tag;
use midplane_device::matching::OPERATIONS;
use midplane_device::memory::area::Area;

/// The tags of the collectives' messages; they travel in a context of their own.
pub(super) const BARRIER: Tag = 1;
pub(super) const BCAST: Tag = 2;
pub(super) const REDUCE: Tag = 3;
pub(super) const GATHER: Tag = 4;
pub(super) const SCATTER: Tag = 5;
pub(super) const ALLGATHER: Tag = 6;
pub(super) const ALLTOALL: Tag = 7;
pub(super) const SCAN: Tag = 8;
// Matching engines tell collectives apart by them.
const _: () = assert!(SCAN == OPERATIONS as Tag);
/// Those of a communicator's neighbourhood collectives, which are always numbered.
pub(super) const NEIGHBOURS: Tag = 9;

/// That of a schedule's first lane, where its lanes have tags of their own; those of the next lanes follow.
pub(super) const LANES: Tag = 16;
/// Lanes that a schedule has at most.
pub(super) const MOST_LANES: usize = 24;

/// How far the tags of a collective that does not block are from those of the next one on its communicator.
const NUMBERED: Tag = 64;
/// Numbers before the first one is used again: far more than there can be collectives under way.
const NUMBERS: u32 = 1 << 24;
const _: () = assert!(NEIGHBOURS < LANES && LANES + MOST_LANES as Tag <= NUMBERED);
const _: () = assert!((Tag::MAX / NUMBERED) as u32 > NUMBERS);

/// What is added to the tags of the steps of a communicator's collective with this number, in the order in which all of
/// its processes start those that do not block. Blocking ones have no number, and nothing is added to their tags.
pub(super) fn numbered(number: u32) -> Tag {
    (1 + number % NUMBERS) as Tag * NUMBERED
}

/// One process's part in a collective.
pub(super) trait Schedule {
    /// The next step, to be asked for when the one before is done. `None`: this process has done its part, and
    /// says so however often it is asked. Where there are lanes, one lane after the other.
    fn next(&mut self) -> Option<Step>;

    /// The lanes that it can go on in side by side.
    fn lanes(&mut self) -> Lanes {
        Lanes::ONE
    }

    /// As [`Schedule::next`], in one lane. Whoever asks goes through either the whole or all of the lanes.
    fn next_in(&mut self, lane: usize) -> Option<Step> {
        let _ = lane;
        self.next()
    }
}

/// How a schedule can go on side by side. The steps of a lane follow each other; lanes do not wait for one another, and no
/// message of one matches a message of another. Each lane has segments of its own.
///
/// A process may go through its lanes one after the other while others go through theirs side by side: the steps of lane
/// 0 wait for no other lane of any process, those of lane 1 for lane 0 at most, and so on. So a process that has no
/// memory for more than one message at a time still does its part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lanes {
    /// How many, at most [`MOST_LANES`].
    pub(super) count: usize,
    /// Messages of a lane that can be under way at one time.
    pub(super) messages: usize,
    /// The messages of all processes go all over the machine and cross each other, as those along lines do not: long
    /// ones had better go any way that is free.
    pub(super) cross: bool,
}

impl Lanes {
    /// One step after the other.
    pub(super) const ONE: Lanes = Lanes {
        count: 1,
        messages: 2,
        cross: false,
    };
}

/// No part at all.
impl<S: Schedule> Schedule for Option<S> {
    fn next(&mut self) -> Option<Step> {
        self.as_mut()?.next()
    }

    fn lanes(&mut self) -> Lanes {
        self.as_mut().map_or(Lanes::ONE, Schedule::lanes)
    }

    fn next_in(&mut self, lane: usize) -> Option<Step> {
        self.as_mut()?.next_in(lane)
    }
}

/// A schedule that is one of several, by the rules of docs/collectives.md.
pub(super) trait Chosen {
    fn chosen(&mut self) -> &mut dyn Schedule;
}

impl<C: Chosen> Schedule for C {
    fn next(&mut self) -> Option<Step> {
        self.chosen().next()
    }

    fn lanes(&mut self) -> Lanes {
        self.chosen().lanes()
    }

    fn next_in(&mut self, lane: usize) -> Option<Step> {
        self.chosen().next_in(lane)
    }
}

/// What is done, and done with, before the next step begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Sends the buffer's bytes.
    Send {
        dest: CommRank,
        tag: Tag,
        data: Buffer,
    },
    /// Receives as many bytes as the buffer has, no more and no fewer.
    Receive {
        source: CommRank,
        tag: Tag,
        data: Buffer,
    },
    /// Both at once: neither waits for the other.
    Exchange {
        tag: Tag,
        given: (Buffer, CommRank),
        taken: (Buffer, CommRank),
    },
    /// Sends the same bytes to some, and receives others in the meantime.
    Pass {
        tag: Tag,
        /// More follows to the same ones in another lane, which waits for this one nowhere: its answers serve for these.
        followed: bool,
        given: (Area, Dests),
        taken: Option<(Area, CommRank)>,
    },
    /// The other segment becomes `left` op itself, element by element, in this many bytes.
    Combine { left: Half, bytes: usize },
    /// Copies a span, which is no longer than a segment, to the beginning of a segment.
    Load { from: Area, to: Half },
    /// Copies the beginning of a segment to a span, which is no longer.
    Store { from: Half, to: Area },
    /// Copies a span to another one, which must be as long.
    Copy { from: Area, to: Area },
}

/// To whom a process passes on what it has got.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Dests {
    ranks: [Option<CommRank>; Dests::MOST],
}

impl Dests {
    /// How many there can be.
    pub(super) const MOST: usize = 3;

    /// One more.
    pub(super) fn push(&mut self, dest: CommRank) {
        let free = self.ranks.iter_mut().find(|rank| rank.is_none());
        *free.expect("a place for each") = Some(dest);
    }

    pub(super) fn iter(self) -> impl Iterator<Item = CommRank> {
        self.ranks.into_iter().flatten()
    }

    pub(super) fn map(self, name: impl Fn(CommRank) -> CommRank) -> Dests {
        Dests {
            ranks: self.ranks.map(|rank| rank.map(&name)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranks[0].is_none()
    }
}

/// Where a message's bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Buffer {
    /// In the program's memory.
    User(Area),
    /// This many bytes from the beginning of a segment.
    Segment(Half, usize),
}

/// One of the two segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Half {
    First,
    Second,
}

impl Half {
    pub(super) fn other(self) -> Half {
        match self {
            Half::First => Half::Second,
            Half::Second => Half::First,
        }
    }

    /// This one of both, and the other.
    pub(super) fn and_other<T>(self, both: &mut [T; 2]) -> (&mut T, &mut T) {
        let [first, second] = both;
        match self {
            Half::First => (first, second),
            Half::Second => (second, first),
        }
    }
}

/// A process among those of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ranks {
    /// Its rank.
    pub(super) own: u32,
    /// Number of processes.
    pub(super) size: u32,
    /// The box of the torus that they are, where that makes a difference to the schedule.
    pub(super) grid: Option<Grid>,
}

impl Ranks {
    /// Wherever they are.
    pub(super) fn of(comm: Communicator<'_>) -> Ranks {
        Ranks {
            own: comm.rank(),
            size: comm.size(),
            grid: None,
        }
    }

    /// With the box that they are.
    pub(super) fn placed(comm: Communicator<'_>) -> Ranks {
        Ranks {
            grid: comm.grid(),
            ..Ranks::of(comm)
        }
    }

    /// The rank `distance` places on, around the ring of all; `distance` is at most the size.
    pub(super) fn after(self, distance: u32) -> CommRank {
        CommRank((self.own + distance) % self.size)
    }

    /// The rank `distance` places back.
    pub(super) fn before(self, distance: u32) -> CommRank {
        CommRank((self.own + self.size - distance) % self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_with_other_numbers_have_other_tags_until_the_numbers_begin_again() {
        let last = LANES + MOST_LANES as Tag - 1;
        let tags = |number| BARRIER + numbered(number)..=last + numbered(number);
        assert!(*tags(0).start() > last, "blocking ones have no number");
        for number in [0, 1, 77, NUMBERS - 2] {
            assert!(tags(number).end() < tags(number + 1).start());
        }
        assert!(tags(NUMBERS - 1).all(|tag| (0..Tag::MAX).contains(&tag)));
        assert_eq!(tags(NUMBERS), tags(0));
        assert_eq!(tags(u32::MAX), tags(NUMBERS - 1));
    }
}
