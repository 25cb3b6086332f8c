//! Decoder of the fault registers (Armv7-M Architecture Reference Manual, B3.2.15 Configurable Fault Status Register,
//! B3.2.16 HardFault Status Register).
#![forbid(unsafe_code)]

use midplane_abi::fault::TrapCause;

// Bits of CFSR: the MemManage, BusFault and UsageFault status registers.
const IACCVIOL: u32 = 1;
const DACCVIOL: u32 = 1 << 1;
const MUNSTKERR: u32 = 1 << 3;
const MSTKERR: u32 = 1 << 4;
const MLSPERR: u32 = 1 << 5;
const MMARVALID: u32 = 1 << 7;
const IBUSERR: u32 = 1 << 8;
const PRECISERR: u32 = 1 << 9;
const IMPRECISERR: u32 = 1 << 10;
const UNSTKERR: u32 = 1 << 11;
const STKERR: u32 = 1 << 12;
const LSPERR: u32 = 1 << 13;
const BFARVALID: u32 = 1 << 15;
const UNDEFINSTR: u32 = 1 << 16;
const INVSTATE: u32 = 1 << 17;
const INVPC: u32 = 1 << 18;
const NOCP: u32 = 1 << 19;
const UNALIGNED: u32 = 1 << 24;
const DIVBYZERO: u32 = 1 << 25;
/// Bit of HFSR: a breakpoint without a debugger.
const DEBUGEVT: u32 = 1 << 31;

/// A decoded fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodedFault {
    /// Its cause.
    pub cause: TrapCause,
    /// The accessed address, if the registers contain it.
    pub address: Option<u32>,
    /// The processor could not stack its registers: that stack is exhausted.
    pub no_stack: bool,
}

/// Decodes CFSR, HFSR, MMFAR and BFAR. The processor does not report whether an access was a load or a store:
/// `is_store` specifies it from the instruction.
pub fn decode(cfsr: u32, hfsr: u32, mmfar: u32, bfar: u32, is_store: bool) -> DecodedFault {
    let has = |bits: u32| cfsr & bits != 0;
    let address = match (has(MMARVALID), has(BFARVALID)) {
        (true, _) => Some(mmfar),
        (false, true) => Some(bfar),
        (false, false) => None,
    };
    let cause = if has(IACCVIOL | IBUSERR | INVSTATE | INVPC) {
        // Includes a jump to an even address, which this processor treats as an unsupported instruction set.
        TrapCause::InstructionAccess
    } else if has(UNDEFINSTR | NOCP) {
        TrapCause::IllegalInstruction
    } else if has(UNALIGNED) && is_store {
        TrapCause::StoreMisaligned
    } else if has(UNALIGNED) {
        TrapCause::LoadMisaligned
    } else if has(MSTKERR | STKERR | MLSPERR | LSPERR | IMPRECISERR) || has(DACCVIOL | PRECISERR) && is_store {
        TrapCause::StoreAccess
    } else if has(DACCVIOL | PRECISERR | MUNSTKERR | UNSTKERR) {
        TrapCause::LoadAccess
    } else if hfsr & DEBUGEVT != 0 {
        TrapCause::Breakpoint
    } else {
        // Includes a division by zero, if that trap is enabled.
        debug_assert!(!has(DIVBYZERO) || cfsr == DIVBYZERO);
        TrapCause::Other(cfsr.into())
    };
    DecodedFault {
        cause,
        address,
        no_stack: has(MSTKERR | STKERR | MLSPERR | LSPERR),
    }
}

