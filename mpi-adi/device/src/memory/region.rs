//! The MPI memory: one fixed region for unexpected records and their buffers.
//!
//! The region is an array of 32-byte blocks. A record takes one block, a buffer a run of blocks; a bit map
//! says which are taken. Nothing else grows with incoming traffic, so the region's size *is* the bound.
//!
//! That is the *reserve*, which is always there. A carrier may lend more ([`UserMemory::lend`], on a node
//! the program's heap, with `--mpi-borrow`): up to [`MAX_LOANS`] further arrays, asked for when the reserve
//! is full, the first small, each next one twice as large, and given back as soon as they are empty.
//!
//! ```text
//!   block number   0 ....... reserve ....... 2^23 ... loan 0 ... + 2^19 ... loan 1 ... + 2^20 ... 2^24
//! ```
#![forbid(unsafe_code)]

use bitvec::order::Lsb0;
use bitvec::view::BitView;
use core::hash::{Hash, Hasher};

use crate::envelope::{Envelope, Pattern, Rank};
use crate::list::Links;
use crate::memory::UserMemory;
pub use crate::memory::blocks::{BLOCK_BYTES, Block, Blocks};
use crate::names::{BlockIndex, Generation, GenerationBits, RECORD_GENERATION_BITS, RequestId};

/// Greatest number of blocks of the reserve (256 MiB): half of what a record's name has room for, the other
/// half is for loans.
pub const MAX_BLOCKS: usize = 1 << 23;
/// Loans at most at a time.
pub const MAX_LOANS: usize = 16;
/// Places for loans in the region: none in a build that does not borrow.
const PLACES: usize = if cfg!(feature = "borrow") {
    MAX_LOANS
} else {
    0
};
/// Greatest number of blocks of a loan (16 MiB).
pub const MAX_LOAN_BLOCKS: u32 = (MAX_BLOCKS / MAX_LOANS) as u32;
/// A further loan is worth a place when it is at least this part, as a divisor, of all that is lent.
const LEAST_GROWTH: u32 = 4;
/// The part of the reserve, as a divisor, below which the region is low: sources that hear of it stop
/// sending eagerly.
pub const LOW_WATERMARK: u32 = 4;
/// Blocks of the first loan, if less is needed and as much is to be had.
const FIRST_LOAN_BLOCKS: u32 = 128;

/// Name of a record on the wire: block number and generation, with the top bit set, which tells it from a
/// request's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordId(pub u32);

impl RecordId {
    const FLAG: u32 = 1 << 31;

    fn new(at: BlockIndex, generation: Generation) -> Self {
        RecordId(Self::FLAG | generation.word() << 24 | at.index())
    }

    /// The record that `target` names, if it names one.
    pub fn from_target(target: u32) -> Option<Self> {
        (target & Self::FLAG != 0).then_some(RecordId(target))
    }

