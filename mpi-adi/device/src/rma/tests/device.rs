//! Windows within devices: packets are sent and received in the device's steps.

use msg_layer::fake::FakePort;
use net_torus::Shape;

use super::*;
use crate::adi::Adi;
use crate::config::{DeviceConfig, DeviceMemory, STEP_PACKETS};

/// Two devices, with a window each.
struct Devices {
    adis: Vec<Adi>,
    wires: Vec<FakePort>,
    buffers: Vec<Buffers>,
}

impl Devices {
    fn new(bytes: usize) -> Devices {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let RmaFixture { all, buffers, .. } = RmaFixture::new(2, bytes);
        let wire = |at| FakePort::new(shape, shape.coord(at).unwrap());
        let mut adis: Vec<Adi> = Vec::new();
        for (at, one) in all.into_iter().enumerate() {
            let config = DeviceConfig {
                shape,
                rank: rank(at),
                request_slots: 64,
            };
            let mut adi = Adi::new(config, DeviceMemory::allocate(1024, 2).unwrap()).unwrap();
            assert!(adi.extensions.one_sided.is_none() && !adi.has_async_work());
            adi.set_one_sided(Box::new(one));
            assert!(adi.has_async_work() && adi.is_quiet() && !adi.has_pending_tx());
            adis.push(adi);
        }
        Devices {
            adis,
            wires: (0..2).map(wire).collect(),
            buffers,
        }
    }

    /// Performs one step of a device, and moves its packets to the other one. Returns their number, and whether the
    /// step reports that it did anything.
    fn step(&mut self, at: usize) -> (usize, bool) {
        let moved = self.adis[at].progress(&mut self.wires[at], &mut self.buffers[at]);
        let sent = self.wires[at].take_sent();
        for packet in &sent {
            self.wires[1 - at].deliver(packet.class, &packet.body);
        }
        (sent.len(), moved)
    }
}

#[test]
fn what_windows_say_leaves_and_comes_in_steps_of_the_device() {
    let mut all = Devices::new(16);
    let put = packet(PacketKind::Put, 0, 4, &[7; 3]);
    let awaited = ReplyPurpose::Data { place: 3, len: 5 };
    let into = (Span::model(ORIGIN, 2048), 0);
    let to = (WINDOW, rank(1));
    let begun = all.adis[0].with_one_sided(|one| one.push(to, 0, &put) && one.await_reply(to, awaited, into).is_some());
    assert_eq!(begun, Some(true));
    assert!(all.adis[0].has_pending_tx() && !all.adis[0].is_quiet());
    assert_eq!(all.step(0), (2, true), "the put, and what is asked for");
    assert_eq!(all.step(0), (0, false));
    assert_eq!(all.step(1), (1, true), "the answer");
    assert_eq!(all.step(1), (0, false));
    assert_eq!(all.step(0), (0, true), "it has come");
    assert!(all.adis[0].is_quiet() && !all.adis[0].has_pending_tx());
    assert_eq!(all.buffers[1].0[0][3..8], [0, 7, 7, 7, 0]);
    assert_eq!(all.buffers[0].0[1][..5], [0, 7, 7, 7, 0]);
    let malformed = |adi: &Adi| adi.stats().layer.malformed;
    assert!(all.adis.iter().all(|adi| malformed(adi) == 0));
}

/// A held packet alone causes no step; a regular step transmits it, and so does a step of a waiting call.
#[test]
fn a_held_packet_leaves_with_the_next_step() {
    let mut all = Devices::new(16);
    let put = |adi: &mut Adi, memory: &mut Buffers, place| {
        let mut pieces = DataPieces {
            target: rank(1),
            head: RequestHead::new(PacketKind::Put, WINDOW),
            unit: 1,
            from: Span::model(ORIGIN, 2048),
            offset: 0,
            len: 2,
            place,
        };
        adi.with_one_sided(|one| one.push_pieces(memory, &mut pieces))
    };
    all.buffers[0].0[1][..2].copy_from_slice(&[8, 9]);
    for place in [0, 4] {
        let pushed = put(&mut all.adis[0], &mut all.buffers[0], place);
        assert_eq!(pushed, Some(true));
        assert!(!all.adis[0].has_pending_tx() && !all.adis[0].is_quiet());
    }
    assert_eq!(all.step(0), (1, true), "both");
    assert!(all.adis[0].is_quiet());
    put(&mut all.adis[0], &mut all.buffers[0], 8);
    all.adis[0].preallocate_pages();
    assert!(all.adis[0].has_pending_tx(), "before a call waits");
    assert_eq!(all.step(0), (1, true));
    assert!(all.adis[0].is_quiet() && !all.adis[0].has_pending_tx());
    all.step(1);
    assert_eq!(all.buffers[1].0[0][..10], [8, 9, 0, 0, 8, 9, 0, 0, 8, 9]);
}

#[test]
fn a_step_sends_so_many_packets_of_windows_at_most() {
    const BYTES: usize = 600;
    let gets = STEP_PACKETS + 8;
    let mut all = Devices::new(BYTES);
    let bytes: Vec<u8> = (0..BYTES).map(|at| at as u8).collect();
    all.buffers[1].0[0].clone_from(&bytes);
    let into = (Span::model(ORIGIN, 2048), 0);
    let len = BYTES as u32;
    for _ in 0..gets {
        let awaited = ReplyPurpose::Data { place: 0, len };
        let get = all.adis[0].with_one_sided(|one| {
            let name = one.await_reply((WINDOW, rank(1)), awaited, into);
            name.is_some()
        });
        assert_eq!(get, Some(true));
    }
    assert_eq!(all.step(0), (STEP_PACKETS, true));
    assert_eq!(all.step(0), (8, true));
    assert_eq!(all.step(0), (0, false));
    while (0..2).any(|at| all.step(at).1) {}
    assert_eq!(all.buffers[0].0[1][..BYTES], bytes);
    let awaits = all.adis[0].with_one_sided(|one| one.awaits(WINDOW, None));
    assert_eq!(awaits, Some(false));
    assert!(all.adis.iter().all(|adi| adi.stats().layer.malformed == 0));
}

/// A step with only local changes reports them.
#[test]
fn what_is_done_without_a_packet_is_a_step() {
    let mut all = Devices::new(16);
    let opening = EpochArgs {
        sort: lock(0),
        members: &[],
        checks: true,
    };
    let epoch = all.adis[0].with_one_sided(|one| one.open(WINDOW, opening, None));
    let opened = WindowEvent::Opened(epoch.flatten().expect("room"));
    assert!(!all.adis[0].has_occurred(WINDOW, opened));
    assert_eq!(all.step(0), (0, true));
    assert!(all.adis[0].has_occurred(WINDOW, opened));
    assert_eq!(all.step(0), (0, false));
}
