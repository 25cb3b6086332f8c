//! Rejected options, unsupported requests, and the help text.

use crate::harness::*;
use std::fs;

// A table of cases, longer than a screen.
#[test]
fn bad_input_is_refused_with_one_line() {
    let killer = program("killer.c");
    let killer = killer.as_str();
    let ring = program("ring.rs");
    let ring = ring.as_str();
    let big = fs::read_to_string("/proc/meminfo").unwrap();
    assert!(big.contains("MemAvailable"), "needed to tell how many nodes fit");
    for (arguments, word) in [
        (&["run", "--torus", "0x2x2", killer][..], "0x2x2"),
        (&["run", "--torus", "2x2", killer], "2x2x2"),
        (&["run", "--torus", "axb", killer], "axb"),
        (&["run", "--torus", "256x256x256", killer], "it can hold"),
        (&["run", "none.c"], "none.c"),
        (&["run", "--mpi-memory", "1", killer], "the minimum is"),
        (
            &["run", "--mpi-memory", "8M", "--node-memory", "8M", killer],
            "--node-memory",
        ),
        (&["run", "--mpi-memory", "1G", killer], "the maximum is"),
        (&["run", "--mpi-memory", "x", killer], "64K"),
        (&["run", "--node-memory", "5000", killer], "4K"),
        (&["run", "--node-memory", "4000G", killer], "than this machine has"),
        (&["run", "--stack", "1", killer], "16K"),
        (&["run", "--timeout", "-1", killer], "--timeout"),
        (
            &["run", "--report", "no/such/directory/file", killer],
            "no/such/directory/file",
        ),
        (&["run", "--mesh", "w", killer], "--mesh"),
        (&["run", killer, "5", "1024"], "--"),
        (&["run", "-n", "0", killer], "-n"),
        (&["run", "-n", "8", "--torus", "2x2x2", killer], "--torus"),
        (&["run", "--cflags", "-D'x", killer], "quote"),
        (&["run", "--mesh", "xx", killer], "twice"),
        (&["run", "--quiet", "--links", killer], "--links"),
        (&["run", "--matching", "fast", killer], "list, array, fourd"),
        (&["memory", "--matching", "fast"], "list, array, fourd"),
        (&["run", "-D", "X=1", ring], "Rust program"),
        (&["run", "-l", "m", ring], "Rust program"),
        (&["memory", "--mpi-memory", "1"], "the minimum is"),
        (&["memory", "--mpi-memory", "1G"], "the maximum is"),
        (&["memory", "--nodes", "257"], "257"),
        (&["bench", "flood", "--mpi-memory", "16"], "the minimum is"),
        (&["bench", "flood", "--senders", "256"], "257"),
        (&["bench", "killer", "--no-qemu", "--runs", "3"], "--runs"),
        (
            &["bench", "killer", "--csv", "no/such/directory/file"],
            "no/such/directory/file",
        ),
        (&["bench", "killer", "--csv", "a", "--svg", "a"], "two results"),
        (&["sim", "--svg", "no/such/directory/file"], "no/such/directory/file"),
        (&["sim", "--hot", "0.5"], "hot-spot"),
        (&["sim", "--packets", "5"], "--check"),
        (&["sim", "--mesh", "zz"], "twice"),
        (&["run"], "PROGRAM"),
        (&["fly"], "fly"),
    ] {
        let ended = midplane(arguments).expect(2);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{arguments:?}: {ended}");
        assert!(lines[0].contains(word), "{arguments:?}: {ended}");
        assert_eq!(ended.stdout, "", "{ended}");
    }
}

#[test]
fn a_program_that_does_not_compile_shows_the_compilers_words() {
    let ended = run(&[], "fail_compile.c", &[])
        .expect(2)
        .says(&["fail_compile.c:", "error:", "does not compile"]);
    assert!(!ended.stderr.contains("backtrace"), "{ended}");
}

