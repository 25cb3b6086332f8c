//! Buffered sends (sections 3.4, 3.6 and 3.7.2), from a buffer that the program attached: to the communicator, else to
//! its session, else to the process (MPI-4.1 section 3.6). A buffer may be automatic: then each message is copied to the
//! heap.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::addresses::BUFFER_AUTOMATIC;
use super::args::{self, PeerRank, send_args};
use super::binding::any_env;
use super::comm_objects::session_in;
use super::counts::{Integer, put};
use super::error_dispatch::{on_any, on_partners, on_process};
use super::handles::{HandleKind, HandleTable};
use super::lazy_callback::LazyCallback;
use super::requests::{
    CompletedRequest, FLUSHES, FamilyEntry, RequestFamily, SEND_COMPLETE, enter_family, with_status,
};
use super::session_objects::on_session;
use super::types::{Handle, MPI_Status};
use midplane_device::envelope::{Context, Tag};
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::buffered::BufferUse;
use midplane_objects::comm::{CommRank, Partners};
use midplane_objects::context::base;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::process::Env;

/// Object that a buffer is attached to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BufferOwner {
    Process,
    Session(c_int),
    Comm(Context),
}

struct AttachedBuffer {
    owner: BufferOwner,
    address: *mut c_void,
    size: isize,
    room: BufferUse,
}

// SAFETY: the address is the program's and is only returned to it; the bytes are accessed only by spans.
unsafe impl Send for AttachedBuffer {}

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_buffers")]
static ATTACHED: Mutex<Vec<AttachedBuffer>> = Mutex::new(Vec::new());

impl BufferOwner {
    /// Returns the owners of buffers for messages in this context, first the preferred one.
    fn candidates(context: Context) -> [BufferOwner; 3] {
        [
            BufferOwner::Comm(base(context)),
            BufferOwner::Session(session_in(context)),
            BufferOwner::Process,
        ]
    }

    fn find(self, attached: &mut [AttachedBuffer]) -> Option<&mut AttachedBuffer> {
        attached.iter_mut().find(|buffer| buffer.owner == self)
    }
}

/// Copies the message to an attached buffer and sends it from there.
pub(super) fn send(
    comm: Partners<'_>,
    function: &'static str,
    data: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    let owners = BufferOwner::candidates(comm.group().context);
    let mut attached = ATTACHED.lock();
    let owner = { owners.into_iter() }.find(|owner| owner.find(&mut attached).is_some());
    let Some(AttachedBuffer { address, room, .. }) = owner.and_then(|owner| owner.find(&mut attached)) else {
        return Err(Error::Buffer {
            what: "no buffer is attached; give one with MPI_Buffer_attach",
        });
    };
    let len = data.len();
    if address.addr() == BUFFER_AUTOMATIC {
        let mut copy = room.make_copy(comm.env, function, len)?;
        comm.env.read(data.into(), &mut copy);
        // SAFETY: the copy is not changed, and exists until the send is complete.
        let span = unsafe { Span::new(copy.as_ptr(), len) };
        let id = comm.start_send(function, span, dest, tag, SendMode::Standard)?;
        room.sent_copy(comm.env, copy, id);
        return Ok(());
    }
    let place = room.place(comm.env, function, len)?;
    let span = if len == 0 {
        Span::EMPTY
    } else {
        let to = address.cast::<u8>().wrapping_add(place.offset);
        // SAFETY: the standard's requirements on the attached buffer, which only the library uses until it is detached
        // (section 3.6); the gap is within it and free. `data` is the program's own buffer, never this one.
        unsafe {
            let copy = core::slice::from_raw_parts_mut(to, len);
            comm.env.read(data.into(), copy);
            Span::new(to, len)
        }
    };
    let id = comm.start_send(function, span, dest, tag, SendMode::Standard)?;
    room.sent(comm.env, place, id);
    Ok(())
}

