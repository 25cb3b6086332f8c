//! What stands where: address space.

/// From address 0 on: the debug area and the boot ROM, which a null pointer must not reach.
pub const NULL_BYTES: u64 = 0x10_0000;
/// Start of the gigabyte below RAM: PCI memory, which this kernel does not use and closes.
pub const BELOW_RAM: u64 = 0x4000_0000;
/// Start of RAM.
pub const RAM: u64 = 0x8000_0000;
