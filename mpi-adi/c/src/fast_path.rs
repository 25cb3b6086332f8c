//! Fast path of point-to-point calls with predefined datatypes, whose arguments require few checks.
//!
//! A build with the feature `micro` omits it, so every call takes the slow path.
//!
//! Other calls, and calls with an invalid argument, take the slow path. It reports the error. Both paths end in the
//! same device operations ([`Device`]).

use core::ffi::{c_int, c_void};

use super::args::{self, ReceiveArgs, SendArgs, recv_args, send_args};
use super::comm_table::{self, CommPeers};
use super::datatypes::plain_bytes;
use super::error_dispatch::{deliver, end, on_partners};
use super::requests::{SEND_COMPLETE, handle_of, whole_status};
use super::types::constants::*;
use super::types::{Handle, MPI_Status};
use midplane_device::config::OutOfMemory;
use midplane_device::envelope::MatchPattern;
use midplane_device::interface::{
    Device, EnterDevice, FastRecv, FastSend, HAS_FAST_PATH, IncomingMessage, OutgoingMessage, ReceivedMessage,
    RequestMemory, Work,
};
use midplane_device::memory::Span;
use midplane_device::request::{PlainCompletion, RequestId, SendMode};
use midplane_device::send::SendTo;
use midplane_objects::comm::Partners;
use midplane_objects::error::Error;
use midplane_objects::installed::DEVICE;
use midplane_objects::process::Env;

/// Arguments of a call: buffer, count and datatype, peer, tag and communicator.
#[derive(Clone, Copy)]
pub(super) struct CallArgs {
    pub buffer: *const c_void,
    pub count: isize,
    pub datatype: c_int,
    pub peer: c_int,
    pub tag: c_int,
    pub comm: Handle,
}

/// Returns the device while MPI is active, and the processes of the communicator. Returns `None` if there is no fast
/// path.
#[inline(always)]
fn open(comm: Handle) -> Option<(InstalledDevice, CommPeers)> {
    if !HAS_FAST_PATH {
        return None;
    }
    let peers = comm_table::peers(comm)?;
    Some((InstalledDevice, peers))
}

/// The device that MPI_Init found, while MPI is active. Zero-sized, so a call uses no registers for it.
struct InstalledDevice;

impl InstalledDevice {
    #[inline(always)]
    fn env(&self) -> &'static dyn Env {
        // SAFETY: MPI_Init has found the device there.
        *unsafe { DEVICE.get_unchecked() }
    }
}

impl EnterDevice for InstalledDevice {
    #[inline(always)]
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.env().enter(work);
    }

    #[inline(always)]
    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        self.env().fast_send(outgoing)
    }

    #[inline(always)]
    fn fast_receive(&self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        self.env().fast_receive(function, incoming)
    }

    #[inline(always)]
    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        self.env().fast_start_receive(incoming)
    }

    #[inline(always)]
    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        self.env().fast_wait(function, id)
    }
}

impl CallArgs {
    #[inline(always)]
    pub fn new(buffer: *const c_void, count: isize, datatype: c_int, peer: c_int, tag: c_int, comm: Handle) -> Self {
        Self {
            buffer,
            count,
            datatype,
            peer,
            tag,
            comm,
        }
    }

    /// Returns the arguments of a send for the slow path.
    ///
    /// # Safety
    /// See [`send_args`].
    pub unsafe fn send(&self, comm: &Partners<'_>) -> Result<SendArgs, Error> {
        // SAFETY: guaranteed by the caller.
        unsafe { send_args(comm, self.buffer, self.count, self.datatype, self.peer, self.tag) }
    }

    /// Returns the arguments of a receive for the slow path.
    ///
    /// # Safety
    /// See [`recv_args`].
    pub unsafe fn receive(&self, comm: &Partners<'_>) -> Result<ReceiveArgs, Error> {
        let buffer = self.buffer.cast_mut();
        // SAFETY: guaranteed by the caller.
        unsafe { recv_args(comm, buffer, self.count, self.datatype, self.peer, self.tag) }
    }

    /// Returns the buffer; an empty one has no address.
    ///
    /// # Safety
    /// See [`args::buffer`].
    #[inline(always)]
    unsafe fn span(&self) -> Option<Span> {
        const MAX: usize = u32::MAX as usize;
        let count = usize::try_from(self.count).ok().filter(|count| *count <= MAX)?;
        let bytes = plain_bytes(self.datatype)?.checked_mul(count)?;
        match bytes {
            0 => Some(Span::EMPTY),
            _ if bytes > MAX || !args::is_address(self.buffer) => None,
            // SAFETY: guaranteed by the caller, and the address is checked.
            _ => Some(unsafe { Span::new(self.buffer.cast(), bytes) }),
        }
    }

    /// Returns the destination and the data of a send.
    ///
    /// # Safety
    /// See [`args::buffer`].
    #[inline(always)]
    unsafe fn outgoing(&self, peers: CommPeers) -> Option<OutgoingMessage> {
        // SAFETY: guaranteed by the caller.
        let span = unsafe { self.span() }?;
        let dest = peers.number(self.peer)?;
        let to = SendTo {
            dest,
            tag: self.tag,
            context: peers.context,
            mode: SendMode::Standard,
        };
        (self.tag >= 0).then_some(OutgoingMessage { to, span })
    }

