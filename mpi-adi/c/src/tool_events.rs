//! Events of the tool interface (MPI-4.0 section 14.3.8).
//!
//! Each counter of the host's list ([`counted`]) has a type of events with its name: an event is an increase of the counter.
//! The data of an event are two elements of type MPI_UNSIGNED_LONG_LONG: the counter's value, and its increase since the last
//! event of the registration.
//!
//! ```text
//!   progress step of a call that waits or polls   something has moved  -> the hook is ready
//!   progress hook, outside of the device          compares the counters of all registrations with their last values
//!                                                 an increase          -> callback
//!   MPI_T_event_handle_free                       compares once more, then calls the free function
//! ```
//! The message path has no instruction for events. Several increases between two progress steps are one event, so that none
//! is dropped and no event is stored. The time of an event is that of its observation. A callback may call any function of
//! MPI; the increases that it causes are observed after it. There is one source, the clock of the node, whose time tools can
//! compare with MPI_Wtime.
//!
//! At most [`REGISTRATIONS`] registrations exist at a time, in fixed memory that only programs with events contain. As all
//! of [`tools`](super::tools), the calls may precede MPI_Init and follow MPI_Finalize, and report errors by their results
//! only. None blocks.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::{c_char, c_int, c_longlong, c_ulonglong, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use spin::Mutex;

use super::collectives::{HookWork, add_hook_work};
use super::infos;
use super::tools::code::{INVALID, INVALID_HANDLE, INVALID_INDEX, INVALID_NAME, MEMORY, OUT_OF_HANDLES};
use super::tools::{
    BIND_NO_OBJECT, CATEGORIES, PerformanceVar, UNSIGNED_LONG_LONG, VERBOSITY_USER_BASIC, counted, device, end, index,
    members, name, put, put_members, put_text, started,
};
use super::types::Handle;
use super::unlocked::without_lock;
use midplane_device::EventCount;
use midplane_device::interface::{Device as _, MeasuredQuantity};
use midplane_device::request::RequestPool;
use midplane_objects::environment as job;

/// Function that is called with an event.
pub type EventFunction = unsafe extern "C" fn(Handle, Handle, c_int, *mut c_void);
/// Function that is called when a registration is freed.
pub type EventFreeFunction = unsafe extern "C" fn(Handle, c_int, *mut c_void);
/// Function that is called when events are dropped.
pub type EventDroppedFunction = unsafe extern "C" fn(c_longlong, Handle, c_int, c_int, *mut c_void);

/// Maximum number of registrations.
pub const REGISTRATIONS: usize = 128;
/// A registration's handle is this plus its generation and its index.
const FIRST_REGISTRATION: c_int = 0x0100_0000;
const INDEX_BITS: u32 = 8;
/// Handle of the event whose callback runs.
const INSTANCE: c_int = 0x0200_0000;
/// Elements of an event's data: the value of the counter, and its increase.
const ELEMENTS: usize = 2;
const ELEMENT_BYTES: usize = size_of::<c_ulonglong>();

/// Values of `MPI_T_cb_safety`, least required first.
const SAFETY_LEVELS: [c_int; 4] = [0x00, 0x03, 0x0f, 0x3f];

/// Events of a source arrive in the order of their time.
const ORDERED: c_int = 1;
/// Name and description of the source.
const CLOCK: (&str, &str) = ("clock", "The clock of the node, in nanoseconds; that of MPI_Wtime.");
const NANOSECONDS_PER_SECOND: c_longlong = 1_000_000_000;

/// A function of the program with its argument, as an address: another thread may call it.
#[derive(Clone, Copy)]
struct EventCallback {
    function: EventFunction,
    user_data: usize,
}

/// Registration of a type of events.
#[derive(Clone, Copy)]
struct EventRegistration {
    is_used: bool,
    generation: u8,
    /// Index of the counter.
    counter: u16,
    /// Value of the counter at the last event.
    last: u64,
    /// A callback for each of [`SAFETY_LEVELS`].
    callbacks: [Option<EventCallback>; SAFETY_LEVELS.len()],
}

