//! C's arguments, checked and turned into Rust's.

use core::ffi::{c_char, c_int, c_void};

pub use super::addresses::is_in_place;
use super::datatypes::{Elements, Lent, plain_bytes};
use super::types::MPI_Status;
use super::types::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};
use super::user_ops::{self, UserOp};
use midplane_device::envelope::Tag;
use midplane_device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span};
use midplane_objects::comm::{CommRank, Communicator, Partners, Status};
use midplane_objects::error::Error;
use midplane_objects::op::Op;

const OPS: c_int = 0x5800_0000;
pub(super) const STATUS_IGNORE: usize = 1;

/// The peer of a call: MPI_PROC_NULL, or a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer<T> {
    /// MPI_PROC_NULL: nothing happens (section 3.11).
    ProcNull,
    /// A rank, or a choice of ranks.
    Rank(T),
}

pub fn count(count: c_int) -> Result<usize, Error> {
    usize::try_from(count).map_err(|_| Error::Count {
        count: count.into(),
    })
}

/// Something may lie at this address: nothing does at null, or at a member of what a null pointer points to.
#[inline]
pub fn is_address(buffer: *const c_void) -> bool {
    (MODEL_KEYS..END_OF_ADDRESSES).contains(&buffer.addr())
}

/// The program's buffer of `bytes` bytes.
///
/// # Safety
/// As for [`Span::new`], but for the address, which is checked.
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
    // SAFETY: the caller's promise, and the address has been checked.
    Ok(unsafe { Span::new(buffer.cast(), bytes) })
}

/// The program's buffer of `count` elements.
///
/// # Safety
/// As for [`bytes`], for every byte of the elements.
#[inline]
pub unsafe fn buffer(buffer: *const c_void, count: c_int, datatype: c_int) -> Result<Lent, Error> {
    let Some(bytes_of_one) = plain_bytes(datatype) else {
        // SAFETY: the caller's promise.
        return unsafe { buffer_of_others(buffer, count, datatype) };
    };
    let length = self::count(count)?
        .checked_mul(bytes_of_one)
        .ok_or(Error::TooLong { bytes: usize::MAX })?;
    // SAFETY: the caller's promise.
    unsafe { bytes(buffer, length) }.map(Lent::plain)
}

/// As [`buffer`], of elements that may have holes.
///
/// # Safety
/// As for [`buffer`].
#[cold]
unsafe fn buffer_of_others(
    buffer: *const c_void,
    count: c_int,
    datatype: c_int,
) -> Result<Lent, Error> {
    let elements = Elements::of(datatype)?;
    // SAFETY: the caller's promise.
    unsafe { elements.at(buffer, self::count(count)?) }
}

/// The destination of a send.
pub fn destination(comm: &Partners<'_>, dest: c_int) -> Result<Peer<CommRank>, Error> {
    if dest == MPI_PROC_NULL {
        Ok(Peer::ProcNull)
    } else {
        rank(comm, dest).map(Peer::Rank)
    }
}

/// The source of a receive; within it `None` is MPI_ANY_SOURCE.
pub fn source(comm: &Partners<'_>, source: c_int) -> Result<Peer<Option<CommRank>>, Error> {
    match source {
        MPI_PROC_NULL => Ok(Peer::ProcNull),
        MPI_ANY_SOURCE => Ok(Peer::Rank(None)),
        _ => rank(comm, source).map(|rank| Peer::Rank(Some(rank))),
    }
}

/// A rank among those that messages go to and come from.
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

/// The tag of a send.
#[inline]
pub fn tag(tag: c_int) -> Result<Tag, Error> {
    if tag < 0 {
        Err(Error::Tag { tag })
    } else {
        Ok(tag)
    }
}

/// The tag of a receive; `None` is MPI_ANY_TAG.
#[inline]
pub fn any_tag(given: c_int) -> Result<Option<Tag>, Error> {
    if given == MPI_ANY_TAG {
        Ok(None)
    } else {
        tag(given).map(Some)
    }
}

/// A place for a result; not null.
///
/// # Safety
/// A pointer that is not null points to a `T` that may be written for `'a`, and nothing else uses it.
pub unsafe fn out<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T, Error> {
    // SAFETY: the caller's promise. Results are numbers, for which any bytes are a value.
    unsafe { pointer.as_mut() }.ok_or(Error::NullArgument { name })
}

/// An array of the program's; null only if it is empty.
///
/// # Safety
/// A pointer that is not null points to `len` items that may be read and written for `'a`, and nothing else
/// uses them.
pub unsafe fn array_mut<'a, T>(
    pointer: *mut T,
    len: usize,
    name: &'static str,
) -> Result<&'a mut [T], Error> {
    if len == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts_mut(pointer, len) })
}

