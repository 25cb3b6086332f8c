//! Validation of C arguments, and their conversion to Rust types.

use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;

pub use super::addresses::is_in_place;
use super::datatypes::{TypedBuffer, TypedElements, plain_bytes};
use super::types::MPI_Status;
use super::types::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use super::user_ops::{self, UserOp};
use midplane_device::envelope::Tag;
use midplane_device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span};
use midplane_objects::comm::{CommRank, Communicator, Partners, Status};
use midplane_objects::error::Error;
use midplane_objects::op::PredefinedOp;

/// Peer of a call: MPI_PROC_NULL or a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerRank<T> {
    /// MPI_PROC_NULL: the call has no effect (section 3.11).
    ProcNull,
    /// A rank, or MPI_ANY_SOURCE.
    Rank(T),
}

pub fn count(count: isize) -> Result<usize, Error> {
    usize::try_from(count).map_err(|_| Error::Count { count: count as i64 })
}

/// Checks the length of a list, which is an `int` in all forms.
pub fn length(length: c_int) -> Result<usize, Error> {
    count(length as isize)
}

/// Checks whether a buffer may be at this address. Rejects null, and members of a structure at null.
#[inline]
pub fn is_address(buffer: *const c_void) -> bool {
    (MODEL_KEYS..END_OF_ADDRESSES).contains(&buffer.addr())
}

/// Returns the program's buffer of `bytes` bytes.
///
/// # Safety
/// The buffer must satisfy [`Span::new`], except that the address is checked.
pub unsafe fn bytes(buffer: *const c_void, bytes: usize) -> Result<Span, Error> {
    if bytes == 0 {
        return Ok(Span::EMPTY);
    }
    if is_in_place(buffer) {
        return Err(Error::InPlace);
    }
    if !is_address(buffer) {
        return Err(Error::NullBuffer);
    }
    // SAFETY: guaranteed by the caller, and the address is checked.
    Ok(unsafe { Span::new(buffer.cast(), bytes) })
}

/// Returns the program's buffer of `count` elements.
///
/// # Safety
/// Every byte of the elements must satisfy [`bytes`].
#[inline]
pub unsafe fn buffer(buffer: *const c_void, count: isize, datatype: c_int) -> Result<TypedBuffer, Error> {
    let Some(bytes_of_one) = plain_bytes(datatype) else {
        // SAFETY: guaranteed by the caller.
        return unsafe { buffer_of_others(buffer, count, datatype) };
    };
    let length = self::count(count)?
        .checked_mul(bytes_of_one)
        .ok_or(Error::TooLong { bytes: usize::MAX })?;
    // SAFETY: guaranteed by the caller.
    unsafe { bytes(buffer, length) }.map(TypedBuffer::plain)
}

/// Returns a buffer of elements that may have holes; see [`buffer`].
///
/// # Safety
/// See [`buffer`].
#[cold]
unsafe fn buffer_of_others(buffer: *const c_void, count: isize, datatype: c_int) -> Result<TypedBuffer, Error> {
    let elements = TypedElements::from_handle(datatype)?;
    // SAFETY: guaranteed by the caller.
    unsafe { elements.at(buffer, self::count(count)?) }
}

/// Checks the destination of a send.
pub fn destination(comm: &Partners<'_>, dest: c_int) -> Result<PeerRank<CommRank>, Error> {
    if dest == MPI_PROC_NULL {
        Ok(PeerRank::ProcNull)
    } else {
        rank(comm, dest).map(PeerRank::Rank)
    }
}

/// Checks the source of a receive; the inner `None` is MPI_ANY_SOURCE.
pub fn source(comm: &Partners<'_>, source: c_int) -> Result<PeerRank<Option<CommRank>>, Error> {
    match source {
        MPI_PROC_NULL => Ok(PeerRank::ProcNull),
        MPI_ANY_SOURCE => Ok(PeerRank::Rank(None)),
        _ => rank(comm, source).map(|rank| PeerRank::Rank(Some(rank))),
    }
}

/// Checks a rank of a communication partner.
pub fn rank(comm: &Partners<'_>, given: c_int) -> Result<CommRank, Error> {
    comm.group().rank(given.into())
}

pub fn root(comm: &Communicator<'_>, root: c_int) -> Result<CommRank, Error> {
    let known = u32::try_from(root).ok().filter(|rank| *rank < comm.size());
    known.map(CommRank).ok_or(Error::Root {
        root: root.into(),
        size: comm.size(),
    })
}

/// Checks the tag of a send.
#[inline]
pub fn tag(tag: c_int) -> Result<Tag, Error> {
    if tag < 0 { Err(Error::Tag { tag }) } else { Ok(tag) }
}