#[inline(always)]
pub unsafe fn MPI_Bsend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
) -> c_int {
    on_partners("MPI_Bsend", comm, |comm| {
        // SAFETY: the standard's requirements on `buf` (section 3.2.2).
        let message = unsafe { send_args(&comm, buf, count, datatype, dest, tag) }?;
        match message.dest {
            PeerRank::ProcNull => Ok(()),
            PeerRank::Rank(dest) => send(comm, "MPI_Bsend", message.data.span(), dest, message.tag),
        }
    })
}

#[inline(always)]
pub unsafe fn MPI_Ibsend(
    buf: *const c_void,
    count: isize,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut Handle,
) -> c_int {
    on_partners("MPI_Ibsend", comm, |comm| {
        // SAFETY: the standard's requirements on `buf` (section 3.7.2) and `request`.
        let (message, request) = unsafe {
            (
                send_args(&comm, buf, count, datatype, dest, tag)?,
                args::out(request, "request")?,
            )
        };
        if let PeerRank::Rank(dest) = message.dest {
            send(comm, "MPI_Ibsend", message.data.span(), dest, message.tag)?;
        }
        // The attached buffer contains the message, so the request is already complete.
        *request = Handle::new(SEND_COMPLETE);
        Ok(())
    })
}

/// Attaches a buffer to an object without one.
///
/// # Safety
/// See [`args::bytes`], until the buffer is detached.
unsafe fn attach(owner: BufferOwner, buffer: *mut c_void, size: isize) -> Result<(), Error> {
    let is_automatic = buffer.addr() == BUFFER_AUTOMATIC;
    // The size of an automatic buffer has no meaning.
    let size = if is_automatic { 0 } else { size };
    let bytes = usize::try_from(size).map_err(|_| Error::Argument {
        what: "a buffer of a negative size",
    })?;
    // SAFETY: only checked; each use of the buffer has its own justification.
    unsafe { args::bytes(buffer, bytes) }?;
    let mut attached = ATTACHED.lock();
    if owner.find(&mut attached).is_some() {
        return Err(Error::Buffer {
            what: "a buffer is attached already; detach it first",
        });
    }
    attached.try_reserve(1).map_err(|_| Error::NoSpace {
        bytes: size_of::<AttachedBuffer>(),
    })?;
    attached.push(AttachedBuffer {
        owner,
        address: buffer,
        size,
        room: BufferUse::new(bytes),
    });
    Ok(())
}

/// Removes the buffer of an object, and blocks until all messages in it are complete.
fn remove(env: &dyn Env, function: &'static str, owner: BufferOwner) -> Option<AttachedBuffer> {
    let mut removed = {
        let mut attached = ATTACHED.lock();
        let place = attached.iter().position(|buffer| buffer.owner == owner)?;
        attached.swap_remove(place)
    };
    removed.room.wait_until_empty(env, function);
    Some(removed)
}

/// Detaches the buffer of an object.
///
/// # Safety
/// `buffer_addr` must be the address of a pointer; both must satisfy [`args::out`].
unsafe fn detach<C: Integer>(
    env: &dyn Env,
    function: &'static str,
    owner: BufferOwner,
    buffer_addr: *mut c_void,
    size: *mut C,
) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let (buffer_addr, size) = unsafe {
        (
            args::out(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?,
            args::out(size, "size")?,
        )
    };
    let detached = remove(env, function, owner).ok_or(Error::Buffer {
        what: "no buffer is attached",
    })?;
    *buffer_addr = detached.address;
    put(size, detached.size)
}

/// Blocks until all messages in the buffer of an object, if any, are complete.
fn flush(env: &dyn Env, function: &'static str, owner: BufferOwner) {
    if let Some(flushed) = remove(env, function, owner) {
        // It uses the memory of the removed entry.
        ATTACHED.lock().push(flushed);
    }
}

