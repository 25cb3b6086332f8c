//! The machine that everything runs on.

pub mod capacity;
pub mod folders;
pub mod setup;
pub mod shared;
pub mod signals;
pub mod size;
pub mod stop;
#[allow(unsafe_code)]
pub mod sys;
pub mod used;
