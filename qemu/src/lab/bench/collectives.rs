//! Collectives on the simulated machine, compared with the lower bound of its wires.

use crate::host::error::CliError;
use crate::host::signals::Signals;
use crate::run::topology::parse_extents;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table::{self, Column, Table, six_places};
use clap::Args;
use midplane_lab::collectives::{CollectiveRun, MeasuredCollective};
use midplane_lab::timed::OperationCosts;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `midplane bench collectives`.
#[derive(Args, Debug)]
pub struct CollectivesArgs {
    /// Extents of the torus along X, Y and Z
    #[arg(long, value_name = "XxYxZ", default_value = "8x8x8", value_parser = parse_extents)]
    torus: [u16; 3],

    /// Bytes of the messages; for an alltoall, the sum over all other processes. May be repeated [default: 8, 1024,
    /// 16384, 131072]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(8..=1 << 24))]
    bytes: Vec<u32>,

    /// Write one line per measurement to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

const BYTES: [u32; 4] = [8, 1 << 10, 16 << 10, 128 << 10];

/// One measurement.
#[derive(Clone, Debug, Serialize)]
struct CollectiveRow {
    collective: &'static str,
    nodes: u32,
    bytes: usize,
    #[serde(serialize_with = "six_places")]
    wires_us: f64,
    #[serde(serialize_with = "six_places")]
    allowed_us: f64,
    #[serde(serialize_with = "six_places")]
    over: f64,
    #[serde(serialize_with = "six_places")]
    blue_gene_us: f64,
}

const TABLE: Table<CollectiveRow> = Table {
    columns: &[
        Column::left("collective", 10, |r| r.collective.into()),
        Column::right("nodes", 5, |r| r.nodes.to_string()),
        Column::right("bytes", 8, |r| r.bytes.to_string()),
        Column::right("wires\n(us)", 10, |r| format!("{:.2}", r.wires_us)),
        Column::right("allowed\n(us)", 10, |r| format!("{:.2}", r.allowed_us)),
        Column::right("over\nallowed", 8, |r| format!("{:.2}", r.over)),
        Column::right("Blue Gene/L\n(us)", 11, |r| format!("{:.1}", r.blue_gene_us)),
    ],
    keys: 3,
    gap: 2,
};

/// Measures the collectives; returns the exit status.
pub fn run(options: &CollectivesArgs) -> Result<u8, CliError> {
    let csv_file = ResultFile::open_if_given(options.csv.as_ref())?;
    let signals = Signals::catch()?;
    let wires = OperationCosts::WIRES;
    print_line(format_args!(
        "links of {:.0} MB/s, {} ns per hop; wires: processors use 1 ns per packet and per call;\nallowed: lower \
         bound for any algorithm on the same wires; for very short messages\nthe route to the farthest node, in hops; \
         Blue Gene/L: processors use {} ns per\npacket and {} ns per call",
        1e3 / wires.link_ns_per_byte,
        wires.hop_ns,
        OperationCosts::BLUE_GENE.packet_ns,
        OperationCosts::BLUE_GENE.call_ns,
    ))?;
    print_line(TABLE.heading().join("\n"))?;
    let sizes = if options.bytes.is_empty() {
        &BYTES[..]
    } else {
        &options.bytes
    };
    let mut rows = Vec::new();
    for kind in MeasuredCollective::ALL {
        for &bytes in sizes {
            let Some(bytes) = message(kind, bytes as usize, options.torus) else {
                continue;
            };
            let row = measure(kind, bytes, options.torus)?;
            print_line(TABLE.row(&row))?;
            rows.push(row);
            if let Some(stop) = signals.pending() {
                return Err(stop);
            }
            if kind == MeasuredCollective::Barrier {
                break;
            }
        }
    }
    if let Some(file) = csv_file {
        file.write(&table::csv(&rows)?)?;
    }
    Ok(0)
}

/// Returns the bytes of a message for this kind; `None` if there would be none.
fn message(kind: MeasuredCollective, bytes: usize, extents: [u16; 3]) -> Option<usize> {
    let nodes = extents.iter().map(|&extent| usize::from(extent)).product::<usize>();
    let each = match kind {
        MeasuredCollective::Barrier => return Some(0),
        MeasuredCollective::Alltoall => bytes / nodes,
        MeasuredCollective::Bcast | MeasuredCollective::Allreduce => bytes,
    };
    let whole = each / 8 * 8;
    (whole > 0).then_some(whole)
}

fn measure(kind: MeasuredCollective, bytes: usize, extents: [u16; 3]) -> Result<CollectiveRow, CliError> {
    let us = |costs: OperationCosts| -> Result<f64, CliError> {
        let collective = CollectiveRun {
            extents,
            kind,
            bytes,
            costs,
        };
        let measured = collective.run();
        let measured =
            measured.map_err(|error| CliError::failure(format!("{} of {bytes} bytes: {error}", kind.name())))?;
        Ok(measured.ns as f64 / 1e3)
    };
    let collective = CollectiveRun {
        extents,
        kind,
        bytes,
        costs: OperationCosts::WIRES,
    };
    let hops = collective.depth() * OperationCosts::WIRES.hop_ns;
    let allowed_us = collective.bound().unwrap_or(hops).max(hops) as f64 / 1e3;
    let wires_us = us(OperationCosts::WIRES)?;
    Ok(CollectiveRow {
        collective: kind.name(),
        nodes: extents.iter().map(|&extent| u32::from(extent)).product(),
        bytes,
        wires_us,
        allowed_us,
        over: wires_us / allowed_us,
        blue_gene_us: us(OperationCosts::BLUE_GENE)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = CollectiveRow {
            collective: MeasuredCollective::Allreduce.name(),
            nodes: 4096,
            bytes: 16_777_216,
            wires_us: 1_234_567.89,
            allowed_us: 1_234_567.89,
            over: 12_345.67,
            blue_gene_us: 123_456_789.0,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
    }

    #[test]
    fn an_exchange_divides_the_bytes_among_all() {
        assert_eq!(message(MeasuredCollective::Alltoall, 128 << 10, [8, 8, 8]), Some(256));
        assert_eq!(message(MeasuredCollective::Alltoall, 8, [8, 8, 8]), None);
        assert_eq!(message(MeasuredCollective::Bcast, 8, [8, 8, 8]), Some(8));
    }

    #[test]
    fn each_collective_is_measured() {
        for kind in MeasuredCollective::ALL {
            let bytes = message(kind, 256, [2, 2, 2]).expect("some bytes");
            let row = measure(kind, bytes, [2, 2, 2]).expect("a result");
            assert!(row.over >= 1.0 && row.blue_gene_us > row.wires_us, "{row:?}");
        }
    }
}
