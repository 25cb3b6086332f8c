//! What opens, closes and flushes epochs (MPI-3.1 section 11.5), in calls that block and in calls that do not.
#![forbid(unsafe_code)]
// A sealed trait's own.
#![allow(private_interfaces)]

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::memory::AnyWindow;
use super::record::{Call, Record, Watched};
use super::target::Target;
use crate::request::{Request, complete_when};
use crate::topology::{Group, Rank};
use midplane_device::envelope;
use midplane_device::rma::epochs::Serial;
use midplane_objects::error::Error;
use midplane_objects::group::{are_in, exact};

mod sealed {
    use super::{Call, Error, Serial, Watched};

    /// A kind of epochs.
    pub trait Kind {
        /// MPI's functions that open one, which block and do not.
        const OPEN: [&'static str; 2];
        /// MPI's functions that close one, which block and do not.
        const CLOSE: [&'static str; 2];

        /// The event that a call waits for which has opened one.
        fn opened(epoch: Serial) -> Watched {
            Watched::Opened(epoch)
        }

        /// Closes one; what is to be waited for.
        fn close(&self, call: &Call<'_>) -> Result<Watched, Error>;
    }
}
use sealed::Kind;

/// From one fence to the next: access to all processes, and exposure to all (section 11.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence(());
/// Access to those that the program has named, each of which exposes its part by a post (section 11.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start(());
/// Exposure to those that the program has named (section 11.5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Post(());
/// Access to one process under a lock of its part (section 11.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lock(envelope::Rank);
/// Access to all processes under shared locks of their parts (section 11.5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockAll(());

/// Kinds of epochs that give access to processes by rank. Sealed.
pub trait ToRanks: Kind {}
impl ToRanks for Fence {}
impl ToRanks for Start {}
impl ToRanks for LockAll {}

/// Kinds of epochs whose targets do nothing for them, and that can be flushed (section 11.5.4). Sealed.
pub trait Passive: Kind {}
impl Passive for Lock {}
impl Passive for LockAll {}

impl Kind for Fence {
    const OPEN: [&'static str; 2] = ["MPI_Win_fence", "MPI_Win_ifence"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_fence", "MPI_Win_ifence"];

    fn opened(epoch: Serial) -> Watched {
        Watched::Fenced(epoch)
    }

    fn close(&self, call: &Call<'_>) -> Result<Watched, Error> {
        call.fence(false, None, false).map(Watched::Fenced)
    }
}

impl Kind for Start {
    const OPEN: [&'static str; 2] = ["MPI_Win_start", "MPI_Win_istart"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_complete", "MPI_Win_icomplete"];

    fn close(&self, call: &Call<'_>) -> Result<Watched, Error> {
        call.complete(None).map(Watched::Closed)
    }
}

impl Kind for Post {
    const OPEN: [&'static str; 2] = ["MPI_Win_post", "MPI_Win_ipost"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_wait", "MPI_Win_iwait"];

    fn close(&self, call: &Call<'_>) -> Result<Watched, Error> {
        call.end_exposure(None).map(Watched::Closed)
    }
}

impl Kind for Lock {
    const OPEN: [&'static str; 2] = ["MPI_Win_lock", "MPI_Win_ilock"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_unlock", "MPI_Win_iunlock"];

    fn close(&self, call: &Call<'_>) -> Result<Watched, Error> {
        call.unlock(self.0, None).map(Watched::Closed)
    }
}

impl Kind for LockAll {
    const OPEN: [&'static str; 2] = ["MPI_Win_lock_all", "MPI_Win_ilock_all"];
    const CLOSE: [&'static str; 2] = ["MPI_Win_unlock_all", "MPI_Win_iunlock_all"];

    fn close(&self, call: &Call<'_>) -> Result<Watched, Error> {
        call.unlock_all(None).map(Watched::Closed)
    }
}

/// An epoch that is open in a window. Dropping it closes it, as the call does that closes its kind and blocks.
#[must_use = "an epoch that is dropped is closed"]
pub struct Epoch<'w, K: Kind> {
    record: &'w Rc<Record>,
    kind: K,
    serial: Serial,
}

/// Opens an epoch by `begin`, which is told whether the call defers, and with `blocks` waits until it is open.
fn open<'w, K: Kind>(
    record: &'w Rc<Record>,
    kind: K,
    blocks: bool,
    begin: impl FnOnce(&Call<'_>, bool) -> Result<Serial, Error>,
) -> Result<Epoch<'w, K>, Error> {
    let function = K::OPEN[usize::from(!blocks)];
    let serial = begin(&record.call(function)?, !blocks)?;
    let epoch = Epoch {
        record,
        kind,
        serial,
    };
    if blocks {
        record.wait(function, K::opened(serial))?;
    }
    Ok(epoch)
}

impl<K: Kind> Epoch<'_, K> {
    /// A request that is complete when the epoch is open: posts have left, a lock is granted, all processes have come
    /// to a fence, an epoch before it lets access begin. Operations can be made before.
    pub fn opening(&self) -> Request<'static, ()> {
        complete_when(self.record, Watched::Opened(self.serial))
    }

    /// Closes it, without waiting; what is to be waited for.
    fn close(self, function: &'static str) -> Result<Watched, Error> {
        let this = core::mem::ManuallyDrop::new(self);
        this.kind.close(&this.record.call(function)?)
    }

    /// Closes it, as [`end`](Epoch::end), [`complete`](Epoch::complete), [`wait`](Epoch::wait), [`unlock`](Epoch::unlock)
    /// and [`unlock_all`](Epoch::unlock_all) do, each for its kind. Fails with class RmaRange, for operations beyond a
    /// target's part, of a dynamic window, and with [`Error::NoRoom`].
    pub fn try_close(self) -> Result<(), Error> {
        let record = self.record;
        let watched = self.close(K::CLOSE[0])?;
        record.wait(K::CLOSE[0], watched)
    }

    /// As [`try_close`](Epoch::try_close), without blocking (MPI_Win_ifence, MPI_Win_icomplete, MPI_Win_iwait,
    /// MPI_Win_iunlock, MPI_Win_iunlock_all); complete when that would return. Its error ends the job.
    #[track_caller]
    pub fn immediate_close(self) -> Request<'static, ()> {
        let record = self.record;
        let watched = self.close(K::CLOSE[1]);
        complete_when(record, record.here().or_fatal(K::CLOSE[1], watched))
    }
}

impl<K: Kind> Drop for Epoch<'_, K> {
    fn drop(&mut self) {
        let record = self.record;
        if record.here().env().is_err() {
            return;
        }
        let function = "Epoch::drop";
        let closed = record
            .call(function)
            .and_then(|call| self.kind.close(&call));
        let closed = closed.and_then(|watched| record.wait(function, watched));
        record.here().or_fatal(function, closed);
    }
}

opaque!("Epoch", [K: Kind] Epoch<'_, K>);

impl<K: ToRanks> Epoch<'_, K> {
    /// The process with this rank in the window: what operations are on. One that the epoch does not give access to is
    /// found by them, which fail with class RmaSync.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub fn process_at_rank(&self, rank: Rank) -> Target<'_, K> {
        match self.record.target(rank) {
            Ok(target) => Target::new(self.record, target),
            Err(error) => panic!("{error}"),
        }
    }
}

impl Epoch<'_, Fence> {
    /// Ends what has been done since the last fence, at all processes, and goes on (MPI_Win_fence). Blocks until all
    /// processes have come to it. Its error ends the job: operations beyond a target's part, of a dynamic window.
    #[track_caller]
    pub fn next(&mut self) {
        let (record, next) = (self.record, self.try_next());
        let function = "mpi::window::Epoch::next (MPI_Win_fence)";
        record.here().or_fatal(function, next);
    }

