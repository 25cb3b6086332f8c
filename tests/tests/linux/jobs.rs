//! Successful jobs: input, report, options, C++.

use crate::run;
use midplane_harness::{self as harness, CommandRun, check_killer, program, total};
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Stdio;

#[test]
fn killer_says_the_same_with_every_memory() {
    for options in [
        &["--mpi-memory", "64M", "--node-memory", "128M"][..],
        &["--mpi-memory", "4K"],
        &["--mpi-memory", "32"],
        &["--mpi-memory", "4K", "--mpi-borrow", "--eager", "0"],
        &["--mesh", "xyz"],
    ] {
        let options = [&["--torus", "2x2x2"], options].concat();
        let ended = run(&options, "killer.c", &["20", "3000"]).expect(0);
        check_killer(&ended, 8, "20", "3000");
    }
}

/// A process contains all matching engines, and selects the requested one at its start: a Rust program, a C program,
/// and one linked earlier.
#[test]
fn a_process_has_the_engine_that_is_asked_for() {
    let linked = std::env::temp_dir().join(format!("midplane-engine-{}", std::process::id()));
    let source = program("killer.c");
    let out = linked.to_str().unwrap();
    harness::midplane(&["cc", "--on", "linux", "-o", out, &source]).expect(0);
    for (on, name, arguments, engine) in [
        ("linux", "rsmpi_few.rs", &["broadcast"][..], "array"),
        ("linux", "killer.c", &[], "unified"),
        ("cluster", "killer.c", &[], "col"),
        ("linux", out, &[], "fourd"),
        ("linux", out, &[], "default"),
    ] {
        let options = ["--on", on, "-n", "4", "--matching", engine];
        let (ended, report) = harness::run_with_report(&options, name, arguments);
        ended.expect(0);
        assert_eq!(report["matching"], engine, "{name}");
    }
    fs::remove_file(&linked).unwrap();
}

/// Runs these programs, which a Rust program contains, and one of them that panics.
fn run_in_rust<'a>(combined: &str, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        run(&["--torus", "3x2x1"], combined, &[name]).expect(0);
    }
    run(&["-n", "2"], combined, &["fail_panic"])
        .expect(1)
        .says(&["rank 1", "fail_panic.rs:"]);
}

/// One program of each kind. All of them run in the cluster of `rust_programs.rs`.
#[test]
fn programs_in_rust_run_with_the_same_command() {
    run_in_rust("rsmpi_few.rs", harness::FEW_RUST_PROGRAMS);
}

#[test]
#[ignore = "takes a minute: all programs, which the compiler needs most of it for"]
fn all_programs_in_rust_run_with_the_same_command() {
    let names = harness::rust_programs();
    run_in_rust("rsmpi.rs", names.iter().map(String::as_str));
}

/// Early writes to a collective's arrays are harmless.
#[test]
fn arrays_are_the_programs_again_when_a_collective_has_started() {
    for options in [["-n", "8", "--mpi-memory", "32"], ["-n", "5", "--mpi-memory", "1M"]] {
        let ended = run(&options, "early_arrays.c", &[]).expect(0);
        assert!(ended.stdout.contains("early_arrays: right"), "{ended}");
    }
}

