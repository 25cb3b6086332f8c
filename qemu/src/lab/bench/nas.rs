//! NAS parallel benchmarks on a simulated machine: the time with scarce MPI memory over the time with ample memory.
//!
//! The benchmarks are not part of Midplane: the user specifies the directory of their version 3.4 for MPI. Its makefiles
//! name the sources, and its `setparams` writes the parameters of a class. Nothing is written to the directory.

use super::boot;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::host::signals::Signals;
use crate::host::size;
use crate::lab::cluster::{MachineExtents, parse_nodes};
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use crate::show::table::{self, Column, Table, six_places};
use clap::{Args, ValueEnum};
use plotters::style::RGBColor;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `midplane bench nas`.
#[derive(Args, Debug)]
pub struct NasArgs {
    /// Directory NPB3.4-MPI of the NAS parallel benchmarks
    directory: PathBuf,

    /// Benchmarks, separated by commas
    #[arg(
        long,
        value_name = "NAME",
        value_enum,
        value_delimiter = ',',
        default_value = "bt,cg,ep,ft,lu,mg,sp"
    )]
    programs: Vec<NasProgram>,

    /// Classes, separated by commas
    #[arg(long, value_name = "CLASS", value_delimiter = ',', default_value = "S", value_parser = ["S", "W", "A", "B"])]
    classes: Vec<String>,

    /// Numbers of nodes, separated by commas; each torus is arranged as nearly as possible as a cube. BT and SP run with
    /// squares, the others with powers of two; jobs with other numbers are omitted
    #[arg(short = 'n', long, value_name = "NODES", value_delimiter = ',', default_value = "16", value_parser = parse_nodes)]
    nodes: Vec<MachineExtents>,

    /// Scarce amounts of MPI memory, separated by commas
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "250K,4K", value_parser = size::parse)]
    mpi_memory: Vec<u64>,

    /// Time of a basic block of a program in nanoseconds. With 10 ns, a node of the simulated machine computes about as
    /// fast as one of Blue Gene/L. At 0, only communication takes time
    #[arg(long, value_name = "NS", default_value = "10")]
    block_ns: f64,

    /// Time limit of a job in seconds
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=86400))]
    limit: u32,

    /// Write one line per job to this file, also if a job fails
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Add the results in this file, which an earlier `--csv` has written with the same `--block-ns`, and do not repeat
    /// its jobs
    #[arg(long, value_name = "FILE")]
    reuse: Option<PathBuf>,

    /// Draw the overhead for each class and number of nodes to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Ample MPI memory: no benchmark of these classes has its messages rejected because the memory is full.
const AMPLE: u64 = 64 << 20;

/// A benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum NasProgram {
    Bt,
    Cg,
    Ep,
    Ft,
    Lu,
    Mg,
    Sp,
}

impl NasProgram {
    /// Returns its name in upper case, which is its directory.
    fn name(self) -> &'static str {
        match self {
            Self::Bt => "BT",
            Self::Cg => "CG",
            Self::Ep => "EP",
            Self::Ft => "FT",
            Self::Lu => "LU",
            Self::Mg => "MG",
            Self::Sp => "SP",
        }
    }

    /// Checks whether it runs with this number of nodes.
    fn accepts(self, nodes: u64) -> bool {
        match self {
            Self::Bt | Self::Sp => nodes.isqrt().pow(2) == nodes,
            Self::Cg | Self::Ep | Self::Ft | Self::Lu | Self::Mg => nodes.is_power_of_two(),
        }
    }

    fn colour(self) -> RGBColor {
        match self {
            Self::Bt => RGBColor(0x1f, 0x5f, 0xa8),
            Self::Cg => RGBColor(0x2c, 0x8f, 0x4e),
            Self::Ep => RGBColor(0x77, 0x77, 0x77),
            Self::Ft => RGBColor(0xb8, 0x44, 0x2c),
            Self::Lu => RGBColor(0x8e, 0x44, 0xad),
            Self::Mg => RGBColor(0xc8, 0x8a, 0x12),
            Self::Sp => RGBColor(0x12, 0x9a, 0xa8),
        }
    }
}

/// Result of one job.
#[derive(Debug, Serialize)]
struct NasRow {
    program: &'static str,
    class: String,
    nodes: u64,
    mpi_memory: u64,
    /// Million operations per second of the whole machine, as the benchmark prints it.
    #[serde(serialize_with = "six_places")]
    mops: f64,
    /// Messages whose data the receiver deferred (NCTSD), or that it rejected (NCTS).
    rejected: u64,
    /// Time over the time with ample memory.
    #[serde(serialize_with = "six_places")]
    overhead: f64,
    #[serde(skip)]
    benchmark: NasProgram,
}

