//! Creation and freeing of windows (section 11.2).
//!
//! A window has a separate communicator. Its context identifies the window at all of its processes. A failed allocation
//! of one process is reported to all: the call fails everywhere, and none waits for another.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use super::attributes::{WindowCarrier, take_hints};
use super::objects::{CallWindow, PredefinedAttributes, TABLE, WindowObject, on_win, with_object};
use crate::args;
use crate::comm_objects::{enter, give_up, prepare, views};
use crate::error_dispatch::{on_comm, release_handler};
use crate::infos::{self, MPI_Free_mem, check_hints};
use crate::keyvals;
use crate::types::constants::*;
use midplane_device::memory::Span;
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{Communicator, Membership};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::process::Env;
use midplane_objects::windows::{self, WindowState, agree, enter_device, leave_device, make_room, wrong};

/// A process's part of a window.
#[derive(Clone, Copy)]
struct LocalPart {
    flavor: c_int,
    base: usize,
    size: usize,
    disp_unit: c_int,
}

impl LocalPart {
    /// Checks the arguments. Fails with classes Size, Disp, Base.
    fn check(base: usize, size: isize, disp_unit: c_int, flavor: c_int) -> Result<LocalPart, Error> {
        let none = wrong(ErrorClass::Size, "size is negative");
        let size = usize::try_from(size).map_err(|_| none)?;
        if disp_unit <= 0 {
            return Err(wrong(ErrorClass::Disp, "disp_unit is not positive"));
        }
        let part = LocalPart {
            flavor,
            base,
            size,
            disp_unit,
        };
        if flavor != MPI_WIN_FLAVOR_ALLOCATE {
            part.shared().check()?;
        }
        Ok(part)
    }

    /// Converts it to the form shared by all bindings.
    fn shared(self) -> windows::WindowPart {
        windows::WindowPart {
            base: self.base,
            size: self.size,
            disp_unit: self.disp_unit as u32,
        }
    }
}

/// Returns the program's memory of this part of the window.
///
/// # Safety
/// The memory must satisfy [`Span::new`] until the window is freed or the memory is detached, as the program
/// guarantees.
unsafe fn span(base: usize, size: usize) -> Span {
    match size {
        0 => Span::EMPTY,
        // SAFETY: guaranteed by the caller.
        _ => unsafe { Span::new(core::ptr::with_exposed_provenance(base), size) },
    }
}

/// Registers a window at this process and returns its handle.
///
/// # Safety
/// See [`span`].
unsafe fn enter_window(
    env: &dyn Env,
    comm: c_int,
    membership: Membership<'static>,
    part: LocalPart,
) -> Result<c_int, Error> {
    let facts = make_room(PredefinedAttributes {
        size: part.size as isize,
        disp_unit: part.disp_unit,
        flavor: part.flavor,
        model: MPI_WIN_UNIFIED,
    })?;
    let memory = match part.flavor {
        MPI_WIN_FLAVOR_DYNAMIC => None,
        // SAFETY: guaranteed by the caller.
        _ => Some(unsafe { span(part.base, part.size) }),
    };
    enter_device(env, membership, memory, part.disp_unit as u32, || {
        TABLE.lock().add(WindowObject {
            comm,
            membership,
            base: part.base,
            facts,
            state: WindowState::new(),
            handler: MPI_ERRORS_ARE_FATAL,
            name: Vec::new(),
            attributes: Attributes::new(),
        })
    })
}

/// Removes a window from the tables of this process.
fn remove_window(env: &dyn Env, handle: c_int) {
    let Some(object) = TABLE.lock().remove(handle) else {
        return;
    };
    leave_device(env, object.membership);
    release_handler(object.handler);
    if matches!(object.facts.flavor, MPI_WIN_FLAVOR_ALLOCATE | MPI_WIN_FLAVOR_SHARED) && object.base != 0 {
        // SAFETY: from MPI_Alloc_mem, and the program releases it with the window.
        unsafe { MPI_Free_mem(core::ptr::with_exposed_provenance_mut(object.base)) };
    }
    give_up(object.comm);
}

