//! Persistent requests: messages that are sent or received again and again with the same arguments (MPI-3.1 section 3.9).
#![forbid(unsafe_code)]

use core::ops::{Deref, DerefMut};

use crate::request::{LocalScope, Request, RequestCollection, Scope};
use crate::{Tag, fatal};
use midplane_device::request::Mode;
use midplane_objects::error::Error;

/// A message that can be started again and again.
///
/// It has its buffer: whatever leads to one, a `Vec`, a `Box`, a borrow. Each start borrows both for as long as the scope
/// of its request, so that the buffer is the program's between two scopes and only then:
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::traits::*;
///
/// /// Numbers go round once, from each process to its right neighbour, and come back to where they began.
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
/// While it is under way, its buffer cannot be read,
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
/// nor can it be started another time,
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
/// nor dropped with its buffer:
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
/// Freeing it is dropping it (MPI_Request_free).
pub trait Persistent {
    /// What the buffer is.
    type Data: ?Sized;

    /// Starts it (MPI_Start, MPI-3.1 section 3.9): from now on it is as the send or receive of its kind that does not
    /// block, and its request is completed in the same ways. Does not block. Ends the job as that does.
    #[track_caller]
    fn start<'s, Sc: Scope<'s>>(&'s mut self, scope: Sc) -> Request<'s, Self::Data, Sc> {
        let function = "mpi::point_to_point::Persistent::start (MPI_Start)";
        fatal(function, self.try_start(scope))
    }

    /// As [`start`](Persistent::start), with the error as its result: [`Error::Tag`], [`Error::TooLong`],
    /// [`Error::NoMemory`], [`Error::NoRoom`]; of a buffered send, [`Error::BufferFull`] or [`Error::Buffer`], too. Then
    /// nothing has been started, and it can be tried again.
    fn try_start<'s, Sc: Scope<'s>>(
        &'s mut self,
        scope: Sc,
    ) -> Result<Request<'s, Self::Data, Sc>, Error>;
}

/// A message that is [`Persistent`], to or from `E`: a [`PersistentSend`] or a [`PersistentReceive`].
#[derive(Debug)]
pub struct PersistentMessage<E, H, P> {
    pub(super) end: E,
    pub(super) how: H,
    pub(super) buffer: P,
}

/// A send that is [`Persistent`]: of [`send_init`](super::Destination::send_init) and its like. Without a mode it goes by way of the attached
/// buffer.
pub type PersistentSend<D, P> = PersistentMessage<D, (Option<Mode>, Tag), P>;

/// A receive that is [`Persistent`]: of [`receive_init`](super::Source::receive_init) and its like. Without a tag it takes any.
pub type PersistentReceive<S, P> = PersistentMessage<S, Option<Tag>, P>;

impl<E, H, P: Deref> PersistentMessage<E, H, P> {
    pub(super) fn new(end: E, how: H, buffer: P) -> Self {
        PersistentMessage { end, how, buffer }
    }

    /// The data that is sent, or has been received.
    pub fn buffer(&self) -> &P::Target {
        &self.buffer
    }

    /// The data that is sent, or has been received, for the program to change.
    pub fn buffer_mut(&mut self) -> &mut P::Target
    where
        P: DerefMut,
    {
        &mut self.buffer
    }
}

impl<'a, D: ?Sized> RequestCollection<'a, D> {
    /// Starts all of these, and adds their requests in the same order (MPI_Startall, MPI-3.1 section 3.9). Does not block.
    /// Ends the job as [`Persistent::start`], and when the heap has no room for a request.
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
