//! An index of the oldest unexpected messages, for patterns of all kinds.
//!
//! Each record here has one more block of the MPI memory, its *node* ([`Region::extend`]), with links for four chains: of
//! its envelope, of its tag (any source), of its source (any tag), and of its context (both).
//!
//! ```text
//!   word of a node        0          1          2          3       ...      7
//!   bits 0 .. 23      next, kind 0    prev    next, kind 1    prev      prev, kind 3
//!   bits 24 .. 31      the record's name, 0 .. 7, 8 .. 15, 16 .. 23
//! ```
//! Equal keys are neighbours in their chain, oldest first: a *group*, which begins with its oldest member. The first
//! member's `prev` is the last member of its group, so a search passes a group in one step, however many members it has. A
//! chain's last node is its own `next`.
//!
//! The buckets are allocated when the queue is made, for as many records as the MPI memory may have beside their nodes; so
//! an entry takes no memory of the heap and moves no other one. Only where memory is lent they become more, by linear
//! hashing (W. Litwin, VLDB 1980), which splits one bucket for an entry.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::limits::FEW_BLOCKS;
use super::table::Bucket;
use crate::envelope::Pattern;
use crate::list::Links;
use crate::memory::boxed_with;
use crate::memory::region::{Block, Region};
use crate::names::BlockIndex;
use crate::request::{Buckets, KINDS, KeyHash, pattern_of};
use crate::work::did;

/// The first nodes of two chains: of kinds 0 and 1, or of kinds 2 and 3.
type Heads = [Bucket; 2];

/// Buckets of a chunk.
const CHUNK: usize = 16;
type Chunk = [Heads; CHUNK];
/// Blocks of MPI memory for a bucket of kinds 0 and 1, and of kinds 2 and 3: there are fewer sources than tags.
const BUCKET_BLOCKS: [usize; 2] = [4, 32];
/// Records for each bucket of kinds 0 and 1, above which loans have made them too few.
const CROWDED: usize = 4;

/// Chunks of buckets for so many blocks of MPI memory.
const fn chunks(blocks: usize, table: usize) -> usize {
    blocks.div_ceil(BUCKET_BLOCKS[table] * CHUNK)
}

/// Bytes of the buckets for so many blocks, and of the lists of their chunks.
pub(super) const fn bytes(blocks: usize) -> usize {
    let of_chunk = size_of::<Chunk>() + size_of::<Box<Chunk>>();
    (chunks(blocks, 0) + chunks(blocks, 1)) * of_chunk
}

/// Buckets for two kinds.
#[derive(Clone, Debug)]
struct Table {
    #[expect(
        clippy::vec_box,
        reason = "where the list grows, chunks stay, so that no entry copies more than their addresses"
    )]
    heads: Vec<Box<Chunk>>,
    used: Buckets,
}

impl Table {
    /// None at first.
    fn new() -> Table {
        Table {
            heads: Vec::new(),
            used: Buckets::new(CHUNK as u32),
        }
    }

    /// Makes so many chunks, or fewer, when the heap has no room for all; false when it has none for one.
    fn make(&mut self, chunks: usize) -> bool {
        // Not doubled; where there is no room for all, each asks for itself.
        _ = self.heads.try_reserve_exact(chunks);
        while self.heads.len() < chunks && self.add_chunk() {}
        self.use_all();
        !self.heads.is_empty()
    }

    fn add_chunk(&mut self) -> bool {
        did(CHUNK);
        let has_room = self.heads.try_reserve(1).is_ok();
        match boxed_with(|| [[Bucket::EMPTY; 2]; CHUNK]) {
            Some(heads) if has_room => {
                self.heads.push(heads);
                true
            }
            _ => false,
        }
    }

    /// All buckets are in use, and empty.
    fn use_all(&mut self) {
        self.used = Buckets::new((self.heads.len().max(1) * CHUNK) as u32);
    }