/// Creates a window of all processes of a communicator. With `allocates`, the part's memory is allocated on the heap.
///
/// # Safety
/// See [`span`].
unsafe fn make(
    function: &'static str,
    parent: c_int,
    comm: Communicator<'static>,
    mut part: LocalPart,
) -> Result<(c_int, usize), Error> {
    let env = comm.env;
    let made = comm.make_duplicate(function, &mut prepare)?;
    let own = enter(env, made, parent)?;
    let views = views(own).ok_or(Error::Communicator { handle: own })?;
    let allocates = part.flavor == MPI_WIN_FLAVOR_ALLOCATE || part.flavor == MPI_WIN_FLAVOR_SHARED;
    let allocated = if allocates { allocate(part.size) } else { Ok(part.base) };
    let entered = allocated.and_then(|base| {
        part.base = base;
        // SAFETY: guaranteed by the caller, or memory that has just been allocated.
        unsafe { enter_window(env, own, views.local, part) }
    });
    let comm = Communicator::at(env, views.local);
    let agreed = agree(comm, entered.is_ok(), part.shared());
    match (entered, agreed) {
        (Ok(handle), Ok(uniform)) => {
            with_object(handle, |object| object.state.uniform = uniform);
            Ok((handle, part.base))
        }
        (Ok(handle), Err(error)) => {
            remove_window(env, handle);
            Err(error)
        }
        (Err(error), _) => {
            if allocates && part.base != 0 {
                // SAFETY: from MPI_Alloc_mem, and nothing uses it.
                unsafe { MPI_Free_mem(core::ptr::with_exposed_provenance_mut(part.base)) };
            }
            give_up(own);
            Err(error)
        }
    }
}

/// Applies hints to a new window.
fn hint(env: &'static dyn Env, win: c_int, info: c_int) -> Result<(), Error> {
    take_hints(&CallWindow::from_handle(env, "", win)?, info)
}

/// Allocates memory on the program's heap and returns its address; 0 if `bytes` is 0. Fails with [`Error::NoSpace`].
fn allocate(bytes: usize) -> Result<usize, Error> {
    if bytes == 0 {
        return Ok(0);
    }
    infos::allocate(bytes).map(|start| start.expose_provenance())
}

pub unsafe fn MPI_Win_create(
    base: *mut c_void,
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create", comm, |comm| {
        // SAFETY: the standard's requirements on `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let base = base.expose_provenance();
        let part = LocalPart::check(base, size, disp_unit, MPI_WIN_FLAVOR_CREATE)?;
        // SAFETY: the standard's requirements on the memory.
        (*win, _) = unsafe { make("MPI_Win_create", parent, comm, part) }?;
        hint(comm.env, *win, info)?;
        Ok(())
    })
}

pub unsafe fn MPI_Win_allocate(
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_allocate", comm, |comm| {
        // SAFETY: the standard's requirements on both; the first points to a pointer.
        let (win, place) = unsafe {
            (
                args::out(win, "win")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        check_hints(info)?;
        let part = LocalPart::check(0, size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE)?;
        // SAFETY: only this window uses the memory.
        let (handle, base) = unsafe { make("MPI_Win_allocate", parent, comm, part) }?;
        hint(comm.env, handle, info)?;
        *place = core::ptr::with_exposed_provenance_mut(base);
        *win = handle;
        Ok(())
    })
}

