//! A torus link in memory that two nodes share: [`RingLink`].
//!
//! ```text
//! link       the link: slots, indices, the words that say who sleeps (portable)
//! sync       atomics and cells, as the link uses them
//! explore    the same link over loom's atomics: every interleaving of small cases (tests)
//! ```
//! Why no wake is ever lost: `docs/links.md`.

pub mod link;

pub use link::{Asleep, Bell, RingLink, RingPair, prepare_all};

/// Slots of one direction: frames that may be under way. A power of two, so that the indices may wrap.
pub const SLOTS: usize = 16;
/// Greatest frame in bytes: seven of the greatest packets and more.
pub const FRAME_BYTES: usize = 2048 - 16;

const _: () = assert!(SLOTS.is_power_of_two());
const _: () = assert!(FRAME_BYTES >= net_torus::wire::MIN_MTU);

/// The processor's own atomics. The exploration has another module of this name.
mod sync {
    pub use core::sync::atomic::{AtomicU32, Ordering, fence};

    /// A cell whose accesses can be told apart by an exploration.
    #[repr(transparent)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A cell with `value` in it.
        pub const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// A read, by a pointer that is good until `f` returns.
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// A write, by a pointer that is good until `f` returns.
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(test)]
mod explore;
#[cfg(test)]
mod tests;
