//! Names and numbers that are kept for comparison or travel, and why none of them comes back too early.
//!
//! A name that is used again while something under way still carries it is an error of matching. Each of the
//! following is safe for one of three reasons: it never comes back (64 bits, counted up); what it names lives
//! as long as anything can carry it; or it travels on a channel that keeps its order in front of whatever could
//! be mistaken for it.
//!
//! | name | width | travels in | why its reuse is safe |
//! |---|---|---|---|
//! | place of a receive ([`Serial`]) | 64 bits | restarts, as their [`Horizon`]; back in RTSs that were asked for | never comes back: at a receive each nanosecond, 584 years |
//! | place of a send, of a bcopy ([`Serial`]) | 64 bits | does not travel | as above; compared only within a queue, in which the oldest may stay for ever |
//! | a send's request | slot, 9 bits of generation | RTS, EAGER, CANCEL; back in answers | the request lives until its answer has come, and each offer has one answer. EAGER and CANCEL may be under way when it ends: they arrive before the RTS of the next message of that name, on the same channel |
//! | a bcopy | place, 9 bits of generation | RTS; back in answers, alone or as the last of several | the place is taken until the answer has come that covers it |
//! | a receive as a target | slot, 9 bits of generation | CTS; back in DATA | the receive cannot end before all its data has come, in whatever order |
//! | a record as a target | block, 7 bits of generation | CTS; back in DATA | as above: a record with a buffer is not freed while its data is coming |
//! | place of a record in the order of arrival, in engines that need it | 31 bits | does not travel | renewed, in order, when the numbers are used up |
//! | a receive in a record ([`Holding::Bound`](crate::memory::region::Holding::Bound)) | slot, 9 bits | does not travel | the receive waits for the record |
//! | a message that comes eagerly | source and its request | EAGER | taken out of the list with its last byte, or never entered; the channel keeps the order |
//! | the age | 8 bits | RTS, DONE; restarts | one restart is under way to a source, and only something under an age ends it: two ages of a pair are in use at most ([`protocol`](crate::protocol)) |
//! | count of shared answers | 8 bits | answers, RTSs of the other direction | at most [`SHARED_ANSWER`](crate::SHARED_ANSWER), fewer than there are bcopies; it counts back from a name, along a chain that ends at what is not offered |
//! | a request in the program's hands | slot, 9 bits of generation | does not travel | MPI requires that a program does not use a handle that it has given up; the generation finds most of those that do |
//!
//! # The horizon
//! A restart asks for messages in the name of receives. An offer that it brings may be taken by a receive only if
//! that receive was posted before the restart was made (rule (e) of [`protocol`](crate::protocol)): an
//! earlier message of the source may belong to a later one. The receive itself may be gone by then, cancelled or
//! matched by another source, and its slot in use again, so its name would prove nothing, however wide. What
//! is asked is not *which* receive, but *how old*: the restart carries the number of receives started until then, the
//! sender repeats it with each offer that the restart asks for, and the receiver compares.
#![forbid(unsafe_code)]

use core::num::NonZeroU32;

/// A place in an order: counted up by one, from 0, for ever.
pub type Serial = u64;

/// Receives that its receiver had started when it made a restart; those with a lower [`Serial`] are older.
pub type Horizon = u64;

/// A type for the places of one array, so that they cannot be confused with those of another; `None` takes no
/// more memory than a place.
macro_rules! place {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(core::num::NonZeroU32);

        impl $name {
            /// The place with this number, from 0 on and below the greatest `u32`.
            #[inline]
            pub const fn new(index: u32) -> Self {
                $name(core::num::NonZeroU32::MIN.saturating_add(index))
            }

            /// Its number, from 0 on.
            #[inline]
            pub const fn index(self) -> u32 {
                self.0.get() - 1
            }
        }
    };
}

pub(crate) use place;

place! {
    /// A slot of the request pool.
    Slot
}

place! {
    /// A block of the MPI memory: as a name, of the record that begins there.
    BlockIndex
}

