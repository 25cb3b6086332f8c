//! Operations on windows: each receives plain data and enters the device once.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use crate::adi::Adi;
use crate::envelope::{Context, Rank};
use crate::interface::{EnterDevice, block_on, with_device, with_device_once};
use crate::kernel::{CallInfo, Kernel};
use crate::memory::Span;
use crate::rma::deferred_ops::RecordedOperation;
use crate::rma::epochs::{EpochArgs, ReorderFlags, TicketRef, WindowEvent, WindowSequence};
use crate::rma::exposure::AttachError;
use crate::rma::one_sided::OneSided;
use crate::rma::origin_requests::TargetRequest;
use crate::rma::pieces::DataPieces;
use crate::rma::window::Window;

/// A condition of a window.
#[derive(Clone, Copy, Debug)]
pub enum WindowCondition {
    /// Always true.
    Now,
    /// The watched condition is met.
    Occurred(WindowEvent),
    /// Operations of the epoch may be sent to the target.
    Access(WindowSequence, Rank),
    /// All replies, or those of the target, have arrived.
    Answered(Option<Rank>),
    /// All origins of the exposure epoch have completed their access.
    Accessed(WindowSequence),
    /// All epochs are complete, and no operation is deferred.
    Idle,
    /// No get in progress reads from this memory.
    Unread(Span),
}

impl WindowCondition {
    fn is_true(self, all: &mut OneSided, context: Context) -> bool {
        match self {
            WindowCondition::Now => true,
            WindowCondition::Occurred(watch) => all.has_occurred(context, watch),
            WindowCondition::Access(epoch, target) => all.can_access(context, epoch, target),
            WindowCondition::Answered(target) => !all.awaits(context, target),
            WindowCondition::Accessed(epoch) => all.can_end(context, epoch),
            WindowCondition::Idle => all.is_idle(context),
            WindowCondition::Unread(memory) => !all.reads(memory),
        }
    }
}

/// Reason why a call on a window has failed without any change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowError {
    /// This process has no such window.
    NoWindow,
    /// The program's heap is full.
    OutOfMemory,
    /// The epoch does not include the target.
    NotIncluded,
    /// An attached region overlaps with the memory.
    Overlaps,
    /// No attached region begins at this address.
    NotAttached,
}

/// A call on an epoch.
#[derive(Debug)]
pub enum EpochCall<'a> {
    /// Allocates memory for another epoch.
    Prepare,
    /// Opens an epoch.
    Open(EpochArgs<'a>, TicketRef),
    /// Closes an epoch.
    Close(WindowSequence, TicketRef),
    /// Flushes operations to the target, or to all targets.
    Flush {
        /// The epoch.
        epoch: WindowSequence,
        /// The target.
        target: Option<Rank>,
        /// Local completion only: the origin's buffers can be reused.
        is_local: bool,
        /// Ticket to complete at the end.
        told: TicketRef,
    },
    /// Records an operation; it is sent when the epoch allows it.
    Record {
        /// The epoch.
        epoch: WindowSequence,
        /// The target.
        target: Rank,
        /// The operation.
        operation: RecordedOperation,
        /// Ticket to complete at the end.
        told: TicketRef,
    },
}

/// A call on a window's memory or attributes.
#[derive(Debug)]
pub enum WindowCall {
    /// Initializes one-sided communication in this process. `None`: it must be initialized already.
    Prepare(Option<Box<OneSided>>),
    /// Adds a window, for which [`WindowCall::Prepare`] has allocated memory.
    Add(Window),
    /// Removes the window.
    Remove,
    /// Sets which epochs may overtake others.
    SetReorder(ReorderFlags),
    /// Disables remote access to the window's memory, or enables it again: meanwhile, remote operations are out of
    /// bounds.
    Withdraw(bool),
    /// Attaches memory to a dynamic window.
    Attach(Span),
    /// Detaches the memory that begins at this address.
    Detach(usize),
    /// Returns which epochs may overtake others; changes nothing.
    Reorder,
}

/// Result of [`OneSidedCalls::change_window`].
#[derive(Debug)]
pub enum WindowChange {
    /// The change was made.
    Done,
    /// The device has released the window; the caller drops it.
    Removed(Window),
    /// This memory was detached.
    Detached(Span),
    /// These epochs may overtake others.
    Reorder(ReorderFlags),
}

/// Result of [`OneSidedCalls::check_window`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowState {
    /// The condition is true.
    pub is_true: bool,
    /// Targets have reported faulty operations of this process.
    pub is_faulty: bool,
}

