//! Groups of processes (MPI-3.1 section 6.3).

use alloc::vec::Vec;

use super::Rank;
use crate::Count;
use midplane_device::envelope;
use midplane_objects::error::Error;
use midplane_objects::group;

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

pub use midplane_objects::group::Comparison as GroupRelation;

/// Processes in an order (MPI-3.1 section 6.3). No call on a group blocks; those that make one end the job when the
/// program's heap has no room for the list.
pub trait Group {
    /// Its processes, by their numbers in the job.
    #[doc(hidden)]
    fn members(&self) -> &[envelope::Rank];

    /// The process that asks, if the group knows.
    #[doc(hidden)]
    fn own(&self) -> Option<envelope::Rank>;

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
        group::compare(self.members(), other.members())
    }

    ends_the_job! {
        "mpi::topology::Group", [fn(&self)], crate::NoObject;

        /// Its processes and, behind them, those of the other that are not among them (MPI_Group_union).
        union[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_union";
        /// As [`union`](Group::union). Fails with [`Error::NoRoom`].
        or try_union = made(self.own().or(other.own()), group::union(self.members(), other.members()));

        /// Those of its processes that the other has, too (MPI_Group_intersection).
        intersection[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_intersection";
        /// As [`intersection`](Group::intersection). Fails with [`Error::NoRoom`].
        or try_intersection =
            made(self.own().or(other.own()), group::select(self.members(), other.members(), true));

        /// Those of its processes that the other does not have (MPI_Group_difference).
        difference[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_difference";
        /// As [`difference`](Group::difference). Fails with [`Error::NoRoom`].
        or try_difference =
            made(self.own().or(other.own()), group::select(self.members(), other.members(), false));

        /// The processes with these ranks, in this order (MPI_Group_incl). Ends the job where
        /// [`try_include`](Group::try_include) fails.
        include[](ranks: &[Rank]) -> UserGroup, "MPI_Group_incl";
        /// As [`include`](Group::include). Fails with [`Error::Rank`] for a rank that the group does not have, with
        /// [`Error::Argument`] for one that is there twice, and with [`Error::NoRoom`].
        or try_include = picked(self, group::listed(self.members().len(), ranks), true);

        /// The processes without these ranks (MPI_Group_excl). Ends the job as [`include`](Group::include).
        exclude[](ranks: &[Rank]) -> UserGroup, "MPI_Group_excl";
        /// As [`exclude`](Group::exclude). Fails as [`try_include`](Group::try_include).
        or try_exclude = picked(self, group::listed(self.members().len(), ranks), false);

        /// The processes of these ranges of ranks, in this order (MPI_Group_range_incl): each range is a first rank, one that it
        /// does not go beyond, and the step from one to the next, which can be below 0. Ends the job where
        /// [`try_include_ranges`](Group::try_include_ranges) fails.
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::topology::UserGroup;
        /// use mpi::traits::*;
        ///
        /// /// The processes of even ranks, and behind them the others, the last one first.
        /// fn even_and_odd(world: &impl Communicator) -> UserGroup {
        ///     let last = world.size() - 1;
        ///     let odd = last - (last + 1) % 2;
        ///     world.group().include_ranges(&[(0, last, 2), (odd, 1, -2)])
        /// }
        /// ```
        include_ranges[](ranges: &[(Rank, Rank, Count)]) -> UserGroup, "MPI_Group_range_incl";
        /// As [`include_ranges`](Group::include_ranges). Fails as [`try_include`](Group::try_include), and with
        /// [`Error::Argument`] for a step of 0.
        or try_include_ranges = picked(self, in_ranges(self, ranges), true);

        /// The processes without those of these ranges (MPI_Group_range_excl). Ends the job as
        /// [`include_ranges`](Group::include_ranges).
        exclude_ranges[](ranges: &[(Rank, Rank, Count)]) -> UserGroup, "MPI_Group_range_excl";
        /// As [`exclude_ranges`](Group::exclude_ranges). Fails as [`try_include_ranges`](Group::try_include_ranges).
        or try_exclude_ranges = picked(self, in_ranges(self, ranges), false);
    }
}

fn rank_in(members: &[envelope::Rank], process: envelope::Rank) -> Option<Rank> {
    let place = members.iter().position(|member| *member == process);
    place.map(|rank| rank as Rank)
}

/// The ranks of a group that these ranges name.
fn in_ranges(
    of: &(impl Group + ?Sized),
    ranges: &[(Rank, Rank, Count)],
) -> Result<Vec<u32>, Error> {
    group::ranges(
        of.members().len(),
        ranges.iter().copied().map(<[i32; 3]>::from),
    )
}

/// Of a group, those with these ranks, which it has, or those without.
fn picked(
    of: &(impl Group + ?Sized),
    ranks: Result<Vec<u32>, Error>,
    wanted: bool,
) -> Result<UserGroup, Error> {
    made(of.own(), group::pick(of.members(), &ranks?, wanted))
}

/// A group, as the process sees it that asks.
fn made(
    own: Option<envelope::Rank>,
    members: Result<Vec<envelope::Rank>, Error>,
) -> Result<UserGroup, Error> {
    // Only the empty group does not know, and no process is in it.
    Ok(UserGroup(members?, own.unwrap_or(envelope::Rank::new(0))))
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
