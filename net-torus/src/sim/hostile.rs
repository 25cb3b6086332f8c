//! Fuzzing harness: a router whose neighbours send arbitrary data.
//!
//! [`drive`] interprets bytes as a script of frames, injections and receptions, and checks the router's invariants
//! after each step. A fuzzer (`net-torus/fuzz`) provides the scripts, and the tests use a bounded number of random
//! ones.

use crate::chunk::CHUNK_BYTES;
use crate::coord::{Coord, Direction, Shape};
use crate::inject::RoutingMode;
use crate::router::{BufferSizes, Router};
use crate::stats::Stats;
use crate::vc::Vc;
use crate::wire::{DirectionSet, Fifo, FrameRepr, HEADER_BYTES, HeaderRepr, HeaderWord, Packet};

/// Maximum packet in bytes that a header's size field can specify, whether or not the profile supports it.
const MAX_BYTES: usize = 8 * CHUNK_BYTES;

/// Script reader; returns zeros after the end.
struct ScriptReader<'a>(&'a [u8]);

impl ScriptReader<'_> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }
    fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }
    fn coord(&mut self) -> Coord {
        // Mostly inside the machine.
        Coord::from_axes([(); 3].map(|()| {
            let byte = self.byte();
            if byte < 240 { byte % 4 } else { byte }
        }))
    }
}

/// Runs the script `data` on one router of a 4 x 4 x 3 machine, torus in X and Z, and returns the router's counters.
/// The first byte specifies the exact links. Panics when the router violates an invariant, or sends a frame that a
/// correct neighbour would reject.
pub fn drive(data: &[u8]) -> Stats {
    let mut script = ScriptReader(data);
    let sizes = BufferSizes {
        dynamic: 2,
        normal: 3,
        priority: 2,
        inject_normal: 2,
        inject_priority: 1,
        receive_normal: 3,
        receive_priority: 2,
    };
    let Some(shape) = Shape::new([4, 4, 3], [true, false, true]) else {
        return Stats::default();
    };
    let mut memory = vec![[0; 32]; sizes.chunks()];
    let here = Coord { x: 1, y: 0, z: 2 };
    let mut router = match Router::new(shape, here, sizes, &mut memory) {
        Ok(router) => router,
        Err(error) => panic!("{error}"),
    };
    let exact = DirectionSet::from_bits(script.byte());
    router.set_exact(exact);
    while !script.0.is_empty() {
        let kind = script.byte();
        let d = Direction::ALL[script.byte() as usize % 6];
        match kind % 8 {
            // Arbitrary bytes.
            0 => {
                let len = (script.byte() as usize).min(script.0.len());
                let (frame, rest) = script.0.split_at(len);
                script.0 = rest;
                receive(&mut router, d, frame);
            }
            1..=3 => {
                let frame = good_frame(&mut script, &router, d);
                receive(&mut router, d, &frame);
            }
            4 => {
                let fifo = Fifo::ALL[script.byte() as usize % 2];
                let routing = match script.byte() % 2 {
                    0 => RoutingMode::Deterministic,
                    _ => RoutingMode::Adaptive,
                };
                let (dest, len) = (script.coord(), script.byte() as usize);
                // Any result is acceptable.
                let _ = router.inject_with(fifo, dest, len, routing, |body| body.fill(0x5A));
            }
            5 => {
                let (fifo, hops) = (Fifo::ALL[script.byte() as usize % 2], script.byte() as u16);
                let len = fifo.body_bytes();
                let _ = router.inject_line(fifo, d, hops % 5, len, |body| body.fill(1));
            }
            6 => {
                let fifo = Fifo::ALL[script.byte() as usize % 2];
                let before = router.head(fifo).map(<[u8]>::len);
                assert!(before.is_none_or(|len| len <= fifo.body_bytes()));
                router.pop(fifo);
            }
            _ => {
                let mut buffer = [0; 1514];
                let size = router.fill_frame(d, &mut buffer);
                check_output(&router, d, &buffer[..size], exact.has(d));
            }
        }
        router.assert_invariants();
    }
    router.stats().clone()
}

