//! Check for deadlock: every small machine, with the smallest buffers, above its load limit.

use crate::host::error::CliError;
use crate::show::console::print_line;
use clap::Args;
use net_torus::sim::TrafficPattern;
use net_torus::sim::matrix::{self, ChannelSet, MatrixCase};
use std::sync::Mutex;
use std::time::Instant;

/// Checks for deadlock instead of measuring.
#[derive(Args, Debug)]
pub struct DeadlockCheck {
    /// Check for deadlocks instead of measuring: simulate every machine with extents from 1, 2, 3, 4, 5 and 8, as torus
    /// and as mesh, with the smallest buffers and every traffic pattern at 1.5 times the limit, until all packets are
    /// delivered
    #[arg(long, conflicts_with_all = ["torus", "mesh", "traffic", "load", "routing", "chunks", "buffers",
          "hot", "warmup", "ticks", "csv", "svg"], help_heading = "Deadlock check")]
    pub check: bool,

    /// Packets that each node sends with --check
    #[arg(long, value_name = "PACKETS", default_value_t = 50, requires = "check",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000), help_heading = "Deadlock check")]
    pub packets: u32,
}

/// Runs the deadlock check on all processors; prints a summary or the failed case.
pub fn run(packets: u32, seed: u64) -> Result<u8, CliError> {
    let cases: Vec<MatrixCase> = matrix::cases().collect();
    print_line(format_args!(
        "{} runs: {} machines, extents {:?}, torus and mesh, smallest buffers; {} kinds of channels, {} \
         patterns, {} times the limit, {packets} packets per node, one in {:.0} priority, seed {seed}",
        cases.len(),
        2 * matrix::EXTENTS.len().pow(3),
        matrix::EXTENTS,
        ChannelSet::ALL.len(),
        TrafficPattern::ALL.len(),
        matrix::LOAD,
        1.0 / matrix::PRIORITY,
    ))?;
    let start = Instant::now();
    let work = Mutex::new(cases.iter());
    // Totals, and the slowest run so far relative to its bound.
    let total = Mutex::new((matrix::MatrixOutcome::default(), 0.0, None));
    let run = || -> Result<(), CliError> {
        loop {
            let case = lock(&work).next();
            let Some(case) = case else { return Ok(()) };
            let outcome = case.run(packets, seed).map_err(|error| {
                lock(&work).by_ref().for_each(drop);
                CliError::failure(format!("{}: {error}", describe(case)))
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
    print_line(format_args!(
        "{} packets, each delivered exactly once; {:.1} million packet-hops, {} ticks in all, {:.1} s",
        outcome.packets,
        outcome.hops as f64 / 1e6,
        outcome.ticks,
        start.elapsed().as_secs_f64()
    ))?;
    if let Some(case) = slowest {
        print_line(format_args!(
            "slowest: {:.0} % of the allowed ticks, {}",
            100.0 * part,
            describe(&case)
        ))?;
    }
    Ok(0)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No update is incomplete while the lock is held.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn describe(case: &MatrixCase) -> String {
    let [x, y, z] = case.shape.extents();
    format!(
        "{} {x}x{y}x{z}, {} traffic, {}",
        if case.shape.wraps()[0] { "torus" } else { "mesh" },
        case.traffic.name(),
        match case.channels {
            ChannelSet::Dynamic => "dynamic channels and escape",
            ChannelSet::Escape => "escape channel only",
            ChannelSet::Deterministic => "deterministic routing",
        }
    )
}
