//! Cases in which every property holds, in all orders of steps.
#![forbid(unsafe_code)]

use midplane_device::request::SendMode;

use super::{
    CaseRow, NO_BCOPY, NONE, ONE, THREE, TWO, age_bits, answers, cancelled_receive, from_one, killer_case,
    many_senders, same, to_itself, with_rules_of,
};
use crate::explore::case::ProtocolCase;
use crate::explore::rules::ExploredRules;

/// Messages of one tag from one sender.
pub fn one_sender() -> Vec<CaseRow> {
    let counts = [
        (NONE, [4_297, 2_327], [36_127, 15_687]),
        (ONE, [10_629, 4_557], [175_284, 55_749]),
        (TWO, [1_023, 578], [9_791, 4_479]),
        (THREE, [1_045, 604], [11_216, 4_765]),
    ];
    counts
        .into_iter()
        .flat_map(|(memory, three, four)| {
            [
                CaseRow::holds(format!("1 x 3, {memory} bytes"), same(3, memory), three),
                CaseRow::holds(format!("1 x 4, {memory} bytes"), same(4, memory), four),
            ]
        })
        .collect()
}

/// Receives in the reverse order of their tags.
pub fn one_sender_reversed() -> Vec<CaseRow> {
    let counts = [
        (NONE, [3_822, 1_940], [33_581, 13_653]),
        (ONE, [3_379, 1_656], [31_899, 12_733]),
        (TWO, [947, 510], [8_754, 3_785]),
        (THREE, [742, 440], [8_022, 3_580]),
    ];
    let row = |messages, memory, count| {
        let name = format!("1 x {messages} reversed, {memory} bytes");
        CaseRow::holds(name, killer_case(messages, memory), count)
    };
    counts
        .into_iter()
        .flat_map(|(memory, three, four)| [row(3, memory, three), row(4, memory, four)])
        .collect()
}

