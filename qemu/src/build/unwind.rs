//! Stack unwinding of a stopped node with the image's call frame information (DWARF), to find the program's call of the
//! runtime. Free of side effects.
//!
//! The nodes' only cost is the record of registers at the end of the job: calls do not record their callers, and
//! neither program nor runtime uses frame pointers.

use crate::build::board::Board;
use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EndianSlice, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection, UnwindTableRow,
};
use midplane_abi::address::AddressRange;
use midplane_abi::backtrace::BacktraceRegisters;
use object::{Object, ObjectSection};
use std::collections::BTreeMap;

/// Maximum number of frames; deeper stacks are not in a call of the runtime.
const FRAMES: usize = 64;

/// Values of the callee-saved registers; the others are unknown.
#[derive(Clone, Debug)]
struct StackFrame {
    /// DWARF numbers of return address and stack pointer, equal to the machine's register numbers.
    ra: Register,
    sp: Register,
    pc: u64,
    /// Values by register number; `None`: unknown.
    registers: [Option<u64>; 32],
}

impl StackFrame {
    fn new(board: Board, noted: &BacktraceRegisters) -> StackFrame {
        let mut registers = [None; 32];
        let saved = board.saved();
        for (number, value) in saved.iter().zip(noted.saved) {
            registers[usize::from(*number)] = Some(value);
        }
        let [ra, sp] = [saved[0], saved[1]].map(|number| Register(number.into()));
        StackFrame {
            ra,
            sp,
            pc: noted.pc,
            registers,
        }
    }

    fn get(&self, register: Register) -> Option<u64> {
        *self.registers.get(usize::from(register.0))?
    }

    /// Returns the start of the caller's frame, from this frame's table row.
    fn canonical_address(&self, row: &UnwindTableRow<usize>) -> Option<u64> {
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
            return None;
        };
        self.get(*register)?.checked_add_signed(*offset)
    }

    /// Returns the address at which the return address is stored, from this frame's table row.
    fn return_address_place(&self, row: &UnwindTableRow<usize>) -> Option<u64> {
        let cfa = self.canonical_address(row)?;
        match row.register(self.ra) {
            Some(RegisterRule::Offset(offset)) => cfa.checked_add_signed(offset),
            _ => None,
        }
    }

    /// Returns the caller's frame, from this frame's table row; `read` returns 8 bytes of memory.
    fn caller(&self, row: &UnwindTableRow<usize>, read: &dyn Fn(u64) -> Option<u64>) -> Option<StackFrame> {
        let cfa = self.canonical_address(row)?;
        let mut registers = self.registers;
        for (register, rule) in row.registers() {
            let value = match rule {
                RegisterRule::Undefined => None,
                RegisterRule::SameValue => continue,
                RegisterRule::Offset(offset) => read(cfa.checked_add_signed(*offset)?),
                RegisterRule::ValOffset(offset) => cfa.checked_add_signed(*offset),
                _ => return None,
            };
            *registers.get_mut(usize::from(register.0))? = value;
        }
        let pc = registers[usize::from(self.ra.0)]?;
        registers[usize::from(self.sp.0)] = Some(cfa);
        Some(StackFrame { pc, registers, ..*self })
    }
}

/// Call frame tables of an image.
struct UnwindTables<'a> {
    eh: Option<EhFrame<EndianSlice<'a, LittleEndian>>>,
    debug: Option<DebugFrame<EndianSlice<'a, LittleEndian>>>,
    bases: BaseAddresses,
}

