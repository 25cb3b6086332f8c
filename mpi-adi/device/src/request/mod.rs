//! Requests: the program's active operations, in a pool that grows in the program's heap.
//!
//! A request ID consists of index and generation, so a stale ID (from the program or from the wire) is rejected instead
//! of reaching another request. The pool grows only in calls of the program ([`RequestPool::grow`]). Progress, which
//! may run from an interrupt handler, only uses and frees existing slots.
#![forbid(unsafe_code)]

mod any;
mod chunks;
mod hash_table;
mod outcome;
mod pool;
mod receive;
mod send;
mod slot;
mod table;

pub use crate::ids::{MAX_SLOTS, RequestId};
pub use any::{PoolFull, Request};
pub(crate) use any::{KEYED, RTS_QUEUED, QUEUE, NEEDS_LISTING};
pub(crate) use chunks::ChunkList;
pub(crate) use hash_table::FoundReceive;
pub use outcome::{CompletedRequest, RequestOutcome, PlainCompletion};
pub use pool::{CHUNK_SLOTS, RESERVED_SLOTS, RequestPool};
pub use receive::{RecvData, MatchedMessage, PostedReceive, ReceiveRequest, ReceiveState};
pub(crate) use send::BcopyBytes;
pub use send::{RequestedFlags, SendData, SendMode, PendingSend, SendRequest, SendState, CancelState};
pub(crate) use send::{CANCELLED, EAGER, IN_ORDER, ACK_DEFERRABLE};
pub(crate) use slot::SlotEntry;
pub(crate) use table::{BucketRange, KINDS, KeyHash, NEIGHBOURS, kind, pattern_of};
