//! The record that a failed node leaves: numbers and texts, which [`failure`](super::failure) gives a meaning.
//!
//! A record is a sequence of little-endian numbers of 64 bits: the node's place, the kind of failure, eight numbers of which
//! each kind has its own use, and three texts, each its length in bytes and as many bytes. The last text of a kind is cut
//! where it is too long for the record; others are the kernel's, and short.

/// Greatest message (UTF-8 or a record, cut at this many bytes) that an ending node leaves.
pub const MESSAGE_BYTES: usize = 512;

/// A failure's record in bytes.
pub struct Record {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl Record {
    /// What has been written.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// As many of these bytes as there is room for.
    fn put(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(bytes) {
            *place = *byte;
            self.length += 1;
        }
    }
}

/// How many numbers a record has besides place and kind.
pub const NUMBERS: usize = 8;
/// How many texts it has.
pub const TEXTS: usize = 3;

/// A record as it is filled, and as it is read: of each kind the same.
#[derive(Default)]
pub(crate) struct Fields<'a> {
    pub(crate) place: u64,
    pub(crate) kind: u64,
    pub(crate) numbers: [u64; NUMBERS],
    pub(crate) texts: [&'a [u8]; TEXTS],
}

impl<'a> Fields<'a> {
    // Not inlined, so that its stack is given back before the node says it.
    #[inline(never)]
    pub(crate) fn write(&self) -> Record {
        let mut record = Record {
            bytes: [0; MESSAGE_BYTES],
            length: 0,
        };
        for number in [self.place, self.kind].iter().chain(&self.numbers) {
            record.put(&number.to_le_bytes());
        }
        for text in self.texts {
            let room = MESSAGE_BYTES.saturating_sub(record.length + size_of::<u64>());
            let text = text.get(..room).unwrap_or(text);
            record.put(&(text.len() as u64).to_le_bytes());
            record.put(text);
        }
        record
    }

    /// Nothing in `record` is trusted.
    pub(crate) fn read(mut record: &'a [u8]) -> Option<Self> {
        let number = |record: &mut &'a [u8]| {
            let (number, rest) = record.split_first_chunk()?;
            *record = rest;
            Some(u64::from_le_bytes(*number))
        };
        let mut fields = Self {
            place: number(&mut record)?,
            kind: number(&mut record)?,
            ..Self::default()
        };
        for place in &mut fields.numbers {
            *place = number(&mut record)?;
        }
        for text in &mut fields.texts {
            // Where the one before it took all the room, there is none.
            let length = number(&mut record).unwrap_or_default();
            (*text, record) = record.split_at_checked(length.try_into().ok()?)?;
        }
        Some(fields)
    }

    /// One of the numbers, which may have fewer bits.
    pub(crate) fn number<N: TryFrom<u64>>(&self, at: usize) -> Option<N> {
        self.numbers.get(at).copied()?.try_into().ok()
    }

    /// What of these one of the numbers is the place of.
    pub(crate) fn one_of<T: Copy>(&self, at: usize, all: &[T]) -> Option<T> {
        all.get(self.number::<usize>(at)?).copied()
    }

    /// One of the texts, up to where it was cut within a character.
    pub(crate) fn text(&self, at: usize) -> Option<&'a str> {
        let text = self.texts.get(at)?;
        let mut chunks = text.utf8_chunks();
        let first = chunks.next().map_or("", |chunk| chunk.valid());
        (text.len() - first.len() < MAX_CHAR_BYTES).then_some(first)
    }
}

/// Bytes of the longest character.
const MAX_CHAR_BYTES: usize = 4;
