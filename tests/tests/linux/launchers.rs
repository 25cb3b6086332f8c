//! Executables started by launchers other than the tool: Slurm steps and process managers with PMI-1.
//!
//! The test starts the processes with the variables that the launcher sets, and serves PMI-1 itself.

use midplane_harness::{TempDirectory, midplane, program};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

/// A launcher with the interface that it offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Launcher {
    /// `srun` without a process management interface, on this many hosts.
    SlurmStep { hosts: u32 },
    /// PMI-1, with this mapping of ranks to hosts.
    Pmi { mapping: &'static str },
}

const SLURM: Launcher = Launcher::SlurmStep { hosts: 1 };
const PMI: Launcher = Launcher::Pmi {
    mapping: "(vector,(0,1,64))",
};

/// Processes of a job, in the order of their start.
struct LaunchedJob<'a> {
    launcher: Launcher,
    size: u32,
    number: u32,
    path: &'a str,
    arguments: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
    ranks: Vec<Child>,
    /// The requests of each rank over PMI.
    servers: Vec<JoinHandle<Vec<String>>>,
}

/// Serves PMI-1 to a rank until it closes the connection; returns its requests.
fn serve_pmi(stream: UnixStream, job: u32, mapping: &str) -> Vec<String> {
    let mut requests = Vec::new();
    let mut answers = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        let answer = match line.split(' ').next().unwrap() {
            "cmd=init" => "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1".to_owned(),
            "cmd=get_my_kvsname" => format!("cmd=my_kvsname rc=0 kvsname=test_{job}"),
            "cmd=get" => format!("cmd=get_result rc=0 value={mapping}"),
            "cmd=get_appnum" => "cmd=appnum rc=0 appnum=0".to_owned(),
            "cmd=finalize" => "cmd=finalize_ack rc=0".to_owned(),
            _ => String::new(),
        };
        requests.push(line);
        if !answer.is_empty() && writeln!(answers, "{answer}").is_err() {
            break;
        }
    }
    requests
}

impl<'a> LaunchedJob<'a> {
    /// Starts all processes of a job.
    fn start(
        launcher: Launcher,
        size: u32,
        path: &'a str,
        arguments: &'a [&'a str],
        variables: &'a [(&'a str, &'a str)],
    ) -> Self {
        let mut job = Self::new(launcher, size, path, arguments, variables);
        (0..size).for_each(|rank| job.start_rank(rank));
        job
    }

    /// A job without processes.
    fn new(
        launcher: Launcher,
        size: u32,
        path: &'a str,
        arguments: &'a [&'a str],
        variables: &'a [(&'a str, &'a str)],
    ) -> Self {
        static JOBS: AtomicU32 = AtomicU32::new(0);
        Self {
            launcher,
            size,
            // Unique on this machine: other tests run as well.
            number: std::process::id() * 64 + JOBS.fetch_add(1, Ordering::Relaxed),
            path,
            arguments,
            variables,
            ranks: Vec::new(),
            servers: Vec::new(),
        }
    }

    fn start_rank(&mut self, rank: u32) {
        let job = self.number;
        let mut command = Command::new(self.path);
        command.args(self.arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let numbers = |command: &mut Command, names: [&str; 2]| {
            command
                .env(names[0], rank.to_string())
                .env(names[1], self.size.to_string());
        };
        // Until the process has started.
        let mut _theirs = None;
        match self.launcher {
            Launcher::SlurmStep { hosts } => {
                numbers(&mut command, ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"]);
                command.env("SLURM_STEP_NUM_NODES", hosts.to_string());
                command.env("SLURM_JOB_ID", job.to_string()).env("SLURM_STEP_ID", "0");
            }
            Launcher::Pmi { mapping } => {
                let (ours, theirs) = UnixStream::pair().unwrap();
                rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::empty()).unwrap();
                numbers(&mut command, ["PMI_RANK", "PMI_SIZE"]);
                command.env("PMI_FD", theirs.as_raw_fd().to_string());
                self.servers.push(thread::spawn(move || serve_pmi(ours, job, mapping)));
                _theirs = Some(theirs);
            }
        }
        command.envs(self.variables.iter().copied());
        self.ranks.push(command.spawn().unwrap());
    }

    /// Waits for all processes; returns their output, and their requests over PMI.
    fn end(self) -> (Vec<Output>, Vec<Vec<String>>) {
        // Their output is short enough for the pipes.
        let outputs = { self.ranks.into_iter() }.map(|rank| rank.wait_with_output().unwrap());
        let outputs = outputs.collect();
        let requests = { self.servers.into_iter() }.map(|server| server.join().unwrap());
        (outputs, requests.collect())
    }
}

