//! Schedules of collectives: the steps of one process as data.
//!
//! A schedule uses ranks, lengths and spans, but no device. It returns one [`ScheduleStep`] at a time, and the next when that
//! one is complete. Between two steps its state is a value of fixed size, without stack or heap memory. A blocking call
//! runs it to completion ([`super::run`]); a nonblocking one can store it in its request, and advance it when messages
//! complete (MPI-3.1 section 5.12). Both perform the same steps in the same order, so messages match in any
//! combination.
//!
//! Reductions compute in two segments. These belong to the code that runs the schedule; steps refer to them by
//! [`SegmentHalf`].
#![forbid(unsafe_code)]

use crate::comm::{CommRank, Communicator};
use crate::grid::TorusBox;
use midplane_device::envelope::Tag;
use midplane_device::matching::OPERATIONS;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Tags of collective messages, in a separate context.
pub(super) const BARRIER: Tag = 1;
pub(super) const BCAST: Tag = 2;
pub(super) const REDUCE: Tag = 3;
pub(super) const GATHER: Tag = 4;
pub(super) const SCATTER: Tag = 5;
pub(super) const ALLGATHER: Tag = 6;
pub(super) const ALLTOALL: Tag = 7;
pub(super) const SCAN: Tag = 8;
// Matching engines identify collectives by them.
const _: () = assert!(SCAN == OPERATIONS as Tag);
/// Tag of a communicator's neighbourhood collectives, which always have sequence numbers.
pub(super) const NEIGHBOURS: Tag = 9;

/// Tag of a schedule's first lane, if its lanes have separate tags; those of the other lanes follow.
pub(super) const LANES: Tag = 16;
/// Maximum number of lanes of a schedule.
pub(super) const MAX_LANES: usize = 24;

/// Distance between the tags of consecutive nonblocking collectives on a communicator.
const NUMBERED: Tag = 64;
/// Sequence numbers before the first one is reused: far more than there can be collectives in progress.
const NUMBERS: u32 = 1 << 24;
const _: () = assert!(NEIGHBOURS < LANES && LANES + MAX_LANES as Tag <= NUMBERED);
const _: () = assert!((Tag::MAX / NUMBERED) as u32 > NUMBERS);

/// First tag that no collective uses.
pub const FIRST_FREE_TAG: Tag = (1 + NUMBERS as Tag) * NUMBERED;

/// Returns the tag offset for a communicator's nonblocking collective with this sequence number; all processes start
/// them in the same order. Blocking ones have no number, and use tags without an offset.
pub(super) fn numbered(number: u32) -> Tag {
    (1 + number % NUMBERS) as Tag * NUMBERED
}

/// One process's schedule in a collective.
pub(super) trait Schedule {
    /// Returns the next step. Call it when the previous step is complete. `None`: this process is done, also in every
    /// later call. With lanes, returns the steps of one lane after the other.
    fn next(&mut self) -> Option<ScheduleStep>;

    /// Returns the lanes that can advance concurrently.
    fn lanes(&mut self) -> LaneConfig {
        LaneConfig::ONE
    }

    /// Returns the next step of one lane. A caller uses either this function for all lanes, or [`Schedule::next`].
    fn next_in(&mut self, lane: usize) -> Option<ScheduleStep> {
        let _ = lane;
        self.next()
    }
}

/// Concurrency of a schedule. The steps of a lane are sequential. Lanes do not wait for each other, and no message of
/// one matches a message of another. Each lane has separate segments.
///
/// A process may run its lanes one after the other while others run theirs concurrently: the steps of lane 0 wait for
/// no other lane of any process, those of lane 1 for lane 0 at most, and so on. So a process that has memory for only
/// one message at a time can still complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneConfig {
    /// Number of lanes, at most [`MAX_LANES`].
    pub(super) count: usize,
    /// Maximum number of concurrent messages of a lane.
    pub(super) messages: usize,
    /// The messages of all processes cross each other in the network, unlike those along lines. Long ones should use
    /// adaptive routes.
    pub(super) cross: bool,
}

impl LaneConfig {
    /// One lane: sequential steps.
    pub(super) const ONE: LaneConfig = LaneConfig {
        count: 1,
        messages: 2,
        cross: false,
    };
}

/// `None` has no steps.
impl<S: Schedule> Schedule for Option<S> {
    fn next(&mut self) -> Option<ScheduleStep> {
        self.as_mut()?.next()
    }

    fn lanes(&mut self) -> LaneConfig {
        self.as_mut().map_or(LaneConfig::ONE, Schedule::lanes)
    }

    fn next_in(&mut self, lane: usize) -> Option<ScheduleStep> {
        self.as_mut()?.next_in(lane)
    }
}

