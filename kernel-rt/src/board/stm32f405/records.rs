//! Records in the host tool's memory. The linker script defines their symbols for the tool.
#![forbid(unsafe_code)]

use midplane_abi::remote::{RemoteInbox, RemoteMailbox, RemoteOutbox};
use midplane_abi::stm32f405::{FILES, INBOX, OUTBOX, RAM};

use super::semihosting::ToolFile;

/// See [`midplane_abi::outbox`].
pub static MIDPLANE_OUTBOX: RemoteOutbox<ToolFile> = RemoteOutbox::new(ToolFile, OUTBOX - RAM.start);
/// See [`midplane_abi::inbox`].
pub static MIDPLANE_INBOX: RemoteInbox<ToolFile> = RemoteInbox::new(ToolFile, INBOX - RAM.start);
/// See [`midplane_abi::files`].
pub static MIDPLANE_FILES: RemoteMailbox<ToolFile> = RemoteMailbox::new(ToolFile, FILES - RAM.start);
