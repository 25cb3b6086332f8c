//! riscv64 in machine mode: entry, traps, memory protection, sleep, the cycle of interrupts.
//!
//! Boot order: `_start` (entry page) moves the device tree out of the way, clears what must be zero,
//! sets stack, thread pointer and trap vector, and calls [`crate::node::boot`].

use core::arch::{asm, global_asm};

use crate::fault::Fault;
use crate::mem::Bytes;

unsafe extern "C" {
    static __stack_bottom: u8;
    static __stack_top: u8;
    static __text_start: u8;
    static __rodata_end: u8;
    static __device_tree: u8;
    static __device_tree_end: u8;
    static __trap_guard: u8;
    static MIDPLANE_IMAGE_END: u8;
}

/// Bytes of `mstatus.MIE`: interrupts are taken.
const MSTATUS_MIE: usize = 1 << 3;
/// `mie`/`mip`: machine software, timer and external interrupt.
const MACHINE_INTERRUPTS: usize = 1 << 3 | 1 << 7 | 1 << 11;

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
    "call {boot}",
    // Any other hart, and a boot that came back, which it does not.
    "9:",
    "wfi",
    "j 9b",
    ".option pop",
    boot = sym enter,
);

// Trap entry. Every trap runs on the trap stack from its top: interrupts do not nest, and a fault inside
// a handler never goes back, so it may write over the handler's frame. Saved are the registers that a
// called function may change, the floating-point ones included.
global_asm!(
    ".option push",
    ".option arch, +d",
    ".section .text.midplane_trap, \"ax\"",
    ".balign 4",
    "midplane_trap:",
    "csrrw sp, mscratch, sp",
    "addi sp, sp, -320",
    "sd ra, 0(sp)",
    "sd t0, 8(sp)",
    "csrr t0, mscratch",
    "sd t0, 16(sp)",
    "addi t0, sp, 320",
    "csrw mscratch, t0",
    "sd t1, 24(sp)",
    "sd t2, 32(sp)",
    "sd t3, 40(sp)",
    "sd t4, 48(sp)",
    "sd t5, 56(sp)",
    "sd t6, 64(sp)",
    "sd a0, 72(sp)",
    "sd a1, 80(sp)",
    "sd a2, 88(sp)",
    "sd a3, 96(sp)",
    "sd a4, 104(sp)",
    "sd a5, 112(sp)",
    "sd a6, 120(sp)",
    "sd a7, 128(sp)",
    "fsd ft0, 136(sp)",
    "fsd ft1, 144(sp)",
    "fsd ft2, 152(sp)",
    "fsd ft3, 160(sp)",
    "fsd ft4, 168(sp)",
    "fsd ft5, 176(sp)",
    "fsd ft6, 184(sp)",
    "fsd ft7, 192(sp)",
    "fsd ft8, 200(sp)",
    "fsd ft9, 208(sp)",
    "fsd ft10, 216(sp)",
    "fsd ft11, 224(sp)",
    "fsd fa0, 232(sp)",
    "fsd fa1, 240(sp)",
    "fsd fa2, 248(sp)",
    "fsd fa3, 256(sp)",
    "fsd fa4, 264(sp)",
    "fsd fa5, 272(sp)",
    "fsd fa6, 280(sp)",
    "fsd fa7, 288(sp)",
    "frcsr t0",
    "sd t0, 296(sp)",
    "csrr a0, mcause",
    "csrr a1, mepc",
    "csrr a2, mtval",
    "ld a3, 16(sp)",
    "mv a4, ra",
    "call {trap}",
    "ld t0, 296(sp)",
    "fscsr t0",
    "fld ft0, 136(sp)",
    "fld ft1, 144(sp)",
    "fld ft2, 152(sp)",
    "fld ft3, 160(sp)",
    "fld ft4, 168(sp)",
    "fld ft5, 176(sp)",
    "fld ft6, 184(sp)",
    "fld ft7, 192(sp)",
    "fld ft8, 200(sp)",
    "fld ft9, 208(sp)",
    "fld ft10, 216(sp)",
    "fld ft11, 224(sp)",
    "fld fa0, 232(sp)",
    "fld fa1, 240(sp)",
    "fld fa2, 248(sp)",
    "fld fa3, 256(sp)",
    "fld fa4, 264(sp)",
    "fld fa5, 272(sp)",
    "fld fa6, 280(sp)",
    "fld fa7, 288(sp)",
    "ld ra, 0(sp)",
    "ld t0, 8(sp)",
    "ld t1, 24(sp)",
    "ld t2, 32(sp)",
    "ld t3, 40(sp)",
    "ld t4, 48(sp)",
    "ld t5, 56(sp)",
    "ld t6, 64(sp)",
    "ld a0, 72(sp)",
    "ld a1, 80(sp)",
    "ld a2, 88(sp)",
    "ld a3, 96(sp)",
    "ld a4, 104(sp)",
    "ld a5, 112(sp)",
    "ld a6, 120(sp)",
    "ld a7, 128(sp)",
    "ld sp, 16(sp)",
    "mret",
    ".option pop",
    trap = sym trap,
);

