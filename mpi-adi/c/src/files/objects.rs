//! Files by handle, and their state.

use alloc::ffi::CString;
use core::ffi::{c_int, c_longlong};

use spin::Mutex;

use super::default_handler;
use super::representations::Representation;
use crate::binding::env;
use crate::comm_objects::ErrorTarget;
use crate::datatypes::KnownDatatype;
use crate::error_dispatch::{end_under, note_errors};
use crate::handles::{HandleKind, HandleTable};
use crate::types::MPI_Status;
use crate::windows::SharedCounter;
use midplane_objects::comm::Communicator;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::op::PredefinedOp;
use midplane_objects::process::Env;
use midplane_objects::windows::wrong;

/// Maximum number of open files; each has a window.
const FILES: usize = 1 << 11;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Files,
    tag: 0x2a00_0000,
    place_bits: 11,
    generation_bits: 13,
    limit: FILES,
};

/// Bytes of an open file on a 64-bit machine.
pub(super) const OBJECT_BYTES: usize = 248;
const _: () = assert!(usize::BITS != 64 || size_of::<FileObject>() + 8 <= OBJECT_BYTES);

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_files")]
pub(super) static TABLE: Mutex<HandleTable<FileObject>> = Mutex::new(HandleTable::new(KIND));

/// View of a file (section 13.3).
#[derive(Clone)]
pub(super) struct View {
    /// In bytes.
    pub displacement: u64,
    pub etype: KnownDatatype,
    pub filetype: KnownDatatype,
    pub representation: Representation,
    /// Bytes of an etype in the file.
    pub etype_bytes: usize,
}

/// Kind of a split collective call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitCall {
    ReadAll,
    ReadAtAll,
    ReadOrdered,
    WriteAll,
    WriteAtAll,
    WriteOrdered,
}

/// An open file. A call uses a copy, so that it does not hold the table.
#[derive(Clone)]
pub(super) struct OpenFile {
    pub handle: c_int,
    pub descriptor: c_int,
    /// Access mode (section 13.2.1).
    pub mode: c_int,
    /// The shared pointer in etypes, the lock of atomic mode, and the communicator.
    pub shared: SharedCounter,
    pub is_atomic: bool,
    pub view: View,
}

pub(super) struct FileObject {
    pub file: OpenFile,
    /// The name, if the file is deleted when it is closed.
    pub deleted_name: Option<CString>,
    pub handler: c_int,
    /// The individual pointer, in etypes.
    pub position: u64,
    /// The split collective call in progress, and its status.
    pub split: Option<(SplitCall, MPI_Status)>,
}

const fn no_file() -> Error {
    wrong(ErrorClass::File, "fh names no open file")
}

/// Runs `f` on the state of the file, with exclusive access.
pub(super) fn with_object<R>(file: c_int, f: impl FnOnce(&mut FileObject) -> Result<R, Error>) -> Result<R, Error> {
    f(TABLE.lock().get_mut(file).ok_or(no_file())?)
}

/// Returns the error handler for a call on this file; for an invalid handle, the default one.
pub(super) fn error_target_of(file: c_int) -> ErrorTarget {
    match TABLE.lock().get(file) {
        Some(object) => {
            note_errors();
            ErrorTarget::new(file, object.handler)
        }
        None => default_handler::error_target(),
    }
}

/// Runs a call on an open file.
pub(super) fn on_file(function: &'static str, fh: c_int, call: impl FnOnce(FileCall) -> Result<(), Error>) -> c_int {
    let found = env().and_then(|env| {
        let file = with_object(fh, |object| Ok(object.file.clone()))?;
        Ok(FileCall { env, function, file })
    });
    // Without a success the handler is not required.
    match found.and_then(call) {
        Ok(()) => 0,
        error => end_under(function, error_target_of(fh), error),
    }
}

/// A file for the duration of a call.
pub(super) struct FileCall {
    pub env: &'static dyn Env,
    pub function: &'static str,
    pub file: OpenFile,
}

impl FileCall {
    /// Runs `f` on the state of the file, with exclusive access.
    pub fn with_object<R>(&self, f: impl FnOnce(&mut FileObject) -> Result<R, Error>) -> Result<R, Error> {
        with_object(self.file.handle, f)
    }

    /// Returns the communicator of the file, for its collective calls.
    pub fn comm(&self) -> Communicator<'static> {
        self.file.shared.comm(self.env)
    }

    /// Exchanges the results of all processes of the file: all fail if one has failed. A collective call, which blocks.
    pub fn agree<R>(&self, result: Result<R, Error>) -> Result<R, Error> {
        agree(self.comm(), result)
    }

    /// Exchanges the results of all processes, and compares a number that must be the same. Fails with class NotSame.
    pub fn agree_on<R>(&self, result: Result<R, Error>, number: c_longlong) -> Result<R, Error> {
        agree_on(self.comm(), result, number)
    }

    /// Runs `f` at process 0 of the file; all processes return its result. A collective call, which blocks. The
    /// processes leave it after `f` has returned.
    pub fn at_first(&self, f: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let result = if self.comm().rank() == 0 { f() } else { Ok(()) };
        self.agree(result)
    }
}

/// Implements [`FileCall::agree`].
pub(super) fn agree<R>(comm: Communicator<'static>, result: Result<R, Error>) -> Result<R, Error> {
    let class = result.as_ref().map_or_else(|error| error.class() as i64, |_| 0);
    let mut worst = [0];
    comm.allreduce_slices(&[class], &mut worst, PredefinedOp::Max)?;
    match (result, ErrorClass::from_code(worst[0] as i32)) {
        (Ok(result), None | Some(ErrorClass::Success)) => Ok(result),
        (Ok(_), Some(class)) => Err(wrong(class, "the call has failed at another process of the file")),
        (Err(error), _) => Err(error),
    }
}

/// Implements [`FileCall::agree_on`].
pub(super) fn agree_on<R>(
    comm: Communicator<'static>,
    result: Result<R, Error>,
    number: c_longlong,
) -> Result<R, Error> {
    let result = agree(comm, result)?;
    let mut least = [0; 2];
    comm.allreduce_slices(&[number, number.wrapping_neg()], &mut least, PredefinedOp::Min)?;
    if least[0] == least[1].wrapping_neg() {
        Ok(result)
    } else {
        Err(wrong(
            ErrorClass::NotSame,
            "an argument differs between the processes of the file",
        ))
    }
}
