//! Section 3.7.5: waiting for several requests, and testing them.
//!
//! An array of requests can be as long as the program's memory, so these calls look at it in slices, with
//! progress in between ([`crate::mpi::call::SLICE_REQUESTS`]). A request that is complete stays complete until
//! its call has said so: what one slice has found is still true when the last has been looked at.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use crate::device::kernel::CallNote;
use core::cell::Cell;
use core::ffi::c_int;

use super::args;
use super::binding::env;
use super::comm_objects::{self, Blame, end_blame};
use super::completion::{end_one, note};
use super::report::{end, end_under};
use super::requests::{
    Completed, Named, Rest, SEND_COMPLETE, conclude_if_due, named, try_complete, whole_status,
    with_status,
};
use super::short;
use super::types::MPI_Status;
use super::types::constants::{MPI_COMM_WORLD, MPI_REQUEST_NULL, MPI_SUCCESS, MPI_UNDEFINED};
use crate::Adi;
use crate::device::request::Whole;
use crate::mpi::call::{Pass, SLICE_REQUESTS, block_on_array, look_through, wait_until};
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Env;

/// What a call that completes several requests has to say at its end.
#[derive(Default)]
struct Several {
    failed: usize,
    first: Option<(Blame, Class)>,
    /// Functions of the program's own are still to be called for some: [`Several::conclude`].
    concluding: bool,
}

impl Several {
    /// Adds the request whose status goes to place `at`. Those before and up to `given` have theirs, or get them later.
    /// MPI_ERROR is set in all of them or in none (section 3.2.5).
    fn add(&mut self, completed: &Completed, statuses: &mut Statuses<'_>, at: usize, given: usize) {
        if let Some(statuses) = statuses {
            let has_failed = matches!(completed.rest, Some(Rest::Failed(..)));
            if has_failed && self.failed == 0 {
                for earlier in &mut statuses[..given] {
                    earlier.MPI_ERROR = MPI_SUCCESS;
                }
            }
            match has_failed || self.failed > 0 {
                true => statuses[at] = completed.full_status(),
                false => statuses[at].complete(completed.status),
            }
        }
        match &completed.rest {
            None => {}
            Some(Rest::Failed(blame, error)) => {
                self.failed += 1;
                match self.first {
                    None => self.first = Some((*blame, error.class())),
                    Some(_) => end_blame(*blame),
                }
            }
            Some(Rest::Concluding(_)) => self.concluding = true,
        }
    }

    /// Concludes those of the requests, each with the place of its status, of which there are `given`, for which that is
    /// still to be done. Called outside of the device.
    fn conclude<'a>(
        &mut self,
        requests: impl Iterator<Item = (&'a mut c_int, usize)>,
        mut statuses: Statuses<'_>,
        given: usize,
    ) {
        for (request, at) in requests {
            if let Some(completed) = conclude_if_due(request) {
                self.add(&completed, &mut statuses, at, given);
            }
        }
    }

    fn end(self, function: &'static str) -> c_int {
        match self.first {
            Some((blame, first)) => end_under(
                function,
                blame,
                Err(Error::InStatus {
                    failed: self.failed,
                    first,
                }),
            ),
            None => end(function, MPI_COMM_WORLD, Ok(())),
        }
    }
}

fn end_several(function: &'static str, result: Result<Several, Error>) -> c_int {
    match result {
        Ok(several) => several.end(function),
        Err(error) => end(function, MPI_COMM_WORLD, Err(error)),
    }
}

/// Where the statuses go, if anywhere.
type Statuses<'a> = Option<&'a mut [MPI_Status]>;

/// The arrays of a call on several requests.
///
/// # Safety
/// As for [`args::array_mut`] and [`args::statuses`].
unsafe fn arrays<'a>(
    count: c_int,
    requests: *mut c_int,
    statuses: *mut MPI_Status,
) -> Result<(&'a mut [c_int], Statuses<'a>), Error> {
    let count = args::count(count)?;
    // SAFETY: the caller's promise.
    unsafe {
        Ok((
            args::array_mut(requests, count, "array_of_requests")?,
            args::statuses(statuses, count)?,
        ))
    }
}

