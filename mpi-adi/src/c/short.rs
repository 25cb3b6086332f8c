//! Messages of predefined datatypes within MPI_COMM_WORLD, for which the carrier may have a shorter way
//! ([`Env::short_send`] and its like).
//!
//! A build without the feature `short-ways` has none of them, and every call goes the whole way.
//!
//! Here is looked no further than whether a call is of that kind. One that is not, or that has a wrong argument, goes the
//! whole way, where that is found and told.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use super::args::{self, Receive, Send, recv_args, send_args};
use super::binding::BINDING;
use super::datatypes::plain_bytes;
use super::report::{deliver, on_partners};
use super::requests::{SEND_COMPLETE, handle_of};
use super::types::MPI_Status;
use super::types::constants::*;
use crate::device::at_once::{Received, Sent};
use crate::device::envelope::{Pattern, Rank};
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::request::{Mode, RequestId, Whole};
use crate::device::send::SendTo;
use crate::mpi::call::block_until;
use crate::mpi::comm::{self, Partners, Status};
use crate::mpi::context::WORLD_CONTEXT;
use crate::mpi::error::Error;
use crate::mpi::process::Env;

/// What a call has been given: a buffer of so many elements, the other process, the tag, the communicator.
pub(super) struct Given {
    pub buffer: *const c_void,
    pub count: c_int,
    pub datatype: c_int,
    pub peer: c_int,
    pub tag: c_int,
    pub comm: c_int,
}

/// The device, between MPI_Init and MPI_Finalize, and the number of processes; `None` where there are no short ways, too.
#[inline(always)]
fn open() -> Option<(&'static dyn Env, u32)> {
    if !cfg!(feature = "short-ways") {
        return None;
    }
    match BINDING.open_size.load(Ordering::Relaxed) {
        0 => None,
        // SAFETY: it is not 0 before MPI_Init, which has found the device there.
        size => Some((*unsafe { BINDING.env.get_unchecked() }, size)),
    }
}

impl Given {
    #[inline(always)]
    pub fn new(
        (buffer, count, datatype): (*const c_void, c_int, c_int),
        (peer, tag, comm): (c_int, c_int, c_int),
    ) -> Self {
        Self {
            buffer,
            count,
            datatype,
            peer,
            tag,
            comm,
        }
    }

    /// The arguments of a send that goes the whole way.
    ///
    /// # Safety
    /// As for [`send_args`].
    pub unsafe fn send(&self, comm: &Partners<'_>) -> Result<Send, Error> {
        // SAFETY: the caller's promise.
        unsafe {
            send_args(
                comm,
                self.buffer,
                self.count,
                self.datatype,
                self.peer,
                self.tag,
            )
        }
    }

    /// The arguments of a receive that goes the whole way.
    ///
    /// # Safety
    /// As for [`recv_args`].
    pub unsafe fn receive(&self, comm: &Partners<'_>) -> Result<Receive, Error> {
        let buffer = self.buffer.cast_mut();
        // SAFETY: the caller's promise.
        unsafe { recv_args(comm, buffer, self.count, self.datatype, self.peer, self.tag) }
    }

    /// The buffer, of one byte at least.
    ///
    /// # Safety
    /// As for [`args::buffer`].
    #[inline(always)]
    unsafe fn span(&self) -> Option<Span> {
        let count = usize::try_from(self.count).ok()?;
        let bytes = plain_bytes(self.datatype)?.checked_mul(count)?;
        let is_one = args::is_address(self.buffer)
            && (1..=u32::MAX as usize).contains(&bytes)
            && self.comm == MPI_COMM_WORLD;
        // SAFETY: the caller's promise, and the address has been checked.
        is_one.then(|| unsafe { Span::new(self.buffer.cast(), bytes) })
    }

    #[inline(always)]
    fn to(&self, size: u32) -> Option<SendTo> {
        let dest = self.peer as u32;
        (dest < size && self.tag >= 0).then(|| SendTo {
            dest: Rank::new(dest),
            tag: self.tag,
            context: WORLD_CONTEXT,
            mode: Mode::Standard,
        })
    }

    #[inline(always)]
    fn pattern(&self, size: u32) -> Option<Pattern> {
        let source = match self.peer {
            MPI_ANY_SOURCE => None,
            rank if (rank as u32) < size => Some(Rank::new(rank as u32)),
            _ => return None,
        };
        let tag = args::any_tag(self.tag).ok()?;
        Some(Pattern::new(source, tag, WORLD_CONTEXT))
    }

    fn note(&self, function: &'static str) -> CallNote {
        CallNote {
            peer: Some(self.peer),
            tag: Some(self.tag),
            ..CallNote::of(function)
        }
    }
}