    /// Returns the match pattern and the buffer of a receive.
    ///
    /// # Safety
    /// See [`args::buffer`].
    #[inline(always)]
    unsafe fn incoming(&self, peers: CommPeers) -> Option<IncomingMessage> {
        // SAFETY: guaranteed by the caller.
        let span = unsafe { self.span() }?;
        let source = match self.peer {
            MPI_ANY_SOURCE => None,
            rank => Some(peers.number(rank)?),
        };
        let tag = args::any_tag(self.tag).ok()?;
        let pattern = MatchPattern::new(source, tag, peers.context);
        Some(IncomingMessage { pattern, span })
    }
}

/// Runs a blocking send; `None`: the call takes the slow path.
///
/// # Safety
/// See [`send_args`].
#[inline(always)]
pub(super) unsafe fn send(function: &'static str, given: &CallArgs) -> Option<c_int> {
    let (env, peers) = open(given.comm)?;
    // SAFETY: guaranteed by the caller.
    let outgoing = unsafe { given.outgoing(peers) }?;
    Some(match env.send(function, &outgoing) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => fail(function, given.comm, error),
    })
}

/// Returns the error of a call without memory.
#[cold]
#[inline(never)]
fn fail(function: &'static str, comm: Handle, error: OutOfMemory) -> c_int {
    end(function, comm.value(), Err(error.into()))
}

/// Starts a send; `None`: the call takes the slow path, and `request` is unchanged.
///
/// # Safety
/// See [`send_args`], until the request completes. `request` must satisfy [`args::out`] or be null.
#[inline(always)]
pub(super) unsafe fn start_send(function: &'static str, given: &CallArgs, request: *mut Handle) -> Option<c_int> {
    // SAFETY: guaranteed by the caller.
    let request = unsafe { request.as_mut() }?;
    let (env, peers) = open(given.comm)?;
    // SAFETY: guaranteed by the caller.
    let outgoing = unsafe { given.outgoing(peers) }?;
    *request = match env.start_send(function, &outgoing, RequestMemory::Shared) {
        Ok(None) => Handle::new(SEND_COMPLETE),
        Ok(Some(id)) => Handle::new(handle_of(id)),
        Err(error) => return Some(fail(function, given.comm, error)),
    };
    Some(MPI_SUCCESS)
}

/// Runs a blocking receive; `None`: the call takes the slow path.
///
/// # Safety
/// See [`recv_args`]; `status` must satisfy [`args::status`].
#[inline(always)]
pub(super) unsafe fn receive(function: &'static str, given: &CallArgs, status: *mut MPI_Status) -> Option<c_int> {
    let (env, peers) = open(given.comm)?;
    // SAFETY: guaranteed by the caller.
    let incoming = unsafe { given.incoming(peers) }?;
    Some(match env.receive(function, &incoming) {
        Ok(ReceivedMessage {
            whole,
            is_truncated: false,
        }) => {
            // SAFETY: guaranteed by the caller.
            unsafe { tell(&whole, status) };
            MPI_SUCCESS
        }
        // SAFETY: guaranteed by the caller.
        Ok(received) => unsafe { truncated(function, given.comm, &received, status) },
        Err(error) => fail(function, given.comm, error),
    })
}

/// Returns the result of a receive whose message was longer than its buffer.
///
/// # Safety
/// See [`args::status`].
#[cold]
#[inline(never)]
unsafe fn truncated(
    function: &'static str,
    comm: Handle,
    received: &ReceivedMessage,
    status: *mut MPI_Status,
) -> c_int {
    on_partners(function, comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let status = unsafe { args::status(status) }?;
        deliver(comm.received(received.outcome()), status)
    })
}

/// Stores the status of a message.
///
/// # Safety
/// `status` must satisfy [`args::status`].
#[inline(always)]
pub(super) unsafe fn tell(whole: &PlainCompletion, status: *mut MPI_Status) {
    // SAFETY: guaranteed by the caller.
    if let Ok(Some(status)) = unsafe { args::status(status) } {
        status.set(whole_status(whole));
    }
}

/// Starts a receive; `None`: the call takes the slow path, and `request` is unchanged.
///
/// # Safety
/// See [`recv_args`], until the request completes. `request` must satisfy [`args::out`] or be null.
#[inline(always)]
pub(super) unsafe fn start_receive(function: &'static str, given: &CallArgs, request: *mut Handle) -> Option<c_int> {
    // SAFETY: guaranteed by the caller.
    let request = unsafe { request.as_mut() }?;
    let (env, peers) = open(given.comm)?;
    // SAFETY: guaranteed by the caller.
    let incoming = unsafe { given.incoming(peers) }?;
    *request = match env.start_receive(function, &incoming, RequestMemory::Shared) {
        Ok(id) => Handle::new(handle_of(id)),
        Err(error) => return Some(fail(function, given.comm, error)),
    };
    Some(MPI_SUCCESS)
}

/// Checks whether the fast path is available and MPI is active.
#[inline(always)]
pub(super) fn is_open() -> bool {
    HAS_FAST_PATH && comm_table::is_open()
}

/// Waits for the device request of this handle and returns its completion, unless the message is truncated. The caller
/// must still report the completion to the communicator. `None`: the call takes the slow path. Call it only while the
/// path [is open](is_open).
#[inline(always)]
pub(super) fn wait(function: &'static str, handle: c_int) -> Option<PlainCompletion> {
    // Other requests have separate handle ranges.
    if handle >= 0 {
        return None;
    }
    InstalledDevice.fast_wait(function, RequestId(!handle as u32))
}
