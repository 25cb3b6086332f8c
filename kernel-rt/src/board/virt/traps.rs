//! Interrupts and faults, called by the processor's code.

use core::cell::Cell;

use critical_section::Mutex;
use midplane_abi::address::AddressRange;
use midplane_abi::backtrace::BacktraceRegisters;
use midplane_abi::failure::FailureReason;
use midplane_abi::fault::{Fault, FaultReport, MemoryMap};

use super::layout::{BELOW_RAM, NULL_BYTES};
use crate::abort::end;
use crate::arch;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};

static RAM: Mutex<Cell<AddressRange>> = Mutex::new(Cell::new(AddressRange { start: 0, end: 0 }));

/// Sets the node's memory range.
pub fn set_ram(ram: AddressRange) {
    critical_section::with(|cs| RAM.borrow(cs).set(ram));
}

/// Handles a trap that is not an interrupt.
#[unsafe(no_mangle)]
fn midplane_fault(fault: Fault, registers: &BacktraceRegisters) -> ! {
    MIDPLANE_CALLERS.note(registers);
    MIDPLANE_BLACKBOARD.set_fault(fault.code, fault.pc, fault.address);
    let stack = arch::stack();
    let map = &MemoryMap {
        null: AddressRange {
            start: 0,
            end: NULL_BYTES,
        },
        guard: AddressRange {
            start: BELOW_RAM,
            end: stack.start,
        },
        stack,
        trap_guard: arch::trap_guard(),
        constants: arch::constants(),
        ram: critical_section::with(|cs| RAM.borrow(cs).get()),
    };
    let report = FaultReport::new(fault, map);
    end(report.end(), 1, FailureReason::Fault(report))
}
