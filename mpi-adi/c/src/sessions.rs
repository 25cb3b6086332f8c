//! Sessions (MPI-4.0 section 11.3): MPI without MPI_Init and MPI_COMM_WORLD.
//!
//! A session keeps MPI active, like MPI_Init. If the program has called MPI_Init, or has not finalized yet, the first
//! session and the last one change nothing else. A process set is a name for a list of processes; communicators are
//! created from groups of them.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};

use super::args;
use super::binding::{self, HAS_SESSIONS, MpiPhase, any_env, close_world, env, phase};
use super::comm_objects::{self, ErrorTarget, enter, enter_inter, prepare};
use super::error_dispatch::{ErrorFunction, end, end_under, hold_handler, raise, release_handler};
use super::errors;
use super::groups::{enter_session_group, group_members};
use super::infos;
use super::intercommunicators::CALLS;
use super::session_objects::{SESSIONS, SessionObject, error_target_of, on_session};
use super::types::Handle;
use super::types::constants::*;
use super::{buffered, codes};
use midplane_device::envelope::Rank;
use midplane_device::interface::NetworkCollectives;
use midplane_objects::comm::{CommRank, Communicator};
use midplane_objects::error::Error;
use midplane_objects::inter::{LeaderBridge, connect};
use midplane_objects::process::Env;

/// A process set: its name, and its processes.
struct ProcessSet {
    name: &'static CStr,
    members: fn(Communicator<'_>) -> core::ops::Range<u32>,
}

const PROCESS_SETS: [ProcessSet; 2] = [
    ProcessSet {
        name: c"mpi://WORLD",
        members: |world| 0..world.size(),
    },
    ProcessSet {
        name: c"mpi://SELF",
        members: |world| world.rank()..world.rank() + 1,
    },
];

impl ProcessSet {
    /// Returns the set with this name. The names have the format of a URI, whose scheme and host are the same in upper and
    /// lower case (RFC 3986 section 6.2.2.1).
    ///
    /// # Safety
    /// A non-null `name` must point to a string.
    unsafe fn find(name: *const c_char) -> Result<&'static ProcessSet, Error> {
        if name.is_null() {
            return Err(Error::NullArgument { name: "pset_name" });
        }
        // SAFETY: guaranteed by the caller.
        let name = unsafe { CStr::from_ptr(name) };
        let is_name = |set: &&ProcessSet| set.name.to_bytes().eq_ignore_ascii_case(name.to_bytes());
        let found = PROCESS_SETS.iter().find(is_name);
        found.ok_or(Error::Argument {
            what: "pset_name names no process set; the sets are mpi://WORLD and mpi://SELF",
        })
    }
}

/// Maximum length of a string tag with its terminating zero.
const MAX_STRING_TAG: usize = 1024;

/// Opens MPI for a session.
fn open() -> Result<(), Error> {
    if !HAS_SESSIONS {
        return Err(Error::Unsupported {
            what: "sessions on a microcontroller",
        });
    }
    let env = any_env()?;
    binding::WORLD.set(|next| {
        let mut sessions = SESSIONS.lock();
        if sessions.open == 0 {
            return None;
        }
        let world = sessions.world;
        sessions.world = next.unwrap_or(world);
        Some(world)
    });
    let mut sessions = SESSIONS.lock();
    if sessions.open == 0 {
        sessions.world = phase();
    }
    sessions.open += 1;
    drop(sessions);
    if phase() != MpiPhase::Running {
        comm_objects::note_membership(env);
        midplane_objects::installed::set_phase(MpiPhase::Running);
    }
    Ok(())
}

/// Ends MPI with the last session, unless it is active between MPI_Init and MPI_Finalize.
fn close(function: &'static str) {
    if !HAS_SESSIONS {
        return;
    }
    let mut sessions = SESSIONS.lock();
    sessions.open -= 1;
    let world = sessions.world;
    let is_over = sessions.open == 0 && world != MpiPhase::Running;
    drop(sessions);
    if is_over {
        if let Ok(env) = any_env() {
            env.wait_until_sent(function);
        }
        close_world();
        midplane_objects::installed::set_phase(world);
    }
}

pub unsafe fn MPI_Session_init(info: c_int, errhandler: c_int, session: *mut Handle) -> c_int {
    const NAME: &str = "MPI_Session_init";
    if let Err(error) = open() {
        return end(NAME, MPI_COMM_WORLD, Err(error));
    }
    let added = errors::check(errhandler).and_then(|()| {
        infos::check_hints(info)?;
        // SAFETY: the standard's requirements on `session`.
        let session = unsafe { args::out(session, "session") }?;
        *session = Handle::new(SESSIONS.lock().objects.add(SessionObject { handler: errhandler })?);
        hold_handler(errhandler);
        Ok(())
    });
    match added {
        Ok(()) => MPI_SUCCESS,
        Err(error) => {
            let handler = errors::check(errhandler).map_or(MPI_ERRORS_ARE_FATAL, |()| errhandler);
            let code = raise(NAME, ErrorTarget::new(MPI_SESSION_NULL, handler), error);
            close(NAME);
            code
        }
    }
}

