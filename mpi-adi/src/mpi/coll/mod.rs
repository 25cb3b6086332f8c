//! Collectives over point to point (MPI-3.1 chapter 5), in a context of their own.
//!
//! | collective | algorithm | messages of one rank, n processes |
//! |---|---|---|
//! | barrier | of all processes: along the torus ([`crate::device::barrier`]) | none |
//! | | of others: dissemination | log2 n, empty |
//! | bcast | binomial tree from the root | at most log2 n |
//! | reduce, allreduce | binomial tree to rank 0, by segments; then to the root, or a bcast | log2 n a segment |
//! | reduce_scatter | a reduce to each rank in turn | n log2 n a segment |
//! | gather, scatter | one by one at the root | 1, and n - 1 at the root |
//! | allgather | ring | n - 1 |
//! | alltoall | pairs at growing distance; in place by segments | n - 1 |
//! | scan, exscan | chain, by segments | 2 a segment |
//!
//! Memory does not grow with the message: what a reduction computes with is two segments of
//! [`SEGMENT_BYTES`] on the stack. A reduction always combines in the order of the ranks along the same
//! tree, whatever the root, so that its result depends on the values alone, not on timing (the advice to
//! implementors of section 5.9.1).

#[allow(unsafe_code)]
mod slices;

use crate::device::envelope::Tag;
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::call::block_on;
use crate::mpi::comm::{CommRank, Communicator, Status};
use crate::mpi::datatype::Basic;
use crate::mpi::error::Error;
use crate::mpi::op::Op;

/// Bytes that a reduction combines at a time, and that a local copy moves at a time.
pub const SEGMENT_BYTES: usize = 1024;

/// The tags of the collectives' messages; they travel in a context of their own.
const BARRIER: Tag = 1;
const BCAST: Tag = 2;
const REDUCE: Tag = 3;
const GATHER: Tag = 4;
const SCATTER: Tag = 5;
const ALLGATHER: Tag = 6;
const ALLTOALL: Tag = 7;
const SCAN: Tag = 8;

/// Combines elements: `right[i] = left[i] op right[i]`.
pub(crate) type Combine<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// A segment, aligned for whatever a combining function of the program's own takes it for.
#[repr(align(16))]
struct Segment([u8; SEGMENT_BYTES]);

impl Segment {
    const ZERO: Segment = Segment([0; SEGMENT_BYTES]);
}

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

fn send(
    comm: Communicator<'_>,
    function: &'static str,
    span: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    comm.send_span(function, span, dest, tag, Mode::Standard)
}

/// Receives exactly the span's bytes: processes that disagree on a collective's length are told so.
fn receive(
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
fn exactly(expected: usize, received: Result<Status, Error>) -> Result<(), Error> {
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

fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Lengths { expected, given })
    }
}

fn read(comm: Communicator<'_>, span: Span, offset: usize, out: &mut [u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().read(span, offset, out));
}

fn write(comm: Communicator<'_>, span: Span, offset: usize, bytes: &[u8]) {
    comm.env
        .with(&mut |_, kernel| kernel.memory().write(span, offset, bytes));
}

/// Copies `from` to `to`, which must be as long.
pub(crate) fn copy(comm: Communicator<'_>, from: Span, to: Span) -> Result<(), Error> {
    same_length(to.len(), from.len())?;
    if from == to {
        return Ok(());
    }
    let mut segment = Segment::ZERO;
    let mut offset = 0;
    while offset < from.len() {
        let bytes = &mut segment.0[..SEGMENT_BYTES.min(from.len() - offset)];
        read(comm, from, offset, bytes);
        write(comm, to, offset, bytes);
        offset += bytes.len();
    }
    Ok(())
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

/// Bytes of the segments that elements of `element` bytes are combined by.
fn segment_bytes(element: usize) -> usize {
    SEGMENT_BYTES / element * element
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

fn exchange(
    comm: Communicator<'_>,
    function: &'static str,
    (given, to): (Span, CommRank),
    (taken, from): (Span, CommRank),
    tag: Tag,
) -> Result<(), Error> {
    let result = comm.sendrecv_span(function, (given, to, tag), (taken, Some(from), Some(tag)));
    exactly(taken.len(), result)
}

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