/// The first Rust code; `tree_bytes` is the size of the device tree, 0 when there is none.
extern "C" fn enter(tree_bytes: usize) -> ! {
    protect();
    crate::node::boot(tree_bytes)
}

extern "C" fn trap(code: u64, pc: u64, address: u64, sp: u64, ra: u64) {
    const INTERRUPT: u64 = 1 << 63;
    if code & INTERRUPT != 0 {
        crate::node::interrupt();
    } else {
        crate::node::fault(Fault {
            code,
            pc,
            address,
            sp,
            ra,
        });
    }
}

/// Address of a linker symbol.
macro_rules! address_of {
    ($symbol:ident) => {
        (&raw const $symbol).addr()
    };
}

/// First byte of RAM that the image does not use.
pub fn image_end() -> usize {
    address_of!(MIDPLANE_IMAGE_END)
}

/// The program's stack.
pub fn stack() -> Bytes {
    Bytes {
        start: address_of!(__stack_bottom) as u64,
        end: address_of!(__stack_top) as u64,
    }
}

/// Code and constants.
pub fn constants() -> Bytes {
    Bytes {
        start: address_of!(__text_start) as u64,
        end: address_of!(__rodata_end) as u64,
    }
}

/// The guard of the trap stack.
pub fn trap_guard() -> Bytes {
    let start = address_of!(__trap_guard) as u64;
    Bytes {
        start,
        end: start + crate::mem::PAGE,
    }
}

/// Room for the device tree in bytes.
pub fn device_tree_room() -> usize {
    address_of!(__device_tree_end) - address_of!(__device_tree)
}

/// The copy of the device tree, `bytes` long; cut to the room there is.
///
/// # Safety
/// May be called once: nobody else may refer to the copy.
pub unsafe fn device_tree(bytes: usize) -> &'static mut [u8] {
    let start = (&raw const __device_tree).cast_mut();
    // SAFETY: the linker script keeps this room for the copy, `_start` has initialised it, and the caller
    // promises to be the only one.
    unsafe { core::slice::from_raw_parts_mut(start, bytes.min(device_tree_room())) }
}

/// Closes what no program may touch, for good: the pages around the null address, everything from below
/// RAM up to the stack's lower end, the trap stack's guard, and writing to code and constants; data is
/// closed to execution. (The RISC-V Instruction Set Manual, volume II, section 3.7: entries are tried in
/// order, and a locked one binds machine mode too.)
fn protect() {
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
            null = in(reg) powers(0, crate::board::NULL_BYTES),
            below = in(reg) crate::board::BELOW_RAM >> 2,
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

/// Lets the three machine interrupts wake the hart; they are taken only once [`enable_interrupts`] ran.
pub fn arm_interrupts() {
    // SAFETY: a pending interrupt is not taken before `mstatus.MIE` is set.
    unsafe { asm!("csrw mie, {}", in(reg) MACHINE_INTERRUPTS, options(nomem, nostack)) };
}

/// Takes interrupts from now on, outside critical sections.
pub fn enable_interrupts() {
    // SAFETY: called once by `boot`, outside any critical section, when all that the handler uses is set up.
    unsafe { asm!("csrsi mstatus, 8", options(nostack)) };
}

/// Sleeps until an interrupt is pending, whether or not it would be taken.
pub fn wait_for_interrupt() {
    // SAFETY: changes no state.
    unsafe { asm!("wfi", options(nostack)) };
}

/// The clock, in ticks since the machine started.
pub fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter.
    unsafe { asm!("rdtime {}", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Whether the interrupt controller has something: cheaper to ask than the controller itself.
pub fn is_external_pending() -> bool {
    let pending: usize;
    // SAFETY: reads a status register.
    unsafe { asm!("csrr {}, mip", out(reg) pending, options(nostack)) };
    pending & 1 << 11 != 0
}

/// Stops this hart for good: interrupts off, asleep.
pub fn park() -> ! {
    // SAFETY: from here on nothing else runs.
    unsafe { asm!("csrci mstatus, 8", "csrw mie, zero", options(nostack)) };
    loop {
        wait_for_interrupt();
    }
}

struct SingleHart;
critical_section::set_impl!(SingleHart);

// SAFETY: with one hart, holding interrupts off is exclusion; the handler runs with them off throughout,
// and `release` puts back what `acquire` found, so sections nest.
unsafe impl critical_section::Impl for SingleHart {
    unsafe fn acquire() -> critical_section::RawRestoreState {
        let before: usize;
        // SAFETY: no memory access may be moved across (no `nomem`), which is what exclusion needs.
        unsafe { asm!("csrrci {}, mstatus, 8", out(reg) before, options(nostack)) };
        before & MSTATUS_MIE != 0
    }

    unsafe fn release(were_enabled: critical_section::RawRestoreState) {
        if were_enabled {
            // SAFETY: as above; only the outermost section found interrupts enabled.
            unsafe { asm!("csrsi mstatus, 8", options(nostack)) };
        }
    }
}
