//! DMA streams that transfer the lines' bytes between the USARTs and their rings, if there is a controller (RM0090,
//! 10).
//!
//! Each direction of each line uses a separate stream (tables 42 and 43). The receive stream is circular and never
//! ends; the transmit stream sends the ring in pieces.

use core::sync::atomic::{Ordering, fence};

use stm32f4::stm32f405 as pac;

type DmaController = pac::dma2::RegisterBlock;
type DmaStream = pac::dma2::ST;

/// By direction: whether it uses the second controller, the receive and transmit streams, and their channel. The first
/// controller reaches only the slow bus, the second one both.
const STREAMS: [(bool, u8, u8, u8); 6] = [
    (true, 2, 7, 4),
    (false, 5, 6, 4),
    (false, 1, 3, 4),
    (false, 2, 4, 4),
    (false, 0, 7, 4),
    (true, 1, 6, 5),
];

// Bits of a stream's configuration (10.5.5): enable; from memory; circular; memory increment; high priority for
// reception, as the line does not wait. Zeros select bytes on both sides without the FIFO.
const ON: u32 = 1;
const FROM_MEMORY: u32 = 0b01 << 6;
const ROUND: u32 = 1 << 8;
const NEXT_PLACE: u32 = 1 << 10;
const FIRST: u32 = 0b11 << 16;
const CHANNEL_AT: u32 = 25;

/// All flags of a stream, and their position for each of four streams in a word (10.5.3).
const FLAGS: u32 = 0b11_1101;
const FLAGS_AT: [u8; 4] = [0, 6, 16, 22];

fn controller(at: usize) -> &'static DmaController {
    let registers = if STREAMS[at].0 {
        pac::DMA2::ptr()
    } else {
        pac::DMA1::ptr()
    };
    // SAFETY: registers of this chip, valid forever; each access is to one word, and volatile.
    unsafe { &*registers }
}

fn receiving(at: usize) -> &'static DmaStream {
    controller(at).st(STREAMS[at].1.into())
}

fn sending(at: usize) -> &'static DmaStream {
    controller(at).st(STREAMS[at].2.into())
}

/// Starts the line's streams from and to its data register; received bytes circulate in the `count` bytes at `ring`.
/// Returns false if there is no controller, as in an emulator; nothing was started then.
///
/// # Safety
/// The ring lives forever and consists of atomics; both addresses are valid.
pub(super) unsafe fn start(at: usize, register: u32, ring: u32, count: u16) -> bool {
    let channel = u32::from(STREAMS[at].3) << CHANNEL_AT;
    let (stream, sender) = (receiving(at), sending(at));
    // SAFETY: the streams are off since the reset, and nothing else uses them; the caller is responsible for the
    // memory.
    unsafe {
        stream.ndtr().write(|w| w.bits(count.into()));
        if stream.ndtr().read().bits() != u32::from(count) {
            return false;
        }
        stream.par().write(|w| w.bits(register));
        stream.m0ar().write(|w| w.bits(ring));
        stream.cr().write(|w| w.bits(channel | FIRST | NEXT_PLACE | ROUND | ON));
        sender.par().write(|w| w.bits(register));
        sender.cr().write(|w| w.bits(channel | NEXT_PLACE | FROM_MEMORY));
    }
    true
}

/// Returns the number of bytes until the ring wraps around.
pub(super) fn remaining_bytes(at: usize) -> usize {
    let left = receiving(at).ndtr().read().bits() as usize;
    // The counted bytes are read after the counter.
    fence(Ordering::Acquire);
    left
}

/// Returns whether the line's last piece is still in memory.
pub(super) fn is_sending(at: usize) -> bool {
    sending(at).cr().read().bits() & ON != 0
}

/// Sends `count` bytes at `bytes`; the previous piece must be complete.
///
/// # Safety
/// The bytes are atomics, and remain unchanged until they were sent.
pub(super) unsafe fn send(at: usize, bytes: u32, count: u16) {
    let (registers, stream) = (controller(at), sending(at));
    let number = usize::from(STREAMS[at].2);
    let flags = FLAGS << FLAGS_AT[number % 4];
    // The bytes must be in memory before the stream reads them.
    fence(Ordering::Release);
    // SAFETY: the stream is off; with its flags cleared it may be enabled again. The caller is responsible for the
    // memory.
    unsafe {
        match number / 4 {
            0 => registers.lifcr().write(|w| w.bits(flags)),
            _ => registers.hifcr().write(|w| w.bits(flags)),
        };
        stream.m0ar().write(|w| w.bits(bytes));
        stream.ndtr().write(|w| w.bits(count.into()));
        stream.cr().modify(|r, w| w.bits(r.bits() | ON));
    }
}
