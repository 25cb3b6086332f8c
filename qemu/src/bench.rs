//! `midplane bench`: measurements of the memory protocol, with what they cost stated.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use midplane_tests::exchange::{self, Kind};
use midplane_tests::flood::Flood;
use midplane_tests::timed::{Costs, Killer, Measured};
use mpi_adi::LEAST_MPI_MEMORY;
use mpi_adi::region::BLOCK_BYTES;
use rustix::process::{Signal, kill_process_group};
use serde_json::Value;
use std::os::unix::process::CommandExt;

use crate::signals::Signals;
use crate::stop::{Doing, Stop};
use crate::sys;

/// What to measure.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// The killer benchmark of "Scaling MPI to short-memory MPPs such as BG/L", section 5.1: what scarce
    /// memory costs
    ///
    /// Every rank but 0 sends N messages by MPI_Isend, rank 0 receives them one by one in the reverse order
    /// of their tags. Over the paper's mesh: 1, 10 and 100 KiB, 3 and 5 messages, 16 to 128 nodes, in the
    /// simulated machine; and, on 8 and 16 nodes, in QEMU.
    Killer(KillerArgs),
    /// Every rank but 0 sends many short messages, rank 0 receives them in the reverse order of their tags:
    /// what the device does for each, counted
    Flood(FloodArgs),
    /// Instructions that a message of 8 bytes takes whose receive is posted, with the protocol and with it
    /// left out
    ///
    /// Counted by valgrind's callgrind, both sides together, for this host's processor.
    Message,
    /// What `message` counts
    #[command(hide = true)]
    MessageLoop(LoopArgs),
}

/// Options of `midplane bench message-loop`.
#[derive(Args, Debug)]
pub struct LoopArgs {
    /// With the protocol left out
    #[arg(long)]
    bare: bool,

    /// Messages
    #[arg(long)]
    messages: u32,

    /// Messages under way at once
    #[arg(long)]
    batch: u32,
}

/// Options of `midplane bench killer`.
#[derive(Args, Debug)]
pub struct KillerArgs {
    /// Leave out the part in QEMU
    #[arg(long)]
    no_qemu: bool,

    /// Runs in QEMU of each setting; the medians count
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,

    /// Write a line per setting to this file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draw the overheads to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Options of `midplane bench flood`.
#[derive(Args, Debug)]
pub struct FloodArgs {
    /// Senders
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4095))]
    senders: u32,

    /// Messages of each sender
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    messages: u32,

    /// Bytes of each message
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=65536))]
    bytes: u32,

    /// MPI memory of the receiver
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = crate::size::parse)]
    mpi_memory: u64,
}

/// The paper's mesh.
const SIZES: [usize; 3] = [1 << 10, 10 << 10, 100 << 10];
const COUNTS: [u32; 2] = [3, 5];
const MACHINES: [[u16; 3]; 4] = [[4, 2, 2], [4, 4, 2], [4, 4, 4], [8, 4, 4]];
/// Machines in QEMU, and the sizes that are sent there.
const EMULATED: [[u16; 3]; 2] = [[2, 2, 2], [4, 2, 2]];
const EMULATED_SIZES: [usize; 2] = [1 << 10, 10 << 10];
const EMULATED_COUNT: u32 = 5;
/// Seconds after which a job in QEMU is given up.
const PATIENCE: &str = "120";

/// An amount of MPI memory and its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Amount {
    name: &'static str,
    bytes: usize,
}

/// The scarce amounts: the least with which a job can be run here and 1.2 times that, rounded up to whole
/// records; and the two with which the paper's job had to get by.
const SCARCE: [Amount; 4] = [
    Amount {
        name: "least",
        bytes: LEAST_MPI_MEMORY,
    },
    Amount {
        name: "1.2 x least",
        bytes: (LEAST_MPI_MEMORY * 6).div_ceil(5 * BLOCK_BYTES) * BLOCK_BYTES,
    },
    Amount {
        name: "250 KB",
        bytes: 250_000,
    },
    Amount {
        name: "300 KB",
        bytes: 300_000,
    },
];

/// Room for everything.
fn ample(messages: u32, nodes: u32, bytes: usize) -> usize {
    (messages * nodes) as usize * (bytes + 2 * BLOCK_BYTES)
}

/// One setting's result.
struct Point {
    place: &'static str,
    nodes: u32,
    messages: u32,
    bytes: usize,
    memory: Amount,
    /// Of virtual time in the simulated machine, of the host's in QEMU.
    ns: f64,
    overhead: f64,
    ncts: f64,
    restarts: f64,
}

