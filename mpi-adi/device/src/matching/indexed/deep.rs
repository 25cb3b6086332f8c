//! Hash index of the oldest unexpected messages, for all kinds of patterns.
//!
//! Each record has an extra block of the MPI memory, its *node* ([`Region::extend`]), with links for four chains: of
//! its envelope, of its tag (any source), of its source (any tag), and of its context (both).
//!
//! ```text
//!   word of a node        0          1          2          3       ...      7
//!   bits 0 .. 23      next, kind 0    prev    next, kind 1    prev      prev, kind 3
//!   bits 24 .. 31      the record's index, 0 .. 7, 8 .. 15, 16 .. 23
//! ```
//! Equal keys are adjacent in their chain, in age order: a *group*, headed by its oldest member. The first member's
//! `prev` is the last member of its group, so a search passes a group of any length in one step. The last node of a
//! chain is its own `next`.
//!
//! The buckets are allocated with the queue, for the maximum number of records with nodes in the MPI memory. An
//! insertion thus allocates no heap memory and moves no other entry. Only loans add buckets, by linear hashing (W.
//! Litwin, VLDB 1980), which splits one bucket per insertion.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::limits::FEW_BLOCKS;
use super::table::Bucket;
use crate::envelope::MatchPattern;
use crate::ids::BlockIndex;
use crate::list::LinkStorage;
use crate::memory::region::{Block, Region};
use crate::memory::try_boxed_with;
use crate::request::{BucketRange, KINDS, KeyHash, pattern_of};
use crate::work::count_steps;

/// First nodes of two chains: of kinds 0 and 1, or of kinds 2 and 3.
type ChainHeads = [Bucket; 2];

/// Buckets per chunk.
const CHUNK: usize = 16;
type BucketChunk = [ChainHeads; CHUNK];
/// MPI memory blocks per bucket, of kinds 0 and 1, and of kinds 2 and 3: there are fewer sources than tags.
const BUCKET_BLOCKS: [usize; 2] = [4, 32];
/// Records per bucket of kinds 0 and 1 above which buckets are added, as loans require.
const CROWDED: usize = 4;

/// Returns the chunks of buckets for `blocks` blocks of MPI memory.
const fn chunks(blocks: usize, table: usize) -> usize {
    blocks.div_ceil(BUCKET_BLOCKS[table] * CHUNK)
}

/// Returns the bytes of the buckets for `blocks` blocks, and of the lists of their chunks.
pub(super) const fn bytes(blocks: usize) -> usize {
    let of_chunk = size_of::<BucketChunk>() + size_of::<Box<BucketChunk>>();
    (chunks(blocks, 0) + chunks(blocks, 1)) * of_chunk
}

/// Buckets for two kinds.
#[derive(Clone, Debug)]
struct BucketTable {
    #[expect(
        clippy::vec_box,
        reason = "where the list grows, chunks stay, so that no entry copies more than their addresses"
    )]
    heads: Vec<Box<BucketChunk>>,
    used: BucketRange,
}

impl BucketTable {
    /// Creates a table without buckets.
    fn new() -> BucketTable {
        BucketTable {
            heads: Vec::new(),
            used: BucketRange::new(CHUNK as u32),
        }
    }

    /// Allocates `chunks` chunks, or fewer if the heap is full. Returns false if it allocated none.
    fn make(&mut self, chunks: usize) -> bool {
        // Exact, not doubled. If the heap cannot hold the list of all chunks, it grows with each chunk.
        _ = self.heads.try_reserve_exact(chunks);
        while self.heads.len() < chunks && self.add_chunk() {}
        self.use_all();
        !self.heads.is_empty()
    }

    fn add_chunk(&mut self) -> bool {
        count_steps(CHUNK);
        let has_room = self.heads.try_reserve(1).is_ok();
        match try_boxed_with(|| [[Bucket::EMPTY; 2]; CHUNK]) {
            Some(heads) if has_room => {
                self.heads.push(heads);
                true
            }
            _ => false,
        }
    }

    /// Marks all buckets as in use; all are empty.
    fn use_all(&mut self) {
        self.used = BucketRange::new((self.heads.len().max(1) * CHUNK) as u32);
    }

    /// Returns the chain of this kind and hash.
    #[inline]
    fn head(&self, kind: usize, hash: u32) -> Bucket {
        let bucket = self.used.bucket_index(hash) as usize;
        self.heads[bucket / CHUNK][bucket % CHUNK][kind % 2]
    }

