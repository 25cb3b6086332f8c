//! C's `errno`, a thread-local variable of the only thread.

use core::ffi::c_int;

/// Sets `errno`.
pub fn set_errno(value: c_int) {
    // SAFETY: writes the 32-bit variable at its offset from the thread pointer, as compiled C does.
    unsafe {
        core::arch::asm!(
            "lui {at}, %tprel_hi(errno)",
            "add {at}, {at}, tp, %tprel_add(errno)",
            "sw {value}, %tprel_lo(errno)({at})",
            at = out(reg) _,
            value = in(reg) value,
            options(nostack)
        );
    }
}

/// Returns `errno`.
pub fn errno() -> c_int {
    let value;
    // SAFETY: as above, a read.
    unsafe {
        core::arch::asm!(
            "lui {value}, %tprel_hi(errno)",
            "add {value}, {value}, tp, %tprel_add(errno)",
            "lw {value}, %tprel_lo(errno)({value})",
            value = out(reg) value,
            options(nostack, readonly)
        );
    }
    value
}
