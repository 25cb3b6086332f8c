//! Reduce, allreduce, local reduction and reduce-scatter (sections 5.9 and 5.10).

use core::ffi::{c_int, c_void};

use crate::args;
use crate::collectives::blocks::{BlockRow, EqualBlocks};
use crate::collectives::op::{combined, with_operation};
use crate::comm_objects::inter_calls;
use crate::counts::IntArray;
use crate::datatypes::{TypedBuffer, TypedElements};
use crate::error_dispatch::{on_comm, on_process};
use crate::inter_calls::OpArgs;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::{self, ReduceAreas};
use midplane_objects::comm::Communicator;
use midplane_objects::error::Error;

/// Data and result of a reduction. If `sendbuf` is MPI_IN_PLACE, the data is in `recvbuf`.
pub(super) struct DataAndResult {
    data: TypedBuffer,
    result: TypedBuffer,
    is_in_place: bool,
}

impl DataAndResult {
    /// # Safety
    /// Both buffers must satisfy [`args::buffer`].
    pub(super) unsafe fn new(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: isize,
        elements: &TypedElements,
    ) -> Result<DataAndResult, Error> {
        let count = args::count(count)?;
        let is_in_place = args::is_in_place(sendbuf);
        // SAFETY: guaranteed by the caller.
        let (data, result) = unsafe {
            let result = elements.at(recvbuf, count)?;
            let data = if is_in_place {
                TypedBuffer::EMPTY
            } else {
                elements.at(sendbuf, count)?
            };
            (data, result)
        };
        Ok(DataAndResult {
            data,
            result,
            is_in_place,
        })
    }

    pub(super) fn areas(&self) -> ReduceAreas {
        let result = BufferSlice::from(self.result.span());
        if self.is_in_place {
            ReduceAreas { data: result, result }
        } else {
            ReduceAreas {
                data: self.data.span().into(),
                result,
            }
        }
    }
}

/// Arguments of a reduction without a root.
#[derive(Clone, Copy)]
pub(super) struct ReduceArgs {
    pub(super) sendbuf: *const c_void,
    pub(super) recvbuf: *mut c_void,
    pub(super) count: isize,
    pub(super) datatype: c_int,
    pub(super) op: c_int,
    pub(super) comm: c_int,
}

#[inline(always)]
pub unsafe fn MPI_Reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: isize,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan =
            |halves| unsafe { (calls.reduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }, root) };
        return (calls.block)("MPI_Reduce", comm, &mut plan);
    }
    on_comm("MPI_Reduce", comm, |comm| {
        args::count(count)?;
        let root = args::root(&comm, root)?;
        with_operation(Some(comm), op, datatype, |elements, combine| {
            // The standard's requirements on the buffers are those of section 5.9.1; `recvbuf` and MPI_IN_PLACE are
            // significant at the root only.
            if comm.own_rank() != root {
                // SAFETY: as above.
                let data = unsafe { elements.at(sendbuf, args::count(count)?) }?;
                let areas = ReduceAreas {
                    data: BufferSlice::from(data.span()),
                    result: BufferSlice::EMPTY,
                };
                return coll::reduce(comm, "MPI_Reduce", areas, elements.size(), combine, root);
            }
            // SAFETY: as above.
            let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, elements) }?;
            coll::reduce(comm, "MPI_Reduce", both.areas(), elements.size(), combine, root)
        })
    })
}

#[inline(always)]
pub unsafe fn MPI_Allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: isize,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan =
            |halves| unsafe { (calls.allreduce)(halves, [sendbuf, recvbuf], count, OpArgs { datatype, op }) };
        return (calls.block)("MPI_Allreduce", comm, &mut plan);
    }
    on_comm("MPI_Allreduce", comm, |comm| {
        args::count(count)?;
        with_operation(Some(comm), op, datatype, |elements, combine| {
            // SAFETY: the standard's requirements on the buffers (section 5.9.6).
            let both = unsafe { DataAndResult::new(sendbuf, recvbuf, count, elements) }?;
            coll::allreduce(comm, "MPI_Allreduce", both.areas(), combined(op, elements), combine)
        })
    })
}

#[inline(always)]
pub unsafe fn MPI_Reduce_local(
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: isize,
    datatype: c_int,
    op: c_int,
) -> c_int {
    on_process("MPI_Reduce_local", |env| {
        args::count(count)?;
        with_operation(None, op, datatype, |elements, combine| {
            // SAFETY: the standard's requirements on the buffers (section 5.9.7).
            let both = unsafe { DataAndResult::new(inbuf, inoutbuf, count, elements) }?;
            let areas = both.areas();
            coll::combine_local(
                Communicator::own(env),
                areas.data,
                areas.result,
                elements.size(),
                combine,
            )
        })
    })
}

/// Returns the location of the data in a reduce-scatter: with MPI_IN_PLACE, the receive buffer.
pub(super) fn data_of([sendbuf, recvbuf]: [*const c_void; 2]) -> *const c_void {
    if args::is_in_place(sendbuf) { recvbuf } else { sendbuf }
}

#[inline(always)]
pub unsafe fn MPI_Reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: IntArray,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan =
            |halves| unsafe { (calls.reduce_scatter)(halves, [sendbuf, recvbuf], recvcounts, OpArgs { datatype, op }) };
        return (calls.block)("MPI_Reduce_scatter", comm, &mut plan);
    }
    on_comm("MPI_Reduce_scatter", comm, |comm| {
        with_operation(Some(comm), op, datatype, |elements, combine| {
            let data = data_of([sendbuf, recvbuf]);
            // SAFETY: the standard's requirements on the buffers and `recvcounts` (section 5.10).
            let (row, result) = unsafe {
                let row = BlockRow::new(&comm, data, recvcounts, elements)?;
                let result = elements.at(recvbuf, row.count(comm.own_rank()))?;
                (row, result)
            };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter",
                &|rank| row.area_of(rank),
                result.span().into(),
                elements.size(),
                combine,
            )
        })
    })
}

#[inline(always)]
pub unsafe fn MPI_Reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: isize,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    if let Some(calls) = inter_calls(comm) {
        // SAFETY: guaranteed by the caller.
        let mut plan = |halves| unsafe {
            (calls.reduce_scatter_block)(halves, [sendbuf, recvbuf], recvcount, OpArgs { datatype, op })
        };
        return (calls.block)("MPI_Reduce_scatter_block", comm, &mut plan);
    }
    on_comm("MPI_Reduce_scatter_block", comm, |comm| {
        with_operation(Some(comm), op, datatype, |elements, combine| {
            let data = data_of([sendbuf, recvbuf]);
            // SAFETY: the standard's requirements on the buffers (section 5.10).
            let (blocks, result) = unsafe {
                (
                    EqualBlocks::new(&comm, data, recvcount, elements)?,
                    elements.at(recvbuf, args::count(recvcount)?)?,
                )
            };
            coll::reduce_scatter(
                comm,
                "MPI_Reduce_scatter_block",
                &|rank| blocks.area_of(rank),
                result.span().into(),
                elements.size(),
                combine,
            )
        })
    })
}
