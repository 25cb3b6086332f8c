//! Section 11.2: windows are made and freed.
//!
//! A window has a communicator of its own, whose context names it in all of its processes. Memory that a process cannot
//! get is told to all: the call fails everywhere, and none waits for another.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::{c_int, c_long, c_void};

use super::attributes::{Windows, take_hints};
use super::objects::{
    Access, Extent, Facts, Object, TABLE, Window, no_window, on_win, out_of_order, with_object,
    wrong,
};
use crate::c::args;
use crate::c::collectives::MPI_Allreduce;
use crate::c::comm_objects::{enter, give_up, prepare, views};
use crate::c::infos::{self, MPI_Free_mem, check_hints};
use crate::c::keyvals;
use crate::c::report::{on_comm, release_handler};
use crate::c::types::constants::*;
use crate::device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span, runs};
use crate::device::rma::{self, OneSided, Peer};
use crate::mpi::attributes::Attributes;
use crate::mpi::comm::{Communicator, Membership};
use crate::mpi::error::{Class, Error};
use crate::mpi::one_sided::combine;
use crate::mpi::process::Env;

const MPI_LONG: c_int = 0x4c00_000b;
const MPI_MIN: c_int = 0x5800_0002;

/// What a window is made of at one process.
#[derive(Clone, Copy)]
struct Part {
    flavor: c_int,
    base: usize,
    size: usize,
    disp_unit: c_int,
}

impl Part {
    /// Fails with classes Size, Disp, Base.
    fn check(base: usize, size: isize, disp_unit: c_int, flavor: c_int) -> Result<Part, Error> {
        let none = wrong(Class::Size, "size is negative");
        let size = usize::try_from(size).map_err(|_| none)?;
        if disp_unit <= 0 {
            return Err(wrong(Class::Disp, "disp_unit is not positive"));
        }
        let part = Part {
            flavor,
            base,
            size,
            disp_unit,
        };
        part.check_base()?;
        Ok(part)
    }

    fn check_base(self) -> Result<(), Error> {
        let end = self.base.checked_add(self.size);
        let is_memory = self.base >= MODEL_KEYS && end.is_some_and(|end| end <= END_OF_ADDRESSES);
        match self.size == 0 || self.flavor == MPI_WIN_FLAVOR_ALLOCATE || is_memory {
            true => Ok(()),
            false => Err(wrong(Class::Base, "base is not where size bytes can be")),
        }
    }
}

/// The program's memory of this window part.
///
/// # Safety
/// As for [`Span::new`] until the window is freed, or the memory detached: the program's promise to the call.
unsafe fn span(base: usize, size: usize) -> Span {
    match size {
        0 => Span::EMPTY,
        // SAFETY: the caller's promise.
        _ => unsafe { Span::new(core::ptr::with_exposed_provenance(base), size) },
    }
}

pub(super) fn no_room<T>(count: usize) -> Error {
    Error::NoRoom {
        bytes: count.saturating_mul(size_of::<T>()),
    }
}

/// A value in the program's heap. Fails with [`Error::NoRoom`].
pub(super) fn boxed<T>(value: T) -> Result<Box<T>, Error> {
    let mut room = Vec::new();
    room.try_reserve_exact(1).map_err(|_| no_room::<T>(1))?;
    room.push(value);
    let one = Box::into_raw(room.into_boxed_slice()).cast::<T>();
    // SAFETY: a slice of one has the layout of the one, and has just been given up as a box.
    Ok(unsafe { Box::from_raw(one) })
}

/// Makes sure that the device can have another window. Fails with [`Error::NoRoom`].
fn prepare_device(env: &dyn Env, here: crate::device::envelope::Rank) -> Result<(), Error> {
    let mut is_there = false;
    env.with(&mut |adi, _| is_there = adi.one_sided().is_some());
    if !is_there {
        let mut made = Some(boxed(OneSided::new(here, combine, runs))?);
        env.with(&mut |adi, _| {
            if let Some(made) = made.take() {
                adi.set_one_sided(made);
            }
        });
    }
    let mut has_room = false;
    env.with(&mut |adi, _| has_room = adi.one_sided().is_some_and(OneSided::prepare));
    match has_room {
        true => Ok(()),
        false => Err(no_room::<rma::Window>(1)),
    }
}

