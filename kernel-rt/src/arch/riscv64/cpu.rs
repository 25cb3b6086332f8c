//! The hart: interrupts, sleep, clock, the critical section.

use core::arch::asm;

/// Bit of `mstatus.MIE`: interrupts are taken.
const MSTATUS_MIE: usize = 1 << 3;
/// `mie`/`mip`: machine software, timer and external interrupt.
const MACHINE_INTERRUPTS: usize = 1 << 3 | 1 << 7 | 1 << 11;

/// Lets the three machine interrupts wake the hart; they are taken only once [`enable_interrupts`] ran.
pub fn arm_interrupts() {
    // SAFETY: a pending interrupt is not taken before `mstatus.MIE` is set.
    unsafe { asm!("csrw mie, {}", in(reg) MACHINE_INTERRUPTS, options(nomem, nostack)) };
}

/// Takes interrupts from now on, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by `boot`, outside any critical section, when all that the handler uses is set up.
    unsafe { asm!("csrsi mstatus, 8", options(nostack)) };
}

/// Sleeps until an interrupt is pending, whether or not it would be taken.
pub fn wait_for_interrupt() {
    // SAFETY: changes no state.
    unsafe { asm!("wfi", options(nostack)) };
}

/// The clock, in ticks since the machine started.
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Whether the interrupt controller has something: cheaper to ask than the controller itself.
pub fn is_external_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, mip", out(reg) pending, options(nostack)) };
    pending & 1 << 11 != 0
}

/// Stops this hart for good: interrupts off, asleep.
pub fn park() -> ! {
    // SAFETY: from here on nothing else runs.
    unsafe { asm!("csrci mstatus, 8", "csrw mie, zero", options(nostack)) };
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
        unsafe { asm!("csrrci {}, mstatus, 8", out(reg) before, options(nostack)) };
        before & MSTATUS_MIE != 0
    }

    unsafe fn release(were_enabled: critical_section::RawRestoreState) {
        if were_enabled {
            // SAFETY: as above; only the outermost section found interrupts enabled.
            unsafe { asm!("csrsi mstatus, 8", options(nostack)) };
        }
    }
}
