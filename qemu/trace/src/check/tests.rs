use super::*;
use crate::job::JobTrace;
use crate::messages::Messages;
use crate::objects::COMM_WORLD;
use crate::operations::JobOperations;
use crate::script::{FLOAT, INT, Script};

/// Returns the classes of the findings, each with the number of times.
fn classes(job: &JobTrace) -> Vec<(FindingClass, usize)> {
    let operations = JobOperations::collect(job);
    let messages = Messages::find(&operations);
    let found = findings(&CheckedJob::new(job, &operations, &messages, &|_, _| None));
    found.iter().map(|finding| (finding.class, finding.times)).collect()
}

#[test]
fn messages_that_match_cause_no_finding() {
    let mut script = Script::new(2);
    for tag in [3, 4, 3] {
        script.send(0, 1, tag, INT);
    }
    for tag in [3, 4, 3] {
        script.receive(1, 0, tag, INT, false);
    }
    assert_eq!(classes(&script.finish()), []);
}

#[test]
fn a_safe_program_ends_if_sends_and_collectives_wait() {
    let mut script = Script::new(2);
    for tag in [3, 4] {
        script.send(0, 1, tag, INT);
    }
    for tag in [4, 3] {
        script.receive(1, 0, tag, INT, false);
    }
    assert_eq!(classes(&script.finish()), [(FindingClass::UnsafeProgram, 1)]);
    // Both send first.
    let mut script = Script::new(2);
    for rank in [0, 1] {
        script.send(rank, 1 - rank as i64, 3, INT);
    }
    for rank in [0, 1] {
        script.receive(rank, 1 - rank as i64, 3, INT, false);
    }
    assert_eq!(classes(&script.finish()), [(FindingClass::UnsafeProgram, 1)]);
    // The root leaves a broadcast before the other process enters it.
    let mut script = Script::new(2);
    let broadcast = [("comm", COMM_WORLD), ("count", 1), ("datatype", INT)];
    script.call(0, "MPI_Bcast", &broadcast);
    script.send(0, 1, 3, INT);
    script.receive(1, 0, 3, INT, false);
    script.call(1, "MPI_Bcast", &broadcast);
    assert_eq!(classes(&script.finish()), [(FindingClass::UnsafeProgram, 1)]);
}

#[test]
fn the_order_of_messages_decides_which_datatypes_are_compared() {
    let mut script = Script::new(2);
    script.send(0, 1, 3, INT);
    script.send(0, 1, 3, FLOAT);
    script.receive(1, 0, 3, INT, false);
    script.receive(1, 0, 3, FLOAT, false);
    assert_eq!(classes(&script.finish()), []);
    let mut script = Script::new(2);
    script.send(0, 1, 3, INT);
    script.send(0, 1, 3, FLOAT);
    script.receive(1, 0, 3, FLOAT, false);
    script.receive(1, 0, 3, INT, false);
    assert_eq!(
        classes(&script.finish()),
        [(FindingClass::DatatypeMismatch, 1), (FindingClass::DatatypeMismatch, 1)]
    );
}

#[test]
fn a_message_without_a_receive_is_found_after_all_have_finalized() {
    let mut script = Script::new(2);
    script.send(0, 1, 3, INT);
    assert_eq!(classes(&script.finish()), [(FindingClass::UnreceivedMessage, 1)]);
    let mut script = Script::new(2);
    script.send(0, 1, 3, INT);
    assert_eq!(classes(&script.decode()), [], "the job was ended");
    let mut script = Script::new(2);
    let values = [("dest", 1), ("comm", COMM_WORLD)];
    script.enter_call(0, "MPI_Send", &values);
    script.leave_call(0, "MPI_Send", 4, &values);
    assert_eq!(classes(&script.finish()), [], "the send has failed");
}

/// Rank 0 receives from any source twice. Ranks 1 and 2 send; `is_ordered` if a message orders their sends.
fn two_senders(is_ordered: bool) -> JobTrace {
    let mut script = Script::new(3);
    script.send(1, 0, 3, INT);
    script.receive(0, 1, 3, INT, true);
    if is_ordered {
        script.send(0, 2, 4, INT);
        script.receive(2, 0, 4, INT, false);
    }
    script.send(2, 0, 3, INT);
    script.receive(0, 2, 3, INT, true);
    script.finish()
}

#[test]
fn a_race_requires_sends_that_nothing_orders() {
    assert_eq!(classes(&two_senders(false)), [(FindingClass::MessageRace, 1)]);
    assert_eq!(classes(&two_senders(true)), []);
}

