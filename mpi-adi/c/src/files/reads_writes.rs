//! Data access with explicit offsets, the individual pointer and the shared pointer (sections 13.4.2 to 13.4.4), blocking,
//! nonblocking and split (section 13.4.5). A collective call accesses the data of its process only.

use core::ffi::{c_int, c_longlong, c_void};

use super::access::{DataArgs, TransferKind};
use super::objects::{FileCall, SplitCall, on_file};
use super::requests::completed_request;
use crate::args;
use crate::types::{Handle, MPI_Status};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::windows::wrong;

/// Start of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessStart {
    /// At this offset in etypes.
    At(c_longlong),
    /// At the individual pointer, which moves by the data's etypes.
    Pointer,
    /// At the shared pointer, in the order in which the processes arrive.
    Shared,
    /// At the shared pointer, in the order of the ranks. A collective call.
    Ordered,
}

/// Result of a call.
#[derive(Clone, Copy)]
enum AccessResult {
    Status(*mut MPI_Status),
    Request(*mut Handle),
    Split(SplitCall),
}

impl AccessResult {
    /// Checks the argument before the transfer.
    ///
    /// # Safety
    /// The pointers must satisfy [`args::status`] or [`args::out`].
    unsafe fn check(self, call: &FileCall) -> Result<(), Error> {
        match self {
            // SAFETY: guaranteed by the caller.
            Self::Status(status) => unsafe { args::status(status) }.map(|_| ()),
            // SAFETY: guaranteed by the caller.
            Self::Request(request) => unsafe { args::out(request, "request") }.map(|_| ()),
            Self::Split(_) => call.with_object(|object| match object.split {
                None => Ok(()),
                Some(_) => Err(wrong(
                    ErrorClass::Io,
                    "another split collective call of the file is in progress",
                )),
            }),
        }
    }

    /// Stores the status of a completed transfer.
    ///
    /// # Safety
    /// See [`AccessResult::check`].
    unsafe fn store(self, call: &FileCall, status: MPI_Status) -> Result<(), Error> {
        match self {
            Self::Status(place) => {
                // SAFETY: guaranteed by the caller.
                if let Some(place) = unsafe { args::status(place) }? {
                    place.set(status);
                }
            }
            // SAFETY: guaranteed by the caller.
            Self::Request(place) => *unsafe { args::out(place, "request") }? = Handle::new(completed_request(status)?),
            Self::Split(kind) => call.with_object(|object| {
                object.split = Some((kind, status));
                Ok(())
            })?,
        }
        Ok(())
    }
}

/// # Safety
/// The standard's requirements on the buffer and on the result.
unsafe fn access(
    function: &'static str,
    fh: c_int,
    kind: TransferKind,
    start: AccessStart,
    data: DataArgs,
    result: AccessResult,
) -> c_int {
    on_file(function, fh, |call| {
        let is_shared = matches!(start, AccessStart::Shared | AccessStart::Ordered);
        // SAFETY: guaranteed by the caller.
        let checked = unsafe { result.check(&call) };
        let data = checked.and_then(|()| call.check_data(kind, data, is_shared));
        let data = match start {
            // The process takes part in the order even if its arguments are wrong.
            AccessStart::Ordered => data,
            _ => Ok(data?),
        };
        let etypes = data.as_ref().map_or(0, |data| data.etypes);
        let start = match start {
            AccessStart::At(offset) => {
                u64::try_from(offset).map_err(|_| Error::argument("an offset that is negative"))?
            }
            AccessStart::Pointer => call.with_object(|object| {
                let start = object.position;
                object.position = start.saturating_add(etypes);
                Ok(start)
            })?,
            AccessStart::Shared => call.add_to_pointer(etypes)?,
            AccessStart::Ordered => call.add_in_order(etypes)?,
        };
        let status = call.transfer(kind, start, &data?)?;
        // SAFETY: guaranteed by the caller.
        unsafe { result.store(&call, status) }
    })
}

/// Ends a split collective call.
///
/// # Safety
/// See [`args::status`].
unsafe fn end_split(function: &'static str, fh: c_int, kind: SplitCall, status: *mut MPI_Status) -> c_int {
    on_file(function, fh, |call| {
        // SAFETY: guaranteed by the caller.
        let place = unsafe { args::status(status) }?;
        let status = call.with_object(|object| match object.split {
            Some((begun, status)) if begun == kind => {
                object.split = None;
                Ok(status)
            }
            _ => Err(wrong(
                ErrorClass::Io,
                "no split collective call of this kind is in progress",
            )),
        })?;
        if let Some(place) = place {
            place.set(status);
        }
        Ok(())
    })
}

/// Type of a buffer in `mpi.h`.
macro_rules! buffer_type {
    (Read) => { *mut c_void };
    (Write) => { *const c_void };
}

