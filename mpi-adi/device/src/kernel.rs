//! Host environment of the device: requirements on a node's kernel or the in-process simulator.

use core::panic::Location;

use net_torus::Coord;

use crate::Adi;
use crate::memory::UserMemory;

/// Host of a device: owns the links, the router and the clock.
pub trait Kernel {
    /// Performs one bounded step: receives frames from the links, passes packets to the device's handlers, runs the
    /// device's pending work, and transmits frames. Does not block. Returns whether anything was done.
    fn poll(&mut self, adi: &mut Adi) -> bool;

    /// Returns whether the host has asynchronous progress: it transmits pending packets without further calls.
    fn has_async_progress(&self) -> bool {
        false
    }

    /// Sleeps until an event may have occurred (a link interrupt, or the kernel's own timer where it requires one).
    /// Called only after [`Kernel::poll`] returned false. May return early.
    fn idle(&mut self);

    /// Returns the program's memory, the source and destination of message copies.
    fn memory(&mut self) -> &mut dyn UserMemory;

    /// Returns the time since start in nanoseconds; monotonic.
    fn now(&self) -> u64;

    /// Returns the resolution of [`Kernel::now`] in nanoseconds, 1 or more.
    fn tick(&self) -> u64 {
        1
    }

    /// Returns the nanoseconds for which a call polls for events that may never occur, such as free space in the
    /// program's buffer. On a busy machine, another process may be delayed for this long.
    fn patience(&self) -> u64 {
        1_000_000_000
    }

    /// Returns the state of the program's heap; `None` where the host does not know it.
    fn heap(&self) -> Option<HeapUsage> {
        None
    }

    /// Updates the counters that [`Kernel::counted`] returns.
    fn count(&mut self, adi: &Adi) {
        let _ = adi;
    }

    /// Returns counter `index` of the host's own list, as of the last [`Kernel::count`]; 0 when it does not exist.
    fn counted(&self, index: usize) -> u64 {
        let _ = index;
        0
    }

    /// Records the current call of the program for hang diagnosis (`None`: in its own code).
    fn record_call(&mut self, call: Option<CallInfo>);

    /// Aborts the job immediately with `status`; `why` specifies the cause. Does not return.
    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> !;
}

/// Description of one of a host's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostCounter {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The counted items, in the plural.
    pub unit: &'static str,
    /// The counter is a peak value, not a sum.
    pub is_peak: bool,
}

/// Fill level of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapUsage {
    /// Its size in bytes.
    pub bytes: usize,
    /// Bytes in use, as requested by the program.
    pub used: usize,
}

/// Current MPI call of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallInfo {
    /// The MPI function, for example `MPI_Recv`.
    pub function: &'static str,
    /// The peer's rank in MPI_COMM_WORLD, or a negative MPI wildcard; `None` when the call has none.
    pub peer: Option<i32>,
    /// The tag, or a negative MPI wildcard; `None` when the call has none.
    pub tag: Option<i32>,
}

impl CallInfo {
    /// Creates the record of a call without a peer.
    pub const fn without_peer(function: &'static str) -> Self {
        Self {
            function,
            peer: None,
            tag: None,
        }
    }
}

/// Reason why a program aborts the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortReason<'a> {
    /// MPI_Abort was called.
    MpiAbort,
    /// An error under MPI_ERRORS_ARE_FATAL.
    MpiError(&'a MpiError<'a>),
    /// A link has failed permanently.
    DeadLink,
}

/// An error that aborts the job, encoded in numbers: hosts without message text forward it unchanged. The tool that
/// decodes it reports rank, function, class and a remedy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpiError<'a> {
    /// The process's rank.
    pub rank: u32,
    /// Its node's coordinates.
    pub here: Coord,
    /// The MPI function.
    pub function: &'a str,
    /// The error.
    pub told: ErrorRecord<&'a str>,
    /// Heap fill level, for an error about memory.
    pub heap: Option<HeapUsage>,
    /// The program's message for its own error code.
    pub said: Option<&'a str>,
    /// Source line of the call, where the binding knows it. Hosts that encode errors in numbers omit this text.
    pub called_at: Option<&'a Location<'a>>,
}

/// Encoding of an MPI error in numbers (`midplane_objects::Error::told`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorRecord<W> {
    /// Error kind.
    pub kind: u8,
    /// Its numeric fields.
    pub numbers: [u64; 3],
    /// Its text field.
    pub words: W,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SilentHost;

    impl Kernel for SilentHost {
        fn poll(&mut self, _: &mut Adi) -> bool {
            false
        }
        fn idle(&mut self) {}
        fn memory(&mut self) -> &mut dyn UserMemory {
            unreachable!("it has none")
        }
        fn now(&self) -> u64 {
            0
        }
        fn record_call(&mut self, _: Option<CallInfo>) {}
        fn abort(&mut self, _: AbortReason<'_>, _: i32) -> ! {
            unreachable!("there is no job")
        }
    }

    #[test]
    fn a_carrier_that_does_not_say_otherwise_ticks_and_knows_of_no_heap() {
        assert_eq!((SilentHost.tick(), SilentHost.heap()), (1, None));
    }
}
