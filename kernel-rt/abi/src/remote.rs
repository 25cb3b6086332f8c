//! Outbox, inbox and file mailbox of a node whose memory the tool cannot access. They are in the tool's memory, and the
//! node accesses them through a [`MemoryAccess`]. The words are the same, and so are the rules ([`outbox`], [`inbox`],
//! [`files`]); for the tool there is no difference.

use core::sync::atomic::{AtomicU32, Ordering};

use super::files::{self, FileOperation};
use super::inbox::{self, ReadResult};
use super::memory_access::MemoryAccess;
use super::outbox::{self, OutputStream, RingWriter};

/// The node's side of an outbox at `at`.
pub struct RemoteOutbox<W> {
    window: W,
    at: u64,
    /// Published position of each stream.
    published: [AtomicU32; OutputStream::COUNT],
    /// The tool's read position of each stream, as last read: a read is more expensive than a write.
    taken: [AtomicU32; OutputStream::COUNT],
}

impl<W: MemoryAccess> RemoteOutbox<W> {
    /// Creates the outbox at `at`, in memory that is zero.
    pub const fn new(window: W, at: u64) -> Self {
        Self {
            window,
            at,
            published: [const { AtomicU32::new(0) }; OutputStream::COUNT],
            taken: [const { AtomicU32::new(0) }; OutputStream::COUNT],
        }
    }

    fn ring(&self, stream: OutputStream) -> u64 {
        self.at + outbox::AT_RINGS + outbox::RING_BYTES * stream as u64
    }

    /// Implements [`outbox::Outbox::begin`].
    pub fn begin(&self) {
        self.window.store(self.at + outbox::AT_MAGIC, outbox::MAGIC);
    }

    /// Implements [`outbox::Outbox::put`].
    pub fn put(&self, stream: OutputStream, pen: &mut RingWriter, bytes: &[u8]) -> usize {
        let ring = self.ring(stream);
        let taken = &self.taken[stream as usize];
        let room = || {
            let used = pen.position().wrapping_sub(taken.load(Ordering::Relaxed));
            outbox::CAPACITY.saturating_sub(used) as usize
        };
        if room() < bytes.len() {
            let read = self.window.load(ring + outbox::AT_READ);
            taken.store(read.unwrap_or_default(), Ordering::Relaxed);
        }
        let count = bytes.len().min(room());
        let begin = pen.position() % outbox::CAPACITY;
        let to_end = (outbox::CAPACITY - begin) as usize;
        let (first, rest) = bytes[..count].split_at(count.min(to_end));
        let data = ring + outbox::AT_BYTES;
        for (at, part) in [(data + u64::from(begin), first), (data, rest)] {
            if !part.is_empty() {
                self.window.write(at, part);
            }
        }
        pen.advance(count as u32);
        count
    }

    /// Implements [`outbox::Outbox::is_pending`].
    pub fn is_pending(&self, stream: OutputStream, pen: &RingWriter) -> bool {
        self.published[stream as usize].load(Ordering::Relaxed) != pen.position()
    }

    /// Implements [`outbox::Outbox::publish`].
    pub fn publish(&self, stream: OutputStream, pen: &RingWriter) {
        let written = pen.position();
        self.published[stream as usize].store(written, Ordering::Relaxed);
        let ring = self.ring(stream);
        self.window.store(ring + outbox::AT_WRITTEN, written);
    }

    /// Implements [`outbox::Outbox::must_ring`]. A tool that polls between the two accesses receives an unnecessary
    /// ring.
    pub fn must_ring(&self) -> bool {
        let rung = self.at + outbox::AT_RUNG;
        self.window.load(rung) == Some(0) && self.window.store(rung, 1)
    }
}

/// The node's side of an inbox at `at`.
pub struct RemoteInbox<W> {
    window: W,
    at: u64,
}

impl<W: MemoryAccess> RemoteInbox<W> {
    /// Creates the inbox at `at`, in memory that is zero.
    pub const fn new(window: W, at: u64) -> Self {
        Self { window, at }
    }