// A call, so that programs that ignore statuses save no registers for it.
#[inline(never)]
fn tell(whole: Option<Whole>, status: &mut MPI_Status) {
    status.complete(whole.map_or(MPI_Status::NO_RECEIVE, |whole| whole_status(&whole)));
}

/// Waits for the first requests of an array, as long as they are [messages that end well](short::wait); their number. The
/// arguments are still to be checked.
///
/// # Safety
/// As for [`arrays`], of what is not null.
#[inline(always)]
unsafe fn wait_for_messages(
    count: c_int,
    requests: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let mut at = 0;
    if requests.is_null() || statuses.is_null() || !short::is_open() {
        return at;
    }
    while at < count {
        // SAFETY: the caller's promise.
        let request = unsafe { &mut *requests.add(at as usize) };
        let whole = match *request {
            SEND_COMPLETE => None,
            handle => match short::wait("MPI_Waitall", handle) {
                None => break,
                whole => whole,
            },
        };
        *request = MPI_REQUEST_NULL;
        if statuses.addr() != args::STATUS_IGNORE {
            // SAFETY: the caller's promise.
            tell(whole, unsafe { &mut *statuses.add(at as usize) });
        }
        if let Some(whole) = whole {
            comm_objects::request_completed(whole.context);
        }
        at += 1;
    }
    at
}

/// Each stay with the device completes what it can, of a slice, from place `next` on.
fn wait_all(
    env: &dyn Env,
    mut next: usize,
    requests: &mut [c_int],
    mut statuses: Statuses<'_>,
) -> Result<Several, Error> {
    let mut several = Several::default();
    while next < requests.len() {
        let end = requests.len().min(next + SLICE_REQUESTS);
        let waiting = Cell::new(MPI_REQUEST_NULL);
        let concluding = wait_until(
            env,
            |adi| note(adi, "MPI_Waitall", waiting.get()),
            |adi, _| {
                for request in &mut requests[next..end] {
                    match try_complete(adi, request) {
                        Ok(Some(completed)) if completed.is_concluding() => {
                            return Some(Ok(Some(completed)));
                        }
                        Ok(Some(completed)) => {
                            several.add(&completed, &mut statuses, next, next);
                            next += 1;
                        }
                        Ok(None) => {
                            waiting.set(*request);
                            return None;
                        }
                        Err(error) => return Some(Err(error)),
                    }
                }
                Some(Ok(None))
            },
        )?;
        if let Some(completed) = concluding {
            let completed = completed.concluded(&mut requests[next]);
            several.add(&completed, &mut statuses, next, next);
            next += 1;
        }
    }
    Ok(several)
}

pub unsafe fn MPI_Waitall(count: c_int, requests: *mut c_int, statuses: *mut MPI_Status) -> c_int {
    // SAFETY: the standard's promise about the arrays.
    unsafe {
        let done = wait_for_messages(count, requests, statuses);
        match done == count && done > 0 {
            true => MPI_SUCCESS,
            false => wait_for_others(done, count, requests, statuses),
        }
    }
}

/// MPI_Waitall, when the first `done` requests are complete.
///
/// # Safety
/// As for [`arrays`].
#[cold]
#[inline(never)]
unsafe fn wait_for_others(
    done: c_int,
    count: c_int,
    requests: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Waitall", {
        env().and_then(|env| {
            // SAFETY: the caller's promise.
            let (requests, statuses) = unsafe { arrays(count, requests, statuses) }?;
            wait_all(env, done as usize, requests, statuses)
        })
    })
}

/// Looks whether every request is complete; ends at the first that is not.
struct AreAllComplete;

