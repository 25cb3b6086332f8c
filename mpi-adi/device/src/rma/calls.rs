//! The calls on windows, as operations of the device: each takes plain data and enters the device once.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use crate::adi::Adi;
use crate::envelope::{Context, Rank};
use crate::interface::{Enter, block_on, with, with_once};
use crate::kernel::{CallNote, Kernel};
use crate::memory::Span;
use crate::rma::deferred::Operation;
use crate::rma::epochs::{Opening, Reorder, Serial, Told, Watch};
use crate::rma::{NotAttached, OneSided, Pieces, Question, Window};

/// A condition of a window.
#[derive(Clone, Copy, Debug)]
pub enum WindowCondition {
    /// There is nothing to wait for.
    Now,
    /// The watch is over.
    Over(Watch),
    /// Operations of the epoch may leave for the target.
    Access(Serial, Rank),
    /// All answers have come, or those of the target.
    Answered(Option<Rank>),
    /// All processes that the exposure epoch is for have completed their access.
    Accessed(Serial),
    /// All epochs are complete, and nothing is deferred.
    Idle,
    /// No data of a get is still to be read from this memory.
    Unread(Span),
}

impl WindowCondition {
    fn is_true(self, all: &mut OneSided, context: Context) -> bool {
        match self {
            WindowCondition::Now => true,
            WindowCondition::Over(watch) => all.is_over(context, watch),
            WindowCondition::Access(epoch, target) => all.can_access(context, epoch, target),
            WindowCondition::Answered(target) => !all.awaits(context, target),
            WindowCondition::Accessed(epoch) => all.can_end(context, epoch),
            WindowCondition::Idle => all.is_idle(context),
            WindowCondition::Unread(memory) => !all.reads(memory),
        }
    }
}

/// Why a call on a window has changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowError {
    /// This process has no such window.
    NoWindow,
    /// The program's heap has no room for it.
    NoRoom,
    /// The epoch does not include the target.
    NotIncluded,
    /// An attached region overlaps with the memory.
    Overlaps,
    /// No attached region begins there.
    NotAttached,
}

/// A call on an epoch.
#[derive(Debug)]
pub enum EpochCall<'a> {
    /// Makes room for another epoch.
    Prepare,
    /// Opens one.
    Open(Opening<'a>, Told),
    /// Closes one.
    Close(Serial, Told),
    /// Flushes operations to the target, or to all; or waits for their buffers alone.
    Flush {
        /// The epoch.
        epoch: Serial,
        /// The target.
        target: Option<Rank>,
        /// Local completion is enough.
        is_local: bool,
        /// Notified of the end.
        told: Told,
    },
    /// Records an operation, which leaves when the epoch lets it.
    Record {
        /// The epoch.
        epoch: Serial,
        /// The target.
        target: Rank,
        /// The operation.
        operation: Operation,
        /// Notified of the end.
        told: Told,
    },
}

/// A call on a window's memory or attributes.
#[derive(Debug)]
pub enum WindowCall {
    /// Makes this process one that has windows. `None`: it must be one already.
    Prepare(Option<Box<OneSided>>),
    /// Enters a window, for which [`WindowCall::Prepare`] has made room.
    Add(Window),
    /// Removes the window.
    Remove,
    /// Lets epochs pass others from now on.
    SetReorder(Reorder),
    /// Withdraws the window's memory, or returns it: an operation of others on it meanwhile is beyond the window.
    Withdraw(bool),
    /// Attaches memory to a dynamic window.
    Attach(Span),
    /// Detaches the memory that begins at this address.
    Detach(usize),
    /// Changes nothing: asks which epochs may pass others.
    Reorder,
}

/// What [`OneSidedCalls::change_window`] has changed.
#[derive(Debug)]
pub enum WindowChange {
    /// All that was asked for.
    Done,
    /// The window is no longer the device's; the caller drops it.
    Removed(Window),
    /// This memory was detached.
    Detached(Span),
    /// These epochs may pass others.
    Reorder(Reorder),
}

/// The result of [`OneSidedCalls::check_window`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowState {
    /// The condition is true.
    pub is_true: bool,
    /// Targets have found operations of this process to be wrong.
    pub is_faulty: bool,
}

/// A transfer that leaves in packets.
#[derive(Debug)]
pub enum Transfer<'a, 'b> {
    /// Pieces of puts and accumulates, which no target answers by themselves. Those that more may be added to are held.
    Pieces(&'a mut Pieces),
    /// A packet that is answered.
    Question(&'a Question<'b>),
}

fn take_fault(all: &mut OneSided, context: Context) -> bool {
    all.window(context).is_some_and(Window::take_fault)
}

/// Runs `work`, and lets leave what it has made ready, as far as the network has room. Does not block.
fn enter<E, R>(
    env: &E,
    work: impl FnOnce(&mut OneSided) -> Result<R, WindowError>,
) -> Result<R, WindowError>
where
    E: Enter + ?Sized,
{
    with_once(env, |adi, kernel| {
        let result = adi.with_one_sided(|all| {
            let result = work(all);
            if all.is_due() {
                all.go_on_here(kernel.memory());
            }
            result
        });
        if adi.has_to_send() {
            kernel.poll(adi);
        }
        result.unwrap_or(Err(WindowError::NoWindow))
    })
}

/// Repeats `attempt` until it gives a value, with progress between; what it has made ready leaves then. Blocks.
fn wait<E, R>(
    env: &E,
    note: CallNote,
    mut attempt: impl FnMut(&mut OneSided, &mut dyn Kernel) -> Option<R>,
) -> R
where
    E: Enter + ?Sized,
{
    block_on(
        env,
        |_| note,
        |adi, kernel| {
            let result = adi.with_one_sided(|all| attempt(all, kernel))?;
            if result.is_some() && adi.has_to_send() {
                kernel.poll(adi);
            }
            result
        },
    )
}

/// The calls on windows. `context` names the window.
pub trait OneSidedCalls: Enter {
    /// Blocks until the condition is true. Returns whether targets have found operations of this process to be wrong
    /// since the last call that `takes_fault`.
    fn wait_for_window(
        &self,
        note: CallNote,
        context: Context,
        until: WindowCondition,
        takes_fault: bool,
    ) -> bool {
        wait(self, note, |all, _| {
            let is_true = until.is_true(all, context);
            is_true.then(|| takes_fault && take_fault(all, context))
        })
    }