/// Enters a window at this process; its handle.
///
/// # Safety
/// As for [`span`].
unsafe fn enter_window(
    env: &dyn Env,
    (comm, membership): (c_int, Membership<'static>),
    part: Part,
) -> Result<c_int, Error> {
    let here = membership.to_world(membership.rank);
    prepare_device(env, here)?;
    let size = Communicator::world(env).size() as usize;
    let mut peers = Vec::new();
    peers
        .try_reserve_exact(size)
        .map_err(|_| no_room::<Peer>(size))?;
    peers.resize(size, Peer::default());
    let is_dynamic = part.flavor == MPI_WIN_FLAVOR_DYNAMIC;
    let mut regions = Vec::new();
    if !is_dynamic {
        regions
            .try_reserve_exact(1)
            .map_err(|_| no_room::<Span>(1))?;
        // SAFETY: the caller's promise.
        regions.push(unsafe { span(part.base, part.size) });
    }
    let facts = boxed(Facts {
        size: part.size as isize,
        disp_unit: part.disp_unit,
        flavor: part.flavor,
        model: MPI_WIN_UNIFIED,
    })?;
    let kind = (is_dynamic, part.disp_unit as u32);
    let members = membership.ranks().map(|rank| membership.to_world(rank));
    let mut window = rma::Window::new(
        membership.context,
        regions,
        kind,
        peers.into_boxed_slice(),
        (members, here),
    );
    if window.is_none() {
        return Err(no_room::<rma::Window>(1));
    }
    let handle = TABLE.lock().add(Object {
        comm,
        membership,
        base: part.base,
        facts,
        uniform: None,
        extents: Vec::new(),
        handler: MPI_ERRORS_ARE_FATAL,
        name: Vec::new(),
        attributes: Attributes::new(),
        access: Access::None,
        exposure: None,
        kept: Vec::new(),
    })?;
    env.with(&mut |adi, _| {
        if let (Some(all), Some(window)) = (adi.one_sided(), window.take()) {
            all.add(window);
        }
    });
    Ok(handle)
}

/// What all processes have in common, once each of them has come as far as this one: `None`, not all have got the
/// memory they need; else the extent that they all have, if it is the same.
fn agree(comm: c_int, is_ready: bool, part: Part) -> Result<Option<Option<Extent>>, Error> {
    let (size, unit) = (part.size as c_long, c_long::from(part.disp_unit));
    let given = [c_long::from(is_ready), size, -size, unit, -unit];
    let mut least = [0; 5];
    // SAFETY: so many elements are in both.
    let code = unsafe {
        let (from, to) = (given.as_ptr().cast(), least.as_mut_ptr().cast());
        MPI_Allreduce(from, to, 5, MPI_LONG, MPI_MIN, comm)
    };
    if code != MPI_SUCCESS {
        return Err(Error::Raised {
            class: Class::from_code(code).unwrap_or(Class::Other),
            code,
        });
    }
    let [all_ready, size, more, unit, larger] = least;
    let is_uniform = size == -more && unit == -larger;
    Ok((all_ready != 0).then_some(is_uniform.then_some(Extent {
        size: size as u64,
        disp_unit: unit as u32,
    })))
}

/// Takes a window out of the tables of this process.
fn leave(env: &dyn Env, handle: c_int) {
    let Some(object) = TABLE.lock().remove(handle) else {
        return;
    };
    let context = object.context();
    env.with(&mut |adi, _| {
        adi.one_sided().and_then(|all| all.remove(context));
    });
    release_handler(object.handler);
    if matches!(
        object.facts.flavor,
        MPI_WIN_FLAVOR_ALLOCATE | MPI_WIN_FLAVOR_SHARED
    ) && object.base != 0
    {
        // SAFETY: from MPI_Alloc_mem, and the program gives it up with the window.
        unsafe { MPI_Free_mem(core::ptr::with_exposed_provenance_mut(object.base)) };
    }
    give_up(object.comm);
}

/// Makes a window of all processes of a communicator. With `allocates`, the part's memory comes from the heap.
///
/// # Safety
/// As for [`span`].
unsafe fn make(
    function: &'static str,
    parent: c_int,
    comm: Communicator<'static>,
    mut part: Part,
) -> Result<(c_int, usize), Error> {
    let env = comm.env;
    let made = comm.make_duplicate(function, &mut prepare)?;
    let own = enter(env, made, parent)?;
    let views = views(own).ok_or(Error::Communicator { handle: own })?;
    let allocates = part.flavor == MPI_WIN_FLAVOR_ALLOCATE || part.flavor == MPI_WIN_FLAVOR_SHARED;
    let allocated = match allocates {
        true => allocate(part.size),
        false => Ok(part.base),
    };
    let entered = allocated.and_then(|base| {
        part.base = base;
        // SAFETY: the caller's promise, or memory that has just been allocated.
        unsafe { enter_window(env, (own, views.local), part) }
    });
    let agreed = agree(own, entered.is_ok(), part);
    match (entered, agreed) {
        (Ok(handle), Ok(Some(uniform))) => {
            with_object(handle, |object| object.uniform = uniform);
            Ok((handle, part.base))
        }
        (entered, agreed) => {
            match entered {
                Ok(handle) => leave(env, handle),
                Err(_) => {
                    if allocates && part.base != 0 {
                        // SAFETY: from MPI_Alloc_mem, and nothing has it.
                        unsafe { MPI_Free_mem(core::ptr::with_exposed_provenance_mut(part.base)) };
                    }
                    give_up(own);
                }
            }
            entered?;
            agreed?;
            Err(wrong(
                Class::NoMem,
                "another process has no memory for its part of the window",
            ))
        }
    }
}

/// A window that has been made takes its hints.
fn hint(env: &'static dyn Env, win: c_int, info: c_int) -> Result<(), Error> {
    take_hints(&Window::of(env, "", win)?, info)
}

/// Memory of so many bytes from the program's heap; 0 when it is none. Fails with [`Error::NoRoom`].
fn allocate(bytes: usize) -> Result<usize, Error> {
    if bytes == 0 {
        return Ok(0);
    }
    infos::allocate(bytes).map(|start| start.expose_provenance())
}

#[unsafe(export_name = "PMPI_Win_create")]
pub unsafe extern "C" fn MPI_Win_create(
    base: *mut c_void,
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create", comm, |comm| {
        // SAFETY: the standard's promise about `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let base = base.expose_provenance();
        let part = Part::check(base, size, disp_unit, MPI_WIN_FLAVOR_CREATE)?;
        // SAFETY: the standard's promise about the memory.
        (*win, _) = unsafe { make("MPI_Win_create", parent, comm, part) }?;
        hint(comm.env, *win, info)?;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_allocate")]
pub unsafe extern "C" fn MPI_Win_allocate(
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_allocate", comm, |comm| {
        // SAFETY: the standard's promise about both; the first is the place of a pointer.
        let (win, place) = unsafe {
            (
                args::out(win, "win")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        check_hints(info)?;
        let part = Part::check(0, size, disp_unit, MPI_WIN_FLAVOR_ALLOCATE)?;
        // SAFETY: nothing but this window has the memory.
        let (handle, base) = unsafe { make("MPI_Win_allocate", parent, comm, part) }?;
        hint(comm.env, handle, info)?;
        *place = core::ptr::with_exposed_provenance_mut(base);
        *win = handle;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_allocate_shared")]
pub unsafe extern "C" fn MPI_Win_allocate_shared(
    size: isize,
    disp_unit: c_int,
    info: c_int,
    comm: c_int,
    baseptr: *mut c_void,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_allocate_shared", comm, |comm| {
        // SAFETY: the standard's promise about both; the first is the place of a pointer.
        let (win, place) = unsafe {
            (
                args::out(win, "win")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        check_hints(info)?;
        if comm.size() > 1 {
            return Err(wrong(
                Class::RmaShared,
                "each process has memory of its own; only a communicator of one process, as \
                 MPI_Comm_split_type makes them, can share",
            ));
        }
        let flavor = MPI_WIN_FLAVOR_ALLOCATE;
        let part = Part {
            flavor: MPI_WIN_FLAVOR_SHARED,
            ..Part::check(0, size, disp_unit, flavor)?
        };
        // SAFETY: nothing but this window has the memory.
        let (handle, base) = unsafe { make("MPI_Win_allocate_shared", parent, comm, part) }?;
        hint(comm.env, handle, info)?;
        *place = core::ptr::with_exposed_provenance_mut(base);
        *win = handle;
        Ok(())
    })
}

#[unsafe(export_name = "PMPI_Win_shared_query")]
pub unsafe extern "C" fn MPI_Win_shared_query(
    win: c_int,
    rank: c_int,
    size: *mut isize,
    disp_unit: *mut c_int,
    baseptr: *mut c_void,
) -> c_int {
    on_win("MPI_Win_shared_query", win, |window| {
        // SAFETY: the standard's promise about all three; the last is the place of a pointer.
        let (size, unit, place) = unsafe {
            (
                args::out(size, "size")?,
                args::out(disp_unit, "disp_unit")?,
                args::out(baseptr.cast::<*mut c_void>(), "baseptr")?,
            )
        };
        // Of MPI_PROC_NULL it tells the lowest rank's part: here there is one.
        window.target(rank)?;
        window.with(|object| {
            if object.facts.flavor != MPI_WIN_FLAVOR_SHARED {
                return Err(wrong(
                    Class::RmaFlavor,
                    "win was not made by MPI_Win_allocate_shared",
                ));
            }
            (*size, *unit) = (object.facts.size, object.facts.disp_unit);
            *place = core::ptr::with_exposed_provenance_mut(object.base);
            Ok(())
        })
    })
}

#[unsafe(export_name = "PMPI_Win_create_dynamic")]
pub unsafe extern "C" fn MPI_Win_create_dynamic(
    info: c_int,
    comm: c_int,
    win: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Win_create_dynamic", comm, |comm| {
        // SAFETY: the standard's promise about `win`.
        let win = unsafe { args::out(win, "win") }?;
        check_hints(info)?;
        let part = Part::check(0, 0, 1, MPI_WIN_FLAVOR_DYNAMIC)?;
        // SAFETY: no memory yet.
        (*win, _) = unsafe { make("MPI_Win_create_dynamic", parent, comm, part) }?;
        hint(comm.env, *win, info)?;
        Ok(())
    })
}

fn check_dynamic(window: &Window) -> Result<(), Error> {
    match window.is_dynamic {
        true => Ok(()),
        false => Err(wrong(
            Class::RmaFlavor,
            "win was not made by MPI_Win_create_dynamic",
        )),
    }
}

#[unsafe(export_name = "PMPI_Win_attach")]
pub unsafe extern "C" fn MPI_Win_attach(win: c_int, base: *mut c_void, size: isize) -> c_int {
    on_win("MPI_Win_attach", win, |window| {
        check_dynamic(&window)?;
        let base = base.expose_provenance();
        let part = Part::check(base, size, 1, MPI_WIN_FLAVOR_DYNAMIC)?;
        if part.size == 0 {
            return Ok(());
        }
        // SAFETY: the standard's promise about the memory, until it is detached.
        let region = unsafe { span(part.base, part.size) };
        let attached = window.change(|window| {
            let regions = window.regions();
            let meets = |other: &Span| {
                base < other.address() + other.len() && other.address() < base + part.size
            };
            if regions.iter().any(meets) {
                return Err(wrong(
                    Class::RmaAttach,
                    "some of the memory is attached already",
                ));
            }
            regions.try_reserve(1).map_err(|_| no_room::<Span>(1))?;
            regions.push(region);
            Ok(())
        });
        attached.unwrap_or(Err(no_window()))
    })
}

#[unsafe(export_name = "PMPI_Win_detach")]
pub unsafe extern "C" fn MPI_Win_detach(win: c_int, base: *const c_void) -> c_int {
    on_win("MPI_Win_detach", win, |window| {
        check_dynamic(&window)?;
        let detached = window.change(|window| {
            let regions = window.regions();
            let at = regions
                .iter()
                .position(|region| region.address() == base.addr());
            at.map(|at| regions.swap_remove(at))
        });
        match detached.flatten() {
            Some(_) => Ok(()),
            None => Err(wrong(
                Class::RmaAttach,
                "no memory is attached that begins there",
            )),
        }
    })
}

#[unsafe(export_name = "PMPI_Win_free")]
pub unsafe extern "C" fn MPI_Win_free(win: *mut c_int) -> c_int {
    // SAFETY: the standard's promise about `win`.
    let handle = unsafe { win.as_ref() }.copied().unwrap_or(MPI_WIN_NULL);
    on_win("MPI_Win_free", handle, |window| {
        window.with(|object| match object.access {
            _ if object.exposure.is_some() => {
                Err(out_of_order("MPI_Win_post has not been waited for"))
            }
            Access::None | Access::Fence { is_used: false, .. } => Ok(()),
            _ => Err(out_of_order("an epoch is open")),
        })?;
        keyvals::delete_all::<Windows>(handle)?;
        // Epochs that calls have closed that do not block end first.
        window.end_fence()?;
        let context = window.context();
        window.wait_until(None, |all| all.is_idle(context));
        // After it no process has anything to do with this one's part.
        window.barrier()?;
        leave(window.env, handle);
        // SAFETY: as above; not null, since it has named a window.
        *unsafe { args::out(win, "win") }? = MPI_WIN_NULL;
        Ok(())
    })
}
