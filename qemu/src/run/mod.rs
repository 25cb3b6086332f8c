//! A job on a torus of QEMU instances.

pub mod attach;
mod boxes;
mod cluster;
pub mod command;
pub mod debug;
mod decode;
mod doorbell;
mod faults;
mod files;
mod input;
mod instance;
pub mod job;
pub mod limits;
pub mod line;
mod linux;
mod node;
mod output;
pub mod report;

mod stm32f405;
pub mod topology;
mod verdict;
mod wiring;