    fn block(self) -> BlockIndex {
        BlockIndex::new(self.0 & 0x00FF_FFFF)
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
        /// Bytes that have arrived.
        received: u32,
    },
    /// A buffer whose message a receive has matched already; the record is in no queue any more.
    Bound {
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

impl Record {
    /// Blocks that the record and its buffer take.
    #[inline]
    fn blocks(&self) -> u32 {
        1 + match self.holding {
            Holding::Buffer { .. } | Holding::Bound { .. } => buffer_blocks(self.length),
            Holding::Nothing { .. } => 0,
        }
    }

    /// The record in a block, if it has one.
    #[inline]
    fn read(block: &Block) -> Option<Self> {
        let data = get(block, field::SENDER_OR_RECEIVED);
        Some(Self {
            envelope: envelope(block),
            length: get(block, field::LENGTH),
            holding: match block[field::KIND] {
                KIND_NOTHING => Holding::Nothing { sender: data },
                KIND_BUFFER => Holding::Buffer { received: data },
                KIND_BOUND => Holding::Bound {
                    received: data,
                    receive: RequestId(get(block, field::PREV_OR_RECEIVE)),
                },
                _ => return None,
            },
        })
    }
}

/// A record's fields in its block, in bytes: source 0..4, tag 4..8, context 8..10, kind 10, generation 11,
/// length 12..16, sender or received 16..20, the matching engine's word 20..24, next 24..28, previous or receive
/// 28..32. The buffer follows the record. The sender's name is needed only until a buffer is granted, and
/// the links only until a receive has matched, which is why they share.
mod field {
    pub const SOURCE: usize = 0;
    pub const TAG: usize = 4;
    pub const CONTEXT: usize = 8;
    pub const KIND: usize = 10;
    pub const GENERATION: usize = 11;
    pub const LENGTH: usize = 12;
    pub const SENDER_OR_RECEIVED: usize = 16;
    pub const ENGINE: usize = 20;
    pub const NEXT: usize = 24;
    pub const PREV_OR_RECEIVE: usize = 28;
}

const KIND_FREE: u8 = 0;
const KIND_NOTHING: u8 = 1;
const KIND_BUFFER: u8 = 2;
const KIND_BOUND: u8 = 3;

/// Reads the word at `at`, which is one of [`field`]. Nodes' processors need no word to be aligned.
#[inline(always)]
fn get(block: &Block, at: usize) -> u32 {
    let word = block[at..].first_chunk();
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Writes a word, as [`get`] reads it.
#[inline(always)]
fn put(block: &mut Block, at: usize, value: u32) {
    if let Some(word) = block[at..].first_chunk_mut() {
        *word = value.to_le_bytes();
    }
}

/// Blocks that a buffer of `bytes` takes.
pub const fn buffer_blocks(bytes: u32) -> u32 {
    bytes.div_ceil(BLOCK_BYTES as u32)
}

/// The region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    reserve: Blocks,
    loans: [Option<Blocks>; PLACES],
    /// The lender refused a single block when it said that it had so many to spare: it has none until it
    /// says something else.
    refused_at: Option<u32>,
    used: u32,
    /// Free blocks of the reserve and of loans.
    free: u32,
    records: u32,
    peak_records: u32,
    peak_blocks: u32,
    peak_lent: u32,
    /// Records that have one more block for the matching engine.
    extended: u32,
    name_bits: GenerationBits,
}

/// Records may have one more block for the matching engine. A small build has engines that take none.
const EXTENDS: bool = cfg!(any(test, not(feature = "micro")));
/// In a record's word for the matching engine: it names one more block that is the record's.
const EXTENDED: u32 = 1 << 31;

impl Region {
    /// A region with `reserve` of its own.
    ///
    /// # Panics
    /// When there are more than [`MAX_BLOCKS`] blocks.
    pub fn new(reserve: Blocks) -> Self {
        assert!(reserve.len() <= MAX_BLOCKS);
        Region {
            loans: [const { None }; PLACES],
            refused_at: None,
            used: 0,
            free: reserve.len() as u32,
            reserve,
            records: 0,
            peak_records: 0,
            peak_blocks: 0,
            peak_lent: 0,
            extended: 0,
            name_bits: GenerationBits::new(RECORD_GENERATION_BITS),
        }
    }

    /// Names records with fewer bits of generation, for a model checker.
    pub(crate) fn narrow_names(&mut self, bits: u32) {
        self.name_bits = GenerationBits::new(bits.min(RECORD_GENERATION_BITS));
    }

    /// Size of the reserve in bytes.
    pub fn bytes(&self) -> usize {
        self.reserve.len() * BLOCK_BYTES
    }

    /// Bytes taken now, of the reserve and of loans.
    pub fn used_bytes(&self) -> usize {
        self.used as usize * BLOCK_BYTES
    }

    /// The most bytes ever taken at once.
    pub fn peak_bytes(&self) -> usize {
        self.peak_blocks as usize * BLOCK_BYTES
    }

    /// Bytes of all loans now, taken or not.
    pub fn lent_bytes(&self) -> usize {
        self.lent() as usize * BLOCK_BYTES
    }

    /// The most bytes ever lent at once.
    pub fn peak_lent_bytes(&self) -> usize {
        self.peak_lent as usize * BLOCK_BYTES
    }

    /// Memory has been lent, and not all of it is given back.
    pub fn has_loans(&self) -> bool {
        self.loans.iter().any(Option::is_some)
    }

    /// The number of the loan that a block is in, below [`MAX_LOANS`], and the block's place there; `None` for one of
    /// the reserve.
    #[inline]
    pub fn place_in_loan(at: BlockIndex) -> Option<(usize, usize)> {
        let at = at.index().checked_sub(MAX_BLOCKS as u32)?;
        Some((
            (at / MAX_LOAN_BLOCKS) as usize,
            (at % MAX_LOAN_BLOCKS) as usize,
        ))
    }

    /// Blocks of the loan of this number; 0 when there is none now.
    pub fn blocks_of_loan(&self, loan: usize) -> usize {
        let loan = self.loans.get(loan).and_then(Option::as_ref);
        loan.map_or(0, |loan| loan.len())
    }

    fn lent(&self) -> u32 {
        let loans = self.loans.iter().flatten();
        loans.map(|loan| loan.len() as u32).sum()
    }

    /// Records now.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The most records ever held at once.
    pub fn peak_records(&self) -> u32 {
        self.peak_records
    }

    /// Blocks that are free, or could be borrowed: as many records would have room.
    pub fn free_blocks<M: UserMemory + ?Sized>(&self, memory: &M) -> u32 {
        self.free + self.borrowable(memory)
    }

    /// Below the low watermark: less than a [`LOW_WATERMARK`]th of the reserve is free, and nothing is to be
    /// borrowed (paper 003: one pool for all peers, who are throttled before it is used up).
    pub fn is_low<M: UserMemory + ?Sized>(&self, memory: &M) -> bool {
        self.free < self.reserve.len() as u32 / LOW_WATERMARK && self.borrowable(memory) == 0
    }

    fn borrowable<M: UserMemory + ?Sized>(&self, memory: &M) -> u32 {
        if PLACES == 0 {
            return 0;
        }
        match memory.spare_blocks() {
            0 => 0,
            spare => self.borrowable_of(spare),
        }
    }

    /// How many of so many blocks to spare could be borrowed.
    // One copy for all memories, as little is ever borrowed.
    #[cold]
    #[inline(never)]
    fn borrowable_of(&self, spare: u32) -> u32 {
        if self.refused_at == Some(spare) {
            return 0;
        }
        // However small the pieces are in which memory becomes free, a few loans are to hold it all.
        let too_little = spare < self.lent() / LEAST_GROWTH;
        let none = too_little || self.loans.iter().all(Option::is_some);
        if none { 0 } else { spare }
    }

    /// Takes a run of `count` blocks, at least 1, wherever there is one.
    fn take_run<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        count: u32,
    ) -> Option<BlockIndex> {
        let run = match self.reserve.take_run(count) {
            Some(start) => BlockIndex::new(start),
            None => self.take_lent_run(memory, count)?,
        };
        self.took(count);
        Some(run)
    }

    #[inline]
    fn took(&mut self, count: u32) {
        self.used += count;
        self.free -= count;
        self.peak_blocks = self.peak_blocks.max(self.used);
    }

    #[cold]
    fn take_lent_run<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        count: u32,
    ) -> Option<BlockIndex> {
        match self.take_run_of_loans(count) {
            None => {
                let spare = self.borrowable(memory);
                self.borrow_run(spare, count, &mut |blocks| memory.lend(blocks))
            }
            run => run,
        }
    }

