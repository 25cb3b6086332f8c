//! Collectives over point-to-point messages (MPI-3.1 chapter 5), in a separate context.
//!
//! | collective | algorithm | messages of one rank, n processes |
//! |---|---|---|
//! | barrier | all processes: along the torus ([`midplane_device::barrier`]) | none |
//! | | others: dissemination | log2 n, empty |
//! | bcast | a box of the torus: along its lines, long ones by its trees; others: binomial tree | at most log2 n, or 4 for each piece |
//! | allreduce | all processes, at most 32 bytes, commutative operation: in the barrier's packets | none |
//! | | a box: halves of its lines, long ones by its rings; others: a reduce to rank 0, then a bcast | see `lines`, `rings` |
//! | reduce | binomial tree to rank 0, by segments; then to the root | log2 n a segment |
//! | reduce_scatter | a reduce to each rank in turn | n log2 n a segment |
//! | gather, scatter | linear at the root | 1, and n - 1 at the root |
//! | allgather | ring | n - 1 |
//! | comm_split | an allgather by doubling runs of blocks | log2 n, at most 2 log2 n |
//! | alltoall | pairs, eight concurrent, in all directions; in place by segments | n - 1 |
//! | scan, exscan | chain, by segments | 2 a segment |
//! | neighbourhood | all concurrent | one to each neighbour, one from each |
//! | ibarrier | dissemination, also of all processes | log2 n, empty |
//! | other nonblocking | like the blocking ones | the same |
//! | comm_idup | two allreduces of 4 bytes, or more | like an allreduce |
//!
//! Each is a `schedule` of steps. A blocking call `run`s it; a nonblocking collective stores it with the messages of
//! its present step while it is `running` (section 5.12). One file per family:
//!
//! ```text
//! sim_driver                                 driven by a simulator
//! in_flight                                  state of a collective that a program has started
//! inter/                                     intercommunicators
//! nonblocking                                a schedule and the data that it needs until it is complete
//! context_agreement                          nonblocking agreement on the context of a communicator
//! slices                                     collectives over slices
//! reduce  scan  gather  alltoall  barrier    argument checks and schedule
//! network_allreduce                          in-network barrier and allreduce
//! bcast  neighbours                          bcast: also the second half of an allreduce
//! lines  trees  rings                        boxes of the torus: short messages, long broadcasts, long allreduces
//! running                                    stores a schedule, performs its steps when messages complete
//! borrowed_device                            the device in an interrupt handler, for `running`
//! run                                        blocking: performs one step after the other
//! schedule  segments  tree                   steps; segments; binomial tree
//! ```
//! Imports point downwards in this list.
//!
//! # Nonblocking collectives
//! A nonblocking collective advances in every call that makes progress: all that wait, test, probe or check
//! ([`crate::call`]). It also advances while the program computes, as far as an interrupt handler can perform its
//! steps (`running`). It waits for no other collective. The messages' tags contain its sequence number on the
//! communicator, in the order in which all processes start them. Blocking ones have tags without a number, so they
//! never match them.
//!
//! # Memory and order
//! Memory use does not grow with the message. A reduction uses two segments of [`SEGMENT_BYTES`] on the stack, or in
//! the program's heap if it is nonblocking, and as much for each lane of a schedule with lanes (`schedule`). A
//! reduction combines in rank order along the same tree or lines for every root. There are two exceptions: a long
//! allreduce of a commutative operation in a box uses an order defined by the box, and a short one of all processes
//! uses coordinate order, dimension by dimension. So the result depends only on the values and the communicator, not on
//! timing (advice to implementors, section 5.9.1).

mod alltoall;
mod barrier;
mod bcast;
pub mod borrowed_device;
#[allow(unsafe_code)]
mod context_agreement;
mod gather;
pub mod in_flight;
pub mod inter;
mod lines;
mod neighbours;
mod network_allreduce;
pub mod nonblocking;
mod reduce;
mod rings;
#[allow(unsafe_code)]
mod run;
#[allow(unsafe_code)]
mod running;
mod scan;
mod schedule;
mod segments;
#[allow(unsafe_code)]
pub mod sim_driver;
#[allow(unsafe_code)]
mod slices;
#[cfg(test)]
mod tests;
mod tree;
mod trees;

pub use alltoall::{alltoall, alltoall_in_place};
pub use barrier::{barrier, barrier_by_messages};
pub use bcast::bcast;
pub use context_agreement::{ContextHolder, agree};
pub use gather::{allgather, allgather_in_runs, gather, scatter};
pub use network_allreduce::barrier as network_barrier;
pub use reduce::{allreduce, combine_local, predefined, reduce, reduce_scatter};
pub use run::{CombineFn, ReduceAreas, ReduceElements};
pub use running::{CollectiveSchedule, RunningCollective, try_with_capacity};
pub use scan::scan;
pub use schedule::FIRST_FREE_TAG;
pub use segments::SEGMENT_BYTES;
