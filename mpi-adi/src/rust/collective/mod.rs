//! Collectives: what all processes of a communicator do together (MPI-3.1 chapter 5).
//!
//! ```
//! # use mpi_adi::rust as mpi;
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
//! blocking one blocks until this process has done its part. All end the job where two processes' counts differ, where
//! buffers do not fit together, for an operation that the datatype does not have, and when the program's heap has no
//! room; the forms with `try_` fail with [`Error::CountsDiffer`], [`Error::Lengths`], [`Error::Undefined`],
//! [`Error::NoMemory`] and [`Error::NoRoom`]. After an error the other processes may wait for this one.
//!
//! The same values give the same result of a reduction, bit for bit, at every root and in every run.
//!
//! [`Error::CountsDiffer`]: crate::Error::CountsDiffer
//! [`Error::Lengths`]: crate::Error::Lengths
//! [`Error::Undefined`]: crate::Error::Undefined
//! [`Error::NoMemory`]: crate::Error::NoMemory
//! [`Error::NoRoom`]: crate::Error::NoRoom

mod communicator;
mod in_place;
mod inter;
mod neighbours;
#[allow(unsafe_code)]
mod operation;
mod planner;
mod root;
#[allow(unsafe_code)]
mod started;

pub use communicator::CommunicatorCollectives;
pub use in_place::{CollectivesInPlace, RootInPlace};
pub use neighbours::NeighborCollectives;
pub use operation::{Operation, SystemOperation, UserOperation, reduce_local_into};
pub use root::Root;

use crate::device::memory::area::Area;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;

/// The traits of this module.
pub mod traits {
    pub use super::{
        CollectivesInPlace, CommunicatorCollectives, NeighborCollectives, Operation, Root,
        RootInPlace,
    };
}

/// Bytes of each of so many equal parts of a buffer of so many bytes and elements. Fails with [`Error::Lengths`] when it
/// does not have as many whole elements for each.
fn each(bytes: usize, element: usize, ranks: usize) -> Result<usize, Error> {
    let elements = bytes / element.max(1);
    if ranks == 0 {
        return same_length(0, bytes).map(|()| 0);
    }
    match elements.is_multiple_of(ranks) {
        true => Ok(bytes / ranks),
        false => Err(Error::Lengths {
            expected: elements.next_multiple_of(ranks) * element,
            given: bytes,
        }),
    }
}

/// Part number `index` of parts of so many bytes.
fn part(whole: Area, index: u32, bytes: usize) -> Area {
    match bytes {
        0 => Area::EMPTY,
        bytes => whole.part(index as usize * bytes, bytes),
    }
}

/// Which of so many equal parts of a buffer of elements is a rank's. Fails as [`each`].
fn divided(whole: Area, element: usize, ranks: usize) -> Result<impl Fn(CommRank) -> Area, Error> {
    let bytes = each(whole.len(), element, ranks)?;
    Ok(move |rank: CommRank| part(whole, rank.0, bytes))
}

/// Which of the parts in a list is a rank's.
fn listed(parts: &[Area]) -> impl Fn(CommRank) -> Area {
    |rank| parts[rank.0 as usize]
}

fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    match expected == given {
        true => Ok(()),
        false => Err(Error::Lengths { expected, given }),
    }
}