const TABLE: Table<NasRow> = Table {
    columns: &[
        Column::left("", 4, |r| format!("{}.{}", r.program, r.class)),
        Column::right("nodes", 5, |r| r.nodes.to_string()),
        Column::right("memory", 9, |r| size::approximate(r.mpi_memory)),
        Column::right("Mop/s\nper node", 9, |r| format!("{:.2}", r.mops / r.nodes as f64)),
        Column::right("deferred\nor rejected", 11, |r| r.rejected.to_string()),
        Column::right("overhead", 9, |r| format!("{:.4}", r.overhead)),
    ],
    keys: 3,
    gap: 2,
};

/// A temporary directory, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CliError> {
        let path = directories::target().join(format!("bench-nas-{}", std::process::id()));
        // `setparams` reads the makefiles' settings, of which none are required.
        let settings = path.join("config");
        fs::create_dir_all(&settings).context(format_args!("make {}", settings.display()))?;
        fs::write(settings.join("make.def"), "").context("write make.def")?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles the program that writes the parameters of a class.
fn compile_setparams(directory: &Path, scratch: &Scratch, signals: &Signals) -> Result<PathBuf, CliError> {
    let source = directory.join("sys/setparams.c");
    if !source.is_file() {
        return Err(CliError::usage(format!(
            "{} is no directory NPB3.4-MPI: there is no {}",
            directory.display(),
            source.display()
        )));
    }
    let program = scratch.0.join("setparams");
    let mut compile = Command::new("cc");
    compile.arg("-w").arg(&source).arg("-o").arg(&program);
    boot::capture_output(compile, None, signals)?;
    Ok(program)
}

/// Returns the names of the object files that a makefile links: the value of `OBJS`, and BT's choice without files.
fn objects(makefile: &str) -> Vec<String> {
    let mut text = String::new();
    let mut lines = makefile.lines();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix("OBJS") else {
            continue;
        };
        let mut line = rest.split_once('=').map_or("", |(_, value)| value);
        while let Some(value) = line.trim_end().strip_suffix('\\') {
            text.push_str(value);
            line = lines.next().unwrap_or_default();
        }
        text.push_str(line);
        break;
    }
    let own = text.split_whitespace().map(String::from);
    own.chain(makefile.contains("btio.o").then(|| "btio.o".into()))
        .collect()
}

/// Copies the sources of a benchmark to a directory, without what a build there has created: parameters and modules.
/// Returns those to be compiled, modules first, because other sources use them.
fn copy_sources(directory: &Path, program: NasProgram, to: &Path) -> Result<Vec<PathBuf>, CliError> {
    let own = directory.join(program.name());
    fs::create_dir_all(to).context(format_args!("make {}", to.display()))?;
    for entry in fs::read_dir(&own).context(format_args!("read {}", own.display()))? {
        let path = entry.context(format_args!("read {}", own.display()))?.path();
        let name = path.file_name().unwrap_or_default();
        let is_source = ["f", "f90", "h", "incl"]
            .map(OsStr::new)
            .contains(&path.extension().unwrap_or_default());
        if is_source && name != PARAMETERS {
            fs::copy(&path, to.join(name)).context(format_args!("copy {}", path.display()))?;
        }
    }
    let makefile = own.join("Makefile");
    let text = fs::read_to_string(&makefile).context(format_args!("read {}", makefile.display()))?;
    let mut files = Vec::new();
    for object in objects(&text) {
        let name = object.trim_end_matches(".o").replace("${RAND}", "randi8");
        let stem = match name.split_once("}/") {
            Some((_, common)) => directory.join("common").join(common),
            None => to.join(&name),
        };
        let file = ["f", "f90"].map(|extension| stem.with_extension(extension));
        let file = file.into_iter().find(|file| file.is_file());
        files.push(file.ok_or_else(|| CliError::unusable(format!("{}: no source of {object}", makefile.display())))?);
    }
    files.sort_by_key(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        match &*name {
            "mpinpb" => 0,
            name if name.ends_with("_data") => 1,
            _ => 2,
        }
    });
    Ok(files)
}

/// File with the parameters of a class, which all sources include.
const PARAMETERS: &str = "npbparams.h";

