//! What both binaries do.
#![no_std]

pub mod ring;
