//! Ranges of addresses, and the unit of memory.

/// Unit in which memory is divided, in bytes.
pub const PAGE: u64 = 4096;

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bytes {
    /// The first address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
}

impl Bytes {
    /// Its size in bytes.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }
    /// Whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }
    /// Whether `address` lies in it.
    pub const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}
