//! The pure decision functions of device and router, for all values of their finite domains, against the formulas of the
//! models whose theorems are proved.
#![forbid(unsafe_code)]

use midplane_device::envelope::Rank;
use midplane_device::peers::{PeerTable, SourceState, WILDCARD_RESTARTS};
use midplane_device::protocol::{
    Age, AllRules, ProtocolRules, RecordedMessage, ReplyAction, RtsDecision, RtsReply, RtsState, may_send_rts,
    on_reply, on_rts,
};
use midplane_proofs::model::Model;
use midplane_proofs::models;
use midplane_proofs::state::State;
use net_torus::vc::Vc;

/// Flow-control states, with the constant of the model.
const STATES: [(SourceState, &str); 8] = [
    (SourceState::Clear, "clear"),
    (SourceState::RejectedEarlier, "rejected_earlier"),
    (SourceState::Rejected, "rejected_now"),
    (SourceState::RestartQueued, "restart_queued"),
    (SourceState::RestartSent, "restart_sent"),
    (SourceState::RestartSentStale, "restart_sent_stale"),
    (SourceState::Offering, "offering"),
    (SourceState::WildcardQueued, "wildcard_queued"),
];

/// The source, the last rank: those before it keep the limit of restarts for wildcards in use.
const SOURCE: Rank = Rank::new(WILDCARD_RESTARTS);

/// Returns a table whose source is in this state.
fn table(state: SourceState) -> PeerTable {
    let mut peers = PeerTable::allocate(WILDCARD_RESTARTS as usize + 1).expect("memory");
    (0..WILDCARD_RESTARTS).for_each(|other| peers.queue_restart(Rank::new(other), AllRules));
    let send = |peers: &mut PeerTable| while peers.next_pending_restart().is_some() {};
    send(&mut peers);
    match state {
        SourceState::Clear => {}
        SourceState::RejectedEarlier => peers.note_accepted(SOURCE, true, false),
        SourceState::Rejected => peers.note_rejected(SOURCE),
        SourceState::RestartQueued => peers.queue_restart(SOURCE, AllRules),
        SourceState::RestartSent | SourceState::RestartSentStale => {
            peers.queue_restart(SOURCE, AllRules);
            send(&mut peers);
            if state == SourceState::RestartSentStale {
                assert!(peers.note_posted(Some(SOURCE), AllRules));
            }
        }
        SourceState::Offering => peers.note_accepted(SOURCE, true, true),
        SourceState::WildcardQueued => {
            peers.note_rejected(SOURCE);
            assert!(peers.note_posted(None, AllRules));
        }
    }
    assert_eq!(peers.source_state(SOURCE), state);
    peers
}

struct PairModel {
    model: Model,
}

impl PairModel {
    fn new() -> Self {
        PairModel {
            model: models::named("pair").expect("a model"),
        }
    }

    fn constant(&self, name: &str) -> i64 {
        self.model.constant(name).expect("a constant of the model")
    }

    /// Returns a state in which the RTS of message 0 arrives, at a receiver in this state of the source.
    fn arriving(&self, source: &str, receiver_age: i64, age: i64, more: bool) -> State<'_> {
        let mut state = State::first(&self.model);
        for (name, value) in [
            ("n", 1),
            ("q_tail", 1),
            ("receiver_age", receiver_age),
            ("source", self.constant(source)),
        ] {
            state.set(name, &[], value);
        }
        for (name, value) in [
            ("st", self.constant("unanswered")),
            ("place_of", self.constant("rts")),
            ("age", age),
            ("more", more.into()),
            ("in_order", 1),
        ] {
            state.set(name, &[0], value);
        }
        state.set("at_q", &[0], 0);
        for kind in ["message", "place"] {
            state.set_size(kind, 1);
        }
        state.set_size("flag", 2);
        state
    }

    /// Returns the name of a guard that does not hold, and the state after the step.
    fn step<'m>(&'m self, state: &State<'m>, name: &str, values: &[i64]) -> (Option<&'m str>, State<'m>) {
        let step = self.model.step_named(name).expect("a step of the model");
        let params: Vec<_> = step.params.iter().cloned().zip(values.iter().copied()).collect();
        (state.refused(step, &params), state.after(step, &params))
    }

    /// Requires that a step of the model is possible and leads to the table's state of the source, and to its age.
    fn require(&self, before: &State<'_>, (name, values): (&str, &[i64]), peers: &PeerTable, context: &str) {
        let (refused, after) = self.step(before, name, values);
        assert_eq!(refused, None, "{context}: {name}");
        let (_, expected) = STATES[after.get("source", &[]) as usize];
        let (_, found) = STATES
            .into_iter()
            .find(|(state, _)| *state == peers.source_state(SOURCE))
            .expect("a state");
        assert_eq!(found, expected, "{context}: {name}");
        let age = after.get("receiver_age", &[]) as u64 as Age;
        assert_eq!(peers.ages(SOURCE).from, age, "{context}: {name}");
    }
}

