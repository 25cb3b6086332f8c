//! Declarations of the node's hot paths, compiled by the crate of the image.
//!
//! The kernel is optimised for size, as most of it runs once or never; code that runs with each message is not
//! (`.cargo/config.toml`). A generic function is compiled by the crate that instantiates it, an inlined one by each
//! caller, and both would be this crate. So this module only declares the node's steps. [`hot_path!`](crate::hot_path)
//! defines them in the crate that is linked into the image, and that crate's profile applies to all code they contain.

use midplane_objects::Env;

// SAFETY: the signatures are those in `hot_path!`, the only definition of these names.
unsafe extern "Rust" {
    /// Returns the node's device, for the language bindings.
    #[link_name = "midplane_env"]
    pub safe fn env() -> &'static (dyn Env + Sync);
    /// Calls [`running::heap_freed`](crate::running::heap_freed).
    #[link_name = "midplane_heap_freed"]
    pub safe fn heap_freed();
    /// Calls [`running::publish`](crate::running::publish).
    #[link_name = "midplane_publish"]
    pub safe fn publish();
    /// Calls [`running::forward`](crate::running::forward).
    #[link_name = "midplane_forward"]
    pub safe fn forward() -> !;
}
