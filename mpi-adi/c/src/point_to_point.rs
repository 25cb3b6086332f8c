//! Sends, receives and probes (sections 3.2, 3.4, 3.7.2, 3.8, 3.10).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use super::args::{self, PeerRank, ReceiveArgs, SendArgs, recv_args, send_args};
use super::datatypes::TypedBuffer;
use super::error_dispatch::{deliver, on_partners, on_process};
use super::fast_path::{self, CallArgs};
use super::requests::{RECEIVED_FROM_PROC_NULL, SEND_COMPLETE, handle_of};

use super::types::{Handle, MPI_Status};
use midplane_device::interface::{BlockingMode, Device};
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::comm::{IncomingData, OutgoingData, Partners};
use midplane_objects::error::Error;
use midplane_objects::process::Env;

fn from_proc_null(status: Option<&mut MPI_Status>) -> Result<(), Error> {
    if let Some(status) = status {
        status.set(MPI_Status::PROC_NULL);
    }
    Ok(())
}

/// Runs a blocking send.
///
/// # Safety
/// See [`send_args`], until it returns (section 3.2.2).
#[cold]
#[inline(never)]
unsafe fn send(function: &'static str, mode: SendMode, given: CallArgs) -> c_int {
    on_partners(function, given.comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let send = unsafe { given.send(&comm) }?;
        match send.dest {
            PeerRank::ProcNull => Ok(()),
            PeerRank::Rank(dest) => comm.send_span(function, send.data.span(), dest, send.tag, mode),
        }
    })
}

#[inline(always)]
pub unsafe fn MPI_Send(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callees.
    unsafe {
        match fast_path::send("MPI_Send", &given) {
            Some(code) => code,
            None => send("MPI_Send", SendMode::Standard, given),
        }
    }
}

#[inline(always)]
pub unsafe fn MPI_Ssend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe { send("MPI_Ssend", SendMode::Synchronous, given) }
}

// It may behave like a standard send (section 3.4).
#[inline(always)]
pub unsafe fn MPI_Rsend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe { send("MPI_Rsend", SendMode::Standard, given) }
}

/// Starts a nonblocking send.
///
/// # Safety
/// See [`send_args`], until the request completes (section 3.7.2). `request` must satisfy [`args::out`].
#[cold]
#[inline(never)]
unsafe fn start_send(function: &'static str, mode: SendMode, given: CallArgs, request: *mut Handle) -> c_int {
    on_partners(function, given.comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let (send, request) = unsafe { (given.send(&comm)?, args::out(request, "request")?) };
        *request = match send.dest {
            PeerRank::ProcNull => Handle::new(SEND_COMPLETE),
            PeerRank::Rank(dest) => match comm.start_send(function, send.data.span(), dest, send.tag, mode)? {
                Some(id) => {
                    send.data.keep();
                    Handle::new(handle_of(id))
                }
                None => Handle::new(SEND_COMPLETE),
            },
        };
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Isend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callees.
    unsafe {
        match fast_path::start_send("MPI_Isend", &given, request) {
            Some(code) => code,
            None => start_send("MPI_Isend", SendMode::Standard, given, request),
        }
    }
}

#[inline(always)]
pub unsafe fn MPI_Issend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe { start_send("MPI_Issend", SendMode::Synchronous, given, request) }
}

// It may behave like a standard send (section 3.4).
#[inline(always)]
pub unsafe fn MPI_Irsend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, dest, tag, comm);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe { start_send("MPI_Irsend", SendMode::Standard, given, request) }
}

#[inline(always)]
pub unsafe fn MPI_Recv(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    source: c_int,
    tag: c_int,
    comm: Handle,
    status: *mut MPI_Status,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, source, tag, comm);
    // SAFETY: the standard's requirements on `buf` (section 3.2.4) and `status`, as the callees want it.
    unsafe {
        match fast_path::receive("MPI_Recv", &given, status) {
            Some(code) => code,
            None => receive(given, status),
        }
    }
}

/// Runs a blocking receive of any datatype.
///
/// # Safety
/// See [`recv_args`], until it returns; `status` must satisfy [`args::status`].
#[cold]
#[inline(never)]
unsafe fn receive(given: CallArgs, status: *mut MPI_Status) -> c_int {
    on_partners("MPI_Recv", given.comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let (receive, status) = unsafe { (given.receive(&comm)?, args::status(status)?) };
        match receive.source {
            PeerRank::ProcNull => from_proc_null(status),
            PeerRank::Rank(source) => deliver(
                comm.recv_span("MPI_Recv", receive.data.span(), source, receive.tag),
                status,
            ),
        }
    })
}

#[inline(always)]
pub unsafe fn MPI_Irecv(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    source: c_int,
    tag: c_int,
    comm: Handle,
    request: *mut Handle,
) -> c_int {
    let given = CallArgs::new(buf, count, datatype, source, tag, comm);
    // SAFETY: the standard's requirements on `buf` (section 3.7.2) and `request`, as the callees want it.
    unsafe {
        match fast_path::start_receive("MPI_Irecv", &given, request) {
            Some(code) => code,
            None => start_receive(given, request),
        }
    }
}

/// Starts a nonblocking receive of any datatype.
///
/// # Safety
/// See [`recv_args`], until the request completes; `request` must satisfy [`args::out`].
#[cold]
#[inline(never)]
unsafe fn start_receive(given: CallArgs, request: *mut Handle) -> c_int {
    on_partners("MPI_Irecv", given.comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let (receive, request) = unsafe { (given.receive(&comm)?, args::out(request, "request")?) };
        *request = match receive.source {
            PeerRank::ProcNull => Handle::new(RECEIVED_FROM_PROC_NULL),
            PeerRank::Rank(source) => {
                let span = receive.data.span();
                let id = comm.start_recv("MPI_Irecv", span, source, receive.tag)?;
                receive.data.keep();
                Handle::new(handle_of(id))
            }
        };
        Ok(())
    })
}

