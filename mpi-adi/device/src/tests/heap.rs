//! The program's heap: exhausted, and lent to the device (heap loan).

use net_torus::Shape;

use super::fixture::{Buffers, DeviceFixture, pattern};
use crate::adi::Adi;
use crate::config::{DeviceConfig, DeviceMemory};
use crate::envelope::Rank;
use crate::memory::Span;
use crate::request::{RESERVED_SLOTS, SendMode};
use crate::send::SendTo;
use crate::send::pending::PendingQueues;

#[test]
fn when_the_heap_is_used_up_a_send_says_so_and_loses_nothing() {
    let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
    let config = DeviceConfig {
        shape,
        rank: Rank::new(0),
        request_slots: 64,
    };
    let mut adi = Adi::new(config, DeviceMemory::allocate(1024, 2).unwrap()).unwrap();
    let to = SendTo {
        dest: Rank::new(1),
        tag: 0,
        context: 0,
        mode: SendMode::Standard,
    };
    let mut started = 0;
    let error = loop {
        match adi.isend(&mut Buffers::default(), to, Span::EMPTY) {
            Ok(_) => started += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, crate::OutOfMemory::Requests { live: started });
    assert_eq!(started, 64 - RESERVED_SLOTS);
    for _ in 0..RESERVED_SLOTS {
        assert!(
            adi.send_within_call(&mut Buffers::default(), to, Span::EMPTY).is_ok(),
            "kept for it"
        );
    }
    assert!(adi.send_within_call(&mut Buffers::default(), to, Span::EMPTY).is_err());
}

#[cfg_attr(not(feature = "borrow"), ignore = "of what is borrowed")]
#[test]
fn what_the_programs_heap_can_spare_is_borrowed_and_a_free_restarts_who_was_refused() {
    let mut rig = DeviceFixture::new(2, 1);
    rig.send(0, 1, 10, SendMode::Standard);
    rig.send(0, 2, 10, SendMode::Standard);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 1);
    assert!(rig.adis[1].starves_others());
    rig.buffers.1 = 5;
    rig.adis[1].heap_freed(&rig.buffers);
    rig.step(1);
    rig.settle();
    assert_eq!(rig.adis[1].region.records(), 2);
    assert_eq!((rig.adis[1].region.peak_lent_bytes(), rig.buffers.1), (5 * 32, 0));
    assert!(!rig.adis[1].starves_others());
    for tag in [2, 1] {
        let (receive, key) = rig.post(pattern(tag), 10);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [tag as u8; 10]);
    }
    assert_eq!(rig.buffers.1, 5, "the loan is back");
}

/// All slots but the reserved ones are used; the most demanding blocking call finds enough.
#[test]
fn what_is_kept_for_blocking_calls_is_left_by_all_others() {
    const SLOTS: usize = 64;
    let to = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    let mut rig = DeviceFixture::new(2, 64);
    rig.limit_slots(SLOTS);
    let mut posted = 0;
    let recv = |rig: &mut DeviceFixture| rig.adis[0].irecv(&mut rig.buffers, pattern(1), Span::EMPTY);
    while recv(&mut rig).is_ok() {
        posted += 1;
    }
    assert_eq!(posted, SLOTS as u32 - RESERVED_SLOTS);
    for len in [4, 300] {
        let span = rig.span(vec![1; len]);
        assert!(rig.adis[0].isend(&mut rig.buffers, to, span).is_err());
    }
    let span = rig.span(vec![1; 300]);
    let send = rig.adis[0]
        .send_within_call(&mut rig.buffers, to, span)
        .expect("kept for it")
        .expect("it goes to another process");
    let buffer = Span::EMPTY;
    let receive = rig.adis[0].recv_within_call(&mut rig.buffers, pattern(2), buffer);
    assert!(receive.is_ok());
    rig.step(0);
    let (taken, _) = rig.post(pattern(1), 300);
    rig.settle();
    assert!(rig.outcome(0, send).is_some() && rig.outcome(1, taken).is_some());
}

