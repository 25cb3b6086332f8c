//! The matching engines of the papers, beside the standard ones of the device, and the choice of an engine by name.
//!
//! The device contains the trait [`Matching`](midplane_device::matching::Matching) and the standard engine of each build
//! profile. `--matching` selects any of them ([`EngineChoice`]), and the lab compares them.
//!
//! ```text
//! choice    names of all engines, and their kinds
//! array     a list per rank           fourd     four dimensions of ranks      ranked   both: queues per rank
//! pnp       partners, not partners    col       by collective operation       unified  both of them
//! split     engines of several queues           queues   one of those queues         arrivals  order among queues
//! ```
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod array;
mod arrivals;
mod choice;
mod col;
#[cfg(test)]
mod fixture;
pub mod fourd;
mod pnp;
mod queues;
pub mod ranked;
mod split;
mod unified;

pub use array::PerRank;
pub use choice::{EngineChoice, WithEngine};
pub use col::ColEngine;
pub use fourd::FourD;
pub use pnp::PnpEngine;
pub use unified::UnifiedEngine;