impl Pass<c_int, Result<bool, Error>> for AreAllComplete {
    fn visit(
        &mut self,
        adi: &mut Adi,
        _: usize,
        requests: &mut [c_int],
    ) -> Option<Result<bool, Error>> {
        requests
            .iter()
            .find_map(|request| match named(adi, *request) {
                Ok(named) if named.is_under_way(adi, *request) => Some(Ok(false)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
    }

    fn end(&mut self) -> Option<Result<bool, Error>> {
        Some(Ok(true))
    }
}

/// Completes every request; all are complete.
struct CompleteAll<'a> {
    several: Several,
    statuses: Statuses<'a>,
}

impl Pass<c_int, Error> for CompleteAll<'_> {
    fn visit(&mut self, adi: &mut Adi, first: usize, requests: &mut [c_int]) -> Option<Error> {
        for (i, request) in (first..).zip(requests) {
            match try_complete(adi, request) {
                Ok(Some(completed)) => self.several.add(&completed, &mut self.statuses, i, i),
                Ok(None) => {}
                Err(error) => return Some(error),
            }
        }
        None
    }
}

/// `None`: not all are complete, and nothing has been done.
fn test_all(
    env: &dyn Env,
    requests: &mut [c_int],
    statuses: Statuses<'_>,
) -> Result<Option<Several>, Error> {
    let note = CallNote::of("MPI_Testall");
    match look_through(env, note, requests, &mut AreAllComplete) {
        Some(Ok(true)) | None => {}
        Some(Ok(false)) => return Ok(None),
        Some(Err(error)) => return Err(error),
    }
    let mut pass = CompleteAll {
        several: Several::default(),
        statuses,
    };
    if let Some(error) = look_through(env, note, requests, &mut pass) {
        return Err(error);
    }
    let CompleteAll {
        mut several,
        statuses,
    } = pass;
    if several.concluding {
        let given = requests.len();
        several.conclude(requests.iter_mut().zip(0..), statuses, given);
    }
    Ok(Some(several))
}

pub unsafe fn MPI_Testall(
    count: c_int,
    requests: *mut c_int,
    flag: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    end_several("MPI_Testall", {
        env().and_then(|env| {
            // SAFETY: the standard's promise about the arrays and `flag`.
            let ((requests, statuses), flag) =
                unsafe { (arrays(count, requests, statuses)?, args::out(flag, "flag")?) };
            *flag = 0;
            let several = test_all(env, requests, statuses)?;
            *flag = several.is_some().into();
            Ok(several.unwrap_or_default())
        })
    })
}

/// What a look at requests for one that is complete has found.
enum Any {
    /// Nothing but inactive requests.
    Inactive,
    /// The request at this place.
    At(usize, Completed),
}

impl Any {
    /// The index for the program, and the completed request.
    fn into_parts(self) -> (c_int, Completed) {
        match self {
            Any::Inactive => (MPI_UNDEFINED, with_status(MPI_Status::EMPTY)),
            Any::At(i, completed) => (i as c_int, completed),
        }
    }

