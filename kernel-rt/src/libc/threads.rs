//! POSIX threads, limited to the single one. A wait that only another thread could end would last forever: it returns
//! EDEADLK if the call supports that error, and otherwise ends the program.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_uint, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::AtomicBool;

use super::errno::{EAGAIN, EBUSY, EDEADLK, EINVAL, ENOTSUP, EPERM, ESRCH, ETIMEDOUT};
use super::messages::warn_unsupported;
use super::process::exit;
use super::time::{Timespec, sleep_until};
use crate::abort::program_abort;

define!(
    pthread_create,
    pthread_join,
    pthread_detach,
    pthread_cancel,
    pthread_exit,
    pthread_self,
    pthread_equal,
    pthread_once,
    pthread_atfork,
    pthread_setcancelstate,
    pthread_setcanceltype,
    pthread_testcancel,
    pthread_attr_init,
    pthread_attr_destroy,
    pthread_attr_setdetachstate,
    pthread_attr_getdetachstate,
    pthread_attr_setstacksize,
    pthread_attr_getstacksize,
    pthread_attr_setscope,
    pthread_mutexattr_init,
    pthread_mutexattr_destroy,
    pthread_mutexattr_settype,
    pthread_mutexattr_gettype,
    pthread_mutexattr_setpshared,
    pthread_mutex_init,
    pthread_mutex_destroy,
    pthread_mutex_lock,
    pthread_mutex_trylock,
    pthread_mutex_timedlock,
    pthread_mutex_unlock,
    pthread_rwlock_init,
    pthread_rwlock_destroy,
    pthread_rwlock_rdlock,
    pthread_rwlock_tryrdlock,
    pthread_rwlock_wrlock,
    pthread_rwlock_trywrlock,
    pthread_rwlock_unlock,
    pthread_spin_init,
    pthread_spin_destroy,
    pthread_spin_lock,
    pthread_spin_trylock,
    pthread_spin_unlock,
    pthread_condattr_init,
    pthread_condattr_destroy,
    pthread_cond_init,
    pthread_cond_destroy,
    pthread_cond_wait,
    pthread_cond_timedwait,
    pthread_cond_signal,
    pthread_cond_broadcast,
    pthread_barrier_init,
    pthread_barrier_destroy,
    pthread_barrier_wait,
    pthread_key_create,
    pthread_key_delete,
    pthread_setspecific,
    pthread_getspecific,
);

/// ID of the one thread.
const SELF: c_ulong = 1;

extern "C" fn pthread_create(_: *mut c_ulong, _: *const ThreadAttributes, _: *const c_void, _: *mut c_void) -> c_int {
    // Programs that ignore the result would silently do less than intended.
    static HAS_SAID: AtomicBool = AtomicBool::new(false);
    warn_unsupported(
        &HAS_SAID,
        "midplane: a node has one thread: pthread_create() fails with EAGAIN, what the thread would do is not done\n",
    );
    EAGAIN
}

extern "C" fn pthread_join(thread: c_ulong, _: *mut *mut c_void) -> c_int {
    if thread == SELF { EDEADLK } else { ESRCH }
}

extern "C" fn pthread_detach(thread: c_ulong) -> c_int {
    if thread == SELF { 0 } else { ESRCH }
}

/// Fails: the one thread cannot cancel itself without ending the program, which is the purpose of `exit`.
extern "C" fn pthread_cancel(thread: c_ulong) -> c_int {
    if thread == SELF { ENOTSUP } else { ESRCH }
}

/// Ends the last thread, and the program with status 0 (POSIX).
extern "C" fn pthread_exit(_: *mut c_void) -> ! {
    ThreadKeys::end_thread();
    // SAFETY: C's own function.
    unsafe { exit(0) }
}

extern "C" fn pthread_self() -> c_ulong {
    SELF
}

extern "C" fn pthread_equal(a: c_ulong, b: c_ulong) -> c_int {
    c_int::from(a == b)
}

unsafe extern "C" fn pthread_once(once: *mut c_int, routine: Option<extern "C" fn()>) -> c_int {
    // SAFETY: C's promise.
    let (Some(once), Some(routine)) = (unsafe { once.as_mut() }, routine) else {
        return EINVAL;
    };
    if *once == 0 {
        *once = 1;
        routine();
    }
    0
}

