//! Registers for a backtrace.

use core::arch::asm;

use midplane_abi::backtrace::{BacktraceRegisters, SAVED};

/// Returns the registers at this point of the function that it is inlined into.
#[inline(always)]
pub fn registers() -> BacktraceRegisters {
    let mut words = [0u64; 1 + SAVED.len()];
    // SAFETY: writes `words`, whose length is the number of stores, and `t0`.
    unsafe {
        asm!(
            "auipc t0, 0",
            "sd t0, 0({at})",
            "sd ra, 8({at})",
            "sd sp, 16({at})",
            "sd s0, 24({at})",
            "sd s1, 32({at})",
            "sd s2, 40({at})",
            "sd s3, 48({at})",
            "sd s4, 56({at})",
            "sd s5, 64({at})",
            "sd s6, 72({at})",
            "sd s7, 80({at})",
            "sd s8, 88({at})",
            "sd s9, 96({at})",
            "sd s10, 104({at})",
            "sd s11, 112({at})",
            at = in(reg) words.as_mut_ptr(),
            out("t0") _,
            options(nostack),
        );
    }
    let [pc, saved @ ..] = words;
    BacktraceRegisters { pc, saved }
}
