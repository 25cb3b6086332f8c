//! The table of cases: each with its name, how much of it is explored, and what must come of that.
//!
//! Sound cases are explored to their end, every property must hold in every state, and the number of states is
//! stated: a number that changes says that the protocol has changed. Broken cases are explored until a property
//! is seen to fail: each rule that the protocol rests on, and each promise of the transport, is taken away in
//! turn, and the checker must restart.
#![forbid(unsafe_code)]

use std::fmt;

use mpi_adi::envelope::Tag;
use mpi_adi::request::Mode;

use super::case::Case;
use super::rules::Rules;
use super::search::{Explored, MOST_STATES, Unfinished, Watch, explore};
use super::system::{END, EXPECTED, ORDER, System};

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What is explored.
    pub case: Case,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Every property holds in every state; so many states, in all orders of steps and over persistent sets of
    /// them (reduced).
    Holds {
        /// In all orders.
        all: u64,
        /// Reduced.
        reduced: u64,
    },
    /// Every property holds; the case is explored only reduced.
    HoldsReduced {
        /// So many states.
        states: u64,
    },
    /// Every property holds, as far as is known: it has not been explored to its end before.
    Unknown {
        /// It is explored reduced.
        reduced: bool,
    },
    /// The property does not hold: a breadth-first search in all orders of steps says so.
    Fails {
        /// Which.
        property: &'static str,
        /// After so many states, in blocks as `stateright` visits them.
        after: u64,
    },
}

/// What an exploration of a row came to that it must not come to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Surprise {
    /// It has not come to its end.
    Unfinished(Unfinished),
    /// It has come to its end, with another number of states than it must have.
    Count {
        /// What was explored.
        explored: Explored,
        /// How many states it must have.
        expected: u64,
    },
}

impl fmt::Display for Surprise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Surprise::Unfinished(unfinished) => unfinished.fmt(f),
            Surprise::Count { explored, expected } => {
                write!(f, "{explored}, where there must be {expected} states")
            }
        }
    }
}

impl Row {
    fn new(name: impl Into<String>, case: Case, expected: Expected) -> Row {
        let name = name.into();
        Row {
            name,
            case,
            expected,
        }
    }

    fn holds(name: impl Into<String>, case: Case, [all, reduced]: [u64; 2]) -> Row {
        Row::new(name, case, Expected::Holds { all, reduced })
    }

    fn fails(name: impl Into<String>, property: &'static str, case: Case, after: u64) -> Row {
        Row::new(name, case, Expected::Fails { property, after })
    }

    /// The row's system, in all orders of steps or reduced.
    pub fn system(&self, reduced: bool) -> System {
        let case = self.case.clone();
        System::new(Case { reduced, ..case })
    }

    /// Explores a case whose properties hold, over persistent sets of steps if the row allows it.
    pub fn explore(&self, watch: Watch<'_>) -> Result<Explored, Surprise> {
        let (reduced, expected) = match self.expected {
            Expected::Holds { reduced, .. } => (true, Some(reduced)),
            Expected::HoldsReduced { states } => (true, Some(states)),
            Expected::Unknown { reduced } => (reduced, None),
            Expected::Fails { .. } => (true, None),
        };
        self.explored(reduced, expected, watch)
    }

    /// Explores a case in all orders of its steps, where the table says how many states that must be.
    pub fn explore_all(&self, watch: Watch<'_>) -> Result<Explored, Surprise> {
        let expected = match self.expected {
            Expected::Holds { all, .. } => Some(all),
            _ => None,
        };
        self.explored(false, expected, watch)
    }

    fn explored(
        &self,
        reduced: bool,
        expected: Option<u64>,
        watch: Watch<'_>,
    ) -> Result<Explored, Surprise> {
        let explored =
            explore(&self.system(reduced), MOST_STATES, watch).map_err(Surprise::Unfinished)?;
        match expected {
            Some(expected) if expected != explored.states => {
                Err(Surprise::Count { explored, expected })
            }
            _ => Ok(explored),
        }
    }
}

/// MPI memory for no record, one, two (or one with a short buffer), three.
const NONE: usize = 0;
const ONE: usize = 32;
const TWO: usize = 64;
const THREE: usize = 96;

