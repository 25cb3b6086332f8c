//! Communication matrix: messages and bytes from each source to each destination.

use super::input::PageInput;
use super::markup::{ByteCount, Grouped};
use super::summary::MessageTotal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Maximum number of rows of the matrix. With more ranks, a row represents several successive ranks.
pub const MAX_MATRIX_BINS: usize = 256;
/// Number of pairs in the table below the matrix.
const LISTED_PAIRS: usize = 10;

/// Sender and receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RankPair {
    /// Rank of the sender.
    pub source: usize,
    /// Rank of the receiver.
    pub destination: usize,
}

/// Messages between two ranks, or between two ranges of ranks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MatrixCell {
    /// Row.
    pub source: usize,
    /// Column.
    pub destination: usize,
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
}

impl MatrixCell {
    fn new(pair: RankPair, total: MessageTotal) -> Self {
        Self {
            source: pair.source,
            destination: pair.destination,
            messages: total.messages,
            bytes: total.bytes,
        }
    }
}

/// Communication matrix.
#[derive(Clone, Debug, Serialize)]
pub struct CommunicationMatrix {
    /// Ranks.
    pub ranks: usize,
    /// Successive ranks in a row.
    pub ranks_per_bin: usize,
    /// Cells with messages.
    pub cells: Vec<MatrixCell>,
    /// Pairs with the most bytes.
    #[serde(skip)]
    pub largest: Vec<MatrixCell>,
    /// Messages that were not received.
    #[serde(skip)]
    pub unreceived: u64,
}

impl CommunicationMatrix {
    /// Adds up the messages of a job.
    #[must_use]
    pub fn new(input: &PageInput<'_>) -> Self {
        let pairs = add_pairs(input);
        let ranks = input.job.ranks.len();
        let ranks_per_bin = ranks.div_ceil(MAX_MATRIX_BINS).max(1);
        let mut bins: BTreeMap<RankPair, MessageTotal> = BTreeMap::new();
        for (pair, total) in &pairs {
            let bin = bins.entry(RankPair {
                source: pair.source / ranks_per_bin,
                destination: pair.destination / ranks_per_bin,
            });
            let sum = bin.or_default();
            sum.messages += total.messages;
            sum.bytes += total.bytes;
        }
        let cells = |map: BTreeMap<RankPair, MessageTotal>| -> Vec<MatrixCell> {
            map.into_iter()
                .map(|(pair, total)| MatrixCell::new(pair, total))
                .collect()
        };
        let mut largest = cells(pairs);
        largest.sort_by_key(|cell| std::cmp::Reverse((cell.bytes, cell.messages)));
        largest.truncate(LISTED_PAIRS);
        Self {
            ranks,
            ranks_per_bin,
            cells: cells(bins),
            largest,
            unreceived: input.messages.unmatched_sends.len() as u64,
        }
    }
}

fn add_pairs(input: &PageInput<'_>) -> BTreeMap<RankPair, MessageTotal> {
    let mut pairs: BTreeMap<RankPair, MessageTotal> = BTreeMap::new();
    for message in &input.messages.matched {
        let pair = RankPair {
            source: message.send.rank,
            destination: message.receive.rank,
        };
        pairs
            .entry(pair)
            .or_default()
            .add(input.received_bytes(message.receive));
    }
    for send in &input.messages.unmatched_sends {
        let operation = input.operations.get(*send);
        let comm = operation.comm.as_ref();
        if let Some(destination) = comm.and_then(|comm| comm.partner(operation.partner)) {
            let source = send.rank;
            pairs.entry(RankPair { source, destination }).or_default().add(0);
        }
    }
    pairs
}

/// Writes the section of the page.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_section(to: &mut dyn Write, matrix: &CommunicationMatrix) -> Result<()> {
    writeln!(
        to,
        "<section id=\"matrix\">\n<h2>Communication matrix</h2>\n<p class=\"note\">Point-to-point messages from the \
         sender (row) to the receiver (column). Collective operations and one-sided operations are not included.</p>"
    )?;
    if matrix.ranks_per_bin > 1 {
        writeln!(
            to,
            "<p class=\"note\">Each row and column represents {} successive ranks: the matrix has at most \
             {MAX_MATRIX_BINS} rows.</p>",
            matrix.ranks_per_bin
        )?;
    }
    if matrix.unreceived > 0 {
        writeln!(
            to,
            "<p class=\"note\">{} messages were not received. The matrix counts them with 0 bytes.</p>",
            Grouped(matrix.unreceived)
        )?;
    }
    if matrix.cells.is_empty() {
        return writeln!(to, "<p>The job has sent no point-to-point message.</p>\n</section>");
    }
    writeln!(
        to,
        "<div class=\"controls\"><label>Value <select id=\"matrix-value\"><option value=\"bytes\">bytes</option>\
         <option value=\"messages\">messages</option></select></label>\n\
         <label><input type=\"checkbox\" id=\"matrix-log\"> logarithmic colours</label></div>\n\
         <div class=\"side\"><div class=\"figure\"><canvas id=\"matrix-canvas\" role=\"img\" \
         aria-label=\"Communication matrix\"></canvas><div id=\"matrix-legend\" class=\"legend\"></div></div>"
    )?;
    writeln!(
        to,
        "<table class=\"small\"><caption>Pairs with the most bytes</caption><thead><tr><th>source</th>\
         <th>destination</th><th>messages</th><th>bytes</th></tr></thead><tbody>"
    )?;
    for cell in &matrix.largest {
        writeln!(
            to,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td title=\"{} bytes\">{}</td></tr>",
            cell.source,
            cell.destination,
            Grouped(cell.messages),
            Grouped(cell.bytes),
            ByteCount(cell.bytes)
        )?;
    }
    writeln!(to, "</tbody></table></div>\n</section>")
}