/// Measurement of one benchmark with one amount of memory.
#[derive(Clone, Copy, PartialEq, Debug)]
struct NasMeasurement {
    mops: f64,
    rejected: u64,
}

/// A line of an earlier `--csv`.
#[derive(Deserialize, PartialEq, Debug)]
struct EarlierRow {
    program: String,
    class: String,
    nodes: u64,
    mpi_memory: u64,
    mops: f64,
    rejected: u64,
    overhead: f64,
}

impl EarlierRow {
    fn is_of(&self, program: NasProgram, class: &str, nodes: u64, memory: u64) -> bool {
        (&*self.program, &*self.class, self.nodes, self.mpi_memory) == (program.name(), class, nodes, memory)
    }

    /// Returns the row of these results; `None` if it has no benchmark's name.
    fn to_row(&self) -> Option<NasRow> {
        let mut programs = NasProgram::value_variants().iter();
        let benchmark = *programs.find(|program| program.name() == self.program)?;
        Some(NasRow {
            program: benchmark.name(),
            class: self.class.clone(),
            nodes: self.nodes,
            mpi_memory: self.mpi_memory,
            mops: self.mops,
            rejected: self.rejected,
            overhead: self.overhead,
            benchmark,
        })
    }
}

/// Parses the lines of an earlier `--csv`.
fn parse_earlier(text: &str) -> Result<Vec<EarlierRow>, String> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>()
        .map_err(|error: csv::Error| error.to_string())
}

/// Reads the results that need no jobs.
fn read_earlier(file: Option<&PathBuf>) -> Result<Vec<EarlierRow>, CliError> {
    let Some(file) = file else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(file).map_err(|error| error.to_string());
    text.and_then(|text| parse_earlier(&text)).map_err(|error| {
        CliError::usage(format!(
            "cannot use {}: {error}; specify a file that --csv has written",
            file.display()
        ))
    })
}

fn measure(
    options: &NasArgs,
    files: &[PathBuf],
    extents: [u16; 3],
    memory: u64,
    scratch: &Scratch,
    signals: &Signals,
) -> Result<NasMeasurement, CliError> {
    let report = scratch.0.join("report.json");
    let mut command = Command::new(std::env::current_exe().context("find this command")?);
    let [x, y, z] = extents;
    command
        .args(["run", "--quiet", "--on", "cluster", "--torus", &format!("{x}x{y}x{z}")])
        .args(["--mpi-memory", &memory.to_string(), "--cflags=-O2 -fallow-invalid-boz"])
        .arg(format!("--cost=compute_ns_per_block={}", options.block_ns))
        .arg("--report")
        .arg(&report)
        .args(files);
    let output = boot::capture_output(command, Some(options.limit), signals)?;
    let output = output.ok_or_else(|| CliError::failure(format!("a job did not end in {} s", options.limit)))?;
    if !output.contains("SUCCESSFUL") || output.contains("UNSUCCESSFUL") {
        return Err(CliError::failure(format!(
            "the benchmark does not verify its result:\n{output}"
        )));
    }
    let mops = { output.lines() }
        .find(|line| line.contains("Mop/s total"))
        .and_then(|line| line.rsplit('=').next()?.trim().parse().ok())
        .filter(|mops: &f64| *mops > 0.0);
    let mops = mops.ok_or_else(|| CliError::failure(format!("the benchmark prints no rate:\n{output}")))?;
    let report = fs::read(&report).context("read the report")?;
    let report: serde_json::Value = serde_json::from_slice(&report).context("read the report")?;
    let rejected = ["nctsd", "ncts"].map(|name| report["totals"][name].as_u64().unwrap_or(0));
    Ok(NasMeasurement {
        mops,
        rejected: rejected.iter().sum(),
    })
}

/// What all jobs use.
struct NasJobs<'a> {
    options: &'a NasArgs,
    directory: PathBuf,
    scratch: Scratch,
    setparams: PathBuf,
    earlier: Vec<EarlierRow>,
    signals: Signals,
}

impl<'a> NasJobs<'a> {
    fn new(options: &'a NasArgs) -> Result<Self, CliError> {
        let earlier = read_earlier(options.reuse.as_ref())?;
        let signals = Signals::catch()?;
        let scratch = Scratch::new()?;
        let directory = { options.directory.canonicalize() }
            .map_err(|error| CliError::usage(format!("cannot read {}: {error}", options.directory.display())))?;
        let setparams = compile_setparams(&directory, &scratch, &signals)?;
        Ok(Self {
            options,
            directory,
            scratch,
            setparams,
            earlier,
            signals,
        })
    }

