//! Look-up table of communicators, from a handle or from the context of a message to the processes. Every call on
//! messages starts with a look-up, and the status of every receive ends with one.
//!
//! ```text
//!   handle  = kind | generation | index           index = index of the context + 1 = context / 2 + 1
//!                                  |                                   |
//!             table:  0 unused | 1 MPI_COMM_WORLD | 2 MPI_COMM_SELF | 3 the program's first | ...
//!                     each: its handle, and its processes by rank
//! ```
//! The handles of MPI_COMM_WORLD and MPI_COMM_SELF are the standard's, 0x101 and 0x102 (MPI-5.0 chapter 20). In a table of
//! more than 256 entries a look-up by handle finds the copies at 257 and 258, where no other communicator is
//! ([`context::UNUSED_CONTEXTS`]).
//! MPI_COMM_WORLD and MPI_COMM_SELF have entries from MPI_Init until MPI_Finalize. A communicator that the program
//! creates ([`comm_objects`](super::comm_objects)) has one until the program has freed it and its last request is
//! complete. A freed entry contains its processes, for the statuses of those requests, but no handle.
//!
//! # Memory
//! The image contains four entries. The second communicator of the program moves the table to the program's heap. The
//! table doubles when it is full, so that a mask converts a handle to its index. It has at most twice [`CONTEXTS`](context::CONTEXTS)
//! entries of 24 bytes each (16 on a 32-bit processor).
//!
//! # Concurrency
//! There is no lock. Calls are serialized (at most MPI_THREAD_SERIALIZED), and no interrupt handler uses the table. A
//! look-up copies its result, so no reference to the table exists while it grows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::{ptr, slice};

use super::types::Handle;
use super::types::constants::{MPI_COMM_SELF, MPI_COMM_WORLD};
use midplane_device::envelope::{Context, Rank};
use midplane_objects::comm::{CommRank, Group, Membership, RankMap};
use midplane_objects::context::{self, SELF_CONTEXT, WORLD_CONTEXT};
use midplane_objects::error::Error;

/// A communicator: only the data for calls on messages, so that a look-up is one multiplication.
#[derive(Clone, Copy)]
struct CommEntry {
    /// World ranks of its processes by rank; null: each rank is the world rank.
    numbers: *const Rank,
    handle: c_int,
    size: u32,
    context: Context,
    /// The processes are the remote group of an intercommunicator.
    is_remote: bool,
    /// The program has freed it, and it has incomplete requests.
    is_freed: bool,
}

impl CommEntry {
    /// Returns an unused entry for this index. Its handle maps to another index in every table of two entries or more,
    /// so no look-up finds it.
    const fn none(place: usize) -> CommEntry {
        CommEntry {
            numbers: ptr::null(),
            handle: !(place as c_int),
            size: 0,
            context: 0,
            is_remote: false,
            is_freed: false,
        }
    }

