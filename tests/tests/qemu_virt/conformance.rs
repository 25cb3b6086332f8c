//! Self-checking programs, on nodes and under MPICH (the reference implementation).

use crate::harness::*;
use std::fs;
use std::process::Command;

/// Checks a self-checking program's last line: the number of failed checks.
#[track_caller]
fn check_conformance(stdout: &str, begin: &str) {
    let last = stdout.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(begin) && last.ends_with(" checks, 0 failed"),
        "{stdout}"
    );
}

/// Runs a self-checking program with plenty of MPI memory, with little, and with one record, on different shapes.
fn conforms(name: &str) {
    for (torus, processes, instances, memory) in [
        ("2x2x2", 8, "1", "64K"),
        ("3x2x1", 6, "2", "4K"),
        ("3x1x1", 3, "1", "32"),
        ("1x1x1", 1, "1", "32"),
    ] {
        conforms_on(name, torus, processes, instances, memory);
    }
}

fn conforms_on(name: &str, torus: &str, processes: u32, instances: &str, memory: &str) {
    let mut options = vec!["--torus", torus, "--mpi-memory", memory, "--quiet"];
    options.extend(["--instances", instances]);
    if name == "conf_exhaust" {
        // The program exhausts it.
        options.extend(["--node-memory", "8M"]);
    }
    let ended = run(&options, &format!("{name}.c"), &[]);
    assert_eq!(ended.status, Some(0), "{torus}, {instances}, {memory}: {ended}");
    let begin = format!("[0] {name}: {processes} processes, ");
    check_conformance(&ended.stdout, &begin);
    // The node reports the failed pthread_create(), not the program.
    let told = ended.stderr.matches("pthread_create() fails").count();
    assert_eq!(told, usize::from(name == "conf_libc"), "{ended}");
}

/// Compares the checksum of formats.c's conversions on a node with that of the host's library.
fn converts_as_the_host(conversions: &str, seed: &str) {
    let sum = |options: &[&str]| {
        let options = [&["-n", "1", "-q", "--mpi-memory", "32"], options].concat();
        let ended = run(&options, "formats.c", &[conversions, seed]).expect(0);
        assert!(ended.stdout.contains(" conversions, sum "), "{ended}");
        ended.stdout
    };
    assert_eq!(sum(&[]), sum(&["--on", "linux"]), "seed {seed}");
}

#[test]
fn numbers_are_written_and_read_exactly_on_every_board() {
    for on in [&[][..], &["--on", "linux"], &["--on", "cluster"]] {
        let options = [&["-n", "1"], on].concat();
        run(&options, "digits.c", &[]).expect(0).prints("digits: 0 failed");
    }
}

#[test]
fn conversions_of_formats_are_those_of_the_hosts_library() {
    converts_as_the_host("20000", "1");
}

#[test]
#[ignore = "takes minutes: a million conversions on an emulated node"]
fn a_million_conversions_of_formats_are_those_of_the_hosts_library() {
    for seed in 2..12 {
        converts_as_the_host("100000", &seed.to_string());
    }
}

/// Over virtio-net.
#[test]
fn a_node_in_each_instance() {
    for name in [
        "conf_p2p",
        "conf_requests",
        "conf_probe",
        "conf_coll",
        "conf_nbc",
        "soak",
    ] {
        conforms_on(name, "3x2x1", 6, "6", "4K");
    }
}

/// Returns a program's output under the reference implementation.
fn under_mpich(name: &str, processes: &str, arguments: &[&str]) -> String {
    let _turn = JobLock::acquire();
    let binary = command().with_file_name(format!("midplane-test-{name}-{}", std::process::id()));
    let compiled = Command::new("mpicc")
        // GCC mistakes MPICH's MPI_STATUSES_IGNORE for an array that is too short.
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"])
        .args([
            program(&format!("{name}.c")).as_ref(),
            "-o".as_ref(),
            binary.as_os_str(),
            "-lm".as_ref(),
        ])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "{name}");
    let output = Command::new("mpiexec")
        .args(["-n", processes])
        .arg(&binary)
        .args(arguments)
        .env("MPIEXEC_TIMEOUT", LIMIT)
        .output()
        .expect("mpiexec runs");
    let _ = fs::remove_file(&binary);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{name}: {stdout}{stderr}");
    stdout
}

