//! Machine mode: from the first instruction to `midplane_boot` in supervisor mode, with memory as Rust requires it.
//! Nothing ever returns to machine mode: the supervisor handles all traps.

use core::arch::global_asm;
use core::sync::atomic::{AtomicU64, Ordering};

use super::layout;

/// Information that every hart needs before it has its own memory; the board's `midplane_survey` fills it in.
#[repr(C)]
pub struct StartInfo {
    /// Number of nodes: further harts sleep. 0: the other fields are not valid yet.
    nodes: AtomicU64,
    first: u64,
    /// Distance of two nodes' memories in bytes.
    stride: u64,
}

impl StartInfo {
    /// Creates the empty information.
    pub const fn unknown() -> Self {
        StartInfo {
            nodes: AtomicU64::new(0),
            first: 0,
            stride: 0,
        }
    }

    /// Sets the number of nodes, at least 1: the first one's memory at the physical address `first`, each further one's
    /// `stride` bytes behind.
    pub fn set(&mut self, nodes: u64, first: u64, stride: u64) {
        self.first = first;
        self.stride = stride;
        self.nodes.store(nodes, Ordering::Release);
    }
}

// The machine starts all harts at the first byte of RAM, with the hart's ID in mhartid and the device tree's address in
// a1. Memory required to be zero is zero: RAM is at the machine's start, except for the image and the device tree.
//
// Hart 0 examines the machine with the trap stack of the image as loaded; the others sleep until a supervisor software
// interrupt calls them. Then each hart builds its own tables on its own trap stack, not needed before it is a node.
global_asm!(
    ".option push",
    ".option arch, +d, +m", // repeated: as part of a library the text is also read without the target
    ".section .entry, \"ax\"",
    ".globl _start",
    "_start:",
    "csrw mie, zero",
    "la t0, 9f",
    "csrw mtvec, t0",
    "csrr s0, mhartid",
    ".option push",
    ".option norelax",
    "la gp, __global_pointer$",
    ".option pop",
    // Enable floating point, with a clean state.
    "li t0, 0x2000",
    "csrs mstatus, t0",
    "fscsr zero",
    "la s2, __handover",
    "bnez s0, 2f",
    "la sp, __trap_stack_top",
    "mv a0, a1",
    "call midplane_survey",
    "j 4f",
    "2:",
    "csrwi mie, 2",
    "3:",
    "wfi",
    "csrr t0, mip",
    "andi t0, t0, 2",
    "beqz t0, 3b",
    "csrw mie, zero",
    "csrci mip, 2",
    "fence iorw, iorw",
    "4:",
    "ld t0, 0(s2)",
    "beqz t0, 2b", // not called: a doorbell that was meant for a node
    "bgeu s0, t0, 8f",
    "ld t1, 8(s2)",
    "ld t2, 16(s2)",
    "mul t2, t2, s0",
    "add t1, t1, t2",
    "la t0, MIDPLANE_RAM",
    "sub a1, t1, t0",
    "la sp, __trap_stack_top",
    "add sp, sp, a1",
    "mv a0, s0",
    "call midplane_map",
    "csrw satp, a0",
    "sfence.vma",
    // Supervisor mode may access all that the tables map; they, not the PMP, restrict it.
    "li t0, -1",
    "csrw pmpaddr0, t0",
    "li t0, 0x1f",
    "csrw pmpcfg0, t0",
    "li t0, -1",
    "csrw medeleg, t0",
    "li t0, 0x222", // software, timer, external interrupt
    "csrw mideleg, t0",
    "li t0, 7", // cycle, time, instret
    "csrw mcounteren, t0",
    "li t0, 1",
    "slli t0, t0, 63",
    "csrs 0x30a, t0", // menvcfg.STCE: the timer is stimecmp
    "li t0, -1",
    "csrw 0x14d, t0",
    // To supervisor mode (MPP = 1), which must not change its tables (TVM).
    "li t0, 0x1800",
    "csrc mstatus, t0",
    "li t0, 0x100800",
    "csrs mstatus, t0",
    "la t0, midplane_boot",
    "csrw mepc, t0",
    "la t0, midplane_trap",
    "csrw stvec, t0",
    "la t0, __trap_stack_top",
    "csrw sscratch, t0",
    "csrw sie, zero",
    "la sp, __stack_top",
    "la tp, __tls_base",
    "mv a0, s0",
    "li ra, 0",
    "mret",
    // A hart without a node; a trap in machine mode.
    "8:",
    "csrw mie, zero",
    ".balign 4",
    "9:",
    "wfi",
    "j 9b",
    ".option pop",
);

// Replacement for optional functions that a program does not define (ld/virt.ld).
global_asm!(
    ".section .text.midplane_nothing, \"ax\"",
    ".globl midplane_nothing",
    ".type midplane_nothing, @function",
    "midplane_nothing:",
    "ret",
    ".size midplane_nothing, . - midplane_nothing",
);

/// In machine mode: returns whether a supervisor software interrupt is pending on this hart.
pub fn is_called() -> bool {
    let pending: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("csrr {}, mip", out(reg) pending, options(nostack)) };
    pending & 2 != 0
}

/// In machine mode: clears that interrupt.
pub fn forget_call() {
    // SAFETY: clears a pending interrupt.
    unsafe { core::arch::asm!("csrci mip, 2", options(nostack)) };
}

/// Executes one instruction of each page of code: a return, found as an instruction or inside one.
///
/// For QEMU: it searches the address translations of all harts when it first runs code of a page, while other harts
/// that enter the page wait in a spin lock.
pub fn touch_code() {
    const RETURN: [u8; 2] = 0x8082u16.to_le_bytes();
    let code = layout::constants();
    for page in (code.start..code.end).step_by(midplane_abi::address::PAGE as usize) {
        let start = core::ptr::with_exposed_provenance::<[[u8; 2]; 2048]>(page as usize);
        // SAFETY: code and constants can be read, and never change.
        let words = unsafe { &*start };
        let Some(at) = words.iter().position(|word| *word == RETURN) else {
            continue;
        };
        // SAFETY: returns immediately and changes nothing but `ra`.
        unsafe {
            core::arch::asm!("jalr {}", in(reg) page + 2 * at as u64, out("ra") _, options(nostack));
        }
    }
}

/// Copies the data template to the node whose memory is `offset` bytes above its link address, for
/// [`midplane_map`](StartInfo). Does nothing for offset 0, where the template is the data.
///
/// # Safety
/// In machine mode, once, for memory that belongs to that node alone.
pub unsafe fn copy_data(offset: u64) {
    if offset == 0 {
        return;
    }
    let data = layout::loaded_data();
    let from = core::ptr::with_exposed_provenance::<u8>(data.start as usize);
    let to = core::ptr::with_exposed_provenance_mut::<u8>((data.start + offset) as usize);
    // SAFETY: the template is loaded where it is linked, and the caller owns the target.
    unsafe { to.copy_from_nonoverlapping(from, data.len() as usize) };
}
