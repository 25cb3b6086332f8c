//! Build of a program: from its source to a bootable image for nodes or to a native program.

pub mod board;
mod build_cache;
mod callees;
mod cargo;
pub mod carried;
pub mod cc;
pub mod compiler;
mod diagnostics;
mod headers;
pub mod image;
mod incremental;
pub mod inputs;
pub mod linux;
pub mod package;
pub mod program;
mod recorder;
pub mod source;
mod target;
mod unsupported;
mod unwind;
