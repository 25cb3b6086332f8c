//! Failing jobs: the error reports, and that no process remains.

use crate::run;
use midplane_harness::{self as harness, CommandRun, marked, program};
use rustix::process::{Pid, Signal, kill_process};

const FOUR: [&str; 2] = ["--torus", "2x2x1"];

#[test]
fn a_null_pointer_is_named_with_its_place() {
    run(&FOUR, "fail_null.c", &[]).expect(1).says(&[
        "rank 3",
        "(1,1,0)",
        "null pointer: store to 0x0",
        "in main at fail_null.c:16",
    ]);
}

#[test]
fn a_stack_overrun_is_named_with_the_size_of_the_stack() {
    run(&["--torus", "2x2x1", "--stack", "256K"], "fail_stack.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "stack overflow", "at fail_stack.c:", "--stack"]);
}

/// Runs one job per seed with wild stores. Returns how many had no effect, and how many ended with a message.
fn wild_jobs(seeds: std::ops::Range<u32>, stores: u32) -> [u32; 2] {
    let mut ended = [0, 0];
    for seed in seeds {
        let arguments = [seed, stores].map(|number| number.to_string());
        let options = ["--torus", "2x2x1", "--seal"];
        let job = run(&options, "fail_wild.c", &arguments.each_ref().map(String::as_str));
        let status = job.status;
        assert!(matches!(status, Some(0 | 1)), "seed {seed}: {job}");
        if status == Some(1) {
            let _ = job.says(&["rank "]);
        }
        ended[usize::from(status == Some(1))] += 1;
    }
    ended
}

#[test]
fn a_wild_store_into_shared_memory_has_no_effect_or_ends_the_job_with_a_message() {
    let [_, fatal] = wild_jobs(1..9, 100);
    assert!(fatal > 0);
}

#[test]
#[ignore = "takes many minutes: 10,000 stores"]
fn ten_thousand_wild_stores_have_no_effect_or_end_the_job_with_a_message() {
    println!("{:?}", wild_jobs(1..1001, 50));
}

#[test]
fn abort_ends_the_job_and_what_was_printed_is_shown() {
    let ended = run(&FOUR, "fail_abort.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "the program called abort()"]);
    assert!(ended.stdout.contains("about to call abort"), "{ended}");
}

/// Expected messages for each kind of fault in `faults.c`.
#[cfg(target_arch = "x86_64")]
const FAULTS: [(&str, &[&str]); 21] = [
    (
        "strlen",
        &[
            "null pointer: load from 0x8",
            "in strlen, called from in_library at faults.c:",
        ],
    ),
    (
        "memcpy",
        &[
            // The library chooses the start address.
            "null pointer: store to 0x",
            "in memcpy, called from in_library at faults.c:",
        ],
    ),
    (
        "memset",
        &[
            "null pointer: store to 0x",
            "in memset, called from in_library at faults.c:",
        ],
    ),
    (
        "printf",
        &[
            "null pointer: load from 0x8",
            "in printf, called from in_library at faults.c:",
        ],
    ),
    ("qsort", &["null pointer", "in compare at faults.c:"]),
    (
        "compare",
        &["null pointer: load from 0x8", "in compare_badly at faults.c:"],
    ),
    ("free", &["in free, called from in_library at faults.c:"]),
    (
        "fclose",
        &[
            "null pointer",
            "in a function of a library, called by in_library, which is called from main at faults.c:",
        ],
    ),
    (
        "high",
        &[
            "an address that no x86-64 processor can use; a register has: 0x4141414141414141",
            "in high at faults.c:",
        ],
    ),
    (
        "high_memset",
        &["0x4141414141414141", "which is called from main at faults.c:"],
    ),
    (
        "raise",
        &[
            "the program sent itself signal 11 (SIGSEGV)",
            "in raise, called from sent at faults.c:",
        ],
    ),
    (
        "kill",
        &[
            "the program sent itself signal 7 (SIGBUS)",
            "in kill, called from sent at faults.c:",
        ],
    ),
    ("abort", &["the program called abort()", "in sent at faults.c:"]),
    ("division", &["integer division by zero", "in others at faults.c:"]),
    (
        "exception",
        &["floating-point division by zero", "in others at faults.c:"],
    ),
    ("trap", &["illegal instruction", "in others at faults.c:"]),
    (
        "nowhere",
        &[
            "null pointer: jump to 0x0",
            "in a function by its pointer, called from others at faults.c:",
        ],
    ),
    (
        "constant",
        &["code and constants cannot be written", "in others at faults.c:"],
    ),
    (
        "file_end",
        &["behind the end of a mapped file", "in others at faults.c:"],
    ),
    (
        "receive",
        &[
            "code and constants cannot be written",
            "in MPI_Recv, called from main at faults.c:",
        ],
    ),
    // Without line numbers.
    ("strlen", &["in strlen, called from in_library"]),
];

#[test]
#[cfg(target_arch = "x86_64")]
fn a_fault_is_explained_with_the_programs_line_wherever_it_is() {
    for (at, (what, words)) in FAULTS.into_iter().enumerate() {
        let board = if at % 2 == 0 { "linux" } else { "cluster" };
        let flags = if at == FAULTS.len() - 1 {
            "--cflags=-fno-builtin -fno-inline -g0"
        } else {
            "--cflags=-fno-builtin -fno-inline"
        };
        let options = ["--on", board, "-q", "-n", "2", "-l", "m", flags];
        harness::run(&options, "faults.c", &[what])
            .expect(1)
            .says(&["rank 1 at (1,0,0): "])
            .says(words);
    }
}

#[test]
#[ignore = "takes a minute: the other half"]
#[cfg(target_arch = "x86_64")]
fn the_same_on_the_other_board() {
    for (at, (what, words)) in FAULTS[..20].iter().enumerate() {
        let board = if at % 2 == 1 { "linux" } else { "cluster" };
        let flags = "--cflags=-fno-builtin -fno-inline";
        let options = ["--on", board, "-q", "-n", "2", "-l", "m", flags];
        harness::run(&options, "faults.c", &[what])
            .expect(1)
            .says(&["rank 1 at (1,0,0): "])
            .says(words);
    }
}

#[test]
fn the_counters_are_there_when_the_job_is_ended() {
    let dir = harness::TempDirectory::new("counters");
    for board in ["linux", "cluster"] {
        let file = dir.path(board);
        let program = harness::program("asks.c");
        let options = ["run", "--on", board, "-n", "3", "--timeout", "2"];
        let ended = harness::midplane(&[&options[..], &["--report", &file, &program]].concat());
        ended.expect(1).says(&["--timeout"]);
        let report = std::fs::read(&file).expect("a report");
        let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
        for rank in 0..3 {
            let messages = &report["ranks"][rank]["messages"];
            assert!(messages.as_u64() >= Some(10), "{board}, rank {rank}: {report}");
        }
    }
}

#[test]
fn mpi_abort_gives_its_code_and_its_line() {
    run(&FOUR, "fail_mpi_abort.c", &[])
        .expect(7)
        .says(&["rank 3 at (1,1,0): MPI_Abort was called with status 7"])
        .says(&["in main at fail_mpi_abort.c:15"]);
}

#[test]
fn an_mpi_error_names_the_programs_line() {
    run(&FOUR, "fail_mpi_error.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "MPI_Send", "MPI_ERR_RANK"])
        .says(&["in wrong at fail_mpi_error.c:28"]);
}

#[test]
fn a_program_that_leaves_early_ends_the_job_with_its_status() {
    run(&FOUR, "fail_exit.c", &[])
        .expect(3)
        .says(&["rank 3", "(1,1,0)", "without MPI_Finalize"]);
}

/// Neither call completes the other. Whichever process reports the mismatch first, both calls are named.
#[test]
fn a_barrier_that_others_leave_out_is_not_taken_for_the_end() {
    for board in ["linux", "cluster"] {
        for arguments in [&[][..], &["reduce"]] {
            let options = ["--on", board, "--quiet", "-n", "6"];
            let ended = harness::run(&options, "fail_skipped.c", arguments).expect(1);
            ended.says(&["MPI_Finalize", "collective"]);
        }
    }
}

#[test]
fn a_timeout_says_where_every_rank_was() {
    let program = program("fail_hang.c");
    let job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "4", "--timeout", "3", &program]);
    let ended = job.end().expect(1);
    ended.says(&["--timeout", "rank 0 at (0,0,0): in MPI_Recv (peer 3, tag 42)"]);
}

#[test]
fn a_process_that_is_killed_from_outside_ends_the_job() {
    let program = program("fail_hang.c");
    let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "4", &program]);
    job.wait_for("waiting");
    let tool = job.child.id() as i32;
    let rank = marked(&job.mark).into_iter().find(|pid| *pid != tool).unwrap();
    kill_process(Pid::from_raw(rank).unwrap(), Signal::KILL).unwrap();
    job.end().expect(1).says(&["its process was killed by signal 9"]);
}

