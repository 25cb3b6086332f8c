//! Drawings (SVG): points and lines over two axes, and heat maps of a machine's planes.

use crate::host::stop::{Doing, Stop};
use plotters::coord::Shift;
use plotters::element::ComposedElement;
use plotters::prelude::*;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Size of a chart in pixels.
const CHART: (u32, u32) = (860, 440);
/// Width in pixels up to which heat maps stand beside one another.
const ACROSS: u32 = 940;
/// Size in pixels of a heat map that needs no more.
const MAP: u32 = 240;
/// Between two heat maps, and above each for its name.
const SPACE: u32 = 24;
const FONT: (&str, u32) = ("sans-serif", 13);

/// The shape of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Shape {
    /// Its corners in pixels around its centre.
    fn corners(self) -> Vec<(i32, i32)> {
        match self {
            Self::Circle => (0..12)
                .map(|hour| {
                    let (y, x) = (f64::from(hour) * std::f64::consts::TAU / 12.0).sin_cos();
                    ((4.5 * x).round() as i32, (4.5 * y).round() as i32)
                })
                .collect(),
            Self::Square => vec![(-4, -4), (4, -4), (4, 4), (-4, 4)],
            Self::Triangle => vec![(0, -5), (5, 4), (-5, 4)],
            Self::Diamond => vec![(0, -6), (6, 0), (0, 6), (-6, 0)],
        }
    }
}

/// A mark at a point.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Its shape.
    pub shape: Shape,
    /// Its colour.
    pub colour: RGBColor,
    /// Whether it is filled.
    pub filled: bool,
}

/// One axis. What is drawn on a logarithmic scale is given as logarithms.
pub struct Axis<'a> {
    /// What it shows, with its unit.
    pub title: &'a str,
    /// Least and greatest value.
    pub range: std::ops::Range<f64>,
    /// About how many values are named.
    pub names: usize,
    /// The name of a value.
    pub name: &'a dyn Fn(&f64) -> String,
}

/// Points of one kind.
pub struct Series {
    /// The points.
    pub points: Vec<(f64, f64)>,
    /// How each is drawn.
    pub mark: Mark,
    /// Whether a line joins them.
    pub joined: bool,
}

/// A chart.
pub struct Chart<'a> {
    /// What stands above it, line by line.
    pub heading: &'a str,
    /// The axis to the right.
    pub x: Axis<'a>,
    /// The axis upwards.
    pub y: Axis<'a>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// What the marks mean.
    pub legend: Vec<(String, Mark)>,
}

/// A plane of cells, in each three stripes.
pub struct HeatMap {
    /// What stands above it.
    pub name: String,
    /// The cells by row, then by column; each value from 0 to 1.
    pub cells: Vec<Vec<[f64; 3]>>,
}

/// A row of heat maps of one size.
pub struct HeatMaps<'a> {
    /// What stands above them.
    pub heading: &'a str,
    /// The maps.
    pub maps: Vec<HeatMap>,
}

/// The drawing of a chart.
///
/// # Errors
/// A failure when the drawing cannot be made.
pub fn chart(chart: &Chart<'_>) -> Result<String, Stop> {
    let size = (CHART.0, CHART.1 + heading_height(chart.heading));
    draw(size, |area| draw_chart(area, chart))
}

/// The drawing of a chart with heat maps below.
///
/// # Errors
/// As [`chart`].
pub fn chart_and_maps(chart: &Chart<'_>, maps: &HeatMaps<'_>) -> Result<String, Stop> {
    let grid = Grid::of(maps);
    let above = CHART.1 + heading_height(chart.heading);
    let size = (grid.width().max(CHART.0), above + grid.height());
    draw(size, |area| {
        let (top, bottom) = area.split_vertically(above);
        let (left, _) = top.split_horizontally(CHART.0);
        draw_chart(&left, chart)?;
        draw_maps(&bottom, maps, &grid)
    })
}

fn draw(
    size: (u32, u32),
    what: impl FnOnce(&Area<'_>) -> Result<(), Failure<'static>>,
) -> Result<String, Stop> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    area.fill(&WHITE)
        .and_then(|()| what(&area))
        .and_then(|()| area.present())
        .doing("draw")?;
    drop(area);
    Ok(text)
}

fn heading_height(heading: &str) -> u32 {
    16 * heading.lines().count() as u32 + 12
}