    /// The name of the block at `start` of the loan at `at`.
    fn lent_block_name(at: usize, start: u32) -> BlockIndex {
        BlockIndex::new(MAX_BLOCKS as u32 + at as u32 * MAX_LOAN_BLOCKS + start)
    }

    // One copy of each for all memories, as little is ever borrowed.
    #[inline(never)]
    fn take_run_of_loans(&mut self, count: u32) -> Option<BlockIndex> {
        let lent = self.loans.iter_mut().enumerate();
        let mut lent = lent.filter_map(|(at, loan)| Some((at, loan.as_mut()?)));
        lent.find_map(|(at, loan)| Some(Self::lent_block_name(at, loan.take_run(count)?)))
    }

    /// Borrows a run of `count` of the blocks to spare, if there is room for one more loan.
    #[inline(never)]
    fn borrow_run(
        &mut self,
        spare: u32,
        count: u32,
        lend: &mut dyn FnMut(u32) -> Option<Blocks>,
    ) -> Option<BlockIndex> {
        let at = self.loans.iter().position(Option::is_none)?;
        if count > spare.min(MAX_LOAN_BLOCKS) {
            return None;
        }
        let others = self.loans.iter().flatten().count();
        let mut wanted = (FIRST_LOAN_BLOCKS << others).clamp(count, MAX_LOAN_BLOCKS.min(spare));
        let mut loan = loop {
            match lend(wanted) {
                Some(loan) => break loan,
                None if wanted > count => wanted = count.max(wanted / 2),
                None => {
                    self.refused_at = (count == 1).then_some(spare);
                    return None;
                }
            }
        };
        let start = loan.take_run(count);
        self.free += loan.len() as u32;
        self.loans[at] = Some(loan);
        self.peak_lent = self.peak_lent.max(self.lent());
        start.map(|start| Self::lent_block_name(at, start))
    }

    #[inline]
    fn free_run<M: UserMemory + ?Sized>(&mut self, memory: &mut M, first: BlockIndex, count: u32) {
        self.used -= count;
        self.free += count;
        match first.index().checked_sub(MAX_BLOCKS as u32) {
            None => self.reserve.free_run(first.index(), count),
            Some(at) => self.free_lent(memory, at, count),
        }
    }

