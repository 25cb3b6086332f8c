//! Lazily installed callbacks. A feature of MPI installs one at its first use, for code that every program runs. So the
//! image of a program that does not use the feature does not contain its code.

use spin::Once;

/// A function, once it is installed.
pub(super) struct LazyCallback<F>(Once<F>);

impl<F: Copy> LazyCallback<F> {
    /// Creates an empty callback.
    pub const fn new() -> LazyCallback<F> {
        LazyCallback(Once::new())
    }

    /// Installs the function, if it is the first.
    pub fn set(&self, function: F) {
        self.0.call_once(|| function);
    }

    pub fn get(&self) -> Option<F> {
        self.0.get().copied()
    }
}
