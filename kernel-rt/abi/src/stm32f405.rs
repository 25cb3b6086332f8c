//! Addresses of the STM32F405 board, used by image and tool.

use super::address::{AddressRange, PAGE};
use super::{files, inbox, outbox};

/// Flash.
pub const FLASH: AddressRange = AddressRange {
    start: 0x0800_0000,
    end: 0x0810_0000,
};
/// The sector of flash with the personality.
pub const PERSONALITY: AddressRange = AddressRange {
    start: 0x080e_0000,
    end: FLASH.end,
};
/// RAM. The 64 KiB accessible only to the processor (CCM) are not used.
pub const RAM: AddressRange = AddressRange {
    start: 0x2000_0000,
    end: 0x2002_0000,
};

// Addresses of the records in the memory of a tool that emulates the board, which are too large for the board's own
// memory: they continue after the end of RAM.
/// The outbox.
pub const OUTBOX: u64 = RAM.end;
/// The inbox.
pub const INBOX: u64 = OUTBOX + (outbox::BYTES as u64).next_multiple_of(64);
/// The file call mailbox.
pub const FILES: u64 = INBOX + (size_of::<inbox::Inbox>() as u64).next_multiple_of(64);
/// Their end.
pub const WINDOW_END: u64 = (FILES + size_of::<files::FileMailbox>() as u64).next_multiple_of(PAGE);
/// Size of the file through which the tool accesses a node: its RAM, and those records.
pub const WINDOW_BYTES: u64 = WINDOW_END - RAM.start;

/// Minimum heap of the program, in bytes. The boot temporarily uses it for the parts of the node.
pub const MIN_HEAP: u64 = 12 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap() {
        const {
            assert!(PERSONALITY.start >= FLASH.start && PERSONALITY.end <= FLASH.end);
            assert!(OUTBOX < INBOX && INBOX < FILES && FILES < WINDOW_END);
            assert!(OUTBOX + outbox::BYTES as u64 <= INBOX);
        }
        for at in [OUTBOX, INBOX, FILES] {
            assert!(at.is_multiple_of(8));
        }
    }
}
