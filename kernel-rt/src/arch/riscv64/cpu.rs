//! The hart: interrupts, sleep, clock, the critical section.

use core::arch::asm;

use crate::libc::decimal::RoundingMode;

/// Bit of `sstatus.SIE`: interrupts are enabled.
const SSTATUS_SIE: usize = 1 << 1;
/// `sie`/`sip`: supervisor software, timer and external interrupt.
const SOFTWARE: usize = 1 << 1;
const TIMER: usize = 1 << 5;
const EXTERNAL: usize = 1 << 9;

/// Enables the three supervisor interrupts to wake the hart; they are handled only after [`enable_interrupts`].
pub fn arm_interrupts() {
    // SAFETY: a pending interrupt is not handled before `sstatus.SIE` is set.
    unsafe { asm!("csrw sie, {}", in(reg) SOFTWARE | TIMER | EXTERNAL, options(nomem, nostack)) };
}

/// Enables interrupts, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by `boot`, outside any critical section, when everything the handler uses is set up.
    unsafe { asm!("csrsi sstatus, 2", options(nostack)) };
}

/// Sets the timer to interrupt from [`ticks`] = `deadline` (`stimecmp`) until it is set again.
#[inline]
pub fn set_timer(deadline: u64) {
    // SAFETY: sets a comparator.
    unsafe { asm!("csrw 0x14d, {}", in(reg) deadline, options(nomem, nostack)) };
}

/// Returns whether the timer interrupt is pending.
#[inline]
pub fn is_timer_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending & 1 << 5 != 0
}

/// Clears the software interrupt, if there is one, and makes its sender's earlier writes visible to the following code.
#[inline]
pub fn acknowledge_software() {
    // SAFETY: clears a pending interrupt; memory accesses stay behind it (no `nomem`).
    unsafe { asm!("csrc sip, {}", "fence iorw, iorw", in(reg) SOFTWARE, options(nostack)) };
}

/// Orders earlier writes to memory before later writes to devices.
#[inline]
pub fn memory_before_devices() {
    // SAFETY: orders accesses.
    unsafe { asm!("fence w, o", options(nostack)) };
}

/// Returns the floating-point rounding mode, as set by C's `fesetround`.
pub fn rounding() -> RoundingMode {
    let mode: usize;
    // SAFETY: reads a control register.
    unsafe { asm!("frrm {}", out(reg) mode, options(nomem, nostack)) };
    match mode {
        1 => RoundingMode::Zero,
        2 => RoundingMode::Down,
        3 => RoundingMode::Up,
        _ => RoundingMode::Nearest,
    }
}

/// Sleeps until an interrupt is pending, even if it is masked.
#[inline]
pub fn wait_for_interrupt() {
    // SAFETY: changes no state.
    unsafe { asm!("wfi", options(nostack)) };
}

/// Returns the clock in ticks since the machine started.
#[inline]
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Returns whether the interrupt controller has a pending interrupt: cheaper than a read of the controller.
#[inline]
pub fn is_external_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending & EXTERNAL != 0
}

/// Returns whether any interrupt is pending.
#[inline]
pub fn is_interrupt_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, sip", out(reg) pending, options(nostack)) };
    pending != 0
}

/// Stops this hart forever: interrupts disabled, asleep.
pub fn park() -> ! {
    // SAFETY: from here on nothing else runs.
    unsafe { asm!("csrci sstatus, 2", "csrw sie, zero", options(nostack)) };
    loop {
        wait_for_interrupt();
    }
}

struct SingleHart;
critical_section::set_impl!(SingleHart);

// SAFETY: with one hart, disabling interrupts is exclusion; the handler runs with them disabled throughout, and
// `release` restores the state that `acquire` found, so sections nest.
unsafe impl critical_section::Impl for SingleHart {
    unsafe fn acquire() -> critical_section::RawRestoreState {
        let before: usize;
        // SAFETY: no memory access may be moved across (no `nomem`), as exclusion requires.
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
