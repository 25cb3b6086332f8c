//! The MPI device.
#![cfg_attr(not(test), no_std)]

pub mod kernel;

/// The device of one process.
pub struct Adi<'m> {
    _memory: &'m mut [u8],
}