    /// As [`next`](Epoch::next). Fails with class RmaRange, and with [`Error::NoRoom`].
    pub fn try_next(&mut self) -> Result<(), Error> {
        let call = self.record.call("MPI_Win_fence")?;
        self.serial = call.fence(true, None, false)?;
        self.record
            .wait("MPI_Win_fence", Watched::Fenced(self.serial))
    }

    /// As [`next`](Epoch::next), without blocking (MPI_Win_ifence); complete when that would return.
    #[track_caller]
    pub fn immediate_next(&mut self) -> Request<'static, ()> {
        let name = "MPI_Win_ifence";
        self.serial = self.record.run(name, |call| call.fence(true, None, true));
        complete_when(self.record, Watched::Fenced(self.serial))
    }

    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Ends what has been done since the last fence, at all processes (MPI_Win_fence with MPI_MODE_NOSUCCEED). Blocks
        /// until all processes have come to it, which all call this and none [`next`](Epoch::next). Its error ends the job.
        end[](), "MPI_Win_fence" = self.try_close();
    }
}

impl Epoch<'_, Start> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Ends the access (MPI_Win_complete). Blocks until the program's buffers are its own again: for the posts of those
        /// targets that have not been used, and for results. Its error ends the job.
        complete[](), "MPI_Win_complete" = self.try_close();
    }
}

