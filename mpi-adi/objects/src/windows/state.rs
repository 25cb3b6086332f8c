//! State of a window in a call, and its open epochs.

use alloc::vec::Vec;

use crate::comm::{Communicator, Membership};
use crate::error::{Error, ErrorClass};
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};
use midplane_device::memory::Span;
use midplane_device::rma::epochs::WindowSequence;

/// Size in bytes of a process's part of a window, and its displacement unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartExtent {
    pub size: u64,
    pub disp_unit: u32,
}

/// An access epoch opened by the program.
#[derive(Clone, Copy, Debug)]
pub struct OpenEpoch {
    pub epoch: WindowSequence,
    /// Operations are sent directly to their targets: the epoch is open there, and no earlier packet is pending.
    pub is_ready: bool,
    /// The same for the last target only.
    pub ready_at: Option<Rank>,
    /// Opened by a nonblocking call: operations do not wait for their targets either.
    pub defers: bool,
}

/// Access of this process to other processes (section 11.5).
#[derive(Debug)]
pub enum AccessState {
    /// No access epoch is open.
    None,
    /// Opened by a fence; an epoch once it contains an operation.
    Fence {
        /// Kind of the epoch.
        opened: OpenEpoch,
        /// An operation has been started in the epoch.
        is_used: bool,
    },
    /// To the group of MPI_Win_start.
    Start(OpenEpoch),
    /// Locks at these targets.
    Locks(Vec<(Rank, OpenEpoch)>),
    /// To all, with a shared lock each, requested before the first operation there unless nothing conflicts.
    All(OpenEpoch),
}

impl AccessState {
    /// Returns the open epochs.
    pub fn opened(&mut self) -> impl Iterator<Item = &mut OpenEpoch> {
        let (one, locks) = match self {
            AccessState::None => (None, &mut [][..]),
            AccessState::Fence { opened, .. } | AccessState::Start(opened) | AccessState::All(opened) => {
                (Some(opened), &mut [][..])
            }
            AccessState::Locks(locks) => (None, &mut locks[..]),
        };
        one.into_iter().chain(locks.iter_mut().map(|(_, opened)| opened))
    }
}

/// A hold on a buffer that is borrowed for longer than a call.
pub trait BufferHold {
    /// Returns the borrowed buffer.
    fn span(&self) -> Span;
}

/// Resources of a deferred operation until it is complete.
pub(super) struct DeferredResources<H> {
    pub operation: WindowSequence,
    /// Its buffers, and the description of the target's elements.
    pub _holds: [Option<H>; 4],
}

/// Open epochs of a window, and known extents of other processes' parts.
pub struct WindowState<H> {
    /// Extent of all processes, if it is the same.
    pub uniform: Option<PartExtent>,
    /// Otherwise, extents of the processes that have been targets, sorted by world rank.
    pub(super) extents: Vec<(Rank, PartExtent)>,
    /// State of the access epoch.
    pub access: AccessState,
    /// Open exposure epoch (MPI_Win_post).
    pub exposure: Option<WindowSequence>,
    pub(super) kept: Vec<DeferredResources<H>>,
}

impl<H> Default for WindowState<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> WindowState<H> {
    /// Creates the state of a window without epochs.
    pub fn new() -> WindowState<H> {
        WindowState {
            uniform: None,
            extents: Vec::new(),
            access: AccessState::None,
            exposure: None,
            kept: Vec::new(),
        }
    }
}

/// Storage of a window's state in a binding.
pub trait StateOwner: Copy {
    /// Type of its holds on buffers.
    type BufferHold: BufferHold;

    /// Runs `f` on the state with exclusive access. Fails like `f`, and if the window no longer exists.
    fn with<R>(&self, f: impl FnOnce(&mut WindowState<Self::BufferHold>) -> Result<R, Error>) -> Result<R, Error>;
}

/// Returns an error of this class.
pub const fn wrong(class: ErrorClass, what: &'static str) -> Error {
    Error::Wrong { class, what }
}

/// Returns the error for a window that has been freed.
pub fn no_window() -> Error {
    wrong(ErrorClass::Win, "win names no window")
}

/// Returns the error for a call that the open epochs do not allow.
pub fn out_of_order(what: &'static str) -> Error {
    wrong(ErrorClass::RmaSync, what)
}

/// A window for the duration of a call.
#[derive(Clone, Copy)]
pub struct Window<'e, H> {
    /// The process that calls.
    pub env: &'e dyn Env,
    /// Name of the MPI function.
    pub function: &'static str,
    /// The owner of the state.
    pub owner: H,
    /// Processes of the window.
    pub membership: Membership<'e>,
    /// The window was created by MPI_Win_create_dynamic.
    pub is_dynamic: bool,
}

impl<'e, H: StateOwner> Window<'e, H> {
    /// Returns the context of the window.
    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// Returns the world rank of this process.
    pub fn here(&self) -> Rank {
        self.membership.to_world(self.membership.rank)
    }

    /// Returns a communicator of the processes of the window.
    pub fn comm(&self) -> Communicator<'e> {
        Communicator::at(self.env, self.membership)
    }

    /// Runs `f` on the window's state with exclusive access.
    pub fn with<R>(&self, f: impl FnOnce(&mut WindowState<H::BufferHold>) -> Result<R, Error>) -> Result<R, Error> {
        self.owner.with(f)
    }
}
