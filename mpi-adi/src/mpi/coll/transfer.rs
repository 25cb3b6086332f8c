//! The messages of collectives, over spans.

use crate::device::envelope::Tag;
use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::comm::{CommRank, Communicator, Status};
use crate::mpi::error::Error;

pub(super) fn send(
    comm: Communicator<'_>,
    function: &'static str,
    span: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    comm.send_span(function, span, dest, tag, Mode::Standard)
}

/// Receives exactly the span's bytes: processes that disagree on a collective's length are told so.
pub(super) fn receive(
    comm: Communicator<'_>,
    function: &'static str,
    span: Span,
    source: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    let result = comm.recv_span(function, span, Some(source), Some(tag));
    exactly(span.len(), result)
}

/// What a receive of this library's own says when it did not get as many bytes as this process's count makes:
/// its tag and its message mean nothing to the program.
pub(super) fn exactly(expected: usize, received: Result<Status, Error>) -> Result<(), Error> {
    let (rank, given) = match received {
        Ok(Status { bytes, .. }) if bytes == expected => return Ok(()),
        Ok(Status { source, bytes, .. }) => (source, Some(bytes)),
        Err(Error::Truncated { source, .. }) => (source, None),
        Err(error) => return Err(error),
    };
    Err(Error::CountsDiffer {
        rank,
        expected,
        given,
    })
}

pub(super) fn exchange(
    comm: Communicator<'_>,
    function: &'static str,
    (given, to): (Span, CommRank),
    (taken, from): (Span, CommRank),
    tag: Tag,
) -> Result<(), Error> {
    let result = comm.sendrecv_span(function, (given, to, tag), (taken, Some(from), Some(tag)));
    exactly(taken.len(), result)
}
