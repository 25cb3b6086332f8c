//! Collectives over point to point (MPI-3.1 chapter 5), in a context of their own.
//!
//! | collective | algorithm | messages of one rank, n processes |
//! |---|---|---|
//! | barrier | of all processes: along the torus ([`midplane_device::barrier`]) | none |
//! | | of others: dissemination | log2 n, empty |
//! | bcast | a box of the torus: along its lines, long ones by its trees; others: binomial tree | at most log2 n, or 4 for each piece |
//! | allreduce | of all processes, at most 32 bytes, of an operation that commutes: in the barrier's packets | none |
//! | | a box: halves of its lines, long ones round its rings; others: a reduce to rank 0, then a bcast | see `lines`, `rings` |
//! | reduce | binomial tree to rank 0, by segments; then to the root | log2 n a segment |
//! | reduce_scatter | a reduce to each rank in turn | n log2 n a segment |
//! | gather, scatter | one by one at the root | 1, and n - 1 at the root |
//! | allgather | ring | n - 1 |
//! | comm_split | an allgather by runs of blocks that double | log2 n, twice as many at most |
//! | alltoall | pairs, eight at a time, in all directions; in place by segments | n - 1 |
//! | scan, exscan | chain, by segments | 2 a segment |
//! | neighbourhood | all at once | one to each neighbour, one from each |
//! | ibarrier | dissemination, of all processes too | log2 n, empty |
//! | others that do not block | as those that block | the same |
//! | comm_idup | two allreduces of 4 bytes, or more | as an allreduce |
//!
//! Each is a `schedule` of steps, which a call `run`s, or which is kept, with the messages of its present step, by a
//! collective that is `running` (section 5.12). A file per family:
//!
//! ```text
//! driven                                     by a model of a machine
//! under_way                                  where one stands that a program has started
//! inter/                                     those of intercommunicators
//! plans                                      what does not block: a schedule, and what it needs until it is over
//! agree                                      on the context of a communicator, without blocking
//! slices                                     collectives over slices
//! reduce  scan  gather  alltoall  barrier    what a call checks, and its schedule
//! carried                                    what the packets of the network's barrier carry instead
//! bcast  neighbours                          bcast: also the second half of an allreduce
//! lines  trees  rings                        of boxes of the torus: short ones, long broadcasts, long allreduces
//! running                                    keeps a schedule, and performs its steps when messages allow it
//! borrowed_device                                    the device as interrupts give it, for `running`
//! run                                        blocking: performs one step after the other
//! schedule  segments  tree                   what a step is; pieces; who talks to whom
//! ```
//! An import points downwards in this list.
//!
//! # Without blocking
//! A collective that does not block goes on in every call that makes progress: all that wait for something, whatever
//! that is, and those that test, probe or look ([`crate::call`]). It also goes on while the program computes, as far
//! as an interrupt can make its steps (`running`). It waits for no other collective, and none waits for it:
//! those of one communicator are told apart by their number in the order in which all its processes start them, which
//! is part of their messages' tags. Blocking ones have tags without a number, and so never meet them.
//!
//! # Memory and order
//! Memory does not grow with the message: what a reduction computes with is two segments of
//! [`SEGMENT_BYTES`] on the stack, or in the program's heap if it does not block, and as much for each lane of a schedule
//! that has some (`schedule`). A reduction combines in the order of the ranks along the same tree or lines, whatever the
//! root; a long allreduce of an operation that commutes, in a box, in an order that the box gives, and a short one of
//! all processes in the order of coordinates, dimension by dimension. So the result depends on the values and the
//! communicator alone, not on timing (the advice to implementors of section 5.9.1).

#[allow(unsafe_code)]
mod agree;
mod alltoall;
mod barrier;
mod bcast;
pub mod borrowed_device;
mod carried;
#[allow(unsafe_code)]
pub mod driven;
mod gather;
pub mod inter;
mod lines;
mod neighbours;
pub mod plans;
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
mod slices;
#[cfg(test)]
mod tests;
mod tree;
mod trees;
pub mod under_way;

pub use agree::{Holder, agree};
pub use alltoall::{alltoall, alltoall_in_place};
pub use barrier::{barrier, barrier_by_messages};
pub use bcast::bcast;
pub use carried::barrier as carried_barrier;
pub use gather::{allgather, allgather_in_runs, gather, scatter};
pub use reduce::{allreduce, combine_local, predefined, reduce, reduce_scatter};
pub use run::{Combine, Elements};
pub use running::{Plan, Running, room};
pub use scan::scan;
pub use segments::SEGMENT_BYTES;
