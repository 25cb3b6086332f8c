//! Operations of several packets.

use super::{BUFFERS, JobDraw, LARGE, MAX_LEN, SOURCE, SUMS, byte};
use crate::epochs::memory::{DYNAMIC, LARGE_RESULTS, LARGE_SOURCE, WINDOW};
use crate::epochs::script::ScriptCall;

/// Lengths near the limits of replies, packets, and results longer than a reply.
const LENGTHS: [usize; 14] = [13, 16, 17, 32, 48, 64, 223, 224, 225, 240, 448, 449, 700, 1100];
const LONGEST: usize = 1100;
const UNITS: [usize; 7] = [1, 1, 1, 4, 8, 16, 32];
/// Maximum length with gaps in bytes.
const MAX_STRIDED: usize = 100;
/// Bytes of the large window that all processes add to.
const COMMON: std::ops::Range<usize> = 16..336;
/// Maximum length of a sum there in bytes.
const MAX_SUM: usize = 300;

/// More gets than a target has cursors.
const BURST: u32 = 40;

#[derive(Clone, Copy)]
pub(super) struct LargeSize {
    pub len: usize,
    pub unit: usize,
    pub is_strided: bool,
}

/// Checks whether the window's operations consist of several packets.
fn is_large(window: usize) -> bool {
    matches!(window, LARGE | DYNAMIC)
}

/// Returns the start of a process's source bytes for operations in the window.
pub(super) fn source(window: usize) -> usize {
    if is_large(window) { LARGE_SOURCE.start } else { BUFFERS }
}

/// Returns the bytes of the window that all processes add to, and the maximum length of a sum.
pub(super) fn sums(window: usize) -> (std::ops::Range<usize>, usize) {
    if is_large(window) { (COMMON, MAX_SUM) } else { (SUMS, 4) }
}

impl JobDraw {
    /// Writes the source bytes, and reserves the memory for single epochs after that for all.
    pub(super) fn begin_large(&mut self) {
        for rank in 0..self.size {
            let own = (0..LARGE_SOURCE.len()).map(|at| byte(rank, at)).collect();
            self.scripts[rank as usize].push(ScriptCall::Write(LARGE_SOURCE.start, own));
            self.memory[LARGE][rank as usize].1 = COMMON.end;
        }
    }

    pub(super) fn draw_size(&mut self, window: usize) -> LargeSize {
        let r = &mut self.random;
        if !is_large(window) {
            let (len, is_strided) = (1 + r.index(MAX_LEN), r.chance(0.3));
            return LargeSize {
                len,
                unit: 1,
                is_strided,
            };
        }
        let is_strided = r.chance(0.2);
        let unit = if is_strided { 1 } else { r.pick(&UNITS) };
        let len = if is_strided {
            1 + r.index(MAX_STRIDED)
        } else {
            r.pick(&LENGTHS).next_multiple_of(unit).min(LONGEST / unit * unit)
        };
        LargeSize { len, unit, is_strided }
    }

    pub(super) fn draw_ordered_size(&mut self, window: usize) -> LargeSize {
        if is_large(window) {
            return self.draw_size(window);
        }
        LargeSize {
            len: 1 + self.random.index(3),
            unit: 1,
            is_strided: self.random.chance(0.3),
        }
    }

    /// Draws the start of the source bytes of a put in the window.
    pub(super) fn draw_from(&mut self, window: usize) -> usize {
        self.random.index(if is_large(window) {
            LARGE_SOURCE.len() - LONGEST
        } else {
            SOURCE - 2 * MAX_LEN
        })
    }

    /// Draws the number of gets of the same data: sometimes more than a target can reply to at a time.
    pub(super) fn draw_times(&mut self, window: usize) -> u32 {
        if is_large(window) && self.random.chance(0.15) {
            BURST
        } else {
            1
        }
    }

    /// Allocates `len` bytes for a result of a process's operation in the window.
    pub(super) fn result(&mut self, rank: u32, window: usize, len: usize) -> Option<usize> {
        let (free, end, base) = if is_large(window) {
            (&mut self.large.0[rank as usize], LARGE_RESULTS.end, 0)
        } else {
            (&mut self.results[rank as usize], WINDOW, BUFFERS)
        };
        let at = *free;
        (at + len <= end).then(|| {
            *free += len;
            base + at
        })
    }
}
