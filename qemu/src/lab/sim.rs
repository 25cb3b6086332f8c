//! `midplane sim`: the nodes' routers alone, in virtual time, under synthetic traffic.

use crate::host::capacity;
use crate::host::size;
use crate::host::stop::Stop;
use crate::run::topology;
use crate::show::file::{ResultFile, check_apart};
use crate::show::say::say;
use clap::{Args, ValueEnum};
use net_torus::sim::matrix::{self, Case, Channels};
use net_torus::sim::{Config, HOT_FRACTION, Limit, Network, Traffic};
use net_torus::{Direction, Routing, Shape, Sizes};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// Ticks that may be asked for: a packet's birth is stored in 32 bits.
const MOST_TICKS: u64 = 1 << 31;
/// Loads in one command.
const MOST_LOADS: usize = 100;
/// Part of the packets injected while measuring that may stay in the machine in a steady state.
const STEADY: f64 = 0.02;
/// Nodes up to which the heat map shows every plane of the machine by itself; above, their mean.
const PLANES_UP_TO: u32 = 4096;

/// Options of `midplane sim`.
#[derive(Args, Debug)]
#[command(
    after_help = "A tick is the time in which a link carries one chunk of 32 bytes, 183 ns at Blue Gene/L's \
                  175 MB/s. Loads are fractions of the limit, which is what the wires allow.\n\n\
                  Example: cargo midplane sim --torus 8x8x8 --traffic uniform --load 0.1,0.5,0.9,1.5 --svg out.svg"
)]
pub struct SimArgs {
    /// Extents of the machine along X, Y and Z, each 1 to 256
    #[arg(long, value_name = "XxYxZ", default_value = "8x8x8", value_parser = topology::parse_extents)]
    torus: [u16; 3],

    /// Dimensions that do not wrap around, for example z or xyz
    #[arg(long, value_name = "DIMENSIONS", default_value = "", value_parser = topology::parse_mesh)]
    mesh: Mesh,

    /// Who sends to whom
    #[arg(long, value_enum, default_value = "uniform")]
    traffic: Pattern,

    /// Offered load as a fraction of the limit; several, separated by commas, are simulated one by one
    #[arg(long, value_name = "LOAD", value_delimiter = ',', default_value = "0.9", value_parser = parse_load)]
    load: Vec<f64>,

    /// Seed of everything random; the same seed gives the same numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How packets find their way
    #[arg(long, value_enum, default_value = "adaptive")]
    routing: Way,

    /// Size of the packets in chunks of 32 bytes, 1 to 8, or a range such as 1-8
    #[arg(long, value_name = "CHUNKS", default_value = "8", value_parser = parse_chunks)]
    chunks: (u8, u8),

    /// Buffer of each virtual channel behind each link, in packets of 256 bytes, 2 to 2047
    #[arg(long, value_name = "PACKETS", default_value_t = 4,
          value_parser = clap::value_parser!(u16).range(2..=2047))]
    buffers: u16,

    /// Fraction of the packets that go to the hot node, with --traffic hot-spot [default: 0.1]
    #[arg(long, value_name = "FRACTION", value_parser = parse_fraction)]
    hot: Option<f64>,

    /// Ticks before measuring
    #[arg(long, value_name = "TICKS", default_value_t = 2000,
          value_parser = clap::value_parser!(u64).range(0..=MOST_TICKS))]
    warmup: u64,

    /// Ticks to measure
    #[arg(long, value_name = "TICKS", default_value_t = 4000,
          value_parser = clap::value_parser!(u64).range(1..=MOST_TICKS))]
    ticks: u64,

    /// Write a line per load to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw latency against load, and the use of the links at the last load, to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    check: Check,
}

/// Checks for deadlock instead of measuring.
#[derive(Args, Debug)]
struct Check {
    /// Instead of measuring, drive every machine with extents out of 1, 2, 3, 4, 5 and 8, torus and mesh,
    /// with the smallest buffers, under every pattern at 1.5 times the limit, until all has arrived
    #[arg(long, conflicts_with_all = ["torus", "mesh", "traffic", "load", "routing", "chunks", "buffers",
          "hot", "warmup", "ticks", "csv", "svg"])]
    check: bool,

    /// Packets that each node sends in a --check
    #[arg(long, value_name = "PACKETS", default_value_t = 50, requires = "check",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    packets: u32,
}

