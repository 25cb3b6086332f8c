//! Output for users: lines, tables, drawings, files.

pub mod console;
pub mod file;
pub mod plot;
pub mod table;
