//! Conversion of slices of safe code to spans for blocking calls; no other code above the device does this.
//!
//! A span is an address that the device reads or writes until its request is finished. The borrow checker cannot see
//! this use. A blocking call returns only after every request on its spans is finished. This relies on one promise of
//! the host environment: after unwinding out of a call (a panic on a host; a node does not unwind), the device never
//! runs again.

use crate::comm::{IncomingData, OutgoingData, Partners, Status};
use crate::error::Error;
use midplane_device::memory::Span;

/// Returns the span of bytes that a blocking call reads.
///
/// # Safety
/// The call that receives the span must finish all of its requests before it returns, while `bytes` is borrowed.
pub(super) unsafe fn reading(bytes: &[u8]) -> Span {
    // SAFETY: guaranteed by the caller.
    unsafe { Span::new(bytes.as_ptr(), bytes.len()) }
}

/// Returns the span of bytes that a blocking call writes.
///
/// # Safety
/// See [`reading`].
pub(super) unsafe fn writing(bytes: &mut [u8]) -> Span {
    // SAFETY: guaranteed by the caller; the borrow is exclusive.
    unsafe { Span::new(bytes.as_mut_ptr(), bytes.len()) }
}

/// Runs `call` with a writable span. `call` must wait for the reply that fills it.
pub fn with_writable_span(bytes: &mut [u8], call: impl FnOnce(Span)) {
    // SAFETY: `call` waits for the reply, and nothing else uses the bytes until then.
    call(unsafe { writing(bytes) });
    core::hint::black_box(bytes);
}

impl Partners<'_> {
    /// Sends and receives bytes; see [`Partners::sendrecv_span`].
    pub fn sendrecv_bytes(
        self,
        function: &'static str,
        send: OutgoingData<&[u8]>,
        recv: IncomingData<&mut [u8]>,
    ) -> Result<Status, Error> {
        // SAFETY: the call finishes all of its requests before it returns and the borrows of the slices end.
        let (sent, received) = unsafe { (reading(send.data), writing(recv.data)) };
        let send = OutgoingData {
            data: sent,
            dest: send.dest,
            tag: send.tag,
        };
        let recv = IncomingData {
            data: received,
            source: recv.source,
            tag: recv.tag,
        };
        self.sendrecv_span(function, send, recv)
    }
}
