//! Addresses of the machine's devices (hw/riscv/virt.c), and access to their registers.

use core::ptr;

/// The exit device.
pub const EXIT: usize = 0x10_0000;
/// The calendar.
pub const CALENDAR: usize = 0x10_1000;
/// Deadlines of machine mode's timers, a double word for each hart.
pub const MACHINE_TIMERS: usize = 0x200_4000;
/// Supervisor mode's software interrupts, a word for each hart (`aclint=on`).
pub const SOFTWARE: usize = 0x2f0_0000;
/// The UART.
pub const UART: usize = 0x1000_0000;

/// Reads a register.
pub fn read32(address: usize) -> u32 {
    // SAFETY: called with registers of the devices above only, present on every `virt` machine.
    unsafe { ptr::with_exposed_provenance::<u32>(address).read_volatile() }
}

/// Writes a register of eight bytes.
pub fn write64(address: usize, value: u64) {
    // SAFETY: as in `write32`.
    unsafe { ptr::with_exposed_provenance_mut::<u64>(address).write_volatile(value) }
}

/// Writes a register.
pub fn write32(address: usize, value: u32) {
    // SAFETY: as in `read32`; none of the registers written makes a device access memory.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) }
}
