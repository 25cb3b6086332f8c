//! Backtrace registers of a node that ends its job inside a call. From them, the image's call frame information and the
//! node's memory, the tool determines the location of the call in the program.

use super::word::SharedWord;

/// The image's symbol for its [`BacktraceRecord`].
pub const SYMBOL: &str = "MIDPLANE_CALLERS";
/// The callee-saved registers, and those of the frame: ra, sp, s0 to s11, by their numbers.
pub const SAVED: [u8; 14] = [1, 2, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
/// The same for the Arm board, which has fewer: lr, sp, r4 to r11. They use the first slots.
pub const SAVED_ARM: [u8; 10] = [14, 13, 4, 5, 6, 7, 8, 9, 10, 11];
/// Bytes of [`BacktraceRecord`].
pub const BYTES: usize = 8 * (1 + SAVED.len());

/// The registers as the node stores them.
#[derive(Debug)]
#[repr(C)]
pub struct BacktraceRecord([SharedWord; 1 + SAVED.len()]);

/// The registers as the tool reads them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BacktraceRegisters {
    /// Program counter of the node.
    pub pc: u64,
    /// In the order of [`SAVED`].
    pub saved: [u64; SAVED.len()],
}

impl Default for BacktraceRecord {
    fn default() -> Self {
        BacktraceRecord::new()
    }
}

impl BacktraceRecord {
    /// Creates an empty record.
    pub const fn new() -> BacktraceRecord {
        BacktraceRecord([const { SharedWord::new(0) }; 1 + SAVED.len()])
    }

    /// Stores the registers.
    pub fn note(&self, registers: &BacktraceRegisters) {
        let values = core::iter::once(registers.pc).chain(registers.saved);
        for (word, value) in self.0.iter().zip(values) {
            word.store(value);
        }
    }
}

impl BacktraceRegisters {
    /// Reads [`BYTES`] bytes of memory. Returns `None` if there are too few, or no registers were stored.
    pub fn read(bytes: &[u8]) -> Option<BacktraceRegisters> {
        let mut words = bytes.chunks_exact(8).map(|word| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            u64::from_le_bytes(bytes)
        });
        let pc = words.next().filter(|pc| *pc != 0)?;
        let mut saved = [0; SAVED.len()];
        for value in &mut saved {
            *value = words.next()?;
        }
        Some(BacktraceRegisters { pc, saved })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read() {
        let callers = BacktraceRecord::new();
        let bytes = |callers: &BacktraceRecord| -> Vec<u8> {
            let words = callers.0.iter();
            words.flat_map(|word| word.load().to_le_bytes()).collect()
        };
        assert_eq!(bytes(&callers).len(), BYTES);
        assert_eq!(BacktraceRegisters::read(&bytes(&callers)), None);
        let mut registers = BacktraceRegisters {
            pc: 0x8000_1234,
            saved: [7; SAVED.len()],
        };
        registers.saved[13] = u64::MAX;
        callers.note(&registers);
        assert_eq!(BacktraceRegisters::read(&bytes(&callers)), Some(registers));
        assert_eq!(BacktraceRegisters::read(&bytes(&callers)[..BYTES - 8]), None);
    }
}
