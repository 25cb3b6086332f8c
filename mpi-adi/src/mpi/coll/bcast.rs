//! Broadcast (MPI-3.1 section 5.4).

use crate::device::memory::Span;
use crate::mpi::coll::BCAST;
use crate::mpi::coll::transfer::{receive, send};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// The root's span to every process's.
pub(crate) fn bcast(
    comm: Communicator<'_>,
    function: &'static str,
    span: Span,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    let comm = comm.for_collectives();
    let size = comm.size();
    let relative = (comm.rank() + size - root.0) % size;
    let absolute = |relative: u32| CommRank((relative + root.0) % size);
    // The parent differs from us in our lowest set bit; the children in the bits below it.
    let mut bit = 1;
    while bit < size && relative & bit == 0 {
        bit *= 2;
    }
    if relative != 0 {
        receive(comm, function, span, absolute(relative - bit), BCAST)?;
    }
    while bit > 1 {
        bit /= 2;
        if relative + bit < size {
            send(comm, function, span, absolute(relative + bit), BCAST)?;
        }
    }
    Ok(())
}
