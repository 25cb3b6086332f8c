//! The scanf family: C's functions, each with its own [`TextSource`] for the one reader of [`super::scan`].

use core::ffi::{c_char, c_int, c_void};

use super::errno::{EBADF, EILSEQ, EINVAL, ENOMEM, ERANGE, fail};
use super::format::FormatUnits;
use super::scan::{HeapFunctions, ScanError, TextSource, scan};
use super::stdio::{self, READABLE, StdioFile, getc, realloc};
use super::{ArgumentMemory, ByteFormat, VaList, WideFormat};
use crate::arch::{self, set_errno};

define_variadic!(scanf: 1, fscanf: 2, sscanf: 2, wscanf: 1, fwscanf: 2, swscanf: 2);
define!(vscanf, vfscanf, vsscanf, vwscanf, vfwscanf, vswscanf);

unsafe extern "C" {
    fn free(block: *mut c_void);
    fn ungetc(byte: c_int, file: *mut StdioFile) -> c_int;
}

/// Reads from a source.
///
/// # Safety
/// As for C's `vscanf`.
unsafe fn read(source: &mut dyn TextSource, units: &dyn FormatUnits, arguments: VaList) -> c_int {
    let heap = HeapFunctions { realloc, free };
    // SAFETY: the caller's promise.
    let outcome = unsafe {
        scan(
            source,
            units,
            &mut ArgumentMemory::new(arguments),
            heap,
            arch::rounding(),
        )
    };
    match outcome.trouble {
        Some(ScanError::Range) => set_errno(ERANGE),
        Some(ScanError::NotACharacter) => set_errno(EILSEQ),
        Some(ScanError::NoMemory) => set_errno(ENOMEM),
        Some(ScanError::Format) => set_errno(EINVAL),
        None => {}
    }
    outcome.assigned
}

struct StreamSource {
    file: *mut StdioFile,
    is_wide: bool,
}

impl TextSource for StreamSource {
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

struct StringSource<'a> {
    units: &'a dyn FormatUnits,
    place: usize,
    is_wide: bool,
}

impl TextSource for StringSource<'_> {
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
unsafe fn read_stream(file: *mut StdioFile, units: &dyn FormatUnits, arguments: VaList, is_wide: bool) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        if !StdioFile::allows(file, READABLE) {
            return fail(EBADF);
        }
        read(&mut StreamSource { file, is_wide }, units, arguments)
    }
}

unsafe extern "C" fn vfscanf(file: *mut StdioFile, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { read_stream(file, &ByteFormat(format), arguments, false) }
}

unsafe extern "C" fn fscanf(file: *mut StdioFile, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfscanf(file, format, arguments) }
}

unsafe extern "C" fn vscanf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfscanf(stdio::stdin.file(), format, arguments) }
}

unsafe extern "C" fn scanf(format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vscanf(format, arguments) }
}

unsafe extern "C" fn vsscanf(text: *const c_char, format: *const c_char, arguments: VaList) -> c_int {
    let units = ByteFormat(text);
    let mut source = StringSource {
        units: &units,
        place: 0,
        is_wide: false,
    };
    // SAFETY: C's promise.
    unsafe { read(&mut source, &ByteFormat(format), arguments) }
}

unsafe extern "C" fn sscanf(text: *const c_char, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vsscanf(text, format, arguments) }
}

unsafe extern "C" fn vfwscanf(file: *mut StdioFile, format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { read_stream(file, &WideFormat(format), arguments, true) }
}

unsafe extern "C" fn fwscanf(file: *mut StdioFile, format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwscanf(file, format, arguments) }
}

unsafe extern "C" fn vwscanf(format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vfwscanf(stdio::stdin.file(), format, arguments) }
}

unsafe extern "C" fn wscanf(format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vwscanf(format, arguments) }
}

unsafe extern "C" fn vswscanf(text: *const u32, format: *const u32, arguments: VaList) -> c_int {
    let units = WideFormat(text);
    let mut source = StringSource {
        units: &units,
        place: 0,
        is_wide: true,
    };
    // SAFETY: C's promise.
    unsafe { read(&mut source, &WideFormat(format), arguments) }
}

unsafe extern "C" fn swscanf(text: *const u32, format: *const u32, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vswscanf(text, format, arguments) }
}
