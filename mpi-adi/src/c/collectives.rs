//! Chapter 5: collectives and operations.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use super::args::{self, Operation, UserFunction};
use super::binding::{BINDING, USER_OPS};
use super::report::{on_comm, on_process};
use crate::device::memory::Span;
use crate::mpi::coll::{self, Combine};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Barrier(comm: c_int) -> c_int {
    on_comm("MPI_Barrier", comm, |comm| {
        coll::barrier(comm, "MPI_Barrier")
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Bcast", comm, |comm| {
        // SAFETY: the standard's promise about `buffer` (section 5.4).
        let span = unsafe { args::buffer(buffer, count, datatype) }?;
        let root = args::root(&comm, root)?;
        coll::bcast(comm, "MPI_Bcast", span, root)
    })
}

/// Runs `body` with the function that combines elements of `datatype`.
fn with_operation(
    op: c_int,
    datatype: c_int,
    body: impl FnOnce(usize, &mut Combine<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let basic = args::datatype(datatype)?;
    let element = basic.extent();
    match args::operation(op)? {
        Operation::Predefined(op) => body(element, &mut coll::predefined(op, basic)?),
        Operation::User(function) => body(element, &mut |left: &[u8], right: &mut [u8]| {
            let (mut len, mut datatype) = ((right.len() / element) as c_int, datatype);
            // SAFETY: the program's function, given what the standard says (section 5.9.5): `len`
            // elements of `datatype` in both, which it may read, and write in the second.
            unsafe {
                function(
                    left.as_ptr().cast_mut().cast(),
                    right.as_mut_ptr().cast(),
                    &mut len,
                    &mut datatype,
                );
            }
        }),
    }
}

/// A reduction's data and result: MPI_IN_PLACE as `sendbuf` says that the data is in `recvbuf`.
///
/// # Safety
/// As for [`args::buffer`], both.
unsafe fn data_and_result(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
) -> Result<(Span, Span), Error> {
    // SAFETY: the caller's promise.
    let result = unsafe { args::buffer(recvbuf, count, datatype) }?;
    if args::is_in_place(sendbuf) {
        return Ok((result, result));
    }
    // SAFETY: the caller's promise.
    Ok((unsafe { args::buffer(sendbuf, count, datatype) }?, result))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce", comm, |comm| {
        args::length(count, datatype)?;
        let root = args::root(&comm, root)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.1); `recvbuf` and
            // MPI_IN_PLACE have a meaning at the root alone.
            let (data, result) = unsafe {
                if comm.own_rank() == root {
                    data_and_result(sendbuf, recvbuf, count, datatype)?
                } else {
                    (args::buffer(sendbuf, count, datatype)?, Span::EMPTY)
                }
            };
            coll::reduce(comm, "MPI_Reduce", data, result, element, combine, root)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allreduce", comm, |comm| {
        args::length(count, datatype)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.6).
            let (data, result) = unsafe { data_and_result(sendbuf, recvbuf, count, datatype) }?;
            coll::allreduce(comm, "MPI_Allreduce", data, result, element, combine)
        })
    })
}

