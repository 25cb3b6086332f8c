//! Packets held for more pieces, and their transmission.

use super::*;
use crate::extensions::PendingPackets;
use crate::memory::Span;
use crate::rma::DataPieces;

impl RmaFixture {
    /// Sends a put or an accumulate of the origin's first `len` bytes, in units of `unit`.
    fn send(&mut self, (from, to): (usize, usize), kind: PacketKind, place: u64, (len, unit): (usize, usize)) {
        let mut pieces = DataPieces {
            target: rank(to),
            head: RequestHead {
                operation: 1,
                ..RequestHead::new(kind, WINDOW)
            },
            unit,
            from: Span::model(ORIGIN, 2048),
            offset: 0,
            len,
            place,
        };
        while !self.all[from].push_pieces(&mut self.buffers[from], &mut pieces) {
            assert!(self.leave(from) > 0, "no room, and nothing to leave");
        }
        assert_eq!(pieces.len, 0);
    }

    fn put_bytes(&mut self, to: usize, place: u64) {
        self.send((0, to), PacketKind::Put, place, (8, 1));
    }

    fn due(&self) -> PendingPackets {
        self.all[0].pending_packets()
    }
}

fn rig() -> RmaFixture {
    let mut rig = RmaFixture::new(3, 2048);
    rig.buffers[0].0[1]
        .iter_mut()
        .zip(1..=200)
        .for_each(|(byte, value)| *byte = value);
    rig
}

/// All puts that fit one packet are sent together, and no later than when it is full: no space for one more.
#[test]
fn short_puts_share_a_packet_that_leaves_when_it_is_full() {
    const IN_ONE: u64 = ((SHORT_BYTES - HEAD_BYTES) / (PIECE_BYTES + 8)) as u64;
    let mut rig = rig();
    assert_eq!(rig.due(), PendingPackets::None);
    for round in 0..3 {
        for place in 1..IN_ONE {
            rig.put_bytes(1, place * 8);
            assert_eq!(rig.due(), PendingPackets::Coalescing, "round {round}, place {place}");
        }
        rig.put_bytes(1, IN_ONE * 8);
        assert_eq!(rig.due(), PendingPackets::Now);
        assert_eq!(rig.leave(0), 1);
        assert_eq!(rig.due(), PendingPackets::None);
    }
    rig.settle();
    let expected = (1..=8).collect::<Vec<u8>>().repeat(IN_ONE as usize);
    assert_eq!(rig.buffers[1].0[0][8..][..8 * IN_ONE as usize], expected);
    assert!(
        rig.window(0).peers.has(rank(1), PeerFlags::TOUCHED),
        "a flush has to ask"
    );
}

/// Another target, operation or window requires another packet: then neither is held.
#[test]
fn only_pieces_of_one_kind_share_a_packet() {
    for (to, kind) in [(2, PacketKind::Put), (1, PacketKind::Accumulate)] {
        let mut rig = rig();
        rig.put_bytes(1, 0);
        rig.send((0, to), kind, 0, (8, 1));
        assert_eq!(rig.due(), PendingPackets::Now);
        assert_eq!(rig.leave(0), 2);
        rig.settle();
        let sum = |k: u8| if to == 1 { 2 * k } else { k };
        let expected: Vec<u8> = (1..=8).map(sum).collect();
        assert_eq!(rig.buffers[to].0[0][..8], expected);
    }
}

/// The program's order is kept at the target: all packets are sent before the end of the epoch.
#[test]
fn whatever_else_is_to_be_said_ends_it() {
    let flush = packet(PacketKind::Flush, 0, 0, &[]);
    let say: [fn(&mut RmaFixture, &[u8]); 5] = [
        |rig, flush| assert!(rig.all[0].push((WINDOW, rank(1)), 7, flush)),
        |rig, _| {
            rig.get(0, 1, (0, 8), 64);
        },
        |rig, _| {
            rig.begin(0, EpochKind::Fence, &[], ticket());
        },
        |rig, _| {
            let epoch = rig.begin(0, lock(1), &[], ticket());
            rig.leave(0);
            rig.put_bytes(1, 0);
            rig.end(0, epoch);
        },
        |rig, _| {
            let flushed = rig.all[0].flush((WINDOW, 0, Some(rank(1))), false, None);
            assert!(flushed.is_some());
        },
    ];
    for (case, say) in say.into_iter().enumerate() {
        let mut rig = rig();
        rig.put_bytes(1, 0);
        assert_eq!(rig.due(), PendingPackets::Coalescing, "case {case}");
        say(&mut rig, &flush[..HEAD_BYTES]);
        assert_eq!(rig.due(), PendingPackets::Now, "case {case}");
        // No piece is added to it.
        rig.put_bytes(1, 8);
        let mut out = [0; SHORT_BYTES];
        let leaving = rig.all[0].next_packet(&mut rig.buffers[0], &mut out);
        assert_eq!(
            leaving.map(|leaving| leaving.len),
            Some(HEAD_BYTES + PIECE_BYTES + 8),
            "case {case}"
        );
    }
}

/// An operation longer than a packet uses several, each of whole units; the last one is held if it has space.
#[test]
fn long_operations_fill_packets_with_whole_units() {
    for (len, unit) in [(1600, 1), (1600, 32), (1024, 16), (232, 8), (7, 7)] {
        let mut rig = rig();
        let mut pieces_left = len;
        let mut packets = 0;
        while pieces_left > 0 {
            let most = pieces_left.min(MAX_BYTES);
            pieces_left -= most - most % unit;
            packets += 1;
        }
        rig.send((0, 1), PacketKind::Put, 3, (len, unit));
        rig.leave(0);
        assert_eq!(rig.left, packets, "{len} bytes, {unit} together");
        rig.settle();
        let (there, here) = (&rig.buffers[1].0[0][3..][..len], &rig.buffers[0].0[1][..len]);
        assert_eq!(there, here);
    }
}

/// The ring buffer is bounded: the caller keeps the pieces that do not fit.
#[test]
fn what_the_ring_has_no_room_for_is_left() {
    let mut rig = rig();
    let mut pieces = DataPieces {
        target: rank(1),
        head: RequestHead::new(PacketKind::Put, WINDOW),
        unit: 1,
        from: Span::model(ORIGIN, 2048),
        offset: 0,
        len: 2040,
        place: 0,
    };
    let mut rounds = 0;
    while !rig.all[0].push_pieces(&mut rig.buffers[0], &mut pieces) {
        assert!(pieces.len > 0);
        assert_eq!(rig.leave(0), RING_PACKETS);
        rounds += 1;
    }
    assert!(rounds > 0 && pieces.len == 0);
    rig.settle();
    assert_eq!(rig.buffers[1].0[0][..2040], rig.buffers[0].0[1][..2040]);
}

/// A put to this process itself is applied immediately.
#[test]
fn a_put_at_oneself_makes_no_packet() {
    let mut rig = rig();
    rig.send((0, 0), PacketKind::Put, 100, (600, 1));
    assert_eq!(rig.due(), PendingPackets::None);
    assert_eq!(rig.buffers[0].0[0][100..][..600], rig.buffers[0].0[1][..600]);
}
