//! Space management of the buffer that the program attaches for buffered sends (MPI-3.1 section 3.6).
//!
//! A message occupies one contiguous piece of the buffer, without a header, until the device completes its send. The
//! bookkeeping is on the program's heap, because the program could overwrite it in the buffer. An automatic buffer
//! (MPI-4.1 section 3.6) consists of copies on the heap, one for each message.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::call::{SLICE_REQUESTS, drain};
use crate::coll::try_with_capacity;
use crate::error::Error;
use crate::process::Env;
use midplane_device::interface::{Device, MeasuredQuantity, ReleaseTarget, TestResult};
use midplane_device::kernel::CallInfo;
use midplane_device::request::RequestId;

#[derive(Clone, PartialEq, Eq, Debug)]
struct BufferPiece {
    offset: usize,
    len: usize,
    /// `None`: the device has completed the send.
    send: Option<RequestId>,
    /// Number of the message in the order of their sends.
    number: u64,
    /// The message, if the buffer is automatic.
    copy: Vec<u8>,
}

impl BufferPiece {
    /// Frees the request, if the send is complete.
    fn test(&mut self, env: &dyn Env) {
        self.send = self.send.filter(|send| env.test(None, *send) == TestResult::Pending);
    }
}

/// Used parts of the attached buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufferUse {
    bytes: usize,
    /// Sorted by offset; by number if the buffer is automatic.
    pieces: Vec<BufferPiece>,
    /// Number of messages sent so far.
    sent: u64,
}

/// Free space found for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeGap {
    /// Offset of the first byte in the buffer.
    pub offset: usize,
    /// Length in bytes.
    pub len: usize,
    before: usize,
}

impl BufferUse {
    /// Creates an empty buffer of `bytes` bytes.
    pub const fn new(bytes: usize) -> Self {
        BufferUse {
            bytes,
            pieces: Vec::new(),
            sent: 0,
        }
    }

