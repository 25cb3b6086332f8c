//! Address space layout.

/// Size of the range from address 0: the debug area and the boot ROM. Null pointers must fault there.
pub const NULL_BYTES: u64 = 0x10_0000;
/// Start of the gigabyte below RAM: PCI memory, mapped in no node.
pub const BELOW_RAM: u64 = 0x4000_0000;
pub use midplane_abi::layout::RAM;
/// Memory beyond this address is not mapped.
pub const MAX_RAM: u64 = midplane_abi::layout::RING_WINDOWS;
