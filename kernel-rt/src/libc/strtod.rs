//! The strtod family: C's functions for the one parser of [`super::float_text`].

use core::ffi::c_char;

#[cfg(target_arch = "riscv64")]
use super::decimal::QUAD;
use super::decimal::{DOUBLE, FloatBits, FloatFormat, SINGLE};
use super::errno::ERANGE;
use super::float_text::FloatReader;
use super::format::{FormatUnits, ascii};
use super::{ByteFormat, WideFormat};
use crate::arch::{self, set_errno};

define!(strtof, strtod, wcstof, wcstod);
#[cfg(target_arch = "riscv64")]
define!(strtold, wcstold);
// A `long double` is a `double` there.
#[cfg(target_arch = "arm")]
define_same!(strtold = strtod, wcstold = wcstod);
define_same!(
    strtof_l = strtof,
    strtod_l = strtod,
    strtold_l = strtold,
    wcstof_l = wcstof,
    wcstod_l = wcstod,
    wcstold_l = wcstold,
);

/// Returns the bits of a number, and its length in units, including leading spaces.
fn read(units: &dyn FormatUnits, format: FloatFormat, limbs: &mut [u32]) -> (FloatBits, usize) {
    let mut start = 0;
    while matches!(ascii(units.at(start)), b' ' | b'\t'..=b'\r') {
        start += 1;
    }
    let mut reader = FloatReader::new(format, true, limbs);
    let mut place = start;
    while reader.push(ascii(units.at(place)), true) {
        place += 1;
    }
    let length = reader.valid();
    if length == 0 {
        return (0, 0);
    }
    let number = reader.finish(arch::rounding());
    if number.range_error {
        set_errno(ERANGE);
    }
    (number.bits, start + length)
}

/// Reads a number from a string.
///
/// # Safety
/// The end is null or a pointer of the program's.
unsafe fn read_narrow(
    text: *const c_char,
    end: *mut *const c_char,
    format: FloatFormat,
    limbs: &mut [u32],
) -> FloatBits {
    let (bits, length) = read(&ByteFormat(text), format, limbs);
    if !end.is_null() {
        // SAFETY: the caller's promise, and an address in the string.
        unsafe { end.write(text.add(length)) };
    }
    bits
}

/// Reads a number from a wide string.
///
/// # Safety
/// The same.
unsafe fn read_wide(text: *const u32, end: *mut *const u32, format: FloatFormat, limbs: &mut [u32]) -> FloatBits {
    let (bits, length) = read(&WideFormat(text), format, limbs);
    if !end.is_null() {
        // SAFETY: the caller's promise, and an address in the string.
        unsafe { end.write(text.add(length)) };
    }
    bits
}

unsafe extern "C" fn strtof(text: *const c_char, end: *mut *const c_char) -> f32 {
    // SAFETY: C's promise.
    f32::from_bits(unsafe { read_narrow(text, end, SINGLE, &mut [0; SINGLE.limbs()]) } as u32)
}

unsafe extern "C" fn strtod(text: *const c_char, end: *mut *const c_char) -> f64 {
    // SAFETY: C's promise.
    f64::from_bits(unsafe { read_narrow(text, end, DOUBLE, &mut [0; DOUBLE.limbs()]) } as u64)
}

unsafe extern "C" fn wcstof(text: *const u32, end: *mut *const u32) -> f32 {
    // SAFETY: C's promise.
    f32::from_bits(unsafe { read_wide(text, end, SINGLE, &mut [0; SINGLE.limbs()]) } as u32)
}

unsafe extern "C" fn wcstod(text: *const u32, end: *mut *const u32) -> f64 {
    // SAFETY: C's promise.
    f64::from_bits(unsafe { read_wide(text, end, DOUBLE, &mut [0; DOUBLE.limbs()]) } as u64)
}

// A `long double` is returned like a 128-bit integer.
#[cfg(target_arch = "riscv64")]
unsafe extern "C" fn strtold(text: *const c_char, end: *mut *const c_char) -> u128 {
    // SAFETY: C's promise.
    unsafe { read_narrow(text, end, QUAD, &mut [0; QUAD.limbs()]) }
}

#[cfg(target_arch = "riscv64")]
unsafe extern "C" fn wcstold(text: *const u32, end: *mut *const u32) -> u128 {
    // SAFETY: C's promise.
    unsafe { read_wide(text, end, QUAD, &mut [0; QUAD.limbs()]) }
}
