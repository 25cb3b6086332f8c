//! Exploration of the match orders of C and Rust programs: races are found and replayed, and correct programs have none.

use midplane_harness::{CompletedRun, TempDirectory, midplane, program};

/// Self-checking programs, and programs that compute something, which are correct in every order. Not among them:
/// conf_exhaust and conf_libc, which take minutes, and conf_posix, which loads libraries.
const CORRECT: [&str; 56] = [
    "app_cannon",
    "app_cg",
    "app_fft",
    "app_halo",
    "app_master",
    "app_pairs",
    "app_pipeline",
    "app_ring",
    "app_search",
    "app_sort",
    "app_table",
    "conf_attr",
    "conf_buffered",
    "conf_cart",
    "conf_codes",
    "conf_coll",
    "conf_comm",
    "conf_edges",
    "conf_env",
    "conf_errors",
    "conf_finalize",
    "conf_freed",
    "conf_graph",
    "conf_grequest",
    "conf_group",
    "conf_idup",
    "conf_info",
    "conf_inter",
    "conf_inter_coll",
    "conf_inter_nbc",
    "conf_kept",
    "conf_mprobe",
    "conf_names",
    "conf_nbc",
    "conf_neighbor",
    "conf_p2p",
    "conf_pack",
    "conf_persistent",
    "conf_probe",
    "conf_profile",
    "conf_queries",
    "conf_reduce",
    "conf_requests",
    "conf_rma_acc",
    "conf_rma_attr",
    "conf_rma_dynamic",
    "conf_rma_epochs",
    "conf_rma_errors",
    "conf_rma_fence",
    "conf_rma_passive",
    "conf_rma_pscw",
    "conf_rma_types",
    "conf_tools",
    "conf_typeattr",
    "conf_typed",
    "conf_types",
];

/// Runs `midplane explore` on four ranks for a program of `tests/programs`.
fn explore(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let path = program(name);
    let mut words = [&["explore", "-n", "4"], options, &[&path]].concat();
    if !arguments.is_empty() {
        words.push("--");
        words.extend(arguments);
    }
    midplane(&words)
}

/// Explores a program with a race; checks the finding and its replay.
fn finds(name: &str, finding: &str, count: &str, replayed: &str) {
    let directory = TempDirectory::new(name);
    let schedule = directory.path("schedule");
    let path = program(&format!("{name}.c"));
    let found = explore(&["--output", &schedule, "--all"], &format!("{name}.c"), &[]).expect(1);
    assert!(found.stdout.starts_with("schedule 2: "), "{found}");
    let found = found.says(&["the schedule is in", replayed]);
    let all = [finding, count, "all match orders are covered"];
    assert!(all.iter().all(|words| found.stdout.contains(words)), "{found}");
    let text = std::fs::read_to_string(&schedule).expect("a schedule");
    assert!(text.lines().any(|line| line.starts_with("rank 0 ")), "{text}");
    for command in [&["run", "-q", "--on", "cluster"][..], &["explore"]] {
        let words = [command, &["-n", "4", "--schedule", &schedule, &path]].concat();
        let replay = midplane(&words);
        assert_ne!(replay.status, Some(0), "{replay}");
        replay.says(&[replayed]);
    }
}

/// Rank 0 expects the message of rank 3 last: 4 of the 6 orders differ.
#[test]
fn races_of_rust_programs_are_found() {
    let directory = TempDirectory::new("race-in-rust");
    let schedule = directory.path("schedule");
    let found = explore(&["--output", &schedule, "--all"], "race.rs", &[]).expect(1);
    found.prints("schedule 2: the job ends with status 1: rank 0 at (0,0,0): panicked at ");
    found.prints("the last message");
    found.prints("4 of 6 schedules fail or differ");
    found.prints("all match orders are covered");
    let path = program("race.rs");
    let replay = [
        "run",
        "-q",
        "--on",
        "cluster",
        "-n",
        "4",
        "--schedule",
        &schedule,
        &path,
    ];
    midplane(&replay).expect(1).says(&["panicked at", "the last message"]);
    let correct = explore(&[], "race.rs", &["state"]).expect(0);
    correct.prints("all schedules agree: 1 schedule");
}

/// The compiler wrapper links executables for the simulator.
#[test]
fn executables_are_explored() {
    let directory = TempDirectory::new("explored");
    let (executable, schedule) = (directory.path("race"), directory.path("race.schedule"));
    midplane(&["cc", "--on", "cluster", &program("race_deadlock.c"), "-o", &executable]).expect(0);
    let options = ["explore", "-n", "4", "--output", &schedule, &executable];
    let ended = midplane(&options).expect(1).says(&["called from"]);
    assert!(ended.stdout.starts_with("schedule 2: deadlock"), "{ended}");
    let options = [
        "run",
        "--on",
        "cluster",
        "-n",
        "4",
        "--schedule",
        &schedule,
        &executable,
    ];
    midplane(&options).expect(1).says(&["the job hangs"]);
}

