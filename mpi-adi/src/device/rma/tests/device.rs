//! Windows within devices: what leaves and what comes does so in the device's steps.

use msg_layer::fake::Fake;
use net_torus::Shape;

use super::*;
use crate::device::adi::Adi;
use crate::device::config::{Config, Memory};

/// One step of a device; what it has sent arrives at the other one. How many packets, and whether it says that it did
/// something.
fn step(at: usize, adis: &mut [Adi], wires: &mut [Fake], buffers: &mut [Buffers]) -> (usize, bool) {
    let moved = adis[at].progress(&mut wires[at], &mut buffers[at]);
    let sent = wires[at].take_sent();
    for packet in &sent {
        wires[1 - at].arrive(packet.class, &packet.body);
    }
    (sent.len(), moved)
}

#[test]
fn what_windows_say_leaves_and_comes_in_steps_of_the_device() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let Rig {
        all, mut buffers, ..
    } = Rig::new(2, 16);
    let mut wires = [0, 1].map(|at| Fake::new(shape, shape.coord(at).unwrap()));
    let mut adis: Vec<Adi> = Vec::new();
    for (at, one) in all.into_iter().enumerate() {
        let config = Config {
            shape,
            rank: rank(at),
            request_slots: 64,
        };
        let mut adi = Adi::new(config, Memory::allocate(1024, 2).unwrap()).unwrap();
        assert!(adi.one_sided.is_none() && !adi.is_under_way());
        adi.set_one_sided(Box::new(one));
        assert!(adi.is_under_way() && adi.is_quiet() && !adi.has_to_send());
        adis.push(adi);
    }
    let put = packet(Kind::Put, 0, 4, &[7; 3]);
    let awaited = Awaited::Data { place: 3, len: 5 };
    let into = (Span::model(ORIGIN, 2048), 0);
    let to = (WINDOW, rank(1));
    let begun = adis[0].with_one_sided(|one| {
        one.push(to, 0, &put) && one.await_answer(to, awaited, into).is_some()
    });
    assert_eq!(begun, Some(true));
    assert!(adis[0].has_to_send() && !adis[0].is_quiet());
    let mut go = |at| step(at, &mut adis, &mut wires, &mut buffers);
    assert_eq!(go(0), (2, true), "the put, and what is asked for");
    assert_eq!(go(0), (0, false));
    assert_eq!(go(1), (1, true), "the answer");
    assert_eq!(go(1), (0, false));
    assert_eq!(go(0), (0, true), "it has come");
    assert!(adis[0].is_quiet() && !adis[0].has_to_send());
    assert_eq!(buffers[1].0[0][3..8], [0, 7, 7, 7, 0]);
    assert_eq!(buffers[0].0[1][..5], [0, 7, 7, 7, 0]);
    assert!(adis.iter().all(|adi| adi.stats().layer.malformed == 0));
}
