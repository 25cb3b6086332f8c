//! Scopes, the owners of requests.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;

use super::Ticket;
use midplane_objects::error::Error;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::StaticScope {}
    impl Sealed for &super::LocalScope<'_> {}
}

/// Owner of requests: a [`LocalScope`] or the [`StaticScope`]. Sealed.
#[allow(private_interfaces)]
pub trait Scope<'a>: sealed::Sealed {
    /// A ticket's location.
    #[doc(hidden)]
    type TicketSlot;

    /// Reserves memory for the next [`Scope::keep`]. Returns [`Error::NoSpace`] when the heap is full.
    #[doc(hidden)]
    fn prepare(&self) -> Result<(), Error>;
    /// Stores a ticket.
    #[doc(hidden)]
    fn keep(&self, ticket: Ticket) -> Self::TicketSlot;
    /// Removes and returns a ticket.
    #[doc(hidden)]
    fn take_ticket(&self, held: Self::TicketSlot) -> Ticket;
    /// Runs `inspect` on a ticket.
    #[doc(hidden)]
    fn inspect_ticket<R>(&self, held: &Self::TicketSlot, inspect: impl FnOnce(&Ticket) -> R) -> R;
    /// Handles the drop of a ticket's request.
    #[doc(hidden)]
    fn release_ticket(&self, held: Self::TicketSlot);
}

/// Scope of requests whose buffers live forever.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct StaticScope;

#[allow(private_interfaces)]
impl Scope<'static> for StaticScope {
    /// The ticket itself.
    type TicketSlot = Ticket;

    fn prepare(&self) -> Result<(), Error> {
        Ok(())
    }

    fn keep(&self, ticket: Ticket) -> Ticket {
        ticket
    }

    fn take_ticket(&self, held: Ticket) -> Ticket {
        held
    }

    fn inspect_ticket<R>(&self, held: &Ticket, inspect: impl FnOnce(&Ticket) -> R) -> R {
        inspect(held)
    }

    #[track_caller]
    fn release_ticket(&self, ticket: Ticket) {
        if ticket.can_wait() && !ticket.can_be_given_up() {
            ticket.wait_or_end("a request that was dropped (MPI_Wait)", "MPI_Wait");
        }
    }
}

/// A scope that ends: see [`scope()`].
pub struct LocalScope<'a> {
    open: RefCell<OpenTickets>,
    // Invariant: a longer or shorter scope is a different scope.
    phantom: PhantomData<Cell<&'a ()>>,
}

/// Tickets of incomplete requests. Slots are reused, so that memory grows with the requests in progress only.
#[derive(Default)]
struct OpenTickets {
    tickets: Vec<Option<Ticket>>,
    free: Vec<usize>,
}

impl LocalScope<'_> {
    pub(super) fn new() -> Self {
        LocalScope {
            open: RefCell::new(OpenTickets::default()),
            phantom: PhantomData,
        }
    }

    #[track_caller]
    pub(super) fn finish(self) {
        for ticket in self.open.into_inner().tickets.into_iter().flatten() {
            ticket.wait_or_end("mpi::request::scope (MPI_Waitall)", "MPI_Waitall");
        }
    }
}

impl<'a> Scope<'a> for &LocalScope<'a> {
    /// Index of the ticket's slot.
    type TicketSlot = usize;

    fn prepare(&self) -> Result<(), Error> {
        let OpenTickets { tickets, free } = &mut *self.open.borrow_mut();
        // Every slot can become free.
        let missing = (tickets.len() + 1).saturating_sub(free.len());
        let room = tickets.try_reserve(1).and_then(|()| free.try_reserve(missing));
        let bytes = size_of::<Ticket>();
        room.map_err(|_| Error::NoSpace { bytes })
    }

    fn keep(&self, ticket: Ticket) -> usize {
        let OpenTickets { tickets, free } = &mut *self.open.borrow_mut();
        let place = free.pop().unwrap_or(tickets.len());
        match tickets.get_mut(place) {
            Some(free) => *free = Some(ticket),
            None => tickets.push(Some(ticket)),
        }
        place
    }

    fn take_ticket(&self, place: usize) -> Ticket {
        let mut open = self.open.borrow_mut();
        let ticket = open.tickets[place].take();
        open.free.push(place);
        ticket.expect("one request has this place")
    }

    fn inspect_ticket<R>(&self, place: &usize, inspect: impl FnOnce(&Ticket) -> R) -> R {
        let open = self.open.borrow();
        let ticket = open.tickets[*place].as_ref();
        inspect(ticket.expect("one request has this place"))
    }

    fn release_ticket(&self, _: usize) {
        // The end of the scope waits for it.
    }
}

/// Runs `f` with a scope for requests whose buffers outlive it. Blocks at its end until all requests are complete;
/// their errors abort the job. See the [module](crate::request) for examples.
#[track_caller]
pub fn scope<'a, F: FnOnce(&LocalScope<'a>) -> R, R>(f: F) -> R {
    let scope = LocalScope::new();
    let result = f(&scope);
    // No drop implementation does this: a program that unwinds makes no more calls.
    scope.finish();
    result
}
