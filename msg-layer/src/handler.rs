//! Handler table: maps handler IDs to functions, separately for requests and replies.
//!
//! A handler returns [`MalformedPacket`] for an invalid packet. The progress step counts it ([`crate::LayerStats::malformed`]) and
//! the packet is discarded. Tables are `const`, so an ID that is out of range or registered twice does not compile.

use net_torus::coord::Coord;

use crate::header::{PRIORITY_BYTES, TargetOffset};

/// Number of request handler IDs, and of reply handler IDs.
pub const HANDLERS: usize = 32;
/// Maximum payload of a reply in bytes.
pub const REPLY_BYTES: usize = 16;
const _: () = assert!(REPLY_BYTES <= PRIORITY_BYTES);

/// A received packet, as passed to its handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedPacket<'a> {
    /// Coordinates of the sender.
    pub source: Coord,
    /// Rank of the sender ([`Port::rank`](crate::Port::rank)).
    pub rank: u32,
    /// Small argument of the handler.
    pub argument: u16,
    /// Destination of the bytes; `Some` only in the packets of long messages.
    pub place: Option<TargetOffset>,
    /// Payload.
    pub bytes: &'a [u8],
}

/// The single priority packet that a request handler may return as its reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyPacket {
    /// Reply handler ID at the receiver.
    pub handler: u8,
    /// Small argument of the handler.
    pub argument: u16,
    /// Payload.
    pub bytes: [u8; REPLY_BYTES],
}

/// Error: a packet contradicts itself or the receiver's state. The handler has discarded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MalformedPacket;

/// Result of a request handler: an optional reply, or an error if the packet was discarded without a reply.
pub type HandlerResult = Result<Option<ReplyPacket>, MalformedPacket>;

/// Handles a normal packet; may return one priority packet as a reply.
///
/// # Errors
/// [`MalformedPacket`] if the packet was discarded. No reply is sent.
pub type RequestHandler<C> = fn(&mut C, &ReceivedPacket<'_>) -> HandlerResult;
/// Handles a priority packet; cannot reply.
///
/// # Errors
/// [`MalformedPacket`] if the packet was discarded.
pub type ReplyHandler<C> = fn(&mut C, &ReceivedPacket<'_>) -> Result<(), MalformedPacket>;

/// Handlers by ID. Each receives the context `C`.
pub struct HandlerTable<C> {
    requests: [Option<RequestHandler<C>>; HANDLERS],
    answers: [Option<ReplyHandler<C>>; HANDLERS],
}

impl<C> HandlerTable<C> {
    /// Creates an empty table.
    pub const fn new() -> Self {
        Self {
            requests: [None; HANDLERS],
            answers: [None; HANDLERS],
        }
    }

    /// Registers a request handler. An ID not below [`HANDLERS`] does not compile.
    ///
    /// # Panics
    /// If the ID already has a request handler; in a `const` table, that does not compile.
    pub const fn request<const NUMBER: u8>(mut self, handler: RequestHandler<C>) -> Self {
        const { assert!((NUMBER as usize) < HANDLERS) };
        assert!(
            self.requests[NUMBER as usize].is_none(),
            "two request handlers of one number"
        );
        self.requests[NUMBER as usize] = Some(handler);
        self
    }

    /// Registers a reply handler. An ID not below [`HANDLERS`] does not compile.
    ///
    /// # Panics
    /// If the ID already has a reply handler; in a `const` table, that does not compile.
    pub const fn reply<const NUMBER: u8>(mut self, handler: ReplyHandler<C>) -> Self {
        const { assert!((NUMBER as usize) < HANDLERS) };
        assert!(
            self.answers[NUMBER as usize].is_none(),
            "two answer handlers of one number"
        );
        self.answers[NUMBER as usize] = Some(handler);
        self
    }

    pub(crate) fn request_at(&self, number: u8) -> Option<RequestHandler<C>> {
        self.requests.get(number as usize).copied().flatten()
    }

    pub(crate) fn reply_at(&self, number: u8) -> Option<ReplyHandler<C>> {
        self.answers.get(number as usize).copied().flatten()
    }
}

impl<C> Default for HandlerTable<C> {
    fn default() -> Self {
        Self::new()
    }
}
