//! What people read: lines, tables, drawings, files.

pub mod say;
