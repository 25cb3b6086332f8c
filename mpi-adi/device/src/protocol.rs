//! The short-memory protocol's decisions, as pure functions (paper 004, sections 4.1 to 4.3).
//!
//! Here are its tables and rules. `docs/protocol.md` says why they are right, and what goes on around them.
//!
//! # Messages
//! | message | from | says |
//! |---|---|---|
//! | RTS(envelope, length, sender's request, age) | sender | may I? Carries the data too when it is short |
//! | CTS(receiver's handle, bytes wanted) | receiver | matched or buffered: leave the pending queue, send the data |
//! | NCTSD | receiver | recorded, but no buffer: leave the pending queue, keep the data until CTS |
//! | NCTS | receiver | not recorded: stay in the pending queue |
//! | restart(age, room, receives) | receiver | offer refused messages again, under this age: the papers' resendAll |
//! | DONE(age) | sender | the restart asked for nothing that is here |
//! | CANCEL, CANCELLED | sender, receiver | forget a message that is taken back; it is forgotten |
//!
//! # Receiver on RTS ([`on_rts`])
//! | age | posted match | memory | receiver does |
//! |---|---|---|---|
//! | equal | yes | - | CTS into the user's buffer |
//! | equal | no | record + buffer | unexpected record, CTS into the buffer |
//! | equal | no | record only | unexpected record, NCTSD; CTS when the receive is posted |
//! | equal | no | none | NCTS; the source's failed bit is set |
//! | differs | no | - | NCTS |
//! | differs | yes | - | NCTS, and a restart with the current age |
//!
//! A synchronous send is never buffered (row 3 in place of row 2): its CTS must mean that a receive has
//! matched.
//!
//! The restart of the last row is on its way already: an age changes only together with a restart. It is not
//! sent a second time, so the last two rows are one here.
//!
//! # Receiver later: restarts
//! A source with refused messages gets a new age and a *restart* when a receive is posted that could match, or
//! memory is freed. The restart says what the source is to offer:
//!
//! * for each receive posted since its last restart, the first pending message that the receive would take;
//! * as many messages from the head of its pending send queue as the restart has *room* for.
//!
//! At most one restart is under way to a source. The first RTS under its age closes it, or DONE. The source
//! stands with the receiver ([`Standing`](crate::peers::Standing)) as follows:
//!
//! ```text
//!   Clear --refused--> Refused --receive posted, or memory and its turn--> RestartQueued --sent--> RestartSent
//!    ^                  ^  ^                                               ^   receive    |
//!    |                  |  +-- refused                                     |   posted     v
//!    |                  |                                                  +-------- RestartSentStale
//!    +-- RTS or DONE under the new age; "more stand refused" leads to RefusedEarlier, which waits like Refused
//! ```
//! *Offering*: an offer has said that another follows. The source does not wait for memory, since what comes
//! next would only become stale. *WildcardQueued*: a receive from any source has been posted. It takes one
//! message only, so the sources that wait get their restarts by turns,
//! [`WILDCARD_RESTARTS`](crate::peers::WILDCARD_RESTARTS) at a time, until it is matched.
//!
//! # Sender ([`on_answer`], [`crate::send::pending`])
//! Messages to a destination stay in its pending send queue, in order, until CTS or NCTSD. A refused message is
//! offered again only when a restart asks for it or has room for it. An unanswered one is never offered again.
//!
//! # Rules
//! An RTS says whether it was offered *in order*: everything before it accepted, or offered in order under
//! the same age. It says whether other messages stand refused. And when a restart has asked for it, it repeats
//! that restart's [horizon](crate::names).
//!
//! * (a) An offer under an old age is *stale*: refused without being judged. The sender makes it again by
//!   itself, so a restart that crosses an offer on its way loses no message. It does so once the restart has
//!   come that a stale refusal announces; before that it would be stale again, and again.
//! * (b) A restart is carried out when every offer under the old age has its answer, and nothing leaves
//!   before that, new messages included. So all offers under an age are younger than all under the one
//!   before, and leave in the order of the queue.
//! * (c) A record released because a receive matched it is a release of memory like any other: it gives
//!   a source that waits for memory its turn, under a new age.
//! * (d) Only what was offered in order is recorded, and nothing of a source after a refusal under the
//!   same age. So what is recorded has nothing refused before it, and a receive may take the first record
//!   that it matches. (Where (c) or (d) is kept, a later message cannot take released memory past a refused
//!   one of the same source; from two sources on, that takes (d).)
//! * (e) A receive posted while a restart is under way, or while the source is WildcardQueued, is not matched by
//!   what comes until the next restart, which names it: an earlier message may belong to it. What a restart has
//!   asked for may be taken by any receive that is older than that restart (below its horizon), not only by the
//!   one in whose name it was asked.
//! * (f) A receive that is cancelled while restarts are under way to sources of which it may take a message stays
//!   posted until each of them has answered, and the restart that names the receive has been answered, too. So it takes
//!   what was asked for in its name, or there is nothing for it. A program that polls by receives which it cancels gets
//!   each message, also where nothing can be recorded.
#![forbid(unsafe_code)]

use crate::names::{Horizon, REQUEST_GENERATION_BITS, Serial};

/// Counts restarts of one source by one receiver, wrapping around.
pub type Age = u8;

/// Which of the rules that make the protocol sound are kept.
///
/// What every program runs on keeps them all ([`Sound`]), and the compiler folds them. A model checker brings
/// rules of its own, breaks them one by one, and must find each of them missed.
pub trait Rules: Copy {
    /// Rule (a): a message whose offer came too late to be judged is offered again by itself.
    fn goes_on(self) -> bool {
        true
    }

