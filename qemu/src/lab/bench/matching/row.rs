//! One test with one engine, for the table and for CSV.

use crate::show::table::{Column, Table, six_places};
use serde::Serialize;

/// Result of one engine in one test.
#[derive(Clone, Debug, Serialize)]
pub struct SearchRow {
    pub test: String,
    pub senders: u32,
    /// Messages of each sender in each communicator; 0 if they differ.
    pub pending: u32,
    pub communicators: u32,
    pub any_source_percent: u32,
    /// Entries of the full queue, or steps if there is none.
    pub entries: usize,
    pub engine: &'static str,
    /// Time to enqueue an entry.
    #[serde(serialize_with = "six_places")]
    pub fill_ns: f64,
    /// Time to find and dequeue an entry, or of a step.
    #[serde(serialize_with = "six_places")]
    pub drain_ns: f64,
    /// Hops per such operation.
    #[serde(serialize_with = "six_places")]
    pub hops: f64,
    /// Share of the searches that was measured.
    #[serde(serialize_with = "six_places")]
    pub part: f64,
    /// Time of the list in the same run over that of this engine.
    #[serde(serialize_with = "six_places")]
    pub speedup: f64,
    /// Speedup in the paper.
    pub published: Option<f64>,
}

impl SearchRow {
    pub fn ns(&self) -> f64 {
        self.fill_ns + self.drain_ns
    }
}

/// Formats a number with `places` decimals, and large numbers without.
fn short(number: f64, places: usize) -> String {
    let places = if number < 10_000.0 { places } else { 0 };
    format!("{number:.places$}")
}

/// Table of the rows. A `~` marks a partial measurement.
pub const TABLE: Table<SearchRow> = Table {
    columns: &[
        Column::left("test", 11, |r| r.test.clone()),
        Column::right("senders", 7, |r| r.senders.to_string()),
        Column::right("each", 4, |r| r.pending.to_string()),
        Column::right("com", 3, |r| r.communicators.to_string()),
        Column::right("any\n%", 3, |r| r.any_source_percent.to_string()),
        Column::left("engine", 7, |r| r.engine.into()),
        Column::right("in\n(ns)", 6, |r| format!("{:.1}", r.fill_ns)),
        Column::right("out\n(ns)", 9, |r| {
            let mark = if r.part < 1.0 { "~" } else { "" };
            format!("{mark}{}", short(r.drain_ns, 1))
        }),
        Column::right("hops", 8, |r| short(r.hops, 1)),
        Column::right("x list", 7, |r| short(r.speedup, 2)),
        Column::right("paper", 5, |r| r.published.map_or(String::new(), |p| p.to_string())),
    ],
    keys: 6,
    gap: 1,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn the_widest_row_fits_a_terminal() {
        let row = SearchRow {
            test: "PRQ reverse".into(),
            senders: 1_048_576,
            pending: 10,
            communicators: 50,
            any_source_percent: 100,
            entries: 1_048_576,
            engine: "unified",
            fill_ns: 1234.5,
            drain_ns: 1_234_567.8,
            hops: 524_288.5,
            part: 0.01,
            speedup: 12345.67,
            published: Some(175.8),
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }
}
