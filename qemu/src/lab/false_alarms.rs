//! `midplane soak --calls`: jobs of random MPI calls, as processes and in the simulator. The calls are correct, so that each
//! report of a hang or of misuse is a false alarm.

use crate::host::directories;
use crate::host::error::{self, CliError, ErrorContext};
use crate::host::signals::Signals;
use crate::show::console::{print_error_line, print_line};
use midplane_setup::invocation::command_name;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The program, relative to the checkout. It checks each value that it receives.
const PROGRAM: &str = "tests/programs/random_calls.c";
/// Steps of a job.
const STEPS: u64 = 40;
/// Steps of a long job, whose ranks the detector of hangs looks at several times.
const LONG_STEPS: u64 = 400;
/// One in this many jobs of processes is long.
const LONG: u64 = 8;
/// One in this many jobs is checked for misuse.
const CHECKED: u64 = 8;
/// Sizes of the MPI memory, in turn.
const MPI_MEMORY: [&str; 4] = ["32", "256", "4K", "1M"];
/// Maximum number of ranks of a job.
const MAX_RANKS: u64 = 8;
/// Time in seconds after which a job is ended. Only a hang that was not detected takes so long.
const TIMEOUT: &str = "120";
/// Interval between progress messages.
const NEWS: Duration = Duration::from_secs(60);
/// Maximum number of failures before the command stops.
const MAX_FAILURES: u64 = 20;

/// Returns the path of the program.
fn program() -> PathBuf {
    directories::root().join(PROGRAM)
}

/// A job, determined by its seed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct CallJob {
    seed: u64,
    on: &'static str,
    ranks: u64,
    mpi_memory: &'static str,
    steps: u64,
    is_checked: bool,
}

impl CallJob {
    /// Returns the job of a seed. Successive seeds vary one property after the other.
    fn from_seed(seed: u64) -> Self {
        let mut rest = seed;
        let mut next = |count: u64| {
            let choice = rest % count;
            rest /= count;
            choice
        };
        let is_simulated = next(2) == 0;
        let ranks = 1 + next(MAX_RANKS);
        let mpi_memory = MPI_MEMORY[next(MPI_MEMORY.len() as u64) as usize];
        let is_checked = next(CHECKED) == 0;
        let is_long = next(LONG) == 0 && !is_simulated && !is_checked;
        Self {
            seed,
            on: if is_simulated { "cluster" } else { "linux" },
            ranks,
            mpi_memory,
            steps: if is_long { LONG_STEPS } else { STEPS },
            is_checked,
        }
    }

    /// Returns the arguments of the command.
    fn arguments(&self) -> Vec<String> {
        let program = program();
        let mut words = ["run", "--quiet", "--on", self.on, "--timeout", TIMEOUT]
            .map(String::from)
            .to_vec();
        words.extend(["--nodes".into(), self.ranks.to_string()]);
        words.extend(["--mpi-memory".into(), self.mpi_memory.into()]);
        words.extend(self.is_checked.then(|| "--check".into()));
        words.extend([program.display().to_string(), "--".into()]);
        words.extend([self.steps.to_string(), self.seed.to_string()]);
        words
    }

    /// Runs the job in a process of this command. Returns its messages if it does not end well.
    fn run(&self) -> Result<Option<String>, CliError> {
        let own = std::env::current_exe().context("find this command")?;
        let output = Command::new(own)
            .args(self.arguments())
            .output()
            .context("start a job")?;
        let messages = [output.stdout, output.stderr].concat();
        Ok((!output.status.success()).then(|| String::from_utf8_lossy(&messages).into_owned()))
    }
}

/// Totals of all jobs.
#[derive(Default)]
struct AlarmTotals {
    jobs: u64,
    simulated: u64,
    long: u64,
    checked: u64,
    hangs: u64,
    misuses: u64,
    others: u64,
}

impl AlarmTotals {
    fn add(&mut self, job: &CallJob, failure: Option<&str>) {
        self.jobs += 1;
        self.simulated += u64::from(job.on == "cluster");
        self.long += u64::from(job.steps == LONG_STEPS);
        self.checked += u64::from(job.is_checked);
        match failure {
            None => {}
            Some(text) if text.contains("the job hangs") => self.hangs += 1,
            Some(text) if text.contains("--check has found") && !text.contains("no misuse") => self.misuses += 1,
            Some(_) => self.others += 1,
        }
    }

    fn failures(&self) -> u64 {
        self.hangs + self.misuses + self.others
    }
}

impl fmt::Display for AlarmTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} jobs of random calls, {} of processes ({} long), {} in the simulator, {} with --check: {} reports of a \
             hang, {} of misuse, {} other failures",
            self.jobs,
            self.jobs - self.simulated,
            self.long,
            self.simulated,
            self.checked,
            self.hangs,
            self.misuses,
            self.others
        )
    }
}

/// Runs this number of jobs, or as many as end in `time`; returns the exit status.
///
/// # Errors
/// Returns a usage error if the program is missing, a failure if a job cannot be started, and the status of a signal that
/// ends the command.
pub fn run(first: u64, jobs: u64, time: Option<Duration>, signals: &Signals) -> Result<u8, CliError> {
    if !program().exists() {
        return Err(CliError::usage(format!(
            "--calls requires a checkout of Midplane, which contains {PROGRAM}"
        )));
    }
    let start = Instant::now();
    let mut totals = AlarmTotals::default();
    let mut news = start;
    print_line(format_args!("jobs of random calls, starting with seed {first}"))?;
    while totals.jobs < jobs && totals.failures() < MAX_FAILURES {
        let job = CallJob::from_seed(first.wrapping_add(totals.jobs));
        let failure = job.run()?;
        if let Some(stop) = signals.pending() {
            print_line(format_args!("{totals}"))?;
            return Err(stop);
        }
        totals.add(&job, failure.as_deref());
        if let Some(text) = failure {
            print_error_line(format_args!(
                "{text}midplane: seed {}: {} {}",
                job.seed,
                command_name(),
                job.arguments().join(" ")
            ));
        }
        if news.elapsed() >= NEWS {
            news = Instant::now();
            let minutes = start.elapsed().as_secs_f64() / 60.0;
            print_line(format_args!("{minutes:.0} minutes: {totals}"))?;
        }
        if time.is_some_and(|time| start.elapsed() >= time) {
            break;
        }
    }
    print_line(format_args!("{totals}"))?;
    Ok(if totals.failures() == 0 { 0 } else { error::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_seeds_contain_all_kinds_of_jobs() {
        let mut totals = AlarmTotals::default();
        let mut sizes = Vec::new();
        for seed in 0..4096 {
            let job = CallJob::from_seed(seed);
            totals.add(&job, None);
            sizes.push((job.on, job.ranks, job.mpi_memory));
        }
        sizes.sort_unstable();
        sizes.dedup();
        assert_eq!(
            sizes.len(),
            2 * 8 * 4,
            "each platform with each number of ranks and each memory"
        );
        assert_eq!((totals.simulated, totals.checked), (2048, 512));
        assert!(totals.long > 100 && totals.failures() == 0);
    }

    #[test]
    fn failures_are_counted_by_their_kind() {
        let job = CallJob::from_seed(0);
        let mut totals = AlarmTotals::default();
        for text in [
            "midplane: the job hangs: each rank ..",
            "midplane: --check has found 2 misuses of MPI",
            "midplane: --check has found no misuse of MPI, but the program has failed",
        ] {
            totals.add(&job, Some(text));
        }
        assert_eq!((totals.hangs, totals.misuses, totals.others), (1, 1, 1));
    }
}