fn draw_heading(area: &Area<'_>, heading: &str) -> Result<(), Failure<'static>> {
    for (at, line) in heading.lines().enumerate() {
        area.draw(&Text::new(line, (20, 10 + 16 * at as i32), FONT))?;
    }
    Ok(())
}

fn draw_chart(area: &Area<'_>, chart: &Chart<'_>) -> Result<(), Failure<'static>> {
    let (head, body) = area.split_vertically(heading_height(chart.heading));
    draw_heading(&head, chart.heading)?;
    let mut axes = ChartBuilder::on(&body)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(chart.x.range.clone(), chart.y.range.clone())?;
    axes.configure_mesh()
        .label_style(FONT)
        .light_line_style(TRANSPARENT)
        .x_labels(chart.x.names)
        .x_label_formatter(chart.x.name)
        .x_desc(chart.x.title)
        .y_labels(chart.y.names)
        .y_label_formatter(chart.y.name)
        .y_desc(chart.y.title)
        .draw()?;
    for series in &chart.series {
        if series.joined {
            let points = series.points.iter().copied();
            axes.draw_series(LineSeries::new(points, series.mark.colour.stroke_width(2)))?;
        }
        axes.draw_series(series.points.iter().map(|&at| element(at, series.mark)))?;
    }
    for (name, mark) in &chart.legend {
        let mark = *mark;
        axes.draw_series(std::iter::empty::<Drawn<'_, (f64, f64)>>())?
            .label(name)
            .legend(move |(x, y)| element((x + 10, y), mark));
    }
    axes.configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(FONT)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
}

/// A mark as it is drawn: its ground and its outline.
type Drawn<'b, C> =
    ComposedElement<C, SVGBackend<'b>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// A mark at a point of any coordinates.
fn element<'b, C: Clone>(at: C, mark: Mark) -> Drawn<'b, C> {
    let ground = match mark.filled {
        true => mark.colour,
        false => WHITE,
    };
    let mut outline = mark.shape.corners();
    outline.extend(outline.first().copied());
    EmptyElement::at(at)
        + Polygon::new(mark.shape.corners(), ground)
        + PathElement::new(outline, mark.colour)
}

/// How heat maps are laid out, in pixels.
struct Grid {
    /// Side of a cell.
    cell: u32,
    /// A map and the space around it.
    panel: (u32, u32),
    /// Maps beside one another, and rows of them.
    across: u32,
    down: u32,
    above: u32,
}

impl Grid {
    fn of(maps: &HeatMaps<'_>) -> Self {
        let count = maps.maps.len().max(1) as u32;
        let rows = maps.maps.first().map_or(1, |map| map.cells.len().max(1)) as u32;
        let first = maps.maps.first().and_then(|map| map.cells.first());
        let columns = first.map_or(1, |row| row.len().max(1)) as u32;
        // Three stripes of two pixels at least.
        let cell = (MAP / rows.max(columns)).clamp(6, 24);
        let panel = (columns * cell + SPACE, rows * cell + SPACE);
        let across = (ACROSS / panel.0).clamp(1, count);
        Self {
            cell,
            panel,
            across,
            down: count.div_ceil(across),
            above: heading_height(maps.heading),
        }
    }

    fn width(&self) -> u32 {
        20 + self.across * self.panel.0 + SPACE
    }

    fn height(&self) -> u32 {
        // The scale of the colours below.
        self.above + self.down * self.panel.1 + 2 * SPACE
    }
}

fn draw_maps(area: &Area<'_>, maps: &HeatMaps<'_>, grid: &Grid) -> Result<(), Failure<'static>> {
    draw_heading(area, maps.heading)?;
    for (at, map) in maps.maps.iter().enumerate() {
        let at = at as u32;
        let left = 20 + (at % grid.across * grid.panel.0) as i32;
        let top = (grid.above + at / grid.across * grid.panel.1) as i32;
        area.draw(&Text::new(map.name.as_str(), (left, top), FONT))?;
        for (row, cells) in map.cells.iter().enumerate() {
            for (column, stripes) in cells.iter().enumerate() {
                let (cell, stripe) = (grid.cell as i32, (grid.cell as i32 - 1) / 3);
                let (x, y) = (left + column as i32 * cell, top + 16 + row as i32 * cell);
                for (place, &value) in (0..).zip(stripes) {
                    let from = (x + place * stripe, y);
                    let to = (x + (place + 1) * stripe, y + cell - 1);
                    area.draw(&Rectangle::new([from, to], heat(value).filled()))?;
                }
            }
        }
    }
    let below = (grid.above + grid.down * grid.panel.1 + SPACE / 2) as i32;
    for step in 0..=10 {
        let left = 20 + 24 * step;
        let corners = [(left, below), (left + 24, below + 12)];
        area.draw(&Rectangle::new(
            corners,
            heat(f64::from(step) / 10.0).filled(),
        ))?;
        area.draw(&Rectangle::new(corners, BLACK.mix(0.5)))?;
    }
    Ok(())
}

