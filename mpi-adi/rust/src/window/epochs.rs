//! Blocking and nonblocking calls that open, close and flush epochs (MPI-3.1 section 11.5).
#![forbid(unsafe_code)]
// The private types belong to a sealed trait.
#![allow(private_interfaces)]

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::memory::AnyWindow;
use super::record::{WatchedEvent, WindowCall, WindowRecord};
use super::target::WindowTarget;
use crate::recording::{Call, Fields};
use crate::request::{Request, complete_when};
use crate::topology::{Group, Rank};
use midplane_device::envelope;
use midplane_device::rma::epochs::WindowSequence;
use midplane_objects::error::Error;
use midplane_objects::group::{are_in, exact};

mod sealed {
    use super::{Error, Fields, WatchedEvent, WindowCall, WindowRecord, WindowSequence};

    /// Kind of an epoch.
    pub trait EpochKind {
        /// MPI functions that open one, blocking and nonblocking.
        const OPEN: [&'static str; 2];
        /// MPI functions that close one, blocking and nonblocking.
        const CLOSE: [&'static str; 2];

        /// Returns the event that completes an opening call.
        fn opened(epoch: WindowSequence) -> WatchedEvent {
            WatchedEvent::Opened(epoch)
        }

        /// Closes the epoch, and returns the event to wait for.
        fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error>;

        /// Adds the arguments of the blocking function that closes it, without the window, to the record of a call.
        fn add_close_arguments(&self, record: &WindowRecord, fields: &mut Fields) {
            let _ = (record, fields);
        }
    }
}
use sealed::EpochKind;

/// Fence epoch: access to all processes and exposure to all, until the next fence (section 11.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceEpoch(());
/// Access epoch to a group of processes, each of which exposes its part by a post (section 11.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartEpoch(());
/// Exposure epoch to a group of processes (section 11.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostEpoch(());
/// Access epoch to one process under a lock of its part (section 11.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockEpoch(envelope::Rank);
/// Access epoch to all processes under shared locks of their parts (section 11.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockAll(());

/// Kinds of epochs with access to processes by rank. Sealed.
pub trait ToRanks: EpochKind {}
impl ToRanks for FenceEpoch {}
impl ToRanks for StartEpoch {}
impl ToRanks for LockAll {}

/// Kinds of passive-target epochs, which support flushes (section 11.5.4). Sealed.
pub trait PassiveEpoch: EpochKind {}
impl PassiveEpoch for LockEpoch {}
impl PassiveEpoch for LockAll {}

impl EpochKind for FenceEpoch {
    const OPEN: [&'static str; 2] = ["MPI_Win_fence", "MPI_Win_ifence"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_fence", "MPI_Win_ifence"];

    fn opened(epoch: WindowSequence) -> WatchedEvent {
        WatchedEvent::Fenced(epoch)
    }

    fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error> {
        call.fence(false, None, false).map(WatchedEvent::Fenced)
    }

    fn add_close_arguments(&self, _: &WindowRecord, fields: &mut Fields) {
        // The assertion.
        fields.unknown(1);
    }
}

impl EpochKind for StartEpoch {
    const OPEN: [&'static str; 2] = ["MPI_Win_start", "MPI_Win_istart"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_complete", "MPI_Win_icomplete"];

    fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error> {
        call.complete(None).map(WatchedEvent::Closed)
    }
}

impl EpochKind for PostEpoch {
    const OPEN: [&'static str; 2] = ["MPI_Win_post", "MPI_Win_ipost"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_wait", "MPI_Win_iwait"];

    fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error> {
        call.end_exposure(None).map(WatchedEvent::Closed)
    }
}

impl EpochKind for LockEpoch {
    const OPEN: [&'static str; 2] = ["MPI_Win_lock", "MPI_Win_ilock"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_unlock", "MPI_Win_iunlock"];

    fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error> {
        call.unlock(self.0, None).map(WatchedEvent::Closed)
    }

    fn add_close_arguments(&self, record: &WindowRecord, fields: &mut Fields) {
        fields.value(record.recorded_rank(self.0));
    }
}

impl EpochKind for LockAll {
    const OPEN: [&'static str; 2] = ["MPI_Win_lock_all", "MPI_Win_ilock_all"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_unlock_all", "MPI_Win_iunlock_all"];

    fn close(&self, call: &WindowCall<'_>) -> Result<WatchedEvent, Error> {
        call.unlock_all(None).map(WatchedEvent::Closed)
    }
}

/// An open epoch of a window. Its drop closes it like the blocking call of its kind.
#[must_use = "an epoch that is dropped is closed"]
pub struct Epoch<'w, K: EpochKind> {
    record: &'w Rc<WindowRecord>,
    kind: K,
    serial: WindowSequence,
}

/// Opens an epoch by `begin`, whose argument specifies a deferred opening. With `blocks`, waits until it is open.
/// `arguments` adds those before the assertion to the record of the call.
#[cfg_attr(feature = "options", track_caller)]
fn open<'w, K: EpochKind>(
    record: &'w Rc<WindowRecord>,
    kind: K,
    blocks: bool,
    arguments: impl FnOnce(&mut Fields),
    begin: impl FnOnce(&WindowCall<'_>, bool) -> Result<WindowSequence, Error>,
) -> Result<Epoch<'w, K>, Error> {
    let function = K::OPEN[usize::from(!blocks)];
    let recorded = Call::enter(function, |fields| {
        arguments(fields);
        fields.unknown(1).value(record.recorded_handle());
        fields.unknown(usize::from(!blocks));
    });
    let opened = record.call(function).and_then(|call| {
        let serial = begin(&call, !blocks)?;
        let epoch = Epoch { record, kind, serial };
        if blocks {
            record.wait(function, K::opened(serial))?;
        }
        Ok(epoch)
    });
    recorded.end_with(opened, |fields, _| {
        // The epoch has no request until the program asks for it.
        fields.unknown(usize::from(!blocks));
    })
}

impl<K: EpochKind> Epoch<'_, K> {
    /// Returns a request that completes when the epoch is open: posts are transmitted, a lock is granted, all processes
    /// have called the fence, or an earlier epoch permits the access. Operations may be issued before.
    pub fn opening(&self) -> Request<'static, ()> {
        complete_when(self.record, WatchedEvent::Opened(self.serial))
    }

