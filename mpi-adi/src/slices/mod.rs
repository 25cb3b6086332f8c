//! Blocking calls and scopes over slices, for every matching engine.
//!
//! Programs in Rust use [`crate::rust`], whose processes have the engine of their build. What a test compares between
//! engines in one process is written with these few calls, which are generic in it.

pub mod api;
#[allow(unsafe_code)]
pub mod lend;
