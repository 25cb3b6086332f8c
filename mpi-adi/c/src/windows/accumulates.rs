//! Accumulate operations (section 11.3.4; section 11.3.5 for their requests).
//!
//! Elements are transmitted in memory layout, each complete in one packet. Pairs of a value and its index omit the
//! padding after the index, so that pairs of derived datatypes have the same form. The padding of MPI_SHORT_INT is
//! between its members: it is also transmitted, with each element of a derived datatype.

use core::ffi::{c_int, c_void};

use super::objects::{CallWindow, on_win};
use super::operations::{OriginArgs, TargetArgs};
use crate::args::{self, MPI_NO_OP, MPI_REPLACE, operation};
use crate::datatypes::{KnownDatatype, TypedBuffer, TypedElements, known};
use crate::requests::{RECEIVED_FROM_PROC_NULL, SEND_COMPLETE};
use crate::types::Handle;
use midplane_device::rma::wire::{PacketKind, RequestHead};
use midplane_objects::datatype::BasicType;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::one_sided::{RmaOperation, element_bytes, is_comparable, parts_of};
use midplane_objects::windows::{TargetRegion, fits, made_of, same, wrong};

/// Returns the operation with handle `op`; MPI_NO_OP is valid only if the call `fetches`.
fn operation_of(op: c_int, fetches: bool) -> Result<RmaOperation, Error> {
    match op {
        MPI_REPLACE => Ok(RmaOperation::Replace),
        MPI_NO_OP if fetches => Ok(RmaOperation::NoOp),
        _ => match operation(op)? {
            args::ReductionOp::Predefined(op) => Ok(RmaOperation::Combine(op)),
            args::ReductionOp::User(_) => Err(wrong(
                ErrorClass::Op,
                "an operation of the program's own; those of windows are predefined",
            )),
        },
    }
}

/// Returns the elements of this datatype for the operation, and their predefined datatype; `None` if they have no
/// bytes. Without elements the operation need not apply to the datatype: such calls are used to try a function out.
fn elements_of(
    operation: RmaOperation,
    datatype: c_int,
    count: isize,
) -> Result<(TypedElements, Option<BasicType>), Error> {
    let (elements, basic) = match known(datatype)? {
        KnownDatatype::Basic(basic, _) => {
            let elements = if element_bytes(basic) == basic.extent() {
                TypedElements::from_basic(basic)
            } else {
                TypedElements::from_handle(datatype)?
            };
            (elements, Some(parts_of(operation, basic)))
        }
        KnownDatatype::Marker { .. } => return Err(Error::Datatype { handle: datatype }),
        KnownDatatype::Made(object) => {
            let elements = TypedElements::from_handle(datatype)?;
            let closed = object.datatype.closed(BasicType::ShortInt)?;
            let elements = closed.map_or(Ok(elements), TypedElements::from_type)?;
            let tags = object.datatype.layout().tags();
            let basic = made_of(operation, tags, &elements, elements.size())?;
            (elements, basic)
        }
    };
    if let Some(basic) = basic.filter(|_| count != 0) {
        operation.check(basic)?;
    }
    Ok((elements, basic))
}

/// Returns an origin buffer, in transmission layout.
///
/// # Safety
/// See [`TypedElements::at`].
unsafe fn buffer(
    operation: RmaOperation,
    address: *const c_void,
    count: isize,
    datatype: c_int,
) -> Result<(TypedBuffer, Option<BasicType>), Error> {
    let (elements, basic) = elements_of(operation, datatype, count)?;
    // SAFETY: guaranteed by the caller.
    let lent = unsafe { elements.at(address, args::count(count)?) }?;
    Ok((lent, basic))
}