/// So that clap does not take the array for several values.
type Mesh = [bool; 3];

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// Each packet to a random other node
    Uniform,
    /// Each packet to the next of the six neighbours in turn
    Neighbour,
    /// From (x, y, z) to (X-1-x, Y-1-y, Z-1-z)
    Complement,
    /// Just less than half way round in every dimension
    Tornado,
    /// Coordinates in reverse order
    Transpose,
    /// Each node to all others, one after the other in a random order of its own
    AllToAll,
    /// A part of all packets to one node, the others uniform
    HotSpot,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Minimal adaptive on the dynamic channels; packets may overtake
    Adaptive,
    /// Dimension order on the bubble channel; in order
    Deterministic,
}

fn parse_load(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(load) if load > 0.0 && load <= 100.0 => Ok(load),
        _ => Err("a load is a number above 0, at most 100".into()),
    }
}

fn parse_fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err("a fraction is a number from 0 to 1".into()),
    }
}

fn parse_chunks(text: &str) -> Result<(u8, u8), String> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least @ 1..=8), Ok(most @ 1..=8)) if least <= most => Ok((least, most)),
        _ => Err("packets have 1 to 8 chunks; give one number or a range such as 1-8".into()),
    }
}

/// One line of results.
struct Point {
    load: f64,
    offered: f64,
    accepted: f64,
    mean: f64,
    p99: u64,
    hops: f64,
    escapes: f64,
    by_dimension: [f64; 3],
    /// What was injected and not delivered while measuring, as a part of what was injected: how fast the
    /// machine still filled up. Negative when it emptied.
    filling: f64,
}

impl Point {
    /// Whether the measurement shows what the machine does in the long run.
    fn is_steady(&self) -> bool {
        self.filling.abs() <= STEADY
    }
}

