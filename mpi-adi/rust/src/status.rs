//! Status of a received message or a completed request.
#![forbid(unsafe_code)]

use core::fmt;

use crate::datatype::Datatype;
use crate::datatype::user::{kind_of, wrong_count};
use crate::topology::Rank;
use crate::{Count, Tag};
use midplane_objects::comm;
use midplane_objects::error::Error;

/// MPI_PROC_NULL and MPI_ANY_SOURCE, as in `mpi.h`.
pub(crate) const PROC_NULL: Rank = -3;
pub(crate) const ANY_SOURCE: Rank = -1;
const UNDEFINED: Count = -32766;

/// Status of a received or probed message, or of a completed request (MPI-3.1 section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status {
    source: Rank,
    tag: Tag,
    bytes: usize,
    cancelled: bool,
}

impl Status {
    /// Empty status: of no message.
    pub(crate) const EMPTY: Status = Status {
        source: ANY_SOURCE,
        tag: -2,
        bytes: 0,
        cancelled: false,
    };
    /// Status of a message from MPI_PROC_NULL.
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

    /// Returns an empty status, the initial status of a [generalized request](crate::request::GeneralizedOperation).
    pub fn empty() -> Status {
        Status::EMPTY
    }

    /// Returns a copy with this source rank.
    pub fn with_source_rank(self, source: Rank) -> Status {
        Status { source, ..self }
    }

    /// Returns a copy with this tag.
    pub fn with_tag(self, tag: Tag) -> Status {
        Status { tag, ..self }
    }

    /// Returns a copy with `count` basic elements of consecutive datatypes `d`, as [`elements`](Status::elements)
    /// counts them (MPI_Status_set_elements, MPI-3.1 section 12.3). Returns [`Error::Count`] if the count is not
    /// representable.
    pub fn with_elements<D: Datatype>(self, d: D, count: Count) -> Result<Status, Error> {
        let wrong = wrong_count(count);
        let elements = usize::try_from(count).map_err(|_| wrong)?;
        let bytes = kind_of(&d).bytes_of(elements).ok_or(wrong)?;
        Ok(Status { bytes, ..self })
    }

    /// Returns a copy with this cancelled flag (MPI_Status_set_cancelled, MPI-3.1 section 12.3).
    pub fn with_cancelled(self, cancelled: bool) -> Status {
        Status { cancelled, ..self }
    }

    /// Returns the sender's rank.
    pub fn source_rank(&self) -> Rank {
        self.source
    }

    /// Returns the tag.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// Returns the number of elements of `d` (MPI_Get_count), or -32766 (MPI_UNDEFINED) if it is not an integer.
    pub fn count<D: Datatype>(&self, d: D) -> Count {
        match kind_of(&d).size() {
            0 => 0,
            size if !self.bytes.is_multiple_of(size) => UNDEFINED,
            size => Count::try_from(self.bytes / size).unwrap_or(UNDEFINED),
        }
    }

    /// Returns the number of basic elements, as elements of `d`, the last of which may be partial (MPI_Get_elements,
    /// MPI-3.1 section 4.1.11), or -32766 (MPI_UNDEFINED) if it is not an integer.
    pub fn elements<D: Datatype>(&self, d: D) -> Count {
        let elements = kind_of(&d).elements_in(self.bytes);
        let elements = elements.and_then(|elements| Count::try_from(elements).ok());
        elements.unwrap_or(UNDEFINED)
    }

    /// Returns the received length in bytes. For a truncated message this is the buffer's length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks whether the request was cancelled before it matched (MPI_Test_cancelled, MPI-3.1 section 3.8.4).
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

/// Panics if a value was expected and no data was received.
#[track_caller]
pub(crate) fn not_empty(status: &Status) {
    assert!(
        status.bytes > 0 && !status.cancelled,
        "an empty message where a value was to be received"
    );
}
