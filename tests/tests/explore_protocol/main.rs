//! Exhaustive exploration of the memory protocol: the real device, every interleaving of its steps.
//!
//! Each case is explored to its end; `cargo test --test explore_protocol -- --nocapture` prints how many
//! states that were. Cases that take minutes are ignored unless asked for (`-- --ignored`).
#![forbid(unsafe_code)]

mod model;

use model::Case;
use mpi_adi::envelope::Tag;
use mpi_adi::protocol::Rules;
use mpi_adi::request::Mode;
use stateright::{Checker, Model};

/// MPI memory for no record, one, two (or one with a short buffer), three.
const NONE: usize = 0;
const ONE: usize = 32;
const TWO: usize = 64;
const THREE: usize = 96;

const ORDER: &str = "matching order";
const END: &str = "every run comes to its end";

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

/// Explores all of it; the properties that do not hold.
fn explore(name: &str, case: Case) -> Vec<&'static str> {
    let checker = case.checker().threads(1).spawn_bfs().join();
    assert!(checker.is_done());
    println!(
        "{name}: {} states, {} steps, {} deep",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    let discoveries = checker.discoveries();
    for (property, path) in &discoveries {
        println!(
            "  not so: {property}, after {:?}",
            path.clone().into_actions()
        );
    }
    discoveries.into_keys().collect()
}

fn holds(name: &str, case: Case) {
    assert_eq!(explore(name, case), [""; 0], "{name}");
}

fn misses(name: &str, property: &'static str, case: Case) {
    assert!(
        explore(name, case).contains(&property),
        "{name}: the checker does not find it"
    );
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
        for tags in [&[1, 2, 3][..], &[1, 2, 3, 4]] {
            let reverse: Vec<Tag> = tags.iter().rev().copied().collect();
            let case = Case::new(&[tags], &from_one(&reverse), memory);
            holds(
                &format!("1 x {} reversed, {memory} bytes", tags.len()),
                case,
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

#[test]
fn two_senders() {
    for memory in [NONE, ONE, TWO] {
        let case = Case::new(&[&[1, 1], &[1, 1]], &[ANY; 4], memory);
        let case = Case {
            sent_early: memory != NONE,
            ..case
        };
        holds(&format!("2 x 2 from any source, {memory} bytes"), case);
    }
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
        holds(
            &format!("3 x 1, {memory} bytes"),
            Case::new(&[&[1], &[1], &[1]], &[ANY; 3], memory),
        );
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

/// The emergency memory of paper 004 is one answer: it is enough.
#[test]
fn one_answer_under_way_is_enough() {
    for memory in [NONE, ONE, TWO] {
        holds(
            &format!("1 x 4, {memory} bytes, 1 answer"),
            Case {
                answers: 1,
                ..same(4, memory)
            },
        );
        let two = Case::new(&[&[1, 1], &[1, 1]], &[ANY; 4], memory);
        let two = Case {
            answers: 1,
            sent_early: true,
            ..two
        };
        holds(&format!("2 x 2, {memory} bytes, 1 answer"), two);
    }
}

/// With RTSs and answers in order, one bit tells the ages apart that are in use at once.
#[test]
fn any_width_of_the_age_is_enough_when_packets_keep_their_order() {
    for age_bits in [1, 2, 8] {
        for memory in [NONE, ONE, TWO] {
            let rules = Rules {
                age_bits,
                ..Rules::SOUND
            };
            holds(
                &format!("1 x 4, {memory} bytes, {age_bits} bits"),
                Case {
                    rules,
                    ..same(4, memory)
                },
            );
        }
    }
}

#[test]
fn a_restart_that_does_not_go_on_gets_stuck() {
    let rules = Rules {
        goes_on: false,
        ..Rules::SOUND
    };
    for memory in [NONE, ONE, TWO] {
        misses(
            &format!("{memory} bytes"),
            END,
            Case {
                rules,
                ..same(3, memory)
            },
        );
    }
}

#[test]
fn a_new_message_that_does_not_wait_overtakes() {
    let rules = Rules {
        waits: false,
        ..Rules::SOUND
    };
    misses(
        "1 x 3",
        ORDER,
        Case {
            rules,
            ..same(3, NONE)
        },
    );
    misses(
        "1 x 4",
        ORDER,
        Case {
            rules,
            ..same(4, ONE)
        },
    );
}

#[test]
fn a_matched_record_that_is_no_release_lets_later_messages_pass() {
    let rules = Rules {
        matched_releases: false,
        ..Rules::SOUND
    };
    misses(
        "one record",
        ORDER,
        Case {
            rules,
            ..same(3, ONE)
        },
    );
    misses(
        "two records",
        ORDER,
        Case {
            rules,
            ..same(3, TWO)
        },
    );
}

#[test]
fn rtss_that_overtake_misorder() {
    for age_bits in [1, 8] {
        let rules = Rules {
            age_bits,
            ..Rules::SOUND
        };
        misses(
            &format!("{age_bits} bits"),
            ORDER,
            Case {
                rts_overtake: true,
                rules,
                ..same(3, NONE)
            },
        );
    }
}

#[test]
fn answers_that_overtake_get_stuck() {
    misses(
        "1 x 3",
        END,
        Case {
            answers_overtake: true,
            ..same(3, NONE)
        },
    );
}

/// Were answers to overtake, older ages would have to be ignored, and few bits could not tell older ones.
#[test]
fn few_bits_of_age_are_too_few_when_answers_overtake() {
    let overtaking = |messages, age_bits| {
        let rules = Rules {
            age_bits,
            ..Rules::SOUND
        };
        Case {
            answers_overtake: true,
            rules,
            ..same(messages, NONE)
        }
    };
    misses("1 bit", END, overtaking(3, 1));
    misses("2 bits", END, overtaking(4, 2));
    holds("8 bits", overtaking(4, 8));
}

#[test]
#[ignore = "takes minutes"]
fn two_senders_at_any_moment() {
    holds(
        "2 x 2 at any moment",
        Case::new(&[&[1, 1], &[1, 1]], &[ANY; 4], ONE),
    );
    holds("1 x 5 at any moment", same(5, ONE));
}

#[test]
#[ignore = "takes many minutes and gigabytes"]
fn two_senders_of_three_messages_and_three_of_two() {
    for memory in [NONE, ONE, TWO] {
        let case = Case::new(&[&[1; 3], &[1; 3]], &[ANY; 6], memory);
        holds(
            &format!("2 x 3, {memory} bytes"),
            Case {
                answers: 1,
                sent_early: true,
                ..case
            },
        );
        let case = Case::new(&[&[1; 2], &[1; 2], &[1; 2]], &[ANY; 6], memory);
        holds(
            &format!("3 x 2, {memory} bytes"),
            Case {
                answers: 1,
                sent_early: true,
                ..case
            },
        );
    }
}
