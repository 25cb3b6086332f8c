//! One line of results, for the table and for CSV.

use crate::show::table::{Column, Table, six_places};
use serde::Serialize;

/// Maximum share of the packets injected during the measurement that may remain in the machine in a steady state.
const STEADY: f64 = 0.02;

/// Parameters and results of a run. Loads are in chunks of 32 bytes per node and tick.
#[derive(Clone, Debug, Serialize)]
pub struct SimRow {
    /// Extents of the machine.
    pub torus: String,
    /// Dimensions without wrap-around links.
    pub mesh: String,
    pub traffic: &'static str,
    /// Share of the packets to the hot node; `None` for other traffic.
    pub hot: Option<f64>,
    pub routing: &'static str,
    /// Minimum and maximum size of the packets in chunks.
    pub min_chunks: u8,
    pub max_chunks: u8,
    /// Buffer of each virtual channel in packets.
    pub buffers: u16,
    pub seed: u64,
    pub warmup_ticks: u64,
    pub ticks: u64,
    /// Offered load as a fraction of the limit.
    #[serde(serialize_with = "six_places")]
    pub load: f64,
    #[serde(serialize_with = "six_places")]
    pub limit_chunks_per_tick: f64,
    #[serde(serialize_with = "six_places")]
    pub offered_chunks_per_tick: f64,
    #[serde(serialize_with = "six_places")]
    pub accepted_chunks_per_tick: f64,
    #[serde(serialize_with = "six_places")]
    pub latency_mean_ticks: f64,
    pub latency_p99_ticks: u64,
    #[serde(serialize_with = "six_places")]
    pub hops_mean: f64,
    #[serde(serialize_with = "six_places")]
    pub escapes_per_packet: f64,
    /// Utilization of a dimension's links, 0 to 1.
    #[serde(serialize_with = "six_places")]
    pub use_x: f64,
    #[serde(serialize_with = "six_places")]
    pub use_y: f64,
    #[serde(serialize_with = "six_places")]
    pub use_z: f64,
    /// Packets injected but not delivered during the measurement, relative to those injected: the rate at which the
    /// machine filled up. Negative if it emptied.
    #[serde(serialize_with = "six_places")]
    pub filling: f64,
}

impl SimRow {
    /// Checks whether the measurement shows the long-term behaviour.
    pub fn is_steady(&self) -> bool {
        self.filling.abs() <= STEADY
    }
}

/// Table of the rows; a star marks a row that is not steady.
pub const TABLE: Table<SimRow> = Table {
    columns: &[
        Column::right("load", 6, |r| format!("{:.2}", r.load)),
        Column::left("", 1, |r| if r.is_steady() { "" } else { "*" }.into()),
        Column::right("offered", 7, |r| format!("{:.4}", r.offered_chunks_per_tick)),
        Column::right("accep-\nted", 7, |r| format!("{:.4}", r.accepted_chunks_per_tick)),
        Column::right("% of\nlimit", 5, |r| {
            let part = r.accepted_chunks_per_tick / r.limit_chunks_per_tick;
            format!("{:.1}", 100.0 * part)
        }),
        Column::right("latency\n(ticks)", 8, |r| format!("{:.1}", r.latency_mean_ticks)),
        Column::right("99 %", 6, |r| r.latency_p99_ticks.to_string()),
        Column::right("hops", 6, |r| format!("{:.2}", r.hops_mean)),
        Column::right("escapes", 7, |r| format!("{:.4}", r.escapes_per_packet)),
        Column::right("use\nX %", 5, |r| format!("{:.1}", 100.0 * r.use_x)),
        Column::right("of\nY %", 5, |r| format!("{:.1}", 100.0 * r.use_y)),
        Column::right("links\nZ %", 5, |r| format!("{:.1}", 100.0 * r.use_z)),
    ],
    keys: 2,
    gap: 1,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::table::WIDTH;

    #[test]
    fn a_row_of_great_numbers_fits_a_terminal() {
        let row = SimRow {
            torus: "256x256x256".into(),
            mesh: "xyz".into(),
            traffic: "uniform",
            hot: None,
            routing: "adaptive",
            min_chunks: 1,
            max_chunks: 8,
            buffers: 2047,
            seed: u64::MAX,
            warmup_ticks: 1,
            ticks: 1,
            load: 100.0,
            limit_chunks_per_tick: 2.0,
            offered_chunks_per_tick: 99.9999,
            accepted_chunks_per_tick: 6.0,
            latency_mean_ticks: 123_456.7,
            latency_p99_ticks: 654_321,
            hops_mean: 192.25,
            escapes_per_packet: 12.5,
            use_x: 1.0,
            use_y: 1.0,
            use_z: 1.0,
            filling: 0.5,
        };
        let lines = [TABLE.heading(), vec![TABLE.row(&row)]].concat();
        assert!(lines.iter().all(|line| line.len() <= usize::from(WIDTH)), "{lines:#?}");
        assert_eq!(
            lines[2],
            "100.00 * 99.9999  6.0000 300.0 123456.7 654321 192.25 12.5000 100.0 100.0 100.0"
        );
    }
}
