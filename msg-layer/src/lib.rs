//! Active messages over torus packets: the layer between the torus and the MPI device.
//!
//! ```text
//!   mpi-adi      isend                                   on_rts, on_data          on_cts, on_ncts ..
//!                  |                                          ^  | Option<ReplyPacket> ^
//!   msg-layer    tx::send_short, MessageTransfer::push   request handlers           reply handlers
//!                  |                                          ^  |                     ^
//!                  |  Normal                                  |  | Priority            | Priority
//!   net-torus    injection FIFO -> router -> link ->  reception FIFO            reception FIFO
//! ```
//!
//! A message specifies a *handler*. On arrival of each packet, the layer calls the handler registered with that ID
//! (active messages, paper 004 section 2). A *short* message is one packet of at most [`header::SHORT_BYTES`] bytes. A
//! *long* message has any length below 4 GiB. Each of its packets contains a *target* chosen by the receiver and the
//! offset of its bytes, so packets can arrive in any order. Reassembly ([`rx::Reassembly`]) requires only the destination
//! buffer and a counter.
//!
//! # Deadlock freedom
//! Requests and data use [`port::TrafficClass::Normal`] packets, replies use [`port::TrafficClass::Priority`] packets, and the
//! network never makes one wait for the other. A reply handler cannot send a reply (its type does not allow it), so
//! priority packets can always be consumed, everywhere. A request handler replies with at most one packet.
//! [`progress::progress`] passes it a request only while the priority injection FIFO has space for one. That space is
//! the *emergency packet* of paper 004 (section 4). It always becomes available, because priority packets always drain.
//!
//! # Memory
//! The layer allocates none: the caller provides the handler table, and packets stay in the network's FIFOs until their
//! handler has run. (`fake`, the network of the tests, allocates.)
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[doc(hidden)]
pub mod fake;
pub mod fields;
pub mod handler;
pub mod header;
pub mod port;
pub mod progress;
pub mod rx;
pub mod tx;

pub use handler::{HandlerResult, HandlerTable, MalformedPacket, ReceivedPacket, ReplyPacket};
pub use port::{Port, TrafficClass};
pub use progress::{LayerContext, LayerStats, progress};
pub use rx::{Reassembly, ReassemblyError};
pub use tx::MessageTransfer;
