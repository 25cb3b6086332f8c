//! Link interface between a board's hardware and the torus.

/// Full-duplex, point-to-point link to one neighbour that transmits frames in order.
///
/// No call blocks. A reliable link loses no frame and applies back-pressure to the sender; an unreliable link requires
/// the reliable layer above it.
pub trait Link {
    /// Whether the link handles timeouts. Then [`Link::poll`] is called before and after each round, otherwise only
    /// after rounds in which the link received or transmitted a frame.
    const HAS_TIMEOUTS: bool = true;

    /// Whether all links of this type are [exact](Link::is_exact), which makes an image smaller.
    const ALL_EXACT: bool = false;

    /// Whether links of this type may [buffer unsent frames](Link::buffers_unsent). An image without such links is
    /// smaller.
    const MAY_BUFFER_UNSENT: bool = false;

    /// Returns the maximum frame in bytes (MTU).
    fn mtu(&self) -> usize;

    /// Checks whether [`Link::receive`] may return a frame. Most links provide no cheaper check.
    fn may_receive(&mut self) -> bool {
        true
    }

    /// Passes the oldest received frame to `f`, then frees it. Returns false when there is none.
    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool;

    /// Transmits one frame that `f` writes into a buffer of [`Link::mtu`] bytes, if the link accepts one now. `f`
    /// returns the frame's size in bytes; 0 transmits nothing. Returns false when the link is full: `f` was not called,
    /// and the caller retries later.
    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool;

    /// Checks whether the link supports [`Link::unsent`]; used only if [`Link::MAY_BUFFER_UNSENT`]. Such links are
    /// [exact](Link::is_exact).
    fn buffers_unsent(&self) -> bool {
        false
    }

    /// Returns the buffer of the next frame of [`Link::transmit`], or `None` when the link is full. Bytes written there
    /// earlier are preserved.
    fn unsent(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Transmits the first `bytes` bytes of [`Link::unsent`], which must have space for them, as a frame.
    fn send_unsent(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Checks whether the neighbour has not received earlier frames yet. Packets that wait meanwhile arrive no later,
    /// and share a frame. When the condition ends, the link signals it like free space in a full link.
    fn is_behind(&mut self) -> bool {
        false
    }

    /// Notifies the link that no packet waits for its space or for the neighbour any more: it took another route.
    fn wait_no_more(&mut self) {}

    /// Checks whether every frame arrives exactly as sent, because the link is memory that both ends share. Its frames
    /// and packets then contain no checksums and none are checked; all other header checks remain. Both ends of a link
    /// must return the same constant value.
    fn is_exact(&self) -> bool {
        false
    }

    /// Polls the link with the node's clock, in nanoseconds from any start, monotonic. [`Link::HAS_TIMEOUTS`] specifies
    /// whether it is called before each round of `receive` and `transmit` or only after it. Links with timeouts, such
    /// as retransmitting ones, handle them here; others notify the neighbour of the round.
    fn poll(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// Returns the time, by the same clock, of the next [`Link::poll`] that is required without other events.
    fn poll_at(&self) -> Option<u64> {
        None
    }

    /// Checks whether the neighbour is busy and has not received an earlier frame yet. Links that cannot detect this
    /// return false.
    fn is_untaken(&mut self) -> bool {
        false
    }

    /// Notifies the link that the retransmitting layer above it had `timeouts` timeouts in a row.
    fn unanswered(&mut self, timeouts: u32) {
        let _ = timeouts;
    }

    /// Checks whether the link has failed because the neighbour does not respond. A failed link transmits nothing.
    /// Checked after the link was polled, had [news](Link::may_receive), or accepted no frame.
    fn is_dead(&self) -> bool {
        false
    }
}

/// Returns the earlier of two optional times.
pub(crate) fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