/// The message of rank 2 is the first one in the second of two orders.
#[test]
fn fortran_programs_are_explored() {
    if !midplane_harness::fortran::has_gfortran() {
        return;
    }
    let directory = TempDirectory::new("explored-fortran");
    let schedule = directory.path("race.schedule");
    let source = program("fortran/race.f90");
    let ended = midplane(&["explore", "-n", "3", "--output", &schedule, &source]).expect(1);
    assert!(ended.stdout.contains("1 of 2 schedules fail"), "{ended}");
    ended.says(&["ERROR STOP rank 2 was first", "race.f90:11"]);
}

#[test]
fn a_specific_receive_after_a_wildcard_deadlocks() {
    let finding = "deadlock: rank 0 waits in MPI_Recv";
    finds("race_deadlock", finding, "2 of 3 schedules fail", "the job hangs");
}

/// The message of rank 3 is the last one in two of six orders.
#[test]
fn an_assertion_that_depends_on_the_order_fails() {
    let (finding, replayed) = ("a program ends by signal 6", "the program called abort()");
    finds("race_assert", finding, "4 of 6 schedules fail", replayed);
}

/// Of nine pairs of the first probe and the first receive, three fail. Each of the others leaves four pairs, of which
/// one fails, and each of the other three leads to one schedule: 3 + 6 * (1 + 3).
#[test]
fn a_receive_takes_another_message_than_the_probe() {
    let finding = "MPI_ERR_TRUNCATE";
    finds("race_probe", finding, "9 of 27 schedules fail", finding);
}

/// The message of rank 1, 2 or 3 completes the first request.
#[test]
fn waitany_completes_another_request_first() {
    let (finding, replayed) = ("status 3", "MPI_Abort was called with status 3");
    finds("race_waitany", finding, "1 of 3 schedules fail", replayed);
}

#[test]
fn the_number_of_orders_is_that_counted_by_hand() {
    let counted = |options: &[&str], words: &str| {
        let ended = explore(options, "any_order.c", &[]).expect(0);
        assert!(ended.stdout.starts_with("all schedules agree: "), "{ended}");
        assert!(ended.stdout.contains(words), "{ended}");
    };
    counted(&[], "6 schedules, 4 decisions; all match orders are covered");
    // The first two schedules begin with the first of three alternatives.
    counted(
        &["--max-runs", "2"],
        "2 schedules, 2 decisions; 33.3 % of the match orders are covered: --max-runs",
    );
}

#[test]
fn an_output_that_depends_on_the_order_is_a_finding() {
    let directory = TempDirectory::new("explore-output");
    let schedule = directory.path("schedule");
    let ended = explore(&["--output", &schedule], "any_order.c", &["last"]).expect(1);
    assert!(
        ended
            .stdout
            .contains("schedule 2: rank 0 prints \"2\", and in the first schedule \"3\""),
        "{ended}"
    );
    assert!(ended.stdout.contains("[0] 6\n[0] 2\n"), "{ended}");
    explore(&["--any-output"], "any_order.c", &["last"]).expect(0);
}

#[test]
fn a_schedule_must_be_one_of_the_program() {
    let directory = TempDirectory::new("explore-schedule");
    let file = |name: &str, text: &str| {
        let path = directory.path(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let path = program("any_order.c");
    let replay = |schedule: &str| midplane(&["run", "-q", "--on", "cluster", "-n", "4", "--schedule", schedule, &path]);
    replay(&file("good", "rank 0 receive 3 of 1 2 3 # the last one\n")).expect(0);
    for foreign in ["rank 1 receive 3 of 1 2 3", "rank 0 probe 3 of 1 2 3"] {
        replay(&file("foreign", foreign))
            .expect(1)
            .says(&["the program does not make the decisions of the schedule"]);
    }
    replay(&file("wrong", "rank 0 receives\n")).expect(2).says(&["line 1"]);
    let missing = directory.path("missing");
    explore(&["--schedule", &missing], "any_order.c", &[])
        .expect(2)
        .says(&[&missing]);
    midplane(&["run", "--schedule", &missing, &path])
        .expect(2)
        .says(&["use --on cluster"]);
    explore(&["--max-runs", "0"], "any_order.c", &[]).expect(2);
}

/// Explores correct programs, each for at most this many runs.
fn find_nothing(programs: &[&str], runs: &str) {
    for name in programs {
        let options = ["--max-runs", runs, "--max-time", "20"];
        let ended = explore(&options, &format!("{name}.c"), &[]).expect(0);
        assert!(ended.stdout.starts_with("all schedules agree: "), "{name}: {ended}");
    }
}

#[test]
fn some_correct_programs_have_no_finding() {
    find_nothing(&["app_master", "conf_probe", "conf_persistent", "conf_typed"], "10");
}

#[test]
#[ignore = "takes minutes: 56 programs"]
fn correct_programs_have_no_finding() {
    find_nothing(&CORRECT, "200");
}
