//! State of the [cached self-receive](crate::at_hand).
#![forbid(unsafe_code)]

use crate::envelope::{Context, Tag};
use crate::memory::Span;
use crate::names::RequestId;

/// The cached receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtHand {
    pub state: State,
    pub tag: Tag,
    pub context: Context,
    pub span: Span,
    pub id: RequestId,
}

/// State of the cached receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// None.
    Nothing,
    /// None, but the next one's ID is allocated.
    Named,
    /// Waits for a message that has not been sent.
    Waits,
    /// Contains a message of this length in bytes.
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