const FLAGS: [bool; 2] = [false, true];

/// The state of a source after each event, for all states and flags: 8 x (4 + 1 + 2) cases of an RTS, and 4 of DONE.
#[test]
fn a_source_changes_its_state_as_in_the_model() {
    let model = PairModel::new();
    for (number, (state, name)) in STATES.into_iter().enumerate() {
        assert_eq!(model.constant(name), number as i64, "the order of the constants");
        for more in FLAGS {
            for follows in FLAGS {
                let mut peers = table(state);
                let age = peers.ages(SOURCE).from.into();
                let before = model.arriving(name, age, age, more);
                let context = format!("{name}, {more}, {follows}");
                peers.note_accepted(SOURCE, more, follows);
                peers.renew_restart(SOURCE, state, AllRules);
                model.require(&before, ("take_match", &[0, follows.into(), 0, 0]), &peers, &context);
                // An early RTS announces itself as rejected.
                if more && matches!(state, SourceState::RestartSentStale | SourceState::WildcardQueued) {
                    model.require(&before, ("take_early", &[0]), &peers, &context);
                }
                if !follows && matches!(state, SourceState::RestartSent | SourceState::RestartSentStale) {
                    let mut before = model.arriving(name, age, age, more);
                    before.set("done", &[], 1);
                    before.set("done_more", &[], more.into());
                    model.require(&before, ("take_done", &[]), &peers, &context);
                }
            }
        }
        let mut peers = table(state);
        let age = peers.ages(SOURCE).from.into();
        peers.note_rejected(SOURCE);
        peers.renew_restart(SOURCE, state, AllRules);
        model.require(
            &model.arriving(name, age, age, false),
            ("take_reject", &[0]),
            &peers,
            name,
        );
    }
}

/// A posted receive, for all states: the table makes an event of the model, or none.
#[test]
fn a_posted_receive_is_an_event_of_the_model() {
    let model = PairModel::new();
    for (state, name) in STATES {
        for by_name in FLAGS {
            let mut peers = table(state);
            let before = model.arriving(name, peers.ages(SOURCE).from.into(), 0, false);
            peers.note_posted(by_name.then_some(SOURCE), AllRules);
            let now = peers.source_state(SOURCE);
            let event = match now {
                _ if now == state => continue,
                SourceState::RestartQueued => "restart",
                SourceState::RestartSentStale => "post",
                _ => "post_wildcard",
            };
            model.require(&before, (event, &[]), &peers, &format!("{name}, {by_name}"));
        }
        // A source that waits does not keep its state: a receive for it leads to a restart, or to its turn.
        let mut peers = table(state);
        peers.note_posted(Some(SOURCE), AllRules);
        let has_restart = matches!(
            peers.source_state(SOURCE),
            SourceState::RestartQueued | SourceState::RestartSentStale
        );
        assert_eq!(has_restart, state != SourceState::Clear, "{name}");
        let mut peers = table(state);
        let before = model.arriving(name, peers.ages(SOURCE).from.into(), 0, false);
        let (refused, _) = model.step(&before, "send_restart", &[]);
        assert_eq!(refused.is_none(), peers.has_pending_restarts(), "{name}");
        if let Some((source, age)) = peers.next_pending_restart() {
            assert_eq!((source, age), (SOURCE, peers.ages(SOURCE).from));
            model.require(&before, ("send_restart", &[]), &peers, name);
        }
    }
}

