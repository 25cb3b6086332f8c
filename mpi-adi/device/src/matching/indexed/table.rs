//! How many buckets there are, and which is whose.
#![forbid(unsafe_code)]

use super::limits::FAR;
use crate::list::{Ends, Links};
use crate::memory::region::{MAX_BLOCKS, MAX_LOAN_BLOCKS, MAX_LOANS, Region};
use crate::names::BlockIndex;
use crate::request::NEIGHBOURS;

/// Blocks of MPI memory for which there are [`BUCKETS`] buckets: 1.5 bytes a block. A message with data takes two
/// blocks or more, so that a bucket has 1.33 of the smallest such messages when all memory is used.
pub const BUCKET_BLOCKS: usize = 8;
/// See [`BUCKET_BLOCKS`].
pub const BUCKETS: usize = 3;
/// Blocks of MPI memory below which there are no buckets: so few are walked.
pub const LEAST_BLOCKS: usize = 32;

/// Buckets for so many blocks: no more than records are entered.
pub(super) const fn buckets(blocks: usize) -> u32 {
    if blocks < LEAST_BLOCKS {
        return 0;
    }
    let all = (blocks / BUCKET_BLOCKS * BUCKETS) as u32;
    if all < FAR { all } else { FAR }
}

/// The bucket of `count` that this hash falls into: whole groups of [`NEIGHBOURS`] as far as there are, so that
/// neighbouring sources stay neighbours.
#[inline]
pub(super) fn bucket(hash: u32, count: u32) -> usize {
    let groups = count / NEIGHBOURS;
    if groups == 0 {
        return ((u64::from(hash) * u64::from(count)) >> 32) as usize;
    }
    let group = (u64::from(hash / NEIGHBOURS) * u64::from(count / NEIGHBOURS * NEIGHBOURS)) >> 32;
    (group as u32 * NEIGHBOURS + hash % NEIGHBOURS) as usize
}

/// The record that comes after the one at `at`, or the first one.
#[inline]
pub(super) fn after(
    region: &Region,
    list: &Ends<BlockIndex>,
    at: Option<BlockIndex>,
) -> Option<BlockIndex> {
    match at {
        Some(at) => Links::next(region, at),
        None => list.head(),
    }
}

/// Bytes of a bucket.
pub const BUCKET_BYTES: usize = size_of::<Bucket>();

/// One block of a chain, from which the others are found, and the classes of hashes that the chain has had since it was
/// empty.
///
/// ```text
///   bit  31 .. 24    23 .. 0
///        classes     number of the block; means nothing when there are no classes
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket(u32);

impl Bucket {
    pub(super) const EMPTY: Bucket = Bucket(0);
    const BLOCK_BITS: u32 = 24;
    const CLASSES: u32 = u32::BITS - Self::BLOCK_BITS;

    /// The class of a hash, which the bucket that it falls into says nothing about.
    #[inline]
    fn class(hash: u32) -> u32 {
        1 << (Self::BLOCK_BITS + hash / NEIGHBOURS % Self::CLASSES)
    }

    /// The block; `None` when the chain is empty.
    #[inline]
    pub(super) fn block(self) -> Option<BlockIndex> {
        let block = self.0 & ((1 << Self::BLOCK_BITS) - 1);
        (self.0 >> Self::BLOCK_BITS != 0).then(|| BlockIndex::new(block))
    }

    /// The same, if the chain may have a record with this hash.
    #[inline]
    pub(super) fn block_of(self, hash: u32) -> Option<BlockIndex> {
        self.block().filter(|_| self.0 & Self::class(hash) != 0)
    }

    /// The block is `block` now, and the chain has this hash.
    #[inline]
    pub(super) fn add(&mut self, block: BlockIndex, hash: u32) {
        self.0 |= Self::class(hash);
        self.set(block);
    }

    /// The block is `block` now, of what the chain has had.
    #[inline]
    pub(super) fn set(&mut self, block: BlockIndex) {
        self.0 = self.0 >> Self::BLOCK_BITS << Self::BLOCK_BITS | block.index();
    }
}

// A block has a number of so many bits.
const _: () = assert!(MAX_BLOCKS + MAX_LOANS * MAX_LOAN_BLOCKS as usize == 1 << Bucket::BLOCK_BITS);
