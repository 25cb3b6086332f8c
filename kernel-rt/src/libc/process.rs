//! The single process: its start, its end, and queries about itself and its node.

use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::fmt::Write as _;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use critical_section::Mutex;
use midplane_abi::files::MAX_OPEN;

use super::errno::{EAGAIN, ECHILD, EINVAL, ENOENT, EPERM, ESRCH, fail, fail_long};
use super::time::CLOCKS_PER_SECOND;
use crate::abort::program_abort;
use crate::arch::{self, set_errno};
use crate::heap;
use crate::records::personality;
use crate::running::finish;

define!(
    _exit,
    abort,
    sched_yield,
    getpid,
    getppid,
    getuid,
    geteuid,
    getgid,
    getegid,
    gethostname,
    sysconf,
    uname,
    getrlimit,
    setrlimit,
    fork,
    vfork,
    wait,
    waitpid,
    execv,
    execve,
    execvp,
    quick_exit,
    at_quick_exit,
    getpgrp,
    getpgid,
    setpgid,
    getsid,
    setsid,
    gettid,
    nice,
    getpriority,
    setpriority,
    getdomainname,
    gethostid,
    confstr,
    secure_getenv,
    clearenv,
);

/// Function that flushes the streams of files, if there are any.
static WRITE_OUT: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Registers the function that [`write_out`] calls.
pub fn write_out_with(write_out: fn()) {
    critical_section::with(|cs| WRITE_OUT.borrow(cs).set(write_out));
}

/// Flushes the streams of files. The indirection keeps the flush code out of programs without such streams.
pub fn write_out() {
    let write_out = critical_section::with(|cs| WRITE_OUT.borrow(cs).get());
    write_out();
}

/// Ends the program with `status`; atexit's functions have run.
extern "C" fn _exit(status: c_int) -> ! {
    write_out();
    finish(status)
}

extern "C" fn abort() -> ! {
    program_abort("the program called abort()")
}

