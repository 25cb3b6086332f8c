//! The fast path: calls on messages of predefined datatypes, whose arguments need few checks.
//!
//! A build with the feature `micro` has none of it, and every call takes the general path.
//!
//! A call that is not of that kind, or has a wrong argument, takes the general path, where the error is found. Both
//! paths end in the same operations ([`Device`]).

use core::ffi::{c_int, c_void};

use super::args::{self, Receive, Send, recv_args, send_args};
use super::comm_table::{self, Peers};
use super::datatypes::plain_bytes;
use super::report::{deliver, end, on_partners};
use super::requests::{SEND_COMPLETE, handle_of, whole_status};
use super::types::MPI_Status;
use super::types::constants::*;
use midplane_device::config::NoMemory;
use midplane_device::envelope::Pattern;
use midplane_device::interface::{
    Device, Enter, HAS_FAST_PATH, Incoming, Outgoing, Received, ReceivedMessage, RequestMemory,
    Sent, Work,
};
use midplane_device::memory::Span;
use midplane_device::request::{Mode, RequestId, Whole};
use midplane_device::send::SendTo;
use midplane_objects::comm::Partners;
use midplane_objects::error::Error;
use midplane_objects::installed::DEVICE;
use midplane_objects::process::Env;

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

/// The device, in MPI's working time, and the processes of the communicator; `None` where there is no fast path, too.
#[inline(always)]
fn open(comm: c_int) -> Option<(InstalledDevice, Peers)> {
    if !HAS_FAST_PATH {
        return None;
    }
    let peers = comm_table::peers(comm)?;
    Some((InstalledDevice, peers))
}

/// The device that MPI_Init has found, in MPI's working time. It has no fields: a call keeps no registers for it.
struct InstalledDevice;

impl InstalledDevice {
    #[inline(always)]
    fn env(&self) -> &'static dyn Env {
        // SAFETY: MPI_Init has found the device there.
        *unsafe { DEVICE.get_unchecked() }
    }
}

impl Enter for InstalledDevice {
    #[inline(always)]
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.env().enter(work);
    }

    #[inline(always)]
    fn fast_send(&self, outgoing: &Outgoing) -> Sent {
        self.env().fast_send(outgoing)
    }

    #[inline(always)]
    fn fast_receive(&self, function: &'static str, incoming: &Incoming) -> Received {
        self.env().fast_receive(function, incoming)
    }

    #[inline(always)]
    fn fast_start_receive(&self, incoming: &Incoming) -> Option<RequestId> {
        self.env().fast_start_receive(incoming)
    }

    #[inline(always)]
    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<Whole> {
        self.env().fast_wait(function, id)
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

/// A send that blocks; `None`: the call takes the general path.
///
/// # Safety
/// As for [`send_args`].
#[inline(always)]
pub(super) unsafe fn send(function: &'static str, given: &Given) -> Option<c_int> {
    let (env, peers) = open(given.comm)?;
    // SAFETY: the caller's promise.
    let outgoing = unsafe { given.outgoing(peers) }?;
    Some(match env.send(function, &outgoing) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => fail(function, given.comm, error),
    })
}

/// Ends a call for which there is no memory.
#[cold]
#[inline(never)]
fn fail(function: &'static str, comm: c_int, error: NoMemory) -> c_int {
    end(function, comm, Err(error.into()))
}

/// Starts a send; `None`: the call takes the general path, and `request` is as it was.
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
    *request = match env.start_send(function, &outgoing, RequestMemory::Shared) {
        Ok(None) => SEND_COMPLETE,
        Ok(Some(id)) => handle_of(id),
        Err(error) => return Some(fail(function, given.comm, error)),
    };
    Some(MPI_SUCCESS)
}

/// A receive that blocks; `None`: the call takes the general path.
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
    Some(match env.receive(function, &incoming) {
        Ok(ReceivedMessage {
            whole,
            is_truncated: false,
        }) => {
            // SAFETY: the caller's promise.
            unsafe { tell(&whole, status) };
            MPI_SUCCESS
        }
        // SAFETY: the caller's promise.
        Ok(received) => unsafe { truncated(function, given.comm, &received, status) },
        Err(error) => fail(function, given.comm, error),
    })
}

/// Ends a receive whose message was longer than its buffer.
///
/// # Safety
/// As for [`args::status`].
#[cold]
#[inline(never)]
unsafe fn truncated(
    function: &'static str,
    comm: c_int,
    received: &ReceivedMessage,
    status: *mut MPI_Status,
) -> c_int {
    on_partners(function, comm, |comm| {
        // SAFETY: the caller's promise.
        let status = unsafe { args::status(status) }?;
        deliver(comm.received(received.outcome()), status)
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

/// Starts a receive; `None`: the call takes the general path, and `request` is as it was.
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
    *request = match env.start_receive(function, &incoming, RequestMemory::Shared) {
        Ok(id) => handle_of(id),
        Err(error) => return Some(fail(function, given.comm, error)),
    };
    Some(MPI_SUCCESS)
}

/// The fast path is there, and MPI is in its working time.
#[inline(always)]
pub(super) fn is_open() -> bool {
    HAS_FAST_PATH && comm_table::is_open()
}

/// Waits for the request of this handle, if it is the device's: its message, if it ends with a whole one; its
/// communicator is still to be told. `None`: the call takes the general path. To be called while the path
/// [is open](is_open).
#[inline(always)]
pub(super) fn wait(function: &'static str, handle: c_int) -> Option<Whole> {
    // All others have handles of their own.
    if handle >= 0 {
        return None;
    }
    InstalledDevice.fast_wait(function, RequestId(!handle as u32))
}
