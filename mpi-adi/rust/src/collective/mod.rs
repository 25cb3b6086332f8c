//! Collectives: what all processes of a communicator do together (MPI-3.1 chapter 5).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::{SystemOperation, UserOperation};
//! use mpi::traits::*;
//!
//! /// The greatest of all processes' numbers, and the one that is nearest to zero.
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
//! Every process of the communicator calls the same collectives in the same order, with arguments that fit together. A
//! blocking one blocks until this process has done its part.
//!
//! # One value for each call
//! A function such as [`all_reduce`](CommunicatorCollectives::all_reduce) takes the arguments of a collective and returns
//! its value, a [`Collective`], which does nothing yet. The value is run or started, in one of four ways:
//!
//! | | blocks (MPI_Allreduce) | does not block (MPI_Iallreduce) |
//! |---|---|---|
//! | an error ends the job | [`run()`](Collective::run) | [`start(scope)`](Collective::start) |
//! | an error is the result | [`try_run()`](Collective::try_run) | [`try_start(scope)`](Collective::try_start) |
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::SystemOperation;
//! use mpi::traits::*;
//!
//! /// The sum of all processes' numbers; `None`: one of them has given another number of them.
//! fn sum(world: &impl Communicator, mine: &[f64]) -> Option<Vec<f64>> {
//!     let mut sum = vec![0.0; mine.len()];
//!     world.all_reduce(mine, &mut sum, SystemOperation::sum()).try_run().ok()?;
//!     Some(sum)
//! }
//! ```
//!
//! Each value has its two names beside it that programs of rsmpi know: `world.all_reduce_into(..)` is
//! `world.all_reduce(..).run()`, and `world.immediate_all_reduce_into(scope, ..)` is `world.all_reduce(..).start(scope)`.
//! The names are regular:
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
//! A collective is one row: its names, how its buffers are divided, and the schedule that it has. A row is for communicators
//! and [intercommunicators][intercommunicator] alike where both have the collective.
//!
//! # Errors
//! A collective fails with [`Error::CountsDiffer`] where two processes' counts differ, [`Error::Lengths`] where buffers do
//! not fit together, [`Error::Argument`] where a buffer in parts does not have one for each process, [`Error::Undefined`]
//! for an operation that the datatype does not have, and with [`Error::NoMemory`] and [`Error::NoRoom`] when the program's
//! heap has no room. After an error the other processes may wait for this one.
//!
//! # Memory
//! A collective that blocks takes the lists of parts that differ, of those with `varcount` and `vartype` in their names, in
//! the program's heap, and else nothing. One that is started takes a schedule, too.
//!
//! The same values give the same result of a reduction, bit for bit, at every root and in every run.
//!
//! [intercommunicator]: crate::topology::InterCommunicator
//! [`Error::Argument`]: midplane_objects::Error::Argument
//! [`Error::CountsDiffer`]: midplane_objects::Error::CountsDiffer
//! [`Error::Lengths`]: midplane_objects::Error::Lengths
//! [`Error::Undefined`]: midplane_objects::Error::Undefined
//! [`Error::NoMemory`]: midplane_objects::Error::NoMemory
//! [`Error::NoRoom`]: midplane_objects::Error::NoRoom

#[allow(unsafe_code)]
mod call;
mod communicator;
mod group;
mod inter;
mod neighbours;
#[allow(unsafe_code)]
mod operation;
mod root;

pub use call::Collective;
pub use communicator::{CollectivesInPlace, CommunicatorCollectives};
pub use neighbours::NeighborCollectives;
pub use operation::{Operation, SystemOperation, UserOperation, reduce_local_into};
pub use root::{Root, RootInPlace};

/// The traits of this module.
pub mod traits {
    pub use super::{
        CollectivesInPlace, CommunicatorCollectives, NeighborCollectives, Operation, Root,
        RootInPlace,
    };
}
