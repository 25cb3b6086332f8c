//! The processor: interrupts, sleep, the critical section.

use core::arch::asm;

use cortex_m::peripheral::scb::SystemHandler;
use cortex_m::peripheral::{Peripherals, SCB};

use crate::libc::decimal::Rounding;

/// Priority of what is never held off: links' bytes and the clock. Of the eight bits the processor has the upper four.
pub const URGENT: u8 = 0x40;
/// What is as urgent as this or less is held off in a critical section.
const HELD_OFF: u8 = 0x80;
/// Priority of the node's interrupt.
const NODE: u8 = 0xF0;

// SAFETY: the board defines it, with this signature.
unsafe extern "Rust" {
    safe fn midplane_interrupt();
}

/// Sets the priorities, with the node's interrupt held off until [`enable_interrupts`]. The others may come from now on.
pub fn arm_interrupts() {
    // SAFETY: one processor, before it has any other interrupt.
    let mut system = unsafe { Peripherals::steal() };
    // SAFETY: PendSV's and SysTick's handlers share nothing with this code yet, and the first is held off.
    unsafe {
        hold_off(HELD_OFF);
        system.SCB.set_priority(SystemHandler::PendSV, NODE);
        system.SCB.set_priority(SystemHandler::SysTick, URGENT);
    }
}

/// Takes the node's interrupts from now on, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by the boot, outside any critical section, when all that the handler uses is set up.
    unsafe { hold_off(0) };
}

/// Holds off what has this priority or a lower one; 0: nothing.
///
/// # Safety
/// With 0, what the interrupts share with the caller must be in order.
unsafe fn hold_off(priority: u8) {
    // SAFETY: no memory access may be moved across (no `nomem`), which is what exclusion needs.
    unsafe { asm!("msr BASEPRI, {}", "isb", in(reg) u32::from(priority), options(nostack)) };
}

/// Asks for the node's interrupt. From any interrupt, or the node itself.
pub fn call_node() {
    SCB::set_pendsv();
}

/// Takes the node's interrupt, if it was asked for.
pub fn acknowledge_call() {
    SCB::clear_pendsv();
    // What its sender wrote before is seen by what follows.
    cortex_m::asm::dsb();
}

/// Whether the node's interrupt was asked for and not taken.
pub fn is_interrupt_pending() -> bool {
    SCB::is_pendsv_pending()
}

/// Sleeps until the node's interrupt is asked for, whether or not it would be taken; others, on the way, are.
pub fn wait_for_interrupt() {
    // Held off by PRIMASK, an interrupt that comes after the look still ends the sleep; it is taken right after.
    cortex_m::interrupt::disable();
    if !is_interrupt_pending() {
        cortex_m::asm::dsb();
        cortex_m::asm::wfi();
    }
    // SAFETY: nothing outside this function holds interrupts off by PRIMASK.
    unsafe { cortex_m::interrupt::enable() };
}

/// How the program wants results to be rounded (Armv7-M, B1.5.5: FPSCR, bits 23 and 22).
pub fn rounding() -> Rounding {
    let status: u32;
    // SAFETY: reads a register of the floating-point unit, which is on.
    unsafe { asm!("vmrs {}, fpscr", out(reg) status, options(nomem, nostack)) };
    match status >> 22 & 3 {
        1 => Rounding::Up,
        2 => Rounding::Down,
        3 => Rounding::Zero,
        _ => Rounding::Nearest,
    }
}

/// Stops the processor for good: interrupts off, asleep.
pub fn park() -> ! {
    cortex_m::interrupt::disable();
    loop {
        cortex_m::asm::wfi();
    }
}

/// The node's interrupt. Its entry has kept what a called function may change, floating point included (B1.5.7).
#[unsafe(no_mangle)]
extern "C" fn PendSV() {
    midplane_interrupt();
}

struct NodeOff;
critical_section::set_impl!(NodeOff);

// SAFETY: on one processor, holding off the node's interrupt is exclusion from all code but the urgent handlers, which
// have no critical sections and share only atomics; `release` puts back what `acquire` found, so sections nest.
unsafe impl critical_section::Impl for NodeOff {
    unsafe fn acquire() -> critical_section::RawRestoreState {
        let before: u32;
        // SAFETY: no memory access may be moved across (no `nomem`).
        unsafe {
            asm!(
                "mrs {before}, BASEPRI",
                "msr BASEPRI, {off}",
                "isb",
                before = out(reg) before,
                off = in(reg) u32::from(HELD_OFF),
                options(nostack)
            );
        }
        before == 0
    }

    unsafe fn release(were_enabled: critical_section::RawRestoreState) {
        if were_enabled {
            // SAFETY: only the outermost section found interrupts enabled.
            unsafe { hold_off(0) };
        }
    }
}
