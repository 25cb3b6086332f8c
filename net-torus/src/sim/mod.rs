//! Links and machines in memory, for tests and simulation. Needs std.

mod link;
mod network;
mod traffic;

pub use link::{SimLink, pair, wire_torus};
pub use network::{Config, Latencies, Network, SimError, Totals};
pub use traffic::{HOT_FRACTION, Traffic};
