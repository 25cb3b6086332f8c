//! Standard output, standard error and the kernel's log: byte streams, each with its own ring buffer in the outbox.
//!
//! The program's streams are line-buffered: a newline, a full ring and [`flush`] publish the bytes to the host tool. An
//! incomplete line waits at most [`PARTIAL_TICKS`]. On a node that was booted by hand, no tool reads the outbox, and
//! both streams use the board's `uart`, byte by byte.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use critical_section::Mutex;

use crate::board::records::MIDPLANE_OUTBOX;
use crate::board::{timer, uart};
use crate::{arch, clock};

pub use midplane_abi::outbox::OutputStream;
use midplane_abi::outbox::RingWriter;

/// Maximum delay of an incomplete line, in ticks of the clock (10 ms at 10 MHz).
pub const PARTIAL_TICKS: u64 = 100_000;

/// Poll interval of a node that waits for free space in a full ring, in nanoseconds.
const FULL_NS: u64 = 1_000_000;

static ATTACHED: AtomicBool = AtomicBool::new(false);
/// Byte that the node sends to the tool as its doorbell.
static BELL: AtomicU32 = AtomicU32::new(0);
/// A stream may contain an incomplete line that was not yet published.
static UNSHOWN: AtomicBool = AtomicBool::new(false);
static PENS: [Mutex<Cell<RingWriter>>; OutputStream::COUNT] =
    [const { Mutex::new(Cell::new(RingWriter::new())) }; OutputStream::COUNT];

/// Routes the streams through the outbox from now on. The byte `doorbell` identifies this node's doorbell to the tool.
pub fn attach(doorbell: u8) {
    BELL.store(doorbell.into(), Ordering::Relaxed);
    MIDPLANE_OUTBOX.begin();
    ATTACHED.store(true, Ordering::Relaxed);
}

/// Returns whether a host tool is attached to this node.
pub fn is_attached() -> bool {
    ATTACHED.load(Ordering::Relaxed)
}

/// Rings the tool's doorbell if it sleeps.
pub fn ring() {
    uart::show();
    if is_attached() && MIDPLANE_OUTBOX.must_ring() {
        uart::ring(BELL.load(Ordering::Relaxed) as u8);
    }
}

/// Copies a prefix of `bytes` to a stream's ring and returns its length. Publishes on a newline or a full ring.
fn put(stream: OutputStream, bytes: &[u8]) -> usize {
    critical_section::with(|cs| {
        let pen = PENS[stream as usize].borrow(cs);
        let (mut at, was_pending) = (pen.get(), is_pending(stream, &pen.get()));
        let taken = MIDPLANE_OUTBOX.put(stream, &mut at, bytes);
        pen.set(at);
        let has_line = bytes.contains(&b'\n');
        if taken < bytes.len() || has_line {
            MIDPLANE_OUTBOX.publish(stream, &at);
            ring();
        } else {
            UNSHOWN.store(true, Ordering::Relaxed);
            if !was_pending {
                timer::wake_by(arch::ticks() + PARTIAL_TICKS);
            }
        }
        if taken == 0 {
            // Interrupts are masked, so an interrupt now ends the sleep and is handled right after.
            timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
            arch::wait_for_interrupt();
        }
        taken
    })
}

fn is_pending(stream: OutputStream, pen: &RingWriter) -> bool {
    MIDPLANE_OUTBOX.is_pending(stream, pen)
}

/// Writes `bytes` to one of the program's streams. Blocks while its ring is full; interrupts are handled meanwhile.
/// Must not be called from an interrupt handler.
pub fn write(stream: OutputStream, bytes: &[u8]) {
    if !is_attached() {
        return uart::print(stream, bytes);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = rest.get(put(stream, rest)..).unwrap_or_default();
    }
}

/// Writes `bytes` to the log; [`flush_log`] publishes them. The caller has masked interrupts. With `wait`, blocks while
/// the ring is full. Without it, or without an attached tool, drops the bytes that exceed the free space.
pub fn write_log(bytes: &[u8], wait: bool) {
    if !is_attached() {
        return uart::log(bytes);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let (taken, pen) = critical_section::with(|cs| {
            let pen = PENS[OutputStream::Log as usize].borrow(cs);
            let mut at = pen.get();
            let taken = MIDPLANE_OUTBOX.put(OutputStream::Log, &mut at, rest);
            pen.set(at);
            (taken, at)
        });
        rest = rest.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        MIDPLANE_OUTBOX.publish(OutputStream::Log, &pen);
        ring();
        if !wait {
            return;
        }
        timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
        arch::wait_for_interrupt();
        // Nothing else acknowledges the interrupt here; it recurs for its actual recipients.
        timer::acknowledge();
        timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
    }
}

/// Publishes the log to the tool. Does not block.
pub fn flush_log() {
    if is_attached() {
        show(OutputStream::Log);
    }
}

/// Publishes incomplete lines to the tool. Does not block.
#[inline]
pub fn flush() {
    // Every MPI call checks this.
    if !UNSHOWN.load(Ordering::Relaxed) {
        return;
    }
    UNSHOWN.store(false, Ordering::Relaxed);
    for stream in [OutputStream::Out, OutputStream::Err] {
        show(stream);
    }
}

fn show(stream: OutputStream) {
    critical_section::with(|cs| {
        let pen = PENS[stream as usize].borrow(cs).get();
        if is_pending(stream, &pen) {
            MIDPLANE_OUTBOX.publish(stream, &pen);
            ring();
        }
    });
}