    /// Copies the sources of a benchmark, and writes the parameters of a class.
    fn sources(&self, program: NasProgram, class: &str) -> Result<Vec<PathBuf>, CliError> {
        let here = self.scratch.0.join(format!("{}.{class}", program.name()));
        let files = copy_sources(&self.directory, program, &here)?;
        let mut command = Command::new(&self.setparams);
        command.args([&program.name().to_lowercase(), class]).current_dir(&here);
        boot::capture_output(command, None, &self.signals)?;
        Ok(files)
    }

    /// Runs a benchmark on a machine with each amount of memory, and prints the rows.
    fn measure_each(
        &self,
        program: NasProgram,
        class: &str,
        extents: [u16; 3],
        rows: &mut Vec<NasRow>,
    ) -> Result<(), CliError> {
        let nodes = extents.map(u64::from).iter().product();
        let (mut ample, mut files) = (None, None);
        for memory in [AMPLE].into_iter().chain(self.options.mpi_memory.iter().copied()) {
            let is_same = |row: &&EarlierRow| row.is_of(program, class, nodes, memory);
            let NasMeasurement { mops, rejected } = match self.earlier.iter().find(is_same) {
                Some(&EarlierRow { mops, rejected, .. }) => NasMeasurement { mops, rejected },
                None => {
                    let files = match &mut files {
                        Some(files) => files,
                        none => none.insert(self.sources(program, class)?),
                    };
                    measure(self.options, files, extents, memory, &self.scratch, &self.signals)?
                }
            };
            let row = NasRow {
                program: program.name(),
                class: class.into(),
                nodes,
                mpi_memory: memory,
                mops,
                rejected,
                overhead: *ample.get_or_insert(mops) / mops,
                benchmark: program,
            };
            print_line(TABLE.row(&row))?;
            rows.push(row);
        }
        Ok(())
    }

