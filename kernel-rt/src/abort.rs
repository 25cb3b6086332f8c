//! Abort path of a node: the program's error, a fault, or a panic.

use core::cell::Cell;
#[cfg(feature = "panic-text")]
use core::fmt::{self, Write as _};
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use critical_section::Mutex;
#[cfg(feature = "panic-text")]
use midplane_abi::blackboard::MessageText;
use midplane_abi::blackboard::{FailureCode, FinalMessage};
#[cfg(not(feature = "panic-text"))]
use midplane_abi::failure::LOGGED;
use midplane_abi::failure::{Failure, FailureReason};
#[cfg(feature = "panic-text")]
use midplane_abi::fault::NodeName;
use midplane_abi::personality::{ExitAction, LOGS};
#[cfg(not(feature = "panic-text"))]
use midplane_abi::record::FailureRecord;
use midplane_abi::status::exit_byte;
use midplane_device::kernel::MpiError;

use crate::board::{system, uart};
#[cfg(not(feature = "panic-text"))]
use crate::mpi_failure::encode_error;
#[cfg(feature = "panic-text")]
use crate::mpi_failure::write_text;
use crate::records::{MIDPLANE_BLACKBOARD, MIDPLANE_CALLERS, personality};
use crate::{arch, console, log};

/// Updates the blackboard's statistics.
static PUBLISH: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Registers `publish`, called when the node fails to update the blackboard's statistics. It must not block.
pub fn publish_with(publish: fn()) {
    critical_section::with(|cs| PUBLISH.borrow(cs).set(publish));
}

/// Failure account that an ending node writes to its blackboard, console and log.
///
/// With the feature `panic-text` the account is text with the node's name, because a Rust program's panic messages are
/// meant for its author. A C program's image contains neither message texts nor formatting code. It writes a record,
/// from which the host tool creates the same text ([`failure`](midplane_abi::failure)).
struct FailureAccount {
    #[cfg(feature = "panic-text")]
    words: MessageText,
    #[cfg(not(feature = "panic-text"))]
    record: FailureRecord,
}

#[cfg(feature = "panic-text")]
impl FailureAccount {
    fn from_failure(failure: &Failure<'_>) -> Self {
        Self::from_text(format_args!("{}", failure.in_words(write_text)))
    }

    fn from_text(text: fmt::Arguments<'_>) -> Self {
        let mut words = MessageText::default();
        let _ = words.write_fmt(text);
        Self { words }
    }

    fn message(&self) -> FinalMessage<'_> {
        FinalMessage::Text(&self.words.0)
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
impl FailureAccount {
    fn from_failure(failure: &Failure<'_>) -> Self {
        Self {
            record: failure.write(),
        }
    }

    fn message(&self) -> FinalMessage<'_> {
        FinalMessage::Record(&self.record)
    }

    fn log(&self) {
        // The tool substitutes the text.
        defmt::error!("failed: {=[u8]}", self.record.bytes());
    }

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

/// Ends the node: flushes its output, writes the reason to the blackboard and stops.
pub fn end(end: FailureCode, status: i32, why: FailureReason<'_>) -> ! {
    let place = personality().map(|p| (p.rank, p.coord));
    let account = FailureAccount::from_failure(&Failure { place, why });
    end_with(end, status, &account)
}

fn end_with(why: FailureCode, status: i32, account: &FailureAccount) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::Relaxed) {
        // A second failure while ending: the first reason remains, and nothing more can be done.
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
    if personality().is_none_or(|p| p.exit == ExitAction::Test) {
        system::exit(exit_byte(status).max(1));
    }
    system::stay()
}

/// Ends the program because of an MPI error.
pub fn mpi_error(error: &MpiError<'_>, status: i32) -> ! {
    #[cfg(feature = "panic-text")]
    end_with(
        FailureCode::MpiError,
        status,
        &FailureAccount::from_text(format_args!("{}", midplane_objects::ErrorText(error))),
    );
    #[cfg(not(feature = "panic-text"))]
    end(FailureCode::MpiError, status, FailureReason::Mpi(encode_error(error)))
}

/// Ends the program, at its own request or because of a violation that the kernel detected.
pub fn program_abort(what: &str) -> ! {
    MIDPLANE_CALLERS.note(&arch::registers());
    end(FailureCode::Abort, 1, FailureReason::Text(what))
}

/// Handles a panic. With the feature `panic-text` the report contains the panic's location and message. A C program's
/// image contains neither locations nor messages of the runtime's panics, nor their formatting code. The tool finds the
/// location from the registers (`midplane_abi::backtrace`). The unused parameter is what lets the linker remove them.
#[panic_handler]
fn panic(#[cfg_attr(not(feature = "panic-text"), expect(unused))] info: &PanicInfo<'_>) -> ! {
    // Interrupts remain disabled from here on: this function does not return.
    // SAFETY: never released.
    let _ = unsafe { critical_section::acquire() };
    MIDPLANE_CALLERS.note(&arch::registers());
    #[cfg(feature = "panic-text")]
    {
        let name = NodeName(personality().map(|p| (p.rank, p.coord)));
        let account = match info.location() {
            Some(at) => FailureAccount::from_text(format_args!("{name}: panicked at {at}: {}", info.message())),
            None => FailureAccount::from_text(format_args!("{name}: panicked: {}", info.message())),
        };
        end_with(FailureCode::Panic, 1, &account)
    }
    #[cfg(not(feature = "panic-text"))]
    end(FailureCode::Panic, 1, FailureReason::Panic)
}
