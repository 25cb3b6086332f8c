//! Blocking loops over device operations, for conditions that only the MPI layer can check.
#![forbid(unsafe_code)]

use crate::process::Env;
use midplane_device::interface::{CompletionSet, Device};
use midplane_device::kernel::CallInfo;
use midplane_device::request::RequestId;

/// Requests checked between two progress steps. An array can be as long as the program's memory, and traffic must not
/// wait until all of it is checked.
pub const SLICE_REQUESTS: usize = 256;

/// Blocks until `attempt` returns a value, and runs the progress engine between attempts.
pub fn block_on<R>(env: &dyn Env, note: CallInfo, mut attempt: impl FnMut() -> Option<R>) -> R {
    let mut since = None;
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        since = Some(env.advance(note, since));
    }
}

/// Blocks until the condition is true, and runs the progress engine between checks.
pub fn block_until(env: &dyn Env, note: CallInfo, mut is_true: impl FnMut() -> bool) {
    block_on(env, note, || is_true().then_some(()));
}

/// Runs progress steps until one changes nothing. Does not block.
pub fn drain(env: &dyn Env, note: CallInfo) {
    let mut last = env.advance(note, None);
    loop {
        let now = env.advance(note, None);
        if now == last {
            return;
        }
        last = now;
    }
}

/// Checks whether all these requests are finished; unknown requests count as finished. Changes nothing and does not
/// block.
pub fn are_finished(env: &dyn Env, mut ids: impl Iterator<Item = RequestId>) -> bool {
    loop {
        let group: heapless::Vec<RequestId, { CompletionSet::MAX }> = ids.by_ref().take(CompletionSet::MAX).collect();
        if group.is_empty() {
            return true;
        }
        let CompletionSet { finished, unknown } = env.check_requests(&group);
        if (finished | unknown).count_ones() as usize != group.len() {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeEnv;
    use midplane_device::ProgressHook;
    use midplane_device::envelope::{MatchPattern, Rank};
    use midplane_device::interface::{IncomingMessage, RequestMemory};
    use midplane_device::memory::Span;

    const NOTE: CallInfo = CallInfo::without_peer("a test");

    #[test]
    fn a_call_sleeps_only_after_a_step_that_changed_nothing() {
        let env = FakeEnv::new();
        // The first step changes something, which may satisfy the condition of the call.
        env.moves(1);
        let mut attempts = 0;
        block_until(&env, NOTE, || {
            attempts += 1;
            attempts == 4
        });
        // The first step of a call never sleeps, because an event may have preceded it. A step follows each sleep.
        assert_eq!((env.polls(), env.sleeps()), (5, 2));
    }

    #[test]
    fn steps_are_repeated_until_one_changes_nothing() {
        let env = FakeEnv::new();
        drain(&env, NOTE);
        assert_eq!((env.polls(), env.sleeps()), (2, 0));
    }

    #[test]
    fn any_number_of_requests_is_looked_at_in_groups() {
        let env = FakeEnv::new();
        let incoming = IncomingMessage {
            pattern: MatchPattern::new(Some(Rank::new(0)), Some(0), 0),
            span: Span::EMPTY,
        };
        let id = env.start_receive("a test", &incoming, RequestMemory::Shared);
        let id = id.expect("room for a request");
        let unknown = RequestId(0x3fff);
        for places in [0, 1, 63, 64, 65, 130] {
            let all = || (0..places).map(|_| unknown);
            assert!(are_finished(&env, all()), "{places} unknown ones");
            assert!(!are_finished(&env, all().chain([id])), "{places} before it");
            assert!(!are_finished(&env, [id].into_iter().chain(all())));
        }
    }

    thread_local! {
        static ENV: FakeEnv = FakeEnv::new();
        static READY: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        static RUNS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// A hook that enters the device itself.
    fn hook() -> ProgressHook {
        ProgressHook {
            is_ready: |_, _| READY.get(),
            run: || {
                READY.set(false);
                RUNS.set(RUNS.get() + 1);
                ENV.with(|env| env.notify());
            },
            run_in_interrupt: None,
        }
    }

    #[test]
    fn calls_leave_the_device_for_a_hook_that_is_ready_and_come_back() {
        ENV.with(|env| {
            env.set_hook(hook());
            let wanted = |count: usize| move || RUNS.get() >= count;
            READY.set(true);
            block_until(env, NOTE, wanted(1));
            READY.set(true);
            env.advance(NOTE, None);
            assert_eq!((RUNS.get(), env.sleeps()), (2, 0));
            // A blocking device operation also exits the device to run the hook, and this hook completes the request.
            let incoming = IncomingMessage {
                pattern: MatchPattern::new(Some(Rank::new(0)), Some(0), 0),
                span: Span::EMPTY,
            };
            let id = env.start_receive("a test", &incoming, RequestMemory::Shared);
            let id = id.expect("room for a request");
            READY.set(true);
            env.cancel("a test", id, midplane_device::interface::CancelPhase::Finish);
            READY.set(true);
            let tested = env.test(Some("a test"), id);
            assert_eq!(tested, midplane_device::interface::TestResult::Unknown);
            assert_eq!(RUNS.get(), 3);
        });
    }
}
