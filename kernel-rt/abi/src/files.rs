//! Calls on files, which the tool does for the node: function shipping, as Blue Gene's compute-node kernel had its I/O
//! nodes do them.
//!
//! A node has one call under way at a time. It writes what is to be done and then `asked`, a number that is another
//! for each call; the tool, which alone writes them, answers in the same places and then writes that number to
//! `answered`. Like the blackboard it is found by the image's symbol ([`SYMBOL`]), and only a program that calls
//! functions on files has it.
//!
//! ```text
//!   magic | asked | answered | call | numbers, 3 of 8 bytes | error | length | up to BYTES bytes
//! ```
//!
//! | call | numbers | bytes | answered: number 0, bytes |
//! |---|---|---|---|
//! | `Open` | flags (`OPEN_*`), mode | path | descriptor |
//! | `Close`, `Sync` | descriptor | | |
//! | `Read` | descriptor, count | | count; so many bytes |
//! | `Write` | descriptor | what to write | count |
//! | `Seek` | descriptor, offset, whence | | offset |
//! | `Resize` | descriptor, size | | |
//! | `Stat`, `Lstat` | | path | [`Status`] |
//! | `Fstat` | descriptor | | [`Status`] |
//! | `Access` | mode | path | |
//! | `Unlink`, `RemoveFolder` | | path | |
//! | `MakeFolder` | mode | path | |
//! | `Rename` | bytes of the old path | old path, new path | |
//! | `Next` | descriptor of a folder | | inode, and in number 1 the type; name, or none at the end |
//! | `Rewind` | descriptor of a folder | | |
//!
//! A call that fails has Linux's error number in `error`, and else 0 there.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use portable_atomic::AtomicU64;

use super::window::Window;

/// The image's symbol for its [`Desk`].
pub const SYMBOL: &str = "MIDPLANE_FILES";
/// First word of one at which something was asked ("MPF1", for files).
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPF1");
/// Bytes that one call carries at most, in either direction: what is longer is done in several.
pub const BYTES: usize = 8192;
/// Greatest length of a path in bytes, without a zero (`PATH_MAX`).
pub const MAX_PATH: usize = 4095;
/// Greatest number of descriptors of a node that are open at the same time.
pub const MAX_OPEN: usize = 64;
const _: () = assert!(2 * MAX_PATH <= BYTES);

/// To be read.
pub const OPEN_READ: u64 = 1;
/// To be written.
pub const OPEN_WRITE: u64 = 2;
/// Each write goes to the end.
pub const OPEN_APPEND: u64 = 4;
/// Made if it is not there.
pub const OPEN_CREATE: u64 = 8;
/// Made by this call, or none.
pub const OPEN_EXCLUSIVE: u64 = 16;
/// Emptied.
pub const OPEN_TRUNCATE: u64 = 32;
/// A folder, or none.
pub const OPEN_FOLDER: u64 = 64;
/// No symbolic link.
pub const OPEN_NO_LINK: u64 = 128;

// Where the words stand, in bytes from the start.
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
        /// What is to be done.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Call {
            $($(#[$doc])* $name = $number,)*
        }

        impl Call {
            fn of(number: u32) -> Option<Call> {
                Some(match number {
                    $($number => Call::$name,)*
                    _ => return None,
                })
            }
        }
    };
}

calls! {
    /// Opens a file or folder.
    Open = 1,
    /// Closes a descriptor.
    Close = 2,
    /// Reads from where it stands.
    Read = 3,
    /// Writes where it stands.
    Write = 4,
    /// Moves where it stands.
    Seek = 5,
    /// Has what was written kept.
    Sync = 6,
    /// Makes it longer or shorter.
    Resize = 7,
    /// What a path leads to.
    Stat = 8,
    /// The same, of a link itself.
    Lstat = 9,
    /// What is open.
    Fstat = 10,
    /// Whether something may be done with it.
    Access = 11,
    /// Removes a file's name.
    Unlink = 12,
    /// Gives a file another name.
    Rename = 13,
    /// Makes a folder.
    MakeFolder = 14,
    /// Removes an empty folder.
    RemoveFolder = 15,
    /// The next entry of a folder.
    Next = 16,
    /// Begins with a folder's entries again.
    Rewind = 17,
}

