//! Build of a program: from its source to a bootable image for nodes or to a native program.

pub mod board;
mod build_cache;
mod callees;
mod cargo;
pub mod carried;
pub mod cc;
pub mod compiler;
mod diagnostics;
mod fortran;
mod fortran_includes;
mod headers;
pub mod image;
mod incremental;
pub mod inputs;
mod language;
pub mod linux;
pub mod package;
pub mod program;
mod recorder;
mod renamed;
pub mod shared_library;
pub mod source;
mod spawning;
mod target;
mod thread_entries;
mod unwind;
