//! Memory and rejections over time, from the counters in the trace.

use super::markup::Grouped;
use crate::job::{JobTrace, RankTrace};
use midplane_abi::counters::{Counter, CounterTotal, TRACED};
use serde::Serialize;
use std::io::{Result, Write};

/// Number of times of a chart.
pub const SAMPLES: usize = 240;
/// Maximum number of ranks with a line; those with the largest values have one.
pub const MAX_LINES: usize = 16;

/// Returns the text of a chart whose values are all 0.
fn zero_text(counter: Counter) -> &'static str {
    match counter {
        Counter::HeapPeakBytes => "recorded by nodes in QEMU and boards only",
        _ => "0 during the whole job",
    }
}

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
    /// Combination of the ranks' values.
    total: &'static str,
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
        let charts = (0..TRACED.len())
            .filter(|_| has_counters)
            .filter_map(|at| chart(job, at));
        Self {
            samples: SAMPLES,
            charts: charts.collect(),
            ranks: job.ranks.len(),
        }
    }
}

/// Returns the chart of the traced counter with this index, if it has one.
fn chart(job: &JobTrace, index: usize) -> Option<MemoryChart> {
    let counter = TRACED[index];
    let title = counter.views().chart?;
    let about = counter.about();
    let values = |rank: &RankTrace| sampled(rank, index, job);
    let mut all = vec![0_u64; SAMPLES];
    let mut lines = Vec::new();
    for (rank, trace) in job.ranks.iter().enumerate() {
        let samples = values(trace);
        for (sum, value) in all.iter_mut().zip(&samples) {
            *sum = about.total.combine(*sum, *value);
        }
        let peak = samples.iter().copied().max().unwrap_or(0);
        lines.push((peak, ChartLine::new(Some(rank), &samples)));
    }
    lines.sort_by_key(|(peak, line)| (std::cmp::Reverse(*peak), line.rank));
    lines.truncate(MAX_LINES);
    let single = lines.into_iter().map(|(_, line)| line);
    Some(MemoryChart {
        title,
        unit: about.unit.name(),
        total: match about.total {
            CounterTotal::Max => "maximum",
            CounterTotal::Sum => "sum",
        },
        zero: zero_text(counter),
        lines: [ChartLine::new(None, &all)].into_iter().chain(single).collect(),
    })
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
