//! Explores the state machine of epochs exhaustively: every row of the table (`qemu/lab/src/epochs/cases/`).
//!
//! `-- --nocapture` prints the numbers of states.
#![forbid(unsafe_code)]

use std::ops::Range;

use midplane_device::rma::rules::BrokenRule;
use midplane_lab::epochs::cases::{CaseRow, RequiredResult, table};
use midplane_lab::epochs::explore::{ExploreResult, explore, walk};
use midplane_lab::epochs::random::WindowJob;

/// Maximum number of states before a job is aborted.
const LIMIT: u64 = 50_000_000;

/// Number of states of each valid job, by name; a changed number fails the test.
const STATES: [(&str, u64); 44] = [
    ("exchange, no key", 17866),
    ("exchange, all keys", 50731),
    ("ring, no key", 207376),
    ("ring, all keys", 207376),
    ("late origin, no key", 3456),
    ("late origin, all keys", 7776),
    ("late origin and a fence, no key", 41522),
    ("late origin and a fence, all keys", 97682),
    ("passed by, no key", 31686),
    ("passed by, all keys", 45084),
    ("behind a fence, no key", 19692),
    ("behind a fence, all keys", 19692),
    ("fences, no key", 181617),
    ("fences, all keys", 181617),
    ("a fence alone, no key", 893),
    ("a fence alone, all keys", 893),
    ("fences and a look, no key", 32144),
    ("fences and a look, all keys", 32144),
    ("locks, no key", 10189),
    ("locks, all keys", 10189),
    ("a lock of one's own, no key", 2138),
    ("a lock of one's own, all keys", 2138),
    ("transactions, no key", 35972),
    ("transactions, all keys", 119780),
    ("everyone, no key", 42161),
    ("everyone, all keys", 42161),
    ("two windows, no key", 4770),
    ("two windows, all keys", 10786),
    ("on itself, all keys", 12),
    ("on itself, no key", 12),
    ("unexposed, all keys", 316),
    ("unexposed, no key", 316),
    ("granted twice, all keys", 874),
    ("granted twice, no key", 874),
    ("counted, all keys", 52128),
    ("counted, no key", 26816),
    ("gets and more, all keys", 659),
    ("gets and more, no key", 659),
    ("gets, all keys", 315),
    ("gets, no key", 315),
    ("flushed at all, all keys", 98580),
    ("flushed at all, no key", 98580),
    ("flushed, all keys", 122892),
    ("flushed, no key", 122892),
];

/// Explores rows. Returns those whose result differs from the expected one.
fn surprises(rows: impl Iterator<Item = CaseRow>, is_expected: impl Fn(&CaseRow, &ExploreResult) -> bool) -> String {
    let explored = rows.filter_map(|row| {
        let found = explore(&row.case, LIMIT);
        println!("{}: {found}", row.name);
        (!is_expected(&row, &found)).then(|| format!("{}: {found}\n", row.name))
    });
    explored.collect()
}

/// Jobs with more states are explored without keys only, except on request.
const MANY: u64 = 40_000;

#[test]
fn epochs_keep_their_rules() {
    epochs_keep_rules(|name, states| states <= MANY || name.ends_with("no key"));
}

#[test]
#[ignore = "takes a minute: jobs of more than 40,000 states, with keys"]
fn epochs_keep_their_rules_in_larger_jobs() {
    epochs_keep_rules(|name, states| states > MANY && name.ends_with("all keys"));
}

/// Explores the rows of [`STATES`] that `is_chosen` selects by name and number of states.
fn epochs_keep_rules(is_chosen: impl Fn(&str, u64) -> bool) {
    let chosen = STATES.iter().filter(|(name, states)| is_chosen(name, *states));
    let chosen: Vec<_> = chosen.collect();
    let states = |row: &CaseRow| chosen.iter().find(|(name, _)| *name == row.name);
    let rows = table().into_iter().filter(|row| states(row).is_some());
    let surprises = surprises(rows, |row, found| {
        states(row).is_some_and(|(_, states)| *found == ExploreResult::Sound(*states))
    });
    assert!(surprises.is_empty(), "{surprises}");
}

