//! Records of this image that the tool reads in the node's memory, in addition to [those of all
//! boards](crate::records). It finds them by their symbols.

use midplane_abi::files::FileMailbox;
use midplane_abi::inbox::Inbox;
use midplane_abi::message_queues::QueueRecord;
use midplane_abi::outbox::Outbox;

/// See [`midplane_abi::files`].
#[unsafe(no_mangle)]
pub static MIDPLANE_FILES: FileMailbox = FileMailbox::new();
/// See [`midplane_abi::inbox`].
#[unsafe(no_mangle)]
pub static MIDPLANE_INBOX: Inbox = Inbox::new();
/// See [`midplane_abi::message_queues`].
#[unsafe(no_mangle)]
pub static MIDPLANE_QUEUES: QueueRecord = QueueRecord::new();
/// See [`midplane_abi::outbox`].
#[unsafe(no_mangle)]
pub static MIDPLANE_OUTBOX: Outbox = Outbox::new();
