//! Groups of processes (MPI-3.1 section 6.3).
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::Rank;
use crate::device::envelope;
use crate::mpi::error::Error;
use crate::mpi::group::{self, Comparison, Members};
use crate::rust::fatal;

/// A group that every program has: the empty one.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemGroup(());

impl SystemGroup {
    /// Without processes (MPI_GROUP_EMPTY).
    pub fn empty() -> SystemGroup {
        SystemGroup(())
    }
}

/// A group that the program has made, in its heap.
#[derive(Clone, Debug)]
pub struct UserGroup(pub(super) Vec<envelope::Rank>, pub(super) envelope::Rank);

/// How two groups compare (MPI-3.1 section 6.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupRelation {
    /// The same processes in the same order.
    Identical,
    /// The same processes in another order.
    Similar,
    /// Other processes.
    Unequal,
}

/// Processes in an order (MPI-3.1 section 6.3). No call on a group blocks; those that make one end the job when the
/// program's heap has no room for the list.
pub trait Group {
    /// Its processes, by their numbers in the job.
    #[doc(hidden)]
    fn members(&self) -> &[envelope::Rank];

    /// The process that asks, if the group knows.
    #[doc(hidden)]
    fn own(&self) -> Option<envelope::Rank>;

    /// Its processes and, behind them, those of the other that are not among them (MPI_Group_union).
    fn union<G: Group + ?Sized>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        made(
            self,
            Some(other.own()),
            "MPI_Group_union",
            group::union(self.members(), other.members()),
        )
    }

    /// Those of its processes that the other has, too (MPI_Group_intersection).
    fn intersection<G: Group + ?Sized>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let members = group::select(self.members(), other.members(), true);
        made(self, Some(other.own()), "MPI_Group_intersection", members)
    }

    /// Those of its processes that the other does not have (MPI_Group_difference).
    fn difference<G: Group + ?Sized>(&self, other: &G) -> UserGroup
    where
        Self: Sized,
    {
        let members = group::select(self.members(), other.members(), false);
        made(self, Some(other.own()), "MPI_Group_difference", members)
    }

    /// The processes with these ranks, in this order (MPI_Group_incl). Ends the job for a rank that the group does not
    /// have, or that is there twice.
    fn include(&self, ranks: &[Rank]) -> UserGroup {
        let members = self.members();
        let listed = group::listed(members.len(), ranks);
        let chosen = listed.map(|ranks| ranks.iter().map(|rank| members[*rank as usize]).collect());
        made(self, None, "MPI_Group_incl", chosen)
    }

    /// The processes without these ranks (MPI_Group_excl). Ends the job as [`include`](Group::include).
    fn exclude(&self, ranks: &[Rank]) -> UserGroup {
        let members = self.members();
        let left = group::listed(members.len(), ranks).and_then(|ranks| {
            let mut left = Members::with_room(members.len())?;
            let each = members.iter().zip(0..);
            left.append(
                each.filter(|(_, rank)| !ranks.contains(rank))
                    .map(|(member, _)| *member),
            );
            Ok(left.done())
        });
        made(self, None, "MPI_Group_excl", left)
    }

    /// How many processes there are (MPI_Group_size).
    fn size(&self) -> Rank {
        self.members().len() as Rank
    }

    /// The rank of the process that asks; `None`: it is not in the group (MPI_Group_rank).
    fn rank(&self) -> Option<Rank> {
        let own = self.own()?;
        rank_in(self.members(), own)
    }

    /// The rank in another group of a process of this one; `None`: it is not in that (MPI_Group_translate_ranks).
    ///
    /// # Panics
    /// When this group has no such rank.
    fn translate_rank<G: Group + ?Sized>(&self, rank: Rank, other: &G) -> Option<Rank>
    where
        Self: Sized,
    {
        rank_in(other.members(), self.members()[rank as usize])
    }

    /// As [`translate_rank`](Group::translate_rank), for several.
    ///
    /// # Panics
    /// As there.
    fn translate_ranks<G: Group + ?Sized>(&self, ranks: &[Rank], other: &G) -> Vec<Option<Rank>>
    where
        Self: Sized,
    {
        ranks
            .iter()
            .map(|rank| self.translate_rank(*rank, other))
            .collect()
    }

    /// How it compares with another (MPI_Group_compare).
    fn compare<G: Group + ?Sized>(&self, other: &G) -> GroupRelation
    where
        Self: Sized,
    {
        match group::compare(self.members(), other.members()) {
            Comparison::Identical => GroupRelation::Identical,
            Comparison::Similar => GroupRelation::Similar,
            Comparison::Unequal => GroupRelation::Unequal,
        }
    }
}

fn rank_in(members: &[envelope::Rank], process: envelope::Rank) -> Option<Rank> {
    let place = members.iter().position(|member| *member == process);
    place.map(|rank| rank as Rank)
}

fn made<G: Group + ?Sized>(
    of: &G,
    other: Option<Option<envelope::Rank>>,
    function: &'static str,
    members: Result<Vec<envelope::Rank>, Error>,
) -> UserGroup {
    let own = of.own().or(other.flatten());
    // Only the empty group does not know, and no process is in it.
    UserGroup(
        fatal(function, members),
        own.unwrap_or(envelope::Rank::new(0)),
    )
}

impl Group for SystemGroup {
    fn members(&self) -> &[envelope::Rank] {
        &[]
    }

    fn own(&self) -> Option<envelope::Rank> {
        None
    }
}

impl Group for UserGroup {
    fn members(&self) -> &[envelope::Rank] {
        &self.0
    }

    fn own(&self) -> Option<envelope::Rank> {
        Some(self.1)
    }
}
