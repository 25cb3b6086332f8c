//! Views (section 13.3), the individual pointer, and positions in bytes (section 13.4.3).

use core::ffi::{CStr, c_char, c_int, c_longlong};

use super::access::check_view;
use super::host;
use super::objects::{FileCall, View, on_file};
use super::representations::{MAX_NAME, Representation};
use crate::args;
use crate::counts::{Integer, put};
use crate::datatypes::{TypedElements, free_handle, known, new_handle};
use crate::infos;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::windows::wrong;

impl FileCall {
    /// Returns the view that the arguments specify. Fails with classes Arg, Type, UnsupportedDatarep, Disp.
    fn new_view(&self, disp: c_longlong, etype: c_int, filetype: c_int, datarep: &CStr) -> Result<View, Error> {
        let is_sequential = self.file.mode & MPI_MODE_SEQUENTIAL != 0;
        let displacement = match u64::try_from(disp) {
            _ if disp == MPI_DISPLACEMENT_CURRENT && is_sequential => {
                let position = self.file.shared.get(self.env, self.function)?;
                self.byte_offset(position as u64)?
            }
            Ok(displacement) => displacement,
            Err(_) => return Err(wrong(ErrorClass::Arg, "disp is negative")),
        };
        let representation = Representation::find(datarep.to_bytes())?;
        let (etype, filetype, etype_bytes) =
            check_view(etype, filetype, representation, self.file.mode & MPI_MODE_RDONLY != 0)?;
        Ok(View {
            displacement,
            etype,
            filetype,
            representation,
            etype_bytes,
        })
    }

    /// Returns the byte of the file at which an etype of the view begins.
    pub fn byte_offset(&self, etypes: u64) -> Result<u64, Error> {
        let view = &self.file.view;
        let beyond = Error::argument("an offset beyond the addresses of this machine");
        let begin = etypes.checked_mul(view.etype_bytes as u64).ok_or(beyond)?;
        let begin = isize::try_from(begin).map_err(|_| beyond)?;
        let mut offset = 0;
        let filetype = TypedElements::from_known(&view.filetype)?;
        filetype.runs_from(begin as usize, 1, |at, _, _| offset = at);
        Ok(view.displacement.wrapping_add_signed(offset as i64))
    }

    /// Returns the number of etypes of the view before the end of the file. A part of an etype counts as one.
    pub fn etypes_of_file(&self) -> Result<u64, Error> {
        let view = &self.file.view;
        let size = host::size_of_file(self.file.descriptor)?;
        let filetype = TypedElements::from_known(&view.filetype)?;
        let bytes = filetype.bytes_before(size.saturating_sub(view.displacement));
        Ok(bytes.div_ceil(view.etype_bytes as u64))
    }

    /// Returns the position that a seek specifies, from the `current` one. Fails with class Arg.
    pub fn target_of_seek(&self, offset: c_longlong, whence: c_int, current: u64) -> Result<u64, Error> {
        let from = match whence {
            MPI_SEEK_SET => 0,
            MPI_SEEK_CUR => current,
            MPI_SEEK_END => self.etypes_of_file()?,
            _ => {
                return Err(Error::argument(
                    "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END",
                ));
            }
        };
        let target = from
            .checked_add_signed(offset)
            .filter(|target| *target <= i64::MAX as u64);
        target.ok_or(Error::argument("a seek to a negative position"))
    }
}

pub unsafe fn MPI_File_set_view(
    fh: c_int,
    disp: c_longlong,
    etype: c_int,
    filetype: c_int,
    datarep: *const c_char,
    info: c_int,
) -> c_int {
    on_file("MPI_File_set_view", fh, |call| {
        let view = || {
            infos::check_hints(info)?;
            if datarep.is_null() {
                return Err(Error::NullArgument { name: "datarep" });
            }
            // SAFETY: the standard's requirements on `datarep`.
            let datarep = unsafe { CStr::from_ptr(datarep) };
            call.new_view(disp, etype, filetype, datarep)
        };
        // The pointer is reset after all processes have used it, and before one uses it again.
        let view = call.agree(view())?;
        call.at_first(|| call.file.shared.set(call.env, call.function, 0))?;
        call.with_object(|object| {
            object.file.view = view;
            object.position = 0;
            Ok(())
        })
    })
}

pub unsafe fn MPI_File_get_view(
    fh: c_int,
    disp: *mut c_longlong,
    etype: *mut Handle,
    filetype: *mut Handle,
    datarep: *mut c_char,
) -> c_int {
    on_file("MPI_File_get_view", fh, |call| {
        let view = &call.file.view;
        // SAFETY: the standard's requirements on the results.
        let (disp, etype, filetype, datarep) = unsafe {
            (
                args::out(disp, "disp")?,
                args::out(etype, "etype")?,
                args::out(filetype, "filetype")?,
                args::array_mut(datarep.cast::<u8>(), MAX_NAME, "datarep")?,
            )
        };
        let first = new_handle(&view.etype)?;
        let second = new_handle(&view.filetype).inspect_err(|_| {
            // A predefined one cannot be freed.
            let _ = free_handle(first);
        })?;
        let name = view.representation.name();
        datarep[..name.len()].copy_from_slice(name);
        datarep[name.len()] = 0;
        (*disp, *etype, *filetype) = (view.displacement as c_longlong, Handle::new(first), Handle::new(second));
        Ok(())
    })
}

pub unsafe fn MPI_File_seek(fh: c_int, offset: c_longlong, whence: c_int) -> c_int {
    on_file("MPI_File_seek", fh, |call| {
        call.check_not_sequential()?;
        let current = call.with_object(|object| Ok(object.position))?;
        let target = call.target_of_seek(offset, whence, current)?;
        call.with_object(|object| {
            object.position = target;
            Ok(())
        })
    })
}

pub unsafe fn MPI_File_get_position(fh: c_int, offset: *mut c_longlong) -> c_int {
    on_file("MPI_File_get_position", fh, |call| {
        call.check_not_sequential()?;
        // SAFETY: the standard's requirements on `offset`.
        let place = unsafe { args::out(offset, "offset") }?;
        *place = call.with_object(|object| Ok(object.position))? as c_longlong;
        Ok(())
    })
}

pub unsafe fn MPI_File_get_byte_offset(fh: c_int, offset: c_longlong, disp: *mut c_longlong) -> c_int {
    on_file("MPI_File_get_byte_offset", fh, |call| {
        call.check_not_sequential()?;
        // SAFETY: the standard's requirements on `disp`.
        let place = unsafe { args::out(disp, "disp") }?;
        let offset = u64::try_from(offset).map_err(|_| Error::argument("an offset that is negative"))?;
        *place = call.byte_offset(offset)? as c_longlong;
        Ok(())
    })
}

pub unsafe fn MPI_File_get_type_extent<A: Integer>(fh: c_int, datatype: c_int, extent: *mut A) -> c_int {
    on_file("MPI_File_get_type_extent", fh, |call| {
        // SAFETY: the standard's requirements on `extent`.
        let place = unsafe { args::out(extent, "extent") }?;
        let known = known(datatype)?;
        let facts = known.facts();
        let bytes = call.file.view.representation.file_bytes(&known)?;
        // Elements of another size have no holes in the file.
        put(
            place,
            if bytes == facts.size {
                facts.extent
            } else {
                bytes as isize
            },
        )
    })
}