    /// Implements [`inbox::Inbox::read_input`].
    pub fn read_input(&self, out: &mut [u8]) -> ReadResult {
        let load = |word| self.window.load(self.at + word).unwrap_or_default();
        self.window.store(self.at + inbox::AT_MAGIC, inbox::MAGIC);
        self.window.store(self.at + inbox::AT_WANTED, 1);
        // `closed` is read first, so that all earlier writes are visible.
        let closed = load(inbox::AT_CLOSED) != 0;
        let written = load(inbox::AT_WRITTEN);
        let read = load(inbox::AT_READ);
        let waiting = written.wrapping_sub(read).min(inbox::CAPACITY) as usize;
        let count = waiting.min(out.len());
        let begin = read % inbox::CAPACITY;
        let to_end = (inbox::CAPACITY - begin) as usize;
        let (first, rest) = out[..count].split_at_mut(count.min(to_end));
        let ring = self.at + inbox::AT_RING;
        let _ = self.window.read(ring + u64::from(begin), first);
        if !rest.is_empty() {
            let _ = self.window.read(ring, rest);
        }
        let read = read.wrapping_add(count as u32);
        self.window.store(self.at + inbox::AT_READ, read);
        match (count, closed) {
            (0, false) => ReadResult::Empty,
            (0, true) => ReadResult::End,
            (count, _) => ReadResult::Bytes(count),
        }
    }
}

/// The node's side of a file mailbox at `at`.
pub struct RemoteMailbox<W> {
    window: W,
    at: u64,
    asked: AtomicU32,
}

impl<W: MemoryAccess> RemoteMailbox<W> {
    /// Creates the mailbox at `at`, in memory that is zero.
    pub const fn new(window: W, at: u64) -> Self {
        Self {
            window,
            at,
            asked: AtomicU32::new(0),
        }
    }

    /// Implements [`files::FileMailbox::ask`].
    pub fn ask(&self, call: FileOperation, numbers: [u64; 3], parts: &[&[u8]]) {
        let store = |word, value| self.window.store(self.at + word, value);
        store(files::AT_MAGIC, files::MAGIC);
        store(files::AT_CALL, call as u32);
        let numbers = numbers.map(u64::to_le_bytes);
        self.window.write(self.at + files::AT_NUMBERS, numbers.as_flattened());
        let mut length = 0;
        for part in parts {
            let part = &part[..part.len().min(files::BYTES - length)];
            let place = self.at + files::AT_BYTES + length as u64;
            self.window.write(place, part);
            length += part.len();
        }
        store(files::AT_LENGTH, length as u32);
        let asked = self.asked.load(Ordering::Relaxed).wrapping_add(1);
        self.asked.store(asked, Ordering::Relaxed);
        store(files::AT_ASKED, asked);
    }

    /// Implements [`files::FileMailbox::answer`].
    pub fn answer(&self) -> Option<Result<files::FileReply, u32>> {
        let load = |word| self.window.load(self.at + word).unwrap_or_default();
        (load(files::AT_ANSWERED) == self.asked.load(Ordering::Relaxed)).then_some(())?;
        match load(files::AT_ERROR) {
            0 => {
                let mut numbers = [[0; 8]; 2];
                let place = self.at + files::AT_NUMBERS;
                let _ = self.window.read(place, numbers.as_flattened_mut());
                Some(Ok(files::FileReply {
                    numbers: numbers.map(u64::from_le_bytes),
                    length: (load(files::AT_LENGTH) as usize).min(files::BYTES),
                }))
            }
            error => Some(Err(error)),
        }
    }

