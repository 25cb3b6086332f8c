//! Traps that end a node: their causes and messages. The architecture decodes its registers to a [`Fault`].

use core::fmt;

use net_torus::coord::{Coord, Rank};

use super::address::AddressRange;
use super::blackboard::FailureCode;
use super::record::RecordFields;

/// Cause of a trap. Interrupts are not included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrapCause {
    /// A jump to a misaligned address.
    InstructionMisaligned,
    /// A jump to memory that is not executable.
    InstructionAccess,
    /// An invalid instruction, or one that this mode does not support.
    IllegalInstruction,
    /// `ebreak`.
    Breakpoint,
    /// A misaligned load.
    LoadMisaligned,
    /// A load from unmapped or protected memory.
    LoadAccess,
    /// A misaligned store.
    StoreMisaligned,
    /// A store to unmapped or protected memory.
    StoreAccess,
    /// `ecall`, which this kernel does not support.
    EnvironmentCall,
    /// Another cause; contains the code.
    Other(u64),
}

impl TrapCause {
    /// All causes without a code, in the order of their numbers.
    const ALL: [Self; 9] = [
        Self::InstructionMisaligned,
        Self::InstructionAccess,
        Self::IllegalInstruction,
        Self::Breakpoint,
        Self::LoadMisaligned,
        Self::LoadAccess,
        Self::StoreMisaligned,
        Self::StoreAccess,
        Self::EnvironmentCall,
    ];

    /// Returns its index among them; causes with a code follow.
    const fn number(self) -> u64 {
        match self {
            Self::InstructionMisaligned => 0,
            Self::InstructionAccess => 1,
            Self::IllegalInstruction => 2,
            Self::Breakpoint => 3,
            Self::LoadMisaligned => 4,
            Self::LoadAccess => 5,
            Self::StoreMisaligned => 6,
            Self::StoreAccess => 7,
            Self::EnvironmentCall => 8,
            Self::Other(_) => 9,
        }
    }
}

/// A trap, with the registers that explain it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The cause.
    pub cause: TrapCause,
    /// The processor's cause code.
    pub code: u64,
    /// The instruction that trapped.
    pub pc: u64,
    /// The address it accessed or jumped to; 0 if the cause has none.
    pub address: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The return address: after a wild jump the only trace of its origin.
    pub ra: u64,
}

/// Memory map, to interpret an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryMap {
    /// Range of null pointers and nearby addresses.
    pub null: AddressRange,
    /// Guard that a stack overflow hits.
    pub guard: AddressRange,
    /// The program's stack.
    pub stack: AddressRange,
    /// The guard of the stack of interrupts and faults.
    pub trap_guard: AddressRange,
    /// Code and constants.
    pub constants: AddressRange,
    /// All memory.
    pub ram: AddressRange,
}

/// Interpretation of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultMeaning {
    /// The program's stack is exhausted.
    StackOverflow,
    /// The kernel's own stack is exhausted.
    TrapStackOverflow,
    /// An access through a null pointer, or one computed from it.
    Null,
    /// A store to code or constants.
    Constant,
    /// A jump to memory that holds data.
    JumpToData,
    /// An access outside of all memory.
    Outside,
    /// No more information than the cause.
    Plain,
}

impl FaultMeaning {
    const ALL: [Self; 7] = [
        Self::StackOverflow,
        Self::TrapStackOverflow,
        Self::Null,
        Self::Constant,
        Self::JumpToData,
        Self::Outside,
        Self::Plain,
    ];
}

impl Fault {
    /// Interprets the fault with the memory map.
    pub fn meaning(&self, map: &MemoryMap) -> FaultMeaning {
        let cause = self.cause;
        let data = matches!(cause, TrapCause::LoadAccess | TrapCause::StoreAccess);
        let jump = cause == TrapCause::InstructionAccess;
        if !data && !jump {
            return FaultMeaning::Plain;
        }
        // Some processors provide no address for a trap on a jump; the jump's target is then the pc.
        let address = if jump { self.pc } else { self.address };
        // An overflow appears in the stack pointer or in the address: a big frame moves the pointer first, and a call
        // through the guard traps with the pointer already there.
        if map.trap_guard.contains(address) {
            FaultMeaning::TrapStackOverflow
        } else if map.guard.contains(address) && data {
            FaultMeaning::StackOverflow
        } else if map.null.contains(address) {
            FaultMeaning::Null
        } else if map.constants.contains(address) && cause == TrapCause::StoreAccess {
            FaultMeaning::Constant
        } else if map.ram.contains(address) && jump {
            FaultMeaning::JumpToData
        } else if !map.ram.contains(address) {
            FaultMeaning::Outside
        } else {
            FaultMeaning::Plain
        }
    }
}

/// A fault as reported to the user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultReport {
    /// The fault.
    pub fault: Fault,
    /// Its interpretation.
    pub meaning: FaultMeaning,
    /// Size of the program's stack in bytes.
    pub stack_bytes: u64,
}