    /// Closes the epoch without waiting, and returns the event to wait for.
    fn close(self, function: &'static str) -> Result<WatchedEvent, Error> {
        let this = core::mem::ManuallyDrop::new(self);
        this.kind.close(&this.record.call(function)?)
    }

    /// Closes the epoch like [`end`](Epoch::end), [`complete`](Epoch::complete), [`wait`](Epoch::wait),
    /// [`unlock`](Epoch::unlock) or [`unlock_all`](Epoch::unlock_all), according to its kind.
    ///
    /// # Errors
    /// Class RmaRange for operations beyond a target's part of a dynamic window, and [`Error::NoSpace`].
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_close(self) -> Result<(), Error> {
        let record = self.record;
        let recorded = self.record_close(true);
        let closed = self.close(K::CLOSE[0]);
        let closed = closed.and_then(|watched| record.wait(K::CLOSE[0], watched));
        recorded.end_with(closed, |_, _| {})
    }

    /// Records the begin of the call that closes the epoch.
    #[cfg_attr(feature = "options", track_caller)]
    fn record_close(&self, blocks: bool) -> Call {
        Call::enter(K::CLOSE[usize::from(!blocks)], |fields| {
            self.kind.add_close_arguments(self.record, fields);
            fields.value(self.record.recorded_handle());
            fields.unknown(usize::from(!blocks));
        })
    }

