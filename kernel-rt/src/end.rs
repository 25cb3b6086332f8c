//! A node that fails: by the program's doing, by a fault, by a panic.

use core::cell::Cell;
use core::fmt::{self, Write as _};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::Mutex;

use crate::board::{system, uart};
use crate::host::blackboard::{End, MESSAGE_BYTES, cut};
use crate::host::personality::Exit;
use crate::host::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, node_name, personality};
use crate::host::status::exit_byte;
use crate::{arch, console, log};

/// Brings the blackboard's figures up to date.
static PUBLISH: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// `publish` is called when the node fails, to bring the blackboard's figures up to date. It must not block.
pub fn publish_with(publish: fn()) {
    critical_section::with(|cs| PUBLISH.borrow(cs).set(publish));
}

/// What an ending node has to say; what does not fit is cut.
pub struct Message(heapless::String<MESSAGE_BYTES>);

impl Message {
    /// A message of these words.
    pub fn new(text: fmt::Arguments<'_>) -> Self {
        let mut message = Self(heapless::String::new());
        // Cut to the room there is, so it is never refused.
        let _ = message.write_fmt(text);
        message
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let _ = self.0.push_str(cut(text, MESSAGE_BYTES - self.0.len()));
        Ok(())
    }
}

/// The node fails: what it has printed is shown, the blackboard says why, and nothing runs any more.
pub fn end(why: End, status: i32, message: &Message) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::Relaxed) {
        // Failed again while ending: the first reason stands, nothing more can be done.
        arch::park();
    }
    console::flush();
    log::stop_waiting();
    critical_section::with(|cs| PUBLISH.borrow(cs).get())();
    defmt::error!("{=str}", message.0.as_str());
    MIDPLANE_BLACKBOARD.failed(why, status, &message.0);
    console::ring();
    if !console::is_attached() {
        // Booted by hand: the blackboard may have no reader.
        for byte in message.0.bytes().chain(*b"\n") {
            uart::put(byte);
        }
    }
    if personality().is_none_or(|p| p.exit == Exit::Test) {
        system::exit(exit_byte(status).max(1));
    }
    system::stay()
}

/// The program ends itself, or the kernel ends it for what it did.
pub fn program_abort(what: &str) -> ! {
    let message = Message::new(format_args!("{}: {what}", node_name()));
    end(End::Abort, 1, &message)
}

/// With the feature `panic-text` a panic is told with its place and its words: a Rust program's own panics are meant
/// for its author. A C program's image has neither the places nor the words of the runtime's panics, nor the code that
/// would format them; the tool finds the place from the registers (`host/callers.rs`). That the parameter has no use
/// is what makes them go.
#[panic_handler]
fn panic(#[cfg_attr(not(feature = "panic-text"), expect(unused))] info: &PanicInfo<'_>) -> ! {
    // Interrupts stay off from here on: this does not come back.
    // SAFETY: never released.
    let _ = unsafe { critical_section::acquire() };
    MIDPLANE_CALLERS.note(&arch::registers());
    let name = node_name();
    #[cfg(feature = "panic-text")]
    let message = match info.location() {
        Some(at) => Message::new(format_args!("{name}: panicked at {at}: {}", info.message())),
        None => Message::new(format_args!("{name}: panicked: {}", info.message())),
    };
    #[cfg(not(feature = "panic-text"))]
    let message = Message::new(format_args!("{name}: panicked"));
    end(End::Panic, 1, &message)
}
