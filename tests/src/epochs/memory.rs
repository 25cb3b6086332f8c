//! The memory of a process in a model: windows and buffers, named by keys instead of addresses.

use mpi_adi::memory::{Span, UserMemory};

/// Bytes of a window's part.
pub const WINDOW: usize = 256;
/// Windows.
pub const WINDOWS: usize = 3;
/// Where the buffers begin.
pub const BUFFERS: usize = WINDOWS * WINDOW;
/// Bytes of all.
pub const BYTES: usize = BUFFERS + 256;

/// The key of byte 0. Keys below are places at a target.
const HERE: usize = 2048;
/// From this key on every second byte of the same memory.
const STRIDED: usize = 3072;
/// From this place on every second place.
const STRIDED_PLACES: usize = 512;

/// The bytes of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flat(pub Vec<u8>);

impl Default for Flat {
    fn default() -> Self {
        Flat(vec![0; BYTES])
    }
}

/// `len` bytes from `at` on; with holes of a byte each if that `is_strided`.
pub fn here(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED } else { HERE } + at, len)
}

/// The same, of places in a target's window.
pub fn there(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED_PLACES } else { 0 } + at, len)
}

/// The window's memory at each process.
pub fn window(number: usize) -> Span {
    here(number * WINDOW, WINDOW, false)
}

/// A span of places, run by run.
pub fn walk(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    match span.address().checked_sub(STRIDED_PLACES) {
        None => run(span.address() + offset, 0, len),
        Some(at) => (0..len).for_each(|i| run(at + 2 * (offset + i), i, 1)),
    }
}

/// Operation 1 adds bytes, operation 2 replaces them.
pub fn combine(operation: u8, _: u8, origin: &[u8], target: &mut [u8]) -> bool {
    for (from, to) in origin.iter().zip(target) {
        *to = match operation {
            1 => to.wrapping_add(*from),
            _ => *from,
        };
    }
    matches!(operation, 1 | 2)
}

/// The span is one of a model's processes.
pub fn is_here(span: Span) -> bool {
    span.address() >= HERE
}

impl Flat {
    fn at(span: Span, offset: usize) -> usize {
        match span.address().checked_sub(STRIDED) {
            Some(at) => at + 2 * offset,
            None => span.address() - HERE + offset,
        }
    }
}

impl UserMemory for Flat {
    fn whole(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = self.0[Flat::at(span, offset + i)];
        }
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            self.0[Flat::at(span, offset + i)] = *byte;
        }
    }
}
