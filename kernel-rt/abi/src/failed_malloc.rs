//! The program's last failed allocation: a program that does not check it faults later, and the report then includes
//! this cause.

use super::word::SharedWord;

/// The image's symbol for its [`FailedMalloc`].
pub const SYMBOL: &str = "MIDPLANE_FAILED_MALLOC";
/// Bytes of [`FailedMalloc`].
pub const BYTES: usize = 16;

/// The record as the node writes it: the requested bytes, and the return address of the call.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FailedMalloc([SharedWord; 2]);

/// The record as the tool reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MallocFailure {
    /// Requested bytes.
    pub bytes: u64,
    /// The return address of the call.
    pub from: u64,
}

impl FailedMalloc {
    /// Creates an empty record.
    pub const fn new() -> FailedMalloc {
        FailedMalloc([const { SharedWord::new(0) }; 2])
    }

    /// Stores a failed allocation.
    pub fn note(&self, failed: MallocFailure) {
        let [bytes, from] = &self.0;
        bytes.store(failed.bytes);
        from.store(failed.from);
    }
}

impl MallocFailure {
    /// Reads a record. Returns `None` if no allocation has failed.
    pub fn read(note: [u8; BYTES]) -> Option<MallocFailure> {
        let (words, _) = note.as_chunks::<8>();
        let [bytes, from] = [words[0], words[1]].map(u64::from_le_bytes);
        (from != 0).then_some(MallocFailure { bytes, from })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read() {
        let note = FailedMalloc::new();
        let read = || {
            let mut bytes = [0; BYTES];
            for (out, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(&note.0) {
                *out = word.load().to_le_bytes();
            }
            MallocFailure::read(bytes)
        };
        assert_eq!(read(), None);
        for bytes in [0, 80_000_000] {
            let failed = MallocFailure {
                bytes,
                from: 0x8000_1234,
            };
            note.note(failed);
            assert_eq!(read(), Some(failed));
        }
    }
}
