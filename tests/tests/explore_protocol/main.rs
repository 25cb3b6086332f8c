//! Exhaustive exploration of the memory protocol: the real device, every interleaving of its steps.
//!
//! Sound cases are explored to their end, and every property must hold in every state. Broken cases are
//! explored until a property is seen to fail: each rule that the protocol rests on, and each promise of the
//! transport, is taken away in turn, and the checker must notice. `-- --nocapture` prints how many states
//! that were. Cases that take minutes are ignored unless asked for (`-- --ignored`); `cargo midplane soak`
//! runs them all.
#![forbid(unsafe_code)]

mod model;
mod node;
mod search;

use model::{Case, END, EXPECTED, Machine, ORDER};
use mpi_adi::envelope::Tag;
use mpi_adi::protocol::Rules;
use mpi_adi::request::Mode;
use search::{Explored, Failure, explore};
use stateright::{Checker, HasDiscoveries, Model};

/// MPI memory for no record, one, two (or one with a short buffer), three.
const NONE: usize = 0;
const ONE: usize = 32;
const TWO: usize = 64;
const THREE: usize = 96;

/// Short messages go by the pending send queue, too.
const NOT_LIGHT: Rules = Rules {
    light: false,
    ..Rules::SOUND
};

type Source = Option<u32>;

const ANY: (Source, Option<Tag>) = (None, None);

/// Receives from rank 1.
fn from_one(tags: &[Tag]) -> Vec<(Source, Option<Tag>)> {
    tags.iter().map(|&tag| (Some(1), Some(tag))).collect()
}

/// The least case in which most rules matter: messages of one tag from one sender.
fn same(messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    Case::new(&[&tags], &from_one(&tags), mpi_memory)
}

/// The killer: messages of different tags, received in the reverse order.
fn reversed(messages: usize, mpi_memory: usize) -> Case {
    let tags: Vec<Tag> = (1..=messages as Tag).collect();
    let reverse: Vec<Tag> = tags.iter().rev().copied().collect();
    Case::new(&[&tags], &from_one(&reverse), mpi_memory)
}

/// Senders of so many messages of one tag each, all received from any source. The senders' calls come
/// first.
fn many(senders: usize, messages: usize, mpi_memory: usize) -> Case {
    let tags = vec![1; messages];
    let senders = vec![&tags[..]; senders];
    let receives = vec![ANY; senders.len() * messages];
    Case {
        sent_early: true,
        ..Case::new(&senders, &receives, mpi_memory)
    }
}

/// With so many answers of one node under way at most.
fn answers(answers: usize, case: Case) -> Case {
    Case { answers, ..case }
}

/// Every property holds in every state, whatever the order of steps: so says `stateright`, breadth first, and
/// so does the search that the long cases need, which sees the same states; reduced, it ends, too.
fn holds(name: &str, case: Case) {
    let checker = Machine::new(case.clone())
        .checker()
        .threads(1)
        .spawn_bfs()
        .join();
    assert!(checker.is_done());
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        panic!(
            "{name}: not so: {property}, after {:?}",
            path.into_actions()
        );
    }
    let all = explored(name, case.clone());
    assert_eq!(all.states, checker.unique_state_count() as u64);
    println!("{name}: {all}");
    holds_reduced(name, case);
}

/// As [`holds`], of the reduced search alone.
fn holds_reduced(name: &str, case: Case) {
    let reduced = Case {
        reduced: true,
        ..case
    };
    let name = format!("{name}, reduced");
    let some = explored(&name, reduced);
    println!("{name}: {some}");
}

fn explored(name: &str, case: Case) -> Explored {
    explore(name, &Machine::new(case)).unwrap_or_else(|Failure { property, path }| {
        panic!("{name}: not so: {property}, after {path:?}")
    })
}

