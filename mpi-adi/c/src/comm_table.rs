//! The lookup of communicators: from a handle, or from the context of a message, to the processes, in one step. Every call on
//! messages begins with it, and the status of every receive ends with it.
//!
//! ```text
//!   handle  = kind | generation | place           place = number of the context = context / 2
//!                                  |                                   |
//!             table:  0 MPI_COMM_WORLD | 1 MPI_COMM_SELF | 2 the program's first | ...
//!                     each: its handle, and its processes by rank
//! ```
//! MPI_COMM_WORLD and MPI_COMM_SELF have entries from MPI_Init until MPI_Finalize. A communicator that the program makes
//! ([`comm_objects`](super::comm_objects)) has one until the program has freed it and its last request is complete. A freed
//! entry keeps its processes, for the statuses of those requests, and has no handle.
//!
//! # Memory
//! Two entries are in the image. The first communicator of the program moves the table to the program's heap. The table
//! doubles when it is full, so that a mask gives the place of a handle. It has [`CONTEXTS`] entries at most, of 24 bytes each
//! (16 on a 32-bit processor).
//!
//! # Concurrency
//! Nothing is locked. Calls come one at a time (MPI_THREAD_SERIALIZED at most), and interrupts do not come here. A lookup copies
//! its result, so that nothing refers to the table while it grows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::{ptr, slice};

use super::types::constants::{MPI_COMM_SELF, MPI_COMM_WORLD};
use midplane_device::envelope::{Context, Rank};
use midplane_objects::comm::{CommRank, Group, Membership, RankMap};
use midplane_objects::context::{self, CONTEXTS, SELF_CONTEXT, WORLD_CONTEXT};
use midplane_objects::error::Error;

/// A communicator: what a call on messages needs of it, and no more, so that it is found by one multiplication.
#[derive(Clone, Copy)]
struct Entry {
    /// The numbers of its processes in the job, by rank; null: each rank is the number.
    numbers: *const Rank,
    handle: c_int,
    size: u32,
    context: Context,
    /// They are the remote group of an intercommunicator.
    is_remote: bool,
    /// The program has freed it, and not all of its requests are complete.
    is_freed: bool,
}

impl Entry {
    /// An unused entry at this place. Its handle belongs to another place in every table of two entries or more, so that no
    /// lookup finds it.
    const fn none(place: usize) -> Entry {
        Entry {
            numbers: ptr::null(),
            handle: !(place as c_int),
            size: 0,
            context: 0,
            is_remote: false,
            is_freed: false,
        }
    }

    fn new(handle: c_int, group: Group<'static>, own: &'static [Rank; 1]) -> Entry {
        let numbers = match group.map {
            RankMap::All => ptr::null(),
            RankMap::One(_) => own.as_ptr(),
            RankMap::List(list) | RankMap::Remote(list) => list.as_ptr(),
        };
        Entry {
            numbers,
            handle,
            size: group.size,
            context: group.context,
            is_remote: matches!(group.map, RankMap::Remote(_)),
            is_freed: false,
        }
    }

    #[inline]
    fn map(&self) -> RankMap<'static> {
        if self.numbers.is_null() {
            return RankMap::All;
        }
        // SAFETY: the list of the communicator, which lives until the entry is removed and has a number for each rank.
        let list = unsafe { slice::from_raw_parts(self.numbers, self.size as usize) };
        match self.is_remote {
            true => RankMap::Remote(list),
            false => RankMap::List(list),
        }
    }
}

const _: () = assert!(size_of::<Entry>() <= size_of::<usize>() + 16);
const _: () = {
    let places = [
        MPI_COMM_WORLD as usize % CONTEXTS,
        MPI_COMM_SELF as usize % CONTEXTS,
    ];
    assert!(places[0] == WORLD_CONTEXT as usize / 2 && places[1] == SELF_CONTEXT as usize / 2);
};

/// Those that are always there.
const PREDEFINED: usize = 2;

struct Table {
    entries: *mut Entry,
    /// As many as there are, less one: a power of two, less one.
    mask: usize,
    /// MPI is in its working time.
    is_open: bool,
    /// Communicators that are freed and have requests that are not complete.
    freed: usize,
    /// This process's number in the job.
    own: [Rank; 1],
}

/// What the one process has that C functions work for.
struct Own<T>(UnsafeCell<T>);

