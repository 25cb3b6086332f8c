//! The program's standard output and standard error: bytes as they are, each on its own stream.
//!
//! A stream is buffered by line: a line's end, a full buffer and [`flush`] send what there is; an unfinished
//! line waits [`PARTIAL_TICKS`] at most. One buffer is written out by the device while the next one fills. On a
//! machine without virtio consoles both streams go to the UART, byte by byte.

use core::cell::RefCell;

use critical_section::Mutex;

use crate::arch;
use crate::board::{timer, uart};
use crate::dev::virtio_console::ConsoleDevice;

/// Size of one of a stream's two buffers in bytes.
pub const BUFFER_BYTES: usize = 1024;

/// How long an unfinished line waits for its end, in ticks of the clock (10 ms at 10 MHz).
pub const PARTIAL_TICKS: u64 = 100_000;

/// A buffer for a stream.
pub type Buffer = [u8; BUFFER_BYTES];

/// One of the two streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Out = 0,
    /// Standard error.
    Err = 1,
}

struct Output {
    device: ConsoleDevice,
    filling: Option<&'static mut [u8]>,
    filled: usize,
    spare: Option<&'static mut [u8]>,
}

static OUTPUTS: [Mutex<RefCell<Option<Output>>>; 2] = [const { Mutex::new(RefCell::new(None)) }; 2];

/// Sends `stream` through `device` from now on.
pub fn attach(stream: Stream, device: ConsoleDevice, buffers: &'static mut [Buffer; 2]) {
    let [filling, spare] = buffers;
    let output = Output {
        device,
        filling: Some(filling),
        filled: 0,
        spare: Some(spare),
    };
    critical_section::with(|cs| *OUTPUTS[stream as usize].borrow_ref_mut(cs) = Some(output));
}

/// Whether a virtio console carries `stream`.
pub fn is_attached(stream: Stream) -> bool {
    critical_section::with(|cs| OUTPUTS[stream as usize].borrow_ref(cs).is_some())
}

impl Output {
    /// Moves on as far as it goes without waiting. True when nothing is left to write out.
    fn flush(&mut self) -> bool {
        if let Some(buffer) = self.device.finish() {
            self.spare = Some(buffer);
        }
        if self.filled == 0 {
            return !self.device.is_busy();
        }
        // With the other buffer under way there is nothing to fill next, so this one waits.
        let Some(spare) = self.spare.take() else {
            return false;
        };
        match self.filling.take() {
            Some(buffer) => match self.device.start(buffer, self.filled) {
                Ok(()) => {
                    self.filling = Some(spare);
                    self.filled = 0;
                }
                Err(buffer) => {
                    self.filling = Some(buffer);
                    self.spare = Some(spare);
                }
            },
            None => self.filling = Some(spare),
        }
        false
    }

    /// Takes `byte` into the buffer. False when it is full.
    fn put(&mut self, byte: u8) -> bool {
        let place = self.filling.as_mut().and_then(|b| b.get_mut(self.filled));
        let Some(place) = place else { return false };
        *place = byte;
        self.filled += 1;
        true
    }
}

/// One attempt at something with a stream's output; `None` means that it has to wait for the device.
fn attempt<R>(stream: Stream, f: impl FnOnce(Option<&mut Output>) -> Option<R>) -> Option<R> {
    critical_section::with(|cs| {
        let mut output = OUTPUTS[stream as usize].borrow_ref_mut(cs);
        let result = f(output.as_mut());
        if result.is_none() {
            // Interrupts are held off, so one that comes now ends the sleep and is taken right after.
            arch::wait_for_interrupt();
        }
        result
    })
}

/// Writes `bytes` to `stream`. Blocks while the device is two buffers behind; interrupts are served
/// meanwhile. Must not be called from an interrupt.
pub fn write(stream: Stream, bytes: &[u8]) {
    for &byte in bytes {
        let full_line = byte == b'\n';
        let mut put = false;
        loop {
            let done = attempt(stream, |output| {
                let Some(output) = output else {
                    uart::put(byte);
                    return Some(());
                };
                if !put {
                    put = output.put(byte);
                }
                if !put {
                    output.flush();
                    put = output.put(byte);
                }
                if put && full_line {
                    // Sent at once if the device is free, else together with what follows.
                    output.flush();
                } else if put && output.filled == 1 {
                    timer::wake_by(arch::ticks() + PARTIAL_TICKS);
                }
                put.then_some(())
            });
            if done.is_some() {
                break;
            }
        }
    }
}

/// Starts sending what is left of unfinished lines. Does not block.
pub fn flush() {
    for stream in [Stream::Out, Stream::Err] {
        critical_section::with(|cs| {
            if let Some(output) = OUTPUTS[stream as usize].borrow_ref_mut(cs).as_mut() {
                output.flush();
            }
        });
    }
}

/// Blocks until everything is written out.
pub fn drain() {
    for stream in [Stream::Out, Stream::Err] {
        let written = |output: Option<&mut Output>| output.is_none_or(Output::flush).then_some(());
        while attempt(stream, written).is_none() {}
    }
}

/// As [`drain`], but gives up after `ticks` of the clock, and on a stream that was being written to when
/// the node failed.
pub fn drain_within(ticks: u64) {
    let deadline = arch::ticks().saturating_add(ticks);
    for output in &OUTPUTS {
        critical_section::with(|cs| {
            let Ok(mut output) = output.borrow(cs).try_borrow_mut() else {
                return;
            };
            let Some(output) = output.as_mut() else {
                return;
            };
            while !output.flush() && arch::ticks() < deadline {}
        });
    }
}

/// A console's interrupt has been taken.
pub fn acknowledge(stream: Stream) {
    critical_section::with(|cs| {
        if let Some(output) = OUTPUTS[stream as usize].borrow_ref_mut(cs).as_mut() {
            output.device.acknowledge();
            // What came while the device was busy goes out now.
            output.flush();
        }
    });
}
