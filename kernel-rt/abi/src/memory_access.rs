//! A node's memory as the tool accesses it.

/// External access to the node's memory, while the node runs. Addresses are offsets in bytes from the start of the
/// node's memory. Every call is bounded and none blocks; `None` and `false` report an address outside the memory.
pub trait MemoryAccess {
    /// Reads the aligned little-endian word at `at` atomically, with acquire semantics: later reads see all that the
    /// node wrote before the word.
    fn load(&self, at: u64) -> Option<u32>;

    /// Writes an aligned word atomically, with release semantics: a node that reads it sees all earlier writes.
    fn store(&self, at: u64, word: u32) -> bool;

    /// Fills `out` with the bytes at `at`.
    fn read(&self, at: u64, out: &mut [u8]) -> Option<()>;

    /// Writes `bytes` at `at`.
    fn write(&self, at: u64, bytes: &[u8]) -> bool;
}

#[cfg(test)]
pub(super) mod tests {
    use super::MemoryAccess;
    use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

    /// A node's memory that only contains one structure, at offset 0.
    pub(crate) trait SingleStructure {
        /// Returns the word at `at`.
        fn word(&self, at: u64) -> Option<&AtomicU32>;

        /// Returns the `count` bytes at `at`.
        fn bytes(&self, at: u64, count: usize) -> Option<&[AtomicU8]>;
    }

    impl<T: SingleStructure> MemoryAccess for T {
        fn load(&self, at: u64) -> Option<u32> {
            self.word(at).map(|word| word.load(Ordering::Acquire))
        }

        fn store(&self, at: u64, value: u32) -> bool {
            let word = self.word(at);
            word.map(|word| word.store(value, Ordering::Release)).is_some()
        }

        fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
            let bytes = self.bytes(at, out.len())?;
            for (to, byte) in out.iter_mut().zip(bytes) {
                *to = byte.load(Ordering::Relaxed);
            }
            Some(())
        }

        fn write(&self, at: u64, bytes: &[u8]) -> bool {
            let places = self.bytes(at, bytes.len());
            for (place, byte) in places.unwrap_or_default().iter().zip(bytes) {
                place.store(*byte, Ordering::Relaxed);
            }
            places.is_some()
        }
    }
}