    /// Returns the size of the buffer in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of bytes that contain messages.
    fn used(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// Returns a gap of `len` bytes after the last piece.
    fn at_the_end(&self, len: usize) -> Option<FreeGap> {
        let offset = self.pieces.last().map_or(0, |last| last.offset + last.len);
        (len <= self.bytes - offset).then_some(FreeGap {
            offset,
            len,
            before: self.pieces.len(),
        })
    }

    /// Returns the first gap of `len` bytes.
    fn anywhere(&self, len: usize) -> Option<FreeGap> {
        let mut offset = 0;
        for (before, piece) in self.pieces.iter().enumerate() {
            if len <= piece.offset - offset {
                return Some(FreeGap { offset, len, before });
            }
            offset = piece.offset + piece.len;
        }
        self.at_the_end(len)
    }

    /// Finds space for a message of `len` bytes sent by `function`. If the buffer is full, it blocks as long as
    /// acknowledgements of received messages may still be in flight ([`MeasuredQuantity::Patience`]): a program may know from
    /// its own messages that an earlier message was received, and then may rely on the space. Fails with
    /// [`Error::NoSpace`] and [`Error::BufferFull`].
    pub fn place(&mut self, env: &dyn Env, function: &'static str, len: usize) -> Result<FreeGap, Error> {
        self.reserve()?;
        let place = { self.at_the_end(len) }.or_else(|| self.place_after_news(env, function, len));
        place.ok_or_else(|| Error::BufferFull {
            bytes: len,
            size: self.bytes,
            used: self.used(),
        })
    }

    /// Reserves memory, so that recording a message needs none.
    fn reserve(&mut self) -> Result<(), Error> {
        self.pieces.try_reserve(1).map_err(|_| Error::NoSpace {
            bytes: size_of::<BufferPiece>(),
        })
    }

    /// Allocates the copy of a message of `len` bytes sent by `function` from an automatic buffer, after the copies of
    /// completed sends are freed. Does not block. Fails with [`Error::NoSpace`].
    pub fn make_copy(&mut self, env: &dyn Env, function: &'static str, len: usize) -> Result<Vec<u8>, Error> {
        self.reclaim(env, CallInfo::without_peer(function));
        self.reserve()?;
        let mut copy = try_with_capacity(len)?;
        copy.resize(len, 0);
        Ok(copy)
    }

    /// Records that a copy from [`BufferUse::make_copy`] was sent by request `send`.
    pub fn sent_copy(&mut self, env: &dyn Env, copy: Vec<u8>, send: Option<RequestId>) {
        if let Some(send) = send {
            env.release(send, ReleaseTarget::Handle);
            self.pieces.push(BufferPiece {
                offset: 0,
                len: 0,
                send: Some(send),
                number: self.sent,
                copy,
            });
            self.sent += 1;
        }
    }

    /// Returns the number of messages sent so far, for [`BufferUse::is_flushed`].
    pub fn messages(&self) -> u64 {
        self.sent
    }

    /// Checks whether the first `messages` messages have left the buffer. Does not block.
    pub fn is_flushed(&mut self, env: &dyn Env, messages: u64) -> bool {
        self.drop_sent(env);
        self.pieces.iter().all(|piece| piece.number >= messages)
    }

    fn place_after_news(&mut self, env: &dyn Env, function: &'static str, len: usize) -> Option<FreeGap> {
        let note = CallInfo::without_peer(function);
        let mut start = None;
        loop {
            drain(env, note);
            let now = env.measure(MeasuredQuantity::Now);
            let waited = now - *start.get_or_insert(now);
            let is_over = len > self.bytes || waited > env.measure(MeasuredQuantity::Patience);
            self.reclaim(env, note);
            let place = self.anywhere(len);
            if place.is_some() || is_over {
                return place;
            }
        }
    }

    /// Records that the message at `gap` was sent by request `send`; without a request, the send is already complete
    /// and uses no buffer space. `gap` must have been found since the last change.
    pub fn sent(&mut self, env: &dyn Env, gap: FreeGap, send: Option<RequestId>) {
        if let Some(send) = send {
            env.release(send, ReleaseTarget::Handle);
            self.insert_piece(gap, send);
        }
    }

    /// Records that request `send` occupies `gap`, which must have been found since the last change.
    fn insert_piece(&mut self, gap: FreeGap, send: RequestId) {
        let piece = BufferPiece {
            offset: gap.offset,
            len: gap.len,
            send: Some(send),
            number: self.sent,
            copy: Vec::new(),
        };
        self.sent += 1;
        self.pieces.insert(gap.before, piece);
    }

    /// Frees the pieces and the requests of completed sends. Does not block.
    fn reclaim(&mut self, env: &dyn Env, note: CallInfo) {
        for (place, piece) in self.pieces.iter_mut().enumerate() {
            if place % SLICE_REQUESTS == 0 {
                env.advance(note, None);
            }
            piece.test(env);
        }
        self.pieces.retain(|piece| piece.send.is_some());
    }

    /// Like [`BufferUse::reclaim`], without progress.
    fn drop_sent(&mut self, env: &dyn Env) {
        self.pieces.iter_mut().for_each(|piece| piece.test(env));
        self.pieces.retain(|piece| piece.send.is_some());
    }

    /// Frees all pieces. Blocks until the device has completed all sends.
    pub fn wait_until_empty(&mut self, env: &dyn Env, function: &'static str) {
        for piece in self.pieces.drain(..) {
            if let Some(send) = piece.send {
                env.wait(function, send);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(room: &mut BufferUse, gap: Option<FreeGap>, send: u32) -> usize {
        let gap = gap.expect("a gap");
        room.insert_piece(gap, RequestId(send));
        gap.offset
    }

    #[test]
    fn messages_fill_the_buffer_without_overlap() {
        let mut room = BufferUse::new(100);
        for (send, len, offset) in [(1, 40, 0), (2, 0, 40), (3, 60, 40)] {
            let gap = room.at_the_end(len);
            assert_eq!(put(&mut room, gap, send), offset);
        }
        assert_eq!(room.used(), 100);
        assert_eq!(room.anywhere(1), None);
        let gap = room.anywhere(0);
        assert!(gap.is_some(), "nothing fits anywhere");
    }

    #[test]
    fn a_gap_is_found_and_kept_in_order() {
        let mut room = BufferUse::new(100);
        for (send, len) in [(1, 30), (2, 30), (3, 30)] {
            let gap = room.at_the_end(len);
            put(&mut room, gap, send);
        }
        room.pieces.retain(|piece| piece.send != Some(RequestId(2)));
        assert_eq!(room.at_the_end(20), None);
        assert_eq!(room.anywhere(31), None);
        let gap = room.anywhere(20);
        assert_eq!(put(&mut room, gap, 4), 30);
        let gap = room.anywhere(10);
        assert_eq!(put(&mut room, gap, 5), 50);
        assert_eq!(room.at_the_end(10).map(|gap| gap.offset), Some(90));
        let offsets: Vec<usize> = room.pieces.iter().map(|piece| piece.offset).collect();
        assert_eq!(offsets, [0, 30, 50, 60]);
    }
}