    /// The chain of this kind and hash.
    #[inline]
    fn head(&self, kind: usize, hash: u32) -> Bucket {
        let bucket = self.used.of(hash) as usize;
        self.heads[bucket / CHUNK][bucket % CHUNK][kind % 2]
    }

    #[inline]
    fn head_mut(&mut self, kind: usize, hash: u32) -> &mut Bucket {
        self.bucket_mut(self.used.of(hash), kind)
    }

    #[inline]
    fn bucket_mut(&mut self, bucket: u32, kind: usize) -> &mut Bucket {
        let bucket = bucket as usize;
        &mut self.heads[bucket / CHUNK][bucket % CHUNK][kind % 2]
    }
}

/// The index.
#[derive(Clone, Debug)]
pub(super) struct Deep {
    /// For kinds 0 and 1, and for kinds 2 and 3. Without buckets where the MPI memory has no room for so many records that
    /// the oldest would be here, until a search needs some.
    tables: [Table; 2],
    /// The youngest record that is here, as are all that are older.
    to: Option<BlockIndex>,
    len: u32,
    /// Blocks of the reserve.
    blocks: usize,
}

impl Deep {
    pub(super) fn new(blocks: usize) -> Option<Deep> {
        let mut deep = Deep {
            tables: [Table::new(), Table::new()],
            to: None,
            len: 0,
            blocks,
        };
        match blocks > FEW_BLOCKS && !deep.make_room() {
            true => None,
            false => Some(deep),
        }
    }

    fn has_buckets(&self) -> bool {
        self.tables.iter().all(|table| !table.heads.is_empty())
    }

    /// Makes the buckets, if there are none; false when the heap has no room.
    pub(super) fn make_room(&mut self) -> bool {
        self.has_buckets()
            || (0..2).all(|table| self.tables[table].make(chunks(self.blocks, table)))
    }

    /// There are more buckets than are made at first.
    #[cfg(test)]
    pub(super) fn has_grown(&self) -> bool {
        let has_more = |table: usize| self.tables[table].heads.len() > chunks(self.blocks, table);
        has_more(0) || has_more(1)
    }

    /// Records here.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The youngest record here; all that are older are here, too.
    #[inline]
    pub(super) fn to(&self) -> Option<BlockIndex> {
        self.to
    }

    /// There are buckets, and a free block of the MPI memory.
    pub(super) fn has_room(&mut self, region: &Region) -> bool {
        if region.has_loans() {
            self.grow();
        }
        self.has_buckets() && region.free_to_extend() > 0
    }

    /// Makes a chunk of buckets where there are too few. Without room on the heap, chains grow longer.
    #[cold]
    fn grow(&mut self) {
        for (table, parts) in self.tables.iter_mut().zip([1, 8]) {
            let is_first = table.heads.is_empty();
            if self.len as usize >= parts * CROWDED * CHUNK * table.heads.len()
                && table.add_chunk()
                && is_first
            {
                table.use_all();
            }
        }
    }

    /// Gives back what was made for loans that are over, a chunk of each table at a time.
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

