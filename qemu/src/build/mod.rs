//! Build of a program: from its source to a bootable image for nodes or to a native program.

pub mod board;
mod callees;
pub mod cc;
pub mod compiler;
pub mod inputs;
mod headers;
pub mod image;
mod build_cache;
pub mod linux;
mod incremental;
pub mod package;
pub mod program;
mod diagnostics;
mod target;
mod unsupported;
mod unwind;