/// What is known of a file, as `stat` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Device, inode.
    pub identity: [u64; 2],
    /// Type and permissions, in the numbers of Linux, which are picolibc's.
    pub mode: u64,
    /// Number of names.
    pub links: u64,
    /// User, group.
    pub owner: [u64; 2],
    /// Bytes.
    pub size: u64,
    /// Bytes of a good piece to read, and blocks of 512 bytes that it takes.
    pub blocks: [u64; 2],
    /// Last read, write and change: seconds and nanoseconds.
    pub times: [u64; 6],
}

impl Status {
    /// Bytes of one as it is sent.
    pub const BYTES: usize = 15 * 8;

    /// As it is sent.
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

    /// What was sent.
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

/// The node's side.
#[repr(C)]
pub struct Desk {
    magic: AtomicU32,
    asked: AtomicU32,
    answered: AtomicU32,
    call: AtomicU32,
    numbers: [AtomicU64; 3],
    error: AtomicU32,
    length: AtomicU32,
    bytes: [AtomicU8; BYTES],
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its numbers.
    pub numbers: [u64; 2],
    /// How many bytes there are to take.
    pub length: usize,
}

impl Desk {
    /// One at which nothing was asked yet.
    pub const fn new() -> Self {
        Desk {
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

    /// Asks, with the bytes of `parts` one behind the other, of which [`BYTES`] at most are taken. The tool must be rung
    /// for it. The answer to the call before must have been seen.
    pub fn ask(&self, call: Call, numbers: [u64; 3], parts: &[&[u8]]) {
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

    /// The answer, once it is there: Linux's number of the error when there was one. Does not block.
    pub fn answer(&self) -> Option<Result<Answer, u32>> {
        let asked = self.asked.load(Ordering::Relaxed);
        (self.answered.load(Ordering::Acquire) == asked).then(|| {
            match self.error.load(Ordering::Relaxed) {
                0 => Ok(Answer {
                    numbers: [0, 1].map(|at: usize| self.numbers[at].load(Ordering::Relaxed)),
                    length: (self.length.load(Ordering::Relaxed) as usize).min(BYTES),
                }),
                error => Err(error),
            }
        })
    }

    /// Copies the beginning of an answer's bytes.
    pub fn take(&self, out: &mut [u8]) {
        for (out, byte) in out.iter_mut().zip(&self.bytes) {
            *out = byte.load(Ordering::Relaxed);
        }
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self::new()
    }
}

/// What a node has asked, as the tool takes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The call's number, by which it is answered.
    pub number: u32,
    /// What is to be done; `None`: something that there is not.
    pub call: Option<Call>,
    /// See the module.
    pub numbers: [u64; 3],
    /// How many bytes [`Asked::look`] has put into its buffer.
    pub length: usize,
}

impl Asked {
    /// Looks at the desk at `at`: a call other than number `last`, with its bytes in `out`.
    pub fn look(window: &impl Window, at: u64, last: u32, out: &mut [u8; BYTES]) -> Option<Self> {
        let number = window.load(at + AT_ASKED)?;
        if number == last || window.load(at + AT_MAGIC)? != MAGIC {
            return None;
        }
        let call = Call::of(window.load(at + AT_CALL)?);
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

/// What the tool answers to call `number` of the desk at `at`: numbers and bytes, or Linux's number of an error.
pub fn answer(window: &impl Window, at: u64, number: u32, answer: Result<([u64; 2], &[u8]), u32>) {
    let (error, numbers, bytes) = match answer {
        Ok((numbers, bytes)) => (0, numbers, &bytes[..bytes.len().min(BYTES)]),
        Err(error) => (error.max(1), [0; 2], &[][..]),
    };
    window.write(
        at + AT_NUMBERS,
        numbers.map(u64::to_le_bytes).as_flattened(),
    );
    window.write(at + AT_BYTES, bytes);
    window.store(at + AT_ERROR, error);
    window.store(at + AT_LENGTH, bytes.len() as u32);
    // Last: what it tells of is there.
    window.store(at + AT_ANSWERED, number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::vec::Vec;

    /// A node's memory with a desk in it, as bytes.
    struct Memory(RefCell<Vec<u8>>);

    impl Memory {
        /// As the node has left it.
        fn of(desk: &Desk) -> Self {
            let mut bytes = Vec::new();
            for word in [&desk.magic, &desk.asked, &desk.answered, &desk.call] {
                bytes.extend(word.load(Ordering::Relaxed).to_le_bytes());
            }
            for number in &desk.numbers {
                bytes.extend(number.load(Ordering::Relaxed).to_le_bytes());
            }
            for word in [&desk.error, &desk.length] {
                bytes.extend(word.load(Ordering::Relaxed).to_le_bytes());
            }
            bytes.extend(desk.bytes.iter().map(|byte| byte.load(Ordering::Relaxed)));
            assert_eq!(bytes.len(), size_of::<Desk>());
            Memory(RefCell::new(bytes))
        }

        /// What the tool has written, as the node sees it.
        fn back(&self, desk: &Desk) {
            let bytes = self.0.borrow();
            let word = |at: u64| {
                let at = at as usize;
                u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
            };
            desk.answered.store(word(AT_ANSWERED), Ordering::Relaxed);
            desk.error.store(word(AT_ERROR), Ordering::Relaxed);
            desk.length.store(word(AT_LENGTH), Ordering::Relaxed);
            for (at, number) in desk.numbers.iter().enumerate() {
                let at = AT_NUMBERS as usize + 8 * at;
                let word = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                number.store(word, Ordering::Relaxed);
            }
            for (place, byte) in desk.bytes.iter().zip(&bytes[AT_BYTES as usize..]) {
                place.store(*byte, Ordering::Relaxed);
            }
        }
    }

    impl Window for Memory {
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
        let desk = Desk::new();
        let mut bytes = [0; BYTES];
        assert_eq!(Asked::look(&Memory::of(&desk), 0, 0, &mut bytes), None);
        desk.ask(Call::Rename, [3, 0, 7], &[b"old", b"new"]);
        assert_eq!(desk.answer(), None);
        let memory = Memory::of(&desk);
        let asked = Asked::look(&memory, 0, 0, &mut bytes).expect("asked");
        assert_eq!(asked.call, Some(Call::Rename));
        assert_eq!((asked.numbers, asked.length), ([3, 0, 7], 6));
        assert_eq!(&bytes[..6], b"oldnew");
        answer(&memory, 0, asked.number, Ok(([5, 6], b"good")));
        assert_eq!(Asked::look(&memory, 0, asked.number, &mut bytes), None);
        memory.back(&desk);
        let seen = desk.answer().expect("answered").expect("no error");
        assert_eq!((seen.numbers, seen.length), ([5, 6], 4));
        let mut out = [0; 4];
        desk.take(&mut out);
        assert_eq!(&out, b"good");

        desk.ask(Call::Sync, [9, 0, 0], &[]);
        assert_eq!(desk.answer(), None, "the answer before was another's");
        let memory = Memory::of(&desk);
        let asked = Asked::look(&memory, 0, asked.number, &mut bytes).expect("asked");
        answer(&memory, 0, asked.number, Err(9));
        memory.back(&desk);
        assert_eq!(desk.answer(), Some(Err(9)));
    }

    #[test]
    fn nonsense_from_a_node_is_harmless() {
        let desk = Desk::new();
        desk.ask(Call::Open, [0; 3], &[&[b'x'; 2 * BYTES]]);
        desk.call.store(99, Ordering::Relaxed);
        desk.length.store(u32::MAX, Ordering::Relaxed);
        let mut bytes = [0; BYTES];
        let memory = Memory::of(&desk);
        let asked = Asked::look(&memory, 0, 0, &mut bytes).expect("asked");
        assert_eq!((asked.call, asked.length), (None, BYTES));
        assert_eq!(Asked::look(&memory, 1 << 40, 0, &mut bytes), None);
        answer(&memory, 1 << 40, 1, Err(5));
        desk.magic.store(7, Ordering::Relaxed);
        assert_eq!(Asked::look(&Memory::of(&desk), 0, 0, &mut bytes), None);
    }

    #[test]
    fn a_status_comes_as_it_was() {
        let status = Status {
            identity: [1, u64::MAX],
            mode: 3,
            links: 4,
            owner: [5, 6],
            size: 7,
            blocks: [8, 9],
            times: [10, 11, 12, 13, 14, 15],
        };
        assert_eq!(Status::parse(&status.emit()), status);
    }
}
