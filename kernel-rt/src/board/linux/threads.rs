//! Lock of the MPI library, for a program whose threads call MPI at the same time (MPI_THREAD_MULTIPLE; MPI-3.1 section
//! 12.4).
//!
//! Each function of such a program takes the lock first and releases it at its end (`midplane_api::ThreadEntries`, linked
//! only with programs that may request the level). A wait releases it between its steps:
//!
//! ```text
//!   device      a step moves nothing -> the platform's sleep      only notes that the thread is to sleep
//!               the progress hook is ready -> leaves the device
//!   pause       the first thread   arms the links, releases the lock, sleeps on the node's word
//!               the others         release the lock, sleep on GENERATION
//!   release     of a call that changed something: wakes all of them, and each repeats its attempt
//!               of one that changed nothing: arms the links again for the first thread
//! ```
//! The first thread receives the neighbours' wake-ups. A job of one process has none. If it returns to the program, its release wakes the others, and one
//! of them takes its place. So a blocked thread delays no other one, and every message completes the call that waits for it.
//!
//! Callbacks of the program run without the lock ([`ThreadSupport::suspend`]): a thread in one may wait for another thread
//! that calls MPI. A callback that calls MPI takes the lock as any thread does.
//!
//! A matched probe that has found a message waits for one reply of its sender with the lock, because nothing may interfere
//! meanwhile (`midplane_device::recv`). A program that requests less does not take the lock, and its waits sleep in the
//! device.
//!
//! # Order
//! The lock is a ticket lock, because a thread that repeats MPI_Test would otherwise keep the others out. It is outside of
//! the node's lock ([`node_lock`](super::node_lock)).

use core::ffi::c_int;
use std::hint;
use std::ptr::fn_addr_eq;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use midplane_device::ProgressHook;
use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
use midplane_device::request::{PlainCompletion, RequestId, RequestPool};
use midplane_device::{Adi, EventCount};
use midplane_objects::Env;
use midplane_objects::installed::{self, ThreadSupport};

use super::entry::{LinuxEnv, in_call};
use super::futex::{futex_wait, futex_wake};
use super::node_lock::with_node;
use super::node_sleep;
use super::platform::{self, yield_processor};
use super::process;
use super::thread_state::{
    ASLEEP, IS_ENABLED, IS_TO_SLEEP, IS_TO_YIELD, NO_WAITER, OWNER, SLEEP_LIMIT_NS, WAITER, WOKEN,
};
use crate::dev::ring::SleepFlag;

/// The node has its own processor: the first thread polls its word before it sleeps, without the lock.
static POLLS: AtomicBool = AtomicBool::new(false);
/// The job has other processes, which send wake-ups.
static HAS_NEIGHBOURS: AtomicBool = AtomicBool::new(false);

/// Tickets given out.
static TICKETS: AtomicU32 = AtomicU32::new(0);
/// Ticket of the holder; if equal to [`TICKETS`], the lock is free.
static SERVING: AtomicU32 = AtomicU32::new(0);
/// Polls of a thread that waits for the lock, before it sleeps.
const LOOKS: u32 = 200;

// The holder of the lock reads and writes the following words; `WAITER` is also read by the progress thread, and
// `GENERATION` by sleeping threads.

/// Nested calls of the holder.
static DEPTH: AtomicU32 = AtomicU32::new(0);
/// The holder may have changed a state that another thread waits for.
static HAS_CHANGED: AtomicBool = AtomicBool::new(false);
/// The holder's matched probe keeps the lock while it sleeps.
static KEEPS_LOCK: AtomicBool = AtomicBool::new(false);
/// Number of threads that sleep on [`GENERATION`].
static OTHER_WAITERS: AtomicU32 = AtomicU32::new(0);
/// Number of wake-ups of these threads.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The hook that the language binding has installed.
static BINDING_HOOK: Mutex<Option<ProgressHook>> = Mutex::new(None);
/// It is ready, as of the last check.
static IS_BINDING_READY: AtomicBool = AtomicBool::new(false);

/// The functions of MPI in this program can take the lock.
static HAS_ENTRIES: AtomicBool = AtomicBool::new(false);

/// Records that the functions of MPI in this program can take the lock. Called before [`device`].
pub fn note_entries() {
    HAS_ENTRIES.store(true, Ordering::Relaxed);
}

/// Returns the process's device for the language bindings. Offers the lock to these if the job `has_one_program`, because
/// the processes of different programs would not agree on the use of the network barrier (`midplane_objects::coll`).
pub fn device(has_one_program: bool) -> &'static (dyn Env + Sync) {
    if !(has_one_program && HAS_ENTRIES.load(Ordering::Relaxed)) {
        return &LinuxEnv;
    }
    installed::support_threads(ThreadSupport {
        enable,
        suspend,
        resume,
        thread: thread_number,
    });
    &ThreadedEnv
}

fn enable() {
    let polls = with_node(|node| node.platform().watches.replace(false));
    POLLS.store(polls, Ordering::Relaxed);
    let has_neighbours = process().is_some_and(|process| process.who.shape.nodes() > 1);
    HAS_NEIGHBOURS.store(has_neighbours, Ordering::Relaxed);
    IS_ENABLED.store(true, Ordering::Release);
}

