//! What stands where: address space.

/// From address 0 on: the debug area and the boot ROM, which a null pointer must not reach.
pub const NULL_BYTES: u64 = 0x10_0000;
/// Start of the gigabyte below RAM: PCI memory, which no node sees.
pub const BELOW_RAM: u64 = 0x4000_0000;
pub use midplane_abi::layout::RAM;
/// Memory beyond is not mapped.
pub const MAX_RAM: u64 = midplane_abi::layout::RING_WINDOWS;
