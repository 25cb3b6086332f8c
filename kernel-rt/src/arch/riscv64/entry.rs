//! The entry: from the first instruction to `midplane_boot`, with memory as Rust expects it.

use core::arch::global_asm;

// The machine starts at the first byte of RAM, with the hart number in a0 and the device tree in a1.
// What lies at the entry is used once; later the page is closed and guards the stack.
global_asm!(
    ".option push",
    ".option arch, +d", // said again: as part of a library the text is also read without the target
    ".section .entry, \"ax\"",
    ".globl _start",
    "_start:",
    "csrw mie, zero",
    "csrr t0, mhartid",
    "bnez t0, 9f",
    ".option push",
    ".option norelax",
    "la gp, __global_pointer$",
    ".option pop",
    // Floating point on, and clean.
    "li t0, 0x2000",
    "csrs mstatus, t0",
    "fscsr zero",
    // The device tree: copied to the place kept for it, when it is one and fits; a0 = its bytes or 0.
    "la t1, __device_tree",
    "la t2, __device_tree_end",
    "li a0, 0",
    "beqz a1, 3f",
    "andi t0, a1, 7",
    "bnez t0, 3f",
    "lwu t0, 0(a1)",
    "li t3, 0xedfe0dd0", // 0xd00dfeed, big-endian
    "bne t0, t3, 3f",
    // totalsize, big-endian, at 4
    "lbu t0, 4(a1)",
    "lbu t3, 5(a1)",
    "slli t0, t0, 8",
    "or t0, t0, t3",
    "lbu t3, 6(a1)",
    "slli t0, t0, 8",
    "or t0, t0, t3",
    "lbu t3, 7(a1)",
    "slli t0, t0, 8",
    "or a0, t0, t3",
    "sub t0, t2, t1",
    "bgtu a0, t0, 3f", // too big: `boot` sees a size beyond the limit and says so
    "add t3, t1, a0",
    "2:",
    "ld t0, 0(a1)",
    "sd t0, 0(t1)",
    "addi a1, a1, 8",
    "addi t1, t1, 8",
    "bltu t1, t3, 2b",
    "3:",
    // What must be zero: thread-local data (byte by byte, it may have any size), then the rest.
    "la t1, __tbss_start",
    "la t2, __tbss_end",
    "4:",
    "bgeu t1, t2, 5f",
    "sb zero, 0(t1)",
    "addi t1, t1, 1",
    "j 4b",
    "5:",
    "la t1, __bss_start",
    "la t2, __bss_end",
    "6:",
    "bgeu t1, t2, 7f",
    "sd zero, 0(t1)",
    "addi t1, t1, 8",
    "j 6b",
    "7:",
    "la tp, __tls_base",
    "la sp, __stack_top",
    "la t0, __trap_stack_top",
    "csrw mscratch, t0",
    "la t0, midplane_trap",
    "csrw mtvec, t0",
    "call midplane_boot",
    // Any other hart, and a boot that came back, which it does not.
    "9:",
    "wfi",
    "j 9b",
    ".option pop",
);