    fn new(handle: c_int, group: Group<'static>, own: &'static [Rank; 1]) -> CommEntry {
        let numbers = match group.map {
            RankMap::All => ptr::null(),
            RankMap::One(_) => own.as_ptr(),
            RankMap::List(list) | RankMap::Remote(list) => list.as_ptr(),
        };
        CommEntry {
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
        // SAFETY: the list of the communicator, which exists until the entry is removed and contains one item per rank.
        let list = unsafe { slice::from_raw_parts(self.numbers, self.size as usize) };
        if self.is_remote {
            RankMap::Remote(list)
        } else {
            RankMap::List(list)
        }
    }
}

const _: () = assert!(size_of::<CommEntry>() <= size_of::<usize>() + 16);
const _: () = {
    let places = [
        MPI_COMM_WORLD as usize % PREDEFINED,
        MPI_COMM_SELF as usize % PREDEFINED,
    ];
    assert!(places[0] == WORLD_CONTEXT as usize / 2 + 1 && places[1] == SELF_CONTEXT as usize / 2 + 1);
    let copies = [MPI_COMM_WORLD as usize - 1, MPI_COMM_SELF as usize - 1];
    assert!(copies[0] == context::UNUSED_CONTEXTS[0] && copies[1] == context::UNUSED_CONTEXTS[1]);
};

/// Number of entries in the image.
const PREDEFINED: usize = 4;

struct CommTable {
    entries: *mut CommEntry,
    /// Number of entries (a power of two) minus one.
    mask: usize,
    /// MPI is initialized and not finalized.
    is_open: bool,
    /// Number of freed communicators with incomplete requests.
    freed: usize,
    /// World rank of this process.
    own: [Rank; 1],
}

struct OwnCell<T>(UnsafeCell<T>);

// SAFETY: calls are serialized, and no interrupt handler uses it (see above).
unsafe impl<T> Sync for OwnCell<T> {}

/// The entries without a communicator.
const EMPTY: [CommEntry; PREDEFINED] = [
    CommEntry::none(0),
    CommEntry::none(1),
    CommEntry::none(2),
    CommEntry::none(3),
];

/// Returns the index of the communicator with this context, in the table and in its handle.
#[inline(always)]
pub(super) fn index(context: Context) -> usize {
    context::index(context) + 1
}

/// The entries, until they are full. They and the table have a separate section. Otherwise the
/// compiler merges them with variables of other files, and every image contains the result.
#[unsafe(link_section = ".data.mpi_comms")]
static FIRST: OwnCell<[CommEntry; PREDEFINED]> = OwnCell(UnsafeCell::new(EMPTY));

#[unsafe(link_section = ".data.mpi_comms")]
static TABLE: OwnCell<CommTable> = OwnCell(UnsafeCell::new(CommTable {
    entries: FIRST.0.get().cast(),
    mask: PREDEFINED - 1,
    is_open: false,
    freed: 0,
    own: [Rank::new(0)],
}));

/// Returns the entry of this context, if the table contains it.
#[inline(always)]
fn entry(context: Context) -> Option<*mut CommEntry> {
    let place = index(context);
    // SAFETY: calls are serialized, and no reference to the table exists.
    let (entries, mask) = unsafe { ((*TABLE.0.get()).entries, (*TABLE.0.get()).mask) };
    // SAFETY: the index is within the table.
    (place <= mask).then(|| unsafe { entries.add(place) })
}

/// Checks whether MPI is initialized and not finalized.
#[inline(always)]
pub(super) fn is_open() -> bool {
    // SAFETY: calls are serialized, and no reference to the table exists.
    unsafe { (*TABLE.0.get()).is_open }
}

/// Communication partners of a communicator, for the fast path.
#[derive(Clone, Copy)]
pub(super) struct CommPeers {
    numbers: *const Rank,
    pub size: u32,
    pub context: Context,
}

impl CommPeers {
    /// Returns the world rank of the process with this rank; `None` if there is none.
    #[inline(always)]
    pub fn number(self, rank: c_int) -> Option<Rank> {
        let rank = rank as u32;
        if rank >= self.size {
            return None;
        }
        if self.numbers.is_null() {
            Some(Rank::new(rank))
        } else {
            // SAFETY: the list contains an item per rank.
            Some(unsafe { *self.numbers.add(rank as usize) })
        }
    }
}

#[inline(always)]
fn named(handle: Handle) -> Option<*mut CommEntry> {
    // SAFETY: calls are serialized, and no reference to the table exists.
    let (entries, mask) = unsafe { ((*TABLE.0.get()).entries, (*TABLE.0.get()).mask) };
    // SAFETY: the mask limits the index to the table.
    let entry = unsafe { entries.add(handle.index(mask)) };
    // SAFETY: an entry of the table; calls are serialized.
    (Handle::new(unsafe { (*entry).handle }) == handle).then_some(entry)
}

/// Returns the communication partners in the communicator with handle `handle`; `None` if the handle is invalid or MPI
/// is not active. The result is valid until the communicator is freed.
#[inline(always)]
pub(super) fn peers(handle: Handle) -> Option<CommPeers> {
    let entry = named(handle)?;
    // SAFETY: an entry of the table; calls are serialized.
    let entry = unsafe { &*entry };
    Some(CommPeers {
        numbers: entry.numbers,
        size: entry.size,
        context: entry.context,
    })
}

/// Returns the communication partners for the slow path; see [`peers`].
#[inline]
pub(super) fn group(handle: c_int) -> Option<Group<'static>> {
    let entry = named(Handle::new(handle))?;
    // SAFETY: an entry of the table; calls are serialized.
    let entry = unsafe { &*entry };
    Some(Group {
        map: entry.map(),
        context: entry.context,
        size: entry.size,
    })
}

/// Returns the rank of a message's sender by its context and the sender's world rank; the communicator may be freed.
#[inline(always)]
pub(super) fn source(context: Context, sender: Rank) -> CommRank {
    match entry(context) {
        // SAFETY: an entry of the table; calls are serialized.
        Some(entry) if !unsafe { (*entry).numbers }.is_null() => source_in(entry, sender),
        _ => CommRank(sender.index()),
    }
}

// Not inlined: it is a loop.
#[inline(never)]
fn source_in(entry: *mut CommEntry, sender: Rank) -> CommRank {
    // SAFETY: an entry of the table; calls are serialized.
    let entry = unsafe { &*entry };
    let group = Group {
        map: entry.map(),
        context: entry.context,
        size: entry.size,
    };
    group.in_group(sender)
}

/// Checks whether the communicator with this context is freed, so that completed requests must be reported to it.
#[inline(always)]
pub(super) fn is_freed(context: Context) -> bool {
    // SAFETY: calls are serialized, and no reference to the table exists.
    let are_some = unsafe { (*TABLE.0.get()).freed } > 0;
    // SAFETY: an entry of the table; calls are serialized.
    are_some && entry(context).is_some_and(|entry| unsafe { (*entry).is_freed })
}

