//! Arguments and results in a record.
#![forbid(unsafe_code)]

use crate::datatype::user::{DatatypeKind, kind_of};
use crate::datatype::{AsDatatype, Collection};
use crate::status::Status;
use crate::topology::{CommRecord, Rank};
use crate::{Count, Tag};

/// MPI_ANY_TAG, as in `mpi.h`.
const ANY_TAG: i64 = -2;
/// MPI_IN_PLACE, as in `mpi.h`.
const IN_PLACE: i64 = 1;
/// Handle of each datatype that a program has created: its elements are unknown to the tool.
const CREATED_DATATYPE: i64 = 0x8c00_0000;

/// MPI_REQUEST_NULL, as in `mpi.h`.
const REQUEST_NULL: i64 = 0x180;
/// Handle of the request with number 0. Those of `mpi.h` are smaller.
const FIRST_REQUEST: i64 = 0x1000;

/// Number of a request in the records; nothing without them.
#[derive(Clone, Copy)]
pub(crate) struct RequestNumber(#[cfg(feature = "options")] pub(super) u32);

impl RequestNumber {
    /// Returns the handle of the request in the records.
    pub(crate) fn handle(self) -> i64 {
        #[cfg(feature = "options")]
        let number: i64 = self.0.into();
        #[cfg(not(feature = "options"))]
        let number: i64 = 0;
        FIRST_REQUEST + number
    }
}

/// Words of a record, composed in the stream.
pub(crate) struct Fields {
    chunk: &'static mut [u64],
    count: usize,
    /// Publishes a full chunk, and returns the next one.
    next_chunk: fn() -> &'static mut [u64],
}

impl Fields {
    /// Begins a record in this chunk.
    #[cfg(feature = "options")]
    #[inline(always)]
    pub(super) fn new(chunk: &'static mut [u64], next_chunk: fn() -> &'static mut [u64]) -> Fields {
        Fields {
            chunk,
            count: 0,
            next_chunk,
        }
    }

    /// Returns the number of words since the start of the last chunk.
    #[cfg(feature = "options")]
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(super) fn add(&mut self, word: u64) {
        if self.count == self.chunk.len() {
            (self.chunk, self.count) = ((self.next_chunk)(), 0);
        }
        if let Some(place) = self.chunk.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }

    /// Adds a number or a handle.
    #[inline(always)]
    pub(crate) fn value(&mut self, value: impl Into<i64>) -> &mut Self {
        self.add(value.into() as u64);
        self
    }

    /// Adds arguments that no analysis requires, or the addresses of results.
    #[inline(always)]
    pub(crate) fn unknown(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.add(0);
        }
        self
    }

    /// Adds a list.
    pub(crate) fn list(&mut self, values: impl IntoIterator<Item = i64, IntoIter: Clone>) -> &mut Self {
        let values = values.into_iter();
        self.add(values.clone().count() as u64);
        for value in values {
            self.add(value as u64);
        }
        self
    }

    /// Adds address, number of elements and datatype of a buffer.
    pub(crate) fn buffer(&mut self, buffer: &(impl Collection + AsDatatype + ?Sized)) -> &mut Self {
        let address = core::ptr::from_ref(buffer).addr();
        self.elements(address, buffer.count(), kind_of(&buffer.as_datatype()))
    }

    /// Adds address, number of elements and datatype.
    pub(crate) fn elements(&mut self, address: usize, count: Count, kind: DatatypeKind<'_>) -> &mut Self {
        self.value(address as i64).value(count).datatype(Some(kind))
    }

    /// Adds the argument of a process without a buffer on this side.
    pub(crate) fn in_place(&mut self) -> &mut Self {
        self.value(IN_PLACE)
    }

    /// Adds a datatype.
    pub(crate) fn datatype(&mut self, kind: Option<DatatypeKind<'_>>) -> &mut Self {
        self.value(match kind {
            Some(DatatypeKind::Basic(basic)) => basic.handle().into(),
            Some(DatatypeKind::Made(_)) => CREATED_DATATYPE,
            None => 0,
        })
    }

    /// Adds a source or destination, and a tag; without a tag, MPI_ANY_TAG.
    pub(crate) fn envelope(&mut self, rank: Rank, tag: Option<Tag>) -> &mut Self {
        self.value(rank).value(tag.map_or(ANY_TAG, i64::from))
    }

    /// Adds a communicator.
    pub(crate) fn communicator(&mut self, record: &CommRecord) -> &mut Self {
        self.value(record.recorded_handle())
    }

    /// Adds a created communicator, or MPI_COMM_NULL.
    pub(super) fn new_communicator(&mut self, record: Option<&CommRecord>) -> &mut Self {
        const COMM_NULL: i64 = 0x100;
        self.value(record.map_or(COMM_NULL, |record| record.recorded_handle()))
    }

    /// Adds a request; without one, MPI_REQUEST_NULL.
    pub(crate) fn request(&mut self, number: Option<RequestNumber>) -> &mut Self {
        self.value(number.map_or(REQUEST_NULL, RequestNumber::handle))
    }

    /// Adds the status that a call has returned.
    pub(crate) fn add_status(&mut self, status: Option<&Status>) {
        self.status(status);
    }

    /// Adds a list of one status.
    pub(crate) fn statuses(&mut self, status: Option<&Status>) -> &mut Self {
        self.value(4).status(status)
    }

    /// Adds a status, by default an empty one.
    pub(crate) fn status(&mut self, status: Option<&Status>) -> &mut Self {
        let status = status.copied().unwrap_or_else(Status::empty);
        self.value(status.source_rank())
            .value(status.tag())
            .value(i64::from(status.is_cancelled()) << 32)
            .value(status.bytes() as i64)
    }
}
