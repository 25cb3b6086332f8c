//! CRC-32 of frames: one table for all layers.

use crc::{CRC_32_ISO_HDLC, Crc, Table};

/// CRC-32/ISO-HDLC.
pub(crate) static CRC_32: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// Computes the CRC of two slices as if they were contiguous.
pub(crate) fn crc_of_slices(first: &[u8], second: &[u8]) -> u32 {
    let mut digest = CRC_32.digest();
    digest.update(first);
    digest.update(second);
    digest.finalize()
}
