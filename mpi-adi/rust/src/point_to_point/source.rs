//! Sources of messages.

use alloc::vec::Vec;
use core::ops::DerefMut;

use super::message::{MatchedReceiveVec, Message};
use super::persistent::{Persistent, PersistentReceive};
use super::{Status, not_empty, record, source_at};
use crate::Tag;
use crate::datatype::operands::{borrow_whole_mut, with_span_mut};
use crate::datatype::user::kind_of;
use crate::datatype::{BufferMut, Equivalence};
use crate::recording::{Call, Fields};
use crate::request::{ReceiveFuture, Request, Scope, TicketKind};
use crate::topology::{AnyProcess, AsCommunicator, Context, Process, Rank};
use midplane_device::interface::BlockingMode;
use midplane_device::memory::Span;
use midplane_objects::comm::{CommRank, Partners};
use midplane_objects::error::Error;

/// Runs `call` with the source, or returns `null` for MPI_PROC_NULL.
fn from<R>(
    of: &(impl Source + ?Sized),
    null: R,
    call: impl FnOnce(Partners<'_>, Option<CommRank>) -> Result<R, Error>,
) -> Result<R, Error> {
    let partners = record(of).partners()?;
    match source_at(partners, of.source_rank())? {
        None => Ok(null),
        Some(source) => call(partners, source),
    }
}

#[cfg_attr(feature = "options", track_caller)]
fn receive(
    of: &(impl Source + ?Sized),
    buffer: &mut (impl BufferMut + ?Sized),
    tag: Option<Tag>,
) -> Result<Status, Error> {
    let call = Call::enter("MPI_Recv", |fields| add_message(fields, of, buffer, tag));
    let received = from(of, Status::OF_NULL, |partners, source| {
        with_span_mut(buffer, |span| {
            Ok(partners.recv_span("MPI_Recv", span, source, tag)?.into())
        })
    });
    call.end_with(received, Fields::add_status)
}

/// Adds the arguments of a receive. The last one is the status or the request.
fn add_message(fields: &mut Fields, of: &(impl Source + ?Sized), buffer: &(impl BufferMut + ?Sized), tag: Option<Tag>) {
    fields.buffer(buffer);
    fields
        .envelope(of.source_rank(), tag)
        .communicator(record(of))
        .unknown(1);
}

fn begin(
    of: &(impl Source + ?Sized),
    function: &'static str,
    span: Span,
    tag: Option<Tag>,
) -> Result<TicketKind, Error> {
    from(of, TicketKind::Done(Status::OF_NULL), |partners, source| {
        let id = partners.start_recv(function, span, source, tag)?;
        Ok(TicketKind::Receive(record(of).clone(), id))
    })
}

#[cfg_attr(feature = "options", track_caller)]
fn try_start<'a, Sc: Scope<'a>, B: BufferMut + ?Sized>(
    of: &(impl Source + ?Sized),
    function: &'static str,
    scope: Sc,
    buffer: &'a mut B,
    tag: Option<Tag>,
) -> Result<Request<'a, B, Sc>, Error> {
    // A persistent receive is recorded as the nonblocking receive that it is equal to.
    let call = Call::enter("MPI_Irecv", |fields| add_message(fields, of, buffer, tag));
    let started = Request::lending(scope, borrow_whole_mut(buffer), |span| begin(of, function, span, tag));
    call.end_with(started, Request::add_number)
}

/// Starts the receive of one value on the heap.
#[cfg_attr(feature = "options", track_caller)]
fn start_one<M: Equivalence>(of: &(impl Source + ?Sized), tag: Option<Tag>) -> Result<ReceiveFuture<M>, Error> {
    let call = Call::enter("MPI_Irecv", |fields| {
        fields.elements(0, 1, kind_of(&M::equivalent_datatype()));
        fields
            .envelope(of.source_rank(), tag)
            .communicator(record(of))
            .unknown(1);
    });
    let started = ReceiveFuture::new(|span| begin(of, "MPI_Irecv", span, tag));
    call.end_with(started, ReceiveFuture::add_number)
}

