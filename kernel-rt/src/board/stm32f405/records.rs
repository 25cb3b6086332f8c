//! Records in the host tool's memory. The linker script defines their symbols for the tool.
#![forbid(unsafe_code)]

use midplane_abi::remote::{Desk, Inbox, Outbox};
use midplane_abi::stm32f405::{FILES, INBOX, OUTBOX, RAM};

use super::tool::ToolFile;

/// See [`midplane_abi::outbox`].
pub static MIDPLANE_OUTBOX: Outbox<ToolFile> = Outbox::new(ToolFile, OUTBOX - RAM.start);
/// See [`midplane_abi::inbox`].
pub static MIDPLANE_INBOX: Inbox<ToolFile> = Inbox::new(ToolFile, INBOX - RAM.start);
/// See [`midplane_abi::files`].
pub static MIDPLANE_FILES: Desk<ToolFile> = Desk::new(ToolFile, FILES - RAM.start);
