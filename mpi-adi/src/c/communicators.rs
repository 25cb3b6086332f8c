//! Chapter 6, and section 8.3 for them: communicators, predefined and made by the program.
//!
//! A made communicator's handle is its place in a table and that place's generation. MPI_Comm_free makes
//! the handle invalid at once; the entry stays until the communicator's requests are complete, as the
//! standard wants (section 6.4.3).
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
use super::{Blame, PROCESS, env, on_comm, topologies};
use crate::device::envelope::{Context, Rank, Tag};
use crate::device::kernel::Env;
use crate::mpi::comm::{Communicator, Group, Seat, base};
use crate::mpi::error::Error;
use crate::mpi::split::Made;

/// Communicators of the program's own that can exist at one time.
pub const MADE_AT_A_TIME: usize = 64;

const HANDLES: c_int = 0x8400_0000_u32 as c_int;
const INDEX_BITS: u32 = 8;
const GENERATIONS: u16 = u16::MAX;

/// A place of the table.
struct Entry {
    generation: u16,
    body: Option<Body>,
}

#[derive(Clone, Copy)]
struct Body {
    seat: Seat<'static>,
    handler: c_int,
    /// Requests that were started and have not been completed.
    requests: u32,
    freed: bool,
}

const _: () = assert!(MADE_AT_A_TIME <= 1 << INDEX_BITS);

/// No call holds the lock while it waits, and interrupts do not come here.
static TABLE: Mutex<[Entry; MADE_AT_A_TIME]> = Mutex::new(
    [const {
        Entry {
            generation: 0,
            body: None,
        }
    }; MADE_AT_A_TIME],
);

impl Entry {
    fn handle(&self, index: usize) -> c_int {
        HANDLES | c_int::from(self.generation) << INDEX_BITS | index as c_int
    }

    /// Frees the entry if its communicator is gone in every respect.
    fn release(&mut self) {
        if let Some(body) = self.body
            && body.freed
            && body.requests == 0
        {
            unname(body.seat.context);
            topologies::forget(body.seat.context);
            self.body = None;
            self.generation = self.generation.wrapping_add(1) & GENERATIONS;
            if let Group::List(list) = body.seat.group {
                let list = core::ptr::from_ref(list).cast_mut();
                // SAFETY: leaked by `Made::leak` for this entry alone, which has just forgotten it. Seats
                // are copied only for the length of a call, and this is the end of one that needs none.
                drop(unsafe { Box::from_raw(list) });
            }
        }
    }
}

/// The entry that `handle` names; for as long as `f` runs nobody else has the table.
fn with_entry<R>(handle: c_int, f: impl FnOnce(&mut Entry) -> R) -> Option<R> {
    let index = (handle & ((1 << INDEX_BITS) - 1)) as usize;
    let mut table = TABLE.lock();
    let entry = table.get_mut(index)?;
    let named = entry.handle(index) == handle && entry.body.is_some_and(|body| !body.freed);
    named.then(|| f(entry))
}

/// Notes who this process is; called by MPI_Init.
pub(super) fn sit_down(env: &dyn Env) {
    let world = Communicator::world(env);
    PROCESS.place[0].store(world.rank(), Ordering::Relaxed);
    PROCESS.place[1].store(world.size(), Ordering::Relaxed);
}

fn world() -> Seat<'static> {
    let [rank, size] = &PROCESS.place;
    Seat::world(rank.load(Ordering::Relaxed), size.load(Ordering::Relaxed))
}

/// This process's number in the job.
pub(super) fn own_number() -> Rank {
    world().rank
}

fn own() -> Seat<'static> {
    Seat::own(world().rank)
}

pub(super) fn seat(handle: c_int) -> Option<Seat<'static>> {
    match handle {
        MPI_COMM_WORLD => Some(world()),
        MPI_COMM_SELF => Some(own()),
        _ => with_entry(handle, |entry| entry.body.map(|body| body.seat)).flatten(),
    }
}

pub(super) fn communicator(
    env: &'static dyn Env,
    handle: c_int,
) -> Result<Communicator<'static>, Error> {
    match seat(handle) {
        Some(seat) => Ok(Communicator::at(env, seat)),
        None => Err(Error::Communicator { handle }),
    }
}

/// The error handler of a communicator; of none, MPI_COMM_WORLD's (section 8.3).
pub(super) fn handler(comm: c_int) -> c_int {
    let [of_world, of_self] = &PROCESS.handlers;
    let made = |entry: &mut Entry| entry.body.map(|body| body.handler);
    match comm {
        MPI_COMM_SELF => of_self.load(Ordering::Relaxed),
        _ => with_entry(comm, made)
            .flatten()
            .unwrap_or_else(|| of_world.load(Ordering::Relaxed)),
    }
}

pub(super) fn set_handler(comm: c_int, handler: c_int) {
    let [of_world, of_self] = &PROCESS.handlers;
    match comm {
        MPI_COMM_WORLD => of_world.store(handler, Ordering::Relaxed),
        MPI_COMM_SELF => of_self.store(handler, Ordering::Relaxed),
        _ => {
            with_entry(comm, |entry| {
                if let Some(body) = &mut entry.body {
                    body.handler = handler;
                }
            });
        }
    }
}

