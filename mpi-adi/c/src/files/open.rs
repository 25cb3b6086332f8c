//! Opening, closing and deleting of files, their size and hints (section 13.2), and consistency (section 13.6).

use alloc::ffi::CString;
use core::ffi::{CStr, c_char, c_int, c_longlong};

use super::access::{BUFFER_BYTES, buffer};
use super::default_handler::{HANDLER, error_target};
use super::host;
use super::objects::{FileCall, FileObject, OpenFile, TABLE, View, agree, agree_on, on_file};
use super::representations::Representation;
use crate::args;
use crate::binding::env;
use crate::comm_objects;
use crate::datatypes::known;
use crate::error_dispatch::{end_under, hold_handler, release_handler};
use crate::groups::enter_members;
use crate::infos;
use crate::types::Handle;
use crate::types::constants::*;
use crate::windows::SharedCounter;
use core::sync::atomic::Ordering;
use midplane_objects::comm::Communicator;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::process::Env;
use midplane_objects::windows::wrong;

const ACCESSES: c_int = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;
const MODES: c_int = ACCESSES
    | MPI_MODE_CREATE
    | MPI_MODE_EXCL
    | MPI_MODE_DELETE_ON_CLOSE
    | MPI_MODE_UNIQUE_OPEN
    | MPI_MODE_APPEND
    | MPI_MODE_SEQUENTIAL;

/// Checks an access mode. Fails with class Amode.
fn check_mode(mode: c_int) -> Result<(), Error> {
    let what = if mode & !MODES != 0 {
        "amode has a bit that is no access mode"
    } else if (mode & ACCESSES).count_ones() != 1 {
        "amode has not exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"
    } else if mode & MPI_MODE_RDONLY != 0 && mode & (MPI_MODE_CREATE | MPI_MODE_EXCL) != 0 {
        "amode has MPI_MODE_RDONLY with MPI_MODE_CREATE or MPI_MODE_EXCL"
    } else if mode & MPI_MODE_RDWR != 0 && mode & MPI_MODE_SEQUENTIAL != 0 {
        "amode has MPI_MODE_RDWR with MPI_MODE_SEQUENTIAL"
    } else {
        return Ok(());
    };
    Err(wrong(ErrorClass::Amode, what))
}

/// Copies a file name. Fails with class BadFile, and with [`Error::NoSpace`].
///
/// # Safety
/// A non-null `name` must point to a string.
unsafe fn file_name(name: *const c_char) -> Result<CString, Error> {
    if name.is_null() {
        return Err(Error::NullArgument { name: "filename" });
    }
    // SAFETY: guaranteed by the caller.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    let copy = midplane_objects::group::exact(bytes)?;
    CString::from_vec_with_nul(copy).map_err(|_| wrong(ErrorClass::BadFile, "filename is no string"))
}

fn flags_of(mode: c_int, creates: bool) -> c_int {
    let access = match mode & ACCESSES {
        MPI_MODE_RDONLY => host::READ_ONLY,
        MPI_MODE_WRONLY => host::WRITE_ONLY,
        _ => host::READ_WRITE,
    };
    let flag = |bit, flag| if creates && mode & bit != 0 { flag } else { 0 };
    access | flag(MPI_MODE_CREATE, host::CREATE) | flag(MPI_MODE_EXCL, host::EXCLUSIVE)
}

/// Opens the file at all processes: process 0 creates it, and the others open it. Fails at all if one has failed.
fn open_at_all(comm: Communicator<'static>, name: &CStr, mode: c_int) -> Result<c_int, Error> {
    let is_first = comm.rank() == 0;
    let first = if is_first {
        Some(host::open_file(name, flags_of(mode, true)))
    } else {
        None
    };
    let created = first.map_or(Ok(None), |first| first.map(Some));
    let created = match created {
        Ok(created) => agree(comm, Ok(created))?,
        Err(error) => return agree(comm, Err(error)),
    };
    let opened = created.map_or_else(|| host::open_file(name, flags_of(mode, false)), Ok);
    let descriptor = opened.as_ref().ok().copied();
    agree(comm, opened).inspect_err(|_| {
        if let Some(descriptor) = descriptor {
            let _ = host::close_file(descriptor);
        }
    })
}

