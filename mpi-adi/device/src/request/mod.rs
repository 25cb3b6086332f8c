//! Requests: the program's own calls under way, in a pool that grows out of the program's heap.
//!
//! A request is named by index and generation, so that a stale name (from the program or from the wire) is
//! refused instead of reaching another request. The pool grows only when the program makes a call
//! ([`RequestPool::grow`]); progress, which may run from an interrupt, only uses and frees what is there.
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
