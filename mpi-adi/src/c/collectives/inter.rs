//! Collectives on intercommunicators (sections 5.2.2 and 5.2.3): to these the functions of the same names hand over.
//!
//! MPI_IN_PLACE is an error here: where a buffer counts, it stands for no buffer of this process.

use core::ffi::{c_int, c_void};

use alloc::vec::Vec;

use crate::c::args;
use crate::c::collectives::blocks::{Blocks, Row, VBlocks};
use crate::c::collectives::op::with_operation;
use crate::c::datatypes::Elements;
use crate::c::report::on_inter;
use crate::c::types::constants::{MPI_PROC_NULL, MPI_ROOT};
use crate::device::memory::Span;
use crate::device::memory::area::Area;
use crate::mpi::coll::inter::{self as coll, Role};
use crate::mpi::comm::CommRank;
use crate::mpi::error::{Class, Error};
use crate::mpi::sides::Intercommunicator;

/// What the root that is given makes of this process. Fails with [`Error::RemoteRoot`].
fn role(inter: Intercommunicator<'_>, root: c_int) -> Result<Role, Error> {
    let size = inter.sides.remote().size;
    match root {
        MPI_ROOT => Ok(Role::Root),
        MPI_PROC_NULL => Ok(Role::Bystander),
        _ => match u32::try_from(root).ok().filter(|rank| *rank < size) {
            Some(rank) => Ok(Role::Member(CommRank(rank))),
            None => Err(Error::RemoteRoot {
                root: root.into(),
                size,
            }),
        },
    }
}

fn remote_size(inter: Intercommunicator<'_>) -> usize {
    inter.sides.remote().size as usize
}

pub(in crate::c) unsafe extern "C" fn bcast(
    buffer: *mut c_void,
    count: c_int,
    datatype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Bcast", comm, |inter| {
        let role = role(inter, root)?;
        if role == Role::Bystander {
            return Ok(());
        }
        // SAFETY: the standard's promise about `buffer` (section 5.4).
        let data = unsafe { args::buffer(buffer, count, datatype) }?;
        coll::bcast(inter, "MPI_Bcast", data.span().into(), role)
    })
}

/// A gather whose root has these places.
///
/// # Safety
/// As for [`args::buffer`], where the process gives something, and as `places` wants it at the root.
unsafe fn gather<P>(
    (function, comm, root): (&'static str, c_int, c_int),
    (sendbuf, sendcount, sendtype): (*const c_void, c_int, c_int),
    places: impl FnOnce(usize) -> Result<P, Error>,
    of: impl Fn(&P, CommRank) -> Area,
) -> c_int {
    on_inter(function, comm, |inter| {
        let role = role(inter, root)?;
        match role {
            Role::Bystander => Ok(()),
            Role::Root => {
                let places = places(remote_size(inter))?;
                let place = |rank: CommRank| of(&places, rank);
                coll::gather(inter, function, Area::EMPTY, &place, role)
            }
            Role::Member(_) => {
                // SAFETY: the caller's promise.
                let data = unsafe { args::buffer(sendbuf, sendcount, sendtype) }?;
                let data = data.span().into();
                coll::gather(inter, function, data, &|_| Area::EMPTY, role)
            }
        }
    })
}

pub(in crate::c) unsafe extern "C" fn gather_blocks(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's promise about `sendbuf`, and about `recvbuf` at the root (section 5.5).
    unsafe {
        gather(
            ("MPI_Gather", comm, root),
            (sendbuf, sendcount, sendtype),
            |size| Blocks::many(size, recvbuf, recvcount, &Elements::of(recvtype)?),
            Blocks::of,
        )
    }
}

pub(in crate::c) unsafe extern "C" fn gatherv(
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
    // SAFETY: the standard's promise about `sendbuf`, and about `recvbuf` and the arrays at the root (section 5.5).
    unsafe {
        gather(
            ("MPI_Gatherv", comm, root),
            (sendbuf, sendcount, sendtype),
            |size| VBlocks::many(size, recvbuf, recvcounts, displs, Elements::of(recvtype)?),
            VBlocks::of,
        )
    }
}

/// A scatter whose root has these parts.
///
/// # Safety
/// As for [`args::buffer`], where the process gets something, and as `parts` wants it at the root.
unsafe fn scatter<P>(
    (function, comm, root): (&'static str, c_int, c_int),
    (recvbuf, recvcount, recvtype): (*mut c_void, c_int, c_int),
    parts: impl FnOnce(usize) -> Result<P, Error>,
    of: impl Fn(&P, CommRank) -> Area,
) -> c_int {
    on_inter(function, comm, |inter| {
        let role = role(inter, root)?;
        match role {
            Role::Bystander => Ok(()),
            Role::Root => {
                let parts = parts(remote_size(inter))?;
                let part = |rank: CommRank| of(&parts, rank);
                coll::scatter(inter, function, &part, Area::EMPTY, role)
            }
            Role::Member(_) => {
                // SAFETY: the caller's promise.
                let result = unsafe { args::buffer(recvbuf, recvcount, recvtype) }?;
                let result = result.span().into();
                coll::scatter(inter, function, &|_| Area::EMPTY, result, role)
            }
        }
    })
}

pub(in crate::c) unsafe extern "C" fn scatter_blocks(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    // SAFETY: the standard's promise about `recvbuf`, and about `sendbuf` at the root (section 5.6).
    unsafe {
        scatter(
            ("MPI_Scatter", comm, root),
            (recvbuf, recvcount, recvtype),
            |size| Blocks::many(size, sendbuf, sendcount, &Elements::of(sendtype)?),
            Blocks::of,
        )
    }
}

pub(in crate::c) unsafe extern "C" fn scatterv(
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
    // SAFETY: the standard's promise about `recvbuf`, and about `sendbuf` and the arrays at the root (section 5.6).
    unsafe {
        scatter(
            ("MPI_Scatterv", comm, root),
            (recvbuf, recvcount, recvtype),
            |size| VBlocks::many(size, sendbuf, sendcounts, displs, Elements::of(sendtype)?),
            VBlocks::of,
        )
    }
}

pub(in crate::c) unsafe extern "C" fn allgather(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Allgather", comm, |inter| {
        // SAFETY: the standard's promise about both buffers (section 5.7).
        let (data, places) = unsafe {
            let elements = Elements::of(recvtype)?;
            (
                args::buffer(sendbuf, sendcount, sendtype)?,
                Blocks::many(remote_size(inter), recvbuf, recvcount, &elements)?,
            )
        };
        let data = Area::from(data.span());
        coll::alltoall(inter, "MPI_Allgather", &|_| data, &|rank| places.of(rank))
    })
}

