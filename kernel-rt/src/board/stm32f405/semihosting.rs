//! The host tool that emulates this board, through semihosting ("Semihosting for AArch32 and AArch64", Arm).
//!
//! QEMU gives other processes no access to the board's memory. So the tool provides a file with the size of the RAM and
//! of some records behind it ([`memory`](super::memory)). Its path is semihosting's command line, and the node writes
//! data for the tool to it: the blackboard, the program's output and, at a failure, all of its RAM. From that the tool
//! determines the location in the program. A byte on semihosting's console is the doorbell.
//!
//! Without a debugger or an emulator semihosting is a fault. So it is used only if the personality specifies a tool
//! (the flag `RINGS` of `midplane_abi::boot_parameters`).

use core::sync::atomic::{AtomicUsize, Ordering};

use cortex_m_semihosting::{nr, syscall};
use midplane_abi::address::AddressRange;
use midplane_abi::blackboard::{self, NodeState};
use midplane_abi::memory_access::MemoryAccess;
use midplane_abi::stm32f405::RAM;

use crate::arch;
use crate::records::MIDPLANE_BLACKBOARD;

const NONE: usize = usize::MAX;
static FILE: AtomicUsize = AtomicUsize::new(NONE);

const PATH_BYTES: usize = 64;
/// Mode of opening: for reading and writing, without truncation ("r+b").
const READ_WRITE: usize = 3;

/// Opens the tool's file. Returns false if there is none.
pub fn open() -> bool {
    let mut path = [0u8; PATH_BYTES];
    // SAFETY: the arguments are `path` and its size; the result written there is null-terminated.
    let got = unsafe { syscall!(GET_CMDLINE, path.as_mut_ptr(), PATH_BYTES) };
    let length = path.iter().position(|byte| *byte == 0);
    let Some(length) = length.filter(|_| got == 0) else {
        return false;
    };
    // SAFETY: the arguments are the path, the mode, and its length.
    let file = unsafe { syscall!(OPEN, path.as_ptr(), READ_WRITE, length) };
    FILE.store(file, Ordering::Relaxed);
    file != NONE
}

/// Returns whether there is a tool.
pub fn is_there() -> bool {
    FILE.load(Ordering::Relaxed) != NONE
}

fn seek(at: u64) -> bool {
    let file = FILE.load(Ordering::Relaxed);
    // SAFETY: the arguments are the file and the position.
    file != NONE && unsafe { syscall!(SEEK, file, at) } == 0
}

/// Writes `bytes` bytes of this node's memory at `address` to the file at `at`.
///
/// # Safety
/// That many bytes are readable there.
unsafe fn write(at: u64, address: usize, bytes: usize) -> bool {
    critical_section::with(|_| {
        let file = FILE.load(Ordering::Relaxed);
        // SAFETY: the caller's promise.
        seek(at) && unsafe { syscall!(WRITE, file, address, bytes) } == 0
    })
}

/// Window onto the tool's file, by offsets.
pub struct ToolFile;

impl MemoryAccess for ToolFile {
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
            // SAFETY: the arguments are `out` and its size.
            let done = seek(at) && unsafe { syscall!(READ, file, out.as_mut_ptr(), out.len()) } == 0;
            done.then_some(())
        })
    }

    fn write(&self, at: u64, bytes: &[u8]) -> bool {
        // SAFETY: the memory of `bytes`.
        unsafe { write(at, bytes.as_ptr().addr(), bytes.len()) }
    }
}

/// Writes the blackboard for the tool, plus the stacks when the program has ended, or all memory of a failed node.
pub fn show() {
    if !is_there() {
        return;
    }
    let memory = match MIDPLANE_BLACKBOARD.state() {
        Some(NodeState::Failed) => Some(RAM),
        Some(NodeState::Done) => Some(AddressRange {
            start: arch::stack().start,
            end: arch::trap_stack().end,
        }),
        _ => None,
    };
    if let Some(AddressRange { start, end }) = memory {
        // The emulator reads with this processor's permissions, and nothing if the same KiB contains a guard.
        // SAFETY: RAM, all of which can be read without guards.
        arch::with_guards_disabled(|| unsafe { write(start - RAM.start, start as usize, (end - start) as usize) });
    }
    let at = (&raw const MIDPLANE_BLACKBOARD).addr();
    // SAFETY: the blackboard, whose words may change meanwhile, as for a tool that reads memory directly.
    unsafe { write(at as u64 - RAM.start, at, blackboard::BYTES) };
}

/// Rings the tool's doorbell.
pub fn ring(byte: u8) {
    if is_there() {
        // SAFETY: the argument is the byte's address.
        unsafe { cortex_m_semihosting::syscall1(nr::WRITEC, (&raw const byte).addr()) };
    }
}

/// Exits the emulator with this exit status.
pub fn exit(status: u8) {
    /// ADP_Stopped_ApplicationExit, of SYS_EXIT_EXTENDED.
    const APPLICATION_EXIT: usize = 0x2_0026;
    const EXIT_EXTENDED: usize = 0x20;
    if is_there() {
        let block = [APPLICATION_EXIT, usize::from(status)];
        // SAFETY: the block contains the reason and the status. It does not return.
        unsafe { cortex_m_semihosting::syscall1(EXIT_EXTENDED, block.as_ptr().addr()) };
    }
}

/// Returns the seconds since 1970 of the tool's machine; 0 without a tool.
pub fn calendar_seconds() -> u64 {
    match is_there() {
        // SAFETY: takes no argument.
        true => unsafe { cortex_m_semihosting::syscall1(nr::TIME, 0) as u64 },
        false => 0,
    }
}
