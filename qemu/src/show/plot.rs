//! Drawings (SVG): charts with points and lines, and heat maps of a machine's planes.

use crate::host::error::{CliError, ErrorContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::element::ComposedElement;
use plotters::prelude::*;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type DrawError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

/// Size of a chart in pixels.
const CHART: (u32, u32) = (860, 440);
/// Maximum width of a row of heat maps in pixels.
const ACROSS: u32 = 940;
/// Default size of a heat map in pixels.
const MAP: u32 = 240;
/// Space between two heat maps, and above each for its name.
const SPACE: u32 = 24;
const FONT: (&str, u32) = ("sans-serif", 13);
/// Width of a letter of that font in pixels, an upper bound of the average.
const LETTER: u32 = 8;
/// Distance between two lines of a legend.
const LEGEND_LINE: u32 = 20;
/// Number of boxes of a heat map's scale.
const SCALE_BOXES: u32 = 10;

/// Shape of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkShape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl MarkShape {
    /// Returns its corners in pixels relative to its centre.
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
    pub shape: MarkShape,
    pub colour: RGBColor,
    /// Whether it is filled.
    pub filled: bool,
}

/// An axis. For a logarithmic scale, values are specified as logarithms.
pub struct Axis<'a> {
    /// Quantity and unit.
    pub title: &'a str,
    /// Minimum and maximum value.
    pub range: std::ops::Range<f64>,
    /// Labeled values; all labels are different.
    pub ticks: Vec<Tick>,
}

/// A labeled value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    /// Value.
    pub at: f64,
    /// Label.
    pub name: String,
}

/// Maximum number of ticks of a linear axis.
const MAX_TICKS: f64 = 11.0;

impl<'a> Axis<'a> {
    /// Creates a linear axis with ticks at multiples of 1, 2 or 5 times a power of ten.
    pub fn linear(title: &'a str, range: std::ops::Range<f64>) -> Self {
        let least_step = ((range.end - range.start) / MAX_TICKS).max(f64::MIN_POSITIVE);
        let power = 10f64.powi(least_step.log10().floor() as i32);
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = { steps.into_iter() }
            .find(|step| *step >= least_step)
            .unwrap_or(steps[3]);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let [first, last] = [(range.start / step).ceil(), (range.end / step + 1e-9).floor()];
        let ticks = (first as i64..=last as i64).map(|multiple| {
            let at = multiple as f64 * step;
            let name = format!("{at:.decimals$}");
            Tick { at, name }
        });
        Self {
            title,
            ticks: ticks.collect(),
            range,
        }
    }

    /// Creates a logarithmic axis; `range` contains decimal logarithms. A short axis also labels 2 and 5 times the
    /// powers.
    pub fn log10(title: &'a str, range: std::ops::Range<f64>) -> Self {
        let factors: &[u32] = match range.end - range.start {
            short if short <= 2.0 => &[1, 2, 5],
            _ => &[1],
        };
        let powers = range.start.floor() as i32..=range.end.ceil() as i32;
        let ticks = { powers }
            .flat_map(|power| factors.iter().map(move |factor| (power, *factor)))
            .map(|(power, factor)| Tick {
                at: f64::from(power) + f64::from(factor).log10(),
                name: match power {
                    0..=6 => format!("{}", u64::from(factor) * 10u64.pow(power as u32)),
                    -3..0 => {
                        let value = f64::from(factor) / 10f64.powi(-power);
                        format!("{value:.*}", -power as usize)
                    }
                    _ => format!("{factor}e{power}"),
                },
            })
            .filter(|tick| range.start <= tick.at && tick.at <= range.end);
        Self {
            title,
            ticks: ticks.collect(),
            range,
        }
    }

    /// Creates a logarithmic axis for these values: complete decades, at least one.
    pub fn log10_of(title: &'a str, values: impl Iterator<Item = f64>) -> Self {
        Self::log10(title, integer_range(values))
    }

    /// Creates a logarithmic axis; `range` contains logarithms to base two.
    pub fn log2(title: &'a str, range: std::ops::Range<f64>) -> Self {
        let powers = range.start.ceil() as i32..=range.end.floor() as i32;
        let ticks = powers.map(|power| Tick {
            at: f64::from(power),
            name: match power {
                0..=16 => (1u32 << power).to_string(),
                _ => format!("2^{power}"),
            },
        });
        Self {
            title,
            ticks: ticks.collect(),
            range,
        }
    }