impl<S: Source, P: DerefMut<Target: BufferMut>> Persistent for PersistentReceive<S, P> {
    type Data = P::Target;

    #[cfg_attr(feature = "options", track_caller)]
    fn try_start<'s, Sc: Scope<'s>>(&'s mut self, scope: Sc) -> Result<Request<'s, P::Target, Sc>, Error> {
        try_start(&self.end, "MPI_Start", scope, &mut *self.buffer, self.how)
    }
}

#[track_caller]
fn receive_one<M: Equivalence>(of: &(impl Source + ?Sized), tag: Option<Tag>) -> (M, Status) {
    let mut value = crate::request::zeroed::<M>();
    let received = receive(of, &mut value, tag);
    let function = "mpi::point_to_point::Source::receive (MPI_Recv)";
    let status = record(of).here.or_fatal(function, received);
    not_empty(&status);
    (value, status)
}

#[cfg_attr(feature = "options", track_caller)]
fn probe(of: &(impl Source + ?Sized), tag: Option<Tag>, blocking: BlockingMode) -> Result<Option<Status>, Error> {
    let function = match blocking {
        BlockingMode::Blocking => "MPI_Probe",
        BlockingMode::Nonblocking => "MPI_Iprobe",
    };
    let has_flag = matches!(blocking, BlockingMode::Nonblocking);
    let call = Call::enter(function, |fields| {
        fields.envelope(of.source_rank(), tag).communicator(record(of));
        fields.unknown(1 + usize::from(has_flag));
    });
    let probed = from(of, Some(Status::OF_NULL), |partners, source| {
        let found = partners.probe_span(function, source, tag, blocking)?;
        Ok(found.map(Status::from))
    });
    call.end_with(probed, |fields, found| {
        let status = found.and_then(Option::as_ref);
        if has_flag {
            fields.value(status.is_some());
        }
        fields.status(status);
    })
}

#[cfg_attr(feature = "options", track_caller)]
fn matched_probe(
    of: &(impl Source + ?Sized),
    tag: Option<Tag>,
    blocking: BlockingMode,
) -> Result<Option<(Message, Status)>, Error> {
    let function = match blocking {
        BlockingMode::Blocking => "MPI_Mprobe",
        BlockingMode::Nonblocking => "MPI_Improbe",
    };
    let has_flag = matches!(blocking, BlockingMode::Nonblocking);
    let call = Call::enter(function, |fields| {
        fields.envelope(of.source_rank(), tag).communicator(record(of));
        fields.unknown(2 + usize::from(has_flag));
    });
    let probed = from(of, None, |partners, source| {
        partners.mprobe_span(function, source, tag, blocking).map(Some)
    });
    let message = |id, status| Some((Message::new(record(of), id), status));
    let matched = probed.map(|probed| match probed {
        None => message(None, Status::OF_NULL),
        Some(found) => found.and_then(|(id, status)| message(Some(id), status.into())),
    });
    call.end_with(matched, |fields, found| {
        let found = found.and_then(Option::as_ref);
        if has_flag {
            fields.value(found.is_some());
        }
        fields.request(found.map(|(message, _)| message.number));
        fields.status(found.map(|(_, status)| status));
    })
}

fn waited<T>(found: Result<Option<T>, Error>) -> Result<T, Error> {
    Ok(found?.expect("it blocks until there is one"))
}

/// Source of messages: a [`Process`], or [any](AnyProcess) of a communicator.
///
/// A call without `_with_tag` matches any tag.
///
/// # Errors
/// [`Error::Tag`] for a tag below 0, [`Error::NoMemory`] when the program's heap has no space for a request, and for
/// receives [`Error::Truncated`] when the message is longer than the buffer, which then contains its beginning. They
/// abort the job; the `try_` forms return them.
pub trait Source: AsCommunicator {
    /// Returns the source's rank; -3 (MPI_PROC_NULL): none, -1 (MPI_ANY_SOURCE): any.
    fn source_rank(&self) -> Rank;

