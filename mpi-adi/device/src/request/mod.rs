//! Requests: the program's active operations, in a pool that grows in the program's heap.
//!
//! A request ID consists of index and generation, so a stale ID (from the program or from the wire) is rejected instead
//! of reaching another request. The pool grows only in calls of the program ([`RequestPool::grow`]). Progress, which
//! may run from an interrupt handler, only uses and frees existing slots.
#![forbid(unsafe_code)]

mod any;
mod chunks;
mod keyed;
mod outcome;
mod pool;
mod receive;
mod send;
mod slot;
mod table;

pub use crate::names::{MAX_SLOTS, RequestId};
pub use any::{Full, Request};
pub(crate) use any::{KEYED, OFFERS, QUEUE, TO_NAME};
pub(crate) use chunks::Chunks;
pub(crate) use keyed::Found;
pub use outcome::{Concluded, Outcome, Whole};
pub use pool::{CHUNK_SLOTS, KEPT_SLOTS, RequestPool};
pub use receive::{Coming, Matched, Posted, Receive, ReceiveState};
pub(crate) use send::Copies;
pub use send::{Asked, Data, Mode, PendingSend, Send, SendState, Withdrawal};
pub(crate) use send::{CANCELLED, EAGER, IN_ORDER, PATIENT};
pub(crate) use slot::SlotEntry;
pub(crate) use table::{Buckets, KINDS, KeyHash, NEIGHBOURS, kind, pattern_of};