/// A prefix reduction.
///
/// # Safety
/// As for [`data_and_result`].
unsafe fn scan(
    function: &'static str,
    inclusive: bool,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    (count, datatype, op, comm): (c_int, c_int, c_int, c_int),
) -> c_int {
    on_comm(function, comm, |comm| {
        args::length(count, datatype)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the caller's promise.
            let spans = unsafe { data_and_result(sendbuf, recvbuf, count, datatype) }?;
            coll::scan(comm, function, spans, element, combine, inclusive)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's promise about the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Scan",
            true,
            (sendbuf, recvbuf),
            (count, datatype, op, comm),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Exscan(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's promise about the buffers (section 5.11).
    unsafe {
        scan(
            "MPI_Exscan",
            false,
            (sendbuf, recvbuf),
            (count, datatype, op, comm),
        )
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
) -> c_int {
    on_process("MPI_Reduce_local", |env| {
        args::length(count, datatype)?;
        with_operation(op, datatype, |element, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.7).
            let (left, right) = unsafe {
                (
                    args::buffer(inbuf, count, datatype)?,
                    args::buffer(inoutbuf, count, datatype)?,
                )
            };
            coll::combine_local(Communicator::own(env), left, right, element, combine);
            Ok(())
        })
    })
}

/// Equal blocks, one a rank, in the order of the ranks.
#[derive(Clone, Copy)]
struct Blocks {
    all: Span,
    each: usize,
}

impl Blocks {
    /// # Safety
    /// As for [`args::buffer`], for as many times `count` elements as there are ranks.
    unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        count: c_int,
        datatype: c_int,
    ) -> Result<Blocks, Error> {
        let each = args::length(count, datatype)?;
        let total = each
            .checked_mul(comm.size() as usize)
            .ok_or(Error::TooLong { bytes: usize::MAX })?;
        // SAFETY: the caller's promise.
        let all = unsafe { args::bytes(buffer, total) }?;
        Ok(Blocks { all, each })
    }

    fn of(&self, rank: CommRank) -> Span {
        if self.each == 0 {
            Span::EMPTY
        } else {
            self.all.part(rank.0 as usize * self.each, self.each)
        }
    }
}

/// Blocks of different lengths at different places: the v-collectives.
struct VBlocks<'a> {
    base: *const c_void,
    counts: &'a [c_int],
    displs: &'a [c_int],
    extent: usize,
}

impl<'a> VBlocks<'a> {
    /// # Safety
    /// `counts` and `displs` are as for [`args::array`], one item a rank; the elements that they and
    /// `base` describe are as for [`args::buffer`].
    unsafe fn new(
        comm: &Communicator<'_>,
        base: *const c_void,
        counts: *const c_int,
        displs: *const c_int,
        datatype: c_int,
    ) -> Result<VBlocks<'a>, Error> {
        let size = comm.size() as usize;
        // SAFETY: the caller's promise.
        let (counts, displs) = unsafe {
            (
                args::array(counts, size, "the array of counts")?,
                args::array(displs, size, "displs")?,
            )
        };
        let places = VBlocks {
            base,
            counts,
            displs,
            extent: args::datatype(datatype)?.extent(),
        };
        for rank in comm.membership().ranks() {
            args::count(counts[rank.0 as usize])?;
            places.check(rank)?;
        }
        Ok(places)
    }

    fn bytes(&self, rank: CommRank) -> usize {
        self.counts[rank.0 as usize] as usize * self.extent
    }

    fn address(&self, rank: CommRank) -> *const c_void {
        self.base
            .wrapping_byte_offset(self.displs[rank.0 as usize] as isize * self.extent as isize)
    }

    fn check(&self, rank: CommRank) -> Result<(), Error> {
        if self.bytes(rank) > 0 && args::is_in_place(self.base) {
            return Err(Error::InPlace);
        }
        // SAFETY: the promise at `VBlocks::new`; the span is dropped at once.
        unsafe { args::bytes(self.address(rank), self.bytes(rank)) }.map(|_| ())
    }

    fn of(&self, rank: CommRank) -> Span {
        // SAFETY: the promise at `VBlocks::new`. It cannot fail, as `check` has found.
        unsafe { args::bytes(self.address(rank), self.bytes(rank)) }.unwrap_or(Span::EMPTY)
    }
}

/// Blocks of different lengths, one behind the other: what reduce_scatter divides.
struct Row<'a> {
    all: Span,
    counts: &'a [c_int],
    extent: usize,
}

