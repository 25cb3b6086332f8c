//! C's `errno`, a thread-local variable of the only thread.

use core::arch::global_asm;
use core::ffi::c_int;

// Returns C's thread pointer: called by compiled code, which requires that all registers except r0 are preserved
// (Run-time ABI for the Arm Architecture, 5.3.5). Eight bytes before the data belong to the thread, by the linker's
// convention.
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
    // SAFETY: writes the 32-bit variable at its offset from the thread pointer, as compiled C does.
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

/// Returns `errno`.
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
