//! Explanations of the kinds of hangs, and of waits that are no hang.

use super::explain;
use crate::run::outcome::ObservedNode;
use crate::run::outcome::tests::{calling, done, running, seen};
use midplane_abi::blackboard::{BlackboardSnapshot, FailureCode, NodeState};
use midplane_abi::message_queues::{KIND_ENTRIES, MessageQueues, QueueEntry, QueueKind};

const WORLD: u16 = 0;
const COLLECTIVES: u16 = 1;
const OTHER: u16 = 6;
const ANY: i32 = -1;

fn entry(kind: QueueKind, context: u16, peer: Option<u32>, tag: Option<i32>) -> QueueEntry {
    QueueEntry {
        kind,
        is_complete: false,
        context,
        peer,
        tag,
        bytes: 4,
    }
}

fn receive(context: u16, peer: u32, tag: i32) -> QueueEntry {
    entry(QueueKind::PostedReceive, context, Some(peer), Some(tag))
}

fn receive_from_any(context: u16, tag: i32) -> QueueEntry {
    entry(QueueKind::PostedReceive, context, None, Some(tag))
}

fn send(context: u16, peer: u32, tag: i32) -> QueueEntry {
    entry(QueueKind::PendingSend, context, Some(peer), Some(tag))
}

fn copied(context: u16, peer: u32, tag: i32) -> QueueEntry {
    QueueEntry {
        is_complete: true,
        ..send(context, peer, tag)
    }
}

fn arrived(context: u16, peer: u32, tag: i32) -> QueueEntry {
    entry(QueueKind::UnexpectedMessage, context, Some(peer), Some(tag))
}

fn of_window(kind: QueueKind, context: u16, peer: u32) -> QueueEntry {
    entry(kind, context, Some(peer), None)
}

/// Creates a blocked rank with message queues.
fn blocked(rank: u32, function: &str, peer: Option<i32>, tag: Option<i32>, entries: &[QueueEntry]) -> ObservedNode {
    let mut queues = MessageQueues::default();
    for kind in QueueKind::ALL {
        let of_kind = entries.iter().filter(|entry| entry.kind == kind);
        queues.totals[kind as usize] = of_kind.clone().count() as u32;
        for entry in of_kind.take(KIND_ENTRIES) {
            queues.entries.push(*entry).unwrap();
        }
    }
    ObservedNode {
        queues: Some(queues),
        ..calling(rank, function, peer, tag)
    }
}

fn receiving(rank: u32, peer: i32, tag: i32, entries: &[QueueEntry]) -> ObservedNode {
    blocked(rank, "MPI_Recv", Some(peer), Some(tag), entries)
}

fn sending(rank: u32, peer: u32, tag: i32) -> ObservedNode {
    blocked(
        rank,
        "MPI_Ssend",
        Some(peer as i32),
        Some(tag),
        &[send(WORLD, peer, tag)],
    )
}

fn in_barrier(rank: u32) -> ObservedNode {
    blocked(rank, "MPI_Barrier", None, None, &[])
}

/// A rank in MPI_Bcast, which waits for data of another one.
fn in_bcast(rank: u32, peer: u32) -> ObservedNode {
    blocked(
        rank,
        "MPI_Bcast",
        Some(peer as i32),
        None,
        &[receive(COLLECTIVES, peer, 2)],
    )
}

fn finalizing(rank: u32) -> ObservedNode {
    blocked(rank, "MPI_Finalize", None, None, &[])
}

fn text(nodes: &[ObservedNode]) -> String {
    explain(nodes).join("\n")
}

fn crossed_tags() -> Vec<ObservedNode> {
    vec![
        receiving(0, 1, 7, &[receive(WORLD, 1, 7), arrived(WORLD, 1, 8)]),
        receiving(
            1,
            0,
            9,
            &[receive(WORLD, 0, 9), arrived(WORLD, 0, 5), copied(WORLD, 0, 8)],
        ),
    ]
}

fn synchronous_sends_to_each_other() -> Vec<ObservedNode> {
    vec![
        sending(0, 1, 5),
        sending(1, 0, 5),
        receiving(2, 0, 1, &[receive(WORLD, 0, 1)]),
    ]
}

