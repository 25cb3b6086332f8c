//! Table of a job's ranks.

use super::snapshot::{JobSnapshot, RankSnapshot};
use crate::host::size;
use clap::ValueEnum;
use std::cmp::Reverse;

/// Space between two columns.
const GAP: &str = "  ";

/// Order of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum SortKey {
    /// Ascending ranks
    #[default]
    Rank,
    /// Most calls that have waited first
    Calls,
    /// Most records of unexpected messages first
    Unexpected,
    /// Largest peak of the MPI memory first
    Memory,
    /// Most packets per second first
    Packets,
}

/// Two states of a job, for rates.
pub struct JobInterval<'s> {
    /// Earlier state; `None` for rates since the start of the job.
    pub before: Option<&'s JobSnapshot>,
    /// Current state.
    pub now: &'s JobSnapshot,
}

/// A rank with its rates.
struct RankRow<'s> {
    state: &'s RankSnapshot,
    /// Packets per second.
    rate: f64,
    /// Link with the most packets per second, and these.
    busiest: Option<BusiestLink<'s>>,
}

struct BusiestLink<'s> {
    direction: &'s str,
    rate: f64,
}

impl<'s> JobInterval<'s> {
    /// Returns the length in seconds.
    fn seconds(&self) -> f64 {
        let begin = self.before.map_or(0.0, |before| before.seconds);
        (self.now.seconds - begin).max(1e-3)
    }

    fn row(&self, at: usize) -> RankRow<'s> {
        let state = &self.now.ranks[at];
        let before = self.before.and_then(|before| before.ranks.get(at));
        let seconds = self.seconds();
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let links = state.links.iter().enumerate().map(|(link, counters)| {
            let before = before.and_then(|before| before.links.get(link));
            BusiestLink {
                direction: &counters.direction,
                rate: rate(counters.packets_sent, before.map_or(0, |before| before.packets_sent)),
            }
        });
        RankRow {
            state,
            rate: rate(state.packets_sent, before.map_or(0, |before| before.packets_sent)),
            busiest: links
                .max_by(|one, other| one.rate.total_cmp(&other.rate))
                .filter(|link| link.rate > 0.0),
        }
    }

    /// Returns the lines of the table: at most this many ranks.
    pub fn lines(&self, key: SortKey, max_ranks: usize) -> Vec<String> {
        let job = self.now;
        let [x, y, z] = job.torus;
        let mut lines = vec![format!(
            "{}: {} ranks on {x}x{y}x{z} nodes, {:.1} s, process {}",
            job.program,
            job.ranks.len(),
            job.seconds,
            job.pid
        )];
        let mut rows: Vec<RankRow<'_>> = (0..job.ranks.len()).map(|at| self.row(at)).collect();
        sort(&mut rows, key);
        let omitted = rows.len().saturating_sub(max_ranks);
        rows.truncate(max_ranks);
        lines.extend(grid(rows.iter().map(RankRow::cells)));
        if omitted > 0 {
            lines.push(format!("and {omitted} more ranks; --sort KEY selects others"));
        }
        lines
    }
}

/// Sorts the ranks; those with equal values remain ascending.
fn sort(rows: &mut [RankRow<'_>], key: SortKey) {
    match key {
        SortKey::Rank => {}
        SortKey::Calls => rows.sort_by_key(|row| Reverse(row.state.calls)),
        SortKey::Unexpected => rows.sort_by_key(|row| Reverse(row.state.unexpected_records)),
        SortKey::Memory => rows.sort_by_key(|row| Reverse(row.state.peak_unexpected_bytes)),
        SortKey::Packets => rows.sort_by(|one, other| other.rate.total_cmp(&one.rate)),
    }
}

/// Headings; those of the last column and its cells are left-aligned.
const HEADINGS: [&str; 12] = [
    "rank",
    "(x,y,z)",
    "calls",
    "posted",
    "unexp.",
    "records",
    "MPI peak",
    "heap peak",
    "NCTS",
    "packets/s",
    "busiest link",
    "state",
];

impl RankRow<'_> {
    fn cells(&self) -> [String; HEADINGS.len()] {
        let state = self.state;
        let [x, y, z] = state.coordinates;
        let queue = |length: Option<u32>| length.map_or("-".into(), |length| length.to_string());
        [
            state.rank.to_string(),
            format!("({x},{y},{z})"),
            state.calls.to_string(),
            queue(state.queues.map(|queues| queues.posted_receives)),
            queue(state.queues.map(|queues| queues.unexpected_messages)),
            state.unexpected_records.to_string(),
            size::approximate(state.peak_unexpected_bytes),
            size::approximate(state.heap_peak_bytes),
            state.ncts.to_string(),
            format!("{:.0}", self.rate),
            self.busiest
                .as_ref()
                .map_or("-".into(), |link| format!("{} {:.0}/s", link.direction, link.rate)),
            state.activity.clone(),
        ]
    }
}

fn grid(rows: impl Iterator<Item = [String; HEADINGS.len()]>) -> Vec<String> {
    let all: Vec<[String; HEADINGS.len()]> = [HEADINGS.map(String::from)].into_iter().chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let line = |row: &[String; HEADINGS.len()]| {
        let (last, cells) = row.split_last()?;
        let cells = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:>width$}{GAP}"));
        Some(cells.collect::<String>() + last)
    };
    all.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::{LinkSnapshot, QueueLengths};
    use super::*;

    fn job(seconds: f64, packets: [u64; 3]) -> JobSnapshot {
        let rank = |rank: usize| RankSnapshot {
            rank: rank as u32,
            coordinates: [rank as u8, 0, 0],
            activity: "in MPI_Recv (peer 1, tag 20)".into(),
            calls: 7,
            queues: (rank == 0).then_some(QueueLengths {
                posted_receives: 1,
                unexpected_messages: 2,
            }),
            peak_unexpected_bytes: 65536,
            packets_sent: packets[rank],
            links: vec![LinkSnapshot {
                direction: "X+".into(),
                packets_sent: packets[rank],
            }],
            ..RankSnapshot::default()
        };
        JobSnapshot {
            pid: 4711,
            program: "a.c".into(),
            torus: [3, 1, 1],
            seconds,
            ranks: (0..3).map(rank).collect(),
        }
    }

    #[test]
    fn rates_are_those_of_the_interval() {
        let (before, now) = (job(1.0, [10, 10, 10]), job(3.0, [10, 30, 20]));
        let interval = JobInterval {
            before: Some(&before),
            now: &now,
        };
        let lines = interval.lines(SortKey::Packets, 2);
        insta::assert_snapshot!("top", lines.join("\n"));
        let interval = JobInterval {
            before: None,
            now: &now,
        };
        let lines = interval.lines(SortKey::Rank, 3);
        assert!(lines[3].contains(" X+ 10/s "), "{lines:#?}");
    }
}
