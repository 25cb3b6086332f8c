//! C programs whose ranks are coroutines of one process (`--on cluster`): their output is that of separate processes,
//! and errors are reported with the same messages.

use midplane_harness::{self as harness, CompletedRun, program};
use serde_json::Value;

/// Runs `midplane run --on cluster` for a program of `tests/programs`.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let options = [&["--on", "cluster", "--quiet"], options].concat();
    harness::run(&options, name, arguments)
}

/// Returns the virtual time in seconds that `pi.c` requires for this number of intervals.
fn virtual_seconds(costs: &[&str], intervals: &str) -> f64 {
    let costs: Vec<String> = costs.iter().map(|cost| format!("--cost={cost}")).collect();
    let mut options = vec!["--on", "cluster", "-n", "2"];
    options.extend(costs.iter().map(String::as_str));
    let (ended, report) = harness::run_with_report(&options, "pi.c", &[intervals]);
    ended.expect(0);
    report["virtual_seconds"].as_f64().expect("a number")
}

#[test]
fn what_things_cost_can_be_said() {
    let usual = virtual_seconds(&[], "1000");
    assert_eq!(virtual_seconds(&["hop_ns=100"], "1000"), usual);
    // Each of two or more messages waits for it.
    let slow = virtual_seconds(&["hop_ns=1", "hop_ns=1000000"], "1000");
    assert!(slow > usual + 1e-3, "{slow} and {usual}");
    // Computation costs no time unless configured: 3,000,000 intervals require over a nanosecond each on any machine.
    assert_eq!(virtual_seconds(&[], "3000000"), usual);
    let computing = virtual_seconds(&["compute_percent=1000"], "3000000");
    assert!(computing > usual + 1e-3, "{computing} and {usual}");
    for (cost, words) in [
        (
            "hop=3",
            "there is no cost hop; the names are link_ns_per_byte, hop_ns, ",
        ),
        ("hop_ns=0.5", "hop_ns is a whole number"),
        ("hop_ns=1e300", "a cost is a number from 0 to 1000000000"),
    ] {
        run(&["--cost", cost], "pi.c", &[]).expect(2).says(&[words]);
    }
    let options = ["--on", "linux", "--cost", "hop_ns=5"];
    harness::run(&options, "pi.c", &[])
        .expect(2)
        .says(&["--cost is for the simulator"]);
}

/// The C binding's tables and the variables of program and C library are per rank, with memory for one record.
#[test]
fn programs_that_check_themselves_find_nothing_wrong() {
    for (name, torus, processes) in [
        ("conf_rma_passive", "3x2x1", 6),
        ("conf_tools", "3x2x1", 6),
        ("conf_kept", "3x2x1", 6),
        ("conf_freed", "3x2x1", 6),
        ("conf_queries", "3x2x1", 6),
        ("conf_finalize", "3x2x1", 6),
        // A full buffer is waited for in virtual time.
        ("conf_buffered", "3x2x1", 6),
        // On a line and across, a packet may wait behind another one that uses a different link at the same time.
        ("conf_rma_fence", "5x2x1", 10),
    ] {
        let options = ["--torus", torus, "--mpi-memory", "32"];
        let ended = run(&options, &format!("{name}.c"), &[]).expect(0);
        let last = ended.stdout.lines().last().unwrap_or_default();
        let begin = format!("[0] {name}: {processes} processes, ");
        assert!(
            last.starts_with(&begin) && last.ends_with(" checks, 0 failed"),
            "{ended}"
        );
    }
}

#[test]
fn the_output_is_that_of_processes() {
    for (name, arguments) in [
        ("jacobi.c", &["-n", "64", "-i", "40"][..]),
        ("private.c", &["5"]),
        ("leftover.c", &[]),
        ("crossing.c", &["500"]),
    ] {
        let options = ["-n", "8", "--mpi-memory", "32"];
        let here = run(&options, name, arguments).expect(0).stdout;
        let processes = super::run(&options, name, arguments).expect(0).stdout;
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(Into::into).collect();
            lines.sort();
            lines
        };
        assert!(here.starts_with('['), "{here}");
        assert_eq!(sorted(&here), sorted(&processes), "{name}");
        // The same command produces the same output, line by line.
        assert_eq!(here, run(&options, name, arguments).expect(0).stdout);
    }
}