    /// Closes the epoch without blocking (MPI_Win_ifence, MPI_Win_icomplete, MPI_Win_iwait, MPI_Win_iunlock,
    /// MPI_Win_iunlock_all). The request completes when [`try_close`](Epoch::try_close) would return. An error aborts
    /// the job.
    #[track_caller]
    pub fn immediate_close(self) -> Request<'static, ()> {
        let record = self.record;
        let recorded = self.record_close(false);
        let watched = self.close(K::CLOSE[1]);
        let request = watched.map(|watched| complete_when(record, watched));
        let request = recorded.end_with(request, Request::add_number);
        record.here().or_fatal(K::CLOSE[1], request)
    }
}

impl<K: EpochKind> Drop for Epoch<'_, K> {
    fn drop(&mut self) {
        let record = self.record;
        if record.here().env().is_err() {
            return;
        }
        let function = "Epoch::drop";
        let recorded = self.record_close(true);
        let closed = record.call(function).and_then(|call| self.kind.close(&call));
        let closed = closed.and_then(|watched| record.wait(function, watched));
        let closed = recorded.end_with(closed, |_, _| {});
        record.here().or_fatal(function, closed);
    }
}

opaque!("Epoch", [K: EpochKind] Epoch<'_, K>);

impl<K: ToRanks> Epoch<'_, K> {
    /// Returns the target of operations with this rank in the window. Operations return class RmaSync if the epoch does
    /// not include it.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub fn process_at_rank(&self, rank: Rank) -> WindowTarget<'_, K> {
        match self.record.target(rank) {
            Ok(target) => WindowTarget::new(self.record, target),
            Err(error) => panic!("{error}"),
        }
    }
}

impl Epoch<'_, FenceEpoch> {
    /// Completes all operations since the last fence, at all processes, and starts the next fence epoch
    /// (MPI_Win_fence). Blocks until all processes have called it. Aborts the job for operations beyond a target's part
    /// of a dynamic window.
    #[track_caller]
    pub fn next(&mut self) {
        let (record, next) = (self.record, self.try_next());
        let function = "mpi::window::Epoch::next (MPI_Win_fence)";
        record.here().or_fatal(function, next);
    }

    /// Calls the fence of [`next`](Epoch::next), and returns class RmaRange or [`Error::NoSpace`].
    #[cfg_attr(feature = "options", track_caller)]
    pub fn try_next(&mut self) -> Result<(), Error> {
        let recorded = self.record_close(true);
        let fenced = self.record.call("MPI_Win_fence").and_then(|call| {
            self.serial = call.fence(true, None, false)?;
            self.record.wait("MPI_Win_fence", WatchedEvent::Fenced(self.serial))
        });
        recorded.end_with(fenced, |_, _| {})
    }

    /// Nonblocking [`next`](Epoch::next) (MPI_Win_ifence). The request completes when that would return.
    #[track_caller]
    pub fn immediate_next(&mut self) -> Request<'static, ()> {
        let name = "MPI_Win_ifence";
        let recorded = self.record_close(false);
        self.serial = self.record.run(name, |call| call.fence(true, None, true));
        let request = Ok(complete_when(self.record, WatchedEvent::Fenced(self.serial)));
        let request = recorded.end_with(request, Request::add_number);
        request.expect("it has been started")
    }

    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Completes all operations since the last fence, at all processes (MPI_Win_fence with MPI_MODE_NOSUCCEED).
        /// Blocks until all processes have called it; none may call [`next`](Epoch::next) instead. An error aborts the
        /// job.
        end[](), "MPI_Win_fence" = self.try_close();
    }
}

impl Epoch<'_, StartEpoch> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Closes the access epoch (MPI_Win_complete). Blocks until the program may reuse its buffers: waits for
        /// results, and for the posts of targets without operations. An error aborts the job.
        complete[](), "MPI_Win_complete" = self.try_close();
    }
}

impl Epoch<'_, PostEpoch> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Blocks until all processes of its group have closed their access epochs (MPI_Win_wait).
        wait[](), "MPI_Win_wait" = self.try_close();
    }

    /// Makes progress, and closes the epoch if [`wait`](Epoch::wait) would not block; otherwise returns it
    /// (MPI_Win_test). Does not block.
    #[track_caller]
    pub fn test(self) -> Result<(), Self> {
        if self.record.run("MPI_Win_test", |call| call.test_exposure()) {
            core::mem::forget(self);
            Ok(())
        } else {
            Err(self)
        }
    }
}

