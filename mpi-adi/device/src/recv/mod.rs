//! The receive side.
//!
//! ```text
//!   post      the program's receives and probes                      restart   restarts to rejected sources
//!   cancel    cancellation of receives
//!   arrive    handlers of RTSs: match, record or reject; the reply   data      handlers of data packets
//!   matched   matched probes                     probe, eager, delayed_ack     their data structures
//! ```
#![forbid(unsafe_code)]

mod arrive;
pub(super) mod cached_self_recv;
mod cancel;
mod cancelled;
mod data;
pub(super) mod delayed_ack;
pub(super) mod eager;
mod matched;
mod post;
pub mod probe;
mod restart;

pub use probe::ProbedMessage;

use crate::config::{EAGER_SOURCES, MAX_DELAYED_ACKS};
use crate::ids::{RequestId, SequenceNumber, Slot};
use crate::list::List;
use crate::recv::cached_self_recv::CachedSelfRecv;
use crate::recv::cancelled::CancelledReceives;
use crate::recv::delayed_ack::DelayedAck;
use crate::recv::eager::EagerReceive;
use crate::recv::probe::ArmedProbes;

/// State of the receive side.
// The largest fields are last: see `Adi`.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Receiver {
    /// See [`Adi::delay_acks`](crate::Adi::delay_acks).
    pub delays_acks: bool,
    /// Receives whose CTS is pending.
    pub pending_cts: List<Slot>,
    /// Posted receives from one source that the next restart must list.
    pub exact_to_list: List<Slot>,
    /// Posted receives from any source that every restart lists, since some source was waiting when they were posted.
    pub wildcards: List<Slot>,
    /// Receives started so far: the sequence number of the next one.
    pub posts: SequenceNumber,
    /// Cancelled receives that are still posted.
    pub cancelled: CancelledReceives,
    pub probes: ArmedProbes,
    /// The receive by which a matched probe fetches a rejected message.
    pub fetching: Option<RequestId>,
    pub self_recv_cache: CachedSelfRecv,
    /// Messages whose eager data is arriving.
    pub eager: heapless::Vec<EagerReceive, EAGER_SOURCES>,
    /// Delayed acknowledgements.
    pub delayed_acks: heapless::Vec<DelayedAck, MAX_DELAYED_ACKS>,
}

impl Receiver {
    #[inline]
    pub fn new() -> Receiver {
        Receiver {
            eager: heapless::Vec::new(),
            delayed_acks: heapless::Vec::new(),
            delays_acks: false,
            pending_cts: List::default(),
            exact_to_list: List::default(),
            wildcards: List::default(),
            posts: 0,
            cancelled: CancelledReceives::default(),
            probes: ArmedProbes::default(),
            fetching: None,
            self_recv_cache: CachedSelfRecv::EMPTY,
        }
    }
}