#[test]
fn a_function_of_mpi_that_is_not_there_is_named() {
    let ended = run(&[], "fail_missing.c", &[]).expect(2);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("MPI_Nowhere") && last.contains("does not have yet"),
        "{ended}"
    );
    assert!(!ended.stderr.contains("undefined reference"), "{ended}");
}

#[test]
fn variables_of_the_environment_reach_every_node() {
    let options = [
        "-n", "2", "--quiet", "--env", "A=old", "--env", "A=x y=%", "--env", "EMPTY=", "-x", MARK,
    ];
    let ended = run(&options, "environment.c", &["A", "EMPTY", "HOME", "PATH"]).expect(0);
    assert_eq!(
        ended.stdout,
        "[1] 3 variables\n[1] A is x y=%\n[1] EMPTY is \n[1] HOME is not set\n[1] PATH is not set\n"
    );
    for (options, words) in [
        (["--env", "A"], "--env A: the form is NAME=VALUE"),
        (["--env", "=A"], "--env =A: the form is NAME=VALUE"),
        (["-x", "NO_SUCH_VARIABLE"], "the variable NO_SUCH_VARIABLE is not set"),
    ] {
        run(&options, "environment.c", &[]).expect(2).says(&[words]);
    }
    let long = format!("A={}", "x".repeat(20_000));
    run(&["--env", &long], "environment.c", &[])
        .expect(2)
        .says(&["the program's arguments or environment", "at most 16384"]);
}

#[test]
fn functions_that_are_nowhere_are_named_with_the_lines_of_their_calls() {
    run(&[], "fail_missing_line.c", &[]).expect(2).says(&[
        "nowhere_first (fail_missing_line.c:15)",
        "nowhere_second (fail_missing_line.c:19)",
    ]);
}

#[test]
fn a_program_of_several_files_takes_the_compilers_options() {
    let include = program("parts/include");
    let (main, area) = (program("parts/main.c"), program("parts/area.c"));
    for options in [
        &["-I", &include, "-D", "TIMES=3"][..],
        &["--cflags", &format!("-I '{include}' -DTIMES=3 -std=c99 -O3")],
    ] {
        let mut arguments = vec!["run", "-n", "3", "--timeout", LIMIT];
        arguments.extend(options);
        arguments.extend([main.as_str(), area.as_str()]);
        let ended = midplane(&arguments).expect(0);
        assert_eq!(ended.stdout, "[0] parts: 131.946891\n", "{ended}");
    }
    // The missing symbol is reported.
    midplane(&["run", "-I", &include, "-D", "TIMES=3", &main])
        .expect(2)
        .says(&["does not link", "area (main.c:"]);
    // No code of the program calls `main`, and no line of the runtime is reported as if it did.
    let without_main = midplane(&["run", "-I", &include, &area]).expect(2);
    let last = without_main.stderr.lines().last().unwrap_or_default();
    assert!(last.ends_with(" define main"), "{without_main}");
}

#[test]
fn a_program_that_is_too_big_for_a_node_is_refused_with_the_numbers() {
    let ended = run(&["--node-memory", "8M"], "fail_big.c", &[]).expect(2);
    let complaint = ended.complaint();
    assert_eq!(complaint.len(), 1, "{ended}");
    assert!(complaint[0].contains("--node-memory is 8M"), "{ended}");
    // The suggested option works.
    let advice = complaint[0].rsplit(' ').next().unwrap();
    run(&["--torus", "1x1x1", "--node-memory", advice], "fail_big.c", &[]).expect(0);
}

#[test]
fn help_documents_every_subcommand() {
    let help = midplane(&["help"]).expect(0);
    for subcommand in ["run", "test", "doctor"] {
        assert!(help.stdout.contains(subcommand), "{help}");
        let own = midplane(&["help", subcommand]).expect(0);
        assert!(own.stdout.contains("Usage: midplane"), "{own}");
    }
}