/// As [`array_mut`], to read.
///
/// # Safety
/// A pointer that is not null points to `len` items that may be read for `'a`, and nothing writes them.
pub unsafe fn array<'a, T>(
    pointer: *const T,
    len: usize,
    name: &'static str,
) -> Result<&'a [T], Error> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Where a status goes, if anywhere.
///
/// # Safety
/// As for [`out`], unless it is MPI_STATUS_IGNORE.
pub unsafe fn status<'a>(pointer: *mut MPI_Status) -> Result<Option<&'a mut MPI_Status>, Error> {
    if pointer.addr() == STATUS_IGNORE {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { out(pointer, "status") }.map(Some)
}

/// Where statuses go, if anywhere.
///
/// # Safety
/// As for [`array_mut`], unless it is MPI_STATUSES_IGNORE.
pub unsafe fn statuses<'a>(
    pointer: *mut MPI_Status,
    len: usize,
) -> Result<Option<&'a mut [MPI_Status]>, Error> {
    if pointer.addr() == STATUS_IGNORE {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
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
    };
    /// What a request that was no receive has: in the program's view empty, too, but its MPI_ERROR stays as it is.
    pub const NO_RECEIVE: MPI_Status = MPI_Status {
        MPI_ERROR: -1,
        ..MPI_Status::EMPTY
    };
    /// The status of a receive from MPI_PROC_NULL (section 3.11).
    pub const PROC_NULL: MPI_Status = MPI_Status {
        MPI_SOURCE: MPI_PROC_NULL,
        ..MPI_Status::EMPTY
    };

    /// The status of a message, or of the part of it that fitted.
    #[inline]
    pub fn of(result: &Result<Status, Error>) -> MPI_Status {
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

    /// Sets everything but MPI_ERROR, which a call that completes one request leaves alone (section
    /// 3.2.5).
    pub fn set(&mut self, status: MPI_Status) {
        *self = MPI_Status {
            MPI_ERROR: self.MPI_ERROR,
            ..status
        };
    }

    /// As [`MPI_Status::set`], where a request has completed. The empty status of one that was null or inactive has
    /// MPI_SUCCESS as its MPI_ERROR (section 3.7.3).
    pub fn complete(&mut self, status: MPI_Status) {
        if status == MPI_Status::EMPTY {
            *self = status;
        } else {
            self.set(status);
        }
    }
}

/// A reduction operation.
#[derive(Clone, Copy)]
pub enum Operation {
    /// One of MPI's.
    Predefined(Op),
    /// One of the program's.
    User(UserOp),
}

/// Operations of windows alone (section 11.3.4), which [`operation`] does not know.
pub const MPI_REPLACE: c_int = 0x5800_000d;
pub const MPI_NO_OP: c_int = 0x5800_000e;

pub fn operation(handle: c_int) -> Result<Operation, Error> {
    let predefined = usize::try_from(handle.wrapping_sub(OPS + 1))
        .ok()
        .and_then(|index| Op::ALL.get(index));
    if let Some(op) = predefined {
        return Ok(Operation::Predefined(*op));
    }
    user_ops::get(handle)
        .map(Operation::User)
        .ok_or(Error::Operation { handle })
}

/// A string of the program's, cut to what `room` bytes hold with the closing zero. What is not UTF-8 is
/// replaced.
///
/// # Safety
/// A `from` that is not null points to a string.
pub unsafe fn string<'a>(
    from: *const c_char,
    room: usize,
    name: &'static str,
) -> Result<alloc::borrow::Cow<'a, str>, Error> {
    if from.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { core::ffi::CStr::from_ptr(from) }.to_bytes();
    let mut cut = bytes.len().min(room - 1);
    while cut < bytes.len() && cut > 0 && bytes[cut] & 0xc0 == 0x80 {
        cut -= 1;
    }
    Ok(alloc::string::String::from_utf8_lossy(&bytes[..cut]))
}

/// Copies text with its closing zero to `to`, which has room for `room` bytes; the length without the zero.
///
/// # Safety
/// A `to` that is not null has room for `room` bytes.
pub unsafe fn text(to: *mut c_char, room: usize, text: &str) -> Result<c_int, Error> {
    if to.is_null() {
        return Err(Error::NullArgument { name: "the string" });
    }
    let bytes = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: the caller's promise; `bytes` and the zero are at most `room`.
    unsafe {
        to.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        to.cast::<u8>().add(bytes.len()).write(0);
    }
    Ok(bytes.len() as c_int)
}

/// # Safety
/// `to` has room for `room` bytes, and `length` is as for [`out`].
pub unsafe fn put_text(
    to: *mut c_char,
    room: usize,
    text: &str,
    length: *mut c_int,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    let length = unsafe { out(length, "resultlen") }?;
    // SAFETY: the caller's promise.
    *length = unsafe { self::text(to, room, text) }?;
    Ok(())
}

/// The arguments of a send.
#[derive(Clone)]
pub struct Send {
    pub data: Lent,
    pub dest: Peer<CommRank>,
    pub tag: Tag,
}

/// # Safety
/// As for [`buffer`].
pub unsafe fn send_args(
    comm: &Partners<'_>,
    buf: *const c_void,
    count: c_int,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
) -> Result<Send, Error> {
    // SAFETY: the caller's promise.
    let data = unsafe { buffer(buf, count, datatype) }?;
    let (dest, tag) = (destination(comm, dest)?, self::tag(tag)?);
    Ok(Send { data, dest, tag })
}

/// The arguments of a receive.
#[derive(Clone)]
pub struct Receive {
    pub data: Lent,
    pub source: Peer<Option<CommRank>>,
    pub tag: Option<Tag>,
}

/// # Safety
/// As for [`buffer`].
pub unsafe fn recv_args(
    comm: &Partners<'_>,
    buf: *mut c_void,
    count: c_int,
    datatype: c_int,
    source: c_int,
    tag: c_int,
) -> Result<Receive, Error> {
    // SAFETY: the caller's promise.
    let data = unsafe { buffer(buf, count, datatype) }?;
    let (source, tag) = (self::source(comm, source)?, any_tag(tag)?);
    Ok(Receive { data, source, tag })
}
