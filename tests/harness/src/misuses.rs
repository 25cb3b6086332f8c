//! Kinds of misuse with the statements that `--check` makes, and programs in which it finds none. The programs are
//! `misuse.c` and `misuse.rs`.

use crate::{CommandRun, CompletedRun, LIMIT, program};

/// A kind of misuse.
struct Misuse {
    /// The argument of the program.
    way: &'static str,
    /// Parts of the output, in its order.
    statements: &'static [&'static str],
    /// The program's accesses to memory must be known, which is not the case on nodes.
    requires_accesses: bool,
}

const MISUSES: [Misuse; 16] = [
    misuse(
        "types",
        &[
            "datatype mismatch: element 0 of the message is MPI_INT in MPI_Send of rank 1 (types at misuse.c:",
            "but MPI_FLOAT in MPI_Recv of rank 0 (types at misuse.c:",
        ],
    ),
    misuse(
        "structure",
        &["datatype mismatch: element 1 of the message is MPI_INT in MPI_Send of rank 1 (structure at misuse.c:"],
    ),
    misuse(
        "operations",
        &[
            "collective mismatch: the operation is MPI_SUM in MPI_Allreduce of rank 0 (operations at misuse.c:",
            "but MPI_MAX in MPI_Allreduce of rank 2",
        ],
    ),
    misuse(
        "reductions",
        &[
            "datatype mismatch: element 0 has datatype MPI_INT in one of MPI_Allreduce of rank 0 (reductions at misuse.c:",
        ],
    ),
    with_accesses(
        "writes",
        &["buffer in use: rank 0 writes to the buffer of MPI_Isend of rank 0 (writes at misuse.c:"],
    ),
    with_accesses(
        "reads",
        &["buffer in use: rank 0 reads the buffer of MPI_Irecv of rank 0 (reads at misuse.c:"],
    ),
    misuse(
        "overlaps",
        &[
            "buffer in use: MPI_Irecv of rank 0 (overlaps at misuse.c:",
            ") uses the buffer of MPI_Irecv of rank 0 (overlaps at misuse.c:",
            "which is pending (4 times)",
        ],
    ),
    misuse(
        "request",
        &["request leak: the request of MPI_Isend of rank 0 (request at misuse.c:"],
    ),
    misuse(
        "freed",
        &["request leak: the program frees the active request of MPI_Isend of rank 0 (freed at misuse.c:"],
    ),
    misuse(
        "unstarted",
        &["request leak: the persistent request of MPI_Send_init of rank 0 (unstarted at misuse.c:"],
    ),
    misuse(
        "objects",
        &[
            "object leak: the communicator of MPI_Comm_dup of rank 0 (objects at misuse.c:",
            "object leak: the group of MPI_Comm_group of rank 0",
            "object leak: the datatype of MPI_Type_contiguous of rank 0",
            "object leak: the window of MPI_Win_create of rank 0",
        ],
    ),
    misuse(
        "unsafe",
        &[
            "unsafe program: MPI_Send of rank 0 (unsafe at misuse.c:",
            "may wait for MPI_Recv of rank 1 (unsafe at misuse.c:",
            "the program depends on buffers of the library",
        ],
    ),
    misuse(
        "unreceived",
        &["message not received: rank 1 has not received the message of MPI_Send of rank 0 (unreceived at misuse.c:"],
    ),
    misuse(
        "puts",
        &[
            "window conflict: MPI_Put of rank 1 (put_both at misuse.c:",
            "MPI_Put of rank 2",
            "the same memory in the window of rank 0",
        ],
    ),
    with_accesses(
        "stores",
        &[
            "window conflict: a store of rank 0 (stores at misuse.c:",
            "MPI_Get of rank 1",
        ],
    ),
    misuse("race", &["message race: MPI_Recv of rank 0 (race at misuse.c:"]),
];

