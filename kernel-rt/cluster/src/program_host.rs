//! Interface to the host of C programs in the simulator: their data, and their events.
#![forbid(unsafe_code)]

use midplane_device::Adi;
use midplane_device::kernel::{AbortReason, CallInfo};
use net_torus::{Direction, Router};

/// The host process of a simulator whose programs cannot be unwound, and share the addresses of their data.
pub trait ProgramHost {
    /// Puts the program's data in place before the program of `rank` runs at this time, in nanoseconds.
    fn resume_rank(&self, rank: usize, now_ns: u64);

    /// Returns whether programs have had external effects since the last [`settles`](ProgramHost::settles). Only called for
    /// a block.
    fn is_unsettled(&self) -> bool;

    /// Announces that no program of any block does anything more before this time, nor at this time with a lower rank.
    fn settles(&self, until_ns: u64, rank: u32);

    /// Records the current call of the program of `rank`; `None`: in its own code.
    fn notes(&self, rank: usize, call: Option<CallInfo>);

    /// Ends the whole job with this status on behalf of the running program.
    fn aborts(&self, why: AbortReason<'_>, status: i32) -> !;

    /// Returns the last reported value of counter `index`.
    fn counted(&self, rank: usize, index: usize) -> u64;

    /// Returns whether a reader requests the counters of the node of `rank`.
    fn is_asked(&self, rank: usize) -> bool;

    /// Reports the counters of the node of `rank`, with its clock and its idle time, in nanoseconds of virtual time.
    /// Called at the job's end, on a reader's request, and when the program asks.
    fn counts(&self, rank: usize, adi: &Adi, router: &Router<'_>, times_ns: [u64; 2]);

    /// Reports the message queues of the node of `rank`, whose program waits forever. Called at the end of a job that
    /// hangs.
    fn reports_queues(&self, rank: usize, adi: &mut Adi);

    /// Shows the location in the program of the call of `rank`, which runs for this purpose. Called at the end of a job that
    /// hangs.
    fn shows_location(&self, rank: usize);

    /// Returns whether the host captures frames. Constant during a job.
    fn captures_frames(&self) -> bool;

    /// Captures a frame that the node of `rank` begins to transmit at this time, in nanoseconds of virtual time.
    fn captures_frame(&self, now_ns: u64, rank: u32, direction: Direction, frame: &[u8]);
}
