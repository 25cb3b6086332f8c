//! Identifiers that are stored for comparison or transmitted, and the reasons why their reuse is safe.
//!
//! Reuse of an identifier that is still referenced in flight is a matching error. Each identifier below is safe for one
//! of three reasons. It is never reused (64 bits, counted up). Its object lives as long as any reference. Or it travels
//! on an ordered channel ahead of anything that could be confused with it.
//!
//! | identifier | width | transmitted in | why its reuse is safe |
//! |---|---|---|---|
//! | sequence number of a receive ([`SequenceNumber`]) | 64 bits | restarts, as their [`Horizon`]; back in RTSs that a restart requested | never reused: at a receive each nanosecond, 584 years |
//! | sequence number of a send, of a bcopy ([`SequenceNumber`]) | 64 bits | not transmitted | as above; compared only within a queue, in which the oldest may stay for ever |
//! | a send's request | slot, 9 bits of generation | RTS, EAGER, CANCEL; back in replies | the request lives until its reply has arrived, and each RTS has one reply. EAGER and CANCEL may be in flight when it ends: they arrive before the RTS of the next message with the same ID, on the same channel |
//! | a bcopy (buffered copy) | index, 9 bits of generation | RTS; back in replies, alone or as the last of several | the index is allocated until the reply has arrived that covers it |
//! | a receive as a target | slot, 9 bits of generation | CTS; back in DATA | the receive cannot complete before all its data has arrived, in any order |
//! | a record as a target | block, 7 bits of generation | CTS; back in DATA | as above: a record with a buffer is not freed while its data is arriving |
//! | position of a record in the order of arrival, in engines that require it | 31 bits | not transmitted | renumbered, in order, when the numbers are exhausted |
//! | a receive in a record ([`RecordData::MatchedBuffer`](crate::memory::region::RecordData::MatchedBuffer)) | slot, 9 bits | not transmitted | the receive waits for the record |
//! | an incoming eager message | source and its request | EAGER | removed from the list with its last byte, or never inserted; the channel keeps the order |
//! | the age | 8 bits | RTS, DONE; restarts | one restart is in flight to a source, and only a packet under an age ends it: two ages of a pair are in use at most ([`protocol`](crate::protocol)) |
//! | count of shared acknowledgements | 8 bits | replies, RTSs of the other direction | at most [`MAX_SHARED_ACKS`](crate::MAX_SHARED_ACKS), fewer than there are bcopies; it counts back from an ID, along a chain that ends at a message without an RTS |
//! | a request handle of the program | slot, 9 bits of generation | not transmitted | MPI requires that a program does not use a freed handle; the generation detects most violations |
//!
//! # The horizon
//! The horizon is a cut-off sequence number. A restart requests messages on behalf of receives. A receive may match a
//! requested RTS only if it was posted before the restart was created (rule (e) of [`protocol`](crate::protocol)): an
//! earlier message of the source may belong to a later receive. The receive that caused the request may be gone by
//! then, cancelled or matched by another source, and its slot reused. So its ID would prove nothing, at any width. The
//! check requires the receive's age, not its identity: the restart contains the number of receives started so far, the
//! sender repeats it in each requested RTS, and the receiver compares.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

/// Sequence number: counted up by one from 0, never reused.
pub type SequenceNumber = u64;

/// Cut-off sequence number of a restart: the receives that the receiver had started when it created the restart.
/// Receives with a lower [`SequenceNumber`] are older.
pub type Horizon = u64;

/// Defines an index type for one array, to avoid confusion of indices. Its `Option` requires no additional memory.
#[macro_export]
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(core::num::NonZeroU32);

        impl $name {
            /// Creates the index `index`, from 0 on and below `u32::MAX`.
            #[inline]
            pub const fn new(index: u32) -> Self {
                $name(core::num::NonZeroU32::MIN.saturating_add(index))
            }

            /// Returns the index as an integer, from 0 on.
            #[inline]
            pub const fn index(self) -> u32 {
                self.0.get() - 1
            }
        }
    };
}

index_type! {
    /// A slot of the request pool.
    Slot
}

index_type! {
    /// A block of the MPI memory; as an identifier, the record that begins there.
    BlockIndex
}

impl BlockIndex {
    /// Encodes the block as a word in memory: 0 is no block.
    #[inline]
    pub const fn to_word(block: Option<Self>) -> u32 {
        match block {
            Some(block) => block.0.get(),
            None => 0,
        }
    }

    /// Decodes a word that [`BlockIndex::to_word`] encoded.
    #[inline]
    pub const fn from_word(word: u32) -> Option<Self> {
        match NonZeroU32::new(word) {
            Some(word) => Some(BlockIndex(word)),
            None => None,
        }
    }
}

index_type! {
    /// A destination with pending messages.
    DestinationId
}

const INDEX_BITS: u32 = 22;
/// Bits of generation in the handle of a request or a bcopy.
pub const REQUEST_GENERATION_BITS: u32 = 31 - INDEX_BITS;
/// Bits of generation in the ID of a record.
pub const RECORD_GENERATION_BITS: u32 = 7;

