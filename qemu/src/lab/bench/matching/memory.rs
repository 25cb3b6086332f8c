//! Memory of the engines in addition to receives and records, compared with table 4.5 of 001.

use super::shared::MatchingBench;
use crate::host::error::CliError;
use crate::host::heap::HEAP;
use crate::show::console::print_line;
use crate::show::table::{self, Column, Table};
use midplane_lab::measure::matching::overhead::published;
use serde::Serialize;

/// Result of one engine for one row of the table.
#[derive(Clone, Debug, Serialize)]
struct MemoryRow {
    ranks: u32,
    entries: u32,
    engine: &'static str,
    /// Bytes with `entries` records.
    records_bytes: usize,
    /// Bytes with `entries` receives.
    receives_bytes: usize,
    /// Bytes in the paper.
    published_bytes: Option<u32>,
}

const TABLE: Table<MemoryRow> = Table {
    columns: &[
        Column::right("ranks", 7, |r| r.ranks.to_string()),
        Column::right("entries", 7, |r| r.entries.to_string()),
        Column::left("engine", 8, |r| r.engine.into()),
        Column::right("records\n(bytes)", 10, |r| r.records_bytes.to_string()),
        Column::right("receives\n(bytes)", 10, |r| r.receives_bytes.to_string()),
        Column::right("bytes\nan entry", 8, |r| {
            let most = r.records_bytes.max(r.receives_bytes);
            format!("{:.2}", most as f64 / f64::from(r.entries))
        }),
        Column::right("paper\n(bytes)", 10, |r| {
            r.published_bytes.map_or(String::new(), |bytes| bytes.to_string())
        }),
    ],
    keys: 3,
    gap: 2,
};

/// Measures the memory; returns CSV.
pub fn run(bench: &MatchingBench) -> Result<String, CliError> {
    print_line(
        "memory: bytes of heap that an engine uses for one communicator, with MPI memory for\nexactly this number of \
         records (all in use, no receives), or with this number of posted\nreceives (no MPI memory), from \
         neighbouring ranks; links and buckets in slots and records,\nwhich exist for every engine, are not counted; \
         paper: table 4.5 of 001",
    )?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for published in published() {
        for engine in &bench.engines {
            let allocated = || HEAP.allocated();
            let overhead = engine.overhead(published.ranks, published.entries, &allocated);
            let row = MemoryRow {
                ranks: published.ranks,
                entries: published.entries,
                engine: engine.name,
                records_bytes: overhead.records,
                receives_bytes: overhead.receives,
                published_bytes: match engine.name {
                    "list" => Some(0),
                    "array" => Some(published.array),
                    "fourd" => Some(published.fourd),
                    _ => None,
                },
            };
            print_line(TABLE.row(&row))?;
            rows.push(row);
            bench.check_signals()?;
        }
    }
    table::csv(&rows)
}