/// A transfer in packets.
#[derive(Debug)]
pub enum RmaTransfer<'a, 'b> {
    /// Pieces of puts and accumulates, without a reply of their own. Partial packets are held for coalescing.
    Pieces(&'a mut DataPieces),
    /// A packet with a reply.
    Request(&'a TargetRequest<'b>),
}

fn reset_fault(all: &mut OneSided, context: Context) -> bool {
    all.window(context).is_some_and(Window::reset_fault)
}

/// Runs `work`, and transmits the resulting packets while injection slots are free. Does not block.
fn enter<E, R>(env: &E, work: impl FnOnce(&mut OneSided) -> Result<R, WindowError>) -> Result<R, WindowError>
where
    E: EnterDevice + ?Sized,
{
    with_device_once(env, |adi, kernel| {
        let result = adi.with_one_sided(|all| {
            let result = work(all);
            if all.can_advance() {
                all.advance_local(kernel.memory());
            }
            result
        });
        if adi.has_pending_tx() {
            kernel.poll(adi);
        }
        result.unwrap_or(Err(WindowError::NoWindow))
    })
}

/// Repeats `attempt`, with progress steps between, until it returns a value; transmits resulting packets. Blocks.
fn wait<E, R>(env: &E, note: CallInfo, mut attempt: impl FnMut(&mut OneSided, &mut dyn Kernel) -> Option<R>) -> R
where
    E: EnterDevice + ?Sized,
{
    block_on(
        env,
        |_| note,
        |adi, kernel| {
            let result = adi.with_one_sided(|all| attempt(all, kernel))?;
            if result.is_some() && adi.has_pending_tx() {
                kernel.poll(adi);
            }
            result
        },
    )
}

/// Operations on windows. `context` identifies the window.
pub trait OneSidedCalls: EnterDevice {
    /// Blocks until the condition is true. Returns whether targets have reported faulty operations of this process
    /// since the last call with `takes_fault`.
    fn wait_for_window(&self, note: CallInfo, context: Context, until: WindowCondition, takes_fault: bool) -> bool {
        wait(self, note, |all, _| {
            let is_true = until.is_true(all, context);
            is_true.then(|| takes_fault && reset_fault(all, context))
        })
    }

    /// Checks the condition, and, with `takes_fault`, returns and clears the fault reported by targets. Does not block.
    /// Fails with [`WindowError::NoWindow`].
    fn check_window(
        &self,
        context: Context,
        until: WindowCondition,
        takes_fault: bool,
    ) -> Result<WindowState, WindowError> {
        let checked = with_device(self, |adi, _| {
            adi.with_one_sided(|all| WindowState {
                is_true: until.is_true(all, context),
                is_faulty: takes_fault && reset_fault(all, context),
            })
        });
        checked.ok_or(WindowError::NoWindow)
    }

    /// Performs a call on an epoch. Returns its sequence number, or that of the flush or operation. Transmits the
    /// packets that it prepares if the network has free injection slots. Does not block. Fails with
    /// [`WindowError::NoWindow`] and [`WindowError::OutOfMemory`].
    fn call_epoch(&self, context: Context, call: EpochCall<'_>) -> Result<WindowSequence, WindowError> {
        enter(self, |all| match call {
            EpochCall::Prepare => all.prepare_epoch(context).then_some(0).ok_or(WindowError::OutOfMemory),
            EpochCall::Open(opening, told) => all.open(context, opening, told).ok_or(WindowError::OutOfMemory),
            EpochCall::Close(epoch, told) => {
                all.close(context, epoch, told);
                Ok(epoch)
            }
            EpochCall::Flush {
                epoch,
                target,
                is_local,
                told,
            } => {
                let flush = all.flush((context, epoch, target), is_local, told);
                flush.ok_or(WindowError::OutOfMemory)
            }
            EpochCall::Record {
                epoch,
                target,
                operation,
                told,
            } => {
                let recorded = all.defer(context, epoch, target, operation, told);
                recorded.ok_or(WindowError::OutOfMemory)
            }
        })
    }

    /// Requests the epoch's access to the target, and the lock if it requires one. Returns whether operations may be
    /// sent to the target now. Does not block. Fails with [`WindowError::NoWindow`] and [`WindowError::NotIncluded`].
    fn access_target(&self, context: Context, epoch: WindowSequence, target: Rank) -> Result<bool, WindowError> {
        enter(self, |all| {
            if all.includes(context, epoch, target) {
                Ok(all.can_access(context, epoch, target))
            } else {
                Err(WindowError::NotIncluded)
            }
        })
    }

