//! The memory protection unit (Armv7-M Architecture Reference Manual, B3.5): guards against wild pointers and stack
//! overflows.
//!
//! | region | what | |
//! |---|---|---|
//! | 0 | the first MiB, to which flash or boot memory is mirrored: null pointers | no access |
//! | 1 | the 256 MiB below RAM, into which the program's stack would grow, CCM included | no access |
//! | 2 | flash | read, execute |
//! | 3 | RAM, all of it | read, write |
//! | 4 | the guard below the stack of interrupts and faults | no access |
//!
//! Outside all regions the default map applies, for the devices. Of two that overlap the higher one applies.

use cortex_m::peripheral::MPU;
use midplane_abi::address::AddressRange;

const NO_ACCESS: u32 = 0;
const READ_WRITE: u32 = 0b011 << 24;
const READ_ONLY: u32 = 0b110 << 24;
const NEVER_EXECUTE: u32 = 1 << 28;
/// Normal memory, write-through: the manual's attributes for flash and internal SRAM.
const NORMAL: u32 = 1 << 17;
const ENABLE: u32 = 1;
/// Bits of MPU_CTRL: enable, and use the default map outside all regions.
const CONTROL: u32 = 1 | 1 << 2;
/// Bit of MPU_RBAR: it also selects the region.
const VALID: u32 = 1 << 4;

const MIB: u32 = 1 << 20;
/// Size of the guard below RAM: no local array that fits the address space reaches past it.
const BELOW_BYTES: u64 = 256 << 20;

/// Returns the guarded range below RAM, which the program's stack would overflow into.
pub fn below(ram: AddressRange) -> AddressRange {
    AddressRange {
        start: ram.start - BELOW_BYTES,
        end: ram.start,
    }
}

/// Enables the guards, except the one below the trap stack. `flash` and `ram` have a power of two as size and are
/// aligned to it.
pub fn protect(flash: AddressRange, ram: AddressRange) {
    let below = below(ram);
    let size = |bytes: AddressRange| bytes.len() as u32;
    let regions = [
        (0, MIB, NO_ACCESS | NEVER_EXECUTE),
        (below.start as u32, size(below), NO_ACCESS | NEVER_EXECUTE),
        (flash.start as u32, size(flash), READ_ONLY | NORMAL),
        (ram.start as u32, size(ram), READ_WRITE | NEVER_EXECUTE | NORMAL),
    ];
    for (number, (start, bytes, rights)) in (0..).zip(regions) {
        set(number, start, bytes, rights);
    }
    switch_on();
}

/// Enables the guard below the trap stack after the boot, which uses the memory on both sides of it.
pub fn protect_below_trap_stack(guard: AddressRange) {
    const GUARD: u32 = 4;
    let rights = NO_ACCESS | NEVER_EXECUTE;
    set(GUARD, guard.start as u32, guard.len() as u32, rights);
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

/// Runs `f` with the guards disabled.
pub fn with_guards_disabled<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: guarded memory is not used otherwise.
    unsafe { (*MPU::PTR).ctrl.write(0) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    let result = f();
    switch_on();
    result
}

/// Enables the configured regions.
fn switch_on() {
    // SAFETY: no region denies an access that the kernel makes.
    unsafe { (*MPU::PTR).ctrl.write(CONTROL) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

fn set(number: u32, start: u32, bytes: u32, rights: u32) {
    let size = bytes.trailing_zeros() - 1;
    // SAFETY: the region is one of the table above, none of which denies an access that the kernel makes.
    unsafe {
        (*MPU::PTR).rbar.write(start | VALID | number);
        (*MPU::PTR).rasr.write(rights | size << 1 | ENABLE);
    }
}
