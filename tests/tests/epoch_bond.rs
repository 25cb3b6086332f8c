//! Each step of the real epoch engine is a sequence of steps of the models whose theorems are proved, and each state
//! satisfies their invariants. Each broken rule that the models describe violates one of the two.
#![forbid(unsafe_code)]

use midplane_device::rma::rules::BrokenRule;
use midplane_lab::epochs::bond::{EpochBondExtent, EpochModels, compare, compare_walk};
use midplane_lab::epochs::cases::{CaseRow, RequiredResult, table};
use midplane_lab::epochs::random::WindowJob;
use midplane_proofs::model::Model;
use midplane_proofs::models;

/// Maximum number of states of one job.
const LIMIT: u64 = 1_500;

fn with_models<T>(body: impl FnOnce(EpochModels<'_>) -> T) -> T {
    let model = |name| -> Model { models::named(name).expect("a model") };
    let (epochs, locks) = (model("epochs"), model("locks"));
    body(EpochModels {
        epochs: &epochs,
        locks: &locks,
    })
}

fn add(total: &mut EpochBondExtent, extent: EpochBondExtent) {
    total.states += extent.states;
    total.steps += extent.steps;
    total.model_steps += extent.model_steps;
    total.different.0 += extent.different.0;
    total.different.1 += extent.different.1;
}

/// Compares the sound rows of the table; returns the failures.
fn compare_rows(limit: u64) -> Vec<String> {
    let (mut failures, mut total) = (Vec::new(), EpochBondExtent::default());
    let rows = table().into_iter().filter(|row| row.finds == RequiredResult::Sound);
    for row in rows {
        match with_models(|models| compare(&row.case, models, limit)) {
            Ok(extent) => add(&mut total, extent),
            Err(failure) => failures.push(format!("{}: {failure}", row.name)),
        }
    }
    println!("{total:?}");
    failures
}

#[test]
fn the_epoch_engine_makes_steps_of_the_models_only() {
    let failures = compare_rows(LIMIT);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "takes minutes: up to 50,000 states of each job"]
fn the_epoch_engine_makes_steps_of_the_models_only_in_more_states() {
    let failures = compare_rows(50_000);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Compares random jobs, small and large ones; returns the number of jobs that were compared, and the failures.
fn compare_random(seeds: std::ops::Range<u64>) -> (u64, Vec<String>) {
    let (mut failures, mut total, mut jobs) = (Vec::new(), EpochBondExtent::default(), 0);
    for seed in seeds {
        let size = 2 + (seed % 4) as u32;
        for windows in [WindowJob::draw(size, seed), WindowJob::draw_large(size, seed)] {
            match with_models(|models| compare_walk(&windows, None, models, seed)) {
                Ok(None) => {}
                Ok(Some(extent)) => {
                    add(&mut total, extent);
                    jobs += 1;
                }
                Err(failure) => failures.push(format!("seed {seed}: {failure}")),
            }
        }
    }
    println!("{jobs} jobs: {total:?}");
    (jobs, failures)
}

#[test]
fn random_jobs_of_epochs_make_steps_of_the_models_only() {
    let (jobs, failures) = compare_random(0..40);
    assert!(jobs >= 40 && failures.is_empty(), "{jobs}: {}", failures.join("\n"));
}

#[test]
#[ignore = "takes minutes: 2,000 seeds"]
fn more_random_jobs_of_epochs_make_steps_of_the_models_only() {
    let (_, failures) = compare_random(40..2040);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Rows whose broken rule the model of epochs describes.
fn broken_rows() -> Vec<CaseRow> {
    let in_table = [
        BrokenRule::CountsForTheNewest,
        BrokenRule::NeedsNoGrant,
        BrokenRule::TakesAnyGrant,
        BrokenRule::DonesInAnyOrder,
    ];
    let is_it = |row: &CaseRow| row.case.flaw.is_some_and(|flaw| in_table.contains(&flaw));
    table().into_iter().filter(is_it).collect()
}

#[test]
fn each_broken_rule_of_epochs_leaves_the_models() {
    let mut failures = Vec::new();
    for row in broken_rows() {
        match with_models(|models| compare(&row.case, models, 100_000)) {
            Ok(extent) => failures.push(format!("{}: follows the models, {extent:?}", row.name)),
            Err(failure) => println!("{}: {}", row.name, failure.reason),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The broken rules of locks violate no property of the table. Random jobs find them.
#[test]
fn each_broken_rule_of_locks_leaves_the_model() {
    for flaw in [
        BrokenRule::LocksWhatIsHeld,
        BrokenRule::OvertakesWaiting,
        BrokenRule::GrantsInRankOrder,
    ] {
        let failure = |seed| {
            let windows = WindowJob::draw_large(5, seed);
            with_models(|models| compare_walk(&windows, Some(flaw), models, seed)).err()
        };
        let found = (0..500).find_map(|seed| Some((seed, failure(seed)?.reason)));
        println!("{flaw:?}: {found:?}");
        assert!(found.is_some(), "{flaw:?}");
    }
}
