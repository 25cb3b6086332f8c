//! Operations that are recorded, and done when they can be: those of epochs that were opened without blocking and are
//! not open at their targets yet, and those with requests.

use core::ffi::c_int;

use super::make::no_room;
use super::objects::{Kept, Window};
use super::operations::Place;
use crate::c::datatypes::{Elements, Lent};
use crate::c::requests::SEND_COMPLETE;
use crate::device::rma::deferred::Operation;
use crate::device::rma::epochs::{Told, Watch};
use crate::device::rma::wire::Head;
use crate::mpi::error::Error;

/// The origin's side of an operation to be recorded; what it has none of is [`Lent::EMPTY`].
pub(super) struct Origin {
    pub from: Lent,
    pub compare: Lent,
    pub into: Lent,
}

impl Window {
    /// Gives back what deferred operations needed that are over.
    pub fn sweep(&self) -> Result<(), Error> {
        let context = self.context();
        self.with(|object| {
            let is_over = |kept: &Kept| {
                let watch = Watch::Done(kept.operation);
                self.with_all(|all| all.is_over(context, watch))
            };
            // No function of the program's and no call is under this lock: the device does not come back here.
            object.kept.retain(|kept| !is_over(kept).unwrap_or(true));
            Ok(())
        })
    }

    /// Records an operation on `bytes` packed bytes, at least 1, of these elements, of which `unit` stay together. Fails with
    /// [`Error::NoRoom`].
    fn defer(
        &self,
        place: &Place,
        head: Head,
        origin: Origin,
        (elements, bytes, unit): (&Elements, usize, usize),
        told: Told,
    ) -> Result<(), Error> {
        self.sweep()?;
        let base = core::ptr::without_provenance(place.base as usize);
        // SAFETY: these are places in the target's window, and not looked at here but walked alone.
        let to = unsafe { elements.origin(base, 0, bytes) }?;
        self.with(|object| {
            let none = |_| no_room::<Kept>(1);
            object.kept.try_reserve(1).map_err(none)
        })?;
        let operation = Operation {
            head,
            from: origin.from.span(),
            compare: origin.compare.span(),
            into: origin.into.span(),
            to: to.span(),
            len: bytes,
            unit,
        };
        let of = (self.context(), place.epoch, place.rank);
        let recorded = self.with_all(|all| all.defer(of, operation, told))?;
        let operation = recorded.ok_or(no_room::<Operation>(1))?;
        let lent = [origin.from, origin.compare, origin.into, to];
        let is_held = |lent: &Lent| lent.span().is_typed();
        self.with(|object| {
            // What follows it there waits for it.
            for opened in object.access.opened() {
                (opened.is_ready, opened.ready_at) = (false, None);
            }
            if lent.iter().any(is_held) {
                object.kept.push(Kept {
                    operation,
                    _lent: lent,
                });
            }
            Ok(())
        })?;
        self.set_off();
        Ok(())
    }
}

impl Origin {
    /// Records an operation, as [`Window::defer`], with a request if that `is_request`: its handle, of no bytes that of
    /// one that is complete.
    pub fn leave(
        self,
        window: &Window,
        place: &Place,
        head: Head,
        elements: (&Elements, usize, usize),
        is_request: bool,
    ) -> Result<c_int, Error> {
        if elements.1 == 0 {
            return Ok(SEND_COMPLETE);
        }
        match is_request {
            true => window.request(|told| window.defer(place, head, self, elements, told)),
            false => {
                window.defer(place, head, self, elements, None)?;
                Ok(SEND_COMPLETE)
            }
        }
    }
}
