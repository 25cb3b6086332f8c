//! Runs of packets, injected or received.

use super::*;
use crate::chunk::PACKET_BYTES;
use crate::inject::RoutingMode;
use crate::profile::PACKET_CHUNKS;
use crate::vc::Vc;
use crate::wire::{FRAME_HEADER_BYTES, FrameError, FrameRepr, HEADER_BYTES, HeaderRepr};

#[test]
fn packets_of_a_run_arrive_in_order_among_others() {
    let sizes = BufferSizes {
        inject_normal: 8,
        receive_normal: 8,
        dynamic: 8,
        normal: 8,
        ..BufferSizes::BLUE_GENE
    };
    for extents in [[2, 1, 1], [2, 2, 1], [1, 1, 1]] {
        let shape = Shape::new(extents, [true; 3]).unwrap();
        let dest = shape.coord(shape.nodes() - 1).unwrap();
        let mut nodes = machine(shape, sizes);
        let last = nodes.len() - 1;
        let (mut sent, mut arrived) = (0u8, Vec::new());
        for count in (1..=9).cycle().take(500) {
            let router = nodes[0].router_mut();
            let fill = |body: &mut [u8]| {
                body.fill(sent);
                sent = sent.wrapping_add(1);
            };
            match router.inject_run(dest, count, RoutingMode::Deterministic, fill) {
                Ok(injected) => assert!((1..=count).contains(&injected)),
                Err(error) => assert_eq!(error, InjectError::Full),
            }
            // A shorter packet follows, so that runs start anywhere.
            if router.can_inject(Fifo::Normal) {
                let fill = |body: &mut [u8]| body.fill(sent);
                router.inject(Fifo::Normal, dest, 40, fill).unwrap();
                sent = sent.wrapping_add(1);
            }
            step(&mut nodes);
            let most = count % 4;
            let taken = nodes[last].router_mut().take_run(Fifo::Normal, most, |_, body| {
                assert!(body.iter().all(|byte| *byte == body[0]));
                arrived.push(body[0]);
                arrived.len() % 3 != 0
            });
            assert!(taken <= most);
        }
        loop {
            let moved = step(&mut nodes);
            let router = nodes[last].router_mut();
            let taken = router.take_run(Fifo::Normal, 9, |_, body| {
                arrived.push(body[0]);
                true
            });
            if !moved && taken == 0 {
                break;
            }
        }
        assert!(arrived.len() > 256 && arrived.len() % 256 == sent as usize);
        assert!(arrived.iter().zip(0usize..).all(|(got, i)| *got == i as u8));
        for node in &nodes {
            node.router().assert_invariants();
            assert!(node.router().is_empty() && node.router().stats().all_defects() == 0);
        }
        let injected = nodes[0].router().stats().fifos[Fifo::Normal as usize].injected;
        let delivered = nodes[last].router().stats().fifos[Fifo::Normal as usize].delivered;
        assert_eq!((injected, injected.packets as usize), (delivered, arrived.len()));
    }
}

#[test]
fn a_run_is_chosen_once() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let sizes = BufferSizes {
        normal: 8,
        ..BufferSizes::BLUE_GENE
    };
    let mut nodes = machine(shape, sizes);
    while step(&mut nodes) {}
    let dest = shape.coord(1).unwrap();
    let looks = [1, 3].map(|count| {
        let router = nodes[0].router_mut();
        let fill = |body: &mut [u8]| body.fill(1);
        let injected = router.inject_run(dest, count, RoutingMode::Deterministic, fill);
        assert_eq!(injected, Ok(count));
        let before = router.looks.get();
        let mut frame = [0; 2048];
        let bytes = router.fill_frame(Direction::XPlus, &mut frame);
        let looks = router.looks.get() - before;
        let router = nodes[1].router_mut();
        router.receive_frame(Direction::XMinus, &frame[..bytes]);
        let taken = nodes[1].router_mut().take_run(Fifo::Normal, 9, |_, _| true);
        assert_eq!(taken, count);
        while step(&mut nodes) {}
        looks
    });
    assert_eq!(looks[0], looks[1]);
}

/// Of a run that exceeds the sender's tokens, the packets that fit are accepted.
#[test]
fn a_run_without_tokens_is_an_overrun_from_where_there_is_no_room() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let mut nodes = machine(shape, BufferSizes::SMALLEST);
    let packet = HeaderRepr {
        hints: DirectionSet::NONE.with(Direction::XPlus),
        deposit: false,
        dynamic: false,
        vc: Vc::Bn,
        fifo: Fifo::Normal,
        body: BODY_BYTES as u8,
        dest: shape.coord(1).unwrap(),
    };
    let mut frame = vec![0; FRAME_HEADER_BYTES + 6 * PACKET_BYTES];
    let granted = [0; Vc::COUNT];
    let header = FrameRepr {
        chunks: 6 * PACKET_CHUNKS as u16,
        granted,
    }
    .emit();
    frame[..FRAME_HEADER_BYTES].copy_from_slice(&header);
    for (i, bytes) in frame[FRAME_HEADER_BYTES..].chunks_mut(PACKET_BYTES).enumerate() {
        bytes.fill(i as u8);
        bytes[..HEADER_BYTES].copy_from_slice(&packet.emit());
    }
    let router = nodes[1].router_mut();
    router.receive_frame(Direction::XMinus, &frame);
    router.assert_invariants();
    assert_eq!(router.stats().defects_of(FrameError::Overrun), 3);
    for i in 0..3 {
        assert!(router.head(Fifo::Normal).unwrap().iter().all(|byte| *byte == i));
        router.pop(Fifo::Normal);
    }
    assert!(router.is_empty());
}