impl<'a> UnwindTables<'a> {
    fn from_elf(elf: &object::File<'a>, word: usize) -> UnwindTables<'a> {
        let section = |name| elf.section_by_name(name);
        let data = |name| section(name).and_then(|section| section.data().ok());
        let eh_address = section(".eh_frame").map_or(0, |section| section.address());
        UnwindTables {
            eh: data(".eh_frame").map(|bytes| EhFrame::new(bytes, LittleEndian)),
            debug: data(".debug_frame").map(|bytes| {
                let mut table = DebugFrame::new(bytes, LittleEndian);
                table.set_address_size(word as u8);
                table
            }),
            bases: BaseAddresses::default().set_eh_frame(eh_address),
        }
    }

    fn caller(&self, frame: &StackFrame, address: u64, read: &dyn Fn(u64) -> Option<u64>) -> Option<StackFrame> {
        fn row<'a, 'c, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(
            section: &S,
            bases: &BaseAddresses,
            context: &'c mut UnwindContext<usize>,
            address: u64,
        ) -> Option<&'c UnwindTableRow<usize>> {
            section
                .unwind_info_for_address(bases, context, address, S::cie_from_offset)
                .ok()
        }
        let mut context = UnwindContext::new();
        if let Some(row) = self
            .eh
            .as_ref()
            .and_then(|eh| row(eh, &self.bases, &mut context, address))
        {
            return frame.caller(row, read);
        }
        let mut context = UnwindContext::new();
        let row = row(self.debug.as_ref()?, &self.bases, &mut context, address)?;
        frame.caller(row, read)
    }

    /// Returns the table rows of the function at `function`, with their start addresses.
    fn rows(&self, function: u64) -> Vec<(u64, UnwindTableRow<usize>)> {
        fn find_rows<'a, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(
            section: &S,
            bases: &BaseAddresses,
            function: u64,
        ) -> Option<Vec<(u64, UnwindTableRow<usize>)>> {
            let fde = section.fde_for_address(bases, function, S::cie_from_offset).ok()?;
            let mut context = UnwindContext::new();
            let mut table = fde.rows(section, bases, &mut context).ok()?;
            let mut rows = Vec::new();
            while let Ok(Some(row)) = table.next_row() {
                rows.push((row.start_address(), row.clone()));
            }
            Some(rows)
        }
        let eh = self.eh.as_ref();
        let rows = eh.and_then(|eh| find_rows(eh, &self.bases, function));
        rows.or_else(|| find_rows(self.debug.as_ref()?, &self.bases, function))
            .unwrap_or_default()
    }

    /// Returns the start of the function's first row that locates the return address of a frame with these registers at
    /// `place`.
    fn row_with_return_address(&self, frame: &StackFrame, function: u64, place: u64) -> Option<u64> {
        let rows = self.rows(function);
        let row = { rows.iter() }.find(|(_, row)| frame.return_address_place(row) == Some(place));
        row.map(|(start, _)| *start)
    }

    /// Returns the starts of the function's rows with an unsaved return address for a frame with these registers, each
    /// with the start of the caller's frame.
    fn rows_without_return_address(&self, frame: &StackFrame, function: u64) -> Vec<(u64, u64)> {
        let rows = self.rows(function).into_iter().filter_map(|(start, row)| {
            let cfa = frame.canonical_address(&row)?;
            frame.return_address_place(&row).is_none().then_some((start, cfa))
        });
        rows.collect()
    }

    /// Returns the start of the function that contains this address.
    fn function(&self, address: u64) -> Option<u64> {
        fn find_start<'a, S: UnwindSection<EndianSlice<'a, LittleEndian>>>(
            section: &S,
            bases: &BaseAddresses,
            address: u64,
        ) -> Option<u64> {
            let fde = section.fde_for_address(bases, address, S::cie_from_offset);
            fde.ok().map(|fde| fde.initial_address())
        }
        let eh = self.eh.as_ref();
        eh.and_then(|eh| find_start(eh, &self.bases, address))
            .or_else(|| find_start(self.debug.as_ref()?, &self.bases, address))
    }
}

