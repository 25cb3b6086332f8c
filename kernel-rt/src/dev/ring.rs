//! A torus link in memory that two nodes share: [`RingLink`].
//!
//! ```text
//! link       the link: slots, indices, the sleep flags (portable)
//! sync       atomics and cells for the link
//! explore    the same link over loom's atomics: every interleaving of small cases (tests)
//! ```
//! `docs/links.md` explains why no wake is lost.

pub mod link;

pub use link::{Doorbell, RingLink, RingPair, SleepFlag, prepare_all};

/// Slots of one direction, the maximum number of outstanding frames. A power of two, so that the indices may wrap.
pub const SLOTS: usize = 16;
/// Maximum frame size in bytes: at least seven packets of the maximum size.
pub const FRAME_BYTES: usize = 2048 - 16;

const _: () = assert!(SLOTS.is_power_of_two());
const _: () = assert!(FRAME_BYTES >= net_torus::wire::MIN_MTU);

/// The processor's own atomics. The exploration uses another module of this name.
mod sync {
    pub use core::sync::atomic::{AtomicU32, Ordering, fence};

    /// A cell whose reads and writes an exploration can distinguish.
    #[repr(transparent)]
    pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Creates a cell that contains `value`.
        pub const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        /// Reads by a pointer that is valid until `f` returns.
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Writes by a pointer that is valid until `f` returns.
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(test)]
mod explore;
#[cfg(test)]
mod tests;