/// Checks the tag of a receive; `None` is MPI_ANY_TAG.
#[inline]
pub fn any_tag(given: c_int) -> Result<Option<Tag>, Error> {
    if given == MPI_ANY_TAG {
        Ok(None)
    } else {
        tag(given).map(Some)
    }
}

/// Returns a reference to an output argument. Fails for a null pointer.
///
/// # Safety
/// A non-null pointer must point to a `T` that may be written for `'a`, and that nothing else uses.
pub unsafe fn out<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T, Error> {
    // SAFETY: guaranteed by the caller. Results are numbers, for which every bit pattern is valid.
    unsafe { pointer.as_mut() }.ok_or(Error::NullArgument { name })
}

/// Returns an array of the program. Fails for a null pointer unless the array is empty.
///
/// # Safety
/// A non-null pointer must point to `len` items that may be read and written for `'a`, and that nothing else uses.
pub unsafe fn array_mut<'a, T>(pointer: *mut T, len: usize, name: &'static str) -> Result<&'a mut [T], Error> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

/// Returns a read-only array of the program; see [`array_mut`].
///
/// # Safety
/// A non-null pointer must point to `len` items that may be read for `'a`, and that nothing writes.
pub unsafe fn array<'a, T>(pointer: *const T, len: usize, name: &'static str) -> Result<&'a [T], Error> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Returns the status argument; `None` is MPI_STATUS_IGNORE, a null pointer.
///
/// # Safety
/// The pointer must satisfy [`out`], unless it is MPI_STATUS_IGNORE.
pub unsafe fn status<'a>(pointer: *mut MPI_Status) -> Result<Option<&'a mut MPI_Status>, Error> {
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { pointer.as_mut() })
}

/// Returns the array of statuses; `None` is MPI_STATUSES_IGNORE.
///
/// # Safety
/// The pointer must satisfy [`array_mut`], unless it is MPI_STATUSES_IGNORE.
pub unsafe fn statuses<'a>(pointer: *mut MPI_Status, len: usize) -> Result<Option<&'a mut [MPI_Status]>, Error> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { array_mut(pointer, len, "array_of_statuses") }.map(Some)
}

impl MPI_Status {
    /// The empty status (section 3.7.3).
    pub const EMPTY: MPI_Status = MPI_Status {
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: 0,
        midplane_cancelled: 0,
        midplane_bytes: 0,
        reserved: [MaybeUninit::uninit(); 2],
    };
    /// Status of a request other than a receive: empty to the program, but MPI_ERROR remains unchanged.
    pub const NO_RECEIVE: MPI_Status = MPI_Status {
        MPI_ERROR: -1,
        ..MPI_Status::EMPTY
    };
    /// Status of a receive from MPI_PROC_NULL (section 3.11).
    pub const PROC_NULL: MPI_Status = MPI_Status {
        MPI_SOURCE: MPI_PROC_NULL,
        ..MPI_Status::EMPTY
    };

    /// Returns the status of a message, or of the received part of a truncated one.
    #[inline]
    pub fn from_result(result: &Result<Status, Error>) -> MPI_Status {
        let (source, tag, bytes) = match *result {
            Ok(Status { source, tag, bytes }) => (source, tag, bytes),
            Err(Error::Truncated { source, tag, room }) => (source, tag, room),
            Err(_) => return MPI_Status::EMPTY,
        };
        MPI_Status {
            MPI_SOURCE: source as c_int,
            MPI_TAG: tag,
            midplane_bytes: bytes as core::ffi::c_longlong,
            ..MPI_Status::EMPTY
        }
    }

    /// Checks whether this is the empty status.
    fn is_empty(&self) -> bool {
        let MPI_Status {
            MPI_SOURCE: source,
            MPI_TAG: tag,
            MPI_ERROR: error,
            midplane_cancelled: cancelled,
            midplane_bytes: bytes,
            ..
        } = *self;
        (source, tag, error, cancelled, bytes) == (MPI_ANY_SOURCE, MPI_ANY_TAG, 0, 0, 0)
    }

    /// Sets all fields except MPI_ERROR, which a call that completes one request does not change (section 3.2.5).
    pub fn set(&mut self, status: MPI_Status) {
        *self = MPI_Status {
            MPI_ERROR: self.MPI_ERROR,
            ..status
        };
    }

    /// Sets the status of a completed request. The empty status of a null or inactive request also sets MPI_ERROR to
    /// MPI_SUCCESS (section 3.7.3); see [`MPI_Status::set`].
    pub fn complete(&mut self, status: MPI_Status) {
        if status.is_empty() {
            *self = status;
        } else {
            self.set(status);
        }
    }
}

