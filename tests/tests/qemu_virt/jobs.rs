//! Successful jobs: their output and their report.

use crate::harness::*;
use rustix::process::{Pid, WaitIdOptions, waitid};
use std::fs;
use std::process::Stdio;

#[test]
fn killer_on_eight_nodes() {
    let ended = run(&["--torus", "2x2x2"], "killer.c", &["5", "1024"]).expect(0);
    check_killer(&ended, 8, "5", "1024");
    let ended = ended.says(&["restarts", "forwarded"]);
    // One row for each rank in each part of the table, none wider than a terminal.
    let rows = |name: &str| {
        let row = |line: &&str| line.split_whitespace().next() == Some(name);
        ended.stderr.lines().filter(row).count()
    };
    assert!(rows("all") > 0, "{ended}");
    for rank in 0..8 {
        assert_eq!(rows(&rank.to_string()), rows("all"), "{ended}");
    }
    for line in ended.complaint() {
        assert!(line.len() <= 80, "{line}: {ended}");
    }
}

#[test]
fn killer_with_its_defaults_and_without_the_table() {
    let ended = run(&["--torus", "2x2x2", "--quiet"], "killer.c", &[]).expect(0);
    assert!(ended.stdout.starts_with("[0] killer: 8 processes"), "{ended}");
    assert!(!ended.stderr.contains("restarts"), "{ended}");
}

/// Without interrupts each would wait forever for the others' calls.
#[test]
fn collectives_go_on_while_all_nodes_compute() {
    for (name, arguments) in [
        ("beside_coll.c", &[][..]),
        ("beside_coll.c", &["inter"]),
        ("rsmpi_few.rs", &["beside_coll"]),
    ] {
        let ended = run(&["--torus", "2x2x2"], name, arguments).expect(0);
        assert!(ended.stdout.contains("all went on"), "{ended}");
    }
}

#[test]
fn functions_with_the_c_librarys_names_are_the_programs() {
    let ended = run(&["-n", "4"], "own_names.c", &[]).expect(0);
    assert!(ended.stdout.contains(" functions, 0 wrong"), "{ended}");
}

/// Each of these names is in a header of this C library, but not in the corresponding headers of Linux.
#[test]
fn names_that_linux_does_not_declare_are_the_programs() {
    let ended = run(&["-n", "2"], "own_declared.c", &[]).expect(0);
    let line = "-42 7 TORUS torus 2 3 10 4 1e+300 2\n";
    assert!(ended.stdout.ends_with(line), "{ended}");
}

