//! Benchmarks of matching engines alone, over a real request pool and MPI memory: the cost of a queue that is filled
//! and emptied.
//!
//! * [`traffic`]: the receives and messages; [`search`] creates those of the papers' search tests, [`collective`] those
//!   of collectives, [`application`] those of applications.
//! * [`fixture`]: the test harness, which measures times and hops.
//! * [`overhead`]: the memory that an engine uses.
//! * [`blank`]: the baseline without an engine, whose cost is that of the test harness.
#![forbid(unsafe_code)]

pub mod application;
pub mod blank;
pub mod collective;
pub mod fixture;
pub mod overhead;
pub mod search;
pub mod traffic;

pub use application::QueueProfile;
pub use collective::CollectiveTraffic;
pub use fixture::{MatchingCost, MeasureEffort};
pub use overhead::HeapOverhead;
pub use search::{LongQueue, SearchOrder, SearchTest};
pub use traffic::{QueueTraffic, TrafficStep};
