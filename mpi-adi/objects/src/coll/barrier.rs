//! Barriers (MPI-3.1 section 5.3).
#![forbid(unsafe_code)]

use crate::coll::carried;
use crate::coll::run::run_alone;
use crate::coll::schedule::{BARRIER, Buffer, Ranks, Schedule, Step};
use crate::comm::Communicator;
use crate::error::Error;
use midplane_device::memory::area::Area;

/// Every process has called it before any leaves. That of all processes goes along the lines of the torus
/// where the network has them ([`midplane_device::barrier`]), others by dissemination. Fails as the two.
pub fn barrier(comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
    match carried::barrier(comm, function, false)? {
        true => Ok(()),
        false => barrier_by_messages(comm, function),
    }
}

/// As [`barrier`], whether or not the network has one.
pub fn barrier_by_messages(comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
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
