//! Tables of the ranks, the functions and the call sites. The script sorts them by a column.

use super::facts::{JobFacts, NodeFacts};
use super::markup::{ByteCount, Escaped, Grouped, Percent, TimeSpan};
use super::summary::{CallTotal, JobSummary, RankSummary, ratio};
use midplane_abi::counters::{Counter, CounterUnit};
use std::cmp::Reverse;
use std::fmt::Display;
use std::io::{Result, Write};

/// Maximum number of ranks in the table; those with the most calls are in it.
pub const MAX_TABLE_RANKS: usize = 4096;
/// Maximum number of call sites in the table; those with the most time are in it.
pub const MAX_CALL_SITES: usize = 100;

/// A column: heading, and a longer explanation.
type Heading = [&'static str; 2];

/// Columns of the ranks before the counters.
const RANK_COLUMNS: [Heading; 9] = [
    ["rank", "rank in MPI_COMM_WORLD"],
    ["(x,y,z)", "coordinates in the torus"],
    ["calls", "calls of MPI functions"],
    ["messages sent", "point-to-point messages of the program"],
    ["bytes sent", "bytes of these messages, as received"],
    ["messages received", "point-to-point messages of the program"],
    ["bytes received", "bytes of these messages"],
    ["time in MPI", "share of the time from the first to the last call"],
    ["idle", "share of time in which the node slept"],
];

const FUNCTION_COLUMNS: [Heading; 8] = [
    ["function", "MPI function"],
    ["class", "class of the function"],
    ["calls", "calls of all ranks"],
    ["errors", "calls that have returned an error code"],
    ["not returned", "calls in progress at the end of the job"],
    ["total time", "sum over all calls"],
    ["mean time", "total time divided by the calls"],
    ["longest", "time of the longest call"],
];

const SITE_COLUMNS: [Heading; 6] = [
    ["function", "MPI function"],
    ["called from", "function, file and line of the program"],
    ["calls", "calls of all ranks"],
    ["total time", "sum over all calls"],
    ["mean time", "total time divided by the calls"],
    ["longest", "time of the longest call"],
];

/// Returns the heading of a counter's column; `None`: it has no column.
fn counter_heading(counter: Counter) -> Option<&'static str> {
    let views = counter.views();
    views.table.or(views.top)
}

/// Returns the columns of the ranks: those of the trace, and the counters of the report's table and of `top`.
fn rank_columns() -> Vec<Heading> {
    let counters = Counter::ALL.into_iter().filter_map(|counter| {
        let heading = counter_heading(counter)?;
        Some([heading, counter.about().meaning])
    });
    RANK_COLUMNS.into_iter().chain(counters).collect()
}

fn begin(to: &mut dyn Write, id: &str, columns: &[Heading]) -> Result<()> {
    writeln!(
        to,
        "<div class=\"scroll\"><table class=\"sortable\" id=\"{id}\"><thead><tr>"
    )?;
    for [name, meaning] in columns {
        writeln!(
            to,
            "<th scope=\"col\" title=\"{meaning}\"><button type=\"button\">{name}</button></th>"
        )?;
    }
    writeln!(to, "</tr></thead><tbody>")
}

fn end(to: &mut dyn Write) -> Result<()> {
    writeln!(to, "</tbody></table></div>\n</section>")
}

/// Writes a cell. `value` is the number by which the table is sorted.
fn number(to: &mut dyn Write, value: f64, text: &dyn Display) -> Result<()> {
    write!(to, "<td data-value=\"{value}\">{text}</td>")
}

fn count(to: &mut dyn Write, value: u64) -> Result<()> {
    number(to, value as f64, &Grouped(value))
}

fn bytes(to: &mut dyn Write, value: u64) -> Result<()> {
    number(to, value as f64, &ByteCount(value))
}

fn time(to: &mut dyn Write, value: u64) -> Result<()> {
    number(to, value as f64, &TimeSpan(value))
}