/// Returns a frame with a valid header, then packets with valid checksums and arbitrary fields.
fn good_frame(script: &mut ScriptReader<'_>, router: &Router<'_>, d: Direction) -> Vec<u8> {
    let mut packets = Vec::new();
    for _ in 0..script.byte() % 6 {
        let mut packet = [0; MAX_BYTES];
        let header = any_header(script, router, d);
        packet[..header.len()].copy_from_slice(&header);
        let chunks = (header[2] & 7) as usize + 1;
        packets.extend_from_slice(&packet[..chunks * CHUNK_BYTES]);
    }
    // Some frames end within their last packet, some are longer than their packets.
    let cut = if script.byte() < 16 {
        packets.len() / 64 * 32
    } else {
        packets.len()
    };
    packets.truncate(cut);
    let lie = (script.byte() < 16) as u16;
    let header = FrameRepr {
        chunks: (packets.len() / CHUNK_BYTES) as u16 + lie,
        granted: [(); Vc::COUNT].map(|()| match script.word() {
            few @ 0..60_000 => few % 128,
            any => any.wrapping_mul(7),
        }),
    };
    let mut frame = header.emit().to_vec();
    frame.extend(packets);
    frame
}

/// Returns a header. Most are valid or nearly so; all fields occur with all values, mostly with a valid checksum.
fn any_header(script: &mut ScriptReader<'_>, router: &Router<'_>, side: Direction) -> [u8; 8] {
    let dest = script.coord();
    let shape = router.shape();
    let from = shape.neighbour(router.coord(), side).unwrap_or_default();
    let kind = script.byte();
    let (vc, fifo, dynamic) = match kind % 5 {
        0 => (Vc::D0, Fifo::Normal, true),
        1 => (Vc::D1, Fifo::Normal, true),
        2 => (Vc::Bn, Fifo::Normal, true),
        3 => (Vc::Bn, Fifo::Normal, false),
        _ => (Vc::Bp, Fifo::Priority, false),
    };
    let mut header = HeaderRepr {
        hints: match script.byte() {
            hints @ 0..64 => DirectionSet::from_bits(hints),
            // The neighbour's shortest route, which may use this node.
            _ => crate::route::hints(shape, from, dest),
        },
        deposit: kind < 32,
        dynamic,
        vc,
        fifo,
        body: match script.byte() {
            any if any % 8 == 0 => any.min((MAX_BYTES - HEADER_BYTES) as u8),
            fits => fits.min(fifo.body_bytes() as u8),
        },
        dest,
    }
    .emit();
    if dynamic {
        // Without dynamic channels `emit` omits the bit.
        header[1] |= DYNAMIC_BIT;
        sum(&mut header);
    }
    if kind >= 200 {
        header[script.byte() as usize % 8] ^= script.byte();
        if kind >= 210 {
            sum(&mut header);
        }
    }
    header
}

/// Dynamic bit in byte 1 of a header.
const DYNAMIC_BIT: u8 = 1 << 7;

/// Updates a header's checksum.
fn sum(header: &mut [u8; HEADER_BYTES]) {
    HeaderWord::read(header).with_checksum().put(header);
}

fn receive(router: &mut Router<'_>, d: Direction, frame: &[u8]) {
    let before = (router.stats().received(), router.stats().all_defects());
    router.receive_frame(d, frame);
    let after = (router.stats().received(), router.stats().all_defects());
    assert!(after.0.packets >= before.0.packets && after.1 >= before.1);
}

