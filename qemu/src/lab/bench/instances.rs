//! Messages between two nodes of one QEMU instance, compared with those between two single-node instances.

use super::boot;
use super::row;
use crate::host::error::CliError;
use crate::host::setup;
use crate::host::signals::Signals;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table::{self, Column, Table, six_places};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;

/// Options of `midplane bench instances`.
#[derive(Args, Debug)]
pub struct InstancesArgs {
    /// Runs of each setting, alternating; the result is the median
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Write one line per measurement to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Measured operations: the name in `tests/programs/times.c`, and a description.
const TIMED: [(&str, &str); 2] = [
    ("half", "half a round trip of 8 bytes"),
    ("stream", "a streamed message of 8 bytes"),
];
/// Numbers of instances for two nodes.
const INSTANCES: [&str; 2] = ["1", "2"];
/// Messages per block in the shorter and the longer run, and number of blocks, as in `times.c`.
const MESSAGES: [u32; 2] = [64, 2048];
const BLOCKS: u32 = 32;

/// One measurement, in microseconds.
#[derive(Debug, Serialize)]
struct InstanceRow {
    what: String,
    #[serde(serialize_with = "six_places")]
    one_us: f64,
    #[serde(serialize_with = "six_places")]
    each_us: f64,
    #[serde(serialize_with = "six_places")]
    ratio: f64,
}

const TABLE: Table<InstanceRow> = Table {
    columns: &[
        Column::left("microseconds", 50, |r| r.what.clone()),
        Column::right("one", 8, |r| format!("{:.2}", r.one_us)),
        Column::right("each", 8, |r| format!("{:.2}", r.each_us)),
        Column::right("ratio", 7, |r| format!("{:.3}", r.ratio)),
    ],
    keys: 1,
    gap: 1,
};

/// Time of a message in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MessageTime {
    /// Wall-clock time, in the block with the minimum interference from the host.
    wall: f64,
    /// CPU time of the emulators and the tool together.
    processor: f64,
}

/// Selects one of the times.
type TimeSelector = fn(&MessageTime) -> f64;

/// Measures the messages; returns the exit status.
pub fn run(options: &InstancesArgs) -> Result<u8, CliError> {
    if !setup::has_qemu() {
        return Err(boot::no_qemu("bench instances"));
    }
    let file = ResultFile::open_if_given(options.csv.as_ref())?;
    let signals = Signals::catch()?;
    print_line("two nodes in one instance (links in shared memory), and in one instance each (links by virtio-net)")?;
    print_line(TABLE.heading().join("\n"))?;
    // Not counted: builds the image.
    job(INSTANCES[0], TIMED[0].0, MESSAGES[0], &signals)?;
    let mut rows = Vec::new();
    for (name, words) in TIMED {
        let mut taken = [Vec::new(), Vec::new()];
        // Alternates, so that other load on the host affects both alike.
        for _ in 0..options.runs {
            for (instances, taken) in INSTANCES.iter().zip(&mut taken) {
                taken.push(measure_message(instances, name, &signals)?);
            }
        }
        let parts: [(&str, TimeSelector); 2] = [
            ("by the host's clock", |took| took.wall),
            ("of processors", |took| took.processor),
        ];
        for (part, of) in parts {
            let [one_us, each_us] = taken.each_ref().map(|taken| middle(taken, of));
            let row = InstanceRow {
                what: format!("{words}, {part}"),
                one_us,
                each_us,
                ratio: one_us / each_us,
            };
            print_line(TABLE.row(&row))?;
            rows.push(row);
        }
    }
    if let Some(file) = file {
        file.write(&table::csv(&rows)?)?;
    }
    Ok(0)
}

fn middle(taken: &[MessageTime], of: TimeSelector) -> f64 {
    row::middle(taken.iter().map(of))
}

/// Measures two jobs that differ only in the number of messages.
fn measure_message(instances: &str, name: &str, signals: &Signals) -> Result<MessageTime, CliError> {
    let (_, short) = job(instances, name, MESSAGES[0], signals)?;
    let (wall, long) = job(instances, name, MESSAGES[1], signals)?;
    let more = f64::from(BLOCKS * (MESSAGES[1] - MESSAGES[0]));
    Ok(MessageTime {
        wall,
        processor: (long - short) / more * 1e6,
    })
}

/// Returns the program's microseconds, and the job's CPU time in seconds.
fn job(instances: &str, name: &str, messages: u32, signals: &Signals) -> Result<(f64, f64), CliError> {
    let options = ["--torus", "2x1x1", "--instances", instances];
    let arguments = [&*messages.to_string(), name];
    let (said, used) = boot::run_with_usage(&options, "times.c", &arguments, signals)?;
    let wall = boot::number(&said, "times", name)
        .ok_or_else(|| CliError::failure(format!("times.c did not print `{name}`:\n{said}")))?;
    Ok((wall, used.processor.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_each_part() {
        let took = |wall, processor| MessageTime { wall, processor };
        let taken = [took(3.0, 1.0), took(1.0, 9.0), took(2.0, 5.0)];
        assert_eq!(middle(&taken, |took| took.wall), 2.0);
        assert_eq!(middle(&taken, |took| took.processor), 5.0);
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = InstanceRow {
            what: format!("{}, by the host's clock", TIMED[1].1),
            one_us: 1234.5,
            each_us: 12345.6,
            ratio: 12.345,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        let width = usize::from(table::WIDTH);
        assert!(lines.iter().all(|line| line.len() <= width), "{lines:#?}");
    }
}