/// Creates a test for each program and, if the reference implementation is installed, a second one there, which proves
/// that the programs are correct.
macro_rules! conformance {
    ($($test:ident: $program:literal $(, $needs:ident)?;)*) => {
        mod programs {
            pub const PROGRAMS: &[&str] = &[$($program),*];
            $(
                #[test]
                fn $test() {
                    super::conforms($program);
                }
            )*
        }

        mod mpich {
            $(
                #[test]
                #[cfg_attr(not(mpich), ignore = "needs MPICH: mpicc and mpiexec")]
                $(#[cfg_attr(all(mpich, not($needs)), ignore = "needs an MPICH whose MPI_Put arrives")])?
                fn $test() {
                    // It polls: more processes than processors are slow.
                    let stdout = super::under_mpich($program, "4", &[]);
                    super::check_conformance(&stdout, concat!($program, ": 4 processes, "));
                }
            )*
        }
    };
}

midplane_harness::self_checking_programs!(conformance);

/// Textbook programs whose output does not depend on the machine.
const EXAMPLES: [(&str, &[&str]); 3] = [
    ("pi", &["100000"]),
    ("jacobi", &["-n", "64", "-i", "40"]),
    ("farm", &["60"]),
];

/// Returns rank 0's output of an example on four nodes with this MPI memory; no other rank prints.
fn example(name: &str, arguments: &[&str], memory: &str) -> String {
    let options = ["-n", "4", "--mpi-memory", memory, "--quiet"];
    let ended = run(&options, &format!("{name}.c"), arguments).expect(0);
    let lines = ended.stdout.lines();
    lines
        .map(|line| line.strip_prefix("[0] ").unwrap_or_else(|| panic!("{line}: {ended}")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn examples_say_the_same_with_the_least_memory_as_with_plenty() {
    for (name, arguments) in EXAMPLES {
        let plenty = example(name, arguments, "1M");
        assert!(!plenty.is_empty());
        assert_eq!(plenty, example(name, arguments, "32"));
    }
}

#[test]
#[cfg_attr(not(mpich), ignore = "needs MPICH: mpicc and mpiexec")]
fn examples_say_the_same_under_mpich() {
    for (name, arguments) in EXAMPLES {
        let theirs = under_mpich(name, "4", arguments);
        assert_eq!(theirs.trim_end(), example(name, arguments, "64K"));
    }
}

#[test]
fn every_conformance_program_is_run() {
    for entry in fs::read_dir(root().join("tests/programs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".c").filter(|n| n.starts_with("conf_")) {
            // `files.rs` runs this one, with a directory.
            let is_run = name == "conf_files" || programs::PROGRAMS.contains(&name);
            assert!(is_run, "{name}");
        }
    }
}

#[test]
#[cfg_attr(not(mpich), ignore = "needs MPICH: mpicc and mpiexec")]
fn killer_says_the_same_under_mpich() {
    let theirs = under_mpich("killer", "8", &["5", "1024"]);
    let ours = run(&["--torus", "2x2x2"], "killer.c", &["5", "1024"]).expect(0).stdout;
    let but_seconds = |line: &str| {
        let (begin, end) = line.trim().split_once(" seconds").expect("a line with seconds");
        let (begin, _) = begin.rsplit_once(", ").expect("more before the seconds");
        format!("{begin}{end}")
    };
    let ours = ours.strip_prefix("[0] ").expect("rank 0's line");
    assert_eq!(but_seconds(ours), but_seconds(&theirs));
}
