//! The clock, which is the board's count of microseconds made longer, and SysTick as the timer.
//!
//! SysTick alone would do, but it has no comparator: it would be set anew for each deadline, and each setting loses what
//! goes by until it counts again. An emulator loses a hundred times as much there as the processor does. The cycle
//! counter of the DWT would be the finer clock, but QEMU has none.

use core::cell::Cell;

use cortex_m::interrupt::{self, Mutex};
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

use super::cpu::call_node;

// SAFETY: the board defines it, with this signature.
unsafe extern "Rust" {
    /// A counter of microseconds, which wraps around.
    safe fn midplane_microseconds() -> u32;
}

/// Ticks of the clock in a second.
pub const TICKS_PER_SECOND: u32 = 1_000_000;
/// Nanoseconds that a tick takes, where the build knows them.
pub const TICK_NS: Option<u64> = Some(1_000_000_000 / TICKS_PER_SECOND as u64);
/// Greatest count of the timer, in cycles of the processor.
const MOST: u32 = (1 << 24) - 1;
/// Least count: fewer cycles than the handler takes.
const LEAST: u32 = 200;

#[derive(Clone, Copy)]
struct Clock {
    /// The clock when it was last looked at. The counter wraps around in more than an hour, and the timer ends ten times
    /// a second.
    last: u64,
    /// When the node wants its interrupt.
    deadline: u64,
    /// Cycles of the processor in a tick.
    cycles: u32,
}

/// Kept by PRIMASK: the interrupt that uses it is never held off otherwise.
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

    /// Has the timer end at the deadline, or as late as it can.
    fn set(&mut self) {
        let left = self.deadline.saturating_sub(self.now());
        let cycles = left.saturating_mul(self.cycles.into());
        // SAFETY: used in this file only, with interrupts off.
        let mut timer = unsafe { cortex_m::Peripherals::steal() }.SYST;
        timer.set_reload(cycles.clamp(LEAST.into(), MOST.into()) as u32);
        timer.clear_current();
    }
}

/// Runs `f` on the clock, with all interrupts off.
fn with_clock<R>(f: impl FnOnce(&mut Clock) -> R) -> R {
    interrupt::free(|cs| {
        let mut clock = CLOCK.borrow(cs).get();
        let result = f(&mut clock);
        CLOCK.borrow(cs).set(clock);
        result
    })
}

/// Starts clock and timer; the processor has `core_hz` cycles in a second.
pub fn start_clock(core_hz: u32) {
    with_clock(|clock| {
        clock.cycles = core_hz / TICKS_PER_SECOND;
        clock.last = midplane_microseconds().into();
        clock.set();
        // SAFETY: used in this file only, with interrupts off.
        let mut timer: SYST = unsafe { cortex_m::Peripherals::steal() }.SYST;
        timer.set_clock_source(SystClkSource::Core);
        timer.enable_counter();
        timer.enable_interrupt();
    });
}

/// The clock, in microseconds.
pub fn ticks() -> u64 {
    with_clock(Clock::now)
}

/// The node's interrupt comes once [`ticks`] reaches `deadline`, or it came for an earlier one. Only the earliest
/// counts.
pub fn wake_by(deadline: u64) {
    with_clock(|clock| {
        if deadline < clock.deadline {
            clock.deadline = deadline;
            clock.set();
        }
    });
}

/// The timer has ended.
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
