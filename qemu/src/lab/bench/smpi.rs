//! C programs on a simulated machine in one process, compared with SMPI (SimGrid) if it is installed.

use super::boot;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::resource_usage::ResourceUsage;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::lab::cluster::{MachineExtents, parse_nodes};
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table::{self, Column, Table, six_places_if_any};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `midplane bench smpi`.
#[derive(Args, Debug)]
pub struct SmpiArgs {
    /// Numbers of ranks, separated by commas; each torus is arranged as nearly as possible as a cube
    #[arg(short = 'n', long, value_name = "NODES", value_delimiter = ',', default_value = "64,512,4096",
          value_parser = parse_nodes)]
    nodes: Vec<MachineExtents>,

    /// Time limit of a job in seconds. After a timeout, jobs of the same program with more ranks are skipped
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86400))]
    limit: u32,

    /// Write one line per job to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// A program of `tests/programs` with its arguments, and a short description.
struct ComparedProgram {
    words: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const JOBS: [ComparedProgram; 3] = [
    ComparedProgram {
        words: "killer, 1 KiB",
        program: "killer",
        arguments: &["1", "1024"],
    },
    ComparedProgram {
        words: "barrier, allreduce",
        program: "steps",
        arguments: &["agree"],
    },
    ComparedProgram {
        words: "halo, 6 x 1 KiB",
        program: "steps",
        arguments: &["halo"],
    },
];

/// MPI memory of Midplane's ranks. SMPI's memory is unlimited.
const MPI_MEMORY: &str = "4K";

/// Differences of the two simulations, printed below the table.
const LEFT_OUT: &str = "host (s): CPU time of the process that contains all ranks; MiB: its peak memory
virtual (ms): time that the program prints
Midplane simulates each packet, buffer and token and the MPI protocol, with 4 KiB of MPI memory per rank
Midplane does not simulate processor caches and the program's computation
SMPI simulates flows that share links, and models an MPI library with unlimited memory
SMPI does not simulate packets, buffers, the protocol and the program's computation (simulate-computation:no)";

/// Result of one simulator for a job.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SimulatorResult {
    used: ResourceUsage,
    virtual_s: f64,
}

/// One job. `None`: not measured, or timed out.
#[derive(Debug, Serialize)]
struct SmpiRow {
    what: &'static str,
    ranks: u64,
    #[serde(serialize_with = "six_places_if_any")]
    ours_s: Option<f64>,
    #[serde(serialize_with = "six_places_if_any")]
    theirs_s: Option<f64>,
    /// Midplane's time over SMPI's.
    #[serde(serialize_with = "six_places_if_any")]
    ratio: Option<f64>,
    ours_bytes: Option<u64>,
    theirs_bytes: Option<u64>,
    #[serde(serialize_with = "six_places_if_any")]
    ours_virtual_s: Option<f64>,
    #[serde(serialize_with = "six_places_if_any")]
    theirs_virtual_s: Option<f64>,
}

const TABLE: Table<SmpiRow> = Table {
    columns: &[
        Column::left("", 18, |r| r.what.into()),
        Column::right("ranks", 5, |r| r.ranks.to_string()),
        Column::right("host (s)\nours", 8, |r| shown(r.ours_s, 1.0, 2)),
        Column::right("\nSMPI", 7, |r| shown(r.theirs_s, 1.0, 2)),
        Column::right("\nratio", 5, |r| shown(r.ratio, 1.0, 2)),
        Column::right("MiB\nours", 5, |r| shown(mib(r.ours_bytes), 1.0, 0)),
        Column::right("\nSMPI", 5, |r| shown(mib(r.theirs_bytes), 1.0, 0)),
        Column::right("virtual\n(ms) ours", 9, |r| shown(r.ours_virtual_s, 1e3, 3)),
        Column::right("\nSMPI", 8, |r| shown(r.theirs_virtual_s, 1e3, 3)),
    ],
    keys: 2,
    gap: 1,
};

fn shown(number: Option<f64>, unit: f64, places: usize) -> String {
    number.map_or("-".into(), |number| format!("{:.places$}", number * unit))
}

fn mib(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64 / f64::from(1 << 20))
}

