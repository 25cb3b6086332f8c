//! Packing and unpacking (sections 4.2 and 4.3).

use core::ffi::{CStr, c_char, c_int, c_void};

use super::objects::known;
use super::typed_buffers::TypedElements;
use crate::args;
use crate::counts::{Integer, put, put_count};
use crate::error_dispatch::{on_any, on_process};
use midplane_device::interface::Device;
use midplane_objects::error::Error;
use midplane_objects::external32::{NativeElements, external_bytes, places};
use midplane_objects::process::Env;

pub unsafe fn MPI_Pack<C: Integer>(
    inbuf: *const c_void,
    incount: isize,
    datatype: c_int,
    outbuf: *mut c_void,
    outsize: isize,
    position: *mut C,
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
        let (from, to) = places(outsize, position.get(), bytes)?;
        // SAFETY: the standard's requirements on `outbuf`, which has `outsize` bytes.
        let out = unsafe { args::array_mut(outbuf.cast::<u8>(), to, "outbuf") }?;
        env.read(data.span().into(), &mut out[from..]);
        put(position, to as isize)
    })
}

pub unsafe fn MPI_Unpack<C: Integer>(
    inbuf: *const c_void,
    insize: isize,
    position: *mut C,
    outbuf: *mut c_void,
    outcount: isize,
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
        let (from, to) = places(insize, position.get(), bytes)?;
        // SAFETY: the standard's requirements on `inbuf`, which has `insize` bytes.
        let packed = unsafe { args::array(inbuf.cast::<u8>(), to, "inbuf") }?;
        env.write(data.span().into(), &packed[from..]);
        put(position, to as isize)
    })
}

pub unsafe fn MPI_Pack_size<C: Integer>(incount: isize, datatype: c_int, comm: c_int, size: *mut C) -> c_int {
    on_any("MPI_Pack_size", comm, |_, _| {
        // SAFETY: the standard's requirements on `size`.
        let size = unsafe { args::out(size, "size") }?;
        let each = known(datatype)?.facts().size;
        let bytes = each.saturating_mul(args::count(incount)?);
        put_count(size, Some(bytes));
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
struct ExternalBuffer<C> {
    buffer: *const c_void,
    count: isize,
    datatype: c_int,
    /// Bytes of the buffer.
    size: isize,
    position: *mut C,
}

impl<C: Integer> ExternalBuffer<C> {
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
            let (from, to) = places(self.size, position.get(), bytes)?;
            let sides = NativeElements {
                env,
                data: data.span().into(),
                datatype,
                count,
            };
            f(&sides, from, to)?;
            put(position, to as isize)
        })
    }
}

pub unsafe fn MPI_Pack_external<C: Integer>(
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: isize,
    datatype: c_int,
    outbuf: *mut c_void,
    outsize: C,
    position: *mut C,
) -> c_int {
    on_process("MPI_Pack_external", |env| {
        let external = ExternalBuffer {
            buffer: inbuf,
            count: incount,
            datatype,
            size: outsize.get(),
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

pub unsafe fn MPI_Unpack_external<C: Integer>(
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: C,
    position: *mut C,
    outbuf: *mut c_void,
    outcount: isize,
    datatype: c_int,
) -> c_int {
    on_process("MPI_Unpack_external", |env| {
        let external = ExternalBuffer {
            buffer: outbuf,
            count: outcount,
            datatype,
            size: insize.get(),
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

pub unsafe fn MPI_Pack_external_size<C: Integer>(
    datarep: *const c_char,
    incount: isize,
    datatype: c_int,
    size: *mut C,
) -> c_int {
    on_process("MPI_Pack_external_size", |_| {
        // SAFETY: the standard's requirements on `datarep` and `size`.
        let size = unsafe {
            check_representation(datarep)?;
            args::out(size, "size")?
        };
        let count = args::count(incount)?;
        let bytes = known(datatype)?.with_type(|datatype| external_bytes(datatype, count));
        put_count(
            size,
            match bytes {
                Ok(bytes) => Some(bytes),
                Err(Error::TooLong { .. }) => None,
                Err(error) => return Err(error),
            },
        );
        Ok(())
    })
}
