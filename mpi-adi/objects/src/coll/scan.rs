//! Prefix reductions (MPI-3.1 section 5.11).
#![forbid(unsafe_code)]

use crate::coll::run::{CombineFn, ReduceAreas, SegmentSizes, run_in_segments};
use crate::coll::schedule::{RankInfo, SCAN, Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::coll::segments::{SegmentWalk, same_length};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Combines the data of the ranks up to each rank (`inclusive`) or before it, into `result`. It must be as long as
/// `data`, and may be `data`. The exclusive result of rank 0 is unchanged.
pub fn scan(
    comm: Communicator<'_>,
    function: &'static str,
    ReduceAreas { data, result }: ReduceAreas,
    element: usize,
    combine: &mut CombineFn<'_>,
    inclusive: bool,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    let mut schedule = ChainScan::new(
        RankInfo::from_comm(comm),
        ReduceAreas { data, result },
        element,
        inclusive,
    );
    let sizes = SegmentSizes {
        element,
        max_bytes: data.len(),
    };
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Segment received from the ranks before this one.
const BEFORE: SegmentHalf = SegmentHalf::First;
/// Segment of this rank's data, combined with the received one.
const UP_TO: SegmentHalf = SegmentHalf::Second;

/// Passes segments along the chain of the ranks.
pub(super) struct ChainScan {
    ranks: RankInfo,
    data: BufferSlice,
    result: BufferSlice,
    inclusive: bool,
    walk: SegmentWalk,
    stage: ScanStage,
}

/// Next action for the present segment.
#[derive(Clone, Copy)]
enum ScanStage {
    Load,
    Receive,
    Combine,
    Send,
    Store,
}

impl ChainScan {
    pub(super) fn new(
        ranks: RankInfo,
        ReduceAreas { data, result }: ReduceAreas,
        element: usize,
        inclusive: bool,
    ) -> ChainScan {
        ChainScan {
            ranks,
            data,
            result,
            inclusive,
            walk: SegmentWalk::new(data.len(), element),
            stage: ScanStage::Load,
        }
    }
}

impl Schedule for ChainScan {
    fn next(&mut self) -> Option<ScheduleStep> {
        let RankInfo { own, size, .. } = self.ranks;
        let is_first = own == 0;
        loop {
            let bytes = self.walk.bytes();
            match self.stage {
                ScanStage::Load => {
                    let from = self.walk.part(self.data)?;
                    self.stage = if is_first { ScanStage::Send } else { ScanStage::Receive };
                    return Some(ScheduleStep::Load { from, to: UP_TO });
                }
                ScanStage::Receive => {
                    self.stage = ScanStage::Combine;
                    return Some(ScheduleStep::Receive {
                        source: CommRank(own - 1),
                        tag: SCAN,
                        data: StepBuffer::Segment(BEFORE, bytes),
                    });
                }
                ScanStage::Combine => {
                    self.stage = ScanStage::Send;
                    return Some(ScheduleStep::Combine { left: BEFORE, bytes });
                }
                ScanStage::Send => {
                    self.stage = ScanStage::Store;
                    if own + 1 < size {
                        return Some(ScheduleStep::Send {
                            dest: CommRank(own + 1),
                            tag: SCAN,
                            data: StepBuffer::Segment(UP_TO, bytes),
                        });
                    }
                }
                ScanStage::Store => {
                    let to = self.walk.part(self.result)?;
                    self.walk.advance();
                    self.stage = ScanStage::Load;
                    if self.inclusive {
                        return Some(ScheduleStep::Store { from: UP_TO, to });
                    }
                    if !is_first {
                        return Some(ScheduleStep::Store { from: BEFORE, to });
                    }
                }
            }
        }
    }
}
