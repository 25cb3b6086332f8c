//! MPI memory (emergency memory): one fixed region for unexpected records and their buffers.
//!
//! The region is an array of 32-byte blocks with a bitmap of the allocated ones. A record uses one block, and a buffer
//! uses a run of blocks. Nothing else grows with incoming traffic, so the region's size is the memory bound.
//!
//! The *initial region* is always available. A host environment may loan more memory
//! ([`UserMemory::lend`]; on a node, from the program's heap with `--mpi-borrow`). The region borrows up to
//! [`MAX_LOANS`] further arrays when the initial region is full. The first is small, and each next one is twice as large. An
//! empty array is returned immediately.
//!
//! ```text
//!   block number   0 ... initial region .... 2^23 ... loan 0 ... + 2^19 ... loan 1 ... + 2^20 ... 2^24
//! ```
#![forbid(unsafe_code)]

use bitvec::order::Lsb0;
use bitvec::view::BitView;
use core::hash::{Hash, Hasher};

use crate::envelope::{Envelope, MatchPattern, Rank};
use crate::ids::{BlockIndex, Generation, GenerationBits, RECORD_GENERATION_BITS, RequestId};
use crate::list::LinkStorage;
use crate::memory::UserMemory;
pub use crate::memory::blocks::{BLOCK_BYTES, Block, BlockArray};

/// Maximum blocks of the initial region (256 MiB). This is half the index range of a record ID; loans use the other half.
pub const MAX_BLOCKS: usize = 1 << 23;
/// Maximum simultaneous loans.
pub const MAX_LOANS: usize = 16;
/// Loan slots of the region: none in a build without borrowing.
const PLACES: usize = if cfg!(feature = "borrow") { MAX_LOANS } else { 0 };
/// Maximum blocks of a loan (16 MiB).
pub const MAX_LOAN_BLOCKS: u32 = (MAX_BLOCKS / MAX_LOANS) as u32;
/// Minimum size of a further loan, as a divisor of the total borrowed. A smaller loan does not justify a slot.
const MIN_GROWTH: u32 = 4;
/// Low watermark, as a divisor of the initial region. Below it, sources are notified and stop sending eagerly (back-pressure).
pub const LOW_WATERMARK: u32 = 4;
/// Blocks of the first loan, if it is sufficient and available.
const FIRST_LOAN_BLOCKS: u32 = 128;

/// ID of a record on the wire: block index and generation. The top bit is set, which distinguishes it from a request
/// ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordId(pub u32);

impl RecordId {
    const FLAG: u32 = 1 << 31;

    fn new(at: BlockIndex, generation: Generation) -> Self {
        RecordId(Self::FLAG | generation.word() << 24 | at.index())
    }

    /// Returns the record ID in `target`, if `target` contains one.
    pub fn from_target(target: u32) -> Option<Self> {
        (target & Self::FLAG != 0).then_some(RecordId(target))
    }

    fn block(self) -> BlockIndex {
        BlockIndex::new(self.0 & 0x00FF_FFFF)
    }
}

/// Data state of an unexpected record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordData {
    /// No buffer: the sender keeps the data.
    None {
        /// The sender's ID of its request.
        sender: u32,
    },
    /// A buffer, which may still be incomplete.
    Buffer {
        /// Bytes received.
        received: u32,
    },
    /// A buffer whose message already matches a receive. The record is in no queue.
    MatchedBuffer {
        /// Bytes received.
        received: u32,
        /// The receive that waits for the remaining bytes.
        receive: RequestId,
    },
}

/// Record of an unexpected message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UnexpectedRecord {
    /// The message's envelope.
    pub envelope: Envelope,
    /// Length of the message in bytes.
    pub length: u32,
    /// State of the message's data.
    pub holding: RecordData,
}

impl UnexpectedRecord {
    /// Returns the number of blocks that the record and its buffer use.
    #[inline]
    fn blocks(&self) -> u32 {
        1 + match self.holding {
            RecordData::Buffer { .. } | RecordData::MatchedBuffer { .. } => buffer_blocks(self.length),
            RecordData::None { .. } => 0,
        }
    }

