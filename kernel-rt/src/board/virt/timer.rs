//! The hart's timer. A caller asks for an interrupt by a deadline; the earliest one counts, and the interrupt's handler
//! looks for all there may be to do.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{arch, clock};

/// Beside rings the timer is never further away than this, even without a deadline: a bell that is lost, because a wild store
/// hit the node's word, costs no more.
const FURTHEST_NS: u64 = 250_000_000;

/// Beside virtio links it is never further away than this. QEMU wakes its main thread, which
/// then contends with the processor's, whenever the earliest of its timers changes; with this one
/// in front, the links' timers, which lie 4 s ahead and are put off with each frame, never are. Two
/// seconds cost an idle node nothing that can be measured.
const FURTHEST_BESIDE_VIRTIO_NS: u64 = 2_000_000_000;

/// What the timer is set to. Changed with interrupts held off only.
static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

#[inline]
fn set(deadline: u64) {
    DEADLINE.store(deadline, Ordering::Relaxed);
    arch::set_timer(deadline);
}

/// How far away it is without a deadline, in ticks.
static FURTHEST: AtomicU64 = AtomicU64::new(u64::MAX);

/// A deadline has passed since this was asked for.
static HAS_PASSED: AtomicBool = AtomicBool::new(false);

#[inline]
fn set_furthest() {
    set(arch::ticks().saturating_add(FURTHEST.load(Ordering::Relaxed)));
}

/// Starts without a deadline, before interrupts are taken. `has_virtio`: the node has virtio links.
pub fn start(has_virtio: bool) {
    let furthest = match has_virtio {
        true => FURTHEST_BESIDE_VIRTIO_NS,
        false => FURTHEST_NS,
    };
    FURTHEST.store(clock::ticks_of(furthest), Ordering::Relaxed);
    set_furthest();
}

/// Whether a deadline has passed since the last call.
#[inline]
pub fn has_passed() -> bool {
    let has_passed = HAS_PASSED.load(Ordering::Relaxed);
    HAS_PASSED.store(false, Ordering::Relaxed);
    has_passed
}

/// Asks for an interrupt once [`arch::ticks`] reaches `deadline`, or earlier.
#[inline]
pub fn wake_by(deadline: u64) {
    critical_section::with(|_| {
        if deadline < DEADLINE.load(Ordering::Relaxed) {
            set(deadline);
        }
    });
}

/// Takes the interrupt, if the deadline has passed.
///
/// QEMU raises the interrupt in a thread of its own, which may do so for a deadline that was put off at that very moment.
/// Nothing would take that interrupt before the next deadline, and the program would not go on until then: it is taken by
/// setting the deadline once more.
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
