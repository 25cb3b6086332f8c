//! POSIX extensions of streams: formatted output to a descriptor, streams in memory, positions as values, and locks,
//! which the one thread does not need.

use core::ffi::{c_char, c_int, c_void};
use core::{ptr, slice};

use super::errno::{EINVAL, ENOMEM, fail};
use super::files::write;
use super::stdio::{StdioFile, WRITABLE, realloc};
use super::{FileOffset, VaList, wide};
use crate::arch::set_errno;
use crate::heap;

define_variadic!(dprintf: 2);
define!(
    vdprintf,
    open_memstream,
    fgetpos,
    fsetpos,
    flockfile,
    ftrylockfile,
    funlockfile,
);
define_same!(
    getc_unlocked = getc,
    getchar_unlocked = getchar,
    putc_unlocked = putc,
    putchar_unlocked = putchar,
    fgetc_unlocked = fgetc,
    fputc_unlocked = fputc,
    fgets_unlocked = fgets,
    fputs_unlocked = fputs,
    fread_unlocked = fread,
    fwrite_unlocked = fwrite,
    fflush_unlocked = fflush,
    feof_unlocked = feof,
    ferror_unlocked = ferror,
    clearerr_unlocked = clearerr,
    fileno_unlocked = fileno,
    mbrtoc32 = mbrtowc,
    c32rtomb = wcrtomb,
);

unsafe extern "C" {
    fn vasprintf(out: *mut *mut c_char, format: *const c_char, arguments: VaList) -> c_int;
    fn ftell(file: *mut StdioFile) -> FileOffset;
    fn fseek(file: *mut StdioFile, offset: FileOffset, whence: c_int) -> c_int;
}

/// A text allocated by C's `vasprintf`.
pub struct OwnedText {
    start: *mut c_char,
    length: usize,
}

