//! The way to other instances: QEMU's ivshmem-doorbell (docs/specs/ivshmem-spec.txt) in PCI slot 1. Its memory is
//! shared by all instances, and a word to its register rings any node of any of them: the instance is the peer, the
//! node's hart the vector, and the vector's message a store to that hart's software interrupt.

use super::registers::{SOFTWARE, read32, write32};

/// Configuration space of the device (PCI Express, ECAM).
const CONFIG: usize = 0x3000_0000 + (1 << 15);
/// Vendor and device.
const ID: u32 = 0x1110_1af4;
const COMMAND: usize = CONFIG + 4;
const BAR_0: usize = CONFIG + 0x10;
const CAPABILITIES: usize = CONFIG + 0x34;
/// Memory access and bus mastering, which messages need.
const ENABLE: u32 = 6;
const MSI_X: u32 = 0x11;
const MSI_X_ENABLE: u32 = 1 << 31;

/// The registers, by BAR 0.
const REGISTERS: usize = 0x4000_0000;
/// The vectors' messages, by BAR 1.
const VECTORS: usize = 0x4010_0000;
/// The memory, by BAR 2: at a multiple of the greatest size there is room for.
pub const SHARED: u64 = 0x6000_0000;
/// This instance's number, behind the registers' start.
const POSITION: usize = 8;
/// The doorbell, behind the registers' start.
const DOORBELL: u64 = 12;

/// The page with the doorbell.
pub const PAGE: u64 = REGISTERS as u64;

/// Sets the device up, so that each vector rings the hart of its number. False when there is no such device, or it
/// belongs to another instance. For machine mode.
pub fn set_up(instance: u32, harts: u32) -> bool {
    if read32(CONFIG) != ID {
        return false;
    }
    for (bar, value) in [REGISTERS, VECTORS, SHARED as usize, 0]
        .into_iter()
        .enumerate()
    {
        write32(BAR_0 + 4 * bar, value as u32);
    }
    write32(COMMAND, ENABLE);
    for hart in 0..harts as usize {
        let message = [SOFTWARE + 4 * hart, 0, 1, 0];
        for (word, value) in message.into_iter().enumerate() {
            write32(VECTORS + 16 * hart + 4 * word, value as u32);
        }
    }
    enable_messages() && read32(REGISTERS + POSITION) == instance
}

fn enable_messages() -> bool {
    /// More capabilities than fit configuration space.
    const MANY: usize = 48;
    let mut at = read32(CAPABILITIES) & 0xfc;
    for _ in 0..MANY {
        if at == 0 {
            break;
        }
        let register = CONFIG + at as usize;
        let capability = read32(register);
        if capability & 0xff == MSI_X {
            write32(register, capability | MSI_X_ENABLE);
            return true;
        }
        at = capability >> 8 & 0xfc;
    }
    false
}

/// What to write where, in a node to which [`PAGE`] is mapped at `page`, to ring `hart` of `instance`.
pub fn ring(page: u64, instance: u32, hart: u32) -> (u64, u32) {
    (page + DOORBELL, instance << 16 | hart)
}
