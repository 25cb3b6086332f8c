//! Calls of the binding for benchmarks, from Rust, so that measuring their cost requires no C compiler.

use core::ffi::c_int;
use core::ptr;

use super::environment::MPI_Init;
use super::types::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_REQUEST_NULL};
use super::types::{Handle, MPI_Status};
use super::{MPI_Irecv, MPI_Send, MPI_Wait};

const TAG: c_int = 7;

/// Initializes MPI. Returns false on failure.
pub fn start() -> bool {
    // SAFETY: the standard allows null pointers (section 8.7).
    unsafe { MPI_Init(ptr::null_mut(), ptr::null_mut()) == 0 }
}

/// Sends eight bytes to this process itself, rank 0, `messages` times. Each is received by MPI_Irecv, posted before and
/// completed afterwards. Returns false if one of them arrived incorrectly.
pub fn send_to_self(messages: u32) -> bool {
    (0..u64::from(messages)).all(|number| {
        let (sent, mut received) = (number, u64::MAX);
        let mut request = Handle::new(MPI_REQUEST_NULL);
        let mut status = MPI_Status::EMPTY;
        let bytes = size_of::<u64>() as c_int;
        // SAFETY: both buffers have this many bytes and outlive the calls, the last of which completes the receive;
        // `received` is not accessed before.
        let codes = unsafe {
            let (to, from) = ((&raw mut received).cast(), (&raw const sent).cast());
            [
                MPI_Irecv(to, bytes, MPI_BYTE.into(), 0, TAG, MPI_COMM_WORLD.into(), &mut request),
                MPI_Send(from, bytes, MPI_BYTE.into(), 0, TAG, MPI_COMM_WORLD.into()),
                MPI_Wait(&mut request, &mut status),
            ]
        };
        codes == [0; 3] && received == sent && status.MPI_TAG == TAG
    })
}