/// Returns whether the Thumb instruction `first`, `second` (halfwords) stores to memory.
pub fn is_store(first: u16, second: u16) -> bool {
    match first >> 11 {
        // STR, STRH, STRB with a register (A5.2.4): opA 0101, opB 000 to 010.
        0b01010 => (first >> 9) & 0b11 != 0b11,
        // STR, STRB, STRH with an immediate; STR relative to SP; STM.
        0b01100 | 0b01110 | 0b10000 | 0b10010 | 0b11000 => true,
        // PUSH.
        0b10110 => (first >> 9) & 0b11 == 0b10,
        // 32 bits: bit 4 of the first halfword is set in loads. Single (A5.3.10), multiple and dual (A5.3.5, A5.3.6),
        // coprocessor, used for floating point (A5.3.18).
        0b11101 | 0b11111 => {
            let _ = second;
            let group = (first >> 9) & 0b11;
            (first >> 11 == 0b11111 && group == 0 || first >> 11 == 0b11101 && group != 0b01) && first & 1 << 4 == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_tell_what_happened() {
        let decoded = |cfsr, is_store| decode(cfsr, 0, 0x10, 0x20, is_store);
        let plain = |cause, address| DecodedFault {
            cause,
            address,
            no_stack: false,
        };
        for (cfsr, store, what) in [
            (DACCVIOL | MMARVALID, true, plain(TrapCause::StoreAccess, Some(0x10))),
            (DACCVIOL | MMARVALID, false, plain(TrapCause::LoadAccess, Some(0x10))),
            (PRECISERR | BFARVALID, false, plain(TrapCause::LoadAccess, Some(0x20))),
            (IMPRECISERR, false, plain(TrapCause::StoreAccess, None)),
            (IACCVIOL, false, plain(TrapCause::InstructionAccess, None)),
            (INVSTATE, false, plain(TrapCause::InstructionAccess, None)),
            (UNDEFINSTR, false, plain(TrapCause::IllegalInstruction, None)),
            (UNALIGNED, true, plain(TrapCause::StoreMisaligned, None)),
            (DIVBYZERO, false, plain(TrapCause::Other(DIVBYZERO.into()), None)),
        ] {
            assert_eq!(decoded(cfsr, store), what, "{cfsr:#x}");
        }
        assert!(decoded(MSTKERR, false).no_stack);
        assert_eq!(decode(0, DEBUGEVT, 0, 0, false).cause, TrapCause::Breakpoint);
    }

    #[test]
    fn stores_are_told_from_loads() {
        // Encodings of the assembler.
        for (first, second, store) in [
            (0x6008, 0, true),       // str r0, [r1]
            (0x6808, 0, false),      // ldr r0, [r1]
            (0x7008, 0, true),       // strb r0, [r1]
            (0x7808, 0, false),      // ldrb r0, [r1]
            (0x8008, 0, true),       // strh r0, [r1]
            (0x8808, 0, false),      // ldrh r0, [r1]
            (0x5088, 0, true),       // str r0, [r1, r2]
            (0x5888, 0, false),      // ldr r0, [r1, r2]
            (0x5688, 0, false),      // ldrsb r0, [r1, r2]
            (0x9001, 0, true),       // str r0, [sp, #4]
            (0x9801, 0, false),      // ldr r0, [sp, #4]
            (0xb510, 0, true),       // push {r4, lr}
            (0xbd10, 0, false),      // pop {r4, pc}
            (0xc106, 0, true),       // stmia r1!, {r1, r2}
            (0xc906, 0, false),      // ldmia r1!, {r1, r2}
            (0xf8c1, 0x0100, true),  // str.w r0, [r1, #256]
            (0xf8d1, 0x0100, false), // ldr.w r0, [r1, #256]
            (0xe9c2, 0x0100, true),  // strd r0, r1, [r2]
            (0xe9d2, 0x0100, false), // ldrd r0, r1, [r2]
            (0xe92d, 0x4ff0, true),  // push.w {r4-r11, lr}
            (0xe8bd, 0x8ff0, false), // pop.w {r4-r11, pc}
            (0xed81, 0x0a00, true),  // vstr s0, [r1]
            (0xed91, 0x0a00, false), // vldr s0, [r1]
            (0x4408, 0, false),      // add r0, r1
            (0xea41, 0x0002, false), // orr.w r0, r1, r2
        ] {
            assert_eq!(is_store(first, second), store, "{first:#x} {second:#x}");
        }
    }
}
