//! The short-memory protocol's decisions, as pure functions (paper 004, sections 4.1 to 4.3).
//!
//! # Messages
//! | message | from | says |
//! |---|---|---|
//! | RTS(envelope, length, sender's request, age) | sender | may I? Carries the data too when it is short |
//! | CTS(receiver's handle, bytes wanted) | receiver | matched or buffered: leave the pending queue, send the data |
//! | NCTSD | receiver | recorded, but no buffer: leave the pending queue, keep the data until CTS |
//! | NCTS | receiver | not recorded: stay in the pending queue |
//! | resendAll(age) | receiver | offer what was refused again, under this age |
//!
//! # Receiver on RTS ([`on_rts`])
//! | age | posted match | memory | receiver does |
//! |---|---|---|---|
//! | equal | yes | - | CTS into the user's buffer |
//! | equal | no | record + buffer | unexpected record, CTS into the buffer |
//! | equal | no | record only | unexpected record, NCTSD; CTS when the receive is posted |
//! | equal | no | none | NCTS; the source's failed bit is set |
//! | differs | no | - | NCTS |
//! | differs | yes | - | NCTS, and resendAll with the current age |
//!
//! A synchronous send is never buffered (row 3 in place of row 2): its CTS must mean that a receive has
//! matched.
//!
//! # Receiver later ([`restarts`])
//! When a receive is posted that could match, or memory is freed, each source whose failed bit is set gets
//! a new age, a cleared bit and a resendAll. A record released because a receive matched it frees memory
//! like anything else (else a later message of that source passes a refused one).
//!
//! # Sender ([`may_offer`], [`on_answer`])
//! Messages to a destination stay in its pending send queue, in order, until CTS or NCTSD. (Section 4.3
//! ends with "if CTS or NCTS is received the message is de-queued"; sections 4.1 and 4.3 themselves
//! require CTS or NCTSD, and so does reason: NCTS means that nobody but the sender knows the message.)
//! A *cursor* into the queue divides the messages that have been offered since the last restart from those
//! that have not; a resendAll with a new age puts it back to the head. Three rules make restarts sound:
//!
//! * (a) the message at the cursor is not offered while it is unanswered, and the sender goes on by itself
//!   when the answer comes. So a resendAll that crosses an NCTS on its way loses nobody.
//! * (b) nothing behind the cursor is offered before it, new messages included. So under one age, messages
//!   leave in order and each at most once.
//! * (c) see "Receiver later".
//!
//! A resendAll with the age that the sender has already says nothing new and is ignored: every message
//! refused under an older age is offered under this one by rule (a), and every message refused under this
//! one has set the failed bit and will cause a newer age. That keeps the last row of the table from making
//! a sender offer its whole queue once for every stale RTS.
//!
//! # What the transport owes
//! RTSs of a pair must not overtake one another (else they misorder at once), and answers of a pair must
//! not either (else an old age can come last). Both travel on deterministically routed channels, one for
//! RTSs and data, one for answers. Data packets name their place and may take any route.
//!
//! # The age
//! Eight bits. An age grows only when a source's failed bit is set, that is, when an RTS *of the current
//! age* has been refused; with RTSs in order, no RTS of that age can still be under way behind the first
//! RTS of the next, so at any moment at most two ages of a pair are in use and even one bit would tell
//! them apart. The other seven are margin against a transport that orders less than it promises.
//!
//! # Emergency memory
//! NCTS needs one priority packet, which the message layer holds ready before it hands over an RTS;
//! resendAll is one bit per source until it is sent. Both are constant.
#![forbid(unsafe_code)]

use crate::request::Offer;

/// Counts restarts of one source by one receiver, wrapping around.
pub type Age = u8;

/// Which of the rules that make the protocol sound are kept.
///
/// A device keeps [`Rules::SOUND`], as constants that the compiler folds. Only with the feature `variants`
/// can they be broken, one by one, for the model checker, which must find each of them missed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Rule (a), second half: a restart that an unanswered message has interrupted goes on.
    pub goes_on: bool,
    /// Rule (b): a new message waits for the restart before it.
    pub waits: bool,
    /// Rule (c): a record released because a receive matched it is a release of memory.
    pub matched_releases: bool,
    /// A resendAll whose age is not newer than the sender's is ignored, in place of one whose age is equal.
    pub newer_only: bool,
    /// Width of the age in bits, 1 to 8.
    pub age_bits: u32,
}

impl Rules {
    /// All rules kept.
    pub const SOUND: Rules = Rules {
        goes_on: true,
        waits: true,
        matched_releases: true,
        newer_only: false,
        age_bits: Age::BITS,
    };

    /// The age after `age`.
    pub fn next_age(&self, age: Age) -> Age {
        age.wrapping_add(1) & self.age_mask()
    }