impl OwnedText {
    /// Formats a text; returns `None` if there is no memory for it.
    ///
    /// # Safety
    /// As for C's `vprintf`.
    pub unsafe fn format(format: *const c_char, arguments: VaList) -> Option<OwnedText> {
        let mut start = ptr::null_mut();
        // SAFETY: the caller's promise.
        let length = unsafe { vasprintf(&raw mut start, format, arguments) };
        let length = usize::try_from(length).ok()?;
        (!start.is_null()).then_some(OwnedText { start, length })
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `vasprintf` has written this many.
        unsafe { slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for OwnedText {
    fn drop(&mut self) {
        // SAFETY: a block of the heap without another owner. That it is one needs no test.
        let _ = unsafe { heap::c_free(self.start.cast()) };
    }
}

unsafe extern "C" fn dprintf(descriptor: c_int, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    unsafe { vdprintf(descriptor, format, arguments) }
}

unsafe extern "C" fn vdprintf(descriptor: c_int, format: *const c_char, arguments: VaList) -> c_int {
    // SAFETY: C's promise.
    let Some(text) = (unsafe { OwnedText::format(format, arguments) }) else {
        return -1;
    };
    let bytes = text.bytes();
    // SAFETY: the text's own bytes.
    unsafe { write(descriptor, bytes.as_ptr().cast(), bytes.len()) as c_int }
}

type PutFunction = unsafe extern "C" fn(c_char, *mut StdioFile) -> c_int;

/// picolibc's `struct __file_ext`, followed by this stream's fields.
#[repr(C)]
struct MemoryStream {
    file: StdioFile,
    close: unsafe extern "C" fn(*mut StdioFile) -> c_int,
    seek: unsafe extern "C" fn(*mut StdioFile, FileOffset, c_int) -> FileOffset,
    set_buffer: unsafe extern "C" fn(*mut StdioFile, *mut c_char, c_int, usize) -> c_int,
    /// The program's two variables.
    text: *mut *mut c_char,
    size: *mut usize,
    /// Size of the block, bytes written, and position of the next one.
    room: usize,
    length: usize,
    at: usize,
}

/// `__SCLOSE` and `__SEXT`.
const HAS_CLOSE_AND_SEEK: u8 = 0x30;

/// Creates an output stream, whose text grows in a block that the program must free (POSIX).
unsafe extern "C" fn open_memstream(text: *mut *mut c_char, size: *mut usize) -> *mut StdioFile {
    const PUT: PutFunction = put_in_memory;
    const FIRST: usize = 64;
    if text.is_null() || size.is_null() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    let block = heap::c_alloc_zeroed(FIRST, heap::C_ALIGN);
    let stream = heap::c_alloc(size_of::<MemoryStream>(), heap::C_ALIGN).cast::<MemoryStream>();
    if block.is_null() || stream.is_null() {
        for made in [block, stream.cast()] {
            if !made.is_null() {
                // SAFETY: a block of this heap without another owner.
                let _ = unsafe { heap::c_free(made) };
            }
        }
        set_errno(ENOMEM);
        return ptr::null_mut();
    }
    let new = MemoryStream {
        file: StdioFile::to_write(WRITABLE | HAS_CLOSE_AND_SEEK, PUT),
        close: close_memory,
        seek: seek_in_memory,
        set_buffer: keep_buffer,
        text,
        size,
        room: FIRST,
        length: 0,
        at: 0,
    };
    // SAFETY: a block of this size, and C's promise about the two variables.
    unsafe {
        stream.write(new);
        text.write(block.cast());
        size.write(0);
    }
    stream.cast()
}

unsafe extern "C" fn put_in_memory(byte: c_char, file: *mut StdioFile) -> c_int {
    const FAILED: c_int = -1;
    // SAFETY: the stream that `open_memstream` has created; the program's variables exist while it is open, and so does
    // the block (POSIX). The block has `room` bytes, and space for the zero is allocated first.
    unsafe {
        let stream = &mut *file.cast::<MemoryStream>();
        let Some(needed) = stream.at.max(stream.length).checked_add(2) else {
            return FAILED;
        };
        if needed > stream.room {
            let more = needed.max(stream.room.saturating_mul(2));
            let block = realloc((*stream.text).cast(), more);
            if block.is_null() {
                return FAILED;
            }
            *stream.text = block.cast();
            stream.room = more;
        }
        let text = *stream.text;
        if stream.at > stream.length {
            text.add(stream.length).write_bytes(0, stream.at - stream.length);
        }
        text.add(stream.at).write(byte);
        stream.at += 1;
        if stream.at > stream.length {
            stream.length = stream.at;
            text.add(stream.length).write(0);
        }
        *stream.size = stream.at;
    }
    c_int::from(byte)
}

unsafe extern "C" fn seek_in_memory(file: *mut StdioFile, offset: FileOffset, whence: c_int) -> FileOffset {
    // SAFETY: as above.
    let stream = unsafe { &mut *file.cast::<MemoryStream>() };
    let from = match whence {
        0 => 0,
        1 => stream.at,
        2 => stream.length,
        _ => return fail(EINVAL) as FileOffset,
    };
    let to = FileOffset::try_from(from)
        .ok()
        .and_then(|from| from.checked_add(offset));
    let Some((to, at)) = to.and_then(|to| Some((to, usize::try_from(to).ok()?))) else {
        return fail(EINVAL) as FileOffset;
    };
    stream.at = at;
    // SAFETY: as above.
    unsafe { *stream.size = at.min(stream.length) };
    to
}

unsafe extern "C" fn keep_buffer(_: *mut StdioFile, _: *mut c_char, _: c_int, _: usize) -> c_int {
    0
}

unsafe extern "C" fn close_memory(file: *mut StdioFile) -> c_int {
    // SAFETY: the block that `open_memstream` has allocated.
    match unsafe { heap::c_free(file.cast()) } {
        Ok(()) => 0,
        Err(heap::InvalidBlock) => fail(EINVAL),
    }
}

/// `fpos_t` is a number.
unsafe extern "C" fn fgetpos(file: *mut StdioFile, out: *mut i64) -> c_int {
    // SAFETY: C's promises.
    unsafe {
        match ftell(file) {
            at @ 0.. => {
                out.write(wide(at));
                0
            }
            _ => -1,
        }
    }
}

unsafe extern "C" fn fsetpos(file: *mut StdioFile, at: *const i64) -> c_int {
    const SEEK_SET: c_int = 0;
    // SAFETY: C's promises.
    unsafe {
        match FileOffset::try_from(at.read()) {
            Ok(at) => fseek(file, at, SEEK_SET),
            Err(_) => fail(EINVAL),
        }
    }
}

extern "C" fn flockfile(_: *mut c_void) {}

extern "C" fn ftrylockfile(_: *mut c_void) -> c_int {
    0
}

extern "C" fn funlockfile(_: *mut c_void) {}