    #[inline]
    fn head_mut(&mut self, kind: usize, hash: u32) -> &mut Bucket {
        self.bucket_mut(self.used.bucket_index(hash), kind)
    }

    #[inline]
    fn bucket_mut(&mut self, bucket: u32, kind: usize) -> &mut Bucket {
        let bucket = bucket as usize;
        &mut self.heads[bucket / CHUNK][bucket % CHUNK][kind % 2]
    }
}

/// Hash index of the oldest records.
#[derive(Clone, Debug)]
pub(super) struct DeepIndex {
    /// For kinds 0 and 1, and for kinds 2 and 3. If the MPI memory is too small for arrivals to index records, there
    /// are no buckets until a search requires some.
    tables: [BucketTable; 2],
    /// The youngest indexed record; all older ones are indexed, too.
    to: Option<BlockIndex>,
    len: u32,
    /// Blocks of the reserve.
    blocks: usize,
}

impl DeepIndex {
    pub(super) fn new(blocks: usize) -> Option<DeepIndex> {
        let mut deep = DeepIndex {
            tables: [BucketTable::new(), BucketTable::new()],
            to: None,
            len: 0,
            blocks,
        };
        if blocks > FEW_BLOCKS && !deep.allocate_buckets() {
            None
        } else {
            Some(deep)
        }
    }

    fn has_buckets(&self) -> bool {
        self.tables.iter().all(|table| !table.heads.is_empty())
    }

    /// Allocates the buckets if there are none. Returns false if the heap is full.
    pub(super) fn allocate_buckets(&mut self) -> bool {
        self.has_buckets() || (0..2).all(|table| self.tables[table].make(chunks(self.blocks, table)))
    }

    /// Checks whether there are more than the initial buckets.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        let has_more = |table: usize| self.tables[table].heads.len() > chunks(self.blocks, table);
        has_more(0) || has_more(1)
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Returns the youngest indexed record; all older ones are indexed, too.
    #[inline]
    pub(super) fn to(&self) -> Option<BlockIndex> {
        self.to
    }

    /// Checks for buckets and a free block of the MPI memory.
    pub(super) fn has_space(&mut self, region: &Region) -> bool {
        if region.has_loans() {
            self.grow();
        }
        self.has_buckets() && region.free_to_extend() > 0
    }

    /// Allocates a chunk of buckets if there are too few. If the heap is full, chains grow longer.
    #[cold]
    fn grow(&mut self) {
        for (table, parts) in self.tables.iter_mut().zip([1, 8]) {
            let is_first = table.heads.is_empty();
            if self.len as usize >= parts * CROWDED * CHUNK * table.heads.len() && table.add_chunk() && is_first {
                table.use_all();
            }
        }
    }

    /// Frees the buckets allocated for loans that have ended, one chunk of each table at a time.
    pub(super) fn trim(&mut self, region: &Region) {
        if self.len > 0 || region.has_loans() {
            return;
        }
        for (at, table) in self.tables.iter_mut().enumerate() {
            if table.heads.len() > chunks(self.blocks, at) {
                table.heads.pop();
                table.heads.shrink_to(chunks(self.blocks, at));
                table.use_all();
            }
        }
    }

    /// Indexes the record after the youngest indexed one. [Space](DeepIndex::has_space) must be available.
    pub(super) fn insert(&mut self, hashes: &KeyHash, region: &mut Region, at: BlockIndex) {
        count_steps(KINDS);
        let Some(node) = region.extend(at) else {
            unreachable!("a block is free")
        };
        for table in 0..2 {
            let BucketTable { heads, used } = &mut self.tables[table];
            if let Some(bucket) = used.add(heads.len() * CHUNK) {
                self.split(hashes, region, table, bucket);
            }
        }
        put_all(region.extension_bytes_mut(node), node, at);
        let envelope = region.envelope(at);
        let hashes = hashes.hash_kinds(&envelope);
        for (kind, hash) in hashes.into_iter().enumerate() {
            let head = self.tables[kind / 2].head_mut(kind, hash);
            let first = head.block();
            head.add(first.unwrap_or(node), class(hash));
            if let Some(first) = first {
                append(region, first, kind, node, &pattern_of(&envelope, kind));
            }
        }
        self.to = Some(at);
        self.len += 1;
    }

