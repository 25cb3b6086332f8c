//! `midplane test`: runs all tests of the workspace and prints a summary. Long tests run only on request.

use crate::host::directories::SourceTree;
use crate::host::error::{self, CliError, ErrorContext};
use crate::host::setup;
use crate::host::signals::Signals;
use crate::host::sys;
use crate::show::console;
use midplane_setup::test_groups;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, kill_process_group};
use serde_json::Value;
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Totals of the test programs' results.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct TestCounts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl TestCounts {
    /// Adds a line of output if it is a test program's result; returns whether it is one.
    fn add(&mut self, line: &str) -> bool {
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return false;
        };
        let fields = result.split_once(". ").map_or("", |(_, fields)| fields);
        for field in fields.split(';') {
            let mut words = field.split_whitespace();
            let number = words.next().and_then(|n| n.parse::<u64>().ok());
            let (Some(number), Some(word)) = (number, words.next()) else {
                continue;
            };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
        true
    }
}

impl fmt::Display for TestCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

/// Creates a cargo command for tests of this workspace.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(setup::own_cargo());
    command
        .args(arguments)
        .current_dir(crate::host::directories::root())
        .stdin(Stdio::null());
    command
}

/// Returns the names of the workspace's integration tests that start no jobs.
fn other_tests() -> Result<Vec<String>, CliError> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(setup::no_cargo)?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).context("read the output of cargo metadata")?;
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let targets = { list(&metadata["packages"]).into_iter() }.flat_map(|package| list(&package["targets"]));
    let tests = targets.filter(|target| target["kind"][0] == "test");
    let names = tests.filter_map(|target| target["name"].as_str().map(String::from));
    let starts_jobs = |name: &String| test_groups::JOBS.concat().contains(&name.as_str());
    Ok(names.filter(|name| !starts_jobs(name)).collect())
}

/// Prefix of the reason for ignoring a test that only takes long. Other reasons are missing requirements of this
/// machine or build.
const LONG: &str = "takes ";

/// Parses the name of a test that was ignored because it takes long.
fn long_test(line: &str) -> Option<&str> {
    let (name, reason) = line.trim().strip_prefix("test ")?.split_once(" ... ignored, ")?;
    reason.starts_with(LONG).then_some(name)
}

/// Tests that a lane has ignored because they take long.
struct LongTestLane {
    /// Arguments of the lane, including the names of the tests.
    arguments: Vec<String>,
    tests: u64,
}

impl LongTestLane {
    /// Creates the lane for ignored tests; `None` if there are none.
    fn from_ignored(arguments: &[String], tests: &[String]) -> Option<Self> {
        let words = ["--", "--ignored", "--exact"].map(String::from);
        (!tests.is_empty()).then(|| Self {
            arguments: [arguments, &words, tests].concat(),
            tests: tests.len() as u64,
        })
    }
}

/// One `cargo test`; several may run in parallel.
struct TestLane {
    arguments: Vec<String>,
    /// Tests ignored because they take long.
    long: Vec<String>,
    child: Child,
    output: ChildStdout,
    /// Output since the last test program's result.
    section: Vec<u8>,
    /// Start of the last line in it.
    line: usize,
    /// Whether there was output: its tests are compiled, and it does not block other cargo commands.
    is_running: bool,
}

