//! Access to the host machine.

pub mod capacity;
pub mod folders;
pub mod invocation;
pub mod setup;
pub mod shared;
pub mod signals;
pub mod size;
pub mod stop;
#[allow(unsafe_code)]
pub mod sys;
pub mod used;