impl SmpiRow {
    fn new(what: &'static str, ranks: u64, ours: Option<SimulatorResult>, theirs: Option<SimulatorResult>) -> SmpiRow {
        let seconds = |took: SimulatorResult| took.used.processor.as_secs_f64();
        let [ours_s, theirs_s] = [ours, theirs].map(|took| took.map(seconds));
        SmpiRow {
            what,
            ranks,
            ours_s,
            theirs_s,
            ratio: { ours_s.zip(theirs_s) }.map(|(ours, theirs)| ours / theirs),
            ours_bytes: ours.map(|took| took.used.peak_bytes),
            theirs_bytes: theirs.map(|took| took.used.peak_bytes),
            ours_virtual_s: ours.map(|took| took.virtual_s),
            theirs_virtual_s: theirs.map(|took| took.virtual_s),
        }
    }
}

/// A temporary directory, removed on drop.
struct JobDirectory(PathBuf);

impl JobDirectory {
    fn new() -> Result<JobDirectory, CliError> {
        let path = directories::target().join(format!("bench-smpi-{}", std::process::id()));
        std::fs::create_dir_all(&path).context(format_args!("make {}", path.display()))?;
        Ok(JobDirectory(path))
    }

    fn file(&self, name: &str, text: &str) -> Result<PathBuf, CliError> {
        let path = self.0.join(name);
        std::fs::write(&path, text).context(format_args!("write {}", path.display()))?;
        Ok(path)
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Compiler and launcher of SMPI.
struct SmpiTools {
    smpicc: PathBuf,
    smpirun: PathBuf,
}

impl SmpiTools {
    fn find() -> Option<Self> {
        Some(Self {
            smpicc: setup::in_path("smpicc")?,
            smpirun: setup::in_path("smpirun")?,
        })
    }

    fn compile(&self, program: &str, scratch: &JobDirectory, signals: &Signals) -> Result<(), CliError> {
        boot::compile(&self.smpicc, program, &scratch.0.join(program), signals)
    }

    fn run(
        &self,
        job: &ComparedProgram,
        extents: [u16; 3],
        scratch: &JobDirectory,
        limit_s: u32,
        signals: &Signals,
    ) -> Result<Option<SimulatorResult>, CliError> {
        let ranks: u32 = extents.map(u32::from).iter().product();
        let platform = scratch.file("platform.xml", &platform(extents))?;
        let hosts: String = (0..ranks).map(|rank| format!("n{rank}\n")).collect();
        let hosts = scratch.file("hosts", &hosts)?;
        let mut command = Command::new(&self.smpirun);
        command.args(["-np", &ranks.to_string(), "-platform"]);
        command.arg(platform).arg("-hostfile").arg(hosts);
        command.args(["--cfg=smpi/simulate-computation:no", "--log=root.thres:error"]);
        command.arg(scratch.0.join(job.program)).args(job.arguments);
        let ended = boot::capture_output_and_usage(command, Some(limit_s), signals)?;
        ended
            .map(|(capture_output, used)| {
                Ok(SimulatorResult {
                    used,
                    virtual_s: seconds(&capture_output)?,
                })
            })
            .transpose()
    }
}

/// Returns SMPI's description of Blue Gene/L's torus: links of 175 MB/s in each direction, 100 ns per hop.
fn platform([x, y, z]: [u16; 3]) -> String {
    let last = u32::from(x) * u32::from(y) * u32::from(z) - 1;
    format!(
        "<?xml version='1.0'?>\n\
         <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\">\n\
         <cluster id=\"torus\" prefix=\"n\" suffix=\"\" radical=\"0-{last}\" speed=\"1Gf\" bw=\"175MBps\"\n\
         lat=\"100ns\" topology=\"TORUS\" topo_parameters=\"{x},{y},{z}\" sharing_policy=\"SPLITDUPLEX\"/>\n\
         </platform>\n"
    )
}

/// A CSV line of `midplane cluster --csv`, reduced to the used columns.
#[derive(Deserialize)]
struct CsvLine {
    processor_seconds: f64,
    memory_bytes: u64,
}

fn run_cluster(
    job: &ComparedProgram,
    ranks: u64,
    scratch: &JobDirectory,
    limit_s: u32,
    signals: &Signals,
) -> Result<Option<SimulatorResult>, CliError> {
    let lines = scratch.0.join("ours.csv");
    let mut command = Command::new(std::env::current_exe().context("find this command")?);
    command.args(["cluster", "--nodes", &ranks.to_string()]);
    command.args(["--mpi-memory", MPI_MEMORY, "--csv"]).arg(&lines);
    command.arg(boot::program(&format!("{}.c", job.program))?);
    command.arg("--").args(job.arguments);
    let Some(said) = boot::capture_output(command, Some(limit_s), signals)? else {
        return Ok(None);
    };
    let line = read_line(&lines)?;
    let used = ResourceUsage {
        processor: std::time::Duration::from_secs_f64(line.processor_seconds),
        peak_bytes: line.memory_bytes,
    };
    let virtual_s = seconds(&said)?;
    Ok(Some(SimulatorResult { used, virtual_s }))
}

fn read_line(path: &Path) -> Result<CsvLine, CliError> {
    let wrong = |error: csv::Error| CliError::failure(format!("read {}: {error}", path.display()));
    let mut lines = csv::Reader::from_path(path).map_err(wrong)?;
    let line = lines.deserialize().next();
    line.ok_or_else(|| CliError::failure("the simulator has written no line"))?
        .map_err(wrong)
}

/// Parses the run time in seconds that a program prints.
fn seconds(said: &str) -> Result<f64, CliError> {
    boot::seconds(said).ok_or_else(|| CliError::failure(format!("the program did not print its time:\n{said}")))
}

/// Measures the jobs; returns the exit status.
pub fn run(options: &SmpiArgs) -> Result<u8, CliError> {
    let file = ResultFile::open_if_given(options.csv.as_ref())?;
    let signals = Signals::catch()?;
    let scratch = JobDirectory::new()?;
    let smpi = SmpiTools::find();
    match &smpi {
        Some(smpi) => {
            let compile = |job: &ComparedProgram| smpi.compile(job.program, &scratch, &signals);
            JOBS.iter().try_for_each(compile)?;
        }
        None => print_line("no comparison with SMPI: smpicc and smpirun are not in PATH")?,
    }
    let mut rows = Vec::new();
    print_line(TABLE.heading().join("\n"))?;
    for job in &JOBS {
        // Whether each of the two has timed out.
        let (mut ours_is, mut theirs_is) = (false, smpi.is_none());
        for &MachineExtents(extents) in &options.nodes {
            let ranks = extents.map(u64::from).iter().product();
            let mut took = [None; 2];
            if !ours_is {
                took[0] = run_cluster(job, ranks, &scratch, options.limit, &signals)?;
                ours_is = took[0].is_none();
            }
            if let (Some(smpi), false) = (&smpi, theirs_is) {
                took[1] = smpi.run(job, extents, &scratch, options.limit, &signals)?;
                theirs_is = took[1].is_none();
            }
            let row = SmpiRow::new(job.words, ranks, took[0], took[1]);
            print_line(TABLE.row(&row))?;
            rows.push(row);
        }
    }
    print_line(format_args!(
        "-: not completed in {} s, or skipped\n{LEFT_OUT}",
        options.limit
    ))?;
    if let Some(file) = file {
        file.write(&table::csv(&rows)?)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;
    use std::time::Duration;

    fn took(processor_s: u64, virtual_s: f64) -> SimulatorResult {
        let used = ResourceUsage {
            processor: Duration::from_secs(processor_s),
            peak_bytes: 3 << 30,
        };
        SimulatorResult { used, virtual_s }
    }

    #[test]
    fn what_the_programs_say_is_read() {
        let said = "[0] killer: 8 processes, 5 messages of 16 bytes from each, 0.250000 seconds, 0 errors\n";
        assert_eq!(seconds(said), Ok(0.25));
        let said = "steps: halo, 8 processes, 1 times, 0.000093 seconds, 0 errors\n";
        assert_eq!(seconds(said), Ok(0.000_093));
        assert!(seconds("steps: no\n").is_err());
    }

    #[test]
    fn the_widest_rows_fit_a_terminal() {
        let long = SmpiRow::new(JOBS[1].words, 65_536, Some(took(1234, 1.5)), Some(took(1234, 1.5)));
        let none = SmpiRow::new(JOBS[0].words, 64, Some(took(1, 0.5)), None);
        assert_eq!((none.ratio, none.theirs_bytes), (None, None));
        let lines = [TABLE.heading(), vec![TABLE.row(&long), TABLE.row(&none)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[2].contains(" 1.00 "), "{lines:#?}");
    }

    #[test]
    fn the_platform_has_a_host_for_each_rank() {
        let text = platform([4, 2, 2]);
        assert!(text.contains("radical=\"0-15\"") && text.contains("topo_parameters=\"4,2,2\""));
    }
}