    /// Creates an axis to base two for these values: complete powers, at least one.
    pub fn log2_of(title: &'a str, values: impl Iterator<Item = f64>) -> Self {
        Self::log2(title, integer_range(values))
    }

    /// Creates an axis of categories, at 0, 1 and so on.
    pub fn categories(title: &'a str, names: impl Iterator<Item = String>) -> Self {
        let ticks = { (0..).zip(names) }.map(|(place, name)| Tick {
            at: f64::from(place),
            name,
        });
        let ticks: Vec<Tick> = ticks.collect();
        Self {
            title,
            range: -0.5..ticks.len().max(1) as f64 - 0.5,
            ticks,
        }
    }

    /// Returns the label of a value.
    fn name(&self, at: f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.at == at);
        tick.map_or(String::new(), |tick| tick.name.clone())
    }

    fn labelled_range(&self) -> LabelledRange {
        LabelledRange {
            range: self.range.clone(),
            ticks: self.ticks.iter().map(|tick| tick.at).collect(),
        }
    }
}

/// Returns the integers around these values, at least one apart.
fn integer_range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    if least > most {
        return 0.0..1.0;
    }
    least.floor()..most.ceil().max(least.floor() + 1.0)
}

/// Coordinates of an axis. They replace Plotters' own, whose automatic ticks can have equal labels after rounding.
struct LabelledRange {
    range: std::ops::Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for LabelledRange {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let span = self.range.end - self.range.start;
        let part = (value - self.range.start) / if span > 0.0 { span } else { 1.0 };
        from + (part * f64::from(to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.range.clone()
    }
}

/// Points of one kind.
pub struct Series {
    pub points: Vec<(f64, f64)>,
    /// Mark at each point.
    pub mark: Mark,
    /// Whether a line connects them.
    pub joined: bool,
}

pub struct Chart<'a> {
    /// Heading, one or more lines.
    pub heading: &'a str,
    /// Horizontal axis.
    pub x: Axis<'a>,
    /// Vertical axis.
    pub y: Axis<'a>,
    pub series: Vec<Series>,
    /// Legend of the marks.
    pub legend: Vec<(String, Mark)>,
}

/// A plane of cells, each with three stripes.
pub struct HeatMap {
    /// Heading.
    pub name: String,
    /// Cells by row, then by column.
    pub cells: Vec<Vec<[f64; 3]>>,
}

/// A row of heat maps of equal size.
pub struct HeatMaps<'a> {
    /// Heading.
    pub heading: &'a str,
    pub maps: Vec<HeatMap>,
    /// Values of the lightest and the darkest colour.
    pub scale: std::ops::Range<f64>,
    /// Formats a value of the scale.
    pub name: &'a dyn Fn(f64) -> String,
}

impl HeatMaps<'_> {
    /// Returns the colour of a value.
    fn colour(&self, value: f64) -> RGBColor {
        let span = self.scale.end - self.scale.start;
        heat((value - self.scale.start) / if span > 0.0 { span } else { 1.0 })
    }
}

impl Chart<'_> {
    /// Returns width and height in pixels. The legend is outside of the chart, so that it covers no point.
    fn size(&self) -> (u32, u32) {
        let below = self.legend.len() as u32 * LEGEND_LINE + LEGEND_LINE;
        let height = CHART.1.max(below) + heading_height(self.heading);
        (CHART.0 + self.legend_width(), height)
    }

    fn legend_width(&self) -> u32 {
        let names = self.legend.iter().map(|(name, _)| name.chars().count());
        names.max().map_or(0, |most| 40 + LETTER * most as u32)
    }
}

/// Draws a chart.
///
/// # Errors
/// Returns a failure if the drawing fails.
pub fn chart(chart: &Chart<'_>) -> Result<String, CliError> {
    draw(chart.size(), |area| draw_chart(area, chart))
}

/// Draws a chart with heat maps below.
///
/// # Errors
/// Returns a failure if the drawing fails.
pub fn chart_and_maps(chart: &Chart<'_>, maps: &HeatMaps<'_>) -> Result<String, CliError> {
    let grid = Grid::from_maps(maps);
    let (width, above) = chart.size();
    let size = (grid.width().max(width), above + grid.height());
    draw(size, |area| {
        let (top, bottom) = area.split_vertically(above);
        let (left, _) = top.split_horizontally(width);
        draw_chart(&left, chart)?;
        draw_maps(&bottom, maps, &grid)
    })
}

