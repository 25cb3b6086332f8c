//! Lending the program's slices to nonblocking calls: scopes. Blocking calls borrow theirs in
//! `mpi/lend.rs`.
//!
//! A span is an address that the device copies from or to until its request has finished; the borrow
//! checker does not see that. A [`Scope`] ends only after every request that was started in it has finished, as
//! [`std::thread::scope`](https://doc.rust-lang.org/std/thread/fn.scope.html) does for threads. That rests on
//! one promise of the carrier: if a call is left by unwinding (a panic on a host; a node does
//! not unwind), the device is never driven again.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::marker::PhantomData;
use core::ptr::NonNull;

use bytemuck::cast_slice;

use crate::NoMemory;
use crate::device::envelope::Tag;
use crate::device::kernel::CallNote;
use crate::device::memory::Span;
use crate::device::request::{Mode, RequestId};
use crate::mpi::call::look;
use crate::mpi::comm::{CommRank, Communicator, Status, wait, wait_cancelled};
use crate::mpi::datatype::Datatype;
use crate::mpi::error::Error;

impl Communicator<'_> {
    /// Opens a scope in which nonblocking sends and receives may borrow everything that outlives it.
    ///
    /// Blocks at the scope's end until every request that was started in it has finished. The result is
    /// `program`'s, or the first error of a request that the program did not wait for itself.
    ///
    /// ```
    /// use mpi_adi::{Communicator, Error};
    ///
    /// /// Every process gives its right neighbour a number and gets one from the left.
    /// fn shift(world: Communicator<'_>, mine: u32) -> Result<u32, Error> {
    ///     let right = (world.rank() + 1) % world.size();
    ///     let left = (world.rank() + world.size() - 1) % world.size();
    ///     let (out, mut got) = ([mine], [0]);
    ///     world.scope(|scope| {
    ///         scope.irecv(&mut got, left, 0)?;
    ///         scope.isend(&out, right, 0)?;
    ///         Ok::<_, Error>(())
    ///     })??;
    ///     Ok(got[0])
    /// }
    /// ```
    pub fn scope<'env, R>(
        &'env self,
        program: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> Result<R, Error> {
        let scope = Scope {
            comm: *self,
            open: RefCell::new(Open {
                requests: Vec::new(),
                free: None,
            }),
            scope: PhantomData,
            env: PhantomData,
        };
        let result = program(&scope);
        scope.finish()?;
        Ok(result)
    }
}

/// See [`Communicator::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    comm: Communicator<'env>,
    open: RefCell<Open>,
    // Invariant in both, as `std::thread::Scope` is: a longer or a shorter scope is another scope.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The requests that have not been waited for. Places are used again, so that memory grows with the
/// requests under way, not with all that ever were.
struct Open {
    requests: Vec<Entry>,
    free: Option<usize>,
}

enum Entry {
    Free { next: Option<usize> },
    Send(RequestId),
    Receive(RequestId),
}

impl Open {
    /// Makes sure that the next [`Open::add`] needs no memory.
    fn prepare(&mut self) -> Result<(), Error> {
        if self.free.is_none() {
            let live = self.requests.len() as u32;
            self.requests
                .try_reserve(1)
                .map_err(|_| NoMemory::Requests { live })?;
        }
        Ok(())
    }

    fn add(&mut self, entry: Entry) -> usize {
        match self.free {
            Some(at) => {
                if let Entry::Free { next } = core::mem::replace(&mut self.requests[at], entry) {
                    self.free = next;
                }
                at
            }
            None => {
                self.requests.push(entry);
                self.requests.len() - 1
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.requests[at] = Entry::Free { next: self.free };
        self.free = Some(at);
    }
}

const SCOPE_END: CallNote = CallNote::of("MPI_Waitall");

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a send (MPI_Isend). Does not block, and never waits for another process. Fails with
    /// [`Error::Rank`], [`Error::Tag`], [`Error::TooLong`] or [`Error::NoMemory`].
    pub fn isend<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        dest: u32,
        tag: Tag,
    ) -> Result<SendRequest<'scope, 'env>, Error> {
        self.start_send("MPI_Isend", cast_slice(data), dest, tag, Mode::Standard)
    }

    /// As [`Scope::isend`], but the request finishes only when a receive has matched it (MPI_Issend).
    pub fn issend<T: Datatype>(
        &'scope self,
        data: &'scope [T],
        dest: u32,
        tag: Tag,
    ) -> Result<SendRequest<'scope, 'env>, Error> {
        self.start_send("MPI_Issend", cast_slice(data), dest, tag, Mode::Synchronous)
    }

    fn start_send(
        &'scope self,
        function: &'static str,
        bytes: &'scope [u8],
        dest: u32,
        tag: Tag,
        mode: Mode,
    ) -> Result<SendRequest<'scope, 'env>, Error> {
        let mut open = self.open.borrow_mut();
        open.prepare()?;
        // SAFETY: `bytes` is borrowed for the scope, and `Scope::finish` waits for the request before the
        // scope is over; `Communicator::scope` leaves only through it, or by unwinding (see the module).
        let span = unsafe { Span::new(bytes.as_ptr(), bytes.len()) };
        let id = self
            .comm
            .partners()
            .start_send(function, span, CommRank(dest), tag, mode)?;
        Ok(SendRequest {
            scope: self,
            id,
            at: open.add(Entry::Send(id)),
        })
    }

