//! The MPI memory: one fixed region for unexpected records and their buffers.
//!
//! The region is an array of 32-byte blocks. A record takes one block, a buffer a run of blocks; a bit map
//! says which are taken. Nothing else grows with incoming traffic, so the region's size *is* the bound.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use bitvec::order::Lsb0;
use bitvec::view::BitView;
use core::hash::{Hash, Hasher};

use crate::envelope::{Envelope, Pattern};
use crate::list::{Links, NONE};
use crate::request::RequestId;

/// Bytes of a block, as of a torus chunk.
pub const BLOCK_BYTES: usize = 32;
/// Greatest number of blocks: what a record's name has room for (512 MiB).
pub const MAX_BLOCKS: usize = 1 << 24;

/// One block.
pub type Block = [u8; BLOCK_BYTES];

/// Name of a record on the wire: block number and generation, with the top bit set, which tells it from a
/// request's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordId(pub u32);

impl RecordId {
    const FLAG: u32 = 1 << 31;

    fn new(index: u32, generation: u8) -> Self {
        RecordId(Self::FLAG | u32::from(generation & 0x7F) << 24 | index)
    }

    /// The record that `target` names, if it names one.
    pub fn from_target(target: u32) -> Option<Self> {
        (target & Self::FLAG != 0).then_some(RecordId(target))
    }

    fn index(self) -> u32 {
        self.0 & 0x00FF_FFFF
    }
}

/// What an unexpected record says beside its envelope.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holding {
    /// No buffer: the sender (whose request this is) keeps the data.
    Nothing {
        /// The sender's name for its request.
        sender: u32,
    },
    /// A buffer, of whose bytes some may still be on their way.
    Buffer {
        /// First block of the buffer.
        first: u32,
        /// Bytes that have arrived.
        received: u32,
    },
    /// A buffer whose message a receive has matched already; the record is in no queue any more.
    Bound {
        /// First block of the buffer.
        first: u32,
        /// Bytes that have arrived.
        received: u32,
        /// The receive that waits for the rest.
        receive: RequestId,
    },
}

/// An unexpected message's record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// The message's envelope.
    pub envelope: Envelope,
    /// Length of the message in bytes.
    pub length: u32,
    /// Where the data is.
    pub holding: Holding,
}

/// A record's fields in its block, in bytes: source 0..4, tag 4..8, context 8..10, kind 10, generation 11,
/// length 12..16, sender or received 16..20, first buffer block 20..24, next 24..28, previous or receive
/// 28..32. The sender's name is needed only until a buffer is granted, and the links only until a receive
/// has matched, which is why they share.
mod field {
    pub const SOURCE: usize = 0;
    pub const TAG: usize = 4;
    pub const CONTEXT: usize = 8;
    pub const KIND: usize = 10;
    pub const GENERATION: usize = 11;
    pub const LENGTH: usize = 12;
    pub const SENDER_OR_RECEIVED: usize = 16;
    pub const FIRST: usize = 20;
    pub const NEXT: usize = 24;
    pub const PREV_OR_RECEIVE: usize = 28;
}

const KIND_FREE: u8 = 0;
const KIND_NOTHING: u8 = 1;
const KIND_BUFFER: u8 = 2;
const KIND_BOUND: u8 = 3;

