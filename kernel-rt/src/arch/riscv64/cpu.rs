//! The hart: interrupts, sleep, clock, the critical section.

use core::arch::asm;

use crate::libc::decimal::Rounding;

/// Bit of `sstatus.SIE`: interrupts are taken.
const SSTATUS_SIE: usize = 1 << 1;
/// `sie`/`sip`: supervisor software, timer and external interrupt.
const SOFTWARE: usize = 1 << 1;
const TIMER: usize = 1 << 5;
const EXTERNAL: usize = 1 << 9;

/// Lets the three supervisor interrupts wake the hart; they are taken only once [`enable_interrupts`] ran.
pub fn arm_interrupts() {
    // SAFETY: a pending interrupt is not taken before `sstatus.SIE` is set.
    unsafe { asm!("csrw sie, {}", in(reg) SOFTWARE | TIMER | EXTERNAL, options(nomem, nostack)) };
}

/// Takes interrupts from now on, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by `boot`, outside any critical section, when all that the handler uses is set up.
    unsafe { asm!("csrsi sstatus, 2", options(nostack)) };
}

/// The timer interrupts once [`ticks`] reaches `deadline` (`stimecmp`), and until it is set again.
#[inline]
pub fn set_timer(deadline: u64) {
    // SAFETY: sets a comparator.
    unsafe { asm!("csrw 0x14d, {}", in(reg) deadline, options(nomem, nostack)) };
}

/// Whether the timer interrupts.
#[inline]
pub fn is_timer_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending & 1 << 5 != 0
}

/// Takes the software interrupt, if there is one. What its sender wrote before is seen by what follows.
#[inline]
pub fn acknowledge_software() {
    // SAFETY: clears a pending interrupt; memory accesses stay behind it (no `nomem`).
    unsafe { asm!("csrc sip, {}", "fence iorw, iorw", in(reg) SOFTWARE, options(nostack)) };
}

/// What was written to memory is seen before what is written to devices from now on.
#[inline]
pub fn memory_before_devices() {
    // SAFETY: orders accesses.
    unsafe { asm!("fence w, o", options(nostack)) };
}

/// How floating-point results are rounded, as C's `fesetround` has set it.
pub fn rounding() -> Rounding {
    let mode: usize;
    // SAFETY: reads a control register.
    unsafe { asm!("frrm {}", out(reg) mode, options(nomem, nostack)) };
    match mode {
        1 => Rounding::Zero,
        2 => Rounding::Down,
        3 => Rounding::Up,
        _ => Rounding::Nearest,
    }
}

/// Sleeps until an interrupt is pending, whether or not it would be taken.
#[inline]
pub fn wait_for_interrupt() {
    // SAFETY: changes no state.
    unsafe { asm!("wfi", options(nostack)) };
}

/// The clock, in ticks since the machine started.
#[inline]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Whether the interrupt controller has something: cheaper to ask than the controller itself.
#[inline]
pub fn is_external_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending & EXTERNAL != 0
}

/// Whether any interrupt is pending.
#[inline]
pub fn is_interrupt_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending != 0
}

/// Stops this hart for good: interrupts off, asleep.
pub fn park() -> ! {
    // SAFETY: from here on nothing else runs.
    unsafe { asm!("csrci sstatus, 2", "csrw sie, zero", options(nostack)) };
    loop {
        wait_for_interrupt();
    }
}

struct SingleHart;
critical_section::set_impl!(SingleHart);

// SAFETY: with one hart, holding interrupts off is exclusion; the handler runs with them off throughout,
// and `release` puts back what `acquire` found, so sections nest.
unsafe impl critical_section::Impl for SingleHart {
    unsafe fn acquire() -> critical_section::RawRestoreState {
        let before: usize;
        // SAFETY: no memory access may be moved across (no `nomem`), which is what exclusion needs.
        unsafe { asm!("csrrci {}, sstatus, 2", out(reg) before, options(nostack)) };
        before & SSTATUS_SIE != 0
    }

    unsafe fn release(were_enabled: critical_section::RawRestoreState) {
        if were_enabled {
            // SAFETY: as above; only the outermost section found interrupts enabled.
            unsafe { asm!("csrsi sstatus, 2", options(nostack)) };
        }
    }
}
