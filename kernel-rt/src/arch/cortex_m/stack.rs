//! From the boot's stack to the program's, and from any to that of a node that has failed.

use core::arch::asm;

/// Goes on with `next`, on the program's stack from its top, as the process stack; interrupts have their own from now
/// on. The boot has run on both as the main one, and nothing of it is needed any more: they are made zero, so that later
/// it can be seen how far they were used. What lies between them is not guarded yet.
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
            "cmp r4, r0",
            "bne 2b",
            "bx r2",
            in("r0") super::layout::stack().end as u32,
            in("r4") super::layout::trap_stack().start as u32,
            in("r1") super::layout::trap_stack().end as u32,
            in("r2") next,
            options(noreturn)
        );
    }
}

/// Goes on with `next` on the stack of interrupts from its top, whichever is in use: where a node has failed that may be
/// full.
///
/// # Safety
/// With interrupts off; nothing that lies on either stack is used any more.
pub unsafe fn run_on_trap_stack(next: extern "C" fn() -> !) -> ! {
    // SAFETY: the caller's promise. A handler has the main stack in any case, and its write to CONTROL.SPSEL is ignored
    // (B1.4.4).
    unsafe {
        asm!(
            "mrs r3, CONTROL",
            "bic r3, r3, #2",
            "msr CONTROL, r3",
            "isb",
            "msr MSP, r1",
            "bx r2",
            in("r1") super::layout::trap_stack().end as u32,
            in("r2") next,
            options(noreturn)
        );
    }
}
