//! Duplicating a communicator without blocking (MPI-3.1 section 6.4.2).

use alloc::rc::Rc;
use core::cell::Cell;

use super::{Ticket, What, under_way};
use crate::attribute::Attributes;
use crate::datatype::lent::Loan;
use crate::topology::{Record, Twin};
use midplane_device::envelope::Context;
use midplane_objects::coll::{self, Holder};
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// A duplicate under way. When it is dropped, the duplicate is waited for, and dropped.
#[must_use = "get the duplicate"]
pub struct DuplicateFuture<C: Twin> {
    /// `None`: it has been completed.
    ticket: Option<Ticket>,
    place: Rc<Cell<Option<C>>>,
}

/// What is made, used and dropped by calls alone.
struct OfCalls<T>(T);

// SAFETY: on the program's thread alone. Interrupts make steps of messages (`Work::is_for_calls`), and drop nothing.
unsafe impl<T> Send for OfCalls<T> {}

/// What a duplicate will have, as it was when it was asked for.
struct Duplicate<C> {
    parent: Rc<Record>,
    /// Or there was no room for them: there will be no duplicate.
    attributes: Result<Option<Attributes>, Error>,
    /// It, once it is ready.
    twin: Option<C>,
    /// Where it goes.
    place: Rc<Cell<Option<C>>>,
}

impl<C: Twin> Holder for OfCalls<Duplicate<C>> {
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

    fn agreed(&mut self) -> Result<(), Error> {
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

impl<C: Twin + 'static> DuplicateFuture<C> {
    /// Starts it. Fails with [`Error::NoRoom`] and [`Error::NoMemory`].
    pub(crate) fn new(parent: &Rc<Record>) -> Result<Self, Error> {
        let core = parent.core()?;
        let place = Rc::new(Cell::new(None));
        let duplicate = Duplicate {
            parent: parent.clone(),
            attributes: parent.attributes.duplicated().map(Some),
            twin: None,
            place: place.clone(),
        };
        let plan = coll::agree(core, OfCalls(duplicate))?;
        let started = under_way::start(parent, "MPI_Comm_idup", plan)?;
        let what = What::Collective(parent.clone(), started);
        Ok(DuplicateFuture {
            ticket: Some(Ticket::new(what, Loan::EMPTY)),
            place,
        })
    }

    /// Blocks until all processes of the communicator have started it, and gives the duplicate (MPI_Wait). Ends the job where
    /// [`try_get`](Self::try_get) fails.
    #[track_caller]
    pub fn get(self) -> C {
        let function = "mpi::request::DuplicateFuture::get (MPI_Comm_idup)";
        crate::fatal(function, self.try_get())
    }

    /// As [`get`](Self::get). Fails at all processes alike with [`Error::Limit`] or, for lack of room, [`Error::NoRoom`] or
    /// [`Error::NoRoomElsewhere`].
    pub fn try_get(mut self) -> Result<C, Error> {
        let ticket = self.ticket.take().expect("taken only at the end");
        ticket.wait("MPI_Wait")?;
        Ok(self.place.take().expect("all processes have agreed"))
    }

    /// The duplicate if it is there, else what goes on (MPI_Test). Does not block, and ends the job as [`get`](Self::get).
    pub fn r#try(self) -> Result<C, Self> {
        let ticket = self.ticket.as_ref();
        match ticket.is_some_and(|ticket| ticket.is_complete("MPI_Test")) {
            true => Ok(self.get()),
            false => Err(self),
        }
    }
}

impl<C: Twin> Drop for DuplicateFuture<C> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take().filter(Ticket::can_wait) {
            // There is none, then.
            let _ = ticket.wait("MPI_Wait");
        }
    }
}