/// `midplane bench smpi` runs these in addition to killer; the machine's extents are one, two and three nodes.
#[test]
fn steps_of_parallel_programs_find_no_error() {
    for (what, arguments) in [("agree", &["agree", "3"][..]), ("halo", &["halo", "2", "300"])] {
        let options = ["--torus", "3x2x1", "--mpi-memory", "32"];
        let ended = run(&options, "steps.c", arguments).expect(0);
        let begin = format!("[0] steps: {what}, 6 processes, ");
        let is_right = ended.stdout.starts_with(&begin) && ended.stdout.ends_with(", 0 errors\n");
        assert!(is_right, "{ended}");
    }
}

/// Returns the maximum duration of each collective's MPI_Wait, in nanoseconds of virtual time, after all processes have
/// slept for three milliseconds.
fn waits(interrupts: &str, among: &[&str]) -> Vec<(String, u64)> {
    let options = ["--torus", "3x2x2", "--interrupts", interrupts];
    let ended = run(&options, "beside_coll.c", &[among, &["3000"]].concat()).expect(0);
    let wait = |line: &str| {
        let (name, took) = line.strip_prefix("[0] ")?.split_once(": ")?;
        Some((name.to_owned(), took.parse().ok()?))
    };
    ended.stdout.lines().filter_map(wait).collect()
}

/// In the cost model a call needs 700 ns each time it enters the device, and so does a clock query. A wait checks its
/// request, completes the remaining work, frees all reserved resources, and checks again.
#[test]
fn collectives_go_on_while_all_processes_compute() {
    const CALL_NS: u64 = 700;
    for among in [&[][..], &["inter"]] {
        let (hidden, open) = (waits("100", among), waits("0", among));
        assert_eq!((hidden.len(), open.len()), (21, 21), "{hidden:?}");
        for ((name, took), (_, without)) in hidden.iter().zip(&open) {
            let is_hidden = match &name[..] {
                // Calls propose a context twice or more often.
                name if name.starts_with("idup") => *took + 10 * CALL_NS < *without,
                // One message only.
                "scatter 1" | "bcast 1" => *took <= 7 * CALL_NS && *without > 7 * CALL_NS,
                _ => *took <= 7 * CALL_NS && *without > 14 * CALL_NS,
            };
            assert!(is_hidden, "{among:?}, {name}: {took}, {without} without");
        }
    }
}

/// Large data is mapped, small data is copied.
#[test]
fn much_data_is_each_ranks_own_too() {
    let options = ["-n", "8", "--mpi-memory", "32", "-D", "BYTES=3000000"];
    let ended = run(&options, "private.c", &["5"]).expect(0);
    assert_eq!(ended.stdout.lines().count(), 8, "{ended}");
}

#[test]
fn what_fails_is_named_with_its_rank_and_its_line() {
    const FOUR: [&str; 2] = ["--torus", "2x2x1"];
    run(&FOUR, "fail_null.c", &[]).expect(1).says(&[
        "rank 3 at (1,1,0): null pointer: store to 0x0",
        "in main at fail_null.c:16",
    ]);
    run(&FOUR, "fail_stack.c", &[])
        .expect(1)
        .says(&["rank 3 at (1,1,0): stack overflow", "at fail_stack.c:"]);
    run(&FOUR, "fail_mpi_error.c", &[])
        .expect(1)
        .says(&["MPI_ERR_RANK", "in wrong at fail_mpi_error.c:28"]);
    run(&FOUR, "fail_exit.c", &[])
        .expect(3)
        .says(&["rank 3 at (1,1,0)", "without MPI_Finalize"]);
    // A loop without a call is interrupted where the cluster continues.
    let hang = program("fail_hang.c");
    let options = ["run", "-q", "--on", "cluster", "-n", "4", "--timeout", "2", &hang];
    let ended = harness::CommandRun::start(&options).end().expect(1);
    ended.says(&["rank 0 at (0,0,0): in MPI_Recv (peer 3, tag 42)"]);
}

#[test]
fn processes_that_all_wait_are_told_at_once() {
    let ended = run(&["-n", "4", "-D", "WAITS"], "private.c", &[]).expect(1);
    ended.says(&["the job hangs", "in MPI_Recv", "rank 0"]);
}

/// Options for the program's files only: early headers, and macros with names of the runtime.
#[test]
fn the_programs_options_are_not_the_runtimes() {
    let options = ["-n", "2", "--cflags=-std=c99 -include stdio.h -Dput=-"];
    run(&options, "pi.c", &[]).expect(0);
}

