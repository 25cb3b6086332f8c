//! Destinations of messages.

use core::ops::Deref;

use super::persistent::{Persistent, PersistentSend};
use super::{Status, buffered, destination_at, record};
use crate::Tag;
use crate::datatype::Buffer;
use crate::datatype::operands::{borrow_whole, with_span};
use crate::recording::{Call, Fields};
use crate::request::{Request, Scope, TicketKind};
use crate::topology::{AsCommunicator, CommRecord, Context, Process, Rank};
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::comm::{CommRank, OutgoingData, Partners};
use midplane_objects::error::Error;

pub(super) struct SendContext<'r> {
    record: &'r CommRecord,
    partners: Partners<'r>,
}

/// Sends by `send`, which blocks until the buffer is reusable, in a call of `function`.
#[inline]
#[cfg_attr(feature = "options", track_caller)]
fn send(
    function: &'static str,
    to: &(impl Destination + ?Sized),
    buffer: &(impl Buffer + ?Sized),
    tag: Tag,
    send: impl FnOnce(SendContext<'_>, Span, CommRank) -> Result<(), Error>,
) -> Result<(), Error> {
    let record = record(to);
    let call = Call::enter(function, |fields| add_message(fields, to, buffer, tag));
    let sent = record
        .partners()
        .and_then(|partners| match destination_at(partners, to.destination_rank())? {
            None => Ok(()),
            Some(dest) => with_span(buffer, |span| send(SendContext { record, partners }, span, dest)),
        });
    call.end_with(sent, |_, _| {})
}

/// Adds the arguments of a send.
fn add_message(fields: &mut Fields, to: &(impl Destination + ?Sized), buffer: &(impl Buffer + ?Sized), tag: Tag) {
    fields
        .buffer(buffer)
        .envelope(to.destination_rank(), Some(tag))
        .communicator(record(to));
}

#[cfg_attr(feature = "options", track_caller)]
fn try_start<'a, Sc: Scope<'a>, B: Buffer + ?Sized>(
    function: &'static str,
    to: &(impl Destination + ?Sized),
    scope: Sc,
    buffer: &'a B,
    tag: Tag,
    begin: impl FnOnce(SendContext<'_>, Span, CommRank) -> Result<TicketKind, Error>,
) -> Result<Request<'a, B, Sc>, Error> {
    let record = record(to);
    let call = Call::enter(function, |fields| {
        add_message(fields, to, buffer, tag);
        fields.unknown(1);
    });
    let started = Request::lending(scope, borrow_whole(buffer), |span| {
        let partners = record.partners()?;
        match destination_at(partners, to.destination_rank())? {
            None => Ok(TicketKind::Done(Status::EMPTY)),
            Some(dest) => begin(SendContext { record, partners }, span, dest),
        }
    });
    call.end_with(started, Request::add_number)
}

impl SendContext<'_> {
    pub(super) fn start(
        self,
        function: &'static str,
        OutgoingData { data, dest, tag }: OutgoingData<Span>,
        mode: SendMode,
    ) -> Result<TicketKind, Error> {
        let id = self.partners.start_send(function, data, dest, tag, mode)?;
        Ok(match id {
            Some(id) => TicketKind::Send(self.record.clone(), id),
            None => TicketKind::Done(Status::EMPTY),
        })
    }

    /// Starts a buffered send through the attached buffer; its request is complete.
    pub(super) fn start_buffered(
        self,
        function: &'static str,
        OutgoingData { data, dest, tag }: OutgoingData<Span>,
    ) -> Result<TicketKind, Error> {
        buffered::send(self.record, function, data, dest, tag)?;
        Ok(TicketKind::Done(Status::EMPTY))
    }
}

impl<D: Destination, P: Deref<Target: Buffer>> Persistent for PersistentSend<D, P> {
    type Data = P::Target;