/// Does nothing: no process forks.
extern "C" fn pthread_atfork(_: *const c_void, _: *const c_void, _: *const c_void) -> c_int {
    0
}

/// Stores the only state in `old`, unless it is null.
unsafe fn only_state(old: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = 0;
    }
    0
}

unsafe extern "C" fn pthread_setcancelstate(_: c_int, old: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { only_state(old) }
}

unsafe extern "C" fn pthread_setcanceltype(_: c_int, old: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { only_state(old) }
}

extern "C" fn pthread_testcancel() {}

/// `pthread_attr_t` of the project's pthread.h.
#[repr(C)]
struct ThreadAttributes {
    detached: c_int,
    stack: usize,
}

const STACK_DEFAULT: usize = 512 << 10;
const STACK_MIN: usize = 16 << 10;

unsafe extern "C" fn pthread_attr_init(out: *mut ThreadAttributes) -> c_int {
    let fresh = ThreadAttributes {
        detached: 0,
        stack: STACK_DEFAULT,
    };
    // SAFETY: C's promise.
    unsafe { out.write(fresh) };
    0
}

extern "C" fn pthread_attr_destroy(_: *mut ThreadAttributes) -> c_int {
    0
}

unsafe extern "C" fn pthread_attr_setdetachstate(out: *mut ThreadAttributes, state: c_int) -> c_int {
    if !matches!(state, 0 | 1) {
        return EINVAL;
    }
    // SAFETY: C's promise.
    unsafe { (*out).detached = state };
    0
}

unsafe extern "C" fn pthread_attr_getdetachstate(attributes: *const ThreadAttributes, out: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { out.write((*attributes).detached) };
    0
}

unsafe extern "C" fn pthread_attr_setstacksize(out: *mut ThreadAttributes, bytes: usize) -> c_int {
    if bytes < STACK_MIN {
        return EINVAL;
    }
    // SAFETY: C's promise.
    unsafe { (*out).stack = bytes };
    0
}

unsafe extern "C" fn pthread_attr_getstacksize(attributes: *const ThreadAttributes, out: *mut usize) -> c_int {
    // SAFETY: C's promise.
    unsafe { out.write((*attributes).stack) };
    0
}

extern "C" fn pthread_attr_setscope(_: *mut ThreadAttributes, _: c_int) -> c_int {
    0
}

const RECURSIVE: c_int = 1;
const ERROR_CHECK: c_int = 2;

unsafe extern "C" fn pthread_mutexattr_init(out: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { out.write(0) };
    0
}

extern "C" fn pthread_mutexattr_destroy(_: *mut c_int) -> c_int {
    0
}

unsafe extern "C" fn pthread_mutexattr_settype(out: *mut c_int, kind: c_int) -> c_int {
    if !(0..=ERROR_CHECK).contains(&kind) {
        return EINVAL;
    }
    // SAFETY: C's promise.
    unsafe { out.write(kind) };
    0
}

unsafe extern "C" fn pthread_mutexattr_gettype(kind: *const c_int, out: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { out.write(*kind) };
    0
}

extern "C" fn pthread_mutexattr_setpshared(_: *mut c_int, _: c_int) -> c_int {
    0
}

/// `pthread_mutex_t` of the project's pthread.h.
#[repr(C)]
struct Mutex {
    kind: c_int,
    held: c_int,
}

unsafe extern "C" fn pthread_mutex_init(out: *mut Mutex, kind: *const c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe {
        let kind = kind.as_ref().copied().unwrap_or(0);
        out.write(Mutex { kind, held: 0 });
    }
    0
}

unsafe extern "C" fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int {
    // SAFETY: C's promise.
    if unsafe { (*mutex).held } == 0 { 0 } else { EBUSY }
}

/// Locks a mutex. Returns `held` if the thread already holds it and it is not recursive.
unsafe fn lock_mutex(mutex: *mut Mutex, held: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let mutex = unsafe { &mut *mutex };
    if mutex.held != 0 && mutex.kind != RECURSIVE {
        return held;
    }
    let Some(count) = mutex.held.checked_add(1) else {
        return EAGAIN;
    };
    mutex.held = count;
    0
}

