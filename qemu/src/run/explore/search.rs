//! The search over all schedules: runs, their comparison with the first one, and the coverage.

use super::program::{ExploredProgram, ProgramRun, RankOutput, RunEnd};
use crate::host::error::CliError;
use crate::show::console::print_error_bytes;
use midplane_lab::match_orders::{DecisionKind, MatchDecision, next_schedule};
use signal_hook::consts::{SIGKILL, SIGXCPU};
use std::fmt;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Interval of the progress line on a terminal.
const PROGRESS: Duration = Duration::from_millis(200);
/// Maximum number of characters of an output that a message repeats.
const SHOWN_CHARACTERS: usize = 200;
/// The part of all schedules that is 1 if the search is complete.
const ALL: f64 = 1.0;

/// Limits of a search, and the compared results.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    pub runs: u64,
    pub time: Duration,
    /// Outputs may differ.
    pub any_output: bool,
    /// The search continues after a finding.
    pub all: bool,
}

/// Reason for the end of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchEnd {
    /// All schedules were run.
    Complete,
    Finding,
    Runs,
    Time,
}

/// A schedule that fails, or that prints something else than the first one.
#[derive(Debug)]
pub struct ScheduleFinding {
    /// Its number in the order of the search, from 1 on.
    pub number: u64,
    pub schedule: Vec<MatchDecision>,
    pub reason: String,
}

/// Statistics of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchCounts {
    /// Different schedules that were run to their ends.
    pub schedules: u64,
    /// Schedules that fail or differ.
    pub findings: u64,
    /// Runs that other schedules cover.
    pub redundant: u64,
    /// Different decisions, which are the inner nodes of the tree.
    pub decisions: u64,
    /// There were polls, whose number is limited.
    pub has_polls: bool,
    /// Part of the tree that was covered, from 0 to 1: each alternative of a decision counts the same.
    pub covered: f64,
}

/// Result of a search.
pub struct SearchResult {
    pub counts: SearchCounts,
    pub time: Duration,
    /// The first finding, if there is one.
    pub finding: Option<ScheduleFinding>,
    pub end: SearchEnd,
}

/// Runs the program with all schedules, until one fails or differs or a limit is reached.
///
/// # Errors
/// Returns a failure if the program cannot be run, or if it makes other decisions when it is repeated.
pub fn search(program: &mut ExploredProgram, limits: &SearchLimits) -> Result<SearchResult, CliError> {
    let mut progress = ProgressLine::new();
    let (mut counts, mut planned) = (SearchCounts::default(), Vec::new());
    let (mut first, mut finding): (Option<ProgramRun>, Option<ScheduleFinding>) = (None, None);
    let end = loop {
        let run = program.run(&planned)?;
        counts.add(&run, planned.len());
        if run.end == RunEnd::Foreign {
            return Err(CliError::failure(
                "the program makes other decisions when a schedule is repeated: it depends on the time, on random numbers \
                 or on files",
            ));
        }
        let reason = match &first {
            _ if run.end == RunEnd::Redundant => None,
            None => failure(&run),
            Some(first) => failure(&run).or_else(|| difference(first, &run, limits)),
        };
        if let Some(reason) = reason {
            counts.findings += 1;
            finding.get_or_insert_with(|| ScheduleFinding {
                number: counts.schedules,
                schedule: run.decisions.clone(),
                reason,
            });
            if !limits.all {
                break SearchEnd::Finding;
            }
        }
        let next = next_schedule(&planned, run.decisions.clone());
        first.get_or_insert(run);
        match next {
            None => {
                counts.covered = ALL;
                break SearchEnd::Complete;
            }
            Some(next) => planned = next,
        }
        counts.covered = covered_before(&planned);
        if counts.schedules + counts.redundant >= limits.runs {
            break SearchEnd::Runs;
        }
        if progress.began.elapsed() >= limits.time {
            break SearchEnd::Time;
        }
        progress.show(&counts);
    };
    progress.clear();
    Ok(SearchResult {
        counts,
        time: progress.began.elapsed(),
        finding,
        end,
    })
}

impl SearchCounts {
    /// Adds a run that began with this number of planned decisions.
    fn add(&mut self, run: &ProgramRun, planned: usize) {
        match run.end {
            RunEnd::Redundant => self.redundant += 1,
            _ => self.schedules += 1,
        }
        self.decisions += run.decisions.len().saturating_sub(planned) as u64;
        self.has_polls |= run.decisions.iter().any(|decision| decision.kind == DecisionKind::Poll);
    }
}

/// Returns the part of the tree before the schedules with these planned decisions, in depth-first order.
fn covered_before(planned: &[MatchDecision]) -> f64 {
    let (mut covered, mut part) = (0.0, ALL);
    for decision in planned {
        part /= decision.alternatives.len() as f64;
        covered += part * decision.taken as f64;
    }
    covered
}

