//! Searches of tables, and linked lists (POSIX search.h).

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

define!(lfind, lsearch, insque, remque);

/// Comparison function of two elements.
pub type CompareFunction = unsafe extern "C" fn(*const c_void, *const c_void) -> c_int;

unsafe extern "C" {
    pub fn qsort(start: *mut c_void, count: usize, bytes: usize, compare: CompareFunction);
    pub fn strcoll(a: *const c_char, b: *const c_char) -> c_int;
}

/// Returns the first element equal to the key; null if there is none.
unsafe extern "C" fn lfind(
    key: *const c_void,
    start: *const c_void,
    count: *const usize,
    bytes: usize,
    compare: CompareFunction,
) -> *mut c_void {
    // SAFETY: C's promises.
    unsafe {
        for at in 0..*count {
            let element = start.byte_add(at * bytes);
            if compare(key, element) == 0 {
                return element.cast_mut();
            }
        }
    }
    ptr::null_mut()
}

/// Returns the first element equal to the key, and appends the key if there is none: the table has space.
unsafe extern "C" fn lsearch(
    key: *const c_void,
    start: *mut c_void,
    count: *mut usize,
    bytes: usize,
    compare: CompareFunction,
) -> *mut c_void {
    // SAFETY: C's promises.
    unsafe {
        let found = lfind(key, start, count, bytes, compare);
        if !found.is_null() {
            return found;
        }
        let new = start.byte_add(*count * bytes);
        new.cast::<u8>().copy_from(key.cast(), bytes);
        *count += 1;
        new
    }
}

/// Header of the program's elements.
#[repr(C)]
struct ElementHeader {
    next: *mut ElementHeader,
    previous: *mut ElementHeader,
}

/// Inserts an element after another, or alone.
unsafe extern "C" fn insque(element: *mut ElementHeader, behind: *mut ElementHeader) {
    // SAFETY: C's promises.
    unsafe {
        let next = behind.as_ref().map_or(ptr::null_mut(), |behind| behind.next);
        (*element).next = next;
        (*element).previous = behind;
        for (place, is_next) in [(behind, true), (next, false)] {
            match place.as_mut() {
                Some(place) if is_next => place.next = element,
                Some(place) => place.previous = element,
                None => {}
            }
        }
    }
}

unsafe extern "C" fn remque(element: *mut ElementHeader) {
    // SAFETY: C's promises.
    unsafe {
        let ElementHeader { next, previous } = element.read();
        if let Some(previous) = previous.as_mut() {
            previous.next = next;
        }
        if let Some(next) = next.as_mut() {
            next.previous = previous;
        }
    }
}