#[test]
fn no_process_outlives_the_tool() {
    let program = program("fail_hang.c");
    let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "4", &program]);
    job.wait_for("waiting");
    assert_eq!(marked(&job.mark).len(), 5);
    job.signal(Signal::KILL);
    // The tool's exit waits for remaining processes, for a moment.
    job.child.wait().unwrap();
    while !marked(&job.mark).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(job.end().status, None);
}

#[test]
fn an_interrupt_says_where_the_job_was() {
    let program = program("fail_hang.c");
    let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "4", &program]);
    job.wait_for("waiting");
    job.signal(Signal::INT);
    job.end().expect(130).says(&["interrupted", "in MPI_Recv"]);
}

#[test]
fn what_is_missing_is_said_before_anything_starts() {
    run(&FOUR, "fail_missing.c", &[])
        .expect(2)
        .says(&["MPI_Nowhere", "does not have yet"]);
}

/// A process started by hand, without the tool, is a job of one rank.
#[test]
fn a_process_by_itself_ends_with_its_message_and_status() {
    run(&["-n", "1", "--under", "env -u MIDPLANE_NODE"], "fail_mpi_error.c", &[])
        .expect(1)
        .says(&["rank 0 at (0,0,0): MPI_Send failed with MPI_ERR_RANK"])
        .says(&["its process ended by itself with status 1"]);
}

