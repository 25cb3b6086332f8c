//! What has the programs of a cluster that are C: their data, and what is told of them.
#![forbid(unsafe_code)]

use mpi_adi::Adi;
use mpi_adi::kernel::{AbortReason, CallNote};
use net_torus::Router;

/// The host's process around a cluster whose programs cannot be unwound, and share the addresses of their data.
pub trait Carrier {
    /// The program of `rank` is about to go on: its data has to be in place.
    fn goes_on(&self, rank: usize);

    /// The program of `rank` is in this call from now on; `None`: in its own code.
    fn notes(&self, rank: usize, call: Option<CallNote>);

    /// The program that goes on ends the whole job with this status.
    fn aborts(&self, why: AbortReason<'_>, status: i32) -> !;

    /// At the job's end: what the node of `rank` has counted, and its clock in nanoseconds of virtual time.
    fn counts(&self, rank: usize, adi: &Adi, router: &Router<'_>, now_ns: u64);
}