    /// Frees lent blocks, of which the first is `at` of all that can be lent.
    #[cold]
    fn free_lent<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: u32, count: u32) {
        let slot = &mut self.loans[(at / MAX_LOAN_BLOCKS) as usize];
        let loan = slot.as_mut().expect("a taken block's loan");
        loan.free_run(at % MAX_LOAN_BLOCKS, count);
        if loan.is_empty()
            && let Some(loan) = slot.take()
        {
            self.free -= loan.len() as u32;
            memory.take_back(loan);
        }
    }

    /// The array that `block` is in, and its place there; `None` when there is no such block.
    fn locate(&self, block: BlockIndex) -> Option<(&Blocks, usize)> {
        let index = block.index();
        let (blocks, at) = match index.checked_sub(MAX_BLOCKS as u32) {
            None => (&self.reserve, index),
            Some(at) => (
                self.loans.get((at / MAX_LOAN_BLOCKS) as usize)?.as_ref()?,
                at % MAX_LOAN_BLOCKS,
            ),
        };
        ((at as usize) < blocks.len()).then_some((blocks, at as usize))
    }

    fn locate_mut(&mut self, block: BlockIndex) -> Option<(&mut Blocks, usize)> {
        let index = block.index();
        let (blocks, at) = match index.checked_sub(MAX_BLOCKS as u32) {
            None => (&mut self.reserve, index),
            Some(at) => (
                self.loans
                    .get_mut((at / MAX_LOAN_BLOCKS) as usize)?
                    .as_mut()?,
                at % MAX_LOAN_BLOCKS,
            ),
        };
        ((at as usize) < blocks.len()).then_some((blocks, at as usize))
    }

    // The numbers of lent blocks are beyond the reserve, however large that is.
    #[inline]
    fn block(&self, at: BlockIndex) -> &Block {
        match self.reserve.blocks.get(at.index() as usize) {
            Some(block) => block,
            None => self.lent_block(at),
        }
    }

    #[cold]
    fn lent_block(&self, at: BlockIndex) -> &Block {
        let (blocks, at) = self.locate(at).expect("a block");
        &blocks.blocks[at]
    }

    #[inline]
    fn block_mut(&mut self, at: BlockIndex) -> &mut Block {
        if (at.index() as usize) < self.reserve.blocks.len() {
            return &mut self.reserve.blocks[at.index() as usize];
        }
        self.lent_block_mut(at)
    }

    #[cold]
    fn lent_block_mut(&mut self, at: BlockIndex) -> &mut Block {
        let (blocks, at) = self.locate_mut(at).expect("a block");
        &mut blocks.blocks[at]
    }

    /// Makes a record with a buffer for all of `length` bytes; `None` when either has no room.
    pub fn record_with_buffer<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
    ) -> Option<BlockIndex> {
        self.make(memory, envelope, length, Holding::Buffer { received: 0 })
    }

    /// As [`Region::record_with_buffer`], of a message all of which is here.
    #[inline]
    pub fn record_whole<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        data: &[u8],
    ) -> Option<BlockIndex> {
        let received = data.len() as u32;
        let at = self.make(memory, envelope, received, Holding::Buffer { received })?;
        self.write_buffer(at, 0, data);
        Some(at)
    }

    /// Makes a record without a buffer; `None` when there is no room.
    pub fn record_only<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
        sender: u32,
    ) -> Option<BlockIndex> {
        self.make(memory, envelope, length, Holding::Nothing { sender })
    }

    #[inline]
    fn make<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
        holding: Holding,
    ) -> Option<BlockIndex> {
        let record = Record {
            envelope,
            length,
            holding,
        };
        // One run holds both, the record first.
        let at = self.take_run(memory, record.blocks())?;
        self.write_record(at, record);
        Some(at)
    }

    fn write_record(&mut self, at: BlockIndex, record: Record) {
        let name_bits = self.name_bits;
        let block = self.block_mut(at);
        let generation = Generation::from_byte(block[field::GENERATION]).next(name_bits);
        let (kind, word, receive) = held(record.holding);
        let [low, high] = record.envelope.context.to_le_bytes();
        let context = u32::from_le_bytes([low, high, kind, generation.to_byte()]);
        put(block, field::SOURCE, record.envelope.source.index());
        put(block, field::TAG, record.envelope.tag as u32);
        put(block, field::CONTEXT, context);
        put(block, field::LENGTH, record.length);
        put(block, field::SENDER_OR_RECEIVED, word);
        put(block, field::ENGINE, 0);
        put(block, field::NEXT, 0);
        put(block, field::PREV_OR_RECEIVE, receive.unwrap_or(0));
        self.records += 1;
        self.peak_records = self.peak_records.max(self.records);
    }

    /// The record that begins at `at`; `None` when none is there.
    pub fn record(&self, at: BlockIndex) -> Option<Record> {
        Record::read(self.block(at))
    }

    /// Changes where the data of the record at `at` is.
    pub fn set_holding(&mut self, at: BlockIndex, holding: Holding) {
        write_holding(self.block_mut(at), holding);
    }

    /// The wire name of the record at `at`.
    pub fn id(&self, at: BlockIndex) -> RecordId {
        RecordId::new(at, Generation::from_byte(self.block(at)[field::GENERATION]))
    }

    /// The block of the live record that `id` names; `None` when it names none.
    pub fn find(&self, id: RecordId) -> Option<BlockIndex> {
        let block = id.block();
        let (blocks, at) = self.locate(block)?;
        (blocks.blocks[at][field::KIND] != KIND_FREE && self.id(block) == id).then_some(block)
    }

    /// Frees the record at `at`, if one is there, and its buffer; how many blocks that were.
    pub fn release<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) -> u32 {
        match self.record(at) {
            Some(record) => self.free_record(memory, at, &record),
            None => 0,
        }
    }

    /// As [`Region::release`], of what [`Region::record`] has just said to be there.
    #[inline]
    pub(crate) fn free_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        at: BlockIndex,
        record: &Record,
    ) -> u32 {
        let count = record.blocks();
        self.block_mut(at)[field::KIND] = KIND_FREE;
        self.records -= 1;
        let more = match self.extended > 0 && EXTENDS {
            true => self.free_extension(memory, at),
            false => 0,
        };
        self.free_run(memory, at, count);
        count + more
    }

    /// Frees the block that the record at `at` has been extended by; how many blocks that were.
    #[inline(never)]
    fn free_extension<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) -> u32 {
        let Some(block) = self.extension(at) else {
            return 0;
        };
        self.extended -= 1;
        self.free_run(memory, block, 1);
        1
    }

    /// Gives the record at `at` one more block, which is the matching engine's until the record is freed, and is named
    /// by the engine's word from now on. The block's bytes mean nothing at first. `None` when no block is free: none is
    /// borrowed for this.
    pub(crate) fn extend(&mut self, at: BlockIndex) -> Option<BlockIndex> {
        let block = match self.reserve.take_run(1) {
            Some(block) => BlockIndex::new(block),
            None => self.take_run_of_loans(1)?,
        };
        self.took(1);
        self.extended += 1;
        self.set_word(at, EXTENDED | block.index());
        Some(block)
    }

    /// The word of a record that has been [extended](Region::extend).
    #[inline]
    pub(crate) fn is_extended(word: u32) -> bool {
        word & EXTENDED != 0
    }

    /// The block that the record at `at` has been [extended](Region::extend) by.
    #[inline]
    pub(crate) fn extension(&self, at: BlockIndex) -> Option<BlockIndex> {
        let word = self.word(at);
        Self::is_extended(word).then(|| BlockIndex::new(word & !EXTENDED))
    }

    /// The bytes of a block that a record has been extended by.
    #[inline]
    pub(crate) fn extension_bytes(&self, block: BlockIndex) -> &Block {
        self.block(block)
    }

    /// As [`Region::extension_bytes`], to change them.
    #[inline]
    pub(crate) fn extension_bytes_mut(&mut self, block: BlockIndex) -> &mut Block {
        self.block_mut(block)
    }

    /// A block is free, and at least a [`LOW_WATERMARK`]th of the reserve.
    pub(crate) fn has_spare(&self) -> bool {
        self.free > self.reserve.len() as u32 / LOW_WATERMARK
    }

    /// Blocks that are free for [`Region::extend`], of the reserve and of loans.
    #[inline]
    pub(crate) fn free_to_extend(&self) -> u32 {
        match EXTENDS {
            true => self.free,
            false => 0,
        }
    }

    /// Copies `bytes` into the buffer of the record at `at`, at `offset`.
    pub fn write_buffer(&mut self, at: BlockIndex, offset: u32, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let (blocks, at) = self.locate_mut(at).expect("a record's block");
        let start = (at + 1) * BLOCK_BYTES + offset as usize;
        blocks.blocks.as_flattened_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// The first `len` bytes of the buffer of the record at `at`.
    pub fn read_buffer(&self, at: BlockIndex, len: u32) -> &[u8] {
        let (blocks, at) = self.locate(at).expect("a record's block");
        let start = (at + 1) * BLOCK_BYTES;
        &blocks.blocks.as_flattened()[start..start + len as usize]
    }

    /// The envelope of the record at `at`.
    #[inline]
    pub fn envelope(&self, at: BlockIndex) -> Envelope {
        envelope(self.block(at))
    }

    /// The word of the record at `at` that is the matching engine's; 0 in a new record.
    #[inline]
    pub fn word(&self, at: BlockIndex) -> u32 {
        get(self.block(at), field::ENGINE)
    }

    /// Sets the word that is the matching engine's.
    #[inline]
    pub fn set_word(&mut self, at: BlockIndex, word: u32) {
        put(self.block_mut(at), field::ENGINE, word);
    }

    /// Whether the record at `at` matches `pattern`.
    pub fn matches(&self, at: BlockIndex, pattern: &Pattern) -> bool {
        pattern.matches(&envelope(self.block(at)))
    }

    /// Whether the record at `at` matches `pattern`, and what comes behind it in its list.
    #[inline]
    pub(crate) fn look(&self, at: BlockIndex, pattern: &Pattern) -> (bool, Option<BlockIndex>) {
        let block = self.block(at);
        let next = BlockIndex::from_word(get(block, field::NEXT));
        (pattern.matches(&envelope(block)), next)
    }
}

