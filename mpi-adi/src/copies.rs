//! Copies of short messages that have left and have no answer yet, so that the program need not wait for it.
//!
//! A message must stay with its sender until the receiver has taken it, since the receiver may have no
//! memory for it (paper 004, section 4.1). For most messages that is the program's own buffer. A short one
//! in standard mode is copied when it leaves, as long as there is a free copy, and is complete for the
//! program from then on; its answer, for which nobody waits, may be late and share a packet with others.
//! The copies are few and are all there is: when they are used up, sends complete with their answers.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

/// Messages that can be copied at the same time.
pub const COPIES: usize = 32;
/// The greatest message in bytes that is copied.
pub const COPY_BYTES: usize = 32;

/// The name of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CopyId(u8);

/// All copies.
#[derive(Clone, Debug)]
pub struct Copies {
    bytes: [[u8; COPY_BYTES]; COPIES],
    lengths: [u8; COPIES],
    /// A bit for each copy that is in use.
    used: u32,
}

const _: () = assert!(COPIES == u32::BITS as usize && COPY_BYTES <= u8::MAX as usize);

impl Copies {
    /// All free.
    pub const fn new() -> Copies {
        Copies {
            bytes: [[0; COPY_BYTES]; COPIES],
            lengths: [0; COPIES],
            used: 0,
        }
    }

    /// Copies the `length` bytes (at most [`COPY_BYTES`]) that `read` writes; `None`, without calling it,
    /// when there is no free copy.
    pub fn make(&mut self, length: usize, read: impl FnOnce(&mut [u8])) -> Option<CopyId> {
        let at = self.used.trailing_ones();
        let bytes = self.bytes.get_mut(at as usize)?;
        self.used |= 1 << at;
        self.lengths[at as usize] = length as u8;
        read(&mut bytes[..length]);
        Some(CopyId(at as u8))
    }

    /// The bytes of a copy.
    pub fn bytes(&self, id: CopyId) -> &[u8] {
        let at = usize::from(id.0);
        &self.bytes[at][..usize::from(self.lengths[at])]
    }

    /// Frees a copy.
    pub fn free(&mut self, id: CopyId) {
        self.used &= !(1 << id.0);
    }

    fn in_use(&self) -> impl Iterator<Item = CopyId> {
        let used = self.used;
        (0..COPIES as u8).filter(move |at| used & 1 << at != 0).map(CopyId)
    }
}

impl Default for Copies {
    fn default() -> Self {
        Copies::new()
    }
}

/// What is in the free ones does not count.
impl Hash for Copies {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for id in self.in_use() {
            (id, self.bytes(id)).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_copies_and_no_more() {
        let mut copies = Copies::new();
        let all: Vec<CopyId> = (0..COPIES)
            .map(|i| copies.make(1, |out| out.fill(i as u8)).expect("a free one"))
            .collect();
        let none = copies.make(1, |_| unreachable!("nothing is read"));
        assert_eq!(none, None);
        for (i, &id) in all.iter().enumerate() {
            assert_eq!(copies.bytes(id), [i as u8]);
        }
        copies.free(all[3]);
        let id = copies.make(0, |_| {});
        assert_eq!((id, id.map(|id| copies.bytes(id))), (Some(all[3]), Some(&[][..])));
    }
}