fn statuses(outputs: &[Output]) -> Vec<Option<i32>> {
    outputs.iter().map(|output| output.status.code()).collect()
}

fn stderr(outputs: &[Output]) -> String {
    { outputs.iter() }
        .map(|output| String::from_utf8_lossy(&output.stderr))
        .collect()
}

/// Returns the path of a program of `tests/programs`, linked for Linux.
fn linked(dir: &TempDirectory, name: &str) -> String {
    let path = dir.path(name);
    let source = program(&format!("{name}.c"));
    midplane(&["cc", "--on", "linux", "-O2", &source, "-o", &path]).expect(0);
    path
}

#[test]
fn processes_of_a_launcher_are_the_ranks_of_one_job() {
    let dir = TempDirectory::new("launchers-one-job");
    let killer = linked(&dir, "killer");
    for launcher in [SLURM, PMI] {
        for memory in ["32", "4K", "1M"] {
            let variables = [("MIDPLANE_MPI_MEMORY", memory), ("MIDPLANE_TORUS", "3x2x1")];
            let (outputs, requests) = LaunchedJob::start(launcher, 6, &killer, &["200", "64"], &variables).end();
            let printed = String::from_utf8_lossy(&outputs[0].stdout).into_owned();
            let begin = "killer: 6 processes, 200 messages of 64 bytes from each, ";
            let errors = stderr(&outputs);
            assert_eq!(statuses(&outputs), [Some(0); 6], "{launcher:?}, {memory}: {errors}");
            assert!(
                printed.starts_with(begin) && printed.ends_with(", 0 errors\n"),
                "{printed}"
            );
            for requests in requests {
                assert_eq!(requests.last().map(String::as_str), Some("cmd=finalize"));
            }
        }
    }
}

#[test]
fn a_rank_that_fails_ends_the_others_with_its_status() {
    let dir = TempDirectory::new("launchers-fail");
    for (name, status, words) in [
        (
            "fail_exit",
            3,
            "rank 3 at (1,1,0): the program ended with status 3 without MPI_Finalize",
        ),
        (
            "fail_mpi_abort",
            7,
            "rank 3 at (1,1,0): MPI_Abort was called with status 7",
        ),
    ] {
        let path = linked(&dir, name);
        for launcher in [SLURM, PMI] {
            let (outputs, requests) = LaunchedJob::start(launcher, 4, &path, &[], &[]).end();
            assert_eq!(statuses(&outputs), [Some(status); 4], "{name}, {launcher:?}");
            assert!(stderr(&outputs).contains(words), "{}", stderr(&outputs));
            if let Some(requests) = requests.last() {
                assert_eq!(requests.last(), Some(&format!("cmd=abort exitcode={status}")));
            }
        }
    }
}

#[test]
fn a_rank_that_starts_after_the_failure_of_another_has_its_status() {
    let dir = TempDirectory::new("launchers-late");
    let path = linked(&dir, "fail_exit");
    for launcher in [SLURM, PMI] {
        let mut job = LaunchedJob::new(launcher, 4, &path, &[], &[]);
        for rank in [0, 1, 3] {
            job.start_rank(rank);
        }
        // All that have started have gone.
        for rank in &mut job.ranks {
            assert_eq!(rank.wait().unwrap().code(), Some(3), "{launcher:?}");
        }
        job.start_rank(2);
        let (outputs, _) = job.end();
        assert_eq!(statuses(&outputs), [Some(3); 4], "{launcher:?}: {}", stderr(&outputs));
    }
}