/// Describes the failure of a run; `None` if all programs ended with status 0.
fn failure(run: &ProgramRun) -> Option<String> {
    match &run.end {
        RunEnd::Statuses(statuses) => {
            let failed = (0..).zip(statuses).find(|(_, status)| **status != 0);
            failed.map(|(rank, status): (u32, _)| format!("rank {rank} ends with status {status}"))
        }
        RunEnd::Hang(waiting) => {
            let waiting: Vec<String> = { waiting.iter() }
                .map(|waiting| format!("rank {} waits in {}", waiting.rank, waiting.function))
                .collect();
            Some(format!("deadlock: {}", waiting.join(", ")))
        }
        RunEnd::Abort(status) => Some(format!(
            "the job ends with status {status}: {}",
            last_message(&run.stderr)
        )),
        // The signals of the limit of CPU time.
        RunEnd::Signal(SIGXCPU | SIGKILL) => Some("the program computes without end".into()),
        RunEnd::Signal(signal) => Some(format!(
            "a program ends by signal {signal}: {}",
            last_message(&run.stderr)
        )),
        RunEnd::Redundant | RunEnd::Foreign => None,
    }
}

/// Describes the first difference of a run from the first one.
fn difference(first: &ProgramRun, run: &ProgramRun, limits: &SearchLimits) -> Option<String> {
    if limits.any_output || first.stdout == run.stdout {
        return None;
    }
    let mut ranks = first.stdout.keys().chain(run.stdout.keys());
    let rank = ranks.find(|rank| first.stdout.get(rank) != run.stdout.get(rank))?;
    let text = |run: &ProgramRun| run.stdout.get(rank).cloned().unwrap_or_default();
    let [expected, found] = first_different_lines(&text(first), &text(run));
    let source = rank.map_or("a library".into(), |rank| format!("rank {rank}"));
    Some(format!("{source} prints {found}, and in the first schedule {expected}"))
}

/// Returns the first lines in which two outputs differ, in quotes.
fn first_different_lines(one: &[u8], other: &[u8]) -> [String; 2] {
    let lines = |text: &[u8]| -> Vec<String> { String::from_utf8_lossy(text).lines().map(str::to_owned).collect() };
    let (one, other) = (lines(one), lines(other));
    let at = { one.iter().zip(&other) }
        .take_while(|(one, other)| one == other)
        .count();
    [one, other].map(|lines| match lines.get(at) {
        None => "nothing more".into(),
        Some(line) => format!("\"{}\"", line.chars().take(SHOWN_CHARACTERS).collect::<String>()),
    })
}

/// Returns the last message of an error output: that of a rank if there is one, else the last line.
fn last_message(stderr: &RankOutput) -> String {
    let text: Vec<u8> = stderr.values().flatten().copied().collect();
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<&str> = text.lines().collect();
    // A panic of a Rust program has several lines: its place, then its message.
    let reported = lines.iter().rposition(|line| line.starts_with("rank "));
    if let Some(at) = reported {
        lines.truncate(if lines[at].ends_with(':') { at + 2 } else { at + 1 });
    }
    let first = reported.unwrap_or(lines.len().saturating_sub(1));
    let message = match &lines[first..] {
        [] => "no message".into(),
        lines => lines.join(" "),
    };
    message.chars().take(SHOWN_CHARACTERS).collect()
}

impl fmt::Display for SearchCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number| if number == 1 { "" } else { "s" };
        let SearchCounts {
            schedules, decisions, ..
        } = *self;
        write!(
            f,
            "{schedules} schedule{}, {decisions} decision{}",
            plural(schedules),
            plural(decisions)
        )
    }
}

/// Progress line on a terminal.
struct ProgressLine {
    began: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl ProgressLine {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            shown: None,
            is_terminal: stderr().is_terminal(),
        }
    }

    fn show(&mut self, counts: &SearchCounts) {
        let last = self.shown.unwrap_or(self.began);
        if !self.is_terminal || last.elapsed() < PROGRESS {
            return;
        }
        self.shown = Some(Instant::now());
        let seconds = self.began.elapsed().as_secs();
        let covered = 100.0 * counts.covered;
        print_error_bytes(format!("\r\x1b[K{counts}, {covered:.1} % covered after {seconds} s").as_bytes());
    }

    fn clear(&self) {
        if self.shown.is_some() {
            print_error_bytes(b"\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_lab::match_orders::parse_schedule;

    #[test]
    fn the_coverage_weighs_the_alternatives_of_each_decision_equally() {
        let covered = |text| covered_before(&parse_schedule(text).expect("a schedule"));
        assert_eq!(covered(""), 0.0);
        assert_eq!(covered("rank 0 receive 2 of 1 2"), 0.5);
        assert_eq!(covered("rank 0 receive 2 of 1 2\nrank 0 receive 3 of 1 3"), 0.75);
    }

    #[test]
    fn the_first_different_line_is_shown() {
        assert_eq!(first_different_lines(b"a\nb\n", b"a\nc\n"), ["\"b\"", "\"c\""]);
        assert_eq!(first_different_lines(b"a\n", b""), ["\"a\"", "nothing more"]);
    }
}