impl FaultReport {
    /// Creates the report of this fault with the memory map.
    pub fn new(fault: Fault, map: &MemoryMap) -> Self {
        Self {
            fault,
            meaning: fault.meaning(map),
            stack_bytes: map.stack.len(),
        }
    }

    /// Returns the fault's reason on the blackboard.
    pub fn end(&self) -> FailureCode {
        match self.meaning {
            FaultMeaning::StackOverflow => FailureCode::StackOverflow,
            _ => FailureCode::Fault,
        }
    }

    /// Encodes the report as numbers.
    pub(crate) fn numbers(&self) -> [u64; 8] {
        let Fault {
            cause,
            code,
            pc,
            address,
            sp,
            ra,
        } = self.fault;
        let other = match cause {
            TrapCause::Other(code) => code,
            _ => 0,
        };
        let stack = self.stack_bytes << 8 | self.meaning as u64;
        [cause.number(), other, code, pc, address, sp, ra, stack]
    }

    pub(crate) fn from_numbers(fields: &RecordFields<'_>) -> Option<Self> {
        let [_, other, code, pc, address, sp, ra, stack] = fields.numbers;
        let cause = match fields.number::<usize>(0)? {
            cause if cause == TrapCause::ALL.len() => TrapCause::Other(other),
            cause => *TrapCause::ALL.get(cause)?,
        };
        Some(Self {
            fault: Fault {
                cause,
                code,
                pc,
                address,
                sp,
                ra,
            },
            meaning: *FaultMeaning::ALL.get((stack & 0xff) as usize)?,
            stack_bytes: stack >> 8,
        })
    }
}

