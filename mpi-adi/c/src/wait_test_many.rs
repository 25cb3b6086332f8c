//! Waiting for and testing arrays of requests (section 3.7.5).
//!
//! An array of requests can be as long as the program's memory. These calls check it in groups of
//! [`CompletionSet::MAX`], with one device call per group and a progress step per [`SLICE_REQUESTS`]. A complete
//! request remains complete until its call frees it, so the result of one group is still valid when the last has been
//! checked.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

use core::ffi::c_int;

use super::args;
use super::binding::env;
use super::comm_objects::{self, ErrorTarget, release_error_target};
use super::completion::{end_one, wait_one};
use super::error_dispatch::{end, end_under};
use super::fast_path;
use super::requests::{
    CompletedRequest, CompletionData, RequestKind, SEND_COMPLETE, finish_if_pending, named, try_complete, whole_status,
    with_status,
};
use super::types::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_SUCCESS, MPI_UNDEFINED};
use super::types::{Handle, MPI_Status};
use midplane_device::interface::{CompletionSet, Device};
use midplane_device::kernel::CallInfo;
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_objects::call::{SLICE_REQUESTS, block_on};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::process::Env;

/// Result of a call that completes several requests.
#[derive(Default)]
struct ManyOutcome {
    failed: usize,
    first: Option<(ErrorTarget, ErrorClass)>,
    /// User-defined functions must still be called for some: [`ManyOutcome::finish_request`].
    callbacks_pending: bool,
}

impl ManyOutcome {
    /// Adds the request whose status has index `at`. The statuses before it, and up to `given`, are already set or set
    /// later. MPI_ERROR is set in all of them or in none (section 3.2.5).
    fn add(&mut self, completed: &CompletedRequest, statuses: &mut StatusArray<'_>, at: usize, given: usize) {
        if let Some(statuses) = statuses {
            let has_failed = matches!(completed.rest, Some(CompletionData::Failed(..)));
            if has_failed && self.failed == 0 {
                for earlier in &mut statuses[..given] {
                    earlier.MPI_ERROR = MPI_SUCCESS;
                }
            }
            if has_failed || self.failed > 0 {
                statuses[at] = completed.full_status()
            } else {
                statuses[at].complete(completed.status)
            }
        }
        match &completed.rest {
            None => {}
            Some(CompletionData::Failed(error_target, error)) => {
                self.failed += 1;
                match self.first {
                    None => self.first = Some((*error_target, error.class())),
                    Some(_) => release_error_target(*error_target),
                }
            }
            Some(CompletionData::CallbacksPending(_)) => self.callbacks_pending = true,
        }
    }

    /// Calls the pending user-defined functions of the requests; each request has the index of its status, of which
    /// there are `given`. Called outside the device.
    fn finish_request<'a>(
        &mut self,
        requests: impl Iterator<Item = (&'a mut Handle, usize)>,
        mut statuses: StatusArray<'_>,
        given: usize,
    ) {
        for (request, at) in requests {
            if let Some(completed) = finish_if_pending(request) {
                self.add(&completed, &mut statuses, at, given);
            }
        }
    }

    fn end(self, function: &'static str) -> c_int {
        match self.first {
            Some((error_target, first)) => end_under(
                function,
                error_target,
                Err(Error::InStatus {
                    failed: self.failed,
                    first,
                }),
            ),
            None => end(function, MPI_COMM_WORLD, Ok(())),
        }
    }
}

fn end_several(function: &'static str, result: Result<ManyOutcome, Error>) -> c_int {
    match result {
        Ok(several) => several.end(function),
        Err(error) => end(function, MPI_COMM_WORLD, Err(error)),
    }
}

type StatusArray<'a> = Option<&'a mut [MPI_Status]>;

/// Returns the arrays of a call on several requests.
///
/// # Safety
/// See [`args::array_mut`] and [`args::statuses`].
unsafe fn arrays<'a>(
    count: c_int,
    requests: *mut Handle,
    statuses: *mut MPI_Status,
) -> Result<(&'a mut [Handle], StatusArray<'a>), Error> {
    let count = args::length(count)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        Ok((
            args::array_mut(requests, count, "array_of_requests")?,
            args::statuses(statuses, count)?,
        ))
    }
}

