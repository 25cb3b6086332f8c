//! Test harness for the `midplane` command: starts it, monitors it, and checks its exit.
#![forbid(unsafe_code)]

pub mod boards;
pub mod cases;
pub mod fortran;
pub mod hangs;
pub mod misuses;
pub mod packets;
pub mod probe;
mod programs;

use midplane_setup::test_groups;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Timeout in seconds, for `--timeout`, after which a job that should end is aborted.
pub const LIMIT: &str = "300";
/// Environment variable that marks all processes started here.
pub const MARK: &str = "MIDPLANE_TEST_MARK";

/// Returns the workspace directory.
pub fn root() -> &'static Path {
    let directories = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    { directories }.nth(2).expect("tests/harness is in the workspace")
}

/// Returns the path of a program in `tests/programs`.
pub fn program(name: &str) -> String {
    root().join("tests/programs").join(name).display().to_string()
}

/// Returns the directory of the cargo package `tests/packages/hello`, with the crate versions of the workspace.
///
/// Tests of one or of several processes use the package at the same time, and cargo rewrites the lock file. The copy is
/// therefore made once for each process, and replaces the file as a whole.
pub fn package() -> &'static Path {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let directory = root().join("tests/packages/hello");
        let new = directory.join(format!("Cargo.lock.{}", std::process::id()));
        fs::copy(root().join("Cargo.lock"), &new).expect("a copy of Cargo.lock");
        fs::rename(new, directory.join("Cargo.lock")).expect("Cargo.lock is renamed");
        directory
    })
}

/// Returns the names of the Rust programs that `rsmpi.rs` runs.
pub fn rust_programs() -> Vec<String> {
    let directory = fs::read_dir(root().join("tests/programs/rsmpi")).expect("the directory");
    let files = directory.map(|file| file.expect("a file").path());
    let name = |path: PathBuf| path.file_stem().map(|name| name.display().to_string());
    let mut names: Vec<String> = files.filter_map(name).collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    names
}

/// Programs of `rsmpi_few.rs`, one of each kind. The link of all programs takes a minute of processor time.
pub const FEW_RUST_PROGRAMS: [&str; 10] = [
    "broadcast",
    "derived",
    "errors",
    "immediate",
    "intercommunicator",
    "reduce",
    "scopes",
    "send_receive",
    "struct_vectors",
    "window",
];

/// Returns the path of the command: the one that runs the tests, or one built like in `cargo midplane test`.
pub fn command() -> &'static Path {
    static COMMAND: OnceLock<PathBuf> = OnceLock::new();
    COMMAND.get_or_init(|| {
        // Cargo would wait for the compilation of other tests.
        if let Some(path) = std::env::var_os(test_groups::COMMAND) {
            return path.into();
        }
        // Uses the same arguments, so that nothing is built twice.
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet"])
            .args(test_groups::command_and_jobs())
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
            .filter(|message| message["target"]["name"] == "midplane")
            .filter(|message| message["profile"]["test"] == false)
            .find_map(|message| message["executable"].as_str().map(PathBuf::from))
            .expect("cargo names the executable")
    })
}

/// Maximum number of concurrent jobs on this machine, for all test processes. It is one more than the processors of the
/// smallest supported machine, since a job whose runtime another one compiles only waits for it.
const TURNS: usize = 3;

