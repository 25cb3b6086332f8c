//! The node's log: defmt frames (rzcobs) in a separate stream of the outbox.
//!
//! Images with the feature `options` contain it. It is enabled by the host tool (the flag `LOG` of the boot parameters)
//! or by a board that a debug probe reads without a tool. Other nodes booted by hand have no log: their UART is the
//! program's console.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::RestoreState;

use crate::console;

static ON: AtomicBool = AtomicBool::new(false);
/// The node waits for free space when the ring is full.
static WAITS: AtomicBool = AtomicBool::new(true);

/// Enables the log.
pub fn enable() {
    ON.store(true, Ordering::Relaxed);
}

/// Drops frames from now on when the ring is full: a failing node must terminate.
pub fn stop_waiting() {
    WAITS.store(false, Ordering::Relaxed);
}

struct LogEncoder {
    encoder: UnsafeCell<defmt::Encoder>,
    restore: Cell<Option<RestoreState>>,
}

// SAFETY: used only between `acquire` and `release`, which mask interrupts on the one hart.
unsafe impl Sync for LogEncoder {}

static ENCODER: LogEncoder = LogEncoder {
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

// SAFETY: `acquire` masks interrupts until `release`, which is exclusion on one hart; log statements do not nest
// because formatting does not log.
unsafe impl defmt::Logger for RingLogger {
    fn acquire() {
        // SAFETY: released by `release` below.
        let restore = unsafe { critical_section::acquire() };
        ENCODER.restore.set(Some(restore));
        // SAFETY: exclusive, as above.
        unsafe { (*ENCODER.encoder.get()).start_frame(send) };
    }

    unsafe fn flush() {
        // Complete frames are published at their end.
    }

    unsafe fn release() {
        // SAFETY: exclusive, as above.
        unsafe { (*ENCODER.encoder.get()).end_frame(send) };
        console::flush_log();
        if let Some(restore) = ENCODER.restore.take() {
            // SAFETY: the state that `acquire` saved.
            unsafe { critical_section::release(restore) };
        }
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: exclusive, as above.
        unsafe { (*ENCODER.encoder.get()).write(bytes, send) };
    }
}

defmt::timestamp!("{=u64:us}", crate::clock::now_ns() / 1000);
