//! A job on a torus of QEMU instances.

pub mod attach;
mod boot;
mod boxes;
mod cluster;
pub mod command;
pub mod debug;
mod decode;
mod doorbell;
pub mod ended;
mod faults;
mod files;
mod input;
mod instance;
pub mod job;
pub mod limits;
pub mod line;
pub mod linux;
mod machines;
mod node;
mod output;
mod plan;
pub mod report;
mod sockets;
mod stm32f405;
pub mod topology;
mod verdict;
mod wiring;
