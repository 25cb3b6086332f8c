//! Programs that poll: receives that are posted and cancelled in a loop until each message is received.
#![forbid(unsafe_code)]

use super::{CaseRow, ExpectedResult, NONE, ONE, TWO, polling_case, with_rules_of};
use crate::explore::case::{ProgramCall, ProtocolCase, ReceivePattern};
use crate::explore::rules::ExploredRules;

/// Returns a case like [`polling_case`], with receives for these patterns.
fn polling_case_for(senders: &[&[i32]], receives: &[ReceivePattern], mpi_memory: usize) -> ProtocolCase {
    let case = polling_case(senders.len(), 1, mpi_memory);
    ProtocolCase {
        senders: senders.iter().map(|tags| tags.to_vec()).collect(),
        receiver: receives.iter().copied().map(ProgramCall::Poll).collect(),
        ..case
    }
}

fn cases() -> Vec<(String, ProtocolCase)> {
    let mut cases = Vec::new();
    for memory in [NONE, ONE, TWO] {
        for (senders, messages) in [(1, 2), (1, 3), (2, 1), (2, 2), (3, 1)] {
            let name = format!("{senders} x {messages} polled, {memory} bytes");
            cases.push((name, polling_case(senders, messages, memory)));
        }
        let second = [(None, Some(2)), (None, Some(1))];
        let name = format!("1 x 2 polled by tags in reverse, {memory} bytes");
        cases.push((name, polling_case_for(&[&[1, 2]], &second, memory)));
        let by_name = [(Some(2), None), (Some(1), None)];
        let name = format!("2 x 1 polled by source, {memory} bytes");
        cases.push((name, polling_case_for(&[&[1], &[1]], &by_name, memory)));
        let reversed = [(None, Some(2)); 2];
        let rest = [(None, None); 2];
        let receives = [reversed, rest].concat();
        let name = format!("2 x 2 polled by tags in reverse, {memory} bytes");
        cases.push((name, polling_case_for(&[&[1, 2], &[1, 2]], &receives, memory)));
    }
    cases
}

/// States of the cases, in order: with rule (f); and without, until a livelock is found. With one record, both messages
/// of a single sender are received without the rule, too.
const STATES: [(u64, Option<u64>); 24] = [
    (170, Some(901)),
    (715, Some(6_093)),
    (743, Some(9_224)),
    (60_348, Some(1_150_962)),
    (31_256, Some(699_343)),
    (136, Some(369)),
    (166, Some(581)),
    (18_116, Some(119_020)),
    (143, None),
    (709, Some(1_046)),
    (433, Some(517)),
    (23_464, Some(103_739)),
    (9_451, Some(29_237)),
    (68, Some(131)),
    (303, Some(462)),
    (11_807, Some(73_830)),
    (87, Some(134)),
    (429, Some(911)),
    (236, Some(416)),
    (29_962, Some(125_826)),
    (8_750, Some(34_604)),
    (51, Some(114)),
    (178, Some(386)),
    (10_906, Some(72_380)),
];

/// Every fair run ends.
pub fn polled_receives() -> Vec<CaseRow> {
    { cases().into_iter().zip(STATES) }
        .map(|((name, case), (states, _))| CaseRow::new(name, case, ExpectedResult::HoldsFairly { states }))
        .collect()
}

/// Without rule (f): a receive that is cancelled immediately is not posted any more when its requested message arrives.
pub fn without_rule_f() -> Vec<CaseRow> {
    let rules = |case: &ProtocolCase| ExploredRules {
        holds_cancelled: false,
        ..case.rules
    };
    { cases().into_iter().zip(STATES) }
        .filter_map(|((name, case), (_, states))| {
            let case = with_rules_of(rules(&case), case);
            let states = states?;
            Some(CaseRow::new(name, case, ExpectedResult::Livelock { states }))
        })
        .collect()
}
