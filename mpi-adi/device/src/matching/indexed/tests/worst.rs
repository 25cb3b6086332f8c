//! Maximum work per call for any queue length: entries checked, moved and indexed, and words allocated from the heap.

use super::{EngineFixture, below};
use crate::envelope::{Envelope, MatchPattern, Rank};
use crate::ids::RequestId;
use crate::matching::indexed::{FAR, IndexedEngine, Matching, NEAR};
use crate::work;
use oorandom::Rand32;

/// Maximum steps per call: the traversal of entries outside the index, the newly indexed entries with a bucket split
/// for each, and a chunk of requests.
const MAX_STEPS: u64 = FAR as u64 + 2 * NEAR as u64 * 4 + 512;

/// Queues, and the maximum steps of one call on them.
struct Watched {
    queues: EngineFixture<IndexedEngine>,
    most: u64,
    case: String,
}

impl Watched {
    fn new(depth: u32, case: String) -> Self {
        let queues = EngineFixture::new(2 * depth as usize + 100, 7);
        Watched { queues, most: 0, case }
    }

    /// Runs one call and counts its steps, including the engine's hops.
    fn call<T>(&mut self, what: impl FnOnce(&mut EngineFixture<IndexedEngine>) -> T) -> T {
        let before = work::steps_done() + self.queues.engine.measures().traversals;
        let result = what(&mut self.queues);
        let steps = work::steps_done() + self.queues.engine.measures().traversals - before;
        self.most = self.most.max(steps);
        assert!(steps <= MAX_STEPS, "{}: {steps} steps in one call", self.case);
        result
    }
}

/// Key sequence of the entries.
#[derive(Clone, Copy, Debug)]
enum Keys {
    Rising,
    Scattered,
    Equal,
    /// Equal keys among scattered ones.
    Mixed,
}

fn key(keys: Keys, at: u32, depth: u32) -> Envelope {
    let scattered = Envelope {
        source: Rank::new(at % 61),
        tag: (u64::from(at) * 7919 % u64::from(depth)) as i32 + 5,
        context: 0,
    };
    let equal = Envelope {
        source: Rank::new(3),
        tag: 1,
        context: 0,
    };
    match keys {
        Keys::Rising => Envelope {
            source: Rank::new(9),
            tag: at as i32 + 5,
            context: 0,
        },
        Keys::Scattered => scattered,
        Keys::Equal => equal,
        Keys::Mixed if at.is_multiple_of(2) => equal,
        Keys::Mixed => scattered,
    }
}

/// Returns a pattern of this kind that matches the message.
fn asked(envelope: &Envelope, kind: u32) -> MatchPattern {
    MatchPattern::new(
        (kind & 1 == 0).then_some(envelope.source),
        (kind & 2 == 0).then_some(envelope.tag),
        envelope.context,
    )
}

/// Returns an envelope that no entry has.
fn strange(at: u32) -> Envelope {
    Envelope {
        source: Rank::new(1000 + at % 7),
        tag: 4,
        context: 1,
    }
}

/// Returns the order in which entries are requested.
fn order(turn: u32, random: &mut Rand32, depth: u32) -> u32 {
    match turn % 3 {
        0 => turn / 3,
        1 => depth - 1 - turn / 3,
        _ => below(random, depth),
    }
}

const ALL: [Keys; 4] = [Keys::Rising, Keys::Scattered, Keys::Equal, Keys::Mixed];

/// Iterations with a full queue, before it is emptied.
const TURNS: u32 = 300;

fn unexpected(depth: u32, keys: Keys) {
    let mut watched = Watched::new(depth, format!("{depth} unexpected, {keys:?}"));
    let mut random = Rand32::new(depth.into());
    let mut records: Vec<u32> = Vec::new();
    for at in 0..depth {
        let envelope = key(keys, at, depth);
        let record = watched.call(|queues| queues.message(envelope));
        records.push(record.expect_err("no receive").expect("room"));
    }
    for turn in 0..TURNS.min(depth) {
        for kind in [1, 0, 2, 3] {
            watched.call(|queues| {
                let pattern = asked(&strange(turn), kind);
                assert_eq!(queues.engine.probe(&mut queues.region, &pattern), None);
            });
        }
        let envelope = key(keys, order(turn, &mut random, depth), depth);
        for kind in 0..4 {
            watched.call(|queues| {
                let pattern = asked(&envelope, kind);
                queues.engine.probe(&mut queues.region, &pattern);
            });
        }
        // The sender cancels one message and sends it again.
        let place = below(&mut random, depth) as usize;
        let at = watched.queues.at[&records[place]];
        let envelope = watched.queues.region.envelope(at);
        watched.call(|queues| queues.forget(at));
        let again = watched.call(|queues| queues.message(envelope));
        records[place] = again.expect_err("no receive").expect("room");
    }
    for turn in 0..depth {
        let kind = below(&mut random, 4);
        let pattern = asked(&key(keys, turn, depth), kind);
        watched.call(|queues| queues.engine.take_match(&mut queues.region, &pattern));
    }
    while watched
        .call(|queues| {
            queues
                .engine
                .take_match(&mut queues.region, &MatchPattern::new(None, None, 0))
        })
        .is_some()
    {}
    for _ in 0..20 {
        watched.call(|queues| {
            assert_eq!(queues.engine.probe(&mut queues.region, &asked(&strange(0), 0)), None);
        });
    }
    assert_eq!(watched.queues.engine.measures().unexpected, 0);
}

fn posted(depth: u32, keys: Keys, wild: bool) {
    let mut watched = Watched::new(10, format!("{depth} posted, {keys:?}, wild: {wild}"));
    let mut random = Rand32::new(depth.into());
    let mut ids: Vec<Option<RequestId>> = Vec::new();
    for at in 0..depth {
        let kind = if wild {
            [0, 1, 2, 3, 0, 0, 0, 0][at as usize % 8]
        } else {
            0
        };
        let pattern = asked(&key(keys, at, depth), kind);
        let id = watched.call(|queues| queues.receive(pattern));
        ids.push(id.err());
    }
    for turn in 0..TURNS.min(depth) {
        watched.call(|queues| {
            let _ = queues.engine.match_incoming(&mut queues.requests, &strange(turn));
        });
        let envelope = key(keys, order(turn, &mut random, depth), depth);
        let found = watched.call(|queues| queues.engine.match_incoming(&mut queues.requests, &envelope));
        assert!(found.is_some());
        let place = below(&mut random, depth) as usize;
        if let Some(id) = ids[place] {
            let pattern = watched.queues.requests.posted(id.slot()).pattern;
            watched.call(|queues| queues.cancel(id));
            ids[place] = watched.call(|queues| queues.receive(pattern)).err();
        }
    }
    for turn in 0..depth {
        let envelope = key(keys, turn, depth);
        let found = watched.call(|queues| queues.message(envelope));
        // A receive posted again is later in the order: a wildcard may remain for another message.
        assert!(found.is_ok() || wild);
    }
    assert!(wild || watched.queues.engine.measures().posted == 0);
}

#[test]
fn no_call_on_unexpected_messages_takes_more_than_a_constant() {
    for depth in [10, 1000, 100_000] {
        ALL.into_iter().for_each(|keys| unexpected(depth, keys));
    }
}

#[test]
fn no_call_on_posted_receives_takes_more_than_a_constant() {
    for depth in [10, 1000, 100_000] {
        for keys in ALL {
            posted(depth, keys, false);
            posted(depth, keys, true);
        }
    }
}
