//! Bytes that no device sends.

use msg_layer::Class;
use msg_layer::port::BODY_BYTES;

use super::rig::{Rig, pattern};
use crate::device::request::Mode;

#[test]
fn any_bytes_from_the_network_are_counted_and_move_nothing() {
    let mut rig = Rig::new(2, 8);
    let (receive, _) = rig.post(pattern(7), 500);
    let send = rig.send(0, 8, 500, Mode::Standard);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..20_000 {
        let len = random() as usize % (BODY_BYTES + 1);
        let mut body: Vec<u8> = (0..len).map(|_| random() as u8).collect();
        // Most are given a good header, so that they reach the handlers.
        if round % 4 != 0 && len >= 16 {
            body[0] = 1 + random() as u8 % 4;
            body[1] = random() as u8 % (len as u8 - 15);
            body[2..5].copy_from_slice(&[random() as u8 % 2, 0, 0]);
            body[5] = random() as u8 % 2;
        }
        let class = if random() % 2 == 0 {
            Class::Normal
        } else {
            Class::Priority
        };
        rig.wires[0].queue(class).push_back(body);
        rig.step(0);
        rig.wires[0].out.clear();
    }
    // Node 0 has counted it all, and its own send still stands as it was.
    let stats = rig.adis[0].stats;
    assert!(stats.layer.malformed + stats.layer.unknown_handler > 10_000);
    assert!(rig.adis[0].knows(send) && !rig.adis[1].is_done(receive));
}
