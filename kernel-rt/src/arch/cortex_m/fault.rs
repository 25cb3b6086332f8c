//! Faults: all arrive as HardFault, because the specific ones are not enabled; the status registers identify them.

use core::arch::global_asm;

use cortex_m::peripheral::SCB;
use midplane_abi::backtrace::BacktraceRegisters;
use midplane_abi::fault::Fault;

use super::backtrace::record_registers;
use super::cause;

// SAFETY: the board defines it, with this signature.
unsafe extern "Rust" {
    safe fn midplane_fault(fault: Fault, registers: &BacktraceRegisters) -> !;
}

// The frame is at the stack pointer in use: bit 2 of EXC_RETURN specifies which one (B1.5.8). It may be outside memory,
// and is read only if it is inside. r4 to r11 are unchanged. The handler starts at the main stack's top: it does not
// return, so the previous contents are not needed.
global_asm!(
    ".section .text.midplane_hard_fault, \"ax\"",
    ".global HardFault",
    ".type HardFault, %function",
    ".thumb_func",
    "HardFault:",
    "tst lr, #4",
    "ite eq",
    "mrseq r0, MSP",
    "mrsne r0, PSP",
    "mov r1, lr",
    "movw r2, #:lower16:__trap_stack_top",
    "movt r2, #:upper16:__trap_stack_top",
    "mov sp, r2",
    "push {{r4-r11}}",
    "mov r2, sp",
    "b {fault}",
    fault = sym hard_fault,
);

/// The exception frame that the processor has pushed (B1.5.6).
#[repr(C)]
struct ExceptionFrame {
    r0_to_r3: [u32; 4],
    r12: u32,
    lr: u32,
    pc: u32,
    xpsr: u32,
}

/// Size of the frame in bytes, and of one with floating-point registers.
const FRAME: u32 = 32;
const LONG_FRAME: u32 = 104;
/// Bit of EXC_RETURN: the frame is the short one.
const IS_SHORT: u32 = 1 << 4;
/// Bit of xPSR: the stack was moved by four more bytes, to a multiple of eight.
const WAS_ALIGNED: u32 = 1 << 9;

/// Handles a fault; `kept` contains r4 to r11.
extern "C" fn hard_fault(frame: u32, exc_return: u32, kept: *const [u32; 8]) -> ! {
    // SAFETY: reads of status registers; nothing else runs any more.
    let scb = unsafe { &*SCB::PTR };
    let (cfsr, hfsr) = (scb.cfsr.read(), scb.hfsr.read());
    let (mmfar, bfar) = (scb.mmfar.read(), scb.bfar.read());
    // SAFETY: the entry has stored them.
    let kept = unsafe { *kept };
    let ram = super::layout::ram();
    let is_there = frame.is_multiple_of(4)
        && ram.contains(frame.into())
        && ram.contains(u64::from(frame) + u64::from(LONG_FRAME))
        && !super::layout::trap_guard().contains(frame.into())
        && !cause::decode(cfsr, hfsr, mmfar, bfar, false).no_stack;
    let size = if exc_return & IS_SHORT != 0 { FRAME } else { LONG_FRAME };
    // The stack pointer moves even if the stacking fails (B1.5.6). The stacked values, including the program counter
    // and the return address, are then lost: the tool finds the function by its stack.
    let before = frame.wrapping_add(size);
    let (pc, lr, sp) = if is_there {
        // SAFETY: within RAM, aligned, and outside the guards.
        let stacked = unsafe { &*core::ptr::with_exposed_provenance::<ExceptionFrame>(frame as usize) };
        let was_aligned = stacked.xpsr & WAS_ALIGNED != 0;
        (stacked.pc, stacked.lr, before + 4 * u32::from(was_aligned))
    } else {
        (0, 0, before)
    };
    let decoded = cause::decode(cfsr, hfsr, mmfar, bfar, is_store_at(pc));
    let address = match (decoded.address, decoded.no_stack) {
        (Some(address), _) => address,
        (None, true) => frame,
        (None, false) => 0,
    };
    let fault = Fault {
        code: cfsr.into(),
        cause: decoded.cause,
        pc: pc.into(),
        address: address.into(),
        sp: sp.into(),
        ra: lr.into(),
    };
    midplane_fault(fault, &record_registers(pc, lr, sp, kept))
}

fn is_store_at(pc: u32) -> bool {
    if !super::layout::constants().contains(pc.into()) {
        return false;
    }
    let at = core::ptr::with_exposed_provenance::<u16>(pc as usize & !1);
    // SAFETY: within the code, behind which there is more of the image.
    let [first, second] = unsafe { [at.read(), at.add(1).read()] };
    cause::is_store(first, second)
}