/// Lock held while a job runs.
pub struct JobLock(#[expect(dead_code, reason = "the lock is released when the file is closed")] File);

impl JobLock {
    /// Waits for a free slot.
    pub fn acquire() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let lock = |number: usize| {
            let name = format!("midplane-tests-{}.lock", number % TURNS);
            File::create(command().with_file_name(name)).expect("a lock file")
        };
        let first = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Tries all slots: a test that already holds one for another job could wait for itself forever.
        loop {
            let free = (first..first + TURNS).find_map(|number| {
                let file = lock(number);
                file.try_lock().is_ok().then_some(file)
            });
            match free {
                Some(file) => return Self(file),
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        }
    }
}

/// Shell script that replaces a program that not every machine has. The file is removed on drop.
pub struct StandInProgram(String);

impl StandInProgram {
    /// Writes the script for bash.
    pub fn new(name: &str, script: &str) -> Self {
        let path = command().with_file_name(format!("midplane-test-{name}-{}", std::process::id()));
        fs::write(&path, format!("#!/usr/bin/env bash\n{script}")).expect("a script");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a script that runs");
        Self(path.display().to_string())
    }

    /// Returns the path of the script.
    pub fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for StandInProgram {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Run of the command, identified by its mark.
pub struct CommandRun {
    /// Child process.
    pub child: Child,
    /// Value of [`MARK`] in the environment of its processes.
    pub mark: String,
    _turn: JobLock,
}

/// Completed run.
pub struct CompletedRun {
    /// Exit status; `None` after a signal.
    pub status: Option<i32>,
    /// Output to stdout.
    pub stdout: String,
    /// Output to stderr.
    pub stderr: String,
}

impl CommandRun {
    /// Starts the command without standard input.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, Stdio::null())
    }

    /// Starts the command with this standard input.
    pub fn start_with(arguments: &[&str], stdin: Stdio) -> Self {
        Self::start_between(arguments, stdin, Stdio::piped())
    }

    /// Starts the command with these streams.
    pub fn start_between(arguments: &[&str], stdin: Stdio, stdout: Stdio) -> Self {
        Self::spawn(Command::new(command()).args(arguments), stdin, stdout)
    }

    /// Starts the command with these environment variables.
    pub fn start_in(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(command());
        command.args(arguments).envs(environment.iter().copied());
        Self::spawn(&mut command, Stdio::null(), Stdio::piped())
    }

    /// Starts the command in a directory.
    pub fn start_at(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(command());
        command.args(arguments).current_dir(directory);
        Self::spawn(&mut command, Stdio::null(), Stdio::piped())
    }

    fn spawn(command: &mut Command, stdin: Stdio, stdout: Stdio) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let turn = JobLock::acquire();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        let child = command
            .env(MARK, &mark)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        Self {
            child,
            mark,
            _turn: turn,
        }
    }

    /// Waits for the end, and checks that no process remains.
    pub fn end(self) -> CompletedRun {
        let Self { child, mark, _turn } = self;
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the command ends");
        let ended = CompletedRun {
            status: status.code(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        // A killed process requires a moment to disappear.
        let over = Instant::now() + Duration::from_secs(5);
        let mut left = marked(&mark);
        while !left.is_empty() && Instant::now() < over {
            sleep(Duration::from_millis(20));
            left = marked(&mark);
        }
        assert!(left.is_empty(), "left behind: {left:?}\n{ended}");
        ended
    }

    /// Returns the PIDs of this job's QEMU processes.
    pub fn instances(&self) -> Vec<i32> {
        let qemu = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.windows(4).any(|word| word == b"qemu"))
        };
        marked(&self.mark).into_iter().filter(qemu).collect()
    }

    /// Reads stdout until a line contains `text`.
    pub fn wait_for(&mut self, text: &str) {
        let mut reader = BufReader::new(self.child.stdout.as_mut().unwrap());
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let bytes = reader.read_line(&mut line).unwrap();
            if bytes == 0 {
                let mut stderr = String::new();
                let _ = self.child.stderr.as_mut().unwrap().read_to_string(&mut stderr);
                panic!("ended before it said {text:?}: {stderr}");
            }
        }
    }

    /// Sends the command a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

impl std::fmt::Display for CompletedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, stdout, stderr } = self;
        write!(f, "status {status:?}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

impl CompletedRun {
    /// Checks the exit status.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self}");
        self
    }

    /// Checks that stderr contains each of `words`.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in\n{self}");
        }
        self
    }

    /// Checks that stderr contains `words` in this order.
    #[track_caller]
    pub fn says_in_order(&self, words: &[&str]) {
        let mut rest = &*self.stderr;
        for word in words {
            let Some((_, behind)) = rest.split_once(word) else {
                panic!("no {word:?}, or in another order, in\n{self}");
            };
            rest = behind;
        }
    }

    /// Checks that stdout contains `text`.
    #[track_caller]
    pub fn prints(&self, text: &str) {
        assert!(self.stdout.contains(text), "no {text:?} in\n{self}");
    }

    /// Returns the stderr lines without the indented build progress.
    pub fn complaint(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| !line.starts_with(' ')).collect()
    }
}

/// Returns the processes with this mark in their environment, except zombies.
pub fn marked(mark: &str) -> Vec<i32> {
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

/// Runs the command to its end.
pub fn midplane(arguments: &[&str]) -> CompletedRun {
    CommandRun::start(arguments).end()
}

/// Runs `midplane run` with a timeout, for a program of `tests/programs`. Each output line starts with its rank.
pub fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let path = program(name);
    let mut all = vec!["run", "--prefix", "--timeout", LIMIT];
    all.extend(options);
    all.extend([path.as_str(), "--"]);
    all.extend(arguments);
    midplane(&all)
}

