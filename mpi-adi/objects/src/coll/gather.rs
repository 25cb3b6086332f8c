//! Gather, scatter and allgather (MPI-3.1 sections 5.5 to 5.7).
#![forbid(unsafe_code)]

use crate::coll::run::run;
use crate::coll::schedule::{ALLGATHER, Buffer, GATHER, Ranks, SCATTER, Schedule, Step};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::area::Area;

/// Every process's `data` to the root, where `place` says where each rank's goes. `data` may be the root's own
/// place.
pub fn gather(
    comm: Communicator<'_>,
    function: &'static str,
    data: Area,
    place: &dyn Fn(CommRank) -> Area,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    run(
        comm,
        function,
        &mut Gather::new(Ranks::of(comm), data, place, root),
    )
}

/// The root's parts, where `part` says what each rank gets, to every process's `result`. `result` may be the
/// root's own part.
pub fn scatter(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> Area,
    result: Area,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    run(
        comm,
        function,
        &mut Scatter::new(Ranks::of(comm), part, result, root),
    )
}

/// Every process's `data` to every process, where `place` says where each rank's goes. `data` may be the own place.
pub fn allgather(
    comm: Communicator<'_>,
    function: &'static str,
    data: Area,
    place: &dyn Fn(CommRank) -> Area,
) -> Result<(), Error> {
    run(comm, function, &mut Ring::new(Ranks::of(comm), data, place))
}

/// Every process's block of `all`, by rank, to every process. It goes from one process to the next in ever longer runs
/// of blocks: for short ones, of which all are one area.
pub fn allgather_in_runs(
    comm: Communicator<'_>,
    function: &'static str,
    all: Area,
) -> Result<(), Error> {
    run(comm, function, &mut Runs::new(Ranks::of(comm), all))
}

/// The steps of a process that talks to the root, or of the root, which talks to one rank after the other.
struct Star {
    own: CommRank,
    root: CommRank,
    /// The root's next partner; of another process, the root until it has been talked to.
    next: u32,
    end: u32,
}

impl Star {
    fn new(ranks: Ranks, root: CommRank) -> Star {
        let (next, end) = match ranks.own == root.0 {
            true => (0, ranks.size),
            false => (root.0, root.0 + 1),
        };
        Star {
            own: CommRank(ranks.own),
            root,
            next,
            end,
        }
    }

    fn is_root(&self) -> bool {
        self.own == self.root
    }

    fn partner(&mut self) -> Option<CommRank> {
        if self.next == self.own.0 {
            self.next += 1;
        }
        let partner = CommRank(self.next);
        (self.next < self.end).then(|| {
            self.next += 1;
            partner
        })
    }
}

