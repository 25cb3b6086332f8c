//! `midplane cluster`: simulates N nodes in one process, in virtual time; command line, table, CSV and drawing. Runs a
//! built-in program in this process, or a C program with `run --on cluster`.

use crate::host::error::CliError;
use crate::host::invocation::one_line;
use crate::host::resource_usage::ResourceUsage;
use crate::host::signals::Signals;
use crate::host::size;
use crate::run::command::{self, RunOptions};
use crate::run::job_result::JobResult;
use crate::run::{limits, report, topology};
use crate::show::console::{print_error_line, print_line};
use crate::show::file::ResultFile;
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use crate::show::table::{self, Column, Table, six_places};
use clap::{Args, Parser, ValueEnum};
use midplane_abi::counters::Counter;
use midplane_device::region::BLOCK_BYTES;
use midplane_lab::JobFailure;
use midplane_lab::scale::{RunProgress, ScaleProgram, ScaleRun};
use midplane_lab::timed::{CostChange, OperationCosts};
use plotters::style::RGBColor;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::slice;
use std::time::{Duration, Instant};

/// Maximum message or vector in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of nodes: that of the papers.
const MAX_NODES: u64 = 65_536;
/// Interval between progress messages.
const WORD: Duration = Duration::from_secs(10);

/// Options of `midplane cluster`.
#[derive(Args, Debug)]
#[command(
    after_help = "Every simulated node contains the MPI device, the router and the links of a real node. A cost model \
                  of Blue Gene/L determines the time of links and processors. The same command always prints the same \
                  result.\n\nExamples: cargo midplane cluster killer --nodes 1024,4096 --mpi-memory 4K,ample --csv \
                  out.csv\n\x20         cargo midplane cluster -n 512,4096 --csv out.csv program.c -- arguments"
)]
pub struct ClusterArgs {
    /// Built-in program, or files in C and Fortran (.c, .f90, .o, .a). Built-in programs: killer (all ranks send to rank 0, which receives in
    /// reverse order), barrier, allreduce (a sum), all-to-all (pairwise exchange) and neighbour (each rank sends to the
    /// next along X). Each rank of another program has separate data
    #[arg(value_name = "PROGRAM", required = true)]
    program: Vec<OsString>,

    /// Numbers of nodes, separated by commas; each machine is arranged as nearly as possible as a cube
    #[arg(short = 'n', long, value_name = "NODES", value_delimiter = ',', default_value = "64",
          value_parser = parse_nodes, conflicts_with = "torus", help_heading = "Machine")]
    nodes: Vec<MachineExtents>,

    /// Extents of the machine along X, Y and Z. Replaces --nodes
    #[arg(long, value_name = "XxYxZ", value_parser = parse_torus, help_heading = "Machine")]
    torus: Option<MachineExtents>,

    /// MPI memory of rank 0, separated by commas: sizes, or `ample` for unlimited memory. The other ranks use 4K. For C
    /// programs: the MPI memory of each rank; `ample` is not supported
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "4K", value_parser = parse_memory,
          help_heading = "Memory")]
    mpi_memory: Vec<MemoryOption>,

    /// Bytes of each message, or of each process's part [default: 1K; allreduce and neighbour: 8; all-to-all: 256]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Built-in programs")]
    bytes: Option<u64>,

    /// Number of messages of each sender, exchanges, or calls of the collective [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Built-in programs")]
    repeats: Option<u32>,

    /// Seed of the devices' hash tables [default: 1]
    #[arg(long, help_heading = "Built-in programs")]
    seed: Option<u64>,

    /// Number of host processors. The result does not depend on it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = limits::processors(),
          help_heading = "Simulator")]
    processors: usize,

    /// Change a value of the cost model, which describes Blue Gene/L: link_ns_per_byte, hop_ns, packet_ns, call_ns,
    /// search_ns, copy_ns_per_byte or interrupt_ns. For programs in C and Fortran also compute_percent, which converts the
    /// program's CPU time on this host to virtual time, and compute_ns_per_block, the time of a basic block that the
    /// program executes (default of both: 0)
    #[arg(long, value_name = "NAME=VALUE", value_parser = CostChange::parse, help_heading = "Simulator")]
    cost: Vec<CostChange>,

    #[command(flatten)]
    c: CProgramOptions,

    /// Print neither progress nor the report of a C program
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,

    /// Write one line per run to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,

    /// Draw time as a function of the number of nodes to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,

    /// Arguments of the program
    #[arg(value_name = "ARGUMENTS", last = true, help_heading = None)]
    arguments: Vec<OsString>,
}