/// A node of a network drawing.
pub struct NetworkNode {
    /// Centre in pixels.
    pub at: (i32, i32),
    /// Text inside the node.
    pub name: String,
    /// Text to the lower left of the node.
    pub note: String,
}

/// A line of a network drawing.
pub struct NetworkLine {
    /// Ends in pixels.
    pub ends: [(i32, i32); 2],
    /// Value, which selects colour and width.
    pub value: f64,
}

/// Nodes and lines between them.
pub struct NetworkDrawing<'a> {
    /// Heading, one or more lines.
    pub heading: &'a str,
    /// Lines, which the nodes cover at their ends.
    pub lines: Vec<NetworkLine>,
    pub nodes: Vec<NetworkNode>,
    /// Explains the colours: the unit of a value.
    pub unit: &'a str,
}

/// Radius of a node in pixels.
const NODE_RADIUS: i32 = 15;
/// Colour of a line with the value 0.
const IDLE_LINE: RGBColor = RGBColor(205, 205, 205);
/// Maximum width of a line in pixels.
const MAX_LINE: f64 = 8.0;

/// Draws a network. Nodes and lines lie to the right of and below the point (0, 0).
///
/// # Errors
/// Returns a failure if the drawing fails.
pub fn network(drawing: &NetworkDrawing<'_>) -> Result<String, CliError> {
    let above = heading_height(drawing.heading) as i32;
    let greatest = |of: fn(&NetworkNode) -> i32| drawing.nodes.iter().map(of).max().unwrap_or(0);
    let (right, bottom) = (greatest(|node| node.at.0), greatest(|node| node.at.1));
    let max = drawing.lines.iter().map(|line| line.value).fold(0.0, f64::max);
    let width = (right + 3 * NODE_RADIUS).max(CHART.0 as i32 / 2);
    let scale_at = above + bottom + 4 * NODE_RADIUS;
    let size = (width as u32, (scale_at + 2 * NODE_RADIUS) as u32);
    let share = |value: f64| if max > 0.0 { value / max } else { 0.0 };
    let style = |value: f64| {
        let width = 1.0 + share(value) * (MAX_LINE - 1.0);
        let colour = if value > 0.0 {
            heat(0.2 + 0.8 * share(value))
        } else {
            IDLE_LINE
        };
        colour.stroke_width(width.round() as u32)
    };
    draw(size, |area| {
        draw_heading(area, drawing.heading)?;
        let moved = |(x, y): (i32, i32)| (x, y + above);
        for line in &drawing.lines {
            area.draw(&PathElement::new(line.ends.map(moved), style(line.value)))?;
        }
        for node in &drawing.nodes {
            let at = moved(node.at);
            let inside = (at.0 - 4 * node.name.len() as i32, at.1 - 7);
            // To the lower left, where no line ends.
            let below = (at.0 - NODE_RADIUS - 7 * node.note.len() as i32, at.1 + NODE_RADIUS - 4);
            area.draw(&Circle::new(at, NODE_RADIUS, WHITE.filled()))?;
            area.draw(&Circle::new(at, NODE_RADIUS, BLACK))?;
            area.draw(&Text::new(node.name.as_str(), inside, FONT))?;
            area.draw(&Text::new(node.note.as_str(), below, FONT))?;
        }
        for (step, value) in [0.0, 0.5, 1.0].into_iter().enumerate() {
            let x = 20 + 130 * step as i32;
            let ends = [(x, scale_at), (x + 40, scale_at)];
            area.draw(&PathElement::new(ends, style(value * max)))?;
            let text = format!("{:.0} {}", value * max, drawing.unit);
            area.draw(&Text::new(text, (x + 46, scale_at - 6), FONT))?;
        }
        Ok(())
    })
}

fn draw(size: (u32, u32), what: impl FnOnce(&Area<'_>) -> Result<(), DrawError<'static>>) -> Result<String, CliError> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
    area.fill(&WHITE)
        .and_then(|()| what(&area))
        .and_then(|()| area.present())
        .context("draw")?;
    drop(area);
    Ok(text)
}

fn heading_height(heading: &str) -> u32 {
    16 * heading.lines().count() as u32 + 12
}

