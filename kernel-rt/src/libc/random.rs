//! Random bytes. A node has no source of entropy: the bytes are computed from its clock, its rank and a count, differ
//! between nodes and between calls, and are not secret. They must not be used for keys.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::errno::{EINVAL, EIO, fail};
use crate::arch::set_errno;
use crate::clock;
use crate::records::personality;

define!(getrandom, getentropy, initstate, setstate);

/// Returns the next word.
pub fn random_word() -> u64 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    let rank = personality().map_or(0, |p| p.rank);
    let seed = clock::now_ns() ^ clock::wall_clock_ns().rotate_left(32);
    mixed(mixed(seed) ^ mixed(u64::from(rank) << 32 | u64::from(calls)))
}

/// The output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Fills a buffer with random bytes.
///
/// # Safety
/// `out` has space for `count` bytes.
unsafe fn fill(out: *mut c_void, count: usize) {
    for at in (0..count).step_by(8) {
        let bytes = random_word().to_ne_bytes();
        // SAFETY: the caller's promise.
        unsafe {
            out.cast::<u8>()
                .add(at)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(count - at));
        }
    }
}

unsafe extern "C" fn getrandom(out: *mut c_void, count: usize, _: c_uint) -> isize {
    // SAFETY: C's promise.
    unsafe { fill(out, count) };
    count as isize
}

/// Supports at most 256 bytes (POSIX).
unsafe extern "C" fn getentropy(out: *mut c_void, count: usize) -> c_int {
    const MAX_BYTES: usize = 256;
    if count > MAX_BYTES {
        return fail(EIO);
    }
    // SAFETY: C's promise.
    unsafe { fill(out, count) };
    0
}

unsafe extern "C" {
    fn srandom(seed: c_uint);
}

/// The state of `random`, as the program sees it. picolibc's state is one word, so the first word of a program's block
/// is the seed.
static STATE: AtomicPtr<c_char> = AtomicPtr::new(FIRST.as_ptr().cast());
/// The initial state, of seed 1 (C17 section 7.22.2.2).
static FIRST: AtomicU32 = AtomicU32::new(1);

/// Starts the sequence of `seed`; the minimum block size is 8 bytes (POSIX).
unsafe extern "C" fn initstate(seed: c_uint, state: *mut c_char, bytes: usize) -> *mut c_char {
    const MIN_BYTES: usize = 8;
    if bytes < MIN_BYTES || state.is_null() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    // SAFETY: C's promise about the block, and C's own function.
    unsafe {
        state.cast::<c_uint>().write_unaligned(seed);
        srandom(seed);
    }
    STATE.swap(state, Ordering::Relaxed)
}

/// Restarts the sequence of a block's seed.
unsafe extern "C" fn setstate(state: *mut c_char) -> *mut c_char {
    if state.is_null() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    // SAFETY: C's promise that `initstate` was given the block, and C's own function.
    unsafe { srandom(state.cast::<c_uint>().read_unaligned()) };
    STATE.swap(state, Ordering::Relaxed)
}
