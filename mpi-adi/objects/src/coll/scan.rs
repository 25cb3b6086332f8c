//! Prefix reductions (MPI-3.1 section 5.11).
#![forbid(unsafe_code)]

use crate::coll::run::{Combine, run_in_segments};
use crate::coll::schedule::{Buffer, Half, Ranks, SCAN, Schedule, Step};
use crate::coll::segments::{Walk, same_length};
use crate::comm::{CommRank, Communicator};
use crate::error::Error;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Combines the data of the ranks up to each rank (`inclusive`) or before it, into `result`. It must be as long as
/// `data`, and may be `data`. The exclusive result of rank 0 is unchanged.
pub fn scan(
    comm: Communicator<'_>,
    function: &'static str,
    (data, result): (BufferSlice, BufferSlice),
    element: usize,
    combine: &mut Combine<'_>,
    inclusive: bool,
) -> Result<(), Error> {
    same_length(data.len(), result.len())?;
    let mut schedule = Scan::new(Ranks::of(comm), (data, result), element, inclusive);
    let sizes = (element, data.len());
    run_in_segments(comm, function, &mut schedule, sizes, combine)
}

/// Segment received from the ranks before this one.
const BEFORE: Half = Half::First;
/// Segment of this rank's data, combined with the received one.
const UP_TO: Half = Half::Second;

/// Passes segments along the chain of the ranks.
pub(super) struct Scan {
    ranks: Ranks,
    data: BufferSlice,
    result: BufferSlice,
    inclusive: bool,
    walk: Walk,
    stage: Stage,
}

/// Next action for the present segment.
#[derive(Clone, Copy)]
enum Stage {
    Load,
    Receive,
    Combine,
    Send,
    Store,
}

impl Scan {
    pub(super) fn new(
        ranks: Ranks,
        (data, result): (BufferSlice, BufferSlice),
        element: usize,
        inclusive: bool,
    ) -> Scan {
        Scan {
            ranks,
            data,
            result,
            inclusive,
            walk: Walk::new(data.len(), element),
            stage: Stage::Load,
        }
    }
}

impl Schedule for Scan {
    fn next(&mut self) -> Option<Step> {
        let Ranks { own, size, .. } = self.ranks;
        let is_first = own == 0;
        loop {
            let bytes = self.walk.bytes();
            match self.stage {
                Stage::Load => {
                    let from = self.walk.part(self.data)?;
                    self.stage = if is_first {
                        Stage::Send
                    } else {
                        Stage::Receive
                    };
                    return Some(Step::Load { from, to: UP_TO });
                }
                Stage::Receive => {
                    self.stage = Stage::Combine;
                    return Some(Step::Receive {
                        source: CommRank(own - 1),
                        tag: SCAN,
                        data: Buffer::Segment(BEFORE, bytes),
                    });
                }
                Stage::Combine => {
                    self.stage = Stage::Send;
                    return Some(Step::Combine {
                        left: BEFORE,
                        bytes,
                    });
                }
                Stage::Send => {
                    self.stage = Stage::Store;
                    if own + 1 < size {
                        return Some(Step::Send {
                            dest: CommRank(own + 1),
                            tag: SCAN,
                            data: Buffer::Segment(UP_TO, bytes),
                        });
                    }
                }
                Stage::Store => {
                    let to = self.walk.part(self.result)?;
                    self.walk.advance();
                    self.stage = Stage::Load;
                    if self.inclusive {
                        return Some(Step::Store { from: UP_TO, to });
                    }
                    if !is_first {
                        return Some(Step::Store { from: BEFORE, to });
                    }
                }
            }
        }
    }
}
