//! The receiving side.
//!
//! ```text
//!   post      the program receives and probes                         restart   refused sources are asked again
//!   cancel    the program takes receives back
//!   arrive    offers come: matched, recorded or refused; the answer   data      data comes
//!   matched   matched probes                  probe, eager, deferred      what these work on
//! ```
#![forbid(unsafe_code)]

mod arrive;
pub(super) mod at_hand;
mod cancel;
mod cancelled;
mod data;
pub(super) mod deferred;
pub(super) mod eager;
mod matched;
mod post;
pub mod probe;
mod restart;

pub use probe::Probed;

use crate::config::{DEFERRED_SOURCES, EAGER_SOURCES};
use crate::list::List;
use crate::names::{RequestId, Serial, Slot};
use crate::recv::at_hand::AtHand;
use crate::recv::cancelled::CancelledReceives;
use crate::recv::deferred::DeferredAck;
use crate::recv::eager::Eager;
use crate::recv::probe::Probes;

/// What this process receives.
// The greatest come last: see `Adi`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// See [`Adi::let_answers_wait`](crate::Adi::let_answers_wait).
    pub answers_wait: bool,
    /// Receives whose CTS is still to be sent.
    pub cts_due: List<Slot>,
    /// Posted receives from one source that a restart has still to name.
    pub exact_to_name: List<Slot>,
    /// Posted receives from any source that every restart names, since some source waited when they were
    /// posted.
    pub wildcards: List<Slot>,
    /// Receives started so far: the place of the next one in their order.
    pub posts: Serial,
    /// Cancelled receives that are still posted.
    pub cancelled: CancelledReceives,
    pub probes: Probes,
    /// The receive by which a matched probe fetches a refused message.
    pub fetching: Option<RequestId>,
    pub at_hand: AtHand,
    /// Messages whose data is coming eagerly.
    pub coming: heapless::Vec<Eager, EAGER_SOURCES>,
    /// Answers for which their senders do not wait.
    pub deferred: heapless::Vec<DeferredAck, DEFERRED_SOURCES>,
}

impl Receiver {
    #[inline]
    pub fn new() -> Receiver {
        Receiver {
            coming: heapless::Vec::new(),
            deferred: heapless::Vec::new(),
            answers_wait: false,
            cts_due: List::default(),
            exact_to_name: List::default(),
            wildcards: List::default(),
            posts: 0,
            cancelled: CancelledReceives::default(),
            probes: Probes::default(),
            fetching: None,
            at_hand: AtHand::NOTHING,
        }
    }
}
