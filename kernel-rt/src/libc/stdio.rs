//! What picolibc asks of the system below it: streams, memory, time, the end of the program; and the few
//! POSIX calls that programs expect to find. What does not exist on a node (files, other processes)
//! answers -1 with `errno`, as POSIX has it.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_long, c_void};
use core::fmt::Write as _;
use core::ptr;

use crate::console::{self, Stream};
use crate::heap;
use crate::node;

/// Defines C's names. Weak, as in every C library: a program that has a function of its own with one of
/// these names means its own.
macro_rules! define {
    ($($function:ident),* $(,)?) => {
        $(core::arch::global_asm!(
            concat!(".section .text.libc.", stringify!($function), ", \"ax\""),
            concat!(".weak ", stringify!($function)),
            concat!(".type ", stringify!($function), ", @function"),
            concat!(stringify!($function), ":"),
            "tail {function}",
            function = sym $function,
        );)*
    };
}

define!(
    fflush,
    _exit,
    abort,
    malloc,
    calloc,
    free,
    realloc,
    aligned_alloc,
    memalign,
    posix_memalign,
    malloc_usable_size,
    gettimeofday,
    clock_gettime,
    clock,
    times,
    getrusage,
    nanosleep,
    usleep,
    sleep,
    sched_yield,
    write,
    read,
    open,
    close,
    lseek,
    fsync,
    unlink,
    rename,
    mkdir,
    rmdir,
    chdir,
    getcwd,
    access,
    stat,
    lstat,
    fstat,
    isatty,
    getpid,
    getppid,
    getuid,
    geteuid,
    getgid,
    getegid,
    gethostname,
    sysconf,
    kill,
);

// errno.h of picolibc.
const ENOENT: c_int = 2;
const EBADF: c_int = 9;
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;
const EROFS: c_int = 30;
const ERANGE: c_int = 34;
const ENOSYS: c_int = 88;

/// Sets C's `errno`, a thread-local variable of the one thread there is.
fn set_errno(value: c_int) {
    // SAFETY: writes the 32-bit variable at its place behind the thread pointer, as compiled C does.
    unsafe {
        core::arch::asm!(
            "lui {at}, %tprel_hi(errno)",
            "add {at}, {at}, tp, %tprel_add(errno)",
            "sw {value}, %tprel_lo(errno)({at})",
            at = out(reg) _,
            value = in(reg) value,
            options(nostack)
        );
    }
}

fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -1
}

/// `struct __file` of picolibc's tinystdio (stdio.h), with the four-byte `unget` that its riscv build has.
#[repr(C)]
struct File {
    unget: u32,
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut File) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut File) -> c_int>,
    flush: Option<unsafe extern "C" fn(*mut File) -> c_int>,
}

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
const EOF: c_int = -2; // _FDEV_EOF

#[repr(transparent)]
struct FileCell(UnsafeCell<File>);
// SAFETY: only the one program's code, in C, touches the contents.
unsafe impl Sync for FileCell {}