impl Epoch<'_, LockEpoch> {
    /// Returns the target of operations: the process whose part is locked.
    pub fn target(&self) -> WindowTarget<'_, LockEpoch> {
        WindowTarget::new(self.record, self.kind.0)
    }

    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Releases the lock (MPI_Win_unlock). Blocks until all operations are complete at the target. An error aborts
        /// the job.
        unlock[](), "MPI_Win_unlock" = self.try_close();
    }
}

impl Epoch<'_, LockAll> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Releases all locks (MPI_Win_unlock_all). Blocks until all operations are complete at all targets. An error
        /// aborts the job.
        unlock_all[](), "MPI_Win_unlock_all" = self.try_close();
    }
}

/// Returns the request of a flush, at one process or at all.
#[track_caller]
pub(super) fn flush(
    record: &Rc<WindowRecord>,
    function: &'static str,
    target: Option<envelope::Rank>,
    is_local: bool,
) -> Request<'static, ()> {
    let recorded = Call::enter(function, |fields| {
        if let Some(target) = target {
            fields.value(record.recorded_rank(target));
        }
        fields.value(record.recorded_handle()).unknown(1);
    });
    let flush = record.run(function, |call| call.flush(target, is_local, None));
    let watched = if is_local {
        WatchedEvent::Done(flush)
    } else {
        WatchedEvent::Flushed(flush)
    };
    let request = Ok(complete_when(record, watched));
    let request = recorded.end_with(request, Request::add_number);
    request.expect("it has been started")
}

/// Returns the members of a group, or [`Error::Argument`] if one of them is not in the window.
fn members(record: &WindowRecord, group: &(impl Group + ?Sized)) -> Result<Vec<envelope::Rank>, Error> {
    if are_in(group.members(), record.comm.record.membership()) {
        exact(group.members())
    } else {
        Err(Error::argument("a process of the group that is not in the window"))
    }
}

