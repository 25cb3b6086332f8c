//! Persistent requests: repeated messages with the same arguments (MPI-3.1 section 3.9).
#![forbid(unsafe_code)]

use core::ops::{Deref, DerefMut};

use crate::request::{LocalScope, Request, RequestCollection, Scope};
use crate::{Tag, fatal};
use midplane_device::request::SendMode;
use midplane_objects::error::Error;

/// A message that can be started repeatedly.
///
/// It owns a pointer to its buffer: a `Vec`, a `Box` or a reference. Each start borrows both for the scope of its
/// request, so that the program can access the buffer only between two scopes:
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::traits::*;
///
/// /// Passes numbers once around a ring: each process sends to its right neighbour.
/// fn go_round(world: &impl Communicator, mine: u64) -> u64 {
///     let (rank, size) = (world.rank(), world.size());
///     let mut send = world.process_at_rank((rank + 1) % size).send_init(Box::new(mine));
///     let mut receive = world.process_at_rank((rank + size - 1) % size).receive_init(Box::new(0));
///     for _ in 0..size {
///         mpi::request::scope(|scope| {
///             let got = receive.start(scope);
///             send.start(scope).wait();
///             got.wait();
///         });
///         *send.buffer_mut() = *receive.buffer();
///     }
///     *send.buffer()
/// }
/// ```
///
/// During the operation its buffer cannot be read,
///
/// ```compile_fail,E0502
/// # use midplane_rust as mpi;
/// # use mpi::traits::*;
/// # fn peek(world: &impl Communicator) {
/// let mut receive = world.any_process().receive_init(Box::new(0u64));
/// mpi::request::scope(|scope| {
///     let request = receive.start(scope);
///     assert_eq!(*receive.buffer(), 0);
///     request.wait();
/// });
/// # }
/// ```
///
/// it cannot be started again,
///
/// ```compile_fail,E0499
/// # use midplane_rust as mpi;
/// # use mpi::traits::*;
/// # fn twice(world: &impl Communicator) {
/// let mut send = world.process_at_rank(0).send_init(Box::new(5u64));
/// mpi::request::scope(|scope| {
///     let first = send.start(scope);
///     let second = send.start(scope);
///     first.wait();
///     second.wait();
/// });
/// # }
/// ```
///
/// and it cannot be dropped with its buffer:
///
/// ```compile_fail,E0505
/// # use midplane_rust as mpi;
/// # use mpi::traits::*;
/// # fn ends(world: &impl Communicator) {
/// let mut send = world.process_at_rank(0).send_init(vec![5u64; 9]);
/// mpi::request::scope(|scope| {
///     let request = send.start(scope);
///     drop(send);
///     request.wait();
/// });
/// # }
/// ```
///
/// Its drop frees it (MPI_Request_free).
pub trait Persistent {
    /// Type of the buffer.
    type Data: ?Sized;

    /// Starts the message (MPI_Start, MPI-3.1 section 3.9). It works like the nonblocking send or receive of its kind,
    /// and its request is completed in the same ways. Does not block. Aborts the job on an error.
    #[track_caller]
    fn start<'s, Sc: Scope<'s>>(&'s mut self, scope: Sc) -> Request<'s, Self::Data, Sc> {
        let function = "mpi::point_to_point::Persistent::start (MPI_Start)";
        fatal(function, self.try_start(scope))
    }

    /// Starts the message, or returns its error; it can be started again then.
    ///
    /// # Errors
    /// [`Error::Tag`], [`Error::TooLong`], [`Error::NoMemory`], [`Error::NoSpace`]; for a buffered send also
    /// [`Error::BufferFull`] or [`Error::Buffer`].
    #[cfg_attr(feature = "options", track_caller)]
    fn try_start<'s, Sc: Scope<'s>>(&'s mut self, scope: Sc) -> Result<Request<'s, Self::Data, Sc>, Error>;
}

/// A [`Persistent`] message, to or from `E`: a [`PersistentSend`] or a [`PersistentReceive`].
#[derive(Debug)]
pub struct PersistentMessage<E, H, P> {
    pub(super) end: E,
    pub(super) how: H,
    pub(super) buffer: P,
}

/// A [`Persistent`] send, created by [`send_init`](super::Destination::send_init) or a similar call. Without a mode it
/// uses the attached buffer.
pub type PersistentSend<D, P> = PersistentMessage<D, (Option<SendMode>, Tag), P>;

/// A [`Persistent`] receive, created by [`receive_init`](super::Source::receive_init) or a similar call. Without a tag
/// it matches any.
pub type PersistentReceive<S, P> = PersistentMessage<S, Option<Tag>, P>;

impl<E, H, P: Deref> PersistentMessage<E, H, P> {
    pub(super) fn new(end: E, how: H, buffer: P) -> Self {
        PersistentMessage { end, how, buffer }
    }

    /// Returns the sent or received data.
    pub fn buffer(&self) -> &P::Target {
        &self.buffer
    }

    /// Returns the sent or received data for updates.
    pub fn buffer_mut(&mut self) -> &mut P::Target
    where
        P: DerefMut,
    {
        &mut self.buffer
    }
}

impl<'a, D: ?Sized> RequestCollection<'a, D> {
    /// Starts all messages, and adds their requests in the same order (MPI_Startall, MPI-3.1 section 3.9). Does not
    /// block. Aborts the job like [`Persistent::start`], and when the heap has no space for a request.
    #[track_caller]
    pub fn start_all<R: Persistent<Data = D> + 'a>(
        &mut self,
        scope: &LocalScope<'a>,
        requests: impl IntoIterator<Item = &'a mut R>,
    ) {
        for request in requests {
            self.add(request.start(scope));
        }
    }
}
