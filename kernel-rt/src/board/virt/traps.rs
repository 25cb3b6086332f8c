//! Interrupts and faults, called by the processor's code.

use core::cell::Cell;

use critical_section::Mutex;
use midplane_abi::address::Bytes;
use midplane_abi::callers::Registers;
use midplane_abi::failure::Why;
use midplane_abi::fault::{Fault, Map, Report};

use super::layout::{BELOW_RAM, NULL_BYTES};
use crate::arch;
use crate::end::end;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS};

static RAM: Mutex<Cell<Bytes>> = Mutex::new(Cell::new(Bytes { start: 0, end: 0 }));

/// Sets the node's memory range.
pub fn set_ram(ram: Bytes) {
    critical_section::with(|cs| RAM.borrow(cs).set(ram));
}

/// Handles a trap that is not an interrupt.
#[unsafe(no_mangle)]
fn midplane_fault(fault: Fault, registers: &Registers) -> ! {
    MIDPLANE_CALLERS.note(registers);
    MIDPLANE_BLACKBOARD.set_fault(fault.code, fault.pc, fault.address);
    let stack = arch::stack();
    let map = &Map {
        null: Bytes {
            start: 0,
            end: NULL_BYTES,
        },
        guard: Bytes {
            start: BELOW_RAM,
            end: stack.start,
        },
        stack,
        trap_guard: arch::trap_guard(),
        constants: arch::constants(),
        ram: critical_section::with(|cs| RAM.borrow(cs).get()),
    };
    let report = Report::of(fault, map);
    end(report.end(), 1, Why::Fault(report))
}