// SAFETY: calls come one at a time, and interrupts do not come here (see above).
unsafe impl<T> Sync for Own<T> {}

/// The entries, until the program makes a communicator. They and the table have a section of their own. Without it, the
/// compiler merges them with variables of other files, which are then in every image.
#[unsafe(link_section = ".data.mpi_comms")]
static FIRST: Own<[Entry; PREDEFINED]> = Own(UnsafeCell::new([Entry::none(0), Entry::none(1)]));

#[unsafe(link_section = ".data.mpi_comms")]
static TABLE: Own<Table> = Own(UnsafeCell::new(Table {
    entries: FIRST.0.get().cast(),
    mask: PREDEFINED - 1,
    is_open: false,
    freed: 0,
    own: [Rank::new(0)],
}));

/// The entry of this context, of as many as there are.
#[inline(always)]
fn entry(context: Context) -> Option<*mut Entry> {
    let place = context::index(context);
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    let (entries, mask) = unsafe { ((*TABLE.0.get()).entries, (*TABLE.0.get()).mask) };
    // SAFETY: there are so many.
    (place <= mask).then(|| unsafe { entries.add(place) })
}

/// MPI is in its working time.
#[inline(always)]
pub(super) fn is_open() -> bool {
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    unsafe { (*TABLE.0.get()).is_open }
}

/// The processes of a communicator that messages go to and come from, as its calls need them at once.
#[derive(Clone, Copy)]
pub(super) struct Peers {
    numbers: *const Rank,
    pub size: u32,
    pub context: Context,
}

impl Peers {
    /// The number in the job of the process of this rank; `None`: there is none.
    #[inline(always)]
    pub fn number(self, rank: c_int) -> Option<Rank> {
        let rank = rank as u32;
        if rank >= self.size {
            return None;
        }
        match self.numbers.is_null() {
            true => Some(Rank::new(rank)),
            // SAFETY: there is a number for each rank.
            false => Some(unsafe { *self.numbers.add(rank as usize) }),
        }
    }
}

#[inline(always)]
fn named(handle: c_int) -> Option<*mut Entry> {
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    let (entries, mask) = unsafe { ((*TABLE.0.get()).entries, (*TABLE.0.get()).mask) };
    // SAFETY: there are so many.
    let entry = unsafe { entries.add(handle as usize & mask) };
    // SAFETY: an entry of the table; calls come one at a time.
    (unsafe { (*entry).handle } == handle).then_some(entry)
}

/// The processes that messages go to and come from in the communicator that `handle` names; `None`: it names none, or MPI
/// is not in its working time. They are known until the communicator is freed.
#[inline(always)]
pub(super) fn peers(handle: c_int) -> Option<Peers> {
    let entry = named(handle)?;
    // SAFETY: an entry of the table; calls come one at a time.
    let entry = unsafe { &*entry };
    Some(Peers {
        numbers: entry.numbers,
        size: entry.size,
        context: entry.context,
    })
}

/// As [`peers`], for calls that go the whole way.
#[inline]
pub(super) fn group(handle: c_int) -> Option<Group<'static>> {
    let entry = named(handle)?;
    // SAFETY: an entry of the table; calls come one at a time.
    let entry = unsafe { &*entry };
    Some(Group {
        map: entry.map(),
        context: entry.context,
        size: entry.size,
    })
}

/// The sender's rank of a message in this context, by its number in the job; the communicator may be freed.
#[inline(always)]
pub(super) fn source(context: Context, sender: Rank) -> CommRank {
    match entry(context) {
        // SAFETY: an entry of the table; calls come one at a time.
        Some(entry) if !unsafe { (*entry).numbers }.is_null() => source_in(entry, sender),
        _ => CommRank(sender.index()),
    }
}

// One copy: it is a loop.
#[inline(never)]
fn source_in(entry: *mut Entry, sender: Rank) -> CommRank {
    // SAFETY: an entry of the table; calls come one at a time.
    let entry = unsafe { &*entry };
    let group = Group {
        map: entry.map(),
        context: entry.context,
        size: entry.size,
    };
    group.in_group(sender)
}

/// The communicator with this context is freed, and what is complete of it must be told to it.
#[inline(always)]
pub(super) fn is_freed(context: Context) -> bool {
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    let are_some = unsafe { (*TABLE.0.get()).freed } > 0;
    // SAFETY: an entry of the table; calls come one at a time.
    are_some && entry(context).is_some_and(|entry| unsafe { (*entry).is_freed })
}

