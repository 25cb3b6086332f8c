//! A nonblocking operation, without the types of its buffers.

use alloc::rc::Rc;
use midplane_device::kernel::CallInfo;

use super::in_flight;
use super::user_operation::OpenGeneralized;
use crate::datatype::operands::BufferLoan;
use crate::fatal;
use crate::process::ProcessState;
use crate::recording::{Call, Fields, RequestNumber};
use crate::status::Status;
use crate::topology::CommRecord;
use crate::window::{self, WatchedEvent};
use midplane_device::interface::{CancelPhase, Device};
use midplane_device::request::{RequestId, RequestOutcome};
use midplane_objects::call::{are_finished, block_on};
use midplane_objects::comm::{Partners, wait};
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::process::Env;

/// Kind of operation.
pub(crate) enum TicketKind {
    /// A send.
    Send(CommRecord, RequestId),
    /// A receive.
    Receive(CommRecord, RequestId),
    /// The collective with this index in the process's list.
    Collective(CommRecord, usize),
    /// An operation in a window.
    OneSided(Rc<window::WindowRecord>, WatchedEvent),
    /// A generalized request.
    Generalized(OpenGeneralized),
    /// Complete, with this status.
    Done(Status),
}

/// A nonblocking operation, with the loans of its buffers.
#[doc(hidden)]
pub struct Ticket {
    pub(crate) what: TicketKind,
    pub(crate) loans: [BufferLoan; 2],
    /// Identifies it in the records of the calls.
    pub(crate) number: RequestNumber,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Ticket>() <= 160);

const CANCEL: &str = "mpi::request::Request::cancel (MPI_Cancel)";
const NOT_ALLOWED: Error = Error::Wrong {
    class: ErrorClass::Request,
    what: "neither a collective nor what goes on in a window can be cancelled (MPI-3.1 sections 5.12, 11.3.5); complete it",
};

/// Status of a complete operation.
pub(super) enum ObservedStatus {
    Known(Result<Status, Error>),
    /// The caller must query the operation, without a borrow of a scope.
    Asked(OpenGeneralized),
}

/// Function of the record of a completion. Each request has a record of its own.
fn recorded_function(function: &'static str) -> &'static str {
    match function {
        "MPI_Waitall" | "MPI_Testall" => WAIT_ALL,
        _ => "MPI_Wait",
    }
}

const WAIT_ALL: &str = "MPI_Waitall";

fn received(partners: Partners<'_>, outcome: RequestOutcome) -> Result<Status, Error> {
    if outcome.cancelled {
        Ok(Status::of_send(true))
    } else {
        partners.received(outcome).map(Status::from)
    }
}

/// Returns the outcome of a request without completing it, or `None` if it is in progress.
fn outcome(env: &dyn Env, id: RequestId) -> Option<RequestOutcome> {
    env.inspect(None, id)?.outcome
}

/// Adds the arguments of a wait for one of several requests.
fn add_wait_any<'t>(fields: &mut Fields, tickets: impl Iterator<Item = (usize, &'t Ticket)> + Clone) {
    fields.value(tickets.clone().count() as i64);
    fields
        .list(tickets.map(|(_, ticket)| ticket.number.handle()))
        .unknown(2);
}

/// Adds the results of a wait for one of several requests that completes none: the caller completes it.
fn add_any<'t>(fields: &mut Fields, tickets: impl Iterator<Item = (usize, &'t Ticket)> + Clone) {
    const UNDEFINED: i64 = -32766;
    fields.list(tickets.map(|(_, ticket)| ticket.number.handle()));
    fields.value(UNDEFINED).status(None);
}

impl Ticket {
    pub(crate) fn new(what: TicketKind, loan: BufferLoan) -> Ticket {
        Ticket {
            what,
            loans: [loan, BufferLoan::EMPTY],
            number: RequestNumber::next(),
        }
    }

    fn here(&self) -> Option<&Rc<ProcessState>> {
        match &self.what {
            TicketKind::Send(record, _) | TicketKind::Receive(record, _) | TicketKind::Collective(record, _) => {
                Some(&record.here)
            }
            TicketKind::OneSided(record, _) => Some(record.here()),
            TicketKind::Generalized(open) => Some(&open.here),
            TicketKind::Done(_) => None,
        }
    }

    /// Checks whether the operation is complete, without making progress.
    pub(super) fn is_done(&self, env: &dyn Env) -> bool {
        match &self.what {
            TicketKind::Send(_, id) | TicketKind::Receive(_, id) => are_finished(env, [*id].into_iter()),
            TicketKind::Collective(record, place) => record.here.in_flight.is_over(*place),
            TicketKind::OneSided(record, watched) => record.is_over(env, *watched),
            TicketKind::Generalized(open) => open.is_over(),
            TicketKind::Done(_) => true,
        }
    }

    /// Makes progress, and checks whether the operation is complete. Does not block.
    #[track_caller]
    pub(super) fn is_complete(&self, function: &'static str) -> bool {
        let Some(here) = self.here() else {
            return true;
        };
        let env = here.or_fatal(function, here.env());
        env.advance(CallInfo::without_peer(function), None);
        self.is_done(env)
    }

