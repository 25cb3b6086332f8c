//! Several requests at a time (MPI-3.1 section 3.7.5).

use alloc::vec::Vec;
use core::marker::PhantomData;
use midplane_device::kernel::CallNote;

use super::{LocalScope, Request, Scope, Ticket};
use crate::fatal;
use crate::process::current;
use crate::status::Status;
use midplane_device::interface::Device;
use midplane_objects::call::block_until;
use midplane_objects::coll::room;

/// The [`Call`] of this name.
macro_rules! call {
    ($name:ident, $mpi:literal) => {
        (
            called!("mpi::request::RequestCollection", $name, $mpi),
            $mpi,
        )
    };
}

/// The names of a call in Rust and of MPI's function.
type Call = (&'static str, &'static str);

/// Blocks until one of the requests is complete, and takes it out of the list: its place, and its status (MPI_Waitany,
/// MPI-3.1 section 3.7.5). `None`: there are none. Its error ends the job.
#[track_caller]
pub fn wait_any<'a, D: ?Sized, S: Scope<'a>>(
    requests: &mut Vec<Request<'a, D, S>>,
) -> Option<(usize, Status)> {
    // One at a time is looked at where it is kept: by its scope.
    let first = requests.first()?;
    if !first.is_complete() {
        let current = current()?;
        let env = fatal("mpi::request::wait_any (MPI_Waitany)", current.env());
        block_until(env, CallNote::of("MPI_Waitany"), || {
            let mut each = requests.iter();
            each.any(|request| request.look(|ticket| ticket.is_done(env)))
        });
    }
    let place = requests.iter().position(Request::is_complete)?;
    Some((place, requests.remove(place).wait()))
}

/// Requests that are completed together. The result of each names its place: the order in which it was added.
pub struct RequestCollection<'a, D: ?Sized> {
    /// `None`: it has been completed.
    requests: Vec<Option<(Ticket, *const D)>>,
    borrowed: PhantomData<(core::cell::Cell<&'a ()>, &'a D)>,
}

/// What completed requests have left: the place of each, its status and its buffer.
type Results<'a, D> = Vec<(usize, Status, &'a D)>;

impl<'a, D: ?Sized> RequestCollection<'a, D> {
    #[track_caller]
    fn new(reserve: usize) -> Self {
        RequestCollection {
            requests: fatal("RequestCollection", room(reserve)),
            borrowed: PhantomData,
        }
    }

    /// How many have not been completed.
    pub fn incomplete(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// Adds a request; its place. Ends the job when the heap has no room for it.
    #[track_caller]
    pub fn add<S: Scope<'a>>(&mut self, request: Request<'a, D, S>) -> usize {
        let bytes = size_of::<Ticket>();
        let room = self.requests.try_reserve(1);
        let room = room.map_err(|_| midplane_objects::Error::NoRoom { bytes });
        fatal("RequestCollection::add", room);
        let (ticket, data, _) = request.into_parts();
        self.requests.push(Some((ticket, data)));
        self.requests.len() - 1
    }

    fn open(&self) -> impl Iterator<Item = (usize, &Ticket)> + Clone {
        let requests = self.requests.iter().enumerate();
        requests.filter_map(|(place, request)| request.as_ref().map(|(ticket, _)| (place, ticket)))
    }

    /// Completes the request at this place.
    #[track_caller]
    fn complete(&mut self, (name, function): Call, place: usize) -> Option<(usize, Status, &'a D)> {
        let (ticket, data) = self.requests[place].take()?;
        let status = ticket.wait_or_end(name, function);
        // SAFETY: borrowed for `'a`, and the operation is over.
        Some((place, status, unsafe { &*data }))
    }

    /// Makes progress; the places of those that are complete.
    #[track_caller]
    fn done(&self, function: &'static str) -> Vec<usize> {
        let mut done = fatal(function, room(self.requests.len()));
        if let Some(current) = current() {
            let env = fatal(function, current.env());
            // The hook of collectives runs behind the step.
            env.advance(CallNote::of(function), None);
            let is_done = self.open().filter(|(_, ticket)| ticket.is_done(env));
            done.extend(is_done.map(|(place, _)| place));
        }
        done
    }

    #[track_caller]
    fn complete_all(
        &mut self,
        call: Call,
        places: impl Iterator<Item = usize>,
        result: &mut Results<'a, D>,
    ) {
        result.clear();
        for place in places {
            result.extend(self.complete(call, place));
        }
    }

    /// Blocks until one is complete, and completes it (MPI_Waitany). `None`: there is none left.
    #[track_caller]
    pub fn wait_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let place = Ticket::wait_any("MPI_Waitany", self.open())?;
        self.complete(call!(wait_any, "MPI_Waitany"), place)
    }

    /// Blocks until at least one is complete, and completes all that are (MPI_Waitsome). `result` has what they have
    /// left, and nothing else.
    #[track_caller]
    pub fn wait_some(&mut self, result: &mut Results<'a, D>) {
        Ticket::wait_any("MPI_Waitsome", self.open());
        self.test_some(result);
    }

    /// Blocks until all are complete, and completes them (MPI_Waitall). `result` has what they have left, and nothing
    /// else.
    #[track_caller]
    pub fn wait_all(&mut self, result: &mut Results<'a, D>) {
        let places = 0..self.requests.len();
        self.complete_all(call!(wait_all, "MPI_Waitall"), places, result);
    }

    /// Completes one that is complete (MPI_Testany). Does not block. `None`: none is.
    #[track_caller]
    pub fn test_any(&mut self) -> Option<(usize, Status, &'a D)> {
        let place = *self.done("MPI_Testany").first()?;
        self.complete(call!(test_any, "MPI_Testany"), place)
    }

    /// Completes all that are complete (MPI_Testsome). Does not block. `result` as for
    /// [`wait_some`](Self::wait_some).
    #[track_caller]
    pub fn test_some(&mut self, result: &mut Results<'a, D>) {
        let done = self.done("MPI_Testsome");
        self.complete_all(call!(test_some, "MPI_Testsome"), done.into_iter(), result);
    }

    /// Completes all if all are complete, and says so (MPI_Testall). Does not block.
    #[track_caller]
    pub fn test_all(&mut self, result: &mut Results<'a, D>) -> bool {
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

/// As [`scope`](super::scope()), with a collection of requests that has room for `reserve`. What is left in it at the end is
/// waited for, too.
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
