//! System functions that picolibc requires: streams, files, memory, time, the end of the program; and the few POSIX
//! calls that programs expect. Functions for features that a node lacks (other processes) return -1 with `errno`, as
//! POSIX specifies.
//!
//! ```text
//! stdio     stdin, stdout, stderr           files     descriptors, and calls on files
//! directories  opendir and related functions
//! malloc    the heap, as C calls it         process   start and end of the program, sysconf and others
//! time      clocks and sleep                printf, scanf  C's functions that write and read by a format
//! decimal   exact decimal expansions        format, scan, float_text  common parts of these
//! threads   POSIX threads, limited to one
//! signals   within the program              mapping   anonymous memory by mmap
//! errno     error numbers                   streams   streams in memory, POSIX extensions of stdio
//! messages  err, error, syslog              positioned  reads and writes at an offset, of several buffers
//! polling   poll, select                    paths     realpath, mkdtemp, limits of paths
//! affinity  the one processor               semaphores  POSIX semaphores, for one thread
//! omp       OpenMP's functions, for one thread  net     names and sockets: none exist
//! terminal  ioctl, termios: no terminal     users     the one user
//! random    getrandom, initstate            lists     lsearch, insque
//! glob      paths that match a pattern
//! absent    unsupported functions: shared memory of processes, shared libraries, backtraces
//! ```

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! function_type {
    () => {
        "@function"
    };
}

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! jump {
    () => {
        "tail {function}"
    };
}

// An assembler whose comments begin with `@`; the directive declares the name as Thumb code.
#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! function_type {
    () => {
        "%function\n.thumb_func"
    };
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! jump {
    () => {
        "b {function}"
    };
}

/// Defines a C symbol with this assembler code.
#[cfg(target_os = "none")]
macro_rules! weak_symbol {
    ($name:ident: $($code:tt)*) => {
        core::arch::global_asm!(
            concat!(".section .text.libc.", stringify!($name), ", \"ax\""),
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ", ", function_type!()),
            concat!(stringify!($name), ":"),
            $($code)*
        );
    };
}

