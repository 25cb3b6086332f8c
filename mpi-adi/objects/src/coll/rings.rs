//! Long allreduces in a box of the torus: ring algorithm on its lines, in all directions concurrently.
//!
//! Each of the 2 D directions of a box of D dimensions has a lane and a part of the elements. In its lane a part is
//! first reduced and scattered on the rings of the direction. It is divided among the processes of a line, each share
//! moves once around the ring, and each process combines the received share with its own. Each process's result is then
//! reduced and scattered in the next dimension, and the next, and finally gathered along the reverse path (Patarasuk
//! and Yuan: a bandwidth-optimal allreduce; over a torus as in Sack and Gropp: collective algorithms for multiported
//! torus networks). While one lane uses the links in X, the others use those in Y and Z. So all links carry the same,
//! minimal load.
//!
//! The received data is the left operand. The order of the processes of a share depends only on the box. It is not rank
//! order, so operations must commute. Memory use is two segments a lane: shares are sent in segments of a few packets,
//! and remain in the program's buffer.
#![forbid(unsafe_code)]

use crate::coll::run::ReduceAreas;
use crate::coll::schedule::{LANES, LaneConfig, RankInfo, Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::coll::segments::{RING_BYTES, round_to_elements};
use crate::comm::CommRank;
use crate::grid::{BoxCoords, TorusBox};
use midplane_device::memory::buffer_slice::BufferSlice;

/// Maximum number of lanes.
const MAX_RING_LANES: usize = 6;

/// Consecutive elements.
#[derive(Clone, Copy, Default)]
struct ElementRun {
    from: usize,
    len: usize,
}

impl ElementRun {
    /// Returns share `at` of `of` shares.
    fn share(self, at: u16, of: u16) -> ElementRun {
        let bound = |at: u16| self.len * usize::from(at) / usize::from(of);
        ElementRun {
            from: self.from + bound(at),
            len: bound(at + 1) - bound(at),
        }
    }
}

/// Next action for the received segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RingStage {
    Messages,
    Load,
    Combine,
    Store,
}

#[derive(Clone, Copy)]
struct RingLane {
    first: usize,
    is_plus: bool,
    /// Elements reduced and scattered in each dimension in turn, and the final share.
    runs: [ElementRun; 4],
    /// Completed lines: those of the reduction, then those of the gathering.
    lines: usize,
    /// Hops completed on the present line, and bytes of its shares already sent.
    hop: u16,
    at: usize,
    stage: RingStage,
}

pub(super) struct RingAllreduce {
    grid: TorusBox,
    own: BoxCoords,
    data: BufferSlice,
    result: BufferSlice,
    element: usize,
    count: usize,
    lanes: [RingLane; MAX_RING_LANES],
}

/// Messages of a hop, and the location of the received segment.
struct HopMessages {
    given: BufferSlice,
    dest: CommRank,
    taken: BufferSlice,
    source: CommRank,
    /// Operand to combine with it; `None`: the data is received directly in its final location.
    own: Option<BufferSlice>,
    /// Maximum bytes of a message.
    most: usize,
}

impl RingAllreduce {
    pub(super) fn new(
        ranks: RankInfo,
        grid: TorusBox,
        ReduceAreas { data, result }: ReduceAreas,
        element: usize,
    ) -> RingAllreduce {
        let own = grid.at(ranks.own);
        let count = 2 * grid.dimensions().count();
        let all = ElementRun {
            from: 0,
            len: data.len() / element.max(1),
        };
        let mut directions = grid.dimensions().flat_map(|dim| [(dim, true), (dim, false)]);
        let lanes = core::array::from_fn(|at| {
            let (first, is_plus) = directions.next().unwrap_or((0, true));
            let mut runs = [ElementRun::default(); 4];
            if at < count {
                runs[0] = all.share(at as u16, count as u16);
            }
            let mut lane = RingLane {
                first,
                is_plus,
                runs,
                lines: 0,
                hop: 0,
                at: 0,
                stage: RingStage::Messages,
            };
            for turn in 0..3 {
                // The share that is finally reduced here is that of the next process on the line.
                let (extent, place) = lane.line(&grid, own, turn);
                lane.runs[turn + 1] = lane.runs[turn].share((place + 1) % extent, extent);
            }
            lane
        });
        RingAllreduce {
            grid,
            own,
            data,
            result,
            element,
            count,
            lanes,
        }
    }

    fn bytes(&self, of: BufferSlice, run: ElementRun) -> BufferSlice {
        match run.len {
            0 => BufferSlice::EMPTY,
            len => of.part(run.from * self.element, len * self.element),
        }
    }
}

impl RingLane {
    /// Returns the dimension of the lines in this turn.
    fn dim(&self, turn: usize) -> usize {
        (self.first + turn) % 3
    }

    /// Returns the length of this process's line in a turn, and its index in the lane's direction.
    fn line(&self, grid: &TorusBox, own: BoxCoords, turn: usize) -> (u16, u16) {
        let dim = self.dim(turn);
        let (extent, at) = (grid.extents[dim], own[dim]);
        (extent, if self.is_plus { at } else { extent - 1 - at })
    }
}

/// Returns the message size in bytes for shares of at most `longest` elements: the minimum number of messages, all
/// equally long except the last. All processes on a line compute the same, because they have the same run.
fn message(longest: usize, element: usize) -> usize {
    let fitting = round_to_elements(RING_BYTES, element) / element.max(1);
    let messages = longest.div_ceil(fitting.max(1)).max(1);
    longest.div_ceil(messages) * element
}

