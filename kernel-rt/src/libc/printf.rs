//! The printf family: C's functions, each with its own [`TextSink`] for the one formatter of [`super::format`]. picolibc's
//! own version is built without `long double` and wide characters, and rounds twice.

use core::ffi::{c_char, c_int};
use core::ptr;

use super::decimal::FloatBits;
use super::errno::{EBADF, EILSEQ, EINVAL, ENOMEM, EOVERFLOW, fail};
use super::format::{ArgumentKind, ArgumentValues, FormatError, FormatUnits, TextSink, format};
use super::stdio::{self, StdioFile, WRITABLE, realloc};
use super::{ArgumentMemory, ByteFormat, VaList, WideFormat};
use crate::arch;

define_variadic!(
    printf: 1,
    fprintf: 2,
    sprintf: 2,
    snprintf: 3,
    asprintf: 2,
    wprintf: 1,
    fwprintf: 2,
    swprintf: 3,
);
define!(
    vprintf, vfprintf, vsprintf, vsnprintf, vasprintf, vwprintf, vfwprintf, vswprintf, strfromf, strfromd, strfroml,
    gcvt,
);

/// Converts the formatter's result to a call's return value.
fn returned(result: Result<u32, FormatError>) -> c_int {
    match result {
        Ok(length) => length as c_int,
        Err(FormatError::TooLong) => fail(EOVERFLOW),
        Err(FormatError::NotACharacter) => fail(EILSEQ),
        Err(FormatError::Format) => fail(EINVAL),
        Err(FormatError::Stream) => -1,
    }
}

/// Formats to a sink.
///
/// # Safety
/// As for C's `vprintf`.
unsafe fn write(sink: &mut dyn TextSink, units: &dyn FormatUnits, arguments: VaList) -> c_int {
    // SAFETY: the caller's promise.
    returned(unsafe { format(sink, units, &mut ArgumentMemory::new(arguments), arch::rounding()) })
}

struct StreamSink {
    file: *mut StdioFile,
    is_wide: bool,
}

impl TextSink for StreamSink {
    fn is_wide(&self) -> bool {
        self.is_wide
    }

    fn put(&mut self, unit: u32) -> Result<(), FormatError> {
        if self.is_wide && unit > 127 {
            return Err(FormatError::NotACharacter);
        }
        // SAFETY: C's promise: a stream that is open.
        match unsafe { StdioFile::put(self.file, unit as u8) } {
            true => Ok(()),
            false => Err(FormatError::Stream),
        }
    }
}

/// An array, whose last unit is reserved for the terminating 0.
struct ArraySink {
    start: *mut c_char,
    room: usize,
    length: usize,
}

impl ArraySink {
    fn new(start: *mut c_char, room: usize) -> Self {
        ArraySink { start, room, length: 0 }
    }

    /// Terminates the text, if the array is not empty.
    fn end(&mut self) {
        if self.room > 0 {
            // SAFETY: C's promise: this many characters.
            unsafe { self.start.add(self.length.min(self.room - 1)).write(0) };
        }
    }
}

impl TextSink for ArraySink {
    fn put(&mut self, unit: u32) -> Result<(), FormatError> {
        if self.room.saturating_sub(self.length) > 1 {
            // SAFETY: C's promise: this many characters.
            unsafe { self.start.add(self.length).write(unit as c_char) };
        }
        self.length += 1;
        Ok(())
    }

    fn fill(&mut self, unit: u32, times: u32) -> Result<(), FormatError> {
        let room = self.room.saturating_sub(self.length.saturating_add(1));
        let fits = room.min(times as usize);
        if fits > 0 {
            // SAFETY: C's promise: this many characters.
            unsafe { self.start.add(self.length).write_bytes(unit as u8, fits) };
        }
        self.length += times as usize;
        Ok(())
    }
}

/// An array of wide characters, which must have space for all.
struct WideArray {
    start: *mut u32,
    room: usize,
    length: usize,
}

impl TextSink for WideArray {
    fn is_wide(&self) -> bool {
        true
    }

    fn put(&mut self, unit: u32) -> Result<(), FormatError> {
        if self.room.saturating_sub(self.length) <= 1 {
            return Err(FormatError::TooLong);
        }
        // SAFETY: C's promise: this many characters.
        unsafe { self.start.add(self.length).write(unit) };
        self.length += 1;
        Ok(())
    }
}

/// Formats to a stream.
///
/// # Safety
/// As for C's `vfprintf`, unless the format is null.
unsafe fn write_to_stream(
    file: *mut StdioFile,
    units: Option<&dyn FormatUnits>,
    arguments: VaList,
    is_wide: bool,
) -> c_int {
    let Some(units) = units else {
        // As in other C libraries: a null pointer is no format.
        return fail(EINVAL);
    };
    // SAFETY: the caller's promise.
    unsafe {
        if !StdioFile::allows(file, WRITABLE) {
            return fail(EBADF);
        }
        write(&mut StreamSink { file, is_wide }, units, arguments)
    }
}

unsafe extern "C" fn vfprintf(file: *mut StdioFile, format: *const c_char, arguments: VaList) -> c_int {
    let units = ByteFormat(format);
    // SAFETY: C's promise.
    unsafe { write_to_stream(file, (!format.is_null()).then_some(&units), arguments, false) }
}

unsafe extern "C" fn fprintf(file: *mut StdioFile, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfprintf(file, format, arguments) }
}

unsafe extern "C" fn vprintf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfprintf(stdio::stdout.file(), format, arguments) }
}

unsafe extern "C" fn printf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vprintf(format, arguments) }
}

