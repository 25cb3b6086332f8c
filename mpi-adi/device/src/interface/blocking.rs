//! Entry of operations into the device, and the blocking loop.
#![forbid(unsafe_code)]

use super::data::{OutgoingMessage, RequestCompletion, TestResult};
use super::enter::EnterDevice;
use crate::adi::Adi;
use crate::envelope::{Context, MatchPattern};
use crate::ids::RequestId;
use crate::kernel::{CallInfo, Kernel};
use crate::request::PlainCompletion;

/// MPI_ANY_SOURCE in call records.
pub const ANY_SOURCE_NOTE: i32 = -2;
/// MPI_ANY_TAG in call records.
pub const ANY_TAG_NOTE: i32 = -1;

/// Hosts implement the fast path.
pub(super) const FAST_PATH: bool = cfg!(not(feature = "micro"));

/// Enters the device once.
#[inline]
pub(crate) fn with_device<E, R>(env: &E, mut work: impl FnMut(&mut Adi, &mut dyn Kernel) -> R) -> R
where
    E: EnterDevice + ?Sized,
{
    let mut result = None;
    env.enter(&mut |adi, kernel| result = Some(work(adi, kernel)));
    result.expect("Enter::enter runs its work")
}

/// Enters the device once, with work that consumes its captured values.
#[inline]
pub(crate) fn with_device_once<E, R>(env: &E, work: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R) -> R
where
    E: EnterDevice + ?Sized,
{
    let mut work = Some(work);
    let result = with_device(env, |adi, kernel| work.take().map(|work| work(adi, kernel)));
    result.expect("Enter::enter runs its work once")
}

/// Blocks until `attempt` returns a value, with a progress step between attempts. The hook of
/// [`Device::set_hook`](super::Device::set_hook) runs outside of the device.
// Only small code is inlined here: the loop is `drive_until_some`, and its step exists in one copy.
#[inline]
pub(crate) fn block_on<E, R>(
    env: &E,
    note: impl Fn(&Adi) -> CallInfo,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R
where
    E: EnterDevice + ?Sized,
{
    let mut result = None;
    loop {
        let mut hook = None;
        env.enter(&mut |adi, kernel| {
            result = attempt(adi, kernel);
            if result.is_some() {
                return;
            }
            let note = note(adi);
            (result, hook) = drive_until_some(adi, kernel, note, &mut attempt);
        });
        match result {
            Some(value) => return value,
            None => run_hook(hook),
        }
    }
}

/// An attempt without a result value.
type WaitCondition<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) -> bool + 'a;

