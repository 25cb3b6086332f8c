//! Decisions of the short-memory protocol, as pure functions (paper 004, sections 4.1 to 4.3).
//!
//! This module contains the state tables and the rules. `docs/protocol.md` explains why they are correct, and their
//! environment.
//!
//! # Messages
//! | message | from | meaning |
//! |---|---|---|
//! | RTS(envelope, length, sender's request, age) | sender | request to send; contains the data when the message is short |
//! | CTS(receiver's handle, bytes wanted) | receiver | clear to send: matched or buffered; dequeue from the pending send queue, transmit the data |
//! | NCTSD | receiver | not clear to send data: recorded without a buffer; dequeue, keep the data until CTS |
//! | NCTS | receiver | not clear to send: not recorded; the message remains in the pending send queue |
//! | restart(age, room, receives) | receiver | resend request: send RTSs of rejected messages again, under this age (the papers' resendAll) |
//! | DONE(age) | sender | the restart requested nothing that is pending |
//! | CANCEL, CANCELLED | sender, receiver | discard a cancelled message; discarded |
//!
//! # Receiver on RTS ([`on_rts`])
//! | age | posted match | memory | receiver's action |
//! |---|---|---|---|
//! | equal | yes | - | CTS into the user's buffer |
//! | equal | no | record + buffer | unexpected record, CTS into the buffer |
//! | equal | no | record only | unexpected record, NCTSD; CTS when the receive is posted |
//! | equal | no | none | NCTS; the source's failed bit is set |
//! | differs | no | - | NCTS |
//! | differs | yes | - | NCTS, and a restart with the current age |
//!
//! A synchronous send is never buffered (row 3 replaces row 2): its CTS must mean that a receive has matched.
//!
//! The restart of the last row is already in flight: an age changes only together with a restart. The receiver does not
//! send it a second time, so the code merges the last two rows.
//!
//! # Receiver later: restarts
//! A source with rejected messages receives a new age and a *restart* when a receive is posted that could match, or
//! when memory is freed. The restart requests RTSs for:
//!
//! * the first pending message that matches each receive posted since the last restart;
//! * up to `room` messages from the head of the pending send queue.
//!
//! At most one restart is in flight to a source. The first RTS under its age closes it, or DONE. The receiver keeps a
//! flow-control state ([`SourceState`](crate::peers::SourceState)) for each source:
//!
//! ```text
//!   Clear --NCTS--> Rejected -receive posted, or memory freed and its turn--> RestartQueued --sent--> RestartSent
//!    ^               ^  ^                                                          ^   receive    |
//!    |               |  +-- NCTS                                                   |   posted     v
//!    |               |                                                             +-------- RestartSentStale
//!    +-- RTS or DONE under the new age; flag "more rejected" leads to RejectedEarlier, which waits like Rejected
//! ```
//! *Offering*: an RTS has announced that another one follows. The source does not wait for memory, since its next RTS
//! would only become stale. *WildcardQueued*: a receive from any source has been posted. It receives only one message,
//! so the waiting sources get their restarts in round robin, [`WILDCARD_RESTARTS`](crate::peers::WILDCARD_RESTARTS) at
//! a time, until it is matched.
//!
//! # Sender ([`on_reply`], [`crate::send::pending`])
//! Messages to a destination remain in its pending send queue, in order, until CTS or NCTSD. A rejected message gets
//! another RTS only when a restart requests it or has `room` for it. No RTS is repeated while its reply is outstanding.
//!
//! # Rules
//! A flag of the RTS specifies whether the sender sent it *in order*: every earlier message was accepted, or has an RTS
//! in order under the same age. A second flag specifies whether other messages are rejected. An RTS that a restart
//! requested repeats the restart's [horizon](crate::ids), its cut-off sequence number.
//!
//! * (a) An RTS under an old age is *stale*: it is rejected without a decision. The sender repeats it without a
//!   request, so a restart that crosses an RTS in flight loses no message. The sender waits for the restart that the
//!   stale rejection announces; an earlier RTS would be stale again.
//! * (b) The sender executes a restart after every RTS under the old age has its reply, and transmits no RTS before
//!   that, not even for new messages. So all RTSs under an age are younger than all under the previous age, and follow
//!   the order of the queue.
//! * (c) A record released because a receive matched it is a release of memory like any other: a source that waits for
//!   memory gets its turn, under a new age.
//! * (d) The receiver records only RTSs that were sent in order, and no RTS of a source after a rejection under the
//!   same age. So no rejected message precedes a recorded one, and a receive may use the first record that it matches.
//!   (Where (c) or (d) is enforced, a later message cannot use released memory before a rejected one of the same
//!   source; with two or more sources, that requires (d).)
//! * (e) A receive posted while a restart is in flight, or while the source is WildcardQueued, does not match RTSs that
//!   arrive before the next restart, which lists the receive: an earlier message may belong to it. An RTS that a
//!   restart requested may match any receive older than that restart (below its horizon), not only the receive that
//!   caused the request.
//! * (f) A cancelled receive stays posted while restarts are in flight to sources that it may match: each of them must
//!   reply, and the restart that lists the receive must be answered, too. So the receive gets the message that was
//!   requested for it, or no such message exists. A program that polls by posting and cancelling receives gets each
//!   message, even where nothing can be recorded.
#![forbid(unsafe_code)]

