//! The single processor of a program: affinity, priorities, and system information (sys/sysinfo.h).

use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::errno::{EFAULT, EINVAL, ENOSYS, ESRCH, fail, fail_long};
use super::time::Timespec;
use crate::records::personality;
use crate::{clock, heap};

define!(
    sched_getaffinity,
    sched_setaffinity,
    sched_getcpu,
    sched_get_priority_max,
    sched_get_priority_min,
    sched_getscheduler,
    sched_setscheduler,
    sched_getparam,
    sched_setparam,
    sched_rr_get_interval,
    pthread_getaffinity_np,
    pthread_setaffinity_np,
    get_nprocs,
    get_nprocs_conf,
    getloadavg,
    sysinfo,
    syscall,
);

/// Bytes of the smallest processor set: its first word.
const WORD: usize = size_of::<c_ulong>();

fn set_of(bytes: usize, set: *const c_void) -> Result<(), c_int> {
    match bytes {
        _ if set.is_null() => Err(EFAULT),
        WORD.. => Ok(()),
        _ => Err(EINVAL),
    }
}

/// Writes the set that contains the one processor.
///
/// # Safety
/// `set` is null or has that many bytes.
unsafe fn get(bytes: usize, set: *mut c_ulong) -> Result<(), c_int> {
    set_of(bytes, set.cast())?;
    // SAFETY: the caller's promise.
    unsafe {
        set.cast::<u8>().write_bytes(0, bytes);
        set.write(1);
    }
    Ok(())
}

/// Checks that a set contains the one processor.
///
/// # Safety
/// As for [`get`].
unsafe fn check(bytes: usize, set: *const c_ulong) -> Result<(), c_int> {
    set_of(bytes, set.cast())?;
    // SAFETY: the caller's promise.
    match unsafe { *set } & 1 {
        0 => Err(EINVAL),
        _ => Ok(()),
    }
}

fn own(process: c_int) -> Result<(), c_int> {
    match process {
        0 | 1 => Ok(()),
        _ => Err(ESRCH),
    }
}

fn result(result: Result<(), c_int>) -> c_int {
    result.map_or_else(fail, |()| 0)
}

unsafe extern "C" fn sched_getaffinity(process: c_int, bytes: usize, set: *mut c_ulong) -> c_int {
    // SAFETY: C's promise.
    result(own(process).and_then(|()| unsafe { get(bytes, set) }))
}

unsafe extern "C" fn sched_setaffinity(process: c_int, bytes: usize, set: *const c_ulong) -> c_int {
    // SAFETY: C's promise.
    result(own(process).and_then(|()| unsafe { check(bytes, set) }))
}

fn thread(thread: c_ulong) -> Result<(), c_int> {
    match thread {
        1 => Ok(()),
        _ => Err(ESRCH),
    }
}

unsafe extern "C" fn pthread_getaffinity_np(one: c_ulong, bytes: usize, set: *mut c_ulong) -> c_int {
    // SAFETY: C's promise.
    let got = thread(one).and_then(|()| unsafe { get(bytes, set) });
    got.err().unwrap_or(0)
}

unsafe extern "C" fn pthread_setaffinity_np(one: c_ulong, bytes: usize, set: *const c_ulong) -> c_int {
    // SAFETY: C's promise.
    let checked = thread(one).and_then(|()| unsafe { check(bytes, set) });
    checked.err().unwrap_or(0)
}

extern "C" fn sched_getcpu() -> c_int {
    0
}

/// SCHED_FIFO and SCHED_RR, as on Linux.
const REAL_TIME: core::ops::RangeInclusive<c_int> = 1..=2;
const SCHED_OTHER: c_int = 0;

extern "C" fn sched_get_priority_max(policy: c_int) -> c_int {
    match policy {
        SCHED_OTHER => 0,
        policy if REAL_TIME.contains(&policy) => 99,
        _ => fail(EINVAL),
    }
}

extern "C" fn sched_get_priority_min(policy: c_int) -> c_int {
    sched_get_priority_max(policy).min(1)
}

extern "C" fn sched_getscheduler(process: c_int) -> c_int {
    own(process).map_or_else(fail, |()| SCHED_OTHER)
}

/// Accepts only the one policy with its one priority.
unsafe extern "C" fn sched_setscheduler(process: c_int, policy: c_int, priority: *const c_int) -> c_int {
    match policy {
        SCHED_OTHER => {
            // SAFETY: C's promise.
            unsafe { sched_setparam(process, priority) }
        }
        _ => fail(EINVAL),
    }
}

unsafe extern "C" fn sched_getparam(process: c_int, out: *mut c_int) -> c_int {
    if out.is_null() {
        return fail(EINVAL);
    }
    // SAFETY: C's promise.
    unsafe { out.write(0) };
    result(own(process))
}

unsafe extern "C" fn sched_setparam(process: c_int, priority: *const c_int) -> c_int {
    // SAFETY: C's promise.
    match (own(process), unsafe { priority.as_ref() }) {
        (Ok(()), Some(0)) => 0,
        (Ok(()), _) => fail(EINVAL),
        (Err(error), _) => fail(error),
    }
}

/// Returns 0: the time slice of the one process never ends.
unsafe extern "C" fn sched_rr_get_interval(process: c_int, out: *mut Timespec) -> c_int {
    if out.is_null() {
        return fail(EINVAL);
    }
    let none = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: C's promise.
    unsafe { out.write(none) };
    result(own(process))
}

extern "C" fn get_nprocs() -> c_int {
    1
}

extern "C" fn get_nprocs_conf() -> c_int {
    1
}

/// Fails: the load is not measured.
extern "C" fn getloadavg(_: *mut f64, _: c_int) -> c_int {
    -1
}

/// `struct sysinfo` of the project's sys/sysinfo.h.
#[repr(C)]
struct SystemInfo {
    uptime: c_long,
    loads: [c_ulong; 3],
    /// In bytes.
    memory: c_ulong,
    free_memory: c_ulong,
    shared_and_buffers: [c_ulong; 2],
    swap: [c_ulong; 2],
    processes: u16,
    high: [c_ulong; 2],
    unit: c_uint,
}

unsafe extern "C" fn sysinfo(out: *mut SystemInfo) -> c_int {
    if out.is_null() {
        return fail(EFAULT);
    }
    let info = SystemInfo {
        uptime: (clock::now_ns() / 1_000_000_000) as c_long,
        loads: [0; 3],
        memory: personality().map_or(0, |p| p.memory as c_ulong),
        free_memory: heap::free() as c_ulong,
        shared_and_buffers: [0; 2],
        swap: [0; 2],
        processes: 1,
        high: [0; 2],
        unit: 1,
    };
    // SAFETY: C's promise.
    unsafe { out.write(info) };
    0
}

/// Supports two calls, by Linux's numbers for this processor (sys/syscall.h); the others do not exist on a node.
extern "C" fn syscall(number: c_long) -> c_long {
    const GETPID: c_long = 172;
    const GETTID: c_long = 178;
    match number {
        GETPID | GETTID => 1,
        _ => fail_long(ENOSYS),
    }
}