/// An operation that outlives its call uses no slot of the next call: the message has a request, and is waited for.
#[test]
fn no_copy_is_made_in_what_is_kept_for_calls_that_block() {
    let to = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    let mut rig = DeviceFixture::new(2, 64);
    rig.limit_slots(64);
    let span = rig.span(vec![1; 4]);
    let send = |rig: &mut DeviceFixture| rig.adis[0].send_within_call(&mut rig.buffers, to, span);
    assert_eq!(send(&mut rig), Ok(None), "a copy");
    let recv = |rig: &mut DeviceFixture| rig.adis[0].irecv(&mut rig.buffers, pattern(1), Span::EMPTY);
    for _ in 0..3 {
        while recv(&mut rig).is_ok() {}
        let sent = send(&mut rig).expect("kept for it").expect("a request");
        rig.step(0);
        assert_eq!(rig.outcome(0, sent), None, "it has left, and its slot is in use");
        rig.settle();
        assert!(rig.outcome(0, sent).is_some());
        assert!(rig.adis[0].requests.has_free(RESERVED_SLOTS));
    }
}

/// A bcopy reserves its memory for a rejection; with less free memory the message uses the queue.
#[test]
fn a_bcopy_send_has_a_slot_in_the_queue_whatever_is_used_up() {
    const SLOTS: u32 = 64;
    for free in 0..12 {
        let mut rig = DeviceFixture::new(2, 0);
        rig.limit_slots(SLOTS as usize);
        for _ in 0..SLOTS - free {
            let buffers = &mut rig.buffers;
            let receive = rig.adis[0].recv_within_call(buffers, pattern(1), Span::EMPTY);
            assert!(receive.is_ok());
        }
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: SendMode::Standard,
        };
        let span = rig.span(vec![1; 4]);
        let Ok(send) = rig.adis[0].isend(&mut rig.buffers, to, span) else {
            // Its own slot, and the reserved ones.
            assert!(free <= RESERVED_SLOTS, "{free}");
            continue;
        };
        assert!(free > RESERVED_SLOTS, "{free}");
        rig.step(0);
        assert_eq!(rig.outcome(0, send).is_some(), free >= 2 + RESERVED_SLOTS, "{free}");
        // The rest is used up before the rejection arrives.
        let buffers = &mut rig.buffers;
        while rig.adis[0].recv_within_call(buffers, pattern(1), Span::EMPTY).is_ok() {}
        rig.settle();
        let (receive, key) = rig.post(pattern(1), 4);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [1; 4]);
    }
}

