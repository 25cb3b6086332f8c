//! This image's blackboard, backtrace registers and personality. The board defines its files, inbox and outbox.

use core::cell::Cell;

use critical_section::Mutex;
use midplane_abi::backtrace::BacktraceRecord;
use midplane_abi::blackboard::Blackboard;
use midplane_abi::failed_malloc::FailedMalloc;
use midplane_abi::personality::Personality;
use midplane_abi::word::SharedWord;

/// The node's status record. The host tool finds it through this symbol.
#[unsafe(no_mangle)]
pub static MIDPLANE_BLACKBOARD: Blackboard = Blackboard::new();
/// The backtrace registers. The host tool finds them through this symbol.
#[unsafe(no_mangle)]
pub static MIDPLANE_CALLERS: BacktraceRecord = BacktraceRecord::new();
/// The failed allocation. The host tool finds it through this symbol.
#[unsafe(no_mangle)]
pub static MIDPLANE_FAILED_MALLOC: FailedMalloc = FailedMalloc::new();

/// Nanoseconds per tick of the clock, with 32 fractional bits. The recorder of calls reads it through this symbol.
#[unsafe(no_mangle)]
pub static MIDPLANE_NS_PER_TICK: SharedWord = SharedWord::new(0);

static PERSONALITY: Mutex<Cell<Option<Personality>>> = Mutex::new(Cell::new(None));

/// Returns this node's identity; `None` early in the boot.
pub fn personality() -> Option<Personality> {
    critical_section::with(|cs| PERSONALITY.borrow(cs).get())
}

/// Sets this node's identity.
pub fn set_personality(who: Personality) {
    critical_section::with(|cs| PERSONALITY.borrow(cs).set(Some(who)));
}
