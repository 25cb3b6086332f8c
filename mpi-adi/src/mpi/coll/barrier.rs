//! Barriers (MPI-3.1 section 5.3).
//!
//! The network's own barrier is no schedule of messages, and needs none: its state is in the device, which
//! tells without blocking whether it is over ([`crate::Adi::leave_barrier`]).
#![forbid(unsafe_code)]

use crate::device::kernel::CallNote;
use crate::device::matching::Matching;
use crate::device::memory::area::Area;
use crate::mpi::call::block_on;
use crate::mpi::coll::run::run_alone;
use crate::mpi::coll::schedule::{BARRIER, Buffer, Ranks, Schedule, Step};
use crate::mpi::comm::Communicator;
use crate::mpi::error::Error;

/// Every process has called it before any leaves. That of all processes goes along the lines of the torus
/// where the network has them ([`crate::device::barrier`]), others by dissemination.
pub(crate) fn barrier<E: Matching>(
    comm: Communicator<'_, E>,
    function: &'static str,
) -> Result<(), Error> {
    if comm.is_world() && along_lines(comm, function) {
        return Ok(());
    }
    run_alone(comm, function, &mut Dissemination::new(Ranks::of(comm)))
}

/// In round k every process tells the one 2^k places on that it, and all that it has heard of, have come.
pub(super) struct Dissemination {
    ranks: Ranks,
    distance: u32,
}

impl Dissemination {
    pub(super) fn new(ranks: Ranks) -> Dissemination {
        Dissemination { ranks, distance: 1 }
    }
}

impl Schedule for Dissemination {
    #[inline]
    fn next(&mut self) -> Option<Step> {
        let Dissemination { ranks, distance } = *self;
        if distance >= ranks.size {
            return None;
        }
        self.distance = distance * 2;
        let nothing = Buffer::User(Area::EMPTY);
        Some(Step::Exchange {
            tag: BARRIER,
            given: (nothing, ranks.after(distance)),
            taken: (nothing, ranks.before(distance)),
        })
    }
}

/// The barrier of all processes; false, and nothing done, when the network does not offer it: to all of them
/// or to none.
fn along_lines<E: Matching>(comm: Communicator<'_, E>, function: &'static str) -> bool {
    let mut entered = false;
    let note = CallNote {
        function,
        peer: None,
        tag: None,
    };
    block_on(comm.env(), note, |adi, kernel| {
        if !entered {
            // The first step of a job tells what the network offers.
            if !adi.has_barrier() {
                kernel.poll(adi);
            }
            if !adi.has_barrier() {
                return Some(false);
            }
            adi.enter_barrier();
            entered = true;
        }
        adi.leave_barrier().then_some(true)
    })
}
