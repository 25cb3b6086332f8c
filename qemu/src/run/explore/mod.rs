//! `midplane explore`: runs a program in the simulator in every order in which its messages can match.

mod program;
mod search;

use self::program::ExploredProgram;

use self::search::{ScheduleFinding, SearchCounts, SearchEnd, SearchLimits, SearchResult, search};
use crate::build::inputs::BuildFlags;
use crate::build::linux::{self, ProcessContent};
use crate::build::source::Program;
use crate::host::capacity::{DEFAULT_MPI_MEMORY, DEFAULT_NODE_MEMORY};
use crate::host::error::{CliError, FAILURE};
use crate::host::signals::Signals;
use crate::run::command::{self, CompileOptions, DisplayOptions, ReportOptions, parse_timeout};
use crate::run::job::OnHang;
use crate::run::match_schedule::read_schedule;
use crate::run::output::OutputStyle;
use crate::run::plan::{Backend, JobPlan, PlannedApp};
use crate::run::{limits, topology};
use crate::show::console::{print_error_line, print_line};
use crate::show::file::ResultFile;
use clap::Args;
use midplane_lab::MAX_MISSED_POLLS;
use net_torus::coord::Shape;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default maximum number of runs.
const MAX_RUNS: u64 = 10_000;
/// Default maximum duration in seconds.
const MAX_SECONDS: &str = "300";
/// Default number of ranks.
const RANKS: &str = "4";
/// Extension of the file of a schedule.
const EXTENSION: &str = "schedule";

/// Options of `midplane explore`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 if all schedules agree, 1 if one fails or differs, 2 if the command line or the program \
                  cannot be used.\n\nExample: cargo midplane explore -n 4 main.c -- arguments"
)]
pub struct ExploreOptions {
    /// Number of ranks, arranged as nearly as possible as a cube; -np is an alias
    #[arg(short = 'n', long, value_name = "RANKS", default_value = RANKS, value_parser = topology::parse_nodes,
          help_heading = "Machine")]
    nodes: [u16; 3],

    /// Maximum size of an eager message, at most 64K. Larger messages wait for the receiver's CTS [default: 8K]
    #[arg(long, value_name = "SIZE", value_parser = limits::parse_eager, help_heading = "Machine")]
    eager: Option<u64>,

    /// End after this number of runs
    #[arg(long, value_name = "NUMBER", default_value_t = MAX_RUNS, value_parser = clap::value_parser!(u64).range(1..),
          help_heading = "Limits")]
    max_runs: u64,

    /// End after this time
    #[arg(long, value_name = "SECONDS", default_value = MAX_SECONDS, value_parser = parse_timeout,
          allow_negative_numbers = true, help_heading = "Limits")]
    max_time: Duration,

    /// Accept different outputs: only failures and deadlocks are findings
    #[arg(long, help_heading = "Output")]
    any_output: bool,

    /// Continue after a finding, and report the number of schedules that have one
    #[arg(long, help_heading = "Limits")]
    all: bool,

    /// Write the schedule of the first finding to this file [default: the program's name with .schedule]
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with = "schedule",
        help_heading = "Output"
    )]
    output: Option<PathBuf>,

    /// Run the program once, with the decisions in this file. `run --on cluster --schedule` does the same
    #[arg(long, value_name = "FILE", help_heading = "Replay")]
    schedule: Option<PathBuf>,

    #[command(flatten)]
    compile: CompileOptions,

    /// Variable of the program's environment
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Program")]
    env: Vec<OsString>,

    /// Binary of a package that contains several
    #[arg(long, value_name = "NAME", help_heading = "Program")]
    bin: Option<String>,

    /// Files in C and Fortran (.c, .f90, .o, .a), a Rust file (.rs), the directory or Cargo.toml of a cargo package, or a
    /// linked image
    #[arg(value_name = "PROGRAM", required = true)]
    program: Vec<PathBuf>,

    /// Arguments of the program
    #[arg(value_name = "ARGUMENTS", last = true)]
    arguments: Vec<OsString>,
}

impl ExploreOptions {
    fn limits(&self) -> SearchLimits {
        SearchLimits {
            runs: self.max_runs,
            time: self.max_time,
            any_output: self.any_output,
            all: self.all,
        }
    }

    fn flags(&self) -> BuildFlags {
        BuildFlags {
            compile: self.compile.compile(),
            link: self.compile.link(),
            ..BuildFlags::default()
        }
    }

    /// Returns the file for the schedule of a finding.
    fn output(&self, program: &Program) -> PathBuf {
        let default = || Path::new(&program.name()).with_extension(EXTENSION);
        self.output.clone().unwrap_or_else(default)
    }
}

