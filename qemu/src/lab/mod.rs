//! Measurements and tests of what runs.

pub mod bench;
pub mod cluster;
pub mod memory;
pub mod sim;
pub mod size;
pub mod soak;
pub mod suite;
