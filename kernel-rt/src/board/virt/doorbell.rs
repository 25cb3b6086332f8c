//! Doorbell to other instances: QEMU's ivshmem-doorbell (docs/specs/ivshmem-spec.txt) in PCI slot 1. All instances
//! share its memory, and a store to its register interrupts any node of any instance. The instance is the peer, the
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
/// Memory access and bus mastering, required by messages.
const ENABLE: u32 = 6;
const MSI_X: u32 = 0x11;
const MSI_X_ENABLE: u32 = 1 << 31;

/// The registers, by BAR 0.
const REGISTERS: usize = 0x4000_0000;
/// The vectors' messages, by BAR 1.
const VECTORS: usize = 0x4010_0000;
/// The shared memory, in BAR 2: at a multiple of the maximum supported size.
pub const SHARED: u64 = 0x6000_0000;
/// Offset of this instance's ID in the registers.
const POSITION: usize = 8;
/// Offset of the doorbell in the registers.
const DOORBELL: u64 = 12;

/// The page that contains the doorbell.
pub const PAGE: u64 = REGISTERS as u64;

/// Timeout of the test of this instance's own doorbell, in seconds.
const PATIENCE_SECONDS: u64 = 30;
/// Number of test rings per second.
const RINGS_PER_SECOND: u64 = 2000;

/// Configures the device so that each vector interrupts the hart with its number. Returns false if there is no such
/// device, it belongs to another instance, or its interrupt is never received. For machine mode, before any other hart
/// runs.
pub fn set_up(instance: u32, harts: u32, clock_hz: u64) -> bool {
    if read32(CONFIG) != ID {
        return false;
    }
    for (bar, value) in [REGISTERS, VECTORS, SHARED as usize, 0].into_iter().enumerate() {
        write32(BAR_0 + 4 * bar, value as u32);
    }
    write32(COMMAND, ENABLE);
    for hart in 0..harts {
        set_vector(hart, hart);
    }
    let Some(last) = enable_messages() else {
        return false;
    };
    read32(REGISTERS + POSITION) == instance && last + 1 >= harts && is_heard(instance, last, harts, clock_hz)
}

/// Routes vector `vector` to `hart`.
fn set_vector(vector: u32, hart: u32) {
    let message = [SOFTWARE as u32 + 4 * hart, 0, 1, 0];
    for (word, value) in message.into_iter().enumerate() {
        write32(VECTORS + 16 * vector as usize + 4 * word, value);
    }
}

/// Rings this hart by the instance's last vector until the interrupt is received. QEMU learns of doorbells while the
/// harts already run, and drops earlier rings; it learns of its own last one after all others.
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
    // A vector beyond the harts must ring none; a late ring of the last one only wakes a hart unnecessarily.
    set_vector(last, last.min(harts - 1));
    heard
}

/// Enables the vectors' messages; returns the index of the last vector.
fn enable_messages() -> Option<u32> {
    /// An upper bound of the number of capabilities in configuration space.
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

/// Returns the address and the value of the store that rings `hart` of `instance`, in a node with [`PAGE`] mapped at
/// `page`.
pub fn ring(page: u64, instance: u32, hart: u32) -> (u64, u32) {
    (page + DOORBELL, instance << 16 | hart)
}
