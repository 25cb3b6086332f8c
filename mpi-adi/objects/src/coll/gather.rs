//! Gather, scatter and allgather (MPI-3.1 sections 5.5 to 5.7).
#![forbid(unsafe_code)]

use crate::coll::run::run;
use crate::coll::schedule::{ALLGATHER, GATHER, RankInfo, SCATTER, Schedule, ScheduleStep, StepBuffer};
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
        &mut StarGather::new(RankInfo::from_comm(comm), data, place, root),
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
        &mut StarScatter::new(RankInfo::from_comm(comm), part, result, root),
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
    run(
        comm,
        function,
        &mut RingAllgather::new(RankInfo::from_comm(comm), data, place),
    )
}

/// Gathers every process's block of `all`, indexed by rank, at every process. The runs of blocks sent to the next
/// process double in each round: suitable for short blocks, stored contiguously.
pub fn allgather_in_runs(comm: Communicator<'_>, function: &'static str, all: BufferSlice) -> Result<(), Error> {
    run(comm, function, &mut BruckAllgather::new(RankInfo::from_comm(comm), all))
}

/// Partner sequence of a star: the root communicates with one rank after the other, the others only with the root.
struct StarSequence {
    own: CommRank,
    root: CommRank,
    /// Next partner. For a process other than the root, the root until their message is complete.
    next: u32,
    end: u32,
}

impl StarSequence {
    fn new(ranks: RankInfo, root: CommRank) -> StarSequence {
        let (next, end) = if ranks.own == root.0 {
            (0, ranks.size)
        } else {
            (root.0, root.0 + 1)
        };
        StarSequence {
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
pub(super) struct StarGather<P> {
    star: StarSequence,
    data: BufferSlice,
    place: P,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> StarGather<P> {
    pub(super) fn new(ranks: RankInfo, data: BufferSlice, place: P, root: CommRank) -> Self {
        let star = StarSequence::new(ranks, root);
        let is_copied = !star.is_root();
        StarGather {
            star,
            data,
            place,
            is_copied,
        }
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for StarGather<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        if !self.is_copied {
            self.is_copied = true;
            let (from, to) = (self.data, (self.place)(self.star.root));
            return Some(ScheduleStep::Copy { from, to });
        }
        let (partner, tag) = (self.star.partner()?, GATHER);
        Some(if self.star.is_root() {
            let data = StepBuffer::User((self.place)(partner));
            ScheduleStep::Receive {
                source: partner,
                tag,
                data,
            }
        } else {
            let data = StepBuffer::User(self.data);
            ScheduleStep::Send {
                dest: partner,
                tag,
                data,
            }
        })
    }
}

/// The root sends to one rank after the other, then copies its own part.
pub(super) struct StarScatter<P> {
    star: StarSequence,
    part: P,
    result: BufferSlice,
    is_copied: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> StarScatter<P> {
    pub(super) fn new(ranks: RankInfo, part: P, result: BufferSlice, root: CommRank) -> Self {
        let star = StarSequence::new(ranks, root);
        let is_copied = !star.is_root();
        StarScatter {
            star,
            part,
            result,
            is_copied,
        }
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for StarScatter<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        let tag = SCATTER;
        if let Some(partner) = self.star.partner() {
            return Some(if self.star.is_root() {
                let data = StepBuffer::User((self.part)(partner));
                ScheduleStep::Send {
                    dest: partner,
                    tag,
                    data,
                }
            } else {
                let data = StepBuffer::User(self.result);
                ScheduleStep::Receive {
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
        Some(ScheduleStep::Copy { from, to })
    }
}

/// Copies its own data. In round r it sends to the right the block that it received from the left one round before.
pub(super) struct RingAllgather<P> {
    ranks: RankInfo,
    data: BufferSlice,
    place: P,
    round: u32,
}

impl<P: Fn(CommRank) -> BufferSlice> RingAllgather<P> {
    pub(super) fn new(ranks: RankInfo, data: BufferSlice, place: P) -> Self {
        RingAllgather {
            ranks,
            data,
            place,
            round: 0,
        }
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for RingAllgather<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        let (ranks, round) = (self.ranks, self.round);
        if round >= ranks.size {
            return None;
        }
        self.round = round + 1;
        let to = (self.place)(ranks.before(round));
        if round == 0 {
            let from = self.data;
            return Some(ScheduleStep::Copy { from, to });
        }
        let given = (self.place)(ranks.before(round - 1));
        Some(ScheduleStep::Exchange {
            tag: ALLGATHER,
            given: (StepBuffer::User(given), ranks.after(1)),
            taken: (StepBuffer::User(to), ranks.before(1)),
        })
    }
}

/// Doubling algorithm (Bruck et al., 1997). With n blocks up to its own, a process sends them n ranks forward, and
/// receives n blocks from n ranks back. Blocks remain at their index, so a run that wraps around is sent in two pieces;
/// the split is at the same block for sender and receiver.
pub(super) struct BruckAllgather {
    ranks: RankInfo,
    all: BufferSlice,
    /// Blocks present at the end of the round.
    held: u32,
    /// Distance of the partners of this round, and the remaining runs.
    distance: u32,
    given: BlockRun,
    taken: BlockRun,
}

/// `count` consecutive blocks from rank `start`, with wrap-around.
#[derive(Clone, Copy, Default)]
struct BlockRun {
    start: u32,
    count: u32,
}

impl BlockRun {
    /// Removes and returns the piece before the wrap-around.
    fn piece(&mut self, all: BufferSlice, size: u32) -> Option<StepBuffer> {
        let count = self.count.min(size - self.start);
        if count == 0 {
            return None;
        }
        let each = all.len() / size as usize;
        let piece = all.part(self.start as usize * each, count as usize * each);
        *self = BlockRun {
            start: (self.start + count) % size,
            count: self.count - count,
        };
        Some(StepBuffer::User(piece))
    }
}

impl BruckAllgather {
    /// All blocks have the same length.
    pub(super) fn new(ranks: RankInfo, all: BufferSlice) -> Self {
        BruckAllgather {
            ranks,
            all,
            held: 1,
            distance: 0,
            given: BlockRun::default(),
            taken: BlockRun::default(),
        }
    }

    /// Returns `None` when all blocks are present.
    fn begin_round(&mut self) -> Option<()> {
        let BruckAllgather { ranks, held, .. } = *self;
        let count = held.min(ranks.size - held);
        if count == 0 {
            return None;
        }
        // The last `count` blocks up to the own one, and up to the block `held` ranks back.
        let ends_back = |back: u32| BlockRun {
            start: ranks.before((back + count - 1) % ranks.size).0,
            count,
        };
        (self.given, self.taken) = (ends_back(0), ends_back(held));
        (self.distance, self.held) = (held, held + count);
        Some(())
    }
}

impl Schedule for BruckAllgather {
    fn next(&mut self) -> Option<ScheduleStep> {
        let RankInfo { size, .. } = self.ranks;
        if self.given.count == 0 && self.taken.count == 0 {
            self.begin_round()?;
        }
        let tag = ALLGATHER;
        let (dest, source) = (self.ranks.after(self.distance), self.ranks.before(self.distance));
        let pieces = (self.given.piece(self.all, size), self.taken.piece(self.all, size));
        match pieces {
            (Some(given), Some(taken)) => Some(ScheduleStep::Exchange {
                tag,
                given: (given, dest),
                taken: (taken, source),
            }),
            (Some(data), None) => Some(ScheduleStep::Send { dest, tag, data }),
            (None, Some(data)) => Some(ScheduleStep::Receive { source, tag, data }),
            (None, None) => None,
        }
    }
}
