//! Explores the cases of the explorer's table and compares the results with `stateright`.
//!
//! `-- --nocapture` prints the numbers of states. Cases that require minutes are ignored unless requested (`--
//! --ignored`); `cargo midplane soak` explores them all.
#![forbid(unsafe_code)]

use midplane_lab::explore::{
    CaseRow, CaseSystem, END, ENOUGH, EXPECTED, ExpectedResult, GlobalState, GlobalStep, IncompleteReason, MAX_STATES,
    MEMORY, ORDER, UnexpectedResult, cases, explore, never_stop,
};
use stateright::{Checker, HasDiscoveries, Model, Property};

/// Rows with more states are compared with `stateright` on request only: it takes longer than both explorations.
const MAX_COMPARED: u64 = 50_000;

/// Adapter from a system to a `stateright` model.
struct Checked(CaseSystem);

impl Model for Checked {
    type State = GlobalState;
    type Action = GlobalStep;

    fn init_states(&self) -> Vec<GlobalState> {
        vec![self.0.first()]
    }

    fn actions(&self, state: &GlobalState, steps: &mut Vec<GlobalStep>) {
        self.0.steps(state, steps);
    }

    fn next_state(&self, last: &GlobalState, step: GlobalStep) -> Option<GlobalState> {
        self.0.next(last, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn holds(checked: &Checked, state: &GlobalState, property: &str) -> bool {
            checked.0.broken(state) != Some(property)
        }
        vec![
            Property::always(ORDER, |c: &Checked, state: &GlobalState| holds(c, state, ORDER)),
            Property::always(MEMORY, |c: &Checked, state: &GlobalState| holds(c, state, MEMORY)),
            Property::always(EXPECTED, |c: &Checked, state: &GlobalState| holds(c, state, EXPECTED)),
            Property::eventually(END, |c: &Checked, state: &GlobalState| c.0.is_complete(state)),
        ]
    }
}

/// Explores rows. Reports all differences together, so that the table can be corrected in one pass.
fn check(rows: Vec<CaseRow>) {
    let surprises: Vec<String> = rows.iter().flat_map(surprises).collect();
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

fn surprises(row: &CaseRow) -> Vec<String> {
    let name = &row.name;
    let mut said = Vec::new();
    let mut note = |what: String| said.push(format!("{name}: {what}"));
    match row.expected {
        ExpectedResult::Holds { all, .. } => {
            if all <= MAX_COMPARED
                && let Err(what) = holds_for_stateright(row, all)
            {
                note(format!("stateright: {what}"));
            }
            match row.explore_all(&mut never_stop) {
                Ok(explored) => println!("{name}: {explored}"),
                Err(surprise) => note(format!("in all orders: {surprise}")),
            }
            match row.explore(&mut never_stop) {
                Ok(explored) => println!("{name}, reduced: {explored}"),
                Err(surprise) => note(format!("reduced: {surprise}")),
            }
        }
        ExpectedResult::HoldsReduced { .. } | ExpectedResult::Unknown { .. } => match row.explore(&mut never_stop) {
            Ok(explored) => println!("{name}: {explored}"),
            Err(surprise) => note(surprise.to_string()),
        },
        ExpectedResult::HoldsFairly { .. } => match row.explore(&mut never_stop) {
            Ok(explored) => println!("{name}: {explored}"),
            Err(surprise) => note(surprise.to_string()),
        },
        ExpectedResult::Livelock { states } => match row.explore(&mut never_stop) {
            Err(UnexpectedResult::Unfinished(IncompleteReason::Broken(found)))
                if found.property == ENOUGH && found.explored.states == states =>
            {
                println!("{name}: a livelock in {states} states");
            }
            other => note(format!("no livelock in {states} states: {other:?}")),
        },
        ExpectedResult::Fails { property, after } => {
            if let Err(what) = fails_for_stateright(row, property, after) {
                note(what);
            }
            match explore(&row.system(true), MAX_STATES, &mut never_stop) {
                Err(IncompleteReason::Broken(found)) => {
                    println!("{name}, reduced: {} does not hold", found.property);
                }
                other => note(format!("the reduced search finds nothing broken: {other:?}")),
            }
        }
    }
    said
}

/// Checks with `stateright`, breadth first in all orders of steps, that every property holds in every state.
fn holds_for_stateright(row: &CaseRow, states: u64) -> Result<(), String> {
    let checker = Checked(row.system(false)).checker().threads(1).spawn_bfs().join();
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        return Err(format!("not so: {property}, after {:?}", path.into_actions()));
    }
    let found = checker.unique_state_count() as u64;
    if checker.is_done() && found == states {
        Ok(())
    } else {
        Err(format!("{found} states, where there must be {states}"))
    }
}

/// Checks that `stateright` finds a shortest run that violates the property.
fn fails_for_stateright(row: &CaseRow, property: &'static str, after: u64) -> Result<(), String> {
    let checker = Checked(row.system(false))
        .checker()
        .threads(1)
        .finish_when(HasDiscoveries::AnyOf([property].into()))
        .spawn_bfs()
        .join();
    let found = checker.unique_state_count() as u64;
    let Some(path) = checker.discovery(property) else {
        return Err(format!("\"{property}\" not found broken in {found} states"));
    };
    println!(
        "{}: not so: {property}, found after {found} states: {:?}",
        row.name,
        path.into_actions()
    );
    if found == after {
        Ok(())
    } else {
        Err(format!(
            "\"{property}\" found broken after {found} states, where there must be {after}"
        ))
    }
}

/// Creates a test for each of these groups of the table.
macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident)*) => {
        const GROUPS: &[fn() -> Vec<CaseRow>] = &[$(cases::$group),*];
        $(
            $(#[$attribute])*
            #[test]
            fn $group() {
                check(cases::$group());
            }
        )*
    };
}

groups! {
    one_sender
    one_sender_reversed
    any_tag
    one_answer
    to_oneself
    two_senders
    two_senders_and_one_record
    two_senders_by_name
    three_senders
    long_and_synchronous
    no_bcopy
    bcopy_among_others
    cancelled_sends
    cancelled_receives
    narrow_horizons
    few_bits_of_age
    few_bits_of_names
    matched_records_are_no_release
    polled_receives
    without_rule_f
    no_age
    without_rule_a
    without_rule_b
    without_rules_c_and_d
    without_rule_d
    without_rule_e
    without_guard_of_own_queue
    rts_overtake
    answers_overtake
    #[ignore = "takes a minute"]
    two_senders_of_three_messages_and_two_records
    #[ignore = "takes minutes"]
    two_senders_of_three_messages
    #[ignore = "takes many minutes and gigabytes"]
    three_senders_of_two_messages
    #[ignore = "takes many minutes and gigabytes"]
    senders_at_any_moment
    #[ignore = "takes many minutes and gigabytes"]
    two_senders_of_three_messages_in_all_orders
}

/// The comparisons that the tests of the groups omit.
#[test]
#[ignore = "takes a minute: cases of more than 50,000 states"]
fn large_cases_hold_for_stateright() {
    let rows = GROUPS.iter().flat_map(|group| group());
    let failures: Vec<String> = { rows }
        .filter_map(|row| match row.expected {
            ExpectedResult::Holds { all, .. } if all > MAX_COMPARED => {
                let what = holds_for_stateright(&row, all).err()?;
                Some(format!("{}: {what}", row.name))
            }
            _ => None,
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
