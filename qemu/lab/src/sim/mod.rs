//! Complete jobs in one thread: real devices over an abstract network, from one seed.
//!
//! ```text
//!   seed.rs      draws a job from one seed
//!        |
//!   program.rs   a random but legal MPI program: operations (op.rs) by rank, and the messages required
//!        |       (collectives.rs: its collectives, and their results; its windows, concurrent with all that:
//!        |       ../epochs/random.rs)
//!        |
//!   setup.rs     its configuration
//!        |
//!   job.rs       runs it      schedule.rs   draws from the seed the node that computes, or is polled, or
//!      |                                    the packet that arrives
//!   process.rs   one rank: its device and its program's state (collective.rs: its collectives in progress)
//!      |    \
//!   net.rs   memory.rs   the network between the devices (or torus.rs: routers and bad links), the programs'
//!      |                  buffers
//!   check.rs     checks the records, independent of the device
//! ```
//!
//! The devices are the production ones, `midplane_device::Adi`. A simulated network replaces everything below them. It does
//! anything that the transport's contract (`msg_layer::Port`) allows, which is more than the torus does: it only keeps
//! the order of packets of one class from one node to another, except for data packets.
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

pub use check::{MemoryFailure, Violation};
pub use job::{JobReport, SimJob};
pub use op::RankOp;
pub use program::{POLLING, ProgramPlan, RankPrograms};
pub use seed::{JobFailure, SeededJob};
pub use setup::{JobSetup, ProgramHeaps};
