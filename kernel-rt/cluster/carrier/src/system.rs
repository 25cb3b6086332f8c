//! Process state that the operating system maintains: signals' actions and mask, the umask, the working directory, the
//! standard streams' descriptors, limits; and the thread's locale.
//!
//! A rank that changes one of them has its own copy from then on: it is saved when another rank runs, and set if it
//! differs. `kernel-rt/ld/cluster_system.c` announces each change in advance. The other ranks have the state that the
//! process began with. The required system calls are made only in a job whose program changes such state.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_long};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::rc::Rc;

const SIGNALS: usize = 64;
/// Size of the kernel's signal set in bytes.
const MASK_BYTES: usize = 8;
const STREAMS: usize = 3;
const LIMITS: usize = 16;
/// First descriptor of the runtime, if the limit permits it: a program expects small numbers for its own.
const FIRST_OWN: RawFd = 200;

unsafe extern "C" {
    /// The C library's `uselocale`.
    fn __uselocale(locale: libc::locale_t) -> libc::locale_t;
    /// The C library's `sigaction`. The function of that name belongs to the ranks.
    pub fn __sigaction(signal: c_int, action: *const libc::sigaction, before: *mut libc::sigaction) -> c_int;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StateKind {
    Mask,
    SignalStack,
    Umask,
    Directory,
    Streams,
    Limits,
    Locale,
    /// The action of this signal.
    Action(usize),
}

/// Kinds by C's numbers: an action's number is that of the last one plus the signal.
const KINDS: [StateKind; 7] = [
    StateKind::Mask,
    StateKind::SignalStack,
    StateKind::Umask,
    StateKind::Directory,
    StateKind::Streams,
    StateKind::Limits,
    StateKind::Locale,
];

/// A set of kinds, a bit for each number.
type StateKinds = u128;

/// Iterates over its members, each with its bit.
fn each(kinds: StateKinds) -> impl Iterator<Item = (StateKinds, StateKind)> {
    let numbers = (0..KINDS.len() + SIGNALS).filter(move |number| kinds >> number & 1 != 0);
    numbers.map(|number| {
        let signal = (number + 1).saturating_sub(KINDS.len());
        let kind = KINDS.get(number).copied();
        (1 << number, kind.unwrap_or(StateKind::Action(signal)))
    })
}

/// The state of all ranks that have changed any.
pub struct SystemState {
    /// The process's initial state, for the kinds that any rank has changed.
    first: RefCell<RankState>,
    ranks: Vec<RefCell<Option<Box<RankState>>>>,
    /// A rank has changed something.
    is_used: Cell<bool>,
    /// Working directories of ranks, each once.
    directories: RefCell<Vec<Rc<WorkingDirectory>>>,
}

#[derive(Default)]
struct RankState {
    kinds: StateKinds,
    mask: u64,
    signal_stack: Option<libc::stack_t>,
    umask: c_long,
    directory: Option<Rc<WorkingDirectory>>,
    /// `None`: closed.
    streams: [Option<Rc<OwnedFd>>; STREAMS],
    limits: Option<[libc::rlimit64; LIMITS]>,
    locale: Option<libc::locale_t>,
    actions: BTreeMap<usize, libc::sigaction>,
}

struct WorkingDirectory {
    file: OwnedFd,
    identity: (u64, u64),
}

impl SystemState {
    /// Creates the initial state of this number of ranks.
    pub fn new(ranks: usize) -> SystemState {
        SystemState {
            first: RefCell::default(),
            ranks: (0..ranks).map(|_| RefCell::default()).collect(),
            is_used: Cell::new(false),
            directories: RefCell::default(),
        }
    }

    /// Announces that the running rank will change state of the kind with this number. Fails if the system cannot
    /// report the state.
    pub fn uses(&self, rank: usize, number: usize) -> io::Result<()> {
        let bit = 1_u128.checked_shl(number as u32).unwrap_or(0);
        let first = &mut *self.first.borrow_mut();
        for (_, kind) in each(bit & !first.kinds) {
            first.read(kind, self)?;
        }
        first.kinds |= bit;
        let own = &mut *self.ranks[rank].borrow_mut();
        own.get_or_insert_default().kinds |= bit;
        self.is_used.set(true);
        Ok(())
    }

    /// Switches the process from the state of the rank `before` to that of `next`. Fails if the system rejects it.
    pub fn swap_in(&self, before: Option<usize>, next: usize) -> io::Result<()> {
        let Some(before) = before.filter(|_| self.is_used.get()) else {
            return Ok(());
        };
        let before = &mut *self.ranks[before].borrow_mut();
        let next = &*self.ranks[next].borrow();
        let kinds = |state: &Option<Box<RankState>>| state.as_ref().map_or(0, |state| state.kinds);
        let (changed, wanted) = (kinds(before), kinds(next));
        if changed | wanted == 0 {
            return Ok(());
        }
        let first = &*self.first.borrow();
        for (bit, kind) in each(changed | wanted) {
            let now = match before {
                Some(before) if changed & bit != 0 => {
                    before.read(kind, self)?;
                    before
                }
                _ => first,
            };
            let next = next.as_deref().filter(|_| wanted & bit != 0);
            next.unwrap_or(first).swap_in(kind, now)?;
        }
        Ok(())
    }

    fn directory(&self) -> io::Result<Rc<WorkingDirectory>> {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let here = c".".as_ptr();
        let mut status = mem::MaybeUninit::<libc::stat64>::zeroed();
        // SAFETY: a C string; the status is written to `status`, and zeros are valid.
        let (number, status) = unsafe {
            let number = check(libc::syscall(libc::SYS_openat, libc::AT_FDCWD, here, flags))?;
            let told = libc::fstat64(number as RawFd, status.as_mut_ptr());
            check(c_long::from(told))?;
            (number as RawFd, status.assume_init())
        };
        // SAFETY: it was opened here.
        let file = unsafe { OwnedFd::from_raw_fd(number) };
        let identity = (status.st_dev, status.st_ino);
        let known = &mut *self.directories.borrow_mut();
        if let Some(known) = known.iter().find(|known| known.identity == identity) {
            return Ok(Rc::clone(known));
        }
        // Removes directories that no rank uses any more.
        known.retain(|known| Rc::strong_count(known) > 1);
        let file = duplicate(file.as_raw_fd())?;
        let directory = Rc::new(WorkingDirectory { file, identity });
        known.push(Rc::clone(&directory));
        Ok(directory)
    }
}

impl RankState {
    fn read(&mut self, kind: StateKind, system: &SystemState) -> io::Result<()> {
        // SAFETY: system calls that write to variables of their types, of which zeros are valid values.
        unsafe {
            match kind {
                StateKind::Mask => {
                    let (how, none) = (libc::SIG_BLOCK, ptr::null::<u64>());
                    let mask = &raw mut self.mask;
                    check(libc::syscall(libc::SYS_rt_sigprocmask, how, none, mask, MASK_BYTES))?;
                }
                StateKind::SignalStack => {
                    let mut stack: libc::stack_t = mem::zeroed();
                    let none = ptr::null::<libc::stack_t>();
                    check(libc::syscall(libc::SYS_sigaltstack, none, &raw mut stack))?;
                    self.signal_stack = Some(stack);
                }
                StateKind::Umask => {
                    self.umask = libc::syscall(libc::SYS_umask, 0);
                    libc::syscall(libc::SYS_umask, self.umask);
                }
                StateKind::Directory => self.directory = Some(system.directory()?),
                StateKind::Streams => {
                    for (number, stream) in (0..).zip(&mut self.streams) {
                        *stream = match duplicate(number) {
                            Ok(file) => Some(Rc::new(file)),
                            Err(error) if error.raw_os_error() == Some(libc::EBADF) => None,
                            Err(error) => return Err(error),
                        };
                    }
                }
                StateKind::Limits => {
                    let mut limits: [libc::rlimit64; LIMITS] = mem::zeroed();
                    let none = ptr::null::<libc::rlimit64>();
                    for (number, limit) in (0..).zip(&mut limits) {
                        let limit = &raw mut *limit;
                        check(libc::syscall(libc::SYS_prlimit64, 0, number as c_int, none, limit))?;
                    }
                    self.limits = Some(limits);
                }
                StateKind::Locale => self.locale = Some(__uselocale(ptr::null_mut())),
                StateKind::Action(signal) => {
                    let mut action: libc::sigaction = mem::zeroed();
                    let told = __sigaction(signal as c_int, ptr::null(), &raw mut action);
                    check(c_long::from(told))?;
                    self.actions.insert(signal, action);
                }
            }
        }
        Ok(())
    }

    /// Sets the process's state of this kind, currently `now`, to this one.
    fn swap_in(&self, kind: StateKind, now: &RankState) -> io::Result<()> {
        // SAFETY: system calls that read from variables of their types, earlier values of the process.
        unsafe {
            match kind {
                StateKind::Mask if self.mask != now.mask => {
                    let (how, none) = (libc::SIG_SETMASK, ptr::null::<u64>());
                    let mask = &raw const self.mask;
                    check(libc::syscall(libc::SYS_rt_sigprocmask, how, mask, none, MASK_BYTES))?;
                }
                StateKind::SignalStack => {
                    if let Some(mut stack) = self.signal_stack {
                        stack.ss_flags &= !libc::SS_ONSTACK;
                        let none = ptr::null::<libc::stack_t>();
                        check(libc::syscall(libc::SYS_sigaltstack, &raw const stack, none))?;
                    }
                }
                StateKind::Umask if self.umask != now.umask => {
                    libc::syscall(libc::SYS_umask, self.umask);
                }
                StateKind::Directory => match (&self.directory, &now.directory) {
                    (Some(own), Some(now)) if own.identity != now.identity => {
                        check(libc::syscall(libc::SYS_fchdir, own.file.as_raw_fd()))?;
                    }
                    _ => {}
                },
                StateKind::Streams => {
                    for ((number, own), now) in (0..).zip(&self.streams).zip(&now.streams) {
                        let number: RawFd = number;
                        match own {
                            Some(own) if now.as_ref().is_some_and(|now| Rc::ptr_eq(own, now)) => {}
                            Some(own) => {
                                let own = own.as_raw_fd();
                                check(libc::syscall(libc::SYS_dup3, own, number, 0))?;
                            }
                            None if now.is_none() => {}
                            None => {
                                libc::syscall(libc::SYS_close, number);
                            }
                        }
                    }
                }
                StateKind::Limits => {
                    let none = ptr::null_mut::<libc::rlimit64>();
                    for (number, limit) in (0..).zip(self.limits.iter().flatten()) {
                        let limit = &raw const *limit;
                        check(libc::syscall(libc::SYS_prlimit64, 0, number as c_int, limit, none))?;
                    }
                }
                StateKind::Locale => {
                    if let Some(locale) = self.locale {
                        __uselocale(locale);
                    }
                }
                StateKind::Action(signal) => {
                    if let Some(action) = self.actions.get(&signal) {
                        let done = __sigaction(signal as c_int, action, ptr::null_mut());
                        check(c_long::from(done))?;
                    }
                }
                StateKind::Mask | StateKind::Umask => {}
            }
        }
        Ok(())
    }
}

/// Duplicates a descriptor to a number that programs do not use.
pub fn duplicate(file: RawFd) -> io::Result<OwnedFd> {
    let from = |least: RawFd| {
        // SAFETY: creates a descriptor without another owner.
        unsafe {
            let made = libc::syscall(libc::SYS_fcntl, file, libc::F_DUPFD_CLOEXEC, least);
            check(made).map(|number| OwnedFd::from_raw_fd(number as RawFd))
        }
    };
    from(FIRST_OWN).or_else(|error| match error.raw_os_error() {
        // The limit is below that number.
        Some(libc::EINVAL) => from(STREAMS as RawFd),
        _ => Err(error),
    })
}

fn check(result: c_long) -> io::Result<c_long> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
