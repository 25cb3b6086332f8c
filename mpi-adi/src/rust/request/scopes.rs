//! Scopes: what requests belong to.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::marker::PhantomData;

use super::Ticket;
use crate::mpi::error::Error;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::StaticScope {}
    impl Sealed for &super::LocalScope<'_> {}
}

/// Where a ticket is kept.
#[doc(hidden)]
pub enum Held {
    /// Here.
    Own(Ticket),
    /// By the scope, at this place.
    At(usize),
}

/// A scope that a request belongs to: a [`LocalScope`] or the [`StaticScope`]. Sealed.
#[allow(private_interfaces)]
pub trait Scope<'a>: sealed::Sealed {
    /// Makes sure that the next [`Scope::keep`] needs no memory. Fails with [`Error::NoRoom`].
    #[doc(hidden)]
    fn prepare(&self) -> Result<(), Error>;
    /// Keeps a ticket.
    #[doc(hidden)]
    fn keep(&self, ticket: Ticket) -> Held;
    /// Gives it back.
    #[doc(hidden)]
    fn take(&self, held: Held) -> Ticket;
    /// Looks at it.
    #[doc(hidden)]
    fn look<R>(&self, held: &Held, look: impl FnOnce(&Ticket) -> R) -> R;
    /// Its request has been dropped.
    #[doc(hidden)]
    fn leave(&self, held: Held);
}

/// The scope of requests whose buffers stay for ever.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct StaticScope;

impl Scope<'static> for StaticScope {
    fn prepare(&self) -> Result<(), Error> {
        Ok(())
    }

    fn keep(&self, ticket: Ticket) -> Held {
        Held::Own(ticket)
    }

    fn take(&self, held: Held) -> Ticket {
        match held {
            Held::Own(ticket) => ticket,
            Held::At(_) => unreachable!("kept by another scope"),
        }
    }

    fn look<R>(&self, held: &Held, look: impl FnOnce(&Ticket) -> R) -> R {
        match held {
            Held::Own(ticket) => look(ticket),
            Held::At(_) => unreachable!("kept by another scope"),
        }
    }

    #[track_caller]
    fn leave(&self, held: Held) {
        let ticket = self.take(held);
        if ticket.can_wait() && !ticket.can_be_given_up() {
            ticket.wait_or_end("a request that was dropped (MPI_Wait)", "MPI_Wait");
        }
    }
}

/// A scope that ends: see [`scope()`].
pub struct LocalScope<'a> {
    open: RefCell<Open>,
    // Invariant: a longer or a shorter scope is another scope.
    phantom: PhantomData<Cell<&'a ()>>,
}

/// The tickets of requests that have not been completed. Places are used again, so that memory grows with the requests
/// under way, not with all that ever were.
#[derive(Default)]
struct Open {
    tickets: Vec<Option<Ticket>>,
    free: Vec<usize>,
}

impl LocalScope<'_> {
    pub(super) fn new() -> Self {
        LocalScope {
            open: RefCell::new(Open::default()),
            phantom: PhantomData,
        }
    }

    /// Waits for everything still open.
    #[track_caller]
    pub(super) fn finish(self) {
        for ticket in self.open.into_inner().tickets.into_iter().flatten() {
            ticket.wait_or_end("mpi::request::scope (MPI_Waitall)", "MPI_Waitall");
        }
    }
}

impl<'a> Scope<'a> for &LocalScope<'a> {
    fn prepare(&self) -> Result<(), Error> {
        let mut open = self.open.borrow_mut();
        let count = open.tickets.len();
        let room = open
            .tickets
            .try_reserve(1)
            // Each of them can become free.
            .and_then(|()| {
                let missing = (count + 1).saturating_sub(open.free.len());
                open.free.try_reserve(missing)
            });
        room.map_err(|_| Error::NoRoom {
            bytes: size_of::<Ticket>(),
        })
    }

    fn keep(&self, ticket: Ticket) -> Held {
        let mut open = self.open.borrow_mut();
        Held::At(match open.free.pop() {
            Some(place) => {
                open.tickets[place] = Some(ticket);
                place
            }
            None => {
                open.tickets.push(Some(ticket));
                open.tickets.len() - 1
            }
        })
    }

    fn take(&self, held: Held) -> Ticket {
        let Held::At(place) = held else {
            unreachable!("kept by another scope");
        };
        let mut open = self.open.borrow_mut();
        let ticket = open.tickets[place].take();
        open.free.push(place);
        ticket.expect("one request has this place")
    }

    fn look<R>(&self, held: &Held, look: impl FnOnce(&Ticket) -> R) -> R {
        let Held::At(place) = held else {
            unreachable!("kept by another scope");
        };
        let open = self.open.borrow();
        look(
            open.tickets[*place]
                .as_ref()
                .expect("one request has this place"),
        )
    }

    fn leave(&self, _: Held) {
        // The end of the scope waits for it.
    }
}

/// Runs `f` with a scope, to which requests can belong whose buffers outlive it. Blocks at its end until all requests
/// that have not been completed are; their errors end the job.
///
/// See the [module](crate::rust::request) for examples.
#[track_caller]
pub fn scope<'a, F, R>(f: F) -> R
where
    F: FnOnce(&LocalScope<'a>) -> R,
{
    let scope = LocalScope::new();
    let result = f(&scope);
    // Not by a drop: a program that is left by unwinding makes no calls any more.
    scope.finish();
    result
}
