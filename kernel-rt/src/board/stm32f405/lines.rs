//! The six USARTs: their directions, and their transfers, by DMA if there is a controller ([`dma`]), otherwise by
//! interrupts.
//!
//! | direction | USART | sends | receives | serial port of QEMU |
//! |---|---|---|---|---|
//! | x+ | USART1 | PA9 | PA10 | 0 |
//! | x- | USART2 | PA2 | PA3 | 1 |
//! | y+ | USART3 | PB10 | PB11 | 2 |
//! | y- | UART4 | PA0 | PA1 | 3 |
//! | z+ | UART5 | PC12 | PD2 | 4 |
//! | z- | USART6 | PC6 | PC7 | 5 |
//!
//! Without DMA an interrupt moves received bytes to one ring and transmits the contents of the other ring. It requests
//! the node's interrupt at the end of a received frame, and when a frame fits the transmit ring again. The node starts
//! a transmission by requesting the USART's interrupt itself: QEMU 7.2 raises none for an empty transmitter, but its
//! transmitter is always empty, so that one interrupt transmits all.
//!
//! With DMA there is no interrupt per byte. The ring's contents are sent as one piece, and the USART interrupts after
//! its last bit. Between two pieces the line is idle for a byte. The receiver uses the interrupt of an idle line, so it
//! is notified of each complete piece, even if the next one follows immediately.

use core::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use cortex_m::peripheral::{NVIC, Peripherals};
use net_torus::Direction;
use stm32f4::stm32f405::{self as pac, Interrupt};

use super::clocks::{FAST_BUS_HZ, SLOW_BUS_HZ};
use super::dma;
use super::memory::{BAUD, RECEIVE_RING, SEND_RING};
use crate::arch;
use crate::dev::serial::{ByteRing, LINE_BYTES, RecordedLine, SerialLine};

type UsartRegisters = pac::usart1::RegisterBlock;

// Bits of the status register (RM0090, 30.6.1).
const RECEIVED: u16 = 1 << 5;
const OVERRUN: u16 = 1 << 3;
const IDLE: u16 = 1 << 4;
const HAS_SENT: u16 = 1 << 6;
const CAN_SEND: u16 = 1 << 7;
// Bits of control register 1 (30.6.4): enable, receiver, transmitter, their interrupts.
const ON: u16 = 1 << 13 | 1 << 2 | TRANSMITTER;
const TRANSMITTER: u16 = 1 << 3;
const IDLE_INTERRUPT: u16 = 1 << 4;
const RECEIVE_INTERRUPT: u16 = 1 << 5;
const SENT_INTERRUPT: u16 = 1 << 6;
const SEND_INTERRUPT: u16 = 1 << 7;
// Bits of control register 3 (30.6.6): DMA for reception and transmission.
const BY_DMA: u16 = 1 << 7 | 1 << 6;

struct LineRings {
    /// DMA streams transfer the bytes.
    by_dma: AtomicBool,
    /// Number of bytes that a stream is sending.
    leaving: AtomicU16,
    /// A frame's end was received, or there is no free space: the node must poll.
    has_frame: AtomicBool,
    received: ByteRing<RECEIVE_RING>,
    to_send: ByteRing<SEND_RING>,
}

static RINGS: [LineRings; 6] = [const {
    LineRings {
        by_dma: AtomicBool::new(false),
        leaving: AtomicU16::new(0),
        has_frame: AtomicBool::new(false),
        received: ByteRing::new(),
        to_send: ByteRing::new(),
    }
}; 6];

const INTERRUPTS: [Interrupt; 6] = [
    Interrupt::USART1,
    Interrupt::USART2,
    Interrupt::USART3,
    Interrupt::UART4,
    Interrupt::UART5,
    Interrupt::USART6,
];

/// Number of the chip's interrupts up to the last one in use.
const COUNT: usize = Interrupt::USART6 as usize + 1;

/// The part of the vector table after the processor's own; the other interrupts are never enabled.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
#[used]
static __INTERRUPTS: [Option<extern "C" fn()>; COUNT] = {
    let mut table: [Option<extern "C" fn()>; COUNT] = [None; COUNT];
    table[INTERRUPTS[0] as usize] = Some(interrupt::<0>);
    table[INTERRUPTS[1] as usize] = Some(interrupt::<1>);
    table[INTERRUPTS[2] as usize] = Some(interrupt::<2>);
    table[INTERRUPTS[3] as usize] = Some(interrupt::<3>);
    table[INTERRUPTS[4] as usize] = Some(interrupt::<4>);
    table[INTERRUPTS[5] as usize] = Some(interrupt::<5>);
    table
};

