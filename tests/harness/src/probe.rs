//! A debug probe on an emulated board: what probe-rs finds in RAM by RTT (SEGGER's J-Link RTT protocol), read through
//! QEMU's gdb stub. No tool of ours looks after the board.

use crate::{Folder, boards};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where the board's RAM is that data is in, and its size.
const RAM: (u32, usize) = (0x2000_0000, 128 << 10);
/// Bytes that are asked for at once.
const PIECE: usize = 128;
/// What a probe looks for.
const MARK: &[u8] = b"SEGGER RTT\0\0\0\0\0\0";

/// The board, and the way to its memory.
pub struct Probe {
    board: Child,
    stub: UnixStream,
}

/// A channel from the board.
#[derive(Debug)]
pub struct Channel {
    /// As the board calls it.
    pub name: String,
    /// What it has written and nobody has read.
    pub bytes: Vec<u8>,
}

impl Probe {
    /// Boots a board that nothing is wired to.
    pub fn boot(image: &str, folder: &Folder) -> Self {
        let socket = folder.path("stub");
        let mut command = boards::emulated(image);
        command.args(["-gdb", "chardev:stub"]);
        command.args([
            "-chardev",
            &format!("socket,id=stub,path={socket},server=on,wait=off"),
        ]);
        let board = command.spawn().expect("the board starts");
        let begun = Instant::now();
        let stub = loop {
            match UnixStream::connect(&socket) {
                Ok(stub) => break stub,
                Err(why) if begun.elapsed() > Duration::from_secs(60) => panic!("{socket}: {why}"),
                Err(_) => sleep(Duration::from_millis(20)),
            }
        };
        Self { board, stub }
    }

    /// Lets the board run until a channel's bytes are as they are wanted; all channels.
    pub fn wait_until(&mut self, is_there: impl Fn(&[Channel]) -> bool) -> Vec<Channel> {
        let begun = Instant::now();
        loop {
            let channels = self.channels();
            if is_there(&channels) {
                return channels;
            }
            let late = begun.elapsed() > Duration::from_secs(120);
            assert!(!late, "the board says {channels:?}");
            self.send("c");
            sleep(Duration::from_millis(100));
            // Stops it, on which it answers.
            self.stub.write_all(&[3]).expect("the stub");
            self.answer();
        }
    }

    fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.stub, "+${packet}#{sum:02x}").expect("the stub");
    }

    fn answer(&mut self) -> Vec<u8> {
        let mut byte = || {
            let mut byte = [0];
            self.stub.read_exact(&mut byte).expect("the stub");
            byte[0]
        };
        while byte() != b'$' {}
        let mut answer = Vec::new();
        loop {
            match byte() {
                b'#' => break,
                other => answer.push(other),
            }
        }
        byte();
        byte();
        answer
    }

    /// Bytes of a board that stands; `None` where its memory protection lets nobody look.
    pub fn memory(&mut self, from: u32, bytes: usize) -> Option<Vec<u8>> {
        self.send(&format!("m{from:x},{bytes:x}"));
        let mut digits = self.answer();
        // That it stands, it says as well when it was found so.
        while digits.starts_with(b"T") {
            digits = self.answer();
        }
        let digits = String::from_utf8(digits).expect("digits");
        let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
        (0..bytes).map(byte).collect()
    }

    /// The channels from the board; none before it has made them.
    fn channels(&mut self) -> Vec<Channel> {
        let pieces = (0..RAM.1 / PIECE).map(|k| RAM.0 + (k * PIECE) as u32);
        let ram: Vec<u8> = pieces
            .flat_map(|from| self.memory(from, PIECE).unwrap_or(vec![0; PIECE]))
            .collect();
        let Some(block) = ram.windows(MARK.len()).position(|bytes| bytes == MARK) else {
            return Vec::new();
        };
        let word = |at: usize| u32::from_le_bytes(ram[at..at + 4].try_into().expect("four bytes"));
        let counts = block + MARK.len();
        let mut channel = |number: u32| {
            let at = counts + 8 + 24 * number as usize;
            let (buffer, size) = ((word(at + 4) - RAM.0) as usize, word(at + 8) as usize);
            let (written, read) = (word(at + 12) as usize, word(at + 16) as usize);
            let waiting = (written + size - read) % size;
            let name = self.memory(word(at), 16).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            Channel {
                name: String::from_utf8_lossy(name).into_owned(),
                bytes: (0..waiting)
                    .map(|k| ram[buffer + (read + k) % size])
                    .collect(),
            }
        };
        (0..word(counts)).map(&mut channel).collect()
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.board.kill();
        let _ = self.board.wait();
    }
}