/// This process's number in the job, and the number of processes; before MPI_Init there are none.
pub(super) fn place() -> (Rank, u32) {
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    let number = unsafe { (*TABLE.0.get()).own[0] };
    // SAFETY: an entry of the table; calls come one at a time.
    let size = entry(WORLD_CONTEXT).map_or(0, |entry| unsafe { (*entry).size });
    (number, size)
}

/// Enters MPI_COMM_WORLD and MPI_COMM_SELF: MPI's working time begins.
pub(super) fn open(number: Rank, size: u32) {
    // SAFETY: calls come one at a time, and no reference to the table or to the entries is alive.
    let (table, first) = unsafe { (&mut *TABLE.0.get(), &mut *FIRST.0.get()) };
    table.own = [number];
    let [world, own] = [Membership::world(number, size), Membership::own(number)];
    *first = [
        Entry::new(MPI_COMM_WORLD, world.group(), &table.own),
        Entry::new(MPI_COMM_SELF, own.group(), &table.own),
    ];
    table.is_open = true;
}

/// MPI's working time is over.
pub(super) fn close() {
    // SAFETY: calls come one at a time, and no reference to the table or to the entries is alive.
    let (table, first) = unsafe { (&mut *TABLE.0.get(), &mut *FIRST.0.get()) };
    *first = [Entry::none(0), Entry::none(1)];
    table.replace(first.as_mut_ptr(), PREDEFINED);
    table.is_open = false;
}

impl Table {
    /// Has these entries from now on. Those before go back to the heap, if they are from there.
    fn replace(&mut self, entries: *mut Entry, len: usize) {
        let before = self.mask + 1;
        if before > PREDEFINED {
            let before = ptr::slice_from_raw_parts_mut(self.entries, before);
            // SAFETY: made by `prepare` as a box of so many, and referred to by nothing else.
            drop(unsafe { Box::from_raw(before) });
        }
        (self.entries, self.mask) = (entries, len - 1);
    }
}

/// Makes room for a communicator with this context. Fails with [`Error::NoRoom`], and nothing has changed.
pub(super) fn prepare(context: Context) -> Result<(), Error> {
    let place = context::index(context);
    // SAFETY: calls come one at a time, and no reference to the table is alive.
    let table = unsafe { &mut *TABLE.0.get() };
    let before = table.mask + 1;
    if place < before {
        return Ok(());
    }
    let len = (place + 1).next_power_of_two();
    let mut entries: Vec<Entry> = Vec::new();
    let bytes = len * size_of::<Entry>();
    let none = |_| Error::NoRoom { bytes };
    entries.try_reserve_exact(len).map_err(none)?;
    // SAFETY: there are so many.
    entries.extend_from_slice(unsafe { slice::from_raw_parts(table.entries, before) });
    entries.extend((before..len).map(Entry::none));
    table.replace(Box::into_raw(entries.into_boxed_slice()).cast(), len);
    Ok(())
}

/// Has the communicator with this context at its place from now on, or none.
fn put(context: Context, new: Entry) {
    if let Some(entry) = entry(context) {
        // SAFETY: an entry of the table, and the table; calls come one at a time.
        unsafe {
            let freed = &mut (*TABLE.0.get()).freed;
            *freed = *freed + usize::from(new.is_freed) - usize::from((*entry).is_freed);
            *entry = new;
        }
    }
}

/// Enters a communicator, for which there is room.
pub(super) fn enter(handle: c_int, group: Group<'static>) {
    // SAFETY: it is written by MPI_Init only; calls come one at a time.
    let own = unsafe { &(*TABLE.0.get()).own };
    put(group.context, Entry::new(handle, group, own));
}

/// The handle of the communicator with this context names it from now on, or nothing: it is freed.
pub(super) fn show(context: Context, handle: Option<c_int>) {
    if let Some(entry) = entry(context) {
        let nothing = Entry::none(context::index(context)).handle;
        // SAFETY: an entry of the table; calls come one at a time.
        let mut new = unsafe { *entry };
        new.handle = handle.unwrap_or(nothing);
        new.is_freed = handle.is_none();
        put(context, new);
    }
}

/// Takes the communicator with this context out.
pub(super) fn remove(context: Context) {
    put(context, Entry::none(context::index(context)));
}