/// A reduction operation.
#[derive(Clone, Copy)]
pub enum ReductionOp {
    /// A predefined operation.
    Predefined(PredefinedOp),
    /// An operation of the program.
    User(UserOp),
}

/// The predefined operation of sums.
pub const MPI_SUM: c_int = PredefinedOp::Sum.handle();
// RMA-only operations (section 11.3.4); [`operation`] rejects them.
pub const MPI_REPLACE: c_int = 0x3c;
pub const MPI_NO_OP: c_int = 0x3d;

/// Lowest handle of the predefined operations.
const FIRST_OP: c_int = 0x20;
/// Predefined operations by handle, from [`FIRST_OP`].
static OPS: [Option<PredefinedOp>; 0x1a] = {
    let mut by_handle = [None; 0x1a];
    let mut at = 0;
    while at < PredefinedOp::ALL.len() {
        let op = PredefinedOp::ALL[at];
        by_handle[(op.handle() - FIRST_OP) as usize] = Some(op);
        at += 1;
    }
    by_handle
};

pub fn operation(handle: c_int) -> Result<ReductionOp, Error> {
    let predefined = OPS.get(handle.wrapping_sub(FIRST_OP) as usize);
    if let Some(Some(op)) = predefined {
        return Ok(ReductionOp::Predefined(*op));
    }
    user_ops::get(handle)
        .map(ReductionOp::User)
        .ok_or(Error::Operation { handle })
}

/// Returns a string of the program, truncated to fit in `room` bytes with the terminating zero. Invalid UTF-8 is
/// replaced.
///
/// # Safety
/// A non-null `from` must point to a string.
pub unsafe fn string<'a>(
    from: *const c_char,
    room: usize,
    name: &'static str,
) -> Result<alloc::borrow::Cow<'a, str>, Error> {
    if from.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { core::ffi::CStr::from_ptr(from) }.to_bytes();
    let mut cut = bytes.len().min(room - 1);
    while cut < bytes.len() && cut > 0 && bytes[cut] & 0xc0 == 0x80 {
        cut -= 1;
    }
    Ok(alloc::string::String::from_utf8_lossy(&bytes[..cut]))
}

/// Copies text with a terminating zero to a buffer of `room` bytes. Returns the length without the zero.
///
/// # Safety
/// A non-null `to` must have capacity for `room` bytes.
pub unsafe fn text(to: *mut c_char, room: usize, text: &str) -> Result<c_int, Error> {
    if to.is_null() {
        return Err(Error::NullArgument { name: "the string" });
    }
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: guaranteed by the caller; `bytes` and the zero are at most `room`.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        to.cast::<u8>().add(bytes.len()).write(0);
    }
    Ok(bytes.len() as c_int)
}

/// # Safety
/// `to` must have capacity for `room` bytes, and `length` must satisfy [`out`].
pub unsafe fn put_text(to: *mut c_char, room: usize, text: &str, length: *mut c_int) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let length = unsafe { out(length, "resultlen") }?;
    // SAFETY: guaranteed by the caller.
    *length = unsafe { self::text(to, room, text) }?;
    Ok(())
}

/// Arguments of a send.
#[derive(Clone)]
pub struct SendArgs {
    pub data: TypedBuffer,
    pub dest: PeerRank<CommRank>,
    pub tag: Tag,
}

/// # Safety
/// See [`buffer`].
pub unsafe fn send_args(
    comm: &Partners<'_>,
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
) -> Result<SendArgs, Error> {
    // SAFETY: guaranteed by the caller.
    let data = unsafe { buffer(buf, count, datatype) }?;
    let (dest, tag) = (destination(comm, dest)?, self::tag(tag)?);
    Ok(SendArgs { data, dest, tag })
}

/// Arguments of a receive.
#[derive(Clone)]
pub struct ReceiveArgs {
    pub data: TypedBuffer,
    pub source: PeerRank<Option<CommRank>>,
    pub tag: Option<Tag>,
}

/// # Safety
/// See [`buffer`].
pub unsafe fn recv_args(
    comm: &Partners<'_>,
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    source: c_int,
    tag: c_int,
) -> Result<ReceiveArgs, Error> {
    // SAFETY: guaranteed by the caller.
    let data = unsafe { buffer(buf, count, datatype) }?;
    let (source, tag) = (self::source(comm, source)?, any_tag(tag)?);
    Ok(ReceiveArgs { data, source, tag })
}
