//! Requests of nonblocking send-receives (MPI-4.0 section 3.10): complete when the send and the receive are.
//!
//! The two messages are requests of the device. A call that waits or tests completes each of them once it is finished,
//! and keeps the status of the receive until the program gets it.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::args::{self, PeerRank, ReceiveArgs, SendArgs, recv_args, send_args};
use super::binding::any_env;
use super::comm_objects;
use super::datatypes::TypedBuffer;
use super::error_dispatch::on_partners;
use super::handles::{HandleKind, HandleTable};
use super::point_to_point::copy_of_message;
use super::requests::{
    COMPOUND, CompletedRequest, CompletionData, FamilyEntry, RECEIVED_FROM_PROC_NULL, RequestFamily, RequestKind,
    SEND_COMPLETE, enter_family, give_up, named, started, try_complete, with_status,
};
use super::types::constants::MPI_REQUEST_NULL;
use super::types::{Handle, MPI_Status};
use midplane_device::envelope::Context;
use midplane_device::interface::{CancelPhase, Device};
use midplane_device::request::SendMode;
use midplane_objects::comm::Partners;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::process::Env;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::CompoundRequests,
    tag: COMPOUND,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

/// No request, or a completed one.
const NO_REQUEST: Handle = Handle::new(MPI_REQUEST_NULL);

/// A send and a receive that complete together.
struct CompoundRequest {
    /// The requests that are not complete; MPI_REQUEST_NULL for one that is.
    send: Handle,
    receive: Handle,
    /// Status and error of the receive, once it is complete.
    status: MPI_Status,
    failure: Option<Error>,
    /// Context of the communicator, which the request holds.
    context: Context,
    /// Data of the send, if the receive overwrites the program's buffer.
    _copy: Vec<u8>,
    /// The program has freed the request; the copy remains until the send is complete.
    is_given_up: bool,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_compound")]
static TABLE: Mutex<HandleTable<CompoundRequest>> = Mutex::new(HandleTable::new(KIND));

impl CompoundRequest {
    /// Completes the messages that are finished. Does not block. Returns whether both are complete.
    fn advance(&mut self, env: &dyn Env) -> bool {
        // An unknown request has been completed already.
        if !matches!(try_complete(env, None, &mut self.send), Ok(None)) {
            self.send = NO_REQUEST;
        }
        if self.receive != NO_REQUEST
            && let Ok(Some(completed)) = try_complete(env, None, &mut self.receive)
        {
            self.status = completed.status;
            if let Some(CompletionData::Failed(error_target, error)) = completed.rest {
                comm_objects::release_error_target(error_target);
                self.failure = Some(error);
            }
        }
        self.send == NO_REQUEST && self.receive == NO_REQUEST
    }
}

/// Removes the requests that the program has freed, and whose sends are complete.
fn sweep(table: &mut HandleTable<CompoundRequest>, env: &dyn Env) {
    for place in 0..table.places() {
        let Some((handle, object)) = table.at(place) else {
            continue;
        };
        if object.is_given_up && object.advance(env) {
            table.remove(handle);
        }
    }
}

struct CompoundFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_compound")]
static FAMILY: FamilyEntry = FamilyEntry::new(COMPOUND, &CompoundFamily);

impl RequestFamily for CompoundFamily {
    fn has(&self, handle: c_int) -> bool {
        TABLE.lock().get(handle).is_some_and(|object| !object.is_given_up)
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        let env = any_env().ok()?;
        let mut table = TABLE.lock();
        let object = table.get_mut(handle)?;
        if !object.advance(env) {
            return None;
        }
        let mut completed = with_status(object.status);
        if let Some(error) = object.failure {
            completed.rest = Some(CompletionData::Failed(
                comm_objects::error_target_in(object.context),
                error,
            ));
        }
        Some(completed)
    }

