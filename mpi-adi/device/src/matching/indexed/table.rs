//! Number of hash buckets, and the mapping of hashes to them.
#![forbid(unsafe_code)]

use super::limits::FAR;
use crate::ids::BlockIndex;
use crate::list::{LinkStorage, ListEnds};
use crate::memory::region::{MAX_BLOCKS, MAX_LOAN_BLOCKS, MAX_LOANS, Region};
use crate::request::NEIGHBOURS;

/// Blocks of MPI memory per [`BUCKETS`] buckets: 1.5 bytes per block. A message with data uses at least two blocks, so
/// a bucket contains at most 1.33 of the smallest such messages on average when all memory is in use.
pub const BUCKET_BLOCKS: usize = 8;
/// See [`BUCKET_BLOCKS`].
pub const BUCKETS: usize = 3;
/// Minimum blocks of MPI memory for buckets. Fewer are searched linearly.
pub const MIN_BLOCKS: usize = 32;

/// Returns the number of buckets for `blocks` blocks: at most the number of chained records.
pub(super) const fn buckets(blocks: usize) -> u32 {
    if blocks < MIN_BLOCKS {
        return 0;
    }
    let all = (blocks / BUCKET_BLOCKS * BUCKETS) as u32;
    if all < FAR { all } else { FAR }
}

/// Maps a hash to one of `count` buckets: as far as possible, complete groups of [`NEIGHBOURS`], so that adjacent
/// sources map to adjacent buckets.
#[inline]
pub(super) fn bucket(hash: u32, count: u32) -> usize {
    let groups = count / NEIGHBOURS;
    if groups == 0 {
        return ((u64::from(hash) * u64::from(count)) >> 32) as usize;
    }
    let group = (u64::from(hash / NEIGHBOURS) * u64::from(count / NEIGHBOURS * NEIGHBOURS)) >> 32;
    (group as u32 * NEIGHBOURS + hash % NEIGHBOURS) as usize
}

/// Returns the record after the one at `at`, or the first one.
#[inline]
pub(super) fn after(region: &Region, list: &ListEnds<BlockIndex>, at: Option<BlockIndex>) -> Option<BlockIndex> {
    match at {
        Some(at) => LinkStorage::next(region, at),
        None => list.head(),
    }
}

/// Bytes per bucket.
pub const BUCKET_BYTES: usize = size_of::<Bucket>();

/// Entry block of a chain, and the classes of hashes that the chain has contained since it was empty.
///
/// ```text
///   bit  31 .. 24    23 .. 0
///        classes     block index; undefined when there are no classes
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket(u32);

impl Bucket {
    pub(super) const EMPTY: Bucket = Bucket(0);
    const BLOCK_BITS: u32 = 24;
    const CLASSES: u32 = u32::BITS - Self::BLOCK_BITS;

    /// Returns the class of a hash, which is independent of its bucket.
    #[inline]
    fn class(hash: u32) -> u32 {
        1 << (Self::BLOCK_BITS + hash / NEIGHBOURS % Self::CLASSES)
    }

    /// Returns the entry block, or `None` if the chain is empty.
    #[inline]
    pub(super) fn block(self) -> Option<BlockIndex> {
        let block = self.0 & ((1 << Self::BLOCK_BITS) - 1);
        (self.0 >> Self::BLOCK_BITS != 0).then(|| BlockIndex::new(block))
    }

    /// Returns the entry block if the chain may contain a record with this hash.
    #[inline]
    pub(super) fn block_of(self, hash: u32) -> Option<BlockIndex> {
        self.block().filter(|_| self.0 & Self::class(hash) != 0)
    }

    /// Sets the entry block and adds the class of `hash`.
    #[inline]
    pub(super) fn add(&mut self, block: BlockIndex, hash: u32) {
        self.0 |= Self::class(hash);
        self.set(block);
    }

    /// Sets the entry block without a change of the classes.
    #[inline]
    pub(super) fn set(&mut self, block: BlockIndex) {
        self.0 = self.0 >> Self::BLOCK_BITS << Self::BLOCK_BITS | block.index();
    }
}

// Block indexes have this number of bits.
const _: () = assert!(MAX_BLOCKS + MAX_LOANS * MAX_LOAN_BLOCKS as usize == 1 << Bucket::BLOCK_BITS);
