//! One-sided communication (chapter 11), with the functions on windows of chapters 6 and 8.
//!
//! ```text
//! creation                     creation and freeing             attributes   names, hints, attributes, error handlers
//! counter                      a shared number and a lock, for files
//! operations  accumulates      put and get; accumulate
//! epochs                       fence; post, start, complete, wait; lock, unlock, flush; and their nonblocking forms
//! requests                     requests of windows        objects   handles and state of windows
//! ```
//! Imports point downwards in this list.
//!
//! The implementation shared by all bindings is in `mpi/windows`. [`midplane_device::rma`] describes the packets, and why
//! no target needs memory for them; `docs/rma.md` describes the guarantees for programs.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod accumulates;
mod attributes;
mod counter;
mod creation;
mod epochs;
mod objects;
mod operations;
mod requests;
mod shared;

pub use accumulates::*;
pub use attributes::*;
pub(super) use counter::SharedCounter;
pub use creation::*;
pub use epochs::*;
pub use operations::*;
