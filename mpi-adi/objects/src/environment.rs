//! What a process knows of itself and its job, and the end of its part in it (MPI-3.1 chapter 8).
#![forbid(unsafe_code)]

use net_torus::coord::Coord;

use crate::coll;
use crate::comm::Communicator;
use crate::error::Error;
use crate::process::Env;
use midplane_device::interface::{Abort, Device, Measure, NetworkCollectives};

/// The version of the standard.
pub const VERSION: (i32, i32) = (3, 1);
/// The name and version of this library.
pub const LIBRARY: &str = concat!(
    "Midplane ",
    env!("CARGO_PKG_VERSION"),
    ", a part of MPI 3.1"
);

/// Nanoseconds since this node started; clocks of different nodes are not synchronised.
pub fn now(env: &dyn Env) -> u64 {
    env.measure(Measure::Now)
}

/// Nanoseconds between two times that differ as little as possible.
pub fn tick(env: &dyn Env) -> u64 {
    env.measure(Measure::Tick)
}

/// This node's coordinates on the torus.
pub fn here(env: &dyn Env) -> Coord {
    env.place().here
}

/// Ends the whole job at once with `status`.
pub fn abort(env: &dyn Env, status: i32) -> ! {
    env.abort(Abort::Called, status)
}

/// Blocks until everything that this process has sent and that is received is out of its hands and every other process
/// has come here too.
/// Fails with [`Error::NoMemory`], and with [`Error::Wrong`] where others are in another barrier.
pub fn finalize(env: &dyn Env) -> Result<(), Error> {
    finalize_with(env, coll::barrier_by_messages)
}

/// As [`finalize`], by this barrier of the binding's own where the network has none. Fails as that does.
pub fn finalize_with<'e>(
    env: &'e dyn Env,
    by_messages: impl FnOnce(Communicator<'e>, &'static str) -> Result<(), Error>,
) -> Result<(), Error> {
    const NAME: &str = "MPI_Finalize";
    let world = Communicator::world(env);
    if !coll::carried_barrier(world, NAME, true)? {
        by_messages(world, NAME)?;
    }
    env.wait_until_sent(NAME);
    Ok(())
}
