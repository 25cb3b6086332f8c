//! File calls, executed by the tool for the node: function shipping, as in Blue Gene, whose compute-node kernel shipped
//! calls to its I/O nodes.
//!
//! A node has one outstanding call at a time. It writes the call and then `asked`, a number that differs for each call.
//! The tool, the only writer of the reply, writes that to the same fields and then writes the number to `answered`.
//! Like the blackboard it is found by the image's symbol ([`SYMBOL`]), and only a program that calls file functions
//! contains it.
//!
//! ```text
//!   magic | asked | answered | call | numbers, 3 of 8 bytes | error | length | up to BYTES bytes
//! ```
//!
//! | call | numbers | bytes | answered: number 0, bytes |
//! |---|---|---|---|
//! | `Open` | flags (`OPEN_*`), mode | path | descriptor |
//! | `Close`, `Sync` | descriptor | | |
//! | `Read` | descriptor, count | | count; that many bytes |
//! | `Write` | descriptor | data to write | count |
//! | `Seek` | descriptor, offset, whence | | offset |
//! | `Resize` | descriptor, size | | |
//! | `Stat`, `Lstat` | | path | [`FileStatus`] |
//! | `Fstat` | descriptor | | [`FileStatus`] |
//! | `Access` | mode | path | |
//! | `Unlink`, `RemoveDirectory` | | path | |
//! | `MakeDirectory` | mode | path | |
//! | `Rename` | bytes of the old path | old path, new path | |
//! | `Next` | descriptor of a directory | | inode, and in number 1 the type; name, or none at the end |
//! | `Rewind` | descriptor of a directory | | |
//!
//! A failed call returns Linux's error number in `error`, a successful one 0.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use portable_atomic::AtomicU64;

use super::memory_access::MemoryAccess;

/// The image's symbol for its [`FileMailbox`].
pub const SYMBOL: &str = "MIDPLANE_FILES";
/// First word of a desk that was used ("MPF1", for files).
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPF1");
/// Maximum number of bytes per call, in either direction: longer transfers use several calls.
pub const BYTES: usize = 8192;
/// Maximum length of a path in bytes, without a zero (`PATH_MAX`).
pub const MAX_PATH: usize = 4095;
/// Maximum number of open descriptors of a node.
pub const MAX_OPEN: usize = 64;
const _: () = assert!(2 * MAX_PATH <= BYTES);

/// Open for reading.
pub const OPEN_READ: u64 = 1;
/// Open for writing.
pub const OPEN_WRITE: u64 = 2;
/// Each write appends.
pub const OPEN_APPEND: u64 = 4;
/// Create the file if it does not exist.
pub const OPEN_CREATE: u64 = 8;
/// Fail if the file exists.
pub const OPEN_EXCLUSIVE: u64 = 16;
/// Truncate the file.
pub const OPEN_TRUNCATE: u64 = 32;
/// Fail if it is not a directory.
pub const OPEN_DIRECTORY: u64 = 64;
/// Fail if it is a symbolic link.
pub const OPEN_NO_LINK: u64 = 128;

// Offsets of the words, in bytes from the start.
pub(super) const AT_MAGIC: u64 = 0;
pub(super) const AT_ASKED: u64 = 4;
pub(super) const AT_ANSWERED: u64 = 8;
pub(super) const AT_CALL: u64 = 12;
pub(super) const AT_NUMBERS: u64 = 16;
pub(super) const AT_ERROR: u64 = 40;
pub(super) const AT_LENGTH: u64 = 44;
pub(super) const AT_BYTES: u64 = 48;

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// Requested operation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum FileOperation {
            $($(#[$doc])* $name = $number,)*
        }

        impl FileOperation {
            fn from_number(number: u32) -> Option<FileOperation> {
                Some(match number {
                    $($number => FileOperation::$name,)*
                    _ => return None,
                })
            }
        }
    };
}

