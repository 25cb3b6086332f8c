//! `midplane top`: the state of running jobs.

use midplane_harness::{CommandRun, CompletedRun, LIMIT, TempDirectory, command, program};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time within which a job starts; its program may have to be compiled.
const STARTS_WITHIN: Duration = Duration::from_secs(200);

/// A private runtime directory, and a job in it.
struct ObservedJob {
    runtime: String,
    run: CommandRun,
}

impl ObservedJob {
    /// Starts a job whose ranks 0 and 1 wait for each other.
    fn start(directory: &TempDirectory, on: &str) -> Self {
        let runtime = directory.0.display().to_string();
        let path = program("hang.c");
        let arguments = [
            "run",
            "--on",
            on,
            "--nodes",
            "4",
            "--on-hang",
            "wait",
            "--timeout",
            LIMIT,
            &path,
            "--",
            "tags",
        ];
        let run = CommandRun::start_in(&arguments, &[("XDG_RUNTIME_DIR", &runtime)]);
        Self { runtime, run }
    }

    fn top(&self, arguments: &[&str]) -> CompletedRun {
        top(&self.runtime, arguments)
    }

    fn pid(&self) -> String {
        self.run.child.id().to_string()
    }

    /// Waits until ranks 0 and 1 are blocked, and returns the state.
    fn wait_until_blocked(&self) -> Value {
        let until = Instant::now() + STARTS_WITHIN;
        loop {
            let ended = self.top(&["--json", &self.pid()]);
            let state: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
            let is_in = |rank: usize| {
                let activity = state["ranks"][rank]["activity"].as_str();
                activity.is_some_and(|activity| activity.starts_with("in MPI_Recv (peer "))
            };
            if is_in(0) && is_in(1) {
                return state;
            }
            assert!(Instant::now() < until, "{ended}");
            sleep(Duration::from_millis(100));
        }
    }
}

/// Runs `midplane top`. It is no job: it takes none of the places for jobs, for which it would wait forever.
fn top(runtime: &str, arguments: &[&str]) -> CompletedRun {
    let output = Command::new(command())
        .arg("top")
        .args(arguments)
        .env("XDG_RUNTIME_DIR", runtime)
        .stdin(Stdio::null())
        .output()
        .expect("the command ends");
    CompletedRun {
        status: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn the_state_of_running_jobs_is_shown() {
    let directory = TempDirectory::new("top");
    let runtime = directory.0.display().to_string();
    top(&runtime, &["--once"]).expect(1).says(&["no job of this user runs"]);
    let job = ObservedJob::start(&directory, "linux");
    let state = job.wait_until_blocked();
    assert_eq!(state["ranks"].as_array().map(Vec::len), Some(4));
    assert!(
        state["program"]
            .as_str()
            .is_some_and(|program| program.ends_with("hang.c"))
    );
    assert_eq!(state["torus"], serde_json::json!([2, 2, 1]));
    assert!(state["ranks"][0]["packets_sent"].as_u64() > Some(0), "{state}");
    assert_eq!(state["ranks"][0]["links"].as_array().map(Vec::len), Some(4));
    let table = job.top(&["--once", "--sort", "packets"]).expect(0).stdout;
    for text in ["packets/s", "in MPI_Recv (peer 0, tag 21)", "(1,1,0)"] {
        assert!(table.contains(text), "no {text:?} in {table}");
    }
    // Without a process ID, two jobs are listed.
    let other = ObservedJob::start(&directory, "cluster");
    other.wait_until_blocked();
    let [one, two] = [&job, &other].map(|job| format!("\n  {}  ", job.pid()));
    let names = ["several jobs run", &one, &two, "hang.c on 2x2x1 nodes"];
    job.top(&[]).expect(2).says(&names);
    let pid = job.pid();
    for ObservedJob { run, .. } in [job, other] {
        run.signal(Signal::INT);
        run.end().expect(130);
    }
    top(&runtime, &[&pid])
        .expect(1)
        .says(&["does not exist; its job may have ended"]);
}