/// Simulates, prints a table, writes the files asked for; the exit status.
pub fn run(options: &SimArgs) -> Result<u8, Stop> {
    if options.check.check {
        return check(options.check.packets, options.seed);
    }
    let shape = Shape::new(options.torus, options.mesh.map(|mesh| !mesh))
        .ok_or_else(|| Stop::usage("--torus: extents are 1 to 256"))?;
    if options.load.len() > MOST_LOADS {
        return Err(Stop::usage(format!(
            "--load: at most {MOST_LOADS} loads at once"
        )));
    }
    if options.hot.is_some() && options.traffic != Pattern::HotSpot {
        return Err(Stop::usage(
            "--hot does nothing without --traffic hot-spot; give both or none",
        ));
    }
    let traffic = match options.traffic {
        Pattern::Uniform => Traffic::Uniform,
        Pattern::Neighbour => Traffic::Neighbour,
        Pattern::Complement => Traffic::Complement,
        Pattern::Tornado => Traffic::Tornado,
        Pattern::Transpose => Traffic::Transpose,
        Pattern::AllToAll => Traffic::AllToAll,
        Pattern::HotSpot => Traffic::HotSpot(options.hot.unwrap_or(HOT_FRACTION)),
    };
    let limit = traffic.limit(&shape);
    if limit.load == 0.0 {
        return Err(Stop::usage(format!(
            "--traffic {}: no node of this machine sends anything to another; take a larger --torus or \
             another pattern",
            traffic.name()
        )));
    }
    let packets = options.buffers;
    let sizes = Sizes {
        dynamic: packets,
        normal: packets,
        priority: packets,
        ..Sizes::BLUE_GENE
    };
    let nodes = u64::from(shape.nodes());
    let bytes = nodes * sizes.bytes() as u64;
    let available = capacity::memory_available();
    if bytes > available {
        return Err(Stop::usage(format!(
            "{nodes} routers need {}, and {} are available; take a smaller --torus or smaller --buffers",
            size::about(bytes),
            size::about(available)
        )));
    }
    // Before the simulation, which may take long.
    check_apart(options.csv.as_ref(), options.svg.as_ref())?;
    let csv_file = ResultFile::open_if_given(options.csv.as_ref())?;
    let svg_file = ResultFile::open_if_given(options.svg.as_ref())?;
    let mut memory = vec![[0; 32]; Network::chunks(&shape, &sizes)];
    let heading = heading(options, &shape, &traffic, limit, bytes);
    say(format_args!("{heading}\n{COLUMNS}"))?;
    let mut points = Vec::new();
    let mut by_link = Vec::new();
    let (mut hops, start) = (0, Instant::now());
    for &load in &options.load {
        let config = Config {
            shape,
            sizes,
            routing: match options.routing {
                Way::Adaptive => Routing::Adaptive,
                Way::Deterministic => Routing::Deterministic,
            },
            traffic,
            load,
            chunks: options.chunks,
            seed: options.seed,
            priority: 0.0,
            packets: None,
        };
        let failed = |error| Stop::failure(format!("simulation at load {load}: {error}"));
        let mut network = Network::new(config, &mut memory).map_err(failed)?;
        network.run(options.warmup).map_err(failed)?;
        hops += network.totals().hops;
        network.clear();
        network.run(options.ticks).map_err(failed)?;
        let totals = network.totals();
        hops += totals.hops;
        let delivered = totals.delivered.max(1) as f64;
        let point = Point {
            load,
            offered: load * limit.load,
            accepted: network.accepted(),
            mean: network.latencies().mean(),
            p99: network.latencies().percentile(0.99),
            hops: totals.hops as f64 / delivered,
            escapes: network.escapes() as f64 / delivered,
            by_dimension: network.dimension_use(),
            filling: (totals.injected as f64 - totals.delivered as f64)
                / totals.injected.max(1) as f64,
        };
        say(row(&point, limit))?;
        by_link = network.link_use();
        points.push(point);
    }
    if !points.iter().all(Point::is_steady) {
        say(format_args!(
            "* not steady: the machine filled up or emptied while measuring; take a longer --warmup"
        ))?;
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    say(format_args!(
        "{:.1} million packet-hops in {seconds:.1} s: {:.2} million per second",
        hops as f64 / 1e6,
        hops as f64 / 1e6 / seconds
    ))?;
    if let Some(file) = csv_file {
        file.write(&csv(&points, limit))?;
    }
    if let Some(file) = svg_file {
        file.write(&svg(&heading, &shape, &points, &by_link))?;
    }
    Ok(0)
}

/// The check for deadlock on all processors; says what it has seen, or where it failed.
fn check(packets: u32, seed: u64) -> Result<u8, Stop> {
    let cases: Vec<Case> = matrix::cases().collect();
    say(format_args!(
        "{} runs: {} machines, extents {:?}, torus and mesh, smallest buffers; {} kinds of channels, {} \
         patterns, {} times the limit, {packets} packets per node, one in {:.0} priority, seed {seed}",
        cases.len(),
        2 * matrix::EXTENTS.len().pow(3),
        matrix::EXTENTS,
        Channels::ALL.len(),
        Traffic::ALL.len(),
        matrix::LOAD,
        1.0 / matrix::PRIORITY,
    ))?;
    let start = Instant::now();
    let work = Mutex::new(cases.iter());
    // The slowest run so far, as a part of its bound.
    let total = Mutex::new((matrix::Outcome::default(), 0.0, None));
    let run = || -> Result<(), Stop> {
        loop {
            let case = lock(&work).next();
            let Some(case) = case else { return Ok(()) };
            let outcome = case.run(packets, seed).map_err(|error| {
                lock(&work).by_ref().for_each(drop);
                Stop::failure(format!("{}: {error}", describe(case)))
            })?;
            let mut total = lock(&total);
            total.0.packets += outcome.packets;
            total.0.hops += outcome.hops;
            total.0.ticks += outcome.ticks;
            let part = outcome.ticks as f64 / case.bound(packets) as f64;
            if part > total.1 {
                (total.1, total.2) = (part, Some(*case));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        all.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let (outcome, part, slowest) = *lock(&total);
    say(format_args!(
        "{} packets, each delivered exactly once; {:.1} million packet-hops, {} ticks in all, {:.1} s",
        outcome.packets,
        outcome.hops as f64 / 1e6,
        outcome.ticks,
        start.elapsed().as_secs_f64()
    ))?;
    if let Some(case) = slowest {
        say(format_args!(
            "slowest: {:.0} % of the ticks allowed, {}",
            100.0 * part,
            describe(&case)
        ))?;
    }
    Ok(0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing is left half done while it is held.
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn describe(case: &Case) -> String {
    let [x, y, z] = case.shape.extents();
    format!(
        "{} {x}x{y}x{z}, {} traffic, {}",
        if case.shape.wraps()[0] {
            "torus"
        } else {
            "mesh"
        },
        case.traffic.name(),
        match case.channels {
            Channels::Dynamic => "dynamic channels and escape",
            Channels::Escape => "escape channel only",
            Channels::Deterministic => "deterministic routing",
        }
    )
}

const COLUMNS: &str = "  load   offered  accepted  of limit  latency    99 %   hops  escapes  \
                       use X   use Y   use Z";

fn heading(
    options: &SimArgs,
    shape: &Shape,
    traffic: &Traffic,
    limit: Limit,
    bytes: u64,
) -> String {
    let [x, y, z] = shape.extents();
    let kind = match options.mesh {
        [false, false, false] => "torus",
        [true, true, true] => "mesh",
        _ => "torus and mesh",
    };
    let (least, most) = options.chunks;
    let chunks = if least == most {
        format!("{least}")
    } else {
        format!("{least} to {most}")
    };
    format!(
        "{kind} {x}x{y}x{z}, {} traffic, {} routing, packets of {chunks} chunks, seed {}\n\
         limit {:.4} chunks per node and tick, set by {}; {} for {} routers",
        traffic.name(),
        match options.routing {
            Way::Adaptive => "adaptive",
            Way::Deterministic => "deterministic",
        },
        options.seed,
        limit.load,
        limit.bound.name(),
        size::about(bytes),
        shape.nodes(),
    )
}

fn row(p: &Point, limit: Limit) -> String {
    let [x, y, z] = p.by_dimension.map(|u| 100.0 * u);
    format!(
        "{:6.2}  {:8.4}  {:8.4}  {:6.1} %  {:7.1}  {:6}  {:5.2}  {:7.4}  {x:4.1} %  {y:4.1} %  {z:4.1} %{}",
        p.load,
        p.offered,
        p.accepted,
        100.0 * p.accepted / limit.load,
        p.mean,
        p.p99,
        p.hops,
        p.escapes,
        if p.is_steady() { "" } else { " *" },
    )
}

fn csv(points: &[Point], limit: Limit) -> String {
    let mut text = String::from(
        "load,limit_chunks_per_tick,offered_chunks_per_tick,accepted_chunks_per_tick,\
         latency_mean_ticks,latency_p99_ticks,hops_mean,escapes_per_packet,use_x,use_y,use_z,filling\n",
    );
    for p in points {
        let [x, y, z] = p.by_dimension;
        let _ = writeln!(
            text,
            "{},{:.6},{:.6},{:.6},{:.3},{},{:.4},{:.6},{x:.6},{y:.6},{z:.6},{:.6}",
            p.load, limit.load, p.offered, p.accepted, p.mean, p.p99, p.hops, p.escapes, p.filling
        );
    }
    text
}

/// A colour from white (0) over red to black (1).
fn heat(value: f64) -> String {
    let value = value.clamp(0.0, 1.0);
    let channel = |full: f64, from: f64| {
        let gone = ((value - from) / (1.0 - from)).clamp(0.0, 1.0);
        (255.0 * (1.0 - gone / full)).clamp(0.0, 255.0) as u8
    };
    format!(
        "#{:02x}{:02x}{:02x}",
        channel(1.3, 0.5),
        channel(0.55, 0.0),
        channel(0.45, 0.0)
    )
}

/// Latency against load, below it the use of the links: one square per node, in it three stripes, the use
/// of the busier of its two outgoing X, Y and Z links.
fn svg(heading: &str, shape: &Shape, points: &[Point], by_link: &[[f64; 6]]) -> String {
    const CHART: (f64, f64) = (560.0, 300.0);
    const LEFT: f64 = 70.0;
    const TOP: f64 = 60.0;
    let [ex, ey, ez] = shape.extents().map(usize::from);
    let planes = if shape.nodes() <= PLANES_UP_TO { ez } else { 1 };
    let cell = (240.0 / ex.max(ey) as f64).clamp(3.0, 24.0);
    let panel = (ex as f64 * cell + 16.0, ey as f64 * cell + 34.0);
    let across = ((900.0 / panel.0) as usize).clamp(1, planes);
    let map_top = TOP + CHART.1 + 90.0;
    let width = (across as f64 * panel.0 + 2.0 * 20.0).max(LEFT + CHART.0 + 40.0);
    let height = map_top + planes.div_ceil(across) as f64 * panel.1 + 60.0;
    let mut s = String::new();
    let _ = writeln!(
        s,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    for (line, text) in heading.lines().enumerate() {
        let _ = writeln!(s, "<text x=\"20\" y=\"{}\">{text}</text>", 20 + 16 * line);
    }

    // Latencies on a logarithmic scale: they grow without bound near saturation.
    let most_load = points.iter().fold(1.0f64, |m, p| m.max(p.load));
    let greatest = points
        .iter()
        .fold(10.0f64, |m, p| m.max(p.p99 as f64).max(p.mean));
    let decades = greatest.log10().ceil();
    let x = |load: f64| LEFT + CHART.0 * load / most_load;
    let y = |ticks: f64| TOP + CHART.1 * (1.0 - ticks.max(1.0).log10() / decades);
    for decade in 0..=decades as i32 {
        let (at, ticks) = (y(10f64.powi(decade)), 10u64.pow(decade as u32));
        let _ = writeln!(
            s,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{ticks}</text>",
            LEFT + CHART.0,
            LEFT - 6.0,
            at + 4.0
        );
    }
    for tenth in 0..=10 {
        let load = most_load * f64::from(tenth) / 10.0;
        let _ = writeln!(
            s,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{load:.2}</text>",
            x(load),
            TOP + CHART.1 + 18.0
        );
    }
    let _ = writeln!(
        s,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">offered load, as a fraction of the limit</text>\
         <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">latency in ticks</text>",
        CHART.0,
        CHART.1,
        LEFT + CHART.0 / 2.0,
        TOP + CHART.1 + 38.0,
        TOP + CHART.1 / 2.0
    );
    let mut sorted: Vec<_> = points.iter().collect();
    sorted.sort_by(|a, b| a.load.total_cmp(&b.load));
    type Latency = fn(&Point) -> f64;
    let curves: [(&str, &str, Latency); 2] = [
        ("mean", "#1f5fa8", |p| p.mean),
        ("99 %", "#b8442c", |p| p.p99 as f64),
    ];
    for (line, (name, colour, value)) in curves.into_iter().enumerate() {
        let path: Vec<_> = sorted
            .iter()
            .map(|p| format!("{:.1},{:.1}", x(p.load), y(value(p))))
            .collect();
        let _ = writeln!(
            s,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            path.join(" "),
            LEFT + 10.0,
            TOP + 18.0 + 16.0 * line as f64
        );
        for point in &path {
            let (px, py) = point.split_once(',').unwrap_or_default();
            let _ = writeln!(
                s,
                "<circle cx=\"{px}\" cy=\"{py}\" r=\"3\" fill=\"{colour}\"/>"
            );
        }
    }

    let load = points.last().map_or(0.0, |p| p.load);
    let _ = writeln!(
        s,
        "<text x=\"20\" y=\"{:.1}\">use of the links at load {load}: per node three stripes, the busier of its two \
         outgoing X, Y and Z links; white 0, black 100 %{}</text>",
        map_top - 24.0,
        if planes < ez { "; mean over all z" } else { "" }
    );
    for plane in 0..planes {
        let left = 20.0 + (plane % across) as f64 * panel.0;
        let top = map_top + (plane / across) as f64 * panel.1;
        let name = if planes < ez {
            "all z".into()
        } else {
            format!("z = {plane}")
        };
        let _ = writeln!(
            s,
            "<text x=\"{left:.1}\" y=\"{:.1}\">{name}</text>",
            top + 4.0
        );
        let depth: Vec<usize> = if planes < ez {
            (0..ez).collect()
        } else {
            vec![plane]
        };
        for row in 0..ey {
            for column in 0..ex {
                for dim in 0..3 {
                    let use_at = |z: usize| {
                        let node = by_link[column + ex * (row + ey * z)];
                        let links = Direction::ALL.into_iter().filter(|d| d.dimension() == dim);
                        links.map(|d| node[d as usize]).fold(0.0, f64::max)
                    };
                    let mean = depth.iter().map(|&z| use_at(z)).sum::<f64>() / depth.len() as f64;
                    let _ = writeln!(
                        s,
                        "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\"/>",
                        left + column as f64 * cell + dim as f64 * cell * 0.3,
                        top + 10.0 + row as f64 * cell,
                        cell * 0.3,
                        cell * 0.9,
                        heat(mean)
                    );
                }
            }
        }
    }
    for step in 0..=10 {
        let value = f64::from(step) / 10.0;
        let _ = writeln!(
            s,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"24\" height=\"12\" fill=\"{}\" stroke=\"#888\"/>",
            20.0 + 24.0 * f64::from(step),
            height - 30.0,
            heat(value)
        );
    }
    s.push_str("</svg>\n");
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        options: SimArgs,
    }

    fn options(arguments: &str) -> Result<SimArgs, clap::Error> {
        let all = std::iter::once("sim").chain(arguments.split_whitespace());
        Command::try_parse_from(all).map(|command| command.options)
    }

    #[test]
    fn wrong_options_are_refused() {
        for wrong in [
            "--load 0",
            "--load -1",
            "--load nan",
            "--load 1,x",
            "--chunks 0",
            "--chunks 9",
            "--chunks 5-4",
            "--buffers 1",
            "--buffers 2048",
            "--ticks 0",
            "--hot 1.1",
            "--traffic nonsense",
            "--torus 0x1x1",
            "--check --load 1",
            "--check --packets 0",
            "--packets 5",
        ] {
            assert!(options(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_machine_without_traffic_is_refused_with_advice() {
        let stop = run(&options("--torus 1x1x1").unwrap()).unwrap_err();
        assert_eq!(stop.status, crate::host::stop::USAGE);
        let stop = run(&options("--torus 8x1x1 --traffic transpose").unwrap()).unwrap_err();
        assert!(stop.message.contains("transpose"), "{stop}");
    }

    #[test]
    fn files_hold_what_was_simulated() {
        let directory = std::env::temp_dir().join(format!("midplane-sim-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (csv, svg) = (directory.join("out.csv"), directory.join("out.svg"));
        let arguments = format!(
            "--torus 4x2x3 --mesh z --load 0.2,0.8 --ticks 500 --csv {} --svg {}",
            csv.display(),
            svg.display()
        );
        assert_eq!(run(&options(&arguments).unwrap()), Ok(0));
        let (csv, svg) = (std::fs::read_to_string(csv), std::fs::read_to_string(svg));
        std::fs::remove_dir_all(&directory).unwrap();
        let csv = csv.unwrap();
        let lines: Vec<Vec<_>> = csv.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        let accepted: f64 = lines[1][3].parse().unwrap();
        let offered: f64 = lines[1][2].parse().unwrap();
        assert!(
            (accepted / offered - 1.0).abs() < 0.2,
            "{accepted} of {offered}"
        );
        let svg = svg.unwrap();
        // Three stripes for each of 24 nodes, the legend, the chart's frame and the ground.
        assert_eq!(svg.matches("<rect").count(), 3 * 24 + 11 + 2);
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn an_unwritable_file_is_refused_before_the_simulation() {
        let arguments = "--torus 2x1x1 --ticks 10 --warmup 0 --csv /nonexistent/out.csv";
        let stop = run(&options(arguments).unwrap()).unwrap_err();
        assert_eq!(stop.status, crate::host::stop::USAGE);
        assert!(stop.message.contains("/nonexistent/out.csv"), "{stop}");
    }

    #[test]
    fn options_that_would_do_nothing_are_refused() {
        for (wrong, word) in [
            ("--hot 0.2", "--traffic hot-spot"),
            ("--hot 0.2 --traffic uniform", "--traffic hot-spot"),
            ("--csv a --svg a", "two results"),
        ] {
            let arguments = format!("--torus 2x1x1 --ticks 10 {wrong}");
            let stop = run(&options(&arguments).unwrap()).unwrap_err();
            assert_eq!(stop.status, crate::host::stop::USAGE, "{wrong}");
            assert!(stop.message.contains(word), "{stop}");
        }
        let hot = "--torus 2x1x1 --ticks 10 --traffic hot-spot --hot 0.2";
        assert_eq!(run(&options(hot).unwrap()), Ok(0));
    }
}
