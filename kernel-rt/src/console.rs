//! The program's standard output and standard error, and the kernel's log: bytes as they are, each stream on its
//! own, through the outbox.
//!
//! The program's streams are buffered by line: a line's end, a full ring and [`flush`] show the tool what there is;
//! an unfinished line waits [`PARTIAL_TICKS`] at most. On a node that was booted by hand, where no tool reads the
//! outbox, both go where the board's `uart` has it, byte by byte.
#![forbid(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use critical_section::Mutex;

use crate::board::records::MIDPLANE_OUTBOX;
use crate::board::{timer, uart};
use crate::{arch, clock};

use midplane_abi::outbox::Pen;
pub use midplane_abi::outbox::Stream;

/// How long an unfinished line waits for its end, in ticks of the clock (10 ms at 10 MHz).
pub const PARTIAL_TICKS: u64 = 100_000;

/// How often a node whose ring is full looks whether the tool has taken something, in nanoseconds.
const FULL_NS: u64 = 1_000_000;

static ATTACHED: AtomicBool = AtomicBool::new(false);
/// What the node sends the tool to ring the bell.
static BELL: AtomicU32 = AtomicU32::new(0);
/// A stream may have an unfinished line that the tool was not shown.
static UNSHOWN: AtomicBool = AtomicBool::new(false);
static PENS: [Mutex<Cell<Pen>>; Stream::COUNT] =
    [const { Mutex::new(Cell::new(Pen::new())) }; Stream::COUNT];

/// The streams go through the outbox from now on; the tool tells this node's bell by the byte `bell`.
pub fn attach(bell: u8) {
    BELL.store(bell.into(), Ordering::Relaxed);
    MIDPLANE_OUTBOX.begin();
    ATTACHED.store(true, Ordering::Relaxed);
}

/// Whether a tool looks after this node.
pub fn is_attached() -> bool {
    ATTACHED.load(Ordering::Relaxed)
}

/// Tells the tool, if it sleeps, that there is something to see.
pub fn ring() {
    uart::show();
    if is_attached() && MIDPLANE_OUTBOX.must_ring() {
        uart::ring(BELL.load(Ordering::Relaxed) as u8);
    }
}

/// Puts the first of `bytes` into a stream's ring; how many. What a line's end or the full ring makes due is shown.
fn put(stream: Stream, bytes: &[u8]) -> usize {
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
            // Interrupts are held off, so one that comes now ends the sleep and is taken right after.
            timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
            arch::wait_for_interrupt();
        }
        taken
    })
}

fn is_pending(stream: Stream, pen: &Pen) -> bool {
    MIDPLANE_OUTBOX.is_pending(stream, pen)
}

/// Writes `bytes` to one of the program's streams. Blocks while its ring is full; interrupts are served meanwhile.
/// Must not be called from an interrupt.
pub fn write(stream: Stream, bytes: &[u8]) {
    if !is_attached() {
        return uart::print(stream, bytes);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        rest = rest.get(put(stream, rest)..).unwrap_or_default();
    }
}

/// Writes `bytes` to the log, to be shown by [`flush_log`]. Interrupts are held off by the caller. With `wait`,
/// blocks while the ring is full; else, and where no tool looks after the node, what does not fit is lost.
pub fn write_log(bytes: &[u8], wait: bool) {
    if !is_attached() {
        return uart::log(bytes);
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let (taken, pen) = critical_section::with(|cs| {
            let pen = PENS[Stream::Log as usize].borrow(cs);
            let mut at = pen.get();
            let taken = MIDPLANE_OUTBOX.put(Stream::Log, &mut at, rest);
            pen.set(at);
            (taken, at)
        });
        rest = rest.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
        MIDPLANE_OUTBOX.publish(Stream::Log, &pen);
        ring();
        if !wait {
            return;
        }
        timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
        arch::wait_for_interrupt();
        // Nobody else takes the interrupt here; it comes again, for those whom it was meant for.
        timer::acknowledge();
        timer::wake_by(arch::ticks() + clock::ticks_of(FULL_NS));
    }
}

/// Shows the tool what has been logged. Does not block.
pub fn flush_log() {
    if is_attached() {
        show(Stream::Log);
    }
}

/// Shows the tool what is left of unfinished lines. Does not block.
#[inline]
pub fn flush() {
    // Every call of MPI asks.
    if !UNSHOWN.load(Ordering::Relaxed) {
        return;
    }
    UNSHOWN.store(false, Ordering::Relaxed);
    for stream in [Stream::Out, Stream::Err] {
        show(stream);
    }
}

fn show(stream: Stream) {
    critical_section::with(|cs| {
        let pen = PENS[stream as usize].borrow(cs).get();
        if is_pending(stream, &pen) {
            MIDPLANE_OUTBOX.publish(stream, &pen);
            ring();
        }
    });
}