impl TestLane {
    /// Starts the lane with these arguments. It ends with this process.
    fn start(arguments: &[String]) -> Result<Self, CliError> {
        let mut command = cargo(&["test", "--no-fail-fast"]);
        command
            .args(arguments)
            .stdout(Stdio::piped())
            // A separate process group, so that a signal reaches all processes of the tests.
            .process_group(0);
        if let Ok(own) = std::env::current_exe() {
            command.env(test_groups::COMMAND, own);
        }
        sys::bind_to_this_process(&mut command, Signal::TERM, Vec::new());
        let mut child = command.spawn().map_err(setup::no_cargo)?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| CliError::failure("cargo test has no output"))?;
        Ok(Self {
            arguments: arguments.to_vec(),
            long: Vec::new(),
            child,
            output,
            section: Vec::new(),
            line: 0,
            is_running: false,
        })
    }

    /// Reads output and shows complete sections, so that those of two lanes do not mix. Returns false at the end.
    fn read(&mut self, counts: &mut TestCounts) -> Result<bool, CliError> {
        let mut buffer = [0; 8192];
        let bytes = { self.output.read(&mut buffer) }.context("read the output of the tests")?;
        for &byte in &buffer[..bytes] {
            self.section.push(byte);
            if byte == b'\n' {
                let line = String::from_utf8_lossy(&self.section[self.line..]);
                self.line = self.section.len();
                self.long.extend(long_test(&line).map(String::from));
                if counts.add(&line) {
                    self.show()?;
                }
            }
        }
        if bytes == 0 {
            self.show()?;
        }
        self.is_running = true;
        Ok(bytes > 0)
    }

    fn show(&mut self) -> Result<(), CliError> {
        self.line = 0;
        console::print_bytes(&std::mem::take(&mut self.section))
    }

    fn end(&mut self) {
        let _ = kill_process_group(sys::process_id(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Result of lanes.
struct LaneResult {
    /// Whether all tests have passed.
    succeeded: bool,
    /// Tests ignored because they take long.
    long: Vec<LongTestLane>,
}

/// Runs these lanes to completion. Adds a lane for each of the `later` arguments as soon as the running ones are
/// compiled.
fn run_lanes(
    lanes: &mut Vec<TestLane>,
    later: &[Vec<String>],
    signals: &Signals,
    counts: &mut TestCounts,
) -> Result<LaneResult, CliError> {
    let (mut succeeded, mut long) = (true, Vec::new());
    let mut later = later.iter().peekable();
    while !lanes.is_empty() || later.peek().is_some() {
        if lanes.iter().all(|lane| lane.is_running)
            && let Some(arguments) = later.next()
        {
            lanes.push(TestLane::start(arguments)?);
        }
        let outputs = lanes.iter().map(|lane| PollFd::new(&lane.output, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = outputs.collect();
        fds.extend(signals.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // The loop checks again, interrupted by a signal or not.
        let _ = poll(&mut fds, None);
        let ready = fds.iter().position(|fd| !fd.revents().is_empty());
        if let Some(stop) = signals.pending() {
            return Err(stop);
        }
        let Some(at) = ready.filter(|&at| at < lanes.len()) else {
            continue;
        };
        if !lanes[at].read(counts)? {
            let status = { lanes[at].child.wait() }.context("wait for cargo test")?;
            succeeded &= status.success();
            let lane = lanes.remove(at);
            long.extend(LongTestLane::from_ignored(&lane.arguments, &lane.long));
        }
    }
    Ok(LaneResult { succeeded, long })
}

/// Runs these lanes and the later ones to completion.
fn run_step(
    step: Vec<Vec<String>>,
    later: &[Vec<String>],
    signals: &Signals,
    counts: &mut TestCounts,
) -> Result<LaneResult, CliError> {
    let mut lanes = Vec::new();
    for arguments in step {
        lanes.push(TestLane::start(&arguments)?);
    }
    let ended = run_lanes(&mut lanes, later, signals, counts);
    // Ends lanes that still run after an error.
    lanes.iter_mut().for_each(TestLane::end);
    ended
}

/// Bytes below `target` that all tests require on a fresh machine, as in README.md.
const ROOM: u64 = 6 << 30;
/// Minimum free space with which a test that builds a program can pass.
const MIN_DISK_BYTES: u64 = 512 << 20;

/// Returns the free bytes on the file system of `target`.
fn free_bytes() -> Option<u64> {
    let root = rustix::fs::statvfs(crate::host::directories::root()).ok()?;
    Some(root.f_bavail.saturating_mul(root.f_frsize))
}

/// Returns a message if a disk's free bytes are too few.
fn low_disk_warning(free: u64) -> Option<String> {
    (free < MIN_DISK_BYTES).then(|| {
        format!(
            "{} MiB are free on the disk of the workspace; on a new machine the tests use {} GiB",
            free >> 20,
            ROOM >> 30
        )
    })
}

/// Options of `midplane test`.
#[derive(clap::Args)]
pub struct TestArgs {
    /// Also run the tests that take minutes
    #[arg(long)]
    all: bool,
}

/// Runs the tests; returns 0 if all passed.
pub fn run(options: &TestArgs) -> Result<u8, CliError> {
    if let SourceTree::Carried(_) = SourceTree::current() {
        return Err(CliError::unusable(
            "the tests require a checkout of Midplane; run `cargo midplane test` there",
        ));
    }
    if let Some(why) = free_bytes().and_then(low_disk_warning) {
        return Err(CliError::failure(why));
    }
    setup::ensure()?;
    let signals = Signals::catch()?;
    let others = other_tests()?;
    let words = |words: &[&str]| words.iter().copied().map(String::from).collect::<Vec<String>>();
    let named = |tests: &[&str]| {
        let tests = tests.iter().flat_map(|name| ["--test", name]);
        words(&[test_groups::PACKAGES].into_iter().chain(tests).collect::<Vec<&str>>())
    };
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let others = [named(&others), words(&["--lib", "--bins", "--examples"])].concat();
    let jobs = test_groups::JOBS.concat();
    let steps = [
        (vec![[named(&jobs), words(&["--no-run"])].concat()], vec![]),
        // All other tests are compiled while machines wait for each other.
        (
            test_groups::JOBS.map(named).into(),
            vec![others, words(&[test_groups::PACKAGES, "--doc"])],
        ),
    ];
    let mut counts = TestCounts::default();
    let mut succeeded = true;
    let mut long = Vec::new();
    for (step, later) in steps {
        let ended = run_step(step, &later, &signals, &mut counts)?;
        succeeded &= ended.succeeded;
        long.extend(ended.long);
        if !succeeded && counts == TestCounts::default() {
            // The tests do not compile.
            break;
        }
    }
    // One after the other: some require gigabytes.
    for lane in long.into_iter().filter(|_| options.all) {
        counts.skipped -= lane.tests;
        let ended = run_step(vec![lane.arguments], &[], &signals, &mut counts)?;
        succeeded &= ended.succeeded;
    }
    if !succeeded && counts.failed == 0 {
        console::print_error_line("midplane: tests did not compile, or a test program terminated early; see above");
        counts.failed = 1;
    }
    if counts.failed > 0
        && let Some(why) = free_bytes().and_then(low_disk_warning)
    {
        console::print_error_line(format!("midplane: {why}: some tests failed for this reason"));
    }
    console::print_line(counts)?;
    Ok(if counts.failed == 0 { 0 } else { error::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told() {
        assert_eq!(low_disk_warning(MIN_DISK_BYTES), None);
        let told = low_disk_warning(3 << 20).expect("too little");
        assert!(told.starts_with("3 MiB are free on the disk"), "{told}");
        assert!(free_bytes().is_some_and(|free| free > 0));
    }

    #[test]
    fn tests_that_take_long_are_known_by_their_reason() {
        let lines = [
            "test a::b ... ignored, takes minutes: a million of them",
            "test c ... ignored, needs valgrind",
            "test d ... ignored",
            "test e ... ok",
        ];
        let long: Vec<String> = { lines.iter() }
            .filter_map(|line| long_test(line).map(String::from))
            .collect();
        assert_eq!(long, ["a::b"]);
        let lane = LongTestLane::from_ignored(&["--workspace".into()], &long).expect("a lane");
        let words = ["--workspace", "--", "--ignored", "--exact", "a::b"];
        assert_eq!((lane.arguments, lane.tests), (words.map(String::from).into(), 1));
        assert!(LongTestLane::from_ignored(&[], &[]).is_none());
    }

    #[test]
    fn results_are_summed() {
        let mut counts = TestCounts::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.2s",
            "test result: nonsense",
        ] {
            assert_eq!(counts.add(line), line.starts_with("test result: "), "{line}");
        }
        assert_eq!(
            counts,
            TestCounts {
                passed: 14,
                failed: 1,
                skipped: 1
            }
        );
        assert_eq!(counts.to_string(), "14 passed, 1 failed, 1 skipped");
        assert_eq!(TestCounts::default().to_string(), "0 passed, 0 failed");
    }
}
