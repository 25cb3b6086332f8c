//! All-to-all (MPI-3.1 section 5.8).
#![forbid(unsafe_code)]

use crate::coll::run::{SegmentSizes, run_in_segments};
use crate::coll::running::run_side_by_side;
use crate::coll::schedule::{
    ALLTOALL, LaneConfig, MAX_LANES, RankInfo, Schedule, ScheduleStep, SegmentHalf, StepBuffer,
};
use crate::coll::segments::{SEGMENT_BYTES, SegmentWalk};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Exchanges the parts of all ranks: `part` returns the data for a rank, `place` the buffer for the data from it.
pub fn alltoall(
    comm: Communicator<'_>,
    function: &'static str,
    part: &dyn Fn(CommRank) -> BufferSlice,
    place: &dyn Fn(CommRank) -> BufferSlice,
) -> Result<(), Error> {
    let mut schedule = PairwiseExchange::new(RankInfo::placed(comm), part, place);
    run_side_by_side(
        comm,
        function,
        &mut schedule,
        SegmentSizes {
            element: 1,
            max_bytes: 0,
        },
        &mut |_, _| (),
    )
}

/// Exchanges in place: `place` returns the buffer that contains the data for a rank and receives the data from it. It
/// works by segments, so no copy of a part is required.
pub fn alltoall_in_place(
    comm: Communicator<'_>,
    function: &'static str,
    place: &dyn Fn(CommRank) -> BufferSlice,
) -> Result<(), Error> {
    let mut schedule = InPlace::new(RankInfo::from_comm(comm), place);
    let sizes = SegmentSizes {
        element: 1,
        max_bytes: SEGMENT_BYTES,
    };
    run_in_segments(comm, function, &mut schedule, sizes, &mut |_, _| ())
}

/// Maximum number of concurrent messages to other processes.
const PAIRS: usize = 8;
const _: () = assert!(PAIRS <= MAX_LANES);

/// Copies its own part, then in each round sends to the process at some distance and receives from the process at the
/// opposite distance. Several rounds run concurrently, one per lane, in an order that uses many directions. The
/// distance grows by a step near the golden section of the number of processes, and the step is coprime to it. In a box
/// of the torus a distance is one per dimension, so in a round each link of a dimension and direction carries the same
/// load.
pub(super) struct PairwiseExchange<P, Q> {
    ranks: RankInfo,
    part: P,
    place: Q,
    /// Difference between the distances of consecutive rounds.
    step: u32,
    /// Next round of each lane.
    rounds: [u32; PAIRS],
}

fn has_common_divisor(mut a: u32, mut b: u32) -> bool {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a > 1
}

/// Returns the step between distances for `size` processes.
fn step(size: u32) -> u32 {
    let golden = (u64::from(size) * 618 / 1000).max(1) as u32;
    let mut steps = (1..=golden).rev();
    steps.find(|&step| !has_common_divisor(size, step)).unwrap_or(1)
}

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> PairwiseExchange<P, Q> {
    pub(super) fn new(ranks: RankInfo, part: P, place: Q) -> Self {
        PairwiseExchange {
            ranks,
            part,
            place,
            step: step(ranks.size),
            rounds: core::array::from_fn(|lane| lane as u32),
        }
    }

    /// Returns the destination and the source of a round.
    fn partners(&self, round: u32) -> (CommRank, CommRank) {
        let size = self.ranks.size;
        let distance = (u64::from(round) * u64::from(self.step) % u64::from(size)) as u32;
        let Some(grid) = self.ranks.grid else {
            return (self.ranks.after(distance), self.ranks.before(distance));
        };
        let (own, away) = (grid.at(self.ranks.own), grid.at(distance));
        let by = |back: bool| {
            let place = |dim: usize| {
                let extent = grid.extents[dim];
                let away = if back { extent - away[dim] } else { away[dim] };
                (own[dim] + away) % extent
            };
            CommRank(grid.rank(core::array::from_fn(place)))
        };
        (by(false), by(true))
    }
}

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> Schedule for PairwiseExchange<P, Q> {
    fn next(&mut self) -> Option<ScheduleStep> {
        (0..PAIRS).find_map(|lane| self.next_in(lane))
    }

    fn lanes(&mut self) -> LaneConfig {
        LaneConfig {
            count: PAIRS.min(self.ranks.size as usize),
            messages: 2,
            cross: true,
        }
    }

    fn next_in(&mut self, lane: usize) -> Option<ScheduleStep> {
        let round = self.rounds[lane];
        if round >= self.ranks.size {
            return None;
        }
        self.rounds[lane] = round + PAIRS as u32;
        let (dest, source) = self.partners(round);
        let (from, to) = ((self.part)(dest), (self.place)(source));
        Some(if round == 0 {
            ScheduleStep::Copy { from, to }
        } else {
            ScheduleStep::Exchange {
                tag: ALLTOALL,
                given: (StepBuffer::User(from), dest),
                taken: (StepBuffer::User(to), source),
            }
        })
    }
}

/// In each round a process has one partner, possibly itself: the sum of the two ranks is the round's number, modulo the
/// size.
pub(super) struct InPlace<P> {
    ranks: RankInfo,
    place: P,
    /// The round after the present partner.
    round: u32,
    peer: CommRank,
    span: BufferSlice,
    walk: SegmentWalk,
    stage: PairwiseStage,
}

/// Next action for the present segment.
#[derive(Clone, Copy)]
enum PairwiseStage {
    Load,
    Exchange,
    Store,
}

/// Segment of the data to send.
const GIVEN: SegmentHalf = SegmentHalf::First;
/// Segment of the received data.
const TAKEN: SegmentHalf = SegmentHalf::Second;

impl<P: Fn(CommRank) -> BufferSlice> InPlace<P> {
    pub(super) fn new(ranks: RankInfo, place: P) -> Self {
        InPlace {
            ranks,
            place,
            round: 0,
            peer: CommRank(ranks.own),
            span: BufferSlice::EMPTY,
            walk: SegmentWalk::new(0, 1),
            stage: PairwiseStage::Load,
        }
    }

    /// Selects the next partner; `None` if there is none.
    fn turn(&mut self) -> Option<()> {
        let RankInfo { own, size, .. } = self.ranks;
        if self.round >= size {
            return None;
        }
        self.peer = CommRank((self.round + size - own) % size);
        self.round += 1;
        self.span = if self.peer.0 == own {
            BufferSlice::EMPTY
        } else {
            (self.place)(self.peer)
        };
        self.walk = SegmentWalk::new(self.span.len(), 1);
        Some(())
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for InPlace<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        let mut part = self.walk.part(self.span);
        while part.is_none() {
            self.turn()?;
            part = self.walk.part(self.span);
        }
        let part = part?;
        Some(match self.stage {
            PairwiseStage::Load => {
                self.stage = PairwiseStage::Exchange;
                ScheduleStep::Load { from: part, to: GIVEN }
            }
            PairwiseStage::Exchange => {
                self.stage = PairwiseStage::Store;
                ScheduleStep::Exchange {
                    tag: ALLTOALL,
                    given: (StepBuffer::Segment(GIVEN, part.len()), self.peer),
                    taken: (StepBuffer::Segment(TAKEN, part.len()), self.peer),
                }
            }
            PairwiseStage::Store => {
                self.stage = PairwiseStage::Load;
                self.walk.advance();
                ScheduleStep::Store { from: TAKEN, to: part }
            }
        })
    }
}