/// Whether any communicator has this error handler.
pub(super) fn in_use(handler: c_int) -> bool {
    let made = |body: &Body| body.handler == handler;
    PROCESS
        .handlers
        .iter()
        .any(|of| of.load(Ordering::Relaxed) == handler)
        || TABLE
            .lock()
            .iter()
            .any(|entry| entry.body.as_ref().is_some_and(made))
}

/// Counts a request of the communicator with this handle.
pub(super) fn request_started(comm: c_int) {
    with_entry(comm, |entry| {
        if let Some(body) = &mut entry.body {
            body.requests += 1;
        }
    });
}

/// As [`request_started`], by the communicator's context: it may have been freed since.
pub(super) fn request_started_in(context: Context) {
    with_context(context, |body| body.requests += 1);
}

/// Runs `f` on the made communicator with this context, freed or not; gives its place free if that is all
/// that it has waited for.
fn with_context(context: Context, f: impl FnOnce(&mut Body)) {
    let context = base(context);
    let mut table = TABLE.lock();
    let mut entries = table.iter_mut();
    let entry = entries.find(|entry| entry.body.is_some_and(|body| body.seat.context == context));
    if let Some(entry) = entry {
        if let Some(body) = &mut entry.body {
            f(body);
        }
        entry.release();
    }
}

/// A request's communicator, found by the request's context, freed or not.
#[derive(Clone, Copy)]
pub(super) struct Home {
    /// Itself and its error handler.
    pub blame: Blame,
    seat: Seat<'static>,
}

impl Home {
    /// The rank in the communicator of the process with this number in the job.
    pub fn rank(&self, world: Rank) -> Rank {
        self.seat.in_group(world)
    }
}

pub(super) fn home(context: Context) -> Home {
    let context = base(context);
    let [of_world, of_self] =
        [(MPI_COMM_WORLD, world()), (MPI_COMM_SELF, own())].map(|(comm, seat)| Home {
            blame: Blame {
                comm,
                handler: handler(comm),
            },
            seat,
        });
    if context == of_self.seat.context {
        return of_self;
    }
    let table = TABLE.lock();
    let mut entries = table.iter().enumerate();
    // A made communicator stays until its requests are complete, so that it is found here.
    let found = entries.find_map(|(index, entry)| {
        let body = entry.body.filter(|body| body.seat.context == context)?;
        Some(Home {
            blame: Blame {
                comm: entry.handle(index),
                handler: body.handler,
            },
            seat: body.seat,
        })
    });
    found.unwrap_or(of_world)
}

/// A request of the communicator with this context has completed.
pub(super) fn request_completed(context: Context) {
    with_context(context, |body| {
        body.requests = body.requests.saturating_sub(1)
    });
}

/// Makes sure before a collective creation that this process has a place for the result.
pub(super) fn check_room() -> Result<(), Error> {
    match TABLE.lock().iter().any(|entry| entry.body.is_none()) {
        true => Ok(()),
        false => Err(Error::Limit {
            what: "communicators of the program's own",
            limit: MADE_AT_A_TIME,
        }),
    }
}

/// Enters a new communicator, with its parent's error handler; its handle.
pub(super) fn enter(made: Made, parent: c_int) -> Result<c_int, Error> {
    let handler = handler(parent);
    let mut table = TABLE.lock();
    let mut places = table.iter_mut().enumerate();
    let Some((index, entry)) = places.find(|(_, entry)| entry.body.is_none()) else {
        return Err(Error::Limit {
            what: "communicators of the program's own",
            limit: MADE_AT_A_TIME,
        });
    };
    entry.body = Some(Body {
        seat: made.leak(),
        handler,
        requests: 0,
        freed: false,
    });
    Ok(entry.handle(index))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Comm_dup(comm: c_int, newcomm: *mut c_int) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_dup", comm, |comm| {
        // SAFETY: the standard's promise about `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        check_room()?;
        let made = comm.make_duplicate()?;
        topologies::copy(comm.seat().context, made.context())?;
        *newcomm = enter(made, parent)?;
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
        check_room()?;
        *newcomm = match comm.make_split(color, key)? {
            Some(made) => enter(made, parent)?,
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
            // Nobody shares memory with anybody.
            MPI_COMM_TYPE_SHARED => Some(comm.rank()),
            MPI_UNDEFINED => None,
            _ => {
                return Err(Error::Argument {
                    what: "split_type is neither MPI_COMM_TYPE_SHARED nor MPI_UNDEFINED",
                });
            }
        };
        check_room()?;
        *newcomm = match comm.make_split(color, 0)? {
            Some(made) => enter(made, parent)?,
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
        let freed = with_entry(handle, |entry| {
            if let Some(body) = &mut entry.body {
                body.freed = true;
            }
            entry.release();
        });
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
    let (a, b) = (first.seat(), second.seat());
    if a.size != b.size {
        return MPI_UNEQUAL;
    }
    fn members(seat: Seat<'_>) -> impl Iterator<Item = Rank> {
        (0..seat.size).map(move |rank| seat.to_world(rank))
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
        let context = comm.seat().context;
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
        let context = comm.seat().context;
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