/// Runs like [`run`], and also returns the report.
pub fn run_with_report(options: &[&str], name: &str, arguments: &[&str]) -> (CompletedRun, Value) {
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
    let report = serde_json::from_str(&report).unwrap_or_else(|e| panic!("{e} in {report}\n{ended}"));
    (ended, report)
}

/// Options for faulty links: one frame in a hundred lost and one in a thousand corrupted, on each link.
pub const BAD_LINKS: [&str; 6] = ["--link-loss", "0.01", "--link-corrupt", "0.001", "--seed", "7"];

/// Runs killer over faulty links. Checks that no message is lost and that frames were retransmitted.
#[track_caller]
pub fn killer_over_bad_links(options: &[&str], processes: u32, shape: [&str; 2]) -> (CompletedRun, Value) {
    let options = [&BAD_LINKS, options].concat();
    let (ended, report) = run_with_report(&options, "killer.c", &shape);
    let ended = ended.expect(0);
    check_killer(&ended, processes, shape[0], shape[1]);
    assert!(total(&report, "link_retries") > 0, "{options:?}: {report}");
    (ended, report)
}

/// Returns a total of the report.
pub fn total(report: &Value, name: &str) -> u64 {
    report["totals"][name]
        .as_u64()
        .unwrap_or_else(|| panic!("no {name} in {report}"))
}

/// Checks killer's only line: `[0] killer: P processes, N messages of B bytes from each, .., 0 errors`.
#[track_caller]
pub fn check_killer(ended: &CompletedRun, processes: u32, messages: &str, bytes: &str) {
    let begin = format!("[0] killer: {processes} processes, {messages} messages of {bytes} bytes from each, ");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), 1, "{ended}");
    assert!(
        lines[0].starts_with(&begin) && lines[0].ends_with(", 0 errors"),
        "{ended}"
    );
}

/// Temporary directory, removed on drop.
pub struct TempDirectory(pub PathBuf);

impl TempDirectory {
    /// Creates the directory next to the command.
    pub fn new(name: &str) -> Self {
        let name = format!("midplane-test-{name}-{}", std::process::id());
        let directory = Self(command().with_file_name(name));
        fs::create_dir_all(&directory.0).unwrap();
        directory
    }

    /// Returns the path of a file in the directory.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the checklist of docs/porting.md on nodes with these options.
#[track_caller]
pub fn check_board(options: &[&str]) {
    let options = [options, &["--torus", "2x2x2"]].concat();
    // Links, clock, sleep, heap: the program checks them.
    let (ended, report) = run_with_report(&options, "board.c", &["7"]);
    // Exit: the program's status is the job's.
    let ended = ended.expect(7);
    // Console: both streams contain exactly the printed output.
    assert_eq!(
        ended.stdout.lines().collect::<Vec<_>>(),
        ["[0] board: 0 failed"],
        "{ended}"
    );
    assert!(ended.stderr.contains("[0] board: the other stream"), "{ended}");
    // Report: each rank has completed, and was idle while it waited.
    for rank in report["ranks"].as_array().expect("ranks") {
        assert_eq!(rank["state"], "done", "{rank}");
        assert!(rank["idle_ticks"].as_u64() > Some(0), "{rank}");
        // Stacks: the peak usage is known, except for Linux processes, whose system allocates them.
        for stack in ["stack", "interrupt_stack"] {
            let (stack, is_process) = (&rank[stack], options.contains(&"linux"));
            let bytes = |name: &str| stack[name].as_u64();
            let is_sound = bytes("peak_bytes") > Some(0) && bytes("peak_bytes") < bytes("bytes");
            assert!(is_process && stack.is_null() || is_sound, "{rank}");
        }
        // Each link was used in both directions, and none received malformed frames.
        let links = rank["links"].as_array().expect("links");
        assert_eq!(links.len(), 6, "{rank}");
        for link in links {
            let frames = |name: &str| link[name].as_u64();
            assert!(
                frames("frames_sent") > Some(0) && frames("frames_received") > Some(0),
                "{link}"
            );
        }
    }
    assert_eq!(total(&report, "link_defects"), 0);
    // Fault: its kind, and the source line of the program.
    let ended = run(&options, "fail_null.c", &[]).expect(1);
    ended.says(&["null pointer", "fail_null.c:"]);
}
