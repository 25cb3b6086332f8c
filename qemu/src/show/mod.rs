//! Output for users: lines, tables, drawings, files.

pub mod file;
pub mod plot;
pub mod console;
pub mod table;
