//! Messages of predefined datatypes, for which the carrier may have a shorter way
//! ([`Env::short_send`] and its like).
//!
//! A build with the feature `micro` has none of them, and every call goes the whole way.
//!
//! Here is looked no further than whether a call is of that kind. One that is not, or that has a wrong argument, goes the
//! whole way, where that is found and told.

use core::ffi::{c_int, c_void};

use super::args::{self, Receive, Send, recv_args, send_args};
use super::binding::BINDING;
use super::comm_table::{self, Peers};
use super::datatypes::plain_bytes;
use super::report::{deliver, end, on_partners};
use super::requests::{SEND_COMPLETE, handle_of, whole_status};
use super::types::MPI_Status;
use super::types::constants::*;
use crate::device::at_once::{Incoming, Outgoing, Received, Sent};
use crate::device::envelope::Pattern;
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::request::{Mode, Outcome, RequestId, Whole};
use crate::device::send::SendTo;
use crate::mpi::call::{block_until, note_of_pattern};
use crate::mpi::comm::{self, Partners};
use crate::mpi::error::Error;
use crate::mpi::process::Env;

/// What a call has been given: a buffer of so many elements, the other process, the tag, the communicator.
#[derive(Clone, Copy)]
pub(super) struct Given {
    pub buffer: *const c_void,
    pub count: c_int,
    pub datatype: c_int,
    pub peer: c_int,
    pub tag: c_int,
    pub comm: c_int,
}

/// The device, in MPI's working time, and the processes of the communicator; `None` where there are no short ways, too.
#[inline(always)]
fn open(comm: c_int) -> Option<(&'static dyn Env, Peers)> {
    if cfg!(feature = "micro") {
        return None;
    }
    let peers = comm_table::peers(comm)?;
    Some((device(), peers))
}

/// The device, in MPI's working time.
#[inline(always)]
fn device() -> &'static dyn Env {
    // SAFETY: MPI_Init has found the device there.
    *unsafe { BINDING.env.get_unchecked() }
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

    /// The buffer, which has no address where it has no bytes.
    ///
    /// # Safety
    /// As for [`args::buffer`].
    #[inline(always)]
    unsafe fn span(&self) -> Option<Span> {
        let count = u32::try_from(self.count).ok()?;
        let bytes = (plain_bytes(self.datatype)? as u32).checked_mul(count)?;
        match bytes {
            0 => Some(Span::EMPTY),
            _ if !args::is_address(self.buffer) => None,
            // SAFETY: the caller's promise, and the address has been checked.
            _ => Some(unsafe { Span::new(self.buffer.cast(), bytes as usize) }),
        }
    }

    /// Where a send goes and what it takes there.
    ///
    /// # Safety
    /// As for [`args::buffer`].
    #[inline(always)]
    unsafe fn outgoing(&self, peers: Peers) -> Option<Outgoing> {
        // SAFETY: the caller's promise.
        let span = unsafe { self.span() }?;
        let dest = peers.number(self.peer)?;
        let to = SendTo {
            dest,
            tag: self.tag,
            context: peers.context,
            mode: Mode::Standard,
        };
        (self.tag >= 0).then_some(Outgoing { to, span })
    }

    /// Which messages a receive is for, and where they go.
    ///
    /// # Safety
    /// As for [`args::buffer`].
    #[inline(always)]
    unsafe fn incoming(&self, peers: Peers) -> Option<Incoming> {
        // SAFETY: the caller's promise.
        let span = unsafe { self.span() }?;
        let source = match self.peer {
            MPI_ANY_SOURCE => None,
            rank => Some(peers.number(rank)?),
        };
        let tag = args::any_tag(self.tag).ok()?;
        let pattern = Pattern::new(source, tag, peers.context);
        Some(Incoming { pattern, span })
    }
}

/// The whole of a send that blocks; `None`: it is to go the whole way.
///
/// # Safety
/// As for [`send_args`].
#[inline(always)]
pub(super) unsafe fn send(function: &'static str, given: &Given) -> Option<c_int> {
    let (env, peers) = open(given.comm)?;
    // SAFETY: the caller's promise.
    let outgoing = unsafe { given.outgoing(peers) }?;
    Some(match env.short_send(&outgoing) {
        Sent::Complete => MPI_SUCCESS,
        sent => sent_later(function, given.comm, &outgoing, sent),
    })
}

/// The rest of a send that blocks and is not over at once.
#[cold]
#[inline(never)]
fn sent_later(function: &'static str, comm: c_int, outgoing: &Outgoing, sent: Sent) -> c_int {
    let Outgoing { to, span } = *outgoing;
    let note = note_of_send(function, &to);
    match sent {
        Sent::Complete => {}
        Sent::Started(id) => {
            comm::wait(device(), note, id);
        }
        Sent::Copied => block_until(device(), note, &mut |adi, _| adi.have_copies_left()),
        Sent::Not => return end(function, comm, comm::run_send(device(), note, to, span)),
    }
    MPI_SUCCESS
}

