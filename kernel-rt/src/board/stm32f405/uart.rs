//! The bell; and what a node prints and logs that neither the tool looks after nor a serial console. A debug probe
//! reads that out of RAM (SEGGER's RTT; `probe-rs run` and `probe-rs attach` show both channels): all USARTs are links.
//!
//! Channel 0, "Terminal", is the program's streams; channel 1, "defmt", the kernel's log, in images that have one. Without a
//! reader they keep what came first and lose the rest; a reader may ask the node to wait for it instead.

use core::cell::RefCell;

use critical_section::Mutex;
use midplane_abi::outbox::Stream;
use rtt_target::{UpChannel, rtt_init};

pub use super::tool::ring;

/// What a probe reads.
struct Channels {
    terminal: UpChannel,
    #[cfg(feature = "options")]
    log: UpChannel,
}

static CHANNELS: Mutex<RefCell<Option<Channels>>> = Mutex::new(RefCell::new(None));

/// Makes the channels, which a probe finds from now on. Called once.
#[cfg(not(feature = "options"))]
pub(super) fn open() {
    let channels = rtt_init! {
        up: {
            0: { size: 512, mode: rtt_target::ChannelMode::NoBlockTrim, name: "Terminal" }
        }
    };
    set(Channels {
        terminal: channels.up.0,
    });
}

/// The same, for output and log.
#[cfg(feature = "options")]
pub(super) fn open() {
    let channels = rtt_init! {
        up: {
            0: { size: 512, mode: rtt_target::ChannelMode::NoBlockTrim, name: "Terminal" }
            1: { size: 512, mode: rtt_target::ChannelMode::NoBlockSkip, name: "defmt" }
        }
    };
    set(Channels {
        terminal: channels.up.0,
        log: channels.up.1,
    });
}

fn set(channels: Channels) {
    critical_section::with(|cs| CHANNELS.borrow(cs).replace(Some(channels)));
}

/// Shows the tool the blackboard, by whatever way there is to it.
pub fn show() {
    super::tool::show();
    #[cfg(feature = "options")]
    super::attach::show();
}

/// Prints `bytes` of a stream where no tool takes them out of rings.
pub fn print(stream: Stream, bytes: &[u8]) {
    #[cfg(feature = "options")]
    if super::attach::print(stream, bytes) {
        return;
    }
    let _ = stream;
    for &byte in bytes {
        put(byte);
    }
}

/// Prints `byte`; false when there is no room, and it was dropped.
pub fn put(byte: u8) -> bool {
    critical_section::with(|cs| {
        let mut channels = CHANNELS.borrow_ref_mut(cs);
        channels
            .as_mut()
            .is_some_and(|channels| channels.terminal.write(&[byte]) == 1)
    })
}

/// Logs what fits.
pub fn log(bytes: &[u8]) {
    let _ = bytes;
    #[cfg(feature = "options")]
    critical_section::with(|cs| {
        if let Some(channels) = CHANNELS.borrow_ref_mut(cs).as_mut() {
            channels.log.write(bytes);
        }
    });
}
