//! Checks for memory leaks with a counting allocator: objects that are created and freed leak no byte. It creates
//! 100,000 of each kind through the C binding in a job of one process, and communicators and collectives of several
//! processes in a cluster.

use std::alloc::System;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use cap::Cap;
use midplane_c::constants::*;
use midplane_c::*;
use midplane_device::envelope::Rank;
use midplane_device::interface::Device;
use midplane_device::kernel::CallInfo;
use midplane_lab::{Cluster, SimProcess, as_program, single_process};
use midplane_objects::coll::sim_driver::{CollectiveBuffers, CollectiveKind, CommView, ReduceOperation, SimCollective};
use mpi::topology::Color;
use mpi::traits::*;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const INT: Handle = Handle::new(0x209);
const SUM: Handle = Handle::new(0x21);
/// Handles that no call has stored yet.
const NONE: Handle = Handle::new(0);
// Instead of the values.
const MPI_COMM_WORLD: Handle = Handle::new(constants::MPI_COMM_WORLD);
const MPI_COMM_SELF: Handle = Handle::new(constants::MPI_COMM_SELF);
const MPI_ERRORS_RETURN: Handle = Handle::new(constants::MPI_ERRORS_RETURN);
const MPI_INFO_NULL: Handle = Handle::new(constants::MPI_INFO_NULL);
const IGNORE: *mut MPI_Status = std::ptr::null_mut();

const OBJECTS: usize = 100_000;
/// Warm-up rounds: tables and pools that have grown keep their memory.
const FIRST: usize = 200;

/// Calls that must succeed.
macro_rules! ok {
    ($($call:expr;)*) => {
        $(assert_eq!($call, MPI_SUCCESS, stringify!($call));)*
    };
}

/// Runs enough rounds to create [`OBJECTS`] objects, and checks that no memory is leaked.
fn leaves_nothing(what: &str, objects: usize, mut round: impl FnMut(usize)) {
    (0..FIRST).for_each(&mut round);
    let before = ALLOCATOR.allocated();
    (0..OBJECTS.div_ceil(objects)).for_each(&mut round);
    assert_eq!(ALLOCATOR.allocated(), before, "{what}");
}

fn communicators() {
    leaves_nothing("duplicates", 2, |_| {
        let (mut twin, mut other, mut request) = (NONE, NONE, NONE);
        // SAFETY: all handle pointers are valid.
        unsafe {
            ok! {
                MPI_Comm_dup(MPI_COMM_WORLD, &mut twin);
                MPI_Comm_set_name(twin, c"a twin".as_ptr());
                MPI_Comm_idup(twin, &mut other, &mut request);
                MPI_Wait(&mut request, IGNORE);
                MPI_Comm_free(&mut twin);
                MPI_Comm_free(&mut other);
            }
        }
    });
    leaves_nothing("parts", 4, |round| {
        let [mut part, mut typed, mut made, mut grid, mut group] = [NONE; 5];
        let (extent, period) = (1, 1);
        // SAFETY: all handle pointers are valid, and the grid has one dimension.
        unsafe {
            ok! {
                MPI_Comm_split(MPI_COMM_WORLD, round as c_int % 3, 0, &mut part);
                MPI_Comm_split_type(part, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mut typed);
                MPI_Comm_group(typed, &mut group);
                MPI_Comm_create(part, group, &mut made);
                MPI_Group_free(&mut group);
                MPI_Cart_create(made, 1, &extent, &period, 0, &mut grid);
                MPI_Comm_free(&mut made);
                MPI_Comm_free(&mut typed);
                MPI_Comm_free(&mut part);
                MPI_Comm_free(&mut grid);
            }
        }
    });
}

fn datatypes() {
    leaves_nothing("datatypes", 3, |round| {
        let [mut row, mut column, mut twin] = [NONE; 3];
        // SAFETY: all handle pointers are valid.
        unsafe {
            ok! {
                MPI_Type_contiguous(1 + round as c_int % 7, INT, &mut row);
                MPI_Type_vector(3, 1, 4, row, &mut column);
                MPI_Type_commit(&mut column);
                MPI_Type_dup(column, &mut twin);
                MPI_Type_set_name(twin, c"a column".as_ptr());
                MPI_Type_free(&mut row);
                MPI_Type_free(&mut twin);
                MPI_Type_free(&mut column);
            }
        }
    });
}