/// Starts a send; `None`: it is to go the whole way, and `request` is as it was.
///
/// # Safety
/// As for [`send_args`], until the request has completed, and `request` as for [`args::out`], unless it is null.
#[inline(always)]
pub(super) unsafe fn start_send(
    function: &'static str,
    given: &Given,
    request: *mut c_int,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let request = unsafe { request.as_mut() }?;
    let (env, peers) = open(given.comm)?;
    // SAFETY: the caller's promise.
    let outgoing = unsafe { given.outgoing(peers) }?;
    *request = match env.short_send(&outgoing) {
        Sent::Complete | Sent::Copied => SEND_COMPLETE,
        Sent::Started(id) => handle_of(id),
        Sent::Not => return Some(start_send_later(function, given.comm, &outgoing, request)),
    };
    Some(MPI_SUCCESS)
}

/// Starts a send that takes more than can be had at once.
#[cold]
#[inline(never)]
fn start_send_later(
    function: &'static str,
    comm: c_int,
    &Outgoing { to, span }: &Outgoing,
    request: &mut c_int,
) -> c_int {
    let note = || note_of_send(function, &to);
    let started = comm::start_send(device(), note, to, span);
    end(function, comm, started.map(|id| *request = handle_of(id)))
}

fn note_of_send(function: &'static str, to: &SendTo) -> CallNote {
    CallNote {
        function,
        peer: Some(to.dest.index() as i32),
        tag: Some(to.tag),
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
    let (env, peers) = open(given.comm)?;
    // SAFETY: the caller's promise.
    let incoming = unsafe { given.incoming(peers) }?;
    Some(match env.short_receive(function, &incoming) {
        Received::Complete(whole) => {
            // SAFETY: the caller's promise.
            unsafe { tell(&whole, status) };
            MPI_SUCCESS
        }
        // SAFETY: the caller's promise.
        received => unsafe { receive_later(function, given.comm, &incoming, received, status) },
    })
}

/// The rest of a receive that blocks and is not over at once.
///
/// # Safety
/// As for [`receive`].
#[cold]
#[inline(never)]
unsafe fn receive_later(
    function: &'static str,
    comm: c_int,
    &Incoming { pattern, span }: &Incoming,
    received: Received,
    status: *mut MPI_Status,
) -> c_int {
    let note = note_of_pattern(function, pattern);
    on_partners(function, comm, |comm| {
        let outcome = match received {
            Received::Complete(whole) => Outcome::of(whole, false),
            Received::Truncated(whole) => Outcome::of(whole, true),
            Received::Started(id) => comm::wait(comm.env, note, id),
            Received::Not => comm::run_receive(comm.env, note, pattern, span)?,
        };
        // SAFETY: the caller's promise.
        deliver(comm.received(outcome), unsafe { args::status(status) }?)
    })
}

/// Tells the program of a message.
///
/// # Safety
/// `status` as for [`args::status`].
#[inline(always)]
pub(super) unsafe fn tell(whole: &Whole, status: *mut MPI_Status) {
    // SAFETY: the caller's promise.
    if let Ok(Some(status)) = unsafe { args::status(status) } {
        status.set(whole_status(whole));
    }
}

/// Starts a receive; `None`: it is to go the whole way, and `request` is as it was.
///
/// # Safety
/// As for [`recv_args`], until the request has completed, and `request` as for [`args::out`], unless it is null.
#[inline(always)]
pub(super) unsafe fn start_receive(
    function: &'static str,
    given: &Given,
    request: *mut c_int,
) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let request = unsafe { request.as_mut() }?;
    let (env, peers) = open(given.comm)?;
    // SAFETY: the caller's promise.
    let incoming = unsafe { given.incoming(peers) }?;
    *request = match env.short_start_receive(&incoming) {
        Some(id) => handle_of(id),
        None => {
            return Some(start_receive_later(
                function, given.comm, &incoming, request,
            ));
        }
    };
    Some(MPI_SUCCESS)
}

/// Starts a receive that takes more than can be had at once.
#[cold]
#[inline(never)]
fn start_receive_later(
    function: &'static str,
    comm: c_int,
    &Incoming { pattern, span }: &Incoming,
    request: &mut c_int,
) -> c_int {
    let note = || note_of_pattern(function, pattern);
    let started = comm::start_receive(device(), note, pattern, span);
    end(function, comm, started.map(|id| *request = handle_of(id)))
}

/// There are short ways, and MPI is in its working time.
#[inline(always)]
pub(super) fn is_open() -> bool {
    cfg!(not(feature = "micro")) && comm_table::is_open()
}

/// Waits for the request of this handle, if it is the device's; `None`: the call is to go the whole way. The communicator is
/// still to be told. To be called while this [is open](is_open).
#[inline(always)]
pub(super) fn wait(function: &'static str, handle: c_int) -> Option<Whole> {
    if handle >= 0 {
        return None;
    }
    device().short_wait(function, RequestId(!handle as u32))
}
