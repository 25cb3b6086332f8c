//! What is looked for, and what can come of it.

/// The least version of the emulator that this is tested with.
pub const QEMU_LEAST: (u32, u32) = (7, 2);

/// What came of looking for something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look<T> {
    /// It is there and usable.
    There(T),
    /// It is not there, or too old.
    Missing,
    /// It is there and does not work; installing would not help. What it said.
    Broken(String),
}

impl<T> Look<T> {
    /// What is there and usable.
    pub(crate) fn there(&self) -> Option<&T> {
        match self {
            Self::There(found) => Some(found),
            _ => None,
        }
    }
}
