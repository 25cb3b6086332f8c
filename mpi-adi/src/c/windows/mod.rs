//! Chapter 11: one-sided communication, with what belongs to windows in chapters 6 and 8.
//!
//! ```text
//! make                         windows are made and freed        attributes   names, hints, attributes, error handlers
//! operations  accumulates      put and get; what combines
//! epochs                       fence; post, start, complete, wait; lock, unlock, flush; and without blocking
//! deferred   requests          operations that are recorded; requests of windows
//! transport                    packets to a target, answers of it        objects   handles, and what a window is
//! ```
//! An import points downwards in this list.
//!
//! What travels and why no target needs memory for it: [`crate::device::rma`]. `docs/rma.md` says what a program can
//! rely on.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod accumulates;
mod attributes;
mod deferred;
mod epochs;
mod make;
mod objects;
mod operations;
mod requests;
mod transport;

pub use accumulates::*;
pub use attributes::*;
pub use epochs::*;
pub use make::*;
pub use operations::*;
