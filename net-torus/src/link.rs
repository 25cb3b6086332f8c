//! The link seam: the one place where a board's hardware meets the torus.

/// A full-duplex, point-to-point link to one neighbour, carrying frames in order.
///
/// Neither call blocks. A link that is reliable keeps every frame and applies back-pressure to the
/// sender; one that is not goes under the reliable layer.
pub trait Link {
    /// Whether the link keeps time: then [`Link::poll`] is called before and after each round, else only after rounds in
    /// which the link took or gave a frame.
    const KEEPS_TIME: bool = true;

    /// Whether all links of this type are [exact](Link::is_exact). An image with no others is smaller.
    const ALL_EXACT: bool = false;

    /// Whether links of this type may [have unsent frames](Link::keeps_unsent). An image with no such links is smaller.
    const MAY_KEEP_UNSENT: bool = false;

    /// Greatest frame in bytes that the link carries.
    fn mtu(&self) -> usize;

    /// Whether [`Link::receive`] is worth a call; most links know no cheaper way to tell.
    fn has_news(&mut self) -> bool {
        true
    }

    /// Hands the oldest received frame to `f` and then frees it. False when there is none.
    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool;

    /// If the link can take a frame now, lets `f` write it into a buffer of [`Link::mtu`] bytes and sends
    /// the number of bytes that `f` returns (0: nothing is sent). False when the link is full: `f` was
    /// not called, try again later.
    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool;

    /// Whether the link has [`Link::unsent`], which is asked only if it [may](Link::MAY_KEEP_UNSENT). Such links are
    /// [exact](Link::is_exact).
    fn keeps_unsent(&self) -> bool {
        false
    }

    /// The buffer in which [`Link::transmit`] will have the next frame written; what is written there before stays. `None`
    /// when the link is full.
    fn unsent(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Sends so many bytes of [`Link::unsent`], which had room for them, as a frame.
    fn send_unsent(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Whether the neighbour has yet to take frames that were sent before. What is sent meanwhile does not come
    /// sooner than what waits and shares a frame; when it is no longer so, it is as when a full link has room again.
    fn is_behind(&mut self) -> bool {
        false
    }

    /// What had waited for room, or for the neighbour, waits no more: it has gone another way.
    fn wait_no_more(&mut self) {}

    /// Whether every frame arrives exactly as it was sent, because the link is memory that both ends share. Its
    /// frames then carry no checksums, and those of packets are neither made nor compared; what the headers say is
    /// checked all the same. Both ends of a link must say the same, always.
    fn is_exact(&self) -> bool {
        false
    }

    /// Called with the node's clock (nanoseconds, any start, never going back) before each round of
    /// `receive` and `transmit` and once after it, as [`Link::KEEPS_TIME`] says. Links that keep time, such as
    /// retransmitting ones, act on it; others tell the neighbour of the round.
    fn poll(&mut self, now_ns: u64) {
        let _ = now_ns;
    }

    /// When [`Link::poll`] has something to do even if nothing happens before, by the same clock.
    fn poll_at(&self) -> Option<u64> {
        None
    }

    /// Whether the neighbour has yet to take a frame that was sent before: it is busy with something else. Links that
    /// cannot tell say that it has not.
    fn is_untaken(&mut self) -> bool {
        false
    }

    /// The layer above, which sends again what gets no answer, has done so `timeouts` times in a row.
    fn unanswered(&mut self, timeouts: u32) {
        let _ = timeouts;
    }

    /// Whether the link has given up: the neighbour does not answer. It then sends nothing any more. Asked for when the
    /// link has been polled, has had [news](Link::has_news), or has not taken a frame.
    fn is_dead(&self) -> bool {
        false
    }
}

/// The earlier of two times, where there are any.
pub(crate) fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