const UNUSED: EventRegistration = EventRegistration {
    is_used: false,
    generation: 0,
    counter: 0,
    last: 0,
    callbacks: [None; SAFETY_LEVELS.len()],
};

/// An increase of a counter whose callback runs.
#[derive(Clone, Copy)]
struct EventInstance {
    data: [u64; ELEMENTS],
    time_ns: u64,
}

/// Progress of the device: at the last observation, and at the last check.
struct ObservedProgress {
    seen: Option<EventCount>,
    latest: Option<EventCount>,
}

// No call waits while it holds one of the locks, no callback runs with one, and no interrupt handler uses them.
static TABLE: Mutex<[EventRegistration; REGISTRATIONS]> = Mutex::new([UNUSED; REGISTRATIONS]);
static CURRENT: Mutex<Option<EventInstance>> = Mutex::new(None);
static PROGRESS: Mutex<ObservedProgress> = Mutex::new(ObservedProgress {
    seen: None,
    latest: None,
});
/// An observation is under way. Its callbacks may make progress.
static IS_OBSERVING: AtomicBool = AtomicBool::new(false);

static WORK: HookWork = HookWork {
    is_ready: has_moved,
    run: observe,
};

/// Checks whether messages have moved since the last observation.
fn has_moved(_: &RequestPool, events: EventCount) -> bool {
    let mut progress = PROGRESS.lock();
    progress.latest = Some(events);
    progress.latest != progress.seen
}

/// Compares all registered counters with their last values, and calls the callbacks of those that have increased.
fn observe() {
    {
        let mut progress = PROGRESS.lock();
        progress.seen = progress.latest;
    }
    if IS_OBSERVING.swap(true, Ordering::Relaxed) {
        return;
    }
    for place in 0..REGISTRATIONS {
        observe_counter(place);
    }
    IS_OBSERVING.store(false, Ordering::Relaxed);
}

/// Calls the callback of the registration at this index if its counter has increased. Of several callbacks it calls that
/// which requires least.
fn observe_counter(place: usize) {
    let registration = TABLE.lock()[place];
    let callbacks = SAFETY_LEVELS.iter().zip(registration.callbacks);
    let mut callbacks = callbacks.filter_map(|(level, callback)| Some((*level, callback?)));
    let (Some((level, callback)), Ok(env)) = (callbacks.next(), device()) else {
        return;
    };
    let value = env.measure(MeasuredQuantity::Counter(registration.counter.into()));
    // A few counters, of current amounts, also decrease.
    TABLE.lock()[place].last = value;
    if value <= registration.last {
        return;
    }
    *CURRENT.lock() = Some(EventInstance {
        data: [value, value - registration.last],
        time_ns: job::now(env),
    });
    let (instance, own) = (Handle::new(INSTANCE), handle_of(place, &registration));
    // SAFETY: the program has registered this function, with this argument.
    without_lock(|| unsafe { (callback.function)(instance, own, level, callback.user_data as *mut c_void) });
    *CURRENT.lock() = None;
}

fn handle_of(place: usize, registration: &EventRegistration) -> Handle {
    Handle::new(FIRST_REGISTRATION | c_int::from(registration.generation) << INDEX_BITS | place as c_int)
}

/// Calls `change` with the registration of this handle.
fn with_registration<R>(
    event_registration: c_int,
    change: impl FnOnce(&mut EventRegistration) -> Result<R, c_int>,
) -> Result<R, c_int> {
    started()?;
    let place = (event_registration & ((1 << INDEX_BITS) - 1)) as usize;
    let mut table = TABLE.lock();
    let registration = table.get_mut(place).filter(|registration| registration.is_used);
    let registration = registration.ok_or(INVALID_HANDLE)?;
    if handle_of(place, registration) != Handle::new(event_registration) {
        return Err(INVALID_HANDLE);
    }
    change(registration)
}

/// Returns the index of a level of safety in [`SAFETY_LEVELS`].
fn level(cb_safety: c_int) -> Result<usize, c_int> {
    let mut levels = SAFETY_LEVELS.iter();
    levels.position(|level| *level == cb_safety).ok_or(INVALID)
}

