//! Table of a job's ranks.

use super::snapshot::{JobSnapshot, RankSnapshot};
use crate::host::size;
use clap::ValueEnum;
use midplane_abi::counters::{Counter, CounterUnit};
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
    /// Increase of each counter per second, by [`Counter`].
    rates: [f64; Counter::COUNT],
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
            rates: Counter::ALL.map(|counter| {
                let before = before.map_or(0, |before| before.counter(counter));
                rate(state.counter(counter), before)
            }),
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
        SortKey::Unexpected => rows.sort_by_key(|row| Reverse(row.state.counter(Counter::UnexpectedRecords))),
        SortKey::Memory => rows.sort_by_key(|row| Reverse(row.state.counter(Counter::PeakUnexpectedBytes))),
        SortKey::Packets => {
            let rate = |row: &RankRow<'_>| row.rates[Counter::PacketsSent as usize];
            rows.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
        }
    }
}

/// Headings before the counters.
const KEY_HEADINGS: [&str; 5] = ["rank", "(x,y,z)", "calls", "posted", "unexp."];
/// Headings after the counters; that of the last column and its cells are left-aligned.
const LAST_HEADINGS: [&str; 2] = ["busiest link", "state"];

/// Returns all headings.
fn headings() -> Vec<String> {
    let counters = Counter::ALL.into_iter().flat_map(|counter| {
        let views = counter.views();
        [views.top, views.rate].into_iter().flatten()
    });
    let all = KEY_HEADINGS.into_iter().chain(counters).chain(LAST_HEADINGS);
    all.map(String::from).collect()
}

impl RankRow<'_> {
    fn cells(&self) -> Vec<String> {
        let state = self.state;
        let [x, y, z] = state.coordinates;
        let queue = |length: Option<u32>| length.map_or("-".into(), |length| length.to_string());
        let mut cells = vec![
            state.rank.to_string(),
            format!("({x},{y},{z})"),
            state.calls.to_string(),
            queue(state.queues.map(|queues| queues.posted_receives)),
            queue(state.queues.map(|queues| queues.unexpected_messages)),
        ];
        for counter in Counter::ALL {
            let (about, views) = (counter.about(), counter.views());
            let value = state.counter(counter);
            cells.extend(views.top.map(|_| match about.unit {
                CounterUnit::Bytes => size::approximate(value),
                _ => value.to_string(),
            }));
            cells.extend(views.rate.map(|_| format!("{:.0}", self.rates[counter as usize])));
        }
        let busiest = self.busiest.as_ref();
        cells.push(busiest.map_or("-".into(), |link| format!("{} {:.0}/s", link.direction, link.rate)));
        cells.push(state.activity.clone());
        cells
    }
}

/// Returns the lines of headings and rows, which all have one cell for each heading.
fn grid(rows: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let all: Vec<Vec<String>> = [headings()].into_iter().chain(rows).collect();
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..all[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
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
            counters: [
                (Counter::PeakUnexpectedBytes, 65536),
                (Counter::PacketsSent, packets[rank]),
            ]
            .map(|(counter, value)| (counter.about().name.to_string(), value))
            .into(),
            links: vec![LinkSnapshot {
                direction: "X+".into(),
                packets_sent: packets[rank],
            }],
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
