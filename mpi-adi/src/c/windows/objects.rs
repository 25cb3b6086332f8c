//! Windows by handle, and the epochs that are open in them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;

use spin::Mutex;

use crate::c::binding::env;
use crate::c::comm_objects::Blame;
use crate::c::handles::{Kind, Table};
use crate::c::report::{blame, end_under};
use crate::c::types::constants::*;
use crate::device::envelope::{Context, Rank};
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

/// Access that this process has to others (section 11.5).
#[derive(Debug)]
pub(super) enum Access {
    None,
    /// From a fence on; it counts as an epoch when an operation is made.
    Fence {
        is_used: bool,
    },
    /// To these, which have posted, or will; without `waits` they have, as the program says.
    Start {
        group: Vec<Rank>,
        waits: bool,
    },
    /// Locks at these; those that the program says nothing conflicts with have not been asked for.
    Locks(Vec<(Rank, bool)>),
    /// To all, with a shared lock each, asked for before the first operation there, unless nothing conflicts.
    All {
        asks: bool,
    },
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
    /// An exposure epoch is open (MPI_Win_post).
    pub is_exposed: bool,
}

impl Object {
    pub fn context(&self) -> Context {
        self.membership.context
    }
}

/// No call holds the lock while it waits, and interrupts do not come here.
pub(super) static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

pub(super) fn wrong(class: Class, what: &'static str) -> Error {
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
    let window = env().and_then(|env| {
        let found = with_object(win, |object| Window {
            env,
            function,
            handle: win,
            membership: object.membership,
            is_dynamic: object.facts.flavor == MPI_WIN_FLAVOR_DYNAMIC,
        });
        found.ok_or(no_window())
    });
    end_under(function, blame, window.and_then(call))
}
