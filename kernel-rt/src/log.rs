//! The node's log: defmt frames (rzcobs) on the UART, a stream of its own.
//!
//! On a machine whose UART is the program's console there is no log: the two must not mix.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use critical_section::RestoreState;

use crate::board::uart;

static ON: AtomicBool = AtomicBool::new(false);
/// Bytes that the UART would not take.
static LOST: AtomicU32 = AtomicU32::new(0);

/// Switches the log on.
pub fn enable() {
    ON.store(true, Ordering::Relaxed);
}

/// Whether there is a log.
pub fn is_enabled() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Log bytes that were lost because the UART was not read.
pub fn lost_bytes() -> u32 {
    LOST.load(Ordering::Relaxed)
}

struct Encoder {
    encoder: UnsafeCell<defmt::Encoder>,
    restore: Cell<Option<RestoreState>>,
}

// SAFETY: used only between `acquire` and `release`, which hold interrupts off on the one hart.
unsafe impl Sync for Encoder {}

static ENCODER: Encoder = Encoder {
    encoder: UnsafeCell::new(defmt::Encoder::new()),
    restore: Cell::new(None),
};

#[defmt::global_logger]
struct UartLogger;

fn send(bytes: &[u8]) {
    if !is_enabled() {
        return;
    }
    for (i, &byte) in bytes.iter().enumerate() {
        if !uart::put(byte) {
            // Whoever does not take one byte in all that time takes none: give the rest up too.
            LOST.fetch_add((bytes.len() - i) as u32, Ordering::Relaxed);
            return;
        }
    }
}

// SAFETY: `acquire` holds interrupts off until `release`, which is exclusion on one hart; log statements
// do not nest because formatting does not log.
unsafe impl defmt::Logger for UartLogger {
    fn acquire() {
        // SAFETY: released by `release` below.
        let restore = unsafe { critical_section::acquire() };
        ENCODER.restore.set(Some(restore));
        // SAFETY: exclusive as said above.
        unsafe { (*ENCODER.encoder.get()).start_frame(send) };
    }

    unsafe fn flush() {
        // Bytes leave as they are put.
    }

    unsafe fn release() {
        // SAFETY: exclusive as said above.
        unsafe { (*ENCODER.encoder.get()).end_frame(send) };
        if let Some(restore) = ENCODER.restore.take() {
            // SAFETY: what `acquire` got.
            unsafe { critical_section::release(restore) };
        }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: exclusive as said above.
        unsafe { (*ENCODER.encoder.get()).write(bytes, send) };
    }
}

defmt::timestamp!("{=u64:us}", crate::clock::now_ns() / 1000);