/// Finds the function that caused a stack overflow, where the processor could store neither its program counter nor its
/// return address. Returns the registers at that point. Their program counter is in a table row that agrees with the
/// stack pointer or frame pointer. `stack` is the remaining stack, `read` returns 8 bytes of the node's memory.
///
/// Searches for the return address of a call from the stack pointer upward. A candidate counts if the called function's
/// table locates it at exactly that address; remains of earlier calls do not agree.
pub fn find_overflowing_function(
    board: Board,
    image: &[u8],
    noted: &BacktraceRegisters,
    read: &dyn Fn(u64) -> Option<u64>,
    stack: AddressRange,
) -> Option<BacktraceRegisters> {
    // Only this processor stores registers at the interrupted code's stack pointer.
    if board != Board::Stm32f405 || noted.saved[0] != 0 {
        return None;
    }
    let elf = object::File::parse(image).ok()?;
    let tables = UnwindTables::from_elf(&elf, board.word());
    let word = board.word() as u64;
    let noted_sp = noted.saved[1];
    let first = noted_sp.max(stack.start).next_multiple_of(word);
    // Exception entry may have moved the stack pointer by four more bytes, to a multiple of eight.
    let frames = [0, ALIGNMENT].map(|moved| {
        let mut registers = *noted;
        registers.saved[1] = noted_sp.wrapping_add(moved);
        registers
    });
    let with_calls = (first..stack.end).step_by(word as usize).find_map(|at| {
        let target = called(&elf, board.return_address(read(at)?))?;
        frames.iter().find_map(|registers| {
            let frame = StackFrame::new(board, registers);
            let pc = tables.row_with_return_address(&frame, target, at)?;
            Some(BacktraceRegisters { pc, ..*registers })
        })
    });
    with_calls.or_else(|| overflowed_leaf(board, &elf, &tables, &frames, read, stack))
}

/// Handles a leaf function, whose unsaved return address is lost. Checks all calls in the image for one that fits: the
/// called function's table locates the caller's frame, and this frame contains the return address of a call of that
/// caller.
fn overflowed_leaf(
    board: Board,
    elf: &object::File<'_>,
    tables: &UnwindTables<'_>,
    frames: &[BacktraceRegisters],
    read: &dyn Fn(u64) -> Option<u64>,
    stack: AddressRange,
) -> Option<BacktraceRegisters> {
    let mut functions = BTreeMap::new();
    calls(elf).find_map(|(return_address, target)| {
        let starts = functions.entry(target).or_insert_with(|| {
            let mut starts = Vec::new();
            for registers in frames {
                let frame = StackFrame::new(board, registers);
                for (pc, cfa) in tables.rows_without_return_address(&frame, target) {
                    starts.push((BacktraceRegisters { pc, ..*registers }, cfa));
                }
            }
            starts
        });
        starts.iter().find_map(|(registers, cfa)| {
            if !(stack.start..stack.end).contains(cfa) {
                return None;
            }
            let mut caller = *registers;
            caller.pc = return_address;
            caller.saved[1] = *cfa;
            let frame = StackFrame::new(board, &caller);
            let call = return_address.checked_sub(1)?;
            let next = tables.caller(&frame, call, read)?;
            let is_called = called(elf, board.return_address(next.pc))? == tables.function(call)?;
            let mut registers = *registers;
            registers.saved[0] = return_address;
            is_called.then_some(registers)
        })
    })
}

/// Returns the image's direct calls: their return addresses and called functions.
fn calls<'a>(elf: &'a object::File<'_>) -> impl Iterator<Item = (u64, u64)> + 'a {
    let sections = elf
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text);
    sections.flat_map(move |section| {
        let code = section.data().unwrap_or_default();
        let address = section.address();
        let places = (0..code.len().saturating_sub(3)).step_by(2);
        places.filter_map(move |place| {
            let return_address = address + place as u64 + 4;
            Some((return_address, callee(code.get(place..place + 4)?, return_address)?))
        })
    })
}

/// Adjustment of the stack pointer at exception entry if it is no multiple of eight (Armv7-M, B1.5.7).
const ALIGNMENT: u64 = 4;

/// Returns the target of the direct call before this return address: Thumb's BL (Armv7-M, A7.7.18).
fn called(elf: &object::File<'_>, return_address: u64) -> Option<u64> {
    let at = return_address.checked_sub(4)?;
    let section = elf.sections().find(|section| {
        section.kind() == object::SectionKind::Text
            && (section.address()..section.address() + section.size()).contains(&at)
    })?;
    callee(section.data_range(at, 4).ok()??, return_address)
}

/// Returns the target of a call encoded in these four bytes; the return address follows them.
fn callee(bytes: &[u8], return_address: u64) -> Option<u64> {
    let half = |from: usize| {
        Some(u32::from(u16::from_le_bytes(
            bytes.get(from..from + 2)?.try_into().ok()?,
        )))
    };
    let (first, second) = (half(0)?, half(2)?);
    if first >> 11 != 0b11110 || second & 0xd000 != 0xd000 {
        return None;
    }
    let bit = |word: u32, place: u32| word >> place & 1;
    let sign = bit(first, 10);
    let [i1, i2] = [13, 11].map(|place| !(bit(second, place) ^ sign) & 1);
    let offset = sign << 24 | i1 << 23 | i2 << 22 | (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
    let offset = i64::from((offset << 7) as i32 >> 7);
    return_address.checked_add_signed(offset)
}

/// An active call of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// Address of the call.
    pub from: u64,
    /// Current address in the called function.
    pub within: u64,
}

