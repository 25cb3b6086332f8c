//! MPI_T tool interface (section 14.3): control variables, set by a job's options, and performance variables, counted
//! by the device and its host environment.
//!
//! | | variables |
//! |---|---|
//! | control | [`CONTROL`] |
//! | performance, of class level | [`LEVELS`]: current levels of the device |
//! | performance, of class counter or high-water mark | the host's list ([`Kernel::counted`]), the job's report |
//!
//! All performance variables count continuously from the node's start, and cannot be set: handles have no state, and a
//! read is one measurement. Handles and sessions are integers; no call allocates memory. The calls may precede MPI_Init
//! and follow MPI_Finalize, and report errors only by their results, without error handlers (section 14.3.9).
//!
//! Only a program that calls one of these functions contains the texts in its image: the host's texts are returned by a
//! function that the linker includes or omits.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{CStr, c_char, c_int, c_ulong, c_ulonglong, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use portable_atomic::AtomicU64;

use super::binding::any_env;
use super::types::Handle;
use super::types::constants::*;
use midplane_device::interface::{Device, MeasuredQuantity};
use midplane_device::kernel::HostCounter;
use midplane_device::matching::ENGINE_NAMES;
use midplane_objects::datatype::BasicType;
use midplane_objects::process::Env;
use midplane_objects::variables::{CONTROL, LEVELS, ToolVariable, VariableCategory};

pub(super) mod code {
    use core::ffi::c_int;

    pub const MEMORY: c_int = 1005;
    pub const NOT_INITIALIZED: c_int = 1003;
    pub const INVALID_INDEX: c_int = 1007;
    pub const INVALID_ITEM: c_int = 1008;
    pub const INVALID_HANDLE: c_int = 1010;
    pub const OUT_OF_HANDLES: c_int = 1012;
    pub const OUT_OF_SESSIONS: c_int = 1013;
    pub const INVALID_SESSION: c_int = 1009;
    pub const CVAR_SET_NEVER: c_int = 1015;
    pub const PVAR_NO_STARTSTOP: c_int = 1017;
    pub const PVAR_NO_WRITE: c_int = 1016;
    pub const PVAR_NO_ATOMIC: c_int = 1018;
    pub const INVALID_NAME: c_int = 1011;
    pub const INVALID: c_int = 1006;
}
use code::*;

pub(super) const VERBOSITY_USER_BASIC: c_int = 0x09;
pub(super) const BIND_NO_OBJECT: c_int = 1;
const SCOPE_CONSTANT: c_int = 1;
const SCOPE_LOCAL: c_int = 3;
const CLASS_LEVEL: c_int = 2;
const CLASS_HIGHWATERMARK: c_int = 5;
const CLASS_COUNTER: c_int = 7;
const NULL: c_int = 0;
const ALL_HANDLES: c_int = 1;
const ENGINES: c_int = 1;
/// Maximum number of open sessions.
pub const SESSIONS: u32 = u64::BITS;
/// A session's handle is this plus its index. A performance variable's handle contains that of the session above its own
/// index plus one, and is no predefined handle.
const FIRST_SESSION: c_int = 0x100;
const NUMBER_BITS: u32 = 16;

#[cfg(not(test))]
unsafe extern "Rust" {
    /// Returns the description of the host's counter with this index, if it exists.
    safe fn midplane_counter(index: usize) -> Option<HostCounter>;
}
#[cfg(test)]
fn midplane_counter(_: usize) -> Option<HostCounter> {
    None
}

/// Calls of MPI_T_init_thread without a matching MPI_T_finalize.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// One bit per open session.
static OPEN: AtomicU64 = AtomicU64::new(0);

/// Returns the error of a call, or success.
pub(super) fn end(result: Result<(), c_int>) -> c_int {
    result.err().unwrap_or(MPI_SUCCESS)
}