/// Stores a new info object without keys, which the program frees.
///
/// # Safety
/// A non-null `info` must be valid for a handle.
unsafe fn put_info(info: *mut Handle) -> Result<(), c_int> {
    if !info.is_null() {
        let empty = Handle::new(infos::enter(&[]).map_err(|_| MEMORY)?);
        // SAFETY: guaranteed by the caller.
        unsafe { put(info, empty) };
    }
    Ok(())
}

/// Returns the counter of a type of events.
fn counter(event_index: c_int) -> Result<PerformanceVar, c_int> {
    usize::try_from(event_index).ok().and_then(counted).ok_or(INVALID_INDEX)
}

fn counters() -> impl Iterator<Item = PerformanceVar> {
    (0..).map_while(counted)
}

pub unsafe fn MPI_T_event_get_num(num_events: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(started().map(|()| unsafe { put(num_events, counters().count() as c_int) }))
}

pub unsafe fn MPI_T_event_get_info(
    event_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    array_of_datatypes: *mut Handle,
    array_of_displacements: *mut isize,
    num_elements: *mut c_int,
    enumtype: *mut Handle,
    info: *mut Handle,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
) -> c_int {
    end(started().and_then(|()| {
        let counter = counter(event_index)?;
        // SAFETY: the standard's requirements on the arguments: the arrays have `num_elements` elements.
        unsafe {
            put_info(info)?;
            put_text(name, name_len, counter.name);
            put(verbosity, VERBOSITY_USER_BASIC);
            if let Some(length) = num_elements.as_mut() {
                let room = usize::try_from(*length).unwrap_or(0);
                for element in 0..ELEMENTS.min(room) {
                    put_element(array_of_datatypes, element, Handle::new(UNSIGNED_LONG_LONG));
                    put_element(array_of_displacements, element, (element * ELEMENT_BYTES) as isize);
                }
                *length = ELEMENTS as c_int;
            }
            put(enumtype, Handle::new(0));
            put_text(desc, desc_len, counter.meaning);
            put(bind, BIND_NO_OBJECT);
        }
        Ok(())
    }))
}

/// Stores an element of an array, unless the array is null.
///
/// # Safety
/// A non-null `array` must have more than `element` elements.
unsafe fn put_element<T>(array: *mut T, element: usize, value: T) {
    if !array.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { array.add(element).write(value) }
    }
}

pub unsafe fn MPI_T_event_get_index(name: *const c_char, event_index: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        // SAFETY: the standard's requirements on the arguments.
        let name = unsafe { self::name(name) }?;
        let at = counters().position(|counter| counter.name == name);
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(event_index, at.ok_or(INVALID_NAME)? as c_int) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_event_handle_alloc(
    event_index: c_int,
    _obj_handle: *mut c_void,
    _info: c_int,
    event_registration: *mut Handle,
) -> c_int {
    end(started().and_then(|()| {
        counter(event_index)?;
        let last = device()?.measure(MeasuredQuantity::Counter(event_index as usize));
        let mut table = TABLE.lock();
        let place = table.iter().position(|registration| !registration.is_used);
        let place = place.ok_or(OUT_OF_HANDLES)?;
        table[place] = EventRegistration {
            is_used: true,
            generation: table[place].generation.wrapping_add(1),
            counter: event_index as u16,
            last,
            ..UNUSED
        };
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(event_registration, handle_of(place, &table[place])) };
        Ok(())
    }))
}

pub fn MPI_T_event_handle_set_info(event_registration: c_int, _info: c_int) -> c_int {
    end(with_registration(event_registration, |_| Ok(())))
}

pub unsafe fn MPI_T_event_handle_get_info(event_registration: c_int, info_used: *mut Handle) -> c_int {
    let registered = with_registration(event_registration, |_| Ok(()));
    // SAFETY: the standard's requirements on the arguments.
    end(registered.and_then(|()| unsafe { put_info(info_used) }))
}

