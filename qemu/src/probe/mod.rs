//! Physical boards: image files, flashing, and their standalone output.

pub mod explain;
pub mod flash;
pub mod image;