    /// Decodes the record in a block, if it contains one.
    #[inline]
    fn read(block: &Block) -> Option<Self> {
        let data = get(block, field::SENDER_OR_RECEIVED);
        Some(Self {
            envelope: envelope(block),
            length: get(block, field::LENGTH),
            holding: match block[field::KIND] {
                KIND_NOTHING => RecordData::None { sender: data },
                KIND_BUFFER => RecordData::Buffer { received: data },
                KIND_BOUND => RecordData::MatchedBuffer {
                    received: data,
                    receive: RequestId(get(block, field::PREV_OR_RECEIVE)),
                },
                _ => return None,
            },
        })
    }
}

/// Byte offsets of a record's fields in its block: source 0..4, tag 4..8, context 8..10, kind 10, generation 11, length
/// 12..16, sender or received 16..20, the matching engine's word 20..24, next 24..28, previous or receive 28..32. The
/// buffer follows the record. Two fields are shared: the sender's ID is required only until a buffer is granted, and
/// the list links only until a receive matches.
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

/// Reads the word at offset `at`, one of [`field`]. Nodes' processors do not require alignment.
#[inline(always)]
fn get(block: &Block, at: usize) -> u32 {
    let word = block[at..].first_chunk();
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Writes a word in the format of [`get`].
#[inline(always)]
fn put(block: &mut Block, at: usize, value: u32) {
    if let Some(word) = block[at..].first_chunk_mut() {
        *word = value.to_le_bytes();
    }
}

/// Returns the number of blocks in a buffer of `bytes`.
pub const fn buffer_blocks(bytes: u32) -> u32 {
    bytes.div_ceil(BLOCK_BYTES as u32)
}

/// The initial region, its loans and their counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    initial_region: BlockArray,
    loans: [Option<BlockArray>; PLACES],
    /// Spare blocks reported by the lender when it rejected a loan of a single block. Nothing is available until it
    /// reports another count.
    refused_at: Option<u32>,
    used: u32,
    /// Free blocks of the initial region and of loans.
    free: u32,
    records: u32,
    peak_records: u32,
    peak_blocks: u32,
    peak_lent: u32,
    /// Records with an extension block for the matching engine.
    extended: u32,
    id_bits: GenerationBits,
}

/// Enables extension blocks of records. The engines of a small build use none.
const EXTENDS: bool = cfg!(any(test, not(feature = "micro")));
/// Flag in a record's matching-engine word: the word contains the index of an extension block.
const EXTENDED: u32 = 1 << 31;

impl Region {
    /// Creates a region with the specified reserve.
    ///
    /// # Panics
    /// If there are more than [`MAX_BLOCKS`] blocks.
    pub fn new(initial_region: BlockArray) -> Self {
        assert!(initial_region.len() <= MAX_BLOCKS);
        Region {
            loans: [const { None }; PLACES],
            refused_at: None,
            used: 0,
            free: initial_region.len() as u32,
            initial_region,
            records: 0,
            peak_records: 0,
            peak_blocks: 0,
            peak_lent: 0,
            extended: 0,
            id_bits: GenerationBits::new(RECORD_GENERATION_BITS),
        }
    }

    /// Reduces the generation bits of record IDs, for a model checker.
    pub(crate) fn narrow_ids(&mut self, bits: u32) {
        self.id_bits = GenerationBits::new(bits.min(RECORD_GENERATION_BITS));
    }

    /// Returns the size of the initial region in bytes.
    pub fn bytes(&self) -> usize {
        self.initial_region.len() * BLOCK_BYTES
    }

    /// Returns the bytes in use, of the initial region and of loans.
    pub fn used_bytes(&self) -> usize {
        self.used as usize * BLOCK_BYTES
    }

    /// Returns the peak of [`Region::used_bytes`].
    pub fn peak_bytes(&self) -> usize {
        self.peak_blocks as usize * BLOCK_BYTES
    }

    /// Returns the bytes of all current loans, used or free.
    pub fn lent_bytes(&self) -> usize {
        self.lent() as usize * BLOCK_BYTES
    }

