//! `midplane soak`: random jobs on the real device until the time expires, random sequences for its matching engines,
//! and, in parallel, the explorations that take too long for `midplane test`.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use midplane_engines::EngineChoice;
use midplane_lab::explore::{Background, RowProgress, RowResult, cases};
use midplane_lab::matching as sequences;
use midplane_lab::sim::{JobReport, POLLING, SeededJob};
use midplane_setup::invocation::command_name;

use crate::host::capacity;
use crate::host::error::{self, CliError, ErrorContext};
use crate::host::signals::Signals;
use crate::lab::false_alarms;
use crate::run::limits;
use crate::show::console::{print_error_line, print_line};

/// Options of `midplane soak`.
#[derive(Args, Debug)]
#[command(
    after_help = "A failed job is identified by its seed. `cargo midplane soak --seed SEED --jobs 1` replays it and \
                  prints its program. Every eighth seed, and a single one, also generates a sequence of operations \
                  for the matching engines; a sequence that fails is minimized and printed. A seed generates the same \
                  job on any machine and in any later version (PCG32). Ctrl-C ends the command with the current \
                  totals.\n\nExample: cargo midplane soak --minutes 60"
)]
pub struct SoakArgs {
    /// Duration in minutes [default: 10; with --jobs or --calls: unlimited]
    #[arg(long, value_name = "MINUTES", value_parser = parse_minutes)]
    minutes: Option<f64>,

    /// Seed of the first job; each further job uses the next seed [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,

    /// Run this number of random jobs, and no explorations
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: Option<u64>,

    /// Run this number of jobs of random MPI calls instead, as processes and in the simulator, some with --check. The
    /// exit status is 1 if a correct job is reported as a hang or as misuse. Requires a checkout
    #[arg(long, value_name = "JOBS", conflicts_with_all = ["jobs", "matching"],
          value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,

    /// Matching engine [default: jobs use all engines in turn, selected by the seed; explorations use `default`]
    #[arg(long, value_name = "NAME", value_parser = limits::matching())]
    matching: Option<EngineChoice>,
}

/// Default duration in minutes.
const MINUTES: f64 = 10.0;
/// Interval between progress messages.
const NEWS: Duration = Duration::from_secs(60);
/// Memory of the largest exploration on the host, in bytes.
const EXPLORATION_BYTES: u64 = 10 << 30;
/// One in this many jobs uses polled receives.
const WITH_POLLS: u64 = 4;
/// One in this many seeds also draws a sequence for the matching engines; it takes as long as several jobs.
const SEQUENCES: u64 = 8;
/// Maximum number of failures before the soak stops.
const MAX_FAILURES: u64 = 20;

fn parse_minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e6 => Ok(minutes),
        _ => Err("a duration is a number of minutes above 0".into()),
    }
}

/// Totals of all jobs.
#[derive(Default)]
struct SoakTotals {
    jobs: u64,
    /// Jobs with RMA windows.
    with_windows: u64,
    failures: u64,
    /// Operations of the sequences for matching engines, each run with every engine.
    operations: u64,
    short: u64,
    messages: u64,
    rts: u64,
    ncts: u64,
    nctsd: u64,
    restarts: u64,
    steps: u64,
}

impl SoakTotals {
    fn add(&mut self, report: &JobReport) {
        self.short += u64::from(report.short.is_some());
        self.steps += report.steps;
        for stats in &report.stats {
            self.messages += stats.messages_received;
            self.rts += stats.rts_sent;
            self.ncts += stats.ncts_sent;
            self.nctsd += stats.nctsd_sent;
            self.restarts += stats.restarts_sent;
        }
    }
}

impl fmt::Display for SoakTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} jobs, {} with windows, {} failures; {} ended without free request slots; {} messages received, {} \
             RTS, {} rejected, {} recorded without a buffer, {} restarts; {:.1} million steps; {:.1} million \
             operations with each matching engine",
            self.jobs,
            self.with_windows,
            self.failures,
            self.short,
            self.messages,
            self.rts,
            self.ncts,
            self.nctsd,
            self.restarts,
            self.steps as f64 / 1e6,
            self.operations as f64 / 1e6
        )
    }
}

