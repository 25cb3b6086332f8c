//! The handler table: handler number -> function, for requests and for answers apart.
//!
//! A handler that cannot make sense of a packet returns [`Malformed`]; the progress step counts it
//! ([`crate::Stats::malformed`]), and the packet is gone. A table is made in a `const`, so that a number out of
//! range or given twice does not compile.

use net_torus::coord::Coord;

use crate::header::{PRIORITY_BYTES, Place};

/// Numbers of request handlers, and as many of answer handlers: 0 up to this, exclusive.
pub const HANDLERS: usize = 32;
/// Greatest payload of an answer in bytes.
pub const ANSWER_BYTES: usize = 16;
const _: () = assert!(ANSWER_BYTES <= PRIORITY_BYTES);

/// A packet that has arrived, as its handler sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// Who sent it.
    pub source: Coord,
    /// The sender's number ([`Port::rank`](crate::Port::rank)).
    pub rank: u32,
    /// The handler's small argument.
    pub argument: u16,
    /// Where the bytes belong; `Some` exactly in the packets of long messages.
    pub place: Option<Place>,
    /// The payload.
    pub bytes: &'a [u8],
}

/// The one priority packet with which a request handler may answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Number of the answer handler at the receiver.
    pub handler: u8,
    /// The handler's small argument.
    pub argument: u16,
    /// The payload.
    pub bytes: [u8; ANSWER_BYTES],
}

/// A packet contradicts itself or the receiver's state. The handler has discarded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// What comes of a packet: an answer, where one is due; or it was discarded, and no answer is sent.
pub type Taken = Result<Option<Answer>, Malformed>;

/// Takes a normal packet; may answer with one priority packet.
///
/// # Errors
/// [`Malformed`]: the packet was discarded, and no answer is sent.
pub type RequestHandler<C> = fn(&mut C, &Arrival<'_>) -> Taken;
/// Takes a priority packet; cannot answer.
///
/// # Errors
/// [`Malformed`]: the packet was discarded.
pub type AnswerHandler<C> = fn(&mut C, &Arrival<'_>) -> Result<(), Malformed>;

/// Handlers by number, over a context `C` that is handed to each.
pub struct Handlers<C> {
    requests: [Option<RequestHandler<C>>; HANDLERS],
    answers: [Option<AnswerHandler<C>>; HANDLERS],
}

impl<C> Handlers<C> {
    /// No handler at all.
    pub const fn new() -> Self {
        Self {
            requests: [None; HANDLERS],
            answers: [None; HANDLERS],
        }
    }

    /// Registers a request handler. A number that is not below [`HANDLERS`] does not compile.
    ///
    /// # Panics
    /// When the number has a request handler already; where the table is a `const`, that does not compile.
    pub const fn request<const NUMBER: u8>(mut self, handler: RequestHandler<C>) -> Self {
        const { assert!((NUMBER as usize) < HANDLERS) };
        assert!(
            self.requests[NUMBER as usize].is_none(),
            "two request handlers of one number"
        );
        self.requests[NUMBER as usize] = Some(handler);
        self
    }

    /// Registers an answer handler. A number that is not below [`HANDLERS`] does not compile.
    ///
    /// # Panics
    /// When the number has an answer handler already; where the table is a `const`, that does not compile.
    pub const fn answer<const NUMBER: u8>(mut self, handler: AnswerHandler<C>) -> Self {
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

    pub(crate) fn answer_at(&self, number: u8) -> Option<AnswerHandler<C>> {
        self.answers.get(number as usize).copied().flatten()
    }
}

impl<C> Default for Handlers<C> {
    fn default() -> Self {
        Self::new()
    }
}
