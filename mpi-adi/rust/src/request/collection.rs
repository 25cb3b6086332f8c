//! Completion of several requests (MPI-3.1 section 3.7.5).

use alloc::vec::Vec;
use core::marker::PhantomData;
use midplane_device::kernel::CallInfo;

use super::{LocalScope, Request, Scope, Ticket};
use crate::fatal;
use crate::process::current;
use crate::status::Status;
use midplane_device::interface::Device;
use midplane_objects::call::block_until;
use midplane_objects::coll::try_with_capacity;

macro_rules! call {
    ($name:ident, $mpi:literal) => {
        (called!("mpi::request::RequestCollection", $name, $mpi), $mpi)
    };
}

/// A call's names in Rust and in MPI.
type CallName = (&'static str, &'static str);

/// Blocks until one of the requests is complete, removes it from the list, and returns its index and status
/// (MPI_Waitany, MPI-3.1 section 3.7.5). Returns `None` for an empty list. An error of the request aborts the job.
#[track_caller]
pub fn wait_any<'a, D: ?Sized, S: Scope<'a>>(requests: &mut Vec<Request<'a, D, S>>) -> Option<(usize, Status)> {
    // The requests remain in their scopes; each is checked there.
    let first = requests.first()?;
    if !first.is_complete() {
        let current = current()?;
        let env = fatal("mpi::request::wait_any (MPI_Waitany)", current.env());
        block_until(env, CallInfo::without_peer("MPI_Waitany"), || {
            let mut each = requests.iter();
            each.any(|request| request.inspect(|ticket| ticket.is_done(env)))
        });
    }
    let place = requests.iter().position(Request::is_complete)?;
    Some((place, requests.remove(place).wait()))
}

/// Requests that are completed together. A result contains the index of its request: the order of [`add`](Self::add).
pub struct RequestCollection<'a, D: ?Sized> {
    /// `None`: completed.
    requests: Vec<Option<(Ticket, *const D)>>,
    borrowed: PhantomData<(core::cell::Cell<&'a ()>, &'a D)>,
}

/// Results of completed requests: index, status and buffer of each.
type CompletedList<'a, D> = Vec<(usize, Status, &'a D)>;

impl<'a, D: ?Sized> RequestCollection<'a, D> {
    #[track_caller]
    fn new(reserve: usize) -> Self {
        RequestCollection {
            requests: fatal("RequestCollection", try_with_capacity(reserve)),
            borrowed: PhantomData,
        }
    }

    /// Returns the number of requests that are not completed.
    pub fn incomplete(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// Adds a request and returns its index. Aborts the job when the heap has no space.
    #[track_caller]
    pub fn add<S: Scope<'a>>(&mut self, request: Request<'a, D, S>) -> usize {
        let bytes = size_of::<Ticket>();
        let room = self.requests.try_reserve(1);
        let room = room.map_err(|_| midplane_objects::Error::NoSpace { bytes });
        fatal("RequestCollection::add", room);
        let (ticket, data, _) = request.into_parts();
        self.requests.push(Some((ticket, data)));
        self.requests.len() - 1
    }

    fn open(&self) -> impl Iterator<Item = (usize, &Ticket)> + Clone {
        let requests = self.requests.iter().enumerate();
        requests.filter_map(|(place, request)| request.as_ref().map(|(ticket, _)| (place, ticket)))
    }

    #[track_caller]
    fn complete(&mut self, call: CallName, place: usize) -> Option<(usize, Status, &'a D)> {
        let (ticket, data) = self.requests[place].take()?;
        let (name, function) = call;
        let status = ticket.wait_or_end(name, function);
        // SAFETY: borrowed for `'a`, and the operation is complete.
        Some((place, status, unsafe { &*data }))
    }

    /// Makes progress, and returns the indexes of the complete requests.
    #[track_caller]
    fn done(&self, function: &'static str) -> Vec<usize> {
        let mut done = fatal(function, try_with_capacity(self.requests.len()));
        if let Some(current) = current() {
            let env = fatal(function, current.env());
            // The progress hook of collectives runs after the step.
            env.advance(CallInfo::without_peer(function), None);
            let is_done = self.open().filter(|(_, ticket)| ticket.is_done(env));
            done.extend(is_done.map(|(place, _)| place));
        }
        done
    }

    #[track_caller]
    fn complete_all(&mut self, call: CallName, places: impl Iterator<Item = usize>, result: &mut CompletedList<'a, D>) {
        result.clear();
        for place in places {
            result.extend(self.complete(call, place));
        }
    }

    /// Blocks until one request is complete, and completes it (MPI_Waitany). Returns `None` if none is left.
    #[track_caller]
    pub fn wait_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let place = Ticket::wait_any("MPI_Waitany", self.open())?;
        self.complete(call!(wait_any, "MPI_Waitany"), place)
    }

    /// Blocks until at least one request is complete, and completes all that are (MPI_Waitsome). `result` is replaced
    /// by their results.
    #[track_caller]
    pub fn wait_some(&mut self, result: &mut CompletedList<'a, D>) {
        Ticket::wait_any("MPI_Waitsome", self.open());
        self.test_some(result);
    }

    /// Blocks until all requests are complete, and completes them (MPI_Waitall). `result` is replaced by their results.
    #[track_caller]
    pub fn wait_all(&mut self, result: &mut CompletedList<'a, D>) {
        let places = 0..self.requests.len();
        self.complete_all(call!(wait_all, "MPI_Waitall"), places, result);
    }

    /// Completes one complete request, or returns `None` (MPI_Testany). Does not block.
    #[track_caller]
    pub fn test_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let place = *self.done("MPI_Testany").first()?;
        self.complete(call!(test_any, "MPI_Testany"), place)
    }

    /// Completes all complete requests (MPI_Testsome). Does not block. `result` is replaced by their results.
    #[track_caller]
    pub fn test_some(&mut self, result: &mut CompletedList<'a, D>) {
        let done = self.done("MPI_Testsome");
        self.complete_all(call!(test_some, "MPI_Testsome"), done.into_iter(), result);
    }

    /// Completes all requests if all are complete, and returns whether they are (MPI_Testall). Does not block.
    #[track_caller]
    pub fn test_all(&mut self, result: &mut CompletedList<'a, D>) -> bool {
        let done = self.done("MPI_Testall");
        let is_all = done.len() == self.incomplete();
        result.clear();
        if is_all {
            self.complete_all(call!(test_all, "MPI_Testall"), done.into_iter(), result);
        }
        is_all
    }

    #[track_caller]
    fn finish(&mut self) {
        for (ticket, _) in self.requests.drain(..).flatten() {
            let (name, function) = call!(wait_all, "MPI_Waitall");
            ticket.wait_or_end(name, function);
        }
    }
}

/// Runs `f` with a [`scope`](super::scope()) and a collection with capacity for `reserve` requests. Waits at its end
/// for the requests of both.
#[track_caller]
pub fn multiple_scope<'a, F, R, D: 'a + ?Sized>(reserve: usize, f: F) -> R
where
    F: FnOnce(&LocalScope<'a>, &mut RequestCollection<'a, D>) -> R,
{
    let scope = LocalScope::new();
    let mut collection = RequestCollection::new(reserve);
    let result = f(&scope, &mut collection);
    collection.finish();
    scope.finish();
    result
}