/// Opens a file with the number that the processes share.
fn open_with(
    shared: SharedCounter,
    env: &'static dyn Env,
    function: &'static str,
    name: CString,
    mode: c_int,
) -> Result<c_int, Error> {
    let comm = shared.comm(env);
    let descriptor = open_at_all(comm, &name, mode)?;
    let enter = || {
        let bytes = known(MPI_BYTE)?;
        let position = match mode & MPI_MODE_APPEND {
            0 => 0,
            _ => host::size_of_file(descriptor)?,
        };
        if comm.rank() == 0 && position > 0 {
            shared.set(env, function, position as i64)?;
        }
        let handler = HANDLER.load(Ordering::Relaxed);
        let added = TABLE.lock().add(FileObject {
            file: OpenFile {
                handle: MPI_FILE_NULL,
                descriptor,
                mode,
                shared,
                is_atomic: false,
                view: View {
                    displacement: 0,
                    etype: bytes.clone(),
                    filetype: bytes,
                    representation: Representation::Native,
                    etype_bytes: 1,
                },
            },
            deleted_name: (mode & MPI_MODE_DELETE_ON_CLOSE != 0).then_some(name),
            handler,
            position,
            split: None,
        })?;
        hold_handler(handler);
        if let Some(object) = TABLE.lock().get_mut(added) {
            object.file.handle = added;
        }
        Ok(added)
    };
    let entered = enter();
    let handle = entered.as_ref().ok().copied();
    agree(comm, entered).inspect_err(|_| {
        if let Some(object) = handle.and_then(|handle| TABLE.lock().remove(handle)) {
            release_handler(object.handler);
        }
        let _ = host::close_file(descriptor);
    })
}

pub unsafe fn MPI_File_open(comm: c_int, filename: *const c_char, amode: c_int, info: c_int, fh: *mut Handle) -> c_int {
    let function = "MPI_File_open";
    let open = |env: &'static dyn Env| {
        let group = comm_objects::communicator(env, comm)?;
        // SAFETY: the standard's requirements on `fh` and `filename`.
        let arguments = unsafe {
            args::out(fh, "fh").and_then(|fh| {
                check_mode(amode)?;
                infos::check_hints(info)?;
                Ok((fh, file_name(filename)?))
            })
        };
        let (fh, name) = agree_on(group, arguments, amode.into())?;
        let shared = SharedCounter::new(function, comm, group)?;
        *fh = Handle::new(open_with(shared, env, function, name, amode).inspect_err(|_| shared.remove(env))?);
        Ok(())
    };
    end_under(function, error_target(), env().and_then(open))
}

pub unsafe fn MPI_File_close(fh: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `fh`.
    let handle = unsafe { fh.as_ref() }.copied().unwrap_or(Handle::new(MPI_FILE_NULL));
    on_file("MPI_File_close", handle.value(), |call| {
        let name = call.with_object(|object| match object.split {
            None => Ok(object.deleted_name.take()),
            Some(_) => Err(wrong(
                ErrorClass::Io,
                "a split collective call of the file is in progress",
            )),
        })?;
        let OpenFile { descriptor, shared, .. } = call.file;
        // The first error is returned; the file is closed in any case.
        let closed = call.agree(host::close_file(descriptor));
        let deleted = match name {
            Some(name) => call.at_first(|| host::delete_file(&name)),
            None => Ok(()),
        };
        shared.remove(call.env);
        let removed = TABLE.lock().remove(handle.value());
        if let Some(object) = removed {
            release_handler(object.handler);
        }
        // SAFETY: as above; not null, because it referred to a file.
        *unsafe { args::out(fh, "fh") }? = Handle::new(MPI_FILE_NULL);
        closed.and(deleted)
    })
}

pub unsafe fn MPI_File_delete(filename: *const c_char, info: c_int) -> c_int {
    let delete = |_| {
        infos::check_hints(info)?;
        // SAFETY: the standard's requirements on `filename`.
        let name = unsafe { file_name(filename) }?;
        host::delete_file(&name)
    };
    end_under("MPI_File_delete", error_target(), env().and_then(delete))
}

