//! The hart's timer. A caller requests an interrupt by a deadline; only the earliest one is set, and the interrupt
//! handler checks for all possible work.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{arch, clock};

/// Maximum timer interval of a node with rings, even without a deadline. If a wild store to the node's word loses a
/// doorbell, the node is delayed no longer.
const FURTHEST_NS: u64 = 250_000_000;

/// Maximum timer interval of a node with virtio links. QEMU wakes its main thread, which then contends with the
/// processor's, whenever the earliest of its timers changes. With this timer first, the links' timers, which are 4 s
/// ahead and are postponed with each frame, never are the earliest. Two seconds cost an idle node nothing measurable.
const FURTHEST_BESIDE_VIRTIO_NS: u64 = 2_000_000_000;

/// Current setting of the timer. Changed only with interrupts masked.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

#[inline]
fn set(deadline: u64) {
    DEADLINE.store(deadline, Ordering::Relaxed);
    arch::set_timer(deadline);
}

/// Interval without a deadline, in ticks.
static FURTHEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// A deadline has passed since the last check.
static HAS_PASSED: AtomicBool = AtomicBool::new(false);

#[inline]
fn set_furthest() {
    set(arch::ticks().saturating_add(FURTHEST.load(Ordering::Relaxed)));
}

/// Starts without a deadline, before interrupts are enabled. `has_virtio`: the node has virtio links.
pub fn start(has_virtio: bool) {
    let furthest = if has_virtio {
        FURTHEST_BESIDE_VIRTIO_NS
    } else {
        FURTHEST_NS
    };
    FURTHEST.store(clock::ticks_of(furthest), Ordering::Relaxed);
    set_furthest();
}

/// Returns whether a deadline has passed since the last call.
#[inline]
pub fn has_passed() -> bool {
    let has_passed = HAS_PASSED.load(Ordering::Relaxed);
    HAS_PASSED.store(false, Ordering::Relaxed);
    has_passed
}

/// Requests an interrupt once [`arch::ticks`] reaches `deadline`, or earlier.
#[inline]
pub fn wake_by(deadline: u64) {
    critical_section::with(|_| {
        if deadline < DEADLINE.load(Ordering::Relaxed) {
            set(deadline);
        }
    });
}

/// Acknowledges the interrupt, if the deadline has passed.
///
/// QEMU raises the interrupt in a separate thread, possibly for a deadline that was postponed at that moment. Nothing
/// would clear that interrupt before the next deadline, and the program would not continue until then. So this function
/// clears it by setting the deadline again.
#[inline]
pub fn acknowledge() {
    critical_section::with(|_| {
        let deadline = DEADLINE.load(Ordering::Relaxed);
        if arch::ticks() >= deadline {
            HAS_PASSED.store(true, Ordering::Relaxed);
            set_furthest();
        } else if arch::is_timer_pending() {
            set(deadline);
        }
    });
}