#[inline(always)]
pub unsafe fn MPI_Buffer_attach(buffer: *mut c_void, size: isize) -> c_int {
    on_process("MPI_Buffer_attach", |_| {
        DETACH.set(detach_at_the_end);
        // SAFETY: the standard's requirements on the buffer (section 3.6).
        unsafe { attach(BufferOwner::Process, buffer, size) }
    })
}

pub unsafe fn MPI_Buffer_detach<C: Integer>(buffer_addr: *mut c_void, size: *mut C) -> c_int {
    const NAME: &str = "MPI_Buffer_detach";
    on_process(NAME, |env| {
        // SAFETY: the standard's requirements on both.
        unsafe { detach(env, NAME, BufferOwner::Process, buffer_addr, size) }
    })
}

pub unsafe fn MPI_Buffer_flush() -> c_int {
    on_process("MPI_Buffer_flush", |env| {
        flush(env, "MPI_Buffer_flush", BufferOwner::Process);
        Ok(())
    })
}

pub unsafe fn MPI_Buffer_iflush(request: *mut Handle) -> c_int {
    on_process("MPI_Buffer_iflush", |env| {
        // SAFETY: the standard's requirements on `request`.
        unsafe { start_flush(env, BufferOwner::Process, request) }
    })
}

#[inline(always)]
pub unsafe fn MPI_Comm_attach_buffer(comm: c_int, buffer: *mut c_void, size: isize) -> c_int {
    on_any("MPI_Comm_attach_buffer", comm, |_, views| {
        DETACH_FROM_COMM.set(|env, function, context| {
            remove(env, function, BufferOwner::Comm(context));
        });
        // SAFETY: the standard's requirements on the buffer (MPI-4.1 section 3.6).
        unsafe { attach(BufferOwner::Comm(views.context()), buffer, size) }
    })
}

pub unsafe fn MPI_Comm_detach_buffer<C: Integer>(comm: c_int, buffer_addr: *mut c_void, size: *mut C) -> c_int {
    const NAME: &str = "MPI_Comm_detach_buffer";
    on_any(NAME, comm, |env, views| {
        // SAFETY: the standard's requirements on both.
        unsafe { detach(env, NAME, BufferOwner::Comm(views.context()), buffer_addr, size) }
    })
}

pub unsafe fn MPI_Comm_flush_buffer(comm: c_int) -> c_int {
    const NAME: &str = "MPI_Comm_flush_buffer";
    on_any(NAME, comm, |env, views| {
        flush(env, NAME, BufferOwner::Comm(views.context()));
        Ok(())
    })
}

pub unsafe fn MPI_Comm_iflush_buffer(comm: c_int, request: *mut Handle) -> c_int {
    on_any("MPI_Comm_iflush_buffer", comm, |env, views| {
        // SAFETY: the standard's requirements on `request`.
        unsafe { start_flush(env, BufferOwner::Comm(views.context()), request) }
    })
}

#[inline(always)]
pub unsafe fn MPI_Session_attach_buffer(session: c_int, buffer: *mut c_void, size: isize) -> c_int {
    on_session("MPI_Session_attach_buffer", session, |_| {
        // SAFETY: the standard's requirements on the buffer (MPI-4.1 section 3.6).
        unsafe { attach(BufferOwner::Session(session), buffer, size) }
    })
}

pub unsafe fn MPI_Session_detach_buffer<C: Integer>(session: c_int, buffer_addr: *mut c_void, size: *mut C) -> c_int {
    const NAME: &str = "MPI_Session_detach_buffer";
    on_session(NAME, session, |env| {
        // SAFETY: the standard's requirements on both.
        unsafe { detach(env, NAME, BufferOwner::Session(session), buffer_addr, size) }
    })
}

pub unsafe fn MPI_Session_flush_buffer(session: c_int) -> c_int {
    const NAME: &str = "MPI_Session_flush_buffer";
    on_session(NAME, session, |env| {
        flush(env, NAME, BufferOwner::Session(session));
        Ok(())
    })
}