/// Measures; the exit status.
pub fn run(bench: &Bench) -> Result<u8, Stop> {
    match bench {
        Bench::Killer(options) => killer(options),
        Bench::Flood(options) => flood(options),
        Bench::Message => message(),
        Bench::MessageLoop(options) => {
            let kind = match options.bare {
                true => Kind::Bare,
                false => Kind::Protocol,
            };
            match exchange::run(kind, options.messages, options.batch) {
                true => Ok(0),
                false => Err(Stop::failure("a message did not arrive")),
            }
        }
    }
}

fn say(line: impl std::fmt::Display) {
    // A reader who goes away ends the output, not the measurement's files.
    let _ = writeln!(io::stdout(), "{line}");
}

fn flood(options: &FloodArgs) -> Result<u8, Stop> {
    let start = Instant::now();
    let flood = Flood {
        senders: options.senders,
        messages: options.messages,
        bytes: options.bytes as usize,
        mpi_memory: usize::try_from(options.mpi_memory)
            .map_err(|_| Stop::usage("--mpi-memory: more than this host can address"))?,
    };
    let work = flood.run().map_err(|e| Stop::failure(e.to_string()))?;
    let each = |count: u64| count as f64 / work.messages as f64;
    say(format_args!(
        "{} messages of {} bytes from {} senders, received in the reverse order of their tags with {} of \
         MPI memory\nfor each message: {:.3} packets, {:.3} RTS, {:.3} NCTS, {:.3} restart, {:.3} queue \
         entries looked at\nat most {} bytes of MPI memory used; {:.1} s",
        work.messages,
        options.bytes,
        options.senders,
        crate::size::exact(options.mpi_memory),
        each(work.packets),
        each(work.rts),
        each(work.ncts),
        each(work.restarts),
        each(work.searched),
        work.peak_bytes,
        start.elapsed().as_secs_f64()
    ));
    Ok(0)
}

/// Messages of the shorter and of the longer run, whose difference is counted.
const MESSAGES: [u32; 2] = [1600, 4800];
/// Messages under way at once.
const BATCHES: [u32; 3] = [1, 4, 16];

fn message() -> Result<u8, Stop> {
    if crate::setup::in_path("valgrind").is_none() {
        return Err(Stop::usage(
            "bench message: valgrind is not installed; it counts the instructions",
        ));
    }
    say("instructions for a message of 8 bytes, receive posted, sender and receiver together");
    say("at once  with the protocol  without  ratio");
    for batch in BATCHES {
        let [with, without] = [false, true].map(|bare| -> Result<f64, Stop> {
            let [few, many] = MESSAGES.map(|messages| instructions(bare, messages, batch));
            Ok((many? - few?) as f64 / f64::from(MESSAGES[1] - MESSAGES[0]))
        });
        let (with, without) = (with?, without?);
        say(format_args!(
            "{batch:>7} {with:>18.1} {without:>8.1} {:>6.3}",
            with / without
        ));
    }
    Ok(0)
}

/// Instructions of a whole run, by callgrind.
fn instructions(bare: bool, messages: u32, batch: u32) -> Result<u64, Stop> {
    let exe = std::env::current_exe().doing("find this command")?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .args(["bench", "message-loop"])
        .args(["--messages", &messages.to_string()])
        .args(["--batch", &batch.to_string()])
        .args(bare.then_some("--bare"))
        .stdin(Stdio::null());
    sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
    let output = command.output().doing("run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| {
        let (_, number) = line.split_once("Collected :")?;
        number.trim().parse().ok()
    });
    collected
        .filter(|_| output.status.success())
        .ok_or_else(|| Stop::failure(format!("valgrind did not count:\n{said}")))
}

fn killer(options: &KillerArgs) -> Result<u8, Stop> {
    let signals = Signals::catch()?;
    let costs = Costs::BLUE_GENE;
    say(format_args!(
        "simulated machine: links of {:.0} MB/s, {} ns a hop, {} ns a packet at a processor, {} ns an MPI \
         call, {} ns an entry of a queue looked at, {} ns a byte copied out of MPI memory",
        1e3 / costs.link_ns_per_byte,
        costs.hop_ns,
        costs.packet_ns,
        costs.call_ns,
        costs.search_ns,
        costs.copy_ns_per_byte
    ));
    say(format_args!(
        "least: {LEAST_MPI_MEMORY} bytes of MPI memory, one record, with which every job runs; 250 and 300 KB: \
         the paper's; overhead: time over that with room for everything"
    ));
    say(COLUMNS);
    let mut points = Vec::new();
    for extents in MACHINES {
        for messages in COUNTS {
            for bytes in SIZES {
                simulate(extents, messages, bytes, costs, &mut points)?;
                if let Some(stop) = signals.pending() {
                    return Err(stop);
                }
            }
        }
    }
    sum_up("simulated machine", &points);
    if !options.no_qemu {
        let simulated = points.len();
        emulate(options.runs, &signals, &mut points)?;
        sum_up("QEMU", &points[simulated..]);
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, csv(&points)).doing(format!("write {}", path.display()))?;
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, svg(&points)).doing(format!("write {}", path.display()))?;
    }
    Ok(0)
}

