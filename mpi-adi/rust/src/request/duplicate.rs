//! Nonblocking duplication of a communicator (MPI-3.1 section 6.4.2).

use alloc::rc::Rc;
use core::cell::Cell;

use super::{Ticket, TicketKind, in_flight};
use crate::attribute::CommAttributes;
use crate::datatype::operands::BufferLoan;
use crate::recording::{self, Call};
use crate::topology::{CommRecord, DuplicableContext};
use midplane_device::envelope::Context;
use midplane_objects::coll::{self, ContextHolder};
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// A duplication in progress. Its drop waits for the duplicate and drops it.
#[must_use = "get the duplicate"]
pub struct DuplicateFuture<C: DuplicableContext> {
    /// `None`: completed.
    ticket: Option<Ticket>,
    place: Rc<Cell<Option<C>>>,
}

/// A value that only calls create, use and drop.
struct OfCalls<T>(T);

// SAFETY: used on the program's thread. Interrupt handlers only advance messages (`ScheduleWork::is_for_calls`), and drop
// nothing.
unsafe impl<T> Send for OfCalls<T> {}

/// The state of the duplicate, captured when the duplication starts.
struct DuplicateState<C> {
    parent: CommRecord,
    /// An error means that the heap has no space for them: the duplication fails.
    attributes: Result<Option<CommAttributes>, Error>,
    twin: Option<C>,
    place: Rc<Cell<Option<C>>>,
}

impl<C: DuplicableContext> ContextHolder for OfCalls<DuplicateState<C>> {
    fn env(&self) -> Option<&dyn Env> {
        self.0.parent.here.env().ok()
    }

    fn get_ready(&mut self, context: Context) -> Result<(), Error> {
        self.0.attributes.as_ref().map_err(|error| *error)?;
        self.0.twin = Some(C::duplicate_in(&self.0.parent, context)?);
        Ok(())
    }

    fn give_up(&mut self) {
        self.0.twin = None;
    }

    fn finish_agreement(&mut self) -> Result<(), Error> {
        let twin = self.0.twin.take();
        if let (Some(twin), Ok(attributes)) = (&twin, &mut self.0.attributes)
            && let Some(attributes) = attributes.take()
        {
            twin.record().attributes.take_over(attributes);
        }
        self.0.place.set(twin);
        Ok(())
    }
}

impl<C: DuplicableContext + 'static> DuplicateFuture<C> {
    /// Starts the duplication. Returns [`Error::NoSpace`] or [`Error::NoMemory`].
    #[cfg_attr(feature = "options", track_caller)]
    pub(crate) fn start(parent: &CommRecord) -> Result<Self, Error> {
        let call = Call::enter("MPI_Comm_idup", |fields| {
            fields.communicator(parent).unknown(2);
        });
        call.end_with(Self::new(parent), |fields, future| {
            // The communicator does not exist yet.
            let number = future
                .and_then(|future| future.ticket.as_ref())
                .map(|ticket| ticket.number);
            fields.unknown(1).request(number);
        })
    }

    fn new(parent: &CommRecord) -> Result<Self, Error> {
        let core = parent.core()?;
        let place = Rc::new(Cell::new(None));
        let duplicate = DuplicateState {
            parent: parent.clone(),
            attributes: parent.attributes.duplicated().map(Some),
            twin: None,
            place: place.clone(),
        };
        let plan = coll::agree(core, OfCalls(duplicate))?;
        let started = in_flight::start(parent, "MPI_Comm_idup", plan)?;
        let what = TicketKind::Collective(parent.clone(), started);
        Ok(DuplicateFuture {
            ticket: Some(Ticket::new(what, BufferLoan::EMPTY)),
            place,
        })
    }

    /// Blocks until all processes of the communicator have started the duplication, and returns the duplicate
    /// (MPI_Wait). Aborts the job where [`try_get`](Self::try_get) fails.
    #[track_caller]
    pub fn get(self) -> C {
        let function = "mpi::request::DuplicateFuture::get (MPI_Comm_idup)";
        crate::fatal(function, self.try_get())
    }

    /// Blocks like [`get`](Self::get), and returns the duplicate. All processes return the same kind of error:
    /// [`Error::Limit`] or, without memory, [`Error::NoSpace`] or [`Error::NoSpaceElsewhere`].
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_get(mut self) -> Result<C, Error> {
        let ticket = self.ticket.take().expect("taken only at the end");
        ticket.wait("MPI_Wait")?;
        let new = self.place.take().expect("all processes have agreed");
        recording::record_communicator(new.record());
        Ok(new)
    }

    /// Returns the duplicate if it is complete, otherwise the future (MPI_Test). Does not block. Aborts the job like
    /// [`get`](Self::get).
    #[cfg_attr(feature = "options", track_caller)]
    pub fn r#try(self) -> Result<C, Self> {
        let ticket = self.ticket.as_ref();
        if ticket.is_some_and(|ticket| ticket.is_complete("MPI_Test")) {
            Ok(self.get())
        } else {
            Err(self)
        }
    }
}

impl<C: DuplicableContext> Drop for DuplicateFuture<C> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take().filter(Ticket::can_wait) {
            // An error means that there is no duplicate to drop.
            let _ = ticket.wait("MPI_Wait");
        }
    }
}
