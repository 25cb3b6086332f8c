//! Registers for a backtrace.

use core::arch::asm;

use midplane_abi::backtrace::{BacktraceRegisters, SAVED};

/// Stores the registers in the order that the tool reads: the return address and the stack pointer first, then r4 to
/// r11; the remaining slots stay 0.
pub(super) fn record_registers(pc: u32, lr: u32, sp: u32, kept: [u32; 8]) -> BacktraceRegisters {
    let mut saved = [0; SAVED.len()];
    let values = [lr, sp].into_iter().chain(kept);
    for (place, value) in saved.iter_mut().zip(values) {
        *place = value.into();
    }
    BacktraceRegisters {
        // 0 would mean that no registers are stored.
        pc: pc.max(1).into(),
        saved,
    }
}

/// Returns the registers at this point of the function that it is inlined into.
#[inline(always)]
pub fn registers() -> BacktraceRegisters {
    let mut words = [0u32; 11];
    // SAFETY: writes `words`, whose length is the number of stores, and r0.
    unsafe {
        asm!(
            "mov r0, pc",
            "str r0, [{at}]",
            "str lr, [{at}, #4]",
            "str sp, [{at}, #8]",
            "add r0, {at}, #12",
            "stm r0, {{r4-r11}}",
            at = in(reg) words.as_mut_ptr(),
            out("r0") _,
            options(nostack),
        );
    }
    let [pc, lr, sp, kept @ ..] = words;
    record_registers(pc, lr, sp, kept)
}