fn sendrecv(
    function: &'static str,
    comm: Partners<'_>,
    send: &SendArgs,
    receive: &ReceiveArgs,
    status: Option<&mut MPI_Status>,
) -> Result<(), Error> {
    match (send.dest, receive.source) {
        (PeerRank::ProcNull, PeerRank::ProcNull) => from_proc_null(status),
        (PeerRank::Rank(dest), PeerRank::ProcNull) => {
            comm.send_span(function, send.data.span(), dest, send.tag, SendMode::Standard)?;
            from_proc_null(status)
        }
        (PeerRank::ProcNull, PeerRank::Rank(source)) => deliver(
            comm.recv_span(function, receive.data.span(), source, receive.tag),
            status,
        ),
        (PeerRank::Rank(dest), PeerRank::Rank(source)) => deliver(
            comm.sendrecv_span(
                function,
                OutgoingData {
                    data: send.data.span(),
                    dest,
                    tag: send.tag,
                },
                IncomingData {
                    data: receive.data.span(),
                    source,
                    tag: receive.tag,
                },
            ),
            status,
        ),
    }
}

#[inline(always)]
pub unsafe fn MPI_Sendrecv(
    sendbuf: *const c_void,
    sendcount: isize,
    sendtype: c_int,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: isize,
    recvtype: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Handle,
    status: *mut MPI_Status,
) -> c_int {
    on_partners("MPI_Sendrecv", comm.value(), |comm| {
        // SAFETY: the standard's requirements on the buffers (section 3.10) and `status`.
        let (send, receive, status) = unsafe {
            (
                send_args(&comm, sendbuf, sendcount, sendtype, dest, sendtag)?,
                recv_args(&comm, recvbuf, recvcount, recvtype, source, recvtag)?,
                args::status(status)?,
            )
        };
        sendrecv("MPI_Sendrecv", comm, &send, &receive, status)
    })
}

/// Copies the data of a message, because the received message may overwrite the buffer before it is transmitted. The span
/// refers to the copy, which must exist and not change while the span is used. Fails with [`Error::NoSpace`].
pub(super) fn copy_of_message(env: &dyn Env, data: Span) -> Result<(Vec<u8>, Span), Error> {
    let bytes = data.len();
    let mut copy = try_with_capacity(bytes)?;
    copy.resize(bytes, 0u8);
    env.read(data.into(), &mut copy);
    // SAFETY: guaranteed by the caller.
    let span = unsafe { Span::new(copy.as_ptr(), bytes) };
    Ok((copy, span))
}

#[inline(always)]
pub unsafe fn MPI_Sendrecv_replace(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Handle,
    status: *mut MPI_Status,
) -> c_int {
    on_partners("MPI_Sendrecv_replace", comm.value(), |comm| {
        // SAFETY: the standard's requirements on `buf` (section 3.10) and `status`.
        let (send, receive, status) = unsafe {
            (
                send_args(&comm, buf, count, datatype, dest, sendtag)?,
                recv_args(&comm, buf, count, datatype, source, recvtag)?,
                args::status(status)?,
            )
        };
        // The copy lives until `sendrecv` has finished with it.
        let (_copy, span) = copy_of_message(comm.env, send.data.span())?;
        let data = TypedBuffer::plain(span);
        sendrecv(
            "MPI_Sendrecv_replace",
            comm,
            &SendArgs { data, ..send },
            &receive,
            status,
        )
    })
}

pub unsafe fn MPI_Probe(source: c_int, tag: c_int, comm: c_int, status: *mut MPI_Status) -> c_int {
    on_partners("MPI_Probe", comm, |comm| {
        let (source, tag) = (args::source(&comm, source)?, args::any_tag(tag)?);
        // SAFETY: the standard's requirements on `status`.
        let status = unsafe { args::status(status) }?;
        match source {
            PeerRank::ProcNull => from_proc_null(status),
            PeerRank::Rank(source) => match comm.probe_span("MPI_Probe", source, tag, BlockingMode::Blocking)? {
                Some(found) => deliver(Ok(found), status),
                None => Ok(()),
            },
        }
    })
}

pub unsafe fn MPI_Iprobe(source: c_int, tag: c_int, comm: c_int, flag: *mut c_int, status: *mut MPI_Status) -> c_int {
    on_partners("MPI_Iprobe", comm, |comm| {
        let (source, tag) = (args::source(&comm, source)?, args::any_tag(tag)?);
        // SAFETY: the standard's requirements on `flag` and `status`.
        let (flag, status) = unsafe { (args::out(flag, "flag")?, args::status(status)?) };
        let found = match source {
            PeerRank::ProcNull => {
                *flag = 1;
                return from_proc_null(status);
            }
            PeerRank::Rank(source) => comm.probe_span("MPI_Iprobe", source, tag, BlockingMode::Nonblocking)?,
        };
        *flag = found.is_some().into();
        match found {
            Some(found) => deliver(Ok(found), status),
            None => Ok(()),
        }
    })
}

pub unsafe fn MPI_Test_cancelled(status: *const MPI_Status, flag: *mut c_int) -> c_int {
    on_process("MPI_Test_cancelled", |_| {
        // SAFETY: the standard's requirements on both.
        let (status, flag) = unsafe { (args::status(status.cast_mut())?, args::out(flag, "flag")?) };
        *flag = status.ok_or(Error::NullArgument { name: "status" })?.midplane_cancelled;
        Ok(())
    })
}
