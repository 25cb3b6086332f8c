//! All to all (MPI-3.1 section 5.8).

use crate::device::memory::Span;
use crate::mpi::coll::ALLTOALL;
use crate::mpi::coll::segments::{SEGMENT_BYTES, Segment, copy, read, write};
use crate::mpi::coll::transfer::{exactly, exchange};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Each rank's part for each other: `part` says what goes to a rank, `place` where what comes from it goes.
pub(crate) fn alltoall(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Span,
    place: &dyn Fn(CommRank) -> Span,
) -> Result<(), Error> {
    let comm = comm.for_collectives();
    let (rank, size) = (comm.rank(), comm.size());
    copy(comm, part(comm.own_rank()), place(comm.own_rank()))?;
    for distance in 1..size {
        let to = CommRank((rank + distance) % size);
        let from = CommRank((rank + size - distance) % size);
        exchange(
            comm,
            function,
            (part(to), to),
            (place(from), from),
            ALLTOALL,
        )?;
    }
    Ok(())
}

/// As [`alltoall`] where `place` holds both what goes to a rank and, afterwards, what came from it. Goes by
/// segments, so that no copy of a part is needed.
pub(crate) fn alltoall_in_place(
    comm: Communicator<'_>,
    function: &'static str,
    place: &dyn Fn(CommRank) -> Span,
) -> Result<(), Error> {
    let comm = comm.for_collectives();
    let (rank, size) = (comm.rank(), comm.size());
    let (mut given, mut taken) = (Segment::ZERO, Segment::ZERO);
    // In each round every process has one partner (or itself): two ranks whose sum is the round's number.
    for round in 0..size {
        let peer = CommRank((round + size - rank) % size);
        if peer == comm.own_rank() {
            continue;
        }
        let span = place(peer);
        let mut offset = 0;
        while offset < span.len() {
            let bytes = SEGMENT_BYTES.min(span.len() - offset);
            let (given, taken) = (&mut given.0[..bytes], &mut taken.0[..bytes]);
            read(comm, span, offset, given);
            let result = comm.sendrecv_bytes(
                function,
                (given, peer, ALLTOALL),
                (taken, Some(peer), Some(ALLTOALL)),
            );
            exactly(bytes, result)?;
            write(comm, span, offset, taken);
            offset += bytes;
        }
    }
    Ok(())
}
