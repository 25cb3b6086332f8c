//! The program's heap: used up, and lent to the device.

use net_torus::Shape;

use super::rig::{Rig, pattern};
use crate::device::adi::Adi;
use crate::device::config::{Config, Memory};
use crate::device::memory::Span;
use crate::device::request::{KEPT_SLOTS, Mode};
use crate::device::send::SendTo;

#[test]
fn when_the_heap_is_used_up_a_send_says_so_and_loses_nothing() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let config = Config {
        shape,
        rank: 0,
        request_slots: 64,
    };
    let mut adi = Adi::new(config, Memory::allocate(1024, 2).unwrap()).unwrap();
    let to = SendTo {
        dest: 1,
        tag: 0,
        context: 0,
        mode: Mode::Standard,
    };
    let mut started = 0;
    let error = loop {
        match adi.isend(to, Span::EMPTY) {
            Ok(_) => started += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, crate::NoMemory::Requests { live: started });
    assert_eq!(started, 64 - KEPT_SLOTS);
    for _ in 0..KEPT_SLOTS {
        assert!(adi.send_within_call(to, Span::EMPTY).is_ok(), "kept for it");
    }
    assert!(adi.send_within_call(to, Span::EMPTY).is_err());
}

#[test]
fn what_the_programs_heap_can_spare_is_borrowed_and_a_free_restarts_who_was_refused() {
    let mut rig = Rig::new(2, 1);
    rig.send(0, 1, 10, Mode::Standard);
    rig.send(0, 2, 10, Mode::Standard);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 1);
    assert!(rig.adis[1].starves_others());
    rig.buffers.1 = 5;
    rig.adis[1].heap_freed(&rig.buffers);
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 2);
    assert_eq!(
        (rig.adis[1].region.peak_lent_bytes(), rig.buffers.1),
        (5 * 32, 0)
    );
    assert!(!rig.adis[1].starves_others());
    for tag in [2, 1] {
        let (receive, key) = rig.post(pattern(tag), 10);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 10]);
    }
    assert_eq!(rig.buffers.1, 5, "the loan is back");
}
