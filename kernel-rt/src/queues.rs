//! Message queues of a blocked node for the host tool: converts those of the device to the record.
#![forbid(unsafe_code)]

use midplane_abi::blackboard::Blackboard;
use midplane_abi::message_queues::{QueueEntry, QueueKind, QueueRecord};
use midplane_device::{Adi, queues};

/// Writes the queues of the node's current call, as shown on its `blackboard`, to `record`.
pub fn show_queues(record: &QueueRecord, blackboard: &Blackboard, adi: &mut Adi) {
    record.write(blackboard.calls_entered(), |add| {
        adi.visit_queues(&mut |entry| add(convert(&entry)));
    });
}

fn convert(entry: &queues::QueueEntry) -> QueueEntry {
    QueueEntry {
        kind: match entry.kind {
            queues::QueueKind::PostedReceive => QueueKind::PostedReceive,
            queues::QueueKind::PendingSend => QueueKind::PendingSend,
            queues::QueueKind::UnexpectedMessage => QueueKind::UnexpectedMessage,
            queues::QueueKind::WindowGrant => QueueKind::WindowGrant,
            queues::QueueKind::WindowEpoch => QueueKind::WindowEpoch,
            queues::QueueKind::LockHolder => QueueKind::LockHolder,
        },
        is_complete: entry.is_complete,
        context: entry.context,
        peer: entry.peer.map(|rank| rank.index()),
        tag: entry.tag,
        bytes: entry.bytes as u64,
    }
}
