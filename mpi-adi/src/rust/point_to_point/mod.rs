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
pub use destination::Destination;
pub use exchange::{
    send_receive, send_receive_into, send_receive_into_with_tags, send_receive_replace_into,
    send_receive_replace_into_with_tags, send_receive_with_tags,
};
pub use message::{MatchedReceiveVec, Message};
pub use persistent::{Persistent, PersistentReceive, PersistentSend};
pub use source::Source;

use alloc::rc::Rc;
use core::fmt;

use crate::mpi::comm::{self, CommRank, Partners};
use crate::mpi::error::Error;
use crate::rust::datatype::Datatype;
use crate::rust::datatype::user::kind_of;
use crate::rust::topology::{AsCommunicator, Context, Rank, Record};
use crate::rust::{Count, Tag};

/// The traits of this module.
pub mod traits {
    pub use super::{Destination, MatchedReceiveVec, Persistent, Source};
}

/// MPI_PROC_NULL and MPI_ANY_SOURCE, as in `mpi.h`.
pub(crate) const PROC_NULL: Rank = -1;
pub(crate) const ANY_SOURCE: Rank = -2;
/// MPI_UNDEFINED.
const UNDEFINED: Count = -32766;

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

/// What is known of a message that was received or probed, or of a request that is complete (MPI-3.1 section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status {
    source: Rank,
    tag: Tag,
    bytes: usize,
    cancelled: bool,
}

impl Status {
    /// Of no message.
    pub(crate) const EMPTY: Status = Status {
        source: ANY_SOURCE,
        tag: -1,
        bytes: 0,
        cancelled: false,
    };
    /// Of a message from MPI_PROC_NULL.
    const OF_NULL: Status = Status {
        source: PROC_NULL,
        ..Status::EMPTY
    };

    pub(crate) fn of_send(cancelled: bool) -> Status {
        Status {
            cancelled,
            ..Status::EMPTY
        }
    }

    /// Who sent it.
    pub fn source_rank(&self) -> Rank {
        self.source
    }

    /// Its tag.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// How many elements of `d` it has (MPI_Get_count); -32766 (MPI_UNDEFINED), when they are not a whole number.
    pub fn count<D: Datatype>(&self, d: D) -> Count {
        let size = kind_of(&d).size();
        match size {
            0 => 0,
            size if self.bytes.is_multiple_of(size) => {
                Count::try_from(self.bytes / size).unwrap_or(UNDEFINED)
            }
            _ => UNDEFINED,
        }
    }

    /// Its length in bytes; of a message that was longer than its buffer, the buffer's.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// It was taken back before it was matched (MPI_Test_cancelled, MPI-3.1 section 3.8.4).
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

impl From<comm::Status> for Status {
    fn from(status: comm::Status) -> Status {
        Status {
            source: status.source as Rank,
            tag: status.tag,
            bytes: status.bytes,
            cancelled: false,
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status")
            .field("source_rank", &self.source)
            .field("tag", &self.tag)
            .finish()
    }
}

/// Panics when a value was to be received and nothing came.
#[track_caller]
pub(crate) fn not_empty(status: &Status) {
    assert!(
        status.bytes > 0 && !status.cancelled,
        "an empty message where a value was to be received"
    );
}
