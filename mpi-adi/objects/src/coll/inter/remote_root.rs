//! Schedules of one group and one process of the other group, the remote root.
//!
//! The schedule uses ranks 0 to n - 1 for the group, and n for the remote root. A rooted group maps these ranks to the
//! ranks among all processes of the intercommunicator.
#![forbid(unsafe_code)]

use core::ops::Range;

use crate::coll::schedule::{REDUCE, RankInfo, Schedule, ScheduleStep, StepBuffer};
use crate::coll::segments::SegmentWalk;
use crate::comm::CommRank;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Rank mapping of a group and its remote root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::coll) struct RootedGroup {
    /// Ranks of the group among all.
    group: Range<u32>,
    /// Rank of the remote root among all.
    remote_root: CommRank,
    /// Rank of this process in the rooted group.
    own: u32,
}

impl RootedGroup {
    /// Creates the rooted group of a group in which this process is the remote root.
    pub(in crate::coll) fn for_remote_root(group: Range<u32>, remote_root: CommRank) -> RootedGroup {
        let own = group.end - group.start;
        RootedGroup {
            group,
            remote_root,
            own,
        }
    }

    /// Creates the rooted group of this process's group and a remote root.
    pub(in crate::coll) fn for_member(group: Range<u32>, remote_root: CommRank, own: CommRank) -> RootedGroup {
        let own = own.0 - group.start;
        RootedGroup {
            group,
            remote_root,
            own,
        }
    }

    /// Returns the ranks of the rooted group: the group's, then the remote root's.
    pub(in crate::coll) fn all(&self) -> RankInfo {
        RankInfo {
            own: self.own,
            size: self.remote_root_rank().0 + 1,
            grid: None,
        }
    }

    /// Returns the ranks of this process's group only.
    pub(in crate::coll) fn members(&self) -> RankInfo {
        RankInfo {
            own: self.own,
            size: self.remote_root_rank().0,
            grid: None,
        }
    }

    /// Returns the remote root's rank in the rooted group.
    pub(in crate::coll) fn remote_root_rank(&self) -> CommRank {
        CommRank(self.group.end - self.group.start)
    }

    /// Converts a rank of the rooted group to the rank among all.
    pub(in crate::coll) fn rank(&self, rank: CommRank) -> CommRank {
        if rank == self.remote_root_rank() {
            self.remote_root
        } else {
            CommRank(self.group.start + rank.0)
        }
    }

    /// Converts a step in the rooted group to a step among all.
    pub(in crate::coll) fn step(&self, step: ScheduleStep) -> ScheduleStep {
        match step {
            ScheduleStep::Send { dest, tag, data } => ScheduleStep::Send {
                dest: self.rank(dest),
                tag,
                data,
            },
            ScheduleStep::Receive { source, tag, data } => ScheduleStep::Receive {
                source: self.rank(source),
                tag,
                data,
            },
            ScheduleStep::Exchange { tag, given, taken } => ScheduleStep::Exchange {
                tag,
                given: (given.0, self.rank(given.1)),
                taken: (taken.0, self.rank(taken.1)),
            },
            ScheduleStep::Pass {
                tag,
                followed,
                given,
                taken,
            } => ScheduleStep::Pass {
                tag,
                followed,
                given: (given.0, given.1.map(|dest| self.rank(dest))),
                taken: taken.map(|(area, source)| (area, self.rank(source))),
            },
            ScheduleStep::Combine { .. }
            | ScheduleStep::Load { .. }
            | ScheduleStep::Store { .. }
            | ScheduleStep::Copy { .. } => step,
        }
    }
}

/// A schedule that uses the ranks of a rooted group.
pub(in crate::coll) struct InRootedGroup<S> {
    schedule: S,
    rooted_group: RootedGroup,
}

impl<S: Schedule> InRootedGroup<S> {
    pub(in crate::coll) fn new(schedule: S, rooted_group: RootedGroup) -> Self {
        InRootedGroup { schedule, rooted_group }
    }
}

impl<S: Schedule> Schedule for InRootedGroup<S> {
    fn next(&mut self) -> Option<ScheduleStep> {
        let step = self.schedule.next()?;
        Some(self.rooted_group.step(step))
    }
}

/// The remote root's schedule in a reduce of the group: it receives the result from rank 0, segment by segment.
pub(in crate::coll) struct RemoteCollect {
    result: BufferSlice,
    walk: SegmentWalk,
}

impl RemoteCollect {
    pub(in crate::coll) fn new(result: BufferSlice, element: usize) -> RemoteCollect {
        RemoteCollect {
            result,
            walk: SegmentWalk::new(result.len(), element),
        }
    }
}

impl Schedule for RemoteCollect {
    fn next(&mut self) -> Option<ScheduleStep> {
        let data = StepBuffer::User(self.walk.part(self.result)?);
        self.walk.advance();
        Some(ScheduleStep::Receive {
            source: CommRank(0),
            tag: REDUCE,
            data,
        })
    }
}
