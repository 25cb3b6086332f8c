//! Measurements and tests.

pub mod bench;
pub mod cluster;
mod false_alarms;
pub mod memory;
pub mod prove;
pub mod sim;
pub mod size;
pub mod soak;
pub mod suite;
