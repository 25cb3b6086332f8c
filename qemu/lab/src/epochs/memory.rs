//! The memory of a process in a model: windows and buffers, named by keys instead of addresses.

use std::ops::Range;

use midplane_device::memory::{MODEL_KEYS, Span, UserMemory};

/// Bytes of a small window's part.
pub const WINDOW: usize = 256;
/// Small windows, which each job has.
pub const WINDOWS: usize = 3;
/// Where the buffers begin.
pub const BUFFERS: usize = WINDOWS * WINDOW;
/// Bytes of all that small windows need.
const BYTES: usize = BUFFERS + 256;

/// The window for operations of several packets.
pub const LARGE: usize = WINDOWS;
/// The window in which a process holds locks and waits for others: a small one.
pub const HELD: usize = LARGE + 1;
/// The window in which memory is attached and detached, piece by piece.
pub const DYNAMIC: usize = HELD + 1;
/// Windows, with these three.
pub const ALL_WINDOWS: usize = DYNAMIC + 1;
/// Where the bytes are that large operations put, and how many.
pub const LARGE_SOURCE: Range<usize> = 8448..10_496;
/// Where results of large operations come.
pub const LARGE_RESULTS: Range<usize> = LARGE_SOURCE.end..LARGE_SOURCE.end + 8192;

/// A window's part in the memory of its process; of the dynamic one, what can be attached.
pub const fn part(window: usize) -> Range<usize> {
    match window {
        LARGE => BYTES..BYTES + 4096,
        HELD => 5120..5120 + WINDOW,
        DYNAMIC => 5376..LARGE_SOURCE.start,
        _ => window * WINDOW..(window + 1) * WINDOW,
    }
}

/// The key of byte 0. Keys below are of other buffers; as places, in windows.
const HERE: usize = 0x2000;
/// From this key on every second byte of the same memory.
const STRIDED: usize = 0x8000;
/// From this place on every second place.
const STRIDED_PLACES: usize = 0x8000;
const _: () = assert!(HERE + LARGE_RESULTS.end <= STRIDED && part(LARGE).end <= part(HELD).start);
const _: () = assert!(STRIDED + LARGE_RESULTS.end <= MODEL_KEYS);

/// The bytes of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Flat(pub Vec<u8>);

impl Default for Flat {
    fn default() -> Self {
        Flat(vec![0; BYTES])
    }
}

impl Flat {
    /// With so many windows.
    pub fn of(windows: usize) -> Flat {
        match windows > WINDOWS {
            true => Flat(vec![0; LARGE_RESULTS.end]),
            false => Flat::default(),
        }
    }
}

/// `len` bytes from `at` on; with holes of a byte each if that `is_strided`.
pub fn here(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED } else { HERE } + at, len)
}

/// The name in the dynamic window of a byte of its part: places there are addresses.
pub fn address(at: usize) -> usize {
    HERE + part(DYNAMIC).start + at
}

/// The same, of places in a target's window.
pub fn there(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED_PLACES } else { 0 } + at, len)
}

/// The window's memory at each process.
pub fn window(number: usize) -> Span {
    let part = part(number);
    here(part.start, part.len(), false)
}

/// A span of places, run by run.
pub fn walk(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    match span.address().checked_sub(STRIDED_PLACES) {
        None => run(span.address() + offset, 0, len),
        Some(at) => (0..len).for_each(|i| run(at + 2 * (offset + i), i, 1)),
    }
}

/// Operation 1 adds bytes, operation 2 replaces them; so many at a time as the number of the datatype is.
pub fn combine(operation: u8, datatype: u8, origin: &[u8], target: &mut [u8]) -> bool {
    for (from, to) in origin.iter().zip(target) {
        *to = match operation {
            1 => to.wrapping_add(*from),
            _ => *from,
        };
    }
    matches!(operation, 1 | 2) && origin.len().is_multiple_of(datatype.into())
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
