//! The 16550 UART.

use core::ptr;

use midplane_abi::outbox::OutputStream;

use super::registers::UART;

const DATA: usize = UART;
const LINE_STATUS: usize = UART + 5;
const TRANSMITTER_EMPTY: u8 = 1 << 5;
/// Number of status polls before a byte is dropped: the other end may have no reader.
const PATIENCE: u32 = 20_000;

/// Does nothing: the tool reads this board's memory.
pub fn show() {}

/// Sends `byte` as a doorbell immediately, whether or not the UART has sent the previous byte. It is lost only if the
/// other end has not yet read the earlier doorbells.
pub fn ring(byte: u8) {
    // SAFETY: the UART's data register, which every `virt` machine has.
    unsafe { ptr::with_exposed_provenance_mut::<u8>(DATA).write_volatile(byte) };
}

/// Sends `byte`; returns false if the UART accepted none for a long time, and it was dropped.
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
pub fn print(_: OutputStream, bytes: &[u8]) {
    for &byte in bytes {
        put(byte);
    }
}

/// Does nothing: without a tool there is no log. The UART is the program's console, and the two must not mix.
pub fn log(_: &[u8]) {}