pub unsafe fn MPI_Win_allocate_shared(
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_allocate_shared", comm, |comm| {
        // SAFETY: the standard's requirements on both; the first points to a pointer.
        let (win, place) = unsafe {
            (
                args::out(win, "win")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        check_hints(info)?;
        if comm.size() > 1 {
            return Err(wrong(
                ErrorClass::RmaShared,
                "each process has memory of its own; only a communicator of one process, as \
                 MPI_Comm_split_type makes them, can share",
            ));
        }
        let flavor = MPI_WIN_FLAVOR_ALLOCATE;
        let part = LocalPart {
            flavor: MPI_WIN_FLAVOR_SHARED,
            ..LocalPart::check(0, size, disp_unit, flavor)?
        };
        // SAFETY: only this window uses the memory.
        let (handle, base) = unsafe { make("MPI_Win_allocate_shared", parent, comm, part) }?;
        hint(comm.env, handle, info)?;
        *place = core::ptr::with_exposed_provenance_mut(base);
        *win = handle;
        Ok(())
    })
}

pub unsafe fn MPI_Win_shared_query(
    win: c_int,
    rank: c_int,
    size: *mut isize,
    disp_unit: *mut c_int,
    baseptr: *mut c_void,
) -> c_int {
    on_win("MPI_Win_shared_query", win, |window| {
        // SAFETY: the standard's requirements on all three; the last points to a pointer.
        let (size, unit, place) = unsafe {
            (
                args::out(size, "size")?,
                args::out(disp_unit, "disp_unit")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        // For MPI_PROC_NULL it returns the part of the lowest rank; here there is only one.
        window.target(rank)?;
        window.with_object(|object| {
            if object.facts.flavor != MPI_WIN_FLAVOR_SHARED {
                return Err(wrong(
                    ErrorClass::RmaFlavor,
                    "win was not made by MPI_Win_allocate_shared",
                ));
            }
            (*size, *unit) = (object.facts.size, object.facts.disp_unit);
            *place = core::ptr::with_exposed_provenance_mut(object.base);
            Ok(())
        })
    })
}

pub unsafe fn MPI_Win_create_dynamic(info: c_int, comm: c_int, win: *mut c_int) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create_dynamic", comm, |comm| {
        // SAFETY: the standard's requirements on `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let part = LocalPart::check(0, 0, 1, MPI_WIN_FLAVOR_DYNAMIC)?;
        // SAFETY: no memory yet.
        (*win, _) = unsafe { make("MPI_Win_create_dynamic", parent, comm, part) }?;
        hint(comm.env, *win, info)?;
        Ok(())
    })
}

fn check_dynamic(window: &CallWindow) -> Result<(), Error> {
    if window.is_dynamic {
        Ok(())
    } else {
        Err(wrong(
            ErrorClass::RmaFlavor,
            "win was not made by MPI_Win_create_dynamic",
        ))
    }
}

pub unsafe fn MPI_Win_attach(win: c_int, base: *mut c_void, size: isize) -> c_int {
    on_win("MPI_Win_attach", win, |window| {
        check_dynamic(&window)?;
        let base = base.expose_provenance();
        let part = LocalPart::check(base, size, 1, MPI_WIN_FLAVOR_DYNAMIC)?;
        if part.size == 0 {
            return Ok(());
        }
        // SAFETY: the standard's requirements on the memory, until it is detached.
        let region = unsafe { span(part.base, part.size) };
        window.attach(region)
    })
}

pub unsafe fn MPI_Win_detach(win: c_int, base: *const c_void) -> c_int {
    on_win("MPI_Win_detach", win, |window| {
        check_dynamic(&window)?;
        window.detach(base.addr()).map(|_| ())
    })
}

pub unsafe fn MPI_Win_free(win: *mut c_int) -> c_int {
    // SAFETY: the standard's requirements on `win`.
    let handle = unsafe { win.as_ref() }.copied().unwrap_or(MPI_WIN_NULL);
    on_win("MPI_Win_free", handle, |window| {
        window.check_free()?;
        keyvals::delete_all::<WindowCarrier>(handle)?;
        window.end_all()?;
        remove_window(window.env, handle);
        // SAFETY: as above; not null, because it referred to a window.
        *unsafe { args::out(win, "win") }? = MPI_WIN_NULL;
        Ok(())
    })
}
