//! Failing jobs: the error reports, and that no process remains.

use crate::harness::*;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::process::Stdio;

#[test]
fn a_null_pointer_is_named_with_its_place() {
    run(&["--torus", "2x2x1"], "fail_null.c", &[]).expect(1).says(&[
        "rank 3",
        "(1,1,0)",
        "null pointer",
        "fail_null.c:",
    ]);
}

#[test]
fn a_fault_in_a_library_names_the_programs_line_and_the_malloc_that_had_failed() {
    for (how, function, line) in [
        ("memset", "memset", 23),
        ("strlen", "strlen", 25),
        ("sscanf", "sscanf", 27),
        ("sprintf", "sprintf", 29),
    ] {
        run(&["-n", "1"], "fail_malloc.c", &[how]).expect(1).says(&[
            "rank 0 at (0,0,0): null pointer",
            &format!("in {function}"),
            &format!("called from main at fail_malloc.c:{line}"),
            "an allocation of 1099511627776 bytes had failed before in make at fail_malloc.c:12",
        ]);
    }
}

#[test]
fn a_wild_store_into_a_ring_has_no_effect_or_ends_the_job_with_a_message() {
    let mut fatal = 0;
    for seed in ["1", "2", "3"] {
        let options = ["--torus", "2x2x1", "--instances", "1", "--seal"];
        let job = run(&options, "fail_wild.c", &[seed, "200", "4"]);
        assert!(matches!(job.status, Some(0 | 1)), "seed {seed}: {job}");
        if job.status == Some(1) {
            fatal += 1;
            let _ = job.says(&["rank ", "is dead", "overwritten"]);
        }
    }
    assert!(fatal > 0);
}

#[test]
fn a_jump_to_nowhere_names_the_line_of_the_call() {
    for (arguments, words) in [
        (&[][..], "null pointer: jump to 0x0"),
        (&["0x1230"], "null pointer: jump to 0x1230"),
        (&["0x123456780"], "no memory there: jump to 0x123456780"),
        (&["data"], "data cannot be executed: jump to 0x"),
    ] {
        let nodes = run(&["-n", "1"], "fail_jump.c", arguments).expect(1);
        nodes.says(&[words, "in a call from main at fail_jump.c:16"]);
        for on in ["linux", "cluster"] {
            let ended = run(&["-n", "2", "--on", on], "fail_jump.c", arguments).expect(1);
            let place = "in a function by its pointer, called from main at fail_jump.c:16";
            ended.says(&[words, place]);
        }
    }
}

/// A C program's image does not contain the texts and locations of the runtime's panics.
#[test]
fn a_panic_of_the_runtime_is_told_with_its_place_and_the_programs_line() {
    run(&["--torus", "2x2x1"], "fail_internal.c", &[])
        .expect(1)
        .says(&["rank 3 at (1,1,0): panicked\n  in "])
        .says(&["called from provoke at fail_internal.c:10"]);
}

#[test]
fn a_panic_of_a_rust_program_is_told_with_its_place_and_its_words() {
    run(&["--torus", "2x2x1"], "rsmpi_few.rs", &["fail_panic"])
        .expect(1)
        .says(&[
            "rank 3 at (1,1,0): panicked at ",
            "fail_panic.rs:18:9: 2 arguments are not enough",
        ]);
}

#[test]
fn a_stack_overrun_is_named() {
    for arguments in [&[][..], &["100000"]] {
        run(&["--torus", "2x2x1"], "fail_stack.c", arguments)
            .expect(1)
            .says(&["rank 3", "(1,1,0)", "stack"]);
    }
}

#[test]
fn abort_ends_the_job_and_what_was_printed_is_shown() {
    let ended = run(&["--torus", "2x2x1"], "fail_abort.c", &[]).expect(1).says(&[
        "rank 3",
        "(1,1,0)",
        "abort",
        "in main at fail_abort.c:",
    ]);
    assert!(ended.stdout.contains("about to call abort"), "{ended}");
}

#[test]
fn mpi_abort_gives_its_code() {
    run(&["--torus", "2x2x1"], "fail_mpi_abort.c", &[])
        .expect(7)
        .says(&["rank 3", "(1,1,0)", "MPI_Abort", "7"])
        .says(&["in main at fail_mpi_abort.c:15"]);
}

