//! Windows by handle, and their open epochs.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ops::Deref;

use spin::Mutex;

use crate::args::{Peer, destination};
use crate::binding::env;
use crate::comm_objects::Blame;
use crate::datatypes::Lent;
use crate::handles::{Kind, Table};
use crate::report::{blame, end_under};
use crate::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_device::memory::Span;
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{Membership, Partners};
use midplane_objects::context::CONTEXTS;
use midplane_objects::error::{Error, Limited};
use midplane_objects::process::Env;
use midplane_objects::windows::{self, Hold, Home, State, no_window};

const KIND: Kind = Kind {
    name: Limited::Windows,
    tag: 0x6000_0000,
    place_bits: 11,
    generation_bits: 13,
    limit: CONTEXTS,
};

/// Values of the predefined attributes, at a fixed address as long as the window exists.
#[derive(Debug)]
pub(super) struct Facts {
    pub size: isize,
    pub disp_unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

pub(super) struct Object {
    /// Communicator of the window.
    pub comm: c_int,
    pub membership: Membership<'static>,
    pub base: usize,
    pub facts: Box<Facts>,
    pub state: State<Lent>,
    pub handler: c_int,
    pub name: Vec<u8>,
    pub attributes: Attributes,
}

// Stated in docs/rma.md.
const _: () = assert!(size_of::<Object>() <= 256 && size_of::<Facts>() <= 24);

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_windows")]
pub(super) static TABLE: Mutex<Table<Object>> = Mutex::new(Table::new(KIND));

impl Hold for Lent {
    fn span(&self) -> Span {
        self.span()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Handle(pub c_int);

impl Home for Handle {
    type Hold = Lent;

    fn with<R>(&self, f: impl FnOnce(&mut State<Lent>) -> Result<R, Error>) -> Result<R, Error> {
        f(&mut TABLE.lock().get_mut(self.0).ok_or(no_window())?.state)
    }
}

/// A window for the duration of a call.
#[derive(Clone, Copy)]
pub(super) struct Window(windows::Window<'static, Handle>);

impl Deref for Window {
    type Target = windows::Window<'static, Handle>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Window {
    fn new(
        env: &'static dyn Env,
        function: &'static str,
        (handle, object): (c_int, &Object),
    ) -> Window {
        Window(windows::Window {
            env,
            function,
            home: Handle(handle),
            membership: object.membership,
            is_dynamic: object.facts.flavor == MPI_WIN_FLAVOR_DYNAMIC,
        })
    }

    pub fn of(
        env: &'static dyn Env,
        function: &'static str,
        handle: c_int,
    ) -> Result<Window, Error> {
        let window = |object: &mut Object| Window::new(env, function, (handle, object));
        with_object(handle, window).ok_or(no_window())
    }

    /// Runs `f` on the window's object, with exclusive access.
    pub fn with_object<R>(
        &self,
        f: impl FnOnce(&mut Object) -> Result<R, Error>,
    ) -> Result<R, Error> {
        f(TABLE.lock().get_mut(self.home.0).ok_or(no_window())?)
    }

    /// Returns the process with the rank that the program specifies.
    pub fn target(&self, rank: c_int) -> Result<Peer<Rank>, Error> {
        let group = self.membership.group();
        let partners = Partners::at(self.env, group);
        Ok(match destination(&partners, rank)? {
            Peer::ProcNull => Peer::ProcNull,
            Peer::Rank(rank) => Peer::Rank(group.to_world(rank)),
        })
    }
}

/// Runs `f` on the window with handle `handle`.
pub(super) fn with_object<R>(handle: c_int, f: impl FnOnce(&mut Object) -> R) -> Option<R> {
    TABLE.lock().get_mut(handle).map(f)
}

/// Returns the error handler for a call on this window; for an invalid handle, that of MPI_COMM_WORLD (section 8.3).
pub(super) fn blame_of(win: c_int) -> Blame {
    match with_object(win, |object| object.handler) {
        Some(handler) => Blame::new(win, handler),
        None => blame(MPI_COMM_WORLD),
    }
}

pub(super) fn on_win(
    function: &'static str,
    win: c_int,
    call: impl FnOnce(Window) -> Result<(), Error>,
) -> c_int {
    // A single table look-up, because a call on a few bytes is short.
    let found = with_object(win, |object| {
        let window = env().map(|env| Window::new(env, function, (win, object)));
        let handler = object.handler;
        (window, Blame::new(win, handler))
    });
    let (window, blame) = found.unwrap_or_else(|| {
        let window = env().and(Err(no_window()));
        (window, blame_of(win))
    });
    end_under(function, blame, window.and_then(call))
}
