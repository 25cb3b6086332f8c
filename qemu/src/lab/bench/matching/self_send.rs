//! Instruction counts of a self-send on a node, with few and with many other entries in the queue.

use super::shared::MatchingBench;
use crate::host::error::CliError;
use crate::host::setup;
use crate::lab::bench::boot;
use crate::show::console::print_line;
use crate::show::table::{self, Column, Table, six_places};
use serde::Serialize;

/// Queue to fill, as an argument of `tests/programs/oneself.c`.
const QUEUES: [&str; 2] = ["posted", "unexpected"];
/// Numbers of entries.
const ENTRIES: [u32; 2] = [10, 1_000_000];
/// Options that provide enough memory for these entries.
const OPTIONS: [&str; 9] = [
    "--torus",
    "1x1x1",
    "--node-memory",
    "512M",
    "--mpi-memory",
    "128M",
    "--timeout",
    "600",
    "--count-instructions",
];

/// Result of one engine with one queue filled.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SelfSendRow {
    engine: &'static str,
    queue: &'static str,
    entries: u32,
    /// Instructions to enqueue each entry.
    #[serde(serialize_with = "six_places")]
    queued: f64,
    /// Instructions of the first message, whose receive was posted before.
    first: u64,
    /// Instructions of a message whose receive is posted before.
    receive_first: u64,
    /// Instructions of a message whose receive starts later.
    message_first: u64,
    /// Maximum of the last two's ratios to those with the fewest entries.
    #[serde(serialize_with = "six_places")]
    ratio: f64,
}

const TABLE: Table<SelfSendRow> = Table {
    columns: &[
        Column::left("engine", 8, |r| r.engine.into()),
        Column::left("queue", 10, |r| r.queue.into()),
        Column::right("entries", 7, |r| r.entries.to_string()),
        Column::right("to queue\neach", 8, |r| format!("{:.1}", r.queued)),
        Column::right("first\nmessage", 10, |r| r.first.to_string()),
        Column::right("receive\nfirst", 10, |r| r.receive_first.to_string()),
        Column::right("message\nfirst", 10, |r| r.message_first.to_string()),
        Column::right("ratio", 8, |r| format!("{:.3}", r.ratio)),
    ],
    keys: 3,
    gap: 1,
};

/// Checks whether the measurement is possible here.
pub fn check() -> Result<(), CliError> {
    if setup::has_qemu() {
        Ok(())
    } else {
        Err(boot::no_qemu("bench matching self"))
    }
}

/// Counts the instructions; returns CSV.
pub fn run(bench: &MatchingBench) -> Result<String, CliError> {
    print_line(
        "self: instructions of a self-send of 4 bytes on a node (riscv64, in QEMU), all calls\ntogether, with other \
         posted receives or other unexpected messages; first message: it\nprecedes all others; receive first, message \
         first: medians of the following messages;\nratio: to the values with the fewest entries, the larger one",
    )?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for engine in &bench.engines {
        for queue in QUEUES {
            let mut base = None;
            for entries in ENTRIES {
                let mut row = count(bench, engine.name, queue, entries)?;
                let base = base.get_or_insert_with(|| row.clone());
                row.ratio = ratio(&row, base);
                print_line(TABLE.row(&row))?;
                rows.push(row);
            }
        }
    }
    table::csv(&rows)
}

fn ratio(row: &SelfSendRow, base: &SelfSendRow) -> f64 {
    let of = |count: fn(&SelfSendRow) -> u64| count(row) as f64 / count(base) as f64;
    of(|r| r.receive_first).max(of(|r| r.message_first))
}

fn count(
    bench: &MatchingBench,
    engine: &'static str,
    queue: &'static str,
    entries: u32,
) -> Result<SelfSendRow, CliError> {
    let options = [&OPTIONS[..], &["--matching", engine]].concat();
    let arguments = [queue, &entries.to_string()];
    let said = boot::run(&options, "oneself.c", &arguments, &bench.signals)?;
    read(engine, queue, entries, &said)
        .ok_or_else(|| CliError::failure(format!("oneself.c did not print its counts:\n{said}")))
}

/// Parses the program's output: `oneself: N QUEUE: A to queue all; receive first: B, then C; message first: D, then E`.
fn read(engine: &'static str, queue: &'static str, entries: u32, said: &str) -> Option<SelfSendRow> {
    let (_, rest) = said.split_once(&format!("oneself: {entries} {queue}: "))?;
    let line = rest.lines().next()?;
    let numbers = line.split(|c: char| !c.is_ascii_digit());
    let numbers: Vec<u64> = numbers.filter_map(|number| number.parse().ok()).collect();
    let [all, first, receive_first, _, message_first] = numbers[..] else {
        return None;
    };
    Some(SelfSendRow {
        engine,
        queue,
        entries,
        queued: all as f64 / f64::from(entries),
        first,
        receive_first,
        message_first,
        ratio: 1.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn what_the_program_says_is_read() {
        let said = "[0] oneself: 10 posted: 5000 to queue all; receive first: 900, then 800; message first: 700, \
                    then 600\n[0] oneself: 1 processes, 392 checks, 0 failed\n";
        let row = read("list", "posted", 10, said).expect("numbers");
        assert_eq!((row.queued, row.first), (500.0, 900));
        assert_eq!((row.receive_first, row.message_first), (800, 600));
        assert_eq!(read("list", "posted", 11, said), None);
        assert_eq!(read("list", "posted", 10, "[0] oneself: 10 posted: 5\n"), None);
        let slower = SelfSendRow {
            message_first: 660,
            ..row.clone()
        };
        assert_eq!(ratio(&slower, &row), 1.1);
    }

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = SelfSendRow {
            engine: "unified",
            queue: QUEUES[1],
            entries: ENTRIES[1],
            queued: 12345.6,
            first: 123_456_789,
            receive_first: 123_456_789,
            message_first: 123_456_789,
            ratio: 12345.67,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
    }
}
