//! Creation and freeing of windows (section 11.2).
//!
//! A window has a separate communicator. Its context identifies the window at all of its processes. A failed allocation
//! of one process is reported to all: the call fails everywhere, and none waits for another.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};

use super::attributes::{WindowCarrier, take_hints};
use super::objects::{CallWindow, PredefinedAttributes, TABLE, WindowObject, on_win, with_object};
use super::shared::{SharedPart, SharedParts};
use crate::args::{self, PeerRank};
use crate::comm_objects::{enter, give_up, prepare, views};
use crate::counts::{Integer, put};
use crate::error_dispatch::{on_comm, release_handler};
use crate::infos::{self, MPI_Free_mem, check_hints};
use crate::keyvals;
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::memory::Span;
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{CommRank, Communicator, Membership};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::process::Env;
use midplane_objects::windows::{self, WindowState, agree, enter_device, leave_device, make_room, wrong};

/// A process's part of a window.
#[derive(Clone, Copy)]
pub(super) struct LocalPart {
    flavor: c_int,
    base: usize,
    size: usize,
    disp_unit: c_int,
    /// The parts of a shared window need not follow one another.
    may_have_gaps: bool,
}

impl LocalPart {
    /// Checks the arguments. Fails with classes Size, Disp, Base.
    pub(super) fn check(base: usize, size: isize, disp_unit: isize, flavor: c_int) -> Result<LocalPart, Error> {
        let none = wrong(ErrorClass::Size, "size is negative");
        let size = usize::try_from(size).map_err(|_| none)?;
        let in_range = c_int::try_from(disp_unit).ok().filter(|unit| *unit > 0);
        let disp_unit = in_range.ok_or(wrong(ErrorClass::Disp, "disp_unit is not between 1 and 2,147,483,647"))?;
        let part = LocalPart {
            flavor,
            base,
            size,
            disp_unit,
            may_have_gaps: false,
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
    shared: Option<Box<SharedParts>>,
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
            shared,
            facts,
            state: WindowState::new(),
            handler: MPI_ERRORS_ARE_FATAL,
            name: Vec::new(),
            attributes: Attributes::new(),
        })
    })
}

/// Removes a window from the tables of this process.
pub(super) fn remove_window(env: &dyn Env, handle: c_int) {
    let Some(object) = TABLE.lock().remove(handle) else {
        return;
    };
    leave_device(env, object.membership);
    release_handler(object.handler);
    let is_allocated = matches!(object.facts.flavor, MPI_WIN_FLAVOR_ALLOCATE | MPI_WIN_FLAVOR_SHARED);
    if is_allocated && object.base != 0 && object.shared.is_none() {
        // SAFETY: from MPI_Alloc_mem, and the program releases it with the window.
        unsafe { MPI_Free_mem(core::ptr::with_exposed_provenance_mut(object.base)) };
    }
    give_up(object.comm);
}

/// Creates a window of all processes of a communicator. With `allocates`, the part's memory is allocated on the heap.
///
/// # Safety
/// See [`span`].
pub(super) unsafe fn make(
    function: &'static str,
    parent: c_int,
    comm: Communicator<'static>,
    mut part: LocalPart,
) -> Result<(c_int, usize), Error> {
    let env = comm.env;
    let made = comm.make_duplicate(function, &mut prepare)?;
    let own = enter(env, made, parent)?;
    let views = views(own).ok_or(Error::Communicator { handle: own })?;
    let comm = Communicator::at(env, views.local);
    let is_shared = part.flavor == MPI_WIN_FLAVOR_SHARED && comm.size() > 1;
    let allocates = !is_shared && matches!(part.flavor, MPI_WIN_FLAVOR_ALLOCATE | MPI_WIN_FLAVOR_SHARED);
    let allocated = if is_shared {
        allocate_shared(comm, function, part)
    } else if allocates {
        allocate(part.size).map(|base| (base, None))
    } else {
        Ok((part.base, None))
    };
    let entered = allocated.and_then(|(base, shared)| {
        part.base = base;
        // SAFETY: guaranteed by the caller, or memory that has just been allocated.
        unsafe { enter_window(env, own, views.local, part, shared) }
    });
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

/// Allocates memory that the processes of the window's communicator share. Returns the address of this process's part. Blocks
/// until all have called it.
fn allocate_shared(
    comm: Communicator<'_>,
    function: &'static str,
    part: LocalPart,
) -> Result<(usize, Option<Box<SharedParts>>), Error> {
    let own = SharedPart {
        offset: 0,
        size: part.size,
        disp_unit: part.disp_unit,
    };
    let shared = SharedParts::allocate(comm, function, own, !part.may_have_gaps)?;
    let (address, _) = shared.part(Some(comm.own_rank()));
    Ok((address, Some(make_room(shared)?)))
}

/// Allocates memory on the program's heap and returns its address; 0 if `bytes` is 0. Fails with [`Error::NoSpace`].
fn allocate(bytes: usize) -> Result<usize, Error> {
    if bytes == 0 {
        return Ok(0);
    }
    infos::allocate(bytes).map(|start| start.expose_provenance())
}

#[inline(always)]
pub unsafe fn MPI_Win_create(
    base: *mut c_void,
    size: isize,
    disp_unit: isize,
    info: c_int,
    comm: c_int,
    win: *mut Handle,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create", comm, |comm| {
        // SAFETY: the standard's requirements on `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let base = base.expose_provenance();
        let part = LocalPart::check(base, size, disp_unit, MPI_WIN_FLAVOR_CREATE)?;
        // SAFETY: the standard's requirements on the memory.
        let (handle, _) = unsafe { make("MPI_Win_create", parent, comm, part) }?;
        *win = Handle::new(handle);
        hint(comm.env, handle, info)?;
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Win_allocate(
    size: isize,
    disp_unit: isize,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut Handle,
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
        *win = Handle::new(handle);
        Ok(())
    })
}

