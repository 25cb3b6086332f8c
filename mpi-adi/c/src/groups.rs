//! Groups, and communicators created from them (sections 6.3 and 6.4.2).
//!
//! The world rank of a process is its rank in MPI_COMM_WORLD.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use alloc::vec::Vec;
use core::ffi::c_int;

use spin::Mutex;

use super::args;
use super::comm_objects::{apart, enter, own_number, prepare, session};
use super::error_dispatch::{on_any, on_comm, on_inter, on_process};
use super::handles::{HandleKind, HandleTable};
use super::types::Handle;
use super::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_objects::comm::{self, CommRank, Communicator, Membership};
use midplane_objects::error::{Error, LimitedResource};
use midplane_objects::group::{self, GroupComparison, MemberList};

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Groups,
    tag: 0x0800_0000,
    place_bits: 12,
    generation_bits: 12,
    limit: 1 << 12,
};

/// A group. Groups with the same members in the same order share an entry: otherwise a program that repeatedly requests
/// a communicator's or a window's group, and never frees it, would exhaust the table.
struct GroupObject {
    /// World ranks of the members, at least one.
    members: Vec<Rank>,
    /// Session of the process set from which the group is derived, or MPI_SESSION_NULL.
    session: c_int,
    /// Number of calls that returned the group's handle, minus those that freed it.
    uses: u64,
}