const COLUMNS: &str = "where      nodes  messages   bytes  MPI memory      time (us)  overhead  \
                       NCTS/message  restart/message";

fn tell(point: Point, points: &mut Vec<Point>) {
    say(format_args!(
        "{:<9} {:>6} {:>9} {:>7}  {:<11} {:>13.1}  {:>8.3}  {:>12.2}  {:>17.2}",
        point.place,
        point.nodes,
        point.messages,
        point.bytes,
        point.memory.name,
        point.ns / 1e3,
        point.overhead,
        point.ncts,
        point.restarts
    ));
    points.push(point);
}

fn simulate(
    extents: [u16; 3],
    messages: u32,
    bytes: usize,
    costs: Costs,
    points: &mut Vec<Point>,
) -> Result<(), Stop> {
    let nodes = extents.iter().map(|&e| u32::from(e)).product::<u32>();
    let run = |mpi_memory| -> Result<Measured, Stop> {
        let killer = Killer {
            extents,
            messages,
            bytes,
            mpi_memory,
            costs,
        };
        killer
            .run()
            .map_err(|e| Stop::failure(format!("killer on {nodes} simulated nodes: {e}")))
    };
    let plenty = Amount {
        name: "ample",
        bytes: ample(messages, nodes, bytes),
    };
    let base = run(plenty.bytes)?;
    for memory in std::iter::once(plenty).chain(SCARCE) {
        let measured = match memory == plenty {
            true => base,
            false => run(memory.bytes)?,
        };
        let received = f64::from((nodes - 1) * messages);
        let point = Point {
            place: "simulated",
            nodes,
            messages,
            bytes,
            memory,
            ns: measured.ns as f64,
            overhead: measured.ns as f64 / base.ns as f64,
            ncts: measured.ncts as f64 / received,
            restarts: measured.restarts as f64 / received,
        };
        tell(point, points);
    }
    Ok(())
}