    /// Whether a resendAll of `age` says something new to a sender whose age is `known`.
    pub fn is_news(&self, known: Age, age: Age) -> bool {
        if self.newer_only {
            let ahead = age.wrapping_sub(known) & self.age_mask();
            ahead != 0 && ahead <= self.age_mask() / 2 + 1
        } else {
            age != known
        }
    }

    fn age_mask(&self) -> Age {
        Age::MAX >> (Age::BITS - self.age_bits)
    }
}

/// What the region has room for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Room {
    /// A record and a buffer for all of the message.
    RecordAndBuffer,
    /// A record.
    Record,
    /// Not even a record.
    Nothing,
}

/// What the receiver does with an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Verdict {
    /// CTS into the buffer of the posted receive that matches.
    Receive,
    /// Make a record with a buffer, CTS into the buffer.
    Buffer,
    /// Make a record, NCTSD.
    Record,
    /// NCTS.
    Refuse {
        /// Set the source's failed bit.
        set_failed: bool,
        /// Send resendAll with the current age.
        resend_all: bool,
    },
}

/// The receiver's table, row by row. `room` is asked only where the table does.
pub fn on_rts(ages_equal: bool, posted_match: bool, room: impl FnOnce() -> Room) -> Verdict {
    match (ages_equal, posted_match) {
        (true, true) => Verdict::Receive,
        (true, false) => match room() {
            Room::RecordAndBuffer => Verdict::Buffer,
            Room::Record => Verdict::Record,
            Room::Nothing => Verdict::Refuse {
                set_failed: true,
                resend_all: false,
            },
        },
        (false, resend_all) => Verdict::Refuse {
            set_failed: false,
            resend_all,
        },
    }
}

/// Whether a source is restarted when a receive that it could match is posted, or memory freed.
pub fn restarts(failed: bool) -> bool {
    failed
}

/// Whether the message at the cursor may be offered: rule (a).
pub fn may_offer(offer: Offer) -> bool {
    match offer {
        Offer::Unsent | Offer::Refused => true,
        Offer::Unanswered => false,
    }
}

/// An answer to an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// Clear to send.
    Cts,
    /// Not clear to send data: recorded, keep the data.
    Nctsd,
    /// Not clear to send: not recorded.
    Ncts,
}

/// What the sender does with a pending message when its answer comes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Step {
    /// Leave the pending send queue and send the data.
    Send,
    /// Leave the pending send queue and keep the data until CTS.
    Hold,
    /// Stay in the pending send queue, refused.
    Stay,
}

/// The sender's table. `None`: no answer is due (a mistake of the other side, to be counted).
pub fn on_answer(offer: Offer, reply: Reply) -> Option<Step> {
    match (offer, reply) {
        (Offer::Unanswered, Reply::Cts) => Some(Step::Send),
        (Offer::Unanswered, Reply::Nctsd) => Some(Step::Hold),
        (Offer::Unanswered, Reply::Ncts) => Some(Step::Stay),
        (Offer::Unsent | Offer::Refused, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> Room {
        panic!("the table does not ask for memory here")
    }

    #[test]
    fn the_receivers_table_row_by_row() {
        assert_eq!(on_rts(true, true, never), Verdict::Receive);
        assert_eq!(
            on_rts(true, false, || Room::RecordAndBuffer),
            Verdict::Buffer
        );
        assert_eq!(on_rts(true, false, || Room::Record), Verdict::Record);
        assert_eq!(
            on_rts(true, false, || Room::Nothing),
            Verdict::Refuse {
                set_failed: true,
                resend_all: false
            }
        );
        assert_eq!(
            on_rts(false, false, never),
            Verdict::Refuse {
                set_failed: false,
                resend_all: false
            }
        );
        assert_eq!(
            on_rts(false, true, never),
            Verdict::Refuse {
                set_failed: false,
                resend_all: true
            }
        );
    }

    #[test]
    fn the_senders_table_row_by_row() {
        assert_eq!(on_answer(Offer::Unanswered, Reply::Cts), Some(Step::Send));
        assert_eq!(on_answer(Offer::Unanswered, Reply::Nctsd), Some(Step::Hold));
        assert_eq!(on_answer(Offer::Unanswered, Reply::Ncts), Some(Step::Stay));
        for reply in [Reply::Cts, Reply::Nctsd, Reply::Ncts] {
            assert_eq!(on_answer(Offer::Unsent, reply), None);
            assert_eq!(on_answer(Offer::Refused, reply), None);
        }
    }

    #[test]
    fn an_unanswered_rts_is_never_sent_again() {
        assert!(may_offer(Offer::Unsent));
        assert!(may_offer(Offer::Refused));
        assert!(!may_offer(Offer::Unanswered));
    }

    #[test]
    fn ages_wrap() {
        assert_eq!(Rules::SOUND.next_age(0), 1);
        assert_eq!(Rules::SOUND.next_age(Age::MAX), 0);
        assert_eq!(
            Rules {
                age_bits: 2,
                ..Rules::SOUND
            }
            .next_age(3),
            0
        );
    }
}
