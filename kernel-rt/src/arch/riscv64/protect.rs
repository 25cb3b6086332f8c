//! Physical memory protection.

use core::arch::asm;

use super::layout::{constants, stack, trap_guard};

/// Closes what no program may touch, for good: the pages around the null address, everything from below
/// RAM up to the stack's lower end, the trap stack's guard, and writing to code and constants; data is
/// closed to execution. (The RISC-V Instruction Set Manual, volume II, section 3.7: entries are tried in
/// order, and a locked one binds machine mode too.)
///
/// `null_bytes`: from address 0 on, a power of two. `below_ram`: where what is closed below RAM starts.
pub fn protect(null_bytes: u64, below_ram: u64) {
    const LOCKED: u64 = 1 << 7;
    const READ: u64 = 1;
    const WRITE: u64 = 2;
    const EXECUTE: u64 = 4;
    const TOP_OF_RANGE: u64 = 1 << 3;
    const POWER_OF_TWO: u64 = 3 << 3;
    let powers = |start: u64, size: u64| start >> 2 | (size / 8 - 1);
    let none = LOCKED | TOP_OF_RANGE;
    let config = (LOCKED | POWER_OF_TWO)
        | none << 16
        | (LOCKED | TOP_OF_RANGE | READ | EXECUTE) << 32
        | (LOCKED | POWER_OF_TWO) << 40
        | (LOCKED | TOP_OF_RANGE | READ | WRITE) << 56;
    let constants = constants();
    // SAFETY: only takes permissions away that neither the kernel nor a correct program uses: the stack
    // and the devices lie outside the closed ranges.
    unsafe {
        asm!(
            "csrw pmpaddr0, {null}",
            "csrw pmpaddr1, {below}",
            "csrw pmpaddr2, {stack}",
            "csrw pmpaddr3, {text}",
            "csrw pmpaddr4, {rodata}",
            "csrw pmpaddr5, {trap}",
            "csrw pmpaddr6, {rodata}",
            "csrw pmpaddr7, {end}",
            "csrw pmpcfg0, {config}",
            null = in(reg) powers(0, null_bytes),
            below = in(reg) below_ram >> 2,
            stack = in(reg) stack().start >> 2,
            text = in(reg) constants.start >> 2,
            rodata = in(reg) constants.end >> 2,
            trap = in(reg) powers(trap_guard().start, crate::mem::PAGE),
            end = in(reg) u64::MAX >> 10,
            config = in(reg) config,
            options(nostack)
        );
    }
}