    /// Rule (b): nothing leaves under a new age before every offer under the old one has its answer.
    fn waits(self) -> bool {
        true
    }

    /// Rule (c): a record released because a receive matched it is a release of memory.
    fn matched_releases(self) -> bool {
        true
    }

    /// Rule (d): what is recorded has nothing refused before it.
    fn records_in_order(self) -> bool {
        true
    }

    /// Rule (e): a receive posted while a restart is on its way is not matched by what the restart brings.
    fn guards_posts(self) -> bool {
        true
    }

    /// Rule (f): a receive is not taken back while a source that was asked in its name has yet to answer.
    fn holds_cancelled(self) -> bool {
        true
    }

    /// A message to oneself does not overtake one that waits in the pending send queue
    /// ([`oneself`](crate::send)).
    fn guards_own_queue(self) -> bool {
        true
    }

    /// Width of the age in bits, 0 to 8.
    fn age_bits(self) -> u32 {
        Age::BITS
    }

    /// Width of a restart's horizon in bits, 1 to 64: as many of its lowest bits travel.
    fn horizon_bits(self) -> u32 {
        Horizon::BITS
    }

    /// No rule: short messages may be bcopies ([`bcopy`](crate::send::bcopy)). Without them there
    /// are far fewer states to explore.
    fn bcopy(self) -> bool {
        true
    }

    /// Bits of generation in names, at most: 0 to 9. No rule, but what no rule may rest on.
    fn name_bits(self) -> u32 {
        REQUEST_GENERATION_BITS
    }

    /// What of a horizon travels.
    fn on_the_wire(self, horizon: Horizon) -> Horizon {
        horizon & horizon_mask(self)
    }

    /// The horizon of which `said` has travelled, when `posts` receives have been started: the last one that
    /// reads so.
    fn horizon(self, said: Horizon, posts: Serial) -> Horizon {
        posts.wrapping_sub(posts.wrapping_sub(said) & horizon_mask(self))
    }

    /// The age after `age`.
    fn next_age(self, age: Age) -> Age {
        self.age_after(age, 1)
    }

    /// The age that comes `restarts` after `age`.
    fn age_after(self, age: Age, restarts: Age) -> Age {
        let mask = Age::MAX
            .checked_shr(Age::BITS - self.age_bits())
            .unwrap_or(0);
        age.wrapping_add(restarts) & mask
    }
}

fn horizon_mask(rules: impl Rules) -> Horizon {
    Horizon::MAX >> (Horizon::BITS - rules.horizon_bits())
}

/// All rules kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Sound;

impl Rules for Sound {}

/// What has been recorded of a message, and where.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Recorded<B> {
    /// A record with a buffer for all of the message.
    WithBuffer(B),
    /// A record alone.
    Alone(B),
    /// Nothing: there was not even room for a record.
    Nothing,
}

/// What the receiver does with an RTS.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Verdict<S, B> {
    /// CTS into the buffer of the posted receive that matches.
    Receive(S),
    /// Recorded with a buffer: CTS into the buffer.
    Buffer(B),
    /// Recorded: NCTSD.
    Record(B),
    /// NCTS.
    Refuse {
        /// Set the source's failed bit.
        failed: bool,
    },
}

/// The receiver's table, row by row, with the posted receive that matches. `record` is asked only where the
/// table does.
pub fn on_rts<S, B>(
    ages_equal: bool,
    posted: Option<S>,
    record: impl FnOnce() -> Recorded<B>,
) -> Verdict<S, B> {
    match (ages_equal, posted) {
        (true, Some(receive)) => Verdict::Receive(receive),
        (true, None) => match record() {
            Recorded::WithBuffer(at) => Verdict::Buffer(at),
            Recorded::Alone(at) => Verdict::Record(at),
            Recorded::Nothing => Verdict::Refuse { failed: true },
        },
        (false, _) => Verdict::Refuse { failed: false },
    }
}

/// How often a pending send has been offered to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Offer {
    /// Not yet.
    Unsent,
    /// An RTS is on its way or its answer is.
    Unanswered,
    /// The receiver answered NCTS.
    Refused,
}

/// Whether a message may be offered: an unanswered one never is again.
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

    fn never() -> Recorded<u8> {
        panic!("the table does not ask for memory here")
    }

    #[test]
    fn the_receivers_table_row_by_row() {
        const NONE: Option<char> = None;
        let recorded = |recorded: Recorded<u8>| on_rts(true, NONE, || recorded);
        assert_eq!(on_rts(true, Some('r'), never), Verdict::Receive('r'));
        assert_eq!(recorded(Recorded::WithBuffer(5)), Verdict::Buffer(5));
        assert_eq!(recorded(Recorded::Alone(6)), Verdict::Record(6));
        assert_eq!(
            recorded(Recorded::Nothing),
            Verdict::Refuse { failed: true }
        );
        for posted in [NONE, Some('r')] {
            assert_eq!(
                on_rts(false, posted, never),
                Verdict::Refuse { failed: false }
            );
        }
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
        #[derive(Clone, Copy)]
        struct TwoBits;
        impl Rules for TwoBits {
            fn age_bits(self) -> u32 {
                2
            }
            fn horizon_bits(self) -> u32 {
                2
            }
        }
        assert_eq!(Sound.next_age(0), 1);
        assert_eq!(Sound.next_age(Age::MAX), 0);
        assert_eq!(TwoBits.next_age(3), 0);
        assert_eq!(Sound.horizon(Sound.on_the_wire(5), 1000), 5);
        let narrow = |horizon, posts| TwoBits.horizon(TwoBits.on_the_wire(horizon), posts);
        assert_eq!((narrow(5, 5), narrow(5, 8), narrow(5, 9)), (5, 5, 9));
    }
}