#[repr(transparent)]
struct FileRef(&'static FileCell);

unsafe extern "C" fn put_out(c: c_char, _: *mut File) -> c_int {
    console::write(Stream::Out, &[c]);
    c as c_int
}

unsafe extern "C" fn put_err(c: c_char, _: *mut File) -> c_int {
    console::write(Stream::Err, &[c]);
    c as c_int
}

unsafe extern "C" fn get_in(_: *mut File) -> c_int {
    let mut byte = [0];
    match node::input(&mut byte) {
        0 => EOF,
        _ => c_int::from(byte[0]),
    }
}

unsafe extern "C" fn flush_stream(_: *mut File) -> c_int {
    console::flush();
    0
}

const fn file(
    flags: u8,
    put: Option<unsafe extern "C" fn(c_char, *mut File) -> c_int>,
    get: Option<unsafe extern "C" fn(*mut File) -> c_int>,
) -> FileCell {
    FileCell(UnsafeCell::new(File {
        unget: 0,
        flags,
        put,
        get,
        flush: Some(flush_stream),
    }))
}

static IN: FileCell = file(READABLE, None, Some(get_in));
static OUT: FileCell = file(WRITABLE, Some(put_out), None);
static ERR: FileCell = file(WRITABLE, Some(put_err), None);

#[unsafe(no_mangle)]
static stdin: FileRef = FileRef(&IN);
#[unsafe(no_mangle)]
static stdout: FileRef = FileRef(&OUT);
#[unsafe(no_mangle)]
static stderr: FileRef = FileRef(&ERR);

/// As C has it; picolibc's own does not know the null pointer, which means all streams.
unsafe extern "C" fn fflush(file: *mut File) -> c_int {
    // SAFETY: C's promise.
    match unsafe { file.as_ref() } {
        None => console::flush(),
        Some(File {
            flush: Some(flush), ..
        }) => {
            // SAFETY: the file's own function.
            return unsafe { flush(file) };
        }
        Some(_) => {}
    }
    0
}

/// The program ends with `status`; atexit's functions have run.
extern "C" fn _exit(status: c_int) -> ! {
    node::finish(status)
}

extern "C" fn abort() -> ! {
    node::program_abort("the program called abort()")
}

// Memory (C17 section 7.22.3). A pointer that is no block of this heap ends the program at once: going on
// would corrupt memory that other ranks' messages land in.

fn alloc(size: usize, align: usize) -> *mut c_void {
    let block = heap::c_alloc(size, align);
    if block.is_null() {
        set_errno(ENOMEM);
    }
    block.cast()
}

extern "C" fn malloc(size: usize) -> *mut c_void {
    alloc(size, heap::C_ALIGN)
}

extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else {
        set_errno(ENOMEM);
        return ptr::null_mut();
    };
    let block = alloc(bytes, heap::C_ALIGN);
    if !block.is_null() {
        // SAFETY: the block has `bytes` bytes.
        unsafe { block.write_bytes(0, bytes) };
    }
    block
}

unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: C's promise.
    if !block.is_null() && unsafe { heap::c_free(block.cast()) }.is_err() {
        node::program_abort(
            "free() of a pointer that malloc did not give, or that was freed already",
        );
    }
}

unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if block.is_null() {
        return malloc(size);
    }
    // SAFETY: C's promise.
    let Ok(old) = (unsafe { heap::c_size(block.cast()) }) else {
        node::program_abort(
            "realloc() of a pointer that malloc did not give, or that was freed already",
        );
    };
    let new = malloc(size);
    if !new.is_null() {
        // SAFETY: two blocks, of which each has at least this many bytes; the old one is C's to give.
        unsafe {
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(size));
            free(block);
        }
    }
    new
}

extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if !align.is_power_of_two() {
        set_errno(EINVAL);
        return ptr::null_mut();
    }
    alloc(size, align)
}

extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    aligned_alloc(align, size)
}

unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    let block = heap::c_alloc(size, align);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: C's promise.
    unsafe { out.write(block.cast()) };
    0
}

unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if block.is_null() {
        return 0;
    }
    // SAFETY: C's promise.
    unsafe { heap::c_size(block.cast()) }.unwrap_or(0)
}

// Time.

#[repr(C)]
struct Timeval {
    seconds: i64,
    microseconds: c_long,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: c_long,
}

unsafe extern "C" fn gettimeofday(out: *mut Timeval, _: *mut c_void) -> c_int {
    let now = node::wall_clock_ns();
    if !out.is_null() {
        // SAFETY: C's promise.
        unsafe { out.write(timeval(now)) };
    }
    0
}

fn timeval(ns: u64) -> Timeval {
    Timeval {
        seconds: (ns / 1_000_000_000) as i64,
        microseconds: (ns % 1_000_000_000 / 1000) as c_long,
    }
}

unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    const CLOCK_REALTIME: c_int = 1; // time.h of picolibc
    let now = match clock {
        CLOCK_REALTIME => node::wall_clock_ns(),
        // Monotonic, or the processor time of the one process, which has the processor to itself.
        _ => node::now_ns(),
    };
    if out.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe {
        out.write(Timespec {
            seconds: (now / 1_000_000_000) as i64,
            nanoseconds: (now % 1_000_000_000) as c_long,
        });
    }
    0
}

/// Units of `clock` and `times` in a second: CLOCKS_PER_SEC of picolibc's time.h.
const CLOCKS_PER_SECOND: c_long = 1_000_000;

/// Processor time: the program has the processor to itself.
extern "C" fn clock() -> c_long {
    (node::now_ns() / (1_000_000_000 / CLOCKS_PER_SECOND as u64)) as c_long
}

