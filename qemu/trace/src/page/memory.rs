//! Memory and rejections over time, from the counters in the trace.

use super::markup::Grouped;
use crate::job::{JobTrace, RankTrace};
use crate::record::COUNTER_NAMES;
use serde::Serialize;
use std::io::{Result, Write};

/// Number of times of a chart.
pub const SAMPLES: usize = 240;
/// Maximum number of ranks with a line; those with the largest values have one.
pub const MAX_LINES: usize = 16;

/// Combination of the ranks' values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum ChartTotal {
    Maximum,
    Sum,
}

/// Description of a chart.
struct ChartKind {
    counter: &'static str,
    title: &'static str,
    unit: &'static str,
    total: ChartTotal,
    /// Text of a chart whose values are all 0.
    zero: &'static str,
}

const ALWAYS_ZERO: &str = "0 during the whole job";

const CHARTS: [ChartKind; 5] = [
    ChartKind {
        counter: "heap_peak_bytes",
        title: "Peak of the program's heap",
        unit: "bytes",
        total: ChartTotal::Maximum,
        zero: "recorded by nodes in QEMU and boards only",
    },
    ChartKind {
        counter: "peak_unexpected_bytes",
        title: "Peak of the MPI memory in use",
        unit: "bytes",
        total: ChartTotal::Maximum,
        zero: ALWAYS_ZERO,
    },
    ChartKind {
        counter: "unexpected_records",
        title: "Records of unexpected messages",
        unit: "records",
        total: ChartTotal::Maximum,
        zero: ALWAYS_ZERO,
    },
    ChartKind {
        counter: "ncts",
        title: "Rejected messages (NCTS)",
        unit: "packets",
        total: ChartTotal::Sum,
        zero: ALWAYS_ZERO,
    },
    ChartKind {
        counter: "restarts",
        title: "Restarts",
        unit: "packets",
        total: ChartTotal::Sum,
        zero: ALWAYS_ZERO,
    },
];

/// Line of a chart: the values at the samples where it changes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct ChartLine {
    /// Rank; `None` for all ranks.
    rank: Option<usize>,
    /// Sample and value.
    steps: Vec<[u64; 2]>,
}

/// A chart.
#[derive(Clone, Debug, Serialize)]
struct MemoryChart {
    title: &'static str,
    unit: &'static str,
    total: ChartTotal,
    zero: &'static str,
    /// The line of all ranks, and those of single ranks.
    lines: Vec<ChartLine>,
}

/// Charts of a job.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryCharts {
    samples: usize,
    charts: Vec<MemoryChart>,
    #[serde(skip)]
    ranks: usize,
}

impl MemoryCharts {
    /// Collects the counters of a job.
    #[must_use]
    pub fn new(job: &JobTrace) -> Self {
        let has_counters = job.ranks.iter().any(|rank| !rank.counters.is_empty());
        let charts = CHARTS.iter().filter(|_| has_counters).map(|kind| chart(job, kind));
        Self {
            samples: SAMPLES,
            charts: charts.collect(),
            ranks: job.ranks.len(),
        }
    }
}

fn chart(job: &JobTrace, kind: &ChartKind) -> MemoryChart {
    let counter = COUNTER_NAMES.iter().position(|name| *name == kind.counter);
    let values = |rank: &RankTrace| sampled(rank, counter.unwrap_or_default(), job);
    let mut all = vec![0_u64; SAMPLES];
    let mut lines = Vec::new();
    for (rank, trace) in job.ranks.iter().enumerate() {
        let samples = values(trace);
        for (sum, value) in all.iter_mut().zip(&samples) {
            *sum = match kind.total {
                ChartTotal::Maximum => (*sum).max(*value),
                ChartTotal::Sum => *sum + *value,
            };
        }
        let peak = samples.iter().copied().max().unwrap_or(0);
        lines.push((peak, ChartLine::new(Some(rank), &samples)));
    }
    lines.sort_by_key(|(peak, line)| (std::cmp::Reverse(*peak), line.rank));
    lines.truncate(MAX_LINES);
    let single = lines.into_iter().map(|(_, line)| line);
    MemoryChart {
        title: kind.title,
        unit: kind.unit,
        total: kind.total,
        zero: kind.zero,
        lines: [ChartLine::new(None, &all)].into_iter().chain(single).collect(),
    }
}

impl ChartLine {
    fn new(rank: Option<usize>, samples: &[u64]) -> Self {
        let mut steps: Vec<[u64; 2]> = Vec::new();
        for (at, value) in samples.iter().enumerate() {
            if steps.last().is_none_or(|[_, last]| last != value) {
                steps.push([at as u64, *value]);
            }
        }
        Self { rank, steps }
    }
}

/// Returns the largest value of a counter in each sample. A sample without a record has the value before it.
fn sampled(rank: &RankTrace, counter: usize, job: &JobTrace) -> Vec<u64> {
    let start = job.start();
    let width = job.end().saturating_sub(start).div_ceil(SAMPLES as u64).max(1);
    let mut samples = Vec::with_capacity(SAMPLES);
    let mut records = rank.counters.iter().peekable();
    let mut last = 0;
    for sample in 0..SAMPLES as u64 {
        let mut largest = None;
        let is_last = sample + 1 == SAMPLES as u64;
        while let Some(record) = records.next_if(|record| is_last || record.time < start + (sample + 1) * width) {
            last = record.values[counter];
            largest = largest.max(Some(last));
        }
        samples.push(largest.unwrap_or(last));
    }
    samples
}

/// Writes the section of the page.
///
/// # Errors
/// Returns the errors of the writer.
pub(super) fn write_section(to: &mut dyn Write, memory: &MemoryCharts) -> Result<()> {
    writeln!(to, "<section id=\"memory\">\n<h2>Memory over time</h2>")?;
    if memory.charts.is_empty() {
        return writeln!(to, "<p>The trace contains no counters.</p>\n</section>");
    }
    writeln!(
        to,
        "<p class=\"note\">Thick line: maximum or sum of all {} ranks. Thin lines: the ranks with the largest values, at \
         most {MAX_LINES}. The ranks record their counters at the end of a call.</p>\n\
         <div id=\"memory-charts\" class=\"charts\"></div>\n</section>",
        Grouped(memory.ranks as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_contain_changes_only() {
        let line = ChartLine::new(Some(3), &[0, 0, 5, 5, 0]);
        assert_eq!(line.steps, [[0, 0], [2, 5], [4, 0]]);
    }
}
