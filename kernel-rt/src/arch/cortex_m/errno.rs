//! C's `errno`, a thread-local variable of the one thread there is.

use core::arch::global_asm;
use core::ffi::c_int;

// Where C finds its thread-local data: called by compiled code, which expects all registers but r0 as they were (Run-time
// ABI for the Arm Architecture, 5.3.5). Eight bytes in front of the data are the thread's own, as the linker counts.
global_asm!(
    ".section .text.__aeabi_read_tp, \"ax\"",
    ".global __aeabi_read_tp",
    ".type __aeabi_read_tp, %function",
    ".thumb_func",
    "__aeabi_read_tp:",
    "movw r0, #:lower16:(__tls_base - 8)",
    "movt r0, #:upper16:(__tls_base - 8)",
    "bx lr",
);

/// Sets `errno`.
pub fn set_errno(value: c_int) {
    // SAFETY: writes the 32-bit variable at its place behind the thread pointer, as compiled C does.
    unsafe {
        core::arch::asm!(
            "ldr {at}, 2f",
            "movw {base}, #:lower16:(__tls_base - 8)",
            "movt {base}, #:upper16:(__tls_base - 8)",
            "str {value}, [{base}, {at}]",
            "b 3f",
            ".p2align 2",
            "2: .word errno(tpoff)",
            "3:",
            at = out(reg) _,
            base = out(reg) _,
            value = in(reg) value,
            options(nostack)
        );
    }
}

/// `errno` as it is.
pub fn errno() -> c_int {
    let value;
    // SAFETY: as above, a read.
    unsafe {
        core::arch::asm!(
            "ldr {value}, 2f",
            "movw {base}, #:lower16:(__tls_base - 8)",
            "movt {base}, #:upper16:(__tls_base - 8)",
            "ldr {value}, [{base}, {value}]",
            "b 3f",
            ".p2align 2",
            "2: .word errno(tpoff)",
            "3:",
            value = out(reg) value,
            base = out(reg) _,
            options(nostack, readonly)
        );
    }
    value
}