impl Epoch<'_, Post> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Blocks until all processes that this is for have ended their access (MPI_Win_wait).
        wait[](), "MPI_Win_wait" = self.try_close();
    }

    /// Makes progress, and ends it if [`wait`](Epoch::wait) would return at once; else gives it back (MPI_Win_test).
    /// Does not block.
    #[track_caller]
    pub fn test(self) -> Result<(), Self> {
        match self.record.run("MPI_Win_test", |call| call.test_exposure()) {
            true => {
                core::mem::forget(self);
                Ok(())
            }
            false => Err(self),
        }
    }
}

impl Epoch<'_, Lock> {
    /// The process whose part is locked: what operations are on.
    pub fn target(&self) -> Target<'_, Lock> {
        Target::new(self.record, self.kind.0)
    }

    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Gives the lock back (MPI_Win_unlock). Blocks until what has been done is done at the target. Its error ends the
        /// job.
        unlock[](), "MPI_Win_unlock" = self.try_close();
    }
}

impl Epoch<'_, LockAll> {
    ends_the_job! {
        "mpi::window::Epoch", [pub fn(self)], self.record.here();

        /// Gives all locks back (MPI_Win_unlock_all). Blocks until what has been done is done at all targets. Its error
        /// ends the job.
        unlock_all[](), "MPI_Win_unlock_all" = self.try_close();
    }
}

/// The request of a flush, at one process or at all.
pub(super) fn flush(
    record: &Rc<Record>,
    function: &'static str,
    target: Option<envelope::Rank>,
    is_local: bool,
) -> Request<'static, ()> {
    let flush = record.run(function, |call| call.flush(target, is_local, None));
    let watched = match is_local {
        true => Watched::Done(flush),
        false => Watched::Flushed(flush),
    };
    complete_when(record, watched)
}

/// The members of a group, all of which are in the window. Fails with [`Error::Argument`].
fn members(record: &Record, group: &(impl Group + ?Sized)) -> Result<Vec<envelope::Rank>, Error> {
    match are_in(group.members(), record.comm.record.membership()) {
        true => exact(group.members()),
        false => Err(Error::argument(
            "a process of the group that is not in the window",
        )),
    }
}

