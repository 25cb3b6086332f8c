//! The scanf family: C's functions, each with its own [`Source`] for the one reader of [`super::scan`].

use core::ffi::{c_char, c_int, c_void};

use super::errno::{EBADF, EILSEQ, EINVAL, ENOMEM, ERANGE, fail};
use super::format::Units;
use super::scan::{Heap, Source, Trouble, scan};
use super::stdio::{self, File, READABLE, getc, realloc};
use super::{Arguments, List, Narrow, Wide};
use crate::arch::{self, set_errno};

define_variadic!(scanf: 1, fscanf: 2, sscanf: 2, wscanf: 1, fwscanf: 2, swscanf: 2);
define!(vscanf, vfscanf, vsscanf, vwscanf, vfwscanf, vswscanf);

unsafe extern "C" {
    fn free(block: *mut c_void);
    fn ungetc(byte: c_int, file: *mut File) -> c_int;
}

/// Reads from a source.
///
/// # Safety
/// As for C's `vscanf`.
unsafe fn read(source: &mut dyn Source, units: &dyn Units, arguments: Arguments) -> c_int {
    let heap = Heap { realloc, free };
    // SAFETY: the caller's promise.
    let outcome = unsafe {
        scan(
            source,
            units,
            &mut List::new(arguments),
            heap,
            arch::rounding(),
        )
    };
    match outcome.trouble {
        Some(Trouble::Range) => set_errno(ERANGE),
        Some(Trouble::NotACharacter) => set_errno(EILSEQ),
        Some(Trouble::NoMemory) => set_errno(ENOMEM),
        Some(Trouble::Format) => set_errno(EINVAL),
        None => {}
    }
    outcome.assigned
}

struct Stream {
    file: *mut File,
    is_wide: bool,
}

impl Source for Stream {
    fn is_wide(&self) -> bool {
        self.is_wide
    }

    fn get(&mut self) -> Option<u32> {
        // SAFETY: C's promise: a stream that is open.
        u32::try_from(unsafe { getc(self.file) }).ok()
    }

    fn unget(&mut self, unit: u32) {
        // SAFETY: as above; there is space for the one byte that was read last.
        unsafe { ungetc(unit as c_int, self.file) };
    }
}

struct Text<'a> {
    units: &'a dyn Units,
    place: usize,
    is_wide: bool,
}

impl Source for Text<'_> {
    fn is_wide(&self) -> bool {
        self.is_wide
    }

    fn get(&mut self) -> Option<u32> {
        let unit = Some(self.units.at(self.place)).filter(|unit| *unit != 0)?;
        self.place += 1;
        Some(unit)
    }

    fn unget(&mut self, _: u32) {
        self.place -= 1;
    }
}

/// Reads from a stream.
///
/// # Safety
/// As for C's `vfscanf`.
unsafe fn read_stream(
    file: *mut File,
    units: &dyn Units,
    arguments: Arguments,
    is_wide: bool,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if !File::allows(file, READABLE) {
            return fail(EBADF);
        }
        read(&mut Stream { file, is_wide }, units, arguments)
    }
}

unsafe extern "C" fn vfscanf(
    file: *mut File,
    format: *const c_char,
    arguments: Arguments,
) -> c_int {
    // SAFETY: C's promise.
    unsafe { read_stream(file, &Narrow(format), arguments, false) }
}

unsafe extern "C" fn fscanf(file: *mut File, format: *const c_char, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfscanf(file, format, arguments) }
}

unsafe extern "C" fn vscanf(format: *const c_char, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfscanf(stdio::stdin.file(), format, arguments) }
}

unsafe extern "C" fn scanf(format: *const c_char, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vscanf(format, arguments) }
}

unsafe extern "C" fn vsscanf(
    text: *const c_char,
    format: *const c_char,
    arguments: Arguments,
) -> c_int {
    let units = Narrow(text);
    let mut source = Text {
        units: &units,
        place: 0,
        is_wide: false,
    };
    // SAFETY: C's promise.
    unsafe { read(&mut source, &Narrow(format), arguments) }
}

unsafe extern "C" fn sscanf(
    text: *const c_char,
    format: *const c_char,
    arguments: Arguments,
) -> c_int {
    // SAFETY: C's promise.
    unsafe { vsscanf(text, format, arguments) }
}

unsafe extern "C" fn vfwscanf(file: *mut File, format: *const u32, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { read_stream(file, &Wide(format), arguments, true) }
}

unsafe extern "C" fn fwscanf(file: *mut File, format: *const u32, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwscanf(file, format, arguments) }
}

unsafe extern "C" fn vwscanf(format: *const u32, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwscanf(stdio::stdin.file(), format, arguments) }
}

unsafe extern "C" fn wscanf(format: *const u32, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vwscanf(format, arguments) }
}

unsafe extern "C" fn vswscanf(text: *const u32, format: *const u32, arguments: Arguments) -> c_int {
    let units = Wide(text);
    let mut source = Text {
        units: &units,
        place: 0,
        is_wide: true,
    };
    // SAFETY: C's promise.
    unsafe { read(&mut source, &Wide(format), arguments) }
}

unsafe extern "C" fn swscanf(text: *const u32, format: *const u32, arguments: Arguments) -> c_int {
    // SAFETY: C's promise.
    unsafe { vswscanf(text, format, arguments) }
}
