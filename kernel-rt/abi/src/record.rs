//! The failure record of a node: numbers and texts, interpreted by [`failure`](super::failure).
//!
//! A record is a sequence of little-endian numbers of 64 bits: the node's location, the kind of failure, eight numbers
//! specific to each kind, and three texts, each with its length in bytes. The last text of a kind is truncated if it is
//! too long for the record; others are the kernel's, and short.

/// Maximum size of a final message (UTF-8 or a record, truncated to it) in bytes.
pub const MESSAGE_BYTES: usize = 512;

/// An encoded failure.
pub struct FailureRecord {
    bytes: [u8; MESSAGE_BYTES],
    length: usize,
}

impl FailureRecord {
    /// Returns the written bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Appends these bytes, up to the free space.
    fn put(&mut self, bytes: &[u8]) {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        for (place, byte) in room.iter_mut().zip(bytes) {
            *place = *byte;
            self.length += 1;
        }
    }
}

/// Number of numbers in a record, in addition to location and kind.
pub const NUMBERS: usize = 8;
/// Number of texts in a record.
pub const TEXTS: usize = 3;

/// The fields of a record, for encoding and decoding: the same for each kind.
#[derive(Default)]
pub(crate) struct RecordFields<'a> {
    pub(crate) place: u64,
    pub(crate) kind: u64,
    pub(crate) numbers: [u64; NUMBERS],
    pub(crate) texts: [&'a [u8]; TEXTS],
}

impl<'a> RecordFields<'a> {
    // Not inlined, so that its stack is freed before the node reports the failure.
    #[inline(never)]
    pub(crate) fn write(&self) -> FailureRecord {
        let mut record = FailureRecord {
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

    /// Decodes a record; nothing in it is trusted.
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
            // If the previous text has used all of the space, there is none.
            let length = number(&mut record).unwrap_or_default();
            (*text, record) = record.split_at_checked(length.try_into().ok()?)?;
        }
        Some(fields)
    }

    /// Returns one of the numbers as a type that may have fewer bits.
    pub(crate) fn number<N: TryFrom<u64>>(&self, at: usize) -> Option<N> {
        self.numbers.get(at).copied()?.try_into().ok()
    }

    /// Returns the item of `all` whose index is one of the numbers.
    pub(crate) fn one_of<T: Copy>(&self, at: usize, all: &[T]) -> Option<T> {
        all.get(self.number::<usize>(at)?).copied()
    }

    /// Returns one of the texts, without a character that was truncated.
    pub(crate) fn text(&self, at: usize) -> Option<&'a str> {
        let text = self.texts.get(at)?;
        let mut chunks = text.utf8_chunks();
        let first = chunks.next().map_or("", |chunk| chunk.valid());
        (text.len() - first.len() < MAX_CHAR_BYTES).then_some(first)
    }
}

const MAX_CHAR_BYTES: usize = 4;