/// Returns the number of the calling thread: the address of a variable of it.
fn thread_number() -> usize {
    std::thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

/// Starts a call of a program that has requested the lock: takes it. `changes`: the function can change a state that
/// another thread waits for, even without progress. Blocks until the lock is free.
#[unsafe(no_mangle)]
extern "C" fn midplane_thread_enter(changes: c_int) {
    let own = thread_number();
    if OWNER.load(Ordering::Relaxed) == own {
        DEPTH.fetch_add(1, Ordering::Relaxed);
    } else {
        lock(own, 1);
    }
    HAS_CHANGED.fetch_or(changes != 0, Ordering::Relaxed);
}

/// Ends a call for which [`midplane_thread_enter`] has taken the lock.
#[unsafe(no_mangle)]
extern "C" fn midplane_thread_leave() {
    if DEPTH.fetch_sub(1, Ordering::Relaxed) == 1 {
        let is_to_yield = IS_TO_YIELD.swap(false, Ordering::Relaxed);
        release();
        if is_to_yield {
            yield_processor();
        }
    }
}

fn suspend() -> u32 {
    if OWNER.load(Ordering::Relaxed) != thread_number() {
        return 0;
    }
    let depth = DEPTH.load(Ordering::Relaxed);
    HAS_CHANGED.store(true, Ordering::Relaxed);
    release();
    depth
}

fn resume(depth: u32) {
    if depth > 0 {
        lock(thread_number(), depth);
        // The callback may have changed anything of the program's.
        HAS_CHANGED.store(true, Ordering::Relaxed);
    }
}

fn lock(own: usize, depth: u32) {
    let ticket = TICKETS.fetch_add(1, Ordering::SeqCst);
    let mut looks = 0..LOOKS;
    loop {
        let serving = SERVING.load(Ordering::Acquire);
        if serving == ticket {
            break;
        }
        if looks.next().is_some() {
            hint::spin_loop();
        } else {
            futex_wait(&SERVING, serving, None);
        }
    }
    OWNER.store(own, Ordering::Relaxed);
    DEPTH.store(depth, Ordering::Relaxed);
}

fn unlock() {
    OWNER.store(0, Ordering::Relaxed);
    let next = SERVING.load(Ordering::Relaxed).wrapping_add(1);
    // An exchange, so that either a new thread sees it or its ticket is seen here.
    SERVING.swap(next, Ordering::SeqCst);
    if TICKETS.load(Ordering::SeqCst) != next {
        futex_wake(&SERVING);
    }
}

/// Releases the lock, and wakes the threads that may continue.
fn release() {
    let has_changed = HAS_CHANGED.swap(false, Ordering::Relaxed);
    wake_waiter(has_changed);
    wake_others(has_changed);
    unlock();
}

/// Wakes the thread on the node's word if there may be work for it, or else makes neighbours wake it again.
fn wake_waiter(has_changed: bool) {
    if WAITER.load(Ordering::Relaxed) != ASLEEP {
        return;
    }
    let word = with_node(|node| {
        let sleeps_on = !has_changed && node.watch_links();
        (!sleeps_on).then(|| node.platform().word)
    });
    if let Some(word) = word {
        WAITER.store(WOKEN, Ordering::Release);
        // The thread is not asleep yet, or asleep: it sees the word, or is woken.
        word.disarm();
        node_sleep::wake_node(word);
    }
}

/// Wakes the threads on [`GENERATION`] if a state has changed, or if none of them receives the neighbours' wake-ups.
fn wake_others(has_changed: bool) {
    let needs_waiter = HAS_NEIGHBOURS.load(Ordering::Relaxed) && WAITER.load(Ordering::Relaxed) == NO_WAITER;
    if OTHER_WAITERS.load(Ordering::Relaxed) > 0 && (has_changed || needs_waiter) {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        futex_wake(&GENERATION);
    }
}

/// Sleeps within a wait until a neighbour or another thread may have changed something. Releases the lock meanwhile.
fn pause() {
    let (own, depth) = (OWNER.load(Ordering::Relaxed), DEPTH.load(Ordering::Relaxed));
    let limit = Some(SLEEP_LIMIT_NS.load(Ordering::Relaxed));
    let has_changed = HAS_CHANGED.swap(false, Ordering::Relaxed);
    let is_alone = !HAS_NEIGHBOURS.load(Ordering::Relaxed);
    if is_alone || WAITER.load(Ordering::Relaxed) != NO_WAITER {
        OTHER_WAITERS.fetch_add(1, Ordering::Relaxed);
        wake_waiter(has_changed);
        wake_others(has_changed);
        let seen = GENERATION.load(Ordering::Relaxed);
        unlock();
        futex_wait(&GENERATION, seen, limit);
        lock(own, depth);
        OTHER_WAITERS.fetch_sub(1, Ordering::Relaxed);
        return;
    }
    let word = with_node(|node| {
        let is_armed = node.watch_links();
        if is_armed {
            WAITER.store(ASLEEP, Ordering::Release);
        }
        is_armed.then(|| node.platform().word)
    });
    if KEEPS_LOCK.load(Ordering::Relaxed) {
        if let Some(word) = word {
            node_sleep::wait_for_ring(word, limit);
        }
    } else {
        wake_others(has_changed);
        unlock();
        if let Some(word) = word {
            sleep(word, limit);
        }
        lock(own, depth);
    }
    if word.is_some() {
        WAITER.store(NO_WAITER, Ordering::Release);
        with_node(|node| node.acknowledge());
    }
}

/// Sleeps until a neighbour or another thread wakes the first thread, after polls of its word.
fn sleep(word: &SleepFlag, limit: Option<u64>) {
    let mut looks = 0..platform::LOOKS;
    let polls = POLLS.load(Ordering::Relaxed);
    let goes_on = || {
        hint::spin_loop();
        looks.next().is_some() && WAITER.load(Ordering::Relaxed) == ASLEEP
    };
    if !(polls && word.spin(goes_on)) {
        node_sleep::wait_for_ring(word, limit);
    }
}

/// State of the device that threads may wait for.
fn observed_state(adi: &Adi) -> (EventCount, u32, [u32; 2]) {
    let queues = adi.matching();
    (adi.events(), adi.requests().live(), [queues.posted, queues.unexpected])
}

/// Adds the pause of a wait to the hook that the language binding has installed since the last call.
fn chain_hook(adi: &mut Adi) {
    let hook = adi.hook();
    if hook.is_some_and(|hook| fn_addr_eq(hook.run, run_hook as fn())) {
        return;
    }
    let run_in_interrupt = hook.and_then(|hook| hook.run_in_interrupt);
    let Ok(mut binding_hook) = BINDING_HOOK.lock() else {
        return;
    };
    *binding_hook = hook.cloned();
    adi.set_hook(ProgressHook {
        is_ready: is_hook_ready,
        run: run_hook,
        run_in_interrupt,
    });
}

fn binding_hook() -> Option<ProgressHook> {
    BINDING_HOOK.lock().ok()?.clone()
}

fn is_hook_ready(requests: &RequestPool, events: EventCount) -> bool {
    let is_binding_ready = binding_hook().is_some_and(|hook| (hook.is_ready)(requests, events));
    IS_BINDING_READY.store(is_binding_ready, Ordering::Relaxed);
    is_binding_ready || IS_TO_SLEEP.load(Ordering::Relaxed) || is_awaited()
}

/// Checks whether another thread waits for the lock, and the holder may release it between two steps. A wait whose steps
/// always move something would otherwise keep the others out.
fn is_awaited() -> bool {
    let next = SERVING.load(Ordering::Relaxed).wrapping_add(1);
    TICKETS.load(Ordering::Relaxed) != next && !KEEPS_LOCK.load(Ordering::Relaxed)
}

fn run_hook() {
    let is_to_sleep = IS_TO_SLEEP.swap(false, Ordering::Relaxed);
    match binding_hook().filter(|_| IS_BINDING_READY.swap(false, Ordering::Relaxed)) {
        Some(hook) => {
            HAS_CHANGED.store(true, Ordering::Relaxed);
            (hook.run)();
        }
        None if is_to_sleep => pause(),
        None if is_awaited() => {
            let (own, depth) = (OWNER.load(Ordering::Relaxed), DEPTH.load(Ordering::Relaxed));
            release();
            lock(own, depth);
        }
        None => {}
    }
}

/// The device of a program that may request MPI_THREAD_MULTIPLE. It is that of other programs until the request.
struct ThreadedEnv;

impl ThreadedEnv {
    fn is_enabled(&self) -> bool {
        IS_ENABLED.load(Ordering::Relaxed)
    }
}

impl Env for ThreadedEnv {
    fn process(&self) -> &midplane_objects::Process {
        LinuxEnv.process()
    }
}

impl EnterDevice for ThreadedEnv {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        if !self.is_enabled() {
            return LinuxEnv.enter(work);
        }
        IS_TO_SLEEP.store(false, Ordering::Relaxed);
        in_call(|node| {
            node.enter(&mut |adi, kernel| {
                // Also before the work: the first call may wait, and the work may install a hook.
                chain_hook(adi);
                let before = observed_state(adi);
                work(adi, kernel);
                chain_hook(adi);
                HAS_CHANGED.fetch_or(observed_state(adi) != before, Ordering::Relaxed);
                KEEPS_LOCK.store(adi.is_fetching(), Ordering::Relaxed);
            });
        });
    }

    fn now_ns(&self) -> u64 {
        LinuxEnv.now_ns()
    }

    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        LinuxEnv.fast_send(outgoing)
    }

    fn fast_receive(&self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        // It waits inside the device.
        if self.is_enabled() {
            FastRecv::Unavailable
        } else {
            LinuxEnv.fast_receive(function, incoming)
        }
    }

    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        LinuxEnv.fast_start_receive(incoming)
    }

    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        // See `fast_receive`.
        if self.is_enabled() {
            None
        } else {
            LinuxEnv.fast_wait(function, id)
        }
    }
}
