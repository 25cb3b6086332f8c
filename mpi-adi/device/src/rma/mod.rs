//! One-sided communication, RMA (MPI-3.1 chapter 11), below the calls: windows, and the packets between them.
//!
//! The origin drives everything. An operation travels in packets of one handler, each of which specifies the action and
//! the location, byte by byte or element by element: the origin walks both datatypes, and the target requires none. The
//! packets of a pair are normal packets in order, so that
//!
//! * a put or an accumulate is complete when its packet has been handled, in a call or an interrupt handler, and
//!   requires no memory at the target and no reply;
//! * accumulates of a pair are applied in the order of their calls, each element atomically, since packets are handled
//!   one after the other;
//! * the end of an epoch counts no operations: a FLUSH or an UNLOCK follows them, and its reply confirms that they are
//!   done; a COMPLETE requires no reply.
//!
//! Epochs are opened, closed and flushed without blocking ([`epochs`]); operations that cannot be sent yet are recorded
//! and sent later ([`deferred_ops`]). Blocking calls do the same, and wait.
//!
//! ```text
//!   origin                                   target
//!   ring: packets to transmit, the last of them held for more pieces of its kind (`pieces`)
//!                                 ---------> handled on arrival: memory, locks, counters
//!   slots: outstanding replies      <------- 16 bytes of reply: a short fetch or get, a flush
//!          `- requested again     <--------- rejected: no slot is free
//!                                 <--------- results of longer fetches; cursors: data of longer gets, round robin
//! ```
//!
//! # Layers
//! Each file uses only files above it:
//!
//! ```text
//!   wire, rules, peers                                    packets, checked rules, flags of processes
//!   epochs, deferred_ops                                  records of epochs and operations
//!   exposure, lock, fence_tree, outgoing,
//!   origin_requests, target_replies                       parts of a window and of a process
//!   window, one_sided                                     a window, and all state of a process
//!   observe                                               the same as plain data, for models
//!   replies, target, origin, pieces                       handlers of packets, and requests
//!   epoch_steps, replay, progress                         actions of epochs and deferred operations
//!   calls, extension                                      called by the layers above, and by the device
//! ```
//!
//! # Memory
//! The memory that peers can make a process use is fixed, and allocated with its first window: [`CURSORS`] gets in
//! progress, and [`RESULTS`] results of fetches longer than a reply. A window contains a [`WindowPeer`] for each process of
//! the job, because the interrupt handler for a process's first packet could not allocate one. A get or a fetch that
//! finds no free slot is rejected without any change, and its origin requests it again. A lock that cannot be granted
//! is a flag. Grants are in round robin by rank, so each waiting process is granted the lock after at most one grant to
//! each other process, and never requests it twice.
//!
//! # Integration
//! RMA is an extension (`device/extensions.rs`) of the device, linked with the first window: a program without windows
//! contains none of it.
#![forbid(unsafe_code)]

pub mod calls;
pub mod deferred_ops;
mod epoch_steps;
pub mod epochs;
mod exposure;
mod extension;
mod fence_tree;
mod lock;
#[doc(hidden)]
pub mod observe;
mod one_sided;
mod origin;
mod origin_requests;
mod outgoing;
mod peers;
mod pieces;
mod progress;
mod replay;
mod replies;
pub mod rules;
mod target;
mod target_replies;
#[cfg(test)]
mod tests;
mod waits;
mod window;
pub mod wire;

pub use exposure::AttachError;
pub use one_sided::{CombineElements, ONE_SIDED_BYTES, OneSided, WalkSpan};
pub use origin_requests::{ReplyPurpose, SLOTS, TargetRequest};
pub use outgoing::RING_PACKETS;
pub use peers::WindowPeer;
pub use pieces::DataPieces;
pub use target_replies::{CURSORS, RESULTS};
pub use window::{Window, window_bytes};
pub use wire::{MAX_GET_BYTES, get_request};