impl FileCall {
    /// Changes the size of the file at process 0, if all processes specify the same.
    fn change_size(&self, size: c_longlong, change: impl FnOnce(u64) -> Result<(), Error>) -> Result<(), Error> {
        let checked = match u64::try_from(size) {
            _ if self.file.mode & MPI_MODE_RDONLY != 0 => {
                Err(wrong(ErrorClass::ReadOnly, "the file was opened with MPI_MODE_RDONLY"))
            }
            Err(_) => Err(Error::argument("a size that is negative")),
            Ok(size) => Ok(size),
        };
        let size = self.agree_on(checked, size)?;
        self.at_first(|| change(size))
    }
}

pub unsafe fn MPI_File_set_size(fh: c_int, size: c_longlong) -> c_int {
    on_file("MPI_File_set_size", fh, |call| {
        call.change_size(size, |size| host::resize_file(call.file.descriptor, size))
    })
}

pub unsafe fn MPI_File_preallocate(fh: c_int, size: c_longlong) -> c_int {
    on_file("MPI_File_preallocate", fh, |call| {
        call.change_size(size, |size| {
            // Zeros that are written have space; a larger size alone has none.
            let mut at = host::size_of_file(call.file.descriptor)?;
            let zeros = buffer(BUFFER_BYTES, 1)?;
            while at < size {
                let piece = zeros.len().min(usize::try_from(size - at).unwrap_or(usize::MAX));
                host::write_at(call.file.descriptor, &zeros[..piece], at)?;
                at += piece as u64;
            }
            Ok(())
        })
    })
}

pub unsafe fn MPI_File_get_size(fh: c_int, size: *mut c_longlong) -> c_int {
    on_file("MPI_File_get_size", fh, |call| {
        // SAFETY: the standard's requirements on `size`.
        let place = unsafe { args::out(size, "size") }?;
        *place = host::size_of_file(call.file.descriptor)? as c_longlong;
        Ok(())
    })
}

pub unsafe fn MPI_File_get_amode(fh: c_int, amode: *mut c_int) -> c_int {
    on_file("MPI_File_get_amode", fh, |call| {
        // SAFETY: the standard's requirements on `amode`.
        *unsafe { args::out(amode, "amode") }? = call.file.mode;
        Ok(())
    })
}

pub unsafe fn MPI_File_get_group(fh: c_int, group: *mut Handle) -> c_int {
    on_file("MPI_File_get_group", fh, |call| {
        // SAFETY: the standard's requirements on `group`.
        let group = unsafe { args::out(group, "group") }?;
        let members = call.file.shared.membership();
        *group = Handle::new(enter_members(
            members.group(),
            comm_objects::session_in(members.context),
        )?);
        Ok(())
    })
}

pub unsafe fn MPI_File_get_info(fh: c_int, info_used: *mut Handle) -> c_int {
    on_file("MPI_File_get_info", fh, |_| {
        // SAFETY: the standard's requirements on `info_used`.
        let info = unsafe { args::out(info_used, "info_used") }?;
        // No hint has an effect.
        *info = Handle::new(infos::enter(&[])?);
        Ok(())
    })
}

pub unsafe fn MPI_File_set_info(fh: c_int, info: c_int) -> c_int {
    on_file("MPI_File_set_info", fh, |call| call.agree(infos::check_hints(info)))
}

pub unsafe fn MPI_File_set_atomicity(fh: c_int, flag: c_int) -> c_int {
    on_file("MPI_File_set_atomicity", fh, |call| {
        let is_atomic = flag != 0;
        call.agree_on(Ok(()), is_atomic.into())?;
        call.with_object(|object| {
            object.file.is_atomic = is_atomic;
            Ok(())
        })
    })
}

pub unsafe fn MPI_File_get_atomicity(fh: c_int, flag: *mut c_int) -> c_int {
    on_file("MPI_File_get_atomicity", fh, |call| {
        // SAFETY: the standard's requirements on `flag`.
        *unsafe { args::out(flag, "flag") }? = call.file.is_atomic.into();
        Ok(())
    })
}

pub unsafe fn MPI_File_sync(fh: c_int) -> c_int {
    on_file("MPI_File_sync", fh, |call| {
        let is_written = call.file.mode & MPI_MODE_RDONLY == 0;
        call.agree(if is_written {
            host::flush_file(call.file.descriptor)
        } else {
            Ok(())
        })
    })
}