#[test]
fn statuses_of_programs_that_end_well_are_their_own() {
    let dir = TempDirectory::new("launchers-status");
    let path = linked(&dir, "fail_status");
    let (outputs, _) = LaunchedJob::start(SLURM, 3, &path, &["5"], &[]).end();
    assert_eq!(statuses(&outputs), [Some(0), Some(0), Some(5)], "{}", stderr(&outputs));
}

#[test]
fn a_rank_that_is_killed_ends_the_others() {
    let dir = TempDirectory::new("launchers-kill");
    let path = linked(&dir, "idle");
    for killed in [0, 2] {
        let job = LaunchedJob::start(SLURM, 3, &path, &["60"], &[]);
        // At any time: before the processes have met, and after.
        thread::sleep(std::time::Duration::from_millis(100 * killed as u64));
        let rank = Pid::from_child(&job.ranks[killed]);
        kill_process(rank, Signal::KILL).unwrap();
        let (outputs, _) = job.end();
        let ended = { outputs.iter().enumerate() }.filter(|(rank, _)| *rank != killed);
        for (rank, output) in ended {
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "rank {rank}: {errors}");
        }
        assert_eq!(outputs[killed].status.signal(), Some(9));
    }
}

#[test]
fn jobs_that_cannot_be_one_are_rejected() {
    let dir = TempDirectory::new("launchers-rejected");
    let path = linked(&dir, "killer");
    let on_two_hosts = Launcher::Pmi {
        mapping: "(vector,(0,2,1))",
    };
    let cases = [
        (
            Launcher::SlurmStep { hosts: 2 },
            ("A", ""),
            "on 2 hosts, and all ranks must be on one",
        ),
        (on_two_hosts, ("A", ""), "on 2 hosts, and all ranks must be on one"),
        (
            SLURM,
            ("MIDPLANE_TORUS", "3x1x1"),
            "a torus of 3x1x1 nodes has no 2 ranks",
        ),
        (
            SLURM,
            ("MIDPLANE_MPI_MEMORY", "much"),
            "MIDPLANE_MPI_MEMORY=\"much\" is not a size",
        ),
        (PMI, ("PMI_SIZE", "two"), "PMI_SIZE=\"two\" is not valid"),
    ];
    for (launcher, variable, words) in cases {
        let (outputs, _) = LaunchedJob::start(launcher, 2, &path, &["1", "1"], &[variable]).end();
        assert_eq!(statuses(&outputs), [Some(1); 2], "{words}");
        let errors = stderr(&outputs);
        assert_eq!(errors.matches(words).count(), 2, "{errors}");
        assert!(
            errors.contains("rank 0: cannot start: ") && errors.contains("rank 1: cannot start: "),
            "{errors}"
        );
    }
}

/// Without the limit, the program would use up the memory of the host.
#[test]
fn the_memory_of_a_rank_is_limited() {
    let dir = TempDirectory::new("launchers-memory");
    let path = linked(&dir, "conf_exhaust");
    let variables = [("MIDPLANE_MPI_MEMORY", "32"), ("MIDPLANE_NODE_MEMORY", "8M")];
    let (outputs, _) = LaunchedJob::start(PMI, 2, &path, &[], &variables).end();
    let printed = String::from_utf8_lossy(&outputs[0].stdout).into_owned();
    assert!(
        printed.ends_with(" checks, 0 failed\n"),
        "{printed}{}",
        stderr(&outputs)
    );
}

/// Without this, each process would be a job of one rank, with a wrong result and status 0.
#[test]
fn an_unknown_launcher_of_several_processes_is_rejected() {
    let dir = TempDirectory::new("launchers-unknown");
    let path = linked(&dir, "killer");
    let run = |size: &str| {
        let mut command = Command::new(&path);
        command
            .args(["1", "1"])
            .env("OMPI_COMM_WORLD_SIZE", size)
            .output()
            .unwrap()
    };
    let output = run("2");
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        errors.contains("offers neither PMI-1 (PMI_FD) nor PMIx (PMIX_RANK)"),
        "{errors}"
    );
    assert_eq!(run("1").status.code(), Some(0), "a job of one process");
}
