//! Time line: a row of calls for each rank.
//!
//! A job with few calls has each call in the page. For more calls, the page contains the share of time of each class, in
//! columns of equal length.

use super::class::CallClass;
use super::input::PageInput;
use super::markup::{Grouped, TimeSpan};
use super::summary::{JobSummary, call_time};
use crate::messages::Message;
use crate::operations::{Operation, OperationKind};
use serde::Serialize;
use std::collections::HashMap;
use std::io::{Result, Write};

/// Maximum number of calls that are drawn each.
pub const MAX_DRAWN_CALLS: usize = 100_000;
/// Maximum number of rows. With more ranks, a row represents several successive ranks.
pub const MAX_DRAWN_ROWS: usize = 256;
/// Maximum number of messages that are drawn.
pub const MAX_DRAWN_MESSAGES: usize = 20_000;
/// Maximum number of columns of all rows together, for aggregated calls.
const MAX_CELLS: usize = 100_000;
/// Maximum number of columns of a row.
const MAX_COLUMNS: usize = 2000;
/// Value of a share of 1 in the page.
const FULL_SHARE: f64 = 255.0;
/// Peer and tag of a call without them.
const ABSENT: i64 = -1;

/// A function in the data of the page.
#[derive(Clone, Debug, Serialize)]
struct DrawnFunction {
    name: &'static str,
    class: usize,
}

/// Ranks of a row, with their time by class.
#[derive(Clone, Debug, Serialize)]
struct DrawnRow {
    first: usize,
    last: usize,
    /// Nanoseconds by class, and the time outside of MPI. The mean of the ranks.
    times: Vec<u64>,
}

/// Calls of the rows.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum DrawnCalls {
    /// Each call as eight numbers, by row: time since the begin of the preceding call, duration (negative for a call
    /// without a return), function, location, peer, tag, bytes sent, bytes received.
    Each(Vec<Vec<i64>>),
    /// Shares of the classes, by row, column and class.
    Shares(Vec<Vec<u8>>),
}

/// Data of the time line.
#[derive(Clone, Debug, Serialize)]
pub struct TimeLine {
    /// Duration in nanoseconds.
    duration: u64,
    functions: Vec<DrawnFunction>,
    locations: Vec<String>,
    rows: Vec<DrawnRow>,
    calls: DrawnCalls,
    /// Rank and time of the send, and rank and time of the completed receive.
    messages: Vec<[u64; 4]>,
    /// Calls of the job.
    #[serde(skip)]
    count: usize,
    /// Whether the messages are omitted.
    #[serde(skip)]
    omits_messages: bool,
}

impl TimeLine {
    /// Collects the calls of a job.
    #[must_use]
    pub fn new(input: &PageInput<'_>, summary: &JobSummary) -> Self {
        let ranks = input.job.ranks.len();
        let count: usize = input.job.ranks.iter().map(|rank| rank.calls.len()).sum();
        let is_each = count <= MAX_DRAWN_CALLS && ranks <= MAX_DRAWN_ROWS;
        let ranks_per_row = ranks.div_ceil(MAX_DRAWN_ROWS).max(1);
        let calls = if is_each {
            DrawnCalls::Each((0..ranks).map(|rank| row_of_calls(input, summary, rank)).collect())
        } else {
            DrawnCalls::Shares(shares(input, summary, ranks_per_row))
        };
        let omits_messages = !is_each || input.messages.matched.len() > MAX_DRAWN_MESSAGES;
        let drawn = if omits_messages {
            &[]
        } else {
            &input.messages.matched[..]
        };
        let functions = summary.functions.iter().map(|function| DrawnFunction {
            name: function.name,
            class: function.class as usize,
        });
        Self {
            duration: input.job.end().saturating_sub(input.job.start()),
            functions: functions.collect(),
            locations: if is_each { summary.locations.clone() } else { Vec::new() },
            rows: rows(summary, ranks_per_row),
            calls,
            messages: drawn.iter().filter_map(|message| arrow(input, message)).collect(),
            count,
            omits_messages,
        }
    }
}

fn rows(summary: &JobSummary, ranks_per_row: usize) -> Vec<DrawnRow> {
    let chunks = summary.ranks.chunks(ranks_per_row).enumerate();
    let row = chunks.map(|(row, ranks)| {
        let mean = |sum: u64| sum / ranks.len() as u64;
        let classes = (0..CallClass::COUNT).map(|class| mean(ranks.iter().map(|rank| rank.class_times[class]).sum()));
        let outside = ranks.iter().map(|rank| rank.span.saturating_sub(rank.mpi_time()));
        DrawnRow {
            first: row * ranks_per_row,
            last: row * ranks_per_row + ranks.len() - 1,
            times: classes.chain([mean(outside.sum())]).collect(),
        }
    });
    row.collect()
}

/// Message data of a call.
#[derive(Clone, Copy)]
struct CallDetails {
    peer: i64,
    tag: i64,
    sent: u64,
    received: u64,
}

impl Default for CallDetails {
    fn default() -> Self {
        Self {
            peer: ABSENT,
            tag: ABSENT,
            sent: 0,
            received: 0,
        }
    }
}

/// Returns the peers and bytes of a rank's calls: those of a send for the call that starts it, those of a receive for
/// the call that completes it, too.
fn call_details(input: &PageInput<'_>, rank: usize) -> HashMap<usize, CallDetails> {
    let mut details: HashMap<usize, CallDetails> = HashMap::new();
    for operation in &input.operations.ranks[rank].list {
        if !matches!(operation.kind, OperationKind::Send(_) | OperationKind::Receive) {
            continue;
        }
        let started = details.entry(operation.started).or_default();
        (started.peer, started.tag) = peer_and_tag(operation).into();
        if operation.kind == OperationKind::Receive
            && let (Some(completed), Some(status)) = (operation.completed, operation.status)
        {
            details.entry(completed).or_default().received += status.bytes;
        }
    }
    for message in input
        .messages
        .matched
        .iter()
        .filter(|message| message.send.rank == rank)
    {
        let started = input.operations.get(message.send).started;
        details.entry(started).or_default().sent += input.received_bytes(message.receive);
    }
    details
}

