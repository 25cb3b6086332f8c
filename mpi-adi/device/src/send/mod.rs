//! The sending side.
//!
//! ```text
//!   start    the program sends: copied (bcopy), or into the pending send queue (pending), or to itself (oneself)
//!   leave    offers, answers that are due and data leave, as far as the network has room (stream: eager data)
//!   answer   what comes of the receivers' answers            cancel   the program takes a send back
//! ```
#![forbid(unsafe_code)]

mod answer;
pub mod bcopy;
mod cancel;
mod carried_out;
mod destinations;
mod leave;
pub(super) mod oneself;
pub mod pending;
mod start;
pub(super) mod stream;

pub use crate::config::COPY_BYTES;

use crate::config::DEFAULT_EAGER_LIMIT;
use crate::envelope::{Context, Rank, Tag};
use crate::list::List;
use crate::memory::Span;
use crate::names::Slot;
use crate::request::{Data, Mode, Send, SendState};
use crate::send::bcopy::Bcopies;
use crate::send::pending::Pending;
use crate::send::stream::Stream;

/// What this process sends.
// The greatest comes last: see `Adi`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Sender {
    /// Sends that wait to leave, or for answers.
    pub pending: Pending,
    /// Sends whose data is leaving.
    pub transfers: List<Slot>,
    /// The send whose data is leaving eagerly.
    pub stream: Option<Stream>,
    /// Greatest message in bytes that is sent eagerly.
    pub eager_limit: usize,
    /// Held sends that the program wants back, whose receivers are still to be asked.
    pub cancels: List<Slot>,
    /// Short messages that do not wait for their answers.
    pub bcopies: Bcopies,
}

impl Sender {
    #[inline]
    pub fn new() -> Sender {
        Sender {
            pending: Pending::default(),
            transfers: List::default(),
            stream: None,
            eager_limit: DEFAULT_EAGER_LIMIT,
            bcopies: Bcopies::new(),
            cancels: List::default(),
        }
    }
}

/// Where a message goes and under which name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendTo {
    /// The destination, below the number of processes.
    pub dest: Rank,
    /// The tag, not negative.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
    /// Standard or synchronous.
    pub mode: Mode,
}

impl SendTo {
    /// The send of the `length` bytes in `span`.
    #[inline]
    pub(crate) fn send(&self, span: Span, length: u32, state: SendState) -> Send {
        Send {
            dest: self.dest,
            tag: self.tag,
            context: self.context,
            mode: self.mode,
            length,
            data: Data::User(span),
            state,
        }
    }
}