    /// Implements [`files::FileMailbox::copy_bytes`].
    pub fn copy_bytes(&self, out: &mut [u8]) {
        let count = out.len().min(files::BYTES);
        let place = self.at + files::AT_BYTES;
        let _ = self.window.read(place, &mut out[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileRequest;
    use crate::inbox::InboxState;
    use crate::outbox::OutboxReader;
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::vec::Vec;

    #[derive(Clone)]
    struct TestMemory(Rc<RefCell<Vec<u8>>>);

    impl TestMemory {
        fn new() -> Self {
            Self(Rc::new(RefCell::new(std::vec![0; 64 << 10])))
        }
    }

    impl MemoryAccess for TestMemory {
        fn load(&self, at: u64) -> Option<u32> {
            let mut word = [0; 4];
            self.read(at, &mut word)?;
            Some(u32::from_le_bytes(word))
        }

        fn store(&self, at: u64, word: u32) -> bool {
            assert!(at.is_multiple_of(4));
            self.write(at, &word.to_le_bytes())
        }

        fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
            let at = at as usize;
            out.copy_from_slice(self.0.borrow().get(at..at + out.len())?);
            Some(())
        }

        fn write(&self, at: u64, bytes: &[u8]) -> bool {
            let at = at as usize;
            self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
            true
        }
    }

    const AT: u64 = 512;

    #[test]
    fn the_tool_reads_what_the_node_prints_around_the_ring() {
        let memory = TestMemory::new();
        let outbox = RemoteOutbox::new(memory.clone(), AT);
        let (mut reader, mut pen) = (OutboxReader::new(AT), RingWriter::new());
        let mut out = std::vec![0; outbox::CAPACITY as usize];
        outbox.begin();
        let text: Vec<u8> = (0..100_000u32).map(|n| (n % 251) as u8).collect();
        let (mut rest, mut seen, mut rung) = (&text[..], Vec::new(), 0);
        while seen.len() < text.len() {
            let put = outbox.put(OutputStream::Err, &mut pen, &rest[..rest.len().min(3000)]);
            rest = &rest[put..];
            assert_eq!(outbox.is_pending(OutputStream::Err, &pen), put > 0);
            outbox.publish(OutputStream::Err, &pen);
            rung += u32::from(outbox.must_ring());
            assert!(!outbox.must_ring(), "it has not looked since");
            if put < 3000 {
                reader.arm(&memory);
                seen.extend_from_slice(reader.read_stream(&memory, OutputStream::Err, &mut out).unwrap());
            }
        }
        assert!(seen == text);
        assert!(rung > 10);
    }

    #[test]
    fn the_node_takes_what_the_tool_puts_in() {
        let memory = TestMemory::new();
        let inbox = RemoteInbox::new(memory.clone(), AT);
        let text: Vec<u8> = (0..20_000u32).map(|n| (n % 249) as u8).collect();
        let (mut given, mut seen, mut out) = (0, Vec::new(), [0; 700]);
        assert_eq!(InboxState::load(&memory, AT), None);
        loop {
            match inbox.read_input(&mut out) {
                ReadResult::Bytes(count) => seen.extend_from_slice(&out[..count]),
                ReadResult::End => break,
                ReadResult::Empty if given == text.len() => inbox::close(&memory, AT),
                ReadResult::Empty => {
                    let head = InboxState::load(&memory, AT).unwrap();
                    given += head.write_input(&memory, AT, &text[given..]);
                }
            }
        }
        assert!(seen == text);
    }

    #[test]
    fn the_tool_answers_what_is_asked_of_files() {
        let memory = TestMemory::new();
        let mailbox = RemoteMailbox::new(memory.clone(), AT);
        let mut bytes = [0; files::BYTES];
        assert_eq!(FileRequest::poll(&memory, AT, 0, &mut bytes), None);
        mailbox.ask(FileOperation::Rename, [3, 1 << 40, 0], &[b"old", b"newer"]);
        assert_eq!(mailbox.answer(), None);
        let asked = FileRequest::poll(&memory, AT, 0, &mut bytes).unwrap();
        assert_eq!(
            (asked.call, asked.numbers),
            (Some(FileOperation::Rename), [3, 1 << 40, 0])
        );
        assert_eq!(&bytes[..asked.length], b"oldnewer");
        files::answer(&memory, AT, asked.number, Ok(([5, 6], b"word")));
        let answer = mailbox.answer().unwrap().unwrap();
        assert_eq!((answer.numbers, answer.length), ([5, 6], 4));
        let mut word = [0; 4];
        mailbox.copy_bytes(&mut word);
        assert_eq!(&word, b"word");
        mailbox.ask(FileOperation::Close, [1, 0, 0], &[]);
        let number = FileRequest::poll(&memory, AT, asked.number, &mut bytes).unwrap().number;
        files::answer(&memory, AT, number, Err(9));
        assert_eq!(mailbox.answer(), Some(Err(9)));
    }
}
