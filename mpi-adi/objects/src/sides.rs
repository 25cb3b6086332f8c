//! The two groups of an intercommunicator, as one of their processes sees them (MPI-3.1 section 6.6).
//!
//! All processes of both groups have the same list: the members of the first group and, behind them, those of the
//! second. Which group is the first is agreed when the intercommunicator is made. A process is in one of
//! them, its local group; the other one is remote to it.
//!
//! ```text
//!     list        a0 a1 a2 | b0 b1         all(): ranks 0 to 4, for collectives of both groups
//!     for an a    local(): a0 a1 a2        remote(): b0 b1
//!     for a b     local(): b0 b1           remote(): a0 a1 a2
//! ```
//!
//! Three types keep apart what a rank is of: a [`Membership`] of the local group or of all, of which this process is
//! a member, and a [`Group`] that is remote, of which it is not, and which is for point to point alone. One context
//! serves both groups: a message in it is either from a process of one group to one of the other, or, with the
//! bit for collectives, between any two.
#![forbid(unsafe_code)]

use core::ops::Range;

use crate::comm::{CommRank, Communicator, Group, Membership, RankMap};
use crate::error::Error;
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};

/// An intercommunicator without its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides<'e> {
    /// The processes of both groups, by their numbers in the job.
    pub list: &'e [Rank],
    /// How many of them are in the first group.
    pub first: u32,
    /// This process's rank among all.
    pub rank: CommRank,
    /// Context of the messages.
    pub context: Context,
}

/// Which ranks among all each group has, and this process: all that a collective has to know, without the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Halves {
    /// How many ranks are the first group's.
    pub first: u32,
    /// Number of processes of both groups.
    pub all: u32,
    /// This process's rank among all.
    pub rank: CommRank,
}

impl Halves {
    /// This process is in the first group.
    pub fn is_first(self) -> bool {
        self.rank.0 < self.first
    }

    /// The ranks of the local group among all.
    pub fn local_ranks(self) -> Range<u32> {
        self.ranks_of(self.is_first())
    }

    /// The ranks of the remote group among all.
    pub fn remote_ranks(self) -> Range<u32> {
        self.ranks_of(!self.is_first())
    }

    /// How many processes the remote group has.
    pub fn remote_size(self) -> usize {
        self.remote_ranks().len()
    }

    fn ranks_of(self, first: bool) -> Range<u32> {
        match first {
            true => 0..self.first,
            false => self.first..self.all,
        }
    }

    /// The error with a process's rank in its group in place of that among all, which the program does not know.
    pub fn explained(self, error: Error) -> Error {
        let Error::CountsDiffer {
            rank,
            expected,
            given,
        } = error
        else {
            return error;
        };
        let (local, remote) = (self.local_ranks(), self.remote_ranks());
        match remote.contains(&rank) {
            true => Error::RemoteDiffers {
                rank: rank - remote.start,
                expected,
                given,
            },
            false => Error::LocalDiffers {
                rank: rank - local.start,
                expected,
                given,
            },
        }
    }
}

impl<'e> Sides<'e> {
    /// It without the list.
    pub fn halves(self) -> Halves {
        Halves {
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

    /// The processes of the local group, by their numbers in the job.
    pub fn local_members(self) -> &'e [Rank] {
        self.members(&self.local_ranks())
    }

    /// The processes of the remote group, by their numbers in the job.
    pub fn remote_members(self) -> &'e [Rank] {
        self.members(&self.remote_ranks())
    }

    /// The processes of both groups.
    pub fn all(self) -> Membership<'e> {
        Membership {
            map: RankMap::List(self.list),
            context: self.context,
            rank: self.rank,
            size: self.list.len() as u32,
            grid: None,
        }
    }

    /// The group that this process is in.
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

    /// The other group.
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
    pub sides: Sides<'e>,
}

impl Clone for Intercommunicator<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Intercommunicator<'_> {}

impl<'e> Intercommunicator<'e> {
    /// The processes of both groups, whose collectives are this one's.
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
            let sides = Sides {
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
            assert_eq!(
                (local.size as usize, local.to_world(local.rank)),
                (mine.len(), *world)
            );
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
