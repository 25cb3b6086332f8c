//! What a window is to a call, and the epochs that are open in it.

use alloc::vec::Vec;

use crate::comm::{Communicator, Membership};
use crate::error::{Class, Error};
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};
use midplane_device::memory::Span;
use midplane_device::rma::epochs::Serial;

/// The size in bytes of a process's part of a window, and the unit of displacements in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    pub size: u64,
    pub disp_unit: u32,
}

/// An access epoch that the program has open.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    pub epoch: Serial,
    /// Operations go straight to their targets: it is open there, and nothing waits to leave before them.
    pub is_ready: bool,
    /// The same for this one target, the last.
    pub ready_at: Option<Rank>,
    /// It was opened by a call that does not block: operations do not wait for their targets either.
    pub defers: bool,
}

/// Access that this process has to others (section 11.5).
#[derive(Debug)]
pub enum Access {
    /// No access epoch is open.
    None,
    /// From a fence on; it counts as an epoch when an operation is made.
    Fence {
        /// Kind of the epoch.
        opened: Opened,
        /// An operation has been started in the epoch.
        is_used: bool,
    },
    /// To these that MPI_Win_start names.
    Start(Opened),
    /// Locks at these.
    Locks(Vec<(Rank, Opened)>),
    /// To all, with a shared lock each, asked for before the first operation there, unless nothing conflicts.
    All(Opened),
}

impl Access {
    /// The open epochs.
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

/// A hold on a buffer that is lent for longer than a call.
pub trait Hold {
    /// What is lent.
    fn span(&self) -> Span;
}

/// What a deferred operation needs until it is over.
pub(super) struct Kept<H> {
    pub operation: Serial,
    /// Its buffers, and where the elements are at the target.
    pub _holds: [Option<H>; 4],
}

/// What is open in a window, and what is known of its other parts.
pub struct State<H> {
    /// That of all processes, where it is the same.
    pub uniform: Option<Extent>,
    /// Those of processes that have been targets, by number, where they are not the same.
    pub(super) extents: Vec<(Rank, Extent)>,
    /// State of the access epoch.
    pub access: Access,
    /// The exposure epoch that is open (MPI_Win_post).
    pub exposure: Option<Serial>,
    pub(super) kept: Vec<Kept<H>>,
}

impl<H> Default for State<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H> State<H> {
    /// That of a window that has just been made.
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

/// Where a binding keeps the state of a window.
pub trait Home: Copy {
    /// Its holds on buffers.
    type Hold: Hold;

    /// Runs `f` on the state; for as long as `f` runs nothing else has it. Fails as `f`, and where the window is gone.
    fn with<R>(
        &self,
        f: impl FnOnce(&mut State<Self::Hold>) -> Result<R, Error>,
    ) -> Result<R, Error>;
}

/// Returns an error of this class.
pub const fn wrong(class: Class, what: &'static str) -> Error {
    Error::Wrong { class, what }
}

/// Returns the error for a window that has been freed.
pub fn no_window() -> Error {
    wrong(Class::Win, "win names no window")
}

/// Returns the error for a call that the open epochs do not allow.
pub fn out_of_order(what: &'static str) -> Error {
    wrong(Class::RmaSync, what)
}

/// A window for the length of a call.
#[derive(Clone, Copy)]
pub struct Window<'e, H> {
    /// The process that calls.
    pub env: &'e dyn Env,
    /// Name of the MPI function.
    pub function: &'static str,
    /// The owner of the state.
    pub home: H,
    /// Processes of the window.
    pub membership: Membership<'e>,
    /// The window was created by MPI_Win_create_dynamic.
    pub is_dynamic: bool,
}

impl<'e, H: Home> Window<'e, H> {
    /// Returns the context of the window.
    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// This process, by its number in the job.
    pub fn here(&self) -> Rank {
        self.membership.to_world(self.membership.rank)
    }

    /// Returns a communicator of the processes of the window.
    pub fn comm(&self) -> Communicator<'e> {
        Communicator::at(self.env, self.membership)
    }

    /// Runs `f` on the window's state; for as long as `f` runs nothing else has it.
    pub fn with<R>(
        &self,
        f: impl FnOnce(&mut State<H::Hold>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.home.with(f)
    }
}