fn envelope(block: &Block) -> Envelope {
    Envelope {
        source: Rank::new(get(block, field::SOURCE)),
        tag: get(block, field::TAG) as i32,
        context: u16::from_le_bytes([block[field::CONTEXT], block[field::CONTEXT + 1]]),
    }
}

/// How a record says where its data is: its kind, a word, and one that only some have.
fn held(holding: Holding) -> (u8, u32, Option<u32>) {
    match holding {
        Holding::Nothing { sender } => (KIND_NOTHING, sender, None),
        Holding::Buffer { received } => (KIND_BUFFER, received, None),
        Holding::Bound { received, receive } => (KIND_BOUND, received, Some(receive.0)),
    }
}

fn write_holding(block: &mut Block, holding: Holding) {
    let (kind, word, receive) = held(holding);
    block[field::KIND] = kind;
    put(block, field::SENDER_OR_RECEIVED, word);
    if let Some(receive) = receive {
        put(block, field::PREV_OR_RECEIVE, receive);
    }
}

/// What the region does from now on depends on what is taken, up to the names that it gives out. Where
/// things stand makes no difference as long as there are two blocks at most: either both are free or one
/// piece is. What the records in the queue say is hashed with the queue.
impl Hash for Region {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let lent = (0..MAX_LOANS as u32).map(|loan| MAX_BLOCKS as u32 + loan * MAX_LOAN_BLOCKS);
        self.refused_at.hash(state);
        for base in core::iter::once(0).chain(lent) {
            let Some((blocks, _)) = self.locate(BlockIndex::new(base)) else {
                continue;
            };
            if blocks.len() > 2 {
                (base, blocks.hint, &blocks.taken).hash(state);
                for block in &blocks.blocks {
                    block[field::GENERATION].hash(state);
                }
            }
            let bits = &blocks.taken.view_bits::<Lsb0>()[..blocks.len()];
            let mut at = 0;
            while let Some(index) = bits[at..].first_one().map(|skip| at + skip) {
                // A run begins with its record; a buffer follows it.
                let block = BlockIndex::new(base + index as u32);
                let record = self.record(block).expect("a taken run's record");
                at = index + 1;
                if let Holding::Buffer { .. } | Holding::Bound { .. } = record.holding {
                    at += buffer_blocks(record.length) as usize;
                }
                if let Holding::Bound { .. } = record.holding {
                    self.hash_record(block, state);
                }
            }
        }
    }
}

