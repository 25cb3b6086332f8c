//! QEMU's riscv64 `virt` machine (hw/riscv/virt.c): memory map, UART, calendar, core-local interruptor,
//! interrupt controller, exit device. What differs between instances (memory, slots, clock) is in the device tree.

use core::ptr;

/// From address 0 on: the debug area and the boot ROM, which a null pointer must not reach.
pub const NULL_BYTES: u64 = 0x10_0000;
/// Start of the gigabyte below RAM: PCI memory, which this kernel does not use and closes.
pub const BELOW_RAM: u64 = 0x4000_0000;
/// Start of RAM.
pub const RAM: u64 = 0x8000_0000;
/// The slot of the program's standard output; those before it are links, by direction.
pub const SLOT_STDOUT: usize = 6;
/// The slot of the program's standard error.
pub const SLOT_STDERR: usize = 7;

const EXIT: usize = 0x10_0000;
const CALENDAR: usize = 0x10_1000;
const CLINT: usize = 0x200_0000;
const PLIC: usize = 0xc00_0000;
const UART: usize = 0x1000_0000;

fn read32(address: usize) -> u32 {
    // SAFETY: called with registers of the devices above only, which are there on every `virt` machine.
    unsafe { ptr::with_exposed_provenance::<u32>(address).read_volatile() }
}

fn write32(address: usize, value: u32) {
    // SAFETY: as in `read32`; none of the registers written makes a device access memory.
    unsafe { ptr::with_exposed_provenance_mut::<u32>(address).write_volatile(value) }
}

/// Leaves QEMU with an exit status of 0..=255 (`sifive_test`, hw/misc/sifive_test.c).
pub fn exit(status: u8) -> ! {
    const PASS: u32 = 0x5555;
    const FAIL: u32 = 0x3333;
    let word = match status {
        0 => PASS,
        status => FAIL | (status as u32) << 16,
    };
    write32(EXIT, word);
    crate::arch::park()
}

/// Time since 1970 in nanoseconds (hw/rtc/goldfish_rtc.c).
pub fn calendar_ns() -> u64 {
    // Reading the lower half fixes the upper one.
    let low = read32(CALENDAR);
    (read32(CALENDAR + 4) as u64) << 32 | low as u64
}

/// The interrupt controller (SiFive PLIC), its first context: machine mode of hart 0.
pub mod plic {
    use super::{PLIC, read32, write32};

    const ENABLE: usize = PLIC + 0x2000;
    const THRESHOLD: usize = PLIC + 0x20_0000;
    const CLAIM: usize = PLIC + 0x20_0004;
    /// Greatest interrupt number of a virtio-mmio slot.
    const LAST: u32 = 31;

    /// Lets interrupt `number` through; false when it is none of a virtio slot.
    pub fn enable(number: u32) -> bool {
        if !(1..=LAST).contains(&number) {
            return false;
        }
        write32(PLIC + 4 * number as usize, 1);
        write32(ENABLE, read32(ENABLE) | 1 << number);
        write32(THRESHOLD, 0);
        true
    }

    /// Takes the next pending interrupt, to be given back by [`complete`].
    pub fn claim() -> Option<u32> {
        Some(read32(CLAIM)).filter(|&number| number != 0)
    }

    /// The interrupt has been served at its device.
    pub fn complete(number: u32) {
        write32(CLAIM, number);
    }
}

/// The timer of hart 0, in the core-local interruptor. Whoever needs to be woken says by when; the earliest
/// deadline counts, and who is woken looks for all there may be to do.
pub mod timer {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::{CLINT, write32};

    const MTIMECMP: usize = CLINT + 0x4000;
    /// The timer is never further away than this, even when nobody waits. QEMU wakes its main thread, which
    /// then contends with the processor's, whenever the earliest of its timers changes; with this one
    /// in front, the links' timers, which lie 4 s ahead and are put off with each frame, never are. Two
    /// seconds cost an idle node nothing that can be measured.
    const FURTHEST_SECONDS: u64 = 2;

    /// What the device is set to. Changed with interrupts held off only.
    static DEADLINE: AtomicU64 = AtomicU64::new(u64::MAX);

    fn set(deadline: u64) {
        DEADLINE.store(deadline, Ordering::Relaxed);
        // First out of reach, so that the two halves do not meet in the past.
        write32(MTIMECMP + 4, u32::MAX);
        write32(MTIMECMP, deadline as u32);
        write32(MTIMECMP + 4, (deadline >> 32) as u32);
    }

    fn set_furthest() {
        set(crate::arch::ticks()
            .saturating_add(crate::node::ticks_of(FURTHEST_SECONDS * 1_000_000_000)));
    }

    /// Nobody is waiting yet.
    pub fn start() {
        set_furthest();
    }

    /// Asks for an interrupt once [`crate::arch::ticks`] reaches `deadline`, or earlier.
    pub fn wake_by(deadline: u64) {
        critical_section::with(|_| {
            if deadline < DEADLINE.load(Ordering::Relaxed) {
                set(deadline);
            }
        });
    }

    /// Takes the interrupt, if the deadline has passed.
    pub fn acknowledge() {
        critical_section::with(|_| {
            if crate::arch::ticks() >= DEADLINE.load(Ordering::Relaxed) {
                set_furthest();
            }
        });
    }
}

/// The 16550 UART.
pub mod uart {
    use super::UART;
    use core::ptr;

    const DATA: usize = UART;
    const LINE_STATUS: usize = UART + 5;
    const TRANSMITTER_EMPTY: u8 = 1 << 5;
    /// How often the status is asked before a byte is given up: nobody may be reading the other end.
    const PATIENCE: u32 = 20_000;

    /// Sends `byte`; false when the UART would not take it for a long time, and it was dropped.
    pub fn put(byte: u8) -> bool {
        for _ in 0..PATIENCE {
            // SAFETY: the UART's status register, which every `virt` machine has.
            let status = unsafe { ptr::with_exposed_provenance::<u8>(LINE_STATUS).read_volatile() };
            if status & TRANSMITTER_EMPTY != 0 {
                // SAFETY: the UART's data register.
                unsafe { ptr::with_exposed_provenance_mut::<u8>(DATA).write_volatile(byte) };
                return true;
            }
        }
        false
    }
}
