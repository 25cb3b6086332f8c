//! Info objects, and memory for messages (chapter 9 and section 8.2).
//!
//! This library supports no hints for communicators, so the info object of a communicator is empty.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::alloc::Layout;
use core::ffi::{CStr, c_char, c_int, c_void};

use spin::Mutex;

use super::args;
use super::binding::any_env;
use super::error_dispatch::{at_any_time, early, on_any, on_process};
use super::handles::{HandleKind, HandleTable};
use super::types::Handle;
use super::types::constants::*;
use midplane_objects::comm::Communicator;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::info::{self, Info, MAX_KEY, MAX_VALUE, check_key};
use midplane_objects::process::Env;

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Infos,
    tag: 0x1c00_0000,
    place_bits: 14,
    generation_bits: 12,
    limit: 1 << 14,
};

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<HandleTable<Info>> = Mutex::new(HandleTable::new(KIND));

const NO_INFO: Error = Error::Wrong {
    class: ErrorClass::Info,
    what: "info names no info object",
};

/// Returns the name of the level of thread support.
pub(super) fn thread_level_name() -> &'static [u8] {
    match super::binding::THREAD_LEVEL.load(core::sync::atomic::Ordering::Relaxed) {
        MPI_THREAD_SINGLE => b"MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => b"MPI_THREAD_FUNNELED",
        MPI_THREAD_MULTIPLE => b"MPI_THREAD_MULTIPLE",
        _ => b"MPI_THREAD_SERIALIZED",
    }
}

fn environment(env: &dyn Env) -> Result<Info, Error> {
    info::environment(Communicator::world(env).size(), thread_level_name())
}

/// Runs `f` on the info object for reading.
fn with_info<R>(env: &dyn Env, handle: c_int, f: impl FnOnce(&Info) -> Result<R, Error>) -> Result<R, Error> {
    if handle == MPI_INFO_ENV {
        return f(&environment(env)?);
    }
    f(TABLE.lock().get(handle).ok_or(NO_INFO)?)
}

/// Runs `f` on the info object for modification. Fails for MPI_INFO_ENV.
fn with_info_mut<R>(handle: c_int, f: impl FnOnce(&mut Info) -> Result<R, Error>) -> Result<R, Error> {
    if handle == MPI_INFO_ENV {
        return Err(Error::Wrong {
            class: ErrorClass::Info,
            what: "MPI_INFO_ENV can be read and not changed",
        });
    }
    f(TABLE.lock().get_mut(handle).ok_or(NO_INFO)?)
}

/// Adds an info object with these keys and returns its handle. Fails with [`Error::Limit`] or [`Error::NoSpace`].
pub(super) fn enter(pairs: &[(&[u8], &[u8])]) -> Result<c_int, Error> {
    let mut info = Info::new();
    for (key, value) in pairs {
        info.set(key, value)?;
    }
    TABLE.lock().add(info)
}

/// Fails with [`Error::Wrong`] unless `handle` is MPI_INFO_NULL or a valid info object.
pub(super) fn check_hints(handle: c_int) -> Result<(), Error> {
    match handle {
        MPI_INFO_NULL | MPI_INFO_ENV => Ok(()),
        _ => TABLE.lock().get(handle).map(|_| ()).ok_or(NO_INFO),
    }
}

/// Returns the value of a boolean key; `None` if it is neither true nor false.
pub(super) fn flag(env: &dyn Env, handle: c_int, key: &[u8]) -> Result<Option<bool>, Error> {
    if handle == MPI_INFO_NULL {
        return Ok(None);
    }
    with_info(env, handle, |info| Ok(info.flag(key)))
}

/// Checks whether a key has this value.
pub(super) fn has_value(env: &dyn Env, handle: c_int, key: &[u8], value: &[u8]) -> Result<bool, Error> {
    if handle == MPI_INFO_NULL {
        return Ok(false);
    }
    with_info(env, handle, |info| Ok(info.get(key) == Some(value)))
}

/// Returns the value of a key.
pub(super) fn value(env: &dyn Env, handle: c_int, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    if handle == MPI_INFO_NULL {
        return Ok(None);
    }
    with_info(env, handle, |info| Ok(info.get(key).map(<[u8]>::to_vec)))
}

/// Sets the value of a key.
pub(super) fn set_value(handle: c_int, key: &[u8], value: &[u8]) -> Result<(), Error> {
    with_info_mut(handle, |info| info.set(key, value))
}

/// Returns the bytes of a string without the terminating zero.
///
/// # Safety
/// A non-null `from` must point to a string that does not change for `'a`.
pub(super) unsafe fn raw<'a>(from: *const c_char, name: &'static str) -> Result<&'a [u8], Error> {
    if from.is_null() {
        return Err(Error::NullArgument { name });
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { CStr::from_ptr(from) }.to_bytes())
}

