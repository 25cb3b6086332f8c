//! The records of this image that the tool sees in the node's memory, beside the [host's](crate::host::records). It finds
//! them by their symbols.

use crate::host::files::Desk;
use crate::host::inbox::Inbox;
use crate::host::outbox::Outbox;

/// See [`crate::host::files`].
#[unsafe(no_mangle)]
pub static MIDPLANE_FILES: Desk = Desk::new();
/// See [`crate::host::inbox`].
#[unsafe(no_mangle)]
pub static MIDPLANE_INBOX: Inbox = Inbox::new();
/// See [`crate::host::outbox`].
#[unsafe(no_mangle)]
pub static MIDPLANE_OUTBOX: Outbox = Outbox::new();