/// Waits for the first requests of an array, as long as they are messages that complete without error. Returns their
/// number. The arguments are not checked yet.
///
/// # Safety
/// Non-null arrays must satisfy [`arrays`].
#[inline(always)]
unsafe fn wait_for_messages(count: c_int, requests: *mut Handle, statuses: *mut MPI_Status) -> c_int {
    let mut at = 0;
    if requests.is_null() || !fast_path::is_open() {
        return at;
    }
    while at < count {
        // SAFETY: guaranteed by the caller: the array has `count` items.
        let request = unsafe { &mut *requests.add(at as usize) };
        let whole = match request.value() {
            SEND_COMPLETE => None,
            handle => match fast_path::wait("MPI_Waitall", handle) {
                None => break,
                whole => whole,
            },
        };
        *request = Handle::new(MPI_REQUEST_NULL);
        // MPI_STATUSES_IGNORE is null.
        if !statuses.is_null() {
            // SAFETY: guaranteed by the caller: the array has `count` items.
            tell(whole, unsafe { &mut *statuses.add(at as usize) });
        }
        if let Some(whole) = whole {
            comm_objects::request_completed(whole.context);
        }
        at += 1;
    }
    at
}

// Not inlined, so that programs that ignore statuses save no registers for it.
#[inline(never)]
fn tell(whole: Option<PlainCompletion>, status: &mut MPI_Status) {
    status.complete(whole.map_or(MPI_Status::NO_RECEIVE, |whole| whole_status(&whole)));
}

/// Waits for all requests from index `next` on.
fn wait_all(
    env: &dyn Env,
    next: usize,
    requests: &mut [Handle],
    mut statuses: StatusArray<'_>,
) -> Result<ManyOutcome, Error> {
    let mut several = ManyOutcome::default();
    for (place, request) in requests.iter_mut().enumerate().skip(next) {
        let completed = wait_one(env, "MPI_Waitall", request)?;
        several.add(&completed, &mut statuses, place, place);
    }
    Ok(several)
}

pub unsafe fn MPI_Waitall(count: c_int, requests: *mut Handle, statuses: *mut MPI_Status) -> c_int {
    // SAFETY: the standard's requirements on the arrays.
    unsafe {
        let done = wait_for_messages(count, requests, statuses);
        if done == count && done > 0 {
            MPI_SUCCESS
        } else {
            wait_for_others(done, count, requests, statuses)
        }
    }
}

/// Completes MPI_Waitall after the first `done` requests are complete.
///
/// # Safety
/// See [`arrays`].
#[cold]
#[inline(never)]
unsafe fn wait_for_others(done: c_int, count: c_int, requests: *mut Handle, statuses: *mut MPI_Status) -> c_int {
    end_several("MPI_Waitall", {
        env().and_then(|env| {
            // SAFETY: guaranteed by the caller.
            let (requests, statuses) = unsafe { arrays(count, requests, statuses) }?;
            wait_all(env, done as usize, requests, statuses)
        })
    })
}

/// Result of a check of a group of requests: bit `i` is for the handle at index `i`.
#[derive(Default)]
struct GroupState {
    /// Active or complete requests.
    active: u64,
    complete: u64,
}

impl GroupState {
    /// Checks at most [`CompletionSet::MAX`] handles. Fails with [`Error::Request`].
    fn at(env: &dyn Env, handles: &[Handle]) -> Result<GroupState, Error> {
        let mut state = GroupState::default();
        // Device requests in index order.
        let mut ids: heapless::Vec<RequestId, { CompletionSet::MAX }> = heapless::Vec::new();
        let mut live: u64 = 0;
        for (place, &handle) in handles.iter().enumerate() {
            let bit = 1 << place;
            let named = named(handle.value())?;
            let (is_active, is_complete) = match named {
                RequestKind::Inactive => (false, true),
                RequestKind::Complete(_) => (true, true),
                RequestKind::Other(family) => (true, family.ended(handle.value()).is_some()),
                RequestKind::Live(_) => (true, false),
            };
            state.active |= if is_active { bit } else { 0 };
            state.complete |= if is_complete { bit } else { 0 };
            if let RequestKind::Live(id) = named {
                live |= bit;
                // The capacity is the maximum number of handles.
                let _ = ids.push(id);
            }
        }
        if ids.is_empty() {
            return Ok(state);
        }
        let CompletionSet { finished, unknown } = env.check_requests(&ids);
        for number in 0..ids.len() {
            let place = live.trailing_zeros();
            live &= live - 1;
            if unknown >> number & 1 != 0 {
                let handle = handles[place as usize];
                return Err(Error::Request { handle: handle.value() });
            }
            state.complete |= (finished >> number & 1) << place;
        }
        Ok(state)
    }
}