/// Mask of the generation bits of a handle: the lowest bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GenerationBits(u16);

impl GenerationBits {
    /// Creates a mask of `bits` bits, at most 16.
    pub(super) const fn new(bits: u32) -> Self {
        GenerationBits(((1_u32 << bits) - 1) as u16)
    }
}

/// Reuse count of an array entry, as far as handles contain it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Generation(u16);

impl Generation {
    /// The generation before the first use.
    pub(super) const FIRST: Self = Generation(0);

    /// Returns the generation of the next use, within this mask.
    #[inline]
    pub(super) fn next(self, bits: GenerationBits) -> Self {
        Generation(self.0.wrapping_add(1) & bits.0)
    }

    /// Decodes the generation stored in a record's block.
    pub(super) fn from_byte(byte: u8) -> Self {
        Generation(byte.into())
    }

    /// Encodes the generation for a record's block: the lowest eight bits.
    pub(super) fn to_byte(self) -> u8 {
        self.0 as u8
    }

    /// Returns the generation as a field of a handle.
    #[inline]
    pub(super) fn word(self) -> u32 {
        self.0.into()
    }
}

impl Generation {
    /// Decodes the generation stored in a request's slot.
    #[inline]
    pub(super) const fn from_bits(bits: u16) -> Self {
        Generation(bits)
    }

    /// Encodes the generation for a request's slot.
    #[inline]
    pub(super) const fn to_bits(self) -> u16 {
        self.0
    }
}

/// A value aligned to four bytes, to avoid padding between other four-byte fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(4))]
pub(crate) struct PackedId<T: Copy>(T);

impl<T: Copy> PackedId<T> {
    /// Packs the value.
    #[inline]
    pub(crate) const fn new(value: T) -> Self {
        PackedId(value)
    }

    /// Returns the value.
    #[inline]
    pub(crate) const fn get(self) -> T {
        self.0
    }
}

/// Maximum number of slots. Larger IDs are reserved for bcopies on the wire, and for entries of restarts that are not
/// receives.
pub const MAX_SLOTS: usize = (1 << INDEX_BITS) - 64;

/// Request handle: index and generation, top bit clear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// Creates the wire ID of the bcopy with index `place`.
    pub(crate) fn bcopy(place: u32, generation: Generation) -> Self {
        Self::from_parts(MAX_SLOTS as u32 + place, generation)
    }

    /// Returns the index of the bcopy, if this is the ID of one.
    pub(crate) fn bcopy_index(self) -> Option<u32> {
        self.index().checked_sub(MAX_SLOTS as u32)
    }

    pub(super) fn new(slot: Slot, generation: Generation) -> Self {
        Self::from_parts(slot.index(), generation)
    }

    fn from_parts(index: u32, generation: Generation) -> Self {
        RequestId(generation.word() << INDEX_BITS | index)
    }

    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// Returns whether the handle is of this generation of its slot.
    pub(super) fn has_generation(self, generation: Generation) -> bool {
        self.0 >> INDEX_BITS == generation.word()
    }

    /// Returns the request's slot.
    #[inline]
    pub fn slot(self) -> Slot {
        Slot::new(self.index())
    }
}

/// Index of a bcopy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BcopyId(pub(super) u8);

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs of generations, at the first and the last slots and bcopies.
    #[test]
    fn a_handle_contains_its_index_and_its_generation() {
        let all = GenerationBits::new(REQUEST_GENERATION_BITS);
        let count = 1 << REQUEST_GENERATION_BITS;
        for number in 0..count {
            let generation = Generation::from_bits(number);
            assert_eq!(generation.next(all).word(), u32::from((number + 1) % count));
            for other in 0..count {
                let of_other = Generation::from_bits(other);
                for index in [0, 1, MAX_SLOTS as u32 - 1] {
                    let request = RequestId::new(Slot::new(index), generation);
                    assert!(request.0 >> 31 == 0 && request.bcopy_index().is_none());
                    assert_eq!(request.slot().index(), index);
                    assert_eq!(request.has_generation(of_other), number == other);
                }
                for index in [0, 63] {
                    let bcopy = RequestId::bcopy(index, generation);
                    assert_eq!((bcopy.0 >> 31, bcopy.bcopy_index()), (0, Some(index)));
                    assert_eq!(bcopy.has_generation(of_other), number == other);
                }
            }
        }
    }

    /// A slot with `w` bits of generation gets the same handle again after 2^w uses, and not before: for all widths.
    #[test]
    fn a_handle_is_repeated_after_all_generations() {
        for bits in 0..=REQUEST_GENERATION_BITS {
            let mask = GenerationBits::new(bits);
            for first in 0..1_u16 << bits {
                let first = Generation::from_bits(first);
                let uses = core::iter::successors(Some(first.next(mask)), |generation| Some(generation.next(mask)));
                assert_eq!(
                    uses.into_iter().position(|generation| generation == first),
                    Some((1 << bits) - 1)
                );
            }
        }
    }
}
