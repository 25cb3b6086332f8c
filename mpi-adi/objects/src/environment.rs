//! Environment queries of a process, and its finalization (MPI-3.1 chapter 8).
#![forbid(unsafe_code)]

use net_torus::coord::Coord;

use crate::coll;
use crate::comm::Communicator;
use crate::error::Error;
use crate::process::Env;
use midplane_device::interface::{AbortCause, Device, MeasuredQuantity, NetworkCollectives};

/// Version of the MPI standard.
pub const VERSION: (i32, i32) = (5, 0);
/// Name and version of this library.
pub const LIBRARY: &str = concat!("Midplane ", env!("CARGO_PKG_VERSION"), ", MPI 5.0");

/// Returns the nanoseconds since this node started. Clocks of different nodes are not synchronized.
pub fn now(env: &dyn Env) -> u64 {
    env.measure(MeasuredQuantity::Now)
}

/// Returns the resolution of the clock in nanoseconds.
pub fn tick(env: &dyn Env) -> u64 {
    env.measure(MeasuredQuantity::Tick)
}

/// Returns this node's coordinates on the torus.
pub fn here(env: &dyn Env) -> Coord {
    env.identity().here
}

/// Aborts the job immediately with `status`.
pub fn abort(env: &dyn Env, status: i32) -> ! {
    env.abort(AbortCause::Called, status)
}

/// Blocks until the sends that this process started, and that are received, are complete locally, and every other
/// process has called this function. Fails with [`Error::NoMemory`], and with [`Error::Wrong`] if other processes are
/// in another barrier.
pub fn finalize(env: &dyn Env) -> Result<(), Error> {
    finalize_with(env, coll::barrier_by_messages)
}

/// Finalizes like [`finalize`], but uses the barrier `by_messages` if the network provides none. Returns the same
/// errors.
pub fn finalize_with<'e>(
    env: &'e dyn Env,
    by_messages: impl FnOnce(Communicator<'e>, &'static str) -> Result<(), Error>,
) -> Result<(), Error> {
    const NAME: &str = "MPI_Finalize";
    let world = Communicator::world(env);
    if !coll::network_barrier(world, NAME, true)? {
        by_messages(world, NAME)?;
    }
    env.wait_until_sent(NAME);
    Ok(())
}
