//! Checks the heap usage of datatypes and windows to the byte, with a counting and limiting allocator, through the C
//! binding in a job of one process.

use std::alloc::System;
use std::ffi::c_int;
use std::ptr::null_mut;

use cap::Cap;
use midplane_c::constants::{self, MPI_SUCCESS};
use midplane_c::*;
use midplane_device::envelope::Rank;
use midplane_device::rma::deferred_ops::DEFERRED_BYTES;
use midplane_device::rma::epochs::{EPOCH_BYTES, MEMBER_BYTES};
use midplane_device::rma::{OneSided, Window, WindowPeer, window_bytes};
use midplane_lab::epochs::memory;
use midplane_lab::single_process;
use midplane_objects::ErrorClass;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const INT: Handle = Handle::new(0x209);
const DOUBLE: Handle = Handle::new(0x214);
const COMM_WORLD: Handle = Handle::new(constants::MPI_COMM_WORLD);
const NO_DATATYPE: Handle = Handle::new(constants::MPI_DATATYPE_NULL);
const IGNORE: *mut MPI_Status = std::ptr::null_mut();

fn start() {
    single_process::install();
    // SAFETY: MPI_Init accepts null pointers.
    let codes = unsafe {
        [
            MPI_Init(null_mut(), null_mut()),
            MPI_Comm_set_errhandler(COMM_WORLD, Handle::new(constants::MPI_ERRORS_RETURN)),
        ]
    };
    assert_eq!(codes, [MPI_SUCCESS; 2]);
}

/// Handles of the datatypes that a round has created, freed on drop.
struct Handles([Handle; 8]);

impl Handles {
    /// Creates a datatype at `place` if no earlier call failed.
    fn make(&mut self, code: c_int, place: usize, make: impl FnOnce(&[Handle; 8], *mut Handle) -> c_int) -> c_int {
        if code != MPI_SUCCESS {
            return code;
        }
        let mut made = NO_DATATYPE;
        let code = make(&self.0, &mut made);
        if code == MPI_SUCCESS {
            self.0[place] = made;
        }
        code
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        for handle in self.0.iter_mut().filter(|handle| **handle != NO_DATATYPE) {
            // SAFETY: the handle pointer is valid.
            assert_eq!(unsafe { MPI_Type_free(handle) }, MPI_SUCCESS);
        }
    }
}

/// Creates datatypes of datatypes, packs with them, starts and cancels a receive, and frees all. Returns the first
/// error code.
fn round(seed: c_int) -> c_int {
    let mut made = Handles([NO_DATATYPE; 8]);
    let (mut matrix, mut packed, mut position) = ([0u8; 4096], [0u8; 512], 0);
    let (lengths, places) = ([1, 2, 1], [0isize, 8, 64]);
    // SAFETY: the arrays have the lengths that the counts specify, and all handle pointers are valid.
    unsafe {
        let code = made.make(MPI_SUCCESS, 0, |_, new| MPI_Type_vector(3, 1, 2 + seed % 3, INT, new));
        let code = made.make(code, 1, |had, new| {
            let parts = [INT, DOUBLE, had[0]];
            MPI_Type_create_struct(3, lengths.as_ptr(), places.as_ptr(), parts.as_ptr(), new)
        });
        let code = made.make(code, 2, |had, new| MPI_Type_create_resized(had[1], 0, 128, new));
        let code = made.make(code, 3, |had, new| MPI_Type_dup(had[2], new));
        // Frees a component datatype while derived ones are in use.
        let mut component = Handles([NO_DATATYPE; 8]);
        component.0[0] = made.0[0];
        drop(component);
        made.0[0] = NO_DATATYPE;
        let code = made.make(code, 4, |had, new| {
            let (mut integers, mut addresses) = ([0; 4], [0; 3]);
            let (ints, addrs) = (integers.as_mut_ptr(), addresses.as_mut_ptr());
            MPI_Type_get_contents(had[3], 4, 3, 1, ints, addrs, new)
        });
        if code != MPI_SUCCESS {
            return code;
        }
        let mut datatype = made.0[3];
        assert_eq!(MPI_Type_commit(&mut datatype), MPI_SUCCESS);
        let (from, to) = (matrix.as_mut_ptr().cast(), packed.as_mut_ptr().cast());
        let code = MPI_Pack(from, 2, datatype, to, 512, &mut position, COMM_WORLD);
        if code != MPI_SUCCESS {
            return code;
        }
        let mut request = Handle::new(constants::MPI_REQUEST_NULL);
        let code = MPI_Irecv(from, 4, datatype, 0, 7, COMM_WORLD, &mut request);
        if code != MPI_SUCCESS {
            return code;
        }
        drop(made);
        assert_eq!(MPI_Cancel(&mut request), MPI_SUCCESS);
        MPI_Wait(&mut request, IGNORE)
    }
}