/// The root copies its own, then receives from one rank after the other.
pub(super) struct Gather<P> {
    star: Star,
    data: Area,
    place: P,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> Area> Gather<P> {
    pub(super) fn new(ranks: Ranks, data: Area, place: P, root: CommRank) -> Self {
        let star = Star::new(ranks, root);
        let is_copied = !star.is_root();
        Gather {
            star,
            data,
            place,
            is_copied,
        }
    }
}

impl<P: Fn(CommRank) -> Area> Schedule for Gather<P> {
    fn next(&mut self) -> Option<Step> {
        if !self.is_copied {
            self.is_copied = true;
            let (from, to) = (self.data, (self.place)(self.star.root));
            return Some(Step::Copy { from, to });
        }
        let (partner, tag) = (self.star.partner()?, GATHER);
        Some(if self.star.is_root() {
            let data = Buffer::User((self.place)(partner));
            Step::Receive {
                source: partner,
                tag,
                data,
            }
        } else {
            let data = Buffer::User(self.data);
            Step::Send {
                dest: partner,
                tag,
                data,
            }
        })
    }
}

/// The root sends to one rank after the other, then copies its own.
pub(super) struct Scatter<P> {
    star: Star,
    part: P,
    result: Area,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> Area> Scatter<P> {
    pub(super) fn new(ranks: Ranks, part: P, result: Area, root: CommRank) -> Self {
        let star = Star::new(ranks, root);
        let is_copied = !star.is_root();
        Scatter {
            star,
            part,
            result,
            is_copied,
        }
    }
}

impl<P: Fn(CommRank) -> Area> Schedule for Scatter<P> {
    fn next(&mut self) -> Option<Step> {
        let tag = SCATTER;
        if let Some(partner) = self.star.partner() {
            return Some(if self.star.is_root() {
                let data = Buffer::User((self.part)(partner));
                Step::Send {
                    dest: partner,
                    tag,
                    data,
                }
            } else {
                let data = Buffer::User(self.result);
                Step::Receive {
                    source: partner,
                    tag,
                    data,
                }
            });
        }
        if self.is_copied {
            return None;
        }
        self.is_copied = true;
        let (from, to) = ((self.part)(self.star.root), self.result);
        Some(Step::Copy { from, to })
    }
}

/// The own data, then in round r what came from the left in the round before goes to the right.
pub(super) struct Ring<P> {
    ranks: Ranks,
    data: Area,
    place: P,
    round: u32,
}

impl<P: Fn(CommRank) -> Area> Ring<P> {
    pub(super) fn new(ranks: Ranks, data: Area, place: P) -> Self {
        Ring {
            ranks,
            data,
            place,
            round: 0,
        }
    }
}

impl<P: Fn(CommRank) -> Area> Schedule for Ring<P> {
    fn next(&mut self) -> Option<Step> {
        let (ranks, round) = (self.ranks, self.round);
        if round >= ranks.size {
            return None;
        }
        self.round = round + 1;
        let to = (self.place)(ranks.before(round));
        if round == 0 {
            let from = self.data;
            return Some(Step::Copy { from, to });
        }
        let given = (self.place)(ranks.before(round - 1));
        Some(Step::Exchange {
            tag: ALLGATHER,
            given: (Buffer::User(given), ranks.after(1)),
            taken: (Buffer::User(to), ranks.before(1)),
        })
    }
}

/// In each round what a process has, up to its own block, goes as many places on as it has blocks, and as many blocks
/// come from as many places back (Bruck et al., 1997). They stay in their places, so that a run of them that goes round
/// the end is two pieces; where that is, is the same for who gives it and who takes it.
pub(super) struct Runs {
    ranks: Ranks,
    all: Area,
    /// Blocks that are here at the end of the round.
    held: u32,
    /// Of this round: from whom to whom, and what of it is left.
    distance: u32,
    given: Run,
    taken: Run,
}

/// So many blocks from a rank on, round the end.
#[derive(Clone, Copy, Default)]
struct Run {
    start: u32,
    count: u32,
}

impl Run {
    /// Takes the part of it that does not go round the end.
    fn piece(&mut self, all: Area, size: u32) -> Option<Buffer> {
        let count = self.count.min(size - self.start);
        if count == 0 {
            return None;
        }
        let each = all.len() / size as usize;
        let piece = all.part(self.start as usize * each, count as usize * each);
        *self = Run {
            start: (self.start + count) % size,
            count: self.count - count,
        };
        Some(Buffer::User(piece))
    }
}

impl Runs {
    /// Of blocks of one length.
    pub(super) fn new(ranks: Ranks, all: Area) -> Self {
        Runs {
            ranks,
            all,
            held: 1,
            distance: 0,
            given: Run::default(),
            taken: Run::default(),
        }
    }

    /// `None`: all blocks are here.
    fn begin_round(&mut self) -> Option<()> {
        let Runs { ranks, held, .. } = *self;
        let count = held.min(ranks.size - held);
        if count == 0 {
            return None;
        }
        // The last `count` of those that end at the own block, and of those that end where they begin.
        let ends_back = |back: u32| Run {
            start: ranks.before((back + count - 1) % ranks.size).0,
            count,
        };
        (self.given, self.taken) = (ends_back(0), ends_back(held));
        (self.distance, self.held) = (held, held + count);
        Some(())
    }
}

impl Schedule for Runs {
    fn next(&mut self) -> Option<Step> {
        let Ranks { size, .. } = self.ranks;
        if self.given.count == 0 && self.taken.count == 0 {
            self.begin_round()?;
        }
        let tag = ALLGATHER;
        let (dest, source) = (
            self.ranks.after(self.distance),
            self.ranks.before(self.distance),
        );
        let pieces = (
            self.given.piece(self.all, size),
            self.taken.piece(self.all, size),
        );
        match pieces {
            (Some(given), Some(taken)) => Some(Step::Exchange {
                tag,
                given: (given, dest),
                taken: (taken, source),
            }),
            (Some(data), None) => Some(Step::Send { dest, tag, data }),
            (None, Some(data)) => Some(Step::Receive { source, tag, data }),
            (None, None) => None,
        }
    }
}