/// Runs the command; returns the exit status.
pub fn run(options: &ExploreOptions) -> Result<u8, CliError> {
    let shape = Shape::new(options.nodes, [true; 3]).ok_or_else(|| CliError::usage("-n: 1 to 65536 ranks"))?;
    let program = Program::classify(&options.program, options.bin.as_deref())?;
    let specified = options.compile.specified_options().into_iter();
    let specified: Vec<_> = specified
        .filter_map(|(given, option)| given.then_some(option))
        .collect();
    program.check_flags(&specified)?;
    if let Some(file) = &options.schedule {
        read_schedule(file)?;
    }
    let image = linux::build(&program, &options.flags(), ProcessContent::Cluster)?;
    let (argv, environment) = (
        command::argv(&program, &options.arguments),
        command::environment(&options.env)?,
    );
    let app = PlannedApp {
        argv: &argv,
        environment: &environment,
        ..PlannedApp::from_image(&image)
    };
    let plan = JobPlan {
        apps: vec![app],
        mpi_memory: DEFAULT_MPI_MEMORY,
        eager: options.eager,
        ..JobPlan::for_machine(Backend::Cluster, &image, shape, DEFAULT_NODE_MEMORY)
    };
    if let Some(file) = &options.schedule {
        return replay(plan, file, &program);
    }
    let result = {
        let mut explored = ExploredProgram::start(&plan)?;
        search(&mut explored, &options.limits())?
    };
    let Some(finding) = &result.finding else {
        print_line(format_args!("all schedules agree: {}", summary(&result)))?;
        return Ok(0);
    };
    print_line(format_args!("schedule {}: {}", finding.number, finding.reason))?;
    let SearchCounts {
        findings, schedules, ..
    } = result.counts;
    print_line(format_args!(
        "{findings} of {schedules} schedules fail or differ: {}",
        summary(&result)
    ))?;
    let file = options.output(&program);
    ResultFile::open(&file)?.write(&schedule_text(finding, &program, &shape))?;
    print_error_line(format_args!(
        "midplane: the schedule is in {}; its run:",
        file.display()
    ));
    replay(plan, &file, &program)?;
    Ok(FAILURE)
}

/// Runs the program with a schedule, and shows its output and its result; returns the exit status.
fn replay(plan: JobPlan<'_>, file: &Path, program: &Program) -> Result<u8, CliError> {
    let plan = JobPlan {
        schedule: Some(file),
        ..plan
    };
    let report = ReportOptions::default();
    let shown = DisplayOptions {
        quiet: true,
        links: false,
        style: OutputStyle::Prefixed,
        program: program.path().display().to_string(),
        arguments: Vec::new(),
        programs: Vec::new(),
    };
    let signals = Signals::catch()?;
    let files = report.open_files(&plan.shape)?;
    command::show(
        &plan,
        None,
        report.limits(OnHang::default()),
        &signals,
        &shown,
        files,
        &mut |_| (),
    )
}

/// Returns the text of a finding's schedule.
fn schedule_text(finding: &ScheduleFinding, program: &Program, shape: &Shape) -> String {
    let lines: String = { finding.schedule.iter() }
        .map(|decision| format!("{decision}\n"))
        .collect();
    format!(
        "# {} on {} ranks: {}\n# Each line: the receiving rank, the source of the message it matches, and all \
         alternatives.\n{lines}",
        program.path().display(),
        shape.nodes(),
        finding.reason,
    )
}

/// Returns the counts and the coverage of a search.
fn summary(result: &SearchResult) -> String {
    let SearchResult { counts, time, end, .. } = result;
    let coverage = match end {
        SearchEnd::Finding => "the search ends at the first finding".into(),
        SearchEnd::Complete if counts.has_polls => format!(
            "all match orders are covered, with up to {MAX_MISSED_POLLS} poll in succession that misses a message"
        ),
        SearchEnd::Complete => "all match orders are covered".into(),
        SearchEnd::Runs => format!(
            "{:.1} % of the match orders are covered: --max-runs",
            100.0 * counts.covered
        ),
        SearchEnd::Time => format!(
            "{:.1} % of the match orders are covered: --max-time",
            100.0 * counts.covered
        ),
    };
    let seconds = time.as_secs_f64();
    format!("{counts}; {coverage} ({} in {seconds:.2} s)", runs(result))
}

/// Returns the number of runs as text.
fn runs(result: &SearchResult) -> String {
    let SearchResult { counts, .. } = result;
    let runs = counts.schedules + counts.redundant;
    let plural = if runs == 1 { "" } else { "s" };
    match counts.redundant {
        0 => format!("{runs} run{plural}"),
        redundant => format!("{runs} runs, {redundant} of them redundant"),
    }
}
