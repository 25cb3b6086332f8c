//! 4-dimensional queue of papers 000 and 001 (section 4.3).
//!
//! A rank is four digits `c3 c2 c1 c0` in base *d*, the dimensionSpan: the fourth root of the job's size, rounded up to
//! a power of two (section 4.3.2, equation 4.2), and at least 4. Elements of ranks that differ only in `c0` share a
//! jump point, which a search reaches in three jumps:
//!
//! ```text
//!   lead --> cube c3 = 0 --> cube c3 = 2 --> ...      in order of c3: the search stops as soon as c3 is passed
//!             [c2; d]         [c2; d]
//!                                |
//!                                +--> jump point c1 = 4 --> jump point c1 = 7 --> ...     likewise, of c1
//!                                       posted, unexpected: at most d ranks, any tag
//! ```
//! A jump point exists while one of its two queues is not empty, and a cube while it contains jump points. The first
//! entry creates each of them, and removal of the last one frees it. The search before an insertion looks for the same
//! rank in the sister queue, at the same location. It stores a cursor to its end: a jump point, or the position of a
//! missing jump point or cube. The insertion continues from there, and a deletion likewise. See
//! [`ranked`](super::ranked) for the order, receives from any source, linear queues and sequence numbers.
//!
//! # Threshold
//! A small job uses a plain list for each context (section 4.3.4): when it has fewer processes than 3 d + 1, the
//! longest path to a jump point's last entry with one entry per rank, times an adjustment of at least 1.0 (2.0 in the
//! thesis). The thesis specifies 26, 50, 98 and 194 for its four intervals of sizes. As the second interval begins at
//! 257, only the first matters: a list for fewer than 26 processes, independent of the queue length.
//!
//! # Cost
//! With k contexts, t entries of each rank and *a* receives from any source (001 table 4.1, equations 4.10 to 4.13):
//!
//! | search | hops at most |
//! |---|---|
//! | a message | k + d + 1 + d + d t + *a* |
//! | a receive from a rank | k + d + 1 + d + d t |
//! | a receive from any source | k + all cubes with their d entries, all jump points, all entries |
//! | insertion, deletion | none after the search |
//!
//! # Memory
//! | object | bytes here | bytes in 001, table 4.4 |
//! |---|---|---|
//! | lead | 28 | 56 |
//! | cube | 8 + 4 d | 16 + 8 d |
//! | jump point | 24 | 48 |
//!
//! Cubes and jump points are allocated from pools and addressed by 32-bit indexes. A jump point contains at least one
//! entry, and a cube at least one jump point. The pools therefore have one jump point per possible record and receive,
//! and one cube per jump point, up to the maximum of the open contexts. A pool is never empty when an entry requires
//! it: [`new`](midplane_device::matching::MatchingEngine::new) allocates a jump point for each block, [`reserve`](midplane_device::matching::Matching::reserve)
//! one for each receive, and [`open`](midplane_device::matching::Matching::open) the cubes of a context (the job's size over d^3). The
//! pools do not shrink; freed objects are reused by other contexts. Records in borrowed memory exceed the number of
//! blocks. They use the linear queue while the pool is exhausted.
//!
//! The thesis differs: it allocates each object on demand and does not specify the handling of failures. The span and
//! the threshold are the job's, not each communicator's: see [`ranked`](super::ranked).
#![forbid(unsafe_code)]

mod cubes;
#[cfg(test)]
mod tests;

pub use cubes::Cubes;

use super::ranked::RankedEngine;

/// Adjustment of the threshold in percent (001 section 4.3.4: 2.0).
pub const ADJUSTMENT_PERCENT: u32 = 200;

/// 4-dimensional queue engine.
pub type FourD = RankedEngine<Cubes>;

/// Size of the engine's structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StructureSizes {
    /// Ranks along one dimension: d.
    pub span: usize,
    /// Open contexts.
    pub leads: usize,
    /// Cubes in use.
    pub cubes: usize,
    /// Jump points in use.
    pub jump_points: usize,
    /// Size of the objects in use, in bytes.
    pub bytes: usize,
    /// Size of the pools and of the leads, in bytes.
    pub pool_bytes: usize,
}

impl StructureSizes {
    /// Returns the bytes of the same objects in 001 (table 4.4, equation 4.16).
    pub const fn paper_bytes(&self) -> usize {
        self.leads * 56 + self.cubes * (16 + 8 * self.span) + self.jump_points * 48
    }
}

impl FourD {
    /// Creates an engine, like [`MatchingEngine::new`](midplane_device::matching::MatchingEngine::new), with a different adjustment of the
    /// threshold in percent. Below 100, the thesis's minimum, cubes are used even for jobs so small that a list with
    /// one entry per rank is shorter than the path through them.
    pub fn with_adjustment(blocks: usize, peers: usize, percent: u32) -> Option<FourD> {
        Some(RankedEngine::with_queues(
            Cubes::with_adjustment(blocks, peers, percent)?,
            peers,
        ))
    }

    /// Returns the size of the engine's structures.
    pub fn structures(&self) -> StructureSizes {
        let (leads, queues) = (self.contexts(), self.queues());
        let lead_bytes = leads * Self::LEAD_BYTES;
        StructureSizes {
            span: queues.span(),
            leads,
            cubes: queues.cubes_in_use(),
            jump_points: queues.jump_points_in_use(),
            bytes: lead_bytes + queues.bytes_in_use(),
            pool_bytes: lead_bytes + queues.pool_bytes(),
        }
    }
}