/// Display name of a node: `rank 5 at (1,0,1)`.
pub struct NodeName(pub Option<(Rank, Coord)>);

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((rank, c)) => write!(f, "rank {rank} at ({},{},{})", c.x, c.y, c.z),
            None => f.write_str("a node that does not know its rank yet"),
        }
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            pc, address, sp, ra, ..
        } = self.fault;
        let cause = self.fault.cause;
        let access = match cause {
            TrapCause::LoadAccess | TrapCause::LoadMisaligned => "load from",
            TrapCause::StoreAccess | TrapCause::StoreMisaligned => "store to",
            _ => "jump to",
        };
        match self.meaning {
            FaultMeaning::StackOverflow => {
                let kib = self.stack_bytes / 1024;
                write!(
                    f,
                    "stack overflow: the program's stack of {kib} KiB is used up ({access} {address:#x}"
                )?;
                // A processor without stack space for the program counter loses it.
                if pc != 0 {
                    write!(f, " at pc {pc:#x}")?;
                }
                return write!(
                    f,
                    ", sp {sp:#x}); recurse less deeply, or keep big arrays static or in malloc's memory"
                );
            }
            FaultMeaning::TrapStackOverflow => write!(f, "the kernel's own stack overflowed: ")?,
            FaultMeaning::Null => write!(f, "null pointer: ")?,
            FaultMeaning::Constant => write!(f, "code and constants cannot be written: ")?,
            FaultMeaning::JumpToData => write!(f, "data cannot be executed: ")?,
            FaultMeaning::Outside => write!(f, "no memory there: ")?,
            FaultMeaning::Plain => {}
        }
        match cause {
            TrapCause::InstructionAccess => {
                return write!(f, "jump to {pc:#x}, return address {ra:#x}, sp {sp:#x}");
            }
            TrapCause::InstructionMisaligned => write!(f, "jump to the odd address {address:#x}")?,
            TrapCause::LoadAccess | TrapCause::StoreAccess => write!(f, "{access} {address:#x}")?,
            TrapCause::LoadMisaligned | TrapCause::StoreMisaligned => {
                write!(f, "misaligned {access} {address:#x}")?;
            }
            TrapCause::IllegalInstruction => write!(f, "illegal instruction {address:#x}")?,
            TrapCause::Breakpoint => write!(f, "breakpoint")?,
            TrapCause::EnvironmentCall => write!(f, "ecall, which this kernel does not serve,")?,
            TrapCause::Other(code) => write!(f, "trap {code}")?,
        }
        write!(f, " at pc {pc:#x}, sp {sp:#x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Failure, FailureReason};
    use crate::record::MESSAGE_BYTES;

    fn text(failure: Failure<'_>) -> String {
        failure.in_words(|_, _, _| Ok(())).to_string()
    }

    fn bytes(start: u64, end: u64) -> AddressRange {
        AddressRange { start, end }
    }

    fn map() -> MemoryMap {
        MemoryMap {
            null: bytes(0, 0x10_0000),
            guard: bytes(0x4000_0000, 0x8000_1000),
            stack: bytes(0x8000_1000, 0x8008_1000),
            trap_guard: bytes(0x8010_0000, 0x8010_1000),
            constants: bytes(0x8008_1000, 0x8009_0000),
            ram: bytes(0x8000_0000, 0x8080_0000),
        }
    }

    fn fault(cause: TrapCause, pc: u64, address: u64) -> Fault {
        Fault {
            cause,
            code: 0,
            pc,
            address,
            sp: 0x8000_2000,
            ra: 0x8008_3000,
        }
    }

    #[test]
    fn addresses_tell_what_happened() {
        const PC: u64 = 0x8008_2000;
        for (cause, pc, address, meaning) in [
            (TrapCause::LoadAccess, PC, 0, FaultMeaning::Null),
            (TrapCause::StoreAccess, PC, 0xf_fff8, FaultMeaning::Null),
            (TrapCause::InstructionAccess, 0, 0, FaultMeaning::Null),
            (TrapCause::StoreAccess, PC, 0x8000_0ff8, FaultMeaning::StackOverflow),
            (TrapCause::StoreAccess, PC, 0x7000_0000, FaultMeaning::StackOverflow),
            (TrapCause::LoadAccess, PC, 0x8000_0000, FaultMeaning::StackOverflow),
            (TrapCause::StoreAccess, PC, 0x8010_0008, FaultMeaning::TrapStackOverflow),
            (TrapCause::StoreAccess, PC, 0x8008_8000, FaultMeaning::Constant),
            (
                TrapCause::InstructionAccess,
                0x8020_0000,
                0x8020_0000,
                FaultMeaning::JumpToData,
            ),
            (TrapCause::LoadAccess, PC, 0x8080_0000, FaultMeaning::Outside),
            (TrapCause::StoreAccess, PC, u64::MAX, FaultMeaning::Outside),
            (TrapCause::IllegalInstruction, PC, 0, FaultMeaning::Plain),
            (TrapCause::Breakpoint, PC, PC, FaultMeaning::Plain),
        ] {
            let fault = fault(cause, pc, address);
            assert_eq!(fault.meaning(&map()), meaning, "{fault:?}");
        }
    }

    #[test]
    fn only_the_programs_stack_is_filed_as_overflow() {
        let report = |fault| FaultReport::new(fault, &map());
        assert_eq!(
            report(fault(TrapCause::StoreAccess, 0x8008_2000, 0x8000_0ff8)).end(),
            FailureCode::StackOverflow
        );
        assert_eq!(
            report(fault(TrapCause::StoreAccess, 0x8008_2000, 0x8010_0008)).end(),
            FailureCode::Fault
        );
        assert_eq!(
            report(fault(TrapCause::IllegalInstruction, 0x8008_2000, 0)).end(),
            FailureCode::Fault
        );
    }

    #[test]
    fn reports_name_place_and_registers() {
        let report = |fault, place| {
            let why = FailureReason::Fault(FaultReport::new(fault, &map()));
            text(Failure { place, why })
        };
        let place = Some((5, Coord { x: 1, y: 0, z: 1 }));
        assert_eq!(
            report(fault(TrapCause::LoadAccess, 0x8008_2000, 8), place),
            "rank 5 at (1,0,1): null pointer: load from 0x8 at pc 0x80082000, sp 0x80002000"
        );
        assert_eq!(
            report(fault(TrapCause::InstructionAccess, 0, 0), place),
            "rank 5 at (1,0,1): null pointer: jump to 0x0, return address 0x80083000, sp 0x80002000"
        );
        assert_eq!(
            report(fault(TrapCause::IllegalInstruction, 0x8008_2000, 0), None),
            "a node that does not know its rank yet: illegal instruction 0x0 at pc 0x80082000, sp 0x80002000"
        );
        let text = report(fault(TrapCause::StoreAccess, 0x8008_2000, 0x8000_0ff8), place);
        assert!(text.starts_with("rank 5 at (1,0,1): stack overflow: the program's stack of 512 KiB"));
    }

    #[test]
    fn every_report_fits_the_blackboard_and_is_read_back() {
        for cause in [
            TrapCause::InstructionMisaligned,
            TrapCause::InstructionAccess,
            TrapCause::IllegalInstruction,
            TrapCause::Breakpoint,
            TrapCause::LoadMisaligned,
            TrapCause::LoadAccess,
            TrapCause::StoreMisaligned,
            TrapCause::StoreAccess,
            TrapCause::EnvironmentCall,
            TrapCause::Other(u64::MAX),
        ] {
            for address in [0, u64::MAX, 0x8000_0ff8, 0x8010_0000, 0x8008_8000] {
                let fault = Fault {
                    cause,
                    code: 0,
                    pc: u64::MAX,
                    address,
                    sp: u64::MAX,
                    ra: u64::MAX,
                };
                let coord = Coord { x: 255, y: 255, z: 255 };
                let why = FailureReason::Fault(FaultReport::new(fault, &map()));
                let place = Some((u32::MAX, coord));
                let failure = Failure { place, why };
                assert!(text(failure).len() <= MESSAGE_BYTES);
                assert_eq!(Failure::read(failure.write().bytes()), Some(failure));
            }
        }
    }
}