    /// Returns the peak of [`Region::lent_bytes`].
    pub fn peak_lent_bytes(&self) -> usize {
        self.peak_lent as usize * BLOCK_BYTES
    }

    /// Checks whether the region has outstanding loans.
    pub fn has_loans(&self) -> bool {
        self.loans.iter().any(Option::is_some)
    }

    /// Returns the index of a block's loan, below [`MAX_LOANS`], and the block's index in it. Returns `None` for a
    /// block of the initial region.
    #[inline]
    pub fn index_in_loan(at: BlockIndex) -> Option<(usize, usize)> {
        let at = at.index().checked_sub(MAX_BLOCKS as u32)?;
        Some(((at / MAX_LOAN_BLOCKS) as usize, (at % MAX_LOAN_BLOCKS) as usize))
    }

    /// Returns the number of blocks of a loan; 0 if it does not exist.
    pub fn blocks_of_loan(&self, loan: usize) -> usize {
        let loan = self.loans.get(loan).and_then(Option::as_ref);
        loan.map_or(0, |loan| loan.len())
    }

    fn lent(&self) -> u32 {
        let loans = self.loans.iter().flatten();
        loans.map(|loan| loan.len() as u32).sum()
    }

    /// Returns the number of live records.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Returns the peak of [`Region::records`].
    pub fn peak_records(&self) -> u32 {
        self.peak_records
    }

    /// Returns the number of blocks that are free or could be borrowed: the capacity in records without a buffer.
    pub fn free_blocks<M: UserMemory + ?Sized>(&self, memory: &M) -> u32 {
        self.free + self.borrowable(memory)
    }

    /// Checks whether the region is below the low watermark: fewer free blocks than a [`LOW_WATERMARK`]th of the
    /// reserve, and nothing to borrow (paper 003: one pool for all peers, whose senders are throttled before it is used
    /// up).
    pub fn is_low<M: UserMemory + ?Sized>(&self, memory: &M) -> bool {
        self.free < self.initial_region.len() as u32 / LOW_WATERMARK && self.borrowable(memory) == 0
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

    /// Returns how many of `spare` blocks could be borrowed.
    // One copy for all memory types, since borrowing is rare.
    #[cold]
    #[inline(never)]
    fn borrowable_of(&self, spare: u32) -> u32 {
        if self.refused_at == Some(spare) {
            return 0;
        }
        // A few loans must hold all borrowed memory, even if memory becomes free in small pieces.
        let too_little = spare < self.lent() / MIN_GROWTH;
        let none = too_little || self.loans.iter().all(Option::is_some);
        if none { 0 } else { spare }
    }

    /// Allocates a run of `count` blocks, at least 1, from the initial region or from a loan.
    fn allocate_run<M: UserMemory + ?Sized>(&mut self, memory: &mut M, count: u32) -> Option<BlockIndex> {
        let run = match self.initial_region.allocate_run(count) {
            Some(start) => BlockIndex::new(start),
            None => self.allocate_lent_run(memory, count)?,
        };
        self.count_taken(count);
        Some(run)
    }

    #[inline]
    fn count_taken(&mut self, count: u32) {
        self.used += count;
        self.free -= count;
        self.peak_blocks = self.peak_blocks.max(self.used);
    }

    #[cold]
    fn allocate_lent_run<M: UserMemory + ?Sized>(&mut self, memory: &mut M, count: u32) -> Option<BlockIndex> {
        match self.allocate_run_in_loans(count) {
            None => {
                let spare = self.borrowable(memory);
                self.borrow_run(spare, count, &mut |blocks| memory.lend(blocks))
            }
            run => run,
        }
    }

    /// Returns the block index of offset `start` in loan `at`.
    fn lent_block_index(at: usize, start: u32) -> BlockIndex {
        BlockIndex::new(MAX_BLOCKS as u32 + at as u32 * MAX_LOAN_BLOCKS + start)
    }

    // One copy of each for all memory types, since borrowing is rare.
    #[inline(never)]
    fn allocate_run_in_loans(&mut self, count: u32) -> Option<BlockIndex> {
        let lent = self.loans.iter_mut().enumerate();
        let mut lent = lent.filter_map(|(at, loan)| Some((at, loan.as_mut()?)));
        lent.find_map(|(at, loan)| Some(Self::lent_block_index(at, loan.allocate_run(count)?)))
    }

    /// Borrows up to `spare` blocks and allocates a run of `count` from them, if a loan slot is free.
    #[inline(never)]
    fn borrow_run(
        &mut self,
        spare: u32,
        count: u32,
        lend: &mut dyn FnMut(u32) -> Option<BlockArray>,
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
        let start = loan.allocate_run(count);
        self.free += loan.len() as u32;
        self.loans[at] = Some(loan);
        self.peak_lent = self.peak_lent.max(self.lent());
        start.map(|start| Self::lent_block_index(at, start))
    }

    #[inline]
    fn free_run<M: UserMemory + ?Sized>(&mut self, memory: &mut M, first: BlockIndex, count: u32) {
        self.used -= count;
        self.free += count;
        match first.index().checked_sub(MAX_BLOCKS as u32) {
            None => self.initial_region.free_run(first.index(), count),
            Some(at) => self.free_lent(memory, at, count),
        }
    }

    /// Frees borrowed blocks. `at` is the first one's index in the loan address range.
    #[cold]
    fn free_lent<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: u32, count: u32) {
        let slot = &mut self.loans[(at / MAX_LOAN_BLOCKS) as usize];
        let loan = slot.as_mut().expect("a taken block's loan");
        loan.free_run(at % MAX_LOAN_BLOCKS, count);
        if loan.is_empty()
            && let Some(loan) = slot.take()
        {
            self.free -= loan.len() as u32;
            memory.return_loan(loan);
        }
    }

