//! State of a window, shared by its handles, epochs and requests.
#![forbid(unsafe_code)]

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use crate::datatype::operands::BufferLoan;
use crate::process::ProcessState;
use crate::recording::Call;
use crate::topology::{Rank, SimpleCommunicator};
use midplane_device::envelope;
use midplane_device::memory::Span;
use midplane_device::rma::calls::OneSidedCalls;
use midplane_device::rma::epochs::{WindowEvent, WindowSequence};
use midplane_objects::error::Error;
use midplane_objects::process::Env;
use midplane_objects::windows::{
    self, AccessState, StateOwner, WindowCondition, WindowPart, WindowState, agree, enter_device, leave_device,
    no_window, out_of_order,
};

/// Event that a call waits for in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WatchedEvent {
    /// The epoch is open.
    Opened(WindowSequence),
    /// The fence epoch is open, and all operations before it are complete.
    Fenced(WindowSequence),
    /// The epoch is complete.
    Closed(WindowSequence),
    /// The operation is complete, or the local flush.
    Done(WindowSequence),
    /// The flush is complete, and its operations had no error.
    Flushed(WindowSequence),
    /// The window is freed.
    Freed,
    /// The memory that starts at this address is detached.
    Detached(usize),
}

impl WatchedEvent {
    /// Returns the condition for the device, and whether the call reports errors that targets detected.
    fn watch(self) -> Option<(WindowEvent, bool)> {
        match self {
            WatchedEvent::Freed | WatchedEvent::Detached(_) => None,
            WatchedEvent::Opened(epoch) => Some((WindowEvent::Opened(epoch), false)),
            WatchedEvent::Fenced(epoch) => Some((WindowEvent::Opened(epoch), true)),
            WatchedEvent::Closed(epoch) => Some((WindowEvent::Closed(epoch), true)),
            WatchedEvent::Done(operation) => Some((WindowEvent::Done(operation), false)),
            WatchedEvent::Flushed(flush) => Some((WindowEvent::Done(flush), true)),
        }
    }
}

pub(crate) struct WindowRecord {
    /// The window's private communicator; its context identifies the window in all processes.
    pub(super) comm: SimpleCommunicator,
    state: RefCell<WindowState<BufferLoan>>,
    is_dynamic: bool,
    is_freed: Cell<bool>,
}

impl StateOwner for &WindowRecord {
    type BufferHold = BufferLoan;

    fn with<R>(&self, f: impl FnOnce(&mut WindowState<BufferLoan>) -> Result<R, Error>) -> Result<R, Error> {
        if self.is_freed.get() {
            Err(no_window())
        } else {
            f(&mut self.state.borrow_mut())
        }
    }
}

/// A window during a call.
pub(super) type WindowCall<'r> = windows::Window<'r, &'r WindowRecord>;

impl WindowRecord {
    /// Creates a window of all processes of a communicator, on memory from `allocate` (`None`: dynamic). Blocks until
    /// all processes have called it. They succeed or fail together.
    #[track_caller]
    pub(super) fn make<M>(
        function: &'static str,
        comm: &SimpleCommunicator,
        disp_unit: usize,
        allocate: impl FnOnce() -> Result<(Option<Span>, M), Error>,
    ) -> Result<(Rc<WindowRecord>, M), Error> {
        // The size of the memory is known after the allocation, and no check requires it.
        let recorded = Call::enter(function, |fields| {
            let (before, after) = match function {
                "MPI_Win_create" => (2, 1),
                "MPI_Win_allocate" => (1, 2),
                _ => (0, 1),
            };
            fields.unknown(before);
            if before > 0 {
                fields.value(disp_unit as i64);
            }
            fields.unknown(1).communicator(&comm.record).unknown(after);
        });
        let made = Self::make_unrecorded(comm, disp_unit, allocate);
        recorded.end_with(made, |fields, made| {
            fields.unknown(usize::from(function == "MPI_Win_allocate"));
            fields.value(made.map_or(0, |(record, _)| record.recorded_handle()));
        })
    }

    fn make_unrecorded<M>(
        comm: &SimpleCommunicator,
        disp_unit: usize,
        allocate: impl FnOnce() -> Result<(Option<Span>, M), Error>,
    ) -> Result<(Rc<WindowRecord>, M), Error> {
        let comm = comm.private()?;
        let here = comm.record.here.clone();
        let (env, membership) = (here.env()?, comm.record.membership());
        let disp_unit = u32::try_from(disp_unit).unwrap_or(u32::MAX);
        let allocated = allocate();
        let memory = allocated.as_ref().map_or(None, |(memory, _)| *memory);
        let span = memory.unwrap_or(Span::EMPTY);
        let entered =
            allocated.and_then(|(memory, rest)| enter_device(env, membership, memory, disp_unit, || Ok(rest)));
        let part = WindowPart {
            base: span.address(),
            size: span.len(),
            disp_unit,
        };
        let agreed = agree(comm.record.core()?, entered.is_ok(), part);
        if entered.is_ok() && agreed.is_err() {
            leave_device(env, membership);
        }
        let (rest, mut state) = (entered?, WindowState::new());
        state.uniform = agreed?;
        let record = WindowRecord {
            state: RefCell::new(state),
            is_dynamic: memory.is_none(),
            is_freed: Cell::new(false),
            comm,
        };
        Ok((Rc::new(record), rest))
    }

    /// Returns its handle in the records of the calls.
    pub(crate) fn recorded_handle(&self) -> i64 {
        const CREATED: i64 = 0xa000_0000;
        CREATED + i64::from(self.comm.record.membership().context)
    }