/// Runs a progress step in a call of `function`, before each [`SLICE_REQUESTS`] of an array.
fn poll_at(env: &dyn Env, function: &'static str, first: usize) {
    if first.is_multiple_of(SLICE_REQUESTS) {
        env.advance(CallInfo::without_peer(function), None);
    }
}

/// Returns the groups of an array, each with the index of its first element.
fn groups(requests: &mut [Handle]) -> impl Iterator<Item = (usize, &mut [Handle])> {
    let groups = requests.chunks_mut(CompletionSet::MAX).enumerate();
    groups.map(|(number, group)| (number * CompletionSet::MAX, group))
}

/// Completes all requests. Returns `None` without effect if not all are complete.
fn test_all(
    env: &dyn Env,
    requests: &mut [Handle],
    mut statuses: StatusArray<'_>,
) -> Result<Option<ManyOutcome>, Error> {
    let name = "MPI_Testall";
    if requests.is_empty() {
        poll_at(env, name, 0);
    }
    for (first, group) in groups(requests) {
        poll_at(env, name, first);
        let looked = GroupState::at(env, group)?;
        if looked.complete.count_ones() as usize != group.len() {
            return Ok(None);
        }
    }
    let mut several = ManyOutcome::default();
    for (place, request) in requests.iter_mut().enumerate() {
        poll_at(env, name, place);
        if let Some(completed) = try_complete(env, None, request)? {
            several.add(&completed, &mut statuses, place, place);
        }
    }
    if several.callbacks_pending {
        let given = requests.len();
        several.finish_request(requests.iter_mut().zip(0..), statuses, given);
    }
    Ok(Some(several))
}

pub unsafe fn MPI_Testall(count: c_int, requests: *mut Handle, flag: *mut c_int, statuses: *mut MPI_Status) -> c_int {
    end_several("MPI_Testall", {
        env().and_then(|env| {
            // SAFETY: the standard's requirements on the arrays and `flag`.
            let ((requests, statuses), flag) =
                unsafe { (arrays(count, requests, statuses)?, args::out(flag, "flag")?) };
            *flag = 0;
            let several = test_all(env, requests, statuses)?;
            *flag = several.is_some().into();
            Ok(several.unwrap_or_default())
        })
    })
}

/// Result of a search for one complete request.
enum AnyResult {
    /// All requests are inactive.
    Inactive,
    /// The request at this index.
    At(usize, CompletedRequest),
}

impl AnyResult {
    /// Returns the index for the program, and the completed request.
    fn into_parts(self) -> (c_int, CompletedRequest) {
        match self {
            AnyResult::Inactive => (MPI_UNDEFINED, with_status(MPI_Status::EMPTY)),
            AnyResult::At(i, completed) => (i as c_int, completed),
        }
    }
}

/// Completes the first complete request. Returns `None` if some are active but none is complete.
fn any(env: &dyn Env, function: &'static str, requests: &mut [Handle]) -> Result<Option<AnyResult>, Error> {
    let mut is_active = false;
    for (first, group) in groups(requests) {
        if first > 0 {
            poll_at(env, function, first);
        }
        let GroupState { active, complete } = GroupState::at(env, group)?;
        is_active |= active != 0;
        let found = (active & complete).trailing_zeros() as usize;
        if let Some(request) = group.get_mut(found)
            && let Some(completed) = try_complete(env, None, request)?
        {
            let completed = completed.finished(request);
            return Ok(Some(AnyResult::At(first + found, completed)));
        }
    }
    Ok((!is_active).then_some(AnyResult::Inactive))
}

fn wait_any(env: &dyn Env, requests: &mut [Handle]) -> Result<AnyResult, Error> {
    let name = "MPI_Waitany";
    block_on(env, CallInfo::without_peer(name), || {
        any(env, name, requests).transpose()
    })
}

/// Runs one test; see [`any`] for the result.
fn test_any(env: &dyn Env, requests: &mut [Handle]) -> Result<Option<AnyResult>, Error> {
    let name = "MPI_Testany";
    poll_at(env, name, 0);
    any(env, name, requests)
}

pub unsafe fn MPI_Waitany(count: c_int, requests: *mut Handle, index: *mut c_int, status: *mut MPI_Status) -> c_int {
    let result = env().and_then(|env| {
        let count = args::length(count)?;
        // SAFETY: the standard's requirements on the array, `index` and `status`.
        let (requests, index) = unsafe {
            args::status(status)?;
            (
                args::array_mut(requests, count, "array_of_requests")?,
                args::out(index, "index")?,
            )
        };
        let (place, completed) = wait_any(env, requests)?.into_parts();
        *index = place;
        Ok(Some(completed))
    });
    end_one("MPI_Waitany", result, status)
}