#[test]
fn an_mpi_error_is_fatal_and_names_the_function() {
    run(&["--torus", "2x1x1"], "fail_args.c", &[])
        .expect(1)
        .says(&["rank", "MPI_"]);
}

#[test]
fn an_mpi_error_names_the_programs_line() {
    run(&["--torus", "2x2x1"], "fail_mpi_error.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "MPI_Send", "MPI_ERR_RANK"])
        .says(&["in wrong at fail_mpi_error.c:28"]);
}

#[test]
fn an_error_in_a_collective_says_nothing_of_its_messages() {
    let ended = run(&["--torus", "2x2x1"], "fail_mpi_error.c", &["bcast"])
        .expect(1)
        .says(&["rank 3", "MPI_Bcast", "different counts"])
        .says(&["in main at fail_mpi_error.c:40"]);
    let said = &ended.stderr;
    assert!(!said.contains("tag") && !said.contains("MPI_Probe"), "{ended}");
}

#[test]
fn a_program_that_leaves_early_ends_the_job_with_its_status() {
    run(&["--torus", "2x2x1"], "fail_exit.c", &[])
        .expect(3)
        .says(&["rank 3", "(1,1,0)"]);
}

/// Starts a job of four nodes in separate instances that never ends, and waits until it is up.
fn hanging_in_four_instances() -> CommandRun {
    let mut job = CommandRun::start(&[
        "run",
        "--torus",
        "2x2x1",
        "--instances",
        "4",
        "--timeout",
        LIMIT,
        &program("fail_hang.c"),
    ]);
    job.wait_for("waiting for a message");
    assert_eq!(job.instances().len(), 4);
    job
}

#[test]
fn a_killed_instance_ends_the_job() {
    let job = hanging_in_four_instances();
    let instances = job.instances();
    let victim = Pid::from_raw(instances[2]).unwrap();
    kill_process(victim, Signal::KILL).unwrap();
    job.end().expect(1).says(&["rank 2", "(0,1,0)", "signal 9", "QEMU"]);
}

#[test]
fn a_hanging_job_says_where_each_rank_is() {
    let path = program("fail_hang.c");
    midplane(&["run", "--torus", "2x2x1", "--timeout", "8", &path])
        .expect(1)
        .says(&[
            "8 s",
            "rank 0 at (0,0,0): in MPI_Recv (peer 3, tag 42)",
            "ranks 1, 2: in MPI_Barrier",
            "rank 3 at (1,1,0): computing",
        ]);
}

/// On separate processors, and on a shared one.
#[test]
fn a_rank_that_polls_is_told_with_its_call() {
    let path = program("fail_hang.c");
    for (options, what, expected) in [
        (&["-n", "2"][..], "probe", "polling, with MPI_Iprobe"),
        (&["-n", "4"], "test", "polling, with MPI_Test"),
        (&["-n", "2", "--on", "linux"], "probe", "polling, with MPI_Iprobe"),
        (&["-n", "2", "--on", "cluster"], "test", "polling, with MPI_Test"),
    ] {
        let job = [&["run", "-q", "--timeout", "2"], options, &[&path, "--", what]];
        let ended = midplane(&job.concat()).expect(1);
        ended.says(&["rank 0 at (0,0,0): in MPI_Recv", expected]);
    }
}

#[test]
fn signals_end_everything_and_what_hung_is_told() {
    for (signal, status) in [
        (Signal::INT, 130),
        (Signal::TERM, 143),
        (Signal::QUIT, 131),
        (Signal::HUP, 129),
    ] {
        let job = hanging_in_four_instances();
        job.signal(signal);
        let ended = job.end().expect(status);
        // For each signal, a rank's position is reported once, and no table is printed.
        let lines = ended.complaint();
        assert_eq!(lines[0], "midplane: interrupted by a signal; state of the ranks:");
        // The call at the time of the signal is random.
        let places = ended.stderr.lines().filter(|l| l.starts_with("  rank"));
        assert!(places.count() > 0, "{ended}");
        assert!(!ended.stderr.contains("restarts"), "{ended}");
    }
}

#[test]
fn a_full_device_on_stdout_is_an_error() {
    let killer = program("killer.c");
    for arguments in [
        &["run", "--torus", "2x1x1", "--timeout", LIMIT, &killer][..],
        &["help"],
        &["memory"],
        &["sim", "--torus", "2x2x2", "--ticks", "10"],
        &["soak", "--jobs", "1"],
        &["bench", "flood", "--messages", "1", "--senders", "1"],
    ] {
        let full = File::create("/dev/full").unwrap();
        let ended = CommandRun::start_between(arguments, Stdio::null(), full.into()).end();
        ended
            .expect(1)
            .says(&["midplane: cannot write to stdout: No space left on device"]);
    }
}

#[test]
fn a_status_that_a_process_cannot_have_does_not_become_success() {
    for (status, seen) in [("0", 0), ("7", 7), ("256", 1), ("512", 1), ("259", 3)] {
        run(&["--torus", "2x1x1", "--quiet"], "fail_status.c", &[status]).expect(seen);
    }
}

#[test]
fn nothing_survives_a_killed_command() {
    let path = program("fail_hang.c");
    let mut job = CommandRun::start(&["run", "--timeout", LIMIT, &path]);
    job.wait_for("waiting for a message");
    let mark = job.mark.clone();
    job.signal(Signal::KILL);
    let status = job.child.wait().unwrap();
    assert_eq!(status.code(), None);
    // The system needs a moment to kill the instances.
    for _ in 0..1000 {
        if marked(&mark).is_empty() {
            return;
        }
        std::thread::yield_now();
        let _ = rustix::thread::nanosleep(&rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 10_000_000,
        });
    }
    panic!("left behind: {:?}", marked(&mark));
}

