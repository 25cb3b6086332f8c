//! State of a window in a call, and its open epochs.

use alloc::vec::Vec;

use crate::device::envelope::{Context, Rank};
use crate::device::memory::Span;
use crate::device::rma::epochs::Serial;
use crate::mpi::comm::{Communicator, Membership};
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Env;

/// Size in bytes of a process's part of a window, and its displacement unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    pub size: u64,
    pub disp_unit: u32,
}

/// An access epoch opened by the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub epoch: Serial,
    /// Operations are sent directly to their targets: the epoch is open there, and no earlier packet is pending.
    pub is_ready: bool,
    /// The same for the last target only.
    pub ready_at: Option<Rank>,
    /// Opened by a nonblocking call: operations do not wait for their targets either.
    pub defers: bool,
}

/// Access of this process to other processes (section 11.5).
#[derive(Debug)]
pub(crate) enum Access {
    None,
    /// Opened by a fence; an epoch once it contains an operation.
    Fence {
        opened: Opened,
        is_used: bool,
    },
    /// To the group of MPI_Win_start.
    Start(Opened),
    /// Locks at these targets.
    Locks(Vec<(Rank, Opened)>),
    /// To all, with a shared lock each, requested before the first operation there unless nothing conflicts.
    All(Opened),
}

impl Access {
    /// Returns the open epochs.
    pub fn opened(&mut self) -> impl Iterator<Item = &mut Opened> {
        let (one, locks) = match self {
            Access::None => (None, &mut [][..]),
            Access::Fence { opened, .. } | Access::Start(opened) | Access::All(opened) => {
                (Some(opened), &mut [][..])
            }
            Access::Locks(locks) => (None, &mut locks[..]),
        };
        one.into_iter()
            .chain(locks.iter_mut().map(|(_, opened)| opened))
    }
}

/// A hold on a buffer that is borrowed for longer than a call.
pub(crate) trait Hold {
    /// Returns the borrowed buffer.
    fn span(&self) -> Span;
}

/// Resources of a deferred operation until it is complete.
pub(super) struct Kept<H> {
    pub operation: Serial,
    /// Its buffers, and the description of the target's elements.
    pub _holds: [Option<H>; 4],
}

/// Open epochs of a window, and known extents of other processes' parts.
pub(crate) struct State<H> {
    /// Extent of all processes, if it is the same.
    pub uniform: Option<Extent>,
    /// Otherwise, extents of the processes that have been targets, sorted by world rank.
    pub(super) extents: Vec<(Rank, Extent)>,
    pub access: Access,
    /// Open exposure epoch (MPI_Win_post).
    pub exposure: Option<Serial>,
    pub(super) kept: Vec<Kept<H>>,
}

impl<H> State<H> {
    pub fn new() -> State<H> {
        State {
            uniform: None,
            extents: Vec::new(),
            access: Access::None,
            exposure: None,
            kept: Vec::new(),
        }
    }
}

/// Storage of a window's state in a binding.
pub(crate) trait Home: Copy {
    /// Type of its holds on buffers.
    type Hold: Hold;

    /// Runs `f` on the state with exclusive access. Fails like `f`, and if the window no longer exists.
    fn with<R>(
        &self,
        f: impl FnOnce(&mut State<Self::Hold>) -> Result<R, Error>,
    ) -> Result<R, Error>;
}

pub(crate) const fn wrong(class: Class, what: &'static str) -> Error {
    Error::Wrong { class, what }
}

pub(crate) fn no_window() -> Error {
    wrong(Class::Win, "win names no window")
}

pub(crate) fn out_of_order(what: &'static str) -> Error {
    wrong(Class::RmaSync, what)
}

/// A window for the duration of a call.
#[derive(Clone, Copy)]
pub(crate) struct Window<'e, H> {
    pub env: &'e dyn Env,
    pub function: &'static str,
    pub home: H,
    pub membership: Membership<'e>,
    pub is_dynamic: bool,
}

impl<'e, H: Home> Window<'e, H> {
    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// Returns the world rank of this process.
    pub fn here(&self) -> Rank {
        self.membership.to_world(self.membership.rank)
    }

    pub fn comm(&self) -> Communicator<'e> {
        Communicator::at(self.env, self.membership)
    }

    /// Runs `f` on the window's state with exclusive access.
    pub fn with<R>(
        &self,
        f: impl FnOnce(&mut State<H::Hold>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.home.with(f)
    }
}
