//! Boards that are not emulated: images as files, flashing them, and what they say without a tool.

pub mod explain;
pub mod flash;
pub mod image;
