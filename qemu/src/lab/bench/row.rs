//! One setting of the killer benchmark, for the table and for CSV.

use crate::host::error::CliError;
use crate::show::console::print_line;
use crate::show::table::{Column, Table, six_places};
use clap::ValueEnum;
use midplane_device::MIN_MPI_MEMORY;
use midplane_device::region::BLOCK_BYTES;
use serde::{Serialize, Serializer};

/// Where a setting was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
pub enum RunIn {
    /// Simulated machine, in virtual time
    #[serde(rename = "simulated")]
    Simulated,
    /// QEMU; times are measured with the host's clock or by instruction count
    #[serde(rename = "QEMU")]
    Qemu,
}

impl RunIn {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Qemu => "QEMU",
        }
    }
}

/// MPI memory of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemorySetting {
    /// Capacity for all messages.
    Ample,
    /// Minimum amount that supports a job.
    Minimum,
    /// 1.2 times the minimum, rounded up to complete records.
    MinimumAndFifth,
    /// 250 KB, a limit of the paper's job.
    Paper250,
    /// 300 KB, likewise.
    Paper300,
}

impl MemorySetting {
    /// The low amounts.
    pub const SCARCE: [Self; 4] = [Self::Minimum, Self::MinimumAndFifth, Self::Paper250, Self::Paper300];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ample => "ample",
            Self::Minimum => "least",
            Self::MinimumAndFifth => "1.2 x least",
            Self::Paper250 => "250 KB",
            Self::Paper300 => "300 KB",
        }
    }

    /// Returns the amount in bytes, where each of `nodes` nodes sends `messages` messages of `bytes` bytes.
    pub const fn bytes(self, messages: u32, nodes: u32, bytes: usize) -> usize {
        match self {
            Self::Ample => (messages * nodes) as usize * (bytes + 2 * BLOCK_BYTES),
            Self::Minimum => MIN_MPI_MEMORY,
            Self::MinimumAndFifth => (MIN_MPI_MEMORY * 6).div_ceil(5 * BLOCK_BYTES) * BLOCK_BYTES,
            Self::Paper250 => 250_000,
            Self::Paper300 => 300_000,
        }
    }
}

impl Serialize for MemorySetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Result of one setting.
#[derive(Clone, Debug, Serialize)]
pub struct KillerRow {
    #[serde(rename = "where")]
    pub place: RunIn,
    pub nodes: u32,
    /// Messages of each sender.
    pub messages: u32,
    /// Bytes of each message.
    pub bytes: usize,
    pub memory: MemorySetting,
    pub memory_bytes: usize,
    #[serde(serialize_with = "six_places")]
    pub time_us: f64,
    /// Time over that with ample memory.
    #[serde(serialize_with = "six_places")]
    pub overhead: f64,
    #[serde(serialize_with = "six_places")]
    pub ncts_per_message: f64,
    #[serde(serialize_with = "six_places")]
    pub restarts_per_message: f64,
}

/// Table of the rows.
pub const TABLE: Table<KillerRow> = Table {
    columns: &[
        Column::left("where", 9, |r| r.place.name().into()),
        Column::right("nodes", 5, |r| r.nodes.to_string()),
        Column::right("mes-\nsages", 5, |r| r.messages.to_string()),
        Column::right("bytes", 6, |r| r.bytes.to_string()),
        Column::left("MPI\nmemory", 11, |r| r.memory.name().into()),
        Column::right("time\n(us)", 10, |r| format!("{:.1}", r.time_us)),
        Column::right("over-\nhead", 6, |r| format!("{:.3}", r.overhead)),
        Column::right("NCTS\n/message", 8, |r| format!("{:.2}", r.ncts_per_message)),
        Column::right("restarts\n/message", 9, |r| format!("{:.2}", r.restarts_per_message)),
    ],
    keys: 5,
    gap: 1,
};

/// Prints a row and appends it to `rows`.
///
/// # Errors
/// Returns an error if it cannot be printed.
pub fn print_row(row: KillerRow, rows: &mut Vec<KillerRow>) -> Result<(), CliError> {
    print_line(TABLE.row(&row))?;
    rows.push(row);
    Ok(())
}

/// Returns the median of sorted values: the middle one, or the mean of the two middle ones; NaN for none.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted {
        [] => f64::NAN,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Returns the median of values in any order.
pub fn middle(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    median(&numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn medians() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }

    #[test]
    fn scarce_amounts_are_whole_records() {
        let bytes = |memory: MemorySetting| memory.bytes(5, 128, 1 << 10);
        assert_eq!(bytes(MemorySetting::Minimum), BLOCK_BYTES);
        assert_eq!(bytes(MemorySetting::MinimumAndFifth), 2 * BLOCK_BYTES);
        assert!(bytes(MemorySetting::Ample) > (5 * 128) << 10);
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = KillerRow {
            place: RunIn::Simulated,
            nodes: 128,
            messages: 5,
            bytes: 102_400,
            memory: MemorySetting::MinimumAndFifth,
            memory_bytes: 64,
            time_us: 12_345_678.9,
            overhead: 12.345,
            ncts_per_message: 1.25,
            restarts_per_message: 1.25,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        assert_eq!(
            lines[2],
            "simulated   128     5 102400 1.2 x least 12345678.9 12.345     1.25      1.25"
        );
    }
}