/// Returns the world rank of this process and the number of processes, which is 0 before MPI_Init.
pub(super) fn place() -> (Rank, u32) {
    // SAFETY: calls are serialized, and no reference to the table exists.
    let number = unsafe { (*TABLE.0.get()).own[0] };
    // SAFETY: an entry of the table; calls are serialized.
    let size = entry(WORLD_CONTEXT).map_or(0, |entry| unsafe { (*entry).size });
    (number, size)
}

/// Adds MPI_COMM_WORLD and MPI_COMM_SELF in MPI_Init.
pub(super) fn open(number: Rank, size: u32) {
    // SAFETY: calls are serialized, and no reference to the table or its entries exists.
    let (table, first) = unsafe { (&mut *TABLE.0.get(), &mut *FIRST.0.get()) };
    table.own = [number];
    let [world, own] = [Membership::world(number, size), Membership::own(number)];
    [first[1], first[2]] = [
        CommEntry::new(MPI_COMM_WORLD, world.group(), &table.own),
        CommEntry::new(MPI_COMM_SELF, own.group(), &table.own),
    ];
    table.is_open = true;
}

/// Removes all entries in MPI_Finalize.
pub(super) fn close() {
    // SAFETY: calls are serialized, and no reference to the table or its entries exists.
    let (table, first) = unsafe { (&mut *TABLE.0.get(), &mut *FIRST.0.get()) };
    *first = EMPTY;
    table.replace(first.as_mut_ptr(), PREDEFINED);
    table.is_open = false;
}

impl CommTable {
    /// Replaces the entries, and returns the previous ones to the heap if they were allocated there.
    fn replace(&mut self, entries: *mut CommEntry, len: usize) {
        let before = self.mask + 1;
        if before > PREDEFINED {
            let before = ptr::slice_from_raw_parts_mut(self.entries, before);
            // SAFETY: created by `prepare` as a box of this length, and not referenced by anything else.
            drop(unsafe { Box::from_raw(before) });
        }
        (self.entries, self.mask) = (entries, len - 1);
    }
}

/// Reserves memory for a communicator with this context. Fails with [`Error::NoSpace`] without effect.
pub(super) fn prepare(context: Context) -> Result<(), Error> {
    let place = index(context);
    // SAFETY: calls are serialized, and no reference to the table exists.
    let table = unsafe { &mut *TABLE.0.get() };
    let before = table.mask + 1;
    if place < before {
        return Ok(());
    }
    let len = (place + 1).next_power_of_two();
    let mut entries: Vec<CommEntry> = Vec::new();
    let bytes = len * size_of::<CommEntry>();
    let none = |_| Error::NoSpace { bytes };
    entries.try_reserve_exact(len).map_err(none)?;
    // SAFETY: the table contains `before` entries.
    entries.extend_from_slice(unsafe { slice::from_raw_parts(table.entries, before) });
    entries.extend((before..len).map(CommEntry::none));
    // Only in a table of this length they have these indexes.
    for (handle, first) in [
        (MPI_COMM_WORLD as usize, WORLD_CONTEXT),
        (MPI_COMM_SELF as usize, SELF_CONTEXT),
    ] {
        if handle < len {
            entries[handle] = entries[index(first)];
        }
    }
    table.replace(Box::into_raw(entries.into_boxed_slice()).cast(), len);
    Ok(())
}

/// Replaces the entry of this context.
fn put(context: Context, new: CommEntry) {
    if let Some(entry) = entry(context) {
        // SAFETY: an entry of the table, and the table; calls are serialized.
        unsafe {
            let freed = &mut (*TABLE.0.get()).freed;
            *freed = *freed + usize::from(new.is_freed) - usize::from((*entry).is_freed);
            *entry = new;
        }
    }
}

/// Adds a communicator in reserved memory.
pub(super) fn enter(handle: c_int, group: Group<'static>) {
    // SAFETY: only MPI_Init writes it; calls are serialized.
    let own = unsafe { &(*TABLE.0.get()).own };
    put(group.context, CommEntry::new(handle, group, own));
}

/// Makes the handle of the communicator with this context valid, or marks the communicator as freed.
pub(super) fn show(context: Context, handle: Option<c_int>) {
    if let Some(entry) = entry(context) {
        let nothing = CommEntry::none(index(context)).handle;
        // SAFETY: an entry of the table; calls are serialized.
        let mut new = unsafe { *entry };
        new.handle = handle.unwrap_or(nothing);
        new.is_freed = handle.is_none();
        put(context, new);
    }
}

/// Removes the communicator with this context.
pub(super) fn remove(context: Context) {
    put(context, CommEntry::none(index(context)));
}
