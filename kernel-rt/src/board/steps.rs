//! How the node goes on, compiled by the crate that an image is made of.
//!
//! The kernel is optimised for size, as most of it runs once or never; what runs with each message is not
//! (`.cargo/config.toml`). A generic function is compiled by the crate in which it meets its types, an inlined one by
//! each that calls it, and both would be this crate. So it only declares the node's steps; [`steps!`](crate::steps)
//! defines them, in the crate that is linked into the image, and its profile holds for all they are made of.

use mpi_adi::Work;
#[cfg(not(target_arch = "arm"))]
pub use short::*;

// SAFETY: the signatures are those in `steps!`, which alone defines these names.
unsafe extern "Rust" {
    /// [`running::with`](crate::running::with).
    #[link_name = "midplane_with"]
    pub safe fn with(work: &mut Work<'_>);
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

#[cfg(not(target_arch = "arm"))]
mod short {
    use mpi_adi::at_once::{Incoming, Outgoing, Received, Sent};
    use mpi_adi::request::{RequestId, Whole};

    // SAFETY: as above.
    unsafe extern "Rust" {
        /// [`running::short_send`](crate::running::short_send).
        #[link_name = "midplane_short_send"]
        pub safe fn short_send(outgoing: &Outgoing) -> Sent;
        /// [`running::short_receive`](crate::running::short_receive).
        #[link_name = "midplane_short_receive"]
        pub safe fn short_receive(function: &'static str, incoming: &Incoming) -> Received;
        /// [`running::short_start_receive`](crate::running::short_start_receive).
        #[link_name = "midplane_short_start_receive"]
        pub safe fn short_start_receive(incoming: &Incoming) -> Option<RequestId>;
        /// [`running::short_wait`](crate::running::short_wait).
        #[link_name = "midplane_short_wait"]
        pub safe fn short_wait(function: &'static str, id: RequestId) -> Option<Whole>;
    }
}
