//! Regression programs from public bug reports about other MPI implementations. Each prints its failed checks,
//! otherwise "ok", and exits with status 0.

use crate::{CommandRun, LIMIT, TempDirectory, program, run};
use std::fs::{self, File};
use std::process::Stdio;

/// Program names and numbers of ranks.
const CASES: [(&str, &str); 21] = [
    ("p01_procnull", "2"),
    ("p02_status_error", "2"),
    ("p03_inactive", "2"),
    ("p04_persist_err", "2"),
    ("p05_elements", "1"),
    ("p06_external32", "1"),
    ("p07_extents", "1"),
    ("p10_intersplit", "2"),
    ("p11_finalize_attr", "2"),
    ("p12_cancel_recv", "2"),
    ("p12_cancel_send", "2"),
    ("p13_nothing", "3"),
    ("p14_bsend", "2"),
    ("p16_epochs", "2"),
    ("p17_splits", "3"),
    ("p19_operations", "3"),
    ("q10_static", "3"),
    ("q13_finalize", "2"),
    ("q15_jump", "2"),
    ("q18_freed_more", "2"),
    ("t01_header", "2"),
];

/// Runs each program with these options and 32 bytes of MPI memory.
#[track_caller]
pub fn pass(options: &[&str]) {
    for (name, ranks) in CASES {
        let options = [options, &["-q", "-n", ranks, "--mpi-memory", "32"]].concat();
        let ended = run(&options, &format!("cases/{name}.c"), &[]).expect(0);
        assert!(ended.stdout.contains("ok"), "{name}: {ended}");
        assert!(!ended.stdout.contains("FAIL"), "{name}: {ended}");
    }
}

/// Runs the programs that test input, arguments, output or exit status, with these options and 32 bytes of MPI memory.
#[track_caller]
pub fn come_and_go_whole(options: &[&str]) {
    let options = [options, &["-q", "--mpi-memory", "32"]].concat();
    lines_come_whole(&options);
    input_comes_whole(&options);
    arguments_come_as_given(&options);
    ends_have_the_ranks_status(&options);
}

/// Checks that the lines of each of two ranks are complete and in order.
#[track_caller]
pub fn lines_come_whole(options: &[&str]) {
    let options = [options, &["-n", "2"]].concat();
    let ended = run(&options, "cases/b01_utf8.c", &[]).expect(0);
    for rank in 0..2 {
        let begin = format!("[{rank}] ");
        let lines = ended.stdout.lines();
        let lines = lines.filter_map(|line| line.strip_prefix(&begin));
        let expected = (0..12).map(|i| {
            let characters: String = "€😀x".chars().cycle().take(40 + 7 * i).collect();
            format!("{rank}:{i}:{characters}:end")
        });
        assert!(lines.eq(expected), "{ended}");
    }
}

#[track_caller]
fn input_comes_whole(options: &[&str]) {
    let directory = TempDirectory::new("input");
    let (path, source) = (directory.path("bytes"), program("cases/t02_io.c"));
    // More bytes than a pipe holds, all byte values, and no newline at the end.
    let bytes: Vec<u8> = (0..200_001u64).map(|i| (i * i / 7) as u8).collect();
    fs::write(&path, &bytes).expect("a file");
    let run = ["run", "-n", "3", "--prefix", "--timeout", LIMIT];
    let job = [&run, options, &[&source]].concat();
    let stdin = Stdio::from(File::open(&path).expect("a file"));
    let ended = CommandRun::start_with(&job, stdin).end().expect(0);
    let add = |sum: u64, byte: &u8| (sum * 31 + u64::from(*byte)) % 1_000_003;
    let sum = bytes.iter().fold(1, add);
    let mut lines: Vec<&str> = ended.stdout.lines().collect();
    lines.sort_unstable();
    let first = format!("[0] {} bytes, sum {sum}, end 1", bytes.len());
    let others = [1, 2].map(|rank| format!("[{rank}] 0 bytes, sum 1, end 1"));
    assert_eq!(lines, [&first, &others[0], &others[1]], "{ended}");
}

#[track_caller]
fn arguments_come_as_given(options: &[&str]) {
    let options = [options, &["-n", "2", "--env", "V=a=b"]].concat();
    let arguments = [
        "", "a b", "'\"\\", "x\ny", "ä€", "-n", "--on", "--", ":", "$HOME", "*", "%41", "\t",
    ];
    let ended = run(&options, "cases/t03_argv.c", &arguments).expect(0);
    let is_plain = |byte: u8| (33..=126).contains(&byte);
    let shown = |text: &str| {
        { text.bytes() }
            .map(|byte| {
                if is_plain(byte) {
                    char::from(byte).to_string()
                } else {
                    format!("\\{byte:02x}")
                }
            })
            .collect::<String>()
    };
    let lines = arguments.iter().zip(1..);
    let mut lines: Vec<String> = lines.map(|(text, i)| format!("[1] {i}:{}", shown(text))).collect();
    lines.push("[1] end NULL, V=a=b".into());
    assert!(ended.stdout.lines().eq(lines), "{ended}");
}

/// Checks exit statuses. Status 0 without MPI_Finalize is a failure. A signal discards the C library's buffered output.
#[track_caller]
fn ends_have_the_ranks_status(options: &[&str]) {
    let options = [options, &["-n", "3"]].concat();
    for (how, status, line) in [
        ("exit3", 3, "ended with status 3 without MPI_Finalize"),
        ("exit0", 1, "ended with status 0 without MPI_Finalize"),
        ("_exit5", 5, "ended with status 5 without MPI_Finalize"),
        ("return4", 4, "ended with status 4 without MPI_Finalize"),
        ("finalize6", 6, ""),
        ("abort7", 7, "MPI_Abort was called with status 7"),
        ("abort0", 1, "MPI_Abort was called with status 0"),
        ("abort256", 1, "MPI_Abort was called with status 256"),
        ("abort-1", 255, "MPI_Abort was called with status -1"),
        ("abortself", 9, "MPI_Abort was called with status 9"),
        ("abort", 1, "the program called abort()"),
        ("segv", 1, "null pointer: store to 0x8"),
        ("kill", 1, "signal 9"),
    ] {
        let ended = run(&options, "cases/t04_exit.c", &[how]).expect(status);
        let ended = ended.says(&[line]);
        if !["segv", "kill"].contains(&how) {
            assert_eq!(ended.stdout, "[1] before\n", "{how}: {ended}");
        }
        // A call that ends the job is reported with its source line, and no other line is.
        for line in ended.stderr.lines().filter(|line| line.starts_with("  in ")) {
            assert!(line.starts_with("  in main at t04_exit.c:"), "{how}: {ended}");
        }
    }
}
