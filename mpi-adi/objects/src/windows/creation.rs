//! Creation of a window at the device, and its collective agreement.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::state::{PartExtent, wrong};
use crate::comm::{Communicator, Membership};
use crate::error::{Error, ErrorClass};
use crate::one_sided::combine;
use crate::op::PredefinedOp;
use crate::process::Env;
use midplane_device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span, runs, try_boxed, try_boxed_with};
use midplane_device::rma::calls::{OneSidedCalls, WindowCall, WindowError};
use midplane_device::rma::{self, OneSided, WindowPeer};

/// A process's part of a window.
#[derive(Clone, Copy, Debug)]
pub struct WindowPart {
    /// Address of the memory.
    pub base: usize,
    /// Size of the memory in bytes.
    pub size: usize,
    /// Unit of displacements in bytes.
    pub disp_unit: u32,
}

impl WindowPart {
    /// Checks that memory of this size can exist at the address. Fails with class Base.
    pub fn check(self) -> Result<(), Error> {
        let end = self.base.checked_add(self.size);
        let is_memory = self.base >= MODEL_KEYS && end.is_some_and(|end| end <= END_OF_ADDRESSES);
        if self.size == 0 || is_memory {
            Ok(())
        } else {
            Err(wrong(ErrorClass::Base, "base is not where size bytes can be"))
        }
    }
}

pub fn no_space<T>(count: usize) -> Error {
    Error::NoSpace {
        bytes: count.saturating_mul(size_of::<T>()),
    }
}

/// Moves a value to the program's heap. Fails with [`Error::NoSpace`].
pub fn make_room<T>(value: T) -> Result<Box<T>, Error> {
    try_boxed(value).ok_or(no_space::<T>(1))
}

// Not inlined: it uses kilobytes of stack, free again before the call continues.
#[inline(never)]
fn one_sided(here: midplane_device::envelope::Rank) -> Result<Box<OneSided>, Error> {
    let made = try_boxed_with(|| OneSided::new(here, combine, runs));
    made.ok_or(no_space::<OneSided>(1))
}

/// Ensures that the device can support another window. Fails with [`Error::NoSpace`].
fn prepare_device(env: &dyn Env, here: midplane_device::envelope::Rank) -> Result<(), Error> {
    let prepare = |made| env.change_window(0, WindowCall::Prepare(made));
    let prepared = match prepare(None) {
        Err(WindowError::NoWindow) => prepare(Some(one_sided(here)?)),
        prepared => prepared,
    };
    match prepared {
        Ok(_) => Ok(()),
        Err(_) => Err(no_space::<rma::Window>(1)),
    }
}

/// Registers a window at this process's device after `enter` has registered it in the binding. A dynamic window has
/// `None` as its memory. Fails like `enter`, and with [`Error::NoSpace`].
pub fn enter_device<R>(
    env: &dyn Env,
    membership: Membership<'_>,
    memory: Option<Span>,
    disp_unit: u32,
    enter: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    let here = membership.to_world(membership.rank);
    prepare_device(env, here)?;
    let size = Communicator::world(env).size() as usize;
    let mut peers = Vec::new();
    peers
        .try_reserve_exact(size)
        .map_err(|_| no_space::<WindowPeer>(size))?;
    peers.resize(size, WindowPeer::default());
    let mut regions = Vec::new();
    if let Some(memory) = memory {
        regions.try_reserve_exact(1).map_err(|_| no_space::<Span>(1))?;
        regions.push(memory);
    }
    let members = membership.ranks().map(|rank| membership.to_world(rank));
    let window = rma::Window::new(
        membership.context,
        regions,
        memory.is_none(),
        disp_unit,
        peers.into_boxed_slice(),
        members,
        here,
    );
    let window = window.ok_or(no_space::<rma::Window>(1))?;
    let entered = enter()?;
    let added = env.change_window(membership.context, WindowCall::Add(window));
    debug_assert!(added.is_ok(), "room has been made for it");
    Ok(entered)
}

/// Removes a window from this process's device.
pub fn leave_device(env: &dyn Env, membership: Membership<'_>) {
    // Dropped here, outside the device.
    drop(env.change_window(membership.context, WindowCall::Remove));
}

/// Compares the parts of all processes on the window's communicator, after all have called it. Returns their extent if
/// it is the same at all. Fails with class NoMem if not all have the required memory.
pub fn agree(comm: Communicator<'_>, is_ready: bool, part: WindowPart) -> Result<Option<PartExtent>, Error> {
    let (size, unit) = (part.size as i64, i64::from(part.disp_unit));
    let given = [i64::from(is_ready), size, -size, unit, -unit];
    let mut least = [0; 5];
    comm.allreduce_slices(&given, &mut least, PredefinedOp::Min)?;
    let [all_ready, size, more, unit, larger] = least;
    if all_ready == 0 {
        return Err(wrong(
            ErrorClass::NoMem,
            "another process has no memory for its part of the window",
        ));
    }
    let is_uniform = size == -more && unit == -larger;
    Ok(is_uniform.then_some(PartExtent {
        size: size as u64,
        disp_unit: unit as u32,
    }))
}
