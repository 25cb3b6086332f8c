//! RMA epochs with blocking and nonblocking calls, in virtual time, compared with the thesis's results.

use super::boot;
use super::row::RunIn;
use crate::host::error::CliError;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use crate::show::table::{self, Column, Table, six_places};
use clap::Args;
use midplane_lab::JobFailure;
use midplane_lab::epochs_timed::{
    CallKind, InefficiencyPattern, LuParameters, LuTimes, TransactionLoad, pattern, solve, throughput,
};
use midplane_lab::timed::OperationCosts;
use plotters::style::RGBColor;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `midplane bench epochs`.
#[derive(Args, Debug)]
pub struct EpochsArgs {
    /// Platform. In QEMU, only the patterns are measured, by instruction count
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = RunIn::Simulated)]
    on: RunIn,

    /// Delay of the late process in microseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    late: u32,

    /// Random transactions of each process
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    transactions: u32,

    /// Maximum number of transactions of a process in flight
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    ahead: u32,

    /// Rows of the matrix on 16 processes. The rows of 32 and 64 processes are scaled to equal parts per process
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(64..=4096))]
    rows: u32,

    /// Write one line per measurement to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the patterns to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Bytes of a transfer: a minimal one, and one that takes Blue Gene/L's links as long as 1 MB takes the thesis's.
const BYTES: [usize; 2] = [8, 64 << 10];
/// Machines for transactions and LU decomposition.
const MACHINES: [[u16; 3]; 3] = [[4, 2, 2], [4, 4, 2], [4, 4, 4]];
/// Increase of transactions in percent that the thesis reports for nonblocking, reordered calls on each machine.
const THESIS_GAINS: [f64; 3] = [8.93, 10.75, 13.14];
/// Bytes of a transaction.
const TRANSACTION: usize = 256;
/// Time of one multiply-subtract in nanoseconds: 20 times that of Blue Gene/L's processor with operands in memory. The
/// share of computation then equals that of 20 times as many rows, each of which requires 20 times the computation per
/// transferred byte.
const UPDATE_NS: f64 = 40.0;

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct EpochRow {
    place: RunIn,
    what: &'static str,
    measured: &'static str,
    unit: &'static str,
    processes: u32,
    /// Bytes of a transfer or a transaction; rows of a matrix.
    size: usize,
    #[serde(serialize_with = "six_places")]
    blocking: f64,
    #[serde(serialize_with = "six_places")]
    nonblocking: f64,
    /// Like `nonblocking`, where no access follows another access.
    #[serde(serialize_with = "six_places")]
    reordered: f64,
    thesis: String,
}

const TABLE: Table<EpochRow> = Table {
    columns: &[
        Column::left("", 14, |r| r.what.into()),
        Column::right("pro-\ncesses", 6, |r| r.processes.to_string()),
        Column::right("size", 6, |r| r.size.to_string()),
        Column::right("blocking", 9, |r| format!("{:.1}", r.blocking)),
        Column::right("not\nblocking", 9, |r| format!("{:.1}", r.nonblocking)),
        Column::right("and\nreordered", 9, |r| format!("{:.1}", r.reordered)),
        Column::left("the thesis", 20, |r| r.thesis.clone()),
    ],
    keys: 3,
    gap: 1,
};