/// Copies `bytes`, truncated to fit in `room` bytes with a terminating zero.
///
/// # Safety
/// A non-null `to` must have capacity for `room` bytes, at least 1.
unsafe fn put(to: *mut c_char, room: usize, bytes: &[u8], name: &'static str) -> Result<(), Error> {
    // SAFETY: guaranteed by the caller.
    let to = unsafe { args::array_mut(to.cast::<u8>(), room, name) }?;
    let len = bytes.len().min(room - 1);
    to[..len].copy_from_slice(&bytes[..len]);
    to[len] = 0;
    Ok(())
}

pub unsafe fn MPI_Info_create(info: *mut Handle) -> c_int {
    at_any_time("MPI_Info_create", |_| {
        // SAFETY: the standard's requirements on `info`.
        *unsafe { args::out(info, "info") }? = Handle::new(TABLE.lock().add(Info::new())?);
        Ok(())
    })
}

pub unsafe fn MPI_Info_dup(info: c_int, newinfo: *mut Handle) -> c_int {
    at_any_time("MPI_Info_dup", |env| {
        // SAFETY: the standard's requirements on `newinfo`.
        let newinfo = unsafe { args::out(newinfo, "newinfo") }?;
        let twin = with_info(env, info, Info::duplicate)?;
        *newinfo = Handle::new(TABLE.lock().add(twin)?);
        Ok(())
    })
}

pub unsafe fn MPI_Info_free(info: *mut Handle) -> c_int {
    at_any_time("MPI_Info_free", |_| {
        // SAFETY: the standard's requirements on `info`.
        let info = unsafe { args::out(info, "info") }?;
        with_info_mut((*info).value(), |_| Ok(()))?;
        TABLE.lock().remove((*info).value());
        *info = Handle::new(MPI_INFO_NULL);
        Ok(())
    })
}

pub unsafe fn MPI_Info_set(info: c_int, key: *const c_char, value: *const c_char) -> c_int {
    at_any_time("MPI_Info_set", |_| {
        // SAFETY: the standard's requirements on both: strings.
        let (key, value) = unsafe { (raw(key, "key")?, raw(value, "value")?) };
        with_info_mut(info, |info| info.set(key, value))
    })
}

pub unsafe fn MPI_Info_delete(info: c_int, key: *const c_char) -> c_int {
    at_any_time("MPI_Info_delete", |_| {
        // SAFETY: the standard's requirements on `key`: a string.
        let key = unsafe { raw(key, "key") }?;
        check_key(key)?;
        with_info_mut(info, |info| info.delete(key))
    })
}

pub unsafe fn MPI_Info_get(
    info: c_int,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    at_any_time("MPI_Info_get", |env| {
        // SAFETY: the standard's requirements on both.
        let (key, flag) = unsafe { (raw(key, "key")?, args::out(flag, "flag")?) };
        check_key(key)?;
        let valuelen = usize::try_from(valuelen).map_err(|_| Error::Argument {
            what: "valuelen is negative",
        })?;
        *flag = with_info(env, info, |info| match info.get(key) {
            Some(found) => {
                let room = valuelen.min(MAX_VALUE - 1) + 1;
                // SAFETY: the standard requires one byte more than valuelen (section 9). No more bytes than the maximum
                // length of a value are written.
                unsafe { put(value, room, found, "value") }.map(|()| 1)
            }
            None => Ok(0),
        })?;
        Ok(())
    })
}

pub unsafe fn MPI_Info_get_string(
    info: c_int,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    at_any_time("MPI_Info_get_string", |env| {
        // SAFETY: the standard's requirements on all three.
        let (key, buflen, flag) = unsafe { (raw(key, "key")?, args::out(buflen, "buflen")?, args::out(flag, "flag")?) };
        check_key(key)?;
        let room = usize::try_from(*buflen).map_err(|_| Error::Argument {
            what: "buflen is negative",
        })?;
        let found = with_info(env, info, |info| {
            let Some(found) = info.get(key) else {
                return Ok(None);
            };
            if room > 0 {
                // No more bytes than the value and a zero are written, so that the buffer may be shorter than `buflen`.
                // SAFETY: the standard's requirements on `value`, which has `buflen` bytes.
                unsafe { put(value, room.min(found.len() + 1), found, "value") }?;
            }
            Ok(Some(found.len() + 1))
        })?;
        *flag = found.is_some().into();
        if let Some(bytes) = found {
            *buflen = bytes as c_int;
        }
        Ok(())
    })
}

pub unsafe fn MPI_Info_create_env(_argc: c_int, _argv: *mut *mut c_char, info: *mut Handle) -> c_int {
    // It may be called at any time.
    early("MPI_Info_create_env", {
        any_env().and_then(|env| {
            // SAFETY: the standard's requirements on `info`.
            let info = unsafe { args::out(info, "info") }?;
            *info = Handle::new(TABLE.lock().add(environment(env)?)?);
            Ok(())
        })
    })
}