#[test]
fn what_a_cluster_cannot_run_is_refused() {
    for (options, name, words) in [
        (&["--cflags=-fopenmp"][..], "pi.c", "-fopenmp creates threads"),
        (&["--mpi-borrow"], "pi.c", "--mpi-borrow does nothing in the simulator"),
        (
            &["--link-loss", "0.1"],
            "pi.c",
            "--link-loss does nothing in the simulator",
        ),
        (&["--files", "."], "pi.c", "--files does nothing in the simulator"),
        (
            &["--board", "stm32f405"],
            "pi.c",
            "--board does nothing in the simulator",
        ),
    ] {
        run(options, name, &[]).expect(2).says(&[words]);
    }
}

/// Each rank of a Rust program has its own static and thread-local variables, arguments and output.
#[test]
fn ranks_of_rust_programs_have_their_own_variables() {
    let options = ["-n", "4"];
    let ended = run(&options, "race.rs", &["state", "more"]).expect(0);
    for rank in 0..4 {
        let round = format!("[{rank}] round 3 of rank {rank}\n");
        let last = format!("[{rank}] 3 arguments, without a newline");
        ended.prints(&round);
        ended.prints(&last);
    }
    let several = [&options[..], &["--processors", "2"]].concat();
    assert_eq!(
        run(&several, "race.rs", &["state", "more"]).expect(0).stdout,
        ended.stdout
    );
    run(&options, "race.rs", &["thread"])
        .expect(1)
        .says(&["the program calls pthread_create", "in main"]);
}

/// Tests `midplane cluster`: a table of the sizes, and the same as CSV.
#[test]
fn sizes_are_swept_and_written() {
    let file = std::env::temp_dir().join(format!("midplane-sweep-{}.csv", std::process::id()));
    let path = file.display().to_string();
    let killer = program("killer.c");
    let words = ["cluster", "-n", "8,16", "--mpi-memory", "4K", "--csv", &path];
    let words = [&words[..], &[&killer, "--", "1", "1024"]].concat();
    let ended = harness::CommandRun::start(&words).end().expect(0);
    let csv = std::fs::read_to_string(&file).expect("a file of results");
    std::fs::remove_file(&file).expect("it is there");
    assert!(ended.stdout.contains("16 processes, 1 messages"), "{ended}");
    let column = |at: usize| csv.lines().map(move |line| line.split(',').nth(at).unwrap_or(""));
    assert_eq!(column(0).collect::<Vec<_>>(), ["program", "killer", "killer"]);
    assert_eq!(column(1).collect::<Vec<_>>(), ["nodes", "8", "16"]);
    assert_eq!(column(7).collect::<Vec<_>>(), ["messages", "7", "15"]);
}

#[test]
fn functions_with_the_c_librarys_names_are_the_programs() {
    let ended = run(&["-n", "4"], "own_names.c", &[]).expect(0);
    assert!(ended.stdout.ends_with(" functions, 0 wrong\n"), "{ended}");
}

