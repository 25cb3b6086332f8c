//! The killer benchmark: command line, table, CSV and drawing.

use crate::host::error::CliError;
use crate::host::signals::Signals;
use crate::lab::bench::emulated::JobClock;
use crate::lab::bench::row::{KillerRow, MemorySetting, RunIn, TABLE, median, print_row};
use crate::lab::bench::{drawing, emulated};
use crate::run::limits;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table;
use clap::Args;
use midplane_device::MIN_MPI_MEMORY;
use midplane_engines::EngineChoice;
use midplane_lab::timed::{KillerBenchmark, KillerResult, OperationCosts};
use std::path::PathBuf;

/// Options of `midplane bench killer`.
#[derive(Args, Debug)]
pub struct KillerArgs {
    /// Omit the part in QEMU
    #[arg(long, conflicts_with_all = ["wall", "runs"])]
    no_qemu: bool,

    /// Measure the part in QEMU with the host's clock, including the emulator's code translation and thread wake-ups.
    /// Without this option, the instructions of all nodes are counted, 1 ns each
    #[arg(long)]
    wall: bool,

    /// Runs in QEMU of each setting; the result is the median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Matching engine of the nodes in QEMU. The simulated machine uses plain lists, as in the paper [default: default]
    #[arg(long, value_name = "NAME", conflicts_with = "no_qemu", value_parser = limits::matching())]
    matching: Option<EngineChoice>,

    /// With --wall: number of QEMU processes of each job [default: the minimum]
    #[arg(long, value_name = "NUMBER", requires = "wall", value_parser = ["1", "2", "4", "8"])]
    instances: Option<String>,

    /// Write one line per setting to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the overheads to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The paper's parameter grid.
const SIZES: [usize; 3] = [1 << 10, 10 << 10, 100 << 10];
const COUNTS: [u32; 2] = [3, 5];
const MACHINES: [[u16; 3]; 4] = [[4, 2, 2], [4, 4, 2], [4, 4, 4], [8, 4, 4]];

/// Measures the overhead; returns the exit status.
pub fn run(options: &KillerArgs) -> Result<u8, CliError> {
    // Before the long measurement.
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let signals = Signals::catch()?;
    let costs = OperationCosts::BLUE_GENE;
    print_line(format_args!(
        "simulated machine: links of {:.0} MB/s, {} ns per hop, {} ns per packet at a\n\
         processor, {} ns per MPI call, {} ns per compared queue entry,\n\
         {} ns per byte copied from MPI memory",
        1e3 / costs.link_ns_per_byte,
        costs.hop_ns,
        costs.packet_ns,
        costs.call_ns,
        costs.search_ns,
        costs.copy_ns_per_byte
    ))?;
    print_line(format_args!(
        "least: {MIN_MPI_MEMORY} bytes of MPI memory, one record, sufficient for every job;\n\
         250 and 300 KB: the paper's; overhead: time divided by that with unlimited memory"
    ))?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for extents in MACHINES {
        for messages in COUNTS {
            for bytes in SIZES {
                simulate(extents, messages, bytes, costs, &mut rows)?;
                if let Some(stop) = signals.pending() {
                    return Err(stop);
                }
            }
        }
    }
    print_summary("simulated machine", &rows)?;
    if !options.no_qemu {
        let simulated = rows.len();
        let matching = options.matching.unwrap_or_default();
        let clock = if options.wall {
            JobClock::Host(options.instances.as_deref())
        } else {
            JobClock::Instructions
        };
        emulated::run(options.runs, clock, matching, &signals, &mut rows)?;
        print_summary("QEMU", &rows[simulated..])?;
    }
    if let Some(file) = csv_file {
        file.write(&table::csv(&rows)?)?;
    }
    if let Some(file) = svg_file {
        file.write(&drawing::draw(&rows, &SIZES)?)?;
    }
    Ok(0)
}

fn simulate(
    extents: [u16; 3],
    messages: u32,
    bytes: usize,
    costs: OperationCosts,
    rows: &mut Vec<KillerRow>,
) -> Result<(), CliError> {
    let nodes = extents.iter().map(|&e| u32::from(e)).product::<u32>();
    let measure = |memory: MemorySetting| -> Result<KillerResult, CliError> {
        let killer = KillerBenchmark {
            extents,
            messages,
            bytes,
            mpi_memory: memory.bytes(messages, nodes, bytes),
            costs,
        };
        killer
            .run()
            .map_err(|e| CliError::failure(format!("killer on {nodes} simulated nodes: {e}")))
    };
    let base = measure(MemorySetting::Ample)?;
    for memory in std::iter::once(MemorySetting::Ample).chain(MemorySetting::SCARCE) {
        let measured = match memory {
            MemorySetting::Ample => base,
            scarce => measure(scarce)?,
        };
        let received = f64::from((nodes - 1) * messages);
        let row = KillerRow {
            place: RunIn::Simulated,
            nodes,
            messages,
            bytes,
            memory,
            memory_bytes: memory.bytes(messages, nodes, bytes),
            time_us: measured.ns as f64 / 1e3,
            overhead: measured.ns as f64 / base.ns as f64,
            ncts_per_message: measured.ncts as f64 / received,
            restarts_per_message: measured.restarts as f64 / received,
        };
        print_row(row, rows)?;
    }
    Ok(())
}

/// Prints the median and the maximum overhead of the rows with low memory.
fn print_summary(place: &str, rows: &[KillerRow]) -> Result<(), CliError> {
    let scarce = rows.iter().filter(|row| row.memory != MemorySetting::Ample);
    let mut overheads: Vec<f64> = scarce.map(|row| row.overhead).collect();
    overheads.sort_by(f64::total_cmp);
    let Some(worst) = overheads.last() else {
        return Ok(());
    };
    print_line(format_args!(
        "{place}: overhead of scarce memory in {} settings: median {:.3}, worst {worst:.3}",
        overheads.len(),
        median(&overheads)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest setting of the grid, and its output.
    #[test]
    fn a_setting_is_measured_told_and_drawn() {
        let mut rows = Vec::new();
        let costs = OperationCosts::BLUE_GENE;
        simulate([4, 2, 2], 3, 1 << 10, costs, &mut rows).expect("a run");
        assert_eq!(rows.len(), 1 + MemorySetting::SCARCE.len());
        assert_eq!(rows[0].overhead, 1.0);
        let counted = |row: &KillerRow| (row.ncts_per_message, row.restarts_per_message);
        assert_eq!(counted(&rows[0]), (0.0, 0.0));
        for row in &rows[1..=2] {
            assert!(row.overhead < 1.6 && row.restarts_per_message > 0.0);
        }
        let csv = table::csv(&rows).unwrap();
        assert_eq!(csv.lines().count(), 1 + rows.len());
        let begin = "where,nodes,messages,bytes,memory,memory_bytes,time_us,overhead,ncts_per_message,\
                     restarts_per_message\nsimulated,16,3,1024,ample,";
        assert!(csv.starts_with(begin), "{csv}");
        let drawing = drawing::draw(&rows, &SIZES).unwrap();
        // A mark for each low amount, plus those of the legend.
        let legend = SIZES.len() + MemorySetting::SCARCE.len() + 2;
        assert_eq!(drawing.matches("<polygon").count(), 4 + legend);
    }
}
