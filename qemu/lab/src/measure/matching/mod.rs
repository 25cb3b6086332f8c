//! Benchmarks of matching engines alone, over a real request pool and MPI memory: the cost of a queue that is filled
//! and emptied.
//!
//! * [`traffic`]: the receives and messages; [`search`] creates those of the papers' search tests, [`collective`] those
//!   of collectives, [`application`] those of applications.
//! * [`rig`]: the test harness, which measures times and hops.
//! * [`overhead`]: the memory that an engine uses.
//! * [`blank`]: the baseline without an engine, whose cost is that of the test harness.
#![forbid(unsafe_code)]

pub mod application;
pub mod blank;
pub mod collective;
pub mod overhead;
pub mod rig;
pub mod search;
pub mod traffic;

pub use application::Application;
pub use collective::Collective;
pub use overhead::Overhead;
pub use rig::{Effort, Measured};
pub use search::{Order, Queue, Search};
pub use traffic::{Step, Traffic};