    /// Receives one value; blocks until it is received (MPI_Recv, MPI-3.1 section 3.2.4).
    ///
    /// # Panics
    /// When the message is empty.
    #[track_caller]
    fn receive_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Msg, Status) {
        receive_one(self, Some(tag))
    }

    /// [`receive_with_tag`](Source::receive_with_tag) for any tag.
    ///
    /// # Panics
    /// When the message is empty.
    #[track_caller]
    fn receive<Msg: Equivalence>(&self) -> (Msg, Status) {
        receive_one(self, None)
    }

    /// Receives all values of a message into the program's heap; blocks until then (MPI_Mprobe and MPI_Mrecv).
    ///
    /// Aborts the job when the heap has no space. The sender determines the length: with little memory, use
    /// [`receive_into_with_tag`](Source::receive_into_with_tag) and a buffer of the agreed maximum length.
    #[track_caller]
    fn receive_vec_with_tag<Msg: Equivalence>(&self, tag: Tag) -> (Vec<Msg>, Status) {
        self.matched_probe_with_tag(tag).matched_receive_vec()
    }

    /// [`receive_vec_with_tag`](Source::receive_vec_with_tag) for any tag.
    #[track_caller]
    fn receive_vec<Msg: Equivalence>(&self) -> (Vec<Msg>, Status) {
        self.matched_probe().matched_receive_vec()
    }

    /// Creates a persistent receive (MPI_Recv_init, MPI-3.1 section 3.9). Each
    /// [start](crate::point_to_point::Persistent) is an
    /// [`immediate_receive_into_with_tag`](Source::immediate_receive_into_with_tag). Does not block and cannot fail: a
    /// tag below 0 aborts the job at the start.
    fn receive_init_with_tag<P>(&self, buf: P, tag: Tag) -> PersistentReceive<Self, P>
    where
        Self: Copy,
        P: DerefMut<Target: BufferMut>,
    {
        PersistentReceive::new(*self, Some(tag), buf)
    }

    /// [`receive_init_with_tag`](Source::receive_init_with_tag) for any tag.
    fn receive_init<P: DerefMut<Target: BufferMut>>(&self, buf: P) -> PersistentReceive<Self, P>
    where
        Self: Copy,
    {
        PersistentReceive::new(*self, None, buf)
    }