/// Fails before MPI_T_init_thread and after the last MPI_T_finalize.
pub(super) fn started() -> Result<(), c_int> {
    match STARTED.load(Ordering::Relaxed) {
        0 => Err(NOT_INITIALIZED),
        _ => Ok(()),
    }
}

/// Stores a result, unless the pointer is null.
///
/// # Safety
/// A non-null `place` must be valid for such a value.
pub(super) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { place.write(value) }
    }
}

/// Copies a text, truncated to the buffer, and stores the length that the complete text requires (section 14.3.3).
///
/// # Safety
/// `length` must be null or point to an integer, and `to` must be null or have capacity for that many bytes.
pub(super) unsafe fn put_text(to: *mut c_char, length: *mut c_int, text: &str) {
    // SAFETY: guaranteed by the caller.
    let Some(length) = (unsafe { length.as_mut() }) else {
        return;
    };
    let room = usize::try_from(*length).unwrap_or(0);
    if !to.is_null() && room > 0 {
        let bytes = text.len().min(room - 1);
        // SAFETY: guaranteed by the caller: `bytes` and a zero fit.
        unsafe {
            to.cast::<u8>().copy_from(text.as_ptr(), bytes);
            to.add(bytes).write(0);
        }
    }
    *length = text.len() as c_int + 1;
}

/// Returns a name specified by the program.
///
/// # Safety
/// A non-null `name` must be a string.
pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a str, c_int> {
    if name.is_null() {
        return Err(INVALID_NAME);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| INVALID_NAME)
}

/// Returns the device, if the process has started.
pub(super) fn device() -> Result<&'static dyn Env, c_int> {
    any_env().map_err(|_| INVALID)
}

/// A control variable and its C attributes.
struct ControlVar {
    of: ToolVariable,
    datatype: c_int,
    enumtype: c_int,
    scope: c_int,
}

const UNSIGNED_LONG: c_int = BasicType::UnsignedLong.handle();
pub(super) const UNSIGNED_LONG_LONG: c_int = BasicType::UnsignedLongLong.handle();
const INT: c_int = BasicType::Int.handle();

const CVARS: [ControlVar; 4] = {
    let [memory, heap, engine, eager] = CONTROL;
    [
        ControlVar {
            of: memory,
            datatype: UNSIGNED_LONG,
            enumtype: NULL,
            scope: SCOPE_CONSTANT,
        },
        ControlVar {
            of: heap,
            datatype: UNSIGNED_LONG,
            enumtype: NULL,
            scope: SCOPE_CONSTANT,
        },
        ControlVar {
            of: engine,
            datatype: INT,
            enumtype: ENGINES,
            scope: SCOPE_CONSTANT,
        },
        ControlVar {
            of: eager,
            datatype: UNSIGNED_LONG,
            enumtype: NULL,
            scope: SCOPE_LOCAL,
        },
    ]
};

pub(super) struct PerformanceVar {
    pub name: &'static str,
    pub meaning: &'static str,
    class: c_int,
    pub category: VariableCategory,
}

/// Returns the performance variable with this index, if it exists.
fn pvar(index: usize) -> Option<PerformanceVar> {
    if let Some(level) = LEVELS.get(index) {
        return Some(PerformanceVar {
            name: level.name,
            meaning: level.meaning,
            class: CLASS_LEVEL,
            category: level.category,
        });
    }
    counted(index - LEVELS.len())
}

/// Returns the performance variable of the host's counter with this index, if it exists.
pub(super) fn counted(index: usize) -> Option<PerformanceVar> {
    let counted = midplane_counter(index)?;
    Some(PerformanceVar {
        name: counted.name,
        meaning: counted.meaning,
        class: if counted.is_peak {
            CLASS_HIGHWATERMARK
        } else {
            CLASS_COUNTER
        },
        category: match counted.unit {
            "searches" | "hops" => VariableCategory::Matching,
            "bytes" | "records" => VariableCategory::Memory,
            "messages" | "protocol packets" | "requests" => VariableCategory::Protocol,
            _ => VariableCategory::Node,
        },
    })
}

