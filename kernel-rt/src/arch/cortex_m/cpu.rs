//! The processor: interrupts, sleep, the critical section.

use core::arch::asm;

use cortex_m::peripheral::scb::SystemHandler;
use cortex_m::peripheral::{Peripherals, SCB};

use crate::libc::decimal::RoundingMode;

/// Priority of interrupts that are never masked: links' bytes and the clock. The processor implements the upper four of
/// the eight bits.
pub const URGENT: u8 = 0x40;
/// Threshold of a critical section: it masks interrupts of this urgency or less.
const HELD_OFF: u8 = 0x80;
const NODE: u8 = 0xF0;

// SAFETY: the board defines it, with this signature.
unsafe extern "Rust" {
    safe fn midplane_interrupt();
}

/// Sets the priorities, with the node's interrupt masked until [`enable_interrupts`]. The others are enabled from now
/// on.
pub fn arm_interrupts() {
    // SAFETY: one processor, before it has any other interrupt.
    let mut system = unsafe { Peripherals::steal() };
    // SAFETY: PendSV's and SysTick's handlers share nothing with this code yet, and the first is masked.
    unsafe {
        hold_off(HELD_OFF);
        system.SCB.set_priority(SystemHandler::PendSV, NODE);
        system.SCB.set_priority(SystemHandler::SysTick, URGENT);
    }
}

/// Enables the node's interrupts, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by the boot, outside any critical section, when everything the handler uses is set up.
    unsafe { hold_off(0) };
}

/// Masks interrupts of this priority or a lower one; 0 masks none.
///
/// # Safety
/// With 0, the data that the interrupts share with the caller must be consistent.
unsafe fn hold_off(priority: u8) {
    // SAFETY: no memory access may be moved across (no `nomem`), as exclusion requires.
    unsafe { asm!("msr BASEPRI, {}", "isb", in(reg) u32::from(priority), options(nostack)) };
}

/// Requests the node's interrupt. Callable from any interrupt handler, or the node itself.
pub fn call_node() {
    SCB::set_pendsv();
}

/// Clears the node's interrupt, if it was requested.
pub fn acknowledge_call() {
    SCB::clear_pendsv();
    // Makes the requester's earlier writes visible to the following code.
    cortex_m::asm::dsb();
}

/// Returns whether the node's interrupt is pending.
pub fn is_interrupt_pending() -> bool {
    SCB::is_pendsv_pending()
}

/// Sleeps until the node's interrupt is pending, even if it is masked; other interrupts are handled meanwhile.
pub fn wait_for_interrupt() {
    // With PRIMASK set, an interrupt after the check still ends the sleep; it is handled right after.
    cortex_m::interrupt::disable();
    if !is_interrupt_pending() {
        cortex_m::asm::dsb();
        cortex_m::asm::wfi();
    }
    // SAFETY: nothing outside this function masks interrupts by PRIMASK.
    unsafe { cortex_m::interrupt::enable() };
}

/// Returns the rounding mode that the program has set (Armv7-M, B1.5.5: FPSCR, bits 23 and 22).
pub fn rounding() -> RoundingMode {
    let status: u32;
    // SAFETY: reads a register of the floating-point unit, which is on.
    unsafe { asm!("vmrs {}, fpscr", out(reg) status, options(nomem, nostack)) };
    match status >> 22 & 3 {
        1 => RoundingMode::Up,
        2 => RoundingMode::Down,
        3 => RoundingMode::Zero,
        _ => RoundingMode::Nearest,
    }
}

/// Stops the processor forever: interrupts disabled, asleep.
pub fn park() -> ! {
    cortex_m::interrupt::disable();
    loop {
        cortex_m::asm::wfi();
    }
}

/// Interrupt handler of the node. Its entry has saved the caller-saved registers, floating point included (B1.5.7).
#[unsafe(no_mangle)]
extern "C" fn PendSV() {
    midplane_interrupt();
}

struct NodeMasked;
critical_section::set_impl!(NodeMasked);

// SAFETY: on one processor, masking the node's interrupt is exclusion from all code but the urgent handlers, which have
// no critical sections and share only atomics; `release` restores the state that `acquire` found, so sections nest.
unsafe impl critical_section::Impl for NodeMasked {
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
