//! Windows by handle, and their open epochs.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::ops::Deref;

use spin::Mutex;

use super::shared::SharedParts;
use crate::args::{PeerRank, destination};
use crate::binding::env;
use crate::comm_objects::ErrorTarget;
use crate::datatypes::TypedBuffer;
use crate::error_dispatch::{end_under, error_target};
use crate::handles::{HandleKind, HandleTable};
use crate::types::Handle;
use crate::types::constants::*;
use midplane_device::envelope::Rank;
use midplane_device::memory::Span;
use midplane_objects::attributes::Attributes;
use midplane_objects::comm::{Membership, Partners};
use midplane_objects::context::CONTEXTS;
use midplane_objects::error::{Error, LimitedResource};
use midplane_objects::process::Env;
use midplane_objects::windows::{self, BufferHold, StateOwner, WindowState, no_window};

const KIND: HandleKind = HandleKind {
    name: LimitedResource::Windows,
    tag: 0x6000_0000,
    place_bits: 11,
    generation_bits: 13,
    limit: CONTEXTS,
};

/// Values of the predefined attributes, at a fixed address as long as the window exists.
#[derive(Debug)]
pub(super) struct PredefinedAttributes {
    pub size: isize,
    pub disp_unit: c_int,
    pub flavor: c_int,
    pub model: c_int,
}

pub(super) struct WindowObject {
    /// Communicator of the window.
    pub comm: c_int,
    pub membership: Membership<'static>,
    pub base: usize,
    /// Memory that the processes share; `None`: the memory is of this process.
    pub shared: Option<Box<SharedParts>>,
    pub facts: Box<PredefinedAttributes>,
    pub state: WindowState<TypedBuffer>,
    pub handler: c_int,
    pub name: Vec<u8>,
    pub attributes: Attributes,
}

// Stated in docs/rma.md.
const _: () = assert!(size_of::<WindowObject>() <= 256 && size_of::<PredefinedAttributes>() <= 24);

/// No call waits while it holds the lock, and no interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_windows")]
pub(super) static TABLE: Mutex<HandleTable<WindowObject>> = Mutex::new(HandleTable::new(KIND));

impl BufferHold for TypedBuffer {
    fn span(&self) -> Span {
        self.span()
    }
}

#[derive(Clone, Copy)]
pub(super) struct WindowHandle(pub c_int);

impl StateOwner for WindowHandle {
    type BufferHold = TypedBuffer;

    fn with<R>(&self, f: impl FnOnce(&mut WindowState<TypedBuffer>) -> Result<R, Error>) -> Result<R, Error> {
        f(&mut TABLE.lock().get_mut(self.0).ok_or(no_window())?.state)
    }
}

/// A window for the duration of a call.
#[derive(Clone, Copy)]
pub(super) struct CallWindow(windows::Window<'static, WindowHandle>);

impl Deref for CallWindow {
    type Target = windows::Window<'static, WindowHandle>;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl CallWindow {
    fn new(env: &'static dyn Env, function: &'static str, handle: c_int, object: &WindowObject) -> CallWindow {
        CallWindow(windows::Window {
            env,
            function,
            owner: WindowHandle(handle),
            membership: object.membership,
            is_dynamic: object.facts.flavor == MPI_WIN_FLAVOR_DYNAMIC,
        })
    }

    pub fn from_handle(env: &'static dyn Env, function: &'static str, handle: c_int) -> Result<CallWindow, Error> {
        let window = |object: &mut WindowObject| CallWindow::new(env, function, handle, object);
        with_object(handle, window).ok_or(no_window())
    }

    /// Runs `f` on the window's object, with exclusive access.
    pub fn with_object<R>(&self, f: impl FnOnce(&mut WindowObject) -> Result<R, Error>) -> Result<R, Error> {
        f(TABLE.lock().get_mut(self.owner.0).ok_or(no_window())?)
    }

    /// Returns the process with the rank that the program specifies.
    pub fn target(&self, rank: c_int) -> Result<PeerRank<Rank>, Error> {
        let group = self.membership.group();
        let partners = Partners::at(self.env, group);
        Ok(match destination(&partners, rank)? {
            PeerRank::ProcNull => PeerRank::ProcNull,
            PeerRank::Rank(rank) => PeerRank::Rank(group.to_world(rank)),
        })
    }
}

/// Runs `f` on the window with handle `handle`.
pub(super) fn with_object<R>(handle: impl Into<Handle>, f: impl FnOnce(&mut WindowObject) -> R) -> Option<R> {
    TABLE.lock().get_mut(handle).map(f)
}

/// Returns the error handler for a call on this window; for an invalid handle, that of MPI_COMM_WORLD (section 8.3).
pub(super) fn error_target_of(win: c_int) -> ErrorTarget {
    match with_object(win, |object| object.handler) {
        Some(handler) => ErrorTarget::new(win, handler),
        None => error_target(MPI_COMM_WORLD),
    }
}

pub(super) fn on_win(
    function: &'static str,
    win: impl Into<Handle>,
    call: impl FnOnce(CallWindow) -> Result<(), Error>,
) -> c_int {
    let handle = win.into();
    let win = handle.value();
    // A single table look-up, because a call on a few bytes is short.
    let found = with_object(handle, |object| {
        let window = env().map(|env| CallWindow::new(env, function, win, object));
        let handler = object.handler;
        (window, ErrorTarget::new(win, handler))
    });
    let (window, error_target) = found.unwrap_or_else(|| {
        let window = env().and(Err(no_window()));
        (window, error_target_of(win))
    });
    end_under(function, error_target, window.and_then(call))
}
