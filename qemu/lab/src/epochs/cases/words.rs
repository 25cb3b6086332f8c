//! Short constructors of calls.

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::EpochKind;
use midplane_device::rma::wire::PacketKind;

use crate::epochs::memory::{BUFFERS, WINDOW};
use crate::epochs::script::{Call, Do};

pub(super) fn post(window: usize, from: &[u32]) -> Call {
    Call::Open(window, EpochKind::Post, from.to_vec())
}

pub(super) fn start(window: usize, to: &[u32]) -> Call {
    Call::Open(window, EpochKind::Start, to.to_vec())
}

pub(super) fn fence(window: usize) -> Call {
    Call::Open(window, EpochKind::Fence, Vec::new())
}

pub(super) fn lock(window: usize, target: u32, is_exclusive: bool) -> Call {
    let target = Rank::new(target);
    let sort = EpochKind::Lock {
        target,
        is_exclusive,
    };
    Call::Open(window, sort, Vec::new())
}

pub(super) fn lock_all(window: usize) -> Call {
    Call::Open(window, EpochKind::LockAll, Vec::new())
}

/// Creates an operation on two bytes of buffer `from`, which has space for eight, and offset `place` of the target.
pub(super) fn operation(
    kind: PacketKind,
    (epoch, target): (usize, u32),
    place: usize,
    from: usize,
) -> Call {
    Call::Do(Do {
        other: BUFFERS + 8 * from + 4,
        ..Do::new((epoch, target), kind, (place, BUFFERS + 8 * from), 2)
    })
}

/// Creates a get of more bytes than a reply contains.
pub(super) fn long_get(at: (usize, u32), place: usize, into: usize) -> Call {
    Call::Do(Do::new(at, PacketKind::Get, (place, BUFFERS + 8 * into), 20))
}

pub(super) fn put(at: (usize, u32), place: usize, from: usize) -> Call {
    operation(PacketKind::Put, at, place, from)
}

pub(super) fn buffer(number: usize, bytes: [u8; 2]) -> Call {
    Call::Write(BUFFERS + 8 * number, bytes.to_vec())
}

pub(super) fn finds(number: usize, bytes: [u8; 2]) -> Call {
    Call::Expect(BUFFERS + 8 * number, bytes.to_vec())
}

pub(super) fn has(window: usize, place: usize, bytes: [u8; 2]) -> Call {
    Call::Expect(window * WINDOW + place, bytes.to_vec())
}