    fn measure_all(&self, rows: &mut Vec<NasRow>) -> Result<(), CliError> {
        for &program in &self.options.programs {
            for class in &self.options.classes {
                for &MachineExtents(extents) in &self.options.nodes {
                    if program.accepts(extents.map(u64::from).iter().product()) {
                        self.measure_each(program, class, extents, rows)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Measures the benchmarks; returns the exit status.
pub fn run(options: &NasArgs) -> Result<u8, CliError> {
    let (csv, svg) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let jobs = NasJobs::new(options)?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    let measured = jobs.measure_all(&mut rows);
    for earlier in &jobs.earlier {
        let is_new = |row: &NasRow| !earlier.is_of(row.benchmark, &row.class, row.nodes, row.mpi_memory);
        if rows.iter().all(is_new) {
            rows.extend(earlier.to_row());
        }
    }
    if let Some(csv) = csv {
        csv.write(&table::csv(&rows)?)?;
    }
    measured?;
    if let Some(svg) = svg {
        svg.write(&draw(&rows)?)?;
    }
    Ok(0)
}

/// The overhead that the paper of the memory protocol reports for these benchmarks, at most.
const PAPERS_OVERHEAD: f64 = 1.01;

/// Draws the rows with scarce memory, by class and nodes: colours for benchmarks, shapes for amounts of memory.
fn draw(rows: &[NasRow]) -> Result<String, CliError> {
    const SHAPES: [MarkShape; 4] = [
        MarkShape::Circle,
        MarkShape::Square,
        MarkShape::Triangle,
        MarkShape::Diamond,
    ];
    let grey = RGBColor(0x33, 0x33, 0x33);
    let scarce = || rows.iter().filter(|row| row.mpi_memory != AMPLE);
    let machine = |row: &NasRow| ("SWAB".find(&row.class).unwrap_or(0), row.nodes);
    let machines: BTreeMap<_, _> = scarce()
        .map(|row| (machine(row), format!("{} {}", row.class, row.nodes)))
        .collect();
    let memories: BTreeSet<u64> = scarce().map(|row| row.mpi_memory).collect();
    let programs: BTreeMap<&str, RGBColor> = scarce().map(|row| (row.program, row.benchmark.colour())).collect();
    let shape = |memory: u64| {
        let place = memories.iter().take_while(|other| **other < memory).count();
        SHAPES[place % SHAPES.len()]
    };
    let series = scarce().map(|row| {
        let place = machines.keys().take_while(|other| **other < machine(row)).count();
        // Side by side, because most values are almost equal.
        let beside = programs.keys().take_while(|other| **other < row.program).count() as f64 + 0.5;
        let x = place as f64 + 0.8 * (beside / programs.len() as f64 - 0.5);
        Series {
            points: vec![(x, row.overhead)],
            mark: Mark {
                shape: shape(row.mpi_memory),
                colour: row.benchmark.colour(),
                filled: shape(row.mpi_memory) == SHAPES[0],
            },
            joined: false,
        }
    });
    let limit = Mark {
        shape: MarkShape::Diamond,
        colour: grey,
        filled: true,
    };
    let papers = Series {
        points: vec![(-0.5, PAPERS_OVERHEAD), (machines.len() as f64 - 0.5, PAPERS_OVERHEAD)],
        mark: limit,
        joined: true,
    };
    let bounds = scarce().fold([0.98_f64, 1.02], |[least, most], row| {
        [least.min(row.overhead), most.max(row.overhead)]
    });
    let mut legend: Vec<(String, Mark)> = { programs.iter() }
        .map(|(name, colour)| {
            let mark = Mark {
                shape: SHAPES[0],
                colour: *colour,
                filled: true,
            };
            (name.to_string(), mark)
        })
        .collect();
    legend.extend(memories.iter().map(|memory| {
        let mark = Mark {
            shape: shape(*memory),
            colour: grey,
            filled: shape(*memory) == SHAPES[0],
        };
        (size::approximate(*memory), mark)
    }));
    legend.push((format!("{PAPERS_OVERHEAD}: the paper"), limit));
    let chart = Chart {
        heading: "NAS parallel benchmarks: time with scarce MPI memory over time with ample memory",
        x: Axis::categories("class and nodes", machines.values().cloned()),
        y: Axis::linear("overhead", bounds[0] - 0.005..bounds[1] + 0.005),
        series: series.chain([papers]).collect(),
        legend,
    };
    plot::chart(&chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn objects_are_read_from_a_makefile() {
        let makefile = "X = y\nOBJS = a.o b.o \\\n  ${COMMON}/${RAND}.o \\\n\t${COMMON}/c.o\n\nprogram: $(OBJS)\n";
        assert_eq!(
            objects(makefile),
            ["a.o", "b.o", "${COMMON}/${RAND}.o", "${COMMON}/c.o"]
        );
        assert_eq!(objects("OBJS=a.o\nbt: btio.o\n"), ["a.o", "btio.o"]);
        assert!(objects("all:\n").is_empty());
    }

    fn row(class: &str, nodes: u64, overhead: f64) -> NasRow {
        NasRow {
            program: "SP",
            class: class.into(),
            nodes,
            mpi_memory: 4096,
            mops: 12_345.67,
            rejected: 1_234_567,
            overhead,
            benchmark: NasProgram::Sp,
        }
    }

    #[test]
    fn bt_and_sp_accept_squares_and_the_others_powers_of_two() {
        let accepted = |program: NasProgram| [16, 32, 36, 64, 121, 128].map(|nodes| program.accepts(nodes));
        assert_eq!(accepted(NasProgram::Sp), [true, false, true, true, true, false]);
        assert_eq!(accepted(NasProgram::Ft), [true, true, false, true, false, true]);
    }

    #[test]
    fn results_of_an_earlier_run_are_read() {
        let written = table::csv(&[row("A", 64, 1.0)]).unwrap();
        let expected = EarlierRow {
            program: "SP".into(),
            class: "A".into(),
            nodes: 64,
            mpi_memory: 4096,
            mops: 12_345.67,
            rejected: 1_234_567,
            overhead: 1.0,
        };
        assert_eq!(table::csv(&[expected.to_row().unwrap()]).unwrap(), written);
        assert_eq!(parse_earlier(&written), Ok(vec![expected]));
        assert!(
            parse_earlier("program,class\nSP,A\n")
                .unwrap_err()
                .contains("missing field")
        );
    }

    #[test]
    fn rows_fit_a_terminal_and_are_drawn() {
        let rows = [row("A", 65_536, 1.0123), row("W", 16, 0.9)];
        for row in &rows {
            assert!(TABLE.row(row).len() <= usize::from(WIDTH));
        }
        let drawing = draw(&rows).unwrap();
        for label in ["W 16", "A 65536", "SP", "4.0 KiB", "1.01: the paper"] {
            assert!(drawing.contains(&format!("\n{label}\n")), "{label}: {drawing}");
        }
    }
}
