//! Lengths of the arrays of counts in calls of collectives, for the Fortran binding: it converts these arrays.

use core::ffi::c_int;

use crate::comm_objects;
use crate::comm_state;
use crate::types::constants::MPI_ROOT;
use midplane_objects::topology::NeighbourLists;

/// Arrays of counts that a collective reads (MPI-3.1 chapters 5 and 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountArray {
    /// One item for each process of this process's group.
    OwnGroup,
    /// One item for each partner: the processes of the communicator, or of the remote group of an intercommunicator.
    Partners,
    /// As [`CountArray::Partners`] at this root, and none elsewhere.
    PartnersAtRoot(c_int),
    /// One item for each neighbour that sends to this process.
    Sources,
    /// One item for each neighbour that this process sends to.
    Destinations,
}

/// Returns the length of an array in a call on `comm`; 0 if the call will be rejected, or does not read the array. Does
/// not block.
#[must_use]
pub fn array_length(comm: c_int, array: CountArray) -> usize {
    let Some(views) = comm_objects::views(comm) else {
        return 0;
    };
    let own_rank = views.local.rank;
    let is_root = |root: c_int| match views.inter {
        Some(_) => root == MPI_ROOT,
        None => u32::try_from(root) == Ok(own_rank.0),
    };
    let neighbours = || {
        comm_state::with_topology(views.local.context, |topology| {
            NeighbourLists::from_topology(own_rank, topology)
        })
    };
    match array {
        CountArray::OwnGroup => views.local.size as usize,
        CountArray::Partners => views.partners.size as usize,
        CountArray::PartnersAtRoot(root) if is_root(root) => views.partners.size as usize,
        CountArray::PartnersAtRoot(_) => 0,
        CountArray::Sources => neighbours().map_or(0, |lists| lists.sources.len()),
        CountArray::Destinations => neighbours().map_or(0, |lists| lists.destinations.len()),
    }
}
