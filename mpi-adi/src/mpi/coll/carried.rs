//! What goes along the lines of the torus in the packets of the network's own barrier ([`crate::device::barrier`]): the
//! barrier of all processes, and their allreduces of few bytes.
//!
//! Neither is a schedule of messages, and neither needs any: their state is in the device, which tells without blocking
//! how far they are.
//!
//! There is one network, and many communicators may be of all processes. They can share it, since these calls block and a
//! process makes one at a time: a program whose processes make them in different orders, on one communicator or on several,
//! is wrong (MPI-3.1 section 5.13). Collectives that do not block go by messages, whatever they are of.
#![forbid(unsafe_code)]

use crate::Adi;
use crate::device::barrier::{AllreduceStep, Differ, VALUE_BYTES};
use crate::device::kernel::{CallNote, Kernel};
use crate::device::memory::area::Area;
use crate::mpi::call::{block_on, block_until};
use crate::mpi::coll::run::Combine;
use crate::mpi::coll::run::Elements;
use crate::mpi::coll::schedule::Half;
use crate::mpi::coll::segments::Segment;
use crate::mpi::comm::Communicator;
use crate::mpi::error::{Class, Error};

/// The barrier of all processes, the last one if so said; false, and nothing done, when the communicator is not of all, or the network does not offer it: to all of them or to none. Fails with [`Error::Wrong`] where not all processes
/// are in a barrier, or not for all it is the last one.
pub(crate) fn barrier(
    comm: Communicator<'_>,
    function: &'static str,
    is_last: bool,
) -> Result<bool, Error> {
    if !comm.is_of_all() {
        return Ok(false);
    }
    let mut entered = false;
    let mut differs = None;
    block_until(comm.env(), note(function), &mut |adi, kernel| {
        if !entered {
            if !offers(adi, kernel) {
                return true;
            }
            match is_last {
                true => adi.enter_last_barrier(),
                false => adi.enter_barrier(),
            }
            entered = true;
        }
        let is_over = adi.leave_barrier();
        if is_over {
            differs = adi.barrier_differs();
        }
        is_over
    });
    match differs {
        None => Ok(entered),
        Some(_) if is_last => Err(LEFT_OUT),
        Some(differ) => Err(error_of(differ)),
    }
}

/// An allreduce of all processes; `None`, and nothing done, when it is not of this kind: to none of them. `data` is as
/// long as `result`. Fails with [`Error::Wrong`] when the processes' lengths differ.
pub(super) fn allreduce(
    comm: Communicator<'_>,
    function: &'static str,
    (data, result): (Area, Area),
    elements: Elements,
    combine: &mut Combine<'_>,
) -> Option<Result<(), Error>> {
    let bytes = data.len();
    let is_short = (1..=VALUE_BYTES).contains(&bytes);
    if !(is_short && elements.commute && comm.is_of_all()) {
        return None;
    }
    let mut call = Call {
        areas: (data, result),
        values: Values::new(bytes),
        predefined: elements.predefined,
        entered: false,
    };
    loop {
        let turn = block_on(comm.env(), note(function), |adi, kernel| {
            // Most looks find nothing to do.
            match call.entered && adi.allreduce_waits() {
                true => None,
                false => call.go_on(adi, kernel, combine),
            }
        });
        match turn {
            Turn::NotOffered => return None,
            Turn::Combine => call.values.combine(combine),
            Turn::Over => return Some(Ok(())),
            Turn::Differ(differ) => return Some(Err(error_of(differ))),
        }
    }
}

/// An allreduce under way.
struct Call {
    areas: (Area, Area),
    values: Values,
    /// No function of the program's combines.
    predefined: bool,
    entered: bool,
}