/// # Safety
/// The standard's requirements on the origin's buffer.
unsafe fn accumulate(
    window: &CallWindow,
    origin: (*const c_void, isize, c_int),
    target: TargetArgs,
    op: c_int,
    is_request: bool,
) -> Result<c_int, Error> {
    let operation = operation_of(op, false)?;
    // SAFETY: guaranteed by the caller.
    let (from, basic) = unsafe { buffer(operation, origin.0, origin.1, origin.2) }?;
    let (elements, target_basic) = elements_of(operation, target.datatype, target.count)?;
    let count = args::count(target.count)?;
    let bytes = from.span().len();
    let basic = same(basic, target_basic, bytes)?;
    fits(bytes, elements.length(count)?)?;
    let Some(place) = window.find_target(target, &elements, count, is_request)? else {
        return Ok(SEND_COMPLETE);
    };
    let head = window.combining(PacketKind::Accumulate, operation, basic);
    let unit = element_bytes(basic);
    if !place.is_straight {
        let origin = OriginArgs {
            from,
            compare: TypedBuffer::EMPTY,
            into: TypedBuffer::EMPTY,
        };
        let region = TargetRegion {
            elements: &elements,
            bytes,
            unit,
        };
        return window.record(&place, head, origin, region, is_request);
    }
    window.send(&place, head, from.span(), unit, &elements);
    Ok(SEND_COMPLETE)
}

/// # Safety
/// The standard's requirements on the origin's buffers.
unsafe fn get_accumulate(
    window: &CallWindow,
    origin: (*const c_void, isize, c_int),
    result: (*const c_void, isize, c_int),
    target: TargetArgs,
    op: c_int,
    is_request: bool,
) -> Result<c_int, Error> {
    let operation = operation_of(op, true)?;
    let (elements, basic) = elements_of(operation, target.datatype, target.count)?;
    let count = args::count(target.count)?;
    let bytes = elements.length(count)?;
    let has_operand = operation != RmaOperation::NoOp;
    let from = if has_operand {
        // SAFETY: guaranteed by the caller.
        let (from, origin_basic) = unsafe { buffer(operation, origin.0, origin.1, origin.2) }?;
        same(origin_basic, basic, bytes)?;
        fits(bytes, from.span().len())?;
        from
    } else {
        // The origin arguments are ignored.
        TypedBuffer::EMPTY
    };
    // SAFETY: guaranteed by the caller.
    let (into, result_basic) = unsafe { buffer(operation, result.0, result.1, result.2) }?;
    let basic = same(result_basic, basic, bytes)?;
    fits(bytes, into.span().len())?;
    let Some(place) = window.find_target(target, &elements, count, is_request)? else {
        return Ok(RECEIVED_FROM_PROC_NULL);
    };
    let unit = element_bytes(basic);
    let head = window.combining(PacketKind::Fetch, operation, basic);
    let region = TargetRegion {
        elements: &elements,
        bytes,
        unit,
    };
    if !place.is_straight {
        let origin = OriginArgs {
            from,
            compare: TypedBuffer::EMPTY,
            into,
        };
        return window.record(&place, head, origin, region, is_request);
    }
    let from = has_operand.then_some(from.span());
    window.fetch(&place, head, from, into.span(), region);
    Ok(SEND_COMPLETE)
}

/// Returns the predefined datatype with this handle, and one element of it. Fails with class Type.
fn one(handle: c_int) -> Result<(BasicType, TypedElements), Error> {
    match known(handle)? {
        KnownDatatype::Basic(basic, _) => Ok((basic, TypedElements::from_basic(basic))),
        _ => Err(wrong(ErrorClass::Type, "not a predefined datatype")),
    }
}

#[inline(always)]
pub unsafe fn MPI_Accumulate(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    op: c_int,
    win: Handle,
) -> c_int {
    on_win("MPI_Accumulate", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        unsafe { accumulate(&window, origin, target, op, false) }.map(|_| ())
    })
}