/// Does nothing: the node has one process.
extern "C" fn sched_yield() -> c_int {
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

/// Returns properties of the node (POSIX sysconf); -1 for an unlimited or unknown one.
extern "C" fn sysconf(name: c_int) -> c_long {
    const PAGE: u64 = 4096;
    // sys/unistd.h of picolibc.
    match name {
        2 => CLOCKS_PER_SECOND,
        4 => 3 + MAX_OPEN as c_long, // descriptors
        8 => PAGE as c_long,
        9 | 10 => 1, // processors
        11 => personality().map_or(-1, |p| (p.memory / PAGE) as c_long),
        12 => {
            let heap = heap::fill();
            (heap.bytes.saturating_sub(heap.used) as u64 / PAGE) as c_long
        }
        65 => 63, // a host name's bytes
        _ => fail_long(EINVAL),
    }
}

fn host_name() -> heapless::String<24> {
    let mut name = heapless::String::new();
    if let Some(p) = personality() {
        let c = p.coord;
        // Three numbers of at most three digits fit.
        let _ = write!(name, "node-{}-{}-{}", c.x, c.y, c.z);
    }
    name
}

/// Returns a name for this node, from its coordinates; truncated, with its terminating zero, to the buffer (POSIX).
unsafe extern "C" fn gethostname(out: *mut c_char, room: usize) -> c_int {
    let name = host_name();
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

/// `struct utsname` of the project's sys/utsname.h: six names.
const UTSNAME_BYTES: usize = 65;

unsafe extern "C" fn uname(out: *mut [[u8; UTSNAME_BYTES]; 6]) -> c_int {
    let host = host_name();
    let names = [
        "Midplane",
        &host,
        env!("CARGO_PKG_VERSION"),
        "bare metal",
        arch::NAME,
        "",
    ];
    // SAFETY: C's promise.
    let Some(out) = (unsafe { out.as_mut() }) else {
        return fail(EINVAL);
    };
    for (field, name) in out.iter_mut().zip(names) {
        *field = [0; UTSNAME_BYTES];
        // The last byte stays 0.
        for (byte, letter) in field[..UTSNAME_BYTES - 1].iter_mut().zip(name.bytes()) {
            *byte = letter;
        }
    }
    0
}

/// `struct rlimit`: the current and the maximum limit.
unsafe extern "C" fn getrlimit(resource: c_int, out: *mut [u64; 2]) -> c_int {
    // The project's sys/resource.h.
    const INFINITY: u64 = u64::MAX;
    let limit = match resource {
        2 | 5 | 8 | 9 => heap::size() as u64, // data, resident, locked, all
        3 => arch::stack().len(),
        6 => 1, // processes
        7 => 3, // descriptors
        4 => 0, // a core file's bytes
        0 | 1 => INFINITY,
        _ => return fail(EINVAL),
    };
    if out.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe { out.write([limit; 2]) };
    0
}

/// Accepts only the current limits.
unsafe extern "C" fn setrlimit(resource: c_int, new: *const [u64; 2]) -> c_int {
    let mut now = [0; 2];
    // SAFETY: C's promise.
    unsafe {
        if getrlimit(resource, &raw mut now) != 0 {
            return -1;
        }
        match new.as_ref() {
            None => fail(EINVAL),
            Some([soft, hard]) if soft > hard => fail(EINVAL),
            Some([soft, _]) if *soft <= now[0] => 0,
            Some(_) => fail(EPERM),
        }
    }
}

/// Fails: a node has one process.
extern "C" fn fork() -> c_int {
    fail(EAGAIN)
}

extern "C" fn vfork() -> c_int {
    fail(EAGAIN)
}

extern "C" fn wait(_: *mut c_int) -> c_int {
    fail(ECHILD)
}

extern "C" fn waitpid(_: c_int, _: *mut c_int, _: c_int) -> c_int {
    fail(ECHILD)
}

extern "C" fn execv(_: *const c_char, _: *const c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn execve(_: *const c_char, _: *const c_void, _: *const c_void) -> c_int {
    fail(ENOENT)
}

extern "C" fn execvp(_: *const c_char, _: *const c_void) -> c_int {
    fail(ENOENT)
}

type ExitHandler = extern "C" fn();

/// Functions for `quick_exit`: the minimum number that C requires (C17 section 7.22.4.3).
static QUICK_ENDINGS: [AtomicUsize; 32] = [const { AtomicUsize::new(0) }; 32];

extern "C" fn at_quick_exit(ending: ExitHandler) -> c_int {
    const NONE: usize = 0;
    let free = QUICK_ENDINGS.iter().find(|place| place.load(Ordering::Relaxed) == NONE);
    match free {
        Some(place) => {
            place.store((ending as *const ()).expose_provenance(), Ordering::Relaxed);
            0
        }
        None => 1,
    }
}

/// Calls the functions in reverse order of registration.
extern "C" fn quick_exit(status: c_int) -> ! {
    for place in QUICK_ENDINGS.iter().rev() {
        let address = place.swap(0, Ordering::Relaxed);
        if address != 0 {
            let address = ptr::with_exposed_provenance::<()>(address);
            // SAFETY: an argument of `at_quick_exit`.
            unsafe { core::mem::transmute::<*const (), ExitHandler>(address)() };
        }
    }
    _exit(status)
}

/// The one process leads its own group and session.
extern "C" fn getpgrp() -> c_int {
    getpid()
}

/// Checks whether an ID is this process's; 0 is too.
fn own(process: c_int) -> Result<c_int, c_int> {
    match process {
        0 | 1 => Ok(getpid()),
        _ => Err(ESRCH),
    }
}

extern "C" fn getpgid(process: c_int) -> c_int {
    own(process).unwrap_or_else(fail)
}

extern "C" fn getsid(process: c_int) -> c_int {
    own(process).unwrap_or_else(fail)
}

extern "C" fn setpgid(process: c_int, group: c_int) -> c_int {
    match (own(process), group) {
        (Ok(_), 0 | 1) => 0,
        (Ok(_), _) => fail(EPERM),
        (Err(error), _) => fail(error),
    }
}

extern "C" fn setsid() -> c_int {
    fail(EPERM)
}

extern "C" fn gettid() -> c_int {
    getpid()
}

/// Only priority 0 is supported, because there is one process.
extern "C" fn nice(more: c_int) -> c_int {
    if more == 0 { 0 } else { fail(EPERM) }
}

extern "C" fn getpriority(which: c_int, who: u32) -> c_int {
    const PRIO_USER: c_int = 2;
    match (which, who) {
        (0..=PRIO_USER, 0 | 1) => 0,
        (0..=PRIO_USER, _) => fail(ESRCH),
        _ => fail(EINVAL),
    }
}

extern "C" fn setpriority(which: c_int, who: u32, priority: c_int) -> c_int {
    match getpriority(which, who) {
        0 if priority != 0 => fail(EPERM),
        result => result,
    }
}

/// Returns an empty domain name.
unsafe extern "C" fn getdomainname(out: *mut c_char, room: usize) -> c_int {
    if out.is_null() || room == 0 {
        return fail(EINVAL);
    }
    // SAFETY: C's promise that there are `room` bytes.
    unsafe { out.write(0) };
    0
}

/// Returns the rank plus one.
extern "C" fn gethostid() -> c_long {
    personality().map_or(0, |p| p.rank as c_long + 1)
}

/// No string is defined for any name.
extern "C" fn confstr(_: c_int, _: *mut c_char, _: usize) -> usize {
    set_errno(EINVAL);
    0
}

unsafe extern "C" fn secure_getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: C's promise.
    unsafe { getenv(name) }
}

/// Removes all variables.
extern "C" fn clearenv() -> c_int {
    struct EmptyEnvironment([*mut c_char; 1]);
    // SAFETY: a null pointer that nothing writes: adding a variable creates a new list.
    unsafe impl Sync for EmptyEnvironment {}
    static EMPTY: EmptyEnvironment = EmptyEnvironment([ptr::null_mut()]);
    // SAFETY: C's variable, by the one thread.
    unsafe { environ = EMPTY.0.as_ptr().cast_mut() };
    0
}

/// The program's arguments, for its name in messages.
static WORDS: AtomicPtr<*mut c_char> = AtomicPtr::new(ptr::null_mut());

/// Returns the program's name: its first argument after the last slash.
pub fn program_name() -> &'static CStr {
    let words = WORDS.load(Ordering::Relaxed);
    // SAFETY: `run` has stored it; the arguments live forever, though the program may have changed the pointer.
    let word = unsafe { words.as_ref().filter(|word| !word.is_null()) };
    let Some(word) = word else {
        return c"program";
    };
    // SAFETY: a C string.
    let word = unsafe { CStr::from_ptr(*word) };
    let bytes = word.to_bytes_with_nul();
    let at = bytes.iter().rposition(|byte| *byte == b'/');
    CStr::from_bytes_with_nul(&bytes[at.map_or(0, |at| at + 1)..]).unwrap_or(word)
}

unsafe extern "C" {
    // Where `main` is the kernel's entry (see ld/stm32f405.ld), the linker uses this name for the program's function.
    #[cfg_attr(target_arch = "arm", link_name = "__real_main")]
    fn main(argc: c_int, argv: *mut *mut c_char, environment: *mut *mut c_char) -> c_int;
    pub fn exit(status: c_int) -> !;
    fn getenv(name: *const c_char) -> *mut c_char;
    static mut environ: *mut *mut c_char;
    static __preinit_array_start: [extern "C" fn(); 0];
    static __preinit_array_end: [extern "C" fn(); 0];
    static __init_array_start: [extern "C" fn(); 0];
    static __init_array_end: [extern "C" fn(); 0];
}

/// Runs the constructors, then `main`, then `exit` with its result.
///
/// # Safety
/// Called once, when everything that the program may use is set up. `argv` holds the arguments, which C may change and
/// keep, and a null pointer behind them; `environment` the variables, likewise.
pub unsafe fn run(argv: &'static mut [*mut c_char], environment: &'static mut [*mut c_char]) -> ! {
    WORDS.store(argv.as_mut_ptr(), Ordering::Relaxed);
    let environment = environment.as_mut_ptr();
    // SAFETY: C's variable, before any of the program's code runs.
    unsafe { environ = environment };
    let arrays = [
        (&raw const __preinit_array_start, &raw const __preinit_array_end),
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
    // SAFETY: the program's entry, as C defines it.
    unsafe {
        let status = main(argc as c_int, argv.as_mut_ptr(), environment);
        exit(status)
    }
}
