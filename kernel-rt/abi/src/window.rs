//! A node's memory as the tool sees it.

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

#[cfg(test)]
pub(super) mod tests {
    use super::Window;
    use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

    /// A node's memory with nothing in it but one structure, which begins at 0.
    pub(crate) trait Alone {
        /// The word at `at`.
        fn word(&self, at: u64) -> Option<&AtomicU32>;

        /// The `count` bytes from `at` on.
        fn bytes(&self, at: u64, count: usize) -> Option<&[AtomicU8]>;
    }

    impl<T: Alone> Window for T {
        fn load(&self, at: u64) -> Option<u32> {
            self.word(at).map(|word| word.load(Ordering::Acquire))
        }

        fn store(&self, at: u64, value: u32) -> bool {
            let word = self.word(at);
            word.map(|word| word.store(value, Ordering::Release))
                .is_some()
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
