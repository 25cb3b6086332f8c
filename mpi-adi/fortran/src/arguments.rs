//! Conversion of arguments.

use alloc::vec::Vec;
use core::ffi::{c_char, c_int};

use midplane_objects::error::Error;

/// Longest string that a C function returns, with the terminating zero: an info value.
const MAX_TEXT: usize = 1024;

/// Stores the error code of a call, unless `ierror` is absent.
///
/// # Safety
/// `ierror` is null or refers to an integer.
pub(crate) unsafe fn finish(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { *ierror = code };
    }
}

/// Reports a full heap to the error handler of MPI_COMM_WORLD; returns the error code.
#[cold]
pub(crate) fn no_memory(function: &'static str) -> c_int {
    midplane_c::fail(function, Error::NoSpace { bytes: MAX_TEXT })
}

/// Increments `count` indexes: Fortran's begin at 1. Negative ones are MPI_UNDEFINED.
///
/// # Safety
/// `indexes` refers to as many integers.
pub(crate) unsafe fn count_from_one(indexes: *mut c_int, count: c_int) {
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: guaranteed by the caller.
        let index = unsafe { &mut *indexes.add(at) };
        if *index >= 0 {
            *index += 1;
        }
    }
}

/// A string argument with C's terminating zero, in the heap.
pub(crate) struct CText(Vec<c_char>);

impl CText {
    /// Copies a string without the blanks at its end. `None` if the heap is full.
    ///
    /// # Safety
    /// `text` refers to `length` characters.
    pub(crate) unsafe fn new(text: *const c_char, length: usize) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let bytes = unsafe { characters(text, length) };
        Self::copy(trim_end(bytes))
    }

    /// Copies a string without the blanks at its start and its end. `None` if the heap is full.
    ///
    /// # Safety
    /// `text` refers to `length` characters.
    pub(crate) unsafe fn trimmed(text: *const c_char, length: usize) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let bytes = trim_end(unsafe { characters(text, length) });
        let start = bytes.iter().position(|&byte| byte != BLANK).unwrap_or(bytes.len());
        Self::copy(&bytes[start..])
    }

    fn copy(bytes: &[c_char]) -> Option<Self> {
        let mut text = Vec::new();
        text.try_reserve_exact(bytes.len() + 1).ok()?;
        text.extend_from_slice(bytes);
        text.push(0);
        Some(Self(text))
    }

    pub(crate) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }

    /// Checks whether the string has no characters.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() <= 1
    }
}

const BLANK: c_char = b' ' as c_char;

/// # Safety
/// `text` refers to `length` characters, which no one writes during the call.
unsafe fn characters<'a>(text: *const c_char, length: usize) -> &'a [c_char] {
    if text.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: guaranteed by the caller.
    unsafe { core::slice::from_raw_parts(text, length) }
}

fn trim_end(bytes: &[c_char]) -> &[c_char] {
    let end = bytes.iter().rposition(|&byte| byte != BLANK);
    &bytes[..end.map_or(0, |last| last + 1)]
}

/// A string that a C function returns.
pub(crate) struct FortranText([c_char; MAX_TEXT]);

impl FortranText {
    /// Longest string that fits.
    pub(crate) const MAX_LENGTH: c_int = MAX_TEXT as c_int - 1;

    pub(crate) fn new() -> Self {
        Self([0; MAX_TEXT])
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut c_char {
        self.0.as_mut_ptr()
    }

    /// Copies the string to a variable of the program; blanks follow it. A longer string is truncated.
    ///
    /// # Safety
    /// `text` refers to `length` characters.
    pub(crate) unsafe fn write(&self, text: *mut c_char, length: usize) {
        if text.is_null() || length == 0 {
            return;
        }
        // SAFETY: guaranteed by the caller.
        let target = unsafe { core::slice::from_raw_parts_mut(text, length) };
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(MAX_TEXT);
        let copied = end.min(length);
        target[..copied].copy_from_slice(&self.0[..copied]);
        target[copied..].fill(BLANK);
    }
}