/// The property fails: `stateright` finds a shortest run that shows it. The reduced search finds that
/// something fails.
fn misses(name: &str, property: &'static str, case: Case) {
    let checker = Machine::new(case.clone())
        .checker()
        .threads(1)
        .finish_when(HasDiscoveries::AnyOf([property].into()))
        .spawn_bfs()
        .join();
    let path = checker.discovery(property).unwrap_or_else(|| {
        panic!(
            "{name}: not found in {} states",
            checker.unique_state_count()
        )
    });
    println!(
        "{name}: not so: {property}, found after {} states: {:?}",
        checker.unique_state_count(),
        path.into_actions()
    );
    let reduced = Case {
        reduced: true,
        ..case
    };
    let failure = explore(name, &Machine::new(reduced)).expect_err("broken");
    println!("{name}, reduced: not so: {}", failure.property);
}

#[test]
fn one_sender_with_messages_of_one_tag() {
    for memory in [NONE, ONE, TWO, THREE] {
        holds(&format!("1 x 3, {memory} bytes"), same(3, memory));
        holds(&format!("1 x 4, {memory} bytes"), same(4, memory));
    }
}

#[test]
fn one_sender_with_receives_in_reverse_order_of_tags() {
    for memory in [NONE, ONE, TWO, THREE] {
        for messages in [3, 4] {
            holds(
                &format!("1 x {messages} reversed, {memory} bytes"),
                reversed(messages, memory),
            );
        }
    }
}

#[test]
fn receives_for_any_tag_among_others() {
    let (any, one, two) = ((Some(1), None), (Some(1), Some(1)), (Some(1), Some(2)));
    for memory in [NONE, ONE, TWO] {
        for receives in [[any, one, any], [two, any, any], [one, one, any]] {
            let case = Case::new(&[&[1, 2, 1]], &receives, memory);
            holds(&format!("1 x 3 for {receives:?}, {memory} bytes"), case);
        }
    }
}

/// The emergency memory of paper 004 is one answer: it is enough.
#[test]
fn one_answer_under_way_is_enough_for_one_sender() {
    for memory in [NONE, ONE, TWO] {
        holds(
            &format!("1 x 4, {memory} bytes, 1 answer"),
            answers(1, same(4, memory)),
        );
    }
}

#[test]
fn two_senders_to_receives_from_any_source() {
    holds("2 x 2, 64 bytes", many(2, 2, TWO));
    for memory in [NONE, TWO] {
        holds(
            &format!("2 x 2, {memory} bytes, 1 answer"),
            answers(1, many(2, 2, memory)),
        );
    }
}

#[test]
fn two_senders_and_one_record() {
    holds("2 x 2, 32 bytes, 1 answer", answers(1, many(2, 2, ONE)));
}

#[test]
fn two_senders_by_name() {
    for memory in [NONE, ONE] {
        let receives = [
            (Some(2), Some(2)),
            (Some(1), Some(1)),
            (Some(2), Some(1)),
            (Some(1), Some(2)),
        ];
        let case = Case {
            sent_early: true,
            ..Case::new(&[&[1, 2], &[1, 2]], &receives, memory)
        };
        holds(&format!("2 x 2 by name, {memory} bytes"), case);
    }
}

#[test]
fn three_senders() {
    for memory in [NONE, ONE, TWO] {
        let case = Case {
            sent_early: false,
            ..many(3, 1, memory)
        };
        holds(&format!("3 x 1, {memory} bytes"), case);
    }
}

#[test]
fn long_messages_and_synchronous_ones() {
    for memory in [NONE, ONE, 352] {
        let long = Case {
            len: 300,
            ..same(3, memory)
        };
        holds(&format!("1 x 3 of 300 bytes, {memory} bytes"), long);
    }
    for memory in [ONE, TWO] {
        let synchronous = Case {
            mode: Mode::Synchronous,
            ..same(3, memory)
        };
        holds(&format!("1 x 3 synchronous, {memory} bytes"), synchronous);
    }
}

/// Without light sends short messages go by the pending send queue from the start, and every answer is given
/// at once.
#[test]
fn short_messages_that_are_not_light() {
    for memory in [NONE, ONE, TWO] {
        for (name, case) in [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", reversed(4, memory)),
            ("2 x 2, 1 answer", answers(1, many(2, 2, memory))),
        ] {
            let name = format!("{name}, none light, {memory} bytes");
            let rules = NOT_LIGHT;
            holds(&name, Case { rules, ..case });
        }
    }
}

