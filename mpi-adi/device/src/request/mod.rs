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
pub(crate) use any::{KEYED, NEEDS_LISTING, QUEUE, RTS_QUEUED};
pub use any::{PoolFull, Request};
pub(crate) use chunks::ChunkList;
pub(crate) use hash_table::FoundReceive;
pub use outcome::{CompletedRequest, PlainCompletion, RequestOutcome};
pub use pool::{CHUNK_SLOTS, RESERVED_SLOTS, RequestPool};
pub use receive::{MatchedMessage, PostedReceive, ReceiveRequest, ReceiveState, RecvData};
pub(crate) use send::BcopyBytes;
pub(crate) use send::{ACK_DEFERRABLE, CANCELLED, EAGER, IN_ORDER};
pub use send::{CancelState, PendingSend, RequestedFlags, SendData, SendMode, SendRequest, SendState};
pub(crate) use slot::SlotEntry;
pub(crate) use table::{BucketRange, KINDS, KeyHash, NEIGHBOURS, kind, pattern_of};