/// The receiver's table, for all ages, receives and outcomes of the memory.
#[test]
fn the_receivers_table_is_that_of_the_model() {
    let model = PairModel::new();
    for receiver_age in 0..=2 * i64::from(Age::MAX) {
        for age in [receiver_age - 1, receiver_age] {
            let ages_equal = age as Age == receiver_age as Age;
            let before = model.arriving("clear", receiver_age, age, false);
            for posted in [None, Some(())] {
                let outcomes = [
                    RecordedMessage::WithBuffer(()),
                    RecordedMessage::WithoutBuffer(()),
                    RecordedMessage::None,
                ];
                for recorded in outcomes {
                    let (name, values): (_, &[i64]) = match on_rts(ages_equal, posted, || recorded) {
                        RtsDecision::Receive(()) => ("take_match", &[0, 0, 0, 0]),
                        RtsDecision::Buffer(()) => ("take_record", &[0, 0, 0, 0]),
                        RtsDecision::Record(()) => ("take_record", &[0, 0, 0, 1]),
                        RtsDecision::Reject { failed: true } => ("take_reject", &[0]),
                        RtsDecision::Reject { failed: false } => ("take_stale", &[0]),
                    };
                    assert_eq!(model.step(&before, name, values).0, None, "{name} {age} {receiver_age}");
                    let is_matched = ages_equal && posted.is_some();
                    assert_eq!(name == "take_match", is_matched);
                }
            }
            // The other half of the table is impossible.
            let (wrong, guard) = if ages_equal {
                ("take_stale", "ages_differ")
            } else {
                ("take_reject", "ages_equal")
            };
            assert_eq!(model.step(&before, wrong, &[0]).0, Some(guard));
        }
    }
}

/// The sender's table, for all states and replies. A reply without an unanswered RTS violates the invariant.
#[test]
fn the_senders_table_is_that_of_the_model() {
    let model = PairModel::new();
    let replies = [
        (RtsReply::Cts, "cts"),
        (RtsReply::Nctsd, "nctsd"),
        (RtsReply::Ncts, "ncts"),
    ];
    for (offer, name) in [
        (RtsState::Unsent, "unsent"),
        (RtsState::Unanswered, "unanswered"),
        (RtsState::Rejected, "rejected"),
    ] {
        for (reply, outcome) in replies {
            let mut before = model.arriving("clear", 0, 0, false);
            before.set("q_head", &[], 1);
            before.set("a_tail", &[], 1);
            before.set("at_a", &[0], 0);
            before.set("st", &[0], model.constant(name));
            before.set("place_of", &[0], model.constant("reply"));
            before.set("outcome", &[0], model.constant(outcome));
            let Some(action) = on_reply(offer, reply) else {
                assert_eq!(before.violated(), Some("one_packet"), "{name} {outcome}");
                continue;
            };
            let (step, values, expected): (_, &[i64], _) = match action {
                ReplyAction::Send | ReplyAction::AwaitCts => ("reply_accepted", &[0], "gone"),
                ReplyAction::RemainQueued => ("reply_rejected", &[0, 0], "rejected"),
            };
            let (refused, after) = model.step(&before, step, values);
            assert_eq!(
                (refused, after.get("st", &[0])),
                (None, model.constant(expected)),
                "{name} {outcome}"
            );
        }
        let mut before = model.arriving("clear", 0, 0, false);
        before.set("st", &[0], model.constant(name));
        before.set("place_of", &[0], model.constant("nowhere"));
        // A rejected message is requested first.
        if offer == RtsState::Rejected {
            let (refused, requested) = model.step(&before, "request", &[0]);
            assert_eq!(refused, None);
            before = requested;
        }
        let (refused, _) = model.step(&before, "send", &[0, 0, 1]);
        assert_eq!(refused.is_none(), may_send_rts(offer), "{name}");
    }
}

/// Rules with ages and horizons of these bits.
#[derive(Clone, Copy)]
struct Widths {
    age: u32,
    horizon: u32,
}

impl ProtocolRules for Widths {
    fn age_bits(self) -> u32 {
        self.age
    }
    fn horizon_bits(self) -> u32 {
        self.horizon
    }
}

/// Ages count modulo the width, for all ages and widths; two successive ones differ at each width but 0.
#[test]
fn ages_count_modulo_their_width() {
    for age in 0..=Age::BITS {
        let rules = Widths { age, horizon: 64 };
        let modulus = 1_u32 << age;
        for before in 0..modulus {
            let next = rules.next_age(before as Age);
            assert_eq!(u32::from(next), (before + 1) % modulus, "{age} bits");
            assert_eq!(next == before as Age, age == 0);
            for restarts in 0..=Age::MAX {
                let after = rules.age_after(before as Age, restarts);
                assert_eq!(u32::from(after), (before + u32::from(restarts)) % modulus, "{age} bits");
            }
        }
    }
}

