//! Lending slices to blocking calls: the one place above the device where safe code's slices become spans.
//!
//! A span is an address that the device copies from or to until its request has finished; the borrow checker
//! does not see that. A blocking call ends only after every request on its spans has finished. That rests on
//! one promise of the carrier: if a call is left by unwinding (a panic on a host; a node does not unwind), the
//! device is never driven again.

use crate::comm::{CommRank, Partners, Status};
use crate::error::Error;
use midplane_device::envelope::Tag;
use midplane_device::memory::Span;

/// The span of bytes that a blocking call reads.
///
/// # Safety
/// The span goes to a call that finishes all of its requests before it returns, while `bytes` is borrowed.
pub(super) unsafe fn reading(bytes: &[u8]) -> Span {
    // SAFETY: the caller's promise.
    unsafe { Span::new(bytes.as_ptr(), bytes.len()) }
}

/// The span of bytes that a blocking call writes.
///
/// # Safety
/// As for [`reading`].
pub(super) unsafe fn writing(bytes: &mut [u8]) -> Span {
    // SAFETY: the caller's promise; the borrow is exclusive.
    unsafe { Span::new(bytes.as_mut_ptr(), bytes.len()) }
}

/// Runs `call` with the span of bytes that it has written when it returns: it waits for the answer that they are of.
pub fn lend_until_over(bytes: &mut [u8], call: impl FnOnce(Span)) {
    // SAFETY: the answer is waited for in `call`, and nothing else has the bytes until then.
    call(unsafe { writing(bytes) });
    core::hint::black_box(bytes);
}

impl Partners<'_> {
    /// Sends and receives bytes; see [`Partners::sendrecv_span`].
    pub fn sendrecv_bytes(
        self,
        function: &'static str,
        (send, dest, send_tag): (&[u8], CommRank, Tag),
        (recv, source, recv_tag): (&mut [u8], Option<CommRank>, Option<Tag>),
    ) -> Result<Status, Error> {
        // SAFETY: the call is over, with all of its requests, before the slices are free again.
        let (send, recv) = unsafe { (reading(send), writing(recv)) };
        self.sendrecv_span(function, (send, dest, send_tag), (recv, source, recv_tag))
    }
}