use crate::ids::{Horizon, REQUEST_GENERATION_BITS, SequenceNumber};

/// Count of restarts of one source by one receiver, wrapping around.
pub type Age = u8;

/// Set of enforced rules that make the protocol sound.
///
/// Programs always use [`AllRules`], which enforces all rules; the compiler folds the checks. A model checker provides its
/// own sets, disables the rules one by one, and must find an error for each.
pub trait ProtocolRules: Copy {
    /// Rule (a): the sender repeats the RTS of a message whose earlier RTS was stale, without a request.
    fn repeats_stale(self) -> bool {
        true
    }

    /// Rule (b): no RTS is sent under a new age before every RTS under the old one has its reply.
    fn awaits_replies(self) -> bool {
        true
    }

    /// Rule (c): a record released because a receive matched it is a release of memory.
    fn matched_releases(self) -> bool {
        true
    }

    /// Rule (d): no rejected message precedes a recorded one.
    fn records_in_order(self) -> bool {
        true
    }

    /// Rule (e): a receive posted while a restart is in flight does not match the RTSs that the restart requested.
    fn guards_posts(self) -> bool {
        true
    }

    /// Rule (f): a receive is not cancelled while a source with a request for it has yet to reply.
    fn holds_cancelled(self) -> bool {
        true
    }

    /// A self-send does not overtake a message that waits in the pending send queue ([`self_send`](crate::send)).
    fn guards_own_queue(self) -> bool {
        true
    }

    /// Returns the width of the age in bits, 0 to 8.
    fn age_bits(self) -> u32 {
        Age::BITS
    }

    /// Returns the width of a restart's horizon on the wire in bits (the lowest bits), 1 to 64.
    fn horizon_bits(self) -> u32 {
        Horizon::BITS
    }

    /// Returns whether short messages may be buffered copies ([`bcopy`](crate::send::bcopy)). Not a rule: without them
    /// a model checker explores far fewer states.
    fn bcopy(self) -> bool {
        true
    }

    /// Returns the maximum number of generation bits in handles, 0 to 9. Not a rule: no rule may depend on it.
    fn id_bits(self) -> u32 {
        REQUEST_GENERATION_BITS
    }

    /// Returns the bits of a horizon that are transmitted.
    fn on_the_wire(self, horizon: Horizon) -> Horizon {
        horizon & horizon_mask(self)
    }

    /// Restores the horizon from its transmitted bits `said`, as the last one up to `posts` with these bits.
    fn horizon(self, said: Horizon, posts: SequenceNumber) -> Horizon {
        posts.wrapping_sub(posts.wrapping_sub(said) & horizon_mask(self))
    }

    /// Returns the age after `age`.
    fn next_age(self, age: Age) -> Age {
        self.age_after(age, 1)
    }

    /// Returns the age that is `restarts` after `age`.
    fn age_after(self, age: Age, restarts: Age) -> Age {
        let mask = Age::MAX.checked_shr(Age::BITS - self.age_bits()).unwrap_or(0);
        age.wrapping_add(restarts) & mask
    }
}

fn horizon_mask(rules: impl ProtocolRules) -> Horizon {
    Horizon::MAX >> (Horizon::BITS - rules.horizon_bits())
}

/// Set with all rules enforced.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct AllRules;

impl ProtocolRules for AllRules {}

/// Record of an unexpected message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordedMessage<B> {
    /// A record with a buffer for the complete message.
    WithBuffer(B),
    /// A record without a buffer.
    WithoutBuffer(B),
    /// Nothing: no memory even for a record.
    None,
}

/// Receiver's decision on an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum RtsDecision<S, B> {
    /// CTS into the buffer of the matching posted receive.
    Receive(S),
    /// Recorded with a buffer: CTS into the buffer.
    Buffer(B),
    /// Recorded without a buffer: NCTSD.
    Record(B),
    /// NCTS.
    Reject {
        /// Set the source's failed bit.
        failed: bool,
    },
}

