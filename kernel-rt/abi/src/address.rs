//! Ranges of addresses, and the unit of memory.

/// Unit of memory allocation, in bytes.
pub const PAGE: u64 = 4096;

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AddressRange {
    /// The first address.
    pub start: u64,
    /// The address after the last.
    pub end: u64,
}

impl AddressRange {
    /// Returns its size in bytes.
    pub const fn len(&self) -> u64 {
        self.end - self.start
    }
    /// Returns whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }
    /// Returns whether it contains `address`.
    pub const fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}
