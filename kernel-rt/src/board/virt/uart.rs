//! The 16550 UART.

use core::ptr;

use midplane_abi::outbox::Stream;

use super::registers::UART;

const DATA: usize = UART;
const LINE_STATUS: usize = UART + 5;
const TRANSMITTER_EMPTY: u8 = 1 << 5;
/// How often the status is asked before a byte is given up: the other end may have no reader.
const PATIENCE: u32 = 20_000;

/// The tool sees this board's memory.
pub fn show() {}

/// Sends `byte` as a bell: at once, whether the UART has sent the one before or not. Lost is only what comes while
/// the other end has not even read the bells before.
pub fn ring(byte: u8) {
    // SAFETY: the UART's data register, which every `virt` machine has.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(DATA).write_volatile(byte) };
}

/// Sends `byte`; false when the UART would not take it for a long time, and it was dropped.
pub fn put(byte: u8) -> bool {
    for _ in 0..PATIENCE {
        // SAFETY: the UART's status register, which every `virt` machine has.
        let status = unsafe { ptr::with_exposed_provenance::<u8>(LINE_STATUS).read_volatile() };
        if status & TRANSMITTER_EMPTY != 0 {
            // SAFETY: the UART's data register.
            unsafe { ptr::with_exposed_provenance_mut::<u8>(DATA).write_volatile(byte) };
            return true;
        }
    }
    false
}

/// Sends `bytes` of either stream.
pub fn print(_: Stream, bytes: &[u8]) {
    for &byte in bytes {
        put(byte);
    }
}

/// Without a tool there is no log: the UART is the program's console, and the two must not mix.
pub fn log(_: &[u8]) {}