/// Returns the session from whose process sets the group is derived, or MPI_SESSION_NULL.
fn session_of(table: &GroupTable, handle: c_int) -> c_int {
    table.get(handle).map_or(MPI_SESSION_NULL, |group| group.session)
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static TABLE: Mutex<GroupTable> = Mutex::new(HandleTable::new(KIND));

type GroupTable = HandleTable<GroupObject>;

/// Returns the members of the group with handle `handle`.
fn members(table: &GroupTable, handle: c_int) -> Result<&[Rank], Error> {
    match handle {
        MPI_GROUP_EMPTY => Ok(&[]),
        _ => match table.get(handle) {
            Some(group) => Ok(&group.members),
            None => Err(Error::Group { handle }),
        },
    }
}

/// Returns the handle of the group of this session with these members, and increments its use count.
fn find_group(table: &mut GroupTable, session: c_int, is_it: impl Fn(&[Rank]) -> bool) -> Option<c_int> {
    (0..table.places()).find_map(|place| {
        let entry = table.at(place);
        let (handle, group) = entry.filter(|(_, group)| group.session == session && is_it(&group.members))?;
        group.uses += 1;
        Some(handle)
    })
}

/// Adds a group and returns its handle. An empty group is MPI_GROUP_EMPTY.
fn enter_group(table: &mut GroupTable, members: Vec<Rank>, session: c_int) -> Result<c_int, Error> {
    match find_group(table, session, |others| others == members) {
        Some(handle) => Ok(handle),
        None => add_group(table, members, session),
    }
}

/// Adds a group. No group in the table may have the same members.
fn add_group(table: &mut GroupTable, members: Vec<Rank>, session: c_int) -> Result<c_int, Error> {
    if members.is_empty() {
        Ok(MPI_GROUP_EMPTY)
    } else {
        table.add(GroupObject {
            members,
            session,
            uses: 1,
        })
    }
}

/// Runs a call that creates a group from `group`.
///
/// # Safety
/// `result` must satisfy [`args::out`].
unsafe fn making(
    function: &'static str,
    group: c_int,
    result: *mut Handle,
    make: impl FnOnce(&GroupTable) -> Result<Vec<Rank>, Error>,
) -> c_int {
    on_process(function, |_| {
        // SAFETY: guaranteed by the caller.
        let result = unsafe { args::out(result, "newgroup") }?;
        let mut table = TABLE.lock();
        let made = make(&table)?;
        let session = session_of(&table, group);
        *result = Handle::new(enter_group(&mut table, made, session)?);
        Ok(())
    })
}

/// Adds a group of these processes and returns its handle.
pub(super) fn enter_members(of: comm::Group<'_>, session: c_int) -> Result<c_int, Error> {
    let size = of.size as usize;
    let ranks = (0..of.size).map(|rank| of.to_world(CommRank(rank)));
    let mut table = TABLE.lock();
    let is_it = |members: &[Rank]| members.len() == size && ranks.clone().eq(members.iter().copied());
    if let Some(handle) = find_group(&mut table, session, is_it) {
        return Ok(handle);
    }
    let mut members = MemberList::with_room(size)?;
    members.append(ranks);
    add_group(&mut table, members.done(), session)
}

/// Adds a group derived from a process set of a session and returns its handle.
pub(super) fn enter_session_group(members: Vec<Rank>, session: c_int) -> Result<c_int, Error> {
    enter_group(&mut TABLE.lock(), members, session)
}

/// Returns the members of a group, and its session. Fails with [`Error::Group`] and [`Error::NoSpace`].
pub(super) fn group_members(handle: c_int) -> Result<(Vec<Rank>, c_int), Error> {
    let table = TABLE.lock();
    Ok((group::union(members(&table, handle)?, &[])?, session_of(&table, handle)))
}

pub unsafe fn MPI_Comm_group(comm: c_int, group: *mut Handle) -> c_int {
    on_any("MPI_Comm_group", comm, |_, views| {
        // SAFETY: the standard's requirements on `group`.
        let group = unsafe { args::out(group, "group") }?;
        *group = Handle::new(enter_members(views.local.group(), session(comm))?);
        Ok(())
    })
}

pub unsafe fn MPI_Comm_remote_group(comm: c_int, group: *mut Handle) -> c_int {
    on_inter("MPI_Comm_remote_group", comm, |inter| {
        // SAFETY: the standard's requirements on `group`.
        let group = unsafe { args::out(group, "group") }?;
        *group = Handle::new(enter_members(inter.sides.remote(), session(comm))?);
        Ok(())
    })
}

pub unsafe fn MPI_Group_size(group: c_int, size: *mut c_int) -> c_int {
    on_process("MPI_Group_size", |_| {
        // SAFETY: the standard's requirements on `size`.
        *unsafe { args::out(size, "size") }? = members(&TABLE.lock(), group)?.len() as c_int;
        Ok(())
    })
}

/// Returns the rank of a process in a group, or MPI_UNDEFINED.
fn rank_in(members: &[Rank], process: Rank) -> c_int {
    members
        .iter()
        .position(|member| *member == process)
        .map_or(MPI_UNDEFINED, |rank| rank as c_int)
}

pub unsafe fn MPI_Group_rank(group: c_int, rank: *mut c_int) -> c_int {
    on_process("MPI_Group_rank", |_| {
        // SAFETY: the standard's requirements on `rank`.
        *unsafe { args::out(rank, "rank") }? = rank_in(members(&TABLE.lock(), group)?, own_number());
        Ok(())
    })
}

pub unsafe fn MPI_Group_translate_ranks(
    group1: c_int,
    n: c_int,
    ranks1: *const c_int,
    group2: c_int,
    ranks2: *mut c_int,
) -> c_int {
    on_process("MPI_Group_translate_ranks", |_| {
        let n = args::length(n)?;
        // SAFETY: the standard's requirements on both arrays.
        let (given, results) = unsafe { (args::array(ranks1, n, "ranks1")?, args::array_mut(ranks2, n, "ranks2")?) };
        let table = TABLE.lock();
        let (first, second) = (members(&table, group1)?, members(&table, group2)?);
        for (rank, result) in given.iter().zip(results) {
            *result = if *rank == MPI_PROC_NULL {
                MPI_PROC_NULL
            } else {
                let process = usize::try_from(*rank).ok().and_then(|rank| first.get(rank));
                rank_in(
                    second,
                    *process.ok_or(Error::Rank {
                        rank: i64::from(*rank),
                        size: first.len() as u32,
                    })?,
                )
            };
        }
        Ok(())
    })
}

pub unsafe fn MPI_Group_compare(group1: c_int, group2: c_int, result: *mut c_int) -> c_int {
    on_process("MPI_Group_compare", |_| {
        let table = TABLE.lock();
        let comparison = group::compare(members(&table, group1)?, members(&table, group2)?);
        // SAFETY: the standard's requirements on `result`.
        *unsafe { args::out(result, "result") }? = match comparison {
            GroupComparison::Identical => MPI_IDENT,
            GroupComparison::Similar => MPI_SIMILAR,
            GroupComparison::Unequal => MPI_UNEQUAL,
        };
        Ok(())
    })
}

/// Creates a group from the members of two groups.
///
/// # Safety
/// See [`making`].
unsafe fn combining(
    function: &'static str,
    group1: c_int,
    group2: c_int,
    newgroup: *mut Handle,
    combine: impl FnOnce(&[Rank], &[Rank]) -> Result<Vec<Rank>, Error>,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        making(function, group1, newgroup, |table| {
            combine(members(table, group1)?, members(table, group2)?)
        })
    }
}

pub unsafe fn MPI_Group_union(group1: c_int, group2: c_int, newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe { combining("MPI_Group_union", group1, group2, newgroup, group::union) }
}

pub unsafe fn MPI_Group_intersection(group1: c_int, group2: c_int, newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        combining("MPI_Group_intersection", group1, group2, newgroup, |a, b| {
            group::select(a, b, true)
        })
    }
}

pub unsafe fn MPI_Group_difference(group1: c_int, group2: c_int, newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        combining("MPI_Group_difference", group1, group2, newgroup, |a, b| {
            group::select(a, b, false)
        })
    }
}

/// Array argument of a call: its length and address, and its name in error messages.
struct ListArg<T> {
    count: c_int,
    items: *const T,
    name: &'static str,
}