    /// Enters the record that comes after the youngest one here. There [is room](Deep::has_room).
    pub(super) fn enter(&mut self, hashes: &KeyHash, region: &mut Region, at: BlockIndex) {
        did(KINDS);
        let Some(node) = region.extend(at) else {
            unreachable!("a block is free")
        };
        for table in 0..2 {
            let Table { heads, used } = &mut self.tables[table];
            if let Some(bucket) = used.add(heads.len() * CHUNK) {
                self.split(hashes, region, table, bucket);
            }
        }
        put_all(region.extension_bytes_mut(node), node, at);
        let envelope = region.envelope(at);
        let hashes = hashes.of_kinds(&envelope);
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

    /// The record at `at`, which is here, leaves the queue.
    #[inline(never)]
    pub(super) fn leave(&mut self, hashes: &KeyHash, region: &mut Region, at: BlockIndex) {
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
        let hashes = hashes.of_kinds(&region.envelope(at));
        for (kind, hash) in hashes.into_iter().enumerate() {
            let (next, prev) = links(region, node, kind);
            let is_alone = prev == node;
            if !is_alone && next_of(region, prev, kind) == node {
                // Not the first one of its group.
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

    /// The oldest record that `pattern`, which is of this kind and has this hash, asks for. Each group looked at is a hop.
    #[inline]
    pub(super) fn find(
        &self,
        region: &Region,
        pattern: &Pattern,
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

    /// Takes a node out that is the first or the last one of its group.
    #[inline(never)]
    fn unlink_end(&mut self, region: &mut Region, kind: usize, hash: u32, node: BlockIndex) {
        let head = self.tables[kind / 2].head_mut(kind, hash);
        let (next, prev) = links(region, node, kind);
        let next = (next != node).then_some(next);
        let (mut before, mut group) = (None, head.block());
        while let Some(first) = group {
            did(1);
            let last = prev_of(region, first, kind);
            if first == node {
                // The second one, if there is one, is the first one now.
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

    /// Divides the groups of a bucket between it and the one that has come into use.
    #[cold]
    fn split(&mut self, hashes: &KeyHash, region: &mut Region, table: usize, bucket: u32) {
        let kinds = 2 * table;
        let table = &mut self.tables[table];
        for kind in kinds..kinds + 2 {
            let head = core::mem::replace(table.bucket_mut(bucket, kind), Bucket::EMPTY);
            let mut group = head.block();
            // The last nodes of the chains of the bucket itself and of the other one.
            let mut ends = [None; 2];
            while let Some(first) = group {
                did(1);
                let last = prev_of(region, first, kind);
                group = end_or(last, next_of(region, last, kind));
                set_next(region, last, kind, last);
                let envelope = region.envelope(record_of(region, first));
                let hash = hashes.of(&pattern_of(&envelope, kind));
                let end = ends[usize::from(table.used.of(hash) != bucket)].replace(last);
                let head = table.head_mut(kind, hash);
                head.add(head.block().unwrap_or(first), class(hash));
                if let Some(end) = end {
                    set_next(region, end, kind, first);
                }
            }
        }
    }
}

/// A hash whose class is not told by the bucket that the hash falls into.
#[inline]
fn class(hash: u32) -> u32 {
    hash.rotate_left(7)
}

/// The chain begins with `first` from now on.
#[inline]
fn set_first(head: &mut Bucket, first: Option<BlockIndex>) {
    match first {
        Some(first) => head.set(first),
        None => *head = Bucket::EMPTY,
    }
}

/// As [`Deep::find`], in the chain that begins with `first`.
#[inline(never)]
fn find_from(
    region: &Region,
    pattern: &Pattern,
    kind: usize,
    mut first: BlockIndex,
    hops: &mut u32,
) -> Option<BlockIndex> {
    loop {
        *hops += 1;
        did(1);
        let at = record_of(region, first);
        if region.matches(at, pattern) {
            return Some(at);
        }
        first = next_group(region, first, kind)?;
    }
}

/// A new node becomes the last one of its group in the chain that begins with `first`, or a group at its end.
#[inline]
fn append(
    region: &mut Region,
    mut first: BlockIndex,
    kind: usize,
    node: BlockIndex,
    pattern: &Pattern,
) {
    loop {
        did(1);
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

/// Bits of a word that are a link; the others are a part of the record's name in the first three words.
const LINK: u32 = (1 << 24) - 1;

/// Reads the word at this place of a node.
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

/// A new node, in no chain: each link is its own name.
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

/// What is before a node in its group; of the first one, the last one.
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

/// What comes after `last` in its chain, if that is not the end.
#[inline]
fn end_or(last: BlockIndex, next: BlockIndex) -> Option<BlockIndex> {
    (next != last).then_some(next)
}

/// The first node of the group that comes after the one that begins with `first`.
#[inline]
fn next_group(region: &Region, first: BlockIndex, kind: usize) -> Option<BlockIndex> {
    let last = prev_of(region, first, kind);
    end_or(last, next_of(region, last, kind))
}