#[cfg(target_os = "none")]
/// Defines C's names. Weak, as in every C library: a program's own function of the same name replaces the library's.
macro_rules! define {
    ($($function:ident),* $(,)?) => {
        $(weak_symbol!($function:
            jump!(),
            function = sym $function,
        );)*
    };
}

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! variadic {
    () => {
        ".cfi_startproc
         addi sp, sp, -80
         .cfi_def_cfa_offset 80
         sd ra, 0(sp)
         .cfi_offset ra, -80
         sd a0, 16(sp)
         sd a1, 24(sp)
         sd a2, 32(sp)
         sd a3, 40(sp)
         sd a4, 48(sp)
         sd a5, 56(sp)
         sd a6, 64(sp)
         sd a7, 72(sp)
         addi a{fixed}, sp, 16 + 8 * {fixed}
         call {function}
         ld ra, 0(sp)
         addi sp, sp, 80
         ret
         .cfi_endproc"
    };
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! variadic {
    () => {
        ".cfi_startproc
         push {{r0-r3}}
         push {{r4, lr}}
         .cfi_def_cfa_offset 24
         .cfi_offset lr, -20
         .cfi_offset r4, -24
         add r{fixed}, sp, #(8 + 4 * {fixed})
         bl {function}
         pop {{r4, lr}}
         add sp, sp, #16
         bx lr
         .cfi_endproc"
    };
}

/// Defines variadic C functions with this number of fixed arguments; the Rust function receives a `va_list` instead of
/// the variable ones. Arguments from registers are stored in memory before those on the stack, as the calling
/// conventions of both processors specify. The frame is described, so that the tool finds the program's line when a
/// fault happens further inside.
#[cfg(target_os = "none")]
macro_rules! define_variadic {
    ($($function:ident: $fixed:literal),* $(,)?) => {
        $(weak_symbol!($function:
            variadic!(),
            function = sym $function,
            fixed = const $fixed,
        );)*
    };
}

#[cfg(all(target_os = "none", target_arch = "riscv64"))]
macro_rules! jump_to {
    ($function:ident) => {
        concat!("tail ", stringify!($function))
    };
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
macro_rules! jump_to {
    ($function:ident) => {
        concat!("b ", stringify!($function))
    };
}

/// Defines additional C names of C functions.
#[cfg(target_os = "none")]
macro_rules! define_same {
    ($($name:ident = $function:ident),* $(,)?) => {
        $(weak_symbol!($name:
            jump_to!($function),
        );)*
    };
}

/// C's `va_list`, passed as a pointer on both processors.
#[cfg(target_os = "none")]
type VaList = *const core::ffi::c_void;

/// An argument list in memory: each argument at a multiple of its size, in words of the processor.
#[cfg(target_os = "none")]
struct ArgumentMemory {
    start: VaList,
    next: usize,
}

#[cfg(target_os = "none")]
impl ArgumentMemory {
    fn new(start: VaList) -> Self {
        let next = start.addr();
        ArgumentMemory { start, next }
    }
}

#[cfg(target_os = "none")]
impl format::ArgumentValues for ArgumentMemory {
    unsafe fn next(&mut self, kind: format::ArgumentKind) -> decimal::FloatBits {
        let size = match kind {
            format::ArgumentKind::Int | format::ArgumentKind::Word => size_of::<usize>(),
            format::ArgumentKind::Long => 8,
            format::ArgumentKind::LongDouble => format::LONG_DOUBLE.bytes(),
        };
        let place = self.next.next_multiple_of(size);
        self.next = place + size;
        let place = self.start.with_addr(place);
        // SAFETY: the caller's promise: an argument of this size, which is its alignment, too.
        unsafe {
            match size {
                4 => place.cast::<u32>().read().into(),
                8 => decimal::FloatBits::from(place.cast::<u64>().read()),
                _ => place.cast::<decimal::FloatBits>().read(),
            }
        }
    }

    fn rewind(&mut self) {
        self.next = self.start.addr();
    }
}

/// A format in memory.
#[cfg(target_os = "none")]
struct ByteFormat(*const core::ffi::c_char);

#[cfg(target_os = "none")]
impl format::FormatUnits for ByteFormat {
    fn at(&self, place: usize) -> u32 {
        // SAFETY: C's promise: a string, of which nothing after its end is read.
        u32::from(unsafe { self.0.add(place).read() })
    }
}

/// A format of wide characters in memory.
#[cfg(target_os = "none")]
struct WideFormat(*const u32);

#[cfg(target_os = "none")]
impl format::FormatUnits for WideFormat {
    fn at(&self, place: usize) -> u32 {
        // SAFETY: C's promise, as above.
        unsafe { self.0.add(place).read() }
    }
}

/// `off_t` of picolibc.
#[cfg(target_os = "none")]
type FileOffset = core::ffi::c_long;

/// Converts an offset to the tool's type.
#[cfg(target_os = "none")]
#[cfg_attr(
    target_arch = "riscv64",
    expect(clippy::useless_conversion, reason = "not of the same size on every processor")
)]
fn wide(offset: FileOffset) -> i64 {
    i64::from(offset)
}

#[cfg(target_os = "none")]
mod absent;
#[cfg(target_os = "none")]
mod affinity;
pub mod decimal;
#[cfg(target_os = "none")]
mod directories;
#[cfg(target_os = "none")]
mod errno;
#[cfg(target_os = "none")]
mod files;
pub mod float_text;
pub mod format;
#[cfg(target_os = "none")]
mod glob;
#[cfg(target_os = "none")]
mod lists;
#[cfg(target_os = "none")]
mod malloc;
#[cfg(target_os = "none")]
mod mapping;
#[cfg(target_os = "none")]
mod messages;
#[cfg(target_os = "none")]
mod net;
#[cfg(target_os = "none")]
mod omp;
#[cfg(target_os = "none")]
mod paths;
#[cfg(target_os = "none")]
mod polling;
#[cfg(target_os = "none")]
mod positioned;
#[cfg(target_os = "none")]
mod printf;
#[cfg(target_os = "none")]
mod process;
#[cfg(target_os = "none")]
mod random;
pub mod scan;
#[cfg(target_os = "none")]
mod scanf;
#[cfg(target_os = "none")]
mod semaphores;
#[cfg(target_os = "none")]
mod signals;
#[cfg(target_os = "none")]
mod stdio;
#[cfg(target_os = "none")]
mod streams;
#[cfg(target_os = "none")]
mod strtod;
#[cfg(target_os = "none")]
mod terminal;
#[cfg(target_os = "none")]
mod threads;
#[cfg(target_os = "none")]
mod time;
#[cfg(target_os = "none")]
mod users;

#[cfg(target_os = "none")]
pub use files::{descriptor_status, path_status};
#[cfg(target_os = "none")]
pub use process::run;
#[cfg(target_os = "none")]
pub use random::random_word;
