//! Barriers (MPI-3.1 section 5.3).

use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::mpi::call::block_on;
use crate::mpi::coll::BARRIER;
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Every process has called it before any leaves. That of all processes goes along the lines of the torus
/// where the network has them ([`crate::device::barrier`]), others by dissemination.
pub(crate) fn barrier(comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
    if comm.is_world() && along_lines(comm, function) {
        return Ok(());
    }
    let comm = comm.for_collectives();
    let (rank, size) = (comm.rank(), comm.size());
    let mut distance = 1;
    while distance < size {
        let to = (rank + distance) % size;
        let from = (rank + size - distance) % size;
        comm.sendrecv_span(
            function,
            (Span::EMPTY, CommRank(to), BARRIER),
            (Span::EMPTY, Some(CommRank(from)), Some(BARRIER)),
        )?;
        distance *= 2;
    }
    Ok(())
}

/// The barrier of all processes; false, and nothing done, when the network does not offer it: to all of them
/// or to none.
fn along_lines(comm: Communicator<'_>, function: &'static str) -> bool {
    let mut entered = false;
    let note = CallNote {
        function,
        peer: None,
        tag: None,
    };
    block_on(comm.env(), note, |adi, kernel| {
        if !entered {
            // The first step of a job tells what the network offers.
            kernel.poll(adi);
            if !adi.has_barrier() {
                return Some(false);
            }
            adi.enter_barrier();
            entered = true;
        }
        adi.leave_barrier().then_some(true)
    })
}
