//! From a program's source to an image that nodes boot.

pub mod image;
pub mod program;
mod said;
mod unwind;
