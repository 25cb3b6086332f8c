//! What the calls on a window ask of the device: here alone they enter it, each with plain data, and once where it can
//! be. Packets to a target, and waiting for its answers.

use super::make::no_room;
use super::state::{Extent, Home, Window, no_window, wrong};
use crate::device::envelope::{Context, Rank};
use crate::device::kernel::CallNote;
use crate::device::memory::{Span, UserMemory};
use crate::device::rma::deferred::Operation;
use crate::device::rma::epochs::{Opening, Reorder, Serial, Told, Watch};
use crate::device::rma::wire::{HEAD_BYTES, Head, Kind};
use crate::device::rma::{self, Awaited, NotAttached, OneSided, Pieces, Question};
use crate::mpi::call;
use crate::mpi::error::{Class, Error};
use crate::mpi::lend::lend_until_over;

/// What a target has found, and tells when it is asked.
pub(crate) const BEYOND: Error = wrong(
    Class::RmaRange,
    "an operation since the last synchronization was beyond what its target exposes, and not done",
);

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until {
    /// What is watched for is so.
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

impl Until {
    fn is_so(self, all: &mut OneSided, context: Context) -> bool {
        match self {
            Until::Over(watch) => all.is_over(context, watch),
            Until::Access(epoch, target) => all.can_access(context, epoch, target),
            Until::Answered(target) => !all.awaits(context, target),
            Until::Accessed(epoch) => all.can_end(context, epoch),
            Until::Idle => all.is_idle(context),
            Until::Unread(memory) => !all.reads(memory),
        }
    }
}

fn take_fault(all: &mut OneSided, context: Context) -> bool {
    all.window(context).is_some_and(rma::Window::take_fault)
}

fn fault(is_faulty: bool) -> Result<(), Error> {
    match is_faulty {
        true => Err(BEYOND),
        false => Ok(()),
    }
}

impl<H: Home> Window<'_, H> {
    pub fn note(&self, target: Option<Rank>) -> CallNote {
        CallNote {
            function: self.function,
            peer: target.map(|target| target.index() as i32),
            tag: None,
        }
    }

    /// Enters the device for something that makes nothing ready. Does not block.
    fn look<R>(&self, f: impl FnOnce(&mut OneSided) -> R) -> Result<R, Error> {
        let (mut f, mut result) = (Some(f), None);
        self.env.with(&mut |adi, _| {
            result = f.take().and_then(|f| adi.with_one_sided(f));
        });
        result.ok_or(no_window())
    }

    /// Enters the device: runs `f`, and lets leave what that has made ready, as far as the network has room.
    /// Does not block.
    fn enter_device<R>(
        &self,
        f: impl FnOnce(&mut OneSided, &mut dyn UserMemory) -> R,
    ) -> Result<R, Error> {
        let (mut f, mut result) = (Some(f), None);
        self.env.with(&mut |adi, kernel| {
            let Some(f) = f.take() else { return };
            result = adi.with_one_sided(|all| {
                let result = f(all, kernel.memory());
                if all.is_due() {
                    all.go_on_here(kernel.memory());
                }
                result
            });
            if adi.has_to_send() {
                kernel.poll(adi);
            }
        });
        result.ok_or(no_window())
    }

    /// As [`Window::enter_device`], again and again until `f` gives a value, with progress between. Blocks for as long as it
    /// takes.
    fn wait_in_device<R>(
        &self,
        target: Option<Rank>,
        mut f: impl FnMut(&mut OneSided, &mut dyn UserMemory) -> Option<R>,
    ) -> R {
        call::block_on(self.env, self.note(target), |adi, kernel| {
            let result = adi.with_one_sided(|all| f(all, kernel.memory()))?;
            if result.is_some() && adi.has_to_send() {
                kernel.poll(adi);
            }
            result
        })
    }

    /// Waits until it is so.
    pub fn wait(&self, target: Option<Rank>, until: Until) {
        let context = self.context();
        self.wait_in_device(target, |all, _| until.is_so(all, context).then_some(()));
    }

    /// Waits until it is so. Fails if targets have found operations from here to be wrong.
    pub fn finish(&self, target: Option<Rank>, until: Until) -> Result<(), Error> {
        let context = self.context();
        let is_faulty = self.wait_in_device(target, |all, _| {
            until.is_so(all, context).then(|| take_fault(all, context))
        });
        fault(is_faulty)
    }

    /// It is so now. Does not block.
    pub fn is(&self, until: Until) -> Result<bool, Error> {
        let context = self.context();
        self.look(|all| until.is_so(all, context))
    }

    /// Fails if targets have found operations from here to be wrong.
    pub fn faults(&self) -> Result<(), Error> {
        let context = self.context();
        fault(self.look(|all| take_fault(all, context))?)
    }

    /// Makes room at the device for another epoch. Fails with [`Error::NoRoom`].
    pub fn prepare_epoch(&self) -> Result<(), Error> {
        let context = self.context();
        match self.look(|all| all.prepare_epoch(context))? {
            true => Ok(()),
            false => Err(no_room::<Serial>(8)),
        }
    }

    /// Opens an epoch at the device. Fails with [`Error::NoRoom`].
    pub fn open_epoch(&self, opening: Opening<'_>, told: Told) -> Result<Serial, Error> {
        let (context, members) = (self.context(), opening.members.len());
        let epoch = self.enter_device(|all, _| all.open(context, opening, told))?;
        epoch.ok_or(no_room::<Serial>(8 + members))
    }

    /// Closes an epoch at the device.
    pub fn close_epoch(&self, epoch: Serial, told: Told) -> Result<(), Error> {
        let context = self.context();
        self.enter_device(|all, _| all.close(context, epoch, told))
    }

    /// The epoch's access to the target: `None` if it does not include it; else whether operations may leave for it now. If a
    /// lock is needed, it is asked for.
    pub fn access(&self, epoch: Serial, target: Rank) -> Result<Option<bool>, Error> {
        let context = self.context();
        self.enter_device(|all, _| {
            let is_included = all.includes(context, epoch, target);
            is_included.then(|| all.can_access(context, epoch, target))
        })
    }

    /// Records a flush at the device. Fails with [`Error::NoRoom`].
    pub fn record_flush(
        &self,
        (target, epoch): (Option<Rank>, Serial),
        is_local: bool,
        told: Told,
    ) -> Result<Serial, Error> {
        let of = (self.context(), epoch, target);
        let flush = self.enter_device(|all, _| all.flush(of, is_local, told))?;
        flush.ok_or(no_room::<Serial>(8))
    }

    /// Flushes, and waits until that is done. Fails with [`Error::NoRoom`], and if targets have found operations from here to
    /// be wrong.
    pub fn run_flush(
        &self,
        (target, epoch): (Option<Rank>, Serial),
        is_local: bool,
    ) -> Result<(), Error> {
        let context = self.context();
        let mut until = None;
        let is_faulty = self.wait_in_device(target, |all, _| {
            let until = match until {
                Some(until) => until,
                // Nothing to send, and only answers to wait for.
                None if all.is_answered(context, target, is_local) => {
                    *until.insert(Until::Answered(target))
                }
                None => match all.flush((context, epoch, target), is_local, None) {
                    Some(flush) => *until.insert(Until::Over(Watch::Done(flush))),
                    None => return Some(Err(no_room::<Serial>(8))),
                },
            };
            let is_so = until.is_so(all, context);
            is_so.then(|| Ok(!is_local && take_fault(all, context)))
        });
        fault(is_faulty?)
    }

    /// Records an operation at the device. Fails with [`Error::NoRoom`].
    pub fn record_operation(
        &self,
        (epoch, target): (Serial, Rank),
        operation: Operation,
        told: Told,
    ) -> Result<Serial, Error> {
        let of = (self.context(), epoch, target);
        let recorded = self.enter_device(|all, _| all.defer(of, operation, told))?;
        recorded.ok_or(no_room::<Operation>(1))
    }

    /// Puts the pieces into packets, and sends those that are not held for more; waits while there is no room for them.
    pub fn put(&self, mut pieces: Pieces) {
        self.wait_in_device(Some(pieces.target), |all, memory| {
            all.push_pieces(memory, &mut pieces).then_some(())
        });
    }

    /// Sends a packet that is answered; waits while there is no room for it.
    pub fn ask(&self, question: &Question<'_>) {
        let context = self.context();
        self.wait_in_device(Some(question.target), |all, memory| {
            all.ask_question(memory, context, question).then_some(())
        });
    }

    /// The last fetch of a result longer than an answer was refused: it is to be made again.
    pub fn take_refused(&self) -> bool {
        self.look(OneSided::take_refused) == Ok(true)
    }

    /// Waits until all answers have come, or those of `target`.
    pub fn drain(&self, target: Option<Rank>) {
        self.wait(target, Until::Answered(target));
    }

    /// Lets epochs pass others from now on.
    pub fn set_reorder(&self, reorder: Reorder) {
        self.change(|window| window.set_reorder(reorder));
    }

    /// Which epochs may pass others.
    pub fn reorder(&self) -> Reorder {
        self.change(|window| window.reorder()).unwrap_or_default()
    }

    /// Withdraws the window's memory, or gives it back: an operation of others on it meanwhile is beyond the window.
    pub fn withdraw(&self, is_withdrawn: bool) {
        self.change(|window| window.withdraw(is_withdrawn));
    }

    /// Attaches memory to a dynamic window. Fails with class RmaAttach, and with [`Error::NoRoom`].
    pub fn attach(&self, memory: Span) -> Result<(), Error> {
        let attached = self.change(|window| window.attach(memory));
        match attached.ok_or(no_window())? {
            Ok(()) => Ok(()),
            Err(NotAttached::Overlaps) => Err(wrong(
                Class::RmaAttach,
                "some of the memory is attached already",
            )),
            Err(NotAttached::NoRoom) => Err(no_room::<Span>(1)),
        }
    }

    /// Detaches the memory that begins there. Fails with class RmaAttach.
    pub fn detach(&self, base: usize) -> Result<Span, Error> {
        let detached = self.change(|window| window.detach(base));
        detached.flatten().ok_or(wrong(
            Class::RmaAttach,
            "no memory is attached that begins there",
        ))
    }

    /// Runs `f` on the window as the device has it.
    fn change<R>(&self, f: impl FnOnce(&mut rma::Window) -> R) -> Option<R> {
        let context = self.context();
        let found = self.look(|all| all.window(context).map(f));
        found.ok().flatten()
    }

    /// The packet of this kind that is nothing but its head.
    pub fn head(&self, kind: Kind, operation: u8) -> [u8; HEAD_BYTES] {
        let mut packet = [0; HEAD_BYTES];
        let head = Head {
            operation,
            ..Head::new(kind, self.context())
        };
        head.emit(&mut packet);
        packet
    }

    /// The target's part of the window.
    pub fn extent(&self, target: Rank) -> Result<Extent, Error> {
        let find = |(rank, _): &(Rank, Extent)| rank.index();
        let known = self.with(|object| {
            let place = object.extents.binary_search_by_key(&target.index(), find);
            Ok(object.uniform.or(place.ok().map(|at| object.extents[at].1)))
        })?;
        if let Some(extent) = known {
            return Ok(extent);
        }
        let mut bytes = [0u8; 16];
        lend_until_over(&mut bytes, |span| {
            let packet = self.head(Kind::Size, 0);
            self.ask(&Question {
                target,
                awaited: Awaited::Result(16),
                into: (span, 0),
                packet: &packet,
                operands: &[],
            });
            self.drain(Some(target));
        });
        let word = |at: usize| bytes[at..].first_chunk().copied().unwrap_or_default();
        let extent = Extent {
            size: u64::from_le_bytes(bytes[..8].try_into().unwrap_or_default()),
            disp_unit: u32::from_le_bytes(word(8)),
        };
        self.with(|object| {
            let none = |_| Error::NoRoom {
                bytes: size_of::<(Rank, Extent)>(),
            };
            object.extents.try_reserve(1).map_err(none)?;
            if let Err(at) = object.extents.binary_search_by_key(&target.index(), find) {
                object.extents.insert(at, (target, extent));
            }
            Ok(extent)
        })
    }
}
