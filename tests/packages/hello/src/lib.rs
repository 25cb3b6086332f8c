//! Code shared by both binaries.
#![no_std]

pub mod ring;
