//! Windows by handle, and the epochs that are open in them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;

use spin::Mutex;

use crate::c::binding::env;
use crate::c::comm_objects::Blame;
use crate::c::datatypes::Lent;
use crate::c::handles::{Kind, Table};
use crate::c::report::{blame, end_under};
use crate::c::types::constants::*;
use crate::device::envelope::{Context, Rank};
use crate::device::rma::epochs::Serial;
use crate::mpi::attributes::Attributes;
use crate::mpi::comm::{Communicator, Membership};
use crate::mpi::context::CONTEXTS;
use crate::mpi::error::{Class, Error};
use crate::mpi::process::Env;

const KIND: Kind = Kind {
    name: "windows at one time",
    tag: 0x6000_0000,
    place_bits: 11,
    generation_bits: 13,
    limit: CONTEXTS,
};

/// What the predefined attributes point to; it stays where it is for as long as the window does.
#[derive(Debug)]
pub(super) struct Facts {
    pub size: isize,
    pub disp_unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

/// The size in bytes of a process's part of a window, and the unit of displacements in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    pub size: u64,
    pub disp_unit: u32,
}

/// An access epoch that the program has open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub epoch: Serial,
    /// Operations go straight to their targets: it is open there, and nothing waits to leave before them.
    pub is_ready: bool,
    /// It was opened by a call that does not block: operations do not wait for their targets either.
    pub defers: bool,
}

/// Access that this process has to others (section 11.5).
#[derive(Debug)]
pub(super) enum Access {
    None,
    /// From a fence on; it counts as an epoch when an operation is made.
    Fence {
        opened: Opened,
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

/// What a deferred operation needs until it is over.
pub(super) struct Kept {
    pub operation: Serial,
    /// Its buffers, and where the elements are at the target.
    pub _lent: [Lent; 4],
}

pub(super) struct Object {
    /// The window's own communicator.
    pub comm: c_int,
    pub membership: Membership<'static>,
    pub base: usize,
    pub facts: Box<Facts>,
    /// That of all processes, where it is the same.
    pub uniform: Option<Extent>,
    /// Those of processes that have been targets, by number, where they are not the same.
    pub extents: Vec<(Rank, Extent)>,
    pub handler: c_int,
    pub name: Vec<u8>,
    pub attributes: Attributes,
    pub access: Access,
    /// The exposure epoch that is open (MPI_Win_post).
    pub exposure: Option<Serial>,
    pub kept: Vec<Kept>,
}

// What docs/rma.md says.
const _: () = assert!(size_of::<Object>() <= 256 && size_of::<Facts>() <= 24);

impl Object {
    pub fn context(&self) -> Context {
        self.membership.context
    }
}

/// No call holds the lock while it waits, and interrupts do not come here.
pub(super) static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

pub(super) const fn wrong(class: Class, what: &'static str) -> Error {
    Error::Wrong { class, what }
}

pub(super) fn no_window() -> Error {
    wrong(Class::Win, "win names no window")
}

pub(super) fn out_of_order(what: &'static str) -> Error {
    wrong(Class::RmaSync, what)
}

/// A window for the length of a call.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub env: &'static dyn Env,
    pub function: &'static str,
    pub handle: c_int,
    pub membership: Membership<'static>,
    pub is_dynamic: bool,
}

impl Window {
    /// The window that `handle` names.
    pub fn of(
        env: &'static dyn Env,
        function: &'static str,
        handle: c_int,
    ) -> Result<Window, Error> {
        let found = with_object(handle, |object| Window {
            env,
            function,
            handle,
            membership: object.membership,
            is_dynamic: object.facts.flavor == MPI_WIN_FLAVOR_DYNAMIC,
        });
        found.ok_or(no_window())
    }

    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// This process, by its number in the job.
    pub fn here(&self) -> Rank {
        self.membership.to_world(self.membership.rank)
    }

    pub fn comm(&self) -> Communicator<'static> {
        Communicator::at(self.env, self.membership)
    }

    /// Runs `f` on the window's object; for as long as `f` runs nothing else has it.
    pub fn with<R>(&self, f: impl FnOnce(&mut Object) -> Result<R, Error>) -> Result<R, Error> {
        f(TABLE.lock().get_mut(self.handle).ok_or(no_window())?)
    }
}

/// Runs `f` on the window that `handle` names.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    TABLE.lock().get_mut(handle).map(f)
}

/// Whose error handler an error of a call on this window goes to; of none, MPI_COMM_WORLD's (section 8.3).
pub(super) fn blame_of(win: c_int) -> Blame {
    match with_object(win, |object| object.handler) {
        Some(handler) => Blame { comm: win, handler },
        None => blame(MPI_COMM_WORLD),
    }
}

/// A call that belongs to a window.
pub(super) fn on_win(
    function: &'static str,
    win: c_int,
    call: impl FnOnce(Window) -> Result<(), Error>,
) -> c_int {
    let blame = blame_of(win);
    let window = env().and_then(|env| Window::of(env, function, win));
    end_under(function, blame, window.and_then(call))
}
