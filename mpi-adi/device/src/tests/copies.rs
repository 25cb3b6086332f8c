//! Short messages of blocking calls: copied, so that the call returns.

use super::fixture::{DeviceFixture, pattern};
use crate::envelope::Rank;
use crate::memory::Span;
use crate::request::SendMode;
use crate::send::SendTo;
use crate::send::bcopy::BCOPIES;

fn to(dest: u32, tag: i32) -> SendTo {
    SendTo {
        dest: Rank::new(dest),
        tag,
        context: 0,
        mode: SendMode::Standard,
    }
}

/// Sends from a buffer of node 0, and overwrites the buffer.
fn send_copied(rig: &mut DeviceFixture, to: SendTo, span: Span) {
    let key = span.address();
    rig.buffers.0[key].fill(to.tag as u8);
    let id = rig.adis[0].send_within_call(&mut rig.buffers, to, span);
    assert_eq!(id, Ok(None), "nothing to wait for");
    rig.buffers.0[key].fill(0xEE);
}

/// With and without memory at the receiver, entering the queue before and after transmission.
#[test]
fn what_is_copied_arrives_in_order_even_if_it_is_refused() {
    for (blocks, leaves) in [(0, false), (0, true), (100, false), (100, true)] {
        let mut rig = DeviceFixture::new(2, blocks);
        let span = rig.span(vec![0; 4]);
        for tag in 1..4 {
            send_copied(&mut rig, to(1, tag), span);
            if leaves {
                rig.step(0);
            }
        }
        let long = rig.send(0, 4, 300, SendMode::Standard);
        rig.settle();
        let tags = [1, 2, 3, 4];
        let receives = tags.map(|tag| rig.post(pattern(tag), 300));
        rig.settle();
        for ((id, key), tag) in receives.into_iter().zip(tags) {
            let outcome = rig.outcome(1, id).expect("it has arrived");
            assert_eq!(outcome.bytes, if tag == 4 { 300 } else { 4 });
            let bytes = &rig.buffers.0[key][..outcome.bytes];
            assert!(bytes.iter().all(|&byte| i32::from(byte) == tag), "{tag}");
        }
        assert!(rig.outcome(0, long).is_some());
        rig.assert_clean();
    }
}

/// Behind rejected or unanswered messages, calls complete as well, up to the number of copies.
#[test]
fn what_is_copied_behind_refused_messages_is_complete_too() {
    for (blocks, is_refused) in [(0, true), (0, false), (1, true)] {
        let mut rig = DeviceFixture::new(2, blocks);
        let long = rig.send(0, 1, 300, SendMode::Standard);
        if is_refused {
            rig.settle();
        }
        let span = rig.span(vec![0; 4]);
        let tags = 2..2 + BCOPIES as i32;
        for tag in tags.clone() {
            send_copied(&mut rig, to(1, tag), span);
        }
        let last = rig.adis[0].send_within_call(&mut rig.buffers, to(1, 99), span);
        assert!(matches!(last, Ok(Some(_))), "no copy is free");
        rig.settle();
        let (first, _) = rig.post(pattern(1), 300);
        let receives: Vec<_> = tags.clone().map(|tag| rig.post(pattern(tag), 4)).collect();
        rig.settle();
        for ((id, key), tag) in receives.into_iter().zip(tags) {
            assert!(rig.outcome(1, id).is_some(), "{tag}");
            assert_eq!(rig.buffers.0[key], [tag as u8; 4]);
        }
        assert!(rig.outcome(1, first).is_some() && rig.outcome(0, long).is_some());
        let (end, _) = rig.post(pattern(99), 4);
        rig.settle();
        assert!(rig.outcome(1, end).is_some());
        assert!(rig.outcome(0, last.unwrap().unwrap()).is_some());
        rig.assert_clean();
    }
}

#[test]
fn a_call_waits_for_a_copy_only_where_an_answer_is_sure() {
    let mut rig = DeviceFixture::new(3, 1000);
    let span = rig.span(vec![0; 4]);
    for tag in 0..BCOPIES as i32 {
        assert!(!rig.adis[0].awaits_copies(&to(2, tag)));
        send_copied(&mut rig, to(2, tag), span);
        rig.step(0);
    }
    assert!(rig.adis[0].awaits_copies(&to(2, 0)));
    assert!(!rig.adis[0].awaits_copies(&to(1, 0)), "none of them goes there");
    rig.settle();
    assert!(!rig.adis[0].awaits_copies(&to(2, 0)));
    // A rejected message is accepted when memory is free, at an arbitrary time.
    let mut rig = DeviceFixture::new(2, 0);
    let span = rig.span(vec![0; 4]);
    for tag in 0..BCOPIES as i32 {
        send_copied(&mut rig, to(1, tag), span);
        rig.step(0);
    }
    rig.settle();
    assert!(!rig.adis[0].awaits_copies(&to(1, 0)));
}
