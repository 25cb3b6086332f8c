//! Memory of a process in a model: windows and buffers, identified by keys instead of addresses.

use std::ops::Range;

use midplane_device::memory::{MODEL_KEYS, Span, UserMemory};

/// Size of a small window's part in bytes.
pub const WINDOW: usize = 256;
/// Number of small windows, in every job.
pub const WINDOWS: usize = 3;
/// Start of the buffers.
pub const BUFFERS: usize = WINDOWS * WINDOW;
/// Size of the small windows and their buffers in bytes.
const BYTES: usize = BUFFERS + 256;

/// Window for operations of several packets.
pub const LARGE: usize = WINDOWS;
/// Small window in which a process holds locks and waits for others.
pub const HELD: usize = LARGE + 1;
/// Window whose memory is attached and detached piece by piece.
pub const DYNAMIC: usize = HELD + 1;
/// Number of windows, including these three.
pub const ALL_WINDOWS: usize = DYNAMIC + 1;
/// Source bytes of large operations.
pub const LARGE_SOURCE: Range<usize> = 8448..10_496;
/// Results of large operations.
pub const LARGE_RESULTS: Range<usize> = LARGE_SOURCE.end..LARGE_SOURCE.end + 8192;

/// Returns a window's part in the memory of its process; for the dynamic one, the memory that can be attached.
pub const fn part(window: usize) -> Range<usize> {
    match window {
        LARGE => BYTES..BYTES + 4096,
        HELD => 5120..5120 + WINDOW,
        DYNAMIC => 5376..LARGE_SOURCE.start,
        _ => window * WINDOW..(window + 1) * WINDOW,
    }
}

/// Key of byte 0. Lower keys identify other buffers or, as target offsets, bytes of windows.
const HERE: usize = 0x2000;
/// From this key on: every second byte of the same memory.
const STRIDED: usize = 0x8000;
/// From this target offset on: every second byte.
const STRIDED_PLACES: usize = 0x8000;
const _: () = assert!(HERE + LARGE_RESULTS.end <= STRIDED && part(LARGE).end <= part(HELD).start);
const _: () = assert!(STRIDED + LARGE_RESULTS.end <= MODEL_KEYS);

/// The bytes of a process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FlatMemory(pub Vec<u8>);

impl Default for FlatMemory {
    fn default() -> Self {
        FlatMemory(vec![0; BYTES])
    }
}

impl FlatMemory {
    /// Creates the memory for this many windows.
    pub fn for_windows(windows: usize) -> FlatMemory {
        if windows > WINDOWS {
            FlatMemory(vec![0; LARGE_RESULTS.end])
        } else {
            FlatMemory::default()
        }
    }
}

/// Returns the span of `len` bytes at `at`, with gaps of one byte if `is_strided`.
pub fn here(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED } else { HERE } + at, len)
}

/// Returns the address of a byte of the dynamic window's part, whose target offsets are addresses.
pub fn address(at: usize) -> usize {
    HERE + part(DYNAMIC).start + at
}

/// Returns the span of `len` bytes at a target offset, with gaps of one byte if `is_strided`.
pub fn there(at: usize, len: usize, is_strided: bool) -> Span {
    Span::model(if is_strided { STRIDED_PLACES } else { 0 } + at, len)
}

/// Returns the window's memory at each process.
pub fn window(number: usize) -> Span {
    let part = part(number);
    here(part.start, part.len(), false)
}

/// Calls `run` for each contiguous run of a span of target offsets.
pub fn walk(span: Span, offset: usize, len: usize, run: &mut dyn FnMut(usize, usize, usize)) {
    match span.address().checked_sub(STRIDED_PLACES) {
        None => run(span.address() + offset, 0, len),
        Some(at) => (0..len).for_each(|i| run(at + 2 * (offset + i), i, 1)),
    }
}

/// Combines bytes: operation 1 adds them, operation 2 replaces them. The datatype's number is the element size.
pub fn combine(operation: u8, datatype: u8, origin: &[u8], target: &mut [u8]) -> bool {
    for (from, to) in origin.iter().zip(target) {
        *to = match operation {
            1 => to.wrapping_add(*from),
            _ => *from,
        };
    }
    matches!(operation, 1 | 2) && origin.len().is_multiple_of(datatype.into())
}

/// Checks whether the span is local memory of a model's process.
pub fn is_here(span: Span) -> bool {
    span.address() >= HERE
}

impl FlatMemory {
    fn at(span: Span, offset: usize) -> usize {
        match span.address().checked_sub(STRIDED) {
            Some(at) => at + 2 * offset,
            None => span.address() - HERE + offset,
        }
    }
}

impl UserMemory for FlatMemory {
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = self.0[FlatMemory::at(span, offset + i)];
        }
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            self.0[FlatMemory::at(span, offset + i)] = *byte;
        }
    }
}
