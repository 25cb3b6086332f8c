//! The doorbell; and output and log of a node without a tool or a serial console. A debug probe reads them from RAM
//! (SEGGER's RTT; `probe-rs run` and `probe-rs attach` show both channels): all USARTs are links.
//!
//! Channel 0, "Terminal", contains the program's streams; channel 1, "defmt", the kernel's log, in images that have
//! one. Without a reader they keep the first bytes and drop the rest; a reader may configure the node to wait for it
//! instead.

use core::cell::RefCell;

use critical_section::Mutex;
use midplane_abi::outbox::OutputStream;
use rtt_target::{UpChannel, rtt_init};

pub use super::semihosting::ring;

/// Channels that a probe reads.
struct ProbeChannels {
    terminal: UpChannel,
    #[cfg(feature = "options")]
    log: UpChannel,
}

static CHANNELS: Mutex<RefCell<Option<ProbeChannels>>> = Mutex::new(RefCell::new(None));

/// Creates the channels for a probe. Called once.
#[cfg(not(feature = "options"))]
pub(super) fn open() {
    let channels = rtt_init! {
        up: {
            0: { size: 512, mode: rtt_target::ChannelMode::NoBlockTrim, name: "Terminal" }
        }
    };
    set(ProbeChannels {
        terminal: channels.up.0,
    });
}

/// Creates the channels for output and log. Called once.
#[cfg(feature = "options")]
pub(super) fn open() {
    let channels = rtt_init! {
        up: {
            0: { size: 512, mode: rtt_target::ChannelMode::NoBlockTrim, name: "Terminal" }
            1: { size: 512, mode: rtt_target::ChannelMode::NoBlockSkip, name: "defmt" }
        }
    };
    set(ProbeChannels {
        terminal: channels.up.0,
        log: channels.up.1,
    });
}

fn set(channels: ProbeChannels) {
    critical_section::with(|cs| CHANNELS.borrow(cs).replace(Some(channels)));
}

/// Publishes the blackboard to the tool, by file or console.
pub fn show() {
    super::semihosting::show();
    #[cfg(feature = "options")]
    super::attach::show();
}

/// Prints `bytes` of a stream if no tool reads the rings.
pub fn print(stream: OutputStream, bytes: &[u8]) {
    #[cfg(feature = "options")]
    if super::attach::print(stream, bytes) {
        return;
    }
    let _ = stream;
    for &byte in bytes {
        put(byte);
    }
}

/// Prints `byte`; returns false if there was no free space and it was dropped.
pub fn put(byte: u8) -> bool {
    critical_section::with(|cs| {
        let mut channels = CHANNELS.borrow_ref_mut(cs);
        channels
            .as_mut()
            .is_some_and(|channels| channels.terminal.write(&[byte]) == 1)
    })
}

/// Logs the bytes that fit.
pub fn log(bytes: &[u8]) {
    let _ = bytes;
    #[cfg(feature = "options")]
    critical_section::with(|cs| {
        if let Some(channels) = CHANNELS.borrow_ref_mut(cs).as_mut() {
            channels.log.write(bytes);
        }
    });
}