unsafe extern "C" fn vsnprintf(text: *mut c_char, room: usize, format: *const c_char, arguments: VaList) -> c_int {
    if format.is_null() {
        return fail(EINVAL);
    }
    let mut array = ArraySink::new(text, room);
    // SAFETY: C's promise.
    let length = unsafe { write(&mut array, &ByteFormat(format), arguments) };
    array.end();
    length
}

unsafe extern "C" fn snprintf(text: *mut c_char, room: usize, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vsnprintf(text, room, format, arguments) }
}

unsafe extern "C" fn vsprintf(text: *mut c_char, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vsnprintf(text, usize::MAX, format, arguments) }
}

unsafe extern "C" fn sprintf(text: *mut c_char, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vsprintf(text, format, arguments) }
}

/// Implements GNU's function. The text is formatted twice, the first time for its length.
unsafe extern "C" fn vasprintf(out: *mut *mut c_char, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promises, and a block of the text's length with its terminator.
    unsafe {
        out.write(ptr::null_mut());
        let length = vsnprintf(ptr::null_mut(), 0, format, arguments);
        let Ok(bytes) = usize::try_from(length) else {
            return length;
        };
        let text: *mut c_char = realloc(ptr::null_mut(), bytes + 1).cast();
        if text.is_null() {
            return fail(ENOMEM);
        }
        out.write(text);
        vsnprintf(text, bytes + 1, format, arguments)
    }
}

unsafe extern "C" fn asprintf(out: *mut *mut c_char, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vasprintf(out, format, arguments) }
}

unsafe extern "C" fn vfwprintf(file: *mut StdioFile, format: *const u32, arguments: VaList) -> c_int {
    let units = WideFormat(format);
    // SAFETY: C's promise.
    unsafe { write_to_stream(file, (!format.is_null()).then_some(&units), arguments, true) }
}

unsafe extern "C" fn fwprintf(file: *mut StdioFile, format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwprintf(file, format, arguments) }
}

unsafe extern "C" fn vwprintf(format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwprintf(stdio::stdout.file(), format, arguments) }
}

unsafe extern "C" fn wprintf(format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vwprintf(format, arguments) }
}

unsafe extern "C" fn vswprintf(text: *mut u32, room: usize, format: *const u32, arguments: VaList) -> c_int {
    let mut array = WideArray {
        start: text,
        room,
        length: 0,
    };
    // SAFETY: C's promises.
    unsafe {
        let length = write(&mut array, &WideFormat(format), arguments);
        if room > 0 {
            text.add(array.length).write(0);
            return length;
        }
    }
    fail(EOVERFLOW)
}

unsafe extern "C" fn swprintf(text: *mut u32, room: usize, format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vswprintf(text, room, format, arguments) }
}

struct SingleArgument(FloatBits);

impl ArgumentValues for SingleArgument {
    unsafe fn next(&mut self, _: ArgumentKind) -> FloatBits {
        self.0
    }

    fn rewind(&mut self) {}
}

/// A strfroml format, which contains one conversion without modifier, with the modifier added.
struct LongConversion(ByteFormat);

impl FormatUnits for LongConversion {
    fn at(&self, place: usize) -> u32 {
        let is_letter = |place: usize| (self.0.at(place) as u8).is_ascii_alphabetic();
        // At the first letter, the modifier is inserted, and the following units are shifted by one.
        match (0..=place).any(is_letter) {
            true if is_letter(place) && !(0..place).any(is_letter) => u32::from(b'L'),
            true => self.0.at(place - 1),
            false => self.0.at(place),
        }
    }
}

/// Formats one number.
///
/// # Safety
/// As for C's `strfromd`.
unsafe fn write_one(text: *mut c_char, room: usize, units: &dyn FormatUnits, bits: FloatBits) -> c_int {
    let mut array = ArraySink::new(text, room);
    // SAFETY: the caller's promise: one conversion, of a number of this format.
    let result = unsafe { format(&mut array, units, &mut SingleArgument(bits), arch::rounding()) };
    array.end();
    returned(result)
}

unsafe extern "C" fn strfromf(text: *mut c_char, room: usize, format: *const c_char, value: f32) -> c_int {
    // SAFETY: C's promise.
    unsafe { strfromd(text, room, format, f64::from(value)) }
}

unsafe extern "C" fn strfromd(text: *mut c_char, room: usize, format: *const c_char, value: f64) -> c_int {
    // SAFETY: C's promise.
    unsafe { write_one(text, room, &ByteFormat(format), FloatBits::from(value.to_bits())) }
}

/// A `long double`: 128 bits, passed like a 128-bit integer, or identical to a `double`.
#[cfg(target_arch = "riscv64")]
type LongDouble = u128;
#[cfg(target_arch = "arm")]
type LongDouble = f64;

fn bits_of(value: LongDouble) -> FloatBits {
    #[cfg(target_arch = "arm")]
    let value = value.to_bits();
    value
}

unsafe extern "C" fn strfroml(text: *mut c_char, room: usize, format: *const c_char, value: LongDouble) -> c_int {
    let units = LongConversion(ByteFormat(format));
    // SAFETY: C's promise.
    unsafe { write_one(text, room, &units, bits_of(value)) }
}

/// Formats with `%.*g`; digits beyond 17 add no information.
unsafe extern "C" fn gcvt(value: f64, digits: c_int, text: *mut c_char) -> *mut c_char {
    const MAX_DIGITS: c_int = 17;
    let precision = digits.clamp(0, MAX_DIGITS) as u8;
    let units = [b'%', b'.', b'0' + precision / 10, b'0' + precision % 10, b'g'];
    // SAFETY: C's promise: an array that is long enough.
    unsafe { write_one(text, usize::MAX, &&units[..], FloatBits::from(value.to_bits())) };
    text
}
