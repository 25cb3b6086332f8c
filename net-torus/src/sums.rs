//! Cyclic redundancy checks of what links carry.
//!
//! Each step takes a byte by a table of 256 words; with the feature `small-tables` half a byte by one of 16, for images that
//! have little room and links that are slower than that.

use crc::{CRC_8_SMBUS, Table};

const STEP_BITS: u32 = if cfg!(feature = "small-tables") { 4 } else { 8 };
const ENTRIES: usize = 1 << STEP_BITS;

/// A check of at most 32 bits, of bytes whose lowest bits come first; it begins with ones, and is inverted at the end.
pub struct Crc {
    ones: u32,
    table: [u32; ENTRIES],
}

/// CRC-32/ISO-HDLC.
pub static CRC_32: Crc = Crc::new(u32::MAX, 0xedb8_8320);
/// CRC-16/IBM-SDLC.
pub static CRC_16: Crc = Crc::new(0xffff, 0x8408);

/// CRC-8/SMBUS, for the few bytes of a packet's header: with the small tables bit by bit.
pub(crate) static CRC_8: crc::Crc<u8, Table<{ !cfg!(feature = "small-tables") as usize }>> =
    crc::Crc::<u8, _>::new(&CRC_8_SMBUS);

impl Crc {
    /// By the polynomial without its highest power, the others from the lowest bit on downwards.
    const fn new(ones: u32, polynomial: u32) -> Self {
        let mut table = [0; ENTRIES];
        let mut at = 0;
        while at < ENTRIES {
            let mut word = at as u32;
            let mut bit = 0;
            while bit < STEP_BITS {
                word = word >> 1 ^ if word & 1 != 0 { polynomial } else { 0 };
                bit += 1;
            }
            table[at] = word;
            at += 1;
        }
        Self { ones, table }
    }

    /// The check of these bytes.
    pub fn of(&self, bytes: &[u8]) -> u32 {
        self.on(self.ones, bytes) ^ self.ones
    }

    /// The check of bytes in two places.
    pub fn of_both(&self, first: &[u8], second: &[u8]) -> u32 {
        self.on(self.on(self.ones, first), second) ^ self.ones
    }

    /// Goes on with these bytes.
    fn on(&self, mut sum: u32, bytes: &[u8]) -> u32 {
        for byte in bytes {
            sum ^= u32::from(*byte);
            for _ in 0..u8::BITS / STEP_BITS {
                sum = sum >> STEP_BITS ^ self.table[sum as usize % ENTRIES];
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc::{CRC_16_IBM_SDLC, CRC_32_ISO_HDLC};

    const DIGITS: &[u8] = b"123456789";

    #[test]
    fn sums_are_those_of_the_catalogue() {
        assert_eq!(CRC_32.of(DIGITS), CRC_32_ISO_HDLC.check);
        assert_eq!(CRC_16.of(DIGITS), CRC_16_IBM_SDLC.check.into());
        assert_eq!(CRC_8.checksum(DIGITS), CRC_8_SMBUS.check);
    }

    #[test]
    fn sums_of_two_places_are_those_of_one() {
        let bytes: Vec<u8> = (0..=255).collect();
        let reference = crc::Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(&bytes);
        for cut in [0, 1, 100, 256] {
            assert_eq!(CRC_32.of_both(&bytes[..cut], &bytes[cut..]), reference);
        }
    }
}
