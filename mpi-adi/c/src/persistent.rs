//! Persistent requests (section 3.9).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_int, c_void};

use super::args::{self, PeerRank, ReceiveArgs, SendArgs, recv_args};
use super::binding::env;
use super::error_dispatch::{end, end_under, on_partners, on_process};
use super::fast_path::CallArgs;
use super::requests::{
    PersistentCall, PersistentRequest, RECEIVED_FROM_PROC_NULL, SEND_COMPLETE, enter_persistent, started, with_object,
};
use super::types::Handle;
use super::types::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_SUCCESS};
use super::{buffered, comm_objects};
use midplane_device::request::SendMode;
use midplane_objects::comm::Partners;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

fn enter(comm: Partners<'static>, call: PersistentCall) -> Result<c_int, Error> {
    let partners = comm.group();
    let handle = enter_persistent(PersistentRequest {
        call,
        partners,
        active: MPI_REQUEST_NULL,
    })?;
    comm_objects::hold(partners.context);
    Ok(handle)
}

/// Starts the operation of persistent request `named`. Returns the code of the call: not MPI_SUCCESS after an error of a
/// collective, which has been reported.
fn start(env: &'static dyn Env, function: &'static str, named: c_int) -> Result<c_int, Error> {
    let wrong = Error::Request { handle: named };
    let object = with_object(named, |object| object.clone()).ok_or(wrong)?;
    if object.active != MPI_REQUEST_NULL {
        return Err(Error::Argument {
            what: "a persistent request that is active already; complete it before it is started again",
        });
    }
    let comm = Partners::at(env, object.partners);
    let active = match object.call {
        PersistentCall::Send(
            SendArgs {
                data,
                dest: PeerRank::Rank(dest),
                tag,
            },
            mode,
        ) => match comm.start_send(function, data.span(), dest, tag, mode)? {
            Some(id) => {
                data.keep();
                started(object.partners.context, id)
            }
            None => SEND_COMPLETE,
        },
        PersistentCall::Buffered(SendArgs {
            data,
            dest: PeerRank::Rank(dest),
            tag,
        }) => {
            buffered::send(comm, function, data.span(), dest, tag)?;
            SEND_COMPLETE
        }
        PersistentCall::Receive(ReceiveArgs {
            data,
            source: PeerRank::Rank(source),
            tag,
        }) => {
            let id = comm.start_recv(function, data.span(), source, tag)?;
            data.keep();
            started(object.partners.context, id)
        }
        PersistentCall::Collective(collective) => {
            let mut active = Handle::new(MPI_REQUEST_NULL);
            let code = collective.start(&mut active);
            if code != MPI_SUCCESS {
                return Ok(code);
            }
            active.value()
        }
        PersistentCall::Partitioned(request) => (request.start)(request.object)?,
        PersistentCall::Send(..) | PersistentCall::Buffered(_) => SEND_COMPLETE,
        PersistentCall::Receive(_) => RECEIVED_FROM_PROC_NULL,
    };
    with_object(named, |object| object.active = active);
    Ok(MPI_SUCCESS)
}

/// Creates a persistent send.
///
/// # Safety
/// See [`send_args`](super::args::send_args), while the request is active (section 3.9). `request` must satisfy [`args::out`].
unsafe fn send_init(
    function: &'static str,
    call: impl FnOnce(SendArgs) -> PersistentCall,
    args: CallArgs,
    request: *mut Handle,
) -> c_int {
    on_partners(function, args.comm.value(), |comm| {
        // SAFETY: guaranteed by the caller.
        let (send, request) = unsafe { (args.send(&comm)?, args::out(request, "request")?) };
        *request = Handle::new(enter(comm, call(send))?);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Send_init(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    let call = |send| PersistentCall::Send(send, SendMode::Standard);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        send_init(
            "MPI_Send_init",
            call,
            CallArgs::new(buf, count, datatype, dest, tag, Handle::new(comm)),
            request,
        )
    }
}

#[inline(always)]
pub unsafe fn MPI_Ssend_init(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    let call = |send| PersistentCall::Send(send, SendMode::Synchronous);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        send_init(
            "MPI_Ssend_init",
            call,
            CallArgs::new(buf, count, datatype, dest, tag, Handle::new(comm)),
            request,
        )
    }
}

// It may behave like a standard send (section 3.4).
#[inline(always)]
pub unsafe fn MPI_Rsend_init(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    let call = |send| PersistentCall::Send(send, SendMode::Standard);
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        send_init(
            "MPI_Rsend_init",
            call,
            CallArgs::new(buf, count, datatype, dest, tag, Handle::new(comm)),
            request,
        )
    }
}

#[inline(always)]
pub unsafe fn MPI_Bsend_init(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        send_init(
            "MPI_Bsend_init",
            PersistentCall::Buffered,
            CallArgs::new(buf, count, datatype, dest, tag, Handle::new(comm)),
            request,
        )
    }
}

#[inline(always)]
pub unsafe fn MPI_Recv_init(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    source: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    on_partners("MPI_Recv_init", comm, |comm| {
        // SAFETY: the standard's requirements on `buf`, while the request is active (section 3.9), and `request`.
        let (receive, request) = unsafe {
            (
                recv_args(&comm, buf, count, datatype, source, tag)?,
                args::out(request, "request")?,
            )
        };
        *request = Handle::new(enter(comm, PersistentCall::Receive(receive))?);
        Ok(())
    })
}

/// Returns the result of a call that starts `handle`; an error invokes its communicator's handler.
fn end_start(function: &'static str, handle: c_int, result: Result<c_int, Error>) -> c_int {
    let result = match result {
        Ok(code) => return code,
        Err(error) => Err(error),
    };
    match with_object(handle, |object| object.partners.context) {
        Some(context) => end_under(function, comm_objects::error_target_in(context), result),
        None => end(function, MPI_COMM_WORLD, result),
    }
}

pub unsafe fn MPI_Start(request: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `request`.
    let handle = match unsafe { args::out(request, "request") } {
        Ok(handle) => *handle,
        Err(error) => return on_process("MPI_Start", |_| Err(error)),
    };
    end_start(
        "MPI_Start",
        handle.value(),
        env().and_then(|env| start(env, "MPI_Start", handle.value())),
    )
}

pub unsafe fn MPI_Startall(count: c_int, array_of_requests: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on the array.
    let requests =
        args::length(count).and_then(|count| unsafe { args::array(array_of_requests, count, "array_of_requests") });
    let requests = match requests {
        Ok(requests) => requests,
        Err(error) => return on_process("MPI_Startall", |_| Err(error)),
    };
    for &handle in requests {
        let result = env().and_then(|env| start(env, "MPI_Startall", handle.value()));
        if result != Ok(MPI_SUCCESS) {
            return end_start("MPI_Startall", handle.value(), result);
        }
    }
    on_process("MPI_Startall", |_| Ok(()))
}
