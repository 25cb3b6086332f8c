//! The command as users run it: programs on tori of QEMU instances, and what goes wrong with them.
//!
//! Each test runs the real command. QEMU instances share two or more processors with everything else, so
//! these tests take turns, also across test programs. Times are never asserted, only limits of `--timeout`
//! far beyond what a healthy job takes, so that a hang ends as a failure with a message.

use rustix::process::{Pid, Signal, WaitIdOptions, kill_process, waitid};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Seconds after which a job that should end by itself is given up, for `--timeout`.
const LIMIT: &str = "300";
/// Set in the environment of every command started here, so that its processes can be found.
const MARK: &str = "MIDPLANE_TEST_MARK";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn program(name: &str) -> String {
    root()
        .join("tests/programs")
        .join(name)
        .display()
        .to_string()
}

/// The command, built as `cargo midplane` builds it.
fn command() -> &'static Path {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    COMMAND.get_or_init(|| {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package", "midplane"])
            .arg("--message-format=json-render-diagnostics")
            .current_dir(root())
            .stderr(Stdio::inherit())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "the command does not build");
        let lines = String::from_utf8(output.stdout).unwrap();
        lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .expect("cargo names the executable")
    })
}

/// Held while instances run: at most one job at a time on this machine, whatever runs the tests.
struct Turn(#[expect(dead_code, reason = "the lock is released when the file is closed")] File);

impl Turn {
    fn take() -> Self {
        let lock = command().with_file_name("midplane-tests.lock");
        let file = File::create(lock).expect("a lock file");
        file.lock().expect("a lock");
        Self(file)
    }
}

/// One run of the command, which can be found by its mark.
struct Job {
    child: Child,
    mark: String,
    _turn: Turn,
}

/// A run that has ended.
struct Ended {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Job {
    fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    fn start_with(arguments: &[&str], stdin: Stdio) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let turn = Turn::take();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let child = Command::new(command())
            .args(arguments)
            .env(MARK, &mark)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        Self {
            child,
            mark,
            _turn: turn,
        }
    }

    /// Waits for the end, and checks that nothing is left behind.
    fn end(self) -> Ended {
        let Self { child, mark, _turn } = self;
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("the command ends");
        let ended = Ended {
            status: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        let left = marked(&mark);
        assert!(left.is_empty(), "left behind: {left:?}\n{ended}");
        ended
    }

    /// The QEMU processes of this job.
    fn instances(&self) -> Vec<i32> {
        let qemu = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.windows(4).any(|word| word == b"qemu"))
        };
        marked(&self.mark).into_iter().filter(qemu).collect()
    }

    /// Reads stdout until a line contains `text`.
    fn wait_for(&mut self, text: &str) {
        let mut reader = BufReader::new(self.child.stdout.as_mut().unwrap());
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let bytes = reader.read_line(&mut line).unwrap();
            if bytes == 0 {
                let mut stderr = String::new();
                let _ = self
                    .child
                    .stderr
                    .as_mut()
                    .unwrap()
                    .read_to_string(&mut stderr);
                panic!("ended before it said {text:?}: {stderr}");
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "status {status:?}\n--- stdout\n{stdout}--- stderr\n{stderr}"
        )
    }
}

impl Ended {
    #[track_caller]
    fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Checks that stderr has a line, or a row of lines, with all of these words.
    #[track_caller]
    fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in\n{self}");
        }
        self
    }

    /// What was said beside the progress of compiling, which is indented.
    fn complaint(&self) -> Vec<&str> {
        self.stderr
            .lines()
            .filter(|line| !line.starts_with(' '))
            .collect()
    }
}

/// The processes with this mark in their environment, other than zombies.
fn marked(mark: &str) -> Vec<i32> {
    let mark = format!("{MARK}={mark}");
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|all| all.split(|&b| b == 0).any(|v| v == mark.as_bytes()))
        })
        .collect()
}

fn midplane(arguments: &[&str]) -> Ended {
    Job::start(arguments).end()
}