#[test]
fn collective_calls_are_compared_up_to_the_first_difference() {
    let comm = ("comm", COMM_WORLD);
    let mut script = Script::new(2);
    for rank in 0..2 {
        script.call(rank, "MPI_Barrier", &[comm]);
    }
    script.call(0, "MPI_Barrier", &[comm]);
    script.call(1, "MPI_Bcast", &[comm, ("count", 1), ("datatype", INT)]);
    script.call(1, "MPI_Barrier", &[comm]);
    assert_eq!(classes(&script.finish()), [(FindingClass::CollectiveMismatch, 1)]);
    let mut script = Script::new(2);
    script.call(0, "MPI_Bcast", &[comm, ("count", 1), ("datatype", INT)]);
    script.call(1, "MPI_Bcast", &[comm, ("count", 2), ("datatype", INT)]);
    assert_eq!(classes(&script.finish()), [(FindingClass::DatatypeMismatch, 1)]);
    let mut script = Script::new(2);
    script.call(0, "MPI_Bcast", &[comm, ("root", 0)]);
    script.call(1, "MPI_Bcast", &[comm, ("root", 1)]);
    assert_eq!(classes(&script.finish()), [(FindingClass::CollectiveMismatch, 1)]);
}

#[test]
fn buffers_of_pending_operations_do_not_overlap() {
    let request = |name: &str, buffer: i64, script: &mut Script, handle: i64| {
        let values = [
            ("buf", buffer),
            ("count", 1),
            ("datatype", INT),
            ("source", 0),
            ("dest", 0),
            ("comm", COMM_WORLD),
            ("request", handle),
        ];
        script.call(0, name, &values);
    };
    for (second, distance, is_conflict) in [
        ("MPI_Irecv", 0, true),
        ("MPI_Irecv", 3, true),
        ("MPI_Irecv", 4, false),
        ("MPI_Isend", 0, true),
    ] {
        let mut script = Script::new(1);
        request("MPI_Irecv", 1000, &mut script, 11);
        request(second, 1000 + distance, &mut script, 12);
        let found = classes(&script.decode());
        assert_eq!(
            found.contains(&(FindingClass::BufferInUse, 1)),
            is_conflict,
            "{second} {distance}"
        );
    }
    let mut script = Script::new(1);
    request("MPI_Isend", 1000, &mut script, 11);
    request("MPI_Isend", 1000, &mut script, 12);
    assert_eq!(classes(&script.decode()), [], "both read");
}

#[test]
fn requests_and_objects_are_leaked_only_if_nothing_ends_them() {
    let start = [
        ("dest", 0),
        ("comm", COMM_WORLD),
        ("request", 9),
        ("count", 0),
        ("datatype", INT),
    ];
    for (end, leaks) in [("MPI_Wait", 0), ("", 1)] {
        let mut script = Script::new(1);
        script.call(0, "MPI_Isend", &start);
        script.receive(0, 0, 0, INT, false);
        if !end.is_empty() {
            script.enter_call(0, end, &[("request", 9)]);
            script.leave_call(0, end, 0, &[]);
        }
        let found = classes(&script.finish());
        let leaked = found
            .iter()
            .filter(|(class, _)| *class == FindingClass::RequestLeak)
            .count();
        assert_eq!(leaked, leaks, "{found:?}");
    }
    let mut script = Script::new(1);
    let handle = 0x0400_0001;
    script.call(0, "MPI_Comm_dup", &[("comm", COMM_WORLD), ("newcomm", handle)]);
    assert_eq!(classes(&script.finish()), [(FindingClass::ObjectLeak, 1)]);
}

#[test]
fn a_stream_is_decoded_up_to_a_number_of_calls() {
    let function = midplane_api::FUNCTIONS
        .iter()
        .position(|function| function.name == "MPI_Finalize");
    let enter = [1 | (function.unwrap() as u64) << 8, 5, 0];
    let words = [enter, enter, enter].concat();
    for (limit, calls, is_truncated) in [(2, 2, true), (3, 3, false)] {
        let trace = crate::job::RankTrace::decode(&words, limit);
        assert_eq!((trace.calls.len(), trace.is_truncated), (calls, is_truncated));
    }
}

#[test]
fn invalid_records_end_the_decoding_of_their_rank_only() {
    let mut script = Script::new(2);
    script.send(0, 1, 3, INT);
    script.receive(1, 0, 3, INT, false);
    let job = script.finish();
    assert!(job.ranks.iter().all(|rank| rank.corrupt.is_none()));
    let words: Vec<u64> = vec![1 | 0xffff << 8, 5, 0];
    let broken = crate::job::RankTrace::decode(&words, usize::MAX);
    assert!(broken.corrupt.is_some() && broken.calls.is_empty());
    for length in 0..40_u64 {
        let words: Vec<u64> = (0..length)
            .map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48)
            .collect();
        let _ = crate::job::RankTrace::decode(&words, usize::MAX);
    }
}
