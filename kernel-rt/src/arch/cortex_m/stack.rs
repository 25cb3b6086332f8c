//! From the boot's stack to the program's, and from any to that of a node that has failed.

use core::arch::asm;

use cortex_m::peripheral::{FPU, SCB};

/// Goes on with `next`, on the program's stack from its top, as the process stack; interrupts have their own from now
/// on. The boot has run on both as the main one, and nothing of it is needed any more: they are made zero, so that later
/// it can be seen how far they were used. The guard between them is not enabled yet.
///
/// # Safety
/// Called once, outside interrupts; what `next` uses does not lie on the stack.
pub unsafe fn run_on_program_stack(next: extern "C" fn() -> !) -> ! {
    // SAFETY: the caller's promise. CONTROL.SPSEL makes the process stack thread mode's.
    unsafe {
        asm!(
            "msr PSP, r0",
            "mrs r3, CONTROL",
            "orr r3, r3, #2",
            "msr CONTROL, r3",
            "isb",
            "msr MSP, r1",
            // An interrupt on the way leaves nothing there that it needs once it is over.
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

/// Goes on with `next` in thread mode, on the stack of interrupts from its top, whatever runs now: where a node has failed its
/// own stack may be full, and where a fault is handled no interrupt comes, nor ends a sleep.
///
/// # Safety
/// With interrupts off; nothing that lies on either stack, and nothing that was interrupted, is gone back to.
pub unsafe fn run_on_trap_stack(next: extern "C" fn() -> !) -> ! {
    /// Bit of CCR: thread mode may be returned to while other interrupts are active (B3.2.8).
    const FROM_ANY: u32 = 1;
    // SAFETY: nothing else runs any more.
    let scb = unsafe { &*SCB::PTR };
    // SAFETY: the caller's promise.
    unsafe { scb.ccr.modify(|ccr| ccr | FROM_ANY) };
    // SAFETY: the caller's promise. From a handler it is a return from an exception (B1.5.8), whose frame of eight words is
    // made here: the program counter, and a status that says Thumb. FPCCR.LSPACT is cleared, so that no registers are kept
    // late on a stack that has no room.
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