/// Short messages go by the pending send queue, too.
const NO_BCOPY: Rules = Rules {
    bcopy: false,
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

/// With these rules.
fn under(rules: Rules, case: Case) -> Case {
    Case { rules, ..case }
}

/// Messages of one tag from one sender.
pub fn one_sender() -> Vec<Row> {
    let counts = [
        (NONE, [4_131, 2_214], [34_555, 14_793]),
        (ONE, [10_558, 4_528], [173_440, 55_092]),
        (TWO, [1_015, 571], [9_623, 4_360]),
        (THREE, [1_045, 604], [11_145, 4_736]),
    ];
    counts
        .into_iter()
        .flat_map(|(memory, three, four)| {
            [
                Row::holds(format!("1 x 3, {memory} bytes"), same(3, memory), three),
                Row::holds(format!("1 x 4, {memory} bytes"), same(4, memory), four),
            ]
        })
        .collect()
}

/// Receives in the reverse order of their tags.
pub fn one_sender_reversed() -> Vec<Row> {
    let counts = [
        (NONE, [3_822, 1_940], [33_569, 13_641]),
        (ONE, [3_010, 1_425], [29_098, 11_153]),
        (TWO, [889, 464], [8_220, 3_417]),
        (THREE, [673, 389], [6_889, 2_874]),
    ];
    let row = |messages, memory, count| {
        let name = format!("1 x {messages} reversed, {memory} bytes");
        Row::holds(name, reversed(messages, memory), count)
    };
    counts
        .into_iter()
        .flat_map(|(memory, three, four)| [row(3, memory, three), row(4, memory, four)])
        .collect()
}

/// Receives for any tag among others.
pub fn any_tag() -> Vec<Row> {
    let (any, one, two) = ((Some(1), None), (Some(1), Some(1)), (Some(1), Some(2)));
    let programs = [[any, one, any], [two, any, any], [one, one, any]];
    let counts = [
        (NONE, [[4_560, 2_426], [3_929, 2_121], [4_560, 2_426]]),
        (ONE, [[8_049, 3_645], [3_669, 1_691], [8_049, 3_645]]),
        (TWO, [[1_015, 584], [848, 464], [1_015, 584]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (receives, count) in programs.into_iter().zip(counts) {
            let case = Case::new(&[&[1, 2, 1]], &receives, memory);
            let name = format!("1 x 3 for {receives:?}, {memory} bytes");
            rows.push(Row::holds(name, case, count));
        }
    }
    rows
}

/// The emergency memory of paper 004 is one answer: it is enough.
pub fn one_answer() -> Vec<Row> {
    [
        (NONE, [19_568, 14_793]),
        (ONE, [69_346, 55_092]),
        (TWO, [5_564, 4_360]),
    ]
    .into_iter()
    .map(|(memory, count)| {
        let name = format!("1 x 4, {memory} bytes, 1 answer");
        Row::holds(name, answers(1, same(4, memory)), count)
    })
    .collect()
}

/// Two senders to receives from any source.
pub fn two_senders() -> Vec<Row> {
    let row = |memory, count| {
        let name = format!("2 x 2, {memory} bytes, 1 answer");
        Row::holds(name, answers(1, many(2, 2, memory)), count)
    };
    vec![
        Row::holds("2 x 2, 64 bytes", many(2, 2, TWO), [127_124, 39_072]),
        row(NONE, [175_300, 145_291]),
        row(TWO, [45_778, 39_072]),
    ]
}

/// The largest case that is explored in all orders in every run of the tests.
pub fn two_senders_and_one_record() -> Vec<Row> {
    let case = answers(1, many(2, 2, ONE));
    vec![Row::holds(
        "2 x 2, 32 bytes, 1 answer",
        case,
        [478_612, 365_198],
    )]
}

/// Receives by source and tag.
pub fn two_senders_by_name() -> Vec<Row> {
    let receives = [
        (Some(2), Some(2)),
        (Some(1), Some(1)),
        (Some(2), Some(1)),
        (Some(1), Some(2)),
    ];
    [(NONE, [61_627, 21_332]), (ONE, [282_414, 64_638])]
        .into_iter()
        .map(|(memory, count)| {
            let case = Case {
                sent_early: true,
                ..Case::new(&[&[1, 2], &[1, 2]], &receives, memory)
            };
            Row::holds(format!("2 x 2 by name, {memory} bytes"), case, count)
        })
        .collect()
}

/// Three senders of one message each.
pub fn three_senders() -> Vec<Row> {
    [
        (NONE, [80_693, 28_549]),
        (ONE, [53_247, 16_909]),
        (TWO, [20_212, 8_569]),
    ]
    .into_iter()
    .map(|(memory, count)| {
        let case = Case {
            sent_early: false,
            ..many(3, 1, memory)
        };
        Row::holds(format!("3 x 1, {memory} bytes"), case, count)
    })
    .collect()
}

/// Messages longer than an RTS, and synchronous ones.
pub fn long_and_synchronous() -> Vec<Row> {
    let long = [
        (NONE, [14_773, 5_250]),
        (ONE, [31_008, 11_546]),
        (352, [7_628, 2_705]),
    ]
    .map(|(memory, count)| {
        let case = Case {
            len: 300,
            ..same(3, memory)
        };
        Row::holds(format!("1 x 3 of 300 bytes, {memory} bytes"), case, count)
    });
    let synchronous = [(ONE, [3_078, 1_266]), (TWO, [1_314, 551])].map(|(memory, count)| {
        let case = Case {
            mode: Mode::Synchronous,
            ..same(3, memory)
        };
        Row::holds(format!("1 x 3 synchronous, {memory} bytes"), case, count)
    });
    long.into_iter().chain(synchronous).collect()
}

/// Without light sends short messages go by the pending send queue from the start, and every answer is given
/// at once.
pub fn no_bcopy() -> Vec<Row> {
    let counts = [
        (NONE, [[12_534, 5_067], [17_447, 6_823], [26_482, 20_755]]),
        (ONE, [[31_987, 10_050], [9_728, 3_683], [86_193, 63_399]]),
        (TWO, [[4_191, 1_682], [5_172, 1_997], [10_445, 8_228]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        let cases = [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", reversed(4, memory)),
            ("2 x 2, 1 answer", answers(1, many(2, 2, memory))),
        ];
        for ((name, case), count) in cases.into_iter().zip(counts) {
            let name = format!("{name}, none light, {memory} bytes");
            rows.push(Row::holds(name, under(NO_BCOPY, case), count));
        }
    }
    rows
}

/// What cannot be light sends those before it into the queue, wherever they are by then.
pub fn light_among_others() -> Vec<Row> {
    let counts = [
        (
            NONE,
            [
                [16_453, 7_120],
                [23_275, 9_055],
                [34_018, 13_146],
                [39_021, 15_239],
            ],
            [26_482, 20_755],
        ),
        (
            ONE,
            [
                [162_467, 53_707],
                [85_133, 27_753],
                [95_916, 28_844],
                [142_250, 42_187],
            ],
            [86_193, 63_399],
        ),
        (
            TWO,
            [
                [66_710, 25_484],
                [8_935, 3_614],
                [9_851, 3_386],
                [12_138, 4_431],
            ],
            [14_704, 11_865],
        ),
    ];
    let mut rows = Vec::new();
    for (memory, ones, two) in counts {
        for (synchronous, count) in ones.into_iter().enumerate() {
            let case = Case {
                synchronous: Some(synchronous),
                ..same(4, memory)
            };
            let name = format!("1 x 4, message {synchronous} synchronous, {memory} bytes");
            rows.push(Row::holds(name, case, count));
        }
        let case = Case {
            synchronous: Some(1),
            ..answers(1, many(2, 2, memory))
        };
        let name = format!("2 x 2, the second ones synchronous, {memory} bytes, 1 answer");
        rows.push(Row::holds(name, case, two));
    }
    rows
}

/// A message that is received by no receive is cancelled at any moment, wherever it is by then; it is
/// synchronous, so that it ends in no other way.
pub fn cancelled_sends() -> Vec<Row> {
    let counts = [
        (NONE, [[5_457, 2_442], [2_809, 1_375], [1_800, 873]]),
        (ONE, [[2_015, 943], [3_662, 1_761], [3_209, 1_412]]),
        (TWO, [[1_662, 728], [1_651, 777], [1_396, 672]]),
    ];
    let programs = [[2, 1, 1], [1, 2, 1], [1, 1, 2]];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (cancel, (tags, count)) in programs.iter().zip(counts).enumerate() {
            let case = Case {
                cancel: Some(cancel),
                mode: Mode::Synchronous,
                ..Case::new(&[tags], &from_one(&[1, 1]), memory)
            };
            let name = format!("1 x 3, {cancel} cancelled, {memory} bytes");
            rows.push(Row::holds(name, case, count));
        }
    }
    rows
}

fn age_bits(age_bits: u32) -> Rules {
    Rules {
        age_bits,
        ..Rules::SOUND
    }
}

/// With RTSs and answers in order, one bit tells the ages apart that are in use at once: as many states as with
/// eight bits.
pub fn few_bits_of_age() -> Vec<Row> {
    let mut rows = Vec::new();
    for bits in [1, 2] {
        let counts = [
            (NONE, [34_555, 14_793]),
            (ONE, [173_440, 55_092]),
            (TWO, [9_623, 4_360]),
        ];
        for (memory, count) in counts {
            let name = format!("1 x 4, {memory} bytes, {bits} bits");
            let case = under(age_bits(bits), same(4, memory));
            rows.push(Row::holds(name, case, count));
        }
    }
    for (memory, count) in [(NONE, [175_300, 145_291]), (TWO, [45_778, 39_072])] {
        let name = format!("2 x 2, {memory} bytes, 1 bit, 1 answer");
        let case = answers(1, under(age_bits(1), many(2, 2, memory)));
        rows.push(Row::holds(name, case, count));
    }
    rows
}

/// Rule (c) alone is not what the order rests on: rule (d) is a second line.
pub fn matched_records_are_no_release() -> Vec<Row> {
    let rules = Rules {
        matched_releases: false,
        ..Rules::SOUND
    };
    let counts = [
        (
            ONE,
            [[113_680, 37_354], [29_098, 11_153], [240_060, 185_617]],
        ),
        (TWO, [[8_303, 3_969], [8_220, 3_417], [28_168, 24_352]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        let cases = [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", reversed(4, memory)),
            ("2 x 2", answers(1, many(2, 2, memory))),
        ];
        for ((name, case), count) in cases.into_iter().zip(counts) {
            let name = format!("{name}, {memory} bytes, matched records are no release");
            rows.push(Row::holds(name, under(rules, case), count));
        }
    }
    rows
}

/// No age at all is too few bits.
pub fn no_age() -> Vec<Row> {
    let counts = [
        (NONE, [(ORDER, 3_545), (END, 3_545)]),
        (ONE, [(ORDER, 8_692), (END, 8_692)]),
        (TWO, [(ORDER, 1_566), (END, 1_566)]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (property, after) in counts {
            let name = format!("1 x 3, {memory} bytes, 0 bits");
            let case = under(age_bits(0), same(3, memory));
            rows.push(Row::fails(name, property, case, after));
        }
    }
    rows
}

/// Rule (a): a restart that does not go on gets stuck.
pub fn without_rule_a() -> Vec<Row> {
    let rules = Rules {
        goes_on: false,
        ..Rules::SOUND
    };
    let row = |name, property, case, after| Row::fails(name, property, under(rules, case), after);
    vec![
        row("1 x 3", END, same(3, NONE), 3_057),
        row("reversed", END, reversed(3, NONE), 3_274),
        row("1 x 3 in order", ORDER, same(3, NONE), 3_144),
    ]
}

/// Rule (b): a message that leaves past an unanswered older one overtakes it.
pub fn without_rule_b() -> Vec<Row> {
    let rules = Rules {
        waits: false,
        ..Rules::SOUND
    };
    [
        ("1 x 3, none", NONE, 8_229),
        ("1 x 3, one record", ONE, 16_259),
        ("1 x 3, two records", TWO, 2_073),
    ]
    .into_iter()
    .map(|(name, memory, after)| Row::fails(name, ORDER, under(rules, same(3, memory)), after))
    .collect()
}

/// Rules (c) and (d): the memory of a matched record, under the same age, is open to a later message while
/// an earlier one stands refused.
pub fn without_rules_c_and_d() -> Vec<Row> {
    let rules = Rules {
        matched_releases: false,
        records_in_order: false,
        ..Rules::SOUND
    };
    [("one record", ONE, 7_022), ("two records", TWO, 613)]
        .into_iter()
        .map(|(name, memory, after)| Row::fails(name, ORDER, under(rules, same(3, memory)), after))
        .collect()
}

/// Rule (d): a record past a refused message lets it pass.
pub fn without_rule_d() -> Vec<Row> {
    let rules = Rules {
        records_in_order: false,
        ..Rules::SOUND
    };
    let case = under(rules, many(2, 2, TWO));
    vec![Row::fails("2 x 2, two records", ORDER, case, 69_282)]
}

/// Rule (e): a receive posted during a restart, that anything may match, gets the wrong message.
pub fn without_rule_e() -> Vec<Row> {
    let rules = Rules {
        guards_posts: false,
        ..Rules::SOUND
    };
    [(NONE, 85_455), (TWO, 57_043)]
        .into_iter()
        .map(|(memory, after)| {
            let case = under(rules, many(2, 2, memory));
            Row::fails(format!("2 x 2, {memory} bytes"), ORDER, case, after)
        })
        .collect()
}

/// RTSs that overtake one another, whatever the age's width.
pub fn rts_overtake() -> Vec<Row> {
    let mut rows = Vec::new();
    for bits in [1, 8] {
        for (memory, after) in [(NONE, 2_413), (ONE, 2_607), (TWO, 2_049)] {
            let case = Case {
                rts_overtake: true,
                ..under(age_bits(bits), same(3, memory))
            };
            let name = format!("{memory} bytes, {bits} bits");
            rows.push(Row::fails(name, ORDER, case, after));
        }
    }
    rows
}

/// The CTS for a recorded message passes the NCTSD that says it was recorded.
pub fn answers_overtake() -> Vec<Row> {
    let synchronous = Case {
        mode: Mode::Synchronous,
        ..same(3, ONE)
    };
    [
        ("1 x 3", same(3, ONE), 2_535),
        ("synchronous", synchronous, 2_291),
    ]
    .into_iter()
    .map(|(name, case, after)| {
        let case = Case {
            answers_overtake: true,
            ..case
        };
        Row::fails(name, EXPECTED, case, after)
    })
    .collect()
}

fn reduced(name: impl Into<String>, case: Case, states: u64) -> Row {
    Row::new(name, case, Expected::HoldsReduced { states })
}

/// The largest case that is explored in every run of the tests.
pub fn two_senders_of_three_messages_and_two_records() -> Vec<Row> {
    vec![reduced("2 x 3, 64 bytes", many(2, 3, TWO), 4_380_467)]
}

/// Takes minutes.
pub fn two_senders_of_three_messages() -> Vec<Row> {
    [(NONE, 15_866_038), (ONE, 117_819_417)]
        .into_iter()
        .map(|(memory, states)| {
            let name = format!("2 x 3, {memory} bytes");
            reduced(name, many(2, 3, memory), states)
        })
        .collect()
}

/// Takes many minutes and gigabytes. With one record there are some two thousand million states, more than a
/// host is likely to hold; without light sends they are few enough.
pub fn three_senders_of_two_messages() -> Vec<Row> {
    let light = [(TWO, 46_745_142), (NONE, 265_132_192)].map(|(memory, states)| {
        let name = format!("3 x 2, {memory} bytes");
        reduced(name, many(3, 2, memory), states)
    });
    let no_bcopy = [(NONE, 8_554_706), (ONE, 63_862_141), (TWO, 2_432_726)];
    let no_bcopy = no_bcopy.map(|(memory, states)| {
        let name = format!("3 x 2, none light, {memory} bytes");
        reduced(name, under(NO_BCOPY, many(3, 2, memory)), states)
    });
    light.into_iter().chain(no_bcopy).collect()
}

/// The senders' calls come at any moment. Takes many minutes and gigabytes.
pub fn senders_at_any_moment() -> Vec<Row> {
    let unknown = |name, case, reduced| Row::new(name, case, Expected::Unknown { reduced });
    let mut rows = Vec::new();
    for memory in [NONE, ONE, TWO] {
        rows.push(unknown(
            format!("1 x 5, {memory} bytes"),
            same(5, memory),
            false,
        ));
        let case = Case {
            sent_early: false,
            ..many(2, 2, memory)
        };
        let name = format!("2 x 2 at any moment, {memory} bytes");
        rows.push(unknown(name, case, true));
        let case = Case {
            sent_early: false,
            ..under(NO_BCOPY, many(2, 3, memory))
        };
        let name = format!("2 x 3 at any moment, none light, {memory} bytes");
        rows.push(unknown(name, case, true));
    }
    rows
}

/// What the reduced search leaves out, for a case of some size. Takes many minutes and gigabytes.
pub fn two_senders_of_three_messages_in_all_orders() -> Vec<Row> {
    [NONE, ONE, TWO]
        .into_iter()
        .map(|memory| {
            let case = under(NO_BCOPY, many(2, 3, memory));
            let name = format!("2 x 3, none light, {memory} bytes, all orders");
            Row::new(name, case, Expected::Unknown { reduced: false })
        })
        .collect()
}

/// All rows that take too long for every run of the tests; those that need least come first.
pub fn long() -> Vec<Row> {
    [
        two_senders_of_three_messages(),
        three_senders_of_two_messages(),
        senders_at_any_moment(),
        two_senders_of_three_messages_in_all_orders(),
    ]
    .concat()
}