/// The remaining rows, each as long as all of those together.
#[test]
#[ignore = "takes minutes: each pair of epochs beside a second window, and locks that cross each other"]
fn epochs_keep_their_rules_in_long_jobs() {
    let is_long = |row: &CaseRow| STATES.iter().all(|(name, _)| *name != row.name);
    let rows = table()
        .into_iter()
        .filter(|row| row.finds == RequiredResult::Sound && is_long(row));
    let surprises = surprises(rows, |_, found| matches!(found, ExploreResult::Sound(_)));
    assert!(surprises.is_empty(), "{surprises}");
}

/// Rules whose jobs have millions of states.
const LONG: [BrokenRule; 2] = [BrokenRule::QueuesBeside, BrokenRule::NeverUrges];

fn is_found(row: &CaseRow, found: &ExploreResult) -> bool {
    match found {
        ExploreResult::Broken(what, _) => row.finds == RequiredResult::Broken(what),
        _ => false,
    }
}

#[test]
fn each_broken_rule_is_found() {
    let is_short = |flaw: BrokenRule| !LONG.contains(&flaw);
    let rows = table().into_iter();
    let surprises = surprises(rows.filter(|row| row.case.flaw.is_some_and(is_short)), is_found);
    assert!(surprises.is_empty(), "{surprises}");
}

#[test]
#[ignore = "takes minutes: jobs of millions of states"]
fn each_broken_rule_is_found_in_long_jobs() {
    let is_long = |flaw: BrokenRule| LONG.contains(&flaw);
    let rows = table().into_iter();
    let surprises = surprises(rows.filter(|row| row.case.flaw.is_some_and(is_long)), is_found);
    assert!(surprises.is_empty(), "{surprises}");
}

fn random(seed: u64, flaw: Option<BrokenRule>) -> ExploreResult {
    walk(&WindowJob::draw(2 + (seed % 4) as u32, seed), flaw, seed)
}

/// Random jobs with operations of several packets, memory that is freed and allocated, and contended locks.
fn random_large(seed: u64, flaw: Option<BrokenRule>) -> ExploreResult {
    let windows = WindowJob::draw_large(2 + (seed % 4) as u32, seed);
    walk(&windows, flaw, seed)
}

#[test]
fn random_epochs_leave_what_sequential_memory_has() {
    random_epochs(0..100);
}

#[test]
#[ignore = "takes a minute: 200 more seeds"]
fn more_random_epochs_leave_what_sequential_memory_has() {
    random_epochs(100..300);
}

fn random_epochs(seeds: Range<u64>) {
    for (seed, of) in seeds.flat_map(|seed| [(seed, random as Drawn), (seed, random_large)]) {
        let found = of(seed, None);
        assert!(matches!(found, ExploreResult::Sound(_)), "seed {seed}: {found}");
    }
}

type Drawn = fn(u64, Option<BrokenRule>) -> ExploreResult;

#[test]
fn random_epochs_find_each_broken_rule() {
    for flaw in [
        BrokenRule::DefersWhatIsNested,
        BrokenRule::AsksTheLastOnly,
        BrokenRule::AsksNone,
        BrokenRule::DoneBeforeResults,
        BrokenRule::DoneBeforeOperations,
        BrokenRule::CountsForTheNewest,
        BrokenRule::ArrivesUnflushed,
        BrokenRule::NeedsNoGrant,
        BrokenRule::UnlocksEarly,
        BrokenRule::EndsWithAny,
    ] {
        is_found_by(random, flaw);
    }
    for flaw in [
        BrokenRule::QueuesBeside,
        BrokenRule::NeedsNoGrant,
        BrokenRule::DoneBeforeOperations,
        BrokenRule::MovesUnseen,
    ] {
        is_found_by(random_large, flaw);
    }
}

fn is_found_by(random: Drawn, flaw: BrokenRule) {
    let finds = |seed: &u64| !matches!(random(*seed, Some(flaw)), ExploreResult::Sound(_));
    let found = (0..1000).find(finds);
    println!("{flaw:?}: found by seed {found:?}");
    assert!(found.is_some(), "{flaw:?}");
}
