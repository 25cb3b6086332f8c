//! From a program's source to an image that nodes boot, or to a program for this machine.

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
