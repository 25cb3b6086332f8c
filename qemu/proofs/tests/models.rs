//! The models without a solver: their mutants apply, and random runs make every step and keep the invariant.
#![forbid(unsafe_code)]

use midplane_proofs::model::{Model, Step};
use midplane_proofs::models;
use midplane_proofs::state::State;
use std::collections::BTreeSet;

/// Numbers of a linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn each_mutant_changes_its_model() {
    for model in models::all().expect("valid models") {
        let text = |model: &Model| format!("{:?}", (&model.steps, &model.invariants, &model.properties));
        for mutant in &model.mutants {
            let changed = model.mutated(mutant).expect("a valid mutant");
            assert_ne!(text(&changed), text(&model), "{}: {}", model.name, mutant.name);
        }
        assert!(
            model.steps.iter().all(|step| !step.guards.is_empty() || step.is_event),
            "{}",
            model.name
        );
    }
}

#[test]
fn a_mistake_in_a_model_is_an_error() {
    for wrong in [
        "frobnicate x",
        "const a",
        "set a := 1",
        "step s\nset 1 := 2",
        "invariant i(m): true",
        "int a",
        "rank r",
        "& b",
        "invariant i: a b",
    ] {
        assert!(Model::parse("m", wrong).is_err(), "{wrong}");
    }
    let model = Model::parse("m", "int a = 0\nstep s\nwhen g: a = 0\nset a := 1\nmutant x: drop s.h").expect("valid");
    assert!(model.mutated(&model.mutants[0]).is_err());
}

fn sizes<'m>(state: &mut State<'m>) {
    let places = state.get("q_tail", &[]).max(state.get("a_tail", &[]));
    state.set_size("message", state.get("n", &[]) as usize);
    state.set_size("place", places as usize);
    state.set_size("flag", 2);
}

/// Returns values of a step's parameters, for at most `messages` messages.
fn values(model: &Model, step: &Step, messages: u64, random: &mut Random) -> Vec<(String, i64)> {
    let value = |param: &String, random: &mut Random| match model.kind_of(param) {
        Some("flag") => random.below(2),
        _ => random.below(messages.max(1)),
    };
    let params = step.params.iter();
    params
        .map(|param| (param.clone(), value(param, random) as i64))
        .collect()
}

/// The evaluator and the solver must agree: the invariant that is proved holds along random runs. Every step occurs, so
/// that no guard is impossible from the first state.
#[test]
fn random_runs_of_a_pair_keep_the_invariant() {
    let model = models::named("pair").expect("a model");
    let mut made = BTreeSet::new();
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut state = State::first(&model);
        sizes(&mut state);
        assert_eq!(state.violated(), None);
        for _ in 0..400 {
            let messages = state.get("n", &[]) as u64;
            let step = &model.steps[random.below(model.steps.len() as u64) as usize];
            let params = values(&model, step, messages, &mut random);
            if (step.name == "issue" && messages == 4) || state.refused(step, &params).is_some() {
                continue;
            }
            state = state.after(step, &params);
            sizes(&mut state);
            made.insert(step.name.clone());
            assert_eq!(state.violated(), None, "seed {seed}, after {} {params:?}", step.name);
            for property in model.properties.iter().filter(|property| property.at.is_none()) {
                let name = &property.clause.name;
                assert!(
                    state.holds(&property.clause, &[]),
                    "seed {seed}, {name} after {}",
                    step.name
                );
            }
        }
    }
    let missing: Vec<_> = model.steps.iter().filter(|step| !made.contains(&step.name)).collect();
    assert!(missing.is_empty(), "never made: {missing:?}");
}

fn receive_sizes<'m>(state: &mut State<'m>) {
    state.set_size("message", state.get("n", &[]) as usize);
    state.set_size("receive", state.get("posted", &[]) as usize);
}

