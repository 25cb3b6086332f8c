//! Options that analyse the MPI calls of a job, and the results.

use crate::host::error::CliError;
use crate::run::job_result::JobResult;
use crate::run::output::LineAssembler;
use crate::run::plan::JobPlan;
use crate::run::report::{JobFacts, page_facts};
use crate::show::file::ResultFile;
use clap::Args;
use midplane_trace::check::{self, CheckedJob, Finding, MAX_FINDINGS};
use midplane_trace::job::JobTrace;
use midplane_trace::messages::Messages;
use midplane_trace::operations::JobOperations;
use midplane_trace::page::{self, PageInput};
use midplane_trace::perfetto;
use midplane_trace::record::CorruptStream;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

/// Analyses of a job's MPI calls.
#[derive(Args, Debug)]
pub struct AnalysisOptions {
    /// Write the calls, messages and counters of all ranks to this file, for Perfetto (ui.perfetto.dev)
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    trace: Option<PathBuf>,

    /// Write one HTML page: packets of the torus, communication matrix, time line, memory over time, tables of the ranks
    /// and functions
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    html: Option<PathBuf>,

    /// Find misuse of MPI: datatypes that do not match, buffers that are used too early, objects that are not freed,
    /// and more. The job takes longer
    #[arg(long, help_heading = "Analysis")]
    check: bool,
}

impl AnalysisOptions {
    /// Checks whether the calls must be recorded.
    pub fn is_recorded(&self) -> bool {
        self.trace.is_some() || self.html.is_some() || self.check
    }

    /// Checks whether misuse is searched for.
    pub fn is_checked(&self) -> bool {
        self.check
    }

    /// Returns the first specified option.
    pub fn first_specified(&self) -> Option<&'static str> {
        let options = [
            (self.trace.is_some(), "--trace"),
            (self.html.is_some(), "--html"),
            (self.check, "--check"),
        ];
        options.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// Opens the files before the job.
    ///
    /// # Errors
    /// Returns a usage error if a file cannot be written, or if both are the same.
    pub fn open_files(&self) -> Result<Analysis, CliError> {
        let (trace, html) = ResultFile::open_both(self.trace.as_ref(), self.html.as_ref())?;
        Ok(Analysis {
            trace,
            html,
            check: self.check,
        })
    }
}

/// Analyses to make after the job.
#[derive(Debug, Default)]
pub struct Analysis {
    trace: Option<ResultFile>,
    html: Option<ResultFile>,
    check: bool,
}

impl Analysis {
    /// Analyses the calls of a job, writes the files and prints the findings. Returns the number of misuses:
    /// the findings without warnings.
    ///
    /// # Errors
    /// Returns a failure if a file cannot be written.
    pub fn write(
        self,
        plan: &JobPlan<'_>,
        facts: &JobFacts,
        end: &JobResult,
        lines: &mut LineAssembler,
    ) -> Result<usize, CliError> {
        let Some(calls) = &end.calls else {
            return Ok(0);
        };
        for (rank, trace) in calls.ranks.iter().enumerate() {
            if let Some(CorruptStream { word }) = trace.corrupt {
                lines.add_line(&format!(
                    "midplane: rank {rank}: the records of its calls are invalid after {word} words: the program has \
                     overwritten them; the analysis omits the rest"
                ));
            }
        }
        let is_truncated = calls.ranks.iter().any(|rank| rank.is_truncated);
        if is_truncated {
            lines.add_line(
                "midplane: the job has made more MPI calls than the analysis can contain; it contains the first of each rank",
            );
        }
        let locator = LineLocator::new(plan, calls);
        let operations = JobOperations::collect(calls);
        let messages = Messages::find(&operations);
        let locate = |rank, address| locator.locate(rank, address);
        if let Some(file) = self.trace {
            file.write_with(|to| perfetto::write(to, calls, &operations, &messages, &locate))?;
        }
        if let Some(file) = self.html {
            let input = PageInput {
                facts: &page_facts::collect(&plan.shape, facts, &plan.backend, end),
                job: calls,
                operations: &operations,
                messages: &messages,
                locate: &locate,
            };
            file.write_with(|to| page::write(to, &input))?;
        }
        if !self.check {
            return Ok(0);
        }
        if is_truncated {
            // The missing calls would be taken for misuse.
            return Err(CliError::failure(
                "--check requires the records of all calls; reduce the number of calls or of ranks",
            ));
        }
        let findings = check::findings(&CheckedJob::new(calls, &operations, &messages, &locate));
        Ok(print_findings(&findings, lines))
    }
}

/// Prints the findings, and returns the number of misuses.
fn print_findings(findings: &[Finding], lines: &mut LineAssembler) -> usize {
    for finding in findings.iter().take(MAX_FINDINGS) {
        let times = match finding.times {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let kind = if finding.class.is_warning() { "warning: " } else { "" };
        lines.add_line(&format!(
            "midplane: {kind}{}: {}{times}",
            finding.class.name(),
            finding.text
        ));
    }
    let misuses = findings.iter().filter(|finding| !finding.class.is_warning()).count();
    lines.add_line(&match misuses {
        0 => "midplane: --check has found no misuse of MPI".into(),
        1 => "midplane: --check has found one misuse of MPI".to_string(),
        number if number > MAX_FINDINGS => {
            format!("midplane: --check has found {number} misuses of MPI; the first {MAX_FINDINGS} are printed")
        }
        number => format!("midplane: --check has found {number} misuses of MPI"),
    });
    misuses
}

/// Source lines of return addresses. Each is determined once for a program.
struct LineLocator<'p> {
    plan: &'p JobPlan<'p>,
    calls: &'p JobTrace,
    known: RefCell<HashMap<(u32, u64), Option<String>>>,
}

impl<'p> LineLocator<'p> {
    fn new(plan: &'p JobPlan<'p>, calls: &'p JobTrace) -> Self {
        Self {
            plan,
            calls,
            known: RefCell::default(),
        }
    }

    /// Returns the line that contains a call, as `function at file:line`. `None` without debug information.
    fn locate(&self, rank: usize, address: u64) -> Option<String> {
        let rank = u32::try_from(rank).ok()?;
        let calls = &self.calls.ranks[rank as usize];
        if calls.is_rust() {
            return calls.source_lines.get(&address).cloned();
        }
        let (app, planned) = self.plan.app(rank);
        let mut known = self.known.borrow_mut();
        let line = known.entry((app, address));
        let describe = || planned.image.describe(address.saturating_sub(1)).into_iter().next();
        line.or_insert_with(describe).clone()
    }
}
