//! Point to point: what one process sends and another receives (MPI-3.1 chapter 3).
//!
//! ```
//! # use mpi_adi::rust as mpi;
//! use mpi::traits::*;
//!
//! /// Rank 0 gets everyone's numbers, however many each has.
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
#[allow(unsafe_code)]
mod destination;
#[allow(unsafe_code)]
mod exchange;
#[allow(unsafe_code)]
mod message;
mod persistent;
#[allow(unsafe_code)]
mod source;

pub use crate::rust::request::ReceiveFuture;
pub use crate::rust::status::Status;
pub(crate) use crate::rust::status::{ANY_SOURCE, PROC_NULL, not_empty};
pub use destination::Destination;
pub use exchange::{
    send_receive, send_receive_into, send_receive_into_with_tags, send_receive_replace_into,
    send_receive_replace_into_with_tags, send_receive_with_tags, try_send_receive_into_with_tags,
    try_send_receive_replace_into_with_tags,
};
pub use message::{MatchedReceiveVec, Message};
pub use persistent::{Persistent, PersistentMessage, PersistentReceive, PersistentSend};
pub use source::Source;

use alloc::rc::Rc;

use crate::mpi::comm::{CommRank, Partners};
use crate::mpi::error::Error;
use crate::rust::topology::{AsCommunicator, Context, Rank, Record};

/// The traits of this module.
pub mod traits {
    pub use super::{Destination, MatchedReceiveVec, Persistent, Source};
}

/// Whom a message goes to or comes from.
#[derive(Clone, Copy)]
enum Peer {
    Null,
    Any,
    Rank(CommRank),
}

impl Peer {
    /// What a receive takes; `None`: MPI_PROC_NULL.
    fn source(self) -> Option<Option<CommRank>> {
        match self {
            Peer::Null => None,
            Peer::Any => Some(None),
            Peer::Rank(rank) => Some(Some(rank)),
        }
    }
}

/// What an end of messages is of.
fn record<A: AsCommunicator + ?Sized>(of: &A) -> &Rc<Record> {
    of.as_communicator().record()
}

/// The peer with a rank. Fails with [`Error::Rank`].
fn peer(partners: Partners<'_>, rank: Rank) -> Result<Peer, Error> {
    match rank {
        PROC_NULL => Ok(Peer::Null),
        ANY_SOURCE => Ok(Peer::Any),
        rank => Ok(Peer::Rank(partners.group().rank(rank.into())?)),
    }
}
