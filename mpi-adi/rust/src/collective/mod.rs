//! Collective communication of all processes of a communicator (MPI-3.1 chapter 5).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::{SystemOperation, UserOperation};
//! use mpi::traits::*;
//!
//! /// Returns the maximum of all processes' numbers, and the number nearest to zero.
//! fn extremes(world: &impl Communicator, mine: i64) -> (i64, i64) {
//!     let (mut most, mut nearest) = (0, 0);
//!     world.all_reduce_into(&mine, &mut most, SystemOperation::max());
//!     let nearer = UserOperation::commutative(|x, y| {
//!         let (x, y) = (x.downcast::<i64>().unwrap(), y.downcast::<i64>().unwrap());
//!         for (x, y) in x.iter().zip(y) {
//!             if x.abs() < y.abs() {
//!                 *y = *x;
//!             }
//!         }
//!     });
//!     world.all_reduce_into(&mine, &mut nearest, &nearer);
//!     (most, nearest)
//! }
//! ```
//!
//! Every process of the communicator calls the same collectives in the same order, with matching arguments. A blocking
//! call returns when this process has completed its part.
//!
//! # One value for each call
//! A function such as [`all_reduce`](CommunicatorCollectives::all_reduce) returns a [`Collective`], a value that
//! contains its arguments and does nothing yet. It is run or started in one of four ways:
//!
//! | | blocks (MPI_Allreduce) | does not block (MPI_Iallreduce) |
//! |---|---|---|
//! | an error aborts the job | [`run()`](Collective::run) | [`start(scope)`](Collective::start) |
//! | an error is returned | [`try_run()`](Collective::try_run) | [`try_start(scope)`](Collective::try_start) |
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::SystemOperation;
//! use mpi::traits::*;
//!
//! /// Returns the sum of all processes' vectors, or `None` if their lengths differ.
//! fn sum(world: &impl Communicator, mine: &[f64]) -> Option<Vec<f64>> {
//!     let mut sum = vec![0.0; mine.len()];
//!     world.all_reduce(mine, &mut sum, SystemOperation::sum()).try_run().ok()?;
//!     Some(sum)
//! }
//! ```
//!
//! Each value provides two short forms under the names of rsmpi: `world.all_reduce_into(..)` is
//! `world.all_reduce(..).run()`, and `world.immediate_all_reduce_into(scope, ..)` is
//! `world.all_reduce(..).start(scope)`. The names are regular:
//!
//! | value | run | started |
//! |---|---|---|
//! | `all_reduce` | `all_reduce_into` | `immediate_all_reduce_into` |
//! | at the root: `gather_root` | `gather_into_root` | `immediate_gather_into_root` |
//! | in one buffer: `all_reduce_in` | `all_reduce_in_place` | `immediate_all_reduce_in_place` |
//! | in one buffer at the root: `gather_in_root` | `gather_in_place_root` | `immediate_gather_in_place_root` |
//! | root of an [intercommunicator]: `gather_from_remote` | `gather_root` | `immediate_gather_root` |
//! | `synchronize` | `barrier` | `immediate_barrier` |
//!
//! In the source a collective is one row: its names, the division of its buffers, and its schedule. Communicators and
//! [intercommunicators][intercommunicator] share a row where both support the collective.
//!
//! # Errors
//! - [`Error::CountsDiffer`]: the counts of two processes differ.
//! - [`Error::Lengths`]: the lengths of buffers do not match.
//! - [`Error::Argument`]: a buffer in parts does not contain one for each process.
//! - [`Error::Undefined`]: the datatype does not support the operation.
//! - [`Error::NoMemory`] and [`Error::NoSpace`]: the program's heap has no space.
//!
//! After an error the other processes may wait for this one.
//!
//! # Memory
//! A blocking collective with `varcount` or `vartype` in its name allocates its lists of parts from the program's heap;
//! the others allocate nothing. A nonblocking one allocates its schedule, too.
//!
//! Equal values give an equal result of a reduction, bit for bit, at every root and in every run.
//!
//! [intercommunicator]: crate::topology::InterCommunicator
//! [`Error::Argument`]: midplane_objects::Error::Argument
//! [`Error::CountsDiffer`]: midplane_objects::Error::CountsDiffer
//! [`Error::Lengths`]: midplane_objects::Error::Lengths
//! [`Error::Undefined`]: midplane_objects::Error::Undefined
//! [`Error::NoMemory`]: midplane_objects::Error::NoMemory
//! [`Error::NoSpace`]: midplane_objects::Error::NoSpace

#[allow(unsafe_code)]
mod call;
mod communicator;
mod group;
mod inter;
mod neighbours;
#[allow(unsafe_code)]
mod operation;
mod recorded_arguments;
mod root;

pub use call::Collective;
pub use communicator::{CollectivesInPlace, CommunicatorCollectives};
pub use neighbours::NeighborCollectives;
pub use operation::{Operation, SystemOperation, UserOperation, reduce_local_into};
pub use root::{Root, RootInPlace};

/// The traits of this module.
pub mod traits {
    pub use super::{CollectivesInPlace, CommunicatorCollectives, NeighborCollectives, Operation, Root, RootInPlace};
}
