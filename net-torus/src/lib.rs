//! 3-D torus network: inject -> router -> link -> router -> deliver.
//!
//! A torus (or mesh, per dimension) of nodes with six links each, after Blue Gene/L: packets of 32 to 256 bytes, four
//! virtual channels per link, tokens (credits), the bubble rule. Each injected packet is delivered exactly once; none
//! is dropped, and back-pressure reaches the injector. Microcontrollers use a separate build [profile] with smaller
//! sizes.
//!
//! ```text
//!  send:  inject.rs -> router.rs -> wire.rs -> torus.rs -> link.rs
//!  recv:  deliver.rs <- router.rs <- wire.rs <- torus.rs <- link.rs
//! ```
//!
//! discover.rs and wiring.rs determine the coordinates of nodes that do not know them.
//!
//! The crate is sans-io: no I/O, no clock, no allocation, no unsafe code. The caller provides the packet memory:
//!
//! ```
//! use net_torus::{Coord, Fifo, Router, Shape, BufferSizes};
//!
//! const SIZES: BufferSizes = BufferSizes::BLUE_GENE;
//! const _: () = assert!(SIZES.bytes() <= 48 * 1024);
//! let mut memory = [[0; 32]; SIZES.chunks()];
//! let shape = Shape::new([1, 1, 1], [true; 3]).unwrap();
//! let here = Coord::default();
//! let mut router = Router::new(shape, here, SIZES, &mut memory).unwrap();
//! router.inject(Fifo::Normal, here, 5, |body| body.copy_from_slice(b"hello")).unwrap();
//! assert_eq!(router.head(Fifo::Normal), Some(&b"hello"[..]));
//! router.pop(Fifo::Normal);
//! assert_eq!(router.head(Fifo::Normal), None);
//! ```
#![cfg_attr(not(any(test, feature = "sim")), no_std)]
#![forbid(unsafe_code)]

mod checksum;
pub mod chunk;
pub mod coord;
mod deliver;
pub mod detour;
mod direct_inject;
pub mod discover;
pub mod fields;
pub mod inject;
pub mod link;
mod open_frames;
pub mod profile;
mod queue;
pub mod reliable;
pub mod route;
pub mod router;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
pub mod stats;
pub mod torus;
pub mod vc;
pub mod wire;
pub mod wiring;

pub use chunk::Chunk;
pub use coord::{Coord, Direction, Rank, Shape};
pub use inject::{InjectError, RoutingMode};
pub use link::Link;
pub use reliable::ReliableLink;
pub use router::{BufferSizes, ConfigError, Router};
pub use stats::Stats;
pub use torus::Torus;
pub use vc::Vc;
pub use wire::{BODY_BYTES, Fifo, FrameError};
