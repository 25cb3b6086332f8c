//! All to all (MPI-3.1 section 5.8).
#![forbid(unsafe_code)]

use crate::device::matching::Matching;
use crate::device::memory::area::Area;
use crate::mpi::coll::run::{run, run_in_segments};
use crate::mpi::coll::schedule::{ALLTOALL, Buffer, Half, Ranks, Schedule, Step};
use crate::mpi::coll::segments::{SEGMENT_BYTES, Walk};
use crate::mpi::comm::{CommRank, Communicator};
use crate::mpi::error::Error;

/// Each rank's part for each other: `part` says what goes to a rank, `place` where what comes from it goes.
pub(crate) fn alltoall<E: Matching>(
    comm: Communicator<'_, E>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Area,
    place: &dyn Fn(CommRank) -> Area,
) -> Result<(), Error> {
    let mut schedule = Pairs::new(Ranks::of(comm), part, place);
    run(comm, function, &mut schedule)
}

/// As [`alltoall`] where `place` holds both what goes to a rank and, afterwards, what came from it. Goes by
/// segments, so that no copy of a part is needed.
pub(crate) fn alltoall_in_place<E: Matching>(
    comm: Communicator<'_, E>,
    function: &'static str,
    place: &dyn Fn(CommRank) -> Area,
) -> Result<(), Error> {
    let mut schedule = InPlace::new(Ranks::of(comm), place);
    let sizes = (1, SEGMENT_BYTES);
    run_in_segments(comm, function, &mut schedule, sizes, &mut |_, _| ())
}

/// The own part, then in round d to the rank d places on and from the one d places back.
pub(super) struct Pairs<P, Q> {
    ranks: Ranks,
    part: P,
    place: Q,
    distance: u32,
}

impl<P: Fn(CommRank) -> Area, Q: Fn(CommRank) -> Area> Pairs<P, Q> {
    pub(super) fn new(ranks: Ranks, part: P, place: Q) -> Self {
        Pairs {
            ranks,
            part,
            place,
            distance: 0,
        }
    }
}

impl<P: Fn(CommRank) -> Area, Q: Fn(CommRank) -> Area> Schedule for Pairs<P, Q> {
    fn next(&mut self) -> Option<Step> {
        let (ranks, distance) = (self.ranks, self.distance);
        if distance >= ranks.size {
            return None;
        }
        self.distance = distance + 1;
        let (dest, source) = (ranks.after(distance), ranks.before(distance));
        let (from, to) = ((self.part)(dest), (self.place)(source));
        Some(if distance == 0 {
            Step::Copy { from, to }
        } else {
            Step::Exchange {
                tag: ALLTOALL,
                given: (Buffer::User(from), dest),
                taken: (Buffer::User(to), source),
            }
        })
    }
}

/// In each round every process has one partner, or itself: two ranks whose sum is the round's number.
pub(super) struct InPlace<P> {
    ranks: Ranks,
    place: P,
    /// The round that begins after the present partner.
    round: u32,
    peer: CommRank,
    span: Area,
    walk: Walk,
    stage: Stage,
}

/// What is next for the present segment.
#[derive(Clone, Copy)]
enum Stage {
    Load,
    Exchange,
    Store,
}

/// The segment of what goes to the partner.
const GIVEN: Half = Half::First;
/// The segment of what comes from it.
const TAKEN: Half = Half::Second;

impl<P: Fn(CommRank) -> Area> InPlace<P> {
    pub(super) fn new(ranks: Ranks, place: P) -> Self {
        InPlace {
            ranks,
            place,
            round: 0,
            peer: CommRank(ranks.own),
            span: Area::EMPTY,
            walk: Walk::new(0, 1),
            stage: Stage::Load,
        }
    }

    /// Turns to the next partner; `None`: there is no other.
    fn turn(&mut self) -> Option<()> {
        let Ranks { own, size } = self.ranks;
        if self.round >= size {
            return None;
        }
        self.peer = CommRank((self.round + size - own) % size);
        self.round += 1;
        self.span = match self.peer.0 == own {
            true => Area::EMPTY,
            false => (self.place)(self.peer),
        };
        self.walk = Walk::new(self.span.len(), 1);
        Some(())
    }
}

impl<P: Fn(CommRank) -> Area> Schedule for InPlace<P> {
    fn next(&mut self) -> Option<Step> {
        let mut part = self.walk.part(self.span);
        while part.is_none() {
            self.turn()?;
            part = self.walk.part(self.span);
        }
        let part = part?;
        Some(match self.stage {
            Stage::Load => {
                self.stage = Stage::Exchange;
                Step::Load {
                    from: part,
                    to: GIVEN,
                }
            }
            Stage::Exchange => {
                self.stage = Stage::Store;
                Step::Exchange {
                    tag: ALLTOALL,
                    given: (Buffer::Segment(GIVEN, part.len()), self.peer),
                    taken: (Buffer::Segment(TAKEN, part.len()), self.peer),
                }
            }
            Stage::Store => {
                self.stage = Stage::Load;
                self.walk.advance();
                Step::Store {
                    from: TAKEN,
                    to: part,
                }
            }
        })
    }
}