#[test]
fn random_calls_of_all_kinds_do_as_they_should() {
    for (processes, memory, seed) in [
        ("2", "32", "7"),
        ("3", "96", "8"),
        ("8", "32", "9"),
        ("17", "64", "10"),
        ("27", "32", "11"),
        ("64", "4K", "12"),
    ] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_calls.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

#[test]
fn short_messages_at_random_do_as_they_should() {
    for (processes, memory, seed) in [("1", "32", "7"), ("3", "96", "8"), ("8", "32", "9"), ("27", "4K", "10")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_short.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

/// Polling programs: loops that post and cancel receives, probes, and all other ways to poll for a message, with memory
/// for one record, for two, and for a few.
#[test]
fn programs_that_poll_get_their_messages() {
    for (processes, memory) in [("2", "32"), ("3", "32"), ("3", "64"), ("12", "32"), ("12", "1K")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "polls.c", &[]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
    // Messages that are sent after their acknowledgement.
    let options = ["-n", "5", "--mpi-memory", "32"];
    let ended = run(&options, "polls.c", &["-1", "4", "3000"]).expect(0);
    assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
}

/// Returns a job's output and report, without the host's time and the processes' addresses.
fn seen(options: &[&str], name: &str, arguments: &[&str]) -> (CompletedRun, Value) {
    let options = [&["--on", "cluster", "--torus", "4x2x2"], options].concat();
    let (ended, mut report) = harness::run_with_report(&options, name, arguments);
    report["seconds"] = Value::Null;
    if arguments == ["fault"] {
        report["message"] = Value::Null;
    }
    (ended, report)
}

/// The nodes' results, counters and output, with their times, are bit by bit the same for any partitioning into
/// processes: entire planes or others. This includes a program that aborts the job while others are active.
#[test]
fn several_processors_change_nothing_but_the_hosts_time() {
    for (name, arguments) in [
        ("killer.c", &["2", "1024"][..]),
        ("app_halo.c", &[]),
        ("app_sort.c", &[]),
        ("conf_group.c", &[]),
        ("conf_kept.c", &[]),
        ("moments.c", &[]),
        ("moments.c", &["abort"]),
        ("moments.c", &["fault"]),
        ("moments.c", &["mpi_abort"]),
        ("moments.c", &["error"]),
        ("moments.c", &["exit"]),
        ("moments.c", &["wait"]),
    ] {
        let memory = ["--mpi-memory", "1K"];
        let (one, report) = seen(&memory, name, arguments);
        for processors in ["2", "3"] {
            let options = [&memory[..], &["--processors", processors]].concat();
            let (several, its_report) = seen(&options, name, arguments);
            let what = format!("{name} {arguments:?} on {processors} processors: {several}");
            assert_eq!(several.stdout, one.stdout, "{what}");
            assert_eq!(several.status, one.status, "{what}");
            assert_eq!(its_report, report, "{what}");
        }
    }
}

/// All processes know the members of a grid or a graph: to create its communicator they only agree on a context, as for
/// a duplicate. They distribute their choices in a few more messages than there are processes, not one per pair.
#[test]
fn making_a_communicator_takes_few_messages() {
    let messages = |way| {
        let options = ["--on", "cluster", "--quiet", "--torus", "4x4x4"];
        let (ended, report) = harness::run_with_report(&options, "makes.c", &[way]);
        ended.expect(0);
        harness::total(&report, "messages")
    };
    let duplicate = messages("duplicate");
    // One of its two allreduces covers all processes, and uses the barrier's packets.
    assert_eq!(duplicate, 6 * 64);
    for way in ["grid", "placed", "smaller", "graph"] {
        assert_eq!(messages(way), duplicate, "{way}");
    }
    // Six rounds; in some of them a part is sent in two pieces.
    assert_eq!(messages("split"), duplicate + 441);
    // On the grid of all, whose processes form no box in rank order, they use a tree.
    assert_eq!(messages("planes"), duplicate + 252);
}

/// Constructors, handlers and destructors run per rank, in the order of a process; a destructor may finalize MPI.
#[test]
fn each_rank_runs_its_constructors_and_destructors() {
    let lines = |rank: u32| {
        let main = 11 + 100 * rank;
        let memory = char::from(b'a' + rank as u8);
        [
            "before 10".to_owned(),
            "begin word 1".to_owned(),
            format!("main {main} {memory}"),
            format!("handler {}", main + 1),
            format!("end {} {memory}", main + 1),
            format!("after {}", main + 2),
        ]
    };
    for options in [
        &[][..],
        &["-D", "EXIT"],
        &["-D", "LATE"],
        &["--processors", "2"],
        &["--processors", "3", "-D", "LATE"],
    ] {
        let options = [&["-n", "4", "--mpi-memory", "32"], options].concat();
        let ended = run(&options, "constructors.c", &["word"]).expect(0);
        for rank in 0..4 {
            let begin = format!("[{rank}] ");
            let printed = ended.stdout.lines();
            let printed = printed.filter_map(|line| line.strip_prefix(&begin));
            assert!(printed.eq(lines(rank)), "{options:?}: {ended}");
        }
        assert_eq!(ended.stdout.lines().count(), 4 * 6, "{ended}");
    }
}

/// State other than variables is per rank, too, whether the ranks share one process or several, and regardless of the
/// amount of other data.
#[test]
fn state_of_a_process_is_each_ranks_own() {
    let dir = harness::TempDirectory::new("own-state");
    let own = |which: usize| {
        let path = dir.path(&which.to_string());
        std::fs::create_dir(&path).expect("a directory");
        path
    };
    for (at, options) in [
        &["-n", "5"][..],
        &["-n", "7", "--processors", "2"],
        &["-n", "4", "--processors", "3"],
    ]
    .into_iter()
    .enumerate()
    {
        let options = [options, &["--mpi-memory", "32", "-l", "m"]].concat();
        let ended = run(&options, "own_state.c", &[&own(at)]).expect(0);
        assert!(ended.stdout.ends_with(", 0 failed\n"), "{ended}");
    }
    let options = ["--quiet", "--on", "linux", "-n", "5", "-l", "m"];
    let ended = harness::run(&options, "own_state.c", &[&own(9)]).expect(0);
    assert!(ended.stdout.ends_with(", 0 failed\n"), "{ended}");
}

#[test]
fn a_call_that_reaches_beyond_its_rank_is_named() {
    for (function, why) in [
        ("pthread_create", "one thread of one process"),
        ("fork", "one thread of one process"),
        ("execv", "it would change the process of all ranks"),
        ("setsid", "it would change the process of all ranks"),
        ("setgid", "it would change the process of all ranks"),
        ("dlopen", "variables of a library that is loaded later"),
        ("timer_create", "a rank's time is virtual"),
        ("setitimer", "a rank's time is virtual"),
        ("pause", "no signal comes to a rank in a cluster"),
        ("sigsuspend", "no signal comes to a rank in a cluster"),
        ("kill", "cannot signal others"),
        ("getpwent", "one place in that list for all ranks"),
        ("mmap", "all ranks in a cluster have the same addresses"),
    ] {
        let ended = run(&["-n", "3"], "beyond.c", &[function]).expect(1);
        let begin = format!("rank 1 at (1,0,0): the program calls {function}");
        ended.says(&[&begin, why, "run it with --on linux", "in main at beyond.c:"]);
    }
}

/// Variables of a static library are per rank; a shared library is rejected, for `-l` and for other arguments.
#[test]
fn libraries_are_static() {
    let dir = harness::TempDirectory::new("libraries");
    let place = dir.path("");
    std::fs::write(dir.path("kept.c"), "int kept = 7;\n").expect("a source");
    let run_in = |program: &str, words: &[&str]| {
        let mut command = std::process::Command::new(program);
        let status = command.args(words).current_dir(&dir.0).status();
        assert!(status.is_ok_and(|status| status.success()), "{program}");
    };
    run_in("cc", &["-c", "-fPIC", "kept.c"]);
    run_in("cc", &["-shared", "-o", "libkept.so", "kept.o"]);
    let search = format!("--cflags=-L{place}");
    let options: [&str; 7] = ["-n", "2", "-D", "KEPT", &search, "-l", "kept"];
    run(&options, "constructors.c", &[])
        .expect(2)
        .says(&["-l requires a static library (.a)"]);
    let other = format!("--cflags=-L{place} -Wl,--no-as-needed -lkept");
    run(&["-n", "2", "-D", "KEPT", &other], "constructors.c", &[])
        .expect(2)
        .says(&["the program needs libkept.so", "the static library (.a)"]);
    run_in("ar", &["rc", "libkept.a", "kept.o"]);
    let ended = run(&options, "constructors.c", &[]).expect(0);
    assert!(
        ended.stdout.contains("kept 7\n") && ended.stdout.contains("kept 8\n"),
        "{ended}"
    );
}

/// C++: static objects, exceptions caught while other ranks throw theirs, thread-local objects, streams.
#[test]
#[cfg_attr(not(cpp), ignore = "needs a C++ compiler: c++")]
fn programs_in_cpp_have_objects_of_their_own() {
    for processors in ["1", "2"] {
        let options = ["-n", "3", "--processors", processors, "--mpi-memory", "32"];
        let ended = run(&options, "own_objects.cpp", &[]).expect(0);
        for rank in 0..3 {
            let begin = format!("[{rank}] ");
            let printed = ended.stdout.lines();
            let printed = printed.filter_map(|line| line.strip_prefix(&begin));
            let caught = format!("caught {rank} of 3, within 1, then 0");
            let own = format!("local {rank} static {rank} number {rank}.5");
            let expected: [&str; 5] = ["begin", &caught, &own, "end of local", "end"];
            assert!(printed.eq(expected), "{ended}");
        }
    }
    run(&["-n", "2"], "own_objects.cpp", &["throw"])
        .expect(1)
        .says(&["what():  enough", "the program called abort()"]);
}
