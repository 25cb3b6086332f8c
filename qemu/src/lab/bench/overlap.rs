//! Overlap of a message's transfer with the computation of its two processes, in virtual time.

use super::boot;
use super::row::RunIn;
use crate::host::error::CliError;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::host::size;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use crate::show::table::{self, Column, Table, six_places};
use clap::Args;
use midplane_lab::JobFailure;
use midplane_lab::overlap::{FirstSide, OverlapTransfer, ReceiveKind};
use midplane_lab::timed::OperationCosts;
use plotters::style::RGBColor;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `midplane bench overlap`.
#[derive(Args, Debug)]
pub struct OverlapArgs {
    /// Platform. In QEMU, only messages of 1M and more are measured, with computation of twice the transfer time, by
    /// instruction count
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = RunIn::Simulated)]
    on: RunIn,

    /// Sizes of the messages, separated by commas
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1,1K,8K,64K,256K,1M,4M",
          value_parser = parse_bytes)]
    bytes: Vec<u64>,

    /// Write one line per measurement to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the hidden share of the transfer as a function of the computation time to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Maximum message in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Computation of each process in microseconds, in addition to twice the transfer's time.
const COMPUTE_US: [u64; 4] = [0, 500, 1000, 2000];
/// Maximum CPU shares of interrupts in percent: none, half, unlimited.
const PERCENTS: [u64; 3] = [0, 50, 100];
const ORDERS: [FirstSide; 2] = [FirstSide::Sender, FirstSide::Receiver];
/// Minimum message on nodes in QEMU in bytes: shorter ones take little longer than the nodes' scheduling quantum.
const MIN_BYTES_ON_NODES: u64 = 1 << 20;
/// Computation on nodes in QEMU, as a multiple of the transfer's time.
const TURNS: u64 = 2;

fn first_name(first: FirstSide) -> &'static str {
    match first {
        FirstSide::Sender => "sender",
        FirstSide::Receiver => "receiver",
    }
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    size::parse(text).and_then(|bytes| match bytes {
        1..=MAX_BYTES => Ok(bytes),
        _ => Err(format!("from 1 to {}", size::exact(MAX_BYTES))),
    })
}

/// One measurement. Times are in microseconds; hidden and interrupt times are shares of the transfer's time.
#[derive(Clone, Debug, Serialize)]
struct OverlapRow {
    place: RunIn,
    bytes: usize,
    first: &'static str,
    receive: &'static str,
    interrupts_percent: u64,
    #[serde(serialize_with = "six_places")]
    transfer_us: f64,
    #[serde(serialize_with = "six_places")]
    compute_us: f64,
    #[serde(serialize_with = "six_places")]
    sender_us: f64,
    #[serde(serialize_with = "six_places")]
    receiver_us: f64,
    #[serde(serialize_with = "six_places")]
    sender_hidden: f64,
    #[serde(serialize_with = "six_places")]
    receiver_hidden: f64,
    #[serde(serialize_with = "six_places")]
    sender_served: f64,
    #[serde(serialize_with = "six_places")]
    receiver_served: f64,
}

const TABLE: Table<OverlapRow> = Table {
    columns: &[
        Column::right("bytes", 7, |r| r.bytes.to_string()),
        Column::left("first", 8, |r| r.first.into()),
        Column::left("receive", 11, |r| r.receive.into()),
        Column::right("inter-\nrupts", 6, |r| format!("{} %", r.interrupts_percent)),
        Column::right("transfer\n(us)", 8, |r| format!("{:.0}", r.transfer_us)),
        Column::right("compute\n(us)", 7, |r| format!("{:.0}", r.compute_us)),
        Column::right("hidden,\nsender", 7, |r| part(r.sender_hidden)),
        Column::right("recei-\nver", 6, |r| part(r.receiver_hidden)),
        Column::right("served", 6, |r| part(r.sender_served.max(r.receiver_served))),
    ],
    keys: 6,
    gap: 1,
};

