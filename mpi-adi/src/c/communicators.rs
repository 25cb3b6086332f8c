//! Chapter 6, and section 8.3 for them: communicators, predefined and made by the program.
//!
//! MPI_Comm_free makes the handle invalid at once; the object stays until the communicator's requests are
//! complete, as the standard wants (section 6.4.3). Its place in the table is the number of its context, by
//! which requests find it.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::Ordering;

use spin::Mutex;

use super::args;
use super::constants::*;
use super::environment::put_text;
use super::handles::{Kind, Table};
use super::{BINDING, Blame, any_env, env, on_comm, topologies};
use crate::device::envelope::{Context, Rank, Tag};
use crate::mpi::comm::{CommRank, Communicator, Membership, RankMap};
use crate::mpi::context::{self, CONTEXTS, SELF_CONTEXT, base};
use crate::mpi::error::Error;
use crate::mpi::process::Env;
use crate::mpi::split::Made;

/// A communicator that the program has made.
struct Object {
    membership: Membership<'static>,
    handler: c_int,
    /// Requests that were started and have not been completed.
    requests: u32,
    freed: bool,
}

const KIND: Kind = Kind {
    name: "communicators at one time, MPI_COMM_WORLD and MPI_COMM_SELF among them",
    tag: 0x8400_0000_u32 as c_int,
    place_bits: 11,
    generation_bits: 13,
    limit: CONTEXTS,
};

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

/// Takes the object out if its communicator is gone in every respect.
fn release(table: &mut Table<Object>, handle: c_int) {
    let is_over = |object: &&Object| object.freed && object.requests == 0;
    if table.get(handle).filter(is_over).is_none() {
        return;
    }
    let Some(Object { membership, .. }) = table.remove(handle) else {
        return;
    };
    unname(membership.context);
    topologies::forget(membership.context);
    if let Ok(env) = any_env() {
        env.process().retire_context(membership.context);
    }
    if let RankMap::List(list) = membership.map {
        let list = core::ptr::from_ref(list).cast_mut();
        // SAFETY: leaked by `Made::leak` for this object alone, which has just gone. Memberships are copied
        // only for the length of a call, and this is the end of one that needs none.
        drop(unsafe { Box::from_raw(list) });
    }
}

/// Runs `f` on the communicator that `handle` names; for as long as `f` runs nothing else has the table.
fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    let mut table = TABLE.lock();
    table.get_mut(handle).filter(|object| !object.freed).map(f)
}

/// Notes who this process is; called by MPI_Init.
pub(super) fn note_membership(env: &dyn Env) {
    let world = Communicator::world(env);
    BINDING.place[0].store(world.rank(), Ordering::Relaxed);
    BINDING.place[1].store(world.size(), Ordering::Relaxed);
}

fn world() -> Membership<'static> {
    let [rank, size] = &BINDING.place;
    Membership::world(rank.load(Ordering::Relaxed), size.load(Ordering::Relaxed))
}

/// This process's number in the job.
pub(super) fn own_number() -> Rank {
    let world = world();
    world.to_world(world.rank)
}

fn own() -> Membership<'static> {
    Membership::own(own_number())
}

pub(super) fn membership(handle: c_int) -> Option<Membership<'static>> {
    match handle {
        MPI_COMM_WORLD => Some(world()),
        MPI_COMM_SELF => Some(own()),
        _ => with_object(handle, |object| object.membership),
    }
}

pub(super) fn communicator(
    env: &'static dyn Env,
    handle: c_int,
) -> Result<Communicator<'static>, Error> {
    match membership(handle) {
        Some(membership) => Ok(Communicator::at(env, membership)),
        None => Err(Error::Communicator { handle }),
    }
}

/// The error handler of a communicator; of none, MPI_COMM_WORLD's (section 8.3).
pub(super) fn handler(comm: c_int) -> c_int {
    let [of_world, of_self] = &BINDING.handlers;
    match comm {
        MPI_COMM_SELF => of_self.load(Ordering::Relaxed),
        _ => with_object(comm, |object| object.handler)
            .unwrap_or_else(|| of_world.load(Ordering::Relaxed)),
    }
}

pub(super) fn set_handler(comm: c_int, handler: c_int) {
    let [of_world, of_self] = &BINDING.handlers;
    match comm {
        MPI_COMM_WORLD => of_world.store(handler, Ordering::Relaxed),
        MPI_COMM_SELF => of_self.store(handler, Ordering::Relaxed),
        _ => {
            with_object(comm, |object| object.handler = handler);
        }
    }
}

/// Whether any communicator has this error handler.
pub(super) fn in_use(handler: c_int) -> bool {
    let made = |object: &Object| object.handler == handler;
    BINDING
        .handlers
        .iter()
        .any(|of| of.load(Ordering::Relaxed) == handler)
        || TABLE.lock().objects().any(made)
}