    /// As [`Completed::concluded`], of one of these requests.
    fn concluded(self, requests: &mut [c_int]) -> Any {
        match self {
            Any::Inactive => Any::Inactive,
            Any::At(i, completed) => Any::At(i, completed.concluded(&mut requests[i])),
        }
    }
}

/// Completes the first request that is complete.
#[derive(Default)]
struct CompleteAny {
    /// A request is active.
    active: bool,
}

impl Pass<c_int, Result<Any, Error>> for CompleteAny {
    fn visit(
        &mut self,
        adi: &mut Adi,
        first: usize,
        requests: &mut [c_int],
    ) -> Option<Result<Any, Error>> {
        for (i, request) in (first..).zip(requests) {
            match named(adi, *request) {
                Ok(Named::Inactive) => continue,
                Ok(_) => self.active = true,
                Err(error) => return Some(Err(error)),
            }
            match try_complete(adi, request) {
                Ok(Some(completed)) => return Some(Ok(Any::At(i, completed))),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }

    fn end(&mut self) -> Option<Result<Any, Error>> {
        (!self.active).then_some(Ok(Any::Inactive))
    }
}

fn wait_any(env: &dyn Env, requests: &mut [c_int]) -> Result<Any, Error> {
    let note = CallNote::of("MPI_Waitany");
    let any = block_on_array(env, note, requests, &mut CompleteAny::default())?;
    Ok(any.concluded(requests))
}

/// `None`: some are active, none is complete.
fn test_any(env: &dyn Env, requests: &mut [c_int]) -> Result<Option<Any>, Error> {
    let note = CallNote::of("MPI_Testany");
    let any = look_through(env, note, requests, &mut CompleteAny::default()).transpose()?;
    Ok(any.map(|any| any.concluded(requests)))
}

pub unsafe fn MPI_Waitany(
    count: c_int,
    requests: *mut c_int,
    index: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        let count = args::count(count)?;
        // SAFETY: the standard's promise about the array, `index` and `status`.
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
    requests: *mut c_int,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut MPI_Status,
) -> c_int {
    let result = env().and_then(|env| {
        let count = args::count(count)?;
        // SAFETY: the standard's promise about the array, `index`, `flag` and `status`.
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

/// Completes all requests that are complete.
struct CompleteSome<'a> {
    several: Several,
    indices: &'a mut [c_int],
    statuses: Statuses<'a>,
    /// A request is active, or was before it was completed here.
    active: bool,
    /// Requests that were completed.
    done: usize,
}

impl CompleteSome<'_> {
    fn try_one(&mut self, adi: &mut Adi, i: usize, request: &mut c_int) -> Result<(), Error> {
        if matches!(named(adi, *request)?, Named::Inactive) {
            return Ok(());
        }
        self.active = true;
        if let Some(completed) = try_complete(adi, request)? {
            self.indices[self.done] = i as c_int;
            let at = self.done;
            self.several.add(&completed, &mut self.statuses, at, at);
            self.done += 1;
        }
        Ok(())
    }
}

/// The value is the count for the program.
impl Pass<c_int, Result<c_int, Error>> for CompleteSome<'_> {
    fn visit(
        &mut self,
        adi: &mut Adi,
        first: usize,
        requests: &mut [c_int],
    ) -> Option<Result<c_int, Error>> {
        (first..).zip(requests).find_map(|(i, request)| {
            let error = self.try_one(adi, i, request).err()?;
            Some(Err(error))
        })
    }

    fn end(&mut self) -> Option<Result<c_int, Error>> {
        match (self.active, self.done) {
            (false, _) => Some(Ok(MPI_UNDEFINED)),
            (true, 0) => None,
            (true, done) => Some(Ok(done as c_int)),
        }
    }
}

/// What MPI_Waitsome and MPI_Testsome have in common; `run` gives the count for the program.
///
/// # Safety
/// As for [`arrays`], and [`args::array_mut`] and [`args::out`].
unsafe fn some(
    function: &'static str,
    (incount, requests): (c_int, *mut c_int),
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
    run: impl FnOnce(&dyn Env, &mut [c_int], &mut CompleteSome<'_>) -> Result<c_int, Error>,
) -> c_int {
    end_several(function, {
        env().and_then(|env| {
            // SAFETY: the caller's promise.
            let ((requests, statuses), indices, outcount) = unsafe {
                (
                    arrays(incount, requests, statuses)?,
                    args::array_mut(indices, args::count(incount)?, "array_of_indices")?,
                    args::out(outcount, "outcount")?,
                )
            };
            let mut pass = CompleteSome {
                several: Several::default(),
                indices,
                statuses,
                active: false,
                done: 0,
            };
            *outcount = run(env, requests, &mut pass)?;
            let CompleteSome {
                mut several,
                indices,
                statuses,
                done,
                ..
            } = pass;
            if several.concluding {
                // In the order of their indices, as they were found.
                let mut rest = requests.iter_mut().zip(0..);
                let found = indices[..done].iter().zip(0..).filter_map(|(i, at)| {
                    let (request, _) = rest.find(|(_, place)| place == i)?;
                    Some((request, at))
                });
                several.conclude(found, statuses, done);
            }
            Ok(several)
        })
    })
}

pub unsafe fn MPI_Waitsome(
    incount: c_int,
    requests: *mut c_int,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let run = |env: &dyn Env, requests: &mut [c_int], pass: &mut CompleteSome<'_>| {
        block_on_array(env, CallNote::of("MPI_Waitsome"), requests, pass)
    };
    // SAFETY: the standard's promise about the arrays and `outcount`.
    unsafe {
        some(
            "MPI_Waitsome",
            (incount, requests),
            outcount,
            indices,
            statuses,
            run,
        )
    }
}

pub unsafe fn MPI_Testsome(
    incount: c_int,
    requests: *mut c_int,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut MPI_Status,
) -> c_int {
    let run = |env: &dyn Env, requests: &mut [c_int], pass: &mut CompleteSome<'_>| {
        look_through(env, CallNote::of("MPI_Testsome"), requests, pass).unwrap_or(Ok(0))
    };
    // SAFETY: the standard's promise about the arrays and `outcount`.
    unsafe {
        some(
            "MPI_Testsome",
            (incount, requests),
            outcount,
            indices,
            statuses,
            run,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::requests::SEND_COMPLETE;
    use super::*;
    use crate::device::envelope::{Pattern, Rank};
    use crate::device::memory::Span;
    use crate::mpi::fake::FakeEnv;

    const REQUESTS: usize = 100_000;
    const SLICES: usize = REQUESTS.div_ceil(SLICE_REQUESTS);

    /// The handle of a receive that no message will match.
    fn receive(env: &FakeEnv) -> c_int {
        let mut handle = MPI_REQUEST_NULL;
        env.with(&mut |adi, kernel| {
            let pattern = Pattern::new(Some(Rank::new(0)), Some(0), 0);
            let id = adi.irecv(kernel.memory(), pattern, Span::EMPTY);
            handle = !id.expect("room for a request").0 as c_int;
        });
        handle
    }

    fn complete() -> Vec<c_int> {
        vec![SEND_COMPLETE; REQUESTS]
    }

    #[test]
    fn long_arrays_let_traffic_through() {
        let env = FakeEnv::new();
        let mut handles = complete();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_some() && handles.iter().all(|handle| *handle == MPI_REQUEST_NULL));
        assert_eq!(env.polls(), 2 * SLICES);

        let env = FakeEnv::new();
        let any = test_any(&env, &mut handles).expect("legal handles");
        assert!(matches!(any, Some(Any::Inactive)));
        assert_eq!(env.polls(), SLICES);
        handles[REQUESTS - 1] = SEND_COMPLETE;
        let any = wait_any(&env, &mut handles).expect("legal handles");
        assert!(matches!(any, Any::At(at, _) if at == REQUESTS - 1));
        assert_eq!(env.polls(), SLICES + SLICES - 1);

        let env = FakeEnv::new();
        let mut indices = vec![0; REQUESTS];
        let mut pass = CompleteSome {
            several: Several::default(),
            indices: &mut indices,
            statuses: None,
            active: false,
            done: 0,
        };
        let note = CallNote::of("MPI_Testsome");
        let done = look_through(&env, note, &mut complete(), &mut pass);
        assert_eq!(done, Some(Ok(REQUESTS as c_int)));
        assert_eq!((env.polls(), indices[REQUESTS - 1]), (SLICES, 99_999));

        let env = FakeEnv::new();
        assert!(wait_all(&env, 0, &mut complete(), None).is_ok());
        assert_eq!(env.stays(), SLICES);
    }

    #[test]
    fn testall_completes_all_requests_or_none() {
        let env = FakeEnv::new();
        let mut handles = complete();
        handles[REQUESTS - 1] = receive(&env);
        let before = handles.clone();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_none() && handles == before);
        // A request that nothing can complete ends the look at once.
        handles.swap(0, REQUESTS - 1);
        let polls = env.polls();
        let several = test_all(&env, &mut handles, None).expect("legal handles");
        assert!(several.is_none() && env.polls() == polls + 1);
    }
}
