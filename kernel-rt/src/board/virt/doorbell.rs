//! The way to other instances: QEMU's ivshmem-doorbell (docs/specs/ivshmem-spec.txt) in PCI slot 1. Its memory is
//! shared by all instances, and a word to its register rings any node of any of them: the instance is the peer, the
//! node's hart the vector, and the vector's message a store to that hart's software interrupt.

use super::registers::{SOFTWARE, read32, write32};
use crate::arch;

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

/// How long this instance's own bell may take to be heard, in seconds.
const PATIENCE_SECONDS: u64 = 30;
/// How often it is rung in a second.
const RINGS_PER_SECOND: u64 = 2000;

/// Sets the device up, so that each vector rings the hart of its number. False when there is no such device, it
/// belongs to another instance, or is not heard. For machine mode, before any other hart runs.
pub fn set_up(instance: u32, harts: u32, clock_hz: u64) -> bool {
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
    for hart in 0..harts {
        set_vector(hart, hart);
    }
    let Some(last) = enable_messages() else {
        return false;
    };
    read32(REGISTERS + POSITION) == instance
        && last + 1 >= harts
        && is_heard(instance, last, harts, clock_hz)
}

/// Vector `vector` rings `hart` from now on.
fn set_vector(vector: u32, hart: u32) {
    let message = [SOFTWARE as u32 + 4 * hart, 0, 1, 0];
    for (word, value) in message.into_iter().enumerate() {
        write32(VECTORS + 16 * vector as usize + 4 * word, value);
    }
}

/// Rings this hart by the instance's last vector until it hears it. QEMU learns of bells while the harts run already,
/// and drops what is rung before; of its own last one it learns when it knows all others.
fn is_heard(instance: u32, last: u32, harts: u32, clock_hz: u64) -> bool {
    set_vector(last, 0);
    let (address, word) = ring(PAGE, instance, last);
    let heard = (0..PATIENCE_SECONDS * RINGS_PER_SECOND).any(|_| {
        write32(address as usize, word);
        let until = arch::ticks() + clock_hz / RINGS_PER_SECOND;
        while !arch::is_called() && arch::ticks() < until {}
        arch::is_called()
    });
    arch::forget_call();
    // A vector beyond the harts rings none; what is still to be heard of the last wakes a hart needlessly.
    set_vector(last, last.min(harts - 1));
    heard
}

/// Switches the vectors' messages on; the number of the last vector.
fn enable_messages() -> Option<u32> {
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
            return Some(capability >> 16 & 0x7ff);
        }
        at = capability >> 8 & 0xfc;
    }
    None
}

/// What to write where, in a node to which [`PAGE`] is mapped at `page`, to ring `hart` of `instance`.
pub fn ring(page: u64, instance: u32, hart: u32) -> (u64, u32) {
    (page + DOORBELL, instance << 16 | hart)
}
