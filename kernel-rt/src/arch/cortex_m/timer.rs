//! SysTick: the clock, which goes on by the processor's cycles, and the timer.
//!
//! SysTick counts 24 bits down and has no comparator. It is set anew for each deadline, and at least each time that it
//! has counted to its end; what it has counted before is added up in [`Clock::base`]. Each setting loses the cycles
//! between reading it and starting it again, of which [`SETTING_CYCLES`] are put back.
//!
//! The DWT's cycle counter needs none of this, but QEMU has none.

use core::cell::Cell;

use cortex_m::interrupt::{self, Mutex};
use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;

use super::cpu::call_node;

/// Greatest count.
const MOST: u32 = (1 << 24) - 1;
/// Least count: fewer cycles than the handler takes.
const LEAST: u32 = 200;
/// Cycles from reading the counter to starting it again.
const SETTING_CYCLES: u64 = 12;

#[derive(Clone, Copy)]
struct Clock {
    /// Cycles up to the counter's last start.
    base: u64,
    /// When the node wants its interrupt, in cycles.
    deadline: u64,
}

/// Kept by PRIMASK: the interrupt that uses it is never held off otherwise.
static CLOCK: Mutex<Cell<Clock>> = Mutex::new(Cell::new(Clock {
    base: 0,
    deadline: u64::MAX,
}));

fn counter() -> SYST {
    // SAFETY: used in this file only, with interrupts off.
    unsafe { cortex_m::Peripherals::steal() }.SYST
}

/// Starts the clock at 0.
pub fn start_clock() {
    interrupt::free(|_| {
        let mut counter = counter();
        counter.set_clock_source(SystClkSource::Core);
        counter.set_reload(MOST);
        counter.clear_current();
        counter.enable_counter();
        counter.enable_interrupt();
    });
}

impl Clock {
    /// What the counter shows. It begins again by itself at its end, which is noted in the base.
    fn now(&mut self) -> u64 {
        let mut counter = counter();
        let reload = u64::from(SYST::get_reload());
        let mut current = u64::from(SYST::get_current());
        // Reading the flag clears it. It may have been raised between the two.
        if counter.has_wrapped() {
            self.base += reload + 1;
            current = u64::from(SYST::get_current());
        }
        // Just started it stands at 0 and takes the reload with the next cycle.
        let counted = match current {
            0 => 0,
            current => reload.saturating_sub(current),
        };
        self.base + counted
    }

    /// Has the counter end at the deadline, or as late as it can.
    fn set(&mut self) {
        let mut counter = counter();
        let now = self.now();
        let left = self.deadline.saturating_sub(now);
        counter.set_reload(left.clamp(LEAST.into(), MOST.into()) as u32);
        counter.clear_current();
        self.base = now + SETTING_CYCLES;
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

/// The clock, in cycles since the node started.
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

/// The counter has ended.
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