fn ten_to_the_fifth_datatypes_leave_nothing() {
    for seed in 0..10 {
        assert_eq!(round(seed), MPI_SUCCESS);
    }
    let before = ALLOCATOR.allocated();
    // Five datatypes each.
    for seed in 0..20_000 {
        assert_eq!(round(seed), MPI_SUCCESS);
    }
    assert_eq!(ALLOCATOR.allocated(), before);
}

/// Runs rounds with increasing memory limits; each must free all its memory. Returns how many failed, which must be the
/// first ones, and how many succeeded.
fn rounds_in_little_memory(round: impl Fn() -> c_int) -> (usize, usize) {
    let (mut failed, mut done) = (0, 0);
    for bytes in (0..8192).step_by(16) {
        let before = ALLOCATOR.allocated();
        ALLOCATOR.set_limit(before + bytes).expect("above what is allocated");
        let code = round();
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
        assert_eq!(ALLOCATOR.allocated(), before, "with {bytes} bytes");
        match code {
            MPI_SUCCESS => done += 1,
            _ => {
                assert_eq!((code, done), (ErrorClass::NoMem as c_int, 0), "with {bytes} bytes");
                failed += 1;
            }
        }
    }
    (failed, done)
}

fn a_heap_that_is_used_up_is_an_error_and_leaves_nothing() {
    let (failed, done) = rounds_in_little_memory(|| round(1));
    assert!(failed > 50 && done > 50, "{failed} {done}");
}

/// A freed request keeps its datatype until it completes.
fn a_request_given_up_gives_back_its_datatype_when_it_is_done() {
    let before = ALLOCATOR.allocated();
    let mut buffer = [0u8; 256];
    let mut request = Handle::new(constants::MPI_REQUEST_NULL);
    // SAFETY: the buffer lives until the receive has been cancelled, and all handle pointers are valid.
    unsafe {
        let mut column = NO_DATATYPE;
        assert_eq!(MPI_Type_vector(3, 1, 4, INT, &mut column), MPI_SUCCESS);
        assert_eq!(MPI_Type_commit(&mut column), MPI_SUCCESS);
        let place = buffer.as_mut_ptr().cast();
        assert_eq!(MPI_Irecv(place, 1, column, 0, 8, COMM_WORLD, &mut request), MPI_SUCCESS);
        let mut named = request;
        assert_eq!(MPI_Request_free(&mut named), MPI_SUCCESS);
        assert_eq!(MPI_Type_free(&mut column), MPI_SUCCESS);
        assert!(ALLOCATOR.allocated() > before);
        // A program must not use this handle any more; here it ends the receive.
        assert_eq!(MPI_Cancel(&mut request), MPI_SUCCESS);
    }
    // The next loan finds it complete.
    assert_eq!(round(0), MPI_SUCCESS);
    assert_eq!(ALLOCATOR.allocated(), before);
}