/// Counts a request of the communicator with this handle.
pub(super) fn request_started(comm: c_int) {
    with_object(comm, |object| object.requests += 1);
}

/// As [`request_started`], by the communicator's context: it may have been freed since.
pub(super) fn request_started_in(context: Context) {
    with_context(context, |object| object.requests += 1);
}

/// Runs `f` on the made communicator with this context, freed or not; takes it out if that is all that it has
/// waited for.
fn with_context(context: Context, f: impl FnOnce(&mut Object)) {
    let mut table = TABLE.lock();
    if let Some((handle, object)) = table.at(context::index(context)) {
        f(object);
        release(&mut table, handle);
    }
}

/// A request's communicator, found by the request's context, freed or not.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    /// Itself and its error handler.
    pub blame: Blame,
    membership: Membership<'static>,
}

impl Owner {
    /// The rank in the communicator of the process with this number in the job.
    pub fn rank(&self, world: Rank) -> CommRank {
        self.membership.in_group(world)
    }
}

pub(super) fn owner(context: Context) -> Owner {
    let (comm, membership) = match base(context) {
        SELF_CONTEXT => (MPI_COMM_SELF, own()),
        // A made communicator stays until its requests are complete, so that it is found here.
        context => match TABLE.lock().at(context::index(context)) {
            Some((comm, object)) => {
                return Owner {
                    blame: Blame {
                        comm,
                        handler: object.handler,
                    },
                    membership: object.membership,
                };
            }
            None => (MPI_COMM_WORLD, world()),
        },
    };
    Owner {
        blame: Blame {
            comm,
            handler: handler(comm),
        },
        membership,
    }
}

/// A request of the communicator with this context has completed.
pub(super) fn request_completed(context: Context) {
    with_context(context, |object| {
        object.requests = object.requests.saturating_sub(1)
    });
}

/// Makes room for a communicator, before the other processes take part in its making. Fails with
/// [`Error::NoRoom`]. When they agree on a higher context than this process has free, [`enter`] may still
/// need more.
pub(super) fn prepare(env: &dyn Env) -> Result<(), Error> {
    match context::lowest(&env.process().free_contexts(env)) {
        Some(context) => TABLE.lock().prepare(context::index(context)),
        None => Ok(()),
    }
}

