//! Schedules of one group and one process of the other group, the guest.
//!
//! The schedule uses ranks 0 to n - 1 for the group, and n for the guest. A party maps these ranks to the ranks among
//! all processes of the intercommunicator.
#![forbid(unsafe_code)]

use core::ops::Range;

use crate::coll::schedule::{Buffer, REDUCE, Ranks, Schedule, Step};
use crate::coll::segments::Walk;
use crate::comm::CommRank;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Rank mapping of a group and its guest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::coll) struct Party {
    /// Ranks of the group among all.
    group: Range<u32>,
    /// Rank of the guest among all.
    guest: CommRank,
    /// Rank of this process in the party.
    own: u32,
}

impl Party {
    /// Creates the party of a group in which this process is the guest.
    pub(in crate::coll) fn guest(group: Range<u32>, guest: CommRank) -> Party {
        let own = group.end - group.start;
        Party { group, guest, own }
    }

    /// Creates the party of this process's group and a guest.
    pub(in crate::coll) fn member(group: Range<u32>, guest: CommRank, own: CommRank) -> Party {
        let own = own.0 - group.start;
        Party { group, guest, own }
    }

    /// Returns the ranks of the party: the group's, then the guest's.
    pub(in crate::coll) fn all(&self) -> Ranks {
        Ranks {
            own: self.own,
            size: self.guest_rank().0 + 1,
            grid: None,
        }
    }

    /// Returns the ranks of this process's group only.
    pub(in crate::coll) fn members(&self) -> Ranks {
        Ranks {
            own: self.own,
            size: self.guest_rank().0,
            grid: None,
        }
    }

    /// Returns the guest's rank in the party.
    pub(in crate::coll) fn guest_rank(&self) -> CommRank {
        CommRank(self.group.end - self.group.start)
    }

    /// Converts a rank of the party to the rank among all.
    pub(in crate::coll) fn rank(&self, rank: CommRank) -> CommRank {
        if rank == self.guest_rank() {
            self.guest
        } else {
            CommRank(self.group.start + rank.0)
        }
    }

    /// Converts a step in the party to a step among all.
    pub(in crate::coll) fn step(&self, step: Step) -> Step {
        match step {
            Step::Send { dest, tag, data } => Step::Send {
                dest: self.rank(dest),
                tag,
                data,
            },
            Step::Receive { source, tag, data } => Step::Receive {
                source: self.rank(source),
                tag,
                data,
            },
            Step::Exchange { tag, given, taken } => Step::Exchange {
                tag,
                given: (given.0, self.rank(given.1)),
                taken: (taken.0, self.rank(taken.1)),
            },
            Step::Pass {
                tag,
                followed,
                given,
                taken,
            } => Step::Pass {
                tag,
                followed,
                given: (given.0, given.1.map(|dest| self.rank(dest))),
                taken: taken.map(|(area, source)| (area, self.rank(source))),
            },
            Step::Combine { .. } | Step::Load { .. } | Step::Store { .. } | Step::Copy { .. } => {
                step
            }
        }
    }
}

/// A schedule that uses the ranks of a party.
pub(in crate::coll) struct InParty<S> {
    schedule: S,
    party: Party,
}

impl<S: Schedule> InParty<S> {
    pub(in crate::coll) fn new(schedule: S, party: Party) -> Self {
        InParty { schedule, party }
    }
}

impl<S: Schedule> Schedule for InParty<S> {
    fn next(&mut self) -> Option<Step> {
        let step = self.schedule.next()?;
        Some(self.party.step(step))
    }
}

/// The guest's schedule in a reduce of the group: it receives the result from rank 0, segment by segment.
pub(in crate::coll) struct Collect {
    result: BufferSlice,
    walk: Walk,
}

impl Collect {
    pub(in crate::coll) fn new(result: BufferSlice, element: usize) -> Collect {
        Collect {
            result,
            walk: Walk::new(result.len(), element),
        }
    }
}

impl Schedule for Collect {
    fn next(&mut self) -> Option<Step> {
        let data = Buffer::User(self.walk.part(self.result)?);
        self.walk.advance();
        Some(Step::Receive {
            source: CommRank(0),
            tag: REDUCE,
            data,
        })
    }
}