fn draw_heading(area: &Area<'_>, heading: &str) -> Result<(), DrawError<'static>> {
    for (at, line) in heading.lines().enumerate() {
        area.draw(&Text::new(line, (20, 10 + 16 * at as i32), FONT))?;
    }
    Ok(())
}

fn draw_chart(area: &Area<'_>, chart: &Chart<'_>) -> Result<(), DrawError<'static>> {
    let (head, body) = area.split_vertically(heading_height(chart.heading));
    draw_heading(&head, chart.heading)?;
    let (body, side) = body.split_horizontally(CHART.0);
    let mut axes = ChartBuilder::on(&body)
        .margin(10)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(chart.x.labelled_range(), chart.y.labelled_range())?;
    axes.configure_mesh()
        .label_style(FONT)
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&|at| chart.x.name(*at))
        .x_desc(chart.x.title)
        .y_label_formatter(&|at| chart.y.name(*at))
        .y_desc(chart.y.title)
        .draw()?;
    for series in &chart.series {
        if series.joined {
            let points = series.points.iter().copied();
            axes.draw_series(LineSeries::new(points, series.mark.colour.stroke_width(2)))?;
        }
        axes.draw_series(series.points.iter().map(|&at| element(at, series.mark)))?;
    }
    for (line, (name, mark)) in (0..).zip(&chart.legend) {
        let y = (LEGEND_LINE * line + LEGEND_LINE) as i32;
        side.draw(&element((12, y), *mark))?;
        side.draw(&Text::new(name.as_str(), (26, y - 6), FONT))?;
    }
    Ok(())
}

/// A drawn mark: fill and outline.
type MarkElement<'b, C> = ComposedElement<C, SVGBackend<'b>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// Creates a mark at a point in any coordinates.
fn element<'b, C: Clone>(at: C, mark: Mark) -> MarkElement<'b, C> {
    let ground = if mark.filled { mark.colour } else { WHITE };
    let mut outline = mark.shape.corners();
    outline.extend(outline.first().copied());
    EmptyElement::at(at) + Polygon::new(mark.shape.corners(), ground) + PathElement::new(outline, mark.colour)
}

/// Layout of heat maps in pixels.
struct Grid {
    /// Side of a cell.
    cell: u32,
    /// Size of a map with the space around it.
    panel: (u32, u32),
    /// Number of columns and rows of maps.
    across: u32,
    down: u32,
    above: u32,
}

impl Grid {
    fn from_maps(maps: &HeatMaps<'_>) -> Self {
        let count = maps.maps.len().max(1) as u32;
        let rows = maps.maps.first().map_or(1, |map| map.cells.len().max(1)) as u32;
        let first = maps.maps.first().and_then(|map| map.cells.first());
        let columns = first.map_or(1, |row| row.len().max(1)) as u32;
        // At least two pixels for each of three stripes.
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
        // Includes the colour scale below.
        self.above + self.down * self.panel.1 + 2 * SPACE
    }
}

fn draw_maps(area: &Area<'_>, maps: &HeatMaps<'_>, grid: &Grid) -> Result<(), DrawError<'static>> {
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
                    area.draw(&Rectangle::new([from, to], maps.colour(value).filled()))?;
                }
            }
        }
    }
    let below = (grid.above + grid.down * grid.panel.1 + SPACE / 2) as i32;
    for step in 0..=SCALE_BOXES {
        let part = f64::from(step) / f64::from(SCALE_BOXES);
        let left = 20 + 24 * step as i32;
        let corners = [(left, below), (left + 24, below + 12)];
        area.draw(&Rectangle::new(corners, heat(part).filled()))?;
        area.draw(&Rectangle::new(corners, BLACK.mix(0.5)))?;
        if step % (SCALE_BOXES / 2) == 0 {
            let value = maps.scale.start + part * (maps.scale.end - maps.scale.start);
            area.draw(&Text::new((maps.name)(value), (left, below + 16), FONT))?;
        }
    }
    Ok(())
}

