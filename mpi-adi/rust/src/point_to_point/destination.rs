//! Where messages go to.

use alloc::rc::Rc;
use core::ops::Deref;

use super::persistent::{Persistent, PersistentSend};
use super::{Status, buffered, destination_at, record};
use crate::Tag;
use crate::datatype::Buffer;
use crate::datatype::lent::{lend, whole};
use crate::request::{Request, Scope, What};
use crate::topology::{AsCommunicator, Context, Process, Rank, Record};
use midplane_device::memory::Span;
use midplane_device::request::Mode;
use midplane_objects::comm::{CommRank, Partners};
use midplane_objects::error::Error;

/// What a message is sent within.
pub(super) struct Within<'r> {
    record: &'r Rc<Record>,
    partners: Partners<'r>,
}

/// Sends by `send`, which blocks until the buffer may be used again.
#[inline]
fn send(
    to: &(impl Destination + ?Sized),
    buffer: &(impl Buffer + ?Sized),
    send: impl FnOnce(Within<'_>, Span, CommRank) -> Result<(), Error>,
) -> Result<(), Error> {
    let record = record(to);
    let partners = record.partners()?;
    match destination_at(partners, to.destination_rank())? {
        None => Ok(()),
        Some(dest) => lend(buffer, |span| send(Within { record, partners }, span, dest)),
    }
}

/// Starts a send by `begin`.
fn try_start<'a, Sc: Scope<'a>, B: Buffer + ?Sized>(
    to: &(impl Destination + ?Sized),
    scope: Sc,
    buffer: &'a B,
    begin: impl FnOnce(Within<'_>, Span, CommRank) -> Result<What, Error>,
) -> Result<Request<'a, B, Sc>, Error> {
    let record = record(to);
    Request::lending(scope, whole(buffer), |span| {
        let partners = record.partners()?;
        match destination_at(partners, to.destination_rank())? {
            None => Ok(What::Over(Status::EMPTY)),
            Some(dest) => begin(Within { record, partners }, span, dest),
        }
    })
}

impl Within<'_> {
    /// Starts a send of the device's own.
    pub(super) fn start(
        self,
        function: &'static str,
        (span, dest, tag): (Span, CommRank, Tag),
        mode: Mode,
    ) -> Result<What, Error> {
        let id = self.partners.start_send(function, span, dest, tag, mode)?;
        Ok(match id {
            Some(id) => What::Send(self.record.clone(), id),
            None => What::Over(Status::EMPTY),
        })
    }

    /// Sends by way of the attached buffer: it is over at once.
    pub(super) fn start_buffered(
        self,
        function: &'static str,
        (span, dest, tag): (Span, CommRank, Tag),
    ) -> Result<What, Error> {
        buffered::send(self.record, function, span, dest, tag)?;
        Ok(What::Over(Status::EMPTY))
    }
}

impl<D: Destination, P: Deref<Target: Buffer>> Persistent for PersistentSend<D, P> {
    type Data = P::Target;

    fn try_start<'s, Sc: Scope<'s>>(
        &'s mut self,
        scope: Sc,
    ) -> Result<Request<'s, P::Target, Sc>, Error> {
        let (mode, tag) = self.how;
        try_start(
            &self.end,
            scope,
            &*self.buffer,
            |to, span, dest| match mode {
                Some(mode) => to.start("MPI_Start", (span, dest, tag), mode),
                None => to.start_buffered("MPI_Start", (span, dest, tag)),
            },
        )
    }
}

/// The calls of each mode of sends (MPI-3.1 section 3.4), by a row: blocking, nonblocking and persistent ones.
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
        #[doc = concat!("As [`Self::", stringify!($send_tag), "`], with the tag 0.")]
        #[track_caller]
        fn $send<Buf: Buffer + ?Sized>(&self, buf: &Buf) {
            self.$send_tag(buf, Tag::default());
        }

        #[doc = concat!("As [`Self::", stringify!($start_tag), "`], with the tag 0.")]
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

        #[doc = concat!("As [`Self::", stringify!($init_tag), "`], with the tag 0.")]
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
            #[doc = concat!("As [`Self::", stringify!($send_tag), "`], with the error as its result.")]
            or $try_send_tag = send(self, buf, |$to, $span, $dest| $sends);

            $(#[$immediate_doc])*
            $start_tag['a, Sc: Scope<'a>, Buf: 'a + Buffer + ?Sized]
                (scope: Sc, buf: &'a Buf, tag: Tag) -> Request<'a, Buf, Sc>, $immediate;
            #[doc = concat!("As [`Self::", stringify!($start_tag), "`], with the error as its result.")]
            or $try_start_tag = try_start(self, scope, buf, |$within, span, dest| {
                let $message = (span, dest, tag);
                $starts
            });
        }
    )*};
}

