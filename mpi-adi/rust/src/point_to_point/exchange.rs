//! Combined send and receive (MPI-3.1 section 3.10).

use super::{Destination, Source, Status, destination_at, record, source_at};
use crate::Tag;
use crate::datatype::operands::{with_span, with_span_mut};
use crate::datatype::{Buffer, BufferMut, Equivalence};
use crate::recording::{Call, Fields};
use crate::request::zeroed;
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::comm::{IncomingData, OutgoingData};
use midplane_objects::error::{Error, ErrorClass};

fn exchange(
    function: &'static str,
    send: Span,
    destination: &impl Destination,
    send_tag: Tag,
    receive: Span,
    source: &impl Source,
    receive_tag: Option<Tag>,
) -> Result<Status, Error> {
    let (to, from) = (record(destination), record(source));
    if to.membership().context != from.membership().context {
        return Err(Error::Wrong {
            class: ErrorClass::Comm,
            what: "source and destination are of two communicators",
        });
    }
    let partners = from.partners()?;
    let dest = destination_at(partners, destination.destination_rank())?;
    let source = source_at(partners, source.source_rank())?;
    let status = match (dest, source) {
        (Some(dest), Some(source)) => {
            let send = OutgoingData {
                data: send,
                dest,
                tag: send_tag,
            };
            let receive = IncomingData {
                data: receive,
                source,
                tag: receive_tag,
            };
            partners.sendrecv_span(function, send, receive)?
        }
        (_, Some(source)) => partners.recv_span(function, receive, source, receive_tag)?,
        (dest, None) => {
            if let Some(dest) = dest {
                partners.send_span(function, send, dest, send_tag, SendMode::Standard)?;
            }
            return Ok(Status::OF_NULL);
        }
    };
    Ok(status.into())
}

#[cfg_attr(feature = "options", track_caller)]
fn into(
    msg: &(impl Buffer + ?Sized),
    destination: &impl Destination,
    send_tag: Tag,
    buf: &mut (impl BufferMut + ?Sized),
    source: &impl Source,
    receive_tag: Option<Tag>,
) -> Result<Status, Error> {
    let call = Call::enter("MPI_Sendrecv", |fields| {
        fields
            .buffer(msg)
            .envelope(destination.destination_rank(), Some(send_tag));
        fields.buffer(buf).envelope(source.source_rank(), receive_tag);
        fields.communicator(record(source)).unknown(1);
    });
    let exchanged = with_span(msg, |send| {
        with_span_mut(buf, |receive| {
            exchange(
                "MPI_Sendrecv",
                send,
                destination,
                send_tag,
                receive,
                source,
                receive_tag,
            )
        })
    });
    call.end_with(exchanged, Fields::add_status)
}

#[track_caller]
fn one<R: Equivalence>(
    msg: &impl Equivalence,
    destination: &impl Destination,
    send_tag: Tag,
    source: &impl Source,
    receive_tag: Option<Tag>,
) -> Result<(R, Status), Error> {
    let mut value = zeroed::<R>();
    let status = into(msg, destination, send_tag, &mut value, source, receive_tag)?;
    if status.source_rank() != super::PROC_NULL {
        super::not_empty(&status);
    }
    Ok((value, status))
}

#[cfg_attr(feature = "options", track_caller)]
fn replace(
    buf: &mut (impl BufferMut + ?Sized),
    destination: &impl Destination,
    send_tag: Tag,
    source: &impl Source,
    receive_tag: Option<Tag>,
) -> Result<Status, Error> {
    let here = &record(source).here;
    let call = Call::enter("MPI_Sendrecv_replace", |fields| {
        fields
            .buffer(buf)
            .envelope(destination.destination_rank(), Some(send_tag));
        fields.envelope(source.source_rank(), receive_tag);
        fields.communicator(record(source)).unknown(1);
    });
    let exchanged = with_span_mut(buf, |span| {
        // Sends from a copy, because the receive may complete before the send.
        let mut copy = try_with_capacity(span.len())?;
        copy.resize(span.len(), 0u8);
        here.env()?.read(span.into(), &mut copy);
        let sent = match copy.len() {
            0 => Span::EMPTY,
            // SAFETY: the copy lives until the exchange has finished with it, and nothing writes it.
            bytes => unsafe { Span::new(copy.as_ptr(), bytes) },
        };
        exchange(
            "MPI_Sendrecv_replace",
            sent,
            destination,
            send_tag,
            span,
            source,
            receive_tag,
        )
    });
    call.end_with(exchanged, Fields::add_status)
}

ends_the_job! {
    "mpi::point_to_point", [pub fn], record(source).here;

    /// Sends `msg` to `destination` and receives a value from `source` concurrently, so that a ring of such calls
    /// cannot deadlock (MPI_Sendrecv, MPI-3.1 section 3.10).
    ///
    /// Blocks until both are complete. Aborts the job like sends and receives, and for different communicators.
    ///
    /// # Panics
    /// When the received message is empty, and is not from the null process.
    send_receive_with_tags[M: Equivalence, D: Destination, R: Equivalence, S: Source]
        (msg: &M, destination: &D, sendtag: Tag, source: &S, receivetag: Tag) -> (R, Status), "MPI_Sendrecv"
        = one(msg, destination, sendtag, source, Some(receivetag));

    /// [`send_receive_with_tags`] with the send tag 0 and any receive tag.
    ///
    /// # Panics
    /// When the received message is empty, and is not from the null process.
    send_receive[R: Equivalence, M: Equivalence, D: Destination, S: Source](msg: &M, destination: &D, source: &S)
        -> (R, Status), "MPI_Sendrecv" = one(msg, destination, Tag::default(), source, None);

    /// [`send_receive_with_tags`] with buffers.
    send_receive_into_with_tags[M: Buffer + ?Sized, D: Destination, B: BufferMut + ?Sized, S: Source]
        (msg: &M, destination: &D, sendtag: Tag, buf: &mut B, source: &S, receivetag: Tag) -> Status, "MPI_Sendrecv";
    /// [`send_receive_into_with_tags`] that returns its error.
    or try_send_receive_into_with_tags = into(msg, destination, sendtag, buf, source, Some(receivetag));

    /// [`send_receive_into_with_tags`] with the send tag 0 and any receive tag.
    send_receive_into[M: Buffer + ?Sized, D: Destination, B: BufferMut + ?Sized, S: Source]
        (msg: &M, destination: &D, buf: &mut B, source: &S) -> Status, "MPI_Sendrecv"
        = into(msg, destination, Tag::default(), buf, source, None);

    /// Sends the data in `buf` and replaces it by the received message (MPI_Sendrecv_replace, MPI-3.1 section 3.10).
    ///
    /// Blocks until both are complete. Copies the sent data to the program's heap. Aborts the job like
    /// [`send_receive_with_tags`], and when the heap has no space.
    send_receive_replace_into_with_tags[B: BufferMut + ?Sized, D: Destination, S: Source]
        (buf: &mut B, destination: &D, sendtag: Tag, source: &S, receivetag: Tag) -> Status, "MPI_Sendrecv_replace";
    /// [`send_receive_replace_into_with_tags`] that returns its error.
    or try_send_receive_replace_into_with_tags = replace(buf, destination, sendtag, source, Some(receivetag));

    /// [`send_receive_replace_into_with_tags`] with the send tag 0 and any receive tag.
    send_receive_replace_into[B: BufferMut + ?Sized, D: Destination, S: Source](buf: &mut B, destination: &D, source: &S)
        -> Status, "MPI_Sendrecv_replace"
        = replace(buf, destination, Tag::default(), source, None);
}
