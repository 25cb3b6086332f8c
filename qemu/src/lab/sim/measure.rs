//! Simulation of loads one by one: command line, table, CSV and drawing.

use crate::host::capacity;
use crate::host::error::CliError;
use crate::host::size;
use crate::lab::sim::check::{self, DeadlockCheck};
use crate::lab::sim::drawing::{self, LatencyCurve};
use crate::lab::sim::row::{SimRow, TABLE};
use crate::lab::sim::sweep::{self, SweepValues};
use crate::run::topology;
use crate::show::console::print_line;
use crate::show::file::ResultFile;
use crate::show::table;
use clap::{Args, ValueEnum};
use net_torus::sim::{HOT_FRACTION, LoadLimit, SimConfig, SimNetwork, TrafficPattern};
use net_torus::{BufferSizes, RoutingMode, Shape};
use std::path::PathBuf;
use std::time::Instant;

/// Maximum number of ticks: a packet's creation time is stored in 32 bits.
const MAX_TICKS: u64 = 1 << 31;
/// Maximum number of threads.
const MAX_THREADS: i64 = 1024;
/// Minimum number of routers per thread by default; with fewer, threads mostly wait for each other.
const MIN_ROUTERS: u32 = 128;
/// Maximum number of runs in one command.
const MAX_RUNS: usize = 10_000;

/// Options of `midplane sim`.
#[derive(Args, Debug)]
#[command(
    after_help = "A tick is the time in which a link transmits one chunk of 32 bytes: 183 ns at Blue Gene/L's 175 \
                  MB/s. A load is a fraction of the throughput limit of the wires.\n\nThe command simulates each \
                  combination of the specified values. Several values are separated by commas. FIRST:LAST:STEP \
                  specifies a range; the step of integers is optional.\n\nExamples: cargo midplane sim --torus 8x8x8 \
                  --traffic uniform --load 0.1:0.9:0.1,1.5 --svg out.svg\n          cargo midplane sim --traffic \
                  uniform,tornado --routing adaptive,deterministic --seed 1:5 --csv out.csv"
)]
pub struct SimArgs {
    /// Extents of the machine along X, Y and Z, each 1 to 256; several values, separated by commas
    #[arg(long, value_name = "XxYxZ", value_delimiter = ',', default_value = "8x8x8",
          value_parser = parse_extents, help_heading = "Machine")]
    torus: Vec<TorusExtents>,

    /// Dimensions without wrap-around links, for example z or xyz [default: none]
    #[arg(long, value_name = "DIMENSIONS", default_value = "", hide_default_value = true,
          value_parser = topology::parse_mesh,
          help_heading = "Machine")]
    mesh: MeshDimensions,

    /// Traffic pattern; several values, separated by commas
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "uniform",
        help_heading = "Traffic"
    )]
    traffic: Vec<TrafficOption>,

    /// Offered load as a fraction of the limit, above 0 and at most 100; several values and ranges
    #[arg(long, value_name = "LOAD", value_delimiter = ',', default_value = "0.9",
          value_parser = sweep::loads, help_heading = "Traffic")]
    load: Vec<SweepValues<f64>>,

    /// Seed of all random choices; several values and ranges. The same seed gives the same result
    #[arg(long, value_delimiter = ',', default_value = "1", value_parser = sweep::seeds, help_heading = "Traffic")]
    seed: Vec<SweepValues<u64>>,

    /// Routing algorithm; several values, separated by commas
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "adaptive",
        help_heading = "Machine"
    )]
    routing: Vec<RoutingOption>,

    /// Packet size in chunks of 32 bytes, 1 to 8, or a range such as 1-8
    #[arg(long, value_name = "CHUNKS", default_value = "8", value_parser = parse_chunks, help_heading = "Traffic")]
    chunks: (u8, u8),

    /// Buffer of each virtual channel of each link, in packets of 256 bytes, 2 to 2047; several values and ranges
    #[arg(long, value_name = "PACKETS", value_delimiter = ',', default_value = "4",
          value_parser = sweep::buffers, help_heading = "Machine")]
    buffers: Vec<SweepValues<u16>>,

    /// With --traffic hot-spot: fraction of the packets that are sent to the hot node [default: 0.1]
    #[arg(long, value_name = "FRACTION", value_parser = parse_fraction, help_heading = "Traffic")]
    hot: Option<f64>,

    /// Ticks before the measurement
    #[arg(long, value_name = "TICKS", default_value_t = 2000,
          value_parser = clap::value_parser!(u64).range(0..=MAX_TICKS), help_heading = "Limits")]
    warmup: u64,

    /// Ticks of the measurement
    #[arg(long, value_name = "TICKS", default_value_t = 4000,
          value_parser = clap::value_parser!(u64).range(1..=MAX_TICKS), help_heading = "Limits")]
    ticks: u64,

    /// Number of threads. The result does not depend on it [default: one for each processor, each with at least 128
    /// routers]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MAX_THREADS),
          help_heading = "Limits")]
    threads: Option<u32>,

    /// Write one line per run, with its parameters, to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,

    /// Draw latency as a function of load, and the link utilization of the last run, to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    check: DeadlockCheck,
}

