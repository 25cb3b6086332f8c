//! Put and get (sections 11.3.1 and 11.3.2; section 11.3.5 for their requests).

use core::ffi::{c_int, c_void};

use super::objects::{CallWindow, on_win};
use crate::args::{self, PeerRank};
use crate::datatypes::{TypedBuffer, TypedElements};
use crate::requests::{RECEIVED_FROM_PROC_NULL, SEND_COMPLETE};
use crate::types::Handle;
use midplane_device::rma::wire::{PacketKind, RequestHead};
use midplane_objects::error::Error;
use midplane_objects::windows::{self, AccessPath, OriginSpans, TargetBase, TargetRegion, fits};

/// Target arguments of an operation, as specified by the program.
#[derive(Clone, Copy)]
pub(super) struct TargetArgs {
    pub rank: c_int,
    pub disp: isize,
    pub count: isize,
    pub datatype: c_int,
}

/// Origin operands of an operation; [`TypedBuffer::EMPTY`] if it has none.
pub(super) struct OriginArgs {
    pub from: TypedBuffer,
    pub compare: TypedBuffer,
    pub into: TypedBuffer,
}

impl CallWindow {
    /// Locates the elements of a target, and checks that an epoch is open there. `None`: the target is MPI_PROC_NULL.
    /// Fails with class Rank, and like [`windows::Window::find`].
    pub(super) fn find_target(
        &self,
        target: TargetArgs,
        elements: &TypedElements,
        count: usize,
        is_request: bool,
    ) -> Result<Option<TargetBase>, Error> {
        let PeerRank::Rank(rank) = self.target(target.rank)? else {
            return Ok(None);
        };
        let entry = if is_request {
            AccessPath::Request
        } else {
            AccessPath::AsOpened
        };
        self.find(rank, target.disp, elements, count, entry).map(Some)
    }

    /// Records an operation, with a request if `is_request`. Returns the request's handle; for no bytes, that of a
    /// complete request.
    pub(super) fn record(
        &self,
        place: &TargetBase,
        head: RequestHead,
        origin: OriginArgs,
        region: TargetRegion<'_, TypedElements>,
        is_request: bool,
    ) -> Result<c_int, Error> {
        if region.bytes == 0 {
            return Ok(SEND_COMPLETE);
        }
        let OriginArgs { from, compare, into } = origin;
        let operands = OriginSpans {
            from: from.span(),
            compare: compare.span(),
            into: into.span(),
        };
        let holds = [from, compare, into].map(Some);
        let defer = |told| self.defer(place, head, operands, region, holds, told).map(|_| ());
        if is_request {
            self.request(defer)
        } else {
            defer(None).map(|()| SEND_COMPLETE)
        }
    }
}

impl windows::TargetElements for TypedElements {
    type BufferHold = TypedBuffer;

    fn length(&self, count: usize) -> Result<usize, Error> {
        self.length(count)
    }

    fn range(&self, count: usize) -> (i128, i128) {
        self.range(count)
    }

    fn runs(&self, bytes: usize, run: impl FnMut(isize, usize, usize)) {
        self.runs(bytes, run);
    }

    fn places(&self, base: usize, bytes: usize) -> Result<TypedBuffer, Error> {
        let base = core::ptr::without_provenance(base);
        // SAFETY: these are addresses in a target's window; here they are only computed, never accessed.
        unsafe { self.origin(base, 0, bytes) }
    }
}

/// # Safety
/// The standard's requirements on the origin's buffer.
unsafe fn put(
    window: &CallWindow,
    origin: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target: TargetArgs,
    is_request: bool,
) -> Result<c_int, Error> {
    // SAFETY: guaranteed by the caller.
    let from = unsafe { args::buffer(origin, origin_count, origin_datatype) }?;
    let (elements, count) = (TypedElements::from_handle(target.datatype)?, args::count(target.count)?);
    let bytes = from.span().len();
    fits(bytes, elements.length(count)?)?;
    let Some(place) = window.find_target(target, &elements, count, is_request)? else {
        return Ok(SEND_COMPLETE);
    };
    let head = RequestHead::new(PacketKind::Put, window.context());
    if !place.is_straight {
        let origin = OriginArgs {
            from,
            compare: TypedBuffer::EMPTY,
            into: TypedBuffer::EMPTY,
        };
        let region = TargetRegion {
            elements: &elements,
            bytes,
            unit: 1,
        };
        return window.record(&place, head, origin, region, is_request);
    }
    window.send(&place, head, from.span(), 1, &elements);
    Ok(SEND_COMPLETE)
}

/// # Safety
/// The standard's requirements on the origin's buffer.
unsafe fn get(
    window: &CallWindow,
    origin: *mut c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target: TargetArgs,
    is_request: bool,
) -> Result<c_int, Error> {
    // SAFETY: guaranteed by the caller.
    let into = unsafe { args::buffer(origin, origin_count, origin_datatype) }?;
    let (elements, count) = (TypedElements::from_handle(target.datatype)?, args::count(target.count)?);
    let bytes = elements.length(count)?;
    fits(bytes, into.span().len())?;
    let Some(place) = window.find_target(target, &elements, count, is_request)? else {
        return Ok(RECEIVED_FROM_PROC_NULL);
    };
    if !place.is_straight {
        let head = RequestHead::new(PacketKind::Get, window.context());
        let origin = OriginArgs {
            from: TypedBuffer::EMPTY,
            compare: TypedBuffer::EMPTY,
            into,
        };
        let region = TargetRegion {
            elements: &elements,
            bytes,
            unit: 1,
        };
        return window.record(&place, head, origin, region, is_request);
    }
    window.fetch_bytes(into.span(), &place, &elements, bytes);
    Ok(SEND_COMPLETE)
}

#[inline(always)]
pub unsafe fn MPI_Put(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    win: Handle,
) -> c_int {
    on_win("MPI_Put", win, |window| {
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        unsafe { put(&window, origin_addr, origin_count, origin_datatype, target, false) }.map(|_| ())
    })
}

#[inline(always)]
pub unsafe fn MPI_Get(
    origin_addr: *mut c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    win: Handle,
) -> c_int {
    on_win("MPI_Get", win, |window| {
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        unsafe { get(&window, origin_addr, origin_count, origin_datatype, target, false) }.map(|_| ())
    })
}

#[inline(always)]
pub unsafe fn MPI_Rput(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    win: Handle,
    request: *mut Handle,
) -> c_int {
    on_win("MPI_Rput", win, |window| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        *request = Handle::new(unsafe { put(&window, origin_addr, origin_count, origin_datatype, target, true) }?);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Rget(
    origin_addr: *mut c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    win: Handle,
    request: *mut Handle,
) -> c_int {
    on_win("MPI_Rget", win, |window| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        *request = Handle::new(unsafe { get(&window, origin_addr, origin_count, origin_datatype, target, true) }?);
        Ok(())
    })
}
