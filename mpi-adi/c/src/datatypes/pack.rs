//! Packing and unpacking (sections 4.2 and 4.3).

use core::ffi::{CStr, c_char, c_int, c_void};

use super::objects::known;
use super::typed_buffers::TypedElements;
use crate::args;
use crate::error_dispatch::{on_any, on_process};
use crate::types::constants::MPI_UNDEFINED;
use midplane_device::interface::Device;
use midplane_objects::error::Error;
use midplane_objects::external32::{NativeElements, external_bytes, places};
use midplane_objects::process::Env;

pub unsafe fn MPI_Pack(
    inbuf: *const c_void,
    incount: c_int,
    datatype: c_int,
    outbuf: *mut c_void,
    outsize: c_int,
    position: *mut c_int,
    comm: c_int,
) -> c_int {
    on_any("MPI_Pack", comm, |env, _| {
        // SAFETY: the standard's requirements on `inbuf` and `position`.
        let (data, position) = unsafe {
            (
                args::buffer(inbuf, incount, datatype)?,
                args::out(position, "position")?,
            )
        };
        let bytes = data.span().len();
        let (from, to) = places(outsize as isize, *position as isize, bytes)?;
        // SAFETY: the standard's requirements on `outbuf`, which has `outsize` bytes.
        let out = unsafe { args::array_mut(outbuf.cast::<u8>(), to, "outbuf") }?;
        env.read(data.span().into(), &mut out[from..]);
        *position = to as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Unpack(
    inbuf: *const c_void,
    insize: c_int,
    position: *mut c_int,
    outbuf: *mut c_void,
    outcount: c_int,
    datatype: c_int,
    comm: c_int,
) -> c_int {
    on_any("MPI_Unpack", comm, |env, _| {
        // SAFETY: the standard's requirements on `outbuf` and `position`.
        let (data, position) = unsafe {
            (
                args::buffer(outbuf, outcount, datatype)?,
                args::out(position, "position")?,
            )
        };
        let bytes = data.span().len();
        let (from, to) = places(insize as isize, *position as isize, bytes)?;
        // SAFETY: the standard's requirements on `inbuf`, which has `insize` bytes.
        let packed = unsafe { args::array(inbuf.cast::<u8>(), to, "inbuf") }?;
        env.write(data.span().into(), &packed[from..]);
        *position = to as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Pack_size(incount: c_int, datatype: c_int, comm: c_int, size: *mut c_int) -> c_int {
    on_any("MPI_Pack_size", comm, |_, _| {
        // SAFETY: the standard's requirements on `size`.
        let size = unsafe { args::out(size, "size") }?;
        let each = known(datatype)?.facts().size;
        let bytes = each.saturating_mul(args::count(incount)?);
        *size = c_int::try_from(bytes).unwrap_or(MPI_UNDEFINED);
        Ok(())
    })
}

/// Checks that the representation is the only supported one.
///
/// # Safety
/// A non-null `datarep` must point to a string.
unsafe fn check_representation(datarep: *const c_char) -> Result<(), Error> {
    if datarep.is_null() {
        return Err(Error::NullArgument { name: "datarep" });
    }
    // SAFETY: guaranteed by the caller.
    match unsafe { CStr::from_ptr(datarep) }.to_bytes() {
        b"external32" => Ok(()),
        _ => Err(Error::Argument {
            what: "a data representation other than \"external32\"",
        }),
    }
}

/// Elements of the program, and its buffer in external32 representation.
struct ExternalBuffer {
    buffer: *const c_void,
    count: c_int,
    datatype: c_int,
    /// Bytes of the buffer.
    size: isize,
    position: *mut isize,
}

impl ExternalBuffer {
    /// Locates the elements and their bytes in the buffer, runs `f` with them, and advances the position.
    ///
    /// # Safety
    /// `datarep`, `buffer` and `position` must satisfy the standard's requirements of the two functions.
    unsafe fn each(
        self,
        env: &'static dyn Env,
        datarep: *const c_char,
        f: impl FnOnce(&NativeElements<'_>, usize, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let count = args::count(self.count)?;
        // SAFETY: guaranteed by the caller.
        let (data, position) = unsafe {
            check_representation(datarep)?;
            (
                TypedElements::from_handle(self.datatype)?.at(self.buffer, count)?,
                args::out(self.position, "position")?,
            )
        };
        known(self.datatype)?.with_type(|datatype| {
            let bytes = external_bytes(datatype, count)?;
            let (from, to) = places(self.size, *position, bytes)?;
            let sides = NativeElements {
                env,
                data: data.span().into(),
                datatype,
                count,
            };
            f(&sides, from, to)?;
            *position = to as isize;
            Ok(())
        })
    }
}

pub unsafe fn MPI_Pack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: c_int,
    datatype: c_int,
    outbuf: *mut c_void,
    outsize: isize,
    position: *mut isize,
) -> c_int {
    on_process("MPI_Pack_external", |env| {
        let external = ExternalBuffer {
            buffer: inbuf,
            count: incount,
            datatype,
            size: outsize,
            position,
        };
        // SAFETY: the standard's requirements on `datarep`, `inbuf` and `position`, and about `outbuf`, which has
        // `outsize` bytes.
        unsafe {
            external.each(env, datarep, |sides, from, to| {
                let out = args::array_mut(outbuf.cast::<u8>(), to, "outbuf")?;
                sides.encode(&mut out[from..]);
                Ok(())
            })
        }
    })
}

pub unsafe fn MPI_Unpack_external(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: isize,
    position: *mut isize,
    outbuf: *mut c_void,
    outcount: c_int,
    datatype: c_int,
) -> c_int {
    on_process("MPI_Unpack_external", |env| {
        let external = ExternalBuffer {
            buffer: outbuf,
            count: outcount,
            datatype,
            size: insize,
            position,
        };
        // SAFETY: the standard's requirements on `datarep`, `outbuf` and `position`, and about `inbuf`, which has
        // `insize` bytes.
        unsafe {
            external.each(env, datarep, |sides, from, to| {
                let packed = args::array(inbuf.cast::<u8>(), to, "inbuf")?;
                sides.decode(&packed[from..]);
                Ok(())
            })
        }
    })
}

pub unsafe fn MPI_Pack_external_size(
    datarep: *const c_char,
    incount: c_int,
    datatype: c_int,
    size: *mut isize,
) -> c_int {
    on_process("MPI_Pack_external_size", |_| {
        // SAFETY: the standard's requirements on `datarep` and `size`.
        let size = unsafe {
            check_representation(datarep)?;
            args::out(size, "size")?
        };
        let count = args::count(incount)?;
        let bytes = known(datatype)?.with_type(|datatype| external_bytes(datatype, count));
        *size = match bytes {
            Ok(bytes) => bytes as isize,
            Err(Error::TooLong { .. }) => MPI_UNDEFINED as isize,
            Err(error) => return Err(error),
        };
        Ok(())
    })
}