    /// Transfers data on a window. Blocks while the packets find no free space.
    fn transfer(&self, note: CallInfo, context: Context, transfer: RmaTransfer<'_, '_>) {
        match transfer {
            RmaTransfer::Pieces(pieces) => wait(self, note, |all, kernel| {
                let is_done = all.push_pieces(kernel.memory(), pieces);
                is_done.then_some(())
            }),
            RmaTransfer::Request(question) => wait(self, note, |all, kernel| {
                let is_done = all.emit_request(kernel.memory(), context, question);
                is_done.then_some(())
            }),
        }
    }

    /// Flushes an epoch, and blocks until the flush is complete. Returns whether targets have reported faulty
    /// operations of this process, unless `is_local`. Fails with [`WindowError::OutOfMemory`].
    fn flush_and_wait(
        &self,
        note: CallInfo,
        context: Context,
        epoch: WindowSequence,
        target: Option<Rank>,
        is_local: bool,
    ) -> Result<bool, WindowError> {
        let mut until = None;
        wait(self, note, |all, _| {
            let until = match until {
                Some(until) => until,
                // Nothing to send, and only replies to wait for.
                None if all.is_answered(context, target, is_local) => *until.insert(WindowCondition::Answered(target)),
                None => match all.flush((context, epoch, target), is_local, None) {
                    Some(flush) => *until.insert(WindowCondition::Occurred(WindowEvent::Done(flush))),
                    None => return Some(Err(WindowError::OutOfMemory)),
                },
            };
            let is_true = until.is_true(all, context);
            is_true.then(|| Ok(!is_local && reset_fault(all, context)))
        })
    }

    /// Returns and clears whether the last fetch of a long result was rejected and must be repeated. Does not block.
    fn reset_rejected(&self) -> bool {
        with_device(self, |adi, _| adi.with_one_sided(OneSided::reset_rejected)) == Some(true)
    }

    /// Changes a window. Does not block. Fails with [`WindowError::NoWindow`], [`WindowError::OutOfMemory`],
    /// [`WindowError::Overlaps`] and [`WindowError::NotAttached`].
    fn change_window(&self, context: Context, call: WindowCall) -> Result<WindowChange, WindowError> {
        with_device_once(self, |adi, _| change(adi, context, call))
    }
}

impl<E: EnterDevice + ?Sized> OneSidedCalls for E {}

fn change(adi: &mut Adi, context: Context, call: WindowCall) -> Result<WindowChange, WindowError> {
    if let WindowCall::Prepare(Some(made)) = call {
        adi.set_one_sided(made);
        return change(adi, context, WindowCall::Prepare(None));
    }
    let result = adi.with_one_sided(|all| match call {
        WindowCall::Prepare(_) => {
            if all.prepare() {
                Ok(WindowChange::Done)
            } else {
                Err(WindowError::OutOfMemory)
            }
        }
        WindowCall::Add(window) => {
            all.add(window);
            Ok(WindowChange::Done)
        }
        WindowCall::Remove => all
            .remove(context)
            .map(WindowChange::Removed)
            .ok_or(WindowError::NoWindow),
        call => change_entered(all.window(context).ok_or(WindowError::NoWindow)?, call),
    });
    result.unwrap_or(Err(WindowError::NoWindow))
}

/// Changes an existing window.
fn change_entered(window: &mut Window, call: WindowCall) -> Result<WindowChange, WindowError> {
    match call {
        WindowCall::SetReorder(reorder) => window.set_reorder(reorder),
        WindowCall::Withdraw(is_withdrawn) => window.revoke_access(is_withdrawn),
        WindowCall::Attach(memory) => window.attach(memory).map_err(|error| match error {
            AttachError::Overlaps => WindowError::Overlaps,
            AttachError::OutOfMemory => WindowError::OutOfMemory,
        })?,
        WindowCall::Detach(base) => {
            let detached = window.detach(base).ok_or(WindowError::NotAttached)?;
            return Ok(WindowChange::Detached(detached));
        }
        WindowCall::Reorder => return Ok(WindowChange::Reorder(window.reorder())),
        WindowCall::Prepare(_) | WindowCall::Add(_) | WindowCall::Remove => {}
    }
    Ok(WindowChange::Done)
}
