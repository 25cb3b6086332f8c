//! Boards that are not emulated: images as files, and flashing them.

pub mod flash;
pub mod image;
