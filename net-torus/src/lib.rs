//! The torus: inject -> router -> link -> router -> deliver.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod coord;
pub mod link;