/// Options of `run` that programs in C have here, too: they are passed on as they are.
#[derive(Args, Debug)]
#[command(next_help_heading = "C and Fortran programs (as for run)")]
struct CProgramOptions {
    /// Variable of the program's environment
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,

    /// Export a variable with its current value
    #[arg(short = 'x', value_name = "NAME[=VALUE]")]
    export: Vec<OsString>,

    /// Stack of each rank
    #[arg(long, value_name = "SIZE")]
    stack: Option<OsString>,

    /// Maximum size of an eager message; larger messages wait for the receiver's CTS
    #[arg(long, value_name = "SIZE")]
    eager: Option<OsString>,

    /// Maximum share of CPU time, in percent, that interrupt handling may use while the program sleeps
    #[arg(long, value_name = "PERCENT")]
    interrupts: Option<OsString>,

    /// Matching engine
    #[arg(long, value_name = "NAME")]
    matching: Option<OsString>,

    /// Dimensions without wrap-around links
    #[arg(long, value_name = "DIMENSIONS")]
    mesh: Option<OsString>,

    /// End a job after this time and print the call of each rank
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<OsString>,

    /// Write the report of the last job to this file as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<OsString>,

    /// Header directory for the C compiler
    #[arg(short = 'I', value_name = "DIRECTORY")]
    include: Vec<OsString>,

    /// Macro for the C compiler
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<OsString>,

    /// Library to link
    #[arg(short = 'l', value_name = "LIBRARY")]
    library: Vec<OsString>,

    /// Additional options for the C compiler
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    cflags: Vec<OsString>,
}

impl CProgramOptions {
    /// Returns the specified options in the syntax of `run`.
    fn words(&self) -> Vec<OsString> {
        let given: [(&str, &[OsString]); 13] = [
            ("--stack", self.stack.as_slice()),
            ("--eager", self.eager.as_slice()),
            ("--interrupts", self.interrupts.as_slice()),
            ("--matching", self.matching.as_slice()),
            ("--mesh", self.mesh.as_slice()),
            ("--timeout", self.timeout.as_slice()),
            ("--report", self.report.as_slice()),
            ("--env", &self.env),
            ("-x", &self.export),
            ("-I", &self.include),
            ("-D", &self.define),
            ("-l", &self.library),
            ("--cflags", &self.cflags),
        ];
        // In one word, because a value may begin with a hyphen.
        let word = |name: &str, value: &OsString| {
            let mut word = OsString::from(name);
            if name.starts_with("--") {
                word.push("=");
            }
            word.push(value);
            word
        };
        let words = given
            .iter()
            .flat_map(|(name, values)| values.iter().map(|value| word(name, value)));
        words.collect()
    }
}

/// `run`, as it is called for a program in C.
#[derive(Parser)]
#[command(name = "run", no_binary_name = true)]
struct RunArguments {
    #[command(flatten)]
    options: RunOptions,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum BuiltinProgram {
    /// All send to rank 0, which receives in the reverse order (killer benchmark)
    Killer,
    /// MPI_Barrier
    Barrier,
    /// MPI_Allreduce, a sum
    Allreduce,
    /// Each exchanges a message with each other, one after the other
    AllToAll,
    /// Each sends a message to the next along X
    Neighbour,
}

impl BuiltinProgram {
    fn program(self) -> ScaleProgram {
        match self {
            BuiltinProgram::Killer => ScaleProgram::Killer,
            BuiltinProgram::Barrier => ScaleProgram::Barrier,
            BuiltinProgram::Allreduce => ScaleProgram::Allreduce,
            BuiltinProgram::AllToAll => ScaleProgram::AllToAll,
            BuiltinProgram::Neighbour => ScaleProgram::Neighbour,
        }
    }

    fn name(self) -> &'static str {
        match self {
            BuiltinProgram::Killer => "killer",
            BuiltinProgram::Barrier => "barrier",
            BuiltinProgram::Allreduce => "allreduce",
            BuiltinProgram::AllToAll => "all-to-all",
            BuiltinProgram::Neighbour => "neighbour",
        }
    }

