//! Traps: saves registers, then calls `midplane_interrupt` (board/hot_path.rs) or the board's `midplane_fault`.

use core::arch::global_asm;

use midplane_abi::backtrace::BacktraceRegisters;
use midplane_abi::fault::Fault;

use super::cause;

// SAFETY: the board defines both, with these signatures.
unsafe extern "Rust" {
    safe fn midplane_interrupt();
    safe fn midplane_fault(fault: Fault, registers: &BacktraceRegisters) -> !;
}

// Trap entry. Every trap runs on the trap stack from its top. Interrupts do not nest, and a fault inside a handler
// never returns, so it may overwrite the handler's frame. The entry saves the caller-saved registers, the
// floating-point ones included, and for a fault also the callee-saved ones, from which the tool reconstructs the
// backtrace.
global_asm!(
    ".option push",
    ".option arch, +d",
    ".section .text.midplane_trap, \"ax\"",
    ".balign 4",
    "midplane_trap:",
    "csrrw sp, sscratch, sp",
    "addi sp, sp, -416",
    "sd ra, 0(sp)",
    "sd t0, 8(sp)",
    "csrr t0, sscratch",
    "sd t0, 16(sp)",
    "addi t0, sp, 416",
    "csrw sscratch, t0",
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
    "csrr a0, scause",
    "bltz a0, 1f",
    "sd s0, 304(sp)",
    "sd s1, 312(sp)",
    "sd s2, 320(sp)",
    "sd s3, 328(sp)",
    "sd s4, 336(sp)",
    "sd s5, 344(sp)",
    "sd s6, 352(sp)",
    "sd s7, 360(sp)",
    "sd s8, 368(sp)",
    "sd s9, 376(sp)",
    "sd s10, 384(sp)",
    "sd s11, 392(sp)",
    "1:",
    "csrr a1, sepc",
    "csrr a2, stval",
    "ld a3, 16(sp)",
    "mv a4, ra",
    "addi a5, sp, 304",
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
    "sret",
    ".option pop",
    trap = sym trap,
);

/// Handles a trap; `kept` contains s0 to s11, for a fault only.
extern "C" fn trap(code: u64, pc: u64, address: u64, sp: u64, ra: u64, kept: *const [u64; 12]) {
    const INTERRUPT: u64 = 1 << 63;
    if code & INTERRUPT != 0 {
        return midplane_interrupt();
    }
    // SAFETY: the entry has stored them.
    let [s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11] = unsafe { *kept };
    let saved = [ra, sp, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11];
    let fault = Fault {
        code,
        cause: cause::decode(code),
        pc,
        address,
        sp,
        ra,
    };
    // 0 would mean that no registers are stored.
    let pc = pc.max(1);
    midplane_fault(fault, &BacktraceRegisters { pc, saved })
}