impl SimArgs {
    /// Returns the traffic pattern.
    fn pattern(&self, pattern: TrafficOption) -> TrafficPattern {
        match pattern {
            TrafficOption::Uniform => TrafficPattern::Uniform,
            TrafficOption::Neighbour => TrafficPattern::Neighbour,
            TrafficOption::Complement => TrafficPattern::Complement,
            TrafficOption::Tornado => TrafficPattern::Tornado,
            TrafficOption::Transpose => TrafficPattern::Transpose,
            TrafficOption::AllToAll => TrafficPattern::AllToAll,
            TrafficOption::HotSpot => TrafficPattern::HotSpot(self.hot.unwrap_or(HOT_FRACTION)),
        }
    }

    /// Returns each combination of the parameters except loads.
    fn points(&self) -> Vec<SweepPoint> {
        let buffers = sweep::values(&self.buffers);
        let seeds = sweep::values(&self.seed);
        let mut points = Vec::new();
        for torus in &self.torus {
            for &traffic in &self.traffic {
                for &routing in &self.routing {
                    let driven = { buffers.iter() }.flat_map(|buffers| seeds.iter().map(move |seed| (*buffers, *seed)));
                    points.extend(driven.map(|(buffers, seed)| SweepPoint {
                        torus: torus.0,
                        traffic,
                        routing,
                        buffers,
                        seed,
                    }));
                }
            }
        }
        points
    }

    /// Returns the requested number of runs.
    fn runs(&self) -> usize {
        let [buffers, seeds, loads] = [
            sweep::values(&self.buffers).len(),
            sweep::values(&self.seed).len(),
            sweep::values(&self.load).len(),
        ];
        let machines = self.torus.len() * self.traffic.len() * self.routing.len();
        { [buffers, seeds, loads].into_iter() }.fold(machines, usize::saturating_mul)
    }
}

/// A machine and its parameters, one value of each.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SweepPoint {
    torus: [u16; 3],
    traffic: TrafficOption,
    routing: RoutingOption,
    buffers: u16,
    seed: u64,
}

/// Prevents clap from parsing the array as several values.
#[derive(Clone, Copy, Debug)]
struct TorusExtents([u16; 3]);

fn parse_extents(text: &str) -> Result<TorusExtents, String> {
    topology::parse_extents(text).map(TorusExtents)
}

/// Prevents clap from parsing the array as several values.
type MeshDimensions = [bool; 3];

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum TrafficOption {
    /// Each packet to a random other node
    Uniform,
    /// Packets to the six neighbours, round robin
    Neighbour,
    /// From (x, y, z) to (X-1-x, Y-1-y, Z-1-z)
    Complement,
    /// Slightly less than half way around in every dimension
    Tornado,
    /// Coordinates in reverse order
    Transpose,
    /// Each node to all others, in a separate random order for each node
    AllToAll,
    /// A fraction of all packets to one node, the others uniform
    HotSpot,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RoutingOption {
    /// Minimal adaptive routing on the dynamic channels; packets may be reordered
    Adaptive,
    /// Dimension-order routing on the bubble channel; in order
    Deterministic,
}

impl RoutingOption {
    fn name(self) -> &'static str {
        match self {
            RoutingOption::Adaptive => "adaptive",
            RoutingOption::Deterministic => "deterministic",
        }
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
        _ => Err("packets have 1 to 8 chunks; specify a number or a range such as 1-8".into()),
    }
}

/// A machine and its parameters, validated.
struct SimSetting<'a> {
    options: &'a SimArgs,
    point: SweepPoint,
    shape: Shape,
    traffic: TrafficPattern,
    limit: LoadLimit,
    sizes: BufferSizes,
}

