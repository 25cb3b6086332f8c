//! Transfer of data between a buffer of the program and a file, through the file's view.
//!
//! The data of a view are a stream of packed bytes: those of its file type, again and again. An access at offset *o* begins
//! at byte *o* times the bytes of an etype.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use super::host;
use super::objects::FileCall;
use super::representations::{Representation, check_holes};
use crate::args;
use crate::datatypes::{KnownDatatype, TypedElements, known};
use crate::types::MPI_Status;
use crate::types::constants::*;
use midplane_device::interface::Device;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::external32::NativeElements;
use midplane_objects::windows::wrong;

/// Maximum size of the buffer of a transfer, unless one element of a converted representation is longer.
pub(super) const BUFFER_BYTES: usize = if usize::BITS < 64 { 512 } else { 64 << 10 };
/// Size of the buffer if the heap has no space for a larger one.
const MIN_BUFFER_BYTES: usize = 256;

/// Buffer of a call, as the program has specified it.
#[derive(Clone, Copy)]
pub(super) struct DataArgs {
    pub buffer: *const c_void,
    pub count: isize,
    pub datatype: c_int,
}

/// Direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferKind {
    Read,
    Write,
}

/// Data of a call, with their number of bytes.
pub(super) struct FileData {
    args: DataArgs,
    count: usize,
    known: KnownDatatype,
    elements: TypedElements,
    /// Bytes of an element in the file.
    file_bytes: usize,
    /// Number of etypes.
    pub etypes: u64,
}

/// Allocates a buffer of `bytes` bytes, or of at least `least`. Fails with [`Error::NoSpace`].
pub(super) fn buffer(bytes: usize, least: usize) -> Result<Vec<u8>, Error> {
    let mut buffer = Vec::new();
    let mut room = bytes;
    while buffer.try_reserve_exact(room).is_err() {
        if room <= least {
            return Err(Error::NoSpace { bytes: least });
        }
        room = (room / 2).max(least);
    }
    buffer.resize(room, 0);
    Ok(buffer)
}

/// Contiguous bytes of a file that the next piece may continue.
#[derive(Clone, Copy)]
struct FileRun {
    at: u64,
    done: usize,
    len: usize,
}

impl FileCall {
    /// Checks the buffer of a call, and that the file's mode permits it. Fails with classes Access, ReadOnly,
    /// UnsupportedOperation, and like [`TypedElements::from_handle`].
    pub fn check_data(&self, kind: TransferKind, args: DataArgs, is_shared: bool) -> Result<FileData, Error> {
        let mode = self.file.mode;
        if kind == TransferKind::Read && mode & MPI_MODE_WRONLY != 0 {
            return Err(wrong(ErrorClass::Access, "the file was opened with MPI_MODE_WRONLY"));
        }
        if kind == TransferKind::Write && mode & MPI_MODE_RDONLY != 0 {
            return Err(wrong(ErrorClass::ReadOnly, "the file was opened with MPI_MODE_RDONLY"));
        }
        if !is_shared {
            self.check_not_sequential()?;
        }
        let known = known(args.datatype)?;
        let elements = TypedElements::from_handle(args.datatype)?;
        let count = args::count(args.count)?;
        elements.check(args.buffer, 0, count)?;
        let view = &self.file.view;
        let file_bytes = view.representation.file_bytes(&known)?;
        let too_long = Error::TooLong { bytes: usize::MAX };
        let all = { file_bytes.checked_mul(count) }.filter(|all| isize::try_from(*all).is_ok());
        let all = all.ok_or(too_long)?;
        if !all.is_multiple_of(view.etype_bytes) {
            return Err(Error::argument("data that are no multiple of the view's etype"));
        }
        Ok(FileData {
            args,
            count,
            known,
            elements,
            file_bytes,
            etypes: (all / view.etype_bytes) as u64,
        })
    }

    /// Fails with class UnsupportedOperation if the file permits the shared pointer only.
    pub fn check_not_sequential(&self) -> Result<(), Error> {
        match self.file.mode & MPI_MODE_SEQUENTIAL {
            0 => Ok(()),
            _ => Err(wrong(
                ErrorClass::UnsupportedOperation,
                "the file was opened with MPI_MODE_SEQUENTIAL, which permits the shared pointer only",
            )),
        }
    }

