//! Router operations in an interrupt handler never allocate.

use allocation_counter::measure;
use net_torus::{BufferSizes, Chunk, Coord, Direction, Fifo, Router, RoutingMode, Shape};

#[test]
fn injecting_forwarding_and_receiving_allocate_nothing() {
    let shape = Shape::new([4, 4, 1], [true; 3]).unwrap();
    let mut memory: Vec<Vec<Chunk>> = vec![vec![[0; 32]; BufferSizes::BLUE_GENE.chunks()]; 3];
    let mut routers = memory.iter_mut().zip(0..).map(|(memory, x)| {
        let here = Coord { x, y: 0, z: 0 };
        Router::new(shape, here, BufferSizes::BLUE_GENE, memory).unwrap()
    });
    let [mut first, mut middle, mut last] = [(); 3].map(|()| routers.next().unwrap());
    let there = Coord { x: 2, y: 0, z: 0 };
    let (plus, minus) = (Direction::XPlus, Direction::XMinus);
    let (mut frame, mut packets) = ([0; 1514], 0);
    let counted = measure(|| {
        for round in 0..1000 {
            for (from, to) in [(2, 1), (1, 0)] {
                let ends = [&mut first, &mut middle, &mut last];
                let size = ends[from].fill_frame(minus, &mut frame);
                ends[to].receive_frame(plus, &frame[..size]);
            }
            let routing = [RoutingMode::Deterministic, RoutingMode::Adaptive][round % 2];
            let fill = |body: &mut [u8]| body.fill(round as u8);
            let fifo = Fifo::ALL[round / 2 % 2];
            let result = first.inject_with(fifo, there, fifo.body_bytes(), routing, fill);
            result.unwrap();
            let size = first.fill_frame(plus, &mut frame);
            middle.receive_frame(minus, &frame[..size]);
            let size = middle.fill_frame(plus, &mut frame);
            last.receive_frame(minus, &frame[..size]);
            // Malformed frames do not allocate either.
            last.receive_frame(minus, &frame[..size / 2]);
            for fifo in Fifo::ALL {
                while last.head(fifo).is_some() {
                    last.pop(fifo);
                    packets += 1;
                }
            }
        }
    });
    assert_eq!(packets, 1000);
    assert_eq!(middle.stats().forwarded().packets, 1000);
    assert!(last.stats().all_defects() >= 1000);
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