/// What cannot be light sends those before it into the queue, wherever they are by then.
#[test]
fn light_messages_before_and_behind_others() {
    for memory in [NONE, ONE, TWO] {
        for synchronous in 0..4 {
            let case = Case {
                synchronous: Some(synchronous),
                ..same(4, memory)
            };
            let name = format!("1 x 4, message {synchronous} synchronous, {memory} bytes");
            holds(&name, case);
        }
        let case = Case {
            synchronous: Some(1),
            ..answers(1, many(2, 2, memory))
        };
        let name = format!("2 x 2, the second ones synchronous, {memory} bytes, 1 answer");
        holds(&name, case);
    }
}

/// A message that nobody receives is cancelled at any moment, wherever it is by then; it is synchronous, so
/// that it ends in no other way.
#[test]
fn a_cancelled_message_leaves_nothing_behind() {
    for memory in [NONE, ONE, TWO] {
        for (cancel, tags) in [(0, [2, 1, 1]), (1, [1, 2, 1]), (2, [1, 1, 2])] {
            let case = Case {
                cancel: Some(cancel),
                mode: Mode::Synchronous,
                ..Case::new(&[&tags], &from_one(&[1, 1]), memory)
            };
            holds(&format!("1 x 3, {cancel} cancelled, {memory} bytes"), case);
        }
    }
}

/// With RTSs and answers in order, one bit tells the ages apart that are in use at once.
#[test]
fn one_bit_of_age_is_enough() {
    for age_bits in [1, 2] {
        for memory in [NONE, ONE, TWO] {
            let rules = Rules {
                age_bits,
                ..Rules::SOUND
            };
            let case = Case {
                rules,
                ..same(4, memory)
            };
            holds(&format!("1 x 4, {memory} bytes, {age_bits} bits"), case);
        }
    }
    let rules = Rules {
        age_bits: 1,
        ..Rules::SOUND
    };
    for memory in [NONE, TWO] {
        let case = Case {
            rules,
            ..many(2, 2, memory)
        };
        holds(
            &format!("2 x 2, {memory} bytes, 1 bit, 1 answer"),
            answers(1, case),
        );
    }
}

#[test]
fn no_age_at_all_is_too_few_bits() {
    let rules = Rules {
        age_bits: 0,
        ..Rules::SOUND
    };
    for memory in [NONE, ONE, TWO] {
        for property in [ORDER, END] {
            let case = Case {
                rules,
                ..same(3, memory)
            };
            misses(&format!("1 x 3, {memory} bytes, 0 bits"), property, case);
        }
    }
}

/// Rule (a).
#[test]
fn a_restart_that_does_not_go_on_gets_stuck() {
    let rules = Rules {
        goes_on: false,
        ..Rules::SOUND
    };
    for (name, case) in [("1 x 3", same(3, NONE)), ("reversed", reversed(3, NONE))] {
        misses(name, END, Case { rules, ..case });
    }
    misses(
        "1 x 3 in order",
        ORDER,
        Case {
            rules,
            ..same(3, NONE)
        },
    );
}

/// Rule (b).
#[test]
fn a_message_that_leaves_past_an_unanswered_older_one_overtakes() {
    let rules = Rules {
        waits: false,
        ..Rules::SOUND
    };
    for (name, case) in [
        ("1 x 3, none", same(3, NONE)),
        ("1 x 3, one record", same(3, ONE)),
        ("1 x 3, two records", same(3, TWO)),
    ] {
        let case = Case { rules, ..case };
        misses(name, ORDER, case);
    }
}

/// Rules (c) and (d): the memory of a matched record, under the same age, is open to a later message while
/// an earlier one stands refused.
#[test]
fn a_matched_record_that_changes_nothing_lets_later_messages_pass() {
    let rules = Rules {
        matched_releases: false,
        records_in_order: false,
        ..Rules::SOUND
    };
    for (name, case) in [("one record", same(3, ONE)), ("two records", same(3, TWO))] {
        misses(name, ORDER, Case { rules, ..case });
    }
}