    /// Returns the array that contains `block`, and the block's index in it. Returns `None` if there is no such block.
    fn locate(&self, block: BlockIndex) -> Option<(&BlockArray, usize)> {
        let index = block.index();
        let (blocks, at) = match index.checked_sub(MAX_BLOCKS as u32) {
            None => (&self.initial_region, index),
            Some(at) => (
                self.loans.get((at / MAX_LOAN_BLOCKS) as usize)?.as_ref()?,
                at % MAX_LOAN_BLOCKS,
            ),
        };
        ((at as usize) < blocks.len()).then_some((blocks, at as usize))
    }

    fn locate_mut(&mut self, block: BlockIndex) -> Option<(&mut BlockArray, usize)> {
        let index = block.index();
        let (blocks, at) = match index.checked_sub(MAX_BLOCKS as u32) {
            None => (&mut self.initial_region, index),
            Some(at) => (
                self.loans.get_mut((at / MAX_LOAN_BLOCKS) as usize)?.as_mut()?,
                at % MAX_LOAN_BLOCKS,
            ),
        };
        ((at as usize) < blocks.len()).then_some((blocks, at as usize))
    }

    // Block indices of loans are above the maximum size of the initial region.
    #[inline]
    fn block(&self, at: BlockIndex) -> &Block {
        match self.initial_region.blocks.get(at.index() as usize) {
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
        if (at.index() as usize) < self.initial_region.blocks.len() {
            return &mut self.initial_region.blocks[at.index() as usize];
        }
        self.lent_block_mut(at)
    }

    #[cold]
    fn lent_block_mut(&mut self, at: BlockIndex) -> &mut Block {
        let (blocks, at) = self.locate_mut(at).expect("a block");
        &mut blocks.blocks[at]
    }

    /// Allocates a record with a buffer of `length` bytes. Returns `None` if the memory is full.
    pub fn record_with_buffer<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
    ) -> Option<BlockIndex> {
        self.make(memory, envelope, length, RecordData::Buffer { received: 0 })
    }

