//! Comparison of the matching engines: memory, searches, traffic, instructions, and messages on a node.

mod count;
mod drawing;
mod memory;
mod oneself;
mod row;
mod time;

use crate::host::signals::Signals;
use crate::host::stop::Stop;
use crate::show::file::ResultFile;
use crate::show::say::say;
use clap::{Args, ValueEnum};
use midplane_lab::matching::{ENGINES, NamedEngine};
use std::path::PathBuf;

pub use count::{LoopArgs, run_loop};

/// What to measure of the engines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Bytes beside receives and records: table 4.5 of 001
    Memory,
    /// Long queues searched from their heads and from their ends: figure 3 of 000, section 4.6.2 of 001
    Search,
    /// Collectives as in section 5.2 of 002, and queues as long as the papers' applications have them
    Traffic,
    /// Instructions of searches, by valgrind's callgrind
    Instructions,
    /// Instructions of a message to oneself on a node in QEMU, with 10 and with 1,000,000 other receives posted or other
    /// messages waiting
    #[value(name = "self")]
    Oneself,
}

/// Options of `midplane bench matching`.
#[derive(Args, Debug)]
pub struct MatchingArgs {
    /// What to measure; everything if it is not given
    #[arg(value_enum)]
    part: Option<Part>,

    /// Engines, separated by commas; all of them if it is not given. `list` is always measured
    #[arg(long, value_delimiter = ',', value_parser = parse_engine)]
    engines: Vec<NamedEngine>,

    /// Runs of each test by each engine in turn; the medians count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Up to 1048576 senders, instead of 4096
    #[arg(long)]
    all: bool,

    /// Write a line per engine and test to this file; needs a part, since each has columns of its own
    #[arg(long, value_name = "FILE", requires = "part")]
    csv: Option<PathBuf>,

    /// Draw the times of `search` to this file; where everything is measured, too
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

/// State that the parts share.
struct Bench {
    /// Engines; the first one is the reference.
    engines: Vec<NamedEngine>,
    runs: u32,
    all: bool,
    signals: Signals,
}

impl Bench {
    /// Returns an error after a signal.
    fn go_on(&self) -> Result<(), Stop> {
        self.signals.pending().map_or(Ok(()), Err)
    }
}

/// Measures the engines; returns the exit status.
pub fn run(options: &MatchingArgs) -> Result<u8, Stop> {
    if options.svg.is_some() && options.part.is_some_and(|part| part != Part::Search) {
        return Err(Stop::usage(
            "--svg: only `search` is drawn; ask for that part, or for none",
        ));
    }
    // Before the long measurement.
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let is_wanted = |engine: &&NamedEngine| {
        let wanted = options
            .engines
            .iter()
            .any(|other| other.name == engine.name);
        engine.name == REFERENCE || wanted || options.engines.is_empty()
    };
    let bench = Bench {
        engines: ENGINES.iter().filter(is_wanted).copied().collect(),
        runs: options.runs,
        all: options.all,
        signals: Signals::catch()?,
    };
    let is_asked = |part| options.part.is_none_or(|asked| asked == part);
    let mut csv = String::new();
    if is_asked(Part::Memory) {
        csv = memory::run(&bench)?;
    }
    if is_asked(Part::Search) {
        let rows = time::searches(&bench)?;
        csv = crate::show::table::csv(&rows)?;
        if let Some(file) = svg_file {
            file.write(&drawing::draw(&rows)?)?;
        }
    }
    if is_asked(Part::Traffic) {
        csv = crate::show::table::csv(&time::traffics(&bench)?)?;
    }
    if is_asked(Part::Instructions) {
        match crate::host::setup::in_path("valgrind") {
            Some(_) => csv = count::run(&bench)?,
            None if options.part.is_none() => {
                say("no instructions: valgrind is not installed, which counts them")?;
            }
            None => {
                return Err(Stop::usage(
                    "bench matching: valgrind is not installed; it counts the instructions",
                ));
            }
        }
    }
    if is_asked(Part::Oneself) {
        match oneself::check() {
            Ok(()) => csv = oneself::run(&bench)?,
            Err(stop) if options.part.is_some() => return Err(stop),
            Err(stop) => say(format_args!("no part in QEMU: {stop}"))?,
        }
    }
    if let Some(file) = csv_file {
        file.write(&csv)?;
    }
    Ok(0)
}