impl Call {
    /// As far as it can go on; `None`: it waits for others.
    // On a stack frame of its own, which looks that find nothing to do can do without.
    #[inline(never)]
    fn go_on(
        &mut self,
        adi: &mut Adi,
        kernel: &mut dyn Kernel,
        combine: &mut Combine<'_>,
    ) -> Option<Turn> {
        let (data, result) = self.areas;
        if !self.entered {
            let own = self.values.combined();
            data.read(kernel.memory(), own);
            if !(offers(adi, kernel) && adi.enter_allreduce(own)) {
                return Some(Turn::NotOffered);
            }
            self.entered = true;
        }
        loop {
            match adi.allreduce_step() {
                AllreduceStep::Wait => return None,
                AllreduceStep::Differ => {
                    let differ = adi.barrier_differs().unwrap_or(Differ::Values);
                    return Some(Turn::Differ(differ));
                }
                AllreduceStep::Combine(_) if self.predefined => adi.combine_values(&mut *combine),
                // A function of the program's runs outside of the device.
                AllreduceStep::Combine(count) => {
                    if self.values.fetch(adi, count) {
                        return Some(Turn::Combine);
                    }
                }
                AllreduceStep::Over => {
                    result.write(kernel.memory(), adi.value(0));
                    return Some(Turn::Over);
                }
            }
        }
    }
}

/// How far a call is when it leaves the device.
enum Turn {
    NotOffered,
    /// It has a value to combine with those before it.
    Combine,
    Over,
    Differ(Differ),
}

/// Values of a pair or a circle, one after the other.
struct Values {
    bytes: usize,
    /// Those that have been combined, and the one to combine them with.
    both: [Segment<VALUE_BYTES>; 2],
    combined: Half,
    /// How many have been fetched.
    fetched: usize,
}

impl Values {
    fn new(bytes: usize) -> Values {
        Values {
            bytes,
            both: [const { Segment::ZERO }; 2],
            combined: Half::First,
            fetched: 0,
        }
    }

    fn combined(&mut self) -> &mut [u8] {
        &mut self.both[self.combined as usize].0[..self.bytes]
    }

    /// Fetches one of so many, to be combined with those before it. False: all are combined, and the device has the
    /// result.
    fn fetch(&mut self, adi: &mut Adi, count: usize) -> bool {
        if self.fetched == 0 {
            self.combined().copy_from_slice(adi.value(0));
            self.fetched = 1;
        }
        if self.fetched == count {
            adi.set_value(self.combined());
            self.fetched = 0;
            return false;
        }
        let next = &mut self.both[self.combined.other() as usize].0[..self.bytes];
        next.copy_from_slice(adi.value(self.fetched));
        self.fetched += 1;
        true
    }

    fn combine(&mut self, combine: &mut Combine<'_>) {
        let (left, right) = self.combined.and_other(&mut self.both);
        combine(&left.0[..self.bytes], &mut right.0[..self.bytes]);
        self.combined = self.combined.other();
    }
}

const DIFFER: Error = Error::Wrong {
    class: Class::Truncate,
    what: "the processes gave different counts, or not all of them are in this collective (MPI-3.1 section 5.1)",
};
const TOO_MANY: Error = Error::Wrong {
    class: Class::Other,
    what: "other processes have called MPI_Finalize, and not this collective; either they have left it out, or this \
           process has called one too many (MPI-3.1 section 5.1)",
};
const LEFT_OUT: Error = Error::Wrong {
    class: Class::Other,
    what: "other processes are in MPI_Barrier or another collective on MPI_COMM_WORLD; either this process has left it \
           out, or they have called one too many (MPI-3.1 section 5.1)",
};

/// What a collective that is not MPI_Finalize says.
fn error_of(differ: Differ) -> Error {
    match differ {
        Differ::Last => TOO_MANY,
        Differ::Values => DIFFER,
    }
}

/// The network offers it; the first step of a job tells.
fn offers(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    if !adi.has_barrier() {
        kernel.poll(adi);
    }
    adi.has_barrier()
}

fn note(function: &'static str) -> CallNote {
    CallNote::of(function)
}
