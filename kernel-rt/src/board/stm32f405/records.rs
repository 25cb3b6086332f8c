//! The records that lie in the tool's memory. Their symbols, at which the tool finds them, are the linker script's.
#![forbid(unsafe_code)]

use super::memory::{FILES, INBOX, OUTBOX, RAM};
use super::tool::ToolFile;
use crate::host::remote::{Desk, Inbox, Outbox};

/// See [`crate::host::outbox`].
pub static MIDPLANE_OUTBOX: Outbox<ToolFile> = Outbox::new(ToolFile, OUTBOX - RAM.start);
/// See [`crate::host::inbox`].
pub static MIDPLANE_INBOX: Inbox<ToolFile> = Inbox::new(ToolFile, INBOX - RAM.start);
/// See [`crate::host::files`].
pub static MIDPLANE_FILES: Desk<ToolFile> = Desk::new(ToolFile, FILES - RAM.start);