    fn forget(&self, handle: c_int) {
        let object = TABLE.lock().remove(handle);
        if let Some(CompoundRequest { context, .. }) = object {
            comm_objects::end_hold(context);
        }
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        let env = any_env()?;
        let mut table = TABLE.lock();
        let object = table.get_mut(handle).ok_or(Error::Request { handle })?;
        object.advance(env);
        if let Ok(RequestKind::Live(id)) = named(object.receive.value()) {
            // It continues, and is freed at completion.
            give_up(env, id);
        }
        object.receive = NO_REQUEST;
        object.is_given_up = true;
        let context = object.context;
        drop(table);
        comm_objects::end_hold(context);
        Ok(())
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        Err(Error::Wrong {
            class: ErrorClass::Request,
            what: "the request of a nonblocking send-receive cannot be cancelled; complete it",
        })
    }
}

/// Starts the receive and the send, and returns the handle of their request. Fails like them, without effect, and with
/// [`Error::Limit`] or [`Error::NoSpace`].
fn start(
    comm: Partners<'static>,
    function: &'static str,
    send: SendArgs,
    receive: ReceiveArgs,
    copy: Vec<u8>,
) -> Result<c_int, Error> {
    enter_family(&FAMILY);
    let context = comm.group().context;
    let mut table = TABLE.lock();
    sweep(&mut table, comm.env);
    let handle = table.add(CompoundRequest {
        send: NO_REQUEST,
        receive: NO_REQUEST,
        status: MPI_Status::PROC_NULL,
        failure: None,
        context,
        _copy: copy,
        is_given_up: false,
    })?;
    drop(table);
    let messages = start_messages(comm, function, send, receive);
    let mut table = TABLE.lock();
    match (messages, table.get_mut(handle)) {
        (Ok((sent, received)), Some(object)) => {
            (object.send, object.receive) = (Handle::new(sent), Handle::new(received));
            drop(table);
            comm_objects::hold(context);
            Ok(handle)
        }
        (Err(error), _) => {
            table.remove(handle);
            Err(error)
        }
        (Ok(_), None) => Err(Error::Request { handle }),
    }
}

/// Starts both messages, and returns their handles.
fn start_messages(
    comm: Partners<'static>,
    function: &'static str,
    send: SendArgs,
    receive: ReceiveArgs,
) -> Result<(c_int, c_int), Error> {
    let context = comm.group().context;
    let received = match receive.source {
        PeerRank::ProcNull => None,
        PeerRank::Rank(source) => Some(comm.start_recv(function, receive.data.span(), source, receive.tag)?),
    };
    let sent = match send.dest {
        PeerRank::ProcNull => Ok(None),
        PeerRank::Rank(dest) => comm.start_send(function, send.data.span(), dest, send.tag, SendMode::Standard),
    };
    let sent = sent.inspect_err(|_| {
        if let Some(id) = received {
            // The device must not keep a reference to the buffer.
            comm.env.cancel(function, id, CancelPhase::FinishReceive);
        }
    })?;
    let sent = match sent {
        Some(id) => {
            send.data.keep();
            started(context, id)
        }
        None => SEND_COMPLETE,
    };
    let received = match received {
        Some(id) => {
            receive.data.keep();
            started(context, id)
        }
        None => RECEIVED_FROM_PROC_NULL,
    };
    Ok((sent, received))
}

#[inline(always)]
pub unsafe fn MPI_Isendrecv(
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
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Isendrecv";
    on_partners(NAME, comm, |comm| {
        // SAFETY: the standard's requirements on the buffers (MPI-4.0 section 3.10) and `request`.
        let (send, receive, request) = unsafe {
            (
                send_args(&comm, sendbuf, sendcount, sendtype, dest, sendtag)?,
                recv_args(&comm, recvbuf, recvcount, recvtype, source, recvtag)?,
                args::out(request, "request")?,
            )
        };
        *request = Handle::new(start(comm, NAME, send, receive, Vec::new())?);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Isendrecv_replace(
    buf: *mut c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Isendrecv_replace";
    on_partners(NAME, comm, |comm| {
        // SAFETY: the standard's requirements on `buf` (MPI-4.0 section 3.10) and `request`.
        let (send, receive, request) = unsafe {
            (
                send_args(&comm, buf, count, datatype, dest, sendtag)?,
                recv_args(&comm, buf, count, datatype, source, recvtag)?,
                args::out(request, "request")?,
            )
        };
        let (copy, span) = copy_of_message(comm.env, send.data.span())?;
        let data = TypedBuffer::plain(span);
        *request = Handle::new(start(comm, NAME, SendArgs { data, ..send }, receive, copy)?);
        Ok(())
    })
}