pub unsafe fn MPI_Info_get_valuelen(info: c_int, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int) -> c_int {
    at_any_time("MPI_Info_get_valuelen", |env| {
        // SAFETY: the standard's requirements on all three.
        let (key, valuelen, flag) = unsafe {
            (
                raw(key, "key")?,
                args::out(valuelen, "valuelen")?,
                args::out(flag, "flag")?,
            )
        };
        check_key(key)?;
        let found = with_info(env, info, |info| Ok(info.get(key).map(<[u8]>::len)))?;
        *flag = found.is_some().into();
        if let Some(len) = found {
            *valuelen = len as c_int;
        }
        Ok(())
    })
}

pub unsafe fn MPI_Info_get_nkeys(info: c_int, nkeys: *mut c_int) -> c_int {
    at_any_time("MPI_Info_get_nkeys", |env| {
        // SAFETY: the standard's requirements on `nkeys`.
        let nkeys = unsafe { args::out(nkeys, "nkeys") }?;
        *nkeys = with_info(env, info, |info| Ok(info.count()))? as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Info_get_nthkey(info: c_int, n: c_int, key: *mut c_char) -> c_int {
    at_any_time("MPI_Info_get_nthkey", |env| {
        with_info(env, info, |info| {
            let found = usize::try_from(n).ok().and_then(|n| info.key(n));
            let found = found.ok_or(Error::Argument {
                what: "n is not below the number of keys",
            })?;
            // SAFETY: the standard's requirements on `key`: MPI_MAX_INFO_KEY bytes, more than the key and its zero.
            unsafe { put(key, MAX_KEY.min(found.len() + 1), found, "key") }
        })
    })
}

pub unsafe fn MPI_Comm_set_info(comm: c_int, info: c_int) -> c_int {
    on_any("MPI_Comm_set_info", comm, |_, _| check_hints(info))
}

pub unsafe fn MPI_Comm_get_info(comm: c_int, info_used: *mut Handle) -> c_int {
    on_any("MPI_Comm_get_info", comm, |_, _| {
        // SAFETY: the standard's requirements on `info_used`.
        *unsafe { args::out(info_used, "info_used") }? = Handle::new(TABLE.lock().add(Info::new())?);
        Ok(())
    })
}

/// Header before memory that MPI_Alloc_mem returns: its size in bytes and its complement, by which MPI_Free_mem
/// recognizes it.
type AllocHeader = [usize; 2];
/// Alignment of malloc.
const ALIGNMENT: usize = 16;
const _: () = assert!(size_of::<AllocHeader>() <= ALIGNMENT);

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(ALIGNMENT)?, ALIGNMENT).ok()
}

/// Allocates memory on the program's heap, to be freed by MPI_Free_mem. Fails with [`Error::NoSpace`].
pub(super) fn allocate(bytes: usize) -> Result<*mut u8, Error> {
    let none = Error::NoSpace { bytes };
    let layout = layout(bytes).ok_or(none)?;
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc::alloc::alloc(layout) };
    if start.is_null() {
        return Err(none);
    }
    // SAFETY: the header is at the start of the new allocation, with the same alignment.
    unsafe {
        start.cast::<AllocHeader>().write([bytes, !bytes]);
        Ok(start.add(ALIGNMENT))
    }
}

pub unsafe fn MPI_Alloc_mem(size: isize, info: c_int, baseptr: *mut c_void) -> c_int {
    on_process("MPI_Alloc_mem", |_| {
        check_hints(info)?;
        let bytes = usize::try_from(size).map_err(|_| Error::Argument {
            what: "size is negative",
        })?;
        // SAFETY: the standard's requirements on `baseptr`: where a pointer goes.
        let base = unsafe { args::out(baseptr.cast::<*mut u8>(), "baseptr") }?;
        *base = allocate(bytes)?;
        Ok(())
    })
}

pub unsafe fn MPI_Free_mem(base: *mut c_void) -> c_int {
    on_process("MPI_Free_mem", |_| {
        let wrong = Error::Wrong {
            class: ErrorClass::Base,
            what: "base is not what MPI_Alloc_mem gave",
        };
        if base.addr() <= ALIGNMENT || !base.addr().is_multiple_of(ALIGNMENT) {
            return Err(wrong);
        }
        let start = base.cast::<u8>().wrapping_sub(ALIGNMENT);
        // SAFETY: the standard's requirements on `base`. The header detects violations, if there is memory.
        let [bytes, complement] = unsafe { start.cast::<AllocHeader>().read() };
        let layout = layout(bytes).filter(|_| complement == !bytes).ok_or(wrong)?;
        // SAFETY: allocated with this layout. The header is cleared, so that a second call is detected unless the
        // memory has been reused.
        unsafe {
            start.cast::<AllocHeader>().write([0, 0]);
            alloc::alloc::dealloc(start, layout);
        }
        Ok(())
    })
}