pub unsafe fn MPI_T_event_register_callback(
    event_registration: c_int,
    cb_safety: c_int,
    _info: c_int,
    user_data: *mut c_void,
    event_cb_function: Option<EventFunction>,
) -> c_int {
    end(with_registration(event_registration, |registration| {
        registration.callbacks[level(cb_safety)?] = event_cb_function.map(|function| EventCallback {
            function,
            user_data: user_data as usize,
        });
        Ok(())
    })
    .and_then(|()| {
        add_hook_work(device()?, &WORK);
        Ok(())
    }))
}

/// Fails unless the registration has a callback of this level.
fn check_callback(event_registration: c_int, cb_safety: c_int) -> Result<(), c_int> {
    with_registration(event_registration, |registration| {
        registration.callbacks[level(cb_safety)?].map(|_| ()).ok_or(INVALID)
    })
}

pub fn MPI_T_event_callback_set_info(event_registration: c_int, cb_safety: c_int, _info: c_int) -> c_int {
    end(check_callback(event_registration, cb_safety))
}

pub unsafe fn MPI_T_event_callback_get_info(
    event_registration: c_int,
    cb_safety: c_int,
    info_used: *mut Handle,
) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(check_callback(event_registration, cb_safety).and_then(|()| unsafe { put_info(info_used) }))
}

pub unsafe fn MPI_T_event_handle_free(
    event_registration: c_int,
    user_data: *mut c_void,
    free_cb_function: Option<EventFreeFunction>,
) -> c_int {
    if with_registration(event_registration, |_| Ok(())).is_ok() {
        observe();
    }
    end(with_registration(event_registration, |registration| {
        *registration = EventRegistration {
            generation: registration.generation,
            ..UNUSED
        };
        Ok(())
    })
    .map(|()| {
        if let Some(function) = free_cb_function {
            // SAFETY: the program specifies this function, with this argument.
            without_lock(|| unsafe { function(Handle::new(event_registration), SAFETY_LEVELS[0], user_data) });
        }
    }))
}

/// Accepts the function and never calls it, because no event is dropped.
pub unsafe fn MPI_T_event_set_dropped_handler(
    event_registration: c_int,
    _dropped_cb_function: Option<EventDroppedFunction>,
) -> c_int {
    end(with_registration(event_registration, |_| Ok(())))
}

/// Returns the event whose callback runs.
fn current(event_instance: c_int) -> Result<EventInstance, c_int> {
    started()?;
    let current = CURRENT.lock().filter(|_| event_instance == INSTANCE);
    current.ok_or(INVALID_HANDLE)
}

pub unsafe fn MPI_T_event_read(event_instance: c_int, element_index: c_int, buffer: *mut c_void) -> c_int {
    end(current(event_instance).and_then(|event| {
        let value = *index(&event.data, element_index)?;
        // SAFETY: the standard's requirements on the arguments: a buffer for the element's datatype.
        unsafe { put(buffer.cast::<c_ulonglong>(), value) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_event_copy(event_instance: c_int, buffer: *mut c_void) -> c_int {
    end(current(event_instance).map(|event| {
        // SAFETY: the standard's requirements on the arguments: a buffer for the elements of the event.
        unsafe { put(buffer.cast::<[c_ulonglong; ELEMENTS]>(), event.data) };
    }))
}

pub unsafe fn MPI_T_event_get_timestamp(event_instance: c_int, event_timestamp: *mut c_longlong) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(current(event_instance).map(|event| unsafe { put(event_timestamp, event.time_ns as c_longlong) }))
}

pub unsafe fn MPI_T_event_get_source(event_instance: c_int, source_index: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    end(current(event_instance).map(|_| unsafe { put(source_index, 0) }))
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
            put_info(info)?;
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

/// Returns the indices of the types of events of one category.
fn members_of(cat_index: c_int) -> impl Iterator<Item = c_int> {
    members(counters(), cat_index, |counter| counter.category)
}

pub unsafe fn MPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int) -> c_int {
    end(started().and_then(|()| {
        index(&CATEGORIES, cat_index)?;
        // SAFETY: the standard's requirements on the arguments.
        unsafe { put(num_events, members_of(cat_index).count() as c_int) };
        Ok(())
    }))
}

pub unsafe fn MPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on the arguments.
    unsafe { put_members(cat_index, len, indices, members_of(cat_index)) }
}
