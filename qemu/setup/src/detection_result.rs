//! Result of a tool's detection.

/// Minimum version of the emulator that is tested.
pub const MIN_QEMU_VERSION: (u32, u32) = (7, 2);

/// Result of a tool's detection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolDetection<T> {
    /// Usable.
    Usable(T),
    /// Missing or too old.
    Missing,
    /// Present but not working; an installation would not help. Contains its message.
    Broken(String),
}

impl<T> ToolDetection<T> {
    /// Returns the usable tool.
    pub(crate) fn usable(&self) -> Option<&T> {
        match self {
            Self::Usable(found) => Some(found),
            _ => None,
        }
    }
}