    /// Allocates a record of a completely received message and copies `data` into its buffer. Returns `None` if the
    /// memory is full.
    #[inline]
    pub fn record_complete<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        data: &[u8],
    ) -> Option<BlockIndex> {
        let received = data.len() as u32;
        let at = self.make(memory, envelope, received, RecordData::Buffer { received })?;
        self.write_buffer(at, 0, data);
        Some(at)
    }

    /// Allocates a record without a buffer. Returns `None` if the memory is full.
    pub fn record_without_buffer<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
        sender: u32,
    ) -> Option<BlockIndex> {
        self.make(memory, envelope, length, RecordData::None { sender })
    }

    #[inline]
    fn make<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: Envelope,
        length: u32,
        holding: RecordData,
    ) -> Option<BlockIndex> {
        let record = UnexpectedRecord {
            envelope,
            length,
            holding,
        };
        // One run contains both, the record first.
        let at = self.allocate_run(memory, record.blocks())?;
        self.write_record(at, record);
        Some(at)
    }

    fn write_record(&mut self, at: BlockIndex, record: UnexpectedRecord) {
        let id_bits = self.id_bits;
        let block = self.block_mut(at);
        let generation = Generation::from_byte(block[field::GENERATION]).next(id_bits);
        let (kind, word, receive) = encode_data(record.holding);
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

    /// Returns the record at `at`, or `None` if the block contains none.
    pub fn record(&self, at: BlockIndex) -> Option<UnexpectedRecord> {
        UnexpectedRecord::read(self.block(at))
    }

    /// Updates the data state of the record at `at`.
    pub fn set_holding(&mut self, at: BlockIndex, holding: RecordData) {
        write_data(self.block_mut(at), holding);
    }

    /// Returns the wire ID of the record at `at`.
    pub fn id(&self, at: BlockIndex) -> RecordId {
        RecordId::new(at, Generation::from_byte(self.block(at)[field::GENERATION]))
    }

    /// Returns the block of the live record with this ID, or `None` if there is none.
    pub fn find(&self, id: RecordId) -> Option<BlockIndex> {
        let block = id.block();
        let (blocks, at) = self.locate(block)?;
        (blocks.blocks[at][field::KIND] != KIND_FREE && self.id(block) == id).then_some(block)
    }

    /// Frees the record at `at`, if any, and its buffer. Returns the number of blocks freed.
    pub fn release<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) -> u32 {
        match self.record(at) {
            Some(record) => self.free_record(memory, at, &record),
            None => 0,
        }
    }

    /// Frees a record that [`Region::record`] has just returned, and its buffer. Returns the number of blocks freed.
    #[inline]
    pub(crate) fn free_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        at: BlockIndex,
        record: &UnexpectedRecord,
    ) -> u32 {
        let count = record.blocks();
        self.block_mut(at)[field::KIND] = KIND_FREE;
        self.records -= 1;
        let more = if self.extended > 0 && EXTENDS {
            self.free_extension(memory, at)
        } else {
            0
        };
        self.free_run(memory, at, count);
        count + more
    }

    /// Frees the extension block of the record at `at`. Returns the number of blocks freed.
    #[inline(never)]
    fn free_extension<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) -> u32 {
        let Some(block) = self.extension(at) else {
            return 0;
        };
        self.extended -= 1;
        self.free_run(memory, block, 1);
        1
    }

    /// Allocates an extension block for the record at `at`. The matching engine uses it until the record is freed; the
    /// engine's word contains its index from now on. The block is not initialized. Returns `None` if no block is free:
    /// this never borrows memory.
    pub(crate) fn extend(&mut self, at: BlockIndex) -> Option<BlockIndex> {
        let block = match self.initial_region.allocate_run(1) {
            Some(block) => BlockIndex::new(block),
            None => self.allocate_run_in_loans(1)?,
        };
        self.count_taken(1);
        self.extended += 1;
        self.set_word(at, EXTENDED | block.index());
        Some(block)
    }

    /// Checks whether a matching-engine word is that of an [extended](Region::extend) record.
    #[inline]
    pub(crate) fn is_extended(word: u32) -> bool {
        word & EXTENDED != 0
    }

    /// Returns the [extension](Region::extend) block of the record at `at`.
    #[inline]
    pub(crate) fn extension(&self, at: BlockIndex) -> Option<BlockIndex> {
        let word = self.word(at);
        Self::is_extended(word).then(|| BlockIndex::new(word & !EXTENDED))
    }

    /// Returns the bytes of an extension block.
    #[inline]
    pub(crate) fn extension_bytes(&self, block: BlockIndex) -> &Block {
        self.block(block)
    }

    /// Returns the bytes of an extension block, for writing.
    #[inline]
    pub(crate) fn extension_bytes_mut(&mut self, block: BlockIndex) -> &mut Block {
        self.block_mut(block)
    }

    /// Checks whether more blocks are free than a [`LOW_WATERMARK`]th of the initial region.
    pub(crate) fn has_spare(&self) -> bool {
        self.free > self.initial_region.len() as u32 / LOW_WATERMARK
    }

    /// Returns the number of free blocks for [`Region::extend`], of the initial region and of loans.
    #[inline]
    pub(crate) fn free_to_extend(&self) -> u32 {
        if EXTENDS { self.free } else { 0 }
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

    /// Returns the first `len` bytes of the buffer of the record at `at`.
    pub fn read_buffer(&self, at: BlockIndex, len: u32) -> &[u8] {
        let (blocks, at) = self.locate(at).expect("a record's block");
        let start = (at + 1) * BLOCK_BYTES;
        &blocks.blocks.as_flattened()[start..start + len as usize]
    }

    /// Returns the envelope of the record at `at`.
    #[inline]
    pub fn envelope(&self, at: BlockIndex) -> Envelope {
        envelope(self.block(at))
    }

    /// Returns the matching engine's word of the record at `at`; 0 in a new record.
    #[inline]
    pub fn word(&self, at: BlockIndex) -> u32 {
        get(self.block(at), field::ENGINE)
    }

    /// Sets the matching engine's word.
    #[inline]
    pub fn set_word(&mut self, at: BlockIndex, word: u32) {
        put(self.block_mut(at), field::ENGINE, word);
    }

    /// Checks whether the record at `at` matches `pattern`.
    pub fn matches(&self, at: BlockIndex, pattern: &MatchPattern) -> bool {
        pattern.matches(&envelope(self.block(at)))
    }

    /// Checks whether the record at `at` matches `pattern`, and returns its successor in the list.
    #[inline]
    pub(crate) fn check_match(&self, at: BlockIndex, pattern: &MatchPattern) -> (bool, Option<BlockIndex>) {
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

/// Encodes the data state of a record: its kind, a word, and the receive's ID if any.
fn encode_data(holding: RecordData) -> (u8, u32, Option<u32>) {
    match holding {
        RecordData::None { sender } => (KIND_NOTHING, sender, None),
        RecordData::Buffer { received } => (KIND_BUFFER, received, None),
        RecordData::MatchedBuffer { received, receive } => (KIND_BOUND, received, Some(receive.0)),
    }
}

fn write_data(block: &mut Block, holding: RecordData) {
    let (kind, word, receive) = encode_data(holding);
    block[field::KIND] = kind;
    put(block, field::SENDER_OR_RECEIVED, word);
    if let Some(receive) = receive {
        put(block, field::PREV_OR_RECEIVE, receive);
    }
}

/// Hashes the state that determines the region's behavior: the allocated blocks, up to the IDs it generates. With at
/// most two blocks, positions make no difference: either both are free or one run is. Records in the queue are hashed
/// with the queue.
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
                if let RecordData::Buffer { .. } | RecordData::MatchedBuffer { .. } = record.holding {
                    at += buffer_blocks(record.length) as usize;
                }
                if let RecordData::MatchedBuffer { .. } = record.holding {
                    self.hash_record(block, state);
                }
            }
        }
    }
}

