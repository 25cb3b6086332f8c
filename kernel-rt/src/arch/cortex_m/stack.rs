//! Switches from the boot's stack to the program's, and from any stack to that of a failed node.

use core::arch::asm;

use cortex_m::peripheral::{FPU, SCB};

/// Continues with `next` at the top of the program's stack, as the process stack; interrupts use the main stack from
/// now on. The boot has run on both as the main one, and none of its data is needed any more. Both are zeroed, so that
/// their later use can be measured. The guard between them is not enabled yet.
///
/// # Safety
/// Called once, outside interrupts; nothing that `next` uses is on the stack.
pub unsafe fn run_on_program_stack(next: extern "C" fn() -> !) -> ! {
    // SAFETY: the caller's promise. CONTROL.SPSEL selects the process stack for thread mode.
    unsafe {
        asm!(
            "msr PSP, r0",
            "mrs r3, CONTROL",
            "orr r3, r3, #2",
            "msr CONTROL, r3",
            "isb",
            "msr MSP, r1",
            // An interrupt meanwhile needs nothing there after it has returned.
            "movs r3, #0",
            "2:",
            "str r3, [r4], #4",
            "cmp r4, r1",
            "bne 2b",
            "bx r2",
            in("r0") super::layout::stack().end as u32,
            in("r4") super::layout::stack().start as u32,
            in("r1") super::layout::trap_stack().end as u32,
            in("r2") next,
            options(noreturn)
        );
    }
}

/// Continues with `next` in thread mode, at the top of the interrupt stack, from any mode. A failed node's own stack
/// may be exhausted, and inside a fault handler no interrupt is handled or ends a sleep.
///
/// # Safety
/// With interrupts disabled; nothing on either stack, and no interrupted code, is used again.
pub unsafe fn run_on_trap_stack(next: extern "C" fn() -> !) -> ! {
    /// Bit of CCR: permits a return to thread mode while other exceptions are active (B3.2.8).
    const FROM_ANY: u32 = 1;
    // SAFETY: nothing else runs any more.
    let scb = unsafe { &*SCB::PTR };
    // SAFETY: the caller's promise.
    unsafe { scb.ccr.modify(|ccr| ccr | FROM_ANY) };
    // SAFETY: the caller's promise. From a handler it is a return from an exception (B1.5.8), whose frame of eight
    // words is created here: the program counter, and a status with the Thumb bit. FPCCR.LSPACT is cleared, so that no
    // registers are stacked late on a stack without space.
    unsafe {
        asm!(
            "ldr r3, [r0]",
            "bic r3, r3, #1",
            "str r3, [r0]",
            "mrs r3, IPSR",
            "cbz r3, 2f",
            "sub r1, r1, #32",
            "msr MSP, r1",
            "bic r2, r2, #1",
            "str r2, [r1, #24]",
            "mov r3, #0x01000000",
            "str r3, [r1, #28]",
            "mvn r3, #6",
            "bx r3",
            "2:",
            "mrs r3, CONTROL",
            "bic r3, r3, #2",
            "msr CONTROL, r3",
            "isb",
            "msr MSP, r1",
            "bx r2",
            in("r0") FPU::PTR.addr(),
            in("r1") super::layout::trap_stack().end as u32,
            in("r2") next,
            options(noreturn)
        );
    }
}
