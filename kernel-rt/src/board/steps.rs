//! How the node goes on, compiled by the crate that an image is made of.
//!
//! The kernel is optimised for size, as most of it runs once or never; what runs with each message is not
//! (`.cargo/config.toml`). A generic function is compiled by the crate in which it meets its types, an inlined one by
//! each that calls it, and both would be this crate. So it only declares the node's steps; [`steps!`](crate::steps)
//! defines them, in the crate that is linked into the image, and its profile holds for all they are made of.

use mpi_adi::Work;
use mpi_adi::at_once::{Received, Sent};
use mpi_adi::envelope::{Context, Pattern};
use mpi_adi::memory::Span;
use mpi_adi::request::{RequestId, Whole};
use mpi_adi::send::SendTo;

// SAFETY: the signatures are those in `steps!`, which alone defines these names.
unsafe extern "Rust" {
    /// [`running::with`](crate::running::with).
    #[link_name = "midplane_with"]
    pub safe fn with(work: &mut Work<'_>);
    /// [`running::send_at_once`](crate::running::send_at_once).
    #[link_name = "midplane_send_at_once"]
    pub safe fn send_at_once(to: &SendTo, span: Span) -> Sent;
    /// [`running::receive_at_once`](crate::running::receive_at_once).
    #[link_name = "midplane_receive_at_once"]
    pub safe fn receive_at_once(pattern: &Pattern, span: Span) -> Received;
    /// [`running::start_receive_at_once`](crate::running::start_receive_at_once).
    #[link_name = "midplane_start_receive_at_once"]
    pub safe fn start_receive_at_once(pattern: &Pattern, span: Span) -> Option<RequestId>;
    /// [`running::conclude_at_once`](crate::running::conclude_at_once).
    #[link_name = "midplane_conclude_at_once"]
    pub safe fn conclude_at_once(id: RequestId, context: Context) -> Option<Whole>;
    /// [`running::heap_freed`](crate::running::heap_freed).
    #[link_name = "midplane_heap_freed"]
    pub safe fn heap_freed();
    /// [`running::publish`](crate::running::publish).
    #[link_name = "midplane_publish"]
    pub safe fn publish();
    /// [`running::forward`](crate::running::forward).
    #[link_name = "midplane_forward"]
    pub safe fn forward() -> !;
}
