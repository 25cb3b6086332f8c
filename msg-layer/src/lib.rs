//! Active messages over torus packets: the layer between the torus and the MPI device.
//!
//! ```text
//!   mpi-adi      isend                                   on_rts, on_data          on_cts, on_ncts ..
//!                  |                                          ^  | Option<Answer>      ^
//!   msg-layer    tx::short, tx::Transfer::push          request handlers           answer handlers
//!                  |                                          ^  |                     ^
//!                  |  Normal                                  |  | Priority            | Priority
//!   net-torus    injection FIFO -> router -> link ->  reception FIFO            reception FIFO
//! ```
//!
//! A message names a *handler*; when one of its packets arrives, the handler registered under that number
//! is called with it (active messages, paper 004 section 2). A message is either *short* (one packet, at
//! most [`header::SHORT_BYTES`] bytes) or *long* (any length below 4 GiB): then every packet carries a
//! *target* that the receiver chose and the offset of its bytes, so that packets can arrive in any order
//! and reassembly ([`rx::Landing`]) needs no memory but the place where the bytes belong and a counter.
//!
//! # Why nothing here can deadlock
//! Requests and data travel as [`port::Class::Normal`] packets, answers as [`port::Class::Priority`] ones,
//! and the network never lets one wait for the other. An answer handler cannot answer (its type has no
//! way to say one), so priority packets can always be taken, everywhere. A request handler answers with at
//! most one packet, and [`progress::progress`] hands it a request only while the priority injection FIFO has room:
//! that room is the *emergency packet* of paper 004 (section 4), always there because priority packets
//! always drain.
//!
//! # Memory
//! The layer has none of its own: the handler table is the caller's, and packets stay in the network's
//! FIFOs until their handler has run. (`fake`, the network that tests put below the layer, allocates.)
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

#[doc(hidden)]
pub mod fake;
pub mod handler;
pub mod header;
pub mod port;
pub mod progress;
pub mod rx;
pub mod tx;

pub use handler::{Answer, Arrival, Handlers, Malformed, Taken};
pub use port::{Class, Port};
pub use progress::{Context, Stats, progress};
pub use rx::{Landing, LandingError};
pub use tx::Transfer;
