//! Words of 64 bits that are written rarely, and never read by others during a write.

use core::sync::atomic::Ordering;

/// A 64-bit word in native byte order. On a processor without 64-bit stores it is written in two pieces: an atomic
/// emulation would require locks, and a kilobyte or two of memory.
#[derive(Debug, Default)]
#[repr(C, align(8))]
pub struct SharedWord(WordPieces);

#[cfg(target_has_atomic = "64")]
type WordPieces = core::sync::atomic::AtomicU64;
/// The lower half first.
#[cfg(not(target_has_atomic = "64"))]
type WordPieces = [core::sync::atomic::AtomicU32; 2];

impl SharedWord {
    /// Creates a word.
    pub const fn new(value: u64) -> SharedWord {
        #[cfg(target_has_atomic = "64")]
        return SharedWord(WordPieces::new(value));
        #[cfg(not(target_has_atomic = "64"))]
        {
            use core::sync::atomic::AtomicU32;
            SharedWord([AtomicU32::new(value as u32), AtomicU32::new((value >> 32) as u32)])
        }
    }

    /// Returns its value.
    #[inline]
    pub fn load(&self) -> u64 {
        #[cfg(target_has_atomic = "64")]
        return self.0.load(Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "64"))]
        {
            let [low, high] = { self.0.each_ref() }.map(|half| half.load(Ordering::Relaxed));
            u64::from(high) << 32 | u64::from(low)
        }
    }

    /// Changes its value.
    #[inline]
    pub fn store(&self, value: u64) {
        #[cfg(target_has_atomic = "64")]
        self.0.store(value, Ordering::Relaxed);
        #[cfg(not(target_has_atomic = "64"))]
        {
            self.0[0].store(value as u32, Ordering::Relaxed);
            self.0[1].store((value >> 32) as u32, Ordering::Relaxed);
        }
    }
}
