//! What a process knows of its [receive at hand](crate::at_hand).
#![forbid(unsafe_code)]

use crate::envelope::{Context, Tag};
use crate::memory::Span;
use crate::names::RequestId;

/// The receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtHand {
    pub state: State,
    pub tag: Tag,
    pub context: Context,
    pub span: Span,
    pub id: RequestId,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// There is none.
    Nothing,
    /// There is none, but for the next one's name.
    Named,
    /// For a message that has not been sent.
    Waits,
    /// It has a message of so many bytes.
    Arrived(u32),
}

impl AtHand {
    pub const NOTHING: AtHand = AtHand {
        state: State::Nothing,
        tag: 0,
        context: 0,
        span: Span::EMPTY,
        id: RequestId(0),
    };
}