    /// The condition is true now; and whether targets have found operations to be wrong, which is taken if it is asked
    /// for. Does not block. Fails with [`WindowError::NoWindow`].
    fn check_window(
        &self,
        context: Context,
        until: WindowCondition,
        takes_fault: bool,
    ) -> Result<WindowState, WindowError> {
        let checked = with(self, |adi, _| {
            adi.with_one_sided(|all| WindowState {
                is_true: until.is_true(all, context),
                is_faulty: takes_fault && take_fault(all, context),
            })
        });
        checked.ok_or(WindowError::NoWindow)
    }

    /// A call on an epoch: its number, or that of the flush or operation; packets that it makes ready leave if the
    /// network has room. Does not block. Fails with [`WindowError::NoWindow`] and [`WindowError::NoRoom`].
    fn call_epoch(&self, context: Context, call: EpochCall<'_>) -> Result<Serial, WindowError> {
        enter(self, |all| match call {
            EpochCall::Prepare => all
                .prepare_epoch(context)
                .then_some(0)
                .ok_or(WindowError::NoRoom),
            EpochCall::Open(opening, told) => {
                all.open(context, opening, told).ok_or(WindowError::NoRoom)
            }
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
                flush.ok_or(WindowError::NoRoom)
            }
            EpochCall::Record {
                epoch,
                target,
                operation,
                told,
            } => {
                let recorded = all.defer((context, epoch, target), operation, told);
                recorded.ok_or(WindowError::NoRoom)
            }
        })
    }

    /// Asks for the epoch's access to the target, and for the lock if it needs one: operations may leave for it now.
    /// Does not block. Fails with [`WindowError::NoWindow`] and [`WindowError::NotIncluded`].
    fn access_target(
        &self,
        context: Context,
        epoch: Serial,
        target: Rank,
    ) -> Result<bool, WindowError> {
        enter(self, |all| {
            if all.includes(context, epoch, target) {
                Ok(all.can_access(context, epoch, target))
            } else {
                Err(WindowError::NotIncluded)
            }
        })
    }

    /// Transfers data on a window. Blocks while there is no room for the packets.
    fn transfer(&self, note: CallNote, context: Context, transfer: Transfer<'_, '_>) {
        match transfer {
            Transfer::Pieces(pieces) => wait(self, note, |all, kernel| {
                let is_done = all.push_pieces(kernel.memory(), pieces);
                is_done.then_some(())
            }),
            Transfer::Question(question) => wait(self, note, |all, kernel| {
                let is_done = all.ask_question(kernel.memory(), context, question);
                is_done.then_some(())
            }),
        }
    }

    /// Flushes an epoch, and blocks until that is done. Returns whether targets have found operations of this process
    /// to be wrong, unless local completion is enough. Fails with [`WindowError::NoRoom`].
    fn flush_and_wait(
        &self,
        note: CallNote,
        context: Context,
        (epoch, target): (Serial, Option<Rank>),
        is_local: bool,
    ) -> Result<bool, WindowError> {
        let mut until = None;
        wait(self, note, |all, _| {
            let until = match until {
                Some(until) => until,
                // Nothing to send, and only answers to wait for.
                None if all.is_answered(context, target, is_local) => {
                    *until.insert(WindowCondition::Answered(target))
                }
                None => match all.flush((context, epoch, target), is_local, None) {
                    Some(flush) => *until.insert(WindowCondition::Over(Watch::Done(flush))),
                    None => return Some(Err(WindowError::NoRoom)),
                },
            };
            let is_true = until.is_true(all, context);
            is_true.then(|| Ok(!is_local && take_fault(all, context)))
        })
    }

    /// The last fetch of a result longer than an answer was refused: it is to be repeated. Does not block.
    fn take_refused(&self) -> bool {
        with(self, |adi, _| adi.with_one_sided(OneSided::take_refused)) == Some(true)
    }

    /// Changes a window. Does not block. Fails with [`WindowError::NoWindow`], [`WindowError::NoRoom`],
    /// [`WindowError::Overlaps`] and [`WindowError::NotAttached`].
    fn change_window(
        &self,
        context: Context,
        call: WindowCall,
    ) -> Result<WindowChange, WindowError> {
        with_once(self, |adi, _| change(adi, context, call))
    }
}

impl<E: Enter + ?Sized> OneSidedCalls for E {}

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
                Err(WindowError::NoRoom)
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

/// A change of a window that stays.
fn change_entered(window: &mut Window, call: WindowCall) -> Result<WindowChange, WindowError> {
    match call {
        WindowCall::SetReorder(reorder) => window.set_reorder(reorder),
        WindowCall::Withdraw(is_withdrawn) => window.withdraw(is_withdrawn),
        WindowCall::Attach(memory) => window.attach(memory).map_err(|error| match error {
            NotAttached::Overlaps => WindowError::Overlaps,
            NotAttached::NoRoom => WindowError::NoRoom,
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