impl<'a> SimSetting<'a> {
    /// Validates all requested settings.
    fn all_combinations(options: &'a SimArgs) -> Result<Vec<Self>, CliError> {
        let runs = options.runs();
        if runs > MAX_RUNS {
            return Err(CliError::usage(format!(
                "{runs} runs were requested; the maximum is {MAX_RUNS}; specify fewer values"
            )));
        }
        if options.hot.is_some() && !options.traffic.contains(&TrafficOption::HotSpot) {
            return Err(CliError::usage(
                "--hot does nothing without --traffic hot-spot; use both or none",
            ));
        }
        let points = options.points().into_iter();
        points.map(|point| Self::from_point(options, point)).collect()
    }

    fn from_point(options: &'a SimArgs, point: SweepPoint) -> Result<Self, CliError> {
        let shape = Shape::new(point.torus, options.mesh.map(|mesh| !mesh))
            .ok_or_else(|| CliError::usage("--torus: extents are 1 to 256"))?;
        let traffic = options.pattern(point.traffic);
        let limit = traffic.limit(&shape);
        if limit.load == 0.0 {
            return Err(CliError::usage(format!(
                "--traffic {}: no node of this machine sends packets to another node; use a larger --torus or another \
                 pattern",
                traffic.name()
            )));
        }
        let packets = point.buffers;
        let sizes = BufferSizes {
            dynamic: packets,
            normal: packets,
            priority: packets,
            ..BufferSizes::BLUE_GENE
        };
        let setting = Self {
            options,
            point,
            shape,
            traffic,
            limit,
            sizes,
        };
        let (bytes, available) = (setting.bytes(), capacity::memory_available());
        if bytes <= available {
            Ok(setting)
        } else {
            Err(CliError::usage(format!(
                "{} routers require {}, and {} are available; use a smaller --torus or smaller --buffers",
                shape.nodes(),
                size::approximate(bytes),
                size::approximate(available)
            )))
        }
    }

    /// Returns the parameters that have several values.
    fn name(&self) -> String {
        let SweepPoint {
            torus,
            traffic: _,
            routing,
            buffers,
            seed,
        } = self.point;
        let options = self.options;
        [
            (options.torus.len() > 1, extents(torus)),
            (options.traffic.len() > 1, self.traffic.name().into()),
            (options.routing.len() > 1, routing.name().into()),
            (sweep::values(&options.buffers).len() > 1, format!("buffers {buffers}")),
            (sweep::values(&options.seed).len() > 1, format!("seed {seed}")),
        ]
        .into_iter()
        .filter_map(|(is_named, name)| is_named.then_some(name))
        .collect::<Vec<String>>()
        .join(", ")
    }

    fn threads(&self) -> u32 {
        let processors = std::thread::available_parallelism().map_or(1, |number| number.get());
        let most = (self.shape.nodes() / MIN_ROUTERS).max(1);
        self.options
            .threads
            .unwrap_or(most.min(processors.min(MAX_THREADS as usize) as u32))
    }

    /// Returns the bytes of all routers and their packets.
    fn bytes(&self) -> u64 {
        SimNetwork::bytes(&self.config(1.0))
    }

    /// Returns the simulator's configuration for one load.
    fn config(&self, load: f64) -> SimConfig {
        SimConfig {
            shape: self.shape,
            sizes: self.sizes,
            routing: match self.point.routing {
                RoutingOption::Adaptive => RoutingMode::Adaptive,
                RoutingOption::Deterministic => RoutingMode::Deterministic,
            },
            traffic: self.traffic,
            load,
            chunks: self.options.chunks,
            seed: self.point.seed,
            priority: 0.0,
            packets: None,
        }
    }

