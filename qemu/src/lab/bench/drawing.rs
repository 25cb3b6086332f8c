//! Chart of overhead by number of nodes: colours for message sizes, shapes for amounts of memory.

use crate::host::error::CliError;
use crate::lab::bench::row::{KillerRow, MemorySetting, RunIn};
use crate::show::plot::{self, Axis, Chart, Mark, MarkShape, Series};
use plotters::style::RGBColor;

const COLOURS: [RGBColor; 3] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0x2c, 0x8f, 0x4e),
    RGBColor(0xb8, 0x44, 0x2c),
];
const GREY: RGBColor = RGBColor(0x33, 0x33, 0x33);
const SHAPES: [MarkShape; 4] = [
    MarkShape::Circle,
    MarkShape::Square,
    MarkShape::Triangle,
    MarkShape::Diamond,
];

/// Draws the rows with low memory; `sizes` contains the message sizes.
pub fn draw(rows: &[KillerRow], sizes: &[usize; COLOURS.len()]) -> Result<String, CliError> {
    let scarce: Vec<&KillerRow> = rows.iter().filter(|row| row.memory != MemorySetting::Ample).collect();
    let most = scarce.iter().fold(2.0f64, |most, row| most.max(row.overhead));
    let series = scarce.iter().map(|row| {
        let size = sizes.iter().position(|&size| size == row.bytes);
        let memory = MemorySetting::SCARCE.iter().position(|&m| m == row.memory);
        let (size, memory) = (size.unwrap_or(0), memory.unwrap_or(0));
        // Shifts the points that would be on one line.
        let shift =
            0.05 * (memory as f64 - 1.5) + 0.22 * (size as f64 - 1.0) + if row.messages == 3 { -0.015 } else { 0.015 };
        Series {
            points: vec![(f64::from(row.nodes).log2() + shift, row.overhead)],
            mark: Mark {
                shape: SHAPES[memory],
                colour: COLOURS[size],
                filled: row.place == RunIn::Qemu,
            },
            joined: false,
        }
    });
    let chart = Chart {
        heading: "Killer benchmark: time with scarce MPI memory over time with ample memory",
        // 8 to 128 nodes.
        x: Axis::log2("nodes", 2.5..7.5),
        y: Axis::linear("overhead", 0.8..most + 0.1),
        series: series.collect(),
        legend: legend(sizes),
    };
    plot::chart(&chart)
}

/// Returns the legend of colours, shapes and fills.
fn legend(sizes: &[usize; COLOURS.len()]) -> Vec<(String, Mark)> {
    let mark = |shape, colour, filled| Mark { shape, colour, filled };
    let sizes = sizes.iter().zip(COLOURS).map(|(bytes, colour)| {
        let name = format!("{} KiB", bytes >> 10);
        (name, mark(MarkShape::Circle, colour, true))
    });
    let amounts = MemorySetting::SCARCE.iter().zip(SHAPES);
    let amounts = amounts.map(|(memory, shape)| (memory.name().into(), mark(shape, GREY, false)));
    let places = [(RunIn::Simulated, false, "open"), (RunIn::Qemu, true, "filled")];
    let places = places.map(|(place, filled, word)| {
        let name = format!("{} ({word})", place.name());
        (name, mark(MarkShape::Circle, GREY, filled))
    });
    sizes.chain(amounts).chain(places).collect()
}
