//! Messages between native processes, compared with another MPI if one is installed.

use super::boot;
use super::row;
use crate::host::directories;
use crate::host::error::CliError;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table::{self, Column, Table, six_places_if_any};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `midplane bench linux`.
#[derive(Args, Debug)]
pub struct LinuxArgs {
    /// Runs of each program, alternating with the other library; the result is the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Time limit of a killer job in seconds
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=86400))]
    limit: u32,

    /// Messages of each sender of the killer benchmark
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    messages: u32,

    /// Write one line per measurement to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Measured message operations: the name in `tests/programs/times.c`, and a description.
const TIMED: [(&str, &str); 4] = [
    ("half", "half a round trip of 8 bytes"),
    ("stream", "a message of a stream of 8 bytes"),
    ("long", "a message of a stream of 64 KiB"),
    ("self", "self-send of 8 bytes, MPI_Irecv to MPI_Wait"),
];

/// One measurement, in microseconds. `None`: not measured, or timed out.
#[derive(Debug, Serialize)]
struct LinuxRow {
    what: String,
    #[serde(serialize_with = "six_places_if_any")]
    ours_us: Option<f64>,
    #[serde(serialize_with = "six_places_if_any")]
    theirs_us: Option<f64>,
    /// Midplane's time over the other's; an upper bound if the other timed out.
    #[serde(serialize_with = "six_places_if_any")]
    ratio: Option<f64>,
}

const TABLE: Table<LinuxRow> = Table {
    columns: &[
        Column::left("microseconds", 43, |r| r.what.clone()),
        Column::right("ours", 12, |r| shown(r.ours_us, 3)),
        Column::right("theirs", 12, |r| shown(r.theirs_us, 3)),
        Column::right("ratio", 7, |r| shown(r.ratio, 2)),
    ],
    keys: 1,
    gap: 1,
};

fn shown(number: Option<f64>, places: usize) -> String {
    number.map_or("-".into(), |number| format!("{number:.places$}"))
}

/// Compiler and launcher of another MPI.
struct OtherMpi {
    mpicc: PathBuf,
    mpiexec: PathBuf,
}

impl OtherMpi {
    fn find() -> Option<Self> {
        Some(Self {
            mpicc: setup::in_path("mpicc")?,
            mpiexec: setup::in_path("mpiexec")?,
        })
    }

    /// Compiles a program of `tests/programs`; returns the executable.
    fn compile(&self, name: &str, signals: &Signals) -> Result<PathBuf, CliError> {
        let to = directories::target().join(format!("bench-{name}-{}", std::process::id()));
        boot::compile(&self.mpicc, name, &to, signals)?;
        Ok(to)
    }

    fn run(
        &self,
        program: &Path,
        processes: &str,
        arguments: &[&str],
        limit_s: Option<u32>,
        signals: &Signals,
    ) -> Result<Option<String>, CliError> {
        let mut command = Command::new(&self.mpiexec);
        command.args(["-n", processes]).arg(program).args(arguments);
        boot::capture_output(command, limit_s, signals)
    }
}

/// Measures the messages; returns the exit status.
pub fn run(options: &LinuxArgs) -> Result<u8, CliError> {
    let file = ResultFile::open_if_given(options.csv.as_ref())?;
    let signals = Signals::catch()?;
    let other = OtherMpi::find();
    if other.is_none() {
        print_line("no comparison with another MPI: mpicc and mpiexec are not in PATH")?;
    }
    let mut rows = messages(options, other.as_ref(), &signals)?;
    rows.push(killer(options, other.as_ref(), &signals)?);
    if let Some(file) = file {
        file.write(&table::csv(&rows)?)?;
    }
    Ok(0)
}

/// Returns a program's outputs under Midplane and the other MPI, run alternately.
fn run_alternating(
    options: &LinuxArgs,
    other: Option<&OtherMpi>,
    signals: &Signals,
    ours: impl Fn() -> Result<String, CliError>,
    name: &str,
    processes: &str,
    arguments: &[&str],
) -> Result<[Vec<Option<String>>; 2], CliError> {
    let theirs = match other {
        Some(other) => Some((other, other.compile(name, signals)?)),
        None => None,
    };
    let mut said = [Vec::new(), Vec::new()];
    let mut done = Ok(());
    for _ in 0..options.runs {
        done = (|| {
            said[0].push(Some(ours()?));
            // A run that timed out is not repeated.
            let [_, before] = &mut said;
            if let Some((other, program)) = &theirs
                && before.iter().all(Option::is_some)
            {
                let limit = Some(options.limit);
                before.push(other.run(program, processes, arguments, limit, signals)?);
            }
            Ok(())
        })();
        if done.is_err() {
            break;
        }
    }
    if let Some((_, program)) = theirs {
        let _ = std::fs::remove_file(program);
    }
    done.map(|()| said)
}