/// Returns the pattern's name, the measured quantity, and the thesis's results for few and for many bytes: blocking;
/// nonblocking.
fn print_legend(what: InefficiencyPattern) -> (&'static str, &'static str, [&'static str; 2]) {
    match what {
        InefficiencyPattern::LatePost => (
            "late post",
            "until the origin's next activity begins",
            [">1000; 1.74", ">1660; 334.32"],
        ),
        InefficiencyPattern::EarlyTransfer => (
            "early transfer",
            "until the origin completes its operation",
            ["void since MPI-3.0", "void since MPI-3.0"],
        ),
        InefficiencyPattern::EarlyWait => (
            "early wait",
            "until the target has received its data and has computed",
            ["-", "-"],
        ),
        InefficiencyPattern::LateComplete => ("late complete", "the target's epoch", [">=1000; 9.05", ">=1000; 336.1"]),
        InefficiencyPattern::EarlyFence => (
            "early fence",
            "until the origin has received its data and has computed",
            ["-", "sum; barely >1000"],
        ),
        InefficiencyPattern::WaitAtFence => (
            "wait at fence",
            "the target's epoch",
            [">1000; none of it", ">1000; none of it"],
        ),
        InefficiencyPattern::LateUnlock => (
            "late unlock",
            "the second holder's epoch",
            [">1000; <1000", ">1000; well <1000"],
        ),
        InefficiencyPattern::LateTarget => (
            "late target",
            "the epoch of the target that is in time",
            ["-", "1654.73; ~330"],
        ),
    }
}

fn failed(error: JobFailure) -> CliError {
    CliError::failure(format!("epochs on the simulated machine: {error:?}"))
}

/// Results so far, and the signals to end early.
struct EpochBench {
    signals: Signals,
    rows: Vec<EpochRow>,
}

impl EpochBench {
    fn print_row(&mut self, row: EpochRow) -> Result<(), CliError> {
        print_line(TABLE.row(&row))?;
        self.rows.push(row);
        self.signals.pending().map_or(Ok(()), Err)
    }

    fn patterns(&mut self, late_us: u32, costs: OperationCosts) -> Result<(), CliError> {
        print_line(format_args!("microseconds; one process is late by {late_us} us"))?;
        print_line(TABLE.heading().join("\n"))?;
        for what in InefficiencyPattern::ALL {
            for (place, bytes) in BYTES.into_iter().enumerate() {
                let late = u64::from(late_us) * 1000;
                let us = |calls| {
                    let ns = pattern(what, calls, bytes, late, costs).map_err(failed)?;
                    Ok::<_, CliError>(ns as f64 / 1e3)
                };
                let (name, measured, thesis) = print_legend(what);
                self.print_row(EpochRow {
                    place: RunIn::Simulated,
                    what: name,
                    measured,
                    unit: "us",
                    processes: 3,
                    size: bytes,
                    blocking: us(CallKind::Blocking)?,
                    nonblocking: us(CallKind::Nonblocking)?,
                    reordered: us(CallKind::Reordered)?,
                    thesis: thesis[place].into(),
                })?;
            }
        }
        Ok(())
    }

    /// Measures the patterns of `tests/programs/late_epochs.c` on nodes, with the instruction count as the clock.
    fn patterns_on_nodes(&mut self, late_us: u32) -> Result<(), CliError> {
        let options = ["--torus", "3x1x1", "--instances", "1", "--timeout", "300"];
        let options = [&options[..], &["--count-instructions"]].concat();
        let late = late_us.to_string();
        let said = boot::run(&options, "late_epochs.c", &[&late], &self.signals)?;
        print_line(format_args!(
            "microseconds on nodes, of 1,000 instructions; one process is late by {late_us}"
        ))?;
        print_line(TABLE.heading().join("\n"))?;
        for what in InefficiencyPattern::ALL {
            // The C program lacks the last pattern (info keys).
            for (place, bytes) in BYTES.into_iter().enumerate() {
                let (name, measured, thesis) = print_legend(what);
                let Some([blocking, nonblocking]) = on_nodes(&said, name, bytes) else {
                    continue;
                };
                self.print_row(EpochRow {
                    place: RunIn::Qemu,
                    what: name,
                    measured,
                    unit: "us",
                    processes: 3,
                    size: bytes,
                    blocking,
                    nonblocking,
                    reordered: nonblocking,
                    thesis: thesis[place].into(),
                })?;
            }
        }
        Ok(())
    }

    fn transactions(&mut self, each: u32, ahead: u32, costs: OperationCosts) -> Result<(), CliError> {
        print_line(format_args!(
            "\nthousands of random transactions per second, of {TRANSACTION} bytes each, at most\n{ahead} of a \
             process in flight; for nonblocking and reordered epochs: the gain"
        ))?;
        for (extents, thesis) in MACHINES.into_iter().zip(THESIS_GAINS) {
            let what = TransactionLoad {
                extents,
                each: each as usize,
                ahead: ahead as usize,
                bytes: TRANSACTION,
            };
            let thousands = |calls| {
                let each_second = throughput(what, calls, costs).map_err(failed)?;
                Ok::<_, CliError>(each_second / 1e3)
            };
            let (blocking, nonblocking, reordered) = (
                thousands(CallKind::Blocking)?,
                thousands(CallKind::Nonblocking)?,
                thousands(CallKind::Reordered)?,
            );
            let gain = |calls: f64| 100.0 * (calls / blocking - 1.0);
            self.print_row(EpochRow {
                place: RunIn::Simulated,
                what: "transactions",
                measured: "of all processes together",
                unit: "thousands/s",
                processes: processes(extents),
                size: TRANSACTION,
                blocking,
                nonblocking,
                reordered,
                thesis: format!("reordered {thesis:+.2} %"),
            })?;
            print_line(format_args!(
                "{:>40}{:>+9.2} %{:>+7.2} %",
                "",
                gain(nonblocking),
                gain(reordered)
            ))?;
        }
        Ok(())
    }

    fn lu(&mut self, rows: u32, costs: OperationCosts) -> Result<(), CliError> {
        print_line(format_args!(
            "\nmilliseconds of LU decomposition with a fence for each row,\n{UPDATE_NS} ns per update (a number minus \
             a product)"
        ))?;
        for extents in MACHINES {
            let more = f64::from(processes(extents)) / f64::from(processes(MACHINES[0]));
            let lu = LuParameters {
                extents,
                rows: (f64::from(rows) * more.sqrt()) as u32,
                update_ns: UPDATE_NS,
            };
            let solved = |calls| solve(lu, calls, costs).map_err(failed);
            let (waits, goes_on) = (solved(CallKind::Blocking)?, solved(CallKind::Nonblocking)?);
            for (what, of) in [
                ("LU", (|s| s.ns) as fn(LuTimes) -> u64),
                ("communication", |s| s.communication_ns),
            ] {
                let [blocking, nonblocking] = [waits, goes_on].map(|s| of(s) as f64 / 1e6);
                self.print_row(EpochRow {
                    place: RunIn::Simulated,
                    what,
                    measured: "until the last process ends",
                    unit: "ms",
                    processes: processes(extents),
                    size: lu.rows as usize,
                    blocking,
                    nonblocking,
                    reordered: nonblocking,
                    thesis: "nonblocking is faster".into(),
                })?;
            }
        }
        Ok(())
    }
}

fn processes(extents: [u16; 3]) -> u32 {
    extents.map(u32::from).iter().product()
}

/// Parses the microseconds of a pattern in the output of `late_epochs.c`: blocking and nonblocking.
fn on_nodes(said: &str, name: &str, bytes: usize) -> Option<[f64; 2]> {
    let (_, rest) = said.split_once(&format!("late_epochs: {name}, {bytes} bytes: "))?;
    let line = rest.lines().next()?.strip_suffix(" not")?;
    let (blocking, not) = line.split_once(" blocking, ")?;
    let us = |ns: &str| Some(ns.parse::<f64>().ok()? / 1e3);
    Some([us(blocking)?, us(not)?])
}

/// Measures the epochs; returns the exit status.
pub fn run(options: &EpochsArgs) -> Result<u8, CliError> {
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let mut bench = EpochBench {
        signals: Signals::catch()?,
        rows: Vec::new(),
    };
    match options.on {
        RunIn::Simulated => simulate(options, &mut bench)?,
        RunIn::Qemu if setup::has_qemu() => bench.patterns_on_nodes(options.late)?,
        RunIn::Qemu => return Err(boot::no_qemu("bench epochs")),
    }
    if let Some(file) = csv_file {
        file.write(&table::csv(&bench.rows)?)?;
    }
    if let Some(file) = svg_file {
        file.write(&drawing(&bench.rows)?)?;
    }
    Ok(0)
}

fn simulate(options: &EpochsArgs, bench: &mut EpochBench) -> Result<(), CliError> {
    let costs = OperationCosts::BLUE_GENE;
    print_line(format_args!(
        "simulated machine: links of {:.0} MB/s, {} ns per hop, {} ns per packet at a processor,\n{} ns per MPI call \
         and again if it waits, {} ns per interrupt of a program that\ncomputes; searches of the epoch engine take no \
         time",
        1e3 / costs.link_ns_per_byte,
        costs.hop_ns,
        costs.packet_ns,
        costs.call_ns,
        costs.interrupt_ns,
    ))?;
    bench.patterns(options.late, costs)?;
    bench.transactions(options.transactions, options.ahead, costs)?;
    bench.lu(options.rows, costs)
}

const BLOCKING: RGBColor = RGBColor(0xb8, 0x44, 0x2c);
const NONBLOCKING: RGBColor = RGBColor(0x1f, 0x5f, 0xa8);
const REORDERED: RGBColor = RGBColor(0x2c, 0x8f, 0x4e);

/// A kind of calls: name, mark, and value in a row.
type CallSeries = (&'static str, Mark, fn(&EpochRow) -> f64);

/// Returns the marks of the three kinds of calls.
fn marks() -> [CallSeries; 3] {
    let mark = |shape, colour| Mark {
        shape,
        colour,
        filled: true,
    };
    [
        ("blocking", mark(MarkShape::Square, BLOCKING), |r| r.blocking),
        ("not blocking", mark(MarkShape::Circle, NONBLOCKING), |r| r.nonblocking),
        ("and reordered", mark(MarkShape::Triangle, REORDERED), |r| r.reordered),
    ]
}

/// Draws the patterns side by side, few bytes before many.
fn drawing(rows: &[EpochRow]) -> Result<String, CliError> {
    let patterns: Vec<&EpochRow> = rows.iter().filter(|row| row.unit == "us").collect();
    let values = patterns.iter().flat_map(|r| [r.blocking, r.nonblocking, r.reordered]);
    let most = values.fold(10.0f64, f64::max).log10();
    let least = 0.0;
    let small = BYTES[0];
    let names = patterns.iter().step_by(BYTES.len());
    let series = marks().into_iter().enumerate().map(|(kind, (_, mark, of))| Series {
        points: patterns
            .iter()
            .enumerate()
            .map(|(place, row)| {
                let aside = if row.size == small { -0.2 } else { 0.2 };
                let at = (place / BYTES.len()) as f64 + aside + 0.06 * (kind as f64 - 1.0);
                (at, of(row).max(1.0).log10())
            })
            .collect(),
        mark,
        joined: false,
    });
    plot::chart(&Chart {
        heading: "Epochs: waiting time if one process is late, with 8 bytes (left) and with 64 KiB",
        x: Axis::categories("pattern", names.map(|row| row.what.into())),
        y: Axis::log10("microseconds", least..most + 0.1),
        series: series.collect(),
        legend: marks().map(|(name, mark, _)| (name.into(), mark)).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    fn row(what: InefficiencyPattern, size: usize) -> EpochRow {
        let (name, measured, thesis) = print_legend(what);
        EpochRow {
            place: RunIn::Simulated,
            what: name,
            measured,
            unit: "us",
            processes: 64,
            size,
            blocking: 1_001_001.5,
            nonblocking: 3.5,
            reordered: 2.5,
            thesis: thesis[1].into(),
        }
    }

    #[test]
    fn what_the_program_says_is_read() {
        let said = "[0] late_epochs: late post, 8 bytes: 1074000 blocking, 16200 not\n[0] more\n";
        assert_eq!(on_nodes(said, "late post", 8), Some([1074.0, 16.2]));
        assert_eq!(on_nodes(said, "late post", 65_536), None);
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        for what in InefficiencyPattern::ALL {
            let line = TABLE.row(&row(what, 64 << 10));
            assert!(line.len() <= usize::from(WIDTH), "{line}");
        }
    }

    #[test]
    fn every_pattern_has_its_name_in_the_drawing() {
        let rows: Vec<EpochRow> = InefficiencyPattern::ALL
            .into_iter()
            .flat_map(|what| BYTES.map(|size| row(what, size)))
            .collect();
        let drawing = drawing(&rows).expect("a drawing");
        for what in InefficiencyPattern::ALL {
            assert!(drawing.contains(print_legend(what).0), "{what:?}");
        }
    }
}