unsafe extern "C" fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_mutex(mutex, EDEADLK) }
}

unsafe extern "C" fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_mutex(mutex, EBUSY) }
}

unsafe extern "C" fn pthread_mutex_timedlock(mutex: *mut Mutex, _: *const Timespec) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_mutex(mutex, EDEADLK) }
}

unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: C's promise.
    let mutex = unsafe { &mut *mutex };
    if mutex.held == 0 {
        return EPERM;
    }
    mutex.held -= 1;
    0
}

/// `pthread_rwlock_t` of the project's pthread.h.
#[repr(C)]
struct ReadWrite {
    readers: c_int,
    writer: c_int,
}

unsafe extern "C" fn pthread_rwlock_init(out: *mut ReadWrite, _: *const c_int) -> c_int {
    let free = ReadWrite { readers: 0, writer: 0 };
    // SAFETY: C's promise.
    unsafe { out.write(free) };
    0
}

unsafe extern "C" fn pthread_rwlock_destroy(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    let lock = unsafe { &*lock };
    if lock.readers == 0 && lock.writer == 0 {
        0
    } else {
        EBUSY
    }
}

/// Locks for reading. Returns `held` if the thread holds the lock for writing.
unsafe fn lock_for_reading(lock: *mut ReadWrite, held: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let lock = unsafe { &mut *lock };
    if lock.writer != 0 {
        return held;
    }
    let Some(count) = lock.readers.checked_add(1) else {
        return EAGAIN;
    };
    lock.readers = count;
    0
}

/// Locks for writing. Returns `held` if the thread holds the lock.
unsafe fn lock_for_writing(lock: *mut ReadWrite, held: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let lock = unsafe { &mut *lock };
    if lock.writer != 0 || lock.readers != 0 {
        return held;
    }
    lock.writer = 1;
    0
}

unsafe extern "C" fn pthread_rwlock_rdlock(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_for_reading(lock, EDEADLK) }
}

unsafe extern "C" fn pthread_rwlock_tryrdlock(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_for_reading(lock, EBUSY) }
}

unsafe extern "C" fn pthread_rwlock_wrlock(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_for_writing(lock, EDEADLK) }
}

unsafe extern "C" fn pthread_rwlock_trywrlock(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock_for_writing(lock, EBUSY) }
}

unsafe extern "C" fn pthread_rwlock_unlock(lock: *mut ReadWrite) -> c_int {
    // SAFETY: C's promise.
    let lock = unsafe { &mut *lock };
    if lock.writer != 0 {
        lock.writer = 0;
    } else if lock.readers != 0 {
        lock.readers -= 1;
    } else {
        return EPERM;
    }
    0
}

unsafe extern "C" fn pthread_spin_init(lock: *mut c_int, _: c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock.write(0) };
    0
}

extern "C" fn pthread_spin_destroy(_: *mut c_int) -> c_int {
    0
}

unsafe extern "C" fn pthread_spin_lock(lock: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    if unsafe { lock.replace(1) } == 0 { 0 } else { EDEADLK }
}

unsafe extern "C" fn pthread_spin_trylock(lock: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    if unsafe { lock.replace(1) } == 0 { 0 } else { EBUSY }
}

unsafe extern "C" fn pthread_spin_unlock(lock: *mut c_int) -> c_int {
    // SAFETY: C's promise.
    unsafe { lock.write(0) };
    0
}

extern "C" fn pthread_condattr_init(_: *mut c_int) -> c_int {
    0
}

extern "C" fn pthread_condattr_destroy(_: *mut c_int) -> c_int {
    0
}

extern "C" fn pthread_cond_init(_: *mut c_int, _: *const c_int) -> c_int {
    0
}

extern "C" fn pthread_cond_destroy(_: *mut c_int) -> c_int {
    0
}

extern "C" fn pthread_cond_wait(_: *mut c_int, _: *mut Mutex) -> c_int {
    program_abort("pthread_cond_wait(): a node has one thread, nothing could ever end this wait")
}

