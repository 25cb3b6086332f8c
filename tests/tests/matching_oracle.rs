//! Compares every matching engine with the oracle over random sequences of all operations.
//!
//! A failure prints its seed; `cargo midplane soak --seed SEED --jobs 1` replays it.
#![forbid(unsafe_code)]

use midplane_lab::matching::{self, MatchingOp, OpSequence};

/// Sequences in a bounded run; `cargo midplane soak` runs more.
const SEQUENCES: u64 = 200;

#[test]
fn random_sequences_give_what_the_oracle_gives() {
    for seed in 0..SEQUENCES {
        if let Err(counterexample) = matching::check(seed) {
            panic!("seed {seed}: {counterexample}");
        }
    }
}

#[test]
fn a_sequence_is_the_same_each_time_it_is_drawn_from_its_seed() {
    for seed in 0..50 {
        assert_eq!(OpSequence::draw(seed), OpSequence::draw(seed));
    }
}

/// The random sequences cover all kinds of operations.
#[test]
fn the_sequences_have_all_that_there_is() {
    let mut long = 0;
    let mut kinds = std::collections::HashSet::new();
    for sequence in (0..SEQUENCES).map(OpSequence::draw) {
        kinds.extend(sequence.ops.iter().map(std::mem::discriminant));
        long += u32::from(sequence.ops.len() > 4000);
        for op in &sequence.ops {
            if let MatchingOp::Receive { pattern, .. } = op {
                assert!(pattern.source().is_none_or(|s| s.index() < sequence.setting.peers));
            }
        }
    }
    assert_eq!(kinds.len(), 12, "every kind of operation");
    assert!(long > 2, "{long} long sequences");
}
