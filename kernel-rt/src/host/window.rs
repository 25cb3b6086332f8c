//! A node's memory as the tool sees it.
#![forbid(unsafe_code)]

/// The node's memory, from outside, while the node runs. Places are offsets in bytes from where the node's memory
/// begins. Every call is bounded and none blocks; `None` and `false`: the memory has no such place.
pub trait Window {
    /// The aligned little-endian word at `at`, read in one piece; what the node wrote before it wrote the word can
    /// be read afterwards.
    fn load(&self, at: u64) -> Option<u32>;

    /// Writes an aligned word in one piece; a node that reads it can read what was written before.
    fn store(&self, at: u64, word: u32) -> bool;

    /// Fills `out` with the bytes from `at` on.
    fn read(&self, at: u64, out: &mut [u8]) -> Option<()>;

    /// Puts `bytes` at `at`.
    fn write(&self, at: u64, bytes: &[u8]) -> bool;
}