/// Calls that open epochs, of all windows. Sealed.
///
/// A blocking call returns when the epoch is open. A nonblocking one (`immediate_`; the thesis 001, section 5, proposes
/// them) defers: operations are recorded until they can be executed, and [`Epoch::opening`] completes when the epoch is
/// open. `docs/rma.md` lists the heap memory that each call allocates.
///
/// MPI_MODE_NOCHECK is not supported: no compiler can check that promise. The other assertions would have no effect.
///
/// # Errors
/// [`Error::NoSpace`](midplane_objects::Error::NoSpace), and class RmaSync when an open epoch excludes this one. They abort the job;
/// the `try_` forms return them.
pub trait WindowEpochs: AnyWindow {
    /// [`lock_exclusive`](WindowEpochs::lock_exclusive) or [`lock_shared`](WindowEpochs::lock_shared) that returns its error, such
    /// as [`Error::Rank`].
    #[cfg_attr(feature = "options", track_caller)]
    fn try_lock(&self, rank: Rank, is_exclusive: bool) -> Result<Epoch<'_, LockEpoch>, Error> {
        open_lock(self.record(), rank, is_exclusive, true)
    }

    /// Blocks until all operations under locks are complete at their targets (MPI_Win_flush_all). Returns class RmaSync
    /// without a lock, and class RmaRange.
    #[cfg_attr(feature = "options", track_caller)]
    fn flush_all(&self) -> Result<(), Error> {
        self.record().flush("MPI_Win_flush_all", None, false)
    }

    /// Blocks until the program may reuse the buffers of all operations under locks (MPI_Win_flush_local_all). Returns
    /// class RmaSync without a lock.
    #[cfg_attr(feature = "options", track_caller)]
    fn flush_local_all(&self) -> Result<(), Error> {
        self.record().flush("MPI_Win_flush_local_all", None, true)
    }

    /// Nonblocking [`flush_all`](WindowEpochs::flush_all) (MPI_Win_iflush_all). An error aborts the job.
    #[track_caller]
    fn immediate_flush_all(&self) -> Request<'static, ()> {
        flush(self.record(), "MPI_Win_iflush_all", None, false)
    }

    /// Nonblocking [`flush_local_all`](WindowEpochs::flush_local_all) (MPI_Win_iflush_local_all). An error aborts the job.
    #[track_caller]
    fn immediate_flush_local_all(&self) -> Request<'static, ()> {
        flush(self.record(), "MPI_Win_iflush_local_all", None, true)
    }

    ends_the_job! {
        "mpi::window::WindowEpochs", [fn(&self)], self.record().here();

        /// Opens a fence epoch of all processes (MPI_Win_fence). Blocks until all have called it.
        fence[]() -> Epoch<'_, FenceEpoch>, "MPI_Win_fence";
        /// [`fence`](WindowEpochs::fence) that returns its error.
        or try_fence = open(self.record(), FenceEpoch(()), true, |_| {}, |call, defers| call.fence(true, None, defers));

        /// Nonblocking [`fence`](WindowEpochs::fence) (MPI_Win_ifence).
        immediate_fence[]() -> Epoch<'_, FenceEpoch>, "MPI_Win_ifence"
            = open(self.record(), FenceEpoch(()), false, |_| {}, |call, defers| call.fence(true, None, defers));

        /// Opens an access epoch to the processes of a group (MPI_Win_start).
        start[G: Group + ?Sized](group: &G) -> Epoch<'_, StartEpoch>, "MPI_Win_start";
        /// [`start`](WindowEpochs::start) that returns its error, such as [`Error::Argument`] for a process that is not in
        /// the window.
        or try_start = open_start(self.record(), group, true);

        /// Nonblocking [`start`](WindowEpochs::start) (MPI_Win_istart).
        immediate_start[G: Group + ?Sized](group: &G) -> Epoch<'_, StartEpoch>, "MPI_Win_istart"
            = open_start(self.record(), group, false);

        /// Exposes this process's part to the processes of a group (MPI_Win_post).
        post[G: Group + ?Sized](group: &G) -> Epoch<'_, PostEpoch>, "MPI_Win_post";
        /// [`post`](WindowEpochs::post) that returns the errors of [`try_start`](WindowEpochs::try_start).
        or try_post = open_post(self.record(), group, true);

        /// Nonblocking [`post`](WindowEpochs::post) (MPI_Win_ipost).
        immediate_post[G: Group + ?Sized](group: &G) -> Epoch<'_, PostEpoch>, "MPI_Win_ipost"
            = open_post(self.record(), group, false);

        /// Acquires an exclusive lock of a process's part (MPI_Win_lock with MPI_LOCK_EXCLUSIVE).
        lock_exclusive[](rank: Rank) -> Epoch<'_, LockEpoch>, "MPI_Win_lock" = self.try_lock(rank, true);

        /// Acquires a shared lock of a process's part (MPI_Win_lock with MPI_LOCK_SHARED).
        lock_shared[](rank: Rank) -> Epoch<'_, LockEpoch>, "MPI_Win_lock" = self.try_lock(rank, false);

        /// Nonblocking [`lock_exclusive`](WindowEpochs::lock_exclusive) (MPI_Win_ilock).
        immediate_lock_exclusive[](rank: Rank) -> Epoch<'_, LockEpoch>, "MPI_Win_ilock"
            = open_lock(self.record(), rank, true, false);

        /// Nonblocking [`lock_shared`](WindowEpochs::lock_shared) (MPI_Win_ilock).
        immediate_lock_shared[](rank: Rank) -> Epoch<'_, LockEpoch>, "MPI_Win_ilock"
            = open_lock(self.record(), rank, false, false);

        /// Opens an access epoch to all processes under shared locks; the first operation on a target requests it
        /// (MPI_Win_lock_all).
        lock_all[]() -> Epoch<'_, LockAll>, "MPI_Win_lock_all";
        /// [`lock_all`](WindowEpochs::lock_all) that returns its error.
        or try_lock_all = open(self.record(), LockAll(()), true, |_| {}, |call, defers| call.lock_all(true, None, defers));

        /// Nonblocking [`lock_all`](WindowEpochs::lock_all) (MPI_Win_ilock_all).
        immediate_lock_all[]() -> Epoch<'_, LockAll>, "MPI_Win_ilock_all"
            = open(self.record(), LockAll(()), false, |_| {}, |call, defers| call.lock_all(true, None, defers));
    }
}