/// Runs until the time expires; returns the exit status.
pub fn run(options: &SoakArgs) -> Result<u8, CliError> {
    let signals = Signals::catch()?;
    let start = Instant::now();
    let jobs = options.jobs.or(options.calls);
    let minutes = match (options.minutes, jobs) {
        (None, None) => Some(MINUTES),
        (minutes, _) => minutes,
    };
    let time = minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes));
    let is_over = || time.is_some_and(|time| start.elapsed() >= time);
    let first = options.seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(0, |now| now.as_secs()) << 20
    });
    if let Some(jobs) = options.calls {
        return false_alarms::run(first, jobs, time, &signals);
    }
    let mut exploration = match options.jobs {
        Some(_) => None,
        None => Exploration::begin(options.matching.unwrap_or_default())?,
    };
    let mut sums = SoakTotals::default();
    let mut failed = Vec::new();
    let mut news = start;
    let mut stop = None;
    print_line(format_args!("random jobs, starting with seed {first}"))?;
    // Panics of the device are caught and reported once, with their seed.
    std::panic::set_hook(Box::new(|_| {}));
    while options.jobs.is_none_or(|jobs| sums.jobs < jobs) && sums.failures < MAX_FAILURES {
        let seed = first.wrapping_add(sums.jobs);
        // Not for the first one, so that a seed is replayed as specified.
        let polls = sums.jobs % WITH_POLLS == WITH_POLLS - 1;
        let seed = if polls { seed | POLLING } else { seed };
        let matching = options.matching.unwrap_or_else(|| select_engine(seed));
        let well = run_seed(seed, matching, options.jobs == Some(1), &mut sums)?;
        failed.extend((!well).then_some(seed));
        if news.elapsed() >= NEWS {
            news = Instant::now();
            print_line(format_args!(
                "{:.0} minutes: {sums}",
                start.elapsed().as_secs_f64() / 60.0
            ))?;
            if let Some(exploration) = &exploration {
                exploration.print_progress()?;
            }
        }
        if let Some(exploration) = &mut exploration {
            exploration.listen()?;
        }
        stop = signals.pending();
        if stop.is_some() || is_over() {
            break;
        }
    }
    let _ = std::panic::take_hook();
    let last = first.wrapping_add(sums.jobs - 1);
    print_line(format_args!("seeds {first} to {last}: {sums}"))?;
    let explored = exploration.map_or(Ok(true), Exploration::end)?;
    if let Some(stop) = stop {
        return Err(stop);
    }
    if !failed.is_empty() {
        let seeds: Vec<String> = failed.iter().map(u64::to_string).collect();
        print_error_line(format_args!("midplane: failures with seeds {}", seeds.join(", ")));
    }
    let all_well = failed.is_empty() && explored;
    Ok(if all_well { 0 } else { error::FAILURE })
}

/// Returns the engine of a seed's job, round robin.
fn select_engine(seed: u64) -> EngineChoice {
    EngineChoice::ALL[(seed % EngineChoice::ALL.len() as u64) as usize]
}

/// Runs a seed's job and, for some seeds, a sequence for the matching engines, and reports failures; returns true if
/// there are none. The `only` seed always draws a sequence, and its job is shown if it fails.
fn run_seed(seed: u64, matching: EngineChoice, only: bool, sums: &mut SoakTotals) -> Result<bool, CliError> {
    let before = sums.failures;
    let job = SeededJob::draw(seed).with_matching(matching);
    sums.jobs += 1;
    sums.with_windows += u64::from(job.program.windows.count > 0);
    match job.run() {
        Ok(report) => sums.add(&report),
        Err(failure) => {
            sums.failures += 1;
            print_failure(seed, matching, &failure, only.then_some(&job))?;
        }
    }
    if !(only || seed.is_multiple_of(SEQUENCES)) {
        return Ok(sums.failures == before);
    }
    match sequences::check(seed) {
        Ok(sequence) => sums.operations += sequence.ops.len() as u64,
        Err(counterexample) => {
            sums.failures += 1;
            print_failure(seed, matching, &counterexample, None)?;
        }
    }
    Ok(sums.failures == before)
}

/// Reports the seed of a failed job, and the job itself if it is the only one.
fn print_failure(
    seed: u64,
    matching: EngineChoice,
    failure: &impl fmt::Display,
    job: Option<&SeededJob>,
) -> Result<(), CliError> {
    print_line(format_args!(
        "seed {seed}: {failure}\n  replay: {} soak --seed {seed} --jobs 1 --matching {matching}",
        command_name()
    ))?;
    job.map_or(Ok(()), |job| print_line(format_args!("{job:#?}")))
}

/// The long cases of the explorer's table, in a thread that ends with the command.
struct Exploration {
    background: Background,
    cases: u64,
    failures: u64,
}

impl Exploration {
    /// Starts the exploration; prints a note and returns `None` if the host's memory is too small.
    fn begin(matching: EngineChoice) -> Result<Option<Self>, CliError> {
        let available = capacity::memory_available();
        if available < EXPLORATION_BYTES {
            print_line(format_args!(
                "no explorations: they use up to {} of memory, and {} are available",
                crate::host::size::approximate(EXPLORATION_BYTES),
                crate::host::size::approximate(available)
            ))?;
            return Ok(None);
        }
        let background = Background::begin(cases::long(), matching).context("start a thread")?;
        print_line("explorations in parallel, until they complete or the time expires")?;
        Ok(Some(Self {
            background,
            cases: 0,
            failures: 0,
        }))
    }

    /// Reports findings without blocking.
    fn listen(&mut self) -> Result<(), CliError> {
        for RowResult { name, result } in self.background.findings() {
            match result {
                Ok(explored) => {
                    self.cases += 1;
                    print_line(format_args!("explored {name}: {explored}"))?;
                }
                Err(surprise) => {
                    self.failures += 1;
                    print_line(format_args!("{name}: {surprise}"))?;
                }
            }
        }
        Ok(())
    }

    /// Reports the progress of the current case.
    fn print_progress(&self) -> Result<(), CliError> {
        if let Some(RowProgress { name, explored }) = self.background.progress() {
            print_line(format_args!("exploring {name}: {explored} so far"))?;
        }
        Ok(())
    }

    /// Stops the exploration; returns true if nothing failed.
    fn end(mut self) -> Result<bool, CliError> {
        let is_over = self.background.is_over();
        let stopped = self.background.stop();
        self.listen()?;
        if let Err(panic) = stopped {
            self.failures += 1;
            print_line(format_args!("explorations: panic: {panic}"))?;
        }
        let failed = self.failures > 0;
        print_line(format_args!(
            "explorations: {} cases completed{}{}",
            self.cases,
            if is_over { "" } else { ", then the time expired" },
            if failed { "; FAILED" } else { "" }
        ))?;
        Ok(!failed)
    }
}
