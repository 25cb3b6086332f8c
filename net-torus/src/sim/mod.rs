//! Links and machines in memory, for tests and simulation. Needs std.

mod link;

pub use link::{SimLink, pair, wire_torus};
