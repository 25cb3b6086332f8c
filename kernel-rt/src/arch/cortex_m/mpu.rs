//! The memory protection unit (Armv7-M Architecture Reference Manual, B3.5): what a wild pointer or a full stack meets.
//!
//! | region | what | |
//! |---|---|---|
//! | 0 | the first MiB, to which flash or boot memory is mirrored: null pointers | no access |
//! | 1 | the 256 MiB below RAM, into which the program's stack would grow, CCM included | no access |
//! | 2 | flash | read, execute |
//! | 3 | RAM, all of it | read, write |
//! | 4 | the guard below the stack of interrupts and faults | no access |
//!
//! Where no region is, the default map holds, for the devices. Of two that overlap the higher counts.

use cortex_m::peripheral::MPU;
use midplane_abi::address::Bytes;

const NO_ACCESS: u32 = 0;
const READ_WRITE: u32 = 0b011 << 24;
const READ_ONLY: u32 = 0b110 << 24;
const NEVER_EXECUTE: u32 = 1 << 28;
/// Normal memory, write-through: what the manual has for flash and internal SRAM.
const NORMAL: u32 = 1 << 17;
const ENABLE: u32 = 1;
/// Bits of MPU_CTRL: on, and the default map where there is no region.
const CONTROL: u32 = 1 | 1 << 2;
/// Bit of MPU_RBAR: it names the region, too.
const VALID: u32 = 1 << 4;

const MIB: u32 = 1 << 20;
/// Size of the guard below RAM: no local array that the address space has room for reaches past it.
const BELOW_BYTES: u64 = 256 << 20;

/// The guarded range below RAM, which the program's stack would grow into.
pub fn below(ram: Bytes) -> Bytes {
    Bytes {
        start: ram.start - BELOW_BYTES,
        end: ram.start,
    }
}

/// Switches the guards on, but for the one below the trap stack. `flash` and `ram` are as long as a power of two and
/// lie at a multiple of it.
pub fn protect(flash: Bytes, ram: Bytes) {
    let below = below(ram);
    let size = |bytes: Bytes| bytes.len() as u32;
    let regions = [
        (0, MIB, NO_ACCESS | NEVER_EXECUTE),
        (below.start as u32, size(below), NO_ACCESS | NEVER_EXECUTE),
        (flash.start as u32, size(flash), READ_ONLY | NORMAL),
        (
            ram.start as u32,
            size(ram),
            READ_WRITE | NEVER_EXECUTE | NORMAL,
        ),
    ];
    for (number, (start, bytes, rights)) in (0..).zip(regions) {
        set(number, start, bytes, rights);
    }
    switch_on();
}

/// Enables the guard below the trap stack, once the boot, which runs across it, has ended.
pub fn protect_below_trap_stack(guard: Bytes) {
    const GUARD: u32 = 4;
    let rights = NO_ACCESS | NEVER_EXECUTE;
    set(GUARD, guard.start as u32, guard.len() as u32, rights);
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

/// Runs `f` without guards.
pub fn unguarded<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: what is guarded is not used otherwise.
    unsafe { (*MPU::PTR).ctrl.write(0) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
    let result = f();
    switch_on();
    result
}

/// Switches on what is set.
fn switch_on() {
    // SAFETY: no region takes away what the kernel uses.
    unsafe { (*MPU::PTR).ctrl.write(CONTROL) };
    cortex_m::asm::dsb();
    cortex_m::asm::isb();
}

/// Sets a region.
fn set(number: u32, start: u32, bytes: u32, rights: u32) {
    let size = bytes.trailing_zeros() - 1;
    // SAFETY: the region is one of the table above, none of which takes away what the kernel uses.
    unsafe {
        (*MPU::PTR).rbar.write(start | VALID | number);
        (*MPU::PTR).rasr.write(rights | size << 1 | ENABLE);
    }
}
