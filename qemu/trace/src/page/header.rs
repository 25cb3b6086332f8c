//! Header of the page: program, machine, outcome, and the most important sums.

use super::input::PageInput;
use super::markup::{ByteCount, Escaped, Grouped, Percent, TimeSpan};
use super::summary::{JobSummary, ratio};
use midplane_abi::counters::Counter;
use std::fmt::Display;
use std::io::{Result, Write};

/// Writes the header and the list of sections.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write(to: &mut dyn Write, input: &PageInput<'_>, summary: &JobSummary) -> Result<()> {
    let facts = input.facts;
    let name = facts.program.rsplit('/').next().unwrap_or_default();
    let command = [&[name.to_string()], &facts.arguments[..]].concat().join(" ");
    writeln!(
        to,
        "<header>\n<h1>{}</h1>\n<p class=\"outcome {}\"><strong>{}</strong>, exit status {}</p>",
        Escaped(&command),
        if facts.status == 0 { "good" } else { "bad" },
        Escaped(&facts.outcome),
        facts.status
    )?;
    if let Some(message) = &facts.message {
        writeln!(to, "<pre class=\"message\">{}</pre>", Escaped(message))?;
    }
    writeln!(to, "<dl id=\"facts\">")?;
    write_facts(to, input, summary)?;
    writeln!(to, "</dl>\n<nav>")?;
    for section in ["torus", "matrix", "timeline", "memory", "ranks", "functions", "sites"] {
        writeln!(to, "<a href=\"#{section}\">{}</a>", label(section))?;
    }
    writeln!(
        to,
        "</nav>\n<noscript><p class=\"message\">The diagrams require JavaScript. The tables do not.</p></noscript>\n\
         </header>\n<main>"
    )
}

fn label(section: &str) -> &str {
    match section {
        "matrix" => "communication matrix",
        "timeline" => "time line",
        "sites" => "call sites",
        name => name,
    }
}

fn write_facts(to: &mut dyn Write, input: &PageInput<'_>, summary: &JobSummary) -> Result<()> {
    let facts = input.facts;
    let [x, y, z] = facts.extents;
    let mut fact = |name: &str, value: &dyn Display, note: &dyn Display| {
        writeln!(to, "<div><dt>{name}</dt><dd>{value}<small>{note}</small></dd></div>")
    };
    let wraps = ["X", "Y", "Z"].iter().zip(facts.wraps).filter(|(_, wraps)| *wraps);
    let wraps: Vec<&str> = wraps.map(|(name, _)| *name).collect();
    let wraps = if wraps.is_empty() {
        "none".into()
    } else {
        wraps.join(", ")
    };
    fact(
        "Machine",
        &format_args!("{x}\u{d7}{y}\u{d7}{z}"),
        &format_args!("wraps around: {wraps}"),
    )?;
    let ranks = Grouped(input.job.ranks.len() as u64);
    fact("Ranks", &ranks, &facts.platform)?;
    let duration = TimeSpan(input.job.end().saturating_sub(input.job.start()));
    match facts.virtual_time {
        Some(time) => fact(
            "Duration",
            &duration,
            &format_args!("virtual time; whole job: {}", TimeSpan(time.as_nanos() as u64)),
        )?,
        None => fact(
            "Duration",
            &duration,
            &format_args!(
                "whole job with its start: {}",
                TimeSpan(facts.elapsed.as_nanos() as u64)
            ),
        )?,
    }
    let mpi = ratio(summary.total(|rank| rank.mpi_time()), summary.total(|rank| rank.span));
    fact("Share of time in MPI", &Percent(mpi), &"mean of all ranks")?;
    let calls = Grouped(summary.total(|rank| rank.calls));
    fact(
        "MPI calls",
        &calls,
        &format_args!("{} functions", summary.functions.len()),
    )?;
    let messages = Grouped(summary.total(|rank| rank.sent.messages));
    let bytes = ByteCount(summary.total(|rank| rank.sent.bytes));
    fact("Point-to-point messages", &messages, &bytes)?;
    let matching = facts.matching.as_deref().unwrap_or("unknown");
    let engine = Escaped(matching);
    fact(
        "MPI memory",
        &ByteCount(facts.mpi_memory),
        &format_args!("a node; matching engine: {engine}"),
    )?;
    let rejected = Grouped(facts.nodes.iter().map(|node| node.get(Counter::NctsSent)).sum());
    let restarts = Grouped(facts.nodes.iter().map(|node| node.get(Counter::RestartsSent)).sum());
    fact(
        "Rejected messages",
        &rejected,
        &format_args!("NCTS; restarts: {restarts}"),
    )
}