calls! {
    /// Opens a file or directory.
    Open = 1,
    /// Closes a descriptor.
    Close = 2,
    /// Reads at the current position.
    Read = 3,
    /// Writes at the current position.
    Write = 4,
    /// Moves the current position.
    Seek = 5,
    /// Synchronizes written data to storage.
    Sync = 6,
    /// Changes the size.
    Resize = 7,
    /// Returns the status of a path's target.
    Stat = 8,
    /// Returns the status of a path, without following a symbolic link.
    Lstat = 9,
    /// Returns the status of an open file.
    Fstat = 10,
    /// Checks permissions.
    Access = 11,
    /// Removes a file's name.
    Unlink = 12,
    /// Renames a file.
    Rename = 13,
    /// Creates a directory.
    MakeDirectory = 14,
    /// Removes an empty directory.
    RemoveDirectory = 15,
    /// Returns the next entry of a directory.
    Next = 16,
    /// Restarts a directory's entries.
    Rewind = 17,
}

/// Status of a file, as in `stat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileStatus {
    /// Device, inode.
    pub identity: [u64; 2],
    /// Type and permissions, in the numbers of Linux, which are picolibc's.
    pub mode: u64,
    /// Number of hard links.
    pub links: u64,
    /// User, group.
    pub owner: [u64; 2],
    /// Bytes.
    pub size: u64,
    /// Preferred I/O size in bytes, and number of allocated blocks of 512 bytes.
    pub blocks: [u64; 2],
    /// Last read, write and change: seconds and nanoseconds.
    pub times: [u64; 6],
}

impl FileStatus {
    /// Size of an encoded status in bytes.
    pub const BYTES: usize = 15 * 8;

    /// Encodes the status.
    pub fn emit(&self) -> [u8; Self::BYTES] {
        let [device, inode] = self.identity;
        let [user, group] = self.owner;
        let [piece, blocks] = self.blocks;
        let first = [
            device, inode, self.mode, self.links, user, group, self.size, piece, blocks,
        ];
        let mut bytes = [0; Self::BYTES];
        let words = first.iter().chain(&self.times);
        for (out, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *out = word.to_le_bytes();
        }
        bytes
    }

    /// Decodes a status.
    pub fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let mut words = bytes.as_chunks::<8>().0.iter();
        let mut next = || words.next().map_or(0, |word| u64::from_le_bytes(*word));
        Self {
            identity: [next(), next()],
            mode: next(),
            links: next(),
            owner: [next(), next()],
            size: next(),
            blocks: [next(), next()],
            times: core::array::from_fn(|_| next()),
        }
    }
}

/// The node's side of the file call mailbox.
#[repr(C)]
pub struct FileMailbox {
    magic: AtomicU32,
    asked: AtomicU32,
    answered: AtomicU32,
    call: AtomicU32,
    numbers: [AtomicU64; 3],
    error: AtomicU32,
    length: AtomicU32,
    bytes: [AtomicU8; BYTES],
}

/// A reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileReply {
    /// Its numbers.
    pub numbers: [u64; 2],
    /// Number of bytes to take.
    pub length: usize,
}

impl FileMailbox {
    /// Creates a mailbox without a call.
    pub const fn new() -> Self {
        FileMailbox {
            magic: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            call: AtomicU32::new(0),
            numbers: [const { AtomicU64::new(0) }; 3],
            error: AtomicU32::new(0),
            length: AtomicU32::new(0),
            bytes: [const { AtomicU8::new(0) }; BYTES],
        }
    }

    /// Submits a call, with the concatenated bytes of `parts`, truncated to [`BYTES`]. The caller must then ring the
    /// tool's doorbell. The previous call must be complete.
    pub fn ask(&self, call: FileOperation, numbers: [u64; 3], parts: &[&[u8]]) {
        self.magic.store(MAGIC, Ordering::Relaxed);
        self.call.store(call as u32, Ordering::Relaxed);
        for (place, number) in self.numbers.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
        let mut length = 0;
        let bytes = parts.iter().flat_map(|part| part.iter());
        for (place, byte) in self.bytes.iter().zip(bytes) {
            place.store(*byte, Ordering::Relaxed);
            length += 1;
        }
        self.length.store(length, Ordering::Relaxed);
        let asked = self.asked.load(Ordering::Relaxed).wrapping_add(1);
        self.asked.store(asked, Ordering::Release);
    }

    /// Returns the reply when it is available: Linux's error number if the call failed. Does not block.
    pub fn answer(&self) -> Option<Result<FileReply, u32>> {
        let asked = self.asked.load(Ordering::Relaxed);
        (self.answered.load(Ordering::Acquire) == asked).then(|| match self.error.load(Ordering::Relaxed) {
            0 => Ok(FileReply {
                numbers: [0, 1].map(|at: usize| self.numbers[at].load(Ordering::Relaxed)),
                length: (self.length.load(Ordering::Relaxed) as usize).min(BYTES),
            }),
            error => Err(error),
        })
    }

