//! The killer benchmark in QEMU.

use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup;
use crate::host::signals::Signals;
use crate::lab::bench::boot;
use crate::lab::bench::row::{KillerRow, MemorySetting, RunIn, middle, print_row};
use crate::show::console::print_line;
use midplane_abi::counters::Counter;
use midplane_engines::EngineChoice;
use serde_json::Value;
use std::path::Path;

/// Machines and message sizes in QEMU.
const MACHINES: [[u16; 3]; 2] = [[2, 2, 2], [4, 2, 2]];
const SIZES: [usize; 2] = [1 << 10, 10 << 10];
const MESSAGES: u32 = 5;
/// Time limit of a job in QEMU in seconds.
const PATIENCE: &str = "120";

/// Clock of the measurement.
#[derive(Clone, Copy)]
pub enum JobClock<'a> {
    /// Instruction count of all nodes together, one instruction per nanosecond.
    Instructions,
    /// The host's clock. The optional number of instances must divide all machines' nodes.
    Host(Option<&'a str>),
}

impl JobClock<'_> {
    /// Returns the options of `midplane run` for one run.
    fn options(self, run: u32) -> Vec<String> {
        match self {
            // Counts of identical runs are equal. A boot that takes one more instruction changes the relative timing of
            // nodes.
            Self::Instructions => vec!["--count-instructions".into(), "--env".into(), format!("RUN={run}")],
            Self::Host(None) => vec![],
            Self::Host(Some(instances)) => vec!["--instances".into(), instances.into()],
        }
    }
}

/// Common parameters of the jobs in QEMU.
struct JobSettings<'a> {
    matching: EngineChoice,
    clock: JobClock<'a>,
    /// File for their reports.
    report: &'a Path,
    signals: &'a Signals,
}

/// Time and counters of one job in QEMU.
struct EmulatedJob {
    ns: f64,
    ncts: f64,
    restarts: f64,
}

/// Runs each setting `runs` times.
pub fn run(
    runs: u32,
    clock: JobClock<'_>,
    matching: EngineChoice,
    signals: &Signals,
    rows: &mut Vec<KillerRow>,
) -> Result<(), CliError> {
    if !setup::has_qemu() {
        return print_line(format_args!("the part in QEMU is omitted: {}", setup::no_qemu()));
    }
    let report = directories::target().join(format!("bench-report-{}.json", std::process::id()));
    let boots = JobSettings {
        matching,
        clock,
        report: &report,
        signals,
    };
    let each = MACHINES.into_iter().flat_map(|m| SIZES.map(|bytes| (m, bytes)));
    let mut done = Ok(());
    for (extents, bytes) in each {
        done = setting(extents, bytes, runs, &boots, rows);
        if done.is_err() {
            break;
        }
    }
    let _ = std::fs::remove_file(&report);
    done
}

/// Runs one setting with ample and with low memory.
fn setting(
    extents: [u16; 3],
    bytes: usize,
    runs: u32,
    boots: &JobSettings<'_>,
    rows: &mut Vec<KillerRow>,
) -> Result<(), CliError> {
    let nodes = extents.iter().map(|&e| u32::from(e)).product::<u32>();
    let amounts = [
        MemorySetting::Ample,
        MemorySetting::Minimum,
        MemorySetting::MinimumAndFifth,
    ];
    let mut taken: [Vec<EmulatedJob>; 3] = Default::default();
    // Alternates, so that other load on the host affects all settings alike.
    for run in 0..runs {
        for (memory, taken) in amounts.iter().zip(&mut taken) {
            let mpi_memory = memory.bytes(MESSAGES, nodes, bytes);
            taken.push(boots.boot(extents, bytes, mpi_memory, run)?);
        }
    }
    let received = f64::from((nodes - 1) * MESSAGES);
    let middle = |runs: &[EmulatedJob], of: fn(&EmulatedJob) -> f64| middle(runs.iter().map(of));
    let base = middle(&taken[0], |run| run.ns);
    for (memory, runs) in amounts.into_iter().zip(&taken) {
        let ns = middle(runs, |run| run.ns);
        let row = KillerRow {
            place: RunIn::Qemu,
            nodes,
            messages: MESSAGES,
            bytes,
            memory,
            memory_bytes: memory.bytes(MESSAGES, nodes, bytes),
            time_us: ns / 1e3,
            overhead: ns / base,
            ncts_per_message: middle(runs, |run| run.ncts) / received,
            restarts_per_message: middle(runs, |run| run.restarts) / received,
        };
        print_row(row, rows)?;
    }
    Ok(())
}

impl JobSettings<'_> {
    /// Runs `tests/programs/killer.c` with `midplane run`, and parses its output and report.
    fn boot(&self, extents: [u16; 3], bytes: usize, mpi_memory: usize, run: u32) -> Result<EmulatedJob, CliError> {
        let [x, y, z] = extents;
        let mut options = vec!["--timeout", PATIENCE, "--matching", self.matching.name()];
        let (torus, memory) = (format!("{x}x{y}x{z}"), mpi_memory.to_string());
        options.extend(["--torus", &torus, "--mpi-memory", &memory]);
        let clock = self.clock.options(run);
        options.extend(clock.iter().map(String::as_str));
        let report = self.report.display().to_string();
        options.extend(["--report", &report]);
        let (messages, bytes) = (MESSAGES.to_string(), bytes.to_string());
        let said = boot::run(&options, "killer.c", &[&messages, &bytes], self.signals)?;
        let seconds = boot::seconds(&said)
            .ok_or_else(|| CliError::failure(format!("killer.c did not print its duration:\n{said}")))?;
        let text = std::fs::read_to_string(self.report).context("read the job's report")?;
        let report: Value = serde_json::from_str(&text).context("read the job's report")?;
        let count = |counter: Counter| {
            let value = &report["ranks"][0][counter.about().name];
            value.as_f64().unwrap_or(f64::NAN)
        };
        Ok(EmulatedJob {
            ns: seconds * 1e9,
            ncts: count(Counter::NctsSent),
            restarts: count(Counter::RestartsSent),
        })
    }
}
