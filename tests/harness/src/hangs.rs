//! Kinds of hangs, each with the statements that name it, and waits that are no hang. The program is `hang.c`.

use crate::{CommandRun, CompletedRun, LIMIT, program};
use std::io::Write as _;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Time during which standard input remains open without data: longer than a hang takes to be detected.
const SILENCE: Duration = Duration::from_secs(3);

/// A kind of hang.
struct Hang {
    /// The argument of the program.
    way: &'static str,
    /// Parts of the report, in its order.
    statements: &'static [&'static str],
}

const HANGS: [Hang; 13] = [
    Hang {
        way: "tags",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Recv (peer 1, tag 20) on MPI_COMM_WORLD, called from receive_from at hang.c:",
            "ranks 2, 3: in MPI_Finalize, called from main at hang.c:",
            "cycle: rank 0 waits for rank 1 (MPI_Recv, tag 20, MPI_COMM_WORLD), \
             rank 1 waits for rank 0 (MPI_Recv, tag 21, MPI_COMM_WORLD)",
            "rank 1 sent a message with tag 11 to rank 0 (MPI_COMM_WORLD, 4 bytes), \
             which waits for tag 20 from rank 1: the tags differ",
            "rank 0 sent a message with tag 10 to rank 1 (MPI_COMM_WORLD, 4 bytes), \
             which waits for tag 21 from rank 0: the tags differ",
        ],
    },
    Hang {
        way: "ssend",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Ssend (peer 1, tag 5) on MPI_COMM_WORLD, called from ssend at hang.c:",
            "cycle: rank 0 waits for rank 1 (MPI_Ssend, tag 5, MPI_COMM_WORLD), \
             rank 1 waits for rank 0 (MPI_Ssend, tag 5, MPI_COMM_WORLD)",
        ],
    },
    Hang {
        way: "sender",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Recv (peer 3, tag 7) on MPI_COMM_WORLD",
            "ranks 1-3: in MPI_Barrier, called from sender at hang.c:",
            "cycle: rank 0 waits for rank 3 (MPI_Recv, tag 7, MPI_COMM_WORLD), rank 3 waits for rank 0 (MPI_Barrier)",
            "rank 0 has not called MPI_Barrier of all ranks, in which ranks 1-3 wait: it is in MPI_Recv (peer 3, tag 7)",
        ],
    },
    Hang {
        way: "communicator",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Recv (peer 1, tag 7) on MPI_COMM_WORLD",
            "rank 1 sent a message with tag 7 to rank 0 (the communicator with context ",
            "), which waits for tag 7 from rank 1 in MPI_COMM_WORLD: the communicators differ",
        ],
    },
    Hang {
        way: "collectives",
        statements: &[
            "ranks 0, 2, 3: in MPI_Barrier, called from collectives at hang.c:",
            "rank 1 at (1,0,0): in MPI_Bcast (peer 0) on MPI_COMM_WORLD, called from collectives at hang.c:",
            "collectives of MPI_COMM_WORLD do not match: ranks 0, 2, 3 are in MPI_Barrier, rank 1 is in MPI_Bcast",
        ],
    },
    Hang {
        way: "root",
        statements: &[
            "rank 0 has not called MPI_Bcast of MPI_COMM_WORLD, in which ranks 1-3 wait: it is in MPI_Recv (peer 1, tag 3)",
        ],
    },
    Hang {
        way: "finalize",
        statements: &[
            "ranks 1-3: in MPI_Finalize, called from main at hang.c:",
            "rank 0 waits for rank 1 (MPI_Recv, tag 7, MPI_COMM_WORLD), which is in MPI_Finalize",
        ],
    },
    Hang {
        way: "waitall",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Waitall (peer 1, tag 31) on MPI_COMM_WORLD, called from waitall at hang.c:",
            "rank 1 sent a message with tag 32 to rank 0 (MPI_COMM_WORLD, 4 bytes), \
             which waits for tag 31 from rank 1: the tags differ",
            "rank 0 waits in MPI_Waitall for a message with tag 31 from rank 1 (MPI_COMM_WORLD)",
        ],
    },
    Hang {
        way: "nonblocking",
        statements: &[
            "rank 0 at (0,0,0): in MPI_Wait on MPI_COMM_WORLD, called from nonblocking at hang.c:",
            "ranks 1-3: in MPI_Recv (peer 0, tag 7) on MPI_COMM_WORLD, called from nonblocking at hang.c:",
            "cycle: rank 0 waits for rank 1 (MPI_Wait, MPI_COMM_WORLD), \
             rank 1 waits for rank 0 (MPI_Recv, tag 7, MPI_COMM_WORLD)",
        ],
    },
    Hang {
        way: "wildcard",
        statements: &["rank 1 sent a message with tag 7 to rank 0 (MPI_COMM_WORLD, 4 bytes), \
             which waits for tag 7 from rank 2: the sources differ; \
             an earlier receive with MPI_ANY_SOURCE may have taken the message of rank 2"],
    },
    Hang {
        way: "locks",
        statements: &[
            "cycle: rank 0 waits for rank 1 (MPI_Win_",
            "rank 1 waits for rank 0 (MPI_Win_",
            "for the lock of rank 3 of the window with context ",
            ", which rank 1 holds",
            "for the lock of rank 2 of the window with context ",
            ", which rank 0 holds",
        ],
    },
    Hang {
        way: "post",
        statements: &[
            "for MPI_Win_post of rank 0 (the window with context ",
            "): rank 0 is in MPI_Barrier",
        ],
    },
    Hang {
        way: "ended",
        statements: &[
            "rank 0 at (0,0,0): ended with status 0",
            "rank 1 waits for rank 0 (MPI_Recv, tag 7, MPI_COMM_WORLD), which has ended with status 0",
        ],
    },
];

/// Ways to wait that are no hang, with the number of steps to compute. `pauses` requires signals.
const WAITS: [(&str, &str); 6] = [
    ("computes", "300000000"),
    ("sleeps", ""),
    ("reads", ""),
    ("early", ""),
    ("polls", ""),
    ("pauses", ""),
];

/// Runs `hang.c` on four nodes with these options. Rank 0 can read a line, and then the end of its input after a while.
fn run(options: &[&str], arguments: &[&str]) -> CompletedRun {
    let path = program("hang.c");
    let job = [
        &["run", "-q", "--torus", "2x2x1", "--timeout", LIMIT],
        options,
        &[&path, "--"],
        arguments,
    ];
    let mut job = CommandRun::start_with(&job.concat(), Stdio::piped());
    let mut input = job.child.stdin.take().expect("a pipe");
    let _ = writeln!(input);
    if arguments.contains(&"reads") {
        sleep(SILENCE);
    }
    drop(input);
    job.end()
}

/// Checks that each kind of hang is detected and named.
#[track_caller]
pub fn are_named(options: &[&str]) {
    for Hang { way, statements } in &HANGS {
        let ended = run(options, &[way]).expect(1).says(&["the job hangs"]);
        ended.says_in_order(statements);
    }
}

/// Checks that jobs with silent ranks end.
#[track_caller]
pub fn are_no_false_alarms(options: &[&str]) {
    for (way, detail) in WAITS {
        if way == "pauses" && options != ["--on", "linux"] {
            continue;
        }
        let ended = run(options, &[way, detail]).expect(0);
        ended.prints("ended");
    }
}
