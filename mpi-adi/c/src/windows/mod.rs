//! Chapter 11: one-sided communication, with what belongs to windows in chapters 6 and 8.
//!
//! ```text
//! make                         windows are made and freed        attributes   names, hints, attributes, error handlers
//! operations  accumulates      put and get; what combines
//! epochs                       fence; post, start, complete, wait; lock, unlock, flush; and without blocking
//! requests                     requests of windows        objects   handles, and what a window is
//! ```
//! An import points downwards in this list.
//!
//! What goes on in a window is the same for all bindings: `mpi/windows`. What travels and why no target needs memory
//! for it: [`midplane_device::rma`]. `docs/rma.md` says what a program can rely on.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod accumulates;
mod attributes;
mod epochs;
mod make;
mod objects;
mod operations;
mod requests;

pub use accumulates::*;
pub use attributes::*;
pub use epochs::*;
pub use make::*;
pub use operations::*;