/// Opening epochs, of all windows. Sealed.
///
/// A call that blocks returns when the epoch is open. A call without blocking (the `immediate_` ones; the thesis 001,
/// section 5, proposes them) returns at once: operations are recorded until they can be done, and [`Epoch::opening`]
/// tells when it is open. Each takes of the program's heap what `docs/rma.md` says. Errors end the job:
/// [`Error::NoRoom`](midplane_objects::Error::NoRoom), and class RmaSync when an epoch is open that excludes this one; the calls
/// with `try_` have them as their result.
///
/// MPI_MODE_NOCHECK is not here: it is a promise that no compiler can check. The other assertions change nothing.
pub trait Epochs: AnyWindow {
    /// As [`lock_exclusive`](Epochs::lock_exclusive) or [`lock_shared`](Epochs::lock_shared). Fails with [`Error::Rank`],
    /// too.
    fn try_lock(&self, rank: Rank, is_exclusive: bool) -> Result<Epoch<'_, Lock>, Error> {
        open_lock(self.record(), (rank, is_exclusive), true)
    }

    /// Blocks until all that has been done under locks is done at its targets (MPI_Win_flush_all). Fails with class
    /// RmaSync when there is no lock, and with class RmaRange.
    fn flush_all(&self) -> Result<(), Error> {
        self.record().flush("MPI_Win_flush_all", None, false)
    }

    /// Blocks until the buffers of all that has been done under locks are the program's again
    /// (MPI_Win_flush_local_all). Fails with class RmaSync when there is no lock.
    fn flush_local_all(&self) -> Result<(), Error> {
        self.record().flush("MPI_Win_flush_local_all", None, true)
    }

    /// As [`flush_all`](Epochs::flush_all), without blocking (MPI_Win_iflush_all). Its error ends the job.
    #[track_caller]
    fn immediate_flush_all(&self) -> Request<'static, ()> {
        flush(self.record(), "MPI_Win_iflush_all", None, false)
    }

    /// As [`flush_local_all`](Epochs::flush_local_all), without blocking (MPI_Win_iflush_local_all). Its error ends the
    /// job.
    #[track_caller]
    fn immediate_flush_local_all(&self) -> Request<'static, ()> {
        flush(self.record(), "MPI_Win_iflush_local_all", None, true)
    }

    ends_the_job! {
        "mpi::window::Epochs", [fn(&self)], self.record().here();

        /// Begins an epoch of all processes (MPI_Win_fence). Blocks until all have called it.
        fence[]() -> Epoch<'_, Fence>, "MPI_Win_fence";
        /// As [`fence`](Epochs::fence).
        or try_fence = open(self.record(), Fence(()), true, |call, defers| call.fence(true, None, defers));

        /// As [`fence`](Epochs::fence), without blocking (MPI_Win_ifence).
        immediate_fence[]() -> Epoch<'_, Fence>, "MPI_Win_ifence"
            = open(self.record(), Fence(()), false, |call, defers| call.fence(true, None, defers));

        /// Begins access to the processes of a group (MPI_Win_start).
        start[G: Group + ?Sized](group: &G) -> Epoch<'_, Start>, "MPI_Win_start";
        /// As [`start`](Epochs::start). Fails with [`Error::Argument`], too: a process that is not in the window.
        or try_start = open_start(self.record(), group, true);

        /// As [`start`](Epochs::start), without blocking (MPI_Win_istart).
        immediate_start[G: Group + ?Sized](group: &G) -> Epoch<'_, Start>, "MPI_Win_istart"
            = open_start(self.record(), group, false);

        /// Exposes this process's part to the processes of a group (MPI_Win_post).
        post[G: Group + ?Sized](group: &G) -> Epoch<'_, Post>, "MPI_Win_post";
        /// As [`post`](Epochs::post). Fails as [`try_start`](Epochs::try_start).
        or try_post = open_post(self.record(), group, true);

        /// As [`post`](Epochs::post), without blocking (MPI_Win_ipost).
        immediate_post[G: Group + ?Sized](group: &G) -> Epoch<'_, Post>, "MPI_Win_ipost"
            = open_post(self.record(), group, false);

        /// Locks a process's part for this one alone (MPI_Win_lock with MPI_LOCK_EXCLUSIVE).
        lock_exclusive[](rank: Rank) -> Epoch<'_, Lock>, "MPI_Win_lock" = self.try_lock(rank, true);

        /// Locks a process's part together with others (MPI_Win_lock with MPI_LOCK_SHARED).
        lock_shared[](rank: Rank) -> Epoch<'_, Lock>, "MPI_Win_lock" = self.try_lock(rank, false);

        /// As [`lock_exclusive`](Epochs::lock_exclusive), without blocking (MPI_Win_ilock).
        immediate_lock_exclusive[](rank: Rank) -> Epoch<'_, Lock>, "MPI_Win_ilock"
            = open_lock(self.record(), (rank, true), false);

        /// As [`lock_shared`](Epochs::lock_shared), without blocking (MPI_Win_ilock).
        immediate_lock_shared[](rank: Rank) -> Epoch<'_, Lock>, "MPI_Win_ilock"
            = open_lock(self.record(), (rank, false), false);

        /// Begins access to all processes under shared locks, each of which is asked for by the first operation there
        /// (MPI_Win_lock_all).
        lock_all[]() -> Epoch<'_, LockAll>, "MPI_Win_lock_all";
        /// As [`lock_all`](Epochs::lock_all).
        or try_lock_all = open(self.record(), LockAll(()), true, |call, defers| call.lock_all(true, None, defers));

        /// As [`lock_all`](Epochs::lock_all), without blocking (MPI_Win_ilock_all).
        immediate_lock_all[]() -> Epoch<'_, LockAll>, "MPI_Win_ilock_all"
            = open(self.record(), LockAll(()), false, |call, defers| call.lock_all(true, None, defers));
    }
}

