//! Short constructors of calls.

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::EpochKind;
use midplane_device::rma::wire::PacketKind;

use crate::epochs::memory::{BUFFERS, WINDOW};
use crate::epochs::script::{ScriptCall, TargetOp};

pub(super) fn post(window: usize, from: &[u32]) -> ScriptCall {
    ScriptCall::Open(window, EpochKind::Post, from.to_vec())
}

pub(super) fn start(window: usize, to: &[u32]) -> ScriptCall {
    ScriptCall::Open(window, EpochKind::Start, to.to_vec())
}

pub(super) fn fence(window: usize) -> ScriptCall {
    ScriptCall::Open(window, EpochKind::Fence, Vec::new())
}

pub(super) fn lock(window: usize, target: u32, is_exclusive: bool) -> ScriptCall {
    let target = Rank::new(target);
    let sort = EpochKind::Lock { target, is_exclusive };
    ScriptCall::Open(window, sort, Vec::new())
}

pub(super) fn lock_all(window: usize) -> ScriptCall {
    ScriptCall::Open(window, EpochKind::LockAll, Vec::new())
}

/// Creates an operation on two bytes of buffer `from`, which has space for eight, and offset `place` of the target.
pub(super) fn operation(kind: PacketKind, epoch: usize, target: u32, place: usize, from: usize) -> ScriptCall {
    ScriptCall::Operation(TargetOp {
        other: BUFFERS + 8 * from + 4,
        ..TargetOp::new(epoch, target, kind, place, BUFFERS + 8 * from, 2)
    })
}

/// Creates a get of more bytes than a reply contains.
pub(super) fn long_get(epoch: usize, target: u32, place: usize, into: usize) -> ScriptCall {
    ScriptCall::Operation(TargetOp::new(
        epoch,
        target,
        PacketKind::Get,
        place,
        BUFFERS + 8 * into,
        20,
    ))
}

pub(super) fn put(epoch: usize, target: u32, place: usize, from: usize) -> ScriptCall {
    operation(PacketKind::Put, epoch, target, place, from)
}

pub(super) fn buffer(number: usize, bytes: [u8; 2]) -> ScriptCall {
    ScriptCall::Write(BUFFERS + 8 * number, bytes.to_vec())
}

pub(super) fn finds(number: usize, bytes: [u8; 2]) -> ScriptCall {
    ScriptCall::Expect(BUFFERS + 8 * number, bytes.to_vec())
}

pub(super) fn has(window: usize, place: usize, bytes: [u8; 2]) -> ScriptCall {
    ScriptCall::Expect(window * WINDOW + place, bytes.to_vec())
}
