//! Gather, scatter and allgather (MPI-3.1 sections 5.5 to 5.7).

use crate::device::memory::Span;
use crate::mpi::coll::segments::copy;
use crate::mpi::coll::transfer::{exchange, receive, send};
use crate::mpi::coll::{ALLGATHER, GATHER, SCATTER};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Every process's `data` to the root, where `place` says where each rank's goes. `data` may be the root's own
/// place.
pub(crate) fn gather(
    comm: Communicator<'_>,
    function: &'static str,
    data: Span,
    place: &dyn Fn(CommRank) -> Span,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    let comm = comm.for_collectives();
    if comm.own_rank() != root {
        return send(comm, function, data, root, GATHER);
    }
    copy(comm, data, place(root))?;
    comm.membership()
        .ranks()
        .filter(|rank| *rank != root)
        .try_for_each(|rank| receive(comm, function, place(rank), rank, GATHER))
}

/// The root's parts, where `part` says what each rank gets, to every process's `result`. `result` may be the
/// root's own part.
pub(crate) fn scatter(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Span,
    result: Span,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    let comm = comm.for_collectives();
    if comm.own_rank() != root {
        return receive(comm, function, result, root, SCATTER);
    }
    comm.membership()
        .ranks()
        .filter(|rank| *rank != root)
        .try_for_each(|rank| send(comm, function, part(rank), rank, SCATTER))?;
    copy(comm, part(root), result)
}

/// Every process's `data` to every process, where `place` says where each rank's goes. `data` may be the own place.
pub(crate) fn allgather(
    comm: Communicator<'_>,
    function: &'static str,
    data: Span,
    place: &dyn Fn(CommRank) -> Span,
) -> Result<(), Error> {
    let comm = comm.for_collectives();
    let (rank, size) = (comm.rank(), comm.size());
    copy(comm, data, place(CommRank(rank)))?;
    let (right, left) = (
        CommRank((rank + 1) % size),
        CommRank((rank + size - 1) % size),
    );
    for step in 1..size {
        let given = place(CommRank((rank + size - (step - 1)) % size));
        let taken = place(CommRank((rank + size - step) % size));
        exchange(comm, function, (given, right), (taken, left), ALLGATHER)?;
    }
    Ok(())
}
