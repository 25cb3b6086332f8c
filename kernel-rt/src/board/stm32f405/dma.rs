//! The DMA streams that carry the lines' bytes between the USARTs and their rings, where there is a controller (RM0090, 10).
//!
//! Each direction of each line has a stream of its own (tables 42 and 43). What is received goes round the ring, so that its
//! stream never ends; what is to be sent goes in pieces.

use core::sync::atomic::{Ordering, fence};

use stm32f4::stm32f405 as pac;

type Controller = pac::dma2::RegisterBlock;
type Stream = pac::dma2::ST;

/// By direction: whether it is the second controller, the streams that receive and send, and their channel. The first
/// controller reaches the slow bus only, the second one both.
const STREAMS: [(bool, u8, u8, u8); 6] = [
    (true, 2, 7, 4),
    (false, 5, 6, 4),
    (false, 1, 3, 4),
    (false, 2, 4, 4),
    (false, 0, 7, 4),
    (true, 1, 6, 5),
];

// Bits of a stream's configuration (10.5.5): on; from memory; round and round; the next place of memory after each byte;
// what is received first, as the line does not wait. Bytes on both sides, without the FIFO, are zeros.
const ON: u32 = 1;
const FROM_MEMORY: u32 = 0b01 << 6;
const ROUND: u32 = 1 << 8;
const NEXT_PLACE: u32 = 1 << 10;
const FIRST: u32 = 0b11 << 16;
const CHANNEL_AT: u32 = 25;

/// All flags of a stream, and where each of four streams in a word has them (10.5.3).
const FLAGS: u32 = 0b11_1101;
const FLAGS_AT: [u8; 4] = [0, 6, 16, 22];

fn controller(at: usize) -> &'static Controller {
    let registers = match STREAMS[at].0 {
        true => pac::DMA2::ptr(),
        false => pac::DMA1::ptr(),
    };
    // SAFETY: registers of this chip, which are there for ever; each access is to one word, and volatile.
    unsafe { &*registers }
}

fn receiving(at: usize) -> &'static Stream {
    controller(at).st(STREAMS[at].1.into())
}

fn sending(at: usize) -> &'static Stream {
    controller(at).st(STREAMS[at].2.into())
}

/// Starts what carries the line's bytes, from and to its data register, of which those that come go round `count` bytes at
/// `ring`. False: there is no controller, as in an emulator, and nothing has been started.
///
/// # Safety
/// The ring is there for ever, and of atomics; the addresses are such.
pub(super) unsafe fn start(at: usize, register: u32, (ring, count): (u32, u16)) -> bool {
    let channel = u32::from(STREAMS[at].3) << CHANNEL_AT;
    let (stream, sender) = (receiving(at), sending(at));
    // SAFETY: the streams are off since the reset, and nothing else uses them; the caller answers for the memory.
    unsafe {
        stream.ndtr().write(|w| w.bits(count.into()));
        if stream.ndtr().read().bits() != u32::from(count) {
            return false;
        }
        stream.par().write(|w| w.bits(register));
        stream.m0ar().write(|w| w.bits(ring));
        stream
            .cr()
            .write(|w| w.bits(channel | FIRST | NEXT_PLACE | ROUND | ON));
        sender.par().write(|w| w.bits(register));
        sender
            .cr()
            .write(|w| w.bits(channel | NEXT_PLACE | FROM_MEMORY));
    }
    true
}

/// How many bytes come before the ring begins anew.
pub(super) fn left(at: usize) -> usize {
    let left = receiving(at).ndtr().read().bits() as usize;
    // What has been counted is read after that.
    fence(Ordering::Acquire);
    left
}

/// Whether the line's last piece has not left memory yet.
pub(super) fn is_sending(at: usize) -> bool {
    sending(at).cr().read().bits() & ON != 0
}

/// Sends `count` bytes at `bytes`; the piece before has left.
///
/// # Safety
/// The bytes are atomics, and stay as they are until they have left.
pub(super) unsafe fn send(at: usize, bytes: u32, count: u16) {
    let (registers, stream) = (controller(at), sending(at));
    let number = usize::from(STREAMS[at].2);
    let flags = FLAGS << FLAGS_AT[number % 4];
    // What is to be sent is in memory before the stream looks.
    fence(Ordering::Release);
    // SAFETY: the stream is off; without its flags it may be switched on again. The caller answers for the memory.
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
