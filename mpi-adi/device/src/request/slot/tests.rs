//! Requests read back as they were written.

use super::*;
use crate::protocol::RtsState;
use crate::request::send::{ACK_DEFERRABLE, CANCELLED, EAGER, IN_ORDER, RequestedFlags};

const BOOLS: [bool; 2] = [false, true];
const ENVELOPE: Envelope = Envelope {
    source: Rank::new(7),
    tag: 3,
    context: 9,
};

fn written(request: Request) -> SlotEntry {
    let mut entry = SlotEntry::unused(None);
    assert_eq!(entry.fill(request), None);
    entry
}

fn send(state: SendState) -> SendRequest {
    SendRequest {
        dest: Rank::new(7),
        tag: 3,
        context: 9,
        mode: SendMode::Standard,
        length: 40,
        data: SendData::User(Span::model(5, 40)),
        state,
    }
}

fn pending_sends() -> Vec<PendingSend> {
    let mut all = Vec::new();
    for offer in [RtsState::Unsent, RtsState::Unanswered, RtsState::Rejected] {
        for bits in 0..128_u32 {
            let is = |bit: u32| bits >> bit & 1 != 0;
            let asked = RequestedFlags::new(is(0), is(1));
            for asked in [None, Some(asked)] {
                let mut send = PendingSend::new(offer);
                send.set_serial(u64::MAX - 1);
                send.set_requested(asked);
                send.set_transmitted(is(2));
                for (bit, mark) in (3..).zip([IN_ORDER, EAGER, CANCELLED, ACK_DEFERRABLE]) {
                    send.set_mark(mark, is(bit));
                }
                assert_eq!(send.serial(), u64::MAX - 1);
                let said = send.requested().map(|asked| (asked.any_tag(), asked.is_exact()));
                assert_eq!(said, asked.map(|_| (is(0), is(1))));
                let told = send.requested().map(RequestedFlags::is_transmitted);
                assert_eq!(told, asked.map(|_| is(2)));
                all.push(send);
            }
        }
    }
    all
}

fn send_states() -> Vec<SendState> {
    let mut all: Vec<SendState> = pending_sends().into_iter().map(SendState::Pending).collect();
    let held = [
        CancelState::None,
        CancelState::Unrequested,
        CancelState::Rejected,
        CancelState::Requested,
    ];
    all.extend(held.map(SendState::Held));
    all.extend(BOOLS.map(|cancelled| SendState::Done { cancelled }));
    all.extend([SendState::Bcopy, SendState::Streaming]);
    all
}

#[test]
fn a_send_is_read_as_it_was_written() {
    for state in send_states() {
        for mode in [SendMode::Standard, SendMode::Synchronous] {
            let send = SendRequest { mode, ..send(state) };
            let entry = written(Request::Send(send));
            assert_eq!(entry.request(), Some(Request::Send(send)));
            assert_eq!(entry.receive(), None);
            assert!(entry.is_send() && !entry.is_receive());
        }
        let send = SendRequest {
            data: SendData::Bcopy(BcopyId(31)),
            ..send(state)
        };
        assert_eq!(written(Request::Send(send)).send(), Some(send));
    }
}

/// Also after an earlier state.
#[test]
fn a_change_of_state_changes_nothing_else() {
    for before in send_states() {
        for after in send_states() {
            let mut entry = written(Request::Send(send(before)));
            entry.set_send_state(after);
            assert_eq!(entry.send(), Some(send(after)));
        }
    }
}

#[test]
fn what_is_wanted_of_a_send_is_what_is_left_of_it() {
    let transfer = MessageTransfer {
        target: u32::MAX,
        offset: 4,
        end: 30,
        in_order: false,
    };
    let mut entry = written(Request::Send(send(SendState::Streaming)));
    entry.set_send_state(SendState::Sending(transfer));
    let short = SendRequest {
        length: 30,
        data: SendData::User(Span::model(5, 30)),
        ..send(SendState::Sending(transfer))
    };
    assert_eq!(entry.send(), Some(short));
}