/// Returns the registers of direction `at`. The used ones are the same in all six.
fn registers(at: usize) -> &'static UsartRegisters {
    let registers: *const UsartRegisters = match at {
        0 => pac::USART1::ptr(),
        1 => pac::USART2::ptr(),
        2 => pac::USART3::ptr(),
        3 => pac::UART4::ptr().cast(),
        4 => pac::UART5::ptr().cast(),
        _ => pac::USART6::ptr(),
    };
    // SAFETY: registers of this chip, valid forever; each access is to one word, and volatile.
    unsafe { &*registers }
}

extern "C" fn interrupt<const AT: usize>() {
    serve(AT);
}

/// Moves the bytes of the line in direction `at`.
// Not inlined, or there would be six copies.
#[inline(never)]
fn serve(at: usize) {
    let rings = &RINGS[at];
    let had_room = rings.to_send.room() >= LINE_BYTES;
    let hears = if rings.by_dma.load(Ordering::Relaxed) {
        serve_streams(at)
    } else {
        serve_bytes(at)
    };
    if hears {
        rings.has_frame.store(true, Ordering::Relaxed);
    }
    if hears || !had_room && rings.to_send.room() >= LINE_BYTES {
        arch::call_node();
    }
}

/// Moves each byte; returns whether the node must check the received bytes.
fn serve_bytes(at: usize) -> bool {
    let (usart, rings) = (registers(at), &RINGS[at]);
    let mut hears = false;
    loop {
        // A byte lost by an overrun is gone; reading clears the flag.
        while usart.sr().read().bits() & (RECEIVED | OVERRUN) != 0 {
            let byte = usart.dr().read().bits() as u8;
            // Without free space the node must dequeue.
            hears |= !rings.received.put(byte) || byte == 0;
        }
        while usart.sr().read().bits() & CAN_SEND != 0
            && let Some(byte) = rings.to_send.pop()
        {
            // SAFETY: any byte may be sent.
            usart.dr().write(|w| unsafe { w.bits(byte.into()) });
        }
        // QEMU clears the interrupt of a received byte when one is sent.
        if usart.sr().read().bits() & RECEIVED == 0 {
            break;
        }
    }
    let more = match rings.to_send.waiting() {
        0 => 0,
        _ => SEND_INTERRUPT,
    };
    // SAFETY: bits of this register.
    unsafe { usart.cr1().write(|w| w.bits(ON | RECEIVE_INTERRUPT | more)) };
    hears
}

/// Updates the rings from the streams' progress, and sends the next piece. Returns whether the node must check the
/// received bytes.
fn serve_streams(at: usize) -> bool {
    let (usart, rings) = (registers(at), &RINGS[at]);
    let status = usart.sr().read().bits();
    let mut hears = false;
    if status & (IDLE | OVERRUN) != 0 {
        // Clears these flags. At any other time this read could steal a byte from the stream.
        usart.dr().read();
        hears = rings.received.put_up_to(RECEIVE_RING - dma::remaining_bytes(at));
    }
    if status & HAS_SENT != 0 && !dma::is_sending(at) {
        let sent = rings.leaving.swap(0, Ordering::Relaxed);
        rings.to_send.took(sent.into());
        let (address, count) = rings.to_send.row();
        rings.leaving.store(count as u16, Ordering::Relaxed);
        // SAFETY: bits of these registers. The ring keeps the bytes until `took` frees them.
        unsafe {
            if sent > 0 && count > 0 {
                // Enabled again, the transmitter begins with an idle byte (30.3.2).
                usart.cr1().write(|w| w.bits(ON & !TRANSMITTER));
                usart.cr1().write(|w| w.bits(ON));
            }
            if count > 0 {
                usart.sr().write(|w| w.bits(!HAS_SENT));
                dma::send(at, address as u32, count as u16);
            }
        }
    }
    let more = match rings.leaving.load(Ordering::Relaxed) {
        0 => 0,
        _ => SENT_INTERRUPT,
    };
    // SAFETY: bits of this register.
    unsafe { usart.cr1().write(|w| w.bits(ON | IDLE_INTERRUPT | more)) };
    hears
}

/// Handles a frame received on the line in direction `at`; returns false if it belongs to the link.
#[cfg(feature = "options")]
pub type FrameHandler = fn(at: usize, frame: &[u8]) -> bool;

/// The line in one direction.
pub struct UsartLine {
    at: usize,
    #[cfg(feature = "options")]
    handle_relay_frame: FrameHandler,
}

impl UsartLine {
    /// Returns the line in direction `at`, possibly shared with a link: complete frames are enqueued within a critical
    /// section.
    pub fn for_direction(at: usize) -> Self {
        Self {
            at,
            #[cfg(feature = "options")]
            handle_relay_frame: |_, _| false,
        }
    }