pub(in crate::c) unsafe extern "C" fn allgatherv(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    displs: *const c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Allgatherv", comm, |inter| {
        // SAFETY: the standard's promise about the buffers and arrays (section 5.7).
        let (data, places) = unsafe {
            let (size, elements) = (remote_size(inter), Elements::of(recvtype)?);
            (
                args::buffer(sendbuf, sendcount, sendtype)?,
                VBlocks::many(size, recvbuf, recvcounts, displs, elements)?,
            )
        };
        let data = Area::from(data.span());
        coll::alltoall(inter, "MPI_Allgatherv", &|_| data, &|rank| places.of(rank))
    })
}

pub(in crate::c) unsafe extern "C" fn alltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: c_int,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Alltoall", comm, |inter| {
        let size = remote_size(inter);
        // SAFETY: the standard's promise about both buffers (section 5.8).
        let (parts, places) = unsafe {
            (
                Blocks::many(size, sendbuf, sendcount, &Elements::of(sendtype)?)?,
                Blocks::many(size, recvbuf, recvcount, &Elements::of(recvtype)?)?,
            )
        };
        let (part, place) = (|rank| parts.of(rank), |rank| places.of(rank));
        coll::alltoall(inter, "MPI_Alltoall", &part, &place)
    })
}

pub(in crate::c) unsafe extern "C" fn alltoallv(
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
    on_inter("MPI_Alltoallv", comm, |inter| {
        let size = remote_size(inter);
        if args::is_in_place(sendbuf) {
            return Err(Error::InPlace);
        }
        // SAFETY: the standard's promise about the buffers and arrays (section 5.8).
        let (parts, places) = unsafe {
            let (send, receive) = (Elements::of(sendtype)?, Elements::of(recvtype)?);
            (
                VBlocks::many(size, sendbuf, sendcounts, sdispls, send)?,
                VBlocks::many(size, recvbuf, recvcounts, rdispls, receive)?,
            )
        };
        let (part, place) = (|rank| parts.of(rank), |rank| places.of(rank));
        coll::alltoall(inter, "MPI_Alltoallv", &part, &place)
    })
}

