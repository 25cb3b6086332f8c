//! The interrupt controller (SiFive PLIC), its second context: supervisor mode of hart 0.

use super::registers::{read32, write32};

const PLIC: usize = 0xc00_0000;
const ENABLE: usize = PLIC + 0x2080;
const THRESHOLD: usize = PLIC + 0x20_1000;
const CLAIM: usize = PLIC + 0x20_1004;
/// The pages with the registers used here.
pub const PAGES: [usize; 3] = [PLIC, ENABLE, THRESHOLD];
/// Greatest interrupt number of a virtio-mmio slot.
const LAST: u32 = 31;

/// Lets interrupt `number` through; false when it is none of a virtio slot.
pub fn enable(number: u32) -> bool {
    if !(1..=LAST).contains(&number) {
        return false;
    }
    write32(PLIC + 4 * number as usize, 1);
    write32(ENABLE, read32(ENABLE) | 1 << number);
    write32(THRESHOLD, 0);
    true
}

/// Takes the next pending interrupt, to be given back by [`complete`].
pub fn claim() -> Option<u32> {
    Some(read32(CLAIM)).filter(|&number| number != 0)
}

/// The interrupt has been served at its device.
pub fn complete(number: u32) {
    write32(CLAIM, number);
}
