//! State of the [cached self-receive](crate::self_recv_cache).
#![forbid(unsafe_code)]

use crate::envelope::{Context, Tag};
use crate::ids::RequestId;
use crate::memory::Span;

/// The cached receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CachedSelfRecv {
    pub state: CacheState,
    pub tag: Tag,
    pub context: Context,
    pub span: Span,
    pub id: RequestId,
}

/// State of the cached receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CacheState {
    /// None.
    Empty,
    /// None, but the next one's ID is allocated.
    IdReserved,
    /// Waits for a message that has not been sent.
    Waiting,
    /// Contains a message of this length in bytes.
    Arrived(u32),
}

impl CachedSelfRecv {
    pub const EMPTY: CachedSelfRecv = CachedSelfRecv {
        state: CacheState::Empty,
        tag: 0,
        context: 0,
        span: Span::EMPTY,
        id: RequestId(0),
    };
}