/// Creates a group of the members with the listed ranks, or of the others.
///
/// # Safety
/// See [`making`]; `ranks` must satisfy [`args::array`].
unsafe fn picking<T: Copy + 'static>(
    function: &'static str,
    group: c_int,
    list: ListArg<T>,
    newgroup: *mut Handle,
    ranks: impl FnOnce(usize, &[T]) -> Result<Vec<u32>, Error>,
    wanted: bool,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    unsafe {
        making(function, group, newgroup, |table| {
            let members = members(table, group)?;
            let list = args::array(list.items, args::length(list.count)?, list.name)?;
            group::pick(members, &ranks(members.len(), list)?, wanted)
        })
    }
}

pub unsafe fn MPI_Group_incl(group: c_int, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        picking(
            "MPI_Group_incl",
            group,
            ListArg {
                count: n,
                items: ranks,
                name: "ranks",
            },
            newgroup,
            group::listed,
            true,
        )
    }
}

pub unsafe fn MPI_Group_excl(group: c_int, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        picking(
            "MPI_Group_excl",
            group,
            ListArg {
                count: n,
                items: ranks,
                name: "ranks",
            },
            newgroup,
            group::listed,
            false,
        )
    }
}

pub unsafe fn MPI_Group_range_incl(group: c_int, n: c_int, ranges: *const [c_int; 3], newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        picking(
            "MPI_Group_range_incl",
            group,
            ListArg {
                count: n,
                items: ranges,
                name: "ranges",
            },
            newgroup,
            |size, triplets: &[[c_int; 3]]| group::ranges(size, triplets.iter().copied()),
            true,
        )
    }
}

pub unsafe fn MPI_Group_range_excl(group: c_int, n: c_int, ranges: *const [c_int; 3], newgroup: *mut Handle) -> c_int {
    // SAFETY: the standard's requirements include those of the callee.
    unsafe {
        picking(
            "MPI_Group_range_excl",
            group,
            ListArg {
                count: n,
                items: ranges,
                name: "ranges",
            },
            newgroup,
            |size, triplets: &[[c_int; 3]]| group::ranges(size, triplets.iter().copied()),
            false,
        )
    }
}

pub unsafe fn MPI_Group_free(group: *mut Handle) -> c_int {
    on_process("MPI_Group_free", |_| {
        // SAFETY: the standard's requirements on `group`.
        let group = unsafe { args::out(group, "group") }?;
        if *group != Handle::new(MPI_GROUP_EMPTY) {
            let handle = *group;
            let mut table = TABLE.lock();
            let freed = table
                .get_mut(handle.value())
                .ok_or(Error::Group { handle: handle.value() })?;
            freed.uses -= 1;
            if freed.uses == 0 {
                table.remove(handle.value());
            }
        }
        *group = Handle::new(MPI_GROUP_NULL);
        Ok(())
    })
}

/// Returns the group's members, all of the communicator's local group. Fails with [`Error::Group`] and
/// [`Error::NoSpace`].
pub(super) fn members_within(local: Membership<'_>, handle: c_int) -> Result<Vec<Rank>, Error> {
    let (list, _) = group_members(handle)?;
    if group::are_in(&list, local) {
        Ok(list)
    } else {
        Err(Error::Group { handle })
    }
}

pub unsafe fn MPI_Comm_create(comm: c_int, group: c_int, newcomm: *mut Handle) -> c_int {
    on_any("MPI_Comm_create", comm, |env, views| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        let local = views.local;
        let list = members_within(local, group);
        if let Some(inter) = views.inter {
            let list = list?;
            // Each group forms a part of its own members, in list order: a split by the index in the list.
            let place = list.iter().position(|member| *member == own_number());
            let key = place.unwrap_or(0) as i32;
            let color = place.map(|_| 0);
            *newcomm = Handle::new((inter.calls.split)("MPI_Comm_create", comm, color, key)?);
            return Ok(());
        }
        let made = Communicator::at(env, local).make_of("MPI_Comm_create", &mut prepare, apart(list)?)?;
        *newcomm = match made {
            Some(made) => Handle::new(enter(env, made, comm)?),
            None => Handle::new(MPI_COMM_NULL),
        };
        Ok(())
    })
}

pub unsafe fn MPI_Comm_create_group(comm: c_int, group: c_int, tag: c_int, newcomm: *mut Handle) -> c_int {
    let parent = comm;
    on_comm("MPI_Comm_create_group", comm, |comm| {
        // SAFETY: the standard's requirements on `newcomm`.
        let newcomm = unsafe { args::out(newcomm, "newcomm") }?;
        args::tag(tag)?;
        let list = members_within(comm.membership(), group)?;
        let made = comm.make_group("MPI_Comm_create_group", &mut prepare, list, tag as u32)?;
        *newcomm = match made {
            Some(made) => Handle::new(enter(comm.env, made, parent)?),
            None => Handle::new(MPI_COMM_NULL),
        };
        Ok(())
    })
}