impl Region {
    /// Hashes the record at `at`: its place where that makes a difference, and its name as long as
    /// something under way may name it.
    pub(crate) fn hash_record<H: Hasher>(&self, block: BlockIndex, state: &mut H) {
        let (blocks, at) = self.locate(block).expect("a block");
        if blocks.len() > 2 {
            at.hash(state);
        }
        let record = self.record(block).expect("a live record");
        core::mem::discriminant(&record.holding).hash(state);
        let received = match record.holding {
            Holding::Nothing { .. } => return record.hash(state),
            Holding::Buffer { received } => received,
            Holding::Bound { received, receive } => {
                receive.hash(state);
                received
            }
        };
        (record.envelope, record.length, received).hash(state);
        self.read_buffer(block, record.length).hash(state);
        if received < record.length {
            self.id(block).hash(state);
        }
    }
}

impl Links<BlockIndex> for Region {
    fn next(&self, at: BlockIndex) -> Option<BlockIndex> {
        BlockIndex::from_word(get(self.block(at), field::NEXT))
    }
    fn set_next(&mut self, at: BlockIndex, next: Option<BlockIndex>) {
        put(self.block_mut(at), field::NEXT, BlockIndex::to_word(next));
    }
    fn set_prev(&mut self, at: BlockIndex, prev: Option<BlockIndex>) {
        let word = BlockIndex::to_word(prev);
        put(self.block_mut(at), field::PREV_OR_RECEIVE, word);
    }
    fn neighbours(&self, at: BlockIndex) -> (Option<BlockIndex>, Option<BlockIndex>) {
        let prev = BlockIndex::from_word(get(self.block(at), field::PREV_OR_RECEIVE));
        (prev, self.next(at))
    }
    fn set_neighbours(
        &mut self,
        at: BlockIndex,
        prev: Option<BlockIndex>,
        next: Option<BlockIndex>,
    ) {
        self.set_prev(at, prev);
        self.set_next(at, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{RawMemory, Span};

    fn blocks(count: usize) -> Blocks {
        let words = vec![usize::MAX; Blocks::map_words(count)].into_boxed_slice();
        Blocks::new(vec![[0; BLOCK_BYTES]; count].into_boxed_slice(), words)
    }

    fn region(count: usize) -> Region {
        Region::new(blocks(count))
    }

    #[test]
    fn words_are_the_same_wherever_a_block_begins() {
        let mut bytes = [0u64; 8];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut bytes);
        for shift in 0..8 {
            let block = bytes[shift..].first_chunk_mut().expect("a block");
            put(block, field::LENGTH, 0x8070_6050);
            assert_eq!(get(block, field::LENGTH), 0x8070_6050);
            assert_eq!(block[field::LENGTH..][..4], [0x50, 0x60, 0x70, 0x80]);
        }
    }

    /// Lends so many blocks at most.
    struct Lender {
        spare: u32,
    }

    impl UserMemory for Lender {
        fn read(&self, _: Span, _: usize, _: &mut [u8]) {}
        fn write(&mut self, _: Span, _: usize, _: &[u8]) {}
        fn spare_blocks(&self) -> u32 {
            self.spare
        }
        fn lend(&mut self, count: u32) -> Option<Blocks> {
            self.spare = self.spare.checked_sub(count)?;
            Some(blocks(count as usize))
        }
        fn take_back(&mut self, loan: Blocks) {
            assert!(loan.is_empty());
            self.spare += loan.len() as u32;
        }
    }

    fn envelope(tag: i32) -> Envelope {
        Envelope {
            source: Rank::new(3),
            tag,
            context: 9,
        }
    }

    #[test]
    fn a_record_reads_back_as_it_was_written_in_every_state() {
        let mut region = region(8);
        let index = region
            .record_with_buffer(&mut RawMemory, envelope(5), 40)
            .unwrap();
        let id = region.id(index);
        let record = region.record(index).unwrap();
        assert_eq!((record.envelope, record.length), (envelope(5), 40));
        assert_eq!(record.holding, Holding::Buffer { received: 0 });
        for holding in [
            Holding::Nothing { sender: 77 },
            Holding::Bound {
                received: 12,
                receive: RequestId(4),
            },
            Holding::Buffer { received: 40 },
        ] {
            region.set_holding(index, holding);
            assert_eq!(region.record(index).unwrap().holding, holding);
        }
        assert_eq!(region.find(id), Some(index));
        region.release(&mut RawMemory, index);
        assert_eq!(
            (region.find(id), region.used_bytes(), region.records()),
            (None, 0, 0)
        );
        let again = region
            .record_only(&mut RawMemory, envelope(6), 0, 1)
            .unwrap();
        assert_eq!(
            region.find(id),
            None,
            "block {again:?} has a new generation"
        );
    }

    #[test]
    fn names_that_name_nothing_find_nothing() {
        let mut region = region(2);
        region
            .record_only(&mut RawMemory, envelope(1), 0, 0)
            .unwrap();
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
        let mut live: Vec<(BlockIndex, u32)> = Vec::new();
        let mut taken = [false; BLOCKS];
        let (mut peak, mut failures) = (0, 0);
        for _ in 0..50_000 {
            if random(5) < 3 {
                let bytes = random(400);
                let blocks = 1 + buffer_blocks(bytes);
                match region.record_with_buffer(&mut RawMemory, envelope(0), bytes) {
                    Some(at) => {
                        let run = &mut taken[at.index() as usize..][..blocks as usize];
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
                region.release(&mut RawMemory, at);
                taken[at.index() as usize..][..blocks as usize].fill(false);
            }
            let used = taken.iter().filter(|&&taken| taken).count() * BLOCK_BYTES;
            peak = peak.max(used);
            assert_eq!((region.used_bytes(), region.peak_bytes()), (used, peak));
        }
        assert!(failures > 1000, "the region was full now and then");
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn what_the_reserve_has_no_room_for_is_borrowed_and_given_back() {
        let mut lender = Lender { spare: 200 };
        let mut region = region(2);
        let mut records = Vec::new();
        while let Some(at) = region.record_with_buffer(&mut lender, envelope(1), 33) {
            region.write_buffer(at, 0, &[records.len() as u8; 33]);
            records.push(at);
        }
        // Runs of 3: none in the reserve of 2, 42 in the first loan of 128, 24 in what is left of 72.
        assert_eq!((records.len(), lender.spare), (42 + 24, 0));
        assert_eq!(region.free_blocks(&lender), 2 + 2);
        assert_eq!(region.peak_lent_bytes(), 200 * BLOCK_BYTES);
        for (n, &at) in records.iter().enumerate() {
            assert_eq!(region.find(region.id(at)), Some(at));
            assert_eq!(region.read_buffer(at, 33), [n as u8; 33]);
        }
        let named: Vec<RecordId> = records.iter().map(|&at| region.id(at)).collect();
        for &at in &records {
            region.release(&mut lender, at);
        }
        assert_eq!(
            (lender.spare, region.lent_bytes(), region.used_bytes()),
            (200, 0, 0)
        );
        assert!(named.iter().all(|&id| region.find(id).is_none()));
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_run_within_a_loan_is_freed_where_it_is() {
        let mut lender = Lender { spare: 100 };
        let mut region = region(0);
        let take = |region: &mut Region, lender: &mut Lender| {
            region.record_only(lender, envelope(1), 0, 0)
        };
        let records: Vec<BlockIndex> =
            core::iter::from_fn(|| take(&mut region, &mut lender)).collect();
        assert_eq!(records.len(), 100);
        for at in [70, 3] {
            region.release(&mut lender, records[at]);
            assert_eq!(take(&mut region, &mut lender), Some(records[at]));
        }
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_lender_that_refuses_what_it_offers_is_not_counted_on() {
        struct Liar(u32);
        impl UserMemory for Liar {
            fn read(&self, _: Span, _: usize, _: &mut [u8]) {}
            fn write(&mut self, _: Span, _: usize, _: &[u8]) {}
            fn spare_blocks(&self) -> u32 {
                self.0
            }
        }
        let mut region = region(1);
        let mut liar = Liar(9);
        assert_eq!(region.free_blocks(&liar), 10);
        region.record_only(&mut liar, envelope(0), 0, 0).unwrap();
        assert_eq!(region.record_only(&mut liar, envelope(0), 0, 0), None);
        assert_eq!(region.free_blocks(&liar), 0);
        assert_eq!(
            region.free_blocks(&Liar(8)),
            8,
            "it has said something else"
        );
    }

    /// Below a quarter of the reserve, and not at it.
    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn the_region_is_low_when_little_is_free_and_nothing_is_to_be_borrowed() {
        for blocks in [16, 19] {
            let mut region = region(blocks);
            assert_eq!(region.bytes(), blocks * BLOCK_BYTES);
            for free in (0..blocks).rev() {
                region
                    .record_only(&mut RawMemory, envelope(0), 0, 0)
                    .unwrap();
                assert_eq!(region.is_low(&RawMemory), free < blocks / 4, "{free}");
                assert!(!region.is_low(&Lender { spare: 1 }));
            }
            assert_eq!(region.peak_records() as usize, blocks);
        }
    }

    /// Says that it has so many blocks, and lends them in pieces of so many at most.
    struct InPieces {
        spare: u32,
        piece: u32,
        asked: Vec<u32>,
    }

    impl UserMemory for InPieces {
        fn read(&self, _: Span, _: usize, _: &mut [u8]) {}
        fn write(&mut self, _: Span, _: usize, _: &[u8]) {}
        fn spare_blocks(&self) -> u32 {
            self.spare
        }
        fn lend(&mut self, count: u32) -> Option<Blocks> {
            self.asked.push(count);
            if count > self.piece {
                return None;
            }
            self.spare -= count;
            Some(blocks(count as usize))
        }
        fn take_back(&mut self, loan: Blocks) {
            self.spare += loan.len() as u32;
        }
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_loan_is_asked_for_by_halves_down_to_what_is_needed() {
        let lender = |spare, piece| InPieces {
            spare,
            piece,
            asked: Vec::new(),
        };
        for (piece, needed, asked, got) in [
            (1000, 3, vec![128], 128),
            (40, 3, vec![128, 64, 32], 32),
            (3, 3, vec![128, 64, 32, 16, 8, 4, 3], 3),
            (2, 3, vec![128, 64, 32, 16, 8, 4, 3], 0),
            (300, 200, vec![200], 200),
        ] {
            let (mut region, mut memory) = (region(1), lender(1000, piece));
            let bytes = (needed - 1) * BLOCK_BYTES as u32;
            let record = region.record_with_buffer(&mut memory, envelope(0), bytes);
            assert_eq!(memory.asked, asked);
            assert_eq!(record.is_some(), got > 0);
            let lent = region.lent_bytes();
            assert_eq!((lent, region.peak_lent_bytes()), (got * BLOCK_BYTES, lent));
            // What could not be had in one piece may still be had in smaller ones.
            let free = 1 + got as u32 - if got > 0 { needed } else { 0 };
            assert_eq!(region.free_blocks(&memory), free + memory.spare);
            if let Some(record) = record {
                region.release(&mut memory, record);
                assert_eq!((region.lent_bytes(), memory.spare), (0, 1000));
                assert_eq!(region.free_blocks(&memory), 1001);
            }
        }
    }

    /// A loan takes one of few places, so it is worth it only if it is a part of what is lent already.
    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_loan_that_is_too_small_beside_the_others_is_not_taken() {
        let mut memory = Lender { spare: 128 };
        let mut region = region(0);
        let take = |region: &mut Region, memory: &mut Lender| {
            region.record_only(memory, envelope(0), 0, 0).is_some()
        };
        for _ in 0..128 {
            assert!(take(&mut region, &mut memory));
        }
        for (spare, is_enough) in [(0, false), (31, false), (32, true), (33, true)] {
            let mut region = region.clone();
            let mut memory = Lender { spare };
            let free = if is_enough { spare } else { 0 };
            assert_eq!(region.free_blocks(&memory), free);
            assert_eq!(take(&mut region, &mut memory), is_enough, "{spare} blocks");
        }
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn there_are_so_many_loans_at_most() {
        let mut memory = InPieces {
            spare: u32::MAX,
            piece: 1,
            asked: Vec::new(),
        };
        let mut region = region(0);
        for _ in 0..MAX_LOANS {
            assert!(region.free_blocks(&memory) > 0);
            let record = region.record_only(&mut memory, envelope(0), 0, 0);
            assert!(record.is_some());
        }
        assert_eq!(region.free_blocks(&memory), 0);
        assert_eq!(region.record_only(&mut memory, envelope(0), 0, 0), None);
        assert!(region.is_low(&memory) || region.bytes() == 0);
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_run_longer_than_a_loan_may_be_is_not_borrowed() {
        let mut memory = InPieces {
            spare: u32::MAX,
            piece: u32::MAX,
            asked: Vec::new(),
        };
        let mut region = region(1);
        let bytes = MAX_LOAN_BLOCKS * BLOCK_BYTES as u32;
        assert_eq!(
            region.record_with_buffer(&mut memory, envelope(0), bytes),
            None
        );
        assert_eq!(memory.asked, []);
        let record =
            region.record_with_buffer(&mut memory, envelope(0), bytes - BLOCK_BYTES as u32);
        assert!(record.is_some());
        assert_eq!(memory.asked, [MAX_LOAN_BLOCKS]);
    }

    #[test]
    fn a_context_is_kept_whole() {
        let mut region = region(1);
        let envelope = Envelope {
            source: Rank::new(0x0102_0304),
            tag: 0x0506_0708,
            context: 0x090A,
        };
        let at = region.record_only(&mut RawMemory, envelope, 0, 0).unwrap();
        assert_eq!(region.record(at).unwrap().envelope, envelope);
    }

    #[test]
    fn a_name_behind_the_last_block_names_nothing() {
        let region = region(2);
        let last = RecordId(u32::MAX).block();
        for block in [2, 3, MAX_BLOCKS as u32]
            .map(BlockIndex::new)
            .into_iter()
            .chain([last])
        {
            assert_eq!(region.find(RecordId::new(block, Generation::FIRST)), None);
        }
    }
}
