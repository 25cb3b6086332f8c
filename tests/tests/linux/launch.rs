//! `mpiexec` for Linux processes: several programs, interactive input, output byte for byte; and programs linked in
//! unusual ways.

use midplane_harness::{CommandRun, CompletedRun, LIMIT, command, midplane, program, root};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Temporary directory of one test, removed on drop.
struct TestDirectory(PathBuf);

impl TestDirectory {
    fn new(name: &str) -> Self {
        let dir = format!("midplane-test-launch-{name}-{}", std::process::id());
        let dir = command().with_file_name(dir);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Returns the path of a program of `tests/programs` after it was linked by mpicc.
    fn linked(&self, source: &str, words: &[&str], name: &str) -> String {
        let (source, path) = (program(source), self.path(name));
        let all = [&["cc", "--on", "linux", "-O2"], words, &[&source, "-o", &path]].concat();
        midplane(&all).expect(0);
        path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mpiexec(words: &[&str]) -> CompletedRun {
    midplane(&[&["mpiexec", "--timeout", LIMIT, "--on", "linux"], words].concat())
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn several_programs_are_one_job() {
    let dir = TestDirectory::new("several");
    let a = dir.linked("mpmd.c", &[], "a");
    let b = dir.linked("mpmd.c", &["-O0"], "b");
    let lines = [
        "rank 0 of 4 is of program 0, sum 4, PART first: x",
        "rank 1 of 4 is of program 1, sum 4, PART all:",
        "rank 2 of 4 is of program 1, sum 4, PART all:",
        "rank 3 of 4 is of program 2, sum 4, PART all: fail 0",
    ];
    let report = dir.path("report.json");
    let words = ["-n", "1", "-env", "PART", "first", &a, "x", ":"];
    let more = ["-n", "2", &b, ":", "-n", "1", &a, "fail", "0"];
    let all = [&["--report", &report, "-genv", "PART", "all"], &words[..], &more].concat();
    let ended = mpiexec(&all).expect(0);
    assert_eq!(sorted(&ended.stdout), lines, "{ended}");
    let report = fs::read_to_string(report).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["programs"][1]["program"], *b);
    assert_eq!(report["programs"][2]["arguments"][1], "0");
    assert_eq!(report["programs"][1]["first_rank"], 1);
    // The same from a file, and with rank prefixes.
    let file = dir.path("programs");
    let text = format!("# three\n-n 1 -x PART=first {a} x\n-n 2 {b}\n\n-n 1 '{a}' fail 0\n");
    fs::write(&file, text).unwrap();
    let ended = mpiexec(&["-l", "-configfile", &file]).expect(0);
    let mut said = sorted(&ended.stdout).into_iter();
    assert_eq!(said.next(), Some(format!("[0] {}", lines[0]).as_str()), "{ended}");
}

#[test]
fn what_goes_wrong_with_one_of_several_programs_is_told() {
    let dir = TestDirectory::new("wrong");
    let a = dir.linked("mpmd.c", &[], "a");
    mpiexec(&["-n", "1", &a, ":", "-n", "2", &a, "fail", "5"]).expect(5);
    mpiexec(&["-n", "1", &a, ":", "-n", "1", &a, "abort"])
        .expect(7)
        .says(&["rank 1 at"]);
    let none = dir.path("none");
    mpiexec(&["-n", "1", &a, ":", "-n", "1", &none])
        .expect(2)
        .says(&[&none]);
    mpiexec(&["-n", "1", &a, ":"]).expect(2).says(&["give a program"]);
    mpiexec(&["--torus", "2x2x1", "-n", "1", &a, ":", "-n", "1", &a])
        .expect(2)
        .says(&["2 ranks", "4 nodes"]);
    mpiexec(&["-n", "1", "-wdir", &none, &a]).expect(2).says(&[&none]);
    // A fault is decoded with the rank's own program.
    let crash = dir.linked("fail_null.c", &["-g"], "crash");
    mpiexec(&["-n", "1", &a, ":", "-n", "1", &crash])
        .expect(1)
        .says(&["rank 1 at", "fail_null.c:"]);
}

#[test]
fn output_is_passed_on_byte_for_byte() {
    let dir = TestDirectory::new("bytes");
    let echo = dir.linked("echo.c", &[], "echo");
    let bytes: Vec<u8> = (0..=255).chain(*b"\n\nno end").collect();
    let file = dir.0.join("input");
    File::create(&file).unwrap().write_all(&bytes).unwrap();
    for (words, prefix) in [
        (&["mpiexec", "-n", "1"][..], ""),
        (&["mpiexec", "-n", "3"], ""),
        (&["run", "-q", "-n", "1"], ""),
        (&["run", "-q", "-n", "2", "--no-prefix"], ""),
        (&["run", "-q", "-n", "2"], "[0] "),
        (&["mpiexec", "-l", "-n", "1"], "[0] "),
    ] {
        let stdin = Stdio::from(File::open(&file).unwrap());
        let output = Command::new(command())
            .args(words)
            .args(["--on", "linux", "--timeout", LIMIT, &echo])
            .stdin(stdin)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        match prefix {
            "" => assert_eq!(output.stdout, bytes, "{words:?}"),
            prefix => assert!(output.stdout.starts_with(prefix.as_bytes()), "{output:?}"),
        }
    }
}

/// A prompt is shown before its reply.
#[test]
fn a_line_without_end_is_shown_while_the_program_waits() {
    let dir = TestDirectory::new("prompt");
    let source = dir.path("prompt.c");
    let text = "#include <mpi.h>\n#include <stdio.h>\nint main(void) {\n    int rank, n = 0;\n    MPI_Init(NULL, NULL);\n\
                \x20   MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    if (rank == 0) {\n        printf(\"name? \"); fflush(stdout);\n\
                \x20       while (getchar() != '\\n') n++;\n        printf(\"%d\\n\", n);\n    }\n    return MPI_Finalize();\n}\n";
    fs::write(&source, text).unwrap();
    let linked = dir.path("prompt");
    midplane(&["cc", "--on", "linux", &source, "-o", &linked]).expect(0);
    for ranks in ["1", "2"] {
        let words = ["mpiexec", "--on", "linux", "--timeout", LIMIT, "-n", ranks, &linked];
        let mut job = CommandRun::start_with(&words, Stdio::piped());
        let mut stdin = job.child.stdin.take().unwrap();
        let mut seen = Vec::new();
        while seen != b"name? " {
            let mut byte = [0];
            std::io::Read::read_exact(job.child.stdout.as_mut().unwrap(), &mut byte).unwrap();
            seen.push(byte[0]);
        }
        stdin.write_all(b"abc\n").unwrap();
        drop(stdin);
        assert_eq!(job.end().expect(0).stdout, "3\n");
    }
}

#[test]
fn mpiexec_takes_what_people_type() {
    let dir = TestDirectory::new("typed");
    let a = dir.linked("mpmd.c", &[], "midplane-typed");
    let words = [
        "--oversubscribe",
        "--allow-run-as-root",
        "-ppn",
        "2",
        "-hosts",
        "localhost",
        "--bind-to",
        "core",
        "--map-by",
        "socket",
        "--mca",
        "btl",
        "self",
        "-genvall",
        "-np",
        "2",
    ];
    let ended = mpiexec(&[&words[..], &[&a]].concat()).expect(0);
    assert_eq!(ended.stdout.lines().count(), 2, "{ended}");
    let said = "mpiexec: ignored options: --bind-to, --map-by, --mca, -ppn";
    assert_eq!(ended.stderr.lines().collect::<Vec<_>>(), [said], "{ended}");
    for question in ["--version", "-V", "--help", "-h"] {
        let ended = mpiexec(&[question]).expect(0);
        assert!(ended.stdout.contains("mpiexec") && ended.stderr.is_empty(), "{ended}");
    }
    assert!(midplane(&["mpiexec", "--help"]).stdout.contains("-configfile"));
    mpiexec(&["-host", "far", &a])
        .expect(2)
        .says(&["far", "this machine only"]);
    mpiexec(&["--nonsense", &a])
        .expect(2)
        .says(&["unknown option --nonsense"]);
    mpiexec(&["-n", "1", "midplane-no-such-program"])
        .expect(2)
        .says(&["midplane-no-such-program", "PATH"]);
    // From PATH, and from the working directory of its processes.
    let path = midplane(&["cc", "--path"]).expect(0).stdout;
    let mpirun = Path::new(path.trim_end()).with_file_name("mpirun");
    for (words, path) in [
        (&["-n", "1", "midplane-typed"][..], dir.0.as_path()),
        (&["-n", "1", "-wdir", "REPLACED", "./midplane-typed"], root()),
    ] {
        let inside = dir.0.display().to_string();
        let words = words
            .iter()
            .map(|word| if *word == "REPLACED" { &*inside } else { word });
        let all = std::env::var("PATH").unwrap();
        let output = Command::new(&mpirun)
            .args(words)
            .env("PATH", format!("{}:{all}", path.display()))
            .env("MIDPLANE_ON", "linux")
            .current_dir(root())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "rank 0 of 1 is of program 0, sum 0, PART none:\n", "{output:?}");
    }
}

/// If the target directory is not writable, the build uses the user's cache; without one, it prints an error.
#[test]
fn a_checkout_that_cannot_be_written_is_built_from() {
    let dir = TestDirectory::new("unwritable");
    let tool = dir.path("target/debug/midplane");
    fs::create_dir_all(dir.0.join("target/debug")).unwrap();
    fs::copy(command(), &tool).unwrap();
    fs::write(dir.path("target/CACHEDIR.TAG"), "").unwrap();
    fs::write(dir.path("target/midplane"), "no directory").unwrap();
    let run = |cache: &str, words: &[&str]| {
        let mut command = Command::new(&tool);
        let command = command.args(words).env("XDG_CACHE_HOME", cache);
        command.output().unwrap()
    };
    let cache = dir.path("cache");
    let output = run(&cache, &["cc", "--path"]);
    let path = String::from_utf8_lossy(&output.stdout).into_owned();
    let begin = format!("{cache}/midplane/target-");
    assert!(
        path.starts_with(&begin) && Path::new(path.trim_end()).exists(),
        "{output:?}"
    );
    let output = run("/proc/none", &["run", "--on", "linux", &program("pi.c")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("set XDG_CACHE_HOME to a writable directory"),
        "{output:?}"
    );
    assert_eq!(said.lines().count(), 1, "{output:?}");
}

#[test]
fn programs_are_linked_statically_and_stripped() {
    let dir = TestDirectory::new("static");
    for (name, words) in [
        ("static", &["-static"][..]),
        ("static-pie", &["-static-pie"]),
        ("static-libgcc", &["-static-libgcc"]),
        ("stripped", &["-s"]),
        ("static-stripped", &["-static", "-Wl,-s"]),
    ] {
        let linked = dir.linked("killer.c", words, name);
        let ended = mpiexec(&["-n", "3", "--mpi-memory", "32", &linked, "3", "300"]).expect(0);
        assert!(ended.stdout.contains("killer: 3 processes"), "{ended}");
    }
    let cpp = dir.path("a.cpp");
    let text = "#include <mpi.h>\n#include <iostream>\nint main() {\n    MPI_Init(nullptr, nullptr);\n\
                \x20   try { throw 5; } catch (int n) { std::cout << n << std::endl; }\n    return MPI_Finalize();\n}\n";
    fs::write(&cpp, text).unwrap();
    let linked = dir.path("cpp");
    midplane(&["cc", "--on", "linux", "--c++", "-static", &cpp, "-o", &linked]).expect(0);
    assert_eq!(mpiexec(&["-n", "1", &linked]).expect(0).stdout, "5\n");
}

/// A profiling tool between program and MPI works if it is linked, and is rejected if it is preloaded.
#[test]
fn a_profiling_tool_is_linked_with_the_program() {
    let dir = TestDirectory::new("tool");
    let source = dir.path("tool.c");
    let text = "#include <mpi.h>\n#include <stdio.h>\nint MPI_Barrier(MPI_Comm comm) { puts(\"tool\"); return PMPI_Barrier(comm); }\n";
    fs::write(&source, text).unwrap();
    let main = dir.path("main.c");
    let text =
        "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n";
    fs::write(&main, text).unwrap();
    let (linked, plain, tool) = (dir.path("linked"), dir.path("plain"), dir.path("tool.so"));
    let cc = |words: &[&str]| midplane(&[&["cc", "--on", "linux"], words].concat()).expect(0);
    cc(&[&main, &source, "-o", &linked]);
    assert_eq!(mpiexec(&["-n", "1", &linked]).expect(0).stdout, "tool\n");
    cc(&[&main, "-o", &plain]);
    cc(&["-shared", "-fPIC", &source, "-o", &tool]);
    let preload = format!("LD_PRELOAD={tool}");
    mpiexec(&["-n", "2", "-x", &preload, &plain])
        .expect(2)
        .says(&["tool.so", "MPI_Barrier", "PMPI"]);
    let alone = Command::new(&plain).env("LD_PRELOAD", &tool).output().unwrap();
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
}

#[test]
fn a_cluster_has_one_program_whose_ranks_have_arguments_of_their_own() {
    let source = program("mpmd.c");
    let words = [
        "--on", "cluster", "-n", "2", &source, "x", ":", "-n", "1", &source, "y", "z",
    ];
    let ended = midplane(&[&["mpiexec", "--timeout", LIMIT], &words[..]].concat()).expect(0);
    let lines = [
        "rank 0 of 3 is of program 0, sum 1, PART none: x",
        "rank 1 of 3 is of program 0, sum 1, PART none: x",
        "rank 2 of 3 is of program 1, sum 1, PART none: y z",
    ];
    assert_eq!(sorted(&ended.stdout), lines, "{ended}");
    let other = program("pi.c");
    midplane(&["mpiexec", "--on", "cluster", &source, ":", &other])
        .expect(2)
        .says(&["several programs", "--on linux"]);
}