/// A horizon of `w` bits is read exactly while fewer than 2^w receives have started since, and no longer: for all numbers
/// at widths up to 8 bits, and at the limits of 64 bits.
#[test]
fn a_horizon_is_read_exactly_within_its_width() {
    for horizon in 1..=8 {
        let rules = Widths { age: 8, horizon };
        let range = 1_u64 << horizon;
        for posts in 0..4 * range {
            for earlier in 0..=posts {
                let read = rules.horizon(rules.on_the_wire(earlier), posts);
                assert_eq!(
                    read == earlier,
                    posts - earlier < range,
                    "{earlier} of {posts}, {horizon} bits"
                );
                assert!(
                    read >= earlier && read <= posts,
                    "a narrow horizon is read as a later one"
                );
            }
        }
    }
    let limits = [0, 1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX - 1, u64::MAX];
    for posts in limits {
        for earlier in limits.into_iter().filter(|earlier| *earlier <= posts) {
            assert_eq!(AllRules.horizon(AllRules.on_the_wire(earlier), posts), earlier);
        }
    }
}

/// The round robin over waiting sources, for up to 6 peers: all sets of waiting ones, all turns, all `me`.
#[test]
fn each_turn_is_one_of_the_model() {
    let model = models::named("turns").expect("a model");
    let mut turns = 0;
    for size in 1..=6_u32 {
        for set in 1..1_u32 << size {
            for turn in 0..size {
                let mut peers = PeerTable::allocate(size as usize).expect("memory");
                // The turn is behind the source that was served last.
                let last = Rank::new((turn + size - 1) % size);
                peers.note_rejected(last);
                peers.restart_next(1, AllRules);
                assert_eq!(peers.next_pending_restart().map(|(source, _)| source), Some(last));
                peers.note_accepted(last, false, false);
                let mut state = State::first(&model);
                state.set("peers", &[], size.into());
                state.set("turn", &[], turn.into());
                state.set_size("peer", size as usize);
                for rank in (0..size).filter(|rank| set & 1 << rank != 0) {
                    peers.note_rejected(Rank::new(rank));
                    state.set("waits", &[rank.into()], 1);
                }
                while peers.waiting_count() > 0 {
                    peers.restart_next(1, AllRules);
                    let (source, _) = peers.next_pending_restart().expect("a source");
                    let mut next = None;
                    for me in 0..i64::from(size) {
                        state.set("me", &[], me);
                        let made = ["serve", "serve_me"].into_iter().find_map(|name| {
                            let step = model.step_named(name)?;
                            let params = [(step.params[0].clone(), i64::from(source.index()))];
                            state
                                .refused(step, &params)
                                .is_none()
                                .then(|| state.after(step, &params))
                        });
                        assert!(made.is_some(), "{source:?} is not the next of {set:b} from {turn}");
                        next = made;
                    }
                    state = next.expect("a peer");
                    assert_eq!(state.violated(), None);
                    turns += 1;
                }
            }
        }
    }
    println!("{turns} turns");
}

/// Tokens in units of the maximum packet: the channel's rules are the guards of the ring model.
#[test]
fn tokens_are_those_of_the_ring_model() {
    let model = models::named("ring").expect("a model");
    let holds = |free: i64, name: &str| {
        let mut state = State::first(&model);
        state.set("capacity", &[], 8);
        for (name, value) in [("next", 1), ("prev", 1), ("used", 1), ("free", 8)] {
            state.set(name, &[0], value);
        }
        let at = i64::from(name == "move");
        state.set("free", &[at], free);
        let step = model.step_named(name).expect("a step of the model");
        state.refused(step, &[(step.params[0].clone(), 0)]).is_none()
    };
    for vc in Vc::ALL.into_iter().filter(|vc| vc.is_bubble()) {
        let unit = vc.greatest() as u16;
        for chunks in 1..=vc.greatest() {
            assert_eq!(vc.charge(chunks), unit, "a packet uses one place");
            for free in 0..=8 {
                let tokens = free * unit;
                let (enters, continues) = (vc.needed(chunks, false), vc.needed(chunks, true));
                assert_eq!(tokens >= enters, holds(free.into(), "enter"), "{vc:?} {chunks} {free}");
                assert_eq!(
                    tokens >= continues,
                    holds(free.into(), "move"),
                    "{vc:?} {chunks} {free}"
                );
            }
        }
    }
}
