//! Access to the host machine.

pub mod capacity;
pub mod directories;
pub mod error;
pub mod heap;
pub mod invocation;
pub mod resource_usage;
pub mod setup;
pub mod shared;
pub mod signals;
pub mod size;
#[allow(unsafe_code)]
pub mod sys;
