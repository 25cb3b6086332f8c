//! The MPI device.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod kernel;

/// The device of one process.
pub struct Adi {}
