//! A job on a torus of QEMU instances.

pub mod command;
mod decode;
mod input;
mod instance;
mod job;
pub mod limits;
mod linux;
mod output;
mod report;
pub mod topology;
mod verdict;
mod wiring;