/// Blocks until the condition is true. One copy serves all operations that are rare or wait long.
#[inline(never)]
pub(super) fn block_until<E>(env: &E, note: &dyn Fn(&Adi) -> CallInfo, is_true: &mut WaitCondition<'_>)
where
    E: EnterDevice + ?Sized,
{
    block_on(env, note, |adi, kernel| is_true(adi, kernel).then_some(()));
}

/// Blocks until `attempt` returns a value, through [`block_until`].
#[inline]
pub(super) fn block_until_some<E, R>(
    env: &E,
    note: &dyn Fn(&Adi) -> CallInfo,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R
where
    E: EnterDevice + ?Sized,
{
    let mut result = None;
    block_until(env, note, &mut |adi, kernel| {
        result = attempt(adi, kernel);
        result.is_some()
    });
    result.expect("the condition is true")
}

/// Performs one progress step within a call, and returns whether anything was done.
#[inline]
pub(super) fn poll(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    adi.preallocate_pages();
    kernel.poll(adi)
}

/// Performs one progress step, and sleeps when nothing moved. Returns the hook that must run outside of the device.
// One copy for all blocking calls.
#[inline(never)]
fn poll_or_sleep(adi: &mut Adi, kernel: &mut dyn Kernel) -> Option<fn()> {
    let has_moved = poll(adi, kernel);
    let hook = adi.ready_hook();
    if !has_moved && hook.is_none() {
        kernel.idle();
    }
    hook
}

/// Runs the hook for which an operation returned from the device without a result.
#[cold]
#[inline(never)]
fn run_hook(hook: Option<fn()>) {
    hook.expect("Enter::enter runs its work")();
}

/// Repeats a progress step and an attempt within a call until the attempt returns a value or a hook is ready.
#[inline]
fn drive_until_some<R>(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    note: CallInfo,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> (Option<R>, Option<fn()>) {
    kernel.record_call(Some(note));
    let (mut result, mut hook) = (None, None);
    while result.is_none() && hook.is_none() {
        hook = poll_or_sleep(adi, kernel);
        result = attempt(adi, kernel);
    }
    kernel.record_call(None);
    (result, hook)
}

/// Waits for a request within a call of `function`, and returns its message if it completes
/// [plainly](Adi::take_plain_completed). Returns `None` when the caller must continue on the slow path: the request completed
/// otherwise or does not exist, or a hook is ready. For hosts, in [`EnterDevice::fast_wait`]. Blocks until then.
pub fn finish(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    function: &'static str,
    id: RequestId,
) -> Option<PlainCompletion> {
    let conclude = |adi: &mut Adi| match adi.take_plain_completed(id) {
        None if !adi.is_done(id) => None,
        ended => Some(ended),
    };
    if let Some(ended) = conclude(adi) {
        return ended;
    }
    let note = info_of_request(adi, function, id);
    drive_until_some(adi, kernel, note, |adi, _| conclude(adi)).0.flatten()
}

/// Returns the call record of a `function` that waits for this request.
pub(super) fn info_of_request(adi: &Adi, function: &'static str, id: RequestId) -> CallInfo {
    match adi.requests().pattern(id) {
        Some(pattern) => info_of_pattern(function, &pattern),
        None => CallInfo::without_peer(function),
    }
}

/// Returns the call record of a `function` that receives such messages.
pub(super) fn info_of_pattern(function: &'static str, pattern: &MatchPattern) -> CallInfo {
    let source = pattern.source();
    CallInfo {
        function,
        peer: Some(source.map_or(ANY_SOURCE_NOTE, |rank| rank.index() as i32)),
        tag: info_of_tag(pattern.context(), pattern.tag().unwrap_or(ANY_TAG_NOTE)),
    }
}

/// Returns the call record of a `function` that sends this message.
pub(super) fn info_of_send(function: &'static str, outgoing: &OutgoingMessage) -> CallInfo {
    CallInfo {
        function,
        peer: Some(outgoing.to.dest.index() as i32),
        tag: info_of_tag(outgoing.to.context, outgoing.to.tag),
    }
}

/// Omits the tags of collectives, whose contexts are odd: they mean nothing to the program.
fn info_of_tag(context: Context, tag: i32) -> Option<i32> {
    context.is_multiple_of(2).then_some(tag)
}

/// Frees the request if it has completed, and returns its state.
pub(super) fn test(adi: &mut Adi, id: RequestId) -> TestResult {
    if FAST_PATH && let Some(whole) = adi.take_plain_completed(id) {
        return TestResult::Complete(RequestCompletion::Plain(whole));
    }
    match adi.take_completed(id) {
        None => TestResult::Unknown,
        Some(None) => TestResult::Pending,
        Some(Some(concluded)) => TestResult::Complete(RequestCompletion::Other(concluded)),
    }
}

/// Runs `start` once, and then one progress step if the device has packets to send, so that a message is transmitted
/// immediately if the network has free injection slots. Does not block.
pub(super) fn start_and_poll<E, R>(
    env: &E,
    note: impl Fn() -> CallInfo,
    mut start: impl FnMut(&mut Adi, &mut dyn Kernel) -> R,
) -> R
where
    E: EnterDevice + ?Sized,
{
    with_device(env, |adi, kernel| {
        let result = start(adi, kernel);
        if adi.has_pending_tx() {
            kernel.record_call(Some(note()));
            poll(adi, kernel);
            kernel.record_call(None);
        }
        result
    })
}

/// Performs one progress step if `function` is specified, `work` once, and then a ready hook. Does not block.
pub(super) fn poll_and<E, R>(
    env: &E,
    function: Option<&'static str>,
    mut work: impl FnMut(&mut Adi, &mut dyn Kernel) -> R,
) -> R
where
    E: EnterDevice + ?Sized,
{
    let (result, hook) = with_device(env, |adi, kernel| {
        let Some(function) = function else {
            return (work(adi, kernel), None);
        };
        kernel.record_call(Some(CallInfo::without_peer(function)));
        poll(adi, kernel);
        let hook = adi.ready_hook();
        let result = work(adi, kernel);
        kernel.record_call(None);
        (result, hook)
    });
    if let Some(hook) = hook {
        hook();
    }
    result
}
