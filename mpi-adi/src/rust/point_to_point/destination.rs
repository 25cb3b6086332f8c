//! Where messages go to.

use core::ops::Deref;

use super::buffered;
use super::{Peer, PersistentSend, peer, record};
use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::comm::{CommRank, Partners};
use crate::mpi::error::Error;
use crate::rust::Tag;
use crate::rust::datatype::Buffer;
use crate::rust::datatype::lent::{Loan, lend};
use crate::rust::request::{Request, Scope, Ticket, What};
use crate::rust::topology::{AsCommunicator, Context, Process, Rank};

use super::Status;

const NO_DESTINATION: Error = Error::Rank {
    rank: super::ANY_SOURCE as i64,
    size: 0,
};

/// The process to send to; `None`: MPI_PROC_NULL.
fn destination(partners: Partners<'_>, rank: Rank) -> Result<Option<CommRank>, Error> {
    match peer(partners, rank)? {
        Peer::Null => Ok(None),
        Peer::Rank(rank) => Ok(Some(rank)),
        Peer::Any => Err(NO_DESTINATION),
    }
}

/// Sends; blocks until the buffer may be used again.
fn send<D, B>(
    to: &D,
    (function, mode): (&'static str, Mode),
    buffer: &B,
    tag: Tag,
) -> Result<(), Error>
where
    D: Destination + ?Sized,
    B: Buffer + ?Sized,
{
    let partners = record(to).partners()?;
    match destination(partners, to.destination_rank())? {
        None => Ok(()),
        Some(dest) => lend(buffer, |span| {
            partners.send_span(function, span, dest, tag, mode)
        }),
    }
}

#[track_caller]
fn or_fatal<D: Destination + ?Sized, R>(
    to: &D,
    function: &'static str,
    result: Result<R, Error>,
) -> R {
    record(to).here.or_fatal(function, result)
}

#[track_caller]
pub(super) fn start<'a, D, Sc, B>(
    to: &D,
    name: &'static str,
    what: (&'static str, Option<Mode>),
    scope: Sc,
    buffer: &'a B,
    tag: Tag,
) -> Request<'a, B, Sc>
where
    D: Destination + ?Sized,
    B: Buffer + ?Sized,
    Sc: Scope<'a>,
{
    or_fatal(to, name, try_start(to, what, scope, buffer, tag))
}

pub(super) fn try_start<'a, D, Sc, B>(
    to: &D,
    (function, mode): (&'static str, Option<Mode>),
    scope: Sc,
    buffer: &'a B,
    tag: Tag,
) -> Result<Request<'a, B, Sc>, Error>
where
    D: Destination + ?Sized,
    B: Buffer + ?Sized,
    Sc: Scope<'a>,
{
    let record = record(to);
    let begin = |span: Span| -> Result<What, Error> {
        let partners = record.partners()?;
        let Some(dest) = destination(partners, to.destination_rank())? else {
            return Ok(What::Over(Status::EMPTY));
        };
        let Some(mode) = mode else {
            buffered::send(record, function, span, dest, tag)?;
            return Ok(What::Over(Status::EMPTY));
        };
        let id = partners.start_send(function, span, dest, tag, mode)?;
        Ok(What::Send(record.clone(), id))
    };
    // SAFETY: the request, and so the loan, borrows the buffer for `'a`; nothing writes it meanwhile.
    unsafe {
        Request::start(scope, buffer, || {
            let loan = Loan::reading(buffer)?;
            Ok(Ticket::new(begin(loan.span())?, loan))
        })
    }
}

/// What messages go to: a [`Process`].
///
/// A send without `_with_tag` has the tag 0. All of them end the job for a tag below 0, a message of more than 4294967295
/// bytes, and when the program's heap has no room for a request; the forms with `try_` fail with [`Error::Tag`],
/// [`Error::TooLong`] and [`Error::NoMemory`].
pub trait Destination: AsCommunicator {
    /// The rank that messages go to; -1 (MPI_PROC_NULL): none.
    fn destination_rank(&self) -> Rank;

    /// Sends `buf`; blocks until it may be changed again, which may be before it is received (MPI_Send, MPI-3.1 section
    /// 3.2.1).
    #[track_caller]
    fn send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        or_fatal(
            self,
            "mpi::point_to_point::Destination::send_with_tag (MPI_Send)",
            self.try_send_with_tag(buf, tag),
        );
    }

    /// As [`send_with_tag`](Destination::send_with_tag), with the error as its result.
    fn try_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) -> Result<(), Error> {
        send(self, ("MPI_Send", Mode::Standard), buf, tag)
    }

    /// As [`send_with_tag`](Destination::send_with_tag), with the tag 0.
    #[track_caller]
    fn send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.send_with_tag(buf, Tag::default());
    }

    /// Sends `buf` by way of the attached buffer ([`Universe::set_buffer_size`]); does not block (MPI_Bsend, MPI-3.1
    /// section 3.4). Ends the job when the message does not fit there, too.
    ///
    /// [`Universe::set_buffer_size`]: crate::rust::environment::Universe::set_buffer_size
    #[track_caller]
    fn buffered_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        or_fatal(
            self,
            "mpi::point_to_point::Destination::buffered_send_with_tag (MPI_Bsend)",
            self.try_buffered_send_with_tag(buf, tag),
        );
    }

    /// As [`buffered_send_with_tag`](Destination::buffered_send_with_tag), with the error as its result:
    /// [`Error::BufferFull`], or [`Error::Buffer`] when none is attached, too.
    fn try_buffered_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), Error> {
        let record = record(self);
        let partners = record.partners()?;
        match destination(partners, self.destination_rank())? {
            None => Ok(()),
            Some(dest) => lend(buf, |span| {
                buffered::send(record, "MPI_Bsend", span, dest, tag)
            }),
        }
    }

    /// As [`buffered_send_with_tag`](Destination::buffered_send_with_tag), with the tag 0.
    #[track_caller]
    fn buffered_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.buffered_send_with_tag(buf, Tag::default());
    }

    /// Sends `buf`; blocks until a receive has matched it (MPI_Ssend, MPI-3.1 section 3.4).
    #[track_caller]
    fn synchronous_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        or_fatal(
            self,
            "mpi::point_to_point::Destination::synchronous_send_with_tag (MPI_Ssend)",
            self.try_synchronous_send_with_tag(buf, tag),
        );
    }

    /// As [`synchronous_send_with_tag`](Destination::synchronous_send_with_tag), with the error as its result.
    fn try_synchronous_send_with_tag<Buf: Buffer + ?Sized>(
        &self,
        buf: &Buf,
        tag: Tag,
    ) -> Result<(), Error> {
        send(self, ("MPI_Ssend", Mode::Synchronous), buf, tag)
    }

    /// As [`synchronous_send_with_tag`](Destination::synchronous_send_with_tag), with the tag 0.
    #[track_caller]
    fn synchronous_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.synchronous_send_with_tag(buf, Tag::default());
    }

    /// As [`send_with_tag`](Destination::send_with_tag), by a program that knows that the receive has been started
    /// (MPI_Rsend, MPI-3.1 section 3.4). Where it has not, the message is sent all the same; so this is no unsafe
    /// function.
    #[track_caller]
    fn ready_send_with_tag<Buf: Buffer + ?Sized>(&self, buf: &Buf, tag: Tag) {
        or_fatal(
            self,
            "mpi::point_to_point::Destination::ready_send_with_tag (MPI_Rsend)",
            send(self, ("MPI_Rsend", Mode::Standard), buf, tag),
        );
    }

    /// As [`ready_send_with_tag`](Destination::ready_send_with_tag), with the tag 0.
    #[track_caller]
    fn ready_send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
        self.ready_send_with_tag(buf, Tag::default());
    }

    /// Starts a send; the request is complete when the buffer may be changed again (MPI_Isend, MPI-3.1 section 3.7.2).
    /// Does not block, and never waits for another process.
    #[track_caller]
    fn immediate_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_send_with_tag(scope, buf, tag);
        or_fatal(
            self,
            "mpi::point_to_point::Destination::immediate_send_with_tag (MPI_Isend)",
            request,
        )
    }

    /// As [`immediate_send_with_tag`](Self::immediate_send_with_tag), with the error as its result.
    fn try_immediate_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Result<Request<'a, Buf, Sc>, Error>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        try_start(self, ("MPI_Isend", Some(Mode::Standard)), scope, buf, tag)
    }

    /// As [`immediate_send_with_tag`](Destination::immediate_send_with_tag), with the tag 0.
    #[track_caller]
    fn immediate_send<'a, Sc, Buf>(&self, scope: Sc, buf: &'a Buf) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_send_with_tag(scope, buf, Tag::default())
    }

    /// As [`buffered_send_with_tag`](Destination::buffered_send_with_tag); the request is complete at once
    /// (MPI_Ibsend).
    #[track_caller]
    fn immediate_buffered_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_buffered_send_with_tag(scope, buf, tag);
        or_fatal(
            self,
            "mpi::point_to_point::Destination::immediate_buffered_send_with_tag (MPI_Ibsend)",
            request,
        )
    }

    /// As [`immediate_buffered_send_with_tag`](Self::immediate_buffered_send_with_tag), with the error as its result.
    fn try_immediate_buffered_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Result<Request<'a, Buf, Sc>, Error>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        try_start(self, ("MPI_Ibsend", None), scope, buf, tag)
    }

    /// As [`immediate_buffered_send_with_tag`](Destination::immediate_buffered_send_with_tag), with the tag 0.
    #[track_caller]
    fn immediate_buffered_send<'a, Sc, Buf>(&self, scope: Sc, buf: &'a Buf) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_buffered_send_with_tag(scope, buf, Tag::default())
    }

    /// As [`immediate_send_with_tag`](Destination::immediate_send_with_tag), but the request is complete only when a
    /// receive has matched the message (MPI_Issend).
    #[track_caller]
    fn immediate_synchronous_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_synchronous_send_with_tag(scope, buf, tag);
        or_fatal(
            self,
            "mpi::point_to_point::Destination::immediate_synchronous_send_with_tag (MPI_Issend)",
            request,
        )
    }

    /// As [`immediate_synchronous_send_with_tag`](Self::immediate_synchronous_send_with_tag), with the error as its result.
    fn try_immediate_synchronous_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Result<Request<'a, Buf, Sc>, Error>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        try_start(
            self,
            ("MPI_Issend", Some(Mode::Synchronous)),
            scope,
            buf,
            tag,
        )
    }

    /// As [`immediate_synchronous_send_with_tag`](Destination::immediate_synchronous_send_with_tag), with the tag 0.
    #[track_caller]
    fn immediate_synchronous_send<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_synchronous_send_with_tag(scope, buf, Tag::default())
    }

    /// As [`immediate_send_with_tag`](Destination::immediate_send_with_tag), by a program that knows that the receive has
    /// been started (MPI_Irsend); see [`ready_send_with_tag`](Destination::ready_send_with_tag).
    #[track_caller]
    fn immediate_ready_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_ready_send_with_tag(scope, buf, tag);
        or_fatal(
            self,
            "mpi::point_to_point::Destination::immediate_ready_send_with_tag (MPI_Irsend)",
            request,
        )
    }

    /// As [`immediate_ready_send_with_tag`](Self::immediate_ready_send_with_tag), with the error as its result.
    fn try_immediate_ready_send_with_tag<'a, Sc, Buf>(
        &self,
        scope: Sc,
        buf: &'a Buf,
        tag: Tag,
    ) -> Result<Request<'a, Buf, Sc>, Error>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        try_start(self, ("MPI_Irsend", Some(Mode::Standard)), scope, buf, tag)
    }

    /// As [`immediate_ready_send_with_tag`](Destination::immediate_ready_send_with_tag), with the tag 0.
    #[track_caller]
    fn immediate_ready_send<'a, Sc, Buf>(&self, scope: Sc, buf: &'a Buf) -> Request<'a, Buf, Sc>
    where
        Buf: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        self.immediate_ready_send_with_tag(scope, buf, Tag::default())
    }

    /// A send that can be [started](crate::rust::point_to_point::Persistent) again and again, each time as
    /// [`immediate_send_with_tag`](Destination::immediate_send_with_tag) (MPI_Send_init, MPI-3.1 section 3.9). Does not
    /// block, and cannot fail: a tag below 0 ends the job at the start.
    fn send_init_with_tag<P>(&self, buf: P, tag: Tag) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        PersistentSend::new(*self, Some(Mode::Standard), buf, tag)
    }

    /// As [`send_init_with_tag`](Destination::send_init_with_tag), with the tag 0.
    fn send_init<P>(&self, buf: P) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        self.send_init_with_tag(buf, Tag::default())
    }

    /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
    /// [`immediate_synchronous_send_with_tag`](Destination::immediate_synchronous_send_with_tag) (MPI_Ssend_init).
    fn synchronous_send_init_with_tag<P>(&self, buf: P, tag: Tag) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        PersistentSend::new(*self, Some(Mode::Synchronous), buf, tag)
    }

    /// As [`synchronous_send_init_with_tag`](Destination::synchronous_send_init_with_tag), with the tag 0.
    fn synchronous_send_init<P>(&self, buf: P) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        self.synchronous_send_init_with_tag(buf, Tag::default())
    }

    /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
    /// [`immediate_buffered_send_with_tag`](Destination::immediate_buffered_send_with_tag) (MPI_Bsend_init).
    fn buffered_send_init_with_tag<P>(&self, buf: P, tag: Tag) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        PersistentSend::new(*self, None, buf, tag)
    }

    /// As [`buffered_send_init_with_tag`](Destination::buffered_send_init_with_tag), with the tag 0.
    fn buffered_send_init<P>(&self, buf: P) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        self.buffered_send_init_with_tag(buf, Tag::default())
    }

    /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
    /// [`immediate_ready_send_with_tag`](Destination::immediate_ready_send_with_tag) (MPI_Rsend_init).
    fn ready_send_init_with_tag<P>(&self, buf: P, tag: Tag) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        PersistentSend::new(*self, Some(Mode::Standard), buf, tag)
    }

    /// As [`ready_send_init_with_tag`](Destination::ready_send_init_with_tag), with the tag 0.
    fn ready_send_init<P>(&self, buf: P) -> PersistentSend<Self, P>
    where
        Self: Copy,
        P: Deref<Target: Buffer>,
    {
        self.ready_send_init_with_tag(buf, Tag::default())
    }
}

impl<C: Context> Destination for Process<'_, C> {
    fn destination_rank(&self) -> Rank {
        self.rank()
    }
}
