//! Records of the program's calls, for `midplane run --trace`, `--html` and `--check`.
//!
//! A call of the binding records the MPI function that it implements, with its arguments, in the format of the C
//! recorder (`qemu/trace/src/record.rs`). The tool then analyses programs of both languages in the same way. The tool
//! builds the binding with the feature `options` for such a job, and links the functions that write the records.
//! Without the feature nothing here has an instruction.
//!
//! A recorded function has a word for each of its parameters at the begin, and one for each result at the end, in the
//! order of the standard. Some parameters have a list or a status instead.
//!
//! ```text
//! Call::enter       the call begins: its function, its source line, its arguments
//! Call::end_with       it ends: its error class, its results
//! ```
//!
//! The source line is that of the program if every function between the two has `track_caller`. The binding adds the
//! attribute to the functions that return an error with this feature only, because it costs an argument.

mod fields;
pub(crate) use fields::{Fields, RequestNumber};
#[cfg(feature = "options")]
mod state;
#[cfg(feature = "options")]
#[allow(unsafe_code)]
mod stream;
#[cfg(feature = "options")]
pub(crate) use state::RecordingState;

/// Writer of nothing.
#[cfg(not(feature = "options"))]
mod stream {
    use core::panic::Location;

    #[inline(always)]
    pub(super) fn enter(_: &'static str, _: &'static Location<'static>, _: impl FnOnce(&mut super::Fields)) {}

    #[inline(always)]
    pub(super) fn write_end(_: &'static str, _: i64, _: impl FnOnce(&mut super::Fields)) {}

    #[inline(always)]
    pub(super) fn communicator(_: &crate::topology::CommRecord) {}

    #[inline(always)]
    pub(super) fn open(_: &crate::process::ProcessState) {}
}

use alloc::rc::Rc;
use core::panic::Location;

use crate::process::ProcessState;
use crate::topology::{CommRecord, SimpleCommunicator};
use midplane_objects::error::Error;

/// A call that is recorded.
#[must_use = "it has an end"]
pub(crate) struct Call(&'static str);

impl Call {
    /// Records the begin of a call of this MPI function. `arguments` adds its arguments.
    #[inline(always)]
    #[cfg_attr(feature = "options", track_caller)]
    pub(crate) fn enter(function: &'static str, arguments: impl FnOnce(&mut Fields)) -> Call {
        stream::enter(function, Location::caller(), arguments);
        Call(function)
    }

    /// Records the end of the call with this result, and returns the result. `results` adds the results of the MPI
    /// function; it receives `None` for an error.
    #[inline(always)]
    pub(crate) fn end_with<T>(
        self,
        result: Result<T, Error>,
        results: impl FnOnce(&mut Fields, Option<&T>),
    ) -> Result<T, Error> {
        let class = |error: &Error| error.class() as i64;
        stream::write_end(self.0, result.as_ref().err().map_or(0, class), |fields| {
            results(fields, result.as_ref().ok());
        });
        result
    }
}

/// Starts the records of a process that has initialized MPI, if the tool reads them.
#[inline(always)]
#[cfg_attr(feature = "options", track_caller)]
pub(crate) fn record_start(here: &Rc<ProcessState>) {
    stream::open(here);
    // Its arguments are those of `main`.
    let call = Call::enter("MPI_Init", |fields| {
        fields.unknown(2);
    });
    let _ = call.end_with(Ok(()), |_, _| {});
    stream::communicator(&SimpleCommunicator::system(here, 0).record);
}

/// Records a call that creates a communicator. `record` returns the record of the new one.
#[cfg_attr(feature = "options", track_caller)]
#[inline(always)]
pub(crate) fn creating<T>(
    function: &'static str,
    arguments: impl FnOnce(&mut Fields),
    create: impl FnOnce() -> Result<T, Error>,
    record: impl for<'t> Fn(&'t T) -> Option<&'t CommRecord>,
) -> Result<T, Error> {
    let call = Call::enter(function, arguments);
    let result = create();
    let result = call.end_with(result, |fields, new| {
        fields.new_communicator(new.and_then(&record));
    });
    if let Ok(Some(new)) = result.as_ref().map(&record) {
        stream::communicator(new);
    }
    result
}

/// Records a communicator that a nonblocking call has created.
#[inline(always)]
pub(crate) fn record_communicator(new: &CommRecord) {
    stream::communicator(new);
}

impl RequestNumber {
    /// Returns the next number of this process.
    pub(crate) fn next() -> RequestNumber {
        RequestNumber(
            #[cfg(feature = "options")]
            stream::next_request(),
        )
    }
}
