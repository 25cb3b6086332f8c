//! The node's log: defmt frames (rzcobs), a stream of its own in the outbox.
//!
//! Images with the feature `options` have it. It is written when the tool asks for it (the flag `LOG` of the boot parameters), and
//! by a board that a debug probe reads without a tool. A node of another kind that was booted by hand has none: its UART is the program's console.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::RestoreState;

use crate::console;

static ON: AtomicBool = AtomicBool::new(false);
/// The node waits for room when the ring is full.
static WAITS: AtomicBool = AtomicBool::new(true);

/// Switches the log on.
pub fn enable() {
    ON.store(true, Ordering::Relaxed);
}

/// From now on what finds the ring full is lost: a node that fails must come to its end.
pub fn stop_waiting() {
    WAITS.store(false, Ordering::Relaxed);
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
struct RingLogger;

fn send(bytes: &[u8]) {
    if ON.load(Ordering::Relaxed) {
        console::write_log(bytes, WAITS.load(Ordering::Relaxed));
    }
}

// SAFETY: `acquire` holds interrupts off until `release`, which is exclusion on one hart; log statements
// do not nest because formatting does not log.
unsafe impl defmt::Logger for RingLogger {
    fn acquire() {
        // SAFETY: released by `release` below.
        let restore = unsafe { critical_section::acquire() };
        ENCODER.restore.set(Some(restore));
        // SAFETY: exclusive as said above.
        unsafe { (*ENCODER.encoder.get()).start_frame(send) };
    }

    unsafe fn flush() {
        // Whole frames are shown as they end.
    }

    unsafe fn release() {
        // SAFETY: exclusive as said above.
        unsafe { (*ENCODER.encoder.get()).end_frame(send) };
        console::flush_log();
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
