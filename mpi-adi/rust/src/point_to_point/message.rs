//! Messages matched by a matched probe (MPI-3.1 section 3.8.2).

use alloc::vec::Vec;

use super::{Status, not_empty};
use crate::datatype::operands::{borrow_whole_mut, with_span_mut};
use crate::datatype::{BufferMut, Equivalence};
use crate::recording::{Call, Fields, RequestNumber};
use crate::request::{Request, Scope, TicketKind, zeroed};
use crate::topology::CommRecord;
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::RequestId;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::comm::wait;
use midplane_objects::error::Error;

const FUNCTION: &str = "MPI_Mrecv";

/// A message that a matched probe returned and that must be received. Its drop panics.
#[must_use = "a message that was taken is to be received"]
pub struct Message {
    record: CommRecord,
    /// `None`: from MPI_PROC_NULL.
    id: Option<RequestId>,
    is_received: bool,
    /// Identifies it in the records of the calls.
    pub(super) number: RequestNumber,
}

impl Message {
    pub(super) fn new(record: &CommRecord, id: Option<RequestId>) -> Message {
        Message {
            record: record.clone(),
            id,
            is_received: false,
            number: RequestNumber::next(),
        }
    }

    /// Checks whether it is from the null process (MPI_MESSAGE_NO_PROC).
    pub fn is_no_proc(&self) -> bool {
        self.id.is_none()
    }

    fn start(&mut self, span: Span) -> Result<Option<RequestId>, Error> {
        let bytes = span.len();
        if u32::try_from(bytes).is_err() {
            return Err(Error::TooLong { bytes });
        }
        let env = self.record.here.env()?;
        if let Some(id) = self.id {
            env.start_receive_matched(FUNCTION, id, span);
        }
        self.is_received = true;
        Ok(self.id)
    }

    /// Adds the arguments of its receive. The last one is the status or the request.
    fn add_receive(&self, fields: &mut Fields, buffer: &(impl BufferMut + ?Sized)) {
        fields.buffer(buffer).request(Some(self.number)).unknown(1);
    }

    fn receive(&mut self, span: Span) -> Result<Status, Error> {
        let Some(id) = self.start(span)? else {
            return Ok(Status::OF_NULL);
        };
        let partners = self.record.partners()?;
        let outcome = wait(partners.env, FUNCTION, id);
        partners.received(outcome).map(Status::from)
    }

    /// Receives it as one value; blocks until it is received (MPI_Mrecv, MPI-3.1 section 3.8.3). Aborts the job when it
    /// is longer.
    ///
    /// # Panics
    /// When it is empty.
    #[track_caller]
    pub fn matched_receive<Msg: Equivalence>(self) -> (Msg, Status) {
        let mut value = zeroed::<Msg>();
        let status = self.matched_receive_into(&mut value);
        not_empty(&status);
        (value, status)
    }

    ends_the_job! {
        "mpi::point_to_point::Message", [pub fn(self)], self.record.here.clone();

        /// Receives it into `buf`; blocks until it is received (MPI_Mrecv). Aborts the job when it is longer.
        matched_receive_into[Buf: BufferMut + ?Sized](buf: &mut Buf) -> Status, "MPI_Mrecv";
        /// [`matched_receive_into`](Self::matched_receive_into) that returns its error: [`Error::Truncated`].
        or try_matched_receive_into = {
            let mut message = self;
            let call = Call::enter("MPI_Mrecv", |fields| message.add_receive(fields, buf));
            let received = with_span_mut(buf, |span| message.receive(span));
            call.end_with(received, |fields, status| {
                fields.request(None).status(status);
            })
        };
    }

    /// Starts its receive into `buf` (MPI_Imrecv, MPI-3.1 section 3.8.3). Does not block.
    #[track_caller]
    pub fn immediate_matched_receive_into<'a, Sc: Scope<'a>, Buf: BufferMut + ?Sized>(
        self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Request<'a, Buf, Sc> {
        match self.try_immediate_matched_receive_into(scope, buf) {
            Ok(request) => request,
            Err((message, error)) => message.record.here.fatal(
                "mpi::point_to_point::Message::immediate_matched_receive_into (MPI_Imrecv)",
                error,
            ),
        }
    }

    /// [`immediate_matched_receive_into`](Self::immediate_matched_receive_into) that returns [`Error::NoMemory`] and
    /// [`Error::NoSpace`] with the message.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_immediate_matched_receive_into<'a, Sc: Scope<'a>, Buf: BufferMut + ?Sized>(
        mut self,
        scope: Sc,
        buf: &'a mut Buf,
    ) -> Result<Request<'a, Buf, Sc>, (Message, Error)> {
        let call = Call::enter("MPI_Imrecv", |fields| self.add_receive(fields, buf));
        let request = Request::lending(scope, borrow_whole_mut(buf), |span| {
            Ok(match self.start(span)? {
                Some(id) => TicketKind::Receive(self.record.clone(), id),
                None => TicketKind::Done(Status::OF_NULL),
            })
        });
        let request = call.end_with(request, |fields, request| {
            fields.request(None);
            Request::add_number(fields, request);
        });
        request.map_err(|error| (self, error))
    }
}

opaque!("Message", [] Message);

impl Drop for Message {
    fn drop(&mut self) {
        // The device still stores the message; this does not matter while a panic ends the program.
        if !self.is_received && self.id.is_some() && self.record.here.env().is_ok() {
            panic!("a message that a matched probe has taken was dropped, not received");
        }
    }
}

const NOT_WHOLE: Error = Error::argument("a message that is not a whole number of the values that it is received as");

/// Receive of a matched probe's result into a vector.
pub trait MatchedReceiveVec {
    /// Receives the message's values into the program's heap; blocks until they are received (MPI_Mrecv, MPI-3.1
    /// section 3.8.3). Aborts the job when the heap has no space, and when the message is not an integral number of
    /// values.
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status);
}

impl MatchedReceiveVec for (Message, Status) {
    #[track_caller]
    fn matched_receive_vec<Msg: Equivalence>(self) -> (Vec<Msg>, Status) {
        let (message, status) = self;
        let here = message.record.here.clone();
        let count = status.count(Msg::equivalent_datatype());
        let values = usize::try_from(count).map_err(|_| NOT_WHOLE);
        let values = values.and_then(|count| {
            let mut values = try_with_capacity(count)?;
            values.resize_with(count, zeroed::<Msg>);
            Ok(values)
        });
        let function = "mpi::point_to_point::MatchedReceiveVec::matched_receive_vec (MPI_Mrecv)";
        let mut values: Vec<Msg> = here.or_fatal(function, values);
        let status = message.matched_receive_into(&mut values[..]);
        (values, status)
    }
}