fn a_sender_in_another_call() -> Vec<ObservedNode> {
    vec![
        receiving(0, 1, 7, &[receive(WORLD, 1, 7)]),
        in_barrier(1),
        in_barrier(2),
    ]
}

fn a_message_on_another_communicator() -> Vec<ObservedNode> {
    vec![
        receiving(0, 1, 7, &[receive(WORLD, 1, 7), arrived(OTHER, 1, 7)]),
        in_barrier(1),
        in_barrier(2),
    ]
}

fn different_collectives() -> Vec<ObservedNode> {
    vec![in_bcast(0, 2), in_barrier(1), in_barrier(2), in_barrier(3)]
}

fn a_missing_root() -> Vec<ObservedNode> {
    vec![
        receiving(0, 2, 3, &[receive(WORLD, 2, 3)]),
        in_bcast(1, 0),
        in_bcast(2, 0),
    ]
}

fn different_roots() -> Vec<ObservedNode> {
    vec![in_bcast(0, 1), in_bcast(1, 0)]
}

fn a_rank_in_finalize() -> Vec<ObservedNode> {
    vec![
        receiving(0, 1, 7, &[receive(WORLD, 1, 7)]),
        finalizing(1),
        receiving(2, 1, 7, &[receive(WORLD, 1, 7)]),
    ]
}

fn a_waitall_with_an_unmatched_request() -> Vec<ObservedNode> {
    vec![
        blocked(
            0,
            "MPI_Waitall",
            Some(1),
            Some(7),
            &[receive(WORLD, 1, 7), receive_from_any(WORLD, 9), arrived(WORLD, 1, 8)],
        ),
        in_barrier(1),
    ]
}

fn a_wildcard_that_took_the_wrong_message() -> Vec<ObservedNode> {
    vec![
        receiving(0, 2, 7, &[receive(WORLD, 2, 7), arrived(WORLD, 1, 7)]),
        finalizing(1),
        finalizing(2),
    ]
}

fn a_cycle_of_locks() -> Vec<ObservedNode> {
    let lock =
        |rank, target: u32, entries: &[QueueEntry]| blocked(rank, "MPI_Win_lock", Some(target as i32), None, entries);
    vec![
        lock(
            0,
            1,
            &[
                of_window(QueueKind::WindowGrant, OTHER, 1),
                of_window(QueueKind::LockHolder, OTHER, 0),
            ],
        ),
        lock(
            1,
            0,
            &[
                of_window(QueueKind::WindowGrant, OTHER, 0),
                of_window(QueueKind::LockHolder, OTHER, 1),
            ],
        ),
    ]
}

fn a_missing_post() -> Vec<ObservedNode> {
    let grant = of_window(QueueKind::WindowGrant, OTHER, 0);
    vec![in_barrier(0), blocked(1, "MPI_Win_complete", None, None, &[grant])]
}

fn a_missing_complete() -> Vec<ObservedNode> {
    let epoch = of_window(QueueKind::WindowEpoch, OTHER, 1);
    vec![blocked(0, "MPI_Win_wait", None, None, &[epoch]), done(1, 3)]
}

fn a_rank_that_ended() -> Vec<ObservedNode> {
    vec![receiving(0, 1, 7, &[receive(WORLD, 1, 7)]), done(1, 0), in_barrier(2)]
}

fn wildcards_without_a_sender() -> Vec<ObservedNode> {
    let any = |rank| receiving(rank, -2, ANY, &[entry(QueueKind::PostedReceive, WORLD, None, None)]);
    vec![any(0), any(1), any(2)]
}

fn a_send_to_itself() -> Vec<ObservedNode> {
    vec![sending(0, 0, 5)]
}

fn different_lengths_of_a_collective() -> Vec<ObservedNode> {
    let long = blocked(0, "MPI_Allreduce", Some(1), None, &[receive(COLLECTIVES, 1, 3)]);
    let short = blocked(1, "MPI_Allreduce", None, None, &[]);
    vec![long, short]
}

fn boards_without_message_queues() -> Vec<ObservedNode> {
    vec![
        calling(0, "MPI_Recv", Some(1), Some(7)),
        calling(1, "MPI_Ssend", Some(0), Some(8)),
        calling(2, "MPI_Barrier", None, None),
    ]
}

