//! Contexts of messages: what communicators and intercommunicators have in common.

use alloc::rc::Rc;

use super::Rank;
use super::group::GroupRelation;
use super::record::CommRecord;
use crate::attribute::CommAttribute;
use crate::info::Info;
use midplane_device::envelope;
use midplane_objects::error::Error;

/// MPI_UNDEFINED, as in `mpi.h`.
pub(super) const UNDEFINED_COLOR: i64 = -32766;

/// Context of messages: a [`Communicator`](super::Communicator) or an [`InterCommunicator`](super::InterCommunicator).
pub trait Context {
    /// Returns its record.
    #[doc(hidden)]
    fn record(&self) -> &CommRecord;

    /// Returns the attached value of this type (MPI_Comm_get_attr, MPI-3.1 section 6.7.2). Does not block.
    fn get_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().attributes.get()
    }

    /// Removes the attached value of this type (MPI_Comm_delete_attr, MPI-3.1 section 6.7.2). Does not block.
    fn delete_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().attributes.remove()
    }

    /// Sets hints (MPI_Comm_set_info, MPI-3.1 section 6.4.4), all of which this library ignores. Replaces the info
    /// argument of C's graph constructors, too. Does not block.
    fn set_info(&self, info: &Info) {
        let _ = info;
    }

    /// Returns the hints in use (MPI_Comm_get_info, MPI-3.1 section 6.4.4): none. Does not block.
    fn get_info(&self) -> Info {
        Info::new()
    }

    ends_the_job! {
        "mpi::topology::Context", [fn(&self)], self.record().here;

        /// Attaches a value, which replaces and drops one of the same type (MPI_Comm_set_attr, MPI-3.1 section 6.7.2).
        ///
        /// The value is dropped with the communicator; that of a predefined communicator is dropped as the first step
        /// of MPI_Finalize. Several values are dropped in the reverse order of setting. Allocates the value and a list
        /// entry from the program's heap, and aborts the job when it has no space. Does not block.
        set_attr[A: CommAttribute](value: A), "MPI_Comm_set_attr";
        /// [`set_attr`](Context::set_attr) that returns [`Error::NoSpace`] when the list cannot grow.
        or try_set_attr = self.record().attributes.set(value);
    }
}

/// A context that can be duplicated: a communicator or an intercommunicator.
pub trait DuplicableContext: Context + Sized {
    /// Creates a duplicate of `parent` with this context. Returns [`Error::NoSpace`] when the heap is full.
    #[doc(hidden)]
    fn duplicate_in(parent: &CommRecord, context: envelope::Context) -> Result<Self, Error>;
}

/// Part of a communicator or an intercommunicator.
pub trait AsCommunicator {
    /// The communicator's type.
    type Out: Context;
    /// Returns the communicator.
    fn as_communicator(&self) -> &Self::Out;
}

/// A process's color in [`Communicator::split_by_color`](super::Communicator::split_by_color).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Color(pub(super) Option<u32>);

impl Color {
    /// Returns the color of processes without a new communicator (MPI_UNDEFINED).
    pub fn undefined() -> Color {
        Color(None)
    }

    /// Returns the color with this value.
    ///
    /// # Panics
    /// When the value is negative.
    pub fn with_value(value: i32) -> Color {
        let value = u32::try_from(value);
        Color(Some(value.expect("the value of a color is not negative")))
    }
}

/// Sort key of processes with the same color.
pub type Key = i32;

/// Relation of two communicators (MPI-3.1 section 6.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommunicatorRelation {
    /// The same communicator.
    Identical,
    /// The same processes in the same order, but a different context.
    Congruent,
    /// The same processes in a different order.
    Similar,
    /// Different processes.
    Unequal,
}

impl From<GroupRelation> for CommunicatorRelation {
    /// Returns the relation of two different communicators, from that of their groups.
    fn from(groups: GroupRelation) -> Self {
        match groups {
            GroupRelation::Identical => CommunicatorRelation::Congruent,
            GroupRelation::Similar => CommunicatorRelation::Similar,
            GroupRelation::Unequal => CommunicatorRelation::Unequal,
        }
    }
}

/// # Panics
/// When `size` processes do not include this rank.
#[track_caller]
pub(super) fn check_rank(rank: Rank, size: Rank, of: &str) {
    let is_there = (0..size).contains(&rank);
    assert!(
        is_there,
        "there is no rank {rank}: the {of} has ranks 0 to {}",
        size - 1
    );
}