fn pvars() -> impl Iterator<Item = PerformanceVar> {
    (0..).map_while(pvar)
}

/// Names and descriptions of the categories, in the order of [`VariableCategory`].
pub(super) const CATEGORIES: [(&str, &str); 4] = [
    ("protocol", "Messages, and the packets of their protocol."),
    ("matching", "Queues of receives and messages, and searches of them."),
    ("memory", "MPI memory and the heap."),
    ("node", "Links, and time."),
];

pub(super) fn index<T>(list: &[T], index: c_int) -> Result<&T, c_int> {
    usize::try_from(index)
        .ok()
        .and_then(|index| list.get(index))
        .ok_or(INVALID_INDEX)
}

fn pvar_at(index: c_int) -> Result<PerformanceVar, c_int> {
    usize::try_from(index).ok().and_then(pvar).ok_or(INVALID_INDEX)
}

pub unsafe fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    STARTED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put(provided, required.min(MPI_THREAD_SERIALIZED)) };
    MPI_SUCCESS
}

pub fn MPI_T_finalize() -> c_int {
    end(started().map(|()| {
        if STARTED.fetch_sub(1, Ordering::Relaxed) == 1 {
            OPEN.store(0, Ordering::Relaxed);
        }
    }))
}

pub unsafe fn MPI_T_enum_get_info(enumtype: c_int, num: *mut c_int, name: *mut c_char, name_len: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        if enumtype != ENGINES {
            return Err(INVALID_HANDLE);
        }
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put(num, ENGINE_NAMES.len() as c_int);
            put_text(name, name_len, "matching_engines");
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_enum_get_item(
    enumtype: c_int,
    item: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        if enumtype != ENGINES {
            return Err(INVALID_HANDLE);
        }
        let name_of = index(&ENGINE_NAMES, item).map_err(|_| INVALID_ITEM)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put(value, item);
            put_text(name, name_len, name_of);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_cvar_get_num(num_cvar: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_cvar, CVARS.len() as c_int) }))
}

pub unsafe fn MPI_T_cvar_get_info(
    cvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut Handle,
    enumtype: *mut Handle,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        let cvar = index(&CVARS, cvar_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put_text(name, name_len, cvar.of.name);
            put(verbosity, VERBOSITY_USER_BASIC);
            put(datatype, Handle::new(cvar.datatype));
            put(enumtype, Handle::new(cvar.enumtype));
            put_text(desc, desc_len, cvar.of.meaning);
            put(bind, BIND_NO_OBJECT);
            put(scope, cvar.scope);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let name = unsafe { self::name(name) }?;
        let at = CVARS.iter().position(|cvar| cvar.of.name == name);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(cvar_index, at.ok_or(INVALID_NAME)? as c_int) };
        Ok(())
    }))
}

/// Returns the control variable of a handle. The handle is its index plus one.
fn cvar_of(handle: c_int) -> Result<&'static ControlVar, c_int> {
    index(&CVARS, handle.wrapping_sub(1)).map_err(|_| INVALID_HANDLE)
}

pub unsafe fn MPI_T_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut Handle,
    count: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        index(&CVARS, cvar_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put(handle, Handle::new(cvar_index + 1));
            put(count, 1);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_cvar_handle_free(handle: *mut Handle) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let handle = unsafe { handle.as_mut() }.ok_or(INVALID_HANDLE)?;
        cvar_of((*handle).value())?;
        *handle = Handle::new(NULL);
        Ok(())
    }))
}