#[inline(always)]
pub unsafe fn MPI_Win_allocate_shared(
    size: isize,
    disp_unit: isize,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut Handle,
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
        SharedParts::check(comm)?;
        let flavor = MPI_WIN_FLAVOR_ALLOCATE;
        let may_have_gaps = infos::has_value(comm.env, info, b"alloc_shared_noncontig", b"true")?;
        let part = LocalPart {
            flavor: MPI_WIN_FLAVOR_SHARED,
            may_have_gaps,
            ..LocalPart::check(0, size, disp_unit, flavor)?
        };
        // SAFETY: only this window uses the memory.
        let (handle, base) = unsafe { make("MPI_Win_allocate_shared", parent, comm, part) }?;
        hint(comm.env, handle, info)?;
        *place = core::ptr::with_exposed_provenance_mut(base);
        *win = Handle::new(handle);
        Ok(())
    })
}

pub unsafe fn MPI_Win_shared_query<C: Integer>(
    win: c_int,
    rank: c_int,
    size: *mut isize,
    disp_unit: *mut C,
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
        // For MPI_PROC_NULL it returns the part of the lowest rank whose part is not empty.
        let rank = match window.target(rank)? {
            PeerRank::ProcNull => None,
            PeerRank::Rank(_) => Some(CommRank(rank as u32)),
        };
        window.with_object(|object| {
            // A process accesses its own part of other windows only (MPI-4.1 section 12.2.3).
            let is_own = rank == Some(window.membership.rank);
            let is_accessible = match object.facts.flavor {
                MPI_WIN_FLAVOR_SHARED => true,
                MPI_WIN_FLAVOR_DYNAMIC => false,
                _ => is_own,
            };
            if !is_accessible {
                (*size, *place) = (0, core::ptr::null_mut());
                return put(unit, object.facts.disp_unit.get());
            }
            if let Some(shared) = &object.shared {
                let (address, part) = shared.part(rank);
                *size = part.size as isize;
                *place = core::ptr::with_exposed_provenance_mut(address);
                return put(unit, part.disp_unit.get());
            }
            *size = object.facts.size;
            *place = core::ptr::with_exposed_provenance_mut(object.base);
            put(unit, object.facts.disp_unit.get())
        })
    })
}

pub unsafe fn MPI_Win_create_dynamic(info: c_int, comm: c_int, win: *mut Handle) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create_dynamic", comm, |comm| {
        // SAFETY: the standard's requirements on `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let part = LocalPart::check(0, 0, 1, MPI_WIN_FLAVOR_DYNAMIC)?;
        // SAFETY: no memory yet.
        let (handle, _) = unsafe { make("MPI_Win_create_dynamic", parent, comm, part) }?;
        *win = Handle::new(handle);
        hint(comm.env, handle, info)?;
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

pub unsafe fn MPI_Win_free(win: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `win`.
    let handle = unsafe { win.as_ref() }.copied().unwrap_or(Handle::new(MPI_WIN_NULL));
    on_win("MPI_Win_free", handle.value(), |window| {
        window.check_free()?;
        keyvals::delete_all::<WindowCarrier>(handle.value())?;
        window.end_all()?;
        remove_window(window.env, handle.value());
        // SAFETY: as above; not null, because it referred to a window.
        *unsafe { args::out(win, "win") }? = Handle::new(MPI_WIN_NULL);
        Ok(())
    })
}
