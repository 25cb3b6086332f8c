//! Buffers of the programs of a simulated job, with stricter checks than real memory.

use midplane_device::memory::{MODEL_KEYS, RawMemory, Span, UserMemory};
use midplane_device::region::{BLOCK_BYTES, BlockArray};
use midplane_device::try_boxed_slice;

use crate::epochs::memory::{FlatMemory, is_here};

#[derive(Clone, PartialEq, Eq, Debug)]
enum BufferKind {
    /// Contains message number `message`; its bytes are computed.
    Send { message: u32, len: usize },
    /// Receives a message.
    Receive { bytes: Vec<u8> },
}

/// The buffers of one node. [`NodeBuffers::fault`] records an access of the device outside the permitted time.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct NodeBuffers {
    buffers: Vec<Option<BufferKind>>,
    free: Vec<usize>,
    fault: std::cell::Cell<Option<&'static str>>,
    /// Memory of windows and of their calls.
    windows: FlatMemory,
    spare: u32,
    lent: u32,
    asked: u32,
}

/// One in this many loans is rejected despite free blocks, like in a fragmented heap.
const REFUSED: u32 = 5;

/// Initial contents of a receive buffer.
pub const UNTOUCHED: u8 = 0xEE;

fn byte(message: u32, at: usize) -> u8 {
    match at {
        0..4 => message.to_le_bytes()[at],
        _ => (message.wrapping_mul(31) as usize)
            .wrapping_add(at.wrapping_mul(7))
            .wrapping_add(at >> 8) as u8,
    }
}

/// Bytes that are compared or created together. Within an aligned run of this length, byte [`at`](byte) is 7 more than
/// the previous one, except in the first run.
const RUN: usize = 64;

/// Returns the bytes of a run that starts at `at`, without the number at the start of the message.
fn run(message: u32, at: usize) -> impl Iterator<Item = u8> {
    let first = message.wrapping_mul(31) as usize;
    let first = first.wrapping_add(at.wrapping_mul(7)).wrapping_add(at >> 8) as u8;
    (0..RUN as u8).map(move |more| first.wrapping_add(more.wrapping_mul(7)))
}

/// Checks whether `bytes` is the beginning of message number `message`.
pub fn is_message(message: u32, bytes: &[u8]) -> bool {
    let (first, rest) = bytes.split_at(bytes.len().min(RUN));
    let mut first = first.iter().enumerate();
    let differ = |(part, start): (&[u8], usize)| {
        // Compares all bytes without an early exit, so that the loop is vectorized.
        let pairs = part.iter().zip(run(message, start));
        pairs.fold(0, |differ, (&byte, wanted)| differ | byte ^ wanted) != 0
    };
    let mut rest = rest.chunks(RUN).zip((RUN..).step_by(RUN));
    first.all(|(at, &b)| b == byte(message, at)) && !rest.any(differ)
}

/// Fills `out` with the bytes of message number `message` from `offset` on.
fn fill(message: u32, offset: usize, out: &mut [u8]) {
    let first = out.len().min(offset.next_multiple_of(RUN).max(RUN) - offset);
    let (first, rest) = out.split_at_mut(first);
    for (at, out) in first.iter_mut().enumerate() {
        *out = byte(message, offset + at);
    }
    let start = offset + first.len();
    for (part, start) in rest.chunks_mut(RUN).zip((start..).step_by(RUN)) {
        part.iter_mut()
            .zip(run(message, start))
            .for_each(|(out, byte)| *out = byte);
    }
}

impl NodeBuffers {
    /// Creates the buffers, with memory for `count` windows.
    pub fn with_windows(count: usize) -> NodeBuffers {
        NodeBuffers {
            windows: FlatMemory::for_windows(count),
            ..NodeBuffers::default()
        }
    }

    fn allocate_key(&mut self, buffer: BufferKind) -> usize {
        match self.free.pop() {
            Some(key) => {
                self.buffers[key] = Some(buffer);
                key
            }
            None => {
                self.buffers.push(Some(buffer));
                self.buffers.len() - 1
            }
        }
    }

    /// Creates a buffer that contains message number `message`.
    pub fn send(&mut self, message: u32, len: usize) -> Span {
        Span::model(self.allocate_key(BufferKind::Send { message, len }), len)
    }

    /// Creates an empty buffer of `len` bytes.
    pub fn receive(&mut self, len: usize) -> Span {
        Span::model(
            self.allocate_key(BufferKind::Receive {
                bytes: vec![UNTOUCHED; len],
            }),
            len,
        )
    }

