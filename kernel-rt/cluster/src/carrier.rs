//! What has the programs of a cluster that are C: their data, and what is told of them.
#![forbid(unsafe_code)]

use midplane_device::Adi;
use midplane_device::kernel::{AbortReason, CallNote};
use net_torus::Router;

/// The host's process around a cluster whose programs cannot be unwound, and share the addresses of their data.
pub trait Carrier {
    /// The program of `rank` is about to go on at this time, in nanoseconds: its data has to be in place.
    fn goes_on(&self, rank: usize, now_ns: u64);

    /// Programs have done something since the last [`settles`](Carrier::settles) that shows outside. Asked only of a block.
    fn is_unsettled(&self) -> bool;

    /// No program of any block does anything more before this time, nor at this time where its rank is lower.
    fn settles(&self, until_ns: u64, rank: u32);

    /// The program of `rank` is in this call from now on; `None`: in its own code.
    fn notes(&self, rank: usize, call: Option<CallNote>);

    /// The program that goes on ends the whole job with this status.
    fn aborts(&self, why: AbortReason<'_>, status: i32) -> !;

    /// What counter number `index` was when it was last told.
    fn counted(&self, rank: usize, index: usize) -> u64;

    /// Somebody waits for what the node of `rank` has counted.
    fn is_asked(&self, rank: usize) -> bool;

    /// At the job's end, when somebody waits for it, and when the program asks: what the node of `rank` has counted; and its clock, and how long it
    /// had nothing to do, in nanoseconds of virtual time.
    fn counts(&self, rank: usize, adi: &Adi, router: &Router<'_>, times_ns: [u64; 2]);
}