/// `struct tms`: user and system time, the program's and its children's.
unsafe extern "C" fn times(out: *mut [c_long; 4]) -> c_long {
    let now = clock();
    if !out.is_null() {
        // SAFETY: C's promise.
        unsafe { out.write([now, 0, 0, 0]) };
    }
    now
}

/// `struct rusage` of picolibc: user and system time. All time is the program's own.
unsafe extern "C" fn getrusage(who: c_int, out: *mut [Timeval; 2]) -> c_int {
    const RUSAGE_SELF: c_int = 0;
    const NONE: Timeval = Timeval {
        seconds: 0,
        microseconds: 0,
    };
    if out.is_null() {
        return fail(EINVAL);
    }
    let now = match who {
        RUSAGE_SELF => timeval(node::now_ns()),
        _ => NONE,
    };
    // SAFETY: C's promise.
    unsafe { out.write([now, NONE]) };
    0
}

unsafe extern "C" fn nanosleep(duration: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: C's promise.
    let Some(duration) = (unsafe { duration.as_ref() }) else {
        return fail(EINVAL);
    };
    let (Ok(seconds), Ok(nanoseconds @ 0..1_000_000_000)) = (
        u64::try_from(duration.seconds),
        u64::try_from(duration.nanoseconds),
    ) else {
        return fail(EINVAL);
    };
    node::sleep(
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds),
    );
    if !left.is_null() {
        // SAFETY: C's promise.
        unsafe {
            left.write(Timespec {
                seconds: 0,
                nanoseconds: 0,
            });
        }
    }
    0
}

extern "C" fn usleep(microseconds: u32) -> c_int {
    node::sleep(u64::from(microseconds) * 1000);
    0
}

extern "C" fn sleep(seconds: u32) -> u32 {
    node::sleep(u64::from(seconds) * 1_000_000_000);
    0
}

/// There is nobody to yield to.
extern "C" fn sched_yield() -> c_int {
    0
}

// Descriptors: 1 and 2 are the streams, 0 is the input, there are no others.

fn stream(descriptor: c_int) -> Option<Stream> {
    match descriptor {
        1 => Some(Stream::Out),
        2 => Some(Stream::Err),
        _ => None,
    }
}

unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    let Some(stream) = stream(descriptor) else {
        return fail(EBADF) as isize;
    };
    if count != 0 {
        // SAFETY: C's promise.
        console::write(stream, unsafe {
            core::slice::from_raw_parts(bytes.cast(), count)
        });
        console::flush();
    }
    count as isize
}

unsafe extern "C" fn read(descriptor: c_int, out: *mut c_void, count: usize) -> isize {
    if descriptor != 0 {
        return fail(EBADF) as isize;
    }
    if count == 0 {
        return 0;
    }
    // SAFETY: C's promise that there are `count` bytes.
    node::input(unsafe { core::slice::from_raw_parts_mut(out.cast(), count) }) as isize
}

/// There are no files and no place for new ones.
extern "C" fn open(_: *const c_char, flags: c_int) -> c_int {
    const O_CREAT: c_int = 0x40; // fcntl.h of picolibc
    fail(if flags & O_CREAT == 0 { ENOENT } else { EROFS })
}

extern "C" fn close(_: c_int) -> c_int {
    fail(EBADF)
}

extern "C" fn lseek(_: c_int, _: i64, _: c_int) -> i64 {
    fail(EBADF) as i64
}

/// What was written leaves as it comes.
extern "C" fn fsync(descriptor: c_int) -> c_int {
    match stream(descriptor) {
        Some(_) => {
            console::flush();
            0
        }
        None => fail(EBADF),
    }
}

