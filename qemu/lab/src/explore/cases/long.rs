//! Cases that are explored only over persistent sets of steps, most of them for minutes.
#![forbid(unsafe_code)]

use super::{CaseRow, ExpectedResult, NO_BCOPY, NONE, ONE, TWO, many_senders, same, with_rules_of};
use crate::explore::case::ProtocolCase;

fn reduced(name: impl Into<String>, case: ProtocolCase, states: u64) -> CaseRow {
    CaseRow::new(name, case, ExpectedResult::HoldsReduced { states })
}

/// The largest case that every test run explores.
pub fn two_senders_of_three_messages_and_two_records() -> Vec<CaseRow> {
    vec![reduced("2 x 3, 64 bytes", many_senders(2, 3, TWO), 4_406_122)]
}

/// Requires minutes.
pub fn two_senders_of_three_messages() -> Vec<CaseRow> {
    [(NONE, 12_554_607), (ONE, 120_959_778)]
        .into_iter()
        .map(|(memory, states)| {
            let name = format!("2 x 3, {memory} bytes");
            reduced(name, many_senders(2, 3, memory), states)
        })
        .collect()
}

/// Requires many minutes and gigabytes. With one record there are about two thousand million states, too many for a
/// typical host; without bcopy they are few enough.
pub fn three_senders_of_two_messages() -> Vec<CaseRow> {
    let all = [(TWO, 51_926_941), (NONE, 225_409_607)].map(|(memory, states)| {
        let name = format!("3 x 2, {memory} bytes");
        reduced(name, many_senders(3, 2, memory), states)
    });
    let no_bcopy = [(NONE, 8_466_124), (ONE, 65_732_818), (TWO, 2_967_472)];
    let no_bcopy = no_bcopy.map(|(memory, states)| {
        let name = format!("3 x 2, no bcopy, {memory} bytes");
        reduced(name, with_rules_of(NO_BCOPY, many_senders(3, 2, memory)), states)
    });
    all.into_iter().chain(no_bcopy).collect()
}

/// Cases whose senders' calls occur at any time. Requires many minutes and gigabytes.
pub fn senders_at_any_moment() -> Vec<CaseRow> {
    let unknown = |name, case, reduced| CaseRow::new(name, case, ExpectedResult::Unknown { reduced });
    let mut rows = Vec::new();
    for memory in [NONE, ONE, TWO] {
        rows.push(unknown(format!("1 x 5, {memory} bytes"), same(5, memory), false));
        let case = ProtocolCase {
            sent_early: false,
            ..many_senders(2, 2, memory)
        };
        let name = format!("2 x 2 at any moment, {memory} bytes");
        rows.push(unknown(name, case, true));
        let case = ProtocolCase {
            sent_early: false,
            ..with_rules_of(NO_BCOPY, many_senders(2, 3, memory))
        };
        let name = format!("2 x 3 at any moment, no bcopy, {memory} bytes");
        rows.push(unknown(name, case, true));
    }
    rows
}

/// All orders of steps that the reduced search omits, for a case of some size. Requires many minutes and gigabytes.
pub fn two_senders_of_three_messages_in_all_orders() -> Vec<CaseRow> {
    [NONE, ONE, TWO]
        .into_iter()
        .map(|memory| {
            let case = with_rules_of(NO_BCOPY, many_senders(2, 3, memory));
            let name = format!("2 x 3, no bcopy, {memory} bytes, all orders");
            CaseRow::new(name, case, ExpectedResult::Unknown { reduced: false })
        })
        .collect()
}

/// Returns all rows that are too long for every test run, in ascending order of memory.
pub fn long() -> Vec<CaseRow> {
    [
        two_senders_of_three_messages(),
        three_senders_of_two_messages(),
        senders_at_any_moment(),
        two_senders_of_three_messages_in_all_orders(),
    ]
    .concat()
}
