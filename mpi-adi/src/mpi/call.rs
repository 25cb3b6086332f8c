//! Blocking over the nonblocking device: what every binding's calls are made of.
//!
//! A call runs inside [`Env::with`], link interrupts held off, and drives the device itself: try, poll
//! while anything moves, sleep when nothing does. Between calls the carrier drives the device (on a node
//! from the link interrupt), so that traffic goes on while the program computes.
//!
//! What goes on beside calls ([`Beside`](crate::device::Beside)) may run functions of the program's own, which
//! call MPI: a call that waits leaves the device for it, and comes back.
//!
//! What a program gives in an array can be as long as its memory. A call works through it in slices, with
//! progress between two of them, so that traffic never waits for more than [`SLICE_REQUESTS`] requests or
//! [`SLICE_BYTES`] bytes.
#![forbid(unsafe_code)]

use crate::Adi;
use crate::device::envelope::Pattern;
use crate::device::kernel::{CallNote, Kernel};
use crate::device::memory::Span;
use crate::device::request::{RequestId, Whole};
use crate::mpi::process::Env;

/// MPI_ANY_SOURCE and MPI_ANY_TAG as call notes show them.
pub(crate) const ANY_SOURCE_NOTE: i32 = -2;
pub(crate) const ANY_TAG_NOTE: i32 = -1;

/// Requests that a call looks at between two steps of progress.
pub const SLICE_REQUESTS: usize = 256;
/// Bytes of the program's memory that a call copies between two steps of progress.
pub const SLICE_BYTES: usize = 16 << 10;

/// Runs `attempt` until it gives a value, with progress between attempts. Blocks for as long as it takes.
pub fn block_on<R>(
    env: &dyn Env,
    note: CallNote,
    attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R {
    wait_until(env, |_| note, attempt)
}

/// Tells whether it is so.
type IsSo<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) -> bool + 'a;

/// As [`block_on`] of what is so or not, in one copy for all calls: for those that are rare, or wait long.
#[inline(never)]
pub fn block_until(env: &dyn Env, note: CallNote, is_so: &mut IsSo<'_>) {
    block_on(env, note, |adi, kernel| is_so(adi, kernel).then_some(()))
}

/// One step of progress within a call; true when anything was done.
fn step(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    adi.fill_stock();
    kernel.poll(adi)
}

/// One step of progress, and a sleep when nothing moved. What is to go on beside the call, outside of the device.
// One copy for all calls that wait.
#[inline(never)]
fn step_or_sleep(adi: &mut Adi, kernel: &mut dyn Kernel) -> Option<fn()> {
    let moved = step(adi, kernel);
    let beside = adi.ready_beside();
    if !moved && beside.is_none() {
        kernel.idle();
    }
    beside
}

/// What a call does that has left the device without its result.
#[cold]
#[inline(never)]
fn leave_for(beside: Option<fn()>) {
    beside.expect("Env::with runs its function")();
}

