//! The one process: its start, its end, and what it can ask about itself and its node.

use core::ffi::{c_char, c_int, c_long};
use core::fmt::Write as _;

use super::errno::{EINVAL, ENOSYS, fail};
use super::time::CLOCKS_PER_SECOND;
use crate::arch::set_errno;
use crate::end::program_abort;
use crate::heap;
use crate::host::records::personality;
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
    kill,
);

/// The program ends with `status`; atexit's functions have run.
extern "C" fn _exit(status: c_int) -> ! {
    finish(status)
}

extern "C" fn abort() -> ! {
    program_abort("the program called abort()")
}

/// The node has one process.
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

/// What there is to know of a node (POSIX sysconf); -1 for what has no limit, or is not known.
extern "C" fn sysconf(name: c_int) -> c_long {
    const PAGE: u64 = 4096;
    // sys/unistd.h of picolibc.
    match name {
        2 => CLOCKS_PER_SECOND,
        4 => 3, // descriptors
        8 => PAGE as c_long,
        9 | 10 => 1, // processors
        11 => personality().map_or(-1, |p| (p.memory / PAGE) as c_long),
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
    if let Some(p) = personality() {
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