pub unsafe fn MPI_Testany(
    count: c_int,
    requests: *mut Handle,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        let count = args::length(count)?;
        // SAFETY: the standard's requirements on the array, `index`, `flag` and `status`.
        let (requests, index, flag) = unsafe {
            args::status(status)?;
            (
                args::array_mut(requests, count, "array_of_requests")?,
                args::out(index, "index")?,
                args::out(flag, "flag")?,
            )
        };
        let any = test_any(env, requests)?;
        *flag = any.is_some().into();
        *index = MPI_UNDEFINED;
        Ok(any.map(|any| {
            let (place, completed) = any.into_parts();
            *index = place;
            completed
        }))
    });
    end_one("MPI_Testany", result, status)
}

/// Completes all complete requests of an array.
struct CompleteSome<'a> {
    several: ManyOutcome,
    indices: &'a mut [c_int],
    statuses: StatusArray<'a>,
    /// A request is active, or was before it was completed here.
    is_active: bool,
    done: usize,
}

impl CompleteSome<'_> {
    /// Checks the array once and returns the count for the program. Returns `None` if some are active but none is
    /// complete.
    fn try_all(
        &mut self,
        env: &dyn Env,
        function: &'static str,
        requests: &mut [Handle],
    ) -> Result<Option<c_int>, Error> {
        for (first, group) in groups(requests) {
            if first > 0 {
                poll_at(env, function, first);
            }
            let GroupState { active, complete } = GroupState::at(env, group)?;
            self.is_active |= active != 0;
            for (place, request) in group.iter_mut().enumerate() {
                if (active & complete) >> place & 1 != 0
                    && let Some(completed) = try_complete(env, None, request)?
                {
                    let at = self.done;
                    self.indices[at] = (first + place) as c_int;
                    self.several.add(&completed, &mut self.statuses, at, at);
                    self.done += 1;
                }
            }
        }
        Ok(match (self.is_active, self.done) {
            (false, _) => Some(MPI_UNDEFINED),
            (true, 0) => None,
            (true, done) => Some(done as c_int),
        })
    }
}

/// Implements MPI_Waitsome and MPI_Testsome; `run` returns the count for the program.
///
/// # Safety
/// See [`arrays`], [`args::array_mut`] and [`args::out`].
unsafe fn complete_some(
    function: &'static str,
    incount: c_int,
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
    run: impl FnOnce(&dyn Env, &mut [Handle], &mut CompleteSome<'_>) -> Result<c_int, Error>,
) -> c_int {
    end_several(function, {
        env().and_then(|env| {
            // SAFETY: guaranteed by the caller.
            let ((requests, statuses), indices, outcount) = unsafe {
                (
                    arrays(incount, requests, statuses)?,
                    args::array_mut(indices, args::length(incount)?, "array_of_indices")?,
                    args::out(outcount, "outcount")?,
                )
            };
            let mut some = CompleteSome {
                several: ManyOutcome::default(),
                indices,
                statuses,
                is_active: false,
                done: 0,
            };
            *outcount = run(env, requests, &mut some)?;
            let CompleteSome {
                mut several,
                indices,
                statuses,
                done,
                ..
            } = some;
            if several.callbacks_pending {
                // In index order, as they were found.
                let mut rest = requests.iter_mut().zip(0..);
                let found = indices[..done].iter().zip(0..).filter_map(|(i, at)| {
                    let (request, _) = rest.find(|(_, place)| place == i)?;
                    Some((request, at))
                });
                several.finish_request(found, statuses, done);
            }
            Ok(several)
        })
    })
}

pub unsafe fn MPI_Waitsome(
    incount: c_int,
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let run = |env: &dyn Env, requests: &mut [Handle], some: &mut CompleteSome<'_>| {
        let name = "MPI_Waitsome";
        block_on(env, CallInfo::without_peer(name), || {
            some.try_all(env, name, requests).transpose()
        })
    };
    // SAFETY: the standard's requirements on the arrays and `outcount`.
    unsafe { complete_some("MPI_Waitsome", incount, requests, outcount, indices, statuses, run) }
}