pub unsafe fn MPI_Session_iflush_buffer(session: c_int, request: *mut Handle) -> c_int {
    on_session("MPI_Session_iflush_buffer", session, |env| {
        // SAFETY: the standard's requirements on `request`.
        unsafe { start_flush(env, BufferOwner::Session(session), request) }
    })
}

/// Detaches the buffer. Installed with the first attached buffer, so that the image of a program without one does not
/// contain this code.
static DETACH: LazyCallback<DetachFn> = LazyCallback::new();

type DetachFn = fn(&dyn Env);

fn detach_at_the_end(env: &dyn Env) {
    remove(env, "MPI_Finalize", BufferOwner::Process);
}

/// Detaches the buffer of the process in MPI_Finalize (section 8.7), which completes the sends from other buffers.
pub(super) fn finish(env: &dyn Env) {
    let detach = DETACH.get();
    if let Some(detach) = detach {
        detach(env);
    }
}

/// Detaches the buffer of a communicator; like [`DETACH`].
static DETACH_FROM_COMM: LazyCallback<fn(&dyn Env, &'static str, Context)> = LazyCallback::new();

/// Detaches the buffer of a communicator that the program frees.
pub(super) fn finish_comm(env: &dyn Env, function: &'static str, context: Context) {
    let detach = DETACH_FROM_COMM.get();
    if let Some(detach) = detach {
        detach(env, function, context);
    }
}

/// Detaches the buffer of a session that the program finalizes.
pub(super) fn finish_session(env: &dyn Env, session: c_int) {
    remove(env, "MPI_Session_finalize", BufferOwner::Session(session));
}

const KIND: HandleKind = HandleKind {
    name: LimitedResource::FlushRequests,
    tag: FLUSHES,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

/// A nonblocking flush: complete when the first messages of a buffer have left it.
struct FlushRequest {
    owner: BufferOwner,
    messages: u64,
}

impl FlushRequest {
    fn is_complete(&self, env: &dyn Env) -> bool {
        let mut attached = ATTACHED.lock();
        // A detached buffer is empty.
        let buffer = self.owner.find(&mut attached);
        buffer.is_none_or(|buffer| buffer.room.is_flushed(env, self.messages))
    }
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_flushes")]
static FLUSH_REQUESTS: Mutex<HandleTable<FlushRequest>> = Mutex::new(HandleTable::new(KIND));

/// Starts a flush of the buffer of an object, if it has one.
///
/// # Safety
/// `request` must satisfy [`args::out`].
unsafe fn start_flush(env: &dyn Env, owner: BufferOwner, request: *mut Handle) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let request = unsafe { args::out(request, "request") }?;
    let messages = owner
        .find(&mut ATTACHED.lock())
        .map_or(0, |buffer| buffer.room.messages());
    let flush = FlushRequest { owner, messages };
    *request = if flush.is_complete(env) {
        Handle::new(SEND_COMPLETE)
    } else {
        enter_family(&FAMILY);
        Handle::new(FLUSH_REQUESTS.lock().add(flush)?)
    };
    Ok(())
}

struct FlushFamily;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_flushes")]
static FAMILY: FamilyEntry = FamilyEntry::new(FLUSHES, &FlushFamily);

impl RequestFamily for FlushFamily {
    fn has(&self, handle: c_int) -> bool {
        FLUSH_REQUESTS.lock().get(handle).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        let env = any_env().ok()?;
        let requests = FLUSH_REQUESTS.lock();
        let is_complete = requests.get(handle)?.is_complete(env);
        is_complete.then(|| with_status(MPI_Status::NO_RECEIVE))
    }

    fn forget(&self, handle: c_int) {
        FLUSH_REQUESTS.lock().remove(handle);
    }

    fn free(&self, handle: c_int) -> Result<(), Error> {
        self.forget(handle);
        Ok(())
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        Err(Error::Wrong {
            class: ErrorClass::Request,
            what: "the request of a buffer flush cannot be cancelled; complete it",
        })
    }
}
