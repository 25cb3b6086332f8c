//! Instruction counts of searches.

use super::shared::MatchingBench;
use crate::host::error::CliError;
use crate::lab::bench::callgrind;
use crate::show::console::print_line;
use crate::show::table::{self, Column, Table, six_places};
use clap::Args;
use midplane_lab::matching::{ENGINES, NamedEngine};
use midplane_lab::measure::matching::blank::BlankEngine;
use midplane_lab::measure::matching::{LongQueue, SearchOrder, SearchTest};
use serde::Serialize;

/// Options of `midplane bench matching-loop`.
#[derive(Args, Debug)]
pub struct LoopArgs {
    /// Engine; `none` for the loop without an engine
    #[arg(long)]
    engine: String,

    /// Use the unexpected message queue instead of the posted receive queue
    #[arg(long)]
    unexpected: bool,

    /// Search from the end instead of from the head
    #[arg(long)]
    reverse: bool,

    /// Number of senders
    #[arg(long)]
    senders: u32,

    /// Messages of each sender
    #[arg(long)]
    pending: u32,

    /// Number of times that the queue is filled and emptied
    #[arg(long)]
    rounds: u32,
}

/// Counted cases: senders and messages of each.
const SIZES: [(u32, u32); 4] = [(1, 1), (64, 1), (64, 10), (704, 1)];
/// In forward order also the longest queue of the papers' tests.
const FORWARD_SIZE: (u32, u32) = (704, 10);
/// Minimum number of entries by which the longer run exceeds the shorter; the difference is counted.
const ENTRIES: u32 = 2000;

/// Result of one engine.
#[derive(Clone, Debug, Serialize)]
struct InstructionRow {
    test: String,
    senders: u32,
    pending: u32,
    engine: &'static str,
    /// Instructions of a message and its receive, including the loop.
    #[serde(serialize_with = "six_places")]
    instructions: f64,
    /// The same without the loop.
    #[serde(serialize_with = "six_places")]
    of_the_engine: f64,
    /// Ratio of the latter to the list's.
    #[serde(serialize_with = "six_places")]
    ratio: f64,
}

const TABLE: Table<InstructionRow> = Table {
    columns: &[
        Column::left("test", 11, |r| r.test.clone()),
        Column::right("senders", 7, |r| r.senders.to_string()),
        Column::right("each", 4, |r| r.pending.to_string()),
        Column::left("engine", 8, |r| r.engine.into()),
        Column::right("instructions", 12, |r| format!("{:.1}", r.instructions)),
        Column::right("of the engine", 13, |r| format!("{:.1}", r.of_the_engine)),
        Column::right("to list", 8, |r| format!("{:.3}", r.ratio)),
    ],
    keys: 4,
    gap: 2,
};

/// Counts the instructions; returns CSV.
pub fn run(bench: &MatchingBench) -> Result<String, CliError> {
    print_line(
        "instructions per message and receive, on this host's processor; of the engine: without\nthose of the \
         surrounding loop; to list: divided by those of the list",
    )?;
    print_line(TABLE.heading().join("\n"))?;
    let mut rows = Vec::new();
    for queue in [LongQueue::Posted, LongQueue::Unexpected] {
        for order in [SearchOrder::Forward, SearchOrder::Reverse] {
            let more = (order == SearchOrder::Forward).then_some(FORWARD_SIZE);
            for (senders, pending) in SIZES.into_iter().chain(more) {
                let search = SearchTest {
                    queue,
                    order,
                    senders,
                    pending,
                    communicators: 1,
                    any_source: 0.0,
                };
                count(bench, &search, &mut rows)?;
            }
        }
    }
    table::csv(&rows)
}

fn count(bench: &MatchingBench, search: &SearchTest, rows: &mut Vec<InstructionRow>) -> Result<(), CliError> {
    let rest = each("none", search)?;
    let mut reference = f64::NAN;
    for engine in &bench.engines {
        let instructions = each(engine.name, search)?;
        let of_the_engine = instructions - rest;
        if reference.is_nan() {
            reference = of_the_engine;
        }
        let row = InstructionRow {
            test: format!("{} {}", search.queue.name(), search.order.name()),
            senders: search.senders,
            pending: search.pending,
            engine: engine.name,
            instructions,
            of_the_engine,
            ratio: of_the_engine / reference,
        };
        print_line(TABLE.row(&row))?;
        rows.push(row);
        bench.check_signals()?;
    }
    Ok(())
}

/// Returns the instructions per entry.
fn each(engine: &str, search: &SearchTest) -> Result<f64, CliError> {
    let entries = search.entries() as u32;
    let more = ENTRIES.div_ceil(entries);
    let [few, many] = [1, 1 + more].map(|rounds| instructions(engine, search, rounds));
    Ok((many? - few?) as f64 / f64::from(more * entries))
}

/// Returns the instructions of a complete run.
fn instructions(engine: &str, search: &SearchTest, rounds: u32) -> Result<u64, CliError> {
    let numbers = [search.senders, search.pending, rounds].map(|number| number.to_string());
    let [senders, pending, rounds] = numbers.each_ref().map(String::as_str);
    let mut arguments = vec!["matching-loop", "--engine", engine, "--senders", senders];
    arguments.extend(["--pending", pending, "--rounds", rounds]);
    arguments.extend((search.queue == LongQueue::Unexpected).then_some("--unexpected"));
    arguments.extend((search.order == SearchOrder::Reverse).then_some("--reverse"));
    callgrind::instructions(&arguments)
}

/// Runs the loop that callgrind counts; returns the exit status.
pub fn run_loop(options: &LoopArgs) -> Result<u8, CliError> {
    let none = if options.reverse {
        NamedEngine::from_engine::<BlankEngine<false>>()
    } else {
        NamedEngine::from_engine::<BlankEngine<true>>()
    };
    let mut engines = ENGINES.iter().chain([&none]);
    let engine = engines.find(|engine| engine.name == options.engine);
    let engine = engine.ok_or_else(|| CliError::usage("--engine: unknown engine"))?;
    let search = SearchTest {
        queue: if options.unexpected {
            LongQueue::Unexpected
        } else {
            LongQueue::Posted
        },
        order: if options.reverse {
            SearchOrder::Reverse
        } else {
            SearchOrder::Forward
        },
        senders: options.senders,
        pending: options.pending,
        communicators: 1,
        any_source: 0.0,
    };
    if !search.is_possible() {
        return Err(CliError::usage("--senders, --pending: too many"));
    }
    engine.work(&search.traffic(), options.rounds);
    Ok(0)
}