pub unsafe fn MPI_T_cvar_read(handle: c_int, buf: *mut c_void) -> c_int {
    end(started().and_then(|()| {
        let cvar = cvar_of(handle)?;
        let value = device()?.measure(cvar.of.measure);
        // SAFETY: the standard's requirements on the arguments: a buffer for the variable's datatype.
        unsafe {
            match cvar.datatype {
                INT => put(buf.cast(), value as c_int),
                _ => put(buf.cast(), value as c_ulong),
            }
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_cvar_write(handle: c_int, buf: *const c_void) -> c_int {
    end(started().and_then(|()| {
        if cvar_of(handle)?.scope != SCOPE_LOCAL {
            return Err(CVAR_SET_NEVER);
        }
        // SAFETY: the standard's requirements on the arguments: the only variable of this scope is such a number.
        let value = unsafe { buf.cast::<c_ulong>().as_ref() }.ok_or(INVALID)?;
        device()?.set_eager_limit(usize::try_from(*value).unwrap_or(usize::MAX));
        Ok(())
    }))
}

pub unsafe fn MPI_T_pvar_get_num(num_pvar: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_pvar, pvars().count() as c_int) }))
}

pub unsafe fn MPI_T_pvar_get_info(
    pvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut Handle,
    enumtype: *mut Handle,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        let pvar = pvar_at(pvar_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put_text(name, name_len, pvar.name);
            put(verbosity, VERBOSITY_USER_BASIC);
            put(var_class, pvar.class);
            put(datatype, Handle::new(UNSIGNED_LONG_LONG));
            put(enumtype, Handle::new(NULL));
            put_text(desc, desc_len, pvar.meaning);
            put(bind, BIND_NO_OBJECT);
            put(readonly, 1);
            put(continuous, 1);
            put(atomic, 0);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let name = unsafe { self::name(name) }?;
        let at = pvars().position(|pvar| pvar.name == name && pvar.class == var_class);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(pvar_index, at.ok_or(INVALID_NAME)? as c_int) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_pvar_session_create(session: *mut Handle) -> c_int {
    end(started().and_then(|()| {
        let place = OPEN.load(Ordering::Relaxed).trailing_ones();
        if place == SESSIONS {
            return Err(OUT_OF_SESSIONS);
        }
        OPEN.fetch_or(1 << place, Ordering::Relaxed);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(session, Handle::new(FIRST_SESSION + place as c_int)) };
        Ok(())
    }))
}

/// Returns the index of an open session.
fn session_of(session: c_int) -> Result<u32, c_int> {
    let place = u32::try_from(session.wrapping_sub(FIRST_SESSION)).ok();
    place
        .filter(|place| *place < SESSIONS && OPEN.load(Ordering::Relaxed) & 1 << place != 0)
        .ok_or(INVALID_SESSION)
}

pub unsafe fn MPI_T_pvar_session_free(session: *mut Handle) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let session = unsafe { session.as_mut() }.ok_or(INVALID_SESSION)?;
        OPEN.fetch_and(!(1 << session_of((*session).value())?), Ordering::Relaxed);
        *session = Handle::new(NULL);
        Ok(())
    }))
}

/// Returns the index of the performance variable of a handle of this session.
fn pvar_of(session: c_int, handle: c_int) -> Result<usize, c_int> {
    started()?;
    session_of(session)?;
    let (of, number) = (handle >> NUMBER_BITS, handle & ((1 << NUMBER_BITS) - 1));
    match usize::try_from(number - 1) {
        Ok(number) if of == session && pvar(number).is_some() => Ok(number),
        _ => Err(INVALID_HANDLE),
    }
}

pub unsafe fn MPI_T_pvar_handle_alloc(
    session: c_int,
    pvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut Handle,
    count: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        session_of(session)?;
        pvar_at(pvar_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put(handle, Handle::new(session << NUMBER_BITS | (pvar_index + 1)));
            put(count, 1);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_pvar_handle_free(session: c_int, handle: *mut Handle) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let handle = unsafe { handle.as_mut() }.ok_or(INVALID_HANDLE)?;
        pvar_of(session, (*handle).value())?;
        *handle = Handle::new(NULL);
        Ok(())
    }))
}

/// Returns success for all variables of a session together and the error `why` for a single one: they count
/// continuously and cannot be set.
fn refuse(session: c_int, handle: c_int, why: c_int) -> c_int {
    end(match handle {
        ALL_HANDLES => started().and_then(|()| session_of(session).map(|_| ())),
        _ => pvar_of(session, handle).and(Err(why)),
    })
}

