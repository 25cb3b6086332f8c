//! Oscillator and buses: 168 MHz from a crystal, or without one from the chip's internal oscillator (RM0090, 7).

use stm32f4::stm32f405 as pac;

use crate::arch;

/// The processor's clock, in Hz.
pub const CORE_HZ: u32 = 168_000_000;
/// The bus of USART1 and USART6, in Hz.
pub const FAST_BUS_HZ: u32 = CORE_HZ / 2;
/// The bus of the other USARTs, in Hz.
pub const SLOW_BUS_HZ: u32 = CORE_HZ / 4;

/// The crystal, in Hz: 8 MHz on most boards.
const CRYSTAL_HZ: u32 = 8_000_000;
/// The internal oscillator, in Hz. Its error is at most 1 % between 0 and 55 degrees, a tolerance that both ends of a
/// line support.
const OWN_HZ: u32 = 16_000_000;
/// TIM2's clock, in Hz: twice its bus's. QEMU uses another.
const TIMER_HZ: u32 = 2 * SLOW_BUS_HZ;
const EMULATED_TIMER_HZ: u32 = 1_000_000_000;
/// Maximum number of polls of a bit that an oscillator sets: some milliseconds.
const PATIENCE: u32 = 200_000;

/// Input of the PLL.
const COMPARED_HZ: u32 = 1_000_000;
const MULTIPLY: u32 = 2 * CORE_HZ / COMPARED_HZ;

// Bits of RCC_CR.
const OWN_ON: u32 = 1;
const CRYSTAL_ON: u32 = 1 << 16;
const CRYSTAL_READY: u32 = 1 << 17;
const LOOP_ON: u32 = 1 << 24;
const LOOP_READY: u32 = 1 << 25;

/// Starts the clocks of the processor and of this board's devices. In an emulator they already run: RCC reads as zeros
/// there, a value impossible on the chip.
pub fn start() {
    // SAFETY: at boot nothing else uses these registers; the values are those of the manual.
    unsafe {
        let (rcc, flash) = (&*pac::RCC::ptr(), &*pac::FLASH::ptr());
        // Ports A to D and both DMA controllers; TIM2; USART1 and USART6; USART2, USART3, UART4, UART5.
        rcc.ahb1enr().modify(|r, w| w.bits(r.bits() | 0b11 << 21 | 0b1111));
        rcc.apb2enr().modify(|r, w| w.bits(r.bits() | 1 << 4 | 1 << 5));
        rcc.apb1enr().modify(|r, w| w.bits(r.bits() | 0b1111 << 17 | 1));
        if rcc.cr().read().bits() == 0 {
            return count_microseconds(EMULATED_TIMER_HZ);
        }
        count_microseconds(TIMER_HZ);
        let is_set = |bit: u32| (0..PATIENCE).any(|_| rcc.cr().read().bits() & bit != 0);
        rcc.cr().modify(|r, w| w.bits(r.bits() | CRYSTAL_ON));
        let (hz, source) = if is_set(CRYSTAL_READY) {
            (CRYSTAL_HZ, 1 << 22)
        } else {
            (OWN_HZ, 0)
        };
        // Divided to 1 MHz, times 336, halved; USB's divisor creates 48 MHz from it.
        rcc.pllcfgr()
            .write(|w| w.bits((hz / COMPARED_HZ) | (MULTIPLY << 6) | source | (7 << 24)));
        rcc.cr().modify(|r, w| w.bits(r.bits() | LOOP_ON | OWN_ON));
        // Without the PLL the core stays at 16 MHz with the wrong baud rate, and the neighbours report that.
        if !is_set(LOOP_READY) {
            return;
        }
        // Five wait states at 168 MHz and 3.3 V, with prefetch and both caches.
        flash.acr().write(|w| w.bits(5 | 0b111 << 8));
        // APB1 a quarter, APB2 a half, and the PLL's output as the core's clock.
        rcc.cfgr().write(|w| w.bits(0b101 << 10 | 0b100 << 13 | 0b10));
        while rcc.cfgr().read().bits() & 0b1100 != 0b1000 {}
    }
}

/// Starts TIM2 with an input clock of `hz`.
fn count_microseconds(hz: u32) {
    const ON: u32 = 1;
    const UPDATE: u32 = 1;
    // SAFETY: at boot nothing else uses these registers.
    unsafe {
        let timer = &*pac::TIM2::ptr();
        timer.psc().write(|w| w.bits(hz / arch::TICKS_PER_SECOND - 1));
        timer.arr().write(|w| w.bits(u32::MAX));
        // The divisor is effective from the next update on.
        timer.egr().write(|w| w.bits(UPDATE));
        timer.cnt().write(|w| w.bits(0));
        timer.cr1().write(|w| w.bits(ON));
    }
}

/// Returns the counter that the clock is based on.
#[unsafe(no_mangle)]
fn midplane_microseconds() -> u32 {
    // SAFETY: reads a counter.
    unsafe { &*pac::TIM2::ptr() }.cnt().read().bits()
}
