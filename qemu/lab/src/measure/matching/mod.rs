//! Matching engines alone, over a real request pool and MPI memory: what a queue costs that is filled and emptied.
//!
//! * [`traffic`]: what is measured, as receives and messages; [`search`] makes that of the papers' search tests,
//!   [`collective`] that of collectives, [`application`] that of applications.
//! * [`rig`]: runs it, and tells times and hops.
//! * [`overhead`]: the memory that an engine takes.
//! * [`blank`]: no engine at all, whose cost is that of the rig.
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
