//! Build of a program: from its source to a bootable image for nodes or to a native program.

pub mod board;
mod callees;
pub mod cc;
pub mod compiler;
pub mod given;
mod headers;
pub mod image;
mod kept;
pub mod linux;
mod making;
pub mod package;
pub mod program;
mod said;
mod target;
mod unsupported;
mod unwind;
