//! The handler table: handler number -> function, for requests and for answers apart.

use net_torus::coord::Coord;

use crate::header::Place;

/// Numbers that handlers can be registered under: 0 up to this, exclusive.
pub const HANDLERS: usize = 8;
/// Greatest payload of an answer in bytes.
pub const ANSWER_BYTES: usize = 16;

/// A packet that has arrived, as its handler sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// Who sent it.
    pub source: Coord,
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

/// Takes a normal packet; may answer with one priority packet.
pub type RequestHandler<C> = fn(&mut C, &Arrival<'_>) -> Option<Answer>;
/// Takes a priority packet; cannot answer.
pub type AnswerHandler<C> = fn(&mut C, &Arrival<'_>);

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

    /// Registers a request handler under `number`, in place of any before it.
    ///
    /// # Panics
    /// When `number` is not below [`HANDLERS`].
    pub const fn request(mut self, number: u8, handler: RequestHandler<C>) -> Self {
        self.requests[number as usize] = Some(handler);
        self
    }

    /// Registers an answer handler under `number`, in place of any before it.
    ///
    /// # Panics
    /// When `number` is not below [`HANDLERS`].
    pub const fn answer(mut self, number: u8, handler: AnswerHandler<C>) -> Self {
        self.answers[number as usize] = Some(handler);
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