/// `midplane run` with a limit on its time; the program's name is completed.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> Ended {
    let path = program(name);
    let mut all = vec!["run", "--timeout", LIMIT];
    all.extend(options);
    all.extend([path.as_str(), "--"]);
    all.extend(arguments);
    midplane(&all)
}

/// The same, with the report.
fn run_with_report(options: &[&str], name: &str, arguments: &[&str]) -> (Ended, Value) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let file = command().with_file_name(format!(
        "midplane-test-report-{}-{}.json",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::Relaxed)
    ));
    let path = file.display().to_string();
    let mut all = vec!["--report", path.as_str()];
    all.extend(options);
    let ended = run(&all, name, arguments);
    let report = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    let report =
        serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e} in {report}\n{ended}"));
    (ended, report)
}

/// A total of the report.
fn total(report: &Value, name: &str) -> u64 {
    report["totals"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no {name} in {report}"))
}

/// Checks killer's one line: `[0] killer: P processes, N messages of B bytes from each, .., 0 errors`.
#[track_caller]
fn check_killer(ended: &Ended, processes: u32, messages: &str, bytes: &str) {
    let begin = format!(
        "[0] killer: {processes} processes, {messages} messages of {bytes} bytes from each, "
    );
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{ended}");
    assert!(
        lines[0].starts_with(&begin) && lines[0].ends_with(", 0 errors"),
        "{ended}"
    );
}

#[test]
fn killer_on_eight_nodes() {
    let ended = run(&["--torus", "2x2x2"], "killer.c", &["5", "1024"]).expect(0);
    check_killer(&ended, 8, "5", "1024");
    let ended = ended.says(&["restart", "forwarded"]);
    // One row for each rank.
    for rank in 0..8 {
        let row = |line: &&str| line.split_whitespace().next() == Some(&rank.to_string());
        assert_eq!(ended.stderr.lines().filter(row).count(), 1, "{ended}");
    }
}

#[test]
fn killer_with_its_defaults_and_without_the_table() {
    let ended = run(&["--torus", "2x2x2", "--quiet"], "killer.c", &[]).expect(0);
    assert!(
        ended.stdout.starts_with("[0] killer: 8 processes"),
        "{ended}"
    );
    assert!(!ended.stderr.contains("restart"), "{ended}");
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
    for options in [
        ["--torus", "3x2x1", "--mesh", "xyz"],
        ["--torus", "1x1x5", "--mesh", "y"],
        ["--torus", "1x1x1", "--mesh", ""],
    ] {
        let ended = run(&options, "killer.c", &["5", "1024"]).expect(0);
        assert!(ended.stdout.contains(", 0 errors"), "{ended}");
    }
}

#[test]
fn four_kibibytes_of_mpi_memory_suffice() {
    for (arguments, seen) in [
        (["100", "1024"], &["ncts", "nctsd", "resend_all"][..]),
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
        assert!(
            total(&report, "rts") > 0 && total(&report, "cts") > 0,
            "{report}"
        );
        assert_eq!(report["status"], 0);
        assert_eq!(report["outcome"], "ended");
    }
}

#[test]
fn memory_that_the_program_frees_is_lent_to_messages_that_wait() {
    let counted = |options: &[&str]| {
        let (ended, report) = run_with_report(options, "borrow.c", &[]);
        let ended = ended.expect(0);
        assert!(ended.stdout.contains(" 0 errors"), "{ended}");
        let zero = &report["ranks"][0];
        let value = |name: &str| zero[name].as_u64().unwrap();
        (value("peak_unexpected_bytes"), value("peak_borrowed_bytes"))
    };
    assert_eq!(counted(&["--mpi-memory", "4K"]), (4096, 0));
    // Rank 0 receives only after it has freed its heap: what is there by then was borrowed.
    let (unexpected, borrowed) = counted(&["--mpi-memory", "4K", "--mpi-borrow"]);
    assert!(borrowed > 0 && unexpected > 4096, "{unexpected} {borrowed}");
}

/// Processor time in seconds of a job in which all ranks but rank 0 sleep in MPI_Recv, and rank 0 in
/// sleep(), for `seconds`.
fn processor_seconds_of_idling(seconds: &str) -> f64 {
    let path = program("idle.c");
    let job = Job::start(&["run", "--timeout", LIMIT, "--quiet", &path, "--", seconds]);
    let pid = Pid::from_child(&job.child);
    waitid(
        rustix::process::WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )
    .unwrap();
    // Of the ended command and all the children that it has waited for: utime, stime, cutime, cstime.
    let stat = fs::read_to_string(format!("/proc/{}/stat", job.child.id())).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap()..]
        .split_whitespace()
        .collect();
    let ticks: u64 = fields[12..16]
        .iter()
        .map(|f| f.parse::<u64>().unwrap())
        .sum();
    let ended = job.end().expect(0);
    assert!(ended.stdout.contains("[0] idle: 8 processes"), "{ended}");
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[test]
fn idle_nodes_use_no_processor_time() {
    // Once before, so that nothing is compiled in the measured runs.
    run(&["--quiet"], "idle.c", &["0"]).expect(0);
    let start_and_stop = processor_seconds_of_idling("0");
    let with_sleep = processor_seconds_of_idling("5");
    // Eight nodes that poll would use 5 s on each processor. Starting takes about 1 s, and differs.
    assert!(
        with_sleep < start_and_stop + 2.0,
        "{with_sleep} s of processor time with 5 s of sleep, {start_and_stop} s without"
    );
}

#[test]
fn a_null_pointer_is_named_with_its_place() {
    run(&["--torus", "2x2x1"], "fail_null.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "null pointer", "fail_null.c:"]);
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
    let ended = run(&["--torus", "2x2x1"], "fail_abort.c", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "abort"]);
    assert!(ended.stdout.contains("about to call abort"), "{ended}");
}

#[test]
fn mpi_abort_gives_its_code() {
    run(&["--torus", "2x2x1"], "fail_mpi_abort.c", &[])
        .expect(7)
        .says(&["rank 3", "(1,1,0)", "MPI_Abort", "7"]);
}

#[test]
fn an_mpi_error_is_fatal_and_names_the_function() {
    run(&["--torus", "2x1x1"], "fail_args.c", &[])
        .expect(1)
        .says(&["rank", "MPI_"]);
}

#[test]
fn a_panic_of_a_rust_program_is_named_with_its_place() {
    run(&["--torus", "2x2x1"], "fail_panic.rs", &[])
        .expect(1)
        .says(&["rank 3", "(1,1,0)", "panic", "fail_panic.rs:"]);
}

#[test]
fn a_rust_program_runs_with_the_same_command() {
    run(&["--torus", "2x2x1"], "ring.rs", &[]).expect(0);
}

#[test]
fn standard_input_goes_to_rank_zero_when_it_is_asked_for() {
    use std::io::Write;
    let path = program("input.c");
    let run_with = |options: &[&str], give: &dyn Fn(&mut dyn Write)| {
        let mut all = vec!["run", "-n", "3", "--quiet"];
        all.extend(options);
        all.push(path.as_str());
        let mut job = Job::start_with(&all, Stdio::piped());
        // Closed at the end of this block, unless the program has ended before.
        give(&mut job.child.stdin.take().unwrap());
        job.end()
    };
    let more_than_the_ring_holds = run_with(&["--timeout", LIMIT], &|stdin| {
        for number in 1..=3000 {
            let _ = writeln!(stdin, "{number}");
        }
    });
    let wanted = "[0] 1: 6\n[0] 2: 9\n[0] 3: 12\n[0] input: 3000 numbers, 4501500 in all\n";
    assert_eq!(more_than_the_ring_holds.expect(0).stdout, wanted);
    let none = run_with(&["--timeout", LIMIT], &|_| ());
    assert_eq!(none.expect(0).stdout, "[0] input: 0 numbers, 0 in all\n");
    // Nobody types anything.
    let mut job = Job::start_with(
        &["run", "-n", "3", "--timeout", "10", &path],
        Stdio::piped(),
    );
    let open = job.child.stdin.take();
    job.end()
        .expect(1)
        .says(&["rank 0 at (0,0,0): in a read of standard input"]);
    drop(open);
}

#[test]
fn a_program_that_leaves_early_ends_the_job_with_its_status() {
    run(&["--torus", "2x2x1"], "fail_exit.c", &[])
        .expect(3)
        .says(&["rank 3", "(1,1,0)"]);
}

#[test]
fn a_killed_instance_ends_the_job() {
    let path = program("fail_hang.c");
    let mut job = Job::start(&["run", "--torus", "2x2x1", "--timeout", LIMIT, &path]);
    job.wait_for("waiting for a message");
    let instances = job.instances();
    assert_eq!(instances.len(), 4);
    let victim = Pid::from_raw(instances[2]).unwrap();
    kill_process(victim, Signal::KILL).unwrap();
    job.end()
        .expect(1)
        .says(&["rank 2", "(0,1,0)", "signal 9", "QEMU"]);
}

#[test]
fn a_hanging_job_says_where_each_rank_is() {
    let path = program("fail_hang.c");
    midplane(&["run", "--torus", "2x2x1", "--timeout", "20", &path])
        .expect(1)
        .says(&[
            "20 s",
            "rank 0 at (0,0,0): in MPI_Recv (peer 3, tag 42)",
            "ranks 1, 2: in MPI_Barrier",
            "rank 3 at (1,1,0): computing",
        ]);
}

#[test]
fn signals_end_everything() {
    let path = program("fail_hang.c");
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut job = Job::start(&["run", "--timeout", LIMIT, &path]);
        job.wait_for("waiting for a message");
        assert_eq!(job.instances().len(), 8);
        job.signal(signal);
        job.end().expect(status);
    }
}

