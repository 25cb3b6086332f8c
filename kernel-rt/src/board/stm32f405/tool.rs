//! The tool that emulates this board, through semihosting ("Semihosting for AArch32 and AArch64", Arm).
//!
//! QEMU gives nothing else of the board's memory to another process. So the tool keeps a file of the size of the RAM and
//! of some records behind it ([`memory`](super::memory)), whose path is the command line of semihosting, and the node
//! writes to it what the tool is to see: the blackboard, what the program prints, and at a failure all of its RAM, from
//! which the tool finds out where in the program that was. A byte on semihosting's console is the bell.
//!
//! Without a debugger or an emulator semihosting is a fault. So it is used only when the personality says that there
//! is a tool (the flag `RINGS` of `midplane_abi::boot_parameters`).

use core::sync::atomic::{AtomicUsize, Ordering};

use cortex_m_semihosting::{nr, syscall};
use midplane_abi::address::Bytes;
use midplane_abi::blackboard::{self, State};
use midplane_abi::stm32f405::RAM;
use midplane_abi::window::Window;

use crate::arch;
use crate::records::MIDPLANE_BLACKBOARD;

/// No file.
const NONE: usize = usize::MAX;
/// The open file.
static FILE: AtomicUsize = AtomicUsize::new(NONE);

/// Greatest path in bytes.
const PATH_BYTES: usize = 64;
/// Mode of opening: for reading and writing, as it is ("r+b").
const READ_WRITE: usize = 3;

/// Opens the tool's file. False when there is none.
pub fn open() -> bool {
    let mut path = [0u8; PATH_BYTES];
    // SAFETY: the words name `path` and its size; what is written there ends with a zero.
    let got = unsafe { syscall!(GET_CMDLINE, path.as_mut_ptr(), PATH_BYTES) };
    let length = path.iter().position(|byte| *byte == 0);
    let Some(length) = length.filter(|_| got == 0) else {
        return false;
    };
    // SAFETY: the words name the path, how it is to be opened, and its length.
    let file = unsafe { syscall!(OPEN, path.as_ptr(), READ_WRITE, length) };
    FILE.store(file, Ordering::Relaxed);
    file != NONE
}

/// Whether there is a tool.
pub fn is_there() -> bool {
    FILE.load(Ordering::Relaxed) != NONE
}

fn seek(at: u64) -> bool {
    let file = FILE.load(Ordering::Relaxed);
    // SAFETY: the words name the file and the place.
    file != NONE && unsafe { syscall!(SEEK, file, at) } == 0
}

/// Writes to the file what stands at `address` here.
///
/// # Safety
/// So many bytes can be read there.
unsafe fn write(at: u64, address: usize, bytes: usize) -> bool {
    critical_section::with(|_| {
        let file = FILE.load(Ordering::Relaxed);
        // SAFETY: the caller's promise.
        seek(at) && unsafe { syscall!(WRITE, file, address, bytes) } == 0
    })
}

/// The tool's file, by offsets.
pub struct ToolFile;

impl Window for ToolFile {
    fn load(&self, at: u64) -> Option<u32> {
        let mut word = [0; 4];
        self.read(at, &mut word)?;
        Some(u32::from_le_bytes(word))
    }

    fn store(&self, at: u64, word: u32) -> bool {
        self.write(at, &word.to_le_bytes())
    }

    fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
        critical_section::with(|_| {
            let file = FILE.load(Ordering::Relaxed);
            // SAFETY: the words name `out` and its size.
            let done =
                seek(at) && unsafe { syscall!(READ, file, out.as_mut_ptr(), out.len()) } == 0;
            done.then_some(())
        })
    }

    fn write(&self, at: u64, bytes: &[u8]) -> bool {
        // SAFETY: they are `bytes`.
        unsafe { write(at, bytes.as_ptr().addr(), bytes.len()) }
    }
}

/// Shows the tool the blackboard; when the program has ended the stacks, too, and of a node that has failed all of its
/// memory.
pub fn show() {
    if !is_there() {
        return;
    }
    let memory = match MIDPLANE_BLACKBOARD.state() {
        Some(State::Failed) => Some(RAM),
        Some(State::Done) => Some(Bytes {
            start: arch::stack().start,
            end: arch::trap_stack().end,
        }),
        _ => None,
    };
    if let Some(Bytes { start, end }) = memory {
        // The emulator reads it as this processor does, and none of it where a guard is in the same KiB.
        // SAFETY: RAM, all of which can be read without guards.
        arch::unguarded(|| unsafe {
            write(start - RAM.start, start as usize, (end - start) as usize)
        });
    }
    let at = (&raw const MIDPLANE_BLACKBOARD).addr();
    // SAFETY: the blackboard, whose words may change meanwhile, as those that a tool sees in memory.
    unsafe { write(at as u64 - RAM.start, at, blackboard::BYTES) };
}

/// Rings the bell.
pub fn ring(byte: u8) {
    if is_there() {
        // SAFETY: the argument is the byte's address.
        unsafe { cortex_m_semihosting::syscall1(nr::WRITEC, (&raw const byte).addr()) };
    }
}

/// Leaves the emulator with this exit status.
pub fn exit(status: u8) {
    /// ADP_Stopped_ApplicationExit, of SYS_EXIT_EXTENDED.
    const APPLICATION_EXIT: usize = 0x2_0026;
    const EXIT_EXTENDED: usize = 0x20;
    if is_there() {
        let block = [APPLICATION_EXIT, usize::from(status)];
        // SAFETY: the block names the reason and the status. It does not return.
        unsafe { cortex_m_semihosting::syscall1(EXIT_EXTENDED, block.as_ptr().addr()) };
    }
}

/// Seconds since 1970, as the tool's machine has it; 0 without a tool.
pub fn calendar_seconds() -> u64 {
    match is_there() {
        // SAFETY: takes no argument.
        true => unsafe { cortex_m_semihosting::syscall1(nr::TIME, 0) as u64 },
        false => 0,
    }
}
