//! Array engine: a pair of queues per context and rank, as in paper 001 (section 4.4, figure 4.4) and Open MPI.
//!
//! A context has a table of [`QueueHeads`], one for each rank of the job. [`open`](midplane_device::matching::Matching::open) allocates it, and
//! the check that finds the context idle frees it. See [`ranked`](super::ranked) for the order, receives from any
//! source, linear queues and sequence numbers.
//!
//! | search | hops (001 table 4.1) |
//! |---|---|
//! | a message | the leads up to the context's, the index in its table, the rank's entries, receives from any source |
//! | a receive from a rank | the leads up to the context's, the index in its table, the rank's entries |
//! | a receive from any source | the leads, all indexes of the table, the entries of all ranks |
//! | insertion, deletion | none after the search |
//!
//! | object | bytes here | bytes in 001, table 4.4 |
//! |---|---|---|
//! | lead | 40 (28 with 32-bit addresses) | 56 |
//! | rank head | 16 | 32 |
//!
//! A context allocates a lead and one rank head per process from the heap, even if its queues are empty. The thesis
//! frees the table whenever the context's queues are empty and allocates it again for the next entry. That is expensive
//! (Nbody) and may fail, so the table is kept here.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use super::ranked::{ByRank, QueueHeads, RankedEngine};
use midplane_device::envelope::{Context, Rank};
use midplane_device::matching::OutOfSpace;
use midplane_device::try_box::try_boxed_slice;

/// Array engine: a pair of queues per context and rank.
pub type PerRank = RankedEngine<RankTables>;

/// Tables indexed by rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankTables {
    peers: usize,
}

/// Size of the engine's structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StructureSizes {
    /// Open contexts.
    pub leads: usize,
    /// Entries of all tables.
    pub rank_heads: usize,
    /// Size in bytes.
    pub bytes: usize,
}

impl StructureSizes {
    /// Returns the bytes of the same objects in 001 (table 4.4, equation 4.15).
    pub const fn paper_bytes(&self) -> usize {
        self.leads * 56 + self.rank_heads * 32
    }
}

impl PerRank {
    /// Returns the size of the engine's structures.
    pub fn structures(&self) -> StructureSizes {
        let leads = self.contexts();
        let rank_heads = leads * self.queues().peers;
        StructureSizes {
            leads,
            rank_heads,
            bytes: leads * Self::LEAD_BYTES + rank_heads * size_of::<QueueHeads>(),
        }
    }
}

/// Consecutive table entries that are skipped together if their queues are empty, as most entries of a large table.
const TOGETHER: usize = 16;

impl ByRank for RankTables {
    const NAME: &'static str = "array";
    type Root = Box<[QueueHeads]>;
    type Place = ();

    fn fixed_bytes(_: usize, _: usize) -> usize {
        0
    }

    fn root_bytes(peers: usize) -> usize {
        peers * size_of::<QueueHeads>()
    }

    fn receive_bytes(_: usize) -> usize {
        0
    }

    fn new(_: usize, peers: usize) -> Option<Self> {
        Some(RankTables { peers })
    }

    #[inline]
    fn reserve(&mut self, _: usize) -> Result<(), OutOfSpace> {
        Ok(())
    }

    #[inline]
    fn has_reserved(&self, _: usize) -> bool {
        true
    }

    #[inline]
    fn max_records(&self) -> u32 {
        u32::MAX
    }

    fn open(&mut self) -> Result<Option<Self::Root>, OutOfSpace> {
        try_boxed_slice(QueueHeads::default(), self.peers)
            .map(Some)
            .ok_or(OutOfSpace)
    }

    fn close(&mut self, root: Self::Root) {
        drop(root);
    }

    fn is_empty(&self, root: &Self::Root) -> bool {
        root.iter().all(QueueHeads::are_empty)
    }

    #[inline]
    fn find<'a>(&'a mut self, _: Context, root: &'a Self::Root, rank: Rank) -> (Option<&'a QueueHeads>, u32) {
        (Some(&root[rank.index() as usize]), 1)
    }

    #[inline]
    fn heads<'a>(&'a mut self, _: Context, root: &'a mut Self::Root, rank: Rank) -> (&'a mut QueueHeads, u32) {
        (&mut root[rank.index() as usize], 0)
    }

    #[inline]
    fn tidy(&mut self, _: &mut Self::Root) {}

    fn each(&self, _: Context, root: &Self::Root, mut f: impl FnMut(&QueueHeads, ())) -> u32 {
        for heads in root.chunks(TOGETHER) {
            // Branch-free, so that the compiler vectorizes the check.
            if !heads.iter().fold(true, |are, heads| are & heads.are_empty()) {
                heads.iter().for_each(|heads| f(heads, ()));
            }
        }
        root.len() as u32
    }

    #[inline]
    fn found_at(&mut self, (): ()) {}
}