#[test]
fn nothing_survives_a_killed_command() {
    let path = program("fail_hang.c");
    let mut job = Job::start(&["run", "--timeout", LIMIT, &path]);
    job.wait_for("waiting for a message");
    let mark = job.mark.clone();
    job.signal(Signal::KILL);
    let status = job.child.wait().unwrap();
    assert_eq!(status.code(), None);
    // The system kills the instances; that takes it a moment.
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
fn bad_input_is_refused_with_one_line() {
    let killer = program("killer.c");
    let killer = killer.as_str();
    let big = fs::read_to_string("/proc/meminfo").unwrap();
    assert!(
        big.contains("MemAvailable"),
        "needed to tell how many nodes fit"
    );
    for (arguments, word) in [
        (&["run", "--torus", "0x2x2", killer][..], "0x2x2"),
        (&["run", "--torus", "2x2", killer], "2x2x2"),
        (&["run", "--torus", "axb", killer], "axb"),
        (&["run", "--torus", "256x256x256", killer], "it can hold"),
        (&["run", "none.c"], "none.c"),
        (&["run", "--mpi-memory", "1", killer], "the least is"),
        (
            &["run", "--mpi-memory", "8M", "--node-memory", "8M", killer],
            "--node-memory",
        ),
        (&["run", "--mpi-memory", "1G", killer], "the greatest is"),
        (&["run", "--mpi-memory", "x", killer], "64K"),
        (&["run", "--node-memory", "5000", killer], "4K"),
        (&["run", "--stack", "1", killer], "16K"),
        (&["run", "--timeout", "-1", killer], "--timeout"),
        (
            &["run", "--report", "no/such/folder/file", killer],
            "no/such/folder/file",
        ),
        (&["run", "--mesh", "w", killer], "--mesh"),
        (&["run", killer, "5", "1024"], "--"),
        (&["run", "-n", "0", killer], "-n"),
        (&["run", "-n", "8", "--torus", "2x2x2", killer], "--torus"),
        (&["run", "--cflags", "-D'x", killer], "quote"),
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
    let ended = run(&[], "fail_compile.c", &[]).expect(2).says(&[
        "fail_compile.c:",
        "error:",
        "does not compile",
    ]);
    assert!(!ended.stderr.contains("backtrace"), "{ended}");
}

#[test]
fn a_function_of_mpi_that_is_not_there_is_named() {
    let ended = run(&[], "fail_missing.c", &[]).expect(2);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("MPI_Type_vector") && last.contains("does not have yet"),
        "{ended}"
    );
    assert!(!ended.stderr.contains("undefined reference"), "{ended}");
}

#[test]
fn a_program_of_several_files_takes_the_compilers_options() {
    let include = program("parts/include");
    let (main, area) = (program("parts/main.c"), program("parts/area.c"));
    for options in [
        &["-I", &include, "-D", "TIMES=3"][..],
        &[
            "--cflags",
            &format!("-I '{include}' -DTIMES=3 -std=c99 -O3"),
        ],
    ] {
        let mut arguments = vec!["run", "-n", "3", "--timeout", LIMIT];
        arguments.extend(options);
        arguments.extend([main.as_str(), area.as_str()]);
        let ended = midplane(&arguments).expect(0);
        assert_eq!(ended.stdout, "[0] parts: 131.946891\n", "{ended}");
    }
    // What it lacks is named.
    midplane(&["run", "-I", &include, "-D", "TIMES=3", &main])
        .expect(2)
        .says(&["does not link", "area (main.c:"]);
}

#[test]
fn a_program_that_is_too_big_for_a_node_is_refused_with_the_numbers() {
    let ended = run(&[], "fail_big.c", &[]).expect(2);
    let complaint = ended.complaint();
    assert_eq!(complaint.len(), 1, "{ended}");
    assert!(complaint[0].contains("--node-memory is 8M"), "{ended}");
    // What it says would do, does.
    let advice = complaint[0].rsplit(' ').next().unwrap();
    run(
        &["--torus", "1x1x1", "--node-memory", advice],
        "fail_big.c",
        &[],
    )
    .expect(0);
}

#[test]
fn help_documents_every_subcommand() {
    let help = midplane(&["help"]).expect(0);
    for subcommand in ["run", "test", "doctor"] {
        assert!(help.stdout.contains(subcommand), "{help}");
        let own = midplane(&["help", subcommand]).expect(0);
        assert!(own.stdout.contains("Usage: cargo midplane"), "{own}");
    }
}

#[test]
fn doctor_finds_what_the_other_tests_need() {
    let ended = midplane(&["doctor"]).expect(0);
    for tool in ["Rust", "QEMU", "C compiler", "picolibc"] {
        assert!(ended.stdout.contains(tool), "{ended}");
    }
    assert!(!ended.stdout.contains("missing"), "{ended}");
}

/// A folder of programs that stand in for the machine's, and nothing else in the path of the command.
struct OtherMachine(PathBuf);

impl OtherMachine {
    fn with(programs: &[(&str, &str)]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = command().with_file_name(format!(
            "midplane-test-machine-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&folder).unwrap();
        for (name, script) in programs {
            let file = folder.join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn midplane(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(command())
            .args(arguments)
            .env("PATH", &self.0)
            .env("MIDPLANE_RUST", "rustup")
            .env_remove("RUSTC")
            .stdin(Stdio::null())
            .output()
            .expect("the command runs");
        Ended {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for OtherMachine {
    fn drop(&mut self) {
        // What cannot be removed is in the build folder, where nobody minds.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn on_a_system_that_is_not_known_what_to_install_is_listed() {
    let machine = OtherMachine::with(&[]);
    let wanted = [
        "package manager is not known",
        "rustup target add riscv64gc-unknown-none-elf",
        "qemu-system-riscv64",
        "riscv64-unknown-elf-gcc",
        "picolibc",
    ];
    machine
        .midplane(&["run", &program("killer.c")])
        .expect(2)
        .says(&wanted);
    let doctor = machine.midplane(&["doctor"]).expect(1);
    for word in ["QEMU            missing", wanted[0], wanted[1]] {
        assert!(doctor.stdout.contains(word), "no {word:?} in {doctor}");
    }
}

/// Tools that are there but too old or without their parts are fetched, too, each command printed first.
#[test]
fn what_is_missing_is_fetched_by_commands_that_are_printed() {
    let apt_cache = "echo \"$2:\"; case $2 in qemu-system-riscv) echo '  Candidate: (none)';; *) echo '  Candidate: 1';; esac";
    let others = [
        (
            "rustc",
            "case $1 in --print) echo \"$0-lib\";; *) echo 'rustc 1.95.0';; esac",
        ),
        ("rustup", "echo rustup $*; exit 1"),
        ("qemu-system-riscv64", "echo 'QEMU emulator version 6.2.0'"),
        (
            "riscv64-unknown-elf-gcc",
            "case $1 in -dumpfullversion) echo 12;; *) echo picolibc.specs;; esac",
        ),
        ("apt-cache", apt_cache),
        ("apt-get", "echo apt-get $*; exit 100"),
        (
            "sudo",
            "while [ \"$1\" != apt-get ] && [ $# -gt 0 ]; do shift; done; exec \"$@\"",
        ),
        ("true", ""),
    ];
    let machine = OtherMachine::with(&others);
    // Rust's own library is there, so that only QEMU and picolibc are missing.
    let library = machine.0.join("rustc-lib");
    fs::create_dir_all(&library).unwrap();
    fs::write(library.join("libcore-0.rlib"), "").unwrap();
    let ended = machine.midplane(&["run", &program("killer.c")]).expect(2);
    let install =
        "install --yes --no-install-recommends qemu-system-misc picolibc-riscv64-unknown-elf";
    let printed = |line: &&str| line.starts_with("+ ") && line.ends_with(install);
    assert!(ended.stderr.lines().any(|line| printed(&line)), "{ended}");
    let ended = ended.says(&["still missing", "qemu-system-riscv64 7.2", "picolibc"]);
    assert!(!ended.stderr.contains("rustup"), "{ended}");

    // Without the library, rustup is asked first.
    fs::remove_dir_all(&library).unwrap();
    machine
        .midplane(&["run", &program("killer.c")])
        .expect(2)
        .says(&["+ rustup target add riscv64gc-unknown-none-elf"]);
}

/// Checks the one line with which a self-checking program ends: how many checks failed.
#[track_caller]
fn check_conformance(stdout: &str, begin: &str) {
    let last = stdout.lines().last().unwrap_or_default();
    assert!(
        last.starts_with(begin) && last.ends_with(" checks, 0 failed"),
        "{stdout}"
    );
}

/// Runs a self-checking program with plenty of MPI memory, with little, and with one record, on shapes
/// that differ.
fn conforms(name: &str) {
    for (torus, processes, memory) in [("2x2x2", 8, "64K"), ("3x2x1", 6, "4K"), ("1x1x1", 1, "32")]
    {
        let options = ["--torus", torus, "--mpi-memory", memory, "--quiet"];
        let ended = run(&options, &format!("{name}.c"), &[]);
        assert_eq!(ended.status, Some(0), "{torus}, {memory}: {ended}");
        check_conformance(
            &ended.stdout,
            &format!("[0] {name}: {processes} processes, "),
        );
    }
}

/// What a program prints under the reference implementation.
fn under_mpich(name: &str, processes: &str, arguments: &[&str]) -> String {
    let _turn = Turn::take();
    let binary = command().with_file_name(format!("midplane-test-{name}-{}", std::process::id()));
    let compiled = Command::new("mpicc")
        // GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too short.
        .args([
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-stringop-overflow",
        ])
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

/// Each program is a test here and, where the reference implementation is, another one there: that is how
/// the programs themselves are known to be right.
macro_rules! conformance {
    ($($test:ident: $program:literal;)*) => {
        mod conformance {
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
                fn $test() {
                    // It polls: more processes than processors take long.
                    let stdout = super::under_mpich($program, "4", &[]);
                    super::check_conformance(&stdout, concat!($program, ": 4 processes, "));
                }
            )*
        }
    };
}

conformance! {
    environment: "conf_env";
    blocking_point_to_point: "conf_p2p";
    requests: "conf_requests";
    persistent_and_cancelled_requests: "conf_persistent";
    buffered_sends: "conf_buffered";
    probes: "conf_probe";
    errors: "conf_errors";
    communicators: "conf_comm";
    groups: "conf_group";
    cartesian_topologies: "conf_cart";
    collectives: "conf_coll";
    reductions: "conf_reduce";
    memory_used_up: "conf_exhaust";
    random_traffic: "soak";
}

/// Programs as textbooks have them, whose output is the same whatever the machine.
const EXAMPLES: [(&str, &[&str]); 3] = [
    ("pi", &["100000"]),
    ("jacobi", &["-n", "64", "-i", "40"]),
    ("farm", &["60"]),
];

/// What rank 0 prints of an example on four nodes with so much MPI memory; nobody else prints.
fn example(name: &str, arguments: &[&str], memory: &str) -> String {
    let options = ["-n", "4", "--mpi-memory", memory, "--quiet"];
    let ended = run(&options, &format!("{name}.c"), arguments).expect(0);
    let lines = ended.stdout.lines();
    lines
        .map(|line| {
            line.strip_prefix("[0] ")
                .unwrap_or_else(|| panic!("{line}: {ended}"))
        })
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
            assert!(conformance::PROGRAMS.contains(&name), "{name}");
        }
    }
}

#[test]
fn sends_that_use_the_memory_up_are_an_error_that_a_program_can_handle() {
    run(&["--torus", "2x1x1"], "exhaust.c", &[])
        .expect(1)
        .says(&["rank 0", "MPI_Isend", "MPI_ERR_NO_MEM", "--node-memory"]);
    let ended = run(&["--torus", "2x1x1"], "exhaust.c", &["return"]).expect(0);
    assert!(ended.stdout.contains("MPI_ERR_NO_MEM"), "{ended}");
}

#[test]
fn every_kind_of_bad_argument_is_named() {
    for (mistake, words) in [
        ("rank", ["MPI_Send", "MPI_ERR_RANK", "ranks 0 to 1"]),
        ("tag", ["MPI_Send", "MPI_ERR_TAG", "-5"]),
        ("count", ["MPI_Recv", "MPI_ERR_COUNT", "-1"]),
        ("datatype", ["MPI_Send", "MPI_ERR_TYPE", "0x0c000000"]),
        ("comm", ["MPI_Send", "MPI_ERR_COMM", "0x04000000"]),
        ("op", ["MPI_Allreduce", "MPI_ERR_OP", "0x18000000"]),
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

#[test]
fn nodes_that_compute_forward_for_others() {
    // In a row of nodes the ends meet only through the middle. One round says most: were it to wait for the
    // middle's program, it would end after the computing.
    let options = ["--torus", "3x1x1", "--mesh", "x"];
    let through = |rounds| {
        let ended = run(&options, "through.c", &[rounds]).expect(0);
        let through = !ended.stdout.contains("only after");
        assert!(ended.stdout.contains(" 0 errors"), "{ended}");
        (through, ended)
    };
    let (once, ended) = through("1");
    assert!(once, "{ended}");
    // And as fast as when the middle polls. Both were measured in one run, but the host has other things
    // to do, too: once in three runs is proof.
    let mut seen = String::new();
    let as_fast = (0..3).any(|_| {
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

#[test]
#[cfg_attr(not(mpich), ignore = "needs MPICH: mpicc and mpiexec")]
fn killer_says_the_same_under_mpich() {
    let theirs = under_mpich("killer", "8", &["5", "1024"]);
    let ours = run(&["--torus", "2x2x2"], "killer.c", &["5", "1024"])
        .expect(0)
        .stdout;
    let but_seconds = |line: &str| {
        let (begin, end) = line
            .trim()
            .split_once(" seconds")
            .expect("a line with seconds");
        let (begin, _) = begin.rsplit_once(", ").expect("more before the seconds");
        format!("{begin}{end}")
    };
    let ours = ours.strip_prefix("[0] ").expect("rank 0's line");
    assert_eq!(but_seconds(ours), but_seconds(&theirs));
}
