//! Gather, scatter and allgather (MPI-3.1 sections 5.5 to 5.7).
#![forbid(unsafe_code)]

use crate::coll::run::run;
use crate::coll::schedule::{ALLGATHER, Buffer, GATHER, Ranks, SCATTER, Schedule, Step};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Gathers every process's `data` at the root; `place` returns the buffer for a rank. `data` may be the root's own
/// buffer.
pub fn gather(
    comm: Communicator<'_>,
    function: &'static str,
    data: BufferSlice,
    place: &dyn Fn(CommRank) -> BufferSlice,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    run(
        comm,
        function,
        &mut Gather::new(Ranks::of(comm), data, place, root),
    )
}

/// Scatters the root's parts to every process's `result`; `part` returns the data for a rank. `result` may be the
/// root's own part.
pub fn scatter(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> BufferSlice,
    result: BufferSlice,
    root: CommRank,
) -> Result<(), Error> {
    comm.check_root(root)?;
    run(
        comm,
        function,
        &mut Scatter::new(Ranks::of(comm), part, result, root),
    )
}

/// Gathers every process's `data` at every process; `place` returns the buffer for a rank. `data` may be the own
/// buffer.
pub fn allgather(
    comm: Communicator<'_>,
    function: &'static str,
    data: BufferSlice,
    place: &dyn Fn(CommRank) -> BufferSlice,
) -> Result<(), Error> {
    run(comm, function, &mut Ring::new(Ranks::of(comm), data, place))
}

/// Gathers every process's block of `all`, indexed by rank, at every process. The runs of blocks sent to the next
/// process double in each round: suitable for short blocks, stored contiguously.
pub fn allgather_in_runs(
    comm: Communicator<'_>,
    function: &'static str,
    all: BufferSlice,
) -> Result<(), Error> {
    run(comm, function, &mut Runs::new(Ranks::of(comm), all))
}

/// Partner sequence of a star: the root communicates with one rank after the other, the others only with the root.
struct Star {
    own: CommRank,
    root: CommRank,
    /// Next partner. For a process other than the root, the root until their message is complete.
    next: u32,
    end: u32,
}

impl Star {
    fn new(ranks: Ranks, root: CommRank) -> Star {
        let (next, end) = if ranks.own == root.0 {
            (0, ranks.size)
        } else {
            (root.0, root.0 + 1)
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

/// The root copies its own data, then receives from one rank after the other.
pub(super) struct Gather<P> {
    star: Star,
    data: BufferSlice,
    place: P,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> Gather<P> {
    pub(super) fn new(ranks: Ranks, data: BufferSlice, place: P, root: CommRank) -> Self {
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

impl<P: Fn(CommRank) -> BufferSlice> Schedule for Gather<P> {
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

/// The root sends to one rank after the other, then copies its own part.
pub(super) struct Scatter<P> {
    star: Star,
    part: P,
    result: BufferSlice,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> Scatter<P> {
    pub(super) fn new(ranks: Ranks, part: P, result: BufferSlice, root: CommRank) -> Self {
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

impl<P: Fn(CommRank) -> BufferSlice> Schedule for Scatter<P> {
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

/// Copies its own data. In round r it sends to the right the block that it received from the left one round before.
pub(super) struct Ring<P> {
    ranks: Ranks,
    data: BufferSlice,
    place: P,
    round: u32,
}

impl<P: Fn(CommRank) -> BufferSlice> Ring<P> {
    pub(super) fn new(ranks: Ranks, data: BufferSlice, place: P) -> Self {
        Ring {
            ranks,
            data,
            place,
            round: 0,
        }
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for Ring<P> {
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

/// Doubling algorithm (Bruck et al., 1997). With n blocks up to its own, a process sends them n ranks forward, and
/// receives n blocks from n ranks back. Blocks remain at their index, so a run that wraps around is sent in two pieces;
/// the split is at the same block for sender and receiver.
pub(super) struct Runs {
    ranks: Ranks,
    all: BufferSlice,
    /// Blocks present at the end of the round.
    held: u32,
    /// Distance of the partners of this round, and the remaining runs.
    distance: u32,
    given: Run,
    taken: Run,
}

/// `count` consecutive blocks from rank `start`, with wrap-around.
#[derive(Clone, Copy, Default)]
struct Run {
    start: u32,
    count: u32,
}

impl Run {
    /// Removes and returns the piece before the wrap-around.
    fn piece(&mut self, all: BufferSlice, size: u32) -> Option<Buffer> {
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
    /// All blocks have the same length.
    pub(super) fn new(ranks: Ranks, all: BufferSlice) -> Self {
        Runs {
            ranks,
            all,
            held: 1,
            distance: 0,
            given: Run::default(),
            taken: Run::default(),
        }
    }

    /// Returns `None` when all blocks are present.
    fn begin_round(&mut self) -> Option<()> {
        let Runs { ranks, held, .. } = *self;
        let count = held.min(ranks.size - held);
        if count == 0 {
            return None;
        }
        // The last `count` blocks up to the own one, and up to the block `held` ranks back.
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
