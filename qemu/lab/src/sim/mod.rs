//! Whole jobs in one thread: real devices over an abstract network, under one seed.
//!
//! ```text
//!   seed.rs      draws a job from one seed
//!        |
//!   program.rs   a random but legal MPI program: operations (op.rs) by rank, and what they must receive
//!        |       (collectives.rs: its collectives, and what they must come to; its windows, beside all that:
//!        |       ../epochs/random.rs)
//!        |
//!   setup.rs     how it is run
//!        |
//!   job.rs       runs it      schedule.rs   draws from the seed which node computes, which one is polled,
//!      |                                    which packet arrives
//!   process.rs   one rank: its device and how far its program is (collective.rs: its collectives under way)
//!      |    \
//!   net.rs   memory.rs   the network between the devices (or torus.rs: routers and bad links), the programs'
//!      |                  buffers
//!   check.rs     judges what was recorded; knows nothing of the device
//! ```
//! The devices are the production ones, `midplane_device::Adi`. Everything below them is replaced by a network that
//! may do whatever the transport's contract (`msg_layer::Port`) allows, which is more than the torus does:
//! packets of one class from one node to another keep their order (data packets need not), and that is all.
#![forbid(unsafe_code)]

pub mod check;
pub(crate) mod collective;
pub mod collectives;
pub mod job;
pub mod memory;
pub mod net;
pub mod op;
mod process;
pub mod program;
mod schedule;
pub mod seed;
pub mod setup;
pub mod torus;

pub use check::{Short, Violation};
pub use job::{Job, Report};
pub use op::Op;
pub use program::{POLLING, Plan, Program};
pub use seed::{Failure, Seeded};
pub use setup::{Heap, Setup};
