//! Communicators, predefined and created by the program (chapter 6, and section 8.3 for their error handlers).
//!
//! [`super::comm_objects`] stores the communicators that the program creates.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::boxed::Box;
use alloc::string::String;
use core::ffi::{c_char, c_int};
use midplane_device::kernel::CallInfo;

use super::args::{self, put_text};
use super::attributes::CommCarrier;
use super::binding::env;
use super::comm_objects::{KeptComm, communicator, enter, give_up, inter_calls, own, prepare, views, world};
use super::error_dispatch::{on_any, on_process};
use super::infos::check_hints;
use super::types::Handle;
use super::types::constants::*;
use super::{buffered, comm_state, hardware, keyvals};
use midplane_device::envelope::{Context, Rank};
use midplane_device::interface::Device;
use midplane_objects::call;
use midplane_objects::comm::{CommRank, Group};
use midplane_objects::error::Error;

/// Duplicates a communicator with its topology and its attributes. If a copy function fails, frees the duplicate again:
/// the other processes keep theirs and need not wait for this one.
fn duplicate(function: &'static str, parent: c_int, newcomm: &mut Handle) -> Result<(), Error> {
    *newcomm = Handle::new(MPI_COMM_NULL);
    let twin = match inter_calls(parent) {
        Some(calls) => (calls.duplicate)(function, parent)?,
        None => duplicate_one(function, parent)?,
    };
    // A copy function may free it.
    let _stays = views(parent).map(|views| KeptComm::new(views.context()));
    if let Err(error) = keyvals::copy_all::<CommCarrier>(parent, twin) {
        // The first error is returned.
        let _ = keyvals::delete_all::<CommCarrier>(twin);
        give_up(twin);
        return Err(error);
    }
    *newcomm = Handle::new(twin);
    Ok(())
}

/// Duplicates an intracommunicator.
fn duplicate_one(function: &'static str, parent: c_int) -> Result<c_int, Error> {
    let comm = communicator(env()?, parent)?;
    let mut topology = None;
    let made = comm.make_duplicate(function, &mut |context| {
        topology = comm_state::prepare_copy(comm.membership().context)?;
        prepare(context)
    })?;
    comm_state::attach(made.context(), topology);
    enter(comm.env, made, parent)
}

pub unsafe fn MPI_Comm_dup(comm: c_int, newcomm: *mut Handle) -> c_int {
    on_any("MPI_Comm_dup", comm, |_, _| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        duplicate("MPI_Comm_dup", comm, newcomm)
    })
}

pub unsafe fn MPI_Comm_dup_with_info(comm: c_int, info: c_int, newcomm: *mut Handle) -> c_int {
    on_any("MPI_Comm_dup_with_info", comm, |_, _| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        check_hints(info)?;
        duplicate("MPI_Comm_dup_with_info", comm, newcomm)
    })
}

pub unsafe fn MPI_Comm_split(comm: c_int, color: c_int, key: c_int, newcomm: *mut Handle) -> c_int {
    on_any("MPI_Comm_split", comm, |_, _| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let color = match color {
            MPI_UNDEFINED => None,
            _ => Some(u32::try_from(color).map_err(|_| Error::Argument {
                what: "color is negative and not MPI_UNDEFINED",
            })?),
        };
        *newcomm = Handle::new(split("MPI_Comm_split", comm, color, key)?);
        Ok(())
    })
}

/// Returns the part of the communicator that this process chooses; MPI_COMM_NULL for none.
pub(super) fn split(function: &'static str, parent: c_int, color: Option<u32>, key: i32) -> Result<c_int, Error> {
    if let Some(calls) = inter_calls(parent) {
        return (calls.split)(function, parent, color, key);
    }
    let comm = communicator(env()?, parent)?;
    match comm.make_split(function, &mut prepare, color, key)? {
        Some(made) => enter(comm.env, made, parent),
        None => Ok(MPI_COMM_NULL),
    }
}

pub unsafe fn MPI_Comm_split_type(
    comm: c_int,
    split_type: c_int,
    key: c_int,
    info: c_int,
    newcomm: *mut Handle,
) -> c_int {
    on_any("MPI_Comm_split_type", comm, |env, views| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        check_hints(info)?;
        let color = match split_type {
            MPI_COMM_TYPE_SHARED => Some(hardware::memory_color(views.all())),
            MPI_UNDEFINED => None,
            _ => hardware::split_color(env, views.all(), split_type, info)?,
        };
        *newcomm = Handle::new(split("MPI_Comm_split_type", comm, color, key)?);
        Ok(())
    })
}