    /// Returns the line with a handler for frames that do not belong to the link.
    #[cfg(feature = "options")]
    pub fn shared_with(self, handle_relay_frame: FrameHandler) -> Self {
        Self {
            handle_relay_frame,
            ..self
        }
    }
}

impl SerialLine for UsartLine {
    fn read_byte(&mut self) -> Option<u8> {
        let rings = &RINGS[self.at];
        rings.received.pop().or_else(|| {
            rings.has_frame.store(false, Ordering::Relaxed);
            // Bytes received before the flag was cleared are not missed.
            rings.received.pop()
        })
    }

    fn has_frame(&self) -> bool {
        RINGS[self.at].has_frame.load(Ordering::Relaxed)
    }

    fn room(&self) -> usize {
        RINGS[self.at].to_send.room()
    }

    fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            RINGS[self.at].to_send.put(*byte);
        }
        NVIC::pend(INTERRUPTS[self.at]);
    }

    #[cfg(feature = "options")]
    fn handle_relay_frame(&mut self, frame: &[u8]) -> bool {
        (self.handle_relay_frame)(self.at, frame)
    }
}

impl RecordedLine for UsartLine {
    fn find_end(&self, from: usize) -> Result<usize, usize> {
        let rings = &RINGS[self.at];
        rings.received.find_zero(from).or_else(|none| {
            rings.has_frame.store(false, Ordering::Relaxed);
            // Bytes received before the flag was cleared are not missed.
            rings.received.find_zero(none)
        })
    }
}

/// Starts the line in this direction. The last returned value uses it.
pub fn start(direction: Direction) -> UsartLine {
    let at = direction as usize;
    pins(at);
    let usart = registers(at);
    let clock = match direction {
        Direction::XPlus | Direction::ZMinus => FAST_BUS_HZ,
        _ => SLOW_BUS_HZ,
    };
    let (interrupt, rings) = (INTERRUPTS[at], &RINGS[at]);
    // SAFETY: bits of these registers; the rings live forever, and share only atomics with the interrupt and the
    // streams.
    unsafe {
        usart.brr().write(|w| w.bits((clock / BAUD) as u16));
        let ring = rings.received.address() as u32;
        let by_dma = dma::start(at, usart.dr().as_ptr() as u32, ring, RECEIVE_RING as u16);
        rings.by_dma.store(by_dma, Ordering::Relaxed);
        if by_dma {
            usart.cr3().write(|w| w.bits(BY_DMA));
            usart.cr1().write(|w| w.bits(ON | IDLE_INTERRUPT));
        } else {
            usart.cr1().write(|w| w.bits(ON | RECEIVE_INTERRUPT));
        }
        Peripherals::steal().NVIC.set_priority(interrupt, arch::URGENT);
        NVIC::unmask(interrupt);
    }
    UsartLine::for_direction(at)
}

/// Configures the line's pins, with a pull-up at the receiver so that a line without a neighbour is idle.
fn pins(at: usize) {
    // Port (A to D), pin, alternate function: of the transmitter, of the receiver (DS8626, table 9).
    let [send, receive] = match at {
        0 => [(0, 9, 7), (0, 10, 7)],
        1 => [(0, 2, 7), (0, 3, 7)],
        2 => [(1, 10, 7), (1, 11, 7)],
        3 => [(0, 0, 8), (0, 1, 8)],
        4 => [(2, 12, 8), (3, 2, 8)],
        _ => [(2, 6, 8), (2, 7, 8)],
    };
    for ((port, pin, function), pull_up) in [(send, 0), (receive, 1)] {
        let port: *const pac::gpioa::RegisterBlock = match port {
            0 => pac::GPIOA::ptr(),
            1 => pac::GPIOB::ptr().cast(),
            2 => pac::GPIOC::ptr().cast(),
            _ => pac::GPIOD::ptr().cast(),
        };
        const ALTERNATE: u32 = 0b10;
        const FAST: u32 = 0b10;
        let set = |word: u32, bits: u32, width: u32, at: u32| {
            word & !(((1 << width) - 1) << (at * width)) | bits << (at * width)
        };
        // SAFETY: registers of a port; the parts that this board uses are alike. Bits of one pin are changed.
        unsafe {
            let port = &*port;
            port.moder().modify(|r, w| w.bits(set(r.bits(), ALTERNATE, 2, pin)));
            port.ospeedr().modify(|r, w| w.bits(set(r.bits(), FAST, 2, pin)));
            port.pupdr().modify(|r, w| w.bits(set(r.bits(), pull_up, 2, pin)));
            match pin {
                0..8 => port.afrl().modify(|r, w| w.bits(set(r.bits(), function, 4, pin))),
                _ => port.afrh().modify(|r, w| w.bits(set(r.bits(), function, 4, pin - 8))),
            };
        }
    }
}
