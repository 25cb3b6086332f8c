//! Sending and receiving at once (MPI-3.1 section 3.10).

use super::{Destination, Source, Status, destination_at, record, source_at};
use crate::Tag;
use crate::datatype::lent::{lend, lend_mut};
use crate::datatype::{Buffer, BufferMut, Equivalence};
use crate::request::zeroed;
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::Mode;
use midplane_objects::coll::room;
use midplane_objects::error::{Class, Error};

fn exchange(
    function: &'static str,
    (send, destination, send_tag): (Span, &impl Destination, Tag),
    (receive, source, receive_tag): (Span, &impl Source, Option<Tag>),
) -> Result<Status, Error> {
    let (to, from) = (record(destination), record(source));
    if to.membership().context != from.membership().context {
        return Err(Error::Wrong {
            class: Class::Comm,
            what: "source and destination are of two communicators",
        });
    }
    let partners = from.partners()?;
    let dest = destination_at(partners, destination.destination_rank())?;
    let source = source_at(partners, source.source_rank())?;
    let status = match (dest, source) {
        (Some(dest), Some(source)) => {
            let (send, receive) = ((send, dest, send_tag), (receive, source, receive_tag));
            partners.sendrecv_span(function, send, receive)?
        }
        (_, Some(source)) => partners.recv_span(function, receive, source, receive_tag)?,
        (dest, None) => {
            if let Some(dest) = dest {
                partners.send_span(function, send, dest, send_tag, Mode::Standard)?;
            }
            return Ok(Status::OF_NULL);
        }
    };
    Ok(status.into())
}

fn into(
    (msg, destination, send_tag): (&(impl Buffer + ?Sized), &impl Destination, Tag),
    (buf, source, receive_tag): (&mut (impl BufferMut + ?Sized), &impl Source, Option<Tag>),
) -> Result<Status, Error> {
    lend(msg, |send| {
        lend_mut(buf, |receive| {
            let (send, receive) = (
                (send, destination, send_tag),
                (receive, source, receive_tag),
            );
            exchange("MPI_Sendrecv", send, receive)
        })
    })
}

/// One value for another.
#[track_caller]
fn one<R: Equivalence>(
    send: (&impl Equivalence, &impl Destination, Tag),
    (source, receive_tag): (&impl Source, Option<Tag>),
) -> Result<(R, Status), Error> {
    let mut value = zeroed::<R>();
    let status = into(send, (&mut value, source, receive_tag))?;
    if status.source_rank() != super::PROC_NULL {
        super::not_empty(&status);
    }
    Ok((value, status))
}

fn replace(
    buf: &mut (impl BufferMut + ?Sized),
    (destination, send_tag): (&impl Destination, Tag),
    (source, receive_tag): (&impl Source, Option<Tag>),
) -> Result<Status, Error> {
    let here = &record(source).here;
    lend_mut(buf, |span| {
        // What is sent leaves from a copy: what comes may be here before it has gone.
        let mut copy = room(span.len())?;
        copy.resize(span.len(), 0u8);
        here.env()?.read(span.into(), &mut copy);
        let sent = match copy.len() {
            0 => Span::EMPTY,
            // SAFETY: the copy lives until the exchange has finished with it, and nothing writes it.
            bytes => unsafe { Span::new(copy.as_ptr(), bytes) },
        };
        let (sent, span) = ((sent, destination, send_tag), (span, source, receive_tag));
        exchange("MPI_Sendrecv_replace", sent, span)
    })
}

ends_the_job! {
    "mpi::point_to_point", [pub fn], record(source).here;

    /// Sends `msg` to `destination` and receives a value from `source` at once, so that a ring of such calls does not block
    /// itself; blocks until both are done (MPI_Sendrecv, MPI-3.1 section 3.10). Ends the job as sends and receives do, and
    /// when the two are of different communicators.
    ///
    /// # Panics
    /// When the message received is empty, and does not come from the null process.
    send_receive_with_tags[M: Equivalence, D: Destination, R: Equivalence, S: Source]
        (msg: &M, destination: &D, sendtag: Tag, source: &S, receivetag: Tag) -> (R, Status), "MPI_Sendrecv"
        = one((msg, destination, sendtag), (source, Some(receivetag)));

    /// As [`send_receive_with_tags`], with the tag 0, and receiving any.
    ///
    /// # Panics
    /// As there.
    send_receive[R: Equivalence, M: Equivalence, D: Destination, S: Source](msg: &M, destination: &D, source: &S)
        -> (R, Status), "MPI_Sendrecv" = one((msg, destination, Tag::default()), (source, None));

    /// As [`send_receive_with_tags`], of buffers.
    send_receive_into_with_tags[M: Buffer + ?Sized, D: Destination, B: BufferMut + ?Sized, S: Source]
        (msg: &M, destination: &D, sendtag: Tag, buf: &mut B, source: &S, receivetag: Tag) -> Status, "MPI_Sendrecv";
    /// As [`send_receive_into_with_tags`], with the error as its result.
    or try_send_receive_into_with_tags = into((msg, destination, sendtag), (buf, source, Some(receivetag)));

    /// As [`send_receive_into_with_tags`], with the tag 0, and receiving any.
    send_receive_into[M: Buffer + ?Sized, D: Destination, B: BufferMut + ?Sized, S: Source]
        (msg: &M, destination: &D, buf: &mut B, source: &S) -> Status, "MPI_Sendrecv"
        = into((msg, destination, Tag::default()), (buf, source, None));

    /// Sends what is in `buf` and receives in its place; blocks until both are done (MPI_Sendrecv_replace, MPI-3.1 section
    /// 3.10). What is sent is copied to the program's heap. Ends the job as [`send_receive_with_tags`], and when the heap
    /// has no room.
    send_receive_replace_into_with_tags[B: BufferMut + ?Sized, D: Destination, S: Source]
        (buf: &mut B, destination: &D, sendtag: Tag, source: &S, receivetag: Tag) -> Status, "MPI_Sendrecv_replace";
    /// As [`send_receive_replace_into_with_tags`], with the error as its result.
    or try_send_receive_replace_into_with_tags = replace(buf, (destination, sendtag), (source, Some(receivetag)));

    /// As [`send_receive_replace_into_with_tags`], with the tag 0, and receiving any.
    send_receive_replace_into[B: BufferMut + ?Sized, D: Destination, S: Source](buf: &mut B, destination: &D, source: &S)
        -> Status, "MPI_Sendrecv_replace"
        = replace(buf, (destination, Tag::default()), (source, None));
}
