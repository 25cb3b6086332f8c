//! Activities of the ranks, as text. Free of side effects.

use crate::run::hang::calls::RankState;
use crate::run::hang::text::{self, group_ranks};
use crate::run::outcome::{ObservedNode, describe_call, ranges};
use midplane_abi::blackboard::{FailureCode, NodeState};

/// Maximum number of different activities.
const MAX_ACTIVITIES: usize = 128;

/// Returns the activity of each rank, with one line per common activity. Activities beyond a limit are counted only.
pub fn describe_activities(nodes: &[ObservedNode]) -> Vec<String> {
    let mut groups = group_ranks(nodes.iter().map(describe_activity).zip(0..));
    let omitted = groups.split_off(MAX_ACTIVITIES.min(groups.len()));
    let mut lines: Vec<String> = groups
        .into_iter()
        .map(|(activity, members)| match members[..] {
            [one] => format!("{}: {activity}", nodes[one as usize].name()),
            _ => format!(
                "ranks {}: {activity}",
                ranges(members.into_iter().map(|index| nodes[index as usize].rank))
            ),
        })
        .collect();
    if !omitted.is_empty() {
        let ranks: usize = omitted.iter().map(|(_, members)| members.len()).sum();
        lines.push(format!(
            "and {ranks} more ranks with {} other activities",
            omitted.len()
        ));
    }
    lines
}

/// Returns the activity of a rank.
pub fn describe_activity(node: &ObservedNode) -> String {
    let account = match &node.account {
        Ok(account) => account,
        Err(error) => return format!("unreadable, {error}"),
    };
    let place = match account.state {
        NodeState::Done => return format!("ended with status {}", account.status),
        // The node reports that all are blocked, itself included.
        NodeState::Failed if account.end != FailureCode::Hang => return "failed".into(),
        NodeState::Off => "not started".into(),
        NodeState::Booting => "booting".into(),
        NodeState::Running if let Some(call) = node.polling_call() => {
            format!("polling, with {call}")
        }
        NodeState::Running | NodeState::Failed => match &account.call {
            Some(call) => {
                let call = match RankState::from_node(node) {
                    RankState::Blocked(call) => text::call(&call),
                    _ => describe_call(call),
                };
                let location = node.called_from.as_ref();
                let location = location.map_or(String::new(), |location| format!(", called from {location}"));
                format!("in {call}{location}")
            }
            None if node.stopped.is_some() => "outside MPI".into(),
            None => "computing, outside MPI".into(),
        },
    };
    match node.stopped {
        None => place,
        Some(process) => {
            format!("stopped by a signal, {place} (`kill -CONT {process}` resumes its process)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outcome::tests::{calling, done, running, seen};

    #[test]
    fn a_rank_that_polls_shows_its_call_again_and_again() {
        let polls = |last_call: &str, shown_before| {
            let account = seen(0, NodeState::Running, |s| {
                s.calls_entered = 5;
                s.last_call = last_call.parse().unwrap();
            });
            let node = ObservedNode {
                shown_before,
                ..account
            };
            describe_activities(&[node]).remove(0)
        };
        let computes = "rank 0 at (0,0,0): computing, outside MPI";
        assert_eq!(
            polls("MPI_Testsome", Some(4)),
            "rank 0 at (0,0,0): polling, with MPI_Testsome"
        );
        // The last call is old, unknown, or a blocking one.
        assert_eq!(polls("MPI_Testsome", Some(5)), computes);
        assert_eq!(polls("MPI_Testsome", None), computes);
        assert_eq!(polls("MPI_Wait", Some(4)), computes);
    }

    #[test]
    fn whereabouts_join_ranks_that_did_the_same() {
        let nodes = [
            calling(0, "MPI_Recv", Some(3), Some(-1)),
            calling(1, "MPI_Barrier", None, None),
            calling(2, "MPI_Barrier", None, None),
            done(3, 0),
            calling(4, "MPI_Barrier", None, None),
            running(5),
            ObservedNode {
                stopped: Some(77),
                ..running(6)
            },
            ObservedNode {
                stopped: Some(78),
                ..seen(7, NodeState::Off, |_| ())
            },
        ];
        assert_eq!(
            describe_activities(&nodes),
            [
                "rank 0 at (0,0,0): in MPI_Recv (peer 3, tag any)",
                "ranks 1, 2, 4: in MPI_Barrier",
                "rank 3 at (3,0,0): ended with status 0",
                "rank 5 at (5,0,0): computing, outside MPI",
                "rank 6 at (6,0,0): stopped by a signal, outside MPI (`kill -CONT 77` resumes its process)",
                "rank 7 at (7,0,0): stopped by a signal, not started (`kill -CONT 78` resumes its process)",
            ]
        );
    }
}
