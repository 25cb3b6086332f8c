//! A number that several processes share, and a lock: a window of eight bytes at process 0 of a communicator.

use core::ffi::{c_int, c_void};

use super::accumulates::fetch_one;
use super::creation::{LocalPart, make, remove_window};
use super::objects::CallWindow;
use crate::args::{MPI_NO_OP, MPI_REPLACE, MPI_SUM};
use crate::types::constants::MPI_WIN_FLAVOR_ALLOCATE;
use midplane_device::rma::epochs::WindowEvent;
use midplane_objects::comm::{CommRank, Communicator, Membership};
use midplane_objects::error::Error;
use midplane_objects::process::Env;
use midplane_objects::windows::WindowCondition;

/// A shared number, by the handle of its window.
#[derive(Clone, Copy)]
pub(crate) struct SharedCounter {
    window: c_int,
    membership: Membership<'static>,
}

impl SharedCounter {
    /// Creates the number 0 for all processes of `comm`, which have this handle. A collective call, which blocks. The
    /// processes may use the number after the next exchange with process 0. Fails with class NoMem at all processes.
    pub fn new(function: &'static str, parent: c_int, comm: Communicator<'static>) -> Result<Self, Error> {
        let bytes = if comm.rank() == 0 { size_of::<i64>() as isize } else { 0 };
        let part = LocalPart::check(0, bytes, 1, MPI_WIN_FLAVOR_ALLOCATE)?;
        // SAFETY: only this window uses the memory that it allocates.
        let (window, base) = unsafe { make(function, parent, comm, part) }?;
        if bytes > 0 {
            // SAFETY: eight bytes that have just been allocated, aligned like those of MPI_Alloc_mem.
            unsafe { core::ptr::with_exposed_provenance_mut::<i64>(base).write(0) };
        }
        let membership = CallWindow::from_handle(comm.env, function, window)?.membership;
        Ok(Self { window, membership })
    }

    /// Returns the communicator of the number, for collective calls of its owner.
    pub fn comm(&self, env: &'static dyn Env) -> Communicator<'static> {
        Communicator::at(env, self.membership)
    }

    /// Returns the processes.
    pub fn membership(&self) -> Membership<'static> {
        self.membership
    }

    /// Runs `f` while no other process does so. Must not be nested, and `f` must not use the number. Blocks.
    pub fn exclusively<R>(
        &self,
        env: &'static dyn Env,
        function: &'static str,
        f: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.locked(env, function, true, |_| f())
    }

    fn locked<R>(
        &self,
        env: &'static dyn Env,
        function: &'static str,
        is_exclusive: bool,
        f: impl FnOnce(&CallWindow) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let window = CallWindow::from_handle(env, function, self.window)?;
        let target = self.membership.to_world(CommRank(0));
        let epoch = window.lock(target, is_exclusive, true, None, false)?;
        window.wait(Some(target), WindowCondition::Occurred(WindowEvent::Opened(epoch)));
        let result = f(&window);
        let epoch = window.unlock(target, None)?;
        let closed = window.wait_closed(Some(target), epoch);
        result.and_then(|result| closed.map(|()| result))
    }

    /// Combines the number with `operand`, and returns its value before. Blocks.
    fn fetch(&self, env: &'static dyn Env, function: &'static str, op: c_int, operand: i64) -> Result<i64, Error> {
        let mut before = 0i64;
        self.locked(env, function, false, |window| {
            let (operand, before) = (
                (&raw const operand).cast::<c_void>(),
                (&raw mut before).cast::<c_void>(),
            );
            // SAFETY: both are numbers of eight bytes, and exist until the epoch is closed.
            unsafe { fetch_one(window, operand, before, op) }
        })?;
        Ok(before)
    }

    /// Adds to the number, and returns its value before.
    pub fn add(&self, env: &'static dyn Env, function: &'static str, more: i64) -> Result<i64, Error> {
        self.fetch(env, function, MPI_SUM, more)
    }

    /// Replaces the number.
    pub fn set(&self, env: &'static dyn Env, function: &'static str, value: i64) -> Result<(), Error> {
        self.fetch(env, function, MPI_REPLACE, value).map(|_| ())
    }

    /// Returns the number.
    pub fn get(&self, env: &'static dyn Env, function: &'static str) -> Result<i64, Error> {
        self.fetch(env, function, MPI_NO_OP, 0)
    }

    /// Removes the number at this process.
    pub fn remove(&self, env: &'static dyn Env) {
        remove_window(env, self.window);
    }
}