/// The whole of a send that blocks; `None`: it is to go the whole way.
///
/// # Safety
/// As for [`send_args`].
#[inline(always)]
pub(super) unsafe fn send(function: &'static str, given: &Given) -> Option<c_int> {
    let (env, size) = open()?;
    // SAFETY: the caller's promise.
    let (span, to) = (unsafe { given.span() }?, given.to(size)?);
    match env.short_send(&to, span) {
        Sent::Complete => Some(MPI_SUCCESS),
        Sent::Not => None,
        sent => Some(sent_later(function, env, sent, given)),
    }
}

#[inline(never)]
fn sent_later(function: &'static str, env: &dyn Env, sent: Sent, given: &Given) -> c_int {
    let note = given.note(function);
    match sent {
        Sent::Started(id) => {
            comm::wait(env, note, id);
        }
        _ => block_until(env, note, &mut |adi, _| adi.have_copies_left()),
    }
    MPI_SUCCESS
}

/// The handle of a send that does not block; `None`: it is to go the whole way.
///
/// # Safety
/// As for [`send_args`], until the request has completed.
#[inline(always)]
pub(super) unsafe fn start_send(given: &Given) -> Option<c_int> {
    let (env, size) = open()?;
    // SAFETY: the caller's promise.
    let (span, to) = (unsafe { given.span() }?, given.to(size)?);
    match env.short_send(&to, span) {
        Sent::Complete | Sent::Copied => Some(SEND_COMPLETE),
        Sent::Started(id) => Some(handle_of(id)),
        Sent::Not => None,
    }
}

/// The whole of a receive that blocks; `None`: it is to go the whole way.
///
/// # Safety
/// As for [`recv_args`]; `status` as for [`args::status`].
#[inline(always)]
pub(super) unsafe fn receive(
    function: &'static str,
    given: &Given,
    status: *mut MPI_Status,
) -> Option<c_int> {
    if status.is_null() {
        return None;
    }
    let (env, size) = open()?;
    // SAFETY: the caller's promise.
    let (span, pattern) = (unsafe { given.span() }?, given.pattern(size)?);
    match env.short_receive(function, &pattern, span) {
        Received::Complete(whole) => {
            // SAFETY: the caller's promise.
            unsafe { tell(&whole, status) };
            Some(MPI_SUCCESS)
        }
        Received::Not => None,
        // SAFETY: the caller's promise.
        received => Some(unsafe { receive_later(function, received, given, status) }),
    }
}

/// # Safety
/// As for [`receive`].
#[inline(never)]
unsafe fn receive_later(
    function: &'static str,
    received: Received,
    given: &Given,
    status: *mut MPI_Status,
) -> c_int {
    on_partners(function, given.comm, |comm| {
        let result = match received {
            Received::Started(id) => comm.received(comm::wait(comm.env, given.note(function), id)),
            Received::Truncated(whole) => {
                let Status { source, tag, bytes } = Status::in_world(&whole);
                Err(Error::Truncated {
                    source,
                    tag,
                    room: bytes,
                })
            }
            Received::Complete(_) | Received::Not => return Ok(()),
        };
        // SAFETY: the caller's promise.
        deliver(result, unsafe { args::status(status) }?)
    })
}

/// Tells the program of a message within MPI_COMM_WORLD.
///
/// # Safety
/// `status` as for [`args::status`].
#[inline(always)]
pub(super) unsafe fn tell(whole: &Whole, status: *mut MPI_Status) {
    // SAFETY: the caller's promise.
    if let Ok(Some(status)) = unsafe { args::status(status) } {
        status.set(MPI_Status::of(&Ok(Status::in_world(whole))));
    }
}

/// The handle of a receive that does not block; `None`: it is to go the whole way.
///
/// # Safety
/// As for [`recv_args`], until the request has completed.
#[inline(always)]
pub(super) unsafe fn start_receive(given: &Given) -> Option<c_int> {
    let (env, size) = open()?;
    // SAFETY: the caller's promise.
    let (span, pattern) = (unsafe { given.span() }?, given.pattern(size)?);
    env.short_start_receive(&pattern, span).map(handle_of)
}

/// Waits for the request of this handle, if it is the device's; `None`: the call is to go the whole way.
#[inline(always)]
pub(super) fn wait(function: &'static str, handle: c_int) -> Option<Whole> {
    if handle >= 0 {
        return None;
    }
    let (env, _) = open()?;
    env.short_wait(function, RequestId(!handle as u32), WORLD_CONTEXT)
}
