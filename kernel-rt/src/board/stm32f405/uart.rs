//! The bell; and what a node prints that no tool looks after, which goes to the debug probe's trace port (ITM, port 0),
//! since all USARTs are links.

use cortex_m::peripheral::ITM;

pub use super::tool::{ring, show};

/// How often the port is asked before a byte is given up: no probe may listen.
const PATIENCE: u32 = 20_000;

/// Sends `byte`; false when no probe takes it, and it was dropped.
pub fn put(byte: u8) -> bool {
    // SAFETY: the port's registers, which every Cortex-M4 has; on one processor, and a byte at a time.
    let itm = unsafe { &mut *ITM::PTR };
    const ENABLED: u32 = 1;
    if itm.tcr.read() & ENABLED == 0 || itm.ter[0].read() & 1 == 0 {
        return false;
    }
    for _ in 0..PATIENCE {
        if itm.stim[0].is_fifo_ready() {
            itm.stim[0].write_u8(byte);
            return true;
        }
    }
    false
}
