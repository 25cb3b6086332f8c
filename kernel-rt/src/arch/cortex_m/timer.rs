//! The clock, an extension of the board's microsecond counter, and SysTick as the timer.
//!
//! SysTick alone could be the clock, but it has no comparator: each deadline would set it again, and each setting loses
//! time until it counts again. An emulator loses a hundred times as much there as the processor. The cycle counter of
//! the DWT would be a finer clock, but QEMU does not support it.

use core::cell::Cell;

use cortex_m::interrupt::{self, Mutex};
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

use super::cpu::call_node;

// SAFETY: the board defines it, with this signature.
unsafe extern "Rust" {
    /// Returns a microsecond counter that wraps around.
    safe fn midplane_microseconds() -> u32;
}

/// Ticks of the clock per second.
pub const TICKS_PER_SECOND: u32 = 1_000_000;
/// Nanoseconds per tick, if known at build time.
pub const TICK_NS: Option<u64> = Some(1_000_000_000 / TICKS_PER_SECOND as u64);
/// Maximum count of the timer, in processor cycles.
const MAX_TICKS: u32 = (1 << 24) - 1;
/// Minimum count: fewer cycles than the handler uses.
const MIN_TICKS: u32 = 200;

#[derive(Clone, Copy)]
struct Clock {
    /// The clock at its last read. The counter wraps around in more than an hour, and the timer expires ten times a
    /// second.
    last: u64,
    /// Requested time of the node's interrupt.
    deadline: u64,
    cycles: u32,
}

/// Protected by PRIMASK: the interrupt that uses it is never masked otherwise.
static CLOCK: Mutex<Cell<Clock>> = Mutex::new(Cell::new(Clock {
    last: 0,
    deadline: u64::MAX,
    cycles: 1,
}));

impl Clock {
    fn now(&mut self) -> u64 {
        let passed = midplane_microseconds().wrapping_sub(self.last as u32);
        self.last += u64::from(passed);
        self.last
    }

    /// Sets the timer to the deadline, or to the latest possible time.
    fn set(&mut self) {
        let left = self.deadline.saturating_sub(self.now());
        let cycles = left.saturating_mul(self.cycles.into());
        // SAFETY: used in this file only, with interrupts disabled.
        let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
        timer.set_reload(cycles.clamp(MIN_TICKS.into(), MAX_TICKS.into()) as u32);
        timer.clear_current();
    }
}

/// Runs `f` on the clock, with all interrupts disabled.
fn with_clock<R>(f: impl FnOnce(&mut Clock) -> R) -> R {
    interrupt::free(|cs| {
        let mut clock = CLOCK.borrow(cs).get();
        let result = f(&mut clock);
        CLOCK.borrow(cs).set(clock);
        result
    })
}

/// Starts clock and timer; the processor runs `core_hz` cycles per second.
pub fn start_clock(core_hz: u32) {
    with_clock(|clock| {
        clock.cycles = core_hz / TICKS_PER_SECOND;
        clock.last = midplane_microseconds().into();
        clock.set();
        // SAFETY: used in this file only, with interrupts disabled.
        let mut timer: SYST = unsafe { cortex_m::Peripherals::steal() }.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.enable_counter();
        timer.enable_interrupt();
    });
}

/// Returns the clock in microseconds.
pub fn ticks() -> u64 {
    with_clock(Clock::now)
}

/// Requests the node's interrupt at `deadline` by [`ticks`], or earlier. Only the earliest deadline is kept.
pub fn wake_by(deadline: u64) {
    with_clock(|clock| {
        if deadline < clock.deadline {
            clock.deadline = deadline;
            clock.set();
        }
    });
}

/// Interrupt handler of the timer.
#[unsafe(no_mangle)]
extern "C" fn SysTick() {
    let is_due = with_clock(|clock| {
        let is_due = clock.now() >= clock.deadline;
        if is_due {
            clock.deadline = u64::MAX;
        }
        clock.set();
        is_due
    });
    if is_due {
        call_node();
    }
}