pub unsafe fn MPI_Session_finalize(session: *mut Handle) -> c_int {
    const NAME: &str = "MPI_Session_finalize";
    // SAFETY: the standard's requirements on `session`.
    let handle = unsafe { session.as_ref() }
        .copied()
        .unwrap_or(Handle::new(MPI_SESSION_NULL));
    let mut is_over = false;
    let code = on_session(NAME, handle.value(), |env| {
        buffered::finish_session(env, handle.value());
        if let Some(object) = SESSIONS.lock().objects.remove(handle.value()) {
            release_handler(object.handler);
        }
        // SAFETY: as above; not null, because it referred to a session.
        *unsafe { args::out(session, "session") }? = Handle::new(MPI_SESSION_NULL);
        is_over = true;
        Ok(())
    });
    if is_over {
        close(NAME);
    }
    code
}

pub unsafe fn MPI_Session_get_num_psets(session: c_int, info: c_int, npset_names: *mut c_int) -> c_int {
    on_session("MPI_Session_get_num_psets", session, |_| {
        infos::check_hints(info)?;
        // SAFETY: the standard's requirements on `npset_names`.
        *unsafe { args::out(npset_names, "npset_names") }? = PROCESS_SETS.len() as c_int;
        Ok(())
    })
}

pub unsafe fn MPI_Session_get_nth_pset(
    session: c_int,
    info: c_int,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> c_int {
    on_session("MPI_Session_get_nth_pset", session, |_| {
        infos::check_hints(info)?;
        let set = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n));
        let name = set.map(|set| set.name.to_str().unwrap_or_default());
        let name = name.ok_or(Error::Argument {
            what: "n is not below the number of process sets",
        })?;
        // SAFETY: the standard's requirements on `pset_len`.
        let length = unsafe { args::out(pset_len, "pset_len") }?;
        // With length 0 the call returns the length only.
        if let Some(room) = usize::try_from(*length).ok().filter(|room| *room > 0) {
            // SAFETY: the standard's requirements on `pset_name`, which has `pset_len` bytes.
            unsafe { args::text(pset_name, room, name) }?;
        }
        *length = name.len() as c_int + 1;
        Ok(())
    })
}

pub unsafe fn MPI_Session_get_info(session: c_int, info_used: *mut Handle) -> c_int {
    on_session("MPI_Session_get_info", session, |_| {
        // SAFETY: the standard's requirements on `info_used`.
        let info_used = unsafe { args::out(info_used, "info_used") }?;
        *info_used = Handle::new(infos::enter(&[
            (b"thread_level", infos::thread_level_name()),
            (b"mpi_memory_alloc_kinds", b"mpi,system"),
        ])?);
        Ok(())
    })
}

pub unsafe fn MPI_Session_get_pset_info(session: c_int, pset_name: *const c_char, info: *mut Handle) -> c_int {
    on_session("MPI_Session_get_pset_info", session, |env| {
        // SAFETY: the standard's requirements on both.
        let (set, info) = unsafe { (ProcessSet::find(pset_name)?, args::out(info, "info")?) };
        let size = (set.members)(Communicator::world(env)).len();
        let mut text = heapless::String::<12>::new();
        let _ = core::fmt::Write::write_fmt(&mut text, format_args!("{size}")); // at most 10 digits
        *info = Handle::new(infos::enter(&[(b"mpi_size", text.as_bytes())])?);
        Ok(())
    })
}

pub unsafe fn MPI_Group_from_session_pset(session: c_int, pset_name: *const c_char, newgroup: *mut Handle) -> c_int {
    on_session("MPI_Group_from_session_pset", session, |env| {
        // SAFETY: the standard's requirements on both.
        let (set, newgroup) = unsafe { (ProcessSet::find(pset_name)?, args::out(newgroup, "newgroup")?) };
        let world = Communicator::world(env);
        let range = (set.members)(world);
        let mut members = midplane_objects::coll::try_with_capacity(range.len())?;
        members.extend(range.map(|rank| world.membership().to_world(CommRank(rank))));
        *newgroup = Handle::new(enter_session_group(members, session)?);
        Ok(())
    })
}

pub unsafe fn MPI_Session_create_errhandler(function: Option<ErrorFunction>, errhandler: *mut Handle) -> c_int {
    // It may precede MPI_Init and the first session.
    // SAFETY: the standard's requirements on `errhandler`.
    unsafe { errors::create_early("MPI_Session_create_errhandler", function, errhandler) }
}

pub unsafe fn MPI_Session_set_errhandler(session: c_int, errhandler: c_int) -> c_int {
    on_session("MPI_Session_set_errhandler", session, |_| {
        errors::check(errhandler)?;
        hold_handler(errhandler);
        if let Some(object) = SESSIONS.lock().objects.get_mut(session) {
            release_handler(object.handler);
            object.handler = errhandler;
        }
        Ok(())
    })
}

pub unsafe fn MPI_Session_get_errhandler(session: c_int, errhandler: *mut Handle) -> c_int {
    on_session("MPI_Session_get_errhandler", session, |_| {
        // SAFETY: the standard's requirements on `errhandler`.
        let errhandler = unsafe { args::out(errhandler, "errhandler") }?;
        *errhandler = Handle::new(errors::give_handle(error_target_of(session).handler));
        Ok(())
    })
}

