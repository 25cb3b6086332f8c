//! What is about this machine.

pub mod capacity;
pub mod folders;
pub mod signals;
pub mod size;
pub mod stop;
#[allow(unsafe_code)]
pub mod sys;
