//! The short-memory protocol's decisions, as pure functions (paper 004, sections 4.1 to 4.3).
//!
//! # Messages
//! | message | from | says |
//! |---|---|---|
//! | RTS(envelope, length, sender's request, age) | sender | may I? Carries the data too when it is short |
//! | CTS(receiver's handle, bytes wanted) | receiver | matched or buffered: leave the pending queue, send the data |
//! | NCTSD | receiver | recorded, but no buffer: leave the pending queue, keep the data until CTS |
//! | NCTS | receiver | not recorded: stay in the pending queue |
//! | restart(age) | receiver | offer what was refused again, under this age |
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
//! In the last row a restart with the current age is on its way already whenever ages differ, since an
//! age changes only together with a restart; it is not sent a second time.
//!
//! # Receiver later: restarts
//! When a receive is posted that could match, or memory is freed, a source with refused messages gets a
//! new age and a restart. In the paper that makes the source offer everything again, for every receive
//! that is posted; here a *restart* says what the source is to offer:
//!
//! * for each receive posted since its last restart, the first pending message that the receive would take;
//! * as many messages from the head of its pending send queue as the restart has *room* for.
//!
//! It stands with a source ([`Standing`](crate::device::peers::Standing)) as follows:
//!
//! ```text
//!   Clear --refused--> Refused --receive posted, or memory and its turn--> RestartQueued --sent--> RestartSent
//!    ^                  ^  ^                                               ^   receive    |
//!    |                  |  +-- refused                                     |   posted     v
//!    |                  |                                                  +-------- RestartSentStale
//!    +-- RTS or DONE under the new age; "more stand refused" leads to RefusedEarlier, which waits like Refused
//! ```
//! While an offer says that another follows, its source is *Offering*: it does not wait for memory, since what
//! comes next would only become stale. A receive from any source makes who waits *WildcardQueued*: such a receive
//! takes one message only, so these get their restarts by turns,
//! [`WILDCARD_RESTARTS`](crate::device::peers::WILDCARD_RESTARTS) at a time, until it is matched.
//!
//! At most one restart is under way to a source. The first RTS under its age closes it, or DONE when the
//! sender has nothing to offer. When memory is freed, as many waiting sources get a restart as there are
//! records freed, by turns; each that is closed while there is memory passes the turn on. So a receiver with
//! ten thousand waiting sources gets one offer for one free record, and a sender with a hundred thousand
//! refused messages makes one for one receive.
//!
//! Memory is freed when a record is matched, when a buffer has been emptied, and, where the program's heap
//! lends ([`UserMemory::lend`](crate::device::memory::UserMemory::lend)), when the program frees some of its own
//! ([`Adi::heap_freed`](crate::Adi::heap_freed)).
//!
//! # Sender ([`on_answer`], [`crate::device::send::pending`])
//! Messages to a destination stay in its pending send queue, in order, until CTS or NCTSD. (Section 4.3
//! ends with "if CTS or NCTS is received the message is de-queued"; sections 4.1 and 4.3 themselves
//! require CTS or NCTSD, and so does reason: NCTS means that nobody but the sender knows the message.)
//! A refused message is offered again only when a restart asks for it or has room for it. An unanswered one
//! is never offered again.
//!
//! # Bcopy, short, eager, rendezvous
//! What fits an RTS ([`INLINE_BYTES`](crate::device::wire::INLINE_BYTES)) travels in it: one trip, and the answer
//! is off the critical path. The shortest are *bcopies* ([`crate::device::send::bcopy`]): copied when they leave, complete
//! then, and in no queue as long as all goes well. At the first thing that does not (a refusal, a record
//! without data, a restart, a message that cannot be a bcopy) those of that destination enter its pending send
//! queue as if they had been there from the start, so all that is said here holds for them too. Up to the eager limit the data follows its RTS at once, in order on the same
//! channel; a receiver that takes it as it comes says so in the CTS, and one that refuses, or records
//! without a buffer, or has [`EAGER_SOURCES`](crate::EAGER_SOURCES) such messages coming already, drops it
//! and gets it again later. Eager messages go in order, one at a time, and none while others to the same
//! receiver stand refused; synchronous sends do not, since they are not buffered. But what a restart has asked
//! for in the name of a receive from this source alone is sure of its place, and goes eagerly up to twice the
//! limit: so a refused message costs one trip more than a rendezvous, not two. Everything else is sent by
//! rendezvous, after the CTS, in any order straight into its place.
//!
//! When the region falls below its low watermark, every answer says *scarce*, and who hears it sends
//! nothing eagerly until an answer says otherwise. So only those who send are told, with packets that leave
//! anyway (paper 003: one pool for all, throttled before it is exhausted); and since the word is kept with
//! the pending send queue, which lasts as long as a burst, it takes no memory per peer.
//!
//! # Answers that share a packet
//! Nobody waits for the answer to a bcopy that has been taken, data and all. It may be deferred: the
//! receiver notes the sender's name for the last such message of a source and how many there are, and says
//! so in the next packet to that source (an answer, which then covers the offers directly before the one that
//! it names; or an RTS of the other direction), after [`SHARED_ANSWER`](crate::SHARED_ANSWER) messages at the
//! latest, or when a step finds nothing to take. Deferred are only answers to a source of which nothing stands
//! refused, so no restart can pass them; every other answer to that source takes the deferred one along, so
//! answers keep their order. One that goes with an RTS may pass, or be passed by, an answer on its own
//! channel; it says how many offers it covers, so it means the same whenever it comes, and a sender that a
//! restart makes wait for every answer under an age waits for this one too.
//!
//! # Cancelled sends
//! A send that is not under way leaves the pending send queue at once. For one that is, the answer decides:
//! refused, it leaves then; accepted, it completes. For one that the receiver holds a record of, CANCEL asks
//! to forget that: CANCELLED says so, and otherwise the CTS that has crossed it is the answer. CANCEL goes
//! for one that was refused, too, of which a probe may know; it is always answered by CANCELLED. So
//! MPI_Wait on a cancelled send never depends on what the receiving program does (MPI-3.1, section 3.8.4).
//!
//! # Rules
//! An RTS says whether it was offered *in order*: everything before it accepted, or offered in order under
//! the same age. It says, too, for which receive it was asked, and whether other messages stand refused.
//!
//! * (a) An offer under an old age is *stale*: refused without being judged. The sender makes it again by
//!   itself, so a restart that crosses an offer on its way loses nobody. It does so once the restart has come
//!   that a stale refusal announces; before that it would be stale again, and again.
//! * (b) A restart is carried out when every offer under the old age has its answer, and nothing leaves
//!   before that, new messages included. So all offers under an age are younger than all under the one
//!   before, and leave in the order of the queue.
//! * (c) A record released because a receive matched it is a release of memory like any other: it gives
//!   a source that waits for memory its turn, under a new age.
//! * (d) Only what was offered in order is recorded, and nothing of a source after a refusal under the
//!   same age. So what is recorded has nothing refused before it, and a receive may take the first record
//!   that it matches. (Where (c) or (d) is kept, a later message cannot take released memory past a refused
//!   one of the same source; from two sources on, that takes (d).)
//! * (e) A receive posted while a restart is under way, or while the source is WildcardQueued, is not matched by what
//!   comes until the next restart, unless that was asked for in its name; the next restart names it.
//!
//! # Why a receive gets the right message
//! A message that was refused under the current age matches no receive posted before that. Every receive
//! posted since is named in a restart, and names the first message that it would take and that no receive
//! before it takes: in the order of posting, receives choose messages as, in the order of sending, messages
//! choose receives (both prefer the earlier, so there is one stable matching). What arrives is offered in
//! the order of the queue and takes the first posted receive that it matches. When another source has
//! taken that receive, fewer of the named messages match, never others.
//!
//! # What a starved source is guaranteed
//! Every receive posted names it. Freed memory goes by turns. A source that gets a turn and finds the
//! memory taken by another keeps its place: it waits for the next release, and whoever took the memory
//! has made progress with it.
//!
//! # What the transport owes
//! RTSs of a pair must not overtake one another (else they misorder at once), and answers of a pair must
//! not either (a CTS would find a sender who does not know yet that its message is recorded). Both travel
//! on deterministically routed channels, one for RTSs with their eager data, one for answers. Rendezvous
//! data packets name their place and may take any route.
//!
//! # The age
//! Eight bits. A new age is given only when something under the current one has arrived, and RTSs come in
//! order, so at any moment at most two ages of a pair are in use and even one bit tells them apart (with
//! none, it misorders and gets stuck). The other seven are margin against a transport that orders less
//! than it promises.
//!
//! # Emergency memory
//! NCTS needs one priority packet, which the message layer holds ready before it hands over an RTS. Deferred
//! answers are noted for [`DEFERRED_SOURCES`](crate::DEFERRED_SOURCES) sources, and when those are taken an answer
//! is not deferred. A restart is three bits per source until it is sent, then one priority packet; DONE is one bit per peer.
//! All are constant.
#![forbid(unsafe_code)]

use crate::device::names::{Horizon, Serial};

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

    /// Width of the age in bits, 0 to 8.
    fn age_bits(self) -> u32 {
        Age::BITS
    }

    /// Width of a restart's horizon in bits, 1 to 64: as many of its lowest bits travel.
    fn horizon_bits(self) -> u32 {
        Horizon::BITS
    }

    /// No rule: short messages may be bcopies ([`bcopy`](crate::device::send::bcopy)). Without them there
    /// are far fewer states to explore.
    fn bcopy(self) -> bool {
        true
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
