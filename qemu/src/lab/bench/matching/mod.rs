//! Comparison of the matching engines: memory, searches, traffic, instructions, and messages on a node.

mod count;
mod drawing;
mod memory;
mod row;
mod self_send;
mod shared;
mod time;

use crate::host::error::CliError;
use crate::host::signals::Signals;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use clap::{Args, ValueEnum};
use midplane_lab::matching::{ENGINES, NamedEngine};
use std::path::PathBuf;

pub use count::{LoopArgs, run_loop};
use shared::MatchingBench;

/// Experiment with the matching engines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MatchingPart {
    /// Bytes in addition to receives and records: table 4.5 of 001
    Memory,
    /// Searches of long queues from the head and from the end: figure 3 of 000, section 4.6.2 of 001
    Search,
    /// Collectives as in section 5.2 of 002, and queues of the length of the papers' applications
    Traffic,
    /// Instructions of searches, counted by valgrind's callgrind
    Instructions,
    /// Instructions of a self-send on a node in QEMU, with 10 and with 1,000,000 other posted receives or unexpected
    /// messages
    #[value(name = "self")]
    SelfSend,
}

/// Options of `midplane bench matching`.
#[derive(Args, Debug)]
pub struct MatchingArgs {
    /// Experiment [default: all]
    #[arg(value_enum)]
    part: Option<MatchingPart>,

    /// Engines, separated by commas; `list` is always measured [default: all]
    #[arg(long, value_delimiter = ',', value_parser = parse_engine)]
    engines: Vec<NamedEngine>,

    /// Runs of each test with each engine; the result is the median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Use up to 1,048,576 senders instead of 4,096
    #[arg(long)]
    all: bool,

    /// Write one line per engine and test to this file. Requires an experiment, because each has different columns
    #[arg(long, value_name = "FILE", requires = "part")]
    csv: Option<PathBuf>,

    /// Draw the times of `search` to this file; also possible if all experiments are run
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Engine that all others are compared with.
const REFERENCE: &str = "list";

fn parse_engine(name: &str) -> Result<NamedEngine, String> {
    let known = || ENGINES.iter().map(|engine| engine.name);
    let found = ENGINES.iter().find(|engine| engine.name == name);
    found
        .copied()
        .ok_or_else(|| format!("engines are {}", known().collect::<Vec<_>>().join(", ")))
}

/// Measures the engines; returns the exit status.
pub fn run(options: &MatchingArgs) -> Result<u8, CliError> {
    if options.svg.is_some() && options.part.is_some_and(|part| part != MatchingPart::Search) {
        return Err(CliError::usage(
            "--svg: only `search` is drawn; select `search` or no experiment",
        ));
    }
    // Before the long measurement.
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let is_wanted = |engine: &&NamedEngine| {
        let wanted = options.engines.iter().any(|other| other.name == engine.name);
        engine.name == REFERENCE || wanted || options.engines.is_empty()
    };
    let bench = MatchingBench {
        engines: ENGINES.iter().filter(is_wanted).copied().collect(),
        runs: options.runs,
        all: options.all,
        signals: Signals::catch()?,
    };
    let is_asked = |part| options.part.is_none_or(|asked| asked == part);
    let mut csv = String::new();
    if is_asked(MatchingPart::Memory) {
        csv = memory::run(&bench)?;
    }
    if is_asked(MatchingPart::Search) {
        let rows = time::searches(&bench)?;
        csv = crate::show::table::csv(&rows)?;
        if let Some(file) = svg_file {
            file.write(&drawing::draw(&rows)?)?;
        }
    }
    if is_asked(MatchingPart::Traffic) {
        csv = crate::show::table::csv(&time::traffics(&bench)?)?;
    }
    if is_asked(MatchingPart::Instructions) {
        match crate::host::setup::in_path("valgrind") {
            Some(_) => csv = count::run(&bench)?,
            None if options.part.is_none() => {
                print_line("no instruction counts: valgrind is not installed")?;
            }
            None => {
                return Err(CliError::unusable(
                    "bench matching: valgrind is not installed; it counts the instructions",
                ));
            }
        }
    }
    if is_asked(MatchingPart::SelfSend) {
        match self_send::check() {
            Ok(()) => csv = self_send::run(&bench)?,
            Err(stop) if options.part.is_some() => return Err(stop),
            Err(stop) => print_line(format_args!("the part in QEMU is omitted: {stop}"))?,
        }
    }
    if let Some(file) = csv_file {
        file.write(&csv)?;
    }
    Ok(0)
}