    /// Removes an indexed record that is dequeued.
    #[inline(never)]
    pub(super) fn remove(&mut self, hashes: &KeyHash, region: &mut Region, at: BlockIndex) {
        let Some(node) = region.extension(at) else {
            return;
        };
        if self.to == Some(at) {
            (self.to, _) = region.neighbours(at);
        }
        self.len -= 1;
        for table in &mut self.tables {
            table.used.remove();
        }
        let hashes = hashes.hash_kinds(&region.envelope(at));
        for (kind, hash) in hashes.into_iter().enumerate() {
            let (next, prev) = links(region, node, kind);
            let is_alone = prev == node;
            if !is_alone && next_of(region, prev, kind) == node {
                // Not the first member of its group.
                if next != node && prev_of(region, next, kind) == node {
                    set_next(region, prev, kind, next);
                    set_prev(region, next, kind, prev);
                    continue;
                }
            } else {
                let head = self.tables[kind / 2].head_mut(kind, hash);
                if head.block() == Some(node) {
                    set_first(head, end_or(node, next));
                    if !is_alone {
                        set_prev(region, next, kind, prev);
                    }
                    continue;
                }
            }
            self.unlink_end(region, kind, hash, node);
        }
    }

    /// Returns the oldest indexed record that matches `pattern`, whose kind and hash are specified. Each group checked
    /// is a hop.
    #[inline]
    pub(super) fn find(
        &self,
        region: &Region,
        pattern: &MatchPattern,
        kind: usize,
        hash: u32,
        hops: &mut u32,
    ) -> Option<BlockIndex> {
        match self.len {
            0 => None,
            _ => {
                let head = self.tables[kind / 2].head(kind, hash);
                let first = head.block_of(class(hash))?;
                find_from(region, pattern, kind, first, hops)
            }
        }
    }

    /// Unlinks a node that is the first or the last one of its group.
    #[inline(never)]
    fn unlink_end(&mut self, region: &mut Region, kind: usize, hash: u32, node: BlockIndex) {
        let head = self.tables[kind / 2].head_mut(kind, hash);
        let (next, prev) = links(region, node, kind);
        let next = (next != node).then_some(next);
        let (mut before, mut group) = (None, head.block());
        while let Some(first) = group {
            count_steps(1);
            let last = prev_of(region, first, kind);
            if first == node {
                // The second member, if any, becomes the first.
                if let Some(second) = next.filter(|_| last != node) {
                    set_prev(region, second, kind, last);
                }
                return match before {
                    None => set_first(head, next),
                    Some(before) => set_next(region, before, kind, next.unwrap_or(before)),
                };
            }
            if last == node {
                set_prev(region, first, kind, prev);
                return set_next(region, prev, kind, next.unwrap_or(prev));
            }
            before = Some(last);
            group = end_or(last, next_of(region, last, kind));
        }
        unreachable!("a node is in a group of its bucket")
    }

    /// Splits the groups of a bucket between it and the bucket just added.
    #[cold]
    fn split(&mut self, hashes: &KeyHash, region: &mut Region, table: usize, bucket: u32) {
        let kinds = 2 * table;
        let table = &mut self.tables[table];
        for kind in kinds..kinds + 2 {
            let head = core::mem::replace(table.bucket_mut(bucket, kind), Bucket::EMPTY);
            let mut group = head.block();
            // Last nodes of the chains of the bucket itself and of the other one.
            let mut ends = [None; 2];
            while let Some(first) = group {
                count_steps(1);
                let last = prev_of(region, first, kind);
                group = end_or(last, next_of(region, last, kind));
                set_next(region, last, kind, last);
                let envelope = region.envelope(record_of(region, first));
                let hash = hashes.hash_pattern(&pattern_of(&envelope, kind));
                let end = ends[usize::from(table.used.bucket_index(hash) != bucket)].replace(last);
                let head = table.head_mut(kind, hash);
                head.add(head.block().unwrap_or(first), class(hash));
                if let Some(end) = end {
                    set_next(region, end, kind, first);
                }
            }
        }
    }
}

/// Returns a hash whose class is independent of the bucket.
#[inline]
fn class(hash: u32) -> u32 {
    hash.rotate_left(7)
}

/// Updates the first node of a chain.
#[inline]
fn set_first(head: &mut Bucket, first: Option<BlockIndex>) {
    match first {
        Some(first) => head.set(first),
        None => *head = Bucket::EMPTY,
    }
}