    /// Returns the default number of bytes.
    fn bytes(self) -> u64 {
        match self {
            BuiltinProgram::Killer => 1024,
            BuiltinProgram::Barrier => 0,
            BuiltinProgram::Allreduce | BuiltinProgram::Neighbour => 8,
            BuiltinProgram::AllToAll => 256,
        }
    }
}

/// A machine with these extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineExtents(pub [u16; 3]);

/// Parses a number of nodes; returns the machine closest to a cube.
///
/// # Errors
/// Returns the reason if a cluster does not support the number.
pub fn parse_nodes(text: &str) -> Result<MachineExtents, String> {
    let extents = topology::parse_nodes(text)?;
    machine(extents)
}

fn parse_torus(text: &str) -> Result<MachineExtents, String> {
    machine(topology::parse_extents(text)?)
}

fn machine(extents: [u16; 3]) -> Result<MachineExtents, String> {
    match extents.map(u64::from).iter().product() {
        2..=MAX_NODES => Ok(MachineExtents(extents)),
        _ => Err(format!("a simulated machine has 2 to {MAX_NODES} nodes")),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryOption {
    Ample,
    Bytes(u64),
}

fn parse_memory(text: &str) -> Result<MemoryOption, String> {
    match text {
        "ample" => Ok(MemoryOption::Ample),
        _ => limits::parse_mpi_memory(text).map(MemoryOption::Bytes),
    }
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    match size::parse(text) {
        Ok(bytes @ 0..=MAX_BYTES) => Ok(bytes),
        Ok(_) => Err(format!("at most {}", size::exact(MAX_BYTES))),
        Err(error) => Err(error),
    }
}

/// Result of one run.
#[derive(Clone, Debug, Serialize)]
struct ClusterRow {
    program: String,
    nodes: u64,
    torus: String,
    /// `None` for C programs.
    repeats: Option<u32>,
    bytes: Option<u64>,
    /// MPI memory of rank 0.
    mpi_memory: usize,
    #[serde(serialize_with = "six_places")]
    time_us: f64,
    messages: u64,
    refusals: u64,
    restarts: u64,
    peak_bytes: usize,
    /// `None` for C programs.
    peer_bytes: Option<usize>,
    #[serde(serialize_with = "six_places")]
    host_seconds: f64,
    /// CPU time of the process that contains the nodes, including their creation.
    #[serde(serialize_with = "six_places")]
    processor_seconds: f64,
    /// Peak memory of this process.
    memory_bytes: u64,
    /// Changes of the cost model, separated by spaces.
    costs: String,
}

impl ClusterRow {
    /// Returns the host's CPU time per message in microseconds.
    fn microseconds_per_message(&self) -> f64 {
        self.processor_seconds * 1e6 / self.messages.max(1) as f64
    }
}

const TABLE: Table<ClusterRow> = Table {
    columns: &[
        Column::right("nodes", 6, |r| r.nodes.to_string()),
        Column::right("MPI\nmemory", 9, |r| r.mpi_memory.to_string()),
        Column::right("time\n(us)", 11, |r| format!("{:.1}", r.time_us)),
        Column::right("messages", 9, |r| r.messages.to_string()),
        Column::right("rejected", 8, |r| r.refusals.to_string()),
        Column::right("restarts", 8, |r| r.restarts.to_string()),
        Column::right("peak\n(bytes)", 8, |r| r.peak_bytes.to_string()),
        Column::right("host's\n(s)", 6, |r| format!("{:.2}", r.processor_seconds)),
        Column::right("us per\nmessage", 7, |r| format!("{:.1}", r.microseconds_per_message())),
        Column::right("memory\n(MiB)", 6, |r| (r.memory_bytes >> 20).to_string()),
    ],
    keys: 2,
    gap: 1,
};

/// Explains the columns of the table.
const LEGEND: &str = "rejected: NCTS sent; restarts: resend requests; host's: CPU time of the host";

/// Runs the requested jobs; returns the exit status.
pub fn run(options: &ClusterArgs) -> Result<u8, CliError> {
    let named = options.named()?;
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let machines = match &options.torus {
        Some(torus) => slice::from_ref(torus),
        None => &options.nodes,
    };
    let jobs = machines
        .iter()
        .flat_map(|nodes| options.mpi_memory.iter().map(move |memory| (*nodes, *memory)));
    let is_sweep = jobs.clone().count() > 1 || csv_file.is_some() || svg_file.is_some();
    let mut rows = Vec::new();
    let status = match named {
        Some(program) => {
            let signals = Signals::catch()?;
            print_line(TABLE.heading().join("\n"))?;
            for (nodes, memory) in jobs {
                let row = measure(options, program, (nodes, memory), &signals)?;
                print_line(TABLE.row(&row))?;
                rows.push(row);
            }
            print_line(LEGEND)?;
            0
        }
        None => {
            let mut status = 0;
            for job in jobs {
                let row;
                (row, status) = run_c(options, job, is_sweep)?;
                rows.extend(row);
                if status != 0 {
                    break;
                }
            }
            if is_sweep {
                print_line(TABLE.lines(&rows).join("\n"))?;
                print_line(LEGEND)?;
            }
            status
        }
    };
    if let Some(file) = csv_file {
        file.write(&table::csv(&rows)?)?;
    }
    if let Some(file) = svg_file {
        file.write(&draw(&rows)?)?;
    }
    Ok(status)
}

impl ClusterArgs {
    /// Returns the built-in program; `None` for a C program. Fails for options that the program does not use.
    fn named(&self) -> Result<Option<BuiltinProgram>, CliError> {
        let named = match &self.program[..] {
            [word] => word
                .to_str()
                .and_then(|word| BuiltinProgram::from_str(word, false).ok()),
            _ => None,
        };
        let ours = [
            (self.bytes.is_some(), "--bytes"),
            (self.repeats.is_some(), "--repeats"),
            (self.seed.is_some(), "--seed"),
        ];
        let (given, whose) = match named {
            Some(_) => {
                let words = self.c.words();
                let given = words.first().or(self.arguments.first()).cloned();
                (given, "a program in C")
            }
            None => {
                let given = ours.iter().find(|(given, _)| *given);
                (
                    given.map(|(_, name)| name.into()),
                    "killer, barrier, allreduce, all-to-all and neighbour",
                )
            }
        };
        match given {
            None => Ok(named),
            Some(word) => Err(CliError::usage(format!("{} is for {whose}; omit it", word.display()))),
        }
    }
}

/// Runs a C program; returns the result unless it failed, and the exit status.
fn run_c(
    options: &ClusterArgs,
    (MachineExtents(extents), memory): (MachineExtents, MemoryOption),
    is_sweep: bool,
) -> Result<(Option<ClusterRow>, u8), CliError> {
    let MemoryOption::Bytes(mpi_memory) = memory else {
        return Err(CliError::usage(
            "--mpi-memory ample is for built-in programs; specify a size for C programs",
        ));
    };
    let [x, y, z] = extents;
    let torus = format!("{x}x{y}x{z}");
    let mut words: Vec<OsString> = ["--on", "cluster", "--torus", &torus, "--mpi-memory"]
        .map(OsString::from)
        .into();
    words.push(mpi_memory.to_string().into());
    words.push(format!("--processors={}", options.processors).into());
    words.extend(options.cost.iter().map(|cost| format!("--cost={cost}").into()));
    if options.quiet || is_sweep {
        words.push("--quiet".into());
    }
    words.extend(options.c.words());
    words.extend(options.program.iter().cloned());
    words.push("--".into());
    words.extend(options.arguments.iter().cloned());
    let run = RunArguments::try_parse_from(words).map_err(|error| CliError::usage(one_line(&error)))?;
    let program = PathBuf::from(&options.program[0]);
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    let mut row = None;
    let status = command::run_and_observe(&run.options, &mut |end: &JobResult| {
        let total = |counter| report::total(end, counter);
        let used = end.used.unwrap_or_default();
        row = end.virtual_time.map(|time| ClusterRow {
            program: program.clone().into_owned(),
            nodes: extents.map(u64::from).iter().product(),
            torus: torus.clone(),
            repeats: None,
            bytes: None,
            mpi_memory: mpi_memory as usize,
            time_us: time.as_secs_f64() * 1e6,
            messages: total(Counter::MessagesSent),
            refusals: total(Counter::NctsSent),
            restarts: total(Counter::RestartsSent),
            peak_bytes: total(Counter::PeakUnexpectedBytes) as usize,
            peer_bytes: None,
            host_seconds: end.elapsed.as_secs_f64(),
            processor_seconds: used.processor.as_secs_f64(),
            memory_bytes: used.peak_bytes,
            costs: changes(&options.cost),
        });
    })?;
    Ok((row.filter(|_| status == 0), status))
}

/// Formats the changes of the cost model for the table.
fn changes(costs: &[CostChange]) -> String {
    let words: Vec<String> = costs.iter().map(CostChange::to_string).collect();
    words.join(" ")
}

fn measure(
    options: &ClusterArgs,
    program: BuiltinProgram,
    (MachineExtents(extents), memory): (MachineExtents, MemoryOption),
    signals: &Signals,
) -> Result<ClusterRow, CliError> {
    let nodes: u64 = extents.map(u64::from).iter().product();
    let bytes = options.bytes.unwrap_or(program.bytes());
    let repeats = options.repeats.unwrap_or(1);
    let others_memory = 4 << 10;
    let mpi_memory = match memory {
        MemoryOption::Bytes(bytes) => bytes as usize,
        // A record and a buffer of complete blocks for each message.
        MemoryOption::Ample => {
            let message = bytes as usize + 2 * BLOCK_BYTES;
            (nodes as usize * repeats as usize * message).max(others_memory)
        }
    };
    let scale = ScaleRun {
        extents,
        program: program.program(),
        repeats,
        bytes: bytes as usize,
        mpi_memory,
        others_memory,
        costs: OperationCosts::BLUE_GENE.with(options.cost.iter().copied()),
        seed: options.seed.unwrap_or(1),
        processors: options.processors,
    };
    ResourceUsage::reset_own_peak();
    let before = ResourceUsage::for_this_process();
    let (start, mut said, mut stop) = (Instant::now(), Instant::now(), None);
    let scaled = scale.run(&mut |far: RunProgress| {
        stop = signals.pending();
        if !options.quiet && said.elapsed() >= WORD {
            said = Instant::now();
            print_error_line(how_far(nodes, far, start.elapsed()));
        }
        stop.is_none()
    });
    let scaled = scaled.map_err(|failure| match stop {
        Some(stop) => stop,
        None => CliError::failure(format!("{} on {nodes} nodes: {}", program.name(), words(&failure))),
    })?;
    let used = ResourceUsage::for_this_process();
    let [x, y, z] = extents;
    Ok(ClusterRow {
        program: program.name().into(),
        nodes,
        torus: format!("{x}x{y}x{z}"),
        repeats: Some(repeats),
        bytes: Some(bytes),
        mpi_memory,
        time_us: scaled.ns as f64 / 1e3,
        messages: scaled.messages,
        refusals: scaled.refusals,
        restarts: scaled.restarts,
        peak_bytes: scaled.peak_bytes,
        peer_bytes: Some(scaled.peer_bytes),
        host_seconds: start.elapsed().as_secs_f64(),
        processor_seconds: (used.processor - before.processor).as_secs_f64(),
        memory_bytes: used.peak_bytes,
        costs: changes(&options.cost),
    })
}

/// Formats the progress of a run and an estimate of the remaining time.
fn how_far(nodes: u64, far: RunProgress, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let rest = if far.part > 0.01 {
        format!("about {:.0} s more", seconds * (1.0 / far.part - 1.0))
    } else {
        "too early for an estimate".into()
    };
    format!(
        "{nodes} nodes: {:.0} % after {seconds:.0} s, {:.3} ms of virtual time; {rest}",
        100.0 * far.part,
        far.now_ns as f64 / 1e6
    )
}

/// Describes the failure of a job.
fn words(failure: &JobFailure) -> String {
    match failure {
        JobFailure::Hang(calls) => {
            let waiting = calls.iter().flatten().count();
            let first = calls
                .iter()
                .enumerate()
                .find_map(|(rank, call)| call.map(|call| format!("; rank {rank} is in {}", call.function)));
            format!("deadlock: {waiting} processes wait{}", first.unwrap_or_default())
        }
        JobFailure::Abort { rank, status, message } => {
            format!("rank {rank} ended the job with status {status}: {message}")
        }
        JobFailure::Panic { rank, message } => format!("rank {rank} panicked: {message}"),
        JobFailure::Redundant | JobFailure::ForeignSchedule | JobFailure::Stopped => "stopped".into(),
    }
}

const SCARCE: RGBColor = RGBColor(0xc0, 0x39, 0x2b);
const ROOMY: RGBColor = RGBColor(0x1f, 0x5f, 0x8b);

/// Draws time against nodes on logarithmic axes, with one line per amount of memory in the given order.
fn draw(rows: &[ClusterRow]) -> Result<String, CliError> {
    let first = rows.first().map_or(2, |row| row.nodes);
    let per_size = rows.iter().take_while(|row| row.nodes == first).count();
    let per_size = per_size.max(1);
    let mark = |at: usize| Mark {
        shape: if at == 0 { MarkShape::Circle } else { MarkShape::Square },
        colour: if at == 0 { SCARCE } else { ROOMY },
        filled: at < 2,
    };
    let point = |row: &ClusterRow| ((row.nodes as f64).log2(), row.time_us.max(1e-3).log10());
    let series: Vec<Series> = (0..per_size)
        .map(|at| Series {
            points: rows.iter().skip(at).step_by(per_size).map(point).collect(),
            mark: mark(at),
            joined: true,
        })
        .collect();
    let legend = rows.iter().take(per_size).enumerate().map(|(at, row)| {
        let name = format!("{} of MPI memory at {} nodes", row.mpi_memory, row.nodes);
        (name, mark(at))
    });
    plot::chart(&Chart {
        heading: &format!(
            "{}: virtual time by the cost model of Blue Gene/L",
            rows.first().map_or("", |row| &row.program)
        ),
        x: Axis::log2_of("nodes", rows.iter().map(|row| point(row).0)),
        y: Axis::log10_of("microseconds", rows.iter().map(|row| point(row).1)),
        series,
        legend: legend.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: ClusterArgs,
    }

    fn options(words: &str) -> Result<ClusterArgs, clap::Error> {
        CommandLine::try_parse_from(words.split_whitespace()).map(|line| line.options)
    }

    #[test]
    fn machines_and_memories_are_swept_and_drawn() {
        let options = options("cluster killer -n 8,16 --mpi-memory 64,ample").expect("good words");
        let signals = Signals::catch().expect("signals");
        let mut rows = Vec::new();
        for &nodes in &options.nodes {
            for &memory in &options.mpi_memory {
                let job = (nodes, memory);
                rows.push(measure(&options, BuiltinProgram::Killer, job, &signals).expect("a run"));
            }
        }
        let by = |at: usize| (rows[at].nodes, rows[at].mpi_memory, rows[at].torus.as_str());
        assert_eq!(by(0), (8, 64, "2x2x2"));
        assert_eq!(by(3), (16, 16 * (1024 + 64), "4x2x2"));
        assert!(
            rows.iter()
                .all(|row| row.time_us > 0.0 && row.messages == row.nodes - 1)
        );
        assert!(rows[0].refusals > 0 && rows[1].refusals == 0);
        let csv = table::csv(&rows).expect("lines");
        assert!(
            csv.starts_with("program,nodes,torus,repeats,bytes,mpi_memory,time_us,"),
            "{csv}"
        );
        assert_eq!(csv.lines().count(), 5);
        let drawing = draw(&rows).expect("a drawing");
        assert!(drawing.contains("killer") && drawing.contains("64 of MPI memory"));
    }

    #[test]
    fn what_makes_no_machine_is_refused() {
        for words in [
            "cluster killer -n 1",
            "cluster killer -n 65537",
            "cluster killer -n 131072",
            "cluster killer --mpi-memory 3",
            "cluster killer --bytes 2M",
            "cluster killer --repeats 0",
        ] {
            assert!(options(words).is_err(), "{words}");
        }
    }

    #[test]
    fn an_estimate_comes_when_there_is_something_to_go_by() {
        let far = |part| RunProgress {
            now_ns: 2_000_000,
            part,
        };
        let line = how_far(64, far(0.25), Duration::from_secs(30));
        assert_eq!(
            line,
            "64 nodes: 25 % after 30 s, 2.000 ms of virtual time; about 90 s more"
        );
        assert!(how_far(64, far(0.0), Duration::from_secs(1)).ends_with("too early for an estimate"));
    }
}