#[inline(always)]
pub unsafe fn MPI_Raccumulate(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    op: c_int,
    win: Handle,
    request: *mut Handle,
) -> c_int {
    on_win("MPI_Raccumulate", win, |window| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        let origin = (origin_addr, origin_count, origin_datatype);
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffer.
        *request = Handle::new(unsafe { accumulate(&window, origin, target, op, true) }?);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Get_accumulate(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    result_addr: *mut c_void,
    result_count: isize,
    result_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    op: c_int,
    win: Handle,
) -> c_int {
    on_win("MPI_Get_accumulate", win, |window| {
        let origin = (origin_addr, origin_count, origin_datatype);
        let result = (result_addr.cast_const(), result_count, result_datatype);
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffers.
        unsafe { get_accumulate(&window, origin, result, target, op, false) }.map(|_| ())
    })
}

#[inline(always)]
pub unsafe fn MPI_Rget_accumulate(
    origin_addr: *const c_void,
    origin_count: isize,
    origin_datatype: c_int,
    result_addr: *mut c_void,
    result_count: isize,
    result_datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    target_count: isize,
    target_datatype: c_int,
    op: c_int,
    win: Handle,
    request: *mut Handle,
) -> c_int {
    on_win("MPI_Rget_accumulate", win, |window| {
        // SAFETY: the standard's requirements on `request`.
        let request = unsafe { args::out(request, "request") }?;
        let origin = (origin_addr, origin_count, origin_datatype);
        let result = (result_addr.cast_const(), result_count, result_datatype);
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: target_count,
            datatype: target_datatype,
        };
        // SAFETY: the standard's requirements on the origin's buffers.
        *request = Handle::new(unsafe { get_accumulate(&window, origin, result, target, op, true) }?);
        Ok(())
    })
}

/// Combines a 64-bit integer at the beginning of the window's part at process 0, and fetches its value before.
///
/// # Safety
/// Both addresses must refer to 64-bit integers until the epoch is closed.
pub(super) unsafe fn fetch_one(
    window: &CallWindow,
    operand: *const c_void,
    before: *mut c_void,
    op: c_int,
) -> Result<(), Error> {
    let datatype = number_type();
    let target = TargetArgs {
        rank: 0,
        disp: 0,
        count: 1,
        datatype,
    };
    let (origin, result) = ((operand, 1, datatype), (before.cast_const(), 1, datatype));
    // SAFETY: guaranteed by the caller.
    unsafe { get_accumulate(window, origin, result, target, op, false) }.map(|_| ())
}

/// Returns the handle of the datatype of 64-bit integers.
fn number_type() -> c_int {
    let known = KnownDatatype::from_basic(BasicType::Int64);
    known.handle().unwrap_or_default()
}

pub unsafe fn MPI_Fetch_and_op(
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    op: c_int,
    win: Handle,
) -> c_int {
    on_win("MPI_Fetch_and_op", win, |window| {
        one(datatype)?;
        let origin = (origin_addr, 1, datatype);
        let result = (result_addr.cast_const(), 1, datatype);
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: 1,
            datatype,
        };
        // SAFETY: the standard's requirements on both buffers.
        unsafe { get_accumulate(&window, origin, result, target, op, false) }.map(|_| ())
    })
}

pub unsafe fn MPI_Compare_and_swap(
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: c_int,
    target_rank: c_int,
    target_disp: isize,
    win: Handle,
) -> c_int {
    on_win("MPI_Compare_and_swap", win, |window| {
        let (basic, elements) = one(datatype)?;
        if !is_comparable(basic) {
            return Err(wrong(
                ErrorClass::Type,
                "only integers, truth values and bytes are compared and swapped",
            ));
        }
        // SAFETY: the standard's requirements on the buffers.
        let (new, compare, into) = unsafe {
            (
                elements.at(origin_addr, 1)?,
                elements.at(compare_addr, 1)?,
                elements.at(result_addr, 1)?,
            )
        };
        let target = TargetArgs {
            rank: target_rank,
            disp: target_disp,
            count: 1,
            datatype,
        };
        let Some(place) = window.find_target(target, &elements, 1, false)? else {
            return Ok(());
        };
        let len = basic.extent();
        if !place.is_straight {
            let head = RequestHead::new(PacketKind::Compare, window.context());
            let origin = OriginArgs {
                from: new,
                compare,
                into,
            };
            let region = TargetRegion {
                elements: &elements,
                bytes: len,
                unit: len,
            };
            let recorded = window.record(&place, head, origin, region, false);
            return recorded.map(|_| ());
        }
        window.swap(&place, new.span(), compare.span(), into.span(), len);
        Ok(())
    })
}