/// Receives with and without a wildcard tag.
pub fn any_tag() -> Vec<CaseRow> {
    let (any, one, two) = ((Some(1), None), (Some(1), Some(1)), (Some(1), Some(2)));
    let programs = [[any, one, any], [two, any, any], [one, one, any]];
    let counts = [
        (NONE, [[4_744, 2_522], [4_045, 2_206], [4_744, 2_522]]),
        (ONE, [[8_292, 3_799], [4_337, 2_006], [8_292, 3_799]]),
        (TWO, [[1_025, 594], [920, 521], [1_025, 594]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (receives, count) in programs.into_iter().zip(counts) {
            let case = ProtocolCase::new(&[&[1, 2, 1]], &receives, memory);
            let name = format!("1 x 3 for {receives:?}, {memory} bytes");
            rows.push(CaseRow::holds(name, case, count));
        }
    }
    rows
}

/// The emergency memory of paper 004 is one reply, which is sufficient.
pub fn one_answer() -> Vec<CaseRow> {
    [(NONE, [20_636, 15_687]), (ONE, [70_320, 55_749]), (TWO, [5_698, 4_479])]
        .into_iter()
        .map(|(memory, count)| {
            let name = format!("1 x 4, {memory} bytes, 1 answer");
            CaseRow::holds(name, answers(1, same(4, memory)), count)
        })
        .collect()
}

/// Two senders to receives from any source.
pub fn two_senders() -> Vec<CaseRow> {
    let row = |memory, count| {
        let name = format!("2 x 2, {memory} bytes, 1 answer");
        CaseRow::holds(name, answers(1, many_senders(2, 2, memory)), count)
    };
    vec![
        CaseRow::holds("2 x 2, 64 bytes", many_senders(2, 2, TWO), [137_329, 41_028]),
        row(NONE, [178_881, 148_306]),
        row(TWO, [47_960, 41_028]),
    ]
}

/// Self-sends, on the fast path and on the slow path.
pub fn to_oneself() -> Vec<CaseRow> {
    let counts = [
        (NONE, [35_774, 30_929]),
        (ONE, [57_769, 39_977]),
        (TWO, [33_611, 26_718]),
        (THREE, [7_259, 5_709]),
    ];
    counts
        .into_iter()
        .map(|(memory, count)| CaseRow::holds(format!("3 to itself, {memory} bytes"), to_itself(memory), count))
        .collect()
}

/// The largest case that every test run explores in all orders.
pub fn two_senders_and_one_record() -> Vec<CaseRow> {
    let case = answers(1, many_senders(2, 2, ONE));
    vec![CaseRow::holds("2 x 2, 32 bytes, 1 answer", case, [486_955, 372_366])]
}

/// Receives by source and tag.
pub fn two_senders_by_name() -> Vec<CaseRow> {
    let receives = [
        (Some(2), Some(2)),
        (Some(1), Some(1)),
        (Some(2), Some(1)),
        (Some(1), Some(2)),
    ];
    [(NONE, [106_755, 34_853]), (ONE, [355_093, 82_924])]
        .into_iter()
        .map(|(memory, count)| {
            let case = ProtocolCase {
                sent_early: true,
                ..ProtocolCase::new(&[&[1, 2], &[1, 2]], &receives, memory)
            };
            CaseRow::holds(format!("2 x 2 by name, {memory} bytes"), case, count)
        })
        .collect()
}

/// Three senders of one message each.
pub fn three_senders() -> Vec<CaseRow> {
    [
        (NONE, [82_572, 27_660]),
        (ONE, [55_356, 17_140]),
        (TWO, [21_394, 8_842]),
    ]
    .into_iter()
    .map(|(memory, count)| {
        let case = ProtocolCase {
            sent_early: false,
            ..many_senders(3, 1, memory)
        };
        CaseRow::holds(format!("3 x 1, {memory} bytes"), case, count)
    })
    .collect()
}

/// Messages longer than an RTS, and synchronous ones.
pub fn long_and_synchronous() -> Vec<CaseRow> {
    let long = [(NONE, [15_292, 5_340]), (ONE, [28_653, 10_327]), (352, [7_671, 2_705])].map(|(memory, count)| {
        let case = ProtocolCase {
            len: 300,
            ..same(3, memory)
        };
        CaseRow::holds(format!("1 x 3 of 300 bytes, {memory} bytes"), case, count)
    });
    let scarce = [(NONE, [7_335, 2_910]), (ONE, [22_955, 9_068]), (352, [5_108, 2_257])].map(|(memory, count)| {
        let case = ProtocolCase {
            len: 300,
            sender_memory: NONE,
            ..same(3, memory)
        };
        let name = format!("1 x 3 of 300 bytes, {memory} bytes, none at the sender");
        CaseRow::holds(name, case, count)
    });
    let synchronous = [(ONE, [3_106, 1_266]), (TWO, [1_314, 551])].map(|(memory, count)| {
        let case = ProtocolCase {
            mode: SendMode::Synchronous,
            ..same(3, memory)
        };
        CaseRow::holds(format!("1 x 3 synchronous, {memory} bytes"), case, count)
    });
    let rows = long.into_iter().chain(scarce);
    rows.chain(synchronous).collect()
}

/// Without bcopy, short messages use the pending send queue from the start, and every reply is sent immediately.
pub fn no_bcopy() -> Vec<CaseRow> {
    let counts = [
        (NONE, [[13_060, 5_191], [17_450, 6_826], [27_789, 21_794]]),
        (ONE, [[32_539, 10_104], [10_461, 4_065], [87_026, 63_943]]),
        (TWO, [[4_256, 1_694], [5_309, 2_088], [10_994, 8_688]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        let cases = [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", killer_case(4, memory)),
            ("2 x 2, 1 answer", answers(1, many_senders(2, 2, memory))),
        ];
        for ((name, case), count) in cases.into_iter().zip(counts) {
            let name = format!("{name}, no bcopy, {memory} bytes");
            rows.push(CaseRow::holds(name, with_rules_of(NO_BCOPY, case), count));
        }
    }
    rows
}

/// A message that cannot use bcopy moves the earlier ones to the pending send queue, in any state.
pub fn bcopy_among_others() -> Vec<CaseRow> {
    let counts = [
        (
            NONE,
            [[17_132, 7_345], [24_321, 9_562], [35_478, 13_957], [40_592, 16_132]],
            [27_789, 21_794],
        ),
        (
            ONE,
            [[164_311, 54_364], [86_188, 27_936], [97_370, 29_223], [144_094, 42_844]],
            [87_026, 63_943],
        ),
        (
            TWO,
            [[67_194, 25_633], [9_000, 3_626], [9_981, 3_467], [12_310, 4_550]],
            [15_190, 12_292],
        ),
    ];
    let mut rows = Vec::new();
    for (memory, ones, two) in counts {
        for (synchronous, count) in ones.into_iter().enumerate() {
            let case = ProtocolCase {
                synchronous: Some(synchronous),
                ..same(4, memory)
            };
            let name = format!("1 x 4, message {synchronous} synchronous, {memory} bytes");
            rows.push(CaseRow::holds(name, case, count));
        }
        let case = ProtocolCase {
            synchronous: Some(1),
            ..answers(1, many_senders(2, 2, memory))
        };
        let name = format!("2 x 2, the second ones synchronous, {memory} bytes, 1 answer");
        rows.push(CaseRow::holds(name, case, two));
    }
    rows
}

/// A message without a matching receive is cancelled at any time, in any state; it is synchronous, so it cannot
/// complete otherwise.
pub fn cancelled_sends() -> Vec<CaseRow> {
    let counts = [
        (NONE, [[5_788, 2_500], [2_967, 1_425], [1_843, 893]]),
        (ONE, [[2_009, 943], [3_920, 1_829], [3_328, 1_449]]),
        (TWO, [[1_650, 733], [1_645, 781], [1_377, 659]]),
    ];
    let programs = [[2, 1, 1], [1, 2, 1], [1, 1, 2]];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (cancel, (tags, count)) in programs.iter().zip(counts).enumerate() {
            let case = ProtocolCase {
                cancel: Some(cancel),
                mode: SendMode::Synchronous,
                ..ProtocolCase::new(&[tags], &from_one(&[1, 1]), memory)
            };
            let name = format!("1 x 3, {cancel} cancelled, {memory} bytes");
            rows.push(CaseRow::holds(name, case, count));
        }
    }
    rows
}

/// A message requested for a receive that no longer exists is not mistaken for an earlier one.
pub fn cancelled_receives() -> Vec<CaseRow> {
    let counts = [
        (NONE, [[893, 558], [1_417, 770], [2_865, 1_192]]),
        (ONE, [[932, 541], [1_244, 691], [1_913, 925]]),
        (TWO, [[247, 172], [404, 260], [800, 434]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (reuses, count) in [0, 1, 3].into_iter().zip(counts) {
            let name = format!("1 x 2, a receive cancelled, {reuses} others, {memory} bytes");
            rows.push(CaseRow::holds(name, cancelled_receive(reuses, memory), count));
        }
    }
    rows
}

/// With RTSs and replies in order, one bit distinguishes the ages in use: as many states as with eight bits.
pub fn few_bits_of_age() -> Vec<CaseRow> {
    let mut rows = Vec::new();
    for bits in [1, 2] {
        let counts = [
            (NONE, [36_127, 15_687]),
            (ONE, [175_284, 55_749]),
            (TWO, [9_791, 4_479]),
        ];
        for (memory, count) in counts {
            let name = format!("1 x 4, {memory} bytes, {bits} bits");
            let case = with_rules_of(age_bits(bits), same(4, memory));
            rows.push(CaseRow::holds(name, case, count));
        }
    }
    for (memory, count) in [(NONE, [178_881, 148_306]), (TWO, [47_960, 41_028])] {
        let name = format!("2 x 2, {memory} bytes, 1 bit, 1 answer");
        let case = answers(1, with_rules_of(age_bits(1), many_senders(2, 2, memory)));
        rows.push(CaseRow::holds(name, case, count));
    }
    rows
}

/// No rule depends on the IDs of requests, copies and records, which are reused every second or fourth time: as many
/// states as with nine bits.
pub fn few_bits_of_names() -> Vec<CaseRow> {
    let mut rows = Vec::new();
    for name_bits in [1, 2] {
        let rules = ExploredRules {
            name_bits,
            ..ExploredRules::SOUND
        };
        for rows_of in [long_and_synchronous, cancelled_sends, cancelled_receives] {
            // With more blocks the record IDs distinguish equivalent states.
            let few_blocks = rows_of().into_iter().filter(|row| row.case.mpi_memory <= TWO);
            rows.extend(few_blocks.map(|row| CaseRow {
                name: format!("{}, names of {name_bits} bits", row.name),
                case: with_rules_of(rules, row.case),
                ..row
            }));
        }
    }
    rows
}

/// The order does not depend on rule (c) alone: rule (d) is a second guarantee.
pub fn matched_records_are_no_release() -> Vec<CaseRow> {
    let rules = ExploredRules {
        matched_releases: false,
        ..ExploredRules::SOUND
    };
    let counts = [
        (ONE, [[115_506, 37_995], [31_899, 12_733], [240_300, 185_722]]),
        (TWO, [[8_471, 4_088], [8_754, 3_785], [29_349, 25_368]]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        let cases = [
            ("1 x 4", same(4, memory)),
            ("1 x 4 reversed", killer_case(4, memory)),
            ("2 x 2", answers(1, many_senders(2, 2, memory))),
        ];
        for ((name, case), count) in cases.into_iter().zip(counts) {
            let name = format!("{name}, {memory} bytes, matched records are no release");
            rows.push(CaseRow::holds(name, with_rules_of(rules, case), count));
        }
    }
    rows
}