/// Enters a new communicator, with its parent's error handler; its handle. Fails with [`Error::NoRoom`].
pub(super) fn enter(env: &dyn Env, made: Made, parent: c_int) -> Result<c_int, Error> {
    let handler = handler(parent);
    let context = made.context();
    let object = Object {
        membership: made.leak(),
        handler,
        requests: 0,
        freed: false,
    };
    let entered = TABLE.lock().add_at(context::index(context), object);
    if entered.is_err() {
        env.process().retire_context(context);
    }
    entered.inspect_err(|_| topologies::forget(context))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_dup(comm: c_int, newcomm: *mut c_int) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_dup", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        prepare(comm.env)?;
        let grid = topologies::prepare_copy(comm.membership().context)?;
        let made = comm.make_duplicate()?;
        topologies::attach(made.context(), grid);
        *newcomm = enter(comm.env, made, parent)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_split(
    comm: c_int,
    color: c_int,
    key: c_int,
    newcomm: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_split", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let color = match color {
            MPI_UNDEFINED => None,
            _ => Some(u32::try_from(color).map_err(|_| Error::Argument {
                what: "color is negative and not MPI_UNDEFINED",
            })?),
        };
        prepare(comm.env)?;
        *newcomm = match comm.make_split(color, key)? {
            Some(made) => enter(comm.env, made, parent)?,
            None => MPI_COMM_NULL,
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_split_type(
    comm: c_int,
    split_type: c_int,
    _key: c_int,
    _info: c_int,
    newcomm: *mut c_int,
) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_split_type", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let color = match split_type {
            // No process shares memory with another.
            MPI_COMM_TYPE_SHARED => Some(comm.rank()),
            MPI_UNDEFINED => None,
            _ => {
                return Err(Error::Argument {
                    what: "split_type is neither MPI_COMM_TYPE_SHARED nor MPI_UNDEFINED",
                });
            }
        };
        prepare(comm.env)?;
        *newcomm = match comm.make_split(color, 0)? {
            Some(made) => enter(comm.env, made, parent)?,
            None => MPI_COMM_NULL,
        };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_free(comm: *mut c_int) -> c_int {
    // SAFETY: the standard's promise about `comm`.
    let handle = unsafe { comm.as_ref() }.copied().unwrap_or(MPI_COMM_NULL);
    on_comm("MPI_Comm_free", handle, |_| {
        let freed = with_object(handle, |object| object.freed = true);
        release(&mut TABLE.lock(), handle);
        if freed.is_none() {
            return Err(Error::Argument {
                what: "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed",
            });
        }
        // SAFETY: as above; not null, since it has named a communicator.
        *unsafe { args::out(comm, "comm") }? = MPI_COMM_NULL;
        Ok(())
    })
}

/// How two communicators that are not the same compare (section 6.4.1).
fn compare(first: Communicator<'_>, second: Communicator<'_>) -> c_int {
    let (a, b) = (first.membership(), second.membership());
    if a.size != b.size {
        return MPI_UNEQUAL;
    }
    fn members(membership: Membership<'_>) -> impl Iterator<Item = Rank> {
        membership
            .ranks()
            .map(move |rank| membership.to_world(rank))
    }
    if members(a).eq(members(b)) {
        MPI_CONGRUENT
    } else if members(a).all(|member| members(b).any(|other| other == member)) {
        MPI_SIMILAR
    } else {
        MPI_UNEQUAL
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_rank(comm: c_int, rank: *mut c_int) -> c_int {
    on_comm("MPI_Comm_rank", comm, |comm| {
        // SAFETY: the standard's promise about `rank`.
        *unsafe { args::out(rank, "rank") }? = comm.rank() as c_int;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_size(comm: c_int, size: *mut c_int) -> c_int {
    on_comm("MPI_Comm_size", comm, |comm| {
        // SAFETY: the standard's promise about `size`.
        *unsafe { args::out(size, "size") }? = comm.size() as c_int;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_compare(comm1: c_int, comm2: c_int, result: *mut c_int) -> c_int {
    on_comm("MPI_Comm_compare", comm1, |first| {
        let second = communicator(env()?, comm2)?;
        // SAFETY: the standard's promise about `result`.
        *unsafe { args::out(result, "result") }? = if comm1 == comm2 {
            MPI_IDENT
        } else {
            compare(first, second)
        };
        Ok(())
    })
}

/// The names that the program has given to communicators, by context, in its heap.
static NAMES: Mutex<Vec<(Context, Box<str>)>> = Mutex::new(Vec::new());

/// Forgets a communicator's name.
fn unname(context: Context) {
    NAMES.lock().retain(|(named, _)| *named != context);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_set_name(comm: c_int, comm_name: *const c_char) -> c_int {
    on_comm("MPI_Comm_set_name", comm, |comm| {
        // SAFETY: the standard's promise about `comm_name`: a string.
        let name = unsafe { args::string(comm_name, MPI_MAX_OBJECT_NAME, "comm_name") }?;
        let bytes = name.len() + size_of::<(Context, Box<str>)>();
        let none = Error::NoRoom { bytes };
        let mut copy = String::new();
        copy.try_reserve_exact(name.len()).map_err(|_| none)?;
        copy.push_str(&name);
        let context = comm.membership().context;
        unname(context);
        let mut names = NAMES.lock();
        names.try_reserve(1).map_err(|_| none)?;
        names.push((context, copy.into_boxed_str()));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_name(
    comm: c_int,
    comm_name: *mut c_char,
    resultlen: *mut c_int,
) -> c_int {
    on_comm("MPI_Comm_get_name", comm, |comm| {
        let context = comm.membership().context;
        let names = NAMES.lock();
        let given = names.iter().find(|(named, _)| *named == context);
        let name = match given {
            Some((_, name)) => name,
            None if context == world().context => "MPI_COMM_WORLD",
            None if context == own().context => "MPI_COMM_SELF",
            None => "",
        };
        // SAFETY: the standard's promise about both.
        unsafe { put_text(comm_name, MPI_MAX_OBJECT_NAME, name, resultlen) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_test_inter(comm: c_int, flag: *mut c_int) -> c_int {
    on_comm("MPI_Comm_test_inter", comm, |_| {
        // SAFETY: the standard's promise about `flag`.
        *unsafe { args::out(flag, "flag") }? = 0;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_get_attr(
    comm: c_int,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    static TAG_UB: c_int = Tag::MAX;
    static HOST: c_int = MPI_PROC_NULL;
    // Every rank can print.
    static IO: c_int = MPI_ANY_SOURCE;
    static WTIME_IS_GLOBAL: c_int = 0;
    on_comm("MPI_Comm_get_attr", comm, |_| {
        let value = match comm_keyval {
            MPI_TAG_UB => &TAG_UB,
            MPI_HOST => &HOST,
            MPI_IO => &IO,
            MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
            _ => {
                return Err(Error::Keyval {
                    keyval: comm_keyval,
                });
            }
        };
        // SAFETY: the standard's promise about both; the value is a pointer to an int (section 8.1.2).
        unsafe {
            *args::out(attribute_val.cast::<*const c_int>(), "attribute_val")? = value;
            *args::out(flag, "flag")? = 1;
        }
        Ok(())
    })
}