unsafe extern "C" fn pthread_cond_timedwait(_: *mut c_int, _: *mut Mutex, until: *const Timespec) -> c_int {
    // SAFETY: C's promise.
    match unsafe { sleep_until(until) } {
        Ok(()) => ETIMEDOUT,
        Err(error) => error,
    }
}

extern "C" fn pthread_cond_signal(_: *mut c_int) -> c_int {
    0
}

extern "C" fn pthread_cond_broadcast(_: *mut c_int) -> c_int {
    0
}

unsafe extern "C" fn pthread_barrier_init(out: *mut c_uint, _: *const c_int, threads: c_uint) -> c_int {
    if threads == 0 {
        return EINVAL;
    }
    // SAFETY: C's promise.
    unsafe { out.write(threads) };
    0
}

extern "C" fn pthread_barrier_destroy(_: *mut c_uint) -> c_int {
    0
}

unsafe extern "C" fn pthread_barrier_wait(barrier: *const c_uint) -> c_int {
    const SERIAL_THREAD: c_int = -1;
    // SAFETY: C's promise.
    if unsafe { *barrier } == 1 {
        return SERIAL_THREAD;
    }
    program_abort("pthread_barrier_wait(): for several threads, and a node has one: nothing could ever end this wait")
}

type KeyDestructor = unsafe extern "C" fn(*mut c_void);

/// PTHREAD_KEYS_MAX of the project's pthread.h.
const KEYS: usize = 128;

#[derive(Clone, Copy)]
struct ThreadKey {
    is_used: bool,
    value: *mut c_void,
    destructor: Option<KeyDestructor>,
}

struct ThreadKeys(UnsafeCell<[ThreadKey; KEYS]>);
// SAFETY: only the one program's code accesses the contents.
unsafe impl Sync for ThreadKeys {}

static TABLE: ThreadKeys = ThreadKeys(UnsafeCell::new(
    [ThreadKey {
        is_used: false,
        value: ptr::null_mut(),
        destructor: None,
    }; KEYS],
));

impl ThreadKeys {
    fn with<R>(&self, f: impl FnOnce(&mut [ThreadKey; KEYS]) -> R) -> R {
        // SAFETY: only the one program's code enters here, and `f` calls nothing that does.
        f(unsafe { &mut *self.0.get() })
    }

    fn key<R>(&self, key: c_uint, f: impl FnOnce(&mut ThreadKey) -> R) -> Option<R> {
        let found = |keys: &mut [ThreadKey; KEYS]| {
            let key = keys.get_mut(key as usize).filter(|key| key.is_used)?;
            Some(f(key))
        };
        self.with(found)
    }

    /// Calls destructors for POSIX's minimum number of rounds: they may set values again.
    fn end_thread() {
        const ROUNDS: usize = 4;
        for _ in 0..ROUNDS {
            for key in 0..KEYS as c_uint {
                let take = |key: &mut ThreadKey| (core::mem::take(&mut key.value), key.destructor);
                if let Some((value, Some(destructor))) = TABLE.key(key, take)
                    && !value.is_null()
                {
                    // SAFETY: C's promise.
                    unsafe { destructor(value) };
                }
            }
        }
    }
}

unsafe extern "C" fn pthread_key_create(out: *mut c_uint, destructor: Option<KeyDestructor>) -> c_int {
    let taken = TABLE.with(|keys| {
        let at = keys.iter().position(|key| !key.is_used)?;
        keys[at] = ThreadKey {
            is_used: true,
            value: ptr::null_mut(),
            destructor,
        };
        Some(at)
    });
    let Some(key) = taken else {
        return EAGAIN;
    };
    // SAFETY: C's promise.
    unsafe { out.write(key as c_uint) };
    0
}

extern "C" fn pthread_key_delete(key: c_uint) -> c_int {
    match TABLE.key(key, |key| key.is_used = false) {
        Some(()) => 0,
        None => EINVAL,
    }
}

extern "C" fn pthread_setspecific(key: c_uint, value: *mut c_void) -> c_int {
    match TABLE.key(key, |key| key.value = value) {
        Some(()) => 0,
        None => EINVAL,
    }
}

extern "C" fn pthread_getspecific(key: c_uint) -> *mut c_void {
    TABLE.key(key, |key| key.value).unwrap_or_default()
}