impl BlockIndex {
    /// As a word in memory: 0 is no block.
    #[inline]
    pub const fn to_word(block: Option<Self>) -> u32 {
        match block {
            Some(block) => block.0.get(),
            None => 0,
        }
    }

    /// The block that [`BlockIndex::to_word`] has written.
    #[inline]
    pub const fn from_word(word: u32) -> Option<Self> {
        match NonZeroU32::new(word) {
            Some(word) => Some(BlockIndex(word)),
            None => None,
        }
    }
}

place! {
    /// A destination with messages pending to it.
    DestinationId
}

const INDEX_BITS: u32 = 22;
/// Bits of generation in the name of a request or a bcopy.
pub const REQUEST_GENERATION_BITS: u32 = 31 - INDEX_BITS;
/// Bits of generation in the name of a record.
pub const RECORD_GENERATION_BITS: u32 = 7;

/// The bits of a name that are for its generation: the lowest so many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GenerationBits(u16);

impl GenerationBits {
    /// So many, at most 16.
    pub(super) const fn new(bits: u32) -> Self {
        GenerationBits(((1_u32 << bits) - 1) as u16)
    }
}

/// How often a place has been used, as far as the names tell that are given to what stands there.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Generation(u16);

impl Generation {
    /// Before the first use.
    pub(super) const FIRST: Self = Generation(0);

    /// That of the place's next use, in names with these bits for it.
    #[inline]
    pub(super) fn next(self, bits: GenerationBits) -> Self {
        Generation(self.0.wrapping_add(1) & bits.0)
    }

    /// As a record's block keeps it.
    pub(super) fn from_byte(byte: u8) -> Self {
        Generation(byte.into())
    }

    /// As a record's block keeps it: the lowest eight bits.
    pub(super) fn to_byte(self) -> u8 {
        self.0 as u8
    }

    /// As a part of a name.
    #[inline]
    pub(super) fn word(self) -> u32 {
        self.0.into()
    }
}

impl Generation {
    /// As a request's slot keeps it.
    #[inline]
    pub(super) const fn from_bits(bits: u16) -> Self {
        Generation(bits)
    }

    /// As a request's slot keeps it.
    #[inline]
    pub(super) const fn to_bits(self) -> u16 {
        self.0
    }
}

/// A value that begins at a multiple of four bytes, so that it leaves no gap among others of four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(4))]
pub(crate) struct Packed<T: Copy>(T);

impl<T: Copy> Packed<T> {
    /// Packs it.
    #[inline]
    pub(crate) const fn new(value: T) -> Self {
        Packed(value)
    }

    /// The value.
    #[inline]
    pub(crate) const fn get(self) -> T {
        self.0
    }
}

/// Greatest number of slots: all but the last names, which bcopies have on the wire, and restarts use for
/// what is no receive.
pub const MAX_SLOTS: usize = (1 << INDEX_BITS) - 64;

/// A request's name: index and generation, top bit clear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The name on the wire of the bcopy at `place`.
    pub(crate) fn bcopy(place: u32, generation: Generation) -> Self {
        Self::named(MAX_SLOTS as u32 + place, generation)
    }

    /// The place of the bcopy, if it is the name of one.
    pub(crate) fn bcopy_index(self) -> Option<u32> {
        self.index().checked_sub(MAX_SLOTS as u32)
    }

    pub(super) fn new(slot: Slot, generation: Generation) -> Self {
        Self::named(slot.index(), generation)
    }

    fn named(index: u32, generation: Generation) -> Self {
        RequestId(generation.word() << INDEX_BITS | index)
    }

    fn index(self) -> u32 {
        self.0 & ((1 << INDEX_BITS) - 1)
    }

    /// It names its slot's request of this generation.
    pub(super) fn is(self, generation: Generation) -> bool {
        self.0 >> INDEX_BITS == generation.word()
    }

    /// The request's slot.
    #[inline]
    pub fn slot(self) -> Slot {
        Slot::new(self.index())
    }
}

/// The place of a bcopy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BcopyId(pub(super) u8);