    #[cfg_attr(feature = "options", track_caller)]
    fn try_start<'s, Sc: Scope<'s>>(&'s mut self, scope: Sc) -> Result<Request<'s, P::Target, Sc>, Error> {
        let (mode, tag) = self.how;
        // Recorded as the nonblocking send that it is equal to.
        let function = match mode {
            Some(SendMode::Synchronous) => "MPI_Issend",
            Some(_) => "MPI_Isend",
            None => "MPI_Ibsend",
        };
        try_start(
            function,
            &self.end,
            scope,
            &*self.buffer,
            tag,
            |to, data, dest| match mode {
                Some(mode) => to.start("MPI_Start", OutgoingData { data, dest, tag }, mode),
                None => to.start_buffered("MPI_Start", OutgoingData { data, dest, tag }),
            },
        )
    }
}

/// Defines the calls of each send mode (MPI-3.1 section 3.4), one mode per row: blocking, nonblocking and persistent.
macro_rules! modes {
    ($(
        $(#[$doc:meta])*
        $send:ident, $send_tag:ident, $try_send_tag:ident, $mpi:literal
            = |$to:ident, $span:ident, $dest:ident, $tag:ident| $sends:expr;
        $(#[$immediate_doc:meta])*
        $start:ident, $start_tag:ident, $try_start_tag:ident, $immediate:literal
            = |$within:ident, $message:ident| $starts:expr;
        $(#[$init_doc:meta])*
        $init:ident, $init_tag:ident = $mode:expr;
    )*) => {$(
        #[doc = concat!("Calls [`Self::", stringify!($send_tag), "`] with the tag 0.")]
        #[track_caller]
        fn $send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
            self.$send_tag(buf, Tag::default());
        }

        #[doc = concat!("Calls [`Self::", stringify!($start_tag), "`] with the tag 0.")]
        #[track_caller]
        fn $start<'a, Sc: Scope<'a>, Buf: 'a + Buffer + ?Sized>(
            &self,
            scope: Sc,
            buf: &'a Buf,
        ) -> Request<'a, Buf, Sc> {
            self.$start_tag(scope, buf, Tag::default())
        }

        $(#[$init_doc])*
        fn $init_tag<P: Deref<Target: Buffer>>(&self, buf: P, tag: Tag) -> PersistentSend<Self, P>
        where
            Self: Copy,
        {
            PersistentSend::new(*self, ($mode, tag), buf)
        }

        #[doc = concat!("Calls [`Self::", stringify!($init_tag), "`] with the tag 0.")]
        fn $init<P: Deref<Target: Buffer>>(&self, buf: P) -> PersistentSend<Self, P>
        where
            Self: Copy,
        {
            self.$init_tag(buf, Tag::default())
        }

        ends_the_job! {
            "mpi::point_to_point::Destination", [fn(&self)], record(self).here;

            $(#[$doc])*
            $send_tag[Buf: Buffer + ?Sized](buf: &Buf, $tag: Tag), $mpi;
            #[doc = concat!("Returns the error of [`Self::", stringify!($send_tag), "`] as its result.")]
            or $try_send_tag = send($mpi, self, buf, $tag, |$to, $span, $dest| $sends);

            $(#[$immediate_doc])*
            $start_tag['a, Sc: Scope<'a>, Buf: 'a + Buffer + ?Sized]
                (scope: Sc, buf: &'a Buf, tag: Tag) -> Request<'a, Buf, Sc>, $immediate;
            #[doc = concat!("Returns the error of [`Self::", stringify!($start_tag), "`] as its result.")]
            or $try_start_tag = try_start($immediate, self, scope, buf, tag, |$within, data, dest| {
                let $message = OutgoingData { data, dest, tag };
                $starts
            });
        }
    )*};
}

/// Destination of messages: a [`Process`].
///
/// A send without `_with_tag` uses the tag 0.
///
/// # Errors
/// [`Error::Tag`] for a tag below 0, [`Error::TooLong`] for a message of more than 4294967295 bytes, and
/// [`Error::NoMemory`] when the program's heap has no space for a request. They abort the job; the `try_` forms return
/// them.
pub trait Destination: AsCommunicator {
    /// Returns the destination's rank, or -3 (MPI_PROC_NULL) for none.
    fn destination_rank(&self) -> Rank;

    modes! {
        /// Sends `buf`. Blocks until it is reusable, possibly before it is received (MPI_Send, MPI-3.1 section 3.2.1).
        send, send_with_tag, try_send_with_tag, "MPI_Send"
            = |to, span, dest, tag| to.partners.send_span("MPI_Send", span, dest, tag, SendMode::Standard);
        /// Starts a send (MPI_Isend, MPI-3.1 section 3.7.2). Its request completes when the buffer is reusable. Never
        /// waits for another process.
        immediate_send, immediate_send_with_tag, try_immediate_send_with_tag, "MPI_Isend"
            = |to, message| to.start("MPI_Isend", message, SendMode::Standard);
        /// Creates a persistent send (MPI_Send_init, MPI-3.1 section 3.9). Each
        /// [start](crate::point_to_point::Persistent) is an
        /// [`immediate_send_with_tag`](Destination::immediate_send_with_tag). Does not block and cannot fail: a tag
        /// below 0 aborts the job at the start.
        send_init, send_init_with_tag = Some(SendMode::Standard);

        /// Sends `buf` through the attached buffer ([`Universe::set_buffer_size`]) without blocking (MPI_Bsend, MPI-3.1
        /// section 3.4). Also returns [`Error::BufferFull`], or [`Error::Buffer`] without an attached buffer.
        ///
        /// [`Universe::set_buffer_size`]: crate::environment::Universe::set_buffer_size
        buffered_send, buffered_send_with_tag, try_buffered_send_with_tag, "MPI_Bsend"
            = |to, span, dest, tag| buffered::send(to.record, "MPI_Bsend", span, dest, tag);
        /// Nonblocking [`buffered_send_with_tag`](Destination::buffered_send_with_tag), whose request is complete
        /// immediately (MPI_Ibsend).
        immediate_buffered_send, immediate_buffered_send_with_tag,
            try_immediate_buffered_send_with_tag, "MPI_Ibsend"
            = |to, message| to.start_buffered("MPI_Ibsend", message);
        /// Creates a persistent [`immediate_buffered_send_with_tag`](Destination::immediate_buffered_send_with_tag)
        /// (MPI_Bsend_init); see [`send_init_with_tag`](Destination::send_init_with_tag).
        buffered_send_init, buffered_send_init_with_tag = None;

        /// Sends `buf`. Blocks until a receive has matched it (MPI_Ssend, MPI-3.1 section 3.4).
        synchronous_send, synchronous_send_with_tag, try_synchronous_send_with_tag, "MPI_Ssend"
            = |to, span, dest, tag| to.partners.send_span("MPI_Ssend", span, dest, tag, SendMode::Synchronous);
        /// Starts a synchronous send, whose request completes when a receive has matched the message (MPI_Issend).
        immediate_synchronous_send, immediate_synchronous_send_with_tag,
            try_immediate_synchronous_send_with_tag, "MPI_Issend"
            = |to, message| to.start("MPI_Issend", message, SendMode::Synchronous);
        /// Creates a persistent
        /// [`immediate_synchronous_send_with_tag`](Destination::immediate_synchronous_send_with_tag) (MPI_Ssend_init);
        /// see [`send_init_with_tag`](Destination::send_init_with_tag).
        synchronous_send_init, synchronous_send_init_with_tag = Some(SendMode::Synchronous);

        /// Sends `buf`, whose receive the program guarantees to be posted (MPI_Rsend, MPI-3.1 section 3.4). Without a
        /// posted receive it works like [`send_with_tag`](Destination::send_with_tag), so the function is not unsafe.
        ready_send, ready_send_with_tag, try_ready_send_with_tag, "MPI_Rsend"
            = |to, span, dest, tag| to.partners.send_span("MPI_Rsend", span, dest, tag, SendMode::Standard);
        /// Starts a send whose receive is posted by then (MPI_Irsend); see
        /// [`ready_send_with_tag`](Destination::ready_send_with_tag).
        immediate_ready_send, immediate_ready_send_with_tag,
            try_immediate_ready_send_with_tag, "MPI_Irsend"
            = |to, message| to.start("MPI_Irsend", message, SendMode::Standard);
        /// Creates a persistent [`immediate_ready_send_with_tag`](Destination::immediate_ready_send_with_tag)
        /// (MPI_Rsend_init); see [`send_init_with_tag`](Destination::send_init_with_tag).
        ready_send_init, ready_send_init_with_tag = Some(SendMode::Standard);
    }
}

impl<C: Context> Destination for Process<'_, C> {
    fn destination_rank(&self) -> Rank {
        self.rank()
    }
}
