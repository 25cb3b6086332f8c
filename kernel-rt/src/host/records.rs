//! This image's blackboard, callers, files, inbox, outbox and personality.

use core::cell::Cell;

use critical_section::Mutex;

use super::blackboard::Blackboard;
use super::callers::Callers;
use super::failed_malloc::FailedMalloc;
use super::personality::Personality;
use crate::fault::NodeName;

/// Found by the host tool through this name.
#[unsafe(no_mangle)]
pub static MIDPLANE_BLACKBOARD: Blackboard = Blackboard::new();
/// Found by its symbol, as the blackboard is.
#[unsafe(no_mangle)]
pub static MIDPLANE_CALLERS: Callers = Callers::new();
/// Found by its symbol, as the blackboard is.
#[unsafe(no_mangle)]
pub static MIDPLANE_FAILED_MALLOC: FailedMalloc = FailedMalloc::new();
#[cfg(target_arch = "riscv64")]
pub use shared::*;

/// On boards whose memory the tool sees.
#[cfg(target_arch = "riscv64")]
mod shared {
    use crate::host::files::Desk;
    use crate::host::inbox::Inbox;
    use crate::host::outbox::Outbox;

    /// Found by its symbol, as the blackboard is.
    #[unsafe(no_mangle)]
    pub static MIDPLANE_FILES: Desk = Desk::new();
    /// Found by its symbol, as the blackboard is.
    #[unsafe(no_mangle)]
    pub static MIDPLANE_INBOX: Inbox = Inbox::new();
    /// Found by its symbol, as the blackboard is.
    #[unsafe(no_mangle)]
    pub static MIDPLANE_OUTBOX: Outbox = Outbox::new();
}

#[cfg(target_arch = "arm")]
pub use crate::board::stm32f405::records::*;

static PERSONALITY: Mutex<Cell<Option<Personality>>> = Mutex::new(Cell::new(None));

/// Who this node is; `None` early in the boot.
pub fn personality() -> Option<Personality> {
    critical_section::with(|cs| PERSONALITY.borrow(cs).get())
}

/// Says who this node is.
pub fn set_personality(who: Personality) {
    critical_section::with(|cs| PERSONALITY.borrow(cs).set(Some(who)));
}

/// The node's name for messages.
pub fn node_name() -> NodeName {
    NodeName(personality().map(|p| (p.rank, p.coord)))
}