    /// Transfers data at an offset of `start` etypes, and returns the status. Blocks. Fails with the classes of section
    /// 13.7, and with [`Error::NoSpace`]; a part may have been transferred then.
    pub fn transfer(&self, kind: TransferKind, start: u64, data: &FileData) -> Result<MPI_Status, Error> {
        let begin = start.checked_mul(self.file.view.etype_bytes as u64);
        let begin = begin.and_then(|begin| isize::try_from(begin).ok());
        let begin = begin.ok_or(Error::argument("an offset beyond the addresses of this machine"))?;
        let run = || match self.file.view.representation {
            Representation::Native | Representation::Internal => self.transfer_native(kind, begin as usize, data),
            _ => self.transfer_converted(kind, begin as usize, data),
        };
        let bytes = if data.etypes == 0 {
            0
        } else if self.file.is_atomic {
            self.file.shared.exclusively(self.env, self.function, run)?
        } else {
            run()?
        };
        Ok(MPI_Status {
            midplane_bytes: bytes as core::ffi::c_longlong,
            MPI_ERROR: MPI_SUCCESS,
            ..MPI_Status::EMPTY
        })
    }

    fn transfer_native(&self, kind: TransferKind, begin: usize, data: &FileData) -> Result<usize, Error> {
        let DataArgs { buffer: memory, .. } = data.args;
        // SAFETY: the standard's requirements on the buffer of the call, whose addresses were checked.
        let program = unsafe { data.elements.at(memory, data.count) }?;
        let all = program.span().len();
        let slice = BufferSlice::from(program.span());
        let mut room = buffer(all.min(BUFFER_BYTES), all.min(MIN_BUFFER_BYTES))?;
        let mut done = 0;
        while done < all {
            let piece = room.len().min(all - done);
            let bytes = &mut room[..piece];
            let part = slice.part(done, piece);
            let moved = match kind {
                TransferKind::Write => {
                    self.env.read(part, bytes);
                    self.write_stream(begin + done, bytes)?;
                    piece
                }
                TransferKind::Read => {
                    let got = self.read_stream(begin + done, bytes)?;
                    if got > 0 {
                        self.env.write(slice.part(done, got), &bytes[..got]);
                    }
                    got
                }
            };
            done += moved;
            if moved < piece {
                break;
            }
        }
        Ok(done)
    }

    /// Transfers whole elements and converts them.
    fn transfer_converted(&self, kind: TransferKind, begin: usize, data: &FileData) -> Result<usize, Error> {
        let one = data.file_bytes.max(1);
        let per_buffer = (BUFFER_BYTES / one).clamp(1, data.count);
        let mut room = buffer(per_buffer * one, one)?;
        let per_buffer = room.len() / one;
        let mut done = 0;
        while done < data.count {
            let count = per_buffer.min(data.count - done);
            let (bytes, at) = (&mut room[..count * one], begin + done * one);
            let moved = match kind {
                TransferKind::Write => {
                    self.convert(kind, data, done, count, bytes)?;
                    self.write_stream(at, bytes)?;
                    count
                }
                TransferKind::Read => {
                    let whole = self.read_stream(at, bytes)? / one;
                    self.convert(kind, data, done, whole, &mut bytes[..whole * one])?;
                    whole
                }
            };
            done += moved;
            if moved < count {
                break;
            }
        }
        Ok(done * data.elements.size())
    }