#[test]
fn sends_that_use_the_memory_up_are_an_error_that_a_program_can_handle() {
    let options = ["--torus", "2x1x1", "--node-memory", "8M"];
    run(&options, "exhaust.c", &[])
        .expect(1)
        .says(&["rank 0", "MPI_Isend", "MPI_ERR_NO_MEM", "--node-memory"]);
    let ended = run(&options, "exhaust.c", &["return"]).expect(0);
    assert!(ended.stdout.contains("MPI_ERR_NO_MEM"), "{ended}");
}

#[test]
fn every_kind_of_bad_argument_is_named() {
    for (mistake, words) in [
        ("rank", ["MPI_Send", "MPI_ERR_RANK", "ranks 0 to 1"]),
        ("tag", ["MPI_Send", "MPI_ERR_TAG", "-5"]),
        ("count", ["MPI_Recv", "MPI_ERR_COUNT", "-1"]),
        ("datatype", ["MPI_Send", "MPI_ERR_TYPE", "MPI_DATATYPE_NULL"]),
        ("comm", ["MPI_Send", "MPI_ERR_COMM", "MPI_COMM_NULL"]),
        ("op", ["MPI_Allreduce", "MPI_ERR_OP", "MPI_OP_NULL"]),
        ("root", ["MPI_Bcast", "MPI_ERR_ROOT", "-1"]),
        ("truncate", ["MPI_Recv", "MPI_ERR_TRUNCATE", "4 bytes"]),
        ("request", ["MPI_Wait", "MPI_ERR_REQUEST", "0x5a5a5a5a"]),
    ] {
        run(&["--torus", "2x1x1"], "fail_args.c", &[mistake])
            .expect(1)
            .says(&["rank 1", "(1,0,0)"])
            .says(&words);
    }
}

/// Ring links within and between instances, and virtio: one frame in a hundred lost, one in a thousand corrupted.
#[test]
fn bad_links_lose_nothing() {
    for (instances, memory) in [("1", "32"), ("2", "4K"), ("8", "32")] {
        let nodes = ["--instances", instances, "--mpi-memory", memory];
        killer_over_bad_links(&nodes, 8, ["50", "1024"]);
    }
}

#[test]
fn a_cut_link_is_named_and_what_it_carried_goes_another_way() {
    let cut = [
        "--torus",
        "2x2x1",
        "--link-cut",
        "0,0,0:x+@0s",
        "--link-cut",
        "0,1,0:y+@0s",
    ];
    let (ended, report) = run_with_report(&cut, "app_halo.c", &[]);
    let ended = ended.expect(0);
    assert!(ended.stdout.contains(" 0 failed"), "{ended}");
    ended.says(&["the link x+ of (0,0,0) to x- of (1,0,0) is cut"]);
    assert!(report["cut_links"].as_array().is_some_and(|links| !links.is_empty()));
}