type JobExample = (&'static str, fn() -> Vec<ObservedNode>);

/// Hanging jobs.
const JOBS: [JobExample; 18] = [
    ("crossed tags", crossed_tags),
    ("synchronous sends to each other", synchronous_sends_to_each_other),
    ("a sender in another call", a_sender_in_another_call),
    ("a message on another communicator", a_message_on_another_communicator),
    ("different collectives", different_collectives),
    ("a missing root", a_missing_root),
    ("different roots", different_roots),
    ("a rank in finalize", a_rank_in_finalize),
    (
        "a waitall with an unmatched request",
        a_waitall_with_an_unmatched_request,
    ),
    (
        "a wildcard that took the wrong message",
        a_wildcard_that_took_the_wrong_message,
    ),
    ("a cycle of locks", a_cycle_of_locks),
    ("a missing post", a_missing_post),
    ("a missing complete", a_missing_complete),
    ("a rank that ended", a_rank_that_ended),
    ("wildcards without a sender", wildcards_without_a_sender),
    ("a send to itself", a_send_to_itself),
    ("different lengths of a collective", different_lengths_of_a_collective),
    ("boards without message queues", boards_without_message_queues),
];

#[test]
fn explanations_of_all_kinds() {
    let sections = JOBS.map(|(kind, nodes)| format!("{kind}\n{}\n", text(&nodes())));
    insta::assert_snapshot!("kinds", sections.join("\n"));
}

/// Waits that may end are not explained.
#[test]
fn ranks_that_may_proceed_are_not_explained() {
    let receives = || receiving(0, 1, 7, &[receive(WORLD, 1, 7)]);
    let waits_for_any = || {
        blocked(
            0,
            "MPI_Waitany",
            None,
            None,
            &[receive(WORLD, 1, 7), receive(WORLD, 2, 7)],
        )
    };
    let again = || receiving(1, 0, 7, &[receive(WORLD, 0, 7)]);
    let in_read = calling(1, "read", None, None);
    let stopped = ObservedNode {
        stopped: Some(77),
        ..again()
    };
    let in_transit = || receiving(0, 1, 7, &[]);
    let cases: [&[ObservedNode]; 9] = [
        &[receives(), running(1), in_barrier(2)],
        &[receives(), in_read],
        &[receives(), seen(1, NodeState::Booting, |_| ())],
        &[receives(), stopped],
        &[receives(), calling(1, "MPI_Isend", Some(0), Some(7))],
        &[receives(), calling(1, "MPI_Test", None, None)],
        &[waits_for_any(), again(), running(2)],
        &[in_transit(), again()],
        &[running(0), done(1, 0), finalizing(2)],
    ];
    for nodes in cases {
        assert_eq!(text(nodes), "", "{nodes:?}");
    }
    assert_ne!(text(&[waits_for_any(), again(), done(2, 0)]), "");
}

/// The simulator reports a hang on the account of one rank, which is blocked like the others.
#[test]
fn the_rank_that_reports_a_hang_is_blocked() {
    let reports = |account: &mut BlackboardSnapshot| {
        account.state = NodeState::Failed;
        account.end = FailureCode::Hang;
    };
    let mut nodes = [sending(0, 1, 5), sending(1, 0, 5)];
    let expected = text(&nodes);
    nodes[0].account.as_mut().map(reports).unwrap();
    assert_eq!(text(&nodes), expected);
    assert!(expected.starts_with("cycle: rank 0 waits for rank 1"), "{expected}");
}

#[test]
fn statements_of_large_jobs_are_limited() {
    const COUNT: u32 = 4096;
    let ring: Vec<_> = (0..COUNT)
        .map(|rank| {
            let peer = (rank + 1) % COUNT;
            let tag = rank as i32;
            receiving(
                rank,
                peer as i32,
                tag,
                &[receive(WORLD, peer, tag), arrived(WORLD, peer, tag + 1)],
            )
        })
        .collect();
    let lines = explain(&ring);
    assert!(lines[0].starts_with("cycle: rank 0 waits for rank 1 ("), "{}", lines[0]);
    assert!(lines[0].ends_with(" and 4088 more"), "{}", lines[0]);
    assert_eq!(lines.len(), 10, "{lines:#?}");
    assert_eq!(lines[9], "and 4088 more unmatched messages");
}