pub unsafe fn MPI_Testsome(
    incount: c_int,
    requests: *mut Handle,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let run = |env: &dyn Env, requests: &mut [Handle], some: &mut CompleteSome<'_>| {
        let name = "MPI_Testsome";
        poll_at(env, name, 0);
        Ok(some.try_all(env, name, requests)?.unwrap_or(0))
    };
    // SAFETY: the standard's requirements on the arrays and `outcount`.
    unsafe { complete_some("MPI_Testsome", incount, requests, outcount, indices, statuses, run) }
}

#[cfg(test)]
mod tests {
    use super::super::requests::{SEND_COMPLETE, handle_of};
    use super::*;
    use midplane_device::envelope::{MatchPattern, Rank};
    use midplane_device::interface::{IncomingMessage, RequestMemory};
    use midplane_device::memory::Span;
    use midplane_objects::fake::FakeEnv;

    const REQUESTS: usize = 100_000;
    const SLICES: usize = REQUESTS.div_ceil(SLICE_REQUESTS);

    /// Returns the handle of a receive that no message matches.
    fn receive(env: &FakeEnv) -> c_int {
        let incoming = IncomingMessage {
            pattern: MatchPattern::new(Some(Rank::new(0)), Some(0), 0),
            span: Span::EMPTY,
        };
        let id = env.start_receive("a test", &incoming, RequestMemory::Shared);
        handle_of(id.expect("room for a request"))
    }

    fn complete() -> Vec<Handle> {
        vec![Handle::new(SEND_COMPLETE); REQUESTS]
    }

    #[test]
    fn long_arrays_let_traffic_through() {
        let env = FakeEnv::new();
        let mut handles = complete();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_some() && handles.iter().all(|handle| *handle == Handle::new(MPI_REQUEST_NULL)));
        assert_eq!(env.polls(), 2 * SLICES);

        let env = FakeEnv::new();
        let any = test_any(&env, &mut handles).expect("legal handles");
        assert!(matches!(any, Some(AnyResult::Inactive)));
        assert_eq!(env.polls(), SLICES);
        handles[REQUESTS - 1] = Handle::new(SEND_COMPLETE);
        let env = FakeEnv::new();
        let any = wait_any(&env, &mut handles).expect("legal handles");
        assert!(matches!(any, AnyResult::At(at, _) if at == REQUESTS - 1));
        assert_eq!(env.polls(), SLICES - 1);

        let env = FakeEnv::new();
        let mut indices = vec![0; REQUESTS];
        let mut some = CompleteSome {
            several: ManyOutcome::default(),
            indices: &mut indices,
            statuses: None,
            is_active: false,
            done: 0,
        };
        let done = some.try_all(&env, "MPI_Testsome", &mut complete());
        assert_eq!(done, Ok(Some(REQUESTS as c_int)));
        assert_eq!((env.polls(), indices[REQUESTS - 1]), (SLICES - 1, 99_999));
    }

    #[test]
    fn requests_of_all_kinds_are_found_in_groups() {
        let env = FakeEnv::new();
        let mut handles = vec![Handle::new(MPI_REQUEST_NULL); 3 * CompletionSet::MAX];
        for place in [1, 70, 71, 130] {
            handles[place] = Handle::new(receive(&env));
        }
        assert!(matches!(test_any(&env, &mut handles), Ok(None)));
        handles[71] = Handle::new(SEND_COMPLETE);
        handles[140] = Handle::new(SEND_COMPLETE);
        let mut indices = vec![0; handles.len()];
        let mut some = CompleteSome {
            several: ManyOutcome::default(),
            indices: &mut indices,
            statuses: None,
            is_active: false,
            done: 0,
        };
        let done = some.try_all(&env, "MPI_Testsome", &mut handles);
        assert_eq!(done, Ok(Some(2)));
        assert_eq!(indices[..2], [71, 140]);
        assert_eq!(handles[71].value(), MPI_REQUEST_NULL);
        // The device contains no request with this ID.
        handles[72] = Handle::new(handle_of(RequestId(0x3fff)));
        let error = test_any(&env, &mut handles).err();
        assert_eq!(
            error,
            Some(Error::Request {
                handle: handles[72].value()
            })
        );
    }

    #[test]
    fn testall_completes_all_requests_or_none() {
        let env = FakeEnv::new();
        let mut handles = complete();
        handles[REQUESTS - 1] = Handle::new(receive(&env));
        let before = handles.clone();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_none() && handles == before);
        // An incomplete request ends the check immediately.
        handles.swap(0, REQUESTS - 1);
        let polls = env.polls();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_none() && env.polls() == polls + 1);
    }
}