/// Frees a communicator. If the call `waits`, it first blocks until all of its communication is complete.
///
/// # Safety
/// See [`args::out`].
unsafe fn free(function: &'static str, comm: *mut Handle, waits: bool) -> c_int {
    // SAFETY: guaranteed by the caller.
    let handle = unsafe { comm.as_ref() }.copied().unwrap_or(Handle::new(MPI_COMM_NULL));
    on_any(function, handle.value(), |env, views| {
        if matches!(handle.value(), MPI_COMM_WORLD | MPI_COMM_SELF) {
            return Err(Error::Argument {
                what: "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed",
            });
        }
        if waits {
            let context = views.context();
            let note = CallInfo::without_peer(function);
            call::block_until(env, note, || env.is_context_idle(context));
        }
        keyvals::delete_all::<CommCarrier>(handle.value())?;
        buffered::finish_comm(env, function, views.context());
        if !give_up(handle.value()) {
            // A delete function has freed it.
            return Err(Error::Communicator { handle: handle.value() });
        }
        // SAFETY: as above; not null, because it referred to a communicator.
        *unsafe { args::out(comm, "comm") }? = Handle::new(MPI_COMM_NULL);
        Ok(())
    })
}

pub unsafe fn MPI_Comm_free(comm: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `comm`.
    unsafe { free("MPI_Comm_free", comm, false) }
}

pub unsafe fn MPI_Comm_disconnect(comm: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements on `comm`.
    unsafe { free("MPI_Comm_disconnect", comm, true) }
}

/// Compares two groups of processes with different contexts (section 6.4.1).
fn compare(a: Group<'_>, b: Group<'_>) -> c_int {
    if a.size != b.size {
        return MPI_UNEQUAL;
    }
    fn members(group: Group<'_>) -> impl Iterator<Item = Rank> {
        (0..group.size).map(move |rank| group.to_world(CommRank(rank)))
    }
    if members(a).eq(members(b)) {
        MPI_CONGRUENT
    } else if members(a).all(|member| members(b).any(|other| other == member)) {
        MPI_SIMILAR
    } else {
        MPI_UNEQUAL
    }
}

pub unsafe fn MPI_Comm_rank(comm: c_int, rank: *mut c_int) -> c_int {
    on_any("MPI_Comm_rank", comm, |_, views| {
        // SAFETY: the standard's requirements on `rank`.
        *unsafe { args::out(rank, "rank") }? = views.local.rank.0 as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Comm_size(comm: c_int, size: *mut c_int) -> c_int {
    on_any("MPI_Comm_size", comm, |_, views| {
        // SAFETY: the standard's requirements on `size`.
        *unsafe { args::out(size, "size") }? = views.local.size as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Comm_compare(comm1: c_int, comm2: c_int, result: *mut c_int) -> c_int {
    on_any("MPI_Comm_compare", comm1, |_, first| {
        let second = views(comm2).ok_or(Error::Communicator { handle: comm2 })?;
        // SAFETY: the standard's requirements on `result`.
        *unsafe { args::out(result, "result") }? = if comm1 == comm2 {
            MPI_IDENT
        } else if first.inter.is_some() != second.inter.is_some() {
            MPI_UNEQUAL
        } else {
            // For an intercommunicator, the less equal result of both groups.
            let local = compare(first.local.group(), second.local.group());
            local.max(compare(first.partners, second.partners))
        };
        Ok(())
    })
}

pub unsafe fn MPI_Comm_set_name(comm: c_int, comm_name: *const c_char) -> c_int {
    on_any("MPI_Comm_set_name", comm, |_, views| {
        // SAFETY: the standard's requirements on `comm_name`: a string.
        let name = unsafe { args::string(comm_name, MPI_MAX_OBJECT_NAME, "comm_name") }?;
        let bytes = name.len() + size_of::<(Context, Box<str>)>();
        let none = Error::NoSpace { bytes };
        let mut copy = String::new();
        copy.try_reserve_exact(name.len()).map_err(|_| none)?;
        copy.push_str(&name);
        let context = views.context();
        comm_state::unname(context);
        let mut names = comm_state::NAMES.lock();
        names.try_reserve(1).map_err(|_| none)?;
        names.push((context, copy.into_boxed_str()));
        Ok(())
    })
}

pub unsafe fn MPI_Comm_get_name(comm: c_int, comm_name: *mut c_char, resultlen: *mut c_int) -> c_int {
    const NAME: &str = "MPI_Comm_get_name";
    if comm == MPI_COMM_NULL {
        // SAFETY: the standard's requirements on both (MPI-4.1 section 7.8).
        return on_process(NAME, |_| unsafe {
            put_text(comm_name, MPI_MAX_OBJECT_NAME, "MPI_COMM_NULL", resultlen)
        });
    }
    on_any(NAME, comm, |_, views| {
        let context = views.context();
        let names = comm_state::NAMES.lock();
        let given = names.iter().find(|(named, _)| *named == context);
        let name = match given {
            Some((_, name)) => name,
            None if context == world().context => "MPI_COMM_WORLD",
            None if context == own().context => "MPI_COMM_SELF",
            None => "",
        };
        // SAFETY: the standard's requirements on both.
        unsafe { put_text(comm_name, MPI_MAX_OBJECT_NAME, name, resultlen) }
    })
}