/// Implements the receiver's table, row by row. Calls `record` only where the table requires it.
pub fn on_rts<S, B>(
    ages_equal: bool,
    posted: Option<S>,
    record: impl FnOnce() -> RecordedMessage<B>,
) -> RtsDecision<S, B> {
    match (ages_equal, posted) {
        (true, Some(receive)) => RtsDecision::Receive(receive),
        (true, None) => match record() {
            RecordedMessage::WithBuffer(at) => RtsDecision::Buffer(at),
            RecordedMessage::WithoutBuffer(at) => RtsDecision::Record(at),
            RecordedMessage::None => RtsDecision::Reject { failed: true },
        },
        (false, _) => RtsDecision::Reject { failed: false },
    }
}

/// RTS state of a pending send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RtsState {
    /// No RTS sent yet.
    Unsent,
    /// The RTS or its reply is in flight.
    Unanswered,
    /// The receiver replied NCTS.
    Rejected,
}

/// Returns whether an RTS may be sent: never again while a reply is outstanding.
pub fn may_send_rts(offer: RtsState) -> bool {
    match offer {
        RtsState::Unsent | RtsState::Rejected => true,
        RtsState::Unanswered => false,
    }
}

/// A reply to an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RtsReply {
    /// Clear to send.
    Cts,
    /// Not clear to send data: recorded, keep the data.
    Nctsd,
    /// Not clear to send: not recorded.
    Ncts,
}

/// Sender's action for a pending message on its reply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum ReplyAction {
    /// Dequeue from the pending send queue and transmit the data.
    Send,
    /// Dequeue from the pending send queue and keep the data until CTS.
    AwaitCts,
    /// Remain in the pending send queue, rejected.
    RemainQueued,
}

/// Implements the sender's table. Returns `None` when no reply is outstanding (an error of the peer).
pub fn on_reply(offer: RtsState, reply: RtsReply) -> Option<ReplyAction> {
    match (offer, reply) {
        (RtsState::Unanswered, RtsReply::Cts) => Some(ReplyAction::Send),
        (RtsState::Unanswered, RtsReply::Nctsd) => Some(ReplyAction::AwaitCts),
        (RtsState::Unanswered, RtsReply::Ncts) => Some(ReplyAction::RemainQueued),
        (RtsState::Unsent | RtsState::Rejected, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> RecordedMessage<u8> {
        panic!("the table does not ask for memory here")
    }

    #[test]
    fn the_receivers_table_row_by_row() {
        const NONE: Option<char> = None;
        let recorded = |recorded: RecordedMessage<u8>| on_rts(true, NONE, || recorded);
        assert_eq!(on_rts(true, Some('r'), never), RtsDecision::Receive('r'));
        assert_eq!(recorded(RecordedMessage::WithBuffer(5)), RtsDecision::Buffer(5));
        assert_eq!(recorded(RecordedMessage::WithoutBuffer(6)), RtsDecision::Record(6));
        assert_eq!(recorded(RecordedMessage::None), RtsDecision::Reject { failed: true });
        for posted in [NONE, Some('r')] {
            assert_eq!(on_rts(false, posted, never), RtsDecision::Reject { failed: false });
        }
    }

    #[test]
    fn the_senders_table_row_by_row() {
        assert_eq!(on_reply(RtsState::Unanswered, RtsReply::Cts), Some(ReplyAction::Send));
        assert_eq!(
            on_reply(RtsState::Unanswered, RtsReply::Nctsd),
            Some(ReplyAction::AwaitCts)
        );
        assert_eq!(
            on_reply(RtsState::Unanswered, RtsReply::Ncts),
            Some(ReplyAction::RemainQueued)
        );
        for reply in [RtsReply::Cts, RtsReply::Nctsd, RtsReply::Ncts] {
            assert_eq!(on_reply(RtsState::Unsent, reply), None);
            assert_eq!(on_reply(RtsState::Rejected, reply), None);
        }
    }

    #[test]
    fn an_unanswered_rts_is_never_sent_again() {
        assert!(may_send_rts(RtsState::Unsent));
        assert!(may_send_rts(RtsState::Rejected));
        assert!(!may_send_rts(RtsState::Unanswered));
    }

    #[test]
    fn ages_wrap() {
        #[derive(Clone, Copy)]
        struct TwoBits;
        impl ProtocolRules for TwoBits {
            fn age_bits(self) -> u32 {
                2
            }
            fn horizon_bits(self) -> u32 {
                2
            }
        }
        assert_eq!(AllRules.next_age(0), 1);
        assert_eq!(AllRules.next_age(Age::MAX), 0);
        assert_eq!(TwoBits.next_age(3), 0);
        assert_eq!(AllRules.horizon(AllRules.on_the_wire(5), 1000), 5);
        let narrow = |horizon, posts| TwoBits.horizon(TwoBits.on_the_wire(horizon), posts);
        assert_eq!((narrow(5, 5), narrow(5, 8), narrow(5, 9)), (5, 5, 9));
    }
}