fn receive_states() -> Vec<ReceiveState> {
    let mut all = Vec::new();
    for (source, tag) in [(None, None), (Some(2), None), (None, Some(4)), (Some(0), Some(0))] {
        let pattern = MatchPattern::new(source.map(Rank::new), tag, 9);
        all.push(ReceiveState::Cancelled(pattern));
        all.extend(BOOLS.map(|needs_listing| {
            ReceiveState::Posted(PostedReceive {
                pattern,
                serial: u64::MAX - 1,
                needs_listing,
            })
        }));
    }
    let matched = MatchedMessage {
        envelope: ENVELOPE,
        length: 40,
    };
    let landing = Reassembly { received: 8, total: 25 };
    let coming = [
        RecvData::CtsPending { sender: u32::MAX },
        RecvData::Receiving(landing),
        RecvData::Buffering,
        RecvData::MprobeHeld { sender: u32::MAX },
        RecvData::MprobeBuffered {
            at: BlockIndex::new(u32::MAX - 1),
        },
    ];
    all.extend(coming.map(|coming| ReceiveState::Matched(matched, coming)));
    all.push(ReceiveState::Done(matched));
    all
}

#[test]
fn a_receive_is_read_as_it_was_written() {
    let span = Span::model(4000, 25);
    for state in receive_states() {
        let receive = ReceiveRequest { span, state };
        let entry = written(Request::Receive(receive));
        assert_eq!(entry.request(), Some(Request::Receive(receive)));
        assert!(entry.is_receive() && !entry.is_send());
        for after in receive_states() {
            let mut entry = entry.clone();
            entry.set_receive_state(after);
            assert_eq!(entry.receive(), Some(ReceiveRequest { span, state: after }));
        }
    }
}

/// The stored length of a buffer longer than any message is the maximum message length.
#[cfg(target_pointer_width = "64")]
#[test]
fn a_buffer_of_4_gib_and_more_has_room_for_all_of_the_longest_message() {
    for len in [u32::MAX as usize, u32::MAX as usize + 1, usize::MAX] {
        let matched = MatchedMessage {
            envelope: ENVELOPE,
            length: u32::MAX,
        };
        let receive = ReceiveRequest {
            span: Span::model(0, len),
            state: ReceiveState::Done(matched),
        };
        let outcome = written(Request::Receive(receive)).outcome();
        assert_eq!(
            outcome,
            Some(RequestOutcome {
                source: ENVELOPE.source,
                tag: ENVELOPE.tag,
                bytes: u32::MAX as usize,
                truncated: false,
                cancelled: false,
            })
        );
    }
}

#[test]
fn a_slot_that_becomes_free_keeps_nothing_but_its_next_generation() {
    let bits = GenerationBits::new(REQUEST_GENERATION_BITS);
    let mut entry = SlotEntry::unused(None);
    let mut generations = Vec::new();
    for _ in 0..1 << REQUEST_GENERATION_BITS {
        let bcopy = SendRequest {
            data: SendData::Bcopy(BcopyId(1)),
            mode: SendMode::Synchronous,
            ..send(SendState::Bcopy)
        };
        entry.fill(Request::Send(bcopy));
        assert!(entry.forget() && !entry.forget() && entry.is_forgotten());
        generations.push(entry.generation());
        assert!(entry.has_id(RequestId::new(Slot::new(0), entry.generation())));
        entry.free(None, bits);
        assert!(!entry.is_forgotten() && !entry.is_send());
        assert!(!entry.has_id(RequestId::new(Slot::new(0), entry.generation())));
        entry.fill(Request::Send(send(SendState::Bcopy)));
        assert_eq!(entry.send(), Some(send(SendState::Bcopy)));
        entry.state = SlotState::Free { next: None };
    }
    generations.sort_unstable_by_key(|generation| generation.word());
    generations.dedup();
    assert_eq!(generations.len(), 1 << REQUEST_GENERATION_BITS);
    assert_eq!(entry.generation(), Generation::FIRST, "they have all been");
}
