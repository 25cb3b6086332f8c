//! Groups of processes (MPI-3.1 section 6.3).

use alloc::vec::Vec;

use super::Rank;
use crate::Count;
use midplane_device::envelope;
use midplane_objects::error::Error;
use midplane_objects::group;

/// Predefined group: the empty one.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemGroup(());

impl SystemGroup {
    /// Returns the empty group (MPI_GROUP_EMPTY).
    pub fn empty() -> SystemGroup {
        SystemGroup(())
    }
}

/// Group created by the program, in its heap.
#[derive(Clone, Debug)]
pub struct UserGroup(pub(super) Vec<envelope::Rank>, pub(super) envelope::Rank);

pub use midplane_objects::group::GroupComparison as GroupRelation;

/// Ordered set of processes (MPI-3.1 section 6.3). No call blocks. The calls that create a group abort the job when the
/// program's heap has no space for the list.
pub trait Group {
    /// Returns its processes, by world rank.
    #[doc(hidden)]
    fn members(&self) -> &[envelope::Rank];

    /// Returns the calling process, if the group stores it.
    #[doc(hidden)]
    fn own(&self) -> Option<envelope::Rank>;

    /// Returns the number of processes (MPI_Group_size).
    fn size(&self) -> Rank {
        self.members().len() as Rank
    }

    /// Returns the rank of the calling process, or `None` if it is not in the group (MPI_Group_rank).
    fn rank(&self) -> Option<Rank> {
        let own = self.own()?;
        rank_in(self.members(), own)
    }

    /// Returns the rank of a process in another group, or `None` if it is not in that group
    /// (MPI_Group_translate_ranks).
    ///
    /// # Panics
    /// When this group has no such rank.
    fn translate_rank<G: Group + ?Sized>(&self, rank: Rank, other: &G) -> Option<Rank>
    where
        Self: Sized,
    {
        rank_in(other.members(), self.members()[rank as usize])
    }

    /// [`translate_rank`](Group::translate_rank) for several ranks.
    ///
    /// # Panics
    /// When this group does not contain a rank.
    fn translate_ranks<G: Group + ?Sized>(&self, ranks: &[Rank], other: &G) -> Vec<Option<Rank>>
    where
        Self: Sized,
    {
        ranks.iter().map(|rank| self.translate_rank(*rank, other)).collect()
    }

    /// Compares two groups (MPI_Group_compare).
    fn compare<G: Group + ?Sized>(&self, other: &G) -> GroupRelation
    where
        Self: Sized,
    {
        group::compare(self.members(), other.members())
    }

    ends_the_job! {
        "mpi::topology::Group", [fn(&self)], crate::NoObject;

        /// Returns its processes, followed by those of the other group that it does not contain (MPI_Group_union).
        union[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_union";
        /// [`union`](Group::union) that returns [`Error::NoSpace`].
        or try_union = made(self.own().or(other.own()), group::union(self.members(), other.members()));

        /// Returns its processes that the other group contains, too (MPI_Group_intersection).
        intersection[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_intersection";
        /// [`intersection`](Group::intersection) that returns [`Error::NoSpace`].
        or try_intersection =
            made(self.own().or(other.own()), group::select(self.members(), other.members(), true));

        /// Returns its processes that the other group does not contain (MPI_Group_difference).
        difference[G: Group + ?Sized](other: &G) -> UserGroup where [Self: Sized], "MPI_Group_difference";
        /// [`difference`](Group::difference) that returns [`Error::NoSpace`].
        or try_difference =
            made(self.own().or(other.own()), group::select(self.members(), other.members(), false));

        /// Returns the processes with these ranks, in this order (MPI_Group_incl). Aborts the job where
        /// [`try_include`](Group::try_include) fails.
        include[](ranks: &[Rank]) -> UserGroup, "MPI_Group_incl";
        /// [`include`](Group::include) that returns its error: [`Error::Rank`] for a rank outside the group,
        /// [`Error::Argument`] for a duplicate, or [`Error::NoSpace`].
        or try_include = picked(self, group::listed(self.members().len(), ranks), true);

        /// Returns the processes without these ranks (MPI_Group_excl). Aborts the job like [`include`](Group::include).
        exclude[](ranks: &[Rank]) -> UserGroup, "MPI_Group_excl";
        /// [`exclude`](Group::exclude) that returns the errors of [`try_include`](Group::try_include).
        or try_exclude = picked(self, group::listed(self.members().len(), ranks), false);

        /// Returns the processes of these ranges of ranks, in this order (MPI_Group_range_incl). Each range contains a
        /// first rank, a limit, and a stride, which can be negative. Aborts the job where
        /// [`try_include_ranges`](Group::try_include_ranges) fails.
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::topology::UserGroup;
        /// use mpi::traits::*;
        ///
        /// /// Returns the processes of even ranks, followed by those of odd ranks in descending order.
        /// fn even_and_odd(world: &impl Communicator) -> UserGroup {
        ///     let last = world.size() - 1;
        ///     let odd = last - (last + 1) % 2;
        ///     world.group().include_ranges(&[(0, last, 2), (odd, 1, -2)])
        /// }
        /// ```
        include_ranges[](ranges: &[(Rank, Rank, Count)]) -> UserGroup, "MPI_Group_range_incl";
        /// [`include_ranges`](Group::include_ranges) that returns the errors of [`try_include`](Group::try_include), or
        /// [`Error::Argument`] for a stride of 0.
        or try_include_ranges = picked(self, in_ranges(self, ranges), true);

        /// Returns the processes outside these ranges (MPI_Group_range_excl). Aborts the job like
        /// [`include_ranges`](Group::include_ranges).
        exclude_ranges[](ranges: &[(Rank, Rank, Count)]) -> UserGroup, "MPI_Group_range_excl";
        /// [`exclude_ranges`](Group::exclude_ranges) that returns the errors of
        /// [`try_include_ranges`](Group::try_include_ranges).
        or try_exclude_ranges = picked(self, in_ranges(self, ranges), false);
    }
}

fn rank_in(members: &[envelope::Rank], process: envelope::Rank) -> Option<Rank> {
    let place = members.iter().position(|member| *member == process);
    place.map(|rank| rank as Rank)
}

fn in_ranges(of: &(impl Group + ?Sized), ranges: &[(Rank, Rank, Count)]) -> Result<Vec<u32>, Error> {
    group::ranges(of.members().len(), ranges.iter().copied().map(<[i32; 3]>::from))
}

/// Returns the processes of a group with these ranks, or those without.
fn picked(of: &(impl Group + ?Sized), ranks: Result<Vec<u32>, Error>, wanted: bool) -> Result<UserGroup, Error> {
    made(of.own(), group::pick(of.members(), &ranks?, wanted))
}

fn made(own: Option<envelope::Rank>, members: Result<Vec<envelope::Rank>, Error>) -> Result<UserGroup, Error> {
    // Only the empty group does not store it, and contains no process.
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