fn attributes() {
    let (mut comm, mut kept) = (NONE, 0);
    // SAFETY: all handle pointers are valid.
    unsafe {
        ok! {
            MPI_Comm_dup(MPI_COMM_WORLD, &mut comm);
            MPI_Comm_create_keyval(None, None, &mut kept, null_mut());
        }
    }
    leaves_nothing("keyvals and attributes", 2, |round| {
        let (mut of_comm, mut of_type, mut row) = (0, 0, NONE);
        let value = std::ptr::without_provenance_mut::<c_void>(round);
        // SAFETY: all handle pointers are valid; the attribute values are never dereferenced.
        unsafe {
            ok! {
                MPI_Comm_create_keyval(None, None, &mut of_comm, null_mut());
                MPI_Comm_set_attr(comm, of_comm, value);
                MPI_Comm_set_attr(comm, kept, value);
                MPI_Comm_set_attr(MPI_COMM_SELF, of_comm, value);
                MPI_Comm_delete_attr(comm, kept);
                MPI_Comm_delete_attr(comm, of_comm);
                MPI_Comm_delete_attr(MPI_COMM_SELF, of_comm);
                MPI_Comm_free_keyval(&mut of_comm);
                MPI_Type_contiguous(2, INT, &mut row);
                MPI_Type_create_keyval(None, None, &mut of_type, null_mut());
                MPI_Type_set_attr(row, of_type, value);
                MPI_Type_free_keyval(&mut of_type);
                MPI_Type_free(&mut row);
            }
        }
    });
    // SAFETY: all handle pointers are valid.
    unsafe {
        ok! {
            MPI_Comm_free_keyval(&mut kept);
            MPI_Comm_free(&mut comm);
        }
    }
}

fn groups() {
    leaves_nothing("groups", 3, |_| {
        let (mut world, mut first, mut both, rank) = (NONE, NONE, NONE, 0);
        // SAFETY: all handle pointers are valid, and there is one rank.
        unsafe {
            ok! {
                MPI_Comm_group(MPI_COMM_WORLD, &mut world);
                MPI_Group_incl(world, 1, &rank, &mut first);
                MPI_Group_union(world, first, &mut both);
                MPI_Group_free(&mut world);
                MPI_Group_free(&mut first);
                MPI_Group_free(&mut both);
            }
        }
    });
}

fn requests_of_collectives() {
    let (mut comm, mut column) = (NONE, NONE);
    // SAFETY: all handle pointers are valid.
    unsafe {
        ok! {
            MPI_Comm_dup(MPI_COMM_WORLD, &mut comm);
            MPI_Type_vector(3, 1, 2, INT, &mut column);
            MPI_Type_commit(&mut column);
        }
    }
    leaves_nothing("requests of collectives", 5, |round| {
        let (given, mut taken, mut typed, mut moved) = ([round as c_int; 600], [0; 600], [0; 6], [0; 6]);
        let (count, at) = (1, 0);
        let (from, to) = (given.as_ptr().cast(), taken.as_mut_ptr().cast());
        let mut requests = [NONE; 5];
        // SAFETY: the arrays have the lengths that the counts specify and live until all requests are complete.
        unsafe {
            let [a, b, c, d, e] = &mut requests;
            let (w_from, w_to) = (given.as_ptr().cast(), moved.as_mut_ptr().cast());
            ok! {
                MPI_Ibarrier(comm, a);
                MPI_Iallreduce(from, to, 600, INT, SUM, comm, b);
                MPI_Ibcast(typed.as_mut_ptr().cast(), 1, column, 0, comm, c);
                MPI_Ialltoallw(w_from, &count, &at, &column, w_to, &count, &at, &column, comm, d);
                MPI_Iscan(from, to, 2, INT, SUM, MPI_COMM_SELF, e);
                MPI_Waitall(5, requests.as_mut_ptr(), IGNORE);
            }
        }
        assert_eq!(taken[599], round as c_int);
    });
    // SAFETY: all handle pointers are valid.
    unsafe {
        ok! {
            MPI_Type_free(&mut column);
            MPI_Comm_free(&mut comm);
        }
    }
}

fn infos() {
    leaves_nothing("infos", 2, |_| {
        let (mut info, mut twin) = (NONE, NONE);
        // SAFETY: all handle pointers are valid.
        unsafe {
            ok! {
                MPI_Info_create(&mut info);
                MPI_Info_set(info, c"host".as_ptr(), c"any".as_ptr());
                MPI_Info_set(info, c"path".as_ptr(), c"/a/rather/long/way".as_ptr());
                MPI_Info_dup(info, &mut twin);
                MPI_Info_delete(twin, c"host".as_ptr());
                MPI_Info_free(&mut info);
                MPI_Info_free(&mut twin);
            }
        }
    });
}

