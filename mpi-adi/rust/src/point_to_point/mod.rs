//! Point-to-point communication (MPI-3.1 chapter 3).
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//!
//! /// Rank 0 receives messages of unknown length from all ranks, and sums them.
//! fn collect(world: &impl Communicator, mine: &[u64]) -> u64 {
//!     if world.rank() != 0 {
//!         world.process_at_rank(0).send_with_tag(mine, 7);
//!         return 0;
//!     }
//!     let others = (1..world.size()).map(|_| {
//!         let (theirs, status) = world.any_process().receive_vec_with_tag::<u64>(7);
//!         assert!(status.source_rank() > 0);
//!         theirs.iter().sum::<u64>()
//!     });
//!     others.sum::<u64>() + mine.iter().sum::<u64>()
//! }
//! ```

#[allow(unsafe_code)]
pub(crate) mod buffered;
mod destination;
#[allow(unsafe_code)]
mod exchange;
mod message;
mod persistent;
mod source;

pub use crate::request::ReceiveFuture;
pub use crate::status::Status;
pub(crate) use crate::status::{ANY_SOURCE, PROC_NULL, not_empty};
pub use destination::Destination;
pub use exchange::{
    send_receive, send_receive_into, send_receive_into_with_tags, send_receive_replace_into,
    send_receive_replace_into_with_tags, send_receive_with_tags, try_send_receive_into_with_tags,
    try_send_receive_replace_into_with_tags,
};
pub use message::{MatchedReceiveVec, Message};
pub use persistent::{Persistent, PersistentMessage, PersistentReceive, PersistentSend};
pub use source::Source;

use crate::topology::{AsCommunicator, CommRecord, Context, Rank};
use midplane_objects::comm::{CommRank, Partners};
use midplane_objects::error::Error;

/// The traits of this module.
pub mod traits {
    pub use super::{Destination, MatchedReceiveVec, Persistent, Source};
}

fn record<A: AsCommunicator + ?Sized>(of: &A) -> &CommRecord {
    of.as_communicator().record()
}

/// Returns the destination process, `None` for MPI_PROC_NULL, or [`Error::Rank`].
fn destination_at(partners: Partners<'_>, rank: Rank) -> Result<Option<CommRank>, Error> {
    match rank {
        PROC_NULL => Ok(None),
        rank => partners.group().rank(rank.into()).map(Some),
    }
}

/// Returns the source process or the wildcard, `None` for MPI_PROC_NULL, or [`Error::Rank`].
fn source_at(partners: Partners<'_>, rank: Rank) -> Result<Option<Option<CommRank>>, Error> {
    match rank {
        ANY_SOURCE => Ok(Some(None)),
        rank => Ok(destination_at(partners, rank)?.map(Some)),
    }
}