impl Region {
    /// Hashes the record at `at`: its position where that makes a difference, and its ID while a packet in flight may
    /// refer to it.
    pub fn hash_record<H: Hasher>(&self, block: BlockIndex, state: &mut H) {
        let (blocks, at) = self.locate(block).expect("a block");
        if blocks.len() > 2 {
            at.hash(state);
        }
        let record = self.record(block).expect("a live record");
        core::mem::discriminant(&record.holding).hash(state);
        let received = match record.holding {
            RecordData::None { .. } => return record.hash(state),
            RecordData::Buffer { received } => received,
            RecordData::MatchedBuffer { received, receive } => {
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

impl LinkStorage<BlockIndex> for Region {
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
    fn set_neighbours(&mut self, at: BlockIndex, prev: Option<BlockIndex>, next: Option<BlockIndex>) {
        self.set_prev(at, prev);
        self.set_next(at, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{RawMemory, Span};

    fn blocks(count: usize) -> BlockArray {
        let words = vec![usize::MAX; BlockArray::map_words(count)].into_boxed_slice();
        BlockArray::new(vec![[0; BLOCK_BYTES]; count].into_boxed_slice(), words)
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

    /// Memory with at most `spare` blocks for loans.
    struct LendingMemory {
        spare: u32,
    }

    impl UserMemory for LendingMemory {
        fn read(&self, _: Span, _: usize, _: &mut [u8]) {}
        fn write(&mut self, _: Span, _: usize, _: &[u8]) {}
        fn spare_blocks(&self) -> u32 {
            self.spare
        }
        fn lend(&mut self, count: u32) -> Option<BlockArray> {
            self.spare = self.spare.checked_sub(count)?;
            Some(blocks(count as usize))
        }
        fn return_loan(&mut self, loan: BlockArray) {
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
        let index = region.record_with_buffer(&mut RawMemory, envelope(5), 40).unwrap();
        let id = region.id(index);
        let record = region.record(index).unwrap();
        assert_eq!((record.envelope, record.length), (envelope(5), 40));
        assert_eq!(record.holding, RecordData::Buffer { received: 0 });
        for holding in [
            RecordData::None { sender: 77 },
            RecordData::MatchedBuffer {
                received: 12,
                receive: RequestId(4),
            },
            RecordData::Buffer { received: 40 },
        ] {
            region.set_holding(index, holding);
            assert_eq!(region.record(index).unwrap().holding, holding);
        }
        assert_eq!(region.find(id), Some(index));
        region.release(&mut RawMemory, index);
        assert_eq!((region.find(id), region.used_bytes(), region.records()), (None, 0, 0));
        let again = region.record_without_buffer(&mut RawMemory, envelope(6), 0, 1).unwrap();
        assert_eq!(region.find(id), None, "block {again:?} has a new generation");
    }

    #[test]
    fn names_that_name_nothing_find_nothing() {
        let mut region = region(2);
        region.record_without_buffer(&mut RawMemory, envelope(1), 0, 0).unwrap();
        for target in 0..1 << 16 {
            let id = RecordId(RecordId::FLAG | target << 15 | target & 0xFF);
            if let Some(index) = region.find(id) {
                assert_eq!(region.id(index), id);
            }
        }
        assert_eq!(RecordId::from_target(5), None);
    }

    /// Compares the region with a map of booleans: allocations never overlap, a request fails only when no run of that
    /// length is free, and the counters are correct.
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
                        let free = taken.windows(blocks as usize).any(|run| run.iter().all(|taken| !taken));
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
        let mut lender = LendingMemory { spare: 200 };
        let mut region = region(2);
        let mut records = Vec::new();
        while let Some(at) = region.record_with_buffer(&mut lender, envelope(1), 33) {
            region.write_buffer(at, 0, &[records.len() as u8; 33]);
            records.push(at);
        }
        // Runs of 3: none in the initial region of 2, 42 in the first loan of 128, 24 in the remaining 72.
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
        assert_eq!((lender.spare, region.lent_bytes(), region.used_bytes()), (200, 0, 0));
        assert!(named.iter().all(|&id| region.find(id).is_none()));
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_run_within_a_loan_is_freed_where_it_is() {
        let mut lender = LendingMemory { spare: 100 };
        let mut region = region(0);
        let take =
            |region: &mut Region, lender: &mut LendingMemory| region.record_without_buffer(lender, envelope(1), 0, 0);
        let records: Vec<BlockIndex> = core::iter::from_fn(|| take(&mut region, &mut lender)).collect();
        assert_eq!(records.len(), 100);
        for at in [70, 3] {
            region.release(&mut lender, records[at]);
            assert_eq!(take(&mut region, &mut lender), Some(records[at]));
        }
    }

    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_lender_that_refuses_what_it_offers_is_not_counted_on() {
        struct LyingMemory(u32);
        impl UserMemory for LyingMemory {
            fn read(&self, _: Span, _: usize, _: &mut [u8]) {}
            fn write(&mut self, _: Span, _: usize, _: &[u8]) {}
            fn spare_blocks(&self) -> u32 {
                self.0
            }
        }
        let mut region = region(1);
        let mut liar = LyingMemory(9);
        assert_eq!(region.free_blocks(&liar), 10);
        region.record_without_buffer(&mut liar, envelope(0), 0, 0).unwrap();
        assert_eq!(region.record_without_buffer(&mut liar, envelope(0), 0, 0), None);
        assert_eq!(region.free_blocks(&liar), 0);
        assert_eq!(region.free_blocks(&LyingMemory(8)), 8, "it has said something else");
    }

    /// Below a quarter of the initial region, not at it.
    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn the_region_is_low_when_little_is_free_and_nothing_is_to_be_borrowed() {
        for blocks in [16, 19] {
            let mut region = region(blocks);
            assert_eq!(region.bytes(), blocks * BLOCK_BYTES);
            for free in (0..blocks).rev() {
                region.record_without_buffer(&mut RawMemory, envelope(0), 0, 0).unwrap();
                assert_eq!(region.is_low(&RawMemory), free < blocks / 4, "{free}");
                assert!(!region.is_low(&LendingMemory { spare: 1 }));
            }
            assert_eq!(region.peak_records() as usize, blocks);
        }
    }

    /// Reports `spare` blocks, but loans at most `piece` of them at a time.
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
        fn lend(&mut self, count: u32) -> Option<BlockArray> {
            self.asked.push(count);
            if count > self.piece {
                return None;
            }
            self.spare -= count;
            Some(blocks(count as usize))
        }
        fn return_loan(&mut self, loan: BlockArray) {
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
            // A request that failed in one piece may still succeed in smaller ones.
            let free = 1 + got as u32 - if got > 0 { needed } else { 0 };
            assert_eq!(region.free_blocks(&memory), free + memory.spare);
            if let Some(record) = record {
                region.release(&mut memory, record);
                assert_eq!((region.lent_bytes(), memory.spare), (0, 1000));
                assert_eq!(region.free_blocks(&memory), 1001);
            }
        }
    }

    /// A loan uses one of few slots, so it must be a minimum part of the memory already borrowed.
    #[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
    #[test]
    fn a_loan_that_is_too_small_beside_the_others_is_not_taken() {
        let mut memory = LendingMemory { spare: 128 };
        let mut region = region(0);
        let take = |region: &mut Region, memory: &mut LendingMemory| {
            region.record_without_buffer(memory, envelope(0), 0, 0).is_some()
        };
        for _ in 0..128 {
            assert!(take(&mut region, &mut memory));
        }
        for (spare, is_enough) in [(0, false), (31, false), (32, true), (33, true)] {
            let mut region = region.clone();
            let mut memory = LendingMemory { spare };
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
            let record = region.record_without_buffer(&mut memory, envelope(0), 0, 0);
            assert!(record.is_some());
        }
        assert_eq!(region.free_blocks(&memory), 0);
        assert_eq!(region.record_without_buffer(&mut memory, envelope(0), 0, 0), None);
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
        assert_eq!(region.record_with_buffer(&mut memory, envelope(0), bytes), None);
        assert_eq!(memory.asked, []);
        let record = region.record_with_buffer(&mut memory, envelope(0), bytes - BLOCK_BYTES as u32);
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
        let at = region.record_without_buffer(&mut RawMemory, envelope, 0, 0).unwrap();
        assert_eq!(region.record(at).unwrap().envelope, envelope);
    }

    #[test]
    fn a_name_behind_the_last_block_names_nothing() {
        let region = region(2);
        let last = RecordId(u32::MAX).block();
        for block in [2, 3, MAX_BLOCKS as u32].map(BlockIndex::new).into_iter().chain([last]) {
            assert_eq!(region.find(RecordId::new(block, Generation::FIRST)), None);
        }
    }
}