/// Prints the median and the worst overhead of what ran with scarce memory.
fn sum_up(place: &str, points: &[Point]) {
    let scarce = points.iter().filter(|p| p.memory.name != "ample");
    let mut overheads: Vec<f64> = scarce.map(|p| p.overhead).collect();
    overheads.sort_by(f64::total_cmp);
    let Some(worst) = overheads.last() else {
        return;
    };
    say(format_args!(
        "{place}: overhead of scarce memory in {} settings: median {:.3}, worst {worst:.3}",
        overheads.len(),
        median(&overheads)
    ));
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted {
        [] => f64::NAN,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// What one job in QEMU took and counted.
struct Run {
    ns: f64,
    ncts: f64,
    restarts: f64,
}

fn emulate(runs: u32, signals: &Signals, points: &mut Vec<Point>) -> Result<(), Stop> {
    if !crate::setup::has_qemu() {
        say("no part in QEMU: it is not installed (`cargo midplane doctor` says what is missing)");
        return Ok(());
    }
    let report = crate::target().join(format!("bench-report-{}.json", std::process::id()));
    let done = emulate_all(runs, &report, signals, points);
    let _ = std::fs::remove_file(&report);
    done
}

fn emulate_all(
    runs: u32,
    report: &Path,
    signals: &Signals,
    points: &mut Vec<Point>,
) -> Result<(), Stop> {
    for extents in EMULATED {
        let nodes = extents.iter().map(|&e| u32::from(e)).product::<u32>();
        for bytes in EMULATED_SIZES {
            let plenty = Amount {
                name: "ample",
                bytes: ample(EMULATED_COUNT, nodes, bytes),
            };
            let amounts = [plenty, SCARCE[0], SCARCE[1]];
            let mut taken: [Vec<Run>; 3] = Default::default();
            // In turn, so that what else the host does weighs on all alike.
            for _ in 0..runs {
                for (amount, taken) in amounts.iter().zip(&mut taken) {
                    taken.push(boot(extents, bytes, amount.bytes, report, signals)?);
                }
            }
            let received = f64::from((nodes - 1) * EMULATED_COUNT);
            let middle = |runs: &[Run], of: fn(&Run) -> f64| {
                let mut values: Vec<f64> = runs.iter().map(of).collect();
                values.sort_by(f64::total_cmp);
                median(&values)
            };
            let base = middle(&taken[0], |run| run.ns);
            for (memory, runs) in amounts.into_iter().zip(&taken) {
                let ns = middle(runs, |run| run.ns);
                let point = Point {
                    place: "QEMU",
                    nodes,
                    messages: EMULATED_COUNT,
                    bytes,
                    memory,
                    ns,
                    overhead: ns / base,
                    ncts: middle(runs, |run| run.ncts) / received,
                    restarts: middle(runs, |run| run.restarts) / received,
                };
                tell(point, points);
            }
        }
    }
    Ok(())
}

/// Runs `tests/programs/killer.c` by `midplane run` and reads its report.
fn boot(
    extents: [u16; 3],
    bytes: usize,
    mpi_memory: usize,
    report: &Path,
    signals: &Signals,
) -> Result<Run, Stop> {
    let [x, y, z] = extents;
    let exe = std::env::current_exe().doing("find this command")?;
    let mut command = Command::new(exe);
    command
        .args(["run", "--quiet", "--timeout", PATIENCE])
        .args(["--torus", &format!("{x}x{y}x{z}")])
        .args(["--mpi-memory", &mpi_memory.to_string()])
        .arg("--report")
        .arg(report)
        .arg(crate::root().join("tests/programs/killer.c"))
        .args(["--", &EMULATED_COUNT.to_string(), &bytes.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
    let child = command.spawn().doing("start `midplane run`")?;
    let group = sys::pid_of(&child);
    let output = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| child.wait_with_output());
        while !waiter.is_finished() {
            if let Some(stop) = signals.pending() {
                let _ = kill_process_group(group, Signal::TERM);
                let _ = waiter.join();
                return Err(stop);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        match waiter.join() {
            Ok(output) => output.doing("wait for `midplane run`"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = |why: &str| {
        let errors = String::from_utf8_lossy(&output.stderr);
        Stop::failure(format!("the killer in QEMU {why}:\n{said}{errors}"))
    };
    if !output.status.success() {
        return Err(failed("failed"));
    }
    let seconds = said
        .split(" bytes from each, ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|number| number.parse::<f64>().ok())
        .ok_or_else(|| failed("did not say how long it took"))?;
    let text = std::fs::read_to_string(report).doing("read the job's report")?;
    let report: Value = serde_json::from_str(&text).doing("read the job's report")?;
    let count = |name: &str| report["ranks"][0][name].as_f64().unwrap_or(f64::NAN);
    Ok(Run {
        ns: seconds * 1e9,
        ncts: count("ncts"),
        restarts: count("resend_all"),
    })
}

fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "where,nodes,messages,bytes,memory,memory_bytes,time_us,overhead,ncts_per_message,\
         resend_all_per_message\n",
    );
    for p in points {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{:.3},{:.4},{:.4},{:.4}",
            p.place,
            p.nodes,
            p.messages,
            p.bytes,
            p.memory.name,
            p.memory.bytes,
            p.ns / 1e3,
            p.overhead,
            p.ncts,
            p.restarts
        );
    }
    text
}

/// Overhead by number of nodes (logarithmic): a colour for each size, a shape for each amount of memory.
fn svg(points: &[Point]) -> String {
    const CHART: (f64, f64) = (640.0, 360.0);
    const LEFT: f64 = 60.0;
    const TOP: f64 = 50.0;
    const COLOURS: [&str; 3] = ["#1f5fa8", "#2c8f4e", "#b8442c"];
    let scarce: Vec<&Point> = points.iter().filter(|p| p.memory.name != "ample").collect();
    let top = scarce.iter().fold(2.0f64, |m, p| m.max(p.overhead));
    // 8 to 128 nodes.
    let x = |nodes: u32| LEFT + CHART.0 * (f64::from(nodes).log2() - 2.5) / 5.0;
    let y = |overhead: f64| TOP + CHART.1 * (1.0 - (overhead - 0.8) / (top - 0.8));
    let (width, height) = (LEFT + CHART.0 + 190.0, TOP + CHART.1 + 60.0);
    let mut s = String::new();
    let _ = writeln!(
        s,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"22\">Killer benchmark: time with scarce MPI memory over time with ample memory</text>"
    );
    let mut mark = 0.8;
    while mark <= top {
        let at = y(mark);
        let _ = writeln!(
            s,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mark:.1}</text>",
            LEFT + CHART.0,
            if (mark - 1.0).abs() < 0.05 {
                "#444"
            } else {
                "#ddd"
            },
            LEFT - 6.0,
            at + 4.0
        );
        mark += 0.2;
    }
    for nodes in [8, 16, 32, 64, 128] {
        let _ = writeln!(
            s,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{nodes}</text>",
            x(nodes),
            TOP + CHART.1 + 18.0
        );
    }
    let _ = writeln!(
        s,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">nodes (open: simulated, filled: QEMU)</text>",
        CHART.0,
        CHART.1,
        LEFT + CHART.0 / 2.0,
        TOP + CHART.1 + 40.0
    );
    let colour = |bytes: usize| {
        let at = SIZES.iter().position(|&size| size == bytes).unwrap_or(0);
        (at, COLOURS[at])
    };
    let shape = |name: &str| SCARCE.iter().position(|a| a.name == name).unwrap_or(0);
    for p in &scarce {
        let (at, colour) = colour(p.bytes);
        let kind = shape(p.memory.name);
        // Beside one another: what would lie on one line.
        let shift = 7.0 * (kind as f64 - 1.5)
            + 30.0 * (at as f64 - 1.0)
            + if p.messages == COUNTS[0] { -2.0 } else { 2.0 };
        let fill = if p.place == "QEMU" { colour } else { "none" };
        s.push_str(&marker(
            kind,
            x(p.nodes) + shift,
            y(p.overhead),
            colour,
            fill,
        ));
    }
    for (at, &bytes) in SIZES.iter().enumerate() {
        let _ = writeln!(
            s,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\">{} KiB</text>",
            LEFT + CHART.0 + 34.0,
            TOP + 20.0 + 18.0 * at as f64,
            COLOURS[at],
            bytes >> 10
        );
    }
    for (kind, amount) in SCARCE.iter().enumerate() {
        let at = TOP + 90.0 + 18.0 * kind as f64;
        s.push_str(&marker(
            kind,
            LEFT + CHART.0 + 22.0,
            at - 4.0,
            "#333",
            "none",
        ));
        let _ = writeln!(
            s,
            "<text x=\"{:.1}\" y=\"{at:.1}\">{}</text>",
            LEFT + CHART.0 + 34.0,
            amount.name
        );
    }
    s.push_str("</svg>\n");
    s
}

fn marker(kind: usize, x: f64, y: f64, colour: &str, fill: &str) -> String {
    let style = format!("fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.5\"");
    match kind {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" {style}/>\n"),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\" {style}/>\n",
            x - 3.5,
            y - 3.5
        ),
        2 => format!(
            "<polygon points=\"{x:.1},{:.1} {:.1},{:.1} {:.1},{:.1}\" {style}/>\n",
            y - 4.5,
            x + 4.5,
            y + 3.5,
            x - 4.5,
            y + 3.5
        ),
        _ => format!(
            "<polygon points=\"{x:.1},{:.1} {:.1},{y:.1} {x:.1},{:.1} {:.1},{y:.1}\" {style}/>\n",
            y - 5.0,
            x + 5.0,
            y + 5.0,
            x - 5.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }

    #[test]
    fn scarce_amounts_are_whole_records() {
        assert_eq!(SCARCE[0].bytes, BLOCK_BYTES);
        assert_eq!(SCARCE[1].bytes, 2 * BLOCK_BYTES);
    }

    /// The least setting of the mesh, and what is written of it.
    #[test]
    fn a_setting_is_measured_told_and_drawn() {
        let mut points = Vec::new();
        let costs = Costs::BLUE_GENE;
        simulate([4, 2, 2], 3, 1 << 10, costs, &mut points).expect("a run");
        assert_eq!(points.len(), 1 + SCARCE.len());
        assert_eq!(points[0].overhead, 1.0);
        assert_eq!((points[0].ncts, points[0].restarts), (0.0, 0.0));
        for point in &points[1..=2] {
            assert!(point.overhead < 1.6 && point.restarts > 0.0);
        }
        assert_eq!(csv(&points).lines().count(), 1 + points.len());
        let drawing = svg(&points);
        assert!(drawing.ends_with("</svg>\n") && drawing.contains("<polygon"));
    }
}