    /// Starts a receive (MPI_Irecv) of a message from `source` with `tag`, either of which may be a
    /// wildcard. Does not block. Fails with [`Error::Rank`], [`Error::Tag`] or [`Error::NoMemory`].
    pub fn irecv<T: Datatype>(
        &'scope self,
        buffer: &'scope mut [T],
        source: impl Into<crate::slices::api::Source>,
        tag: impl Into<crate::slices::api::TagSelector>,
    ) -> Result<RecvRequest<'scope, 'env, T>, Error> {
        let mut open = self.open.borrow_mut();
        open.prepare()?;
        let bytes = size_of_val(buffer);
        let buffer = NonNull::from(buffer);
        // SAFETY: as in `start_send`; the borrow is exclusive, and the buffer is not looked at again before
        // `RecvRequest::wait` or the end of the scope.
        let span = unsafe { Span::new(buffer.as_ptr().cast::<u8>().cast_const(), bytes) };
        let id = self.comm.partners().start_recv(
            "MPI_Irecv",
            span,
            source.into().rank(),
            tag.into().tag(),
        )?;
        Ok(RecvRequest {
            scope: self,
            id,
            at: open.add(Entry::Receive(id)),
            buffer,
            exclusive: PhantomData,
        })
    }

    /// Waits for everything still open.
    fn finish(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for entry in self.open.borrow_mut().requests.drain(..) {
            let ended = match entry {
                Entry::Free { .. } => continue,
                Entry::Send(id) => {
                    wait(self.comm.env, SCOPE_END, id);
                    Ok(())
                }
                Entry::Receive(id) => self
                    .comm
                    .partners()
                    .received(wait(self.comm.env, SCOPE_END, id))
                    .map(|_| ()),
            };
            result = result.and(ended);
        }
        result
    }

    fn is_done(&self, function: &'static str, id: RequestId) -> bool {
        let note = CallNote::of(function);
        look(self.comm.env, note, |adi, _| adi.is_done(id))
    }
}

/// A send under way. Dropping it leaves it to the scope's end.
#[must_use = "wait for it here, or drop it to leave that to the end of the scope"]
pub struct SendRequest<'scope, 'env: 'scope> {
    scope: &'scope Scope<'scope, 'env>,
    id: RequestId,
    at: usize,
}

impl SendRequest<'_, '_> {
    /// Blocks until the data may be changed again (MPI_Wait). Cannot fail.
    pub fn wait(self) {
        wait(self.scope.comm.env, CallNote::of("MPI_Wait"), self.id);
        self.scope.open.borrow_mut().remove(self.at);
    }

    /// Takes the message back if no receive has matched it and its data has not left (MPI_Cancel); true: it
    /// was taken back. Blocks until that is known or, if it is too late, until the data may be changed
    /// again; neither takes a call of the receiver's.
    pub fn cancel(self) -> bool {
        let note = CallNote::of("MPI_Cancel");
        let outcome = wait_cancelled(self.scope.comm.env, note, self.id);
        self.scope.open.borrow_mut().remove(self.at);
        outcome.cancelled
    }

    /// Makes progress and says whether [`SendRequest::wait`] would return at once (MPI_Test). Does not
    /// block.
    pub fn is_done(&self) -> bool {
        self.scope.is_done("MPI_Test", self.id)
    }
}

/// A receive under way. Dropping it leaves it to the scope's end.
#[must_use = "wait for it here, or drop it to leave that to the end of the scope"]
pub struct RecvRequest<'scope, 'env: 'scope, T> {
    scope: &'scope Scope<'scope, 'env>,
    id: RequestId,
    at: usize,
    buffer: NonNull<[T]>,
    exclusive: PhantomData<&'scope mut [T]>,
}

impl<'scope, T: Datatype> RecvRequest<'scope, '_, T> {
    /// Blocks until the message is there (MPI_Wait), and gives the buffer back with what came. Fails with
    /// [`Error::Truncated`].
    pub fn wait(self) -> Result<(Status, &'scope mut [T]), Error> {
        let note = CallNote::of("MPI_Wait");
        let outcome = wait(self.scope.comm.env, note, self.id);
        let received = self.scope.comm.partners().received(outcome);
        self.give_back(received)
    }

    /// Takes the receive back if no message has matched it (MPI_Cancel); otherwise blocks until that
    /// message is there, as [`RecvRequest::wait`] does. `None` in place of the status: cancelled.
    pub fn cancel(self) -> Result<(Option<Status>, &'scope mut [T]), Error> {
        let note = CallNote::of("MPI_Cancel");
        let outcome = wait_cancelled(self.scope.comm.env, note, self.id);
        if outcome.cancelled {
            let (_, buffer) = self.give_back(Ok(()))?;
            return Ok((None, buffer));
        }
        let received = self.scope.comm.partners().received(outcome);
        let (status, buffer) = self.give_back(received)?;
        Ok((Some(status), buffer))
    }

    fn give_back<S>(mut self, result: Result<S, Error>) -> Result<(S, &'scope mut [T]), Error> {
        self.scope.open.borrow_mut().remove(self.at);
        let status = result?;
        // SAFETY: made from a `&'scope mut [T]` that this request alone has held, and the device has
        // finished with it.
        Ok((status, unsafe { self.buffer.as_mut() }))
    }

    /// Makes progress and says whether [`RecvRequest::wait`] would return at once (MPI_Test). Does not
    /// block.
    pub fn is_done(&self) -> bool {
        self.scope.is_done("MPI_Test", self.id)
    }
}