    /// Copies a prefix of a reply's bytes.
    pub fn copy_bytes(&self, out: &mut [u8]) {
        for (out, byte) in out.iter_mut().zip(&self.bytes) {
            *out = byte.load(Ordering::Relaxed);
        }
    }
}

impl Default for FileMailbox {
    fn default() -> Self {
        Self::new()
    }
}

/// A node's call, as the tool receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileRequest {
    /// The call's number; the reply must contain it.
    pub number: u32,
    /// The operation; `None` if it is unknown.
    pub call: Option<FileOperation>,
    /// See the module.
    pub numbers: [u64; 3],
    /// Number of bytes that [`FileRequest::poll`] has stored in its buffer.
    pub length: usize,
}

impl FileRequest {
    /// Polls the mailbox at `at` for a call other than number `last`, and copies its bytes to `out`.
    pub fn poll(window: &impl MemoryAccess, at: u64, last: u32, out: &mut [u8; BYTES]) -> Option<Self> {
        let number = window.load(at + AT_ASKED)?;
        if number == last || window.load(at + AT_MAGIC)? != MAGIC {
            return None;
        }
        let call = FileOperation::from_number(window.load(at + AT_CALL)?);
        let mut numbers = [[0; 8]; 3];
        window.read(at + AT_NUMBERS, numbers.as_flattened_mut())?;
        let length = (window.load(at + AT_LENGTH)? as usize).min(BYTES);
        window.read(at + AT_BYTES, &mut out[..length])?;
        Some(Self {
            number,
            call,
            numbers: numbers.map(u64::from_le_bytes),
            length,
        })
    }
}