    fn measure(&self, load: f64, memory: &mut [[u8; 32]]) -> Result<SimResult, CliError> {
        let config = self.config(load);
        let failed = |error| CliError::failure(format!("simulation at load {load}: {error}"));
        let mut network = SimNetwork::with_threads(config, memory, self.threads()).map_err(failed)?;
        network.run(self.options.warmup).map_err(failed)?;
        let before = network.totals().hops;
        network.clear();
        network.run(self.options.ticks).map_err(failed)?;
        let totals = network.totals();
        let delivered = totals.delivered.max(1) as f64;
        let [use_x, use_y, use_z] = network.dimension_use();
        Ok(SimResult {
            hops: before + totals.hops,
            by_link: network.link_use(),
            row: SimRow {
                torus: extents(self.point.torus),
                mesh: { "xyz".chars().zip(self.options.mesh) }
                    .filter_map(|(letter, is_mesh)| is_mesh.then_some(letter))
                    .collect(),
                traffic: self.traffic.name(),
                hot: match self.traffic {
                    TrafficPattern::HotSpot(fraction) => Some(fraction),
                    _ => None,
                },
                routing: self.point.routing.name(),
                min_chunks: self.options.chunks.0,
                max_chunks: self.options.chunks.1,
                buffers: self.point.buffers,
                seed: self.point.seed,
                warmup_ticks: self.options.warmup,
                ticks: self.options.ticks,
                load,
                limit_chunks_per_tick: self.limit.load,
                offered_chunks_per_tick: load * self.limit.load,
                accepted_chunks_per_tick: network.accepted(),
                latency_mean_ticks: network.latencies().mean(),
                latency_p99_ticks: network.latencies().percentile(0.99),
                hops_mean: totals.hops as f64 / delivered,
                escapes_per_packet: network.escapes() as f64 / delivered,
                use_x,
                use_y,
                use_z,
                filling: (totals.injected as f64 - totals.delivered as f64) / totals.injected.max(1) as f64,
            },
        })
    }
}

/// Result of one load.
struct SimResult {
    row: SimRow,
    /// Simulated packet-hops, including the warm-up.
    hops: u64,
    /// Utilization of each node's outgoing links, by direction, 0 to 1.
    by_link: Vec<[f64; 6]>,
}