    /// Starts a cancel. The caller must call the cancel function of the returned generalized request, without a borrow
    /// of a scope.
    #[track_caller]
    pub(super) fn cancel(&self) -> Option<OpenGeneralized> {
        let here = self.here()?;
        match &self.what {
            TicketKind::Send(_, id) | TicketKind::Receive(_, id) => {
                let env = here.or_fatal(CANCEL, here.env());
                env.cancel("MPI_Cancel", *id, CancelPhase::Start);
            }
            TicketKind::Collective(..) | TicketKind::OneSided(..) => here.fatal(CANCEL, NOT_ALLOWED),
            TicketKind::Generalized(open) => return Some(open.clone()),
            TicketKind::Done(_) => {}
        }
        None
    }

    /// Returns the status, or `None` if the operation is in progress. Makes progress; does not block.
    #[track_caller]
    pub(super) fn seen(&self, function: &'static str) -> Option<ObservedStatus> {
        if !self.is_complete(function) {
            return None;
        }
        let status = match &self.what {
            TicketKind::Send(record, id) => record.here.env().map(|env| {
                let cancelled = outcome(env, *id).is_some_and(|outcome| outcome.cancelled);
                Status::of_send(cancelled)
            }),
            TicketKind::Receive(record, id) => record.partners().and_then(|partners| {
                outcome(partners.env, *id).map_or(Ok(Status::EMPTY), |outcome| received(partners, outcome))
            }),
            TicketKind::Collective(..) | TicketKind::OneSided(..) => Ok(Status::EMPTY),
            TicketKind::Generalized(open) => return Some(ObservedStatus::Asked(open.clone())),
            TicketKind::Done(status) => Ok(*status),
        };
        Some(ObservedStatus::Known(status))
    }

    /// Blocks until the operation is complete, and returns [`Error::Truncated`] or the error of its collective. It is
    /// completed even on an error.
    #[cfg_attr(feature = "options", track_caller)]
    pub(crate) fn wait(self, function: &'static str) -> Result<Status, Error> {
        let empty = |()| Status::EMPTY;
        let call = Call::enter(recorded_function(function), |fields| {
            self.add_wait(fields, function);
        });
        let result = match &self.what {
            TicketKind::Send(record, id) => record.here.env().map(|env| {
                let outcome = wait(env, function, *id);
                Status::of_send(outcome.cancelled)
            }),
            TicketKind::Receive(record, id) => record.partners().and_then(|partners| {
                let outcome = wait(partners.env, function, *id);
                received(partners, outcome)
            }),
            TicketKind::Collective(record, at) => in_flight::wait(&record.here, function, *at).map(empty),
            TicketKind::OneSided(record, watched) => record.wait(function, *watched).map(empty),
            TicketKind::Generalized(open) => open.wait(function),
            TicketKind::Done(status) => Ok(*status),
        };
        for loan in self.loans {
            // SAFETY: the operation and its requests are complete; tickets are waited for before borrows end.
            unsafe { loan.give_back() };
        }
        call.end_with(result, |fields, status| {
            if recorded_function(function) == WAIT_ALL {
                fields.list([0]).statuses(status);
            } else {
                fields.request(None).status(status);
            }
        })
    }

    /// Adds the arguments of a wait.
    fn add_wait(&self, fields: &mut Fields, function: &'static str) {
        if recorded_function(function) == WAIT_ALL {
            fields.value(1).list([self.number.handle()]).unknown(1);
        } else {
            fields.request(Some(self.number)).unknown(1);
        }
    }

    /// [`Ticket::wait`] that aborts the job on an error, which is reported for the call `name`.
    #[track_caller]
    pub(super) fn wait_or_end(self, name: &'static str, function: &'static str) -> Status {
        fatal(name, self.wait(function))
    }

    /// Blocks until one of the tickets is complete, and returns its index, or `None` if there is none.
    #[track_caller]
    pub(super) fn wait_any<'t>(
        function: &'static str,
        tickets: impl Iterator<Item = (usize, &'t Ticket)> + Clone,
    ) -> Option<usize> {
        let (first, ticket) = tickets.clone().next()?;
        let Some(here) = ticket.here() else {
            return Some(first);
        };
        let env = here.or_fatal(function, here.env());
        let call = Call::enter("MPI_Waitany", |fields| add_wait_any(fields, tickets.clone()));
        let place = block_on(env, CallInfo::without_peer(function), || {
            let mut done = tickets.clone().filter(|(_, ticket)| ticket.is_done(env));
            done.next().map(|(place, _)| place)
        });
        let place = call.end_with(Ok(place), |fields, _| add_any(fields, tickets));
        place.ok()
    }

    /// Checks whether it is an incomplete generalized request, which can be dropped without a wait.
    pub(super) fn can_be_given_up(&self) -> bool {
        matches!(&self.what, TicketKind::Generalized(open) if !open.is_over())
    }

    /// Checks whether its process still has a device, which a wait requires.
    pub(super) fn can_wait(&self) -> bool {
        self.here().is_none_or(|here| here.env().is_ok())
    }
}
