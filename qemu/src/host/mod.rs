//! Access to the host machine.

pub mod capacity;
pub mod directories;
pub mod invocation;
pub mod setup;
pub mod shared;
pub mod signals;
pub mod size;
pub mod error;
#[allow(unsafe_code)]
pub mod sys;
pub mod resource_usage;
