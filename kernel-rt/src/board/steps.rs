//! How the node goes on, compiled by the crate that an image is made of.
//!
//! The kernel is optimised for size, as most of it runs once or never; what runs with each message is not
//! (`.cargo/config.toml`). A generic function is compiled by the crate in which it meets its types, an inlined one by
//! each that calls it, and both would be this crate. So it only declares the node's steps; [`steps!`](crate::steps)
//! defines them, in the crate that is linked into the image, and its profile holds for all they are made of.

use midplane_objects::Env;

// SAFETY: the signatures are those in `steps!`, which alone defines these names.
unsafe extern "Rust" {
    /// The node's device, for the bindings.
    #[link_name = "midplane_env"]
    pub safe fn env() -> &'static (dyn Env + Sync);
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
