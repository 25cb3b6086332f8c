//! Requests of windows: epochs, flushes and operations. The device sets a ticket when the operation of a request is
//! complete; the request keeps the ticket until the completion is reported to the program.

use alloc::boxed::Box;
use core::ffi::c_int;

use spin::Mutex;

use super::objects::{CallWindow, error_target_of};
use crate::handles::{HandleKind, HandleTable};
use crate::requests::{
    CompletedRequest, CompletionData, FamilyEntry, ONE_SIDED, RequestFamily, enter_family, with_status,
};
use crate::types::MPI_Status;
use midplane_device::rma::epochs::{CompletionTicket, TicketRef};
use midplane_objects::error::{Error, ErrorClass, LimitedResource};
use midplane_objects::windows::{BEYOND, make_room};

const KIND: HandleKind = HandleKind {
    name: LimitedResource::WindowRequests,
    tag: ONE_SIDED,
    place_bits: 16,
    generation_bits: 12,
    limit: 1 << 16,
};

struct RmaRequest {
    win: c_int,
    ticket: &'static CompletionTicket,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_windows")]
static TABLE: Mutex<HandleTable<RmaRequest>> = Mutex::new(HandleTable::new(KIND));

struct OfWindows;

// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_windows")]
static FAMILY: FamilyEntry = FamilyEntry::new(ONE_SIDED, &OfWindows);

impl CallWindow {
    /// Starts the operation of a request with its ticket. Returns the request's handle. Fails with [`Error::NoSpace`],
    /// [`Error::Limit`], and like `start`.
    pub fn request(&self, start: impl FnOnce(TicketRef) -> Result<(), Error>) -> Result<c_int, Error> {
        enter_family(&FAMILY);
        let ticket: &'static CompletionTicket = Box::leak(make_room(CompletionTicket::default())?);
        let win = self.owner.0;
        let added = TABLE.lock().add(RmaRequest { win, ticket });
        let started = added.and_then(|handle| start(Some(ticket)).map(|()| handle));
        if started.is_err() {
            if let Ok(handle) = added {
                TABLE.lock().remove(handle);
            }
            give_back(ticket);
        }
        started
    }
}

/// Frees a ticket that the device no longer uses.
fn give_back(ticket: &'static CompletionTicket) {
    // SAFETY: leaked at the creation of the request. The device released it when it set it, or never had it, and the
    // request is no longer in the table.
    drop(unsafe { Box::from_raw(core::ptr::from_ref(ticket).cast_mut()) });
}

const NOT_ALLOWED: Error = Error::Wrong {
    class: ErrorClass::Request,
    what: "the request of a window can neither be freed nor cancelled (MPI-3.1 section 11.3.5); complete it",
};

impl RequestFamily for OfWindows {
    fn has(&self, handle: c_int) -> bool {
        TABLE.lock().get(handle).is_some()
    }

    fn ended(&self, handle: c_int) -> Option<CompletedRequest> {
        let (win, is_faulty) = {
            let table = TABLE.lock();
            let object = table.get(handle)?;
            (object.win, object.ticket.ended()?)
        };
        let mut completed = with_status(MPI_Status::NO_RECEIVE);
        if is_faulty {
            completed.rest = Some(CompletionData::Failed(error_target_of(win), BEYOND));
        }
        Some(completed)
    }

    fn forget(&self, handle: c_int) {
        if let Some(object) = TABLE.lock().remove(handle) {
            give_back(object.ticket);
        }
    }

    fn free(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }

    fn cancel(&self, _: c_int) -> Result<(), Error> {
        Err(NOT_ALLOWED)
    }
}
