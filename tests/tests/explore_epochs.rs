//! The engine of epochs, explored exhaustively: every row of the table (`tests/src/epochs/cases.rs`).
//!
//! `-- --nocapture` prints how many states there were.
#![forbid(unsafe_code)]

use midplane_tests::epochs::cases::table;
use midplane_tests::epochs::explore::{Found, explore, walk};
use midplane_tests::epochs::random::Windows;
use mpi_adi::device::rma::epochs::Flaw;

/// More than the largest row has.
const LIMIT: u64 = 3_000_000;

#[test]
fn epochs_keep_their_rules_and_each_broken_one_is_found() {
    let mut surprises = Vec::new();
    for row in table() {
        let found = explore(&row.case, LIMIT);
        let is_expected = match (&found, row.finds) {
            (Found::Sound(_), None) => true,
            (Found::Broken(what, _), Some(wanted)) => *what == wanted,
            _ => false,
        };
        println!("{}: {found}", row.name);
        if !is_expected {
            surprises.push(format!("{}: {found}", row.name));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn random(seed: u64, flaw: Option<Flaw>) -> Found {
    walk(&Windows::draw(2 + (seed % 4) as u32, seed), flaw, seed)
}

#[test]
fn random_epochs_leave_what_sequential_memory_has() {
    for seed in 0..300 {
        let found = random(seed, None);
        assert!(matches!(found, Found::Sound(_)), "seed {seed}: {found}");
    }
}

#[test]
fn random_epochs_find_each_broken_rule() {
    for flaw in [
        Flaw::DefersWhatIsNested,
        Flaw::AsksTheLastOnly,
        Flaw::AsksNone,
        Flaw::DoneBeforeResults,
        Flaw::DoneBeforeOperations,
        Flaw::CountsForTheNewest,
        Flaw::ArrivesUnflushed,
        Flaw::NeedsNoGrant,
        Flaw::UnlocksEarly,
        Flaw::EndsWithAny,
    ] {
        let finds = |seed: &u64| !matches!(random(*seed, Some(flaw)), Found::Sound(_));
        let found = (0..1000).find(finds);
        println!("{flaw:?}: found by seed {found:?}");
        assert!(found.is_some(), "{flaw:?}");
    }
}