    /// Returns the rank in the window of the process with this world rank.
    pub(super) fn recorded_rank(&self, world: envelope::Rank) -> i64 {
        let membership = self.comm.record.membership();
        let rank = membership.ranks().find(|rank| membership.to_world(*rank) == world);
        rank.map_or(-1, |rank| rank.0.into())
    }

    pub(crate) fn here(&self) -> &Rc<ProcessState> {
        &self.comm.record.here
    }

    /// Returns the window for a call of `function`, or [`Error::Order`] after the end of its process.
    pub(super) fn call(&self, function: &'static str) -> Result<WindowCall<'_>, Error> {
        Ok(WindowCall {
            env: self.here().env()?,
            function,
            owner: self,
            membership: self.comm.record.membership(),
            is_dynamic: self.is_dynamic,
        })
    }

    /// Runs `call` of `function`; an error aborts the job.
    #[track_caller]
    pub(super) fn run<R>(&self, function: &'static str, call: impl FnOnce(WindowCall<'_>) -> Result<R, Error>) -> R {
        self.here().or_fatal(function, self.call(function).and_then(call))
    }

    /// Returns the world rank of the process with this rank, or [`Error::Rank`].
    pub(super) fn target(&self, rank: Rank) -> Result<envelope::Rank, Error> {
        let group = self.comm.record.membership().group();
        group.rank(rank.into()).map(|rank| group.to_world(rank))
    }

    /// Checks whether the event has occurred, without making progress.
    pub(crate) fn is_over(&self, env: &dyn Env, watched: WatchedEvent) -> bool {
        let window = self.comm.record.membership().context;
        let is_over = |watch| {
            let checked = env.check_window(window, WindowCondition::Occurred(watch), false);
            checked.is_ok_and(|checked| checked.is_true)
        };
        let watch = watched.watch();
        self.is_freed.get() || watch.is_some_and(|(watch, _)| is_over(watch))
    }

    /// Blocks until the event occurs. Returns class RmaRange when targets detected operations beyond their windows.
    pub(crate) fn wait(&self, function: &'static str, watched: WatchedEvent) -> Result<(), Error> {
        if self.is_freed.get() {
            return Ok(());
        }
        let call = self.call(function)?;
        let Some((watch, reports)) = watched.watch() else {
            return match watched {
                WatchedEvent::Detached(base) => self.detach(function, base),
                _ => self.free(function),
            };
        };
        call.wait(None, WindowCondition::Occurred(watch));
        call.sweep()?;
        if reports { call.faults() } else { Ok(()) }
    }

    /// Frees the window (MPI_Win_free). Blocks until all processes have called it.
    #[cfg_attr(feature = "options", track_caller)]
    pub(super) fn free(&self, function: &'static str) -> Result<(), Error> {
        if self.is_freed.get() {
            return Ok(());
        }
        let recorded = Call::enter("MPI_Win_free", |fields| {
            fields.value(self.recorded_handle());
        });
        let freed = self.call(function).and_then(|call| {
            call.check_free()?;
            call.end_all()?;
            call.sweep()?;
            leave_device(call.env, call.membership);
            self.is_freed.set(true);
            Ok(())
        });
        recorded.end_with(freed, |fields, _| {
            fields.unknown(1);
        })
    }

    /// Blocks until the operations are complete at one target or all; with `is_local`, until their buffers are
    /// reusable.
    #[cfg_attr(feature = "options", track_caller)]
    pub(super) fn flush(
        &self,
        function: &'static str,
        target: Option<envelope::Rank>,
        is_local: bool,
    ) -> Result<(), Error> {
        let recorded = Call::enter(function, |fields| {
            if let Some(target) = target {
                fields.value(self.recorded_rank(target));
            }
            fields.value(self.recorded_handle());
        });
        let flushed = self
            .call(function)
            .and_then(|call| call.flush_and_wait(target, is_local));
        recorded.end_with(flushed, |_, _| {})
    }

    /// Attaches memory. Returns class RmaAttach or [`Error::NoSpace`].
    pub(super) fn attach(&self, function: &'static str, memory: Span) -> Result<(), Error> {
        self.call(function)?.attach(memory)
    }

    /// Detaches the memory that starts at `base`, if it is attached. Blocks while a get reads from it.
    pub(super) fn detach(&self, function: &'static str, base: usize) -> Result<(), Error> {
        let call = self.call(function)?;
        if let Ok(memory) = call.detach(base) {
            call.wait(None, WindowCondition::Unread(memory));
        }
        Ok(())
    }

    /// Makes `memory` inaccessible to other processes until [`WindowRecord::give_back`]: this process holds its own lock, and
    /// operations that do not request the lock find no memory. Blocks until all epochs are complete and the lock is
    /// free. Returns class RmaSync while one is open.
    pub(super) fn withdraw(&self, function: &'static str, memory: Span) -> Result<(), Error> {
        let call = self.call(function)?;
        call.with(|state| match state.access {
            _ if state.exposure.is_some() => Err(out_of_order("an exposure epoch is open")),
            AccessState::None => Ok(()),
            _ => Err(out_of_order("an epoch is open")),
        })?;
        let here = call.here();
        call.wait(None, WindowCondition::Idle);
        let epoch = call.lock(here, true, true, None, false)?;
        call.wait(Some(here), WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        call.withdraw(true);
        call.wait(None, WindowCondition::Unread(memory));
        Ok(())
    }

    /// Reverts [`WindowRecord::withdraw`].
    #[track_caller]
    pub(super) fn give_back(&self, function: &'static str) -> Result<(), Error> {
        let call = self.call(function)?;
        call.withdraw(false);
        let epoch = call.unlock(call.here(), None)?;
        call.wait_closed(None, epoch)
    }
}
