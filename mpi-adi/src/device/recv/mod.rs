//! The receiving side.
//!
//! ```text
//!   post      the program receives and probes                         restart   refused sources are asked again
//!   cancel    the program takes receives back
//!   arrive    offers come: matched, recorded or refused; the answer   data      data comes
//!   matched   matched probes                  probe, eager, deferred      what these work on
//! ```
#![forbid(unsafe_code)]

mod arrive;
pub(super) mod cancel;
mod data;
pub(super) mod deferred;
pub(super) mod eager;
mod matched;
mod post;
pub mod probe;
mod restart;

pub use probe::Probed;