pub(in crate::c) unsafe extern "C" fn reduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Reduce", comm, |inter| {
        let role = role(inter, root)?;
        if role == Role::Bystander {
            return Ok(());
        }
        let count = args::count(count)?;
        with_operation(op, datatype, |elements, combine| {
            let is_root = role == Role::Root;
            let buffer = if is_root { recvbuf } else { sendbuf };
            // SAFETY: the standard's promise about `recvbuf` at the root and `sendbuf` elsewhere (section 5.9.1).
            let data = unsafe { elements.at(buffer, count) }?;
            let area = Area::from(data.span());
            let areas = if is_root {
                (Area::EMPTY, area)
            } else {
                (area, Area::EMPTY)
            };
            coll::reduce(inter, "MPI_Reduce", areas, elements.size(), combine, role)
        })
    })
}

pub(in crate::c) unsafe extern "C" fn allreduce(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Allreduce", comm, |inter| {
        let count = args::count(count)?;
        with_operation(op, datatype, |elements, combine| {
            // SAFETY: the standard's promise about the buffers (section 5.9.6).
            let (data, result) =
                unsafe { (elements.at(sendbuf, count)?, elements.at(recvbuf, count)?) };
            let areas = (data.span().into(), result.span().into());
            coll::allreduce(inter, "MPI_Allreduce", areas, elements.size(), combine)
        })
    })
}

/// What the other group's processes, which all have the same counts, divide this group's data by.
fn counts_there(
    inter: Intercommunicator<'_>,
    function: &'static str,
    counts: &[c_int],
) -> Result<Vec<c_int>, Error> {
    let mut theirs = Vec::new();
    let (size, bytes) = (remote_size(inter), size_of::<c_int>());
    theirs.try_reserve_exact(size).map_err(|_| Error::NoRoom {
        bytes: size * bytes,
    })?;
    theirs.resize(size, 0);
    // SAFETY: the call is over, with all of its requests, before the arrays are used again.
    let (given, taken) = unsafe {
        (
            Span::new(counts.as_ptr().cast(), counts.len() * bytes),
            Span::new(theirs.as_mut_ptr().cast::<u8>().cast_const(), size * bytes),
        )
    };
    coll::swap(inter, function, given.into(), taken.into())?;
    Ok(theirs)
}

const TOTALS_DIFFER: Error = Error::Wrong {
    class: Class::Count,
    what: "the two groups do not divide the same number of elements (MPI-3.1 section 5.10)",
};

pub(in crate::c) unsafe extern "C" fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Reduce_scatter", comm, |inter| {
        let local = inter.sides.local();
        // SAFETY: the standard's promise about `recvcounts` (section 5.10.2).
        let counts = unsafe { args::array(recvcounts, local.size as usize, "recvcounts") }?;
        let mut total = 0usize;
        for count in counts {
            total = total.saturating_add(args::count(*count)?);
        }
        with_operation(op, datatype, |elements, combine| {
            let own = counts[local.rank.0 as usize] as usize;
            // SAFETY: the standard's promise about the buffers (section 5.10.2).
            let (data, result) =
                unsafe { (elements.at(sendbuf, total)?, elements.at(recvbuf, own)?) };
            let theirs = counts_there(inter, "MPI_Reduce_scatter", counts)?;
            let given = theirs.iter().map(|count| *count as usize).sum::<usize>();
            if given != total {
                return Err(TOTALS_DIFFER);
            }
            let row = Row::over(data, &theirs, elements);
            coll::reduce_scatter(
                inter,
                "MPI_Reduce_scatter",
                &|rank| row.of(rank),
                result.span().into(),
                elements.size(),
                combine,
            )
        })
    })
}

pub(in crate::c) unsafe extern "C" fn reduce_scatter_block(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcount: c_int,
    datatype: c_int,
    op: c_int,
    comm: c_int,
) -> c_int {
    on_inter("MPI_Reduce_scatter_block", comm, |inter| {
        let own = args::count(recvcount)?;
        let total = own.saturating_mul(inter.sides.local().size as usize);
        let each = total / remote_size(inter);
        if each * remote_size(inter) != total {
            return Err(TOTALS_DIFFER);
        }
        with_operation(op, datatype, |elements, combine| {
            let count = c_int::try_from(each).map_err(|_| Error::TooLong { bytes: each })?;
            // SAFETY: the standard's promise about the buffers (section 5.10.1).
            let (parts, result) = unsafe {
                (
                    Blocks::many(remote_size(inter), sendbuf, count, elements)?,
                    elements.at(recvbuf, own)?,
                )
            };
            coll::reduce_scatter(
                inter,
                "MPI_Reduce_scatter_block",
                &|rank| parts.of(rank),
                result.span().into(),
                elements.size(),
                combine,
            )
        })
    })
}