fn part(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn failed(error: JobFailure) -> CliError {
    CliError::failure(format!("overlap on the simulated machine: {error:?}"))
}

/// Measures one message with each amount of computation, in one order and with one interrupt limit.
fn measure(overlap: OverlapTransfer, mut tell: impl FnMut(OverlapRow) -> Result<(), CliError>) -> Result<(), CliError> {
    let transfer = overlap.transfer_ns().map_err(failed)?;
    let computed = COMPUTE_US.map(|us| us * 1000).into_iter();
    for compute_ns in computed.chain([TURNS * transfer]) {
        let measured = OverlapTransfer { compute_ns, ..overlap };
        let measured = measured.run().map_err(failed)?;
        let us = |ns: u64| ns as f64 / 1e3;
        let (sender, receiver) = (measured.sender, measured.receiver);
        tell(OverlapRow {
            place: RunIn::Simulated,
            bytes: overlap.bytes,
            first: first_name(overlap.first),
            receive: match overlap.receive {
                ReceiveKind::Blocking => "blocking",
                ReceiveKind::Nonblocking => "nonblocking",
            },
            interrupts_percent: overlap.costs.interrupt_percent,
            transfer_us: us(transfer),
            compute_us: us(compute_ns),
            sender_us: us(sender.total_ns),
            receiver_us: us(receiver.total_ns),
            sender_hidden: sender.hidden(transfer),
            receiver_hidden: receiver.hidden(transfer),
            sender_served: sender.served(transfer),
            receiver_served: receiver.served(transfer),
        })?;
    }
    Ok(())
}

/// Measures `tests/programs/beside_wait.c` on two nodes, with the instruction count as the clock.
fn measure_on_nodes(
    bytes: usize,
    percent: u64,
    signals: &Signals,
    mut tell: impl FnMut(OverlapRow) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (interrupts, size) = (percent.to_string(), bytes.to_string());
    let options = ["--torus", "2x1x1", "--instances", "1", "--timeout", "600"];
    let options = [&options[..], &["--count-instructions"]].concat();
    let options = [&options[..], &["--interrupts", &interrupts]].concat();
    let arguments = ["overlap", &size, &TURNS.to_string()];
    let said = boot::run(&options, "beside_wait.c", &arguments, signals)?;
    for first in ORDERS {
        let row = on_nodes(&said, first_name(first), bytes, percent)
            .ok_or_else(|| CliError::failure(format!("beside_wait.c did not print its times:\n{said}")))?;
        tell(row)?;
    }
    Ok(())
}

/// Parses the output of `beside_wait.c` for one order.
fn on_nodes(said: &str, first: &'static str, bytes: usize, percent: u64) -> Option<OverlapRow> {
    let side = |name: &str| {
        let (_, rest) = said.split_once(&format!("overlap: {first} first, {name}: "))?;
        let mut words = rest.lines().next()?.split_whitespace();
        let number = |name: &str| {
            words.find(|word| *word == name)?;
            words.next()?.parse::<f64>().ok()
        };
        let names = ["transfer", "wait", "served", "total"].map(number);
        let [Some(transfer), Some(wait), Some(served), Some(total)] = names else {
            return None;
        };
        Some((transfer, 1.0 - wait / transfer, served / transfer, total))
    };
    let (sender, receiver) = (side("sender")?, side("receiver")?);
    let (transfer, ..) = sender;
    Some(OverlapRow {
        place: RunIn::Qemu,
        bytes,
        first,
        receive: "nonblocking",
        interrupts_percent: percent,
        transfer_us: transfer / 1e3,
        compute_us: TURNS as f64 * transfer / 1e3,
        sender_us: sender.3 / 1e3,
        receiver_us: receiver.3 / 1e3,
        sender_hidden: sender.1,
        receiver_hidden: receiver.1,
        sender_served: sender.2,
        receiver_served: receiver.2,
    })
}

/// Measures the overlap; returns the exit status.
pub fn run(options: &OverlapArgs) -> Result<u8, CliError> {
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let signals = Signals::catch()?;
    let mut rows = Vec::new();
    let mut tell = |row| {
        print_line(TABLE.row(&row))?;
        rows.push(row);
        signals.pending().map_or(Ok(()), Err)
    };
    match options.on {
        RunIn::Simulated => simulate(&options.bytes, &mut tell)?,
        RunIn::Qemu if setup::has_qemu() => {
            print_line(
                "nodes in QEMU, scheduled round robin on one processor: they alternate between computing\nand \
                 sleeping; times in microseconds of 1,000 instructions",
            )?;
            print_line(TABLE.heading().join("\n"))?;
            let long = options.bytes.iter().filter(|bytes| **bytes >= MIN_BYTES_ON_NODES);
            let each = long.flat_map(|bytes| [100, 0].map(|percent| (*bytes, percent)));
            for (bytes, percent) in each {
                measure_on_nodes(bytes as usize, percent, &signals, &mut tell)?;
            }
        }
        RunIn::Qemu => return Err(boot::no_qemu("bench overlap")),
    }
    if let Some(file) = csv_file {
        file.write(&table::csv(&rows)?)?;
    }
    if let Some(file) = svg_file {
        file.write(&drawing(&rows)?)?;
    }
    Ok(0)
}

fn simulate(sizes: &[u64], tell: &mut impl FnMut(OverlapRow) -> Result<(), CliError>) -> Result<(), CliError> {
    let costs = OperationCosts::BLUE_GENE;
    print_line(format_args!(
        "simulated machine: links of {:.0} MB/s, {} ns per packet at a processor, {} ns per MPI\ncall and again if it \
         waits, {} ns per interrupt. hidden: share of the transfer for\nwhich no call waits; served: additional \
         computation time due to the transfer,\nat the busier side.",
        1e3 / costs.link_ns_per_byte,
        costs.packet_ns,
        costs.call_ns,
        costs.interrupt_ns,
    ))?;
    print_line(TABLE.heading().join("\n"))?;
    for &bytes in sizes {
        for first in ORDERS {
            let nonblocking = PERCENTS.map(|percent| (ReceiveKind::Nonblocking, percent));
            for (receive, interrupt_percent) in [(ReceiveKind::Blocking, 100)].into_iter().chain(nonblocking) {
                let overlap = OverlapTransfer {
                    bytes: bytes as usize,
                    compute_ns: 0,
                    first,
                    receive,
                    costs: OperationCosts {
                        interrupt_percent,
                        ..costs
                    },
                };
                measure(overlap, &mut *tell)?;
            }
        }
    }
    Ok(())
}

const COLOURS: [RGBColor; 3] = [
    RGBColor(0xb8, 0x44, 0x2c),
    RGBColor(0x2c, 0x8f, 0x4e),
    RGBColor(0x1f, 0x5f, 0xa8),
];

/// Draws the hidden share of a nonblocking receive, at the side that hides less, by the ratio of computation to
/// transfer time.
fn drawing(rows: &[OverlapRow]) -> Result<String, CliError> {
    let marks = PERCENTS.into_iter().zip(COLOURS).flat_map(|(percent, colour)| {
        let shapes = [("sender", MarkShape::Circle), ("receiver", MarkShape::Square)];
        shapes.map(|(first, shape)| {
            let mark = Mark {
                shape,
                colour,
                filled: first == "receiver",
            };
            (percent, first, mark)
        })
    });
    let marks: Vec<(u64, &str, Mark)> = marks.collect();
    let series = marks.iter().map(|(percent, first, mark)| {
        let is_of = |row: &&OverlapRow| {
            row.receive == "nonblocking" && row.interrupts_percent == *percent && row.first == *first
        };
        let point = |row: &OverlapRow| {
            let computed = (row.compute_us / row.transfer_us).min(3.0);
            (computed, 100.0 * row.sender_hidden.min(row.receiver_hidden))
        };
        Series {
            points: rows.iter().filter(is_of).map(point).collect(),
            mark: *mark,
            joined: false,
        }
    });
    plot::chart(&Chart {
        heading: "Hidden share of the transfer at both sides",
        x: Axis::linear(
            "computation time divided by the transfer's time (3: 3 or more)",
            -0.1..3.1,
        ),
        y: Axis::linear("percent hidden", -2.0..102.0),
        series: series.collect(),
        legend: { marks.iter() }
            .map(|(percent, first, mark)| (format!("interrupts up to {percent} %, {first} first"), *mark))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    fn rows(first: FirstSide, interrupt_percent: u64) -> Vec<OverlapRow> {
        let overlap = OverlapTransfer {
            bytes: 16 << 10,
            compute_ns: 0,
            first,
            receive: ReceiveKind::Nonblocking,
            costs: OperationCosts {
                interrupt_percent,
                ..OperationCosts::BLUE_GENE
            },
        };
        let mut rows = Vec::new();
        measure(overlap, |row| {
            rows.push(row);
            Ok(())
        })
        .expect("a run");
        rows
    }

    #[test]
    fn more_computing_hides_more_where_there_are_interrupts() {
        let (with, without) = (rows(FirstSide::Receiver, 100), rows(FirstSide::Receiver, 0));
        let last = with.last().expect("rows");
        assert!(last.sender_hidden > 0.9 && last.receiver_hidden > 0.9, "{last:?}");
        let last = without.last().expect("rows");
        assert!(last.sender_hidden.min(last.receiver_hidden) < 0.1, "{last:?}");
        let drawing = drawing(&[with, without].concat()).expect("a drawing");
        assert!(drawing.contains("interrupts up to 50 %, receiver first"));
    }

    #[test]
    fn what_the_program_says_is_read() {
        let side = |name, hidden| {
            format!(
                "[0] overlap: sender first, {name}: transfer 4000 wait {hidden} hidden 9.9 served 2000 total 9000\n"
            )
        };
        let said = side("sender", 40) + &side("receiver", 1000);
        let row = on_nodes(&said, "sender", 8, 100).expect("a row");
        assert_eq!((row.transfer_us, row.compute_us, row.sender_us), (4.0, 8.0, 9.0));
        assert_eq!((row.sender_hidden, row.receiver_hidden), (0.99, 0.75));
        assert_eq!(row.receiver_served, 0.5);
        assert!(on_nodes(&said, "receiver", 8, 100).is_none());
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let mut row = rows(FirstSide::Receiver, 100).remove(0);
        (row.bytes, row.compute_us) = (MAX_BYTES as usize, 123_456.0);
        let line = TABLE.row(&row);
        assert!(line.len() <= usize::from(WIDTH), "{line}");
    }
}