impl<W: AnyWindow + ?Sized> Epochs for W {}

fn open_start<'w, G: Group + ?Sized>(
    record: &'w Rc<Record>,
    group: &G,
    blocks: bool,
) -> Result<Epoch<'w, Start>, Error> {
    let members = members(record, group)?;
    let begin = |call: &Call<'_>, defers| call.start((&members, true), None, defers);
    open(record, Start(()), blocks, begin)
}

fn open_post<'w, G: Group + ?Sized>(
    record: &'w Rc<Record>,
    group: &G,
    blocks: bool,
) -> Result<Epoch<'w, Post>, Error> {
    let members = members(record, group)?;
    let begin = |call: &Call<'_>, _| call.post(&members, true, None);
    open(record, Post(()), blocks, begin)
}

fn open_lock(
    record: &Rc<Record>,
    (rank, is_exclusive): (Rank, bool),
    blocks: bool,
) -> Result<Epoch<'_, Lock>, Error> {
    let target = record.target(rank)?;
    let begin = |call: &Call<'_>, defers| call.lock((target, is_exclusive), true, None, defers);
    open(record, Lock(target), blocks, begin)
}

impl<K: Passive> Target<'_, K> {
    /// Blocks until all that this process has done here under the lock is done (MPI_Win_flush, MPI-3.1 section 11.5.4).
    /// Fails with class RmaRange: an operation was beyond the target's part, of a dynamic window.
    pub fn flush(&self) -> Result<(), Error> {
        self.record.flush("MPI_Win_flush", Some(self.rank), false)
    }

    /// Blocks until the buffers of what this process has done here under the lock are the program's again
    /// (MPI_Win_flush_local).
    pub fn flush_local(&self) -> Result<(), Error> {
        self.record
            .flush("MPI_Win_flush_local", Some(self.rank), true)
    }

    /// As [`flush`](Target::flush), without blocking (MPI_Win_iflush). Its error ends the job.
    #[track_caller]
    pub fn immediate_flush(&self) -> Request<'static, ()> {
        flush(self.record, "MPI_Win_iflush", Some(self.rank), false)
    }

    /// As [`flush_local`](Target::flush_local), without blocking (MPI_Win_iflush_local). Its error ends the job.
    #[track_caller]
    pub fn immediate_flush_local(&self) -> Request<'static, ()> {
        flush(self.record, "MPI_Win_iflush_local", Some(self.rank), true)
    }
}
