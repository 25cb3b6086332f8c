//! What a part of MPI leaves behind when it is used first, for what every program runs to find: a program that does not use
//! the part has nothing of it in its image.

use spin::Once;

/// A function, once it has been left.
pub(super) struct Hook<F>(Once<F>);

impl<F: Copy> Hook<F> {
    /// Nothing has been left.
    pub const fn new() -> Hook<F> {
        Hook(Once::new())
    }

    /// Leaves this one, if it is the first.
    pub fn set(&self, function: F) {
        self.0.call_once(|| function);
    }

    pub fn get(&self) -> Option<F> {
        self.0.get().copied()
    }
}