    ends_the_job! {
        "mpi::point_to_point::Source", [fn(&self)], record(self).here;

        /// Blocks until a matching message can be received, and returns its status (MPI_Probe, MPI-3.1 section 3.8.1).
        probe_with_tag[](tag: Tag) -> Status, "MPI_Probe";
        /// [`probe_with_tag`](Source::probe_with_tag) that returns its error.
        or try_probe_with_tag = waited(probe(self, Some(tag), BlockingMode::Blocking));

        /// [`probe_with_tag`](Source::probe_with_tag) for any tag.
        probe[]() -> Status, "MPI_Probe" = waited(probe(self, None, BlockingMode::Blocking));

        /// Blocks until there is a matching message, and returns it; only the receives of [`Message`] match it then
        /// (MPI_Mprobe, MPI-3.1 section 3.8.2).
        matched_probe_with_tag[](tag: Tag) -> (Message, Status), "MPI_Mprobe";
        /// [`matched_probe_with_tag`](Source::matched_probe_with_tag) that returns its error.
        or try_matched_probe_with_tag = waited(matched_probe(self, Some(tag), BlockingMode::Blocking));

        /// [`matched_probe_with_tag`](Source::matched_probe_with_tag) for any tag.
        matched_probe[]() -> (Message, Status), "MPI_Mprobe"
            = waited(matched_probe(self, None, BlockingMode::Blocking));

        /// Receives into `buf`; blocks until the message is received (MPI_Recv, MPI-3.1 section 3.2.4). A shorter
        /// message does not change the rest of the buffer.
        receive_into_with_tag[Buf: BufferMut + ?Sized](buf: &mut Buf, tag: Tag) -> Status, "MPI_Recv";
        /// [`receive_into_with_tag`](Source::receive_into_with_tag) that returns its error.
        or try_receive_into_with_tag = receive(self, buf, Some(tag));

        /// [`receive_into_with_tag`](Source::receive_into_with_tag) for any tag.
        receive_into[Buf: BufferMut + ?Sized](buf: &mut Buf) -> Status, "MPI_Recv";
        /// [`receive_into`](Source::receive_into) that returns its error.
        or try_receive_into = receive(self, buf, None);

        /// Starts a receive into `buf` (MPI_Irecv, MPI-3.1 section 3.7.2). Its request completes when the message is
        /// received. Does not block.
        immediate_receive_into_with_tag['a, Sc: Scope<'a>, Buf: 'a + BufferMut + ?Sized]
            (scope: Sc, buf: &'a mut Buf, tag: Tag) -> Request<'a, Buf, Sc>, "MPI_Irecv";
        /// [`immediate_receive_into_with_tag`](Source::immediate_receive_into_with_tag) that returns its error.
        or try_immediate_receive_into_with_tag = try_start(self, "MPI_Irecv", scope, buf, Some(tag));

        /// [`immediate_receive_into_with_tag`](Source::immediate_receive_into_with_tag) for any tag.
        immediate_receive_into['a, Sc: Scope<'a>, Buf: 'a + BufferMut + ?Sized](scope: Sc, buf: &'a mut Buf)
            -> Request<'a, Buf, Sc>, "MPI_Irecv";
        /// [`immediate_receive_into`](Source::immediate_receive_into) that returns its error.
        or try_immediate_receive_into = try_start(self, "MPI_Irecv", scope, buf, None);

        /// Starts a receive of one value, which is allocated from the program's heap (MPI_Irecv). Does not block.
        immediate_receive_with_tag[Msg: Equivalence](tag: Tag) -> ReceiveFuture<Msg>, "MPI_Irecv"
            = start_one(self, Some(tag));

        /// [`immediate_receive_with_tag`](Source::immediate_receive_with_tag) for any tag.
        immediate_receive[Msg: Equivalence]() -> ReceiveFuture<Msg>, "MPI_Irecv"
            = start_one(self, None);

        /// Nonblocking [`probe_with_tag`](Source::probe_with_tag); returns `None` without a matching message
        /// (MPI_Iprobe).
        immediate_probe_with_tag[](tag: Tag) -> Option<Status>, "MPI_Iprobe";
        /// [`immediate_probe_with_tag`](Source::immediate_probe_with_tag) that returns its error.
        or try_immediate_probe_with_tag = probe(self, Some(tag), BlockingMode::Nonblocking);

        /// [`immediate_probe_with_tag`](Source::immediate_probe_with_tag) for any tag.
        immediate_probe[]() -> Option<Status>, "MPI_Iprobe" = probe(self, None, BlockingMode::Nonblocking);

        /// Nonblocking [`matched_probe_with_tag`](Source::matched_probe_with_tag); returns `None` without a matching
        /// message (MPI_Improbe).
        immediate_matched_probe_with_tag[](tag: Tag) -> Option<(Message, Status)>, "MPI_Improbe";
        /// [`immediate_matched_probe_with_tag`](Source::immediate_matched_probe_with_tag) that returns its error.
        or try_immediate_matched_probe_with_tag = matched_probe(self, Some(tag), BlockingMode::Nonblocking);

        /// [`immediate_matched_probe_with_tag`](Source::immediate_matched_probe_with_tag) for any tag.
        immediate_matched_probe[]() -> Option<(Message, Status)>, "MPI_Improbe"
            = matched_probe(self, None, BlockingMode::Nonblocking);
    }
}

impl<C: Context> Source for Process<'_, C> {
    fn source_rank(&self) -> Rank {
        self.rank()
    }
}

impl<C: Context> Source for AnyProcess<'_, C> {
    fn source_rank(&self) -> Rank {
        super::ANY_SOURCE
    }
}