/// One frame in a hundred lost and one in a thousand corrupted on each link, and one link cut: no message is lost.
#[test]
fn bad_links_and_a_cut_one_lose_nothing() {
    let cut = ["--on", "linux", "--torus", "2x2x1", "--link-cut", "0,0,0:x+@0s"];
    let (ended, report) = harness::killer_over_bad_links(&cut, 4, ["50", "1024"]);
    ended.says(&["the link x+ of (0,0,0) to x- of (1,0,0) is cut"]);
    assert_eq!(report["cut_links"].as_array().map(Vec::len), Some(1));
}

/// Never a hang.
#[test]
fn a_cut_link_without_another_way_ends_the_job_by_its_name() {
    let options = ["--torus", "2x1x1", "--mesh", "x", "--link-cut", "0,0,0:x+@0s"];
    let ended = super::run(&options, "killer.c", &["5", "64"]).expect(1);
    ended.says(&["the link X", "is dead", "neither does it any other way"]);
}

#[test]
fn faults_that_mean_nothing_are_refused() {
    for (options, words) in [
        (&["--seed", "7"][..], "--seed does nothing"),
        (&["--link-loss", "0.3"], "specify 0 to 0.2"),
        (&["--link-cut", "0,0,0:x+"], "is not a cut"),
        (&["--torus", "2x1x1", "--link-cut", "0,0,0:y+@1s"], "no such link"),
    ] {
        super::run(options, "killer.c", &[]).expect(2).says(&[words]);
    }
}

/// Kills one of the processes with a cluster's nodes, the first of them, or the tool.
#[test]
fn a_cluster_of_several_processes_leaves_none_behind() {
    let program = program("moments.c");
    for whom in ["a worker", "the first", "the tool"] {
        let options = ["run", "-q", "--on", "cluster", "--processors", "3", "-n", "6"];
        let mut job = CommandRun::start(&[&options[..], &[&program, "--", "forever"]].concat());
        job.wait_for("waiting");
        let tool = job.child.id() as i32;
        let parent = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let behind_the_name = stat.rsplit(')').next().unwrap_or_default();
            let parent = behind_the_name.split_whitespace().nth(1);
            parent.and_then(|parent| parent.parse::<i32>().ok())
        };
        let all = marked(&job.mark);
        let child_of = |of: i32| all.iter().copied().find(|pid| parent(*pid) == Some(of));
        let first = child_of(tool).expect("a process of the tool's");
        let worker = child_of(first).expect("a process with nodes");
        assert_eq!(all.len(), 5, "the tool, the first, and three");
        let killed = match whom {
            "a worker" => worker,
            "the first" => first,
            _ => tool,
        };
        kill_process(Pid::from_raw(killed).unwrap(), Signal::KILL).unwrap();
        if killed != worker {
            // The tool's exit waits for remaining processes, and the tool may end before them.
            while marked(&job.mark).iter().any(|pid| *pid != tool) {
                std::thread::yield_now();
            }
        }
        let ended = job.end();
        if killed == tool {
            assert_eq!(ended.status, None, "{whom}: {ended}")
        } else {
            drop(ended.expect(1).says(&["killed by signal 9"]))
        }
    }
}