/// Defines calls that access data. In parentheses are the offset and the result, if the call has them.
macro_rules! accesses {
    ($($name:ident($($offset:ident)?; $($place:ident: $type:ty)?): $kind:ident, $start:expr, $result:expr;)*) => {
        $(pub unsafe fn $name(
            fh: c_int,
            $($offset: c_longlong,)?
            buf: buffer_type!($kind),
            count: isize,
            datatype: c_int,
            $($place: $type,)?
        ) -> c_int {
            let data = DataArgs { buffer: buf, count, datatype };
            // SAFETY: the standard's requirements on the buffer and the result.
            unsafe { access(stringify!($name), fh, TransferKind::$kind, $start, data, $result) }
        })*
    };
}

/// Defines the ends of split collective calls.
macro_rules! ends_split {
    ($($name:ident: $kind:ident, $split:ident;)*) => {
        $(pub unsafe fn $name(fh: c_int, _buf: buffer_type!($kind), status: *mut MPI_Status) -> c_int {
            // SAFETY: the standard's requirements on `status`.
            unsafe { end_split(stringify!($name), fh, SplitCall::$split, status) }
        })*
    };
}

accesses! {
    MPI_File_read_at(offset; status: *mut MPI_Status): Read, AccessStart::At(offset), AccessResult::Status(status);
    MPI_File_iread_at(offset; request: *mut Handle): Read, AccessStart::At(offset), AccessResult::Request(request);
    MPI_File_read(; status: *mut MPI_Status): Read, AccessStart::Pointer, AccessResult::Status(status);
    MPI_File_iread(; request: *mut Handle): Read, AccessStart::Pointer, AccessResult::Request(request);
    MPI_File_read_at_all(offset; status: *mut MPI_Status): Read, AccessStart::At(offset), AccessResult::Status(status);
    MPI_File_iread_at_all(offset; request: *mut Handle): Read, AccessStart::At(offset), AccessResult::Request(request);
    MPI_File_read_all(; status: *mut MPI_Status): Read, AccessStart::Pointer, AccessResult::Status(status);
    MPI_File_iread_all(; request: *mut Handle): Read, AccessStart::Pointer, AccessResult::Request(request);
    MPI_File_read_shared(; status: *mut MPI_Status): Read, AccessStart::Shared, AccessResult::Status(status);
    MPI_File_iread_shared(; request: *mut Handle): Read, AccessStart::Shared, AccessResult::Request(request);
    MPI_File_read_ordered(; status: *mut MPI_Status): Read, AccessStart::Ordered, AccessResult::Status(status);
    MPI_File_read_at_all_begin(offset; ): Read, AccessStart::At(offset), AccessResult::Split(SplitCall::ReadAtAll);
    MPI_File_read_all_begin(; ): Read, AccessStart::Pointer, AccessResult::Split(SplitCall::ReadAll);
    MPI_File_read_ordered_begin(; ): Read, AccessStart::Ordered, AccessResult::Split(SplitCall::ReadOrdered);
    MPI_File_write_at(offset; status: *mut MPI_Status): Write, AccessStart::At(offset), AccessResult::Status(status);
    MPI_File_iwrite_at(offset; request: *mut Handle): Write, AccessStart::At(offset), AccessResult::Request(request);
    MPI_File_write(; status: *mut MPI_Status): Write, AccessStart::Pointer, AccessResult::Status(status);
    MPI_File_iwrite(; request: *mut Handle): Write, AccessStart::Pointer, AccessResult::Request(request);
    MPI_File_write_at_all(offset; status: *mut MPI_Status): Write, AccessStart::At(offset), AccessResult::Status(status);
    MPI_File_iwrite_at_all(offset; request: *mut Handle): Write, AccessStart::At(offset), AccessResult::Request(request);
    MPI_File_write_all(; status: *mut MPI_Status): Write, AccessStart::Pointer, AccessResult::Status(status);
    MPI_File_iwrite_all(; request: *mut Handle): Write, AccessStart::Pointer, AccessResult::Request(request);
    MPI_File_write_shared(; status: *mut MPI_Status): Write, AccessStart::Shared, AccessResult::Status(status);
    MPI_File_iwrite_shared(; request: *mut Handle): Write, AccessStart::Shared, AccessResult::Request(request);
    MPI_File_write_ordered(; status: *mut MPI_Status): Write, AccessStart::Ordered, AccessResult::Status(status);
    MPI_File_write_at_all_begin(offset; ): Write, AccessStart::At(offset), AccessResult::Split(SplitCall::WriteAtAll);
    MPI_File_write_all_begin(; ): Write, AccessStart::Pointer, AccessResult::Split(SplitCall::WriteAll);
    MPI_File_write_ordered_begin(; ): Write, AccessStart::Ordered, AccessResult::Split(SplitCall::WriteOrdered);
}

ends_split! {
    MPI_File_read_all_end: Read, ReadAll;
    MPI_File_read_at_all_end: Read, ReadAtAll;
    MPI_File_read_ordered_end: Read, ReadOrdered;
    MPI_File_write_all_end: Write, WriteAll;
    MPI_File_write_at_all_end: Write, WriteAtAll;
    MPI_File_write_ordered_end: Write, WriteOrdered;
}
