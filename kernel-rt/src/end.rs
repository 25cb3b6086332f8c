//! A node that fails: by the program's doing, by a fault, by a panic.

use core::cell::Cell;
#[cfg(feature = "panic-text")]
use core::fmt::{self, Write as _};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::Mutex;
#[cfg(feature = "panic-text")]
use midplane_abi::blackboard::Words;
use midplane_abi::blackboard::{End, Message};
#[cfg(not(feature = "panic-text"))]
use midplane_abi::failure::LOGGED;
use midplane_abi::failure::{Failure, Why};
#[cfg(feature = "panic-text")]
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{Exit, LOGS};
#[cfg(not(feature = "panic-text"))]
use midplane_abi::record::Record;
use midplane_abi::status::exit_byte;
use midplane_device::kernel::MpiError;

use crate::board::{system, uart};
#[cfg(not(feature = "panic-text"))]
use crate::mpi_failure::of_error;
#[cfg(feature = "panic-text")]
use crate::mpi_failure::write_text;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, personality};
use crate::{arch, console, log};

/// Brings the blackboard's figures up to date.
static PUBLISH: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// `publish` is called when the node fails, to bring the blackboard's figures up to date. It must not block.
pub fn publish_with(publish: fn()) {
    critical_section::with(|cs| PUBLISH.borrow(cs).set(publish));
}

/// What an ending node leaves on its blackboard, prints and logs.
///
/// With the feature `panic-text` that is words, with the node's name: what a Rust program's own panics say is meant for its
/// author. A C program's image has no words for what goes wrong, nor what formats them; it leaves a record, of which the
/// tool makes the same words ([`failure`](midplane_abi::failure)).
struct Account {
    #[cfg(feature = "panic-text")]
    words: Words,
    #[cfg(not(feature = "panic-text"))]
    record: Record,
}

#[cfg(feature = "panic-text")]
impl Account {
    fn of(failure: &Failure<'_>) -> Self {
        Self::saying(format_args!("{}", failure.in_words(write_text)))
    }

    fn saying(text: fmt::Arguments<'_>) -> Self {
        let mut words = Words::default();
        let _ = words.write_fmt(text);
        Self { words }
    }

    fn message(&self) -> Message<'_> {
        Message::Words(&self.words.0)
    }

    fn log(&self) {
        defmt::error!("{=str}", self.words.0.as_str());
    }

    fn print(&self) {
        for byte in self.words.0.bytes() {
            uart::put(byte);
        }
    }
}

#[cfg(not(feature = "panic-text"))]
impl Account {
    fn of(failure: &Failure<'_>) -> Self {
        Self {
            record: failure.write(),
        }
    }

    fn message(&self) -> Message<'_> {
        Message::Record(&self.record)
    }

    fn log(&self) {
        // The tool puts the words in its place.
        defmt::error!("failed: {=[u8]}", self.record.bytes());
    }

    /// In hexadecimal digits.
    fn print(&self) {
        for byte in LOGGED.bytes() {
            uart::put(byte);
        }
        for byte in self.record.bytes() {
            for digit in [byte >> 4, byte & 15] {
                uart::put(match digit {
                    10.. => b'a' + digit - 10,
                    _ => b'0' + digit,
                });
            }
        }
    }
}

/// The node fails: what it has printed is shown, the blackboard says why, and nothing runs any more.
pub fn end(end: End, status: i32, why: Why<'_>) -> ! {
    let place = personality().map(|p| (p.rank, p.coord));
    let account = Account::of(&Failure { place, why });
    end_with(end, status, &account)
}

fn end_with(why: End, status: i32, account: &Account) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::Relaxed) {
        // Failed again while ending: the first reason stands, nothing more can be done.
        arch::park();
    }
    console::flush();
    log::stop_waiting();
    critical_section::with(|cs| PUBLISH.borrow(cs).get())();
    if LOGS {
        account.log();
    }
    MIDPLANE_BLACKBOARD.failed(why, status, account.message());
    console::ring();
    if !console::is_attached() {
        // Booted by hand: the blackboard may have no reader.
        account.print();
        uart::put(b'\n');
    }
    if personality().is_none_or(|p| p.exit == Exit::Test) {
        system::exit(exit_byte(status).max(1));
    }
    system::stay()
}

/// The program ends for an error of MPI's.
pub fn mpi_error(error: &MpiError<'_>, status: i32) -> ! {
    #[cfg(feature = "panic-text")]
    end_with(
        End::MpiError,
        status,
        &Account::saying(format_args!("{}", midplane_objects::InWords(error))),
    );
    #[cfg(not(feature = "panic-text"))]
    end(End::MpiError, status, Why::Mpi(of_error(error)))
}

/// The program ends itself, or the kernel ends it for what it did.
pub fn program_abort(what: &str) -> ! {
    MIDPLANE_CALLERS.note(&arch::registers());
    end(End::Abort, 1, Why::Words(what))
}

/// With the feature `panic-text` a panic is told with its place and its words. A C program's image has neither the places
/// nor the words of the runtime's panics, nor the code that would format them; the tool finds the place from the
/// registers (`midplane_abi::callers`). That the parameter has no use is what makes them go.
#[panic_handler]
fn panic(#[cfg_attr(not(feature = "panic-text"), expect(unused))] info: &PanicInfo<'_>) -> ! {
    // Interrupts stay off from here on: this does not come back.
    // SAFETY: never released.
    let _ = unsafe { critical_section::acquire() };
    MIDPLANE_CALLERS.note(&arch::registers());
    #[cfg(feature = "panic-text")]
    {
        let name = NodeName(personality().map(|p| (p.rank, p.coord)));
        let account = match info.location() {
            Some(at) => {
                Account::saying(format_args!("{name}: panicked at {at}: {}", info.message()))
            }
            None => Account::saying(format_args!("{name}: panicked: {}", info.message())),
        };
        end_with(End::Panic, 1, &account)
    }
    #[cfg(not(feature = "panic-text"))]
    end(End::Panic, 1, Why::Panic)
}
