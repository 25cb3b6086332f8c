//! Latency against load, below it the use of the links.

use crate::host::stop::Stop;
use crate::lab::sim::row::Row;
use crate::show::plot::{self, Axis, Chart, HeatMap, HeatMaps, Mark, Series, Shape as MarkShape};
use net_torus::{Direction, Shape};
use plotters::style::RGBColor;

/// Nodes up to which the heat map shows every plane of the machine by itself; above, their mean.
const PLANES_UP_TO: u32 = 4096;

/// Draws the rows and, of the last one, the use of each node's links by direction.
pub fn draw(
    heading: &str,
    shape: &Shape,
    rows: &[Row],
    by_link: &[[f64; 6]],
) -> Result<String, Stop> {
    let maps = heat_maps(shape, by_link);
    let load = rows.last().map_or(0.0, |row| row.load);
    let whole = maps.len() < usize::from(shape.extents()[2]);
    let maps = HeatMaps {
        heading: &format!(
            "use of the links at load {load}: per node three stripes, the busier of its two outgoing X, Y and Z \
             links; white 0, black 100 %{}",
            if whole { "; mean over all z" } else { "" }
        ),
        maps,
    };
    let greatest_load = rows.iter().fold(1.0f64, |most, row| most.max(row.load));
    // Latencies on a logarithmic scale: they grow without bound near saturation.
    let greatest = rows.iter().fold(10.0f64, |most, row| {
        most.max(row.latency_p99_ticks as f64)
            .max(row.latency_mean_ticks)
    });
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    type Latency = fn(&Row) -> f64;
    let curves: [(&str, RGBColor, Latency); 2] = [
        ("mean", RGBColor(0x1f, 0x5f, 0xa8), |r| r.latency_mean_ticks),
        ("99 %", RGBColor(0xb8, 0x44, 0x2c), |r| {
            r.latency_p99_ticks as f64
        }),
    ];
    let mark = |colour| Mark {
        shape: MarkShape::Circle,
        colour,
        filled: true,
    };
    let series = curves.map(|(_, colour, value)| Series {
        points: sorted
            .iter()
            .map(|row| (row.load, value(row).max(1.0).log10()))
            .collect(),
        mark: mark(colour),
        joined: true,
    });
    let chart = Chart {
        heading,
        x: Axis {
            title: "offered load, as a fraction of the limit",
            range: 0.0..greatest_load,
            names: 11,
            name: &|load| format!("{load:.2}"),
        },
        y: Axis {
            title: "latency in ticks",
            range: 0.0..greatest.log10().ceil(),
            names: 8,
            name: &|decades| match decades.fract() == 0.0 {
                true => format!("{:.0}", 10f64.powf(*decades)),
                false => String::new(),
            },
        },
        series: series.into(),
        legend: curves
            .map(|(name, colour, _)| (name.into(), mark(colour)))
            .into(),
    };
    plot::chart_and_maps(&chart, &maps)
}

/// A map for each plane of the machine, or one of their mean.
fn heat_maps(shape: &Shape, by_link: &[[f64; 6]]) -> Vec<HeatMap> {
    let [ex, ey, ez] = shape.extents().map(usize::from);
    // The use of the busier of a node's two outgoing links along a dimension.
    let used = |x: usize, y: usize, z: usize, dimension: usize| {
        let node = by_link[x + ex * (y + ey * z)];
        let links = Direction::ALL
            .into_iter()
            .filter(|d| d.dimension() == dimension);
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
    match shape.nodes() <= PLANES_UP_TO {
        true => (0..ez).map(|z| map(format!("z = {z}"), z..z + 1)).collect(),
        false => vec![map("all z".into(), 0..ez)],
    }
}