/// Returns a colour between white (0), yellow, red and dark purple (1), each darker than the one before.
fn heat(value: f64) -> RGBColor {
    const COLOURS: [[f64; 3]; 4] = [
        [255.0, 255.0, 255.0],
        [254.0, 204.0, 92.0],
        [227.0, 60.0, 40.0],
        [70.0, 0.0, 60.0],
    ];
    let at = value.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let below = (at as usize).min(COLOURS.len() - 2);
    let [from, to] = [COLOURS[below], COLOURS[below + 1]];
    let channel = |place: usize| {
        let part = at - below as f64;
        (from[place] + part * (to[place] - from[place])).round() as u8
    };
    RGBColor(channel(0), channel(1), channel(2))
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
            MarkShape::Circle,
            MarkShape::Square,
            MarkShape::Triangle,
            MarkShape::Diamond,
        ];
        Chart {
            heading: "first & line\nsecond line",
            x: Axis::linear("nodes", 0.0..4.0),
            y: Axis::log10("time", 0.0..4.0),
            series: all
                .into_iter()
                .flat_map(|shape| [mark(shape, false), mark(shape, true)])
                .map(|mark| Series {
                    points: vec![(1.0, 1.0), (2.0, 3.0)],
                    mark,
                    joined: mark.filled,
                })
                .collect(),
            legend: vec![("what it <means>".into(), mark(MarkShape::Diamond, true))],
        }
    }

    /// Checks that the drawing is valid XML: one element, every tag closed, texts escaped.
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
        // Two points of each shape, open and filled, and one in the legend.
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
                scale: 0.0..1.0,
                name: &|value| format!("{:.0} percent", 100.0 * value),
            };
            let drawing = chart_and_maps(&example(), &maps).unwrap();
            check(&drawing);
            assert!(drawing.contains(&format!("z = {}", planes - 1)));
            for number in ["0 percent", "50 percent", "100 percent"] {
                assert!(drawing.contains(number), "{number}");
            }
            drawing.matches("<rect").count()
        };
        let least = stripes(1, 1, 1);
        assert_eq!(stripes(5, 3, 4), least + 3 * (5 * 3 * 4 - 1));
        assert_eq!(stripes(1, 64, 64), least + 3 * (64 * 64 - 1));
    }

    #[test]
    fn heat_goes_from_white_to_dark() {
        assert_eq!(heat(0.0), RGBColor(255, 255, 255));
        assert_eq!(heat(2.0), heat(1.0));
        let light = |step: u32| {
            let RGBColor(red, green, blue) = heat(f64::from(step) / 20.0);
            299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue)
        };
        assert!((0..20).all(|step| light(step) > light(step + 1)));
        assert!(light(20) < 60_000);
    }

    #[track_caller]
    fn check_ticks(axis: &Axis<'_>, names: &[&str]) {
        let found: Vec<&str> = axis.ticks.iter().map(|tick| tick.name.as_str()).collect();
        assert_eq!(found, names);
        assert!(axis.ticks.is_sorted_by(|a, b| a.at < b.at));
    }

    #[test]
    fn ticks_are_round_and_have_different_names() {
        check_ticks(
            &Axis::linear("", 0.0..1.0),
            &[
                "0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
            ],
        );
        check_ticks(
            &Axis::linear("", -2.0..102.0),
            &["0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100"],
        );
        check_ticks(&Axis::log10("", 0.0..3.0), &["1", "10", "100", "1000"]);
        check_ticks(&Axis::log10("", -1.0..0.5), &["0.1", "0.2", "0.5", "1", "2"]);
        check_ticks(&Axis::log10("", 4.2..8.0), &["100000", "1000000", "1e7", "1e8"]);
        let times = [1e4, 1.2e5].map(f64::log10);
        check_ticks(
            &Axis::log10_of("", times.into_iter()),
            &["10000", "20000", "50000", "100000", "200000", "500000", "1000000"],
        );
        check_ticks(&Axis::log2_of("", [3.0].into_iter()), &["8", "16"]);
        check_ticks(&Axis::log2("", 15.5..17.5), &["65536", "2^17"]);
        check_ticks(&Axis::log2_of("", std::iter::empty()), &["1", "2"]);
        let names = ["a", "b"].map(String::from);
        check_ticks(&Axis::categories("", names.into_iter()), &["a", "b"]);
    }

    #[test]
    fn the_legend_stands_beside_the_chart() {
        let drawing = chart(&example()).unwrap();
        let before = drawing.split("what it &lt;means&gt;").next().unwrap();
        let text = &before[before.rfind("<text").unwrap()..];
        let x = text.split("x=\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(x.parse::<u32>().unwrap() > CHART.0, "{text}");
    }
}
