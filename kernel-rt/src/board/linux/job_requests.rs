//! Requests of the process to the tool, in its [`RequestArea`] of the shared file.

use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use midplane_abi::job_requests::{fields, write_field};
use midplane_objects::installed::{JobService, RequestTooLong, provide_job_service};

use super::job_memory::map;
use super::share::{REQUEST_BYTES, RequestArea};

static AREA: OnceLock<&'static RequestArea> = OnceLock::new();

/// Returns the process's area, if it can make requests.
pub fn area() -> Option<&'static RequestArea> {
    AREA.get().copied()
}

/// Offers requests to the language bindings. The area is at this offset of the shared file.
///
/// # Errors
/// Those of the operating system.
pub fn provide(file: &File, offset: u64) -> io::Result<()> {
    let _ = AREA.set(map(file, offset, size_of::<RequestArea>())?);
    provide_job_service(JobService {
        post,
        answer,
        exchange,
        job: file.metadata()?.ino(),
    });
    Ok(())
}

/// Posts a request, if no earlier one is pending. One thread of the process calls it at a time, with the lock of the MPI
/// library.
fn post(request: &[&[u8]]) -> Result<bool, RequestTooLong> {
    let Some(area) = AREA.get() else {
        return Err(RequestTooLong);
    };
    if area.state.load(Ordering::Acquire) != RequestArea::IDLE {
        return Ok(false);
    }
    // SAFETY: the area is idle, so the tool does not access it, and only one thread of this process does.
    let list = unsafe { &mut *area.fields.get() };
    let write = |used, field: &&[u8]| write_field(list, used, field);
    let used = request.iter().try_fold(0, write).ok_or(RequestTooLong)?;
    area.bytes.store(used as u32, Ordering::Relaxed);
    area.state.store(RequestArea::POSTED, Ordering::Release);
    Ok(true)
}

/// Returns the answer, if it is there, and makes the area idle.
fn answer() -> Option<Vec<Vec<u8>>> {
    let area = AREA.get()?;
    if area.state.load(Ordering::Acquire) != RequestArea::ANSWERED {
        return None;
    }
    let used = (area.bytes.load(Ordering::Relaxed) as usize).min(REQUEST_BYTES);
    // SAFETY: the tool accesses an answered area no more, and only one thread of this process does.
    let list = unsafe { &*area.fields.get() };
    let answer = fields(&list[..used]).map(<[u8]>::to_vec).collect();
    area.state.store(RequestArea::IDLE, Ordering::Release);
    Some(answer)
}

/// Sends bytes over a stream socket of the program, and receives as many.
fn exchange(socket: RawFd, sent: &[u8], received: &mut [u8]) -> bool {
    let mut done = 0;
    while done < sent.len() {
        let rest = &sent[done..];
        // SAFETY: reads the rest of the bytes. The system call itself: the program may define a function `write`.
        let count = unsafe {
            libc::syscall(
                libc::SYS_sendto,
                socket,
                rest.as_ptr(),
                rest.len(),
                libc::MSG_NOSIGNAL,
                0,
                0,
            )
        };
        match step(socket, count, libc::POLLOUT) {
            Some(count) => done += count,
            None => return false,
        }
    }
    done = 0;
    while done < received.len() {
        let rest = &mut received[done..];
        // SAFETY: writes at most the rest of the bytes.
        let count = unsafe { libc::syscall(libc::SYS_read, socket, rest.as_mut_ptr(), rest.len()) };
        match step(socket, count, libc::POLLIN) {
            // The other end is closed.
            Some(0) if count == 0 => return false,
            Some(count) => done += count,
            None => return false,
        }
    }
    true
}

/// Returns the number of bytes that a system call has transferred; 0 after a wait, if the socket does not block or a signal
/// has interrupted the call. `None`: it has failed.
fn step(socket: RawFd, count: libc::c_long, events: libc::c_short) -> Option<usize> {
    if count >= 0 {
        return usize::try_from(count).ok();
    }
    match io::Error::last_os_error().kind() {
        io::ErrorKind::Interrupted => Some(0),
        io::ErrorKind::WouldBlock => {
            let mut poll = libc::pollfd {
                fd: socket,
                events,
                revents: 0,
            };
            // SAFETY: one structure, which is there.
            unsafe { libc::syscall(libc::SYS_poll, &raw mut poll, 1, -1) };
            Some(0)
        }
        _ => None,
    }
}
