//! Reductions to one rank, to all, and scattered (MPI-3.1 sections 5.9 and 5.10).

use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::coll::segments::{Segment, copy, read, same_length, segment_bytes, write};
use crate::mpi::coll::transfer::{exactly, receive};
use crate::mpi::coll::{REDUCE, bcast};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::datatype::Basic;
use crate::mpi::error::Error;
use crate::mpi::op::Op;

/// Combines elements: `right[i] = left[i] op right[i]`.
pub(crate) type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// The combining function of a predefined operation. Fails with [`Error::Undefined`].
pub(crate) fn predefined(op: Op, basic: Basic) -> Result<impl FnMut(&[u8], &mut [u8]), Error> {
    if !op.is_defined(basic) {
        return Err(Error::Undefined);
    }
    Ok(move |left: &[u8], right: &mut [u8]| {
        op.combine(basic, left, right)
            .expect("defined, as just checked")
    })
}

/// `right[i] = left[i] op right[i]`, here alone; the two are equally long.
pub(crate) fn combine_local(
    comm: Communicator<'_>,
    left: Span,
    right: Span,
    element: usize,
    combine: &mut Combine<'_>,
) {
    let (mut a, mut b) = (Segment::ZERO, Segment::ZERO);
    let mut offset = 0;
    while offset < left.len() {
        let bytes = segment_bytes(element).min(left.len() - offset);
        let (a, b) = (&mut a.0[..bytes], &mut b.0[..bytes]);
        read(comm, left, offset, a);
        read(comm, right, offset, b);
        combine(a, b);
        write(comm, right, offset, b);
        offset += bytes;
    }
}

/// Combines all processes' `data` along the tree to rank 0, segment by segment; each finished segment is
/// given to `finish` there.
fn to_rank_0(
    comm: Communicator<'_>,
    function: &'static str,
    data: Span,
    element: usize,
    combine: &mut Combine<'_>,
    mut finish: impl FnMut(usize, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let (mut gathered, mut incoming) = (Segment::ZERO, Segment::ZERO);
    let mut offset = 0;
    while offset < data.len() {
        let bytes = segment_bytes(element).min(data.len() - offset);
        let mut gathered = &mut gathered.0[..bytes];
        let mut incoming = &mut incoming.0[..bytes];
        read(comm, data, offset, gathered);
        let mut bit = 1;
        while bit < size && rank & bit == 0 {
            if rank + bit < size {
                let result =
                    comm.recv_bytes(function, incoming, Some(CommRank(rank + bit)), Some(REDUCE));
                exactly(bytes, result)?;
                // What comes is of higher ranks: it stands on the right, and so does the result.
                combine(gathered, incoming);
                core::mem::swap(&mut gathered, &mut incoming);
            }
            bit *= 2;
        }
        if rank == 0 {
            finish(offset, gathered)?;
        } else {
            comm.send_bytes(
                function,
                gathered,
                CommRank(rank - bit),
                REDUCE,
                Mode::Standard,
            )?;
        }
        offset += bytes;
    }
    Ok(())
}

/// Combines all processes' `data` into the root's `result`, which is as long; elsewhere `result` is not used.
/// `result` may be `data`.
pub(crate) fn reduce(
    comm: Communicator<'_>,
    function: &'static str,
    data: Span,
    result: Span,
    element: usize,
    combine: &mut Combine<'_>,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    let comm = comm.for_collectives();
    if comm.own_rank() == root {
        same_length(data.len(), result.len())?;
    }
    if root == CommRank(0) {
        return to_rank_0(comm, function, data, element, combine, |offset, bytes| {
            write(comm, result, offset, bytes);
            Ok(())
        });
    }
    if comm.own_rank() != root {
        return to_rank_0(comm, function, data, element, combine, |_, bytes| {
            comm.send_bytes(function, bytes, root, REDUCE, Mode::Standard)
        });
    }
    // The root gives each of its own segments before it takes the result of that segment; `data` may
    // be `result`, and only what has been given away is overwritten.
    let mut offset = 0;
    while offset < data.len() {
        let bytes = segment_bytes(element).min(data.len() - offset);
        to_rank_0(
            comm,
            function,
            data.part(offset, bytes),
            element,
            combine,
            |_, _| Ok(()),
        )?;
        receive(
            comm,
            function,
            result.part(offset, bytes),
            CommRank(0),
            REDUCE,
        )?;
        offset += bytes;
    }
    Ok(())
}

/// Combines all processes' `data` into every process's `result`, which is as long and may be `data`.
pub(crate) fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    data: Span,
    result: Span,
    element: usize,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    reduce(comm, function, data, result, element, combine, CommRank(0))?;
    bcast(comm, function, result, CommRank(0))
}

/// Combines all processes' data; each rank gets the result of its own `part`, into `result`. Where `result` is
/// the beginning of the data, the own part itself is given as `place`, for the result to stay in until all
/// data has been used; else `place` is `result`.
pub(crate) fn reduce_scatter(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Span,
    (place, result): (Span, Span),
    element: usize,
    combine: &mut Combine<'_>,
) -> Result<(), Error> {
    same_length(part(comm.own_rank()).len(), result.len())?;
    for root in comm.membership().ranks() {
        reduce(comm, function, part(root), place, element, combine, root)?;
    }
    copy(comm, place, result)
}