/// As [`block_on`], with a note that is made when the call has to wait.
pub fn wait_until<R>(
    env: &dyn Env,
    note: impl Fn(&Adi) -> CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R {
    let mut result = None;
    loop {
        let mut beside = None;
        env.with(&mut |adi, kernel| {
            result = attempt(adi, kernel);
            if result.is_some() {
                return;
            }
            let note = note(adi);
            (result, beside) = drive(adi, kernel, note, &mut attempt);
        });
        match result {
            Some(value) => return value,
            None => leave_for(beside),
        }
    }
}

/// Steps within a call, each followed by an attempt, until one gives a value, or something is ready beside the call.
#[inline]
fn drive<R>(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    note: CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> (Option<R>, Option<fn()>) {
    kernel.note(Some(note));
    let (mut result, mut beside) = (None, None);
    while result.is_none() && beside.is_none() {
        beside = step_or_sleep(adi, kernel);
        result = attempt(adi, kernel);
    }
    kernel.note(None);
    (result, beside)
}

/// Waits within a call of `function` for a request: its message, if it finishes with a [whole](Adi::conclude_whole) one.
/// `None`: the call is to go on by itself, since the request ends otherwise, or there is none, or something is ready beside
/// the call. For carriers, which have the device already. Blocks for as long as it takes.
pub fn finish(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    function: &'static str,
    id: RequestId,
) -> Option<Whole> {
    let conclude = |adi: &mut Adi| match adi.conclude_whole(id) {
        None if !adi.is_done(id) => None,
        over => Some(over),
    };
    if let Some(over) = conclude(adi) {
        return over;
    }
    let note = note_of_request(adi, function, id);
    drive(adi, kernel, note, |adi, _| conclude(adi)).0.flatten()
}

/// The note of a call of `function` that waits for this request, whose peer is told by its number in the job.
pub(crate) fn note_of_request(adi: &Adi, function: &'static str, id: RequestId) -> CallNote {
    match adi.requests().pattern(id) {
        Some(pattern) => note_of_pattern(function, pattern),
        None => CallNote::of(function),
    }
}

/// The note of a call of `function` for such messages.
pub(crate) fn note_of_pattern(function: &'static str, pattern: Pattern) -> CallNote {
    let source = pattern.source();
    CallNote {
        function,
        peer: Some(source.map_or(ANY_SOURCE_NOTE, |rank| rank.index() as i32)),
        tag: Some(pattern.tag().unwrap_or(ANY_TAG_NOTE)),
    }
}

/// Runs `start` once, and then one step of progress if the device has something to send, so that what was started
/// leaves at once where it can. Does not block.
pub fn immediate<R>(
    env: &dyn Env,
    note: impl Fn() -> CallNote,
    start: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R,
) -> R {
    let mut start = Some(start);
    let mut result = None;
    env.with(&mut |adi, kernel| {
        if let Some(start) = start.take() {
            result = Some(start(adi, kernel));
            if adi.has_to_send() {
                kernel.note(Some(note()));
                step(adi, kernel);
                kernel.note(None);
            }
        }
    });
    result.expect("Env::with runs its function")
}

/// One step of progress, then `look`, once; then what is ready beside the call, which a later look may find to be done.
/// Does not block.
pub fn look<R>(
    env: &dyn Env,
    note: CallNote,
    look: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R,
) -> R {
    let mut look = Some(look);
    let mut result = None;
    let mut beside = None;
    env.with(&mut |adi, kernel| {
        if let Some(look) = look.take() {
            kernel.note(Some(note));
            step(adi, kernel);
            beside = adi.ready_beside();
            result = Some(look(adi, kernel));
            kernel.note(None);
        }
    });
    if let Some(go_on) = beside {
        go_on();
    }
    result.expect("Env::with runs its function")
}

/// What a call does with a program's array: slices of it, in order, and what to do at its end.
pub trait Pass<T, R> {
    /// Looks at the slice that begins at place `first`; a value ends the call.
    fn visit(&mut self, adi: &mut Adi, first: usize, slice: &mut [T]) -> Option<R>;

    /// The whole array has been looked at; a value ends the call.
    fn end(&mut self) -> Option<R> {
        None
    }
}

/// Goes once through a program's array, each slice after a step of progress. `None`: the pass had no value
/// to end with. Does not block.
pub fn look_through<T, R>(
    env: &dyn Env,
    note: CallNote,
    items: &mut [T],
    pass: &mut dyn Pass<T, R>,
) -> Option<R> {
    if items.is_empty() {
        look(env, note, |_, _| ());
    }
    for (i, slice) in items.chunks_mut(SLICE_REQUESTS).enumerate() {
        let found = look(env, note, |adi, _| {
            pass.visit(adi, i * SLICE_REQUESTS, slice)
        });
        if found.is_some() {
            return found;
        }
    }
    pass.end()
}

/// Goes through a program's array again and again until `pass` gives a value, with progress between slices
/// and between passes. Blocks for as long as it takes.
pub fn block_on_array<T, R>(
    env: &dyn Env,
    note: CallNote,
    items: &mut [T],
    pass: &mut dyn Pass<T, R>,
) -> R {
    let mut result = None;
    loop {
        let mut beside = None;
        // One stay with the device: what an interrupt completed behind the pass would not end the sleep.
        env.with(&mut |adi, kernel| {
            kernel.note(Some(note));
            while result.is_none() && beside.is_none() {
                let mut moved = false;
                for (i, slice) in items.chunks_mut(SLICE_REQUESTS).enumerate() {
                    moved |= i > 0 && step(adi, kernel);
                    result = pass.visit(adi, i * SLICE_REQUESTS, slice);
                    if result.is_some() {
                        break;
                    }
                }
                result = result.take().or_else(|| pass.end());
                if result.is_some() {
                    break;
                }
                moved |= step(adi, kernel);
                beside = adi.ready_beside();
                if !moved && beside.is_none() {
                    kernel.idle();
                }
            }
            kernel.note(None);
        });
        match result {
            Some(value) => return value,
            None => leave_for(beside),
        }
    }
}

/// Copies the beginning of the program's buffer, slice by slice. Does not block.
pub fn read(env: &dyn Env, span: Span, out: &mut [u8]) {
    for (i, slice) in out.chunks_mut(SLICE_BYTES).enumerate() {
        env.with(&mut |_, kernel| kernel.memory().read(span, i * SLICE_BYTES, slice));
    }
}

/// Copies to the beginning of the program's buffer, slice by slice. Does not block.
pub fn write(env: &dyn Env, span: Span, bytes: &[u8]) {
    for (i, slice) in bytes.chunks(SLICE_BYTES).enumerate() {
        env.with(&mut |_, kernel| kernel.memory().write(span, i * SLICE_BYTES, slice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::fake::FakeEnv;

    const REQUESTS: usize = 100_000;
    const NOTE: CallNote = CallNote::of("a test");

    /// Counts what it is shown, in passes that end without a value until `passes` are over.
    struct Count<'a> {
        env: &'a FakeEnv,
        seen: usize,
        passes: usize,
    }

    impl Pass<u32, usize> for Count<'_> {
        fn visit(&mut self, _: &mut Adi, first: usize, slice: &mut [u32]) -> Option<usize> {
            assert_eq!(slice[0] as usize, first);
            self.env.worked(slice.len());
            self.seen += slice.len();
            None
        }
        fn end(&mut self) -> Option<usize> {
            self.passes -= 1;
            (self.passes == 0).then_some(self.seen)
        }
    }

    fn items() -> Vec<u32> {
        (0..REQUESTS as u32).collect()
    }

    #[test]
    fn traffic_waits_for_no_more_than_a_slice_of_requests() {
        let env = FakeEnv::new();
        let (mut items, passes) = (items(), 3);
        let mut count = Count {
            env: &env,
            seen: 0,
            passes,
        };
        let seen = block_on_array(&env, NOTE, &mut items, &mut count);
        assert_eq!(
            (seen, env.longest_run()),
            (passes * REQUESTS, SLICE_REQUESTS)
        );

        let env = FakeEnv::new();
        let mut count = Count {
            env: &env,
            seen: 0,
            passes: 1,
        };
        let seen = look_through(&env, NOTE, &mut items, &mut count);
        assert_eq!((seen, env.longest_run()), (Some(REQUESTS), SLICE_REQUESTS));
        assert_eq!(env.longest_stay(), SLICE_REQUESTS);
    }

    #[test]
    fn a_call_sleeps_only_after_a_pass_during_which_nothing_moved() {
        let env = FakeEnv::new();
        // The first poll, behind the first slice, finds something to do: it may have been for that slice.
        env.moves(1);
        let mut count = Count {
            env: &env,
            seen: 0,
            passes: 3,
        };
        block_on_array(&env, NOTE, &mut items(), &mut count);
        assert_eq!(env.sleeps(), 1);
    }

    thread_local! {
        static ENV: FakeEnv = FakeEnv::new();
        static READY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        static WENT_ON: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// Something beside calls, which enters the device itself when it goes on.
    fn beside() -> crate::device::Beside {
        crate::device::Beside {
            is_ready: |_| READY.get(),
            go_on: || {
                READY.set(false);
                WENT_ON.set(WENT_ON.get() + 1);
                ENV.with(|env| env.with(&mut |_, _| ()));
            },
            meanwhile: None,
        }
    }

    #[test]
    fn calls_leave_the_device_for_what_is_ready_beside_them_and_come_back() {
        ENV.with(|env| {
            env.with(&mut |adi, _| adi.set_beside(beside()));
            let wanted = |count: usize| move || (WENT_ON.get() >= count).then_some(count);
            READY.set(true);
            let first = wanted(1);
            assert_eq!(block_on(env, NOTE, |_, _| first()), 1);
            READY.set(true);
            let second = wanted(2);
            assert_eq!(wait_until(env, |_| NOTE, |_, _| second()), 2);
            READY.set(true);
            assert_eq!(look(env, NOTE, |_, _| WENT_ON.get()), 2);
            assert_eq!((WENT_ON.get(), env.sleeps()), (3, 0));

            struct Until(usize);
            impl Pass<u32, usize> for Until {
                fn visit(&mut self, _: &mut Adi, _: usize, _: &mut [u32]) -> Option<usize> {
                    (WENT_ON.get() >= self.0).then_some(self.0)
                }
            }
            READY.set(true);
            assert_eq!(block_on_array(env, NOTE, &mut [1, 2], &mut Until(4)), 4);
            assert_eq!((WENT_ON.get(), env.sleeps()), (4, 0));
        });
    }
}