impl<'a> Row<'a> {
    /// # Safety
    /// `counts` is as for [`args::array`], one item a rank; `buffer` is as for [`args::buffer`], for as
    /// many elements as they add up to.
    unsafe fn new(
        comm: &Communicator<'_>,
        buffer: *const c_void,
        counts: *const c_int,
        datatype: c_int,
    ) -> Result<Row<'a>, Error> {
        // SAFETY: the caller's promise.
        let counts = unsafe { args::array(counts, comm.size() as usize, "recvcounts") }?;
        let mut total = 0usize;
        for count in counts {
            total = total.saturating_add(args::length(*count, datatype)?);
        }
        // SAFETY: the caller's promise.
        let all = unsafe { args::bytes(buffer, total) }?;
        let extent = args::datatype(datatype)?.extent();
        Ok(Row {
            all,
            counts,
            extent,
        })
    }

    fn of(&self, rank: CommRank) -> Span {
        let (before, from) = self.counts.split_at(rank.0 as usize);
        let elements = |counts: &[c_int]| counts.iter().map(|count| *count as usize).sum::<usize>();
        let (offset, len) = (elements(before), elements(&from[..1]));
        match len {
            0 => Span::EMPTY,
            _ => self.all.part(offset * self.extent, len * self.extent),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce_scatter", comm, |comm| {
        with_operation(op, datatype, |element, combine| {
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place { recvbuf } else { sendbuf };
            // SAFETY: the standard's promise about the buffers and `recvcounts` (section 5.10).
            let (row, result) = unsafe {
                let row = Row::new(&comm, data, recvcounts, datatype)?;
                let result = args::bytes(recvbuf, row.of(comm.own_rank()).len())?;
                (row, result)
            };
            let place = if in_place {
                row.of(comm.own_rank())
            } else {
                result
            };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter",
                &|rank| row.of(rank),
                (place, result),
                element,
                combine,
            )
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Reduce_scatter_block", comm, |comm| {
        with_operation(op, datatype, |element, combine| {
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place { recvbuf } else { sendbuf };
            // SAFETY: the standard's promise about the buffers (section 5.10).
            let (blocks, result) = unsafe {
                (
                    Blocks::new(&comm, data, recvcount, datatype)?,
                    args::buffer(recvbuf, recvcount, datatype)?,
                )
            };
            let own = blocks.of(comm.own_rank());
            let place = if in_place { own } else { result };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter_block",
                &|rank| blocks.of(rank),
                (place, result),
                element,
                combine,
            )
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Gather", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gather", data, &|_| Span::EMPTY, root);
        }
        // SAFETY: the standard's promise about both buffers at the root (section 5.5).
        let (blocks, data) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            (
                blocks,
                if in_place {
                    blocks.of(root)
                } else {
                    args::buffer(sendbuf, sendcount, sendtype)?
                },
            )
        };
        coll::gather(comm, "MPI_Gather", data, &|rank| blocks.of(rank), root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Gatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Gatherv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `sendbuf` (section 5.5).
            let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
            return coll::gather(comm, "MPI_Gatherv", data, &|_| Span::EMPTY, root);
        }
        // SAFETY: the standard's promise about the buffers and arrays at the root (section 5.5).
        let (places, data) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place {
                places.of(root)
            } else {
                args::buffer(sendbuf, sendcount, sendtype)?
            };
            (places, data)
        };
        coll::gather(comm, "MPI_Gatherv", data, &|rank| places.of(rank), root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatter(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Scatter", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(comm, "MPI_Scatter", &|_| Span::EMPTY, result, root);
        }
        // SAFETY: the standard's promise about both buffers at the root (section 5.6).
        let (blocks, result) = unsafe {
            let blocks = Blocks::new(&comm, sendbuf, sendcount, sendtype)?;
            let in_place = args::is_in_place(recvbuf);
            (
                blocks,
                if in_place {
                    blocks.of(root)
                } else {
                    args::buffer(recvbuf, recvcount, recvtype)?
                },
            )
        };
        coll::scatter(comm, "MPI_Scatter", &|rank| blocks.of(rank), result, root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Scatterv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    displs: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Scatterv", comm, |comm| {
        let root = args::root(&comm, root)?;
        if comm.own_rank() != root {
            // SAFETY: the standard's promise about `recvbuf` (section 5.6).
            let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
            return coll::scatter(comm, "MPI_Scatterv", &|_| Span::EMPTY, result, root);
        }
        // SAFETY: the standard's promise about the buffers and arrays at the root (section 5.6).
        let (places, result) = unsafe {
            let places = VBlocks::new(&comm, sendbuf, sendcounts, displs, sendtype)?;
            let in_place = args::is_in_place(recvbuf);
            let result = if in_place {
                places.of(root)
            } else {
                args::buffer(recvbuf, recvcount, recvtype)?
            };
            (places, result)
        };
        coll::scatter(comm, "MPI_Scatterv", &|rank| places.of(rank), result, root)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allgather", comm, |comm| {
        // SAFETY: the standard's promise about both buffers (section 5.7).
        let (blocks, data) = unsafe {
            let blocks = Blocks::new(&comm, recvbuf, recvcount, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            (
                blocks,
                if in_place {
                    blocks.of(comm.own_rank())
                } else {
                    args::buffer(sendbuf, sendcount, sendtype)?
                },
            )
        };
        coll::allgather(comm, "MPI_Allgather", data, &|rank| blocks.of(rank))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Allgatherv", comm, |comm| {
        // SAFETY: the standard's promise about the buffers and arrays (section 5.7).
        let (places, data) = unsafe {
            let places = VBlocks::new(&comm, recvbuf, recvcounts, displs, recvtype)?;
            let in_place = args::is_in_place(sendbuf);
            let data = if in_place {
                places.of(comm.own_rank())
            } else {
                args::buffer(sendbuf, sendcount, sendtype)?
            };
            (places, data)
        };
        coll::allgather(comm, "MPI_Allgatherv", data, &|rank| places.of(rank))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Alltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Alltoall", comm, |comm| {
        // SAFETY: the standard's promise about `recvbuf` (section 5.8).
        let places = unsafe { Blocks::new(&comm, recvbuf, recvcount, recvtype) }?;
        if args::is_in_place(sendbuf) {
            return coll::alltoall_in_place(comm, "MPI_Alltoall", &|rank| places.of(rank));
        }
        // SAFETY: the standard's promise about `sendbuf` (section 5.8).
        let parts = unsafe { Blocks::new(&comm, sendbuf, sendcount, sendtype) }?;
        coll::alltoall(comm, "MPI_Alltoall", &|rank| parts.of(rank), &|rank| {
            places.of(rank)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_comm("MPI_Alltoallv", comm, |comm| {
        // SAFETY: the standard's promise about `recvbuf` and its arrays (section 5.8).
        let places = unsafe { VBlocks::new(&comm, recvbuf, recvcounts, rdispls, recvtype) }?;
        if args::is_in_place(sendbuf) {
            return coll::alltoall_in_place(comm, "MPI_Alltoallv", &|rank| places.of(rank));
        }
        // SAFETY: the standard's promise about `sendbuf` and its arrays (section 5.8).
        let parts = unsafe { VBlocks::new(&comm, sendbuf, sendcounts, sdispls, sendtype) }?;
        coll::alltoall(comm, "MPI_Alltoallv", &|rank| parts.of(rank), &|rank| {
            places.of(rank)
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_create(
    function: Option<UserFunction>,
    _commute: c_int,
    op: *mut c_int,
) -> c_int {
    on_process("MPI_Op_create", |_| {
        let function = function.ok_or(Error::NullArgument { name: "user_fn" })?;
        // SAFETY: the standard's promise about `op`.
        let op = unsafe { args::out(op, "op") }?;
        let address = (function as *const ()).expose_provenance();
        for (index, place) in BINDING.ops.iter().enumerate() {
            if place
                .compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
            {
                // Reductions keep the order of the ranks anyway, whether or not the operation commutes.
                *op = args::user_op_handle(index);
                return Ok(());
            }
        }
        Err(Error::Limit {
            what: "operations of the program's own",
            limit: USER_OPS,
        })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Op_free(op: *mut c_int) -> c_int {
    on_process("MPI_Op_free", |_| {
        // SAFETY: the standard's promise about `op`.
        let op = unsafe { args::out(op, "op") }?;
        let wrong = Error::Operation { handle: *op };
        let index = args::user_op_index(*op).ok_or(wrong)?;
        if BINDING.ops[index].swap(0, Ordering::Relaxed) == 0 {
            return Err(wrong);
        }
        *op = super::types::constants::MPI_OP_NULL;
        Ok(())
    })
}