/// Simulates, prints a table and writes the requested files; returns the exit status.
pub fn run(options: &SimArgs) -> Result<u8, CliError> {
    if options.check.check {
        let [seed] = sweep::values(&options.seed)[..] else {
            return Err(CliError::usage("--check supports only one --seed"));
        };
        return check::run(options.check.packets, seed);
    }
    let settings = SimSetting::all_combinations(options)?;
    // Before a possibly long simulation.
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let loads = sweep::values(&options.load);
    let mut curves = Vec::new();
    let mut by_link = Vec::new();
    let (mut hops, start) = (0, Instant::now());
    for setting in &settings {
        let mut memory = vec![[0; 32]; SimNetwork::chunks(&setting.config(1.0))];
        let heading = heading(setting);
        print_line(format_args!("{heading}\n{}", TABLE.heading().join("\n")))?;
        let mut rows = Vec::new();
        for &load in &loads {
            let measured = setting.measure(load, &mut memory)?;
            print_line(TABLE.row(&measured.row))?;
            hops += measured.hops;
            by_link = measured.by_link;
            rows.push(measured.row);
        }
        curves.push(LatencyCurve {
            name: setting.name(),
            rows,
        });
    }
    let rows = || curves.iter().flat_map(|curve| &curve.rows);
    print_line("99 %: 99th percentile of the latency; escapes: hops on the escape channel per packet")?;
    if !rows().all(SimRow::is_steady) {
        print_line("* not in steady state: queues grew or shrank during the measurement; use a longer\n  --warmup")?;
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    print_line(format_args!(
        "{:.1} million packet-hops in {seconds:.1} s: {:.2} million per second",
        hops as f64 / 1e6,
        hops as f64 / 1e6 / seconds
    ))?;
    if let Some(file) = csv_file {
        let rows: Vec<SimRow> = rows().cloned().collect();
        file.write(&table::csv(&rows)?)?;
    }
    if let (Some(file), Some(last)) = (svg_file, settings.last()) {
        let heading = match settings.len() {
            1 => heading(last),
            several => format!("{several} machines in parallel"),
        };
        file.write(&drawing::draw(&heading, &last.shape, &curves, &by_link)?)?;
    }
    Ok(0)
}

/// Formats extents as on the command line.
fn extents([x, y, z]: [u16; 3]) -> String {
    format!("{x}x{y}x{z}")
}

/// Describes the simulation in three lines.
fn heading(setting: &SimSetting<'_>) -> String {
    let SimSetting {
        options,
        point,
        shape,
        traffic,
        limit,
        ..
    } = setting;
    let [x, y, z] = shape.extents();
    let kind = match options.mesh {
        [false, false, false] => "torus",
        [true, true, true] => "mesh",
        _ => "torus and mesh",
    };
    let chunks = match options.chunks {
        (least, most) if least == most => format!("{least}"),
        (least, most) => format!("{least} to {most}"),
    };
    format!(
        "{kind} {x}x{y}x{z}, {} traffic, {} routing\n\
         packets of {chunks} chunks, seed {}; {} for {} routers\n\
         limit {:.4} chunks per node and tick, set by {}",
        traffic.name(),
        point.routing.name(),
        point.seed,
        size::approximate(setting.bytes()),
        shape.nodes(),
        limit.load,
        limit.bound.name(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: SimArgs,
    }

    fn options(arguments: &str) -> Result<SimArgs, clap::Error> {
        let all = std::iter::once("sim").chain(arguments.split_whitespace());
        CommandLine::try_parse_from(all).map(|command| command.options)
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
            "--threads 0",
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
        assert_eq!(stop.status, crate::host::error::USAGE);
        let stop = run(&options("--torus 8x1x1 --traffic transpose").unwrap()).unwrap_err();
        assert!(stop.message.contains("transpose"), "{stop}");
    }

    #[test]
    fn files_hold_what_was_simulated() {
        let directory = std::env::temp_dir().join(format!("midplane-sim-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (csv, svg) = (directory.join("out.csv"), directory.join("out.svg"));
        let arguments = format!(
            "--torus 4x2x3 --mesh z --load 0.2,0.8 --ticks 500 --threads 2 --csv {} --svg {}",
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
        let value = |name: &str| -> f64 {
            let column = lines[0].iter().position(|heading| *heading == name);
            lines[1][column.unwrap()].parse().unwrap()
        };
        let accepted = value("accepted_chunks_per_tick");
        let offered = value("offered_chunks_per_tick");
        assert!((accepted / offered - 1.0).abs() < 0.2, "{accepted} of {offered}");
        let svg = svg.unwrap();
        // Three stripes for each of 24 nodes, plus those of the scale and the background.
        assert!(svg.matches("<rect").count() > 3 * 24);
        assert!(svg.contains("latency in ticks") && svg.contains("z = 2"));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn every_combination_is_simulated_and_named() {
        let arguments = "--torus 2x1x1,2x2x1 --traffic uniform,neighbour --routing adaptive,deterministic \
                         --buffers 2:4:2 --seed 1:3,7 --load 0.1:0.3:0.1,0.9 --ticks 10";
        let options = options(arguments).unwrap();
        assert_eq!(options.runs(), 2 * 2 * 2 * 2 * 4 * 4);
        assert_eq!(sweep::values(&options.load), [0.1, 0.2, 0.3, 0.9]);
        let settings = SimSetting::all_combinations(&options).unwrap();
        assert_eq!(settings.len(), 64);
        let names: std::collections::BTreeSet<String> = settings.iter().map(SimSetting::name).collect();
        assert_eq!(names.len(), 64);
        assert!(
            names.contains("2x2x1, neighbour, deterministic, buffers 4, seed 7"),
            "{names:?}"
        );
        let row = settings[63].measure(0.5, &mut vec![[0; 32]; SimNetwork::chunks(&settings[63].config(1.0))]);
        let row = row.unwrap().row;
        assert_eq!(
            (row.torus.as_str(), row.traffic, row.buffers, row.seed),
            ("2x2x1", "neighbour", 4, 7)
        );
    }

    #[test]
    fn too_many_runs_are_refused() {
        let stop = run(&options("--seed 1:10001").unwrap()).unwrap_err();
        assert_eq!(stop.status, crate::host::error::USAGE);
        assert!(stop.message.starts_with("10001 runs"), "{stop}");
        assert!(options("--seed 1:18446744073709551615").is_err());
    }

    #[test]
    fn an_unwritable_file_is_refused_before_the_simulation() {
        let arguments = "--torus 2x1x1 --ticks 10 --warmup 0 --csv /nonexistent/out.csv";
        let stop = run(&options(arguments).unwrap()).unwrap_err();
        assert_eq!(stop.status, crate::host::error::USAGE);
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
            assert_eq!(stop.status, crate::host::error::USAGE, "{wrong}");
            assert!(stop.message.contains(word), "{stop}");
        }
        let hot = "--torus 2x1x1 --ticks 10 --traffic hot-spot --hot 0.2";
        assert_eq!(run(&options(hot).unwrap()), Ok(0));
    }
}
