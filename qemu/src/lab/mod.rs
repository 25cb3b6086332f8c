//! Measurements and tests.

pub mod bench;
pub mod cluster;
pub mod memory;
pub mod sim;
pub mod size;
pub mod soak;
pub mod suite;
