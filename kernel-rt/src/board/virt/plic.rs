//! The interrupt controller (SiFive PLIC), its second context: supervisor mode of hart 0.

use super::registers::{read32, write32};

const PLIC: usize = 0xc00_0000;
const ENABLE: usize = PLIC + 0x2080;
const THRESHOLD: usize = PLIC + 0x20_1000;
const CLAIM: usize = PLIC + 0x20_1004;
/// The pages with the registers used here.
pub const PAGES: [usize; 3] = [PLIC, ENABLE, THRESHOLD];
/// Maximum interrupt ID of a virtio-mmio slot.
const LAST: u32 = 31;

/// Enables interrupt `number`; returns false if it does not belong to a virtio slot.
pub fn enable(number: u32) -> bool {
    if !(1..=LAST).contains(&number) {
        return false;
    }
    write32(PLIC + 4 * number as usize, 1);
    write32(ENABLE, read32(ENABLE) | 1 << number);
    write32(THRESHOLD, 0);
    true
}

/// Claims the next pending interrupt. The caller must call [`complete`] for it.
pub fn claim() -> Option<u32> {
    Some(read32(CLAIM)).filter(|&number| number != 0)
}

/// Completes an interrupt that was handled at its device.
pub fn complete(number: u32) {
    write32(CLAIM, number);
}