/// Returns at most `most` bytes of an area from `at` on.
fn piece(area: BufferSlice, at: usize, most: usize) -> BufferSlice {
    match area.len().saturating_sub(at) {
        0 => BufferSlice::EMPTY,
        left => area.part(at, left.min(most)),
    }
}

impl RingAllreduce {
    /// Returns the next messages of a lane; `None` at its end.
    fn hop(&mut self, number: usize) -> Option<HopMessages> {
        loop {
            let lane = self.lanes[number];
            let is_reduction = lane.lines < 3;
            let turn = match lane.lines {
                turn @ 0..3 => turn,
                lines @ 3..6 => 5 - lines,
                _ => return None,
            };
            let (extent, place) = lane.line(&self.grid, self.own, turn);
            if lane.hop + 1 >= extent {
                let lane = &mut self.lanes[number];
                (lane.lines, lane.hop, lane.at) = (lane.lines + 1, 0, 0);
                continue;
            }
            // Received data moves on: each share advances by one position a hop.
            let share = |behind: u16| lane.runs[turn].share((place + 2 * extent - behind) % extent, extent);
            let ahead = u16::from(!is_reduction);
            let (given, taken) = match ahead {
                0 => (share(lane.hop), share(lane.hop + 1)),
                _ => (share(lane.hop + extent - 1), share(lane.hop)),
            };
            let longest = lane.runs[turn].len.div_ceil(usize::from(extent));
            let most = message(longest, self.element);
            let from = if is_reduction && lane.hop == 0 && self.is_first(turn, lane) {
                self.data
            } else {
                self.result
            };
            let given = piece(self.bytes(from, given), lane.at, most);
            let own = match is_reduction {
                true if self.is_first(turn, lane) => Some(self.data),
                true => Some(self.result),
                false => None,
            };
            let own = own.map(|own| piece(self.bytes(own, taken), lane.at, most));
            let taken = piece(self.bytes(self.result, taken), lane.at, most);
            if given.is_empty() && taken.is_empty() {
                let lane = &mut self.lanes[number];
                (lane.hop, lane.at) = (lane.hop + 1, 0);
                continue;
            }
            let dim = lane.dim(turn);
            let on = |is_on: bool| {
                let at = if is_on == lane.is_plus {
                    (self.own[dim] + 1) % extent
                } else {
                    (self.own[dim] + extent - 1) % extent
                };
                CommRank(self.grid.on_line(self.own, dim, at))
            };
            let (dest, source) = (on(true), on(false));
            return Some(HopMessages {
                given,
                dest,
                taken,
                source,
                own,
                most,
            });
        }
    }

    /// Checks whether no earlier line had more than one process: the operand is still in `data`.
    fn is_first(&self, turn: usize, lane: RingLane) -> bool {
        (0..turn).all(|before| self.grid.extents[lane.dim(before)] == 1)
    }

    fn advance(&mut self, number: usize, most: usize) {
        let lane = &mut self.lanes[number];
        (lane.at, lane.stage) = (lane.at + most, RingStage::Messages);
    }
}

/// Segment for received data.
const COME: SegmentHalf = SegmentHalf::First;
/// Segment for the own operand.
const OWN: SegmentHalf = SegmentHalf::Second;

impl Schedule for RingAllreduce {
    fn next(&mut self) -> Option<ScheduleStep> {
        (0..self.count).find_map(|lane| self.next_in(lane))
    }

    fn lanes(&mut self) -> LaneConfig {
        LaneConfig {
            count: self.count,
            messages: 2,
            cross: false,
        }
    }

    fn next_in(&mut self, number: usize) -> Option<ScheduleStep> {
        let HopMessages {
            given,
            dest,
            taken,
            source,
            own,
            most,
        } = self.hop(number)?;
        let bytes = taken.len();
        let stage = self.lanes[number].stage;
        match (stage, own) {
            (RingStage::Messages, _) => {
                let tag = LANES + number as i32;
                match own {
                    Some(_) if bytes > 0 => self.lanes[number].stage = RingStage::Load,
                    _ => self.advance(number, most),
                }
                let data = match own {
                    Some(_) => StepBuffer::Segment(COME, bytes),
                    None => StepBuffer::User(taken),
                };
                Some(match (given.is_empty(), taken.is_empty()) {
                    (true, _) => ScheduleStep::Receive { source, tag, data },
                    (_, true) => ScheduleStep::Send {
                        dest,
                        tag,
                        data: StepBuffer::User(given),
                    },
                    _ => ScheduleStep::Exchange {
                        tag,
                        given: (StepBuffer::User(given), dest),
                        taken: (data, source),
                    },
                })
            }
            (RingStage::Load, Some(from)) => {
                self.lanes[number].stage = RingStage::Combine;
                Some(ScheduleStep::Load { from, to: OWN })
            }
            (RingStage::Combine, _) => {
                self.lanes[number].stage = RingStage::Store;
                Some(ScheduleStep::Combine { left: COME, bytes })
            }
            _ => {
                self.advance(number, most);
                Some(ScheduleStep::Store { from: OWN, to: taken })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_share_are_as_few_as_can_be_and_about_as_long_as_each_other() {
        for element in [1, 3, 8, 16, 696, 1000] {
            for longest in 1..1000 {
                let bytes = longest * element;
                let most = message(longest, element);
                let count = bytes.div_ceil(most);
                assert!(most <= RING_BYTES.max(element) && most.is_multiple_of(element));
                assert_eq!(count, bytes.div_ceil(round_to_elements(RING_BYTES, element)));
                // With messages one element shorter, the share would need more messages.
                assert!((most - element) * count < bytes);
            }
        }
    }
}