/// Writes the table of the ranks.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_ranks(to: &mut dyn Write, facts: &JobFacts, summary: &JobSummary) -> Result<()> {
    writeln!(to, "<section id=\"ranks\">\n<h2>Ranks</h2>")?;
    let mut order: Vec<usize> = (0..summary.ranks.len()).collect();
    if order.len() > MAX_TABLE_RANKS {
        order.sort_by_key(|rank| Reverse(summary.ranks[*rank].calls));
        order.truncate(MAX_TABLE_RANKS);
        order.sort_unstable();
        let all = Grouped(summary.ranks.len() as u64);
        writeln!(
            to,
            "<p class=\"note\">The {MAX_TABLE_RANKS} ranks with the most calls, of {all}.</p>"
        )?;
    }
    begin(to, "rank-table", &rank_columns())?;
    let unknown = NodeFacts::default();
    for rank in order {
        let node = facts.nodes.get(rank).unwrap_or(&unknown);
        write_rank(to, rank, &summary.ranks[rank], node)?;
    }
    end(to)
}

fn write_rank(to: &mut dyn Write, rank: usize, sums: &RankSummary, node: &NodeFacts) -> Result<()> {
    let [x, y, z] = node.coordinates;
    write!(to, "<tr>")?;
    count(to, rank as u64)?;
    write!(to, "<td>({x},{y},{z})</td>")?;
    count(to, sums.calls)?;
    count(to, sums.sent.messages)?;
    bytes(to, sums.sent.bytes)?;
    count(to, sums.received.messages)?;
    bytes(to, sums.received.bytes)?;
    number(to, sums.mpi_share(), &Percent(sums.mpi_share()))?;
    number(to, node.idle_share, &Percent(node.idle_share))?;
    for counter in Counter::ALL {
        if counter_heading(counter).is_some() {
            match counter.about().unit {
                CounterUnit::Bytes => bytes(to, node.get(counter))?,
                _ => count(to, node.get(counter))?,
            }
        }
    }
    writeln!(to, "</tr>")
}

/// Writes the table of the functions.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_functions(to: &mut dyn Write, summary: &JobSummary) -> Result<()> {
    writeln!(to, "<section id=\"functions\">\n<h2>Functions</h2>")?;
    if summary.functions.iter().any(|function| function.total.unfinished > 0) {
        writeln!(
            to,
            "<p class=\"note\">The time of a call that has not returned lasts until the last record of the job.</p>"
        )?;
    }
    begin(to, "function-table", &FUNCTION_COLUMNS)?;
    let mut functions = summary.functions.clone();
    functions.sort_by_key(|function| (Reverse(function.total.time), function.name));
    for function in functions {
        let (class, total) = (function.class, function.total);
        write!(
            to,
            "<tr><td><code>{}</code></td><td><i class=\"key {}\"></i>{}</td>",
            function.name,
            class.key(),
            class.label()
        )?;
        count(to, total.calls)?;
        count(to, total.failed)?;
        count(to, total.unfinished)?;
        write_times(to, &total)?;
        writeln!(to, "</tr>")?;
    }
    end(to)
}

fn write_times(to: &mut dyn Write, total: &CallTotal) -> Result<()> {
    time(to, total.time)?;
    time(to, ratio(total.time, total.calls).round() as u64)?;
    time(to, total.longest)
}

/// Writes the table of the call sites.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_call_sites(to: &mut dyn Write, summary: &JobSummary) -> Result<()> {
    writeln!(to, "<section id=\"sites\">\n<h2>Call sites</h2>")?;
    if summary.sites.len() > MAX_CALL_SITES {
        let all = Grouped(summary.sites.len() as u64);
        writeln!(
            to,
            "<p class=\"note\">The {MAX_CALL_SITES} call sites with the most time, of {all}.</p>"
        )?;
    }
    begin(to, "site-table", &SITE_COLUMNS)?;
    for site in summary.sites.iter().take(MAX_CALL_SITES) {
        let location = match &*summary.locations[site.site.location] {
            "" => "unknown",
            location => location,
        };
        write!(
            to,
            "<tr><td><code>{}</code></td><td><code>{}</code></td>",
            summary.functions[site.site.function].name,
            Escaped(location)
        )?;
        count(to, site.total.calls)?;
        write_times(to, &site.total)?;
        writeln!(to, "</tr>")?;
    }
    end(to)
}
