//! Prefix reductions (MPI-3.1 section 5.11).

use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::coll::segments::{Segment, read, same_length, segment_bytes, write};
use crate::mpi::coll::transfer::exactly;
use crate::mpi::coll::{Combine, SCAN};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Each rank's combination of the ranks up to itself (`inclusive`) or before it, into `result`, which is
/// as long as `data` and may be `data`. Without ranks before it rank 0 leaves its exclusive result alone.
pub(crate) fn scan(
    comm: Communicator<'_>,
    function: &'static str,
    (data, result): (Span, Span),
    element: usize,
    combine: &mut Combine<'_>,
    inclusive: bool,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    let comm = comm.for_collectives();
    let (rank, size) = (comm.rank(), comm.size());
    let (mut before, mut upto) = (Segment::ZERO, Segment::ZERO);
    let mut offset = 0;
    while offset < data.len() {
        let bytes = segment_bytes(element).min(data.len() - offset);
        let (before, upto) = (&mut before.0[..bytes], &mut upto.0[..bytes]);
        read(comm, data, offset, upto);
        if rank > 0 {
            let result = comm.recv_bytes(function, before, Some(CommRank(rank - 1)), Some(SCAN));
            exactly(bytes, result)?;
            combine(before, upto);
        }
        if rank + 1 < size {
            comm.send_bytes(function, upto, CommRank(rank + 1), SCAN, Mode::Standard)?;
        }
        if inclusive {
            write(comm, result, offset, upto);
        } else if rank > 0 {
            write(comm, result, offset, before);
        }
        offset += bytes;
    }
    Ok(())
}