fn get(block: &Block, at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn put(block: &mut Block, at: usize, value: u32) {
    block[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Blocks that a buffer of `bytes` takes.
pub const fn buffer_blocks(bytes: u32) -> u32 {
    bytes.div_ceil(BLOCK_BYTES as u32)
}

/// The region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    blocks: Box<[Block]>,
    taken: Box<[usize]>,
    free: u32,
    hint: u32,
    records: u32,
    peak_records: u32,
    peak_blocks: u32,
}

impl Region {
    /// A region of `blocks`, with `taken` as its bit map (at least one bit a block).
    ///
    /// # Panics
    /// When the bit map is too small or there are more than [`MAX_BLOCKS`] blocks.
    pub fn new(blocks: Box<[Block]>, mut taken: Box<[usize]>) -> Self {
        assert!(blocks.len() <= MAX_BLOCKS && taken.len() * usize::BITS as usize >= blocks.len());
        taken.fill(0);
        let free = blocks.len() as u32;
        Region {
            blocks,
            taken,
            free,
            hint: 0,
            records: 0,
            peak_records: 0,
            peak_blocks: 0,
        }
    }

    /// Words of bit map that a region of `blocks` blocks needs.
    pub const fn map_words(blocks: usize) -> usize {
        blocks.div_ceil(usize::BITS as usize)
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    /// Bytes taken now.
    pub fn used_bytes(&self) -> usize {
        (self.blocks.len() - self.free as usize) * BLOCK_BYTES
    }

    /// The most bytes ever taken at once.
    pub fn peak_bytes(&self) -> usize {
        self.peak_blocks as usize * BLOCK_BYTES
    }

    /// Records now.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The most records ever held at once.
    pub fn peak_records(&self) -> u32 {
        self.peak_records
    }

    /// Blocks that are free: as many records would have room.
    pub fn free_blocks(&self) -> u32 {
        self.free
    }

    /// Takes a run of `count` blocks; `None` when there is none. Next-fit, at most one pass over the map.
    fn take_run(&mut self, count: u32) -> Option<u32> {
        if count > self.free {
            return None;
        }
        if count == 0 {
            return Some(0);
        }
        let len = self.blocks.len();
        let bits = &mut self.taken.view_bits_mut::<Lsb0>()[..len];
        let (mut at, mut end, mut wrapped) = (self.hint as usize, len, false);
        loop {
            let start = bits[at..end].first_zero().map(|skip| at + skip);
            match start {
                Some(start) if start + count as usize <= end => {
                    match bits[start..start + count as usize].last_one() {
                        Some(blocked) => at = start + blocked + 1,
                        None => {
                            bits[start..start + count as usize].fill(true);
                            self.free -= count;
                            self.hint = (start + count as usize) as u32 % len as u32;
                            self.peak_blocks = self.peak_blocks.max(len as u32 - self.free);
                            return Some(start as u32);
                        }
                    }
                }
                _ if wrapped => return None,
                _ => {
                    // The second pass reaches beyond the first one's start, for a run that straddles it.
                    wrapped = true;
                    at = 0;
                    end = (self.hint as usize + count as usize).min(len);
                }
            }
        }
    }

    fn free_run(&mut self, first: u32, count: u32) {
        let (start, end) = (first as usize, (first + count) as usize);
        self.taken.view_bits_mut::<Lsb0>()[start..end].fill(false);
        self.free += count;
    }

    fn block(&self, index: u32) -> &Block {
        &self.blocks[index as usize]
    }

    fn block_mut(&mut self, index: u32) -> &mut Block {
        &mut self.blocks[index as usize]
    }

    /// Makes a record with a buffer for all of `length` bytes; `None` when either has no room.
    pub fn record_with_buffer(&mut self, envelope: Envelope, length: u32) -> Option<u32> {
        // One run holds both, the record first.
        let first = self.take_run(1 + buffer_blocks(length))?;
        let holding = Holding::Buffer {
            first: first + 1,
            received: 0,
        };
        self.write_record(
            first,
            Record {
                envelope,
                length,
                holding,
            },
        );
        Some(first)
    }

    /// Makes a record without a buffer; `None` when there is no room.
    pub fn record_only(&mut self, envelope: Envelope, length: u32, sender: u32) -> Option<u32> {
        let index = self.take_run(1)?;
        self.write_record(
            index,
            Record {
                envelope,
                length,
                holding: Holding::Nothing { sender },
            },
        );
        Some(index)
    }

    fn write_record(&mut self, index: u32, record: Record) {
        let generation = self.block(index)[field::GENERATION].wrapping_add(1);
        let block = self.block_mut(index);
        *block = [0; BLOCK_BYTES];
        block[field::GENERATION] = generation;
        put(block, field::SOURCE, record.envelope.source);
        put(block, field::TAG, record.envelope.tag as u32);
        block[field::CONTEXT..field::CONTEXT + 2]
            .copy_from_slice(&record.envelope.context.to_le_bytes());
        put(block, field::LENGTH, record.length);
        put(block, field::NEXT, NONE);
        put(block, field::PREV_OR_RECEIVE, NONE);
        write_holding(block, record.holding);
        self.records += 1;
        self.peak_records = self.peak_records.max(self.records);
    }

    /// The record in block `index`; `None` when none is there.
    pub fn record(&self, index: u32) -> Option<Record> {
        let block = self.block(index);
        let word = get(block, field::SENDER_OR_RECEIVED);
        let first = get(block, field::FIRST);
        let holding = match block[field::KIND] {
            KIND_NOTHING => Holding::Nothing { sender: word },
            KIND_BUFFER => Holding::Buffer {
                first,
                received: word,
            },
            KIND_BOUND => Holding::Bound {
                first,
                received: word,
                receive: RequestId(get(block, field::PREV_OR_RECEIVE)),
            },
            _ => return None,
        };
        Some(Record {
            envelope: envelope(block),
            length: get(block, field::LENGTH),
            holding,
        })
    }

    /// Changes where the data of the record at `index` is.
    pub fn set_holding(&mut self, index: u32, holding: Holding) {
        write_holding(self.block_mut(index), holding);
    }

    /// The wire name of the record at `index`.
    pub fn id(&self, index: u32) -> RecordId {
        RecordId::new(index, self.block(index)[field::GENERATION])
    }

    /// The block of the live record that `id` names; `None` when it names none.
    pub fn find(&self, id: RecordId) -> Option<u32> {
        let index = id.index();
        let known = (index as usize) < self.blocks.len();
        (known && self.block(index)[field::KIND] != KIND_FREE && self.id(index) == id)
            .then_some(index)
    }

    /// Frees the record at `index` and its buffer.
    pub fn release(&mut self, index: u32) {
        let Some(record) = self.record(index) else {
            return;
        };
        self.block_mut(index)[field::KIND] = KIND_FREE;
        self.records -= 1;
        self.free_run(index, 1);
        if let Holding::Buffer { first, .. } | Holding::Bound { first, .. } = record.holding {
            self.free_run(first, buffer_blocks(record.length));
        }
    }

    /// Copies `bytes` into the buffer that begins at block `first`, at `offset`.
    pub fn write_buffer(&mut self, first: u32, offset: u32, bytes: &[u8]) {
        let start = first as usize * BLOCK_BYTES + offset as usize;
        self.blocks.as_flattened_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// The first `len` bytes of the buffer that begins at block `first`.
    pub fn read_buffer(&self, first: u32, len: u32) -> &[u8] {
        let start = first as usize * BLOCK_BYTES;
        &self.blocks.as_flattened()[start..start + len as usize]
    }

    /// Whether the record at `index` matches `pattern`.
    pub fn matches(&self, index: u32, pattern: &Pattern) -> bool {
        pattern.matches(&envelope(self.block(index)))
    }
}

fn envelope(block: &Block) -> Envelope {
    Envelope {
        source: get(block, field::SOURCE),
        tag: get(block, field::TAG) as i32,
        context: u16::from_le_bytes([block[field::CONTEXT], block[field::CONTEXT + 1]]),
    }
}

fn write_holding(block: &mut Block, holding: Holding) {
    match holding {
        Holding::Nothing { sender } => {
            block[field::KIND] = KIND_NOTHING;
            put(block, field::SENDER_OR_RECEIVED, sender);
        }
        Holding::Buffer { first, received } => {
            block[field::KIND] = KIND_BUFFER;
            put(block, field::FIRST, first);
            put(block, field::SENDER_OR_RECEIVED, received);
        }
        Holding::Bound {
            first,
            received,
            receive,
        } => {
            block[field::KIND] = KIND_BOUND;
            put(block, field::FIRST, first);
            put(block, field::SENDER_OR_RECEIVED, received);
            put(block, field::PREV_OR_RECEIVE, receive.0);
        }
    }
}

/// What the region does from now on depends on what is live, up to the names and places that it gives out:
/// so neither measures nor the rests of what was freed are hashed.
impl Hash for Region {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let bits = &self.taken.view_bits::<Lsb0>()[..self.blocks.len()];
        let mut at = 0;
        while let Some(index) = bits[at..].first_one().map(|skip| at + skip) {
            // A run begins with its record; a buffer follows it.
            let block = &self.blocks[index];
            (index, block).hash(state);
            at = index + 1;
            if let Some(Record {
                length, holding, ..
            }) = self.record(index as u32)
                && let Holding::Buffer { first, .. } | Holding::Bound { first, .. } = holding
            {
                self.read_buffer(first, length).hash(state);
                at += buffer_blocks(length) as usize;
            }
        }
    }
}

impl Links for Region {
    fn next(&self, index: u32) -> u32 {
        get(self.block(index), field::NEXT)
    }
    fn prev(&self, index: u32) -> u32 {
        get(self.block(index), field::PREV_OR_RECEIVE)
    }
    fn set_next(&mut self, index: u32, next: u32) {
        put(self.block_mut(index), field::NEXT, next);
    }
    fn set_prev(&mut self, index: u32, prev: u32) {
        put(self.block_mut(index), field::PREV_OR_RECEIVE, prev);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(blocks: usize) -> Region {
        let words = vec![usize::MAX; Region::map_words(blocks)].into_boxed_slice();
        Region::new(vec![[0; BLOCK_BYTES]; blocks].into_boxed_slice(), words)
    }

    fn envelope(tag: i32) -> Envelope {
        Envelope {
            source: 3,
            tag,
            context: 9,
        }
    }

    #[test]
    fn a_record_reads_back_as_it_was_written_in_every_state() {
        let mut region = region(8);
        let index = region.record_with_buffer(envelope(5), 40).unwrap();
        let id = region.id(index);
        let record = region.record(index).unwrap();
        assert_eq!((record.envelope, record.length), (envelope(5), 40));
        let Holding::Buffer { first, received: 0 } = record.holding else {
            panic!("{record:?}")
        };
        for holding in [
            Holding::Nothing { sender: 77 },
            Holding::Bound {
                first,
                received: 12,
                receive: RequestId(4),
            },
            Holding::Buffer {
                first,
                received: 40,
            },
        ] {
            region.set_holding(index, holding);
            assert_eq!(region.record(index).unwrap().holding, holding);
        }
        assert_eq!(region.find(id), Some(index));
        region.release(index);
        assert_eq!(
            (region.find(id), region.used_bytes(), region.records()),
            (None, 0, 0)
        );
        let again = region.record_only(envelope(6), 0, 1).unwrap();
        assert_eq!(region.find(id), None, "block {again} has a new generation");
    }

    #[test]
    fn names_that_name_nothing_find_nothing() {
        let mut region = region(2);
        region.record_only(envelope(1), 0, 0).unwrap();
        for target in 0..1 << 16 {
            let id = RecordId(RecordId::FLAG | target << 15 | target & 0xFF);
            if let Some(index) = region.find(id) {
                assert_eq!(region.id(index), id);
            }
        }
        assert_eq!(RecordId::from_target(5), None);
    }

    /// Against a map of booleans: what is handed out never overlaps, a request fails only when no run of
    /// that length is free, and the measures are right.
    #[test]
    fn runs_never_overlap_and_are_found_wherever_they_are() {
        const BLOCKS: usize = 70;
        let mut state = 1u32;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut region = region(BLOCKS);
        let mut live: Vec<(u32, u32)> = Vec::new();
        let mut taken = [false; BLOCKS];
        let (mut peak, mut failures) = (0, 0);
        for _ in 0..50_000 {
            if random(5) < 3 {
                let bytes = random(400);
                let blocks = 1 + buffer_blocks(bytes);
                match region.record_with_buffer(envelope(0), bytes) {
                    Some(at) => {
                        let run = &mut taken[at as usize..(at + blocks) as usize];
                        assert!(run.iter().all(|taken| !taken));
                        run.fill(true);
                        live.push((at, blocks));
                    }
                    None => {
                        failures += 1;
                        let free = taken
                            .windows(blocks as usize)
                            .any(|run| run.iter().all(|taken| !taken));
                        assert!(!free, "a run of {blocks} blocks is free in {taken:?}");
                    }
                }
            } else if !live.is_empty() {
                let (at, blocks) = live.swap_remove(random(live.len() as u32) as usize);
                region.release(at);
                taken[at as usize..(at + blocks) as usize].fill(false);
            }
            let used = taken.iter().filter(|&&taken| taken).count() * BLOCK_BYTES;
            peak = peak.max(used);
            assert_eq!((region.used_bytes(), region.peak_bytes()), (used, peak));
        }
        assert!(failures > 1000, "the region was full now and then");
    }
}