/// A colour from white (0) over red to black (1).
fn heat(value: f64) -> RGBColor {
    let value = value.clamp(0.0, 1.0);
    let channel = |full: f64, from: f64| {
        let gone = ((value - from) / (1.0 - from)).clamp(0.0, 1.0);
        (255.0 * (1.0 - gone / full)).clamp(0.0, 255.0) as u8
    };
    RGBColor(channel(1.3, 0.5), channel(0.55, 0.0), channel(0.45, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Chart<'static> {
        let mark = |shape, filled| Mark {
            shape,
            colour: RGBColor(1, 2, 3),
            filled,
        };
        let all = [
            Shape::Circle,
            Shape::Square,
            Shape::Triangle,
            Shape::Diamond,
        ];
        Chart {
            heading: "first & line\nsecond line",
            x: Axis {
                title: "nodes",
                range: 0.0..4.0,
                names: 5,
                name: &|value| format!("{value}"),
            },
            y: Axis {
                title: "time",
                range: 0.0..4.0,
                names: 5,
                name: &|value| format!("{value}"),
            },
            series: all
                .into_iter()
                .flat_map(|shape| [mark(shape, false), mark(shape, true)])
                .map(|mark| Series {
                    points: vec![(1.0, 1.0), (2.0, 3.0)],
                    mark,
                    joined: mark.filled,
                })
                .collect(),
            legend: vec![("what it <means>".into(), mark(Shape::Diamond, true))],
        }
    }

    /// The drawing is what an XML reader takes: one element, every tag closed, texts escaped.
    #[track_caller]
    fn check(drawing: &str) {
        assert!(drawing.starts_with("<svg") && drawing.trim_end().ends_with("</svg>"));
        let mut open = 0;
        for tag in drawing.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => open -= 1,
                (_, true) => {}
                _ => open += 1,
            }
        }
        assert_eq!(open, 0, "{drawing}");
    }

    #[test]
    fn a_chart_has_its_marks_lines_and_legend() {
        let drawing = chart(&example()).unwrap();
        check(&drawing);
        for word in [
            "first &amp; line",
            "second line",
            "nodes",
            "time",
            "what it &lt;means&gt;",
        ] {
            assert!(drawing.contains(word), "{word}: {drawing}");
        }
        // Two points of each shape, open and filled; and one in the legend.
        assert_eq!(drawing.matches("<polygon").count(), 2 * 4 * 2 + 1);
    }

    #[test]
    fn a_heat_map_has_three_stripes_a_cell() {
        let stripes = |planes: usize, rows: usize, columns: usize| {
            let maps = (0..planes).map(|z| HeatMap {
                name: format!("z = {z}"),
                cells: vec![vec![[0.0, 0.5, 1.0]; columns]; rows],
            });
            let maps = HeatMaps {
                heading: "use of the links",
                maps: maps.collect(),
            };
            let drawing = chart_and_maps(&example(), &maps).unwrap();
            check(&drawing);
            assert!(drawing.contains(&format!("z = {}", planes - 1)));
            drawing.matches("<rect").count()
        };
        let least = stripes(1, 1, 1);
        assert_eq!(stripes(5, 3, 4), least + 3 * (5 * 3 * 4 - 1));
        assert_eq!(stripes(1, 64, 64), least + 3 * (64 * 64 - 1));
    }

    #[test]
    fn heat_goes_from_white_to_black() {
        assert_eq!(heat(0.0), RGBColor(255, 255, 255));
        let RGBColor(red, green, blue) = heat(2.0);
        assert!(red < 80 && green == 0 && blue == 0);
    }
}
