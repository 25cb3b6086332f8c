//! The Rust binding.

pub mod api;
#[allow(unsafe_code)]
pub mod lend;