fn messages(options: &LinuxArgs, other: Option<&OtherMpi>, signals: &Signals) -> Result<Vec<LinuxRow>, CliError> {
    let ours = || boot::run(&["--on", "linux", "-n", "2"], "times.c", &[], signals);
    let [ours, theirs] = run_alternating(options, other, signals, ours, "times", "2", &[])?;
    let library = |said: &[Option<String>]| {
        let said = said.first()?.as_ref()?;
        let (_, rest) = said.split_once("times: library ")?;
        Some(rest.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    if let (Some(ours), Some(theirs)) = (library(&ours), library(&theirs)) {
        print_line(format_args!("ours: {ours}\ntheirs: {theirs}"))?;
    }
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for (name, words) in TIMED {
        let of = |said: &[Option<String>]| median_of(said, |said| read(said, name));
        print_row(words.into(), of(&ours), of(&theirs), &mut rows)?;
    }
    Ok(rows)
}

/// Measures the killer and its unexpected messages: with bounded memory, and without a bound.
fn killer(options: &LinuxArgs, other: Option<&OtherMpi>, signals: &Signals) -> Result<LinuxRow, CliError> {
    const PROCESSES: &str = "8";
    let messages = options.messages.to_string();
    let arguments = [messages.as_str(), "16"];
    let job = ["--on", "linux", "-n", PROCESSES, "--mpi-memory", "64K"];
    let ours = || boot::run(&job, "killer.c", &arguments, signals);
    let [ours, theirs] = run_alternating(options, other, signals, ours, "killer", PROCESSES, &arguments)?;
    let of = |said: &[Option<String>]| median_of(said, boot::seconds).map(|s| s * 1e6);
    let mut rows = Vec::new();
    let what = format!("killer, {PROCESSES} x {messages} x 16 bytes, 64 KiB");
    let given_up = theirs.iter().any(Option::is_none);
    let limit = f64::from(options.limit) * 1e6;
    let their = if given_up { Some(limit) } else { of(&theirs) };
    print_row(what, of(&ours), their, &mut rows)?;
    if given_up {
        print_line(format_args!(
            "the other library's job was ended after {} s",
            options.limit
        ))?;
    }
    rows.pop().ok_or_else(|| CliError::failure("no row for the killer"))
}

fn print_row(what: String, ours: Option<f64>, theirs: Option<f64>, rows: &mut Vec<LinuxRow>) -> Result<(), CliError> {
    let row = LinuxRow {
        what,
        ours_us: ours,
        theirs_us: theirs,
        ratio: ours.zip(theirs).map(|(ours, theirs)| ours / theirs),
    };
    print_line(TABLE.row(&row))?;
    rows.push(row);
    Ok(())
}

/// Returns the median over the runs.
fn median_of(said: &[Option<String>], of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let numbers = said.iter().flatten().map(|said| of(said));
    let numbers = numbers.collect::<Option<Vec<f64>>>()?;
    (!numbers.is_empty()).then(|| row::middle(numbers))
}

/// Parses the number after `times: NAME`.
fn read(said: &str, name: &str) -> Option<f64> {
    boot::number(said, "times", name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn what_the_program_says_is_read() {
        let said = "[0] times: library Midplane\n[0] times: half 1.2500\n[0] times: self 0.1\n";
        assert_eq!(read(said, "half"), Some(1.25));
        assert_eq!(read(said, "self"), Some(0.1));
        assert_eq!(read(said, "long"), None);
    }

    #[test]
    fn the_median_is_of_what_was_measured() {
        let said = |us: &str| Some(format!("times: half {us}\n"));
        let half = |said: &[Option<String>]| median_of(said, |said| read(said, "half"));
        assert_eq!(half(&[said("3"), said("1"), said("2")]), Some(2.0));
        assert_eq!(half(&[said("3"), None]), Some(3.0));
        assert_eq!(half(&[said("3"), said("?")]), None);
        assert_eq!(half(&[]), None);
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = LinuxRow {
            what: "killer, 8 x 1000000 x 16 bytes, 64 KiB".into(),
            ours_us: Some(86_400_000.0),
            theirs_us: Some(86_400_000.0),
            ratio: Some(1234.56),
        };
        let none = LinuxRow {
            what: TIMED[3].1.into(),
            ours_us: Some(1.0),
            theirs_us: None,
            ratio: None,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row), TABLE.row(&none)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }
}
