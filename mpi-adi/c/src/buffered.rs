//! Buffered sends (sections 3.4, 3.6 and 3.7.2), from the buffer that the program attached.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_int, c_void};

use spin::Mutex;

use super::args::{self, PeerRank, send_args};
use super::binding::env;
use super::error_dispatch::{on_partners, on_process};
use super::lazy_callback::LazyCallback;
use super::requests::SEND_COMPLETE;
use midplane_device::envelope::Tag;
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::buffered::BufferUse;
use midplane_objects::comm::{CommRank, Partners};
use midplane_objects::error::Error;
use midplane_objects::process::Env;

struct AttachedBuffer {
    address: *mut c_void,
    size: c_int,
    room: BufferUse,
}

// SAFETY: the address is the program's and is only returned to it; the bytes are accessed only by spans.
unsafe impl Send for AttachedBuffer {}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static ATTACHED: Mutex<Option<AttachedBuffer>> = Mutex::new(None);

/// Copies the message to the attached buffer and sends it from there.
pub(super) fn send(
    comm: Partners<'_>,
    function: &'static str,
    data: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    let mut attached = ATTACHED.lock();
    let Some(AttachedBuffer { address, room, .. }) = attached.as_mut() else {
        return Err(Error::Buffer {
            what: "no buffer is attached; give one with MPI_Buffer_attach",
        });
    };
    let len = data.len();
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

pub unsafe fn MPI_Bsend(
    buf: *const c_void,
    count: c_int,
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

pub unsafe fn MPI_Ibsend(
    buf: *const c_void,
    count: c_int,
    datatype: c_int,
    dest: c_int,
    tag: c_int,
    comm: c_int,
    request: *mut c_int,
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
        *request = SEND_COMPLETE;
        Ok(())
    })
}

pub unsafe fn MPI_Buffer_attach(buffer: *mut c_void, size: c_int) -> c_int {
    on_process("MPI_Buffer_attach", |_| {
        let bytes = usize::try_from(size).map_err(|_| Error::Argument {
            what: "a buffer of a negative size",
        })?;
        // SAFETY: only checked; each use of the buffer has its own justification.
        unsafe { args::bytes(buffer, bytes) }?;
        let mut attached = ATTACHED.lock();
        if attached.is_some() {
            return Err(Error::Buffer {
                what: "a buffer is attached already; detach it first",
            });
        }
        DETACH.set(detach_at_the_end);
        *attached = Some(AttachedBuffer {
            address: buffer,
            size,
            room: BufferUse::new(bytes),
        });
        Ok(())
    })
}

/// Blocks until all messages in the attached buffer, if any, are complete, and detaches it.
fn detach(env: &dyn Env, function: &'static str) -> Option<(*mut c_void, c_int)> {
    let mut attached = ATTACHED.lock().take()?;
    attached.room.wait_until_empty(env, function);
    Some((attached.address, attached.size))
}

/// Detaches the buffer. Installed with the first attached buffer, so that the image of a program without one does not
/// contain this code.
static DETACH: LazyCallback<DetachFn> = LazyCallback::new();

type DetachFn = fn(&dyn Env);

fn detach_at_the_end(env: &dyn Env) {
    detach(env, "MPI_Finalize");
}

/// Detaches the buffer in MPI_Finalize (section 8.7).
pub(super) fn finish(env: &dyn Env) {
    let detach = DETACH.get();
    if let Some(detach) = detach {
        detach(env);
    }
}

pub unsafe fn MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) -> c_int {
    on_process("MPI_Buffer_detach", |_| {
        // SAFETY: the standard's requirements on both; the first is the address of a pointer.
        let (buffer_addr, size) = unsafe {
            (
                args::out(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?,
                args::out(size, "size")?,
            )
        };
        let Some(attached) = detach(env()?, "MPI_Buffer_detach") else {
            return Err(Error::Buffer {
                what: "no buffer is attached",
            });
        };
        (*buffer_addr, *size) = attached;
        Ok(())
    })
}