impl<W: AnyWindow + ?Sized> WindowEpochs for W {}

/// Adds a group, which no check requires.
fn add_group(fields: &mut Fields) {
    fields.unknown(1);
}

#[cfg_attr(feature = "options", track_caller)]
fn open_start<'w, G: Group + ?Sized>(
    record: &'w Rc<WindowRecord>,
    group: &G,
    blocks: bool,
) -> Result<Epoch<'w, StartEpoch>, Error> {
    let members = members(record, group)?;
    let begin = |call: &WindowCall<'_>, defers| call.start(&members, true, None, defers);
    open(record, StartEpoch(()), blocks, add_group, begin)
}

#[cfg_attr(feature = "options", track_caller)]
fn open_post<'w, G: Group + ?Sized>(
    record: &'w Rc<WindowRecord>,
    group: &G,
    blocks: bool,
) -> Result<Epoch<'w, PostEpoch>, Error> {
    let members = members(record, group)?;
    let begin = |call: &WindowCall<'_>, _| call.post(&members, true, None);
    open(record, PostEpoch(()), blocks, add_group, begin)
}

#[cfg_attr(feature = "options", track_caller)]
fn open_lock(
    record: &Rc<WindowRecord>,
    rank: Rank,
    is_exclusive: bool,
    blocks: bool,
) -> Result<Epoch<'_, LockEpoch>, Error> {
    let target = record.target(rank)?;
    let begin = |call: &WindowCall<'_>, defers| call.lock(target, is_exclusive, true, None, defers);
    let arguments = |fields: &mut Fields| {
        /// MPI_LOCK_EXCLUSIVE and MPI_LOCK_SHARED, as in `mpi.h`.
        const KINDS: [i64; 2] = [235, 234];
        fields.value(KINDS[usize::from(is_exclusive)]).value(rank);
    };
    open(record, LockEpoch(target), blocks, arguments, begin)
}

impl<K: PassiveEpoch> WindowTarget<'_, K> {
    /// Blocks until all operations of this process on this target under the lock are complete (MPI_Win_flush, MPI-3.1
    /// section 11.5.4). Returns class RmaRange for an operation beyond the target's part of a dynamic window.
    #[cfg_attr(feature = "options", track_caller)]
    pub fn flush(&self) -> Result<(), Error> {
        self.record.flush("MPI_Win_flush", Some(self.rank), false)
    }

    /// Blocks until the program may reuse the buffers of its operations on this target (MPI_Win_flush_local).
    #[cfg_attr(feature = "options", track_caller)]
    pub fn flush_local(&self) -> Result<(), Error> {
        self.record.flush("MPI_Win_flush_local", Some(self.rank), true)
    }

    /// Nonblocking [`flush`](WindowTarget::flush) (MPI_Win_iflush). An error aborts the job.
    #[track_caller]
    pub fn immediate_flush(&self) -> Request<'static, ()> {
        flush(self.record, "MPI_Win_iflush", Some(self.rank), false)
    }

    /// Nonblocking [`flush_local`](WindowTarget::flush_local) (MPI_Win_iflush_local). An error aborts the job.
    #[track_caller]
    pub fn immediate_flush_local(&self) -> Request<'static, ()> {
        flush(self.record, "MPI_Win_iflush_local", Some(self.rank), true)
    }
}