/// Returns the innermost active call whose caller matches `is_it`, for a node with these registers. `read` returns 8
/// bytes of the node's memory. `None` without such a call or without frame information.
pub fn innermost_call(
    board: Board,
    image: &[u8],
    noted: &BacktraceRegisters,
    read: &dyn Fn(u64) -> Option<u64>,
    is_it: &dyn Fn(u64) -> bool,
) -> Option<CallSite> {
    let elf = object::File::parse(image).ok()?;
    let tables = UnwindTables::from_elf(&elf, board.word());
    let mut frame = StackFrame::new(board, noted);
    // Address of the current instruction; for callers, of the call, just before the return address.
    let mut at = frame.pc;
    for depth in 0..FRAMES {
        // Frame information of discarded functions starts at address 0.
        let caller = (at >= board.code()).then(|| tables.caller(&frame, at, read)).flatten();
        frame = match (caller, depth) {
            (Some(caller), _) => caller,
            // An assembler function or a wild jump: it has no frame, and the return address is in its register.
            (None, 0) => StackFrame {
                pc: frame.get(frame.ra)?,
                ..frame
            },
            (None, _) => return None,
        };
        frame.pc = board.return_address(frame.pc);
        let within = at;
        at = frame.pc.checked_sub(1)?;
        if is_it(at) {
            return Some(CallSite { from: at, within });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_image_and_memory_that_is_not_there_give_nothing() {
        let noted = BacktraceRegisters {
            pc: 0x8000_0000,
            saved: [0; midplane_abi::backtrace::SAVED.len()],
        };
        for image in [b"\x7fELF".to_vec(), std::fs::read("/proc/self/exe").unwrap()] {
            let call = innermost_call(Board::Virt, &image, &noted, &|_| None, &|_| true);
            assert_eq!(call, None);
        }
    }

    #[test]
    fn a_frame_gives_its_callers_registers() {
        // A table for one function at 0x100, of 0x20 bytes. At 4 it has allocated 48 bytes; at 8 it has stored its
        // return address at the top of them and s0 below.
        let cie: &[u8] = &[12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x7c, 1, 0x0c, 2, 0];
        let mut fde = vec![0; 4];
        fde.extend(0x100u64.to_le_bytes());
        fde.extend(0x20u64.to_le_bytes());
        fde.extend([0x44, 0x0e, 48, 0x44, 0x81, 2, 0x88, 4]);
        let length = fde.len() as u32;
        let mut table = cie.to_vec();
        table.extend(length.to_le_bytes());
        table.extend(&fde);
        let tables = UnwindTables {
            eh: None,
            debug: Some({
                let mut frame = DebugFrame::new(&table, LittleEndian);
                frame.set_address_size(8);
                frame
            }),
            bases: BaseAddresses::default(),
        };
        let mut registers = [None; 32];
        registers[1] = Some(0x777);
        registers[2] = Some(0x8000);
        registers[8] = Some(5);
        registers[9] = Some(6);
        let frame = StackFrame {
            ra: Register(1),
            sp: Register(2),
            pc: 0x10c,
            registers,
        };
        let read = |address| match address {
            0x8028 => Some(0x222),
            0x8020 => Some(0x333),
            _ => None,
        };
        let caller = tables.caller(&frame, frame.pc, &read).expect("a caller");
        assert_eq!(caller.pc, 0x222);
        let values = [2, 8, 9].map(|number: usize| caller.registers[number]);
        assert_eq!(values, [Some(0x8030), Some(0x333), Some(6)]);
        // Before any store, all registers are unchanged.
        let start = tables.caller(&frame, 0x102, &read).expect("a caller");
        assert_eq!((start.pc, start.registers[2]), (0x777, Some(0x8000)));
        assert!(tables.caller(&frame, 0x120, &read).is_none());
    }
}
