//! Links and machines in memory, for tests and simulation. Needs std.

#[cfg(test)]
mod explore;
mod faulty;
pub mod hostile;
mod link;
pub mod matrix;
mod network;
mod traffic;

pub use faulty::{Faults, Faulty};
pub use link::{SimLink, pair, wire_torus};
pub use network::{Config, Latencies, Network, SimError, Totals};
pub use traffic::{Bound, HOT_FRACTION, Limit, Traffic};