/// What messages go to: a [`Process`].
///
/// A send without `_with_tag` has the tag 0. All of them end the job for a tag below 0, a message of more than 4294967295
/// bytes, and when the program's heap has no room for a request; the forms with `try_` fail with [`Error::Tag`],
/// [`Error::TooLong`] and [`Error::NoMemory`].
pub trait Destination: AsCommunicator {
    /// The rank that messages go to; -1 (MPI_PROC_NULL): none.
    fn destination_rank(&self) -> Rank;

    modes! {
        /// Sends `buf`; blocks until it may be changed again, which may be before it is received (MPI_Send, MPI-3.1 section
        /// 3.2.1).
        send, send_with_tag, try_send_with_tag, "MPI_Send"
            = |to, span, dest, tag| to.partners.send_span("MPI_Send", span, dest, tag, Mode::Standard);
        /// Starts a send; the request is complete when the buffer may be changed again (MPI_Isend, MPI-3.1 section 3.7.2).
        /// Does not block, and never waits for another process.
        immediate_send, immediate_send_with_tag, try_immediate_send_with_tag, "MPI_Isend"
            = |to, message| to.start("MPI_Isend", message, Mode::Standard);
        /// A send that can be [started](crate::point_to_point::Persistent) again and again, each time as
        /// [`immediate_send_with_tag`](Destination::immediate_send_with_tag) (MPI_Send_init, MPI-3.1 section 3.9). Does not
        /// block, and cannot fail: a tag below 0 ends the job at the start.
        send_init, send_init_with_tag = Some(Mode::Standard);

        /// Sends `buf` by way of the attached buffer ([`Universe::set_buffer_size`]); does not block (MPI_Bsend, MPI-3.1
        /// section 3.4). Fails with [`Error::BufferFull`], or [`Error::Buffer`] when none is attached, too.
        ///
        /// [`Universe::set_buffer_size`]: crate::environment::Universe::set_buffer_size
        buffered_send, buffered_send_with_tag, try_buffered_send_with_tag, "MPI_Bsend"
            = |to, span, dest, tag| buffered::send(to.record, "MPI_Bsend", span, dest, tag);
        /// As [`buffered_send_with_tag`](Destination::buffered_send_with_tag); the request is complete at once
        /// (MPI_Ibsend).
        immediate_buffered_send, immediate_buffered_send_with_tag,
            try_immediate_buffered_send_with_tag, "MPI_Ibsend"
            = |to, message| to.start_buffered("MPI_Ibsend", message);
        /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
        /// [`immediate_buffered_send_with_tag`](Destination::immediate_buffered_send_with_tag) (MPI_Bsend_init).
        buffered_send_init, buffered_send_init_with_tag = None;

        /// Sends `buf`; blocks until a receive has matched it (MPI_Ssend, MPI-3.1 section 3.4).
        synchronous_send, synchronous_send_with_tag, try_synchronous_send_with_tag, "MPI_Ssend"
            = |to, span, dest, tag| to.partners.send_span("MPI_Ssend", span, dest, tag, Mode::Synchronous);
        /// As [`immediate_send_with_tag`](Destination::immediate_send_with_tag), but the request is complete only when a
        /// receive has matched the message (MPI_Issend).
        immediate_synchronous_send, immediate_synchronous_send_with_tag,
            try_immediate_synchronous_send_with_tag, "MPI_Issend"
            = |to, message| to.start("MPI_Issend", message, Mode::Synchronous);
        /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
        /// [`immediate_synchronous_send_with_tag`](Destination::immediate_synchronous_send_with_tag) (MPI_Ssend_init).
        synchronous_send_init, synchronous_send_init_with_tag = Some(Mode::Synchronous);

        /// As [`send_with_tag`](Destination::send_with_tag), by a program that knows that the receive has been started
        /// (MPI_Rsend, MPI-3.1 section 3.4). Where it has not, the message is sent all the same; so this is no unsafe
        /// function.
        ready_send, ready_send_with_tag, try_ready_send_with_tag, "MPI_Rsend"
            = |to, span, dest, tag| to.partners.send_span("MPI_Rsend", span, dest, tag, Mode::Standard);
        /// As [`immediate_send_with_tag`](Destination::immediate_send_with_tag), by a program that knows that the receive has
        /// been started (MPI_Irsend); see [`ready_send_with_tag`](Destination::ready_send_with_tag).
        immediate_ready_send, immediate_ready_send_with_tag,
            try_immediate_ready_send_with_tag, "MPI_Irsend"
            = |to, message| to.start("MPI_Irsend", message, Mode::Standard);
        /// As [`send_init_with_tag`](Destination::send_init_with_tag), of
        /// [`immediate_ready_send_with_tag`](Destination::immediate_ready_send_with_tag) (MPI_Rsend_init).
        ready_send_init, ready_send_init_with_tag = Some(Mode::Standard);
    }
}

impl<C: Context> Destination for Process<'_, C> {
    fn destination_rank(&self) -> Rank {
        self.rank()
    }
}