/// A chain of duplicates: each freed one stays as long as the last one refers to it, and is freed with it.
fn a_chain_of_any_length_is_freed() {
    let before = ALLOCATOR.allocated();
    let mut last = NO_DATATYPE;
    // SAFETY: all handle pointers are valid.
    unsafe {
        assert_eq!(MPI_Type_contiguous(2, INT, &mut last), MPI_SUCCESS);
        for _ in 0..100_000 {
            let mut next = NO_DATATYPE;
            assert_eq!(MPI_Type_dup(last, &mut next), MPI_SUCCESS);
            assert_eq!(MPI_Type_free(&mut last), MPI_SUCCESS);
            last = next;
        }
        assert_eq!(MPI_Type_free(&mut last), MPI_SUCCESS);
    }
    assert_eq!(ALLOCATOR.allocated(), before);
}

/// The device's part uses the memory that `midplane memory` and docs/rma.md specify. The process at the root of the
/// tree uses the most.
fn a_window_takes_what_is_said_of_it() {
    for size in [1, 2, 5, 64, 1000] {
        let here = Rank::new(0);
        let mut all = Box::new(OneSided::new(here, memory::combine, memory::walk));
        let before = ALLOCATOR.allocated();
        ALLOCATOR.set_limit(before).expect("no less than what is allocated");
        let has_room = all.prepare();
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
        assert!(!has_room, "with no byte left");
        assert!(all.prepare());
        let peers = vec![WindowPeer::default(); size].into_boxed_slice();
        let members = (0..size as u32).map(Rank::new);
        let window = Window::new(6, vec![memory::window(0)], false, 1, peers, members, here);
        all.add(window.expect("room"));
        assert_eq!(ALLOCATOR.allocated() - before, window_bytes(size));
        assert_eq!(size_of_val(&*all), size_of::<OneSided>());
    }
}

/// Through the C binding, a window frees all its memory. It fails completely if any allocation fails.
fn windows_take_what_they_give_back() {
    let round = || {
        let (mut win, mut place) = (Handle::new(constants::MPI_WIN_NULL), null_mut::<u8>());
        let at = (&raw mut place).cast();
        // SAFETY: all handle pointers are valid.
        unsafe {
            let code = MPI_Win_allocate(64, 1, Handle::new(constants::MPI_INFO_NULL), COMM_WORLD, at, &mut win);
            ALLOCATOR.set_limit(usize::MAX).expect("no limit");
            if code == MPI_SUCCESS {
                assert_eq!(MPI_Win_fence(0, win), MPI_SUCCESS);
                assert_eq!(MPI_Put(place.cast(), 1, INT, 0, 8, 1, INT, win), MPI_SUCCESS);
                assert_eq!(MPI_Win_fence(0, win), MPI_SUCCESS);
                assert_eq!(MPI_Win_free(&mut win), MPI_SUCCESS);
            }
            code
        }
    };
    // Tables of windows stay allocated.
    assert_eq!(round(), MPI_SUCCESS);
    let (failed, done) = rounds_in_little_memory(round);
    assert!(failed > 20 && done > 50, "{failed} {done}");
    println!(
        "a window: {} for one process; {} and {} for each in the device; an epoch {} and {}, deferred {}",
        16 * failed,
        window_bytes(1) - size_of::<WindowPeer>(),
        size_of::<WindowPeer>(),
        EPOCH_BYTES,
        MEMBER_BYTES,
        DEFERRED_BYTES
    );
}

/// One test, since the limit covers all threads.
#[test]
fn datatypes_and_windows_take_what_they_give_back() {
    single_process::until_others_sleep();
    start();
    a_window_takes_what_is_said_of_it();
    windows_take_what_they_give_back();
    ten_to_the_fifth_datatypes_leave_nothing();
    a_heap_that_is_used_up_is_an_error_and_leaves_nothing();
    a_request_given_up_gives_back_its_datatype_when_it_is_done();
    a_chain_of_any_length_is_freed();
}