/// An image is rebuilt when one of its inputs has changed, and only then.
#[test]
fn what_has_not_changed_is_not_made_again() {
    let name = format!("midplane_test_kept_{}", std::process::id());
    let dir = harness::command().with_file_name(&name);
    fs::create_dir_all(&dir).unwrap();
    let source = dir.join(&name).with_extension("c");
    let text = r#"
        #include <mpi.h>
        #include <stdio.h>
        #include "value.h"
        int main(void) {
            int unused;
            MPI_Init(NULL, NULL);
            printf("value %d\n", VALUE);
            return MPI_Finalize();
        }"#;
    fs::write(&source, text).unwrap();
    let header = |value: i32| {
        let text = format!("#define VALUE {value}\n");
        fs::write(dir.join("value.h"), text).unwrap();
    };
    let path = source.to_str().unwrap();
    let says = |options: &[&str], value: i32| {
        let words = [&["run", "--on", "linux", "-n", "1"], options, &[path]].concat();
        let ended = harness::midplane(&words).expect(0);
        assert_eq!(ended.stdout, format!("value {value}\n"), "{ended}");
        ended.stderr
    };
    header(1);
    says(&[], 1);
    let dirs = || {
        let programs = harness::command().ancestors().nth(2).unwrap();
        let all = fs::read_dir(programs.join("midplane/programs")).unwrap();
        let begin = format!("{name}-");
        let is_ours = |path: &PathBuf| path.to_str().unwrap().contains(&begin);
        let paths = all.map(|entry| entry.unwrap().path());
        paths.filter(is_ours).collect::<Vec<PathBuf>>()
    };
    let made = || {
        let images = dirs().into_iter().map(|dir| dir.join(&name));
        images
            .map(|image| fs::metadata(image).unwrap().ino())
            .collect::<Vec<u64>>()
    };
    let first = made();
    says(&[], 1);
    assert_eq!(made(), first);
    header(2);
    says(&[], 2);
    assert_ne!(made(), first);
    // Compiler warnings are printed each time, without another build.
    let warns = || {
        let said = says(&["--cflags=-Wall"], 2);
        assert!(said.contains("unused variable"), "{said}");
        made()
    };
    assert_eq!(warns(), warns());
    for dir in dirs().into_iter().chain([dir]) {
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_process_that_computes_lets_others_go_on() {
    for (name, arguments) in [
        ("beside.c", &[][..]),
        ("beside_coll.c", &[]),
        ("beside_coll.c", &["inter"]),
        ("rsmpi_few.rs", &["beside_coll"]),
    ] {
        let ended = run(&["-n", "4"], name, arguments).expect(0);
        assert!(ended.stdout.contains("all went on"), "{ended}");
    }
}

#[test]
fn what_a_send_has_left_to_its_process_leaves_when_it_calls_no_more() {
    let ended = run(&["-n", "2"], "tail.c", &[]).expect(0);
    assert!(ended.stdout.contains("all received"), "{ended}");
}

#[test]
fn one_process_needs_no_links() {
    let ended = run(&["-n", "1"], "pi.c", &["1000"]).expect(0);
    assert!(ended.stdout.starts_with("[0] pi is about 3.14"), "{ended}");
}

#[test]
fn what_a_call_has_received_is_answered_when_it_ends() {
    let name = format!("midplane-test-answers-{}", std::process::id());
    let prefix = harness::command().with_file_name(name);
    let files = [0, 1, 2].map(|rank| prefix.with_extension(rank.to_string()));
    for file in &files {
        let _ = fs::remove_file(file);
    }
    let path = prefix.to_str().unwrap();
    let ended = run(&["-n", "3"], "answers.c", &[path]);
    for file in &files {
        let _ = fs::remove_file(file);
    }
    let ended = ended.expect(0);
    assert!(ended.stdout.contains("all received"), "{ended}");
}

#[test]
fn the_report_counts_what_the_nodes_did() {
    let options = ["--on", "linux", "-n", "8", "--mpi-memory", "4K"];
    let (ended, report) = harness::run_with_report(&options, "killer.c", &["20", "1024"]);
    ended.expect(0);
    assert_eq!(report["outcome"], "ended");
    assert_eq!(report["ranks"].as_array().unwrap().len(), 8);
    assert_eq!(total(&report, "messages"), 140, "{report}");
    assert_eq!(total(&report, "link_defects"), 0);
}

#[test]
fn variables_of_the_environment_reach_every_process() {
    let options = ["-n", "2", "--env", "A=x y=%", "-x", "B=z", "-x", "PATH"];
    let ended = run(&options, "environment.c", &["A", "B", "PATH"]).expect(0);
    let path = std::env::var("PATH").unwrap();
    let lines = format!("[1] A is x y=%\n[1] B is z\n[1] PATH is {path}\n");
    assert!(ended.stdout.ends_with(&lines), "{ended}");
}

#[test]
fn rank_0_reads_standard_input() {
    let mut file = tempfile();
    file.write_all(b"1 2 3\n40").unwrap();
    file.rewind().unwrap();
    let program = program("input.c");
    let arguments = ["run", "-q", "--on", "linux", "-n", "2", &program];
    let ended = CommandRun::start_with(&arguments, Stdio::from(file)).end().expect(0);
    assert!(ended.stdout.contains("input: 4 numbers, 46 in all"), "{ended}");
}

/// Creates a temporary file, already unlinked.
fn tempfile() -> File {
    let path = harness::command().with_file_name(format!("midplane-test-{}", std::process::id()));
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path);
    fs::remove_file(&path).unwrap();
    open.unwrap()
}

#[test]
#[cfg_attr(not(cpp), ignore = "needs a C++ compiler: c++")]
fn a_program_in_cpp_runs_its_constructors_and_destructors() {
    let dir = harness::command().with_file_name(format!("midplane-test-cpp-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let source = dir.join("hello.cpp");
    let text = r#"
#include <iostream>
#include <mpi.h>
#include <vector>
struct Speaker {
    Speaker() { std::cout << "begin" << std::endl; }
    ~Speaker() { std::cout << "end" << std::endl; }
} speaker;
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<int> all(2);
    MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::cout << argv[0] << ' ' << argc << ' ' << all[0] + all[1] << std::endl;
    MPI_Finalize();
}
"#;
    fs::write(&source, text).unwrap();
    let source = source.display().to_string();
    let ended = harness::midplane(&["run", "-q", "--on", "linux", "-n", "2", &source, "--", "x"]);
    let _ = fs::remove_dir_all(&dir);
    let ended = ended.expect(0);
    for rank in 0..2 {
        let begin = format!("[{rank}] ");
        let lines = ended.stdout.lines().filter_map(|line| line.strip_prefix(&begin));
        assert!(lines.eq(["begin", "hello 2 1", "end"]), "{ended}");
    }
}

#[test]
fn ranks_are_started_under_a_command() {
    let options = ["-n", "2", "--under", "env RANKS_ARE=under"];
    let ended = run(&options, "pi.c", &["1000"]).expect(0);
    assert!(ended.stdout.starts_with("[0] pi is about 3.14"), "{ended}");
    run(&["-n", "2", "--under", "/nonexistent/tool"], "pi.c", &[])
        .expect(1)
        .says(&["cannot start /nonexistent/tool for rank 0"]);
    let options = ["--under", "env", "-n", "2"];
    harness::run(&options, "pi.c", &[])
        .expect(2)
        .says(&["--under does nothing for nodes in QEMU"]);
}

/// The runtime, in the same file, calls the functions of the C library.
#[test]
fn functions_with_the_c_librarys_names_are_the_programs() {
    let ended = run(&["-n", "4"], "own_names.c", &[]).expect(0);
    assert!(ended.stdout.ends_with(" functions, 0 wrong\n"), "{ended}");
}

#[test]
fn random_calls_of_all_kinds_do_as_they_should() {
    for (processes, memory, seed) in [("5", "32", "4"), ("7", "4K", "5"), ("1", "32", "6")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_calls.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

/// More processes than most hosts have processors, with memory for one record each.
#[test]
fn programs_that_poll_get_their_messages() {
    let ended = run(&["-n", "7", "--mpi-memory", "32"], "polls.c", &[]).expect(0);
    assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
}

#[test]
fn short_messages_at_random_do_as_they_should() {
    for (processes, memory, seed) in [("2", "32", "4"), ("5", "4K", "5"), ("1", "32", "6")] {
        let options = ["-n", processes, "--mpi-memory", memory];
        let ended = run(&options, "random_short.c", &["40", seed]).expect(0);
        assert!(ended.stdout.contains(" checks, 0 failed"), "{ended}");
    }
}

/// Correct jobs of random calls are neither reported as hangs nor as misuse.
#[test]
fn random_calls_cause_no_false_alarm() {
    let ended = harness::midplane(&["soak", "--calls", "6", "--seed", "28"]).expect(0);
    ended.prints(
        "6 jobs of random calls, 3 of processes (0 long), 3 in the simulator, 6 with --check: 0 reports of a hang",
    );
}
