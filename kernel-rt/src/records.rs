//! This image's blackboard, callers and personality. Its files, inbox and outbox are the board's.

use core::cell::Cell;

use critical_section::Mutex;
use midplane_abi::blackboard::Blackboard;
use midplane_abi::callers::Callers;
use midplane_abi::failed_malloc::FailedMalloc;
use midplane_abi::personality::Personality;

/// Found by the host tool through this name.
#[unsafe(no_mangle)]
pub static MIDPLANE_BLACKBOARD: Blackboard = Blackboard::new();
/// Found by its symbol, as the blackboard is.
#[unsafe(no_mangle)]
pub static MIDPLANE_CALLERS: Callers = Callers::new();
/// Found by its symbol, as the blackboard is.
#[unsafe(no_mangle)]
pub static MIDPLANE_FAILED_MALLOC: FailedMalloc = FailedMalloc::new();

static PERSONALITY: Mutex<Cell<Option<Personality>>> = Mutex::new(Cell::new(None));

/// Who this node is; `None` early in the boot.
pub fn personality() -> Option<Personality> {
    critical_section::with(|cs| PERSONALITY.borrow(cs).get())
}

/// Says who this node is.
pub fn set_personality(who: Personality) {
    critical_section::with(|cs| PERSONALITY.borrow(cs).set(Some(who)));
}
