//! Debug probe on an emulated standalone board: reads the RTT channels that probe-rs would find in RAM (SEGGER's J-Link
//! RTT protocol), through QEMU's gdb stub.

use crate::{TempDirectory, boards};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Address and size of the board's data RAM.
const RAM: (u32, usize) = (0x2000_0000, 128 << 10);
/// Bytes per read request.
const PIECE: usize = 128;
/// Marker of the RTT control block.
const MARK: &[u8] = b"SEGGER RTT\0\0\0\0\0\0";

/// Board and the connection to its memory.
pub struct BoardProbe {
    board: Child,
    stub: UnixStream,
}

/// Up channel (board to host).
#[derive(Debug)]
pub struct ProbeChannel {
    /// Name on the board.
    pub name: String,
    /// Bytes written and not read yet.
    pub bytes: Vec<u8>,
}

impl BoardProbe {
    /// Boots a board without wires.
    pub fn boot(image: &str, directory: &TempDirectory) -> Self {
        let socket = directory.path("stub");
        let mut command = boards::emulated(image);
        command.args(["-gdb", "chardev:stub"]);
        command.args(["-chardev", &format!("socket,id=stub,path={socket},server=on,wait=off")]);
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

    /// Runs the board until the channels satisfy `is_there`. Returns all channels.
    pub fn wait_until(&mut self, is_there: impl Fn(&[ProbeChannel]) -> bool) -> Vec<ProbeChannel> {
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
            // Stops the board, and receives its stop reply.
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

    /// Reads memory of the stopped board. Returns `None` where its memory protection forbids the access.
    pub fn memory(&mut self, from: u32, bytes: usize) -> Option<Vec<u8>> {
        self.send(&format!("m{from:x},{bytes:x}"));
        let mut digits = self.answer();
        // Skips stop replies, which are sent even if the board was stopped already.
        while digits.starts_with(b"T") {
            digits = self.answer();
        }
        let digits = String::from_utf8(digits).expect("digits");
        let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
        (0..bytes).map(byte).collect()
    }

    /// Returns the board's channels, or none before it has created them.
    fn channels(&mut self) -> Vec<ProbeChannel> {
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
            ProbeChannel {
                name: String::from_utf8_lossy(name).into_owned(),
                bytes: (0..waiting).map(|k| ram[buffer + (read + k) % size]).collect(),
            }
        };
        (0..word(counts)).map(&mut channel).collect()
    }
}

impl Drop for BoardProbe {
    fn drop(&mut self) {
        let _ = self.board.kill();
        let _ = self.board.wait();
    }
}
