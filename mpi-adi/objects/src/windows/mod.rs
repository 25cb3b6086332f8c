//! One-sided communication (MPI-3.1 chapter 11) above the device, for all bindings: epochs of a window, and the path of
//! an operation to its target.
//!
//! ```text
//! creation     creation of a window at the device
//! operations   put, get, accumulate
//! deferred     recorded operations
//! epochs       opening and closing of epochs, epoch of an operation
//! transport    packets to a target and its replies
//! state        state of a window                 hints   info hints of a window
//! ```
//! Imports point downwards in this list.
//!
//! [`midplane_device::rma`] describes the packets, and why no target needs memory for them; `docs/rma.md` describes the
//! guarantees for programs. A binding provides a [`StateOwner`] for the state of its windows, and its buffers and datatypes.
#![forbid(unsafe_code)]

mod creation;
mod deferred;
mod epochs;
pub mod hints;
mod operations;
mod state;
mod transport;

pub use creation::{WindowPart, agree, enter_device, leave_device, make_room};
pub use deferred::OriginSpans;
pub use epochs::AccessPath;
pub use operations::{TargetBase, TargetElements, TargetRegion, fits, made_of, same};
pub use state::{AccessState, BufferHold, StateOwner, Window, WindowState, no_window, out_of_order, wrong};
pub use transport::{BEYOND, WindowCondition};
