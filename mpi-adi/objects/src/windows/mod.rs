//! One-sided communication (MPI-3.1 chapter 11) above the device, for all bindings: what is open in a window, and how
//! an operation gets to its target.
//!
//! ```text
//! make         a window at the device, and what its processes have in common
//! operations   put, get, and what combines
//! deferred     operations that are recorded
//! epochs       what is open, what an operation belongs to, opening and closing
//! transport    packets to a target, answers of it
//! state        what a window is to a call        hints   what an info object says to a window
//! ```
//! An import points downwards in this list.
//!
//! What travels and why no target needs memory for it: [`midplane_device::rma`]. `docs/rma.md` says what a program can
//! rely on. A binding has a [`Home`] for the state of its windows, and buffers and datatypes of its own.
#![forbid(unsafe_code)]

mod deferred;
mod epochs;
pub mod hints;
mod make;
mod operations;
mod state;
mod transport;

pub use deferred::Operands;
pub use epochs::Entry;
pub use make::{Part, agree, enter_device, leave_device, make_room};
pub use operations::{Elements, TargetBase, fits, made_of, same};
pub use state::{Access, Hold, Home, State, Window, no_window, out_of_order, wrong};
pub use transport::{BEYOND, WindowCondition};
