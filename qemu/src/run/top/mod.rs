//! `midplane top`: live table of the ranks of a running job.
//!
//! ```text
//! midplane run                              midplane top
//!   job.rs: event loop                        command.rs: once a second
//!      | publish()     | is_wanted()             |
//!   server.rs: thread, socket PID.sock <------ directory.rs: connect
//!      snapshot.rs: one JSON text per connection
//! ```
//!
//! The event loop only checks a flag. The thread waits for slow readers.

pub mod command;
mod directory;
pub mod server;
mod snapshot;
mod view;

pub use snapshot::JobSnapshot;
