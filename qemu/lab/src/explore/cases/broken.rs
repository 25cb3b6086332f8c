//! Cases in which a rule or a guarantee is broken, and the violation that must be found.
#![forbid(unsafe_code)]

use midplane_device::request::SendMode;

use super::{
    CaseRow, NONE, ONE, TWO, age_bits, cancelled_receive, killer_case, many_senders, same, to_itself, with_rules_of,
};
use crate::explore::case::ProtocolCase;
use crate::explore::rules::ExploredRules;
use crate::explore::state::{END, EXPECTED, ORDER};

/// Horizons (cut-off sequence numbers) of so few bits that the last receive of
/// [`cancelled_receives`](super::cancelled_receives) appears as old as the first.
pub fn narrow_horizons() -> Vec<CaseRow> {
    let row = |(bits, after): (u32, u64)| {
        let rules = ExploredRules {
            horizon_bits: bits,
            ..ExploredRules::SOUND
        };
        let reuses = (1 << bits) - 1;
        let case = with_rules_of(rules, cancelled_receive(reuses, NONE));
        let name = format!("1 x 2, {reuses} others, horizons of {bits} bits, no memory");
        CaseRow::fails(name, ORDER, case, after)
    };
    [(1, 1_322), (2, 2_770)].map(row).into()
}

/// Without an age, zero bits are too few.
pub fn no_age() -> Vec<CaseRow> {
    let counts = [
        (NONE, [(ORDER, 3_579), (END, 3_579)]),
        (ONE, [(ORDER, 8_689), (END, 8_689)]),
        (TWO, [(ORDER, 1_573), (END, 1_573)]),
    ];
    let mut rows = Vec::new();
    for (memory, counts) in counts {
        for (property, after) in counts {
            let name = format!("1 x 3, {memory} bytes, 0 bits");
            let case = with_rules_of(age_bits(0), same(3, memory));
            rows.push(CaseRow::fails(name, property, case, after));
        }
    }
    rows
}

/// Without rule (a): a restart (resend request) that is not resumed deadlocks.
pub fn without_rule_a() -> Vec<CaseRow> {
    let rules = ExploredRules {
        goes_on: false,
        ..ExploredRules::SOUND
    };
    let row = |name, property, case, after| CaseRow::fails(name, property, with_rules_of(rules, case), after);
    vec![
        row("1 x 3", END, same(3, NONE), 3_118),
        row("reversed", END, killer_case(3, NONE), 3_274),
        row("1 x 3 in order", ORDER, same(3, NONE), 3_275),
    ]
}

/// Without rule (b): a message sent before the reply to an older one overtakes it.
pub fn without_rule_b() -> Vec<CaseRow> {
    let rules = ExploredRules {
        waits: false,
        ..ExploredRules::SOUND
    };
    [
        ("1 x 3, none", NONE, 8_283),
        ("1 x 3, one record", ONE, 16_309),
        ("1 x 3, two records", TWO, 2_102),
    ]
    .into_iter()
    .map(|(name, memory, after)| CaseRow::fails(name, ORDER, with_rules_of(rules, same(3, memory)), after))
    .collect()
}

/// Without rules (c) and (d): under the same age, a later message can use the memory of a matched record while an
/// earlier one is rejected (NCTS, no clear to send).
pub fn without_rules_c_and_d() -> Vec<CaseRow> {
    let rules = ExploredRules {
        matched_releases: false,
        records_in_order: false,
        ..ExploredRules::SOUND
    };
    [("one record", ONE, 7_093), ("two records", TWO, 621)]
        .into_iter()
        .map(|(name, memory, after)| CaseRow::fails(name, ORDER, with_rules_of(rules, same(3, memory)), after))
        .collect()
}

/// Without rule (d): a record can overtake a rejected message.
pub fn without_rule_d() -> Vec<CaseRow> {
    let rules = ExploredRules {
        records_in_order: false,
        ..ExploredRules::SOUND
    };
    let case = with_rules_of(rules, many_senders(2, 2, TWO));
    vec![CaseRow::fails("2 x 2, two records", ORDER, case, 72_836)]
}

/// Without rule (e): a receive posted during a restart, which any message may match, receives the wrong message.
pub fn without_rule_e() -> Vec<CaseRow> {
    let rules = ExploredRules {
        guards_posts: false,
        ..ExploredRules::SOUND
    };
    [(NONE, 88_199), (TWO, 62_302)]
        .into_iter()
        .map(|(memory, after)| {
            let case = with_rules_of(rules, many_senders(2, 2, memory));
            CaseRow::fails(format!("2 x 2, {memory} bytes"), ORDER, case, after)
        })
        .collect()
}

/// A self-send takes the fast path although an earlier message waits on the slow path.
pub fn without_guard_of_own_queue() -> Vec<CaseRow> {
    let rules = ExploredRules {
        guards_own_queue: false,
        ..ExploredRules::SOUND
    };
    let case = with_rules_of(rules, to_itself(ONE));
    vec![CaseRow::fails("3 to itself, 32 bytes", ORDER, case, 2_395)]
}

/// RTSs that overtake one another, for any width of the age.
pub fn rts_overtake() -> Vec<CaseRow> {
    let mut rows = Vec::new();
    for bits in [1, 8] {
        for (memory, after) in [(NONE, 2_418), (ONE, 2_607), (TWO, 2_048)] {
            let case = ProtocolCase {
                rts_overtake: true,
                ..with_rules_of(age_bits(bits), same(3, memory))
            };
            let name = format!("{memory} bytes, {bits} bits");
            rows.push(CaseRow::fails(name, ORDER, case, after));
        }
    }
    rows
}

/// The CTS for a recorded message overtakes the NCTSD (no clear to send, deferred) that reports the record.
pub fn answers_overtake() -> Vec<CaseRow> {
    let synchronous = ProtocolCase {
        mode: SendMode::Synchronous,
        ..same(3, ONE)
    };
    [("1 x 3", same(3, ONE), 2_533), ("synchronous", synchronous, 2_287)]
        .into_iter()
        .map(|(name, case, after)| {
            let case = ProtocolCase {
                answers_overtake: true,
                ..case
            };
            CaseRow::fails(name, EXPECTED, case, after)
        })
        .collect()
}
