//! Each step of the real device is a sequence of steps of the model whose theorems are proved, and each state satisfies
//! the invariant. Each broken variant of the protocol violates one of the two.
#![forbid(unsafe_code)]

use midplane_lab::explore::bond::{BondExtent, compare, compare_path};
use midplane_lab::explore::{CaseRow, CaseSystem, IncompleteReason, MAX_STATES, cases, explore, never_stop};
use midplane_proofs::models;

/// Maximum number of states of one case.
const LIMIT: u64 = 1_500;

fn follow(row: &CaseRow, limit: u64) -> Result<BondExtent, String> {
    let model = models::named("pair").expect("a model");
    let system = CaseSystem::new(row.case.clone());
    compare(&system, &model, limit).map_err(|failure| format!("{}: {failure}", row.name))
}

/// Groups of sound cases without cancelled sends, which the model does not follow.
const SOUND: [CaseGroup; 15] = [
    cases::one_sender,
    cases::one_sender_reversed,
    cases::any_tag,
    cases::one_answer,
    cases::to_oneself,
    cases::two_senders,
    cases::two_senders_and_one_record,
    cases::two_senders_by_name,
    cases::three_senders,
    cases::long_and_synchronous,
    cases::no_bcopy,
    cases::bcopy_among_others,
    cases::cancelled_receives,
    cases::few_bits_of_age,
    cases::matched_records_are_no_release,
];

/// Compares the sound cases, each in up to `limit` states; returns the failures.
fn compare_cases(limit: u64) -> Vec<String> {
    let mut failures = Vec::new();
    for row in SOUND.iter().flat_map(|group| group()) {
        match follow(&row, limit) {
            Ok(extent) => println!("{}: {extent:?}", row.name),
            Err(failure) => failures.push(failure),
        }
    }
    failures
}

#[test]
fn the_device_makes_steps_of_the_model_only() {
    let failures = compare_cases(LIMIT);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "takes a minute: up to 4,000 states of each case"]
fn the_device_makes_steps_of_the_model_only_in_more_states() {
    let failures = compare_cases(4_000);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A group of cases.
type CaseGroup = fn() -> Vec<CaseRow>;

/// Groups of broken rules and guarantees that the model of a pair describes.
const BROKEN: [(&str, CaseGroup); 7] = [
    ("no_age", cases::no_age),
    ("without_rule_a", cases::without_rule_a),
    ("without_rule_b", cases::without_rule_b),
    ("without_rules_c_and_d", cases::without_rules_c_and_d),
    ("without_rule_d", cases::without_rule_d),
    ("rts_overtake", cases::rts_overtake),
    ("answers_overtake", cases::answers_overtake),
];

/// The explorer finds an incorrect run of each broken variant. A step of this run is none of the model.
#[test]
fn each_broken_variant_leaves_the_model() {
    let model = models::named("pair").expect("a model");
    let mut failures = Vec::new();
    for (group, rows) in BROKEN {
        for row in rows() {
            let system = CaseSystem::new(row.case.clone());
            let Err(IncompleteReason::Broken(found)) = explore(&system, MAX_STATES, &mut never_stop) else {
                failures.push(format!("{group}, {}: no incorrect run", row.name));
                continue;
            };
            match compare_path(&system, &model, &found.path) {
                Ok(extent) => failures.push(format!("{group}, {}: follows the model, {extent:?}", row.name)),
                Err(failure) => println!("{group}, {}: {}", row.name, failure.reason),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
