//! What people read: lines, tables, drawings, files.

pub mod file;
pub mod say;