unsafe extern "C" fn handle(_: *mut Handle, _: *mut c_int) {}

fn error_handlers() {
    type Function = unsafe extern "C" fn(*mut Handle, *mut c_int);
    type Called = unsafe extern "C" fn(*mut Handle, *mut c_int, ...);
    let mut comm = NONE;
    // SAFETY: the handle pointer is valid.
    unsafe {
        ok! { MPI_Comm_dup(MPI_COMM_WORLD, &mut comm); }
    }
    leaves_nothing("error handlers", 1, |_| {
        let (mut handler, mut set) = (NONE, NONE);
        // SAFETY: all handle pointers are valid; the function is called with the same convention and more arguments,
        // which it ignores.
        unsafe {
            let function = std::mem::transmute::<Function, Called>(handle);
            ok! {
                MPI_Comm_create_errhandler(Some(function), &mut handler);
                MPI_Comm_set_errhandler(comm, handler);
                MPI_Errhandler_free(&mut handler);
                MPI_Comm_get_errhandler(comm, &mut set);
                MPI_Errhandler_free(&mut set);
                MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            }
        }
    });
    // SAFETY: the handle pointer is valid.
    unsafe {
        ok! { MPI_Comm_free(&mut comm); }
    }
}

fn first_of_two(left: &[u8], right: &mut [u8]) {
    right.copy_from_slice(left);
}

/// Runs a collective to completion, like a nonblocking one and its wait.
fn collective(node: &SimProcess<'_, '_>, among: CommView, number: u32, what: CollectiveKind) {
    let buffers = CollectiveBuffers {
        part: 40,
        given: vec![number as u8; 80],
        taken: Some(vec![0; if what == CollectiveKind::Alltoall { 80 } else { 40 }]),
    };
    let operation = ReduceOperation {
        element: 1,
        combine: first_of_two,
        commute: false,
    };
    let driven = SimCollective::start(node, among, number, what, buffers, operation);
    let mut driven = driven.expect("memory");
    while driven.advance(node).expect("it goes on").is_none() {
        let mut since = None;
        while !driven.is_ready_outside(node) {
            since = Some(node.advance(CallInfo::without_peer("a collective"), since));
        }
    }
}

/// Two processes. Both are in a barrier, with no live objects, when the bytes are counted.
fn several_processes() {
    const LIST: &[Rank] = &[Rank::new(0), Rank::new(1)];
    let counts = std::sync::Mutex::new(Vec::new());
    let program = |node: &SimProcess<'_, '_>| {
        let universe = mpi::initialize().expect("once");
        let world = universe.world();
        let among = CommView {
            list: LIST,
            first: None,
            place: world.rank() as u32,
            context: 4000,
        };
        let groups = CommView {
            first: Some(1),
            context: 4002,
            ..among
        };
        let mut number = 0;
        for rounds in [2_000, OBJECTS / 5] {
            for round in 0..rounds {
                let twin = world.duplicate();
                let color = Color::with_value(round as i32 % 2 * world.rank());
                drop(twin.split_by_color(color).expect("a part"));
                collective(node, among, number, CollectiveKind::Alltoall);
                collective(node, groups, number, CollectiveKind::Alltoall);
                collective(node, groups, number, CollectiveKind::Barrier);
                number += 1;
            }
            world.barrier();
            if world.rank() == 0 {
                counts.lock().expect("one holder").push(ALLOCATOR.allocated());
            }
            world.barrier();
        }
        0
    };
    let run = |node: &SimProcess<'_, '_>| as_program(node, || program(node));
    counts.lock().expect("no holder").reserve(2);
    assert_eq!(Cluster::new([2, 1, 1]).seed(3).run(run), Ok(vec![0, 0]));
    let counts = counts.into_inner().expect("no holder");
    assert_eq!(counts[0], counts[1]);
}

/// One test, since the count covers all threads.
#[test]
fn ten_to_the_fifth_objects_of_each_kind_leave_memory_where_it_was() {
    single_process::until_others_sleep();
    single_process::install();
    // SAFETY: MPI_Init accepts null pointers.
    unsafe {
        ok! { MPI_Init(null_mut(), null_mut()); }
    }
    communicators();
    datatypes();
    attributes();
    groups();
    requests_of_collectives();
    infos();
    error_handlers();
    several_processes();
}
