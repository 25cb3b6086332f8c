//! The two groups of an intercommunicator, from the viewpoint of one of their processes (MPI-3.1 section 6.6).
//!
//! All processes of both groups store the same list: the members of the first group, then those of the second. The
//! order is agreed at creation. A process is in one of them, its local group; the other is its remote group.
//!
//! ```text
//!     list        a0 a1 a2 | b0 b1         all(): ranks 0 to 4, for collectives of both groups
//!     for an a    local(): a0 a1 a2        remote(): b0 b1
//!     for a b     local(): b0 b1           remote(): a0 a1 a2
//! ```
//!
//! The uses of a rank have separate types. A [`Membership`] of the local group or of all contains this process. A
//! remote [`Group`] does not contain it, and supports point to point only. One context serves both groups. A message in
//! it is either between a process of one group and one of the other or, with the bit for collectives, between any two.
#![forbid(unsafe_code)]

use core::ops::Range;

use crate::comm::{CommRank, Communicator, Group, Membership, RankMap};
use crate::error::Error;
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};

/// An intercommunicator without its environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterGroups<'e> {
    /// World ranks of the processes of both groups.
    pub list: &'e [Rank],
    /// Number of processes in the first group.
    pub first: u32,
    /// Rank of this process among all.
    pub rank: CommRank,
    /// Context of the messages.
    pub context: Context,
}

/// Rank ranges of the two groups and this process's rank among all; sufficient for collectives, without the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupRanges {
    /// Number of ranks in the first group.
    pub first: u32,
    /// Number of processes of both groups.
    pub all: u32,
    /// Rank of this process among all.
    pub rank: CommRank,
}

impl GroupRanges {
    /// Checks whether this process is in the first group.
    pub fn is_first(self) -> bool {
        self.rank.0 < self.first
    }

    /// Returns the ranks of the local group among all.
    pub fn local_ranks(self) -> Range<u32> {
        self.ranks_of(self.is_first())
    }

    /// Returns the ranks of the remote group among all.
    pub fn remote_ranks(self) -> Range<u32> {
        self.ranks_of(!self.is_first())
    }

    /// Returns the number of processes in the remote group.
    pub fn remote_size(self) -> usize {
        self.remote_ranks().len()
    }

    fn ranks_of(self, first: bool) -> Range<u32> {
        if first { 0..self.first } else { self.first..self.all }
    }

    /// Converts the rank in an error from the rank among all, unknown to the program, to the rank in its group.
    pub fn explained(self, error: Error) -> Error {
        let Error::CountsDiffer { rank, expected, given } = error else {
            return error;
        };
        let (local, remote) = (self.local_ranks(), self.remote_ranks());
        if remote.contains(&rank) {
            Error::RemoteDiffers {
                rank: rank - remote.start,
                expected,
                given,
            }
        } else {
            Error::LocalDiffers {
                rank: rank - local.start,
                expected,
                given,
            }
        }
    }
}

impl<'e> InterGroups<'e> {
    /// Returns the rank ranges without the list.
    pub fn halves(self) -> GroupRanges {
        GroupRanges {
            first: self.first,
            all: self.list.len() as u32,
            rank: self.rank,
        }
    }

    fn local_ranks(self) -> Range<u32> {
        self.halves().local_ranks()
    }

    fn remote_ranks(self) -> Range<u32> {
        self.halves().remote_ranks()
    }

    fn members(self, ranks: &Range<u32>) -> &'e [Rank] {
        &self.list[ranks.start as usize..ranks.end as usize]
    }

    /// Returns the world ranks of the local group.
    pub fn local_members(self) -> &'e [Rank] {
        self.members(&self.local_ranks())
    }

    /// Returns the world ranks of the remote group.
    pub fn remote_members(self) -> &'e [Rank] {
        self.members(&self.remote_ranks())
    }

    /// Returns the membership in both groups together.
    pub fn all(self) -> Membership<'e> {
        Membership {
            map: RankMap::List(self.list),
            context: self.context,
            rank: self.rank,
            size: self.list.len() as u32,
            grid: None,
        }
    }

    /// Returns the membership in the local group.
    pub fn local(self) -> Membership<'e> {
        let ranks = self.local_ranks();
        Membership {
            map: RankMap::List(self.local_members()),
            context: self.context,
            rank: CommRank(self.rank.0 - ranks.start),
            size: ranks.end - ranks.start,
            grid: None,
        }
    }

    /// Returns the remote group.
    pub fn remote(self) -> Group<'e> {
        let ranks = self.remote_ranks();
        Group {
            map: RankMap::Remote(self.remote_members()),
            context: self.context,
            size: ranks.end - ranks.start,
        }
    }
}

/// An intercommunicator.
pub struct Intercommunicator<'e> {
    /// The process that calls.
    pub env: &'e dyn Env,
    /// The local and the remote group.
    pub sides: InterGroups<'e>,
}

impl Clone for Intercommunicator<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Intercommunicator<'_> {}

impl<'e> Intercommunicator<'e> {
    /// Returns the communicator of both groups, whose collectives are those of the intercommunicator.
    pub fn everyone(self) -> Communicator<'e> {
        Communicator::at(self.env, self.sides.all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_sees_its_own_group_as_local_and_the_other_as_remote() {
        let list = [4, 0, 7, 2, 5].map(Rank::new);
        for (at, world) in list.iter().enumerate() {
            let sides = InterGroups {
                list: &list,
                first: 3,
                rank: CommRank(at as u32),
                context: 6,
            };
            let (mine, others) = if at < 3 {
                (&list[..3], &list[3..])
            } else {
                (&list[3..], &list[..3])
            };
            let (local, remote) = (sides.local(), sides.remote());
            assert_eq!(local.map, RankMap::List(mine));
            assert_eq!((local.size as usize, local.to_world(local.rank)), (mine.len(), *world));
            assert_eq!(
                (remote.map, remote.size as usize),
                (RankMap::Remote(others), others.len())
            );
            assert_eq!(remote.in_group(others[1]), CommRank(1));
            assert_eq!(sides.all().to_world(sides.rank), *world);
            assert_eq!((local.context, remote.context), (6, 6));
        }
    }
}