pub unsafe fn MPI_Session_call_errhandler(session: c_int, errorcode: c_int) -> c_int {
    on_session("MPI_Session_call_errhandler", session, |_| {
        raise(
            "MPI_Session_call_errhandler",
            error_target_of(session),
            codes::raised(errorcode)?,
        );
        Ok(())
    })
}

/// Returns a number for the string tag of a call, which distinguishes calls of several threads.
///
/// # Safety
/// A non-null `tag` must point to a string.
unsafe fn check_string_tag(tag: *const c_char) -> Result<u32, Error> {
    if tag.is_null() {
        return Err(Error::NullArgument { name: "stringtag" });
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(tag) }.to_bytes_with_nul();
    if text.len() > MAX_STRING_TAG {
        return Err(Error::Argument {
            what: "stringtag is longer than MPI_MAX_STRINGTAG_LEN",
        });
    }
    // FNV-1a.
    let hash = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    Ok(text.iter().fold(0x811c_9dc5, hash))
}

/// Ends a call that creates a communicator with this error handler.
fn end_creation(function: &'static str, errhandler: c_int, result: Result<(), Error>) -> c_int {
    let handler = errors::check(errhandler).map_or(MPI_ERRORS_ARE_FATAL, |()| errhandler);
    end_under(function, ErrorTarget::new(MPI_COMM_SELF, handler), result)
}

pub unsafe fn MPI_Comm_create_from_group(
    group: c_int,
    stringtag: *const c_char,
    info: c_int,
    errhandler: c_int,
    newcomm: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Comm_create_from_group";
    let created = env().and_then(|env| {
        errors::check(errhandler)?;
        infos::check_hints(info)?;
        // SAFETY: the standard's requirements on both.
        let (tag, newcomm) = unsafe { (check_string_tag(stringtag)?, args::out(newcomm, "newcomm")?) };
        *newcomm = Handle::new(MPI_COMM_NULL);
        let (members, session) = group_members(group)?;
        let made = Communicator::world(env).make_group(NAME, &mut prepare, members, tag)?;
        if let Some(made) = made {
            let handle = enter(env, made, MPI_COMM_NULL)?;
            comm_objects::set_origin(handle, errhandler, session);
            *newcomm = Handle::new(handle);
        }
        Ok(())
    });
    end_creation(NAME, errhandler, created)
}

/// Creates an intercommunicator of two groups, and returns its handle.
fn connect_groups(
    env: &'static dyn Env,
    function: &'static str,
    tag: u32,
    local: Vec<Rank>,
    (local_leader, remote): (c_int, Option<Rank>),
) -> Result<c_int, Error> {
    let world = Communicator::world(env);
    let size = local.len() as u32;
    let leader = u32::try_from(local_leader).ok().filter(|leader| *leader < size);
    let leader = leader.map(CommRank).ok_or(Error::Rank {
        rank: local_leader.into(),
        size,
    })?;
    let Some(made) = world.make_group(function, &mut midplane_objects::split::ready, local, tag)? else {
        return Ok(MPI_COMM_NULL);
    };
    let among = Communicator::at(env, made.membership());
    let is_leader = among.own_rank() == leader;
    let bridge = is_leader.then(|| {
        let remote = remote.ok_or(Error::Argument {
            what: "remote_leader is no rank of remote_group",
        })?;
        let partners = world.partners();
        Ok(LeaderBridge::new(partners, partners.group().in_group(remote)))
    });
    let connected = connect(function, among, leader, bridge, &mut prepare);
    env.process().retire_context(made.context());
    enter_inter(env, connected?, &CALLS, MPI_COMM_NULL)
}

pub unsafe fn MPI_Intercomm_create_from_groups(
    local_group: c_int,
    local_leader: c_int,
    remote_group: c_int,
    remote_leader: c_int,
    stringtag: *const c_char,
    info: c_int,
    errhandler: c_int,
    newintercomm: *mut Handle,
) -> c_int {
    const NAME: &str = "MPI_Intercomm_create_from_groups";
    let created = env().and_then(|env| {
        errors::check(errhandler)?;
        infos::check_hints(info)?;
        // SAFETY: the standard's requirements on both.
        let (tag, newintercomm) = unsafe { (check_string_tag(stringtag)?, args::out(newintercomm, "newintercomm")?) };
        *newintercomm = Handle::new(MPI_COMM_NULL);
        let (local, session) = group_members(local_group)?;
        if local.is_empty() {
            return Ok(());
        }
        // Significant only at the leader, whose arguments are checked there.
        let remote = group_members(remote_group).ok();
        let remote = remote.and_then(|(members, _)| members.get(usize::try_from(remote_leader).ok()?).copied());
        let handle = connect_groups(env, NAME, tag, local, (local_leader, remote))?;
        if handle != MPI_COMM_NULL {
            comm_objects::set_origin(handle, errhandler, session);
        }
        *newintercomm = Handle::new(handle);
        Ok(())
    });
    end_creation(NAME, errhandler, created)
}