/// Returns the peer's rank in MPI_COMM_WORLD and the tag.
fn peer_and_tag(operation: &Operation) -> [i64; 2] {
    let envelope = operation.envelope();
    let [partner, tag] = match envelope {
        Some(envelope) if operation.kind == OperationKind::Receive => [envelope.source, envelope.tag],
        _ => [operation.partner, operation.tag],
    };
    let world = operation.comm.as_ref().and_then(|comm| comm.partner(partner));
    [world.map_or(ABSENT, |rank| rank as i64), tag]
}

fn row_of_calls(input: &PageInput<'_>, summary: &JobSummary, rank: usize) -> Vec<i64> {
    let details = call_details(input, rank);
    let mut before = input.job.start();
    let mut row = Vec::new();
    let calls = input.job.ranks[rank].calls.iter().zip(&summary.calls[rank]).enumerate();
    for (index, (call, site)) in calls.filter(|(_, (call, _))| call.depth == 0) {
        let details = details.get(&index).copied().unwrap_or_default();
        let duration = call.left.map_or(-1, |left| left.saturating_sub(call.entered) as i64);
        row.extend([
            call.entered.saturating_sub(before) as i64,
            duration,
            site.function as i64,
            site.location as i64,
            details.peer,
            details.tag,
            details.sent as i64,
            details.received as i64,
        ]);
        before = call.entered;
    }
    row
}

/// Returns the time line's columns for aggregated calls.
fn shares(input: &PageInput<'_>, summary: &JobSummary, ranks_per_row: usize) -> Vec<Vec<u8>> {
    let (start, end) = (input.job.start(), input.job.end());
    let rows = input.job.ranks.len().div_ceil(ranks_per_row);
    let columns = (MAX_CELLS / rows.max(1)).clamp(1, MAX_COLUMNS);
    let width = (end - start).div_ceil(columns as u64).max(1);
    let mut times = vec![vec![0_u64; columns * CallClass::COUNT]; rows];
    for (rank, trace) in input.job.ranks.iter().enumerate() {
        let row = &mut times[rank / ranks_per_row];
        let calls = trace.calls.iter().zip(&summary.calls[rank]);
        for (call, site) in calls.filter(|(call, _)| call.depth == 0) {
            let class = summary.functions[site.function].class as usize;
            let mut from = call.entered - start;
            let to = from + call_time(call, end);
            while from < to {
                let column = from / width;
                let next = to.min((column + 1) * width);
                row[column as usize * CallClass::COUNT + class] += next - from;
                from = next;
            }
        }
    }
    let full = (width * ranks_per_row as u64) as f64;
    let share = |time: u64| (FULL_SHARE * time as f64 / full).round().min(FULL_SHARE) as u8;
    times
        .into_iter()
        .map(|row| row.into_iter().map(share).collect())
        .collect()
}

fn arrow(input: &PageInput<'_>, message: &Message) -> Option<[u64; 4]> {
    let (send, receive) = (message.send, message.receive);
    let start = input.job.start();
    let begin = &input.job.ranks[send.rank].calls[input.operations.get(send).started];
    let completed = input.operations.get(receive).completed?;
    let end = input.job.ranks[receive.rank].calls[completed].left?;
    let times = [begin.entered, end].map(|time| time.saturating_sub(start));
    Some([send.rank as u64, times[0], receive.rank as u64, times[1]])
}

/// Writes the section of the page.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_section(to: &mut dyn Write, timeline: &TimeLine) -> Result<()> {
    writeln!(
        to,
        "<section id=\"timeline\">\n<h2>Time line of the calls</h2>\n<p class=\"note\">{} calls in {}. Wheel with Ctrl or \
         the buttons: zoom; drag: move; double click: all. Short calls in a column share its height. The bars on the \
         right are the times of each rank by class.</p>",
        Grouped(timeline.count as u64),
        TimeSpan(timeline.duration)
    )?;
    if matches!(timeline.calls, DrawnCalls::Shares(_)) {
        writeln!(
            to,
            "<p class=\"note\">The calls are aggregated: the time line shows each call and message of up to {} calls \
             and {} ranks only. Use <code>--trace</code> to see each call in Perfetto.</p>",
            Grouped(MAX_DRAWN_CALLS as u64),
            MAX_DRAWN_ROWS
        )?;
    }
    if timeline.omits_messages && matches!(timeline.calls, DrawnCalls::Each(_)) {
        writeln!(
            to,
            "<p class=\"note\">The messages are omitted: the time line shows up to {} messages.</p>",
            Grouped(MAX_DRAWN_MESSAGES as u64)
        )?;
    }
    writeln!(
        to,
        "<div class=\"controls\"><button type=\"button\" id=\"zoom-in\">Zoom in</button>\
         <button type=\"button\" id=\"zoom-out\">Zoom out</button><button type=\"button\" id=\"zoom-all\">All</button>\n\
         <label><input type=\"checkbox\" id=\"timeline-messages\"> messages</label>\
         <span id=\"timeline-note\" class=\"note\"></span></div>\n\
         <div id=\"timeline-legend\" class=\"legend\"></div>\n\
         <div class=\"scroll\" id=\"timeline-scroll\"><canvas id=\"timeline-canvas\" role=\"img\" \
         aria-label=\"Calls of each rank over time\"></canvas></div>\n</section>"
    )
}
