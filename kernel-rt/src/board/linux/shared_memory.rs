//! Memory that processes of a job share, for windows (MPI_Win_allocate_shared).
//!
//! One process creates a file without a name and reserves its memory, and the others open it as `/proc/PID/fd/NUMBER`. The
//! creator closes its descriptor when all have mapped it. The system frees the memory with its last mapping, also when
//! processes are killed.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::ptr;

use midplane_objects::installed::{SharedMemory, SharedMemoryId, provide_shared_memory};

use super::job_memory::map_bytes;
use super::{process, process_id};

/// Offers the memory of this host to the language bindings. `host` is its number in the job.
pub fn provide(host: u32) {
    provide_shared_memory(SharedMemory {
        host,
        create,
        map,
        close,
        unmap,
    });
}

/// Returns the maximum size of one memory in bytes: the memory of all nodes of the job.
fn max_bytes() -> u64 {
    process().map_or(0, |process| {
        process.who.memory.saturating_mul(process.who.shape.nodes().into())
    })
}

fn create(bytes: usize) -> Option<SharedMemoryId> {
    if bytes as u64 > max_bytes() {
        return None;
    }
    // SAFETY: the name is a C string; the descriptor, if valid, has no other owner.
    let file = unsafe {
        let number = libc::memfd_create(c"midplane-window".as_ptr(), libc::MFD_CLOEXEC);
        (number >= 0).then(|| File::from_raw_fd(number))
    }?;
    // Reserved now: later the processes would end by a signal at their first access.
    // SAFETY: accesses no memory of ours.
    let is_reserved = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) == 0 };
    is_reserved.then(|| [process_id().into(), file.into_raw_fd().into()])
}

fn map([creator, number]: SharedMemoryId, bytes: usize) -> Option<usize> {
    let path = format!("/proc/{creator}/fd/{number}");
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    map_bytes(&file, 0, bytes).ok().map(|start| start.expose_provenance())
}

fn close([_, number]: SharedMemoryId) {
    // SAFETY: the descriptor that `create` has returned, and nothing else owns it.
    drop(unsafe { File::from_raw_fd(number as i32) });
}

fn unmap(address: usize, bytes: usize) {
    // SAFETY: a mapping of `map`, which nothing uses any more.
    unsafe { libc::munmap(ptr::with_exposed_provenance_mut(address), bytes) };
}
