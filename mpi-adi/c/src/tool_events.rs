//! Events of the tool interface (MPI-4.0 section 14.3.8). An implementation defines the types of events. This one has none:
//! each would cost instructions on the path of messages in every program. So no call can create a registration, and no
//! callback is called. There is one source, the clock of the node, whose time tools can compare with MPI_Wtime.
//!
//! As all of [`tools`](super::tools), the calls may precede MPI_Init and follow MPI_Finalize, and report errors by their
//! results only. None blocks.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_char, c_int, c_longlong, c_void};

use super::infos;
use super::tools::code::{INVALID_HANDLE, INVALID_INDEX, INVALID_NAME, MEMORY};
use super::tools::{CATEGORIES, device, end, index, name, put, put_members, put_text, started};
use super::types::Handle;
use midplane_objects::environment as job;

/// Function that is called with an event.
pub type EventFunction = unsafe extern "C" fn(Handle, Handle, c_int, *mut c_void);
/// Function that is called when a registration is freed.
pub type EventFreeFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void);
/// Function that is called when events are dropped.
pub type EventDroppedFunction = unsafe extern "C" fn(c_longlong, Handle, c_int, c_int, *mut c_void);

/// Events of a source arrive in the order of their time.
const ORDERED: c_int = 1;
/// Name and description of the source.
const CLOCK: (&str, &str) = ("clock", "The clock of the node, in nanoseconds; that of MPI_Wtime.");
const NANOSECONDS_PER_SECOND: c_longlong = 1_000_000_000;

/// Returns the error for a call that names a type of events, a registration or an event.
fn refuse(why: c_int) -> c_int {
    end(started().and(Err(why)))
}

pub unsafe fn MPI_T_event_get_num(num_events: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_events, 0) }))
}

pub unsafe fn MPI_T_event_get_info(
    _event_index: c_int,
    _name: *mut c_char,
    _name_len: *mut c_int,
    _verbosity: *mut c_int,
    _array_of_datatypes: *mut Handle,
    _array_of_displacements: *mut isize,
    _num_elements: *mut c_int,
    _enumtype: *mut Handle,
    _info: *mut Handle,
    _desc: *mut c_char,
    _desc_len: *mut c_int,
    _bind: *mut c_int,
) -> c_int {
    refuse(INVALID_INDEX)
}

pub unsafe fn MPI_T_event_get_index(name: *const c_char, _event_index: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().and_then(|()| unsafe { self::name(name) }.and(Err(INVALID_NAME))))
}

pub unsafe fn MPI_T_event_handle_alloc(
    _event_index: c_int,
    _obj_handle: *mut c_void,
    _info: c_int,
    _event_registration: *mut Handle,
) -> c_int {
    refuse(INVALID_INDEX)
}

pub fn MPI_T_event_handle_set_info(_event_registration: c_int, _info: c_int) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_handle_get_info(_event_registration: c_int, _info_used: *mut Handle) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_register_callback(
    _event_registration: c_int,
    _cb_safety: c_int,
    _info: c_int,
    _user_data: *mut c_void,
    _event_cb_function: Option<EventFunction>,
) -> c_int {
    refuse(INVALID_HANDLE)
}

pub fn MPI_T_event_callback_set_info(_event_registration: c_int, _cb_safety: c_int, _info: c_int) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_callback_get_info(
    _event_registration: c_int,
    _cb_safety: c_int,
    _info_used: *mut Handle,
) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_handle_free(
    _event_registration: c_int,
    _user_data: *mut c_void,
    _free_cb_function: Option<EventFreeFunction>,
) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_set_dropped_handler(
    _event_registration: c_int,
    _dropped_cb_function: Option<EventDroppedFunction>,
) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_read(_event_instance: c_int, _element_index: c_int, _buffer: *mut c_void) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_copy(_event_instance: c_int, _buffer: *mut c_void) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_get_timestamp(_event_instance: c_int, _event_timestamp: *mut c_longlong) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_get_source(_event_instance: c_int, _source_index: *mut c_int) -> c_int {
    refuse(INVALID_HANDLE)
}

pub unsafe fn MPI_T_source_get_num(num_sources: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_sources, 1) }))
}

/// Fails unless this is the index of the source.
fn check_source(source_index: c_int) -> Result<(), c_int> {
    started()?;
    index(&[CLOCK], source_index).map(|_| ())
}

pub unsafe fn MPI_T_source_get_info(
    source_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    ordering: *mut c_int,
    ticks_per_second: *mut c_longlong,
    max_ticks: *mut c_longlong,
    info: *mut Handle,
) -> c_int {
    end(check_source(source_index).and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        unsafe {
            if !info.is_null() {
                // The program frees it.
                put(info, Handle::new(infos::enter(&[]).map_err(|_| MEMORY)?));
            }
            put_text(name, name_len, CLOCK.0);
            put_text(desc, desc_len, CLOCK.1);
            put(ordering, ORDERED);
            put(ticks_per_second, NANOSECONDS_PER_SECOND);
            put(max_ticks, c_longlong::MAX);
        }
        Ok(())
    }))
}

pub unsafe fn MPI_T_source_get_timestamp(source_index: c_int, timestamp: *mut c_longlong) -> c_int {
    end(check_source(source_index).and_then(|()| {
        let now = job::now(device()?);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(timestamp, now as c_longlong) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        index(&CATEGORIES, cat_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(num_events, 0) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put_members(cat_index, len, indices, core::iter::empty()) }
}
