//! Interrupts and faults, called by the processor's code.

use midplane_abi::address::AddressRange;
use midplane_abi::backtrace::BacktraceRegisters;
use midplane_abi::failure::FailureReason;
use midplane_abi::fault::{Fault, FaultReport, MemoryMap};
use midplane_abi::stm32f405::RAM;

use crate::abort::end;
use crate::arch;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};

/// Range of null pointers and nearby addresses.
const NULL: AddressRange = AddressRange { start: 0, end: 1 << 20 };

/// Handles a trap that is not an interrupt.
#[unsafe(no_mangle)]
fn midplane_fault(fault: Fault, registers: &BacktraceRegisters) -> ! {
    MIDPLANE_CALLERS.note(registers);
    MIDPLANE_BLACKBOARD.set_fault(fault.code, fault.pc, fault.address);
    let map = &MemoryMap {
        null: NULL,
        guard: arch::below(RAM),
        stack: arch::stack(),
        trap_guard: arch::trap_guard(),
        constants: arch::constants(),
        ram: RAM,
    };
    let report = FaultReport::new(fault, map);
    end(report.end(), 1, FailureReason::Fault(report))
}
