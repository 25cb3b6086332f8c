//! Requests: the program's own calls under way, in a pool that grows out of the program's heap.
//!
//! A request is named by index and generation, so that a stale name (from the program or from the wire) is
//! refused instead of reaching another request. The pool grows only when the program makes a call
//! ([`RequestPool::grow`]); progress, which may run from an interrupt, only uses and frees what is there.
#![forbid(unsafe_code)]

mod chunks;
mod keyed;
mod outcome;
mod pool;
mod receive;
mod send;
mod slot;

pub use crate::device::names::{MAX_SLOTS, RequestId};
pub(crate) use chunks::Chunks;
pub(crate) use keyed::{Buckets, Found, KINDS, KeyHash, NEIGHBOURS, kind, pattern_of};
pub use outcome::{Concluded, Outcome, Whole};
pub use pool::{CHUNK_SLOTS, Full, KEPT_SLOTS, Request, RequestPool};
pub(crate) use pool::{KEYED, OFFERS, QUEUE, TO_NAME};
pub use receive::{Coming, Matched, Posted, Receive, ReceiveState};
pub(crate) use send::Copies;
pub use send::{Asked, Data, Mode, PendingSend, Send, SendState, Withdrawal};