#[test]
fn random_calls_of_all_kinds_do_as_they_should() {
    for (processes, memory, seed) in [("6", "32", "1"), ("9", "4K", "2"), ("12", "1M", "3")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_calls.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

#[test]
fn programs_that_poll_get_their_messages() {
    let ended = run(&["-n", "3", "--mpi-memory", "32"], "polls.c", &[]).expect(0);
    assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
}

#[test]
fn short_messages_at_random_do_as_they_should() {
    for (processes, memory, seed) in [("2", "32", "1"), ("6", "4K", "2"), ("9", "1M", "3")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_short.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

/// Both neighbours send before they receive, which the internal copies of short messages permit.
#[test]
fn short_messages_that_cross_need_no_memory_to_be_complete() {
    let options = ["-n", "4", "--mpi-memory", "32"];
    let ended = run(&options, "crossing.c", &["300"]).expect(0);
    assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
}

#[test]
fn killer_on_sixteen_nodes() {
    let ended = run(&["--torus", "4x2x2"], "killer.c", &["5", "10240"]).expect(0);
    check_killer(&ended, 16, "5", "10240");
}

#[test]
fn killer_on_thirty_two_nodes() {
    let ended = run(&["--torus", "4x4x2"], "killer.c", &["5", "10240"]).expect(0);
    check_killer(&ended, 32, "5", "10240");
    ended.says(&["32 of 32 nodes are up"]);
}

#[test]
fn killer_on_sixty_four_nodes() {
    let ended = run(&["--torus", "4x4x4"], "killer.c", &["3", "1024"]).expect(0);
    check_killer(&ended, 64, "3", "1024");
    ended.says(&["busiest of 64 ranks"]);
}

#[test]
fn killer_on_a_mesh_and_on_shapes_with_extent_one() {
    for (torus, mesh, instances) in [
        ("3x2x1", "xyz", &["1", "6"][..]),
        ("1x1x5", "y", &["1", "5"]),
        ("1x1x1", "", &["1"]),
    ] {
        for instances in instances {
            let options = ["--torus", torus, "--mesh", mesh, "--instances", instances];
            let ended = run(&options, "killer.c", &["5", "1024"]).expect(0);
            assert!(ended.stdout.contains(", 0 errors"), "{ended}");
        }
    }
}

#[test]
fn four_kibibytes_of_mpi_memory_suffice() {
    for (arguments, seen) in [
        (["100", "1024"], &["ncts", "nctsd", "restarts"][..]),
        // Thirty-five records fit into 4 KiB, but no buffer of 100 KiB does.
        (["5", "102400"], &["nctsd"]),
    ] {
        let (ended, report) = run_with_report(&["--mpi-memory", "4K"], "killer.c", &arguments);
        check_killer(&ended.expect(0), 8, arguments[0], arguments[1]);
        for name in seen {
            assert!(total(&report, name) > 0, "no {name}: {report}");
        }
        for rank in report["ranks"].as_array().unwrap() {
            let peak = rank["peak_unexpected_bytes"].as_u64().unwrap();
            assert!(peak <= 4096, "{rank}");
        }
    }
}

#[test]
fn ample_mpi_memory_refuses_nobody() {
    for arguments in [["100", "1024"], ["5", "102400"]] {
        let (ended, report) = run_with_report(&["--mpi-memory", "16M"], "killer.c", &arguments);
        check_killer(&ended.expect(0), 8, arguments[0], arguments[1]);
        assert_eq!(total(&report, "ncts"), 0, "{report}");
        assert!(total(&report, "rts") > 0 && total(&report, "cts") > 0, "{report}");
        assert_eq!(report["status"], 0);
        assert_eq!(report["outcome"], "ended");
    }
}

#[test]
fn memory_that_the_program_frees_is_lent_to_messages_that_wait() {
    let counted = |options: &[&str]| {
        let options = [options, &["--node-memory", "8M"]].concat();
        let (ended, report) = run_with_report(&options, "borrow.c", &[]);
        let ended = ended.expect(0);
        assert!(ended.stdout.contains(" 0 errors"), "{ended}");
        let zero = &report["ranks"][0];
        let value = |name: &str| zero[name].as_u64().unwrap();
        (value("peak_unexpected_bytes"), value("peak_borrowed_bytes"))
    };
    assert_eq!(counted(&["--mpi-memory", "4K"]), (4096, 0));
    // Rank 0 receives only after it has freed its heap: all messages received until then used borrowed memory.
    let (unexpected, borrowed) = counted(&["--mpi-memory", "4K", "--mpi-borrow"]);
    assert!(borrowed > 0 && unexpected > 4096, "{unexpected} {borrowed}");
}

/// Returns the CPU time in seconds of a job whose ranks sleep in MPI_Recv, and rank 0 in sleep(), for `seconds`.
fn processor_seconds_of_idling(instances: &str, seconds: &str) -> f64 {
    let path = program("idle.c");
    let options = ["run", "--timeout", LIMIT, "--quiet", "--instances", instances];
    let job = CommandRun::start(&[&options[..], &[&path, "--", seconds]].concat());
    let pid = Pid::from_child(&job.child);
    waitid(
        rustix::process::WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )
    .unwrap();
    // CPU time of the completed command and its children: utime, stime, cutime, cstime.
    let stat = fs::read_to_string(format!("/proc/{}/stat", job.child.id())).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..].split_whitespace().collect();
    let ticks: u64 = fields[12..16].iter().map(|f| f.parse::<u64>().unwrap()).sum();
    let ended = job.end().expect(0);
    assert!(ended.stdout.contains("[0] idle: 8 processes"), "{ended}");
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn idle_nodes_use_no_processor_time() {
    // A first run, so that nothing is compiled in the measured runs.
    run(&["--quiet"], "idle.c", &["0"]).expect(0);
    for instances in ["1", "8"] {
        let start_and_stop = processor_seconds_of_idling(instances, "0");
        let with_sleep = processor_seconds_of_idling(instances, "5");
        // Eight polling nodes would use 5 s on each processor. Starting requires about 1 s, and varies.
        assert!(
            with_sleep < start_and_stop + 2.0,
            "{with_sleep} s of processor time with 5 s of sleep, {start_and_stop} s without"
        );
    }
}

#[test]
fn a_rust_program_runs_with_the_same_command() {
    run(&["--torus", "2x2x1"], "ring.rs", &[]).expect(0);
}

/// Runs these programs, which a Rust program contains, with one record.
fn run_with_little_memory<'a>(combined: &str, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        let options = ["--torus", "2x2x1", "--instances", "1", "--mpi-memory", "32"];
        run(&options, combined, &[name]).expect(0);
    }
}

#[test]
fn rust_programs_run_with_little_memory() {
    run_with_little_memory("rsmpi_few.rs", FEW_RUST_PROGRAMS);
}

#[test]
#[ignore = "takes a minute: all programs, which the compiler needs most of it for"]
fn all_rust_programs_run_with_little_memory() {
    let names = rust_programs();
    run_with_little_memory("rsmpi.rs", names.iter().map(String::as_str));
}

#[test]
fn standard_input_goes_to_rank_zero_when_it_is_asked_for() {
    use std::io::Write;
    let path = program("input.c");
    let run_with = |options: &[&str], give: &dyn Fn(&mut dyn Write)| {
        let mut all = vec!["run", "-n", "3", "--quiet"];
        all.extend(options);
        all.push(path.as_str());
        let mut job = CommandRun::start_with(&all, Stdio::piped());
        // Closed at the end of this block, unless the program has ended before.
        give(&mut job.child.stdin.take().unwrap());
        job.end()
    };
    let more_than_the_ring_holds = run_with(&["--timeout", LIMIT], &|stdin| {
        for number in 1..=3000 {
            let _ = writeln!(stdin, "{number}");
        }
    });
    let one_each = run_with(&["--timeout", LIMIT, "--instances", "3"], &|stdin| {
        let _ = writeln!(stdin, "1 2 3");
    });
    let six = "[0] input: 3 numbers, 6 in all\n";
    assert!(one_each.expect(0).stdout.ends_with(six));
    let wanted = "[0] 1: 6\n[0] 2: 9\n[0] 3: 12\n[0] input: 3000 numbers, 4501500 in all\n";
    assert_eq!(more_than_the_ring_holds.expect(0).stdout, wanted);
    let none = run_with(&["--timeout", LIMIT], &|_| ());
    assert_eq!(none.expect(0).stdout, "[0] input: 0 numbers, 0 in all\n");
    // Without any input.
    let mut job = CommandRun::start_with(&["run", "-n", "3", "--timeout", "10", &path], Stdio::piped());
    let open = job.child.stdin.take();
    job.end()
        .expect(1)
        .says(&["rank 0 at (0,0,0): in a read of standard input"]);
    drop(open);
}

#[test]
fn nodes_that_compute_forward_for_others() {
    for instances in ["1", "3"] {
        forwards(instances);
    }
}

fn forwards(instances: &str) {
    // In a row of nodes the ends communicate only through the middle. One round is sufficient: if it waited for the
    // middle's program, it would end after the computation.
    let options = ["--torus", "3x1x1", "--mesh", "x", "--instances", instances];
    let through = |rounds| {
        let ended = run(&options, "through.c", &[rounds]).expect(0);
        let through = !ended.stdout.contains("only after");
        assert!(ended.stdout.contains(" 0 errors"), "{ended}");
        (through, ended)
    };
    let (once, ended) = through("1");
    assert!(once, "{ended}");
    // The rate is the same as when the middle polls. Both were measured in one run, but the host may be busy: once in
    // ten runs is sufficient.
    let mut seen = String::new();
    let as_fast = (0..10).any(|_| {
        let (_, ended) = through("100");
        let ratio = ended.stdout.split(": ").find_map(|part| {
            let (ratio, _) = part.split_once(" times as long")?;
            ratio.parse::<f64>().ok()
        });
        seen.push_str(&ended.stdout);
        ratio.expect("a ratio") <= 2.0
    });
    assert!(as_fast, "{seen}");
}