/// A send without a free slot has removed an idle destination to free memory, and keeps no trace of it.
#[test]
fn a_send_that_fails_leaves_the_queues_as_they_are() {
    let mut rig = DeviceFixture::new(3, 64);
    rig.limit_slots(64);
    let to = |dest| SendTo {
        dest: Rank::new(dest),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    let send = rig.send_to(0, to(1), 300);
    rig.settle();
    rig.post_at(1, pattern(1), 300);
    rig.settle();
    assert!(rig.outcome(0, send).is_some());
    let post = |rig: &mut DeviceFixture| rig.adis[0].irecv(&mut rig.buffers, pattern(9), Span::EMPTY);
    let mut posted = Vec::new();
    while let Ok(id) = post(&mut rig) {
        posted.push(id);
    }
    let span = rig.span(vec![2; 300]);
    assert!(rig.adis[0].isend(&mut rig.buffers, to(2), span).is_err());
    assert!(
        rig.adis[0].isend(&mut rig.buffers, to(1), span).is_err(),
        "its destination needs a slot, too"
    );
    for id in posted {
        assert!(rig.adis[0].cancel(id) && rig.outcome(0, id).is_some());
    }
    let again = rig.send_to(0, to(1), 300);
    rig.post_at(1, pattern(1), 300);
    rig.settle();
    assert!(rig.outcome(0, again).is_some());
}

/// Valid from the first call on, independently of the heap.
#[test]
fn a_new_device_has_what_calls_that_block_need() {
    let rig = DeviceFixture::new(2, 0);
    let adi = &rig.adis[0];
    assert!(adi.requests.has_free(RESERVED_SLOTS));
    assert!(adi.sender.pending.has_space(RESERVED_SLOTS as usize));
    assert!(!adi.requests.has_free(adi.requests.slots() as u32 + 1));
}

#[test]
fn destinations_that_are_expected_leave_less_room() {
    let mut rig = DeviceFixture::new(2, 0);
    let pending = &mut rig.adis[0].sender.pending;
    let room = |pending: &PendingQueues| (1..1000).take_while(|&n| pending.has_space(n)).count();
    let before = room(pending);
    pending.reserve_entry(2);
    assert_eq!(room(pending), before - 2);
    pending.release_entry(2);
    assert_eq!(room(pending), before);
}

/// Independently of earlier reservations.
#[test]
fn what_is_kept_for_others_is_there_beside_what_is_reserved() {
    let mut rig = DeviceFixture::new(2, 0);
    let adi = &mut rig.adis[0];
    for _ in 0..100 {
        assert!(adi.reserve_message(RESERVED_SLOTS).is_ok());
        assert!(adi.sender.pending.has_space(RESERVED_SLOTS as usize));
        assert!(adi.requests.has_free(RESERVED_SLOTS));
    }
}

#[test]
fn what_is_reserved_is_free_for_nothing_else() {
    const SLOTS: u32 = 64;
    let mut rig = DeviceFixture::new(2, 0);
    rig.limit_slots(SLOTS as usize);
    let DeviceFixture { adis, buffers, .. } = &mut rig;
    let adi = &mut adis[0];
    assert!(adi.reserve_message(SLOTS - 1).is_ok() && adi.reserve_message(SLOTS - 1).is_err());
    let more = (1..).take_while(|_| adi.reserve_free()).count();
    assert_eq!(more, SLOTS as usize - 1);
    adi.release_message();
    assert!(adi.reserve_free() && !adi.reserve_free());
    assert!(adi.irecv(buffers, pattern(1), Span::EMPTY).is_err());
    for _ in 0..SLOTS {
        let receive = adi.recv_reserved(buffers, pattern(1), Span::EMPTY);
        assert!(receive.is_ok(), "reserved for it");
    }
    let receive = adi.recv_within_call(buffers, pattern(1), Span::EMPTY);
    assert!(receive.is_err());
}

/// Operations that advance while the program computes send with reserved memory: copied where as much is free again,
/// otherwise with the reserved request.
#[test]
fn what_is_sent_meanwhile_is_copied_only_where_as_much_can_be_reserved_again() {
    const SLOTS: u32 = 64;
    let to = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };
    for (free, is_copied) in [
        (1, false),
        (RESERVED_SLOTS + 1, false),
        (RESERVED_SLOTS + 2, true),
        (SLOTS, true),
    ] {
        let mut rig = DeviceFixture::new(2, 64);
        rig.limit_slots(SLOTS as usize);
        let span = rig.span(vec![1; 4]);
        let DeviceFixture { adis, buffers, .. } = &mut rig;
        let adi = &mut adis[0];
        for _ in 0..SLOTS - free {
            let receive = adi.recv_within_call(buffers, pattern(9), Span::EMPTY);
            assert!(receive.is_ok());
        }
        assert!(adi.reserve_message(0).is_ok());
        let sent = adi.send_outside_call(buffers, to, span);
        let request = sent.expect("reserved for it");
        assert_eq!(request.is_none(), is_copied, "{free} free");
        rig.step(0);
        let (receive, key) = rig.post(pattern(1), 4);
        rig.settle();
        assert!(rig.outcome(1, receive).is_some());
        assert_eq!(rig.buffers.0[key], [1; 4]);
        assert!(request.is_none_or(|id| rig.outcome(0, id).is_some()));
        assert_eq!(rig.adis[0].sender.pending.reserved_entries(), 0);
        assert_eq!(rig.adis[0].stats().messages_sent, 1);
    }
}
