//! The send side.
//!
//! ```text
//!   start    the program's sends: copied (bcopy), into the pending send queue (pending), or to this process (self_send)
//!   transmit transmission of RTSs, pending replies and data (stream: eager data)
//!   reply    handlers of the receivers' replies             cancel   cancellation of sends
//! ```
#![forbid(unsafe_code)]

pub mod bcopy;
mod cancel;
mod destinations;
pub mod pending;
mod reply;
mod restart_progress;
pub(super) mod self_send;
mod start;
pub(super) mod stream;
mod transmit;

pub use crate::config::COPY_BYTES;

use crate::config::DEFAULT_EAGER_LIMIT;
use crate::envelope::{Context, Rank, Tag};
use crate::ids::Slot;
use crate::list::List;
use crate::memory::Span;
use crate::request::{SendData, SendMode, SendRequest, SendState};
use crate::send::bcopy::BcopyPool;
use crate::send::pending::PendingQueues;
use crate::send::stream::EagerStream;

/// State of the send side.
// The largest field is last: see `Adi`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sender {
    /// Sends that wait for their RTS, or for replies.
    pub pending: PendingQueues,
    /// Sends whose data is in transmission.
    pub transfers: List<Slot>,
    /// The send whose eager data is in transmission.
    pub stream: Option<EagerStream>,
    /// Maximum size in bytes of an eager message.
    pub eager_limit: usize,
    /// Cancelled held sends whose CANCEL is still to be sent.
    pub cancels: List<Slot>,
    /// Short messages that do not wait for their acknowledgements.
    pub bcopies: BcopyPool,
}

impl Sender {
    #[inline]
    pub fn new() -> Sender {
        Sender {
            pending: PendingQueues::default(),
            transfers: List::default(),
            stream: None,
            eager_limit: DEFAULT_EAGER_LIMIT,
            bcopies: BcopyPool::new(),
            cancels: List::default(),
        }
    }
}

/// Destination and envelope of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTo {
    /// The destination, below the number of processes.
    pub dest: Rank,
    /// The tag, not negative.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
    /// Standard or synchronous.
    pub mode: SendMode,
}

impl SendTo {
    /// Creates the send of the `length` bytes in `span`.
    #[inline]
    pub(crate) fn send(&self, span: Span, length: u32, state: SendState) -> SendRequest {
        SendRequest {
            dest: self.dest,
            tag: self.tag,
            context: self.context,
            mode: self.mode,
            length,
            data: SendData::User(span),
            state,
        }
    }
}