/// A schedule that is selected among several by the rules of docs/collectives.md.
pub(super) trait SelectedSchedule {
    fn selected(&mut self) -> &mut dyn Schedule;
}

impl<C: SelectedSchedule> Schedule for C {
    fn next(&mut self) -> Option<ScheduleStep> {
        self.selected().next()
    }

    fn lanes(&mut self) -> LaneConfig {
        self.selected().lanes()
    }

    fn next_in(&mut self, lane: usize) -> Option<ScheduleStep> {
        self.selected().next_in(lane)
    }
}

/// A step. It completes before the next one begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScheduleStep {
    /// Sends the buffer's bytes.
    Send { dest: CommRank, tag: Tag, data: StepBuffer },
    /// Receives exactly as many bytes as the buffer contains.
    Receive {
        source: CommRank,
        tag: Tag,
        data: StepBuffer,
    },
    /// Sends and receives concurrently.
    Exchange {
        tag: Tag,
        given: (StepBuffer, CommRank),
        taken: (StepBuffer, CommRank),
    },
    /// Sends the same bytes to several ranks, and receives others concurrently.
    Pass {
        tag: Tag,
        /// Another lane sends more to the same ranks and never waits for this one: the acknowledgement may be delayed
        /// and piggybacked.
        followed: bool,
        given: (BufferSlice, DestList),
        taken: Option<(BufferSlice, CommRank)>,
    },
    /// The other segment becomes `left` op itself, element by element, in this many bytes.
    Combine { left: SegmentHalf, bytes: usize },
    /// Copies a span, at most as long as a segment, to the beginning of a segment.
    Load { from: BufferSlice, to: SegmentHalf },
    /// Copies the beginning of a segment to a span of at most its length.
    Store { from: SegmentHalf, to: BufferSlice },
    /// Copies a span to another one, which must be as long.
    Copy { from: BufferSlice, to: BufferSlice },
}

/// Destinations to which a process forwards data.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct DestList {
    ranks: [Option<CommRank>; DestList::MAX],
}

impl DestList {
    /// Maximum number of destinations.
    pub(super) const MAX: usize = 3;

    /// Adds a destination.
    pub(super) fn push(&mut self, dest: CommRank) {
        let free = self.ranks.iter_mut().find(|rank| rank.is_none());
        *free.expect("a place for each") = Some(dest);
    }

    pub(super) fn iter(self) -> impl Iterator<Item = CommRank> {
        self.ranks.into_iter().flatten()
    }

    pub(super) fn map(self, name: impl Fn(CommRank) -> CommRank) -> DestList {
        DestList {
            ranks: self.ranks.map(|rank| rank.map(&name)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranks[0].is_none()
    }
}

/// Location of a message's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepBuffer {
    /// In the program's memory.
    User(BufferSlice),
    /// This many bytes from the beginning of a segment.
    Segment(SegmentHalf, usize),
}

/// One of the two segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SegmentHalf {
    First,
    Second,
}

impl SegmentHalf {
    pub(super) fn other(self) -> SegmentHalf {
        match self {
            SegmentHalf::First => SegmentHalf::Second,
            SegmentHalf::Second => SegmentHalf::First,
        }
    }

    /// Returns this one of both, and the other.
    pub(super) fn and_other<T>(self, both: &mut [T; 2]) -> (&mut T, &mut T) {
        let [first, second] = both;
        match self {
            SegmentHalf::First => (first, second),
            SegmentHalf::Second => (second, first),
        }
    }
}

/// A process among those of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RankInfo {
    pub(super) own: u32,
    pub(super) size: u32,
    /// Box of the torus that they form, if the schedule uses it.
    pub(super) grid: Option<TorusBox>,
}

impl RankInfo {
    /// Returns the ranks without the box.
    pub(super) fn from_comm(comm: Communicator<'_>) -> RankInfo {
        RankInfo {
            own: comm.rank(),
            size: comm.size(),
            grid: None,
        }
    }

    /// Returns the ranks with the box that they form.
    pub(super) fn placed(comm: Communicator<'_>) -> RankInfo {
        RankInfo {
            grid: comm.grid(),
            ..RankInfo::from_comm(comm)
        }
    }

    /// Returns the rank at `distance` forward on the ring of all ranks; `distance` is at most the size.
    pub(super) fn after(self, distance: u32) -> CommRank {
        CommRank((self.own + distance) % self.size)
    }

    /// Returns the rank at `distance` backward.
    pub(super) fn before(self, distance: u32) -> CommRank {
        CommRank((self.own + self.size - distance) % self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_with_other_numbers_have_other_tags_until_the_numbers_begin_again() {
        let last = LANES + MAX_LANES as Tag - 1;
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
