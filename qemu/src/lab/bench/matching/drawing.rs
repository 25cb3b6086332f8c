//! Chart of time per message by queue length: a colour for each engine, filled for reverse searches.

use super::row::SearchRow;
use crate::host::error::CliError;
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use plotters::style::RGBColor;

const COLOURS: [RGBColor; 7] = [
    RGBColor(0x33, 0x33, 0x33),
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0x2c, 0x8f, 0x4e),
    RGBColor(0xb8, 0x44, 0x2c),
    RGBColor(0x8a, 0x4f, 0xa3),
    RGBColor(0xc0, 0x8a, 0x1e),
    RGBColor(0x3a, 0x9f, 0xa8),
];

/// Selects the drawn rows: one communicator, no wildcards.
fn is_drawn(row: &SearchRow) -> bool {
    row.communicators == 1 && row.any_source_percent == 0
}

fn shape(row: &SearchRow) -> MarkShape {
    if row.test.starts_with("PRQ") {
        MarkShape::Circle
    } else {
        MarkShape::Triangle
    }
}

/// Draws the rows of search tests with one communicator and without wildcards.
pub fn draw(rows: &[SearchRow]) -> Result<String, CliError> {
    let drawn: Vec<&SearchRow> = rows.iter().filter(|row| is_drawn(row)).collect();
    let mut engines: Vec<&str> = Vec::new();
    for row in &drawn {
        if !engines.contains(&row.engine) {
            engines.push(row.engine);
        }
    }
    let colour = |engine: &str| {
        let place = engines.iter().position(|&other| other == engine);
        COLOURS[place.unwrap_or(0) % COLOURS.len()]
    };
    let greatest = |of: fn(&SearchRow) -> f64| drawn.iter().fold(1.0f64, |most, row| most.max(of(row)));
    let series = drawn.iter().map(|row| Series {
        points: vec![((row.entries as f64).log2(), row.ns().log10())],
        mark: Mark {
            shape: shape(row),
            colour: colour(row.engine),
            filled: row.test.ends_with("reverse"),
        },
        joined: false,
    });
    let chart = Chart {
        heading: "Matching: time to queue an entry and to find it again",
        x: Axis::log2(
            "entries of the full queue",
            0.0..greatest(|row| (row.entries as f64).log2()) + 1.0,
        ),
        y: Axis::log10("ns", 0.0..greatest(|row| row.ns().log10()) + 0.5),
        series: series.collect(),
        legend: engines
            .iter()
            .map(|&engine| {
                let mark = Mark {
                    shape: MarkShape::Circle,
                    colour: colour(engine),
                    filled: true,
                };
                (format!("{engine} (filled: reverse; triangle: UMQ)"), mark)
            })
            .collect(),
    };
    plot::chart(&chart)
}