/// Writes the tool's reply to call `number` of the mailbox at `at`: numbers and bytes, or Linux's error number.
pub fn answer(window: &impl MemoryAccess, at: u64, number: u32, answer: Result<([u64; 2], &[u8]), u32>) {
    let (error, numbers, bytes) = match answer {
        Ok((numbers, bytes)) => (0, numbers, &bytes[..bytes.len().min(BYTES)]),
        Err(error) => (error.max(1), [0; 2], &[][..]),
    };
    window.write(at + AT_NUMBERS, numbers.map(u64::to_le_bytes).as_flattened());
    window.write(at + AT_BYTES, bytes);
    window.store(at + AT_ERROR, error);
    window.store(at + AT_LENGTH, bytes.len() as u32);
    // Last, after the data that it announces.
    window.store(at + AT_ANSWERED, number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::vec::Vec;

    /// A node's memory with a mailbox in it, as bytes.
    struct MailboxMemory(RefCell<Vec<u8>>);

    impl MailboxMemory {
        /// Copies the node's contents.
        fn from_mailbox(mailbox: &FileMailbox) -> Self {
            let mut bytes = Vec::new();
            for word in [&mailbox.magic, &mailbox.asked, &mailbox.answered, &mailbox.call] {
                bytes.extend(word.load(Ordering::Relaxed).to_le_bytes());
            }
            for number in &mailbox.numbers {
                bytes.extend(number.load(Ordering::Relaxed).to_le_bytes());
            }
            for word in [&mailbox.error, &mailbox.length] {
                bytes.extend(word.load(Ordering::Relaxed).to_le_bytes());
            }
            bytes.extend(mailbox.bytes.iter().map(|byte| byte.load(Ordering::Relaxed)));
            assert_eq!(bytes.len(), size_of::<FileMailbox>());
            MailboxMemory(RefCell::new(bytes))
        }

        /// Copies the tool's changes back to the node.
        fn back(&self, mailbox: &FileMailbox) {
            let bytes = self.0.borrow();
            let word = |at: u64| {
                let at = at as usize;
                u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
            };
            mailbox.answered.store(word(AT_ANSWERED), Ordering::Relaxed);
            mailbox.error.store(word(AT_ERROR), Ordering::Relaxed);
            mailbox.length.store(word(AT_LENGTH), Ordering::Relaxed);
            for (at, number) in mailbox.numbers.iter().enumerate() {
                let at = AT_NUMBERS as usize + 8 * at;
                let word = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                number.store(word, Ordering::Relaxed);
            }
            for (place, byte) in mailbox.bytes.iter().zip(&bytes[AT_BYTES as usize..]) {
                place.store(*byte, Ordering::Relaxed);
            }
        }
    }

    impl MemoryAccess for MailboxMemory {
        fn load(&self, at: u64) -> Option<u32> {
            let mut word = [0; 4];
            self.read(at, &mut word)?;
            Some(u32::from_le_bytes(word))
        }

        fn store(&self, at: u64, word: u32) -> bool {
            self.write(at, &word.to_le_bytes())
        }

        fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
            let at = usize::try_from(at).ok()?;
            out.copy_from_slice(self.0.borrow().get(at..at.checked_add(out.len())?)?);
            Some(())
        }

        fn write(&self, at: u64, bytes: &[u8]) -> bool {
            let mut memory = self.0.borrow_mut();
            let place = memory.get_mut(at as usize..at as usize + bytes.len());
            place.map(|place| place.copy_from_slice(bytes)).is_some()
        }
    }

    #[test]
    fn what_is_asked_is_answered_once() {
        let mailbox = FileMailbox::new();
        let mut bytes = [0; BYTES];
        assert_eq!(
            FileRequest::poll(&MailboxMemory::from_mailbox(&mailbox), 0, 0, &mut bytes),
            None
        );
        mailbox.ask(FileOperation::Rename, [3, 0, 7], &[b"old", b"new"]);
        assert_eq!(mailbox.answer(), None);
        let memory = MailboxMemory::from_mailbox(&mailbox);
        let asked = FileRequest::poll(&memory, 0, 0, &mut bytes).expect("asked");
        assert_eq!(asked.call, Some(FileOperation::Rename));
        assert_eq!((asked.numbers, asked.length), ([3, 0, 7], 6));
        assert_eq!(&bytes[..6], b"oldnew");
        answer(&memory, 0, asked.number, Ok(([5, 6], b"good")));
        assert_eq!(FileRequest::poll(&memory, 0, asked.number, &mut bytes), None);
        memory.back(&mailbox);
        let seen = mailbox.answer().expect("answered").expect("no error");
        assert_eq!((seen.numbers, seen.length), ([5, 6], 4));
        let mut out = [0; 4];
        mailbox.copy_bytes(&mut out);
        assert_eq!(&out, b"good");

        mailbox.ask(FileOperation::Sync, [9, 0, 0], &[]);
        assert_eq!(mailbox.answer(), None, "the answer before was another's");
        let memory = MailboxMemory::from_mailbox(&mailbox);
        let asked = FileRequest::poll(&memory, 0, asked.number, &mut bytes).expect("asked");
        answer(&memory, 0, asked.number, Err(9));
        memory.back(&mailbox);
        assert_eq!(mailbox.answer(), Some(Err(9)));
    }

    #[test]
    fn nonsense_from_a_node_is_harmless() {
        let mailbox = FileMailbox::new();
        mailbox.ask(FileOperation::Open, [0; 3], &[&[b'x'; 2 * BYTES]]);
        mailbox.call.store(99, Ordering::Relaxed);
        mailbox.length.store(u32::MAX, Ordering::Relaxed);
        let mut bytes = [0; BYTES];
        let memory = MailboxMemory::from_mailbox(&mailbox);
        let asked = FileRequest::poll(&memory, 0, 0, &mut bytes).expect("asked");
        assert_eq!((asked.call, asked.length), (None, BYTES));
        assert_eq!(FileRequest::poll(&memory, 1 << 40, 0, &mut bytes), None);
        answer(&memory, 1 << 40, 1, Err(5));
        mailbox.magic.store(7, Ordering::Relaxed);
        assert_eq!(
            FileRequest::poll(&MailboxMemory::from_mailbox(&mailbox), 0, 0, &mut bytes),
            None
        );
    }

    #[test]
    fn a_status_comes_as_it_was() {
        let status = FileStatus {
            identity: [1, u64::MAX],
            mode: 3,
            links: 4,
            owner: [5, 6],
            size: 7,
            blocks: [8, 9],
            times: [10, 11, 12, 13, 14, 15],
        };
        assert_eq!(FileStatus::parse(&status.emit()), status);
    }
}
