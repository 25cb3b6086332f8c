//! Loads, one by one: from the command line to the table, CSV and the drawing.

use crate::host::capacity;
use crate::host::size;
use crate::host::stop::Stop;
use crate::lab::sim::check::{self, Check};
use crate::lab::sim::drawing;
use crate::lab::sim::row::{Row, TABLE};
use crate::run::topology;
use crate::show::file::ResultFile;
use crate::show::say::say;
use crate::show::table;
use clap::{Args, ValueEnum};
use net_torus::sim::{Config, HOT_FRACTION, Limit, Network, Traffic};
use net_torus::{Routing, Shape, Sizes};
use std::path::PathBuf;
use std::time::Instant;

/// Ticks that may be asked for: a packet's birth is stored in 32 bits.
const MOST_TICKS: u64 = 1 << 31;
/// Threads that may be asked for.
const MOST_THREADS: i64 = 1024;
/// Routers that a thread has at least if none are asked for: with fewer, threads wait for one another most of the time.
const LEAST_ROUTERS: u32 = 128;
/// Loads in one command.
const MOST_LOADS: usize = 100;

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

    /// Threads that simulate; the numbers are the same however many [default: one for each processor, of 128 routers
    /// at least]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS))]
    threads: Option<u32>,

    /// Write a line per load to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw latency against load, and the use of the links at the last load, to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    check: Check,
}

impl SimArgs {
    /// Who sends to whom.
    fn pattern(&self) -> Traffic {
        match self.traffic {
            Pattern::Uniform => Traffic::Uniform,
            Pattern::Neighbour => Traffic::Neighbour,
            Pattern::Complement => Traffic::Complement,
            Pattern::Tornado => Traffic::Tornado,
            Pattern::Transpose => Traffic::Transpose,
            Pattern::AllToAll => Traffic::AllToAll,
            Pattern::HotSpot => Traffic::HotSpot(self.hot.unwrap_or(HOT_FRACTION)),
        }
    }
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

/// A machine and how it is driven, checked.
struct Setting<'a> {
    options: &'a SimArgs,
    shape: Shape,
    traffic: Traffic,
    limit: Limit,
    sizes: Sizes,
}

impl<'a> Setting<'a> {
    /// Checks what was asked for.
    fn of(options: &'a SimArgs) -> Result<Self, Stop> {
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
        let traffic = options.pattern();
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
        let setting = Self {
            options,
            shape,
            traffic,
            limit,
            sizes,
        };
        let (bytes, available) = (setting.bytes(), capacity::memory_available());
        match bytes <= available {
            true => Ok(setting),
            false => Err(Stop::usage(format!(
                "{} routers need {}, and {} are available; take a smaller --torus or smaller --buffers",
                shape.nodes(),
                size::about(bytes),
                size::about(available)
            ))),
        }
    }

    fn threads(&self) -> u32 {
        let processors = std::thread::available_parallelism().map_or(1, |number| number.get());
        let most = (self.shape.nodes() / LEAST_ROUTERS).max(1);
        self.options
            .threads
            .unwrap_or(most.min(processors.min(MOST_THREADS as usize) as u32))
    }

    /// Bytes of all routers and of what they hold of packets.
    fn bytes(&self) -> u64 {
        Network::bytes(&self.config(1.0))
    }

    /// What is simulated at one load.
    fn config(&self, load: f64) -> Config {
        Config {
            shape: self.shape,
            sizes: self.sizes,
            routing: match self.options.routing {
                Way::Adaptive => Routing::Adaptive,
                Way::Deterministic => Routing::Deterministic,
            },
            traffic: self.traffic,
            load,
            chunks: self.options.chunks,
            seed: self.options.seed,
            priority: 0.0,
            packets: None,
        }
    }

    /// Simulates one load.
    fn measure(&self, load: f64, memory: &mut [[u8; 32]]) -> Result<Measured, Stop> {
        let config = self.config(load);
        let failed = |error| Stop::failure(format!("simulation at load {load}: {error}"));
        let mut network = Network::with_threads(config, memory, self.threads()).map_err(failed)?;
        network.run(self.options.warmup).map_err(failed)?;
        let before = network.totals().hops;
        network.clear();
        network.run(self.options.ticks).map_err(failed)?;
        let totals = network.totals();
        let delivered = totals.delivered.max(1) as f64;
        let [use_x, use_y, use_z] = network.dimension_use();
        Ok(Measured {
            hops: before + totals.hops,
            by_link: network.link_use(),
            row: Row {
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
                filling: (totals.injected as f64 - totals.delivered as f64)
                    / totals.injected.max(1) as f64,
            },
        })
    }
}

/// What one load gave.
struct Measured {
    row: Row,
    /// Packet-hops simulated, those of the warm-up included.
    hops: u64,
    /// Part of the time in which each node's outgoing links were in use, by direction.
    by_link: Vec<[f64; 6]>,
}

/// Simulates, prints a table, writes the files asked for; the exit status.
pub fn run(options: &SimArgs) -> Result<u8, Stop> {
    if options.check.check {
        return check::run(options.check.packets, options.seed);
    }
    let setting = Setting::of(options)?;
    // Before the simulation, which may take long.
    let (csv_file, svg_file) = ResultFile::open_both(options.csv.as_ref(), options.svg.as_ref())?;
    let mut memory = vec![[0; 32]; Network::chunks(&setting.config(1.0))];
    let heading = heading(&setting);
    say(format_args!("{heading}\n{}", TABLE.heading().join("\n")))?;
    let mut rows = Vec::new();
    let mut by_link = Vec::new();
    let (mut hops, start) = (0, Instant::now());
    for &load in &options.load {
        let measured = setting.measure(load, &mut memory)?;
        say(TABLE.row(&measured.row))?;
        hops += measured.hops;
        by_link = measured.by_link;
        rows.push(measured.row);
    }
    if !rows.iter().all(Row::is_steady) {
        say(
            "* not steady: the machine filled up or emptied while measuring; take a longer\n  --warmup",
        )?;
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    say(format_args!(
        "{:.1} million packet-hops in {seconds:.1} s: {:.2} million per second",
        hops as f64 / 1e6,
        hops as f64 / 1e6 / seconds
    ))?;
    if let Some(file) = csv_file {
        file.write(&table::csv(&rows)?)?;
    }
    if let Some(file) = svg_file {
        file.write(&drawing::draw(&heading, &setting.shape, &rows, &by_link)?)?;
    }
    Ok(0)
}

/// What is simulated, in three lines.
fn heading(setting: &Setting<'_>) -> String {
    let Setting {
        options,
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
        match options.routing {
            Way::Adaptive => "adaptive",
            Way::Deterministic => "deterministic",
        },
        options.seed,
        size::about(setting.bytes()),
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
        let accepted: f64 = lines[1][3].parse().unwrap();
        let offered: f64 = lines[1][2].parse().unwrap();
        assert!(
            (accepted / offered - 1.0).abs() < 0.2,
            "{accepted} of {offered}"
        );
        let svg = svg.unwrap();
        // Three stripes for each of 24 nodes, and more for the scale and the ground.
        assert!(svg.matches("<rect").count() > 3 * 24);
        assert!(svg.contains("latency in ticks") && svg.contains("z = 2"));
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