/// Rule (c) alone is not what the order rests on: rule (d) is a second line.
#[test]
fn a_matched_record_that_is_no_release_costs_only_time() {
    let rules = Rules {
        matched_releases: false,
        ..Rules::SOUND
    };
    for memory in [ONE, TWO] {
        let cases = [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", reversed(4, memory)),
            ("2 x 2", answers(1, many(2, 2, memory))),
        ];
        for (name, case) in cases {
            let name = format!("{name}, {memory} bytes, matched records are no release");
            holds(&name, Case { rules, ..case });
        }
    }
}

/// Rule (d).
#[test]
fn a_record_past_a_refused_message_lets_it_pass() {
    let rules = Rules {
        records_in_order: false,
        ..Rules::SOUND
    };
    let case = Case {
        rules,
        ..many(2, 2, TWO)
    };
    misses("2 x 2, two records", ORDER, case);
}

/// Rule (e).
#[test]
fn a_receive_posted_during_a_notice_that_anything_may_match_gets_the_wrong_message() {
    let rules = Rules {
        guards_posts: false,
        ..Rules::SOUND
    };
    for memory in [NONE, TWO] {
        let case = Case {
            rules,
            ..many(2, 2, memory)
        };
        misses(&format!("2 x 2, {memory} bytes"), ORDER, case);
    }
}

#[test]
fn rtss_that_overtake_misorder() {
    for age_bits in [1, 8] {
        let rules = Rules {
            age_bits,
            ..Rules::SOUND
        };
        for memory in [NONE, ONE, TWO] {
            let case = Case {
                rts_overtake: true,
                rules,
                ..same(3, memory)
            };
            misses(&format!("{memory} bytes, {age_bits} bits"), ORDER, case);
        }
    }
}

/// CTS for a recorded message passes the NCTSD that says it was recorded.
#[test]
fn answers_that_overtake_contradict_one_another() {
    for (name, case) in [
        ("1 x 3", same(3, ONE)),
        (
            "synchronous",
            Case {
                mode: Mode::Synchronous,
                ..same(3, ONE)
            },
        ),
    ] {
        let case = Case {
            answers_overtake: true,
            ..case
        };
        misses(name, EXPECTED, case);
    }
}

#[test]
fn two_senders_of_three_messages_and_two_records() {
    holds_reduced("2 x 3, 64 bytes", many(2, 3, TWO));
}

#[test]
#[ignore = "takes minutes"]
fn two_senders_of_three_messages() {
    for memory in [NONE, ONE] {
        holds_reduced(&format!("2 x 3, {memory} bytes"), many(2, 3, memory));
    }
}

/// With one record there are some two thousand million states, more than a host is likely to hold; without
/// light sends they are few enough.
#[test]
#[ignore = "takes many minutes and gigabytes"]
fn three_senders_of_two_messages() {
    for memory in [TWO, NONE] {
        holds_reduced(&format!("3 x 2, {memory} bytes"), many(3, 2, memory));
    }
}

#[test]
#[ignore = "takes many minutes and gigabytes"]
fn three_senders_of_two_messages_that_are_not_light() {
    for memory in [NONE, ONE, TWO] {
        let case = Case {
            rules: NOT_LIGHT,
            ..many(3, 2, memory)
        };
        holds_reduced(&format!("3 x 2, none light, {memory} bytes"), case);
    }
}

#[test]
#[ignore = "takes many minutes and gigabytes"]
fn senders_at_any_moment() {
    for memory in [NONE, ONE, TWO] {
        holds(&format!("1 x 5, {memory} bytes"), same(5, memory));
        let case = Case {
            sent_early: false,
            ..many(2, 2, memory)
        };
        holds_reduced(&format!("2 x 2 at any moment, {memory} bytes"), case);
        let case = Case {
            sent_early: false,
            rules: NOT_LIGHT,
            ..many(2, 3, memory)
        };
        let name = format!("2 x 3 at any moment, none light, {memory} bytes");
        holds_reduced(&name, case);
    }
}

#[test]
#[ignore = "takes many minutes and gigabytes"]
fn two_senders_of_three_messages_in_all_orders_of_steps() {
    for memory in [NONE, ONE, TWO] {
        let case = Case {
            rules: NOT_LIGHT,
            ..many(2, 3, memory)
        };
        let all = explored("2 x 3, none light", case);
        println!("2 x 3, none light, {memory} bytes: {all}");
    }
}