/// Checks that the output is valid for any input.
fn check_output(router: &Router<'_>, d: Direction, frame: &[u8], exact: bool) {
    if frame.is_empty() {
        return;
    }
    let parsed = if exact {
        FrameRepr::parse_unsummed(frame)
    } else {
        FrameRepr::parse(frame)
    };
    let mut packets = match parsed {
        Ok((_, packets)) => packets,
        Err(defect) => panic!("sent a bad frame: {defect:?}"),
    };
    let there = router.shape().neighbour(router.coord(), d);
    while !packets.is_empty() {
        let packet = if exact {
            Packet::new_unsummed(packets)
        } else {
            Packet::new_checked(packets)
        };
        let packet = match packet {
            Ok(packet) => packet,
            Err(defect) => panic!("sent a bad packet: {defect:?}"),
        };
        let repr = packet.repr();
        let good = there.is_some_and(|there| {
            let links = router.shape().links(there);
            let place = HeaderWord::to(there, DirectionSet::NONE, false);
            crate::route::check(router.shape(), place, links, d.opposite(), repr.word()).is_ok()
        });
        assert!(good, "sent {repr:?} where it cannot go on");
        packets = &packets[repr.chunks() * CHUNK_BYTES..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS, PRIORITY_CHUNKS};
    use crate::wire::{BODY_BYTES, FRAME_HEADER_BYTES, FrameError};
    use oorandom::Rand32;

    #[test]
    fn no_script_breaks_the_router() {
        let (mut delivered, mut forwarded, mut escapes, mut deposits) = (0, 0, 0, 0);
        let mut dynamic = 0;
        let mut defects = [0; FrameError::COUNT];
        for seed in 0..5000 {
            let mut random = Rand32::new(seed);
            let script: Vec<u8> = (0..4000).map(|_| (random.rand_u32() >> 13) as u8).collect();
            let stats = drive(&script);
            delivered += stats.fifos.iter().map(|f| f.delivered.packets).sum::<u64>();
            forwarded += stats.forwarded().packets;
            (escapes, deposits) = (escapes + stats.escapes, deposits + stats.deposits);
            let by_dynamic = stats.channels.iter().flat_map(|side| &side[..2]);
            dynamic += by_dynamic.map(|c| c.received.packets).sum::<u64>();
            for (all, new) in defects.iter_mut().zip(stats.defects) {
                *all += new;
            }
        }
        // The scripts reach deep states and every kind of defect.
        assert!(delivered > 1000 && forwarded > 1000, "{delivered} {forwarded}");
        assert!(deposits > 100, "{deposits}");
        if HAS_DYNAMIC {
            assert!(escapes > 0 && dynamic > 1000, "{escapes} {dynamic}");
        } else {
            assert_eq!((escapes, dynamic), (0, 0), "no packet on a dynamic channel is taken");
        }
        for kind in FrameError::ALL {
            assert!(defects[kind as usize] > 0, "{kind:?} {defects:?}");
        }
    }

    /// A node in the middle of a 3 x 3 x 1 mesh, and a valid packet for its reception FIFO.
    fn good() -> HeaderRepr {
        HeaderRepr {
            hints: DirectionSet::NONE.with(Direction::XPlus),
            deposit: false,
            dynamic: false,
            vc: Vc::Bn,
            fifo: Fifo::Normal,
            body: 24,
            dest: Coord { x: 2, y: 1, z: 0 },
        }
    }

    #[test]
    fn bad_packets_are_counted_by_kind_and_move_nothing() {
        let shape = Shape::new([3, 3, 1], [false; 3]).unwrap();
        let here = Coord { x: 1, y: 1, z: 0 };
        let mut memory = vec![[0; 32]; BufferSizes::SMALLEST.chunks()];
        let mut router = Router::new(shape, here, BufferSizes::SMALLEST, &mut memory).unwrap();
        let outside = Coord { x: 3, y: 1, z: 0 };
        let frame = |header: [u8; 8]| {
            let frame = FrameRepr {
                chunks: 1,
                granted: [0; 4],
            };
            let mut bytes = frame.emit().to_vec();
            bytes.extend(header);
            bytes.resize(16 + 32, 0);
            bytes
        };
        let with = |dest, hints: &[Direction]| {
            let hints = hints.iter().fold(DirectionSet::NONE, |s, &d| s.with(d));
            let repr = HeaderRepr { dest, hints, ..good() };
            frame(repr.emit())
        };
        let mut flipped = frame(good().emit());
        flipped[16 + 3] ^= 1;
        let mut too_long = frame(
            HeaderRepr {
                body: BODY_BYTES as u8,
                ..good()
            }
            .emit(),
        );
        too_long.truncate(48);
        let mut not_a_frame = frame(good().emit());
        not_a_frame[0] ^= 1;
        let grant = FrameRepr {
            chunks: 0,
            granted: [0, 0, 0x7fff, 0],
        };
        let cases = [
            (with(outside, &[Direction::XPlus]), FrameError::Destination),
            (with(good().dest, &[Direction::XMinus]), FrameError::Hints),
            (with(good().dest, &[]), FrameError::Hints),
            (flipped, FrameError::Checksum),
            (too_long, FrameError::Size),
            (not_a_frame, FrameError::FrameHeader),
            (frame(good().emit())[..40].to_vec(), FrameError::FrameTruncated),
            (vec![], FrameError::FrameTruncated),
            (grant.emit().to_vec(), FrameError::Grant),
        ];
        for (bytes, defect) in cases {
            let before = router.stats().defects_of(defect);
            router.receive_frame(Direction::XMinus, &bytes);
            assert_eq!(router.stats().defects_of(defect), before + 1, "{defect:?}");
            assert!(router.is_empty(), "{defect:?}");
        }
        assert_eq!(router.stats().received().packets, 0);
        // The valid packet three times: the third does not fit, since its sender had no tokens for it.
        for _ in 0..3 {
            router.receive_frame(Direction::XMinus, &frame(good().emit()));
        }
        assert_eq!(router.stats().received().packets, 2);
        assert_eq!(router.stats().defects_of(FrameError::Overrun), 1);
        router.assert_invariants();
    }

    /// Each header with features that the profile lacks is a defect, and the packet after it is received.
    #[test]
    fn packets_that_the_profile_does_not_have_are_defects() {
        let shape = Shape::new([3, 3, 1], [false; 3]).unwrap();
        let here = Coord { x: 2, y: 1, z: 0 };
        let sizes = BufferSizes::BLUE_GENE;
        let mut taken = 0;
        for exact in [false, true] {
            for (vc, fifo, dynamic, chunks) in all_kinds() {
                let mut memory = vec![[0; 32]; sizes.chunks()];
                let mut router = Router::new(shape, here, sizes, &mut memory).unwrap();
                if exact {
                    router.set_exact(router.links());
                }
                let mut header = HeaderRepr {
                    vc,
                    fifo,
                    body: (chunks * CHUNK_BYTES - HEADER_BYTES) as u8,
                    ..good()
                }
                .emit();
                header[1] |= if dynamic { DYNAMIC_BIT } else { 0 };
                sum(&mut header);
                let mut frame = FrameRepr {
                    chunks: chunks as u16 + 1,
                    granted: [0; 4],
                }
                .emit()
                .to_vec();
                frame.extend(header);
                frame.resize(FRAME_HEADER_BYTES + chunks * CHUNK_BYTES, 0);
                frame.extend(good().emit());
                frame.extend([0; CHUNK_BYTES - HEADER_BYTES]);
                let fits = match (vc, fifo, dynamic) {
                    (Vc::D0 | Vc::D1 | Vc::Bn, Fifo::Normal, true) => HAS_DYNAMIC,
                    (Vc::Bn, Fifo::Normal, false) => true,
                    (Vc::Bp, Fifo::Priority, false) => chunks <= PRIORITY_CHUNKS,
                    _ => false,
                };
                let is_good = fits && chunks <= PACKET_CHUNKS;
                let kind = format!("{vc:?} {fifo:?} {dynamic} {chunks}");
                assert_eq!(router.receive_frame(Direction::XMinus, &frame), is_good, "{kind}");
                let stats = router.stats();
                let defects = u64::from(!is_good);
                assert_eq!(stats.defects_of(FrameError::Channel), defects, "{kind}");
                assert_eq!(stats.all_defects(), defects, "{kind}");
                assert_eq!(stats.received().packets, 2 - defects, "{kind}");
                assert!(router.head(Fifo::Normal).is_some(), "{kind}");
                router.assert_invariants();
                taken += 1 - defects;
            }
        }
        // On exact links and others: BN and BP of each size; with dynamic channels, three more channels.
        let ways = PACKET_CHUNKS + PRIORITY_CHUNKS + if HAS_DYNAMIC { 3 * PACKET_CHUNKS } else { 0 };
        assert_eq!(taken, 2 * ways as u64);
    }

    /// Returns all combinations of channel, FIFO, dynamic bit and size in chunks.
    fn all_kinds() -> impl Iterator<Item = (Vc, Fifo, bool, usize)> {
        (0..4 * 2 * 2 * 8).map(|kind| {
            let (vc, fifo) = (Vc::ALL[kind / 32], Fifo::ALL[kind / 16 % 2]);
            (vc, fifo, kind / 8 % 2 != 0, kind % 8 + 1)
        })
    }

    #[test]
    fn checksums_are_for_links_that_are_not_exact() {
        let shape = Shape::new([4, 1, 1], [true; 3]).unwrap();
        let router = |x, exact: DirectionSet| {
            let memory = vec![[0; 32]; BufferSizes::BLUE_GENE.chunks()].leak();
            let here = Coord { x, y: 0, z: 0 };
            let mut router = Router::new(shape, here, BufferSizes::BLUE_GENE, memory).unwrap();
            router.set_exact(exact);
            router
        };
        let (up, down) = (
            DirectionSet::NONE.with(Direction::XPlus),
            DirectionSet::NONE.with(Direction::XMinus),
        );
        // Exact from the first node to the second, then not.
        let mut nodes = [router(0, up), router(1, down), router(2, DirectionSet::NONE)];
        let mut frame = [0xEE; 1514];
        for to in [1, 0] {
            let size = nodes[to + 1].fill_frame(Direction::XMinus, &mut frame);
            nodes[to].receive_frame(Direction::XPlus, &frame[..size]);
        }
        let dest = Coord { x: 2, y: 0, z: 0 };
        let filled = |body: &mut [u8]| body.copy_from_slice(b"as it was");
        nodes[0].inject(Fifo::Normal, dest, 9, filled).unwrap();
        let size = nodes[0].fill_frame(Direction::XPlus, &mut frame);
        let at = FRAME_HEADER_BYTES;
        assert_eq!((&frame[12..16], frame[at]), (&[0; 4][..], 0), "nothing was summed");
        frame[at] = 0xA5;
        frame[12..16].fill(0xA5);
        nodes[1].receive_frame(Direction::XMinus, &frame[..size]);
        assert_eq!(nodes[1].stats().all_defects(), 0, "nothing was compared");
        let size = nodes[1].fill_frame(Direction::XPlus, &mut frame);
        let mut bad = frame;
        for place in [12, at] {
            bad[place] ^= 1;
            nodes[2].receive_frame(Direction::XMinus, &bad[..size]);
            bad[place] ^= 1;
        }
        assert_eq!(nodes[2].stats().defects_of(FrameError::FrameHeader), 1);
        assert_eq!(nodes[2].stats().defects_of(FrameError::Checksum), 1);
        assert_eq!(nodes[2].head(Fifo::Normal), None);
        nodes[2].receive_frame(Direction::XMinus, &frame[..size]);
        assert_eq!(nodes[2].head(Fifo::Normal), Some(&b"as it was"[..]));
    }

    #[test]
    fn the_rest_of_a_frame_survives_a_bad_packet_whose_size_is_known() {
        let shape = Shape::new([3, 3, 1], [false; 3]).unwrap();
        let here = Coord { x: 2, y: 1, z: 0 };
        let mut memory = vec![[0; 32]; BufferSizes::BLUE_GENE.chunks()];
        let mut router = Router::new(shape, here, BufferSizes::BLUE_GENE, &mut memory).unwrap();
        let outside = HeaderRepr {
            dest: Coord { x: 9, y: 9, z: 9 },
            ..good()
        };
        let mut frame = FrameRepr {
            chunks: 3,
            granted: [0; 4],
        }
        .emit()
        .to_vec();
        for header in [good().emit(), outside.emit(), good().emit()] {
            frame.extend(header);
            frame.extend([0; 24]);
        }
        router.receive_frame(Direction::XMinus, &frame);
        assert_eq!(router.stats().fifos[0].delivered.packets, 2);
        assert_eq!(router.stats().defects_of(FrameError::Destination), 1);
    }
}