const MISUSES_IN_RUST: [Misuse; 6] = [
    misuse(
        "types",
        &[
            "datatype mismatch: element 0 of the message is MPI_INT32_T in MPI_Send of rank 1 (misuse.rs:",
            "but MPI_FLOAT in MPI_Recv of rank 0 (misuse.rs:",
        ],
    ),
    misuse(
        "operations",
        &[
            "collective mismatch: the operation is MPI_SUM in MPI_Allreduce of rank 0 (misuse.rs:",
            "but MPI_MAX in MPI_Allreduce of rank 2 (misuse.rs:",
        ],
    ),
    misuse(
        "roots",
        &[
            "collective mismatch: the root is 0 in MPI_Ibcast of rank 0 (misuse.rs:",
            "but 1 in MPI_Ibcast of rank 1 (misuse.rs:",
        ],
    ),
    misuse(
        "unreceived",
        &["message not received: rank 1 has not received the message of MPI_Send of rank 0 (misuse.rs:"],
    ),
    misuse("race", &["message race: MPI_Recv of rank 0 (misuse.rs:"]),
    misuse(
        "puts",
        &[
            "window conflict: MPI_Put of rank 1 (misuse.rs:",
            "MPI_Put of rank 2 (misuse.rs:",
            "the same memory in the window of rank 0",
        ],
    ),
];

const fn misuse(way: &'static str, statements: &'static [&'static str]) -> Misuse {
    Misuse {
        way,
        statements,
        requires_accesses: false,
    }
}

const fn with_accesses(way: &'static str, statements: &'static [&'static str]) -> Misuse {
    Misuse {
        requires_accesses: true,
        ..misuse(way, statements)
    }
}

/// Programs without misuse: messages of all modes, collectives, datatypes, windows, intercommunicators, probes.
const CORRECT: [&str; 12] = [
    "app_cannon.c",
    "app_halo.c",
    "app_master.c",
    "app_search.c",
    "conf_buffered.c",
    "conf_coll.c",
    "conf_inter.c",
    "conf_mprobe.c",
    "conf_p2p.c",
    "conf_neighbor.c",
    "conf_rma_types.c",
    "conf_types.c",
];

/// Runs a program with four ranks and `--check`.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let path = program(name);
    let job = [
        &["run", "-q", "--torus", "2x2x1", "--check", "--timeout", LIMIT],
        options,
        &[&path, "--"],
        arguments,
    ];
    CommandRun::start(&job.concat()).end()
}

/// Checks that each kind of misuse is found and located, and no other one.
#[track_caller]
pub fn are_found(options: &[&str]) {
    let has_accesses = !options.is_empty();
    for Misuse {
        way,
        statements,
        requires_accesses,
    } in &MISUSES
    {
        if *requires_accesses && !has_accesses {
            continue;
        }
        let ended = run(options, "misuse.c", &[way]).expect(1);
        ended.says_in_order(statements);
        let number = if *way == "objects" { "4 misuses" } else { "one misuse" };
        ended.says(&[&format!("--check has found {number} of MPI")]);
    }
    if has_accesses {
        run(options, "misuse.c", &["unlocked"]).expect(0).says(&[
            "warning: unordered access: a store of rank 0 (unlocked at misuse.c:",
            "--check has found no misuse of MPI",
        ]);
    }
}

/// Checks that each kind of misuse that Rust permits is found and located, and no other one.
#[track_caller]
pub fn of_rust_are_found(options: &[&str]) {
    for Misuse { way, statements, .. } in &MISUSES_IN_RUST {
        let ended = run(options, "misuse.rs", &[way]).expect(1);
        ended.says_in_order(statements);
        ended.says(&["--check has found one misuse of MPI"]);
    }
}

/// Checks that nothing is found in correct Rust programs.
#[track_caller]
pub fn of_rust_are_no_false_alarms(options: &[&str]) {
    run_without_finding(options, "misuse.rs", "ordered");
    run_without_finding(options, "ring.rs", "10");
}

/// Runs a Rust program with an argument, and checks that its records are valid and nothing is found.
#[track_caller]
pub fn run_without_finding(options: &[&str], name: &str, argument: &str) {
    let ended = run(options, name, &[argument]).expect(0);
    let ended = ended.says(&["--check has found no misuse of MPI"]);
    assert!(
        !ended.stderr.contains("are invalid"),
        "{name} {argument}: {}",
        ended.stderr
    );
}

/// Checks that nothing is found in correct programs.
#[track_caller]
pub fn are_no_false_alarms(options: &[&str]) {
    let ended = run(options, "misuse.c", &["ordered"]).expect(0);
    ended.says(&["--check has found no misuse of MPI"]);
    for name in CORRECT {
        run(options, name, &[])
            .expect(0)
            .says(&["--check has found no misuse of MPI"]);
    }
}