    /// Returns a buffer to the program, with its bytes if it is a receive buffer.
    pub fn give_back(&mut self, span: Span) -> Vec<u8> {
        self.free.push(span.address());
        match self.buffers[span.address()].take() {
            Some(BufferKind::Receive { bytes }) => bytes,
            _ => Vec::new(),
        }
    }

    /// Returns the byte at this address of windows and their buffers.
    pub fn in_windows(&self, at: usize) -> u8 {
        self.windows.0[at]
    }

    /// Sets the number of blocks that the program's heap can loan.
    pub fn set_spare(&mut self, blocks: u32) {
        self.spare = blocks;
    }

    /// Returns the number of blocks that can be loaned now.
    pub fn spare(&self) -> u32 {
        self.spare
    }

    /// Returns the number of loaned blocks.
    pub fn lent(&self) -> u32 {
        self.lent
    }

    /// Returns the description of an access that was not permitted.
    pub fn fault(&self) -> Option<&'static str> {
        self.fault.get()
    }

    fn blame(&self, fault: &'static str) {
        self.fault.set(self.fault.get().or(Some(fault)));
    }
}

/// Collectives use separate memory, and empty messages use none.
fn is_of_a_collective(span: Span) -> bool {
    span.address() >= MODEL_KEYS || span == Span::EMPTY
}

/// Buffers of messages have keys below those of windows.
fn is_of_windows(span: Span) -> bool {
    is_here(span) && span.address() < MODEL_KEYS
}

impl UserMemory for NodeBuffers {
    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }

    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        if is_of_windows(span) {
            return self.windows.read(span, offset, out);
        }
        if is_of_a_collective(span) {
            return RawMemory.read(span, offset, out);
        }
        match self.buffers.get(span.address()) {
            Some(&Some(BufferKind::Send { message, len })) if offset + out.len() <= len => {
                fill(message, offset, out);
            }
            Some(Some(BufferKind::Send { .. })) => self.blame("read beyond the end of a send's buffer"),
            Some(Some(BufferKind::Receive { .. })) => self.blame("read of a receive's buffer"),
            _ => self.blame("read of a buffer that the program has back"),
        }
    }

    fn write(&mut self, span: Span, offset: usize, new: &[u8]) {
        if is_of_windows(span) {
            return self.windows.write(span, offset, new);
        }
        if is_of_a_collective(span) {
            return RawMemory.write(span, offset, new);
        }
        match self.buffers.get_mut(span.address()) {
            Some(Some(BufferKind::Receive { bytes })) if offset + new.len() <= bytes.len() => {
                bytes[offset..offset + new.len()].copy_from_slice(new);
            }
            Some(Some(BufferKind::Receive { .. })) => self.blame("write beyond the end of a receive's buffer"),
            Some(Some(BufferKind::Send { .. })) => self.blame("write into a send's buffer"),
            // A receive of zero bytes is written with none.
            _ if new.is_empty() => {}
            _ => self.blame("write into a buffer that the program has back"),
        }
    }
    fn spare_blocks(&self) -> u32 {
        self.spare
    }

    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        self.asked += 1;
        if count > self.spare || self.asked.is_multiple_of(REFUSED) {
            return None;
        }
        // A self-send requests a loan within the program's call, when the heap may be exhausted.
        let words = try_boxed_slice(0, BlockArray::map_words(count as usize))?;
        let blocks = try_boxed_slice([0; BLOCK_BYTES], count as usize)?;
        self.spare -= count;
        self.lent += count;
        Some(BlockArray::new(blocks, words))
    }

    fn return_loan(&mut self, loan: BlockArray) {
        if !loan.is_empty() {
            self.blame("gave back a loan that is in use");
        }
        self.spare += loan.len() as u32;
        self.lent -= loan.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_made_and_compared_byte_by_byte() {
        for (message, len) in [(0, 0), (1, 3), (77, 4), (0x1234_5678, 700), (u32::MAX, 64)] {
            let wanted: Vec<u8> = (0..len).map(|at| byte(message, at)).collect();
            for from in [0, 1, 5, 63, 64, 65, 200, 256, 640]
                .into_iter()
                .filter(|&from| from <= len)
            {
                let mut made = vec![0; len - from];
                fill(message, from, &mut made);
                assert_eq!(made, wanted[from..], "message {message} from {from}");
            }
            assert!(is_message(message, &wanted));
            for at in 0..len {
                let mut other = wanted.clone();
                other[at] ^= 1;
                assert!(!is_message(message, &other), "message {message}, byte {at}");
            }
        }
    }
}
