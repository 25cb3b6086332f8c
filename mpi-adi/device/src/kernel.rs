//! What the device asks of whatever carries it: a node's kernel, or the in-process cluster.

use core::panic::Location;

use net_torus::Coord;

use crate::Adi;
use crate::memory::UserMemory;

/// The carrier of a device: it owns the links, the router and the clock.
pub trait Kernel {
    /// One bounded step: frames from the links, packets to the device's handlers, the device's own
    /// pending work, frames to the links. Does not block. True when anything was done.
    fn poll(&mut self, adi: &mut Adi) -> bool;

    /// What is to leave does so, as soon as it can, even if the program makes no further call.
    fn goes_on_alone(&self) -> bool {
        false
    }

    /// Sleeps until something may have happened (a link interrupt, or the kernel's own timer where it
    /// needs one). Called only after [`Kernel::poll`] returned false. May return early.
    fn idle(&mut self);

    /// The program's memory, where the device copies messages from and to.
    fn memory(&mut self) -> &mut dyn UserMemory;

    /// Time since start in nanoseconds; never goes back.
    fn now(&self) -> u64;

    /// Nanoseconds between two values of [`Kernel::now`] that differ as little as possible, at least 1.
    fn tick(&self) -> u64 {
        1
    }

    /// Nanoseconds for which a call looks for news that may never come, such as room in the program's buffer: as long as a
    /// host that is busy may hold up another process, where there is one.
    fn patience(&self) -> u64 {
        1_000_000_000
    }

    /// The program's heap; `None` where the carrier does not know.
    fn heap(&self) -> Option<Heap> {
        None
    }

    /// Brings up to date what [`Kernel::counted`] tells.
    fn count(&mut self, adi: &Adi) {
        let _ = adi;
    }

    /// Counter number `index` of the carrier's own list, as of the last [`Kernel::count`]; 0 where there is none.
    fn counted(&self, index: usize) -> u64 {
        let _ = index;
        0
    }

    /// Notes, for the explanation of a hang, the call the program is in (`None`: in its own code).
    fn note(&mut self, call: Option<CallNote>);

    /// Ends the whole job at once with `status`; `why` says in whose name. Does not return.
    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> !;
}

/// What is known of one of a carrier's counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Its name.
    pub name: &'static str,
    /// What it tells.
    pub meaning: &'static str,
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// It is the most that there ever was, not a sum.
    pub is_peak: bool,
}

/// How full a heap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heap {
    /// Its size in bytes.
    pub bytes: usize,
    /// Bytes in use, as they were asked for.
    pub used: usize,
}

/// The call a program is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallNote {
    /// The MPI name, for example `MPI_Recv`.
    pub function: &'static str,
    /// The peer's rank in MPI_COMM_WORLD, or a negative MPI wildcard; `None` when the call has none.
    pub peer: Option<i32>,
    /// The tag, or a negative MPI wildcard; `None` when the call has none.
    pub tag: Option<i32>,
}

impl CallNote {
    /// Of a call that names no peer.
    pub const fn of(function: &'static str) -> Self {
        Self {
            function,
            peer: None,
            tag: None,
        }
    }
}

/// Why a program ends the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortReason<'a> {
    /// MPI_Abort was called.
    MpiAbort,
    /// An error under MPI_ERRORS_ARE_FATAL.
    MpiError(&'a MpiError<'a>),
    /// A link has given up.
    DeadLink,
}

/// An error that ends the job, in numbers: carriers without words pass it on as it is. Where it is shown, it names rank,
/// function, class and what to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MpiError<'a> {
    /// The process.
    pub rank: u32,
    /// Its node.
    pub here: Coord,
    /// The MPI name of the call.
    pub function: &'a str,
    /// The error.
    pub told: Told<&'a str>,
    /// How full the heap was, of an error that is about memory.
    pub heap: Option<Heap>,
    /// What the program says of a code of its own.
    pub said: Option<&'a str>,
    /// The line of the program that has made the call, where the binding knows it. It is words: who tells errors by numbers
    /// leaves it out.
    pub called_at: Option<&'a Location<'a>>,
}

/// An error of MPI's in numbers (`midplane_objects::Error::told`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told<W> {
    /// Which error.
    pub kind: u8,
    /// Its fields.
    pub numbers: [u64; 3],
    /// The field that is words.
    pub words: W,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Kernel for Silent {
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
        fn note(&mut self, _: Option<CallNote>) {}
        fn abort(&mut self, _: AbortReason<'_>, _: i32) -> ! {
            unreachable!("there is no job")
        }
    }

    #[test]
    fn a_carrier_that_does_not_say_otherwise_ticks_and_knows_of_no_heap() {
        assert_eq!((Silent.tick(), Silent.heap()), (1, None));
    }
}
