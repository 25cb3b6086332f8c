//! The machine that everything runs on.

pub mod setup;
