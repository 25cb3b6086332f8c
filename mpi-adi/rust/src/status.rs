//! What is known of a message, or of a request that is complete.
#![forbid(unsafe_code)]

use core::fmt;

use crate::datatype::Datatype;
use crate::datatype::user::{kind_of, wrong_count};
use crate::topology::Rank;
use crate::{Count, Tag};
use midplane_objects::comm;
use midplane_objects::error::Error;

/// MPI_PROC_NULL and MPI_ANY_SOURCE, as in `mpi.h`.
pub(crate) const PROC_NULL: Rank = -1;
pub(crate) const ANY_SOURCE: Rank = -2;
/// MPI_UNDEFINED.
const UNDEFINED: Count = -32766;

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
    pub(crate) const OF_NULL: Status = Status {
        source: PROC_NULL,
        ..Status::EMPTY
    };

    pub(crate) fn of_send(cancelled: bool) -> Status {
        Status {
            cancelled,
            ..Status::EMPTY
        }
    }

    /// Of no message: what a [generalized request](crate::request::Generalized) begins from.
    pub fn empty() -> Status {
        Status::EMPTY
    }

    /// The same, from this rank.
    pub fn with_source_rank(self, source: Rank) -> Status {
        Status { source, ..self }
    }

    /// The same, with this tag.
    pub fn with_tag(self, tag: Tag) -> Status {
        Status { tag, ..self }
    }

    /// The same, of so many basic elements of datatypes `d`, one behind the other, as [`elements`](Status::elements) counts
    /// them (MPI_Status_set_elements, MPI-3.1 section 12.3). Fails with [`Error::Count`] where there are not so many.
    pub fn with_elements<D: Datatype>(self, d: D, count: Count) -> Result<Status, Error> {
        let wrong = wrong_count(count);
        let elements = usize::try_from(count).map_err(|_| wrong)?;
        let bytes = kind_of(&d).bytes_of(elements).ok_or(wrong)?;
        Ok(Status { bytes, ..self })
    }

    /// The same, taken back, or not (MPI_Status_set_cancelled, MPI-3.1 section 12.3).
    pub fn with_cancelled(self, cancelled: bool) -> Status {
        Status { cancelled, ..self }
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
        match kind_of(&d).size() {
            0 => 0,
            size if !self.bytes.is_multiple_of(size) => UNDEFINED,
            size => Count::try_from(self.bytes / size).unwrap_or(UNDEFINED),
        }
    }

    /// How many basic elements it has, as elements of `d`, the last of which may be there in part (MPI_Get_elements, MPI-3.1
    /// section 4.1.11); -32766 (MPI_UNDEFINED), when they are not a whole number.
    pub fn elements<D: Datatype>(&self, d: D) -> Count {
        let elements = kind_of(&d).elements_in(self.bytes);
        let elements = elements.and_then(|elements| Count::try_from(elements).ok());
        elements.unwrap_or(UNDEFINED)
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