/// The same for receives: patterns are random, and properties are checked at their steps. Returns the names of the steps
/// made, and a property that fails.
fn run_receives(model: &Model, seed: u64) -> (BTreeSet<String>, Option<String>) {
    const MOST: i64 = 5;
    let (mut random, mut made) = (Random(seed), BTreeSet::new());
    let mut state = State::first(model);
    for receive in 0..MOST {
        for message in 0..MOST {
            state.set("matches", &[receive, message], random.below(2) as i64);
        }
    }
    receive_sizes(&mut state);
    for _ in 0..400 {
        let step = &model.steps[random.below(model.steps.len() as u64) as usize];
        let counts = ["n", "posted"].map(|name| state.get(name, &[]));
        if step.name == "issue" && counts[0] == MOST || step.name == "post" && counts[1] == MOST {
            continue;
        }
        let value = |param: &String, random: &mut Random| {
            let count = counts[usize::from(model.kind_of(param) == Some("receive"))];
            (param.clone(), random.below(count.max(1) as u64) as i64)
        };
        let params: Vec<_> = step.params.iter().map(|param| value(param, &mut random)).collect();
        if state.refused(step, &params).is_some() {
            continue;
        }
        let mut at_step = { model.properties.iter() }.filter(|property| property.at.as_ref() == Some(&step.name));
        if let Some(failed) = at_step.find(|property| !state.holds(&property.clause, &params)) {
            return (made, Some(failed.clause.name.clone()));
        }
        state = state.after(step, &params);
        receive_sizes(&mut state);
        made.insert(step.name.clone());
        if let Some(clause) = state.violated() {
            return (made, Some(clause.into()));
        }
    }
    (made, None)
}

#[test]
fn random_runs_of_receives_keep_the_invariant() {
    let model = models::named("receives").expect("a model");
    let mut made = BTreeSet::new();
    for seed in 0..300 {
        let (steps, failed) = run_receives(&model, seed);
        assert_eq!(failed, None, "seed {seed}");
        made.extend(steps);
    }
    let missing: Vec<_> = model.steps.iter().filter(|step| !made.contains(&step.name)).collect();
    assert!(missing.is_empty(), "never made: {missing:?}");
}

/// Random runs without rule (d), rule (e) or the order of the channel violate the order, as the proofs predict.
#[test]
fn random_runs_find_mutants_of_receives() {
    let model = models::named("receives").expect("a model");
    for (name, property) in [
        ("rule_d", "records_in_order"),
        ("rule_e", "order"),
        ("channel", "order"),
    ] {
        let mutant = { model.mutants.iter() }
            .find(|mutant| mutant.name == name)
            .expect("a mutant");
        let broken = model.mutated(mutant).expect("a valid mutant");
        let finds = |seed| run_receives(&broken, seed).1.is_some_and(|failed| failed == property);
        assert!((0..3_000).any(finds), "{name}");
    }
}

/// A mutant without a part of rule (d) violates the order of records in some random run, as the proof predicts.
#[test]
fn a_run_without_the_flag_in_order_misorders() {
    let model = models::named("pair").expect("a model");
    let mutant = model
        .mutants
        .iter()
        .find(|mutant| mutant.name == "rule_d_in_order")
        .expect("a mutant");
    let model = model.mutated(mutant).expect("a valid mutant");
    let order = model
        .properties
        .iter()
        .find(|property| property.clause.name == "records_in_order")
        .expect("a property");
    let found = (0..400).any(|seed| {
        let mut random = Random(seed);
        let mut state = State::first(&model);
        sizes(&mut state);
        (0..400).any(|_| {
            let messages = state.get("n", &[]) as u64;
            let step = &model.steps[random.below(model.steps.len() as u64) as usize];
            let params = values(&model, step, messages, &mut random);
            if (step.name == "issue" && messages == 3) || state.refused(step, &params).is_some() {
                return false;
            }
            let misorders = step.name == "take_record" && !state.holds(&order.clause, &params);
            state = state.after(step, &params);
            sizes(&mut state);
            misorders
        })
    });
    assert!(found);
}