    /// Converts `count` elements from index `first` to or from `bytes`.
    fn convert(
        &self,
        kind: TransferKind,
        data: &FileData,
        first: usize,
        count: usize,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let DataArgs { buffer, datatype, .. } = data.args;
        let behind = first as isize * data.elements.extent();
        let place = buffer.wrapping_byte_offset(behind);
        if let Some(functions) = self.file.view.representation.functions() {
            // SAFETY: the standard's requirements on the buffer of the call; `bytes` are those of the elements.
            if unsafe { functions.convert(kind == TransferKind::Read, place.cast_mut(), datatype, count, bytes) }? {
                return Ok(());
            }
        }
        // SAFETY: the standard's requirements on the buffer of the call, whose addresses were checked.
        let program = unsafe { data.elements.at(place, count) }?;
        let slice = BufferSlice::from(program.span());
        if let Representation::Registered(_) = self.file.view.representation {
            // MPI_CONVERSION_FN_NULL: the representation is that of the memory.
            let bytes_of_all = slice.len().min(bytes.len());
            let part = slice.part(0, bytes_of_all);
            match kind {
                TransferKind::Read => self.env.write(part, &bytes[..bytes_of_all]),
                TransferKind::Write => self.env.read(part, &mut bytes[..bytes_of_all]),
            }
            return Ok(());
        }
        data.known.with_type(|datatype| {
            let native = NativeElements {
                env: self.env,
                data: slice,
                datatype,
                count,
            };
            match kind {
                TransferKind::Read => native.decode(bytes),
                TransferKind::Write => native.encode(bytes),
            }
            Ok(())
        })
    }

    /// Runs `f` on the contiguous pieces of `bytes` bytes of the view's stream from byte `begin`, in order, until it
    /// returns false.
    fn for_each_run(
        &self,
        begin: usize,
        bytes: usize,
        mut f: impl FnMut(FileRun) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let view = &self.file.view;
        let filetype = TypedElements::from_known(&view.filetype)?;
        let mut pending: Option<FileRun> = None;
        let mut result = Ok(true);
        filetype.runs_from(begin, bytes, |at, done, len| {
            let at = view.displacement.wrapping_add_signed(at as i64);
            match &mut pending {
                Some(before) if before.at + before.len as u64 == at => before.len += len,
                _ => {
                    if let (Some(before), Ok(true)) = (pending, result) {
                        result = f(before);
                    }
                    pending = Some(FileRun { at, done, len });
                }
            }
        });
        match (pending, result) {
            (Some(last), Ok(true)) => f(last).map(|_| ()),
            (_, result) => result.map(|_| ()),
        }
    }

    fn write_stream(&self, begin: usize, bytes: &[u8]) -> Result<(), Error> {
        self.for_each_run(begin, bytes.len(), |FileRun { at, done, len }| {
            host::write_at(self.file.descriptor, &bytes[done..done + len], at).map(|()| true)
        })
    }

    /// Reads up to the end of the file; returns the number of bytes.
    fn read_stream(&self, begin: usize, bytes: &mut [u8]) -> Result<usize, Error> {
        let mut got = 0;
        self.for_each_run(begin, bytes.len(), |FileRun { at, done, len }| {
            let more = host::read_at(self.file.descriptor, &mut bytes[done..done + len], at)?;
            got += more;
            Ok(more == len)
        })?;
        Ok(got)
    }
}

/// Checks the datatypes of a view; returns the bytes of an etype in the file. Fails with classes Arg, Type,
/// UnsupportedDatarep.
pub(super) fn check_view(
    etype: c_int,
    filetype: c_int,
    representation: Representation,
    is_read_only: bool,
) -> Result<(KnownDatatype, KnownDatatype, usize), Error> {
    // Both must be committed.
    TypedElements::from_handle(etype)?;
    let elements = TypedElements::from_handle(filetype)?;
    let (etype, filetype) = (known(etype)?, known(filetype)?);
    let (unit, bytes) = (
        representation.file_bytes(&etype)?,
        representation.file_bytes(&filetype)?,
    );
    if unit == 0 || bytes == 0 || !bytes.is_multiple_of(unit) {
        return Err(Error::argument(
            "a filetype that does not consist of etypes, or an etype without data",
        ));
    }
    if !elements.is_file_type(is_read_only) {
        return Err(wrong(
            ErrorClass::Io,
            "the displacements of the filetype are negative or decrease, or its elements overlap in a file that can be \
             written",
        ));
    }
    check_holes(representation, &filetype, &elements)?;
    Ok((etype, filetype, unit))
}