/// Searches the chain that begins with `first`, as in [`DeepIndex::find`].
#[inline(never)]
fn find_from(
    region: &Region,
    pattern: &MatchPattern,
    kind: usize,
    mut first: BlockIndex,
    hops: &mut u32,
) -> Option<BlockIndex> {
    loop {
        *hops += 1;
        count_steps(1);
        let at = record_of(region, first);
        if region.matches(at, pattern) {
            return Some(at);
        }
        first = next_group(region, first, kind)?;
    }
}

/// Appends a new node to its group in the chain that begins with `first`, or as a new group at the end.
#[inline]
fn append(region: &mut Region, mut first: BlockIndex, kind: usize, node: BlockIndex, pattern: &MatchPattern) {
    loop {
        count_steps(1);
        let last = prev_of(region, first, kind);
        let behind = end_or(last, next_of(region, last, kind));
        if region.matches(record_of(region, first), pattern) {
            set_prev(region, first, kind, node);
            set_prev(region, node, kind, last);
            set_next(region, last, kind, node);
            if let Some(behind) = behind {
                set_next(region, node, kind, behind);
            }
            return;
        }
        match behind {
            None => return set_next(region, last, kind, node),
            Some(next) => first = next,
        }
    }
}

/// Link bits of a word. The other bits contain a part of the record's index in the first three words.
const LINK: u32 = (1 << 24) - 1;

/// Reads the word at index `place` of a node.
#[inline]
fn word(node: &Block, place: usize) -> u32 {
    let bytes = node[4 * place..].first_chunk();
    bytes.map_or(0, |word| u32::from_le_bytes(*word))
}

#[inline]
fn set_word(node: &mut Block, place: usize, word: u32) {
    if let Some(bytes) = node[4 * place..].first_chunk_mut() {
        *bytes = word.to_le_bytes();
    }
}

#[inline]
fn link(node: &Block, place: usize) -> BlockIndex {
    BlockIndex::new(word(node, place) & LINK)
}

#[inline]
fn set_link(node: &mut Block, place: usize, to: BlockIndex) {
    let other = word(node, place) & !LINK;
    set_word(node, place, other | to.index());
}

/// Initializes a node that is in no chain: each link is its own index.
#[inline]
fn put_all(bytes: &mut Block, node: BlockIndex, record: BlockIndex) {
    for place in 0..2 * KINDS {
        let part = record.index() >> (8 * place.min(3)) << 24;
        set_word(bytes, place, part | node.index());
    }
}

#[inline]
fn links(region: &Region, node: BlockIndex, kind: usize) -> (BlockIndex, BlockIndex) {
    let bytes = region.extension_bytes(node);
    (link(bytes, 2 * kind), link(bytes, 2 * kind + 1))
}

#[inline]
fn next_of(region: &Region, node: BlockIndex, kind: usize) -> BlockIndex {
    link(region.extension_bytes(node), 2 * kind)
}

/// Returns a node's predecessor in its group; for the first member, the last one.
#[inline]
fn prev_of(region: &Region, node: BlockIndex, kind: usize) -> BlockIndex {
    link(region.extension_bytes(node), 2 * kind + 1)
}

#[inline]
fn set_next(region: &mut Region, node: BlockIndex, kind: usize, next: BlockIndex) {
    set_link(region.extension_bytes_mut(node), 2 * kind, next);
}

#[inline]
fn set_prev(region: &mut Region, node: BlockIndex, kind: usize, prev: BlockIndex) {
    set_link(region.extension_bytes_mut(node), 2 * kind + 1, prev);
}

#[inline]
fn record_of(region: &Region, node: BlockIndex) -> BlockIndex {
    let bytes = region.extension_bytes(node);
    let part = |place| word(bytes, place) >> 24 << (8 * place);
    BlockIndex::new(part(0) | part(1) | part(2))
}

/// Returns the successor of `last` in its chain, unless `last` is the end.
#[inline]
fn end_or(last: BlockIndex, next: BlockIndex) -> Option<BlockIndex> {
    (next != last).then_some(next)
}

/// Returns the first node of the group after the one that begins with `first`.
#[inline]
fn next_group(region: &Region, first: BlockIndex, kind: usize) -> Option<BlockIndex> {
    let last = prev_of(region, first, kind);
    end_or(last, next_of(region, last, kind))
}