pub fn MPI_T_pvar_start(session: c_int, handle: c_int) -> c_int {
    refuse(session, handle, PVAR_NO_STARTSTOP)
}

pub fn MPI_T_pvar_stop(session: c_int, handle: c_int) -> c_int {
    refuse(session, handle, PVAR_NO_STARTSTOP)
}

pub unsafe fn MPI_T_pvar_read(session: c_int, handle: c_int, buf: *mut c_void) -> c_int {
    end(pvar_of(session, handle).and_then(|number| {
        let value = device()?.measure(match LEVELS.get(number) {
            Some(level) => level.measure,
            None => MeasuredQuantity::Counter(number - LEVELS.len()),
        });
        // SAFETY: the standard's requirements on the arguments: a buffer for the variable's datatype.
        unsafe { put(buf.cast(), value as c_ulonglong) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_pvar_write(session: c_int, handle: c_int, _buf: *const c_void) -> c_int {
    end(pvar_of(session, handle).and(Err(PVAR_NO_WRITE)))
}

pub fn MPI_T_pvar_reset(session: c_int, handle: c_int) -> c_int {
    refuse(session, handle, PVAR_NO_WRITE)
}

pub unsafe fn MPI_T_pvar_readreset(session: c_int, handle: c_int, _buf: *mut c_void) -> c_int {
    end(pvar_of(session, handle).and(Err(PVAR_NO_ATOMIC)))
}

pub unsafe fn MPI_T_category_get_num(num_cat: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_cat, CATEGORIES.len() as c_int) }))
}

/// Returns the indices of the variables of one category.
pub(super) fn members<T>(
    variables: impl Iterator<Item = T>,
    category: c_int,
    of: impl Fn(&T) -> VariableCategory,
) -> impl Iterator<Item = c_int> {
    let numbered = (0..).zip(variables);
    numbered.filter_map(move |(number, variable)| (of(&variable) as c_int == category).then_some(number))
}

pub unsafe fn MPI_T_category_get_info(
    cat_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        let (its_name, meaning) = index(&CATEGORIES, cat_index)?;
        let cvars = members(CVARS.iter(), cat_index, |cvar| cvar.of.category).count();
        let pvars = members(pvars(), cat_index, |pvar| pvar.category).count();
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            put_text(name, name_len, its_name);
            put_text(desc, desc_len, meaning);
            put(num_cvars, cvars as c_int);
            put(num_pvars, pvars as c_int);
            put(num_categories, 0);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_category_get_index(name: *const c_char, cat_index: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let name = unsafe { self::name(name) }?;
        let at = CATEGORIES.iter().position(|(its, _)| *its == name);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(cat_index, at.ok_or(INVALID_NAME)? as c_int) };
        Ok(())
    }))
}

/// Copies indices, truncated to the array.
///
/// # Safety
/// `indices` must have capacity for `len` items.
pub(super) unsafe fn put_members(
    cat_index: c_int,
    len: c_int,
    indices: *mut c_int,
    members: impl Iterator<Item = c_int>,
) -> c_int {
    end(started().and_then(|()| {
        index(&CATEGORIES, cat_index)?;
        let room = usize::try_from(len).map_err(|_| INVALID)?;
        for (place, member) in members.take(room).enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { put(indices.wrapping_add(place), member) };
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    let cvars = members(CVARS.iter(), cat_index, |cvar| cvar.of.category);
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put_members(cat_index, len, indices, cvars) }
}

pub unsafe fn MPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    let pvars = members(pvars(), cat_index, |pvar| pvar.category);
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put_members(cat_index, len, indices, pvars) }
}

pub unsafe fn MPI_T_category_get_categories(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put_members(cat_index, len, indices, core::iter::empty()) }
}

pub unsafe fn MPI_T_category_changed(stamp: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(stamp, 0) }))
}
