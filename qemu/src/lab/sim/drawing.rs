//! Chart of latency against load, with heat maps of link utilization below.

use crate::host::error::CliError;
use crate::lab::sim::row::SimRow;
use crate::show::plot::{self, Axis, Chart, HeatMap, HeatMaps, Mark, MarkShape, Series};
use net_torus::{Direction, Shape};
use plotters::style::RGBColor;

/// Maximum number of nodes with one heat map per plane; larger machines show the mean.
const PLANES_UP_TO: u32 = 4096;

const COLOURS: [RGBColor; 6] = [
    RGBColor(0x1f, 0x5f, 0xa8),
    RGBColor(0xb8, 0x44, 0x2c),
    RGBColor(0x2c, 0x8f, 0x4e),
    RGBColor(0x8a, 0x4f, 0xa3),
    RGBColor(0xc0, 0x8a, 0x1e),
    RGBColor(0x33, 0x33, 0x33),
];

/// Minimum range of the heat map's scale, so that noise does not look like a pattern.
const MIN_SCALE: f64 = 0.05;

/// Rows of one machine and parameter set, with loads in any order.
pub struct LatencyCurve {
    /// Distinguishing name; empty for a single curve.
    pub name: String,
    pub rows: Vec<SimRow>,
}

/// Draws latency against load, and the utilization of each node's links by direction for the last row.
pub fn draw(heading: &str, shape: &Shape, curves: &[LatencyCurve], by_link: &[[f64; 6]]) -> Result<String, CliError> {
    let maps = heat_maps(shape, by_link);
    let rows = || curves.iter().flat_map(|curve| &curve.rows);
    let load = rows().last().map_or(0.0, |row| row.load);
    let is_whole = maps.len() < usize::from(shape.extents()[2]);
    let maps = HeatMaps {
        heading: &format!(
            "link utilization at load {load}{}: three stripes per node, the busier of its two outgoing X, Y and Z \
             links{}",
            match curves.last() {
                Some(curve) if !curve.name.is_empty() => format!(", {}", curve.name),
                _ => String::new(),
            },
            if is_whole { "; mean over all z" } else { "" }
        ),
        scale: scale(&maps),
        name: &|part| format!("{:.0} %", 100.0 * part),
        maps,
    };
    let greatest_load = rows().fold(1.0f64, |most, row| most.max(row.load));
    // Latencies use a logarithmic scale, because they grow without bound near saturation.
    let greatest = rows().fold(10.0f64, |most, row| {
        most.max(row.latency_p99_ticks as f64).max(row.latency_mean_ticks)
    });
    type LatencySelector = fn(&SimRow) -> f64;
    let kinds: [(&str, MarkShape, LatencySelector); 2] = [
        ("mean", MarkShape::Circle, |r| r.latency_mean_ticks),
        ("99 %", MarkShape::Square, |r| r.latency_p99_ticks as f64),
    ];
    let mut series = Vec::new();
    let mut legend = Vec::new();
    for (curve, colour) in curves.iter().zip(COLOURS.into_iter().cycle()) {
        let mut sorted: Vec<&SimRow> = curve.rows.iter().collect();
        sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
        for (kind, shape, value) in kinds {
            let mark = Mark {
                shape,
                colour,
                filled: shape == MarkShape::Circle,
            };
            let point = |row: &&SimRow| (row.load, value(row).max(1.0).log10());
            series.push(Series {
                points: sorted.iter().map(point).collect(),
                mark,
                joined: true,
            });
            let name = format!("{kind} {}", curve.name);
            legend.push((name.trim_end().to_string(), mark));
        }
    }
    let chart = Chart {
        heading,
        x: Axis::linear("offered load, as a fraction of the limit", 0.0..greatest_load),
        y: Axis::log10("latency in ticks", 0.0..greatest.log10().ceil()),
        series,
        legend,
    };
    plot::chart_and_maps(&chart, &maps)
}

/// Returns the minimum and maximum link utilization in integer percent. The colours then distinguish links of a
/// saturated machine, too.
fn scale(maps: &[HeatMap]) -> std::ops::Range<f64> {
    let used = || maps.iter().flat_map(|map| map.cells.iter().flatten().flatten());
    let most = used().fold(0.0f64, |most, used| most.max(*used));
    let least = used().fold(most, |least, used| least.min(*used));
    let whole = |part: f64, to: fn(f64) -> f64| to(100.0 * part) / 100.0;
    let end = whole(most, f64::ceil).max(MIN_SCALE);
    whole(least, f64::floor).min(end - MIN_SCALE)..end
}

/// Returns a map for each plane of the machine, or one of their mean.
fn heat_maps(shape: &Shape, by_link: &[[f64; 6]]) -> Vec<HeatMap> {
    let [ex, ey, ez] = shape.extents().map(usize::from);
    // Utilization of the busier of a node's two outgoing links along a dimension.
    let used = |x: usize, y: usize, z: usize, dimension: usize| {
        let node = by_link[x + ex * (y + ey * z)];
        let links = Direction::ALL.into_iter().filter(|d| d.dimension() == dimension);
        links.map(|d| node[d as usize]).fold(0.0, f64::max)
    };
    let map = |name: String, planes: std::ops::Range<usize>| {
        let mean = |x: usize, y: usize, dimension: usize| {
            let sum: f64 = planes.clone().map(|z| used(x, y, z, dimension)).sum();
            sum / planes.len() as f64
        };
        let row = |y: usize| (0..ex).map(|x| [0, 1, 2].map(|d| mean(x, y, d))).collect();
        HeatMap {
            name,
            cells: (0..ey).map(row).collect(),
        }
    };
    if shape.nodes() > PLANES_UP_TO {
        return vec![map("all z".into(), 0..ez)];
    }
    (0..ez).map(|z| map(format!("z = {z}"), z..z + 1)).collect()
}