extern "C" fn unlink(_: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn rename(_: *const c_char, _: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn mkdir(_: *const c_char, _: u32) -> c_int {
    fail(EROFS)
}

extern "C" fn rmdir(_: *const c_char) -> c_int {
    fail(ENOENT)
}

extern "C" fn chdir(_: *const c_char) -> c_int {
    fail(ENOENT)
}

/// The root of the files that there are not.
unsafe extern "C" fn getcwd(out: *mut c_char, room: usize) -> *mut c_char {
    let place = c"/".to_bytes_with_nul();
    if out.is_null() || room < place.len() {
        set_errno(if room == 0 { EINVAL } else { ERANGE });
        return ptr::null_mut();
    }
    // SAFETY: C's promise that there are `room` bytes.
    unsafe { out.copy_from_nonoverlapping(place.as_ptr().cast(), place.len()) };
    out
}

extern "C" fn access(_: *const c_char, _: c_int) -> c_int {
    fail(ENOENT)
}

extern "C" fn stat(_: *const c_char, _: *mut c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn lstat(_: *const c_char, _: *mut c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn fstat(_: c_int, _: *mut c_void) -> c_int {
    fail(ENOSYS)
}

extern "C" fn isatty(_: c_int) -> c_int {
    0
}

extern "C" fn getpid() -> c_int {
    1
}

extern "C" fn getppid() -> c_int {
    0
}

extern "C" fn getuid() -> u32 {
    0
}

extern "C" fn geteuid() -> u32 {
    0
}

extern "C" fn getgid() -> u32 {
    0
}

extern "C" fn getegid() -> u32 {
    0
}

/// What there is to know of a node (POSIX sysconf); -1 for what has no limit, or is not known.
extern "C" fn sysconf(name: c_int) -> c_long {
    const PAGE: u64 = 4096;
    // sys/unistd.h of picolibc.
    match name {
        2 => CLOCKS_PER_SECOND,
        4 => 3, // descriptors
        8 => PAGE as c_long,
        9 | 10 => 1, // processors
        11 => node::personality().map_or(-1, |p| (p.memory / PAGE) as c_long),
        12 => {
            let heap = heap::fill();
            (heap.bytes.saturating_sub(heap.used) as u64 / PAGE) as c_long
        }
        65 => 63, // a host name's bytes
        _ => {
            set_errno(EINVAL);
            -1
        }
    }
}

/// A name for this node, from its coordinates; cut, with its ending zero, to the room there is (POSIX).
unsafe extern "C" fn gethostname(out: *mut c_char, room: usize) -> c_int {
    let mut name = heapless::String::<24>::new();
    if let Some(p) = node::personality() {
        let c = p.coord;
        // Three numbers of at most three digits fit.
        let _ = write!(name, "node-{}-{}-{}", c.x, c.y, c.z);
    }
    let Some(most) = room.checked_sub(1) else {
        return fail(EINVAL);
    };
    let length = name.len().min(most);
    // SAFETY: C's promise that there are `room` bytes.
    unsafe {
        out.copy_from_nonoverlapping(name.as_ptr().cast(), length);
        out.add(length).write(0);
    }
    0
}

/// Signals exist only within the program: picolibc's `raise` does not come here.
extern "C" fn kill(_: c_int, _: c_int) -> c_int {
    fail(ENOSYS)
}

// The program.

unsafe extern "C" {
    fn main(argc: c_int, argv: *mut *mut c_char, environment: *mut *mut c_char) -> c_int;
    fn exit(status: c_int) -> !;
    static __preinit_array_start: [extern "C" fn(); 0];
    static __preinit_array_end: [extern "C" fn(); 0];
    static __init_array_start: [extern "C" fn(); 0];
    static __init_array_end: [extern "C" fn(); 0];
}

/// Runs the constructors, then `main`, then `exit` with what it returned.
///
/// # Safety
/// Called once, when everything that the program may use is set up. `argv` holds the arguments, which
/// C may change and keep, and a null pointer behind them.
pub unsafe fn run(argv: &'static mut [*mut c_char]) -> ! {
    let arrays = [
        (
            &raw const __preinit_array_start,
            &raw const __preinit_array_end,
        ),
        (&raw const __init_array_start, &raw const __init_array_end),
    ];
    for (start, end) in arrays {
        let count = (end.addr() - start.addr()) / size_of::<extern "C" fn()>();
        for i in 0..count {
            // SAFETY: the linker script collects the constructors' addresses between these symbols.
            unsafe { (*start.cast::<extern "C" fn()>().add(i))() };
        }
    }
    let argc = argv.len() - 1;
    // SAFETY: the program's entry, as C defines it; the environment is empty.
    unsafe {
        let environment = argv.as_mut_ptr().add(argc);
        let status = main(argc as c_int, argv.as_mut_ptr(), environment);
        exit(status)
    }
}
