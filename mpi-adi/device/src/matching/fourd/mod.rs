//! The 4-dimensional queue of papers 000 and 001 (section 4.3).
//!
//! A rank is four digits `c3 c2 c1 c0` in base *d*, the dimensionSpan: the fourth root of the job's size, rounded up
//! to a power of two (section 4.3.2, equation 4.2), and at least 4. What is queued for ranks that differ in
//! `c0` only shares a jump point, found by three jumps:
//!
//! ```text
//!   lead --> cube c3 = 0 --> cube c3 = 2 --> ...      in order of c3: the search stops as soon as c3 is passed
//!             [c2; d]         [c2; d]
//!                                |
//!                                +--> jump point c1 = 4 --> jump point c1 = 7 --> ...     likewise, of c1
//!                                       posted, unexpected: at most d ranks, any tag
//! ```
//! A jump point is there as long as one of its two queues holds something, a cube as long as it has jump points:
//! either is made by the first entry and given back with the last. The search that an insertion follows has
//! looked for the same rank in the sister queue, which is in the same place: it leaves a cursor where it
//! ended, at a jump point, or where one or a cube is missing, and the insertion goes on there. A
//! deletion likewise. Orders, receives from any source, linear queues and numbers: [`ranked`](super::ranked).
//!
//! # Threshold
//! A small job has a plain list for each context (section 4.3.4): when it has fewer processes than 3 d + 1, the
//! longest way to a jump point's last entry with one entry a rank, times an adjustment, at least 1.0, for which the
//! thesis takes 2.0. The thesis gives 26, 50, 98 and 194 for its four intervals of sizes. As the second interval
//! begins at 257 already, these come down to one: a list for fewer than 26 processes, and the length of the queue has
//! no say in it.
//!
//! # Cost
//! With k contexts, t entries of each rank and *a* receives from any source (001 table 4.1, equations 4.10 to 4.13):
//!
//! | search | hops at most |
//! |---|---|
//! | a message | k + d + 1 + d + d t + *a* |
//! | a receive from a rank | k + d + 1 + d + d t |
//! | a receive from any source | k + all cubes with their d places, all jump points, all entries |
//! | insertion, deletion | none after the search |
//!
//! # Memory
//! | object | bytes here | bytes in 001, table 4.4 |
//! |---|---|---|
//! | lead | 28 | 56 |
//! | cube | 8 + 4 d | 16 + 8 d |
//! | jump point | 24 | 48 |
//!
//! Cubes and jump points are places in pools, named by 32 bits. A jump point holds an entry or more, and a cube a jump
//! point or more. So there are as many jump points as there can be records and receives, as many cubes as jump
//! points, but no more than the open contexts can have, and a pool is never empty when an entry needs it:
//! [`new`](super::MatchingEngine::new) takes a jump point for each block, [`reserve`](super::Matching::reserve) one for each
//! receive, and [`open`](super::Matching::open) the cubes of a context, the job's size over d^3 of them. The pools do
//! not shrink: what a context gives back is for the next one. Records beyond the blocks, which lie in borrowed memory,
//! go to the linear queue while all places are taken.
//!
//! Here it differs from the thesis, which allocates each object when it is needed and says nothing of what happens when
//! it cannot. The span and the threshold are the job's, not each communicator's: see [`ranked`](super::ranked).
#![forbid(unsafe_code)]

mod cubes;
#[cfg(test)]
mod tests;

pub use cubes::Cubes;

use super::ranked::Ranked;

/// The adjustment of the threshold in percent (001 section 4.3.4: 2.0).
pub const ADJUSTMENT_PERCENT: u32 = 200;

/// The 4-dimensional queue.
pub type FourD = Ranked<Cubes>;

/// What the engine keeps for its contexts and for what is queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Structures {
    /// Ranks along one dimension: d.
    pub span: usize,
    /// Open contexts.
    pub leads: usize,
    /// Cubes in use.
    pub cubes: usize,
    /// Jump points in use.
    pub jump_points: usize,
    /// Bytes that these take.
    pub bytes: usize,
    /// Bytes of the pools that they are in, and of the leads.
    pub pool_bytes: usize,
}

impl Structures {
    /// Bytes that as many objects take in 001 (table 4.4, equation 4.16).
    pub const fn paper_bytes(&self) -> usize {
        self.leads * 56 + self.cubes * (16 + 8 * self.span) + self.jump_points * 48
    }
}

impl FourD {
    /// As [`MatchingEngine::new`](super::MatchingEngine::new), with another adjustment of the threshold in percent. Below 100,
    /// which is the thesis's least, there are cubes for jobs so small that a list with one entry a rank is shorter
    /// than the way through them.
    pub fn with_adjustment(blocks: usize, peers: usize, percent: u32) -> Option<FourD> {
        Some(Ranked::with_queues(
            Cubes::with_adjustment(blocks, peers, percent)?,
            peers,
        ))
    }

    /// What the engine keeps for its contexts and for what is queued.
    pub fn structures(&self) -> Structures {
        let (leads, queues) = (self.contexts(), self.queues());
        let lead_bytes = leads * Self::LEAD_BYTES;
        Structures {
            span: queues.span(),
            leads,
            cubes: queues.cubes_in_use(),
            jump_points: queues.jump_points_in_use(),
            bytes: lead_bytes + queues.bytes_in_use(),
            pool_bytes: lead_bytes + queues.pool_bytes(),
        }
    }
}
