//! The report at the end of a job: a table by rank, and the same as JSON.

use crate::job::JobEnd;
use crate::stop::{Doing, Stop};
use crate::verdict::Seen;
use kernel_rt::blackboard::{CHANNEL_COUNTERS, COUNTERS, FRAME_COUNTERS, LinkCounters, State};
use net_torus::{Direction, Shape, Vc};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::Path;

/// With more nodes than this the table shows totals and the busiest nodes.
const WHOLE_TABLE: usize = 32;
/// How many of the busiest nodes it shows then.
const BUSIEST: usize = 8;

/// The table's columns: the counter's name in the JSON report, and the heading in two lines.
const COLUMNS: [(&str, [&str; 2]); 11] = [
    ("messages", ["", "messages"]),
    ("rts", ["", "RTS"]),
    ("cts", ["", "CTS"]),
    ("nctsd", ["", "NCTSD"]),
    ("ncts", ["", "NCTS"]),
    ("resend_all", ["", "restart"]),
    ("peak_unexpected_records", ["peak unexp.", "records"]),
    ("peak_unexpected_bytes", ["peak unexp.", "bytes"]),
    ("packets_sent", ["packets", "sent"]),
    ("packets_forwarded", ["packets", "forwarded"]),
    ("idle_share", ["idle", "share"]),
];

/// What the report says about the job as a whole.
#[derive(Serialize)]
pub struct JobFacts {
    /// The program's file.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Extents along X, Y, Z.
    pub torus: [u16; 3],
    /// Which dimensions wrap around.
    pub wraps: [bool; 3],
    /// Number of nodes.
    pub nodes: u32,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Region for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Whether the program's heap lent to MPI what it could spare.
    pub mpi_borrow: bool,
}

impl JobFacts {
    /// Fills in what the machine's shape says.
    pub fn of_shape(shape: &Shape) -> Self {
        Self {
            program: String::new(),
            arguments: Vec::new(),
            torus: shape.extents(),
            wraps: shape.wraps(),
            nodes: shape.nodes(),
            node_memory: 0,
            mpi_memory: 0,
            mpi_borrow: false,
        }
    }
}

/// The whole report.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    job: &'a JobFacts,
    outcome: &'a str,
    status: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    seconds: f64,
    totals: Counters,
    ranks: Vec<RankReport>,
}

#[derive(Serialize)]
struct RankReport {
    rank: u32,
    coordinates: [u8; 3],
    state: &'static str,
    status: Option<i32>,
    #[serde(flatten)]
    counters: Counters,
    links: Vec<LinkReport>,
}

/// One link, seen from one of its ends.
#[derive(Serialize)]
struct LinkReport {
    direction: &'static str,
    /// The rank at the other end.
    to: u32,
    #[serde(flatten)]
    frames: BTreeMap<&'static str, u64>,
    channels: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
}

impl LinkReport {
    fn new(d: Direction, to: u32, counters: &LinkCounters) -> Self {
        Self {
            direction: d.name(),
            to,
            frames: FRAME_COUNTERS.into_iter().zip(counters.frames).collect(),
            channels: Vc::ALL
                .into_iter()
                .zip(&counters.channels)
                .map(|(vc, counts)| {
                    let counts = CHANNEL_COUNTERS.into_iter().zip(counts.iter().copied());
                    (vc.name(), counts.collect())
                })
                .collect(),
        }
    }
}

/// A node's links: direction, the rank at the other end, counters.
fn links_of<'a>(shape: &Shape, node: &'a Seen) -> Vec<(Direction, u32, &'a LinkCounters)> {
    let Ok(account) = &node.account else {
        return Vec::new();
    };
    let links = shape.links(node.coord);
    links
        .iter()
        .filter_map(|d| {
            let to = shape.rank(shape.neighbour(node.coord, d)?)?;
            Some((d, to, &account.links[d as usize]))
        })
        .collect()
}

/// Counters of one node or of all, by [`COUNTERS`].
#[derive(Clone, PartialEq, Eq, Debug)]
struct Counters([u64; COUNTERS.len()]);

impl Counters {
    const NONE: Self = Self([0; COUNTERS.len()]);

    fn of(node: &Seen) -> Self {
        node.account
            .as_ref()
            .map_or(Self::NONE, |account| Self(account.counters))
    }

    /// All nodes together: sums, but for peaks the greatest.
    fn total(all: &[Self]) -> Self {
        let mut total = Self::NONE;
        for counters in all {
            for (at, name) in COUNTERS.iter().enumerate() {
                let (sum, one) = (&mut total.0[at], counters.0[at]);
                *sum = if name.contains("peak") {
                    (*sum).max(one)
                } else {
                    sum.saturating_add(one)
                };
            }
        }
        total
    }

    /// By the report's name.
    fn get(&self, name: &str) -> u64 {
        COUNTERS
            .iter()
            .position(|counter| report_name(counter) == name)
            .map_or(0, |at| self.0[at])
    }

    /// Part of the time in which the node slept, 0 to 1.
    fn idle_share(&self) -> f64 {
        match self.get("run_ticks") {
            0 => 0.0,
            run => (self.get("idle_ticks") as f64 / run as f64).min(1.0),
        }
    }

    /// One cell of the table.
    fn cell(&self, column: &str) -> String {
        match column {
            "idle_share" => format!("{:.1} %", 100.0 * self.idle_share()),
            counter => self.get(counter).to_string(),
        }
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(COUNTERS.len() + 1))?;
        for (name, value) in COUNTERS.iter().zip(self.0) {
            map.serialize_entry(report_name(name), &value)?;
        }
        map.serialize_entry("idle_share", &self.idle_share())?;
        map.end()
    }
}

/// A counter's name in the report: what a rank sent of the protocol goes by the protocol's own word.
fn report_name(counter: &'static str) -> &'static str {
    match counter.strip_suffix("_sent") {
        Some(word) if word != "packets" => word,
        _ => counter,
    }
}

/// The table, line by line.
pub fn table(end: &JobEnd) -> Vec<String> {
    let all: Vec<Counters> = end.nodes.iter().map(Counters::of).collect();
    let mut rows: Vec<Vec<String>> = [0, 1]
        .map(|line| {
            let first = ["", "rank"][line].to_string();
            let place = ["", "(x,y,z)"][line].to_string();
            let cells = COLUMNS.iter().map(|(_, heading)| heading[line].to_string());
            [first, place].into_iter().chain(cells).collect()
        })
        .to_vec();
    let mut row = |name: String, place: String, counters: &Counters| {
        let cells = COLUMNS.iter().map(|(column, _)| counters.cell(column));
        rows.push([name, place].into_iter().chain(cells).collect());
    };
    for at in shown(&all) {
        let node = &end.nodes[at];
        let c = node.coord;
        row(
            node.rank.to_string(),
            format!("({},{},{})", c.x, c.y, c.z),
            &all[at],
        );
    }
    row("all".into(), String::new(), &Counters::total(&all));
    let mut lines = align(&rows);
    if all.len() > WHOLE_TABLE {
        lines.push(busiest(all.len()));
    }
    lines
}

/// The table of the links, line by line: what each end has sent by channel, forwarded, received, and the
/// fullest its buffers were.
pub fn link_table(shape: &Shape, end: &JobEnd) -> Vec<String> {
    let all: Vec<Counters> = end.nodes.iter().map(Counters::of).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in [
        [
            "", "", "to", "packets", "sent", "on", "", "packets", "packets", "peak", "frames",
            "of these", "frames",
        ],
        [
            "rank",
            "link",
            "rank",
            "D0",
            "D1",
            "BN",
            "BP",
            "forwarded",
            "received",
            "chunks",
            "sent",
            "tokens",
            "received",
        ],
    ] {
        rows.push(line.map(String::from).to_vec());
    }
    for at in shown(&all) {
        let node = &end.nodes[at];
        for (d, to, counters) in links_of(shape, node) {
            let sum = |counter: usize| counters.channels.iter().map(|c| c[counter]).sum::<u64>();
            let peak = counters.channels.iter().map(|c| c[4]).max().unwrap_or(0);
            let sent = counters.channels.map(|c| c[0].to_string());
            let [frames, tokens, frames_received] = counters.frames.map(|n| n.to_string());
            let mut row = vec![node.rank.to_string(), d.name().into(), to.to_string()];
            row.extend(sent);
            row.extend([sum(2), sum(3), peak].map(|n| n.to_string()));
            row.extend([frames, tokens, frames_received]);
            rows.push(row);
        }
    }
    let mut lines = align(&rows);
    if all.len() > WHOLE_TABLE {
        lines.push(busiest(all.len()));
    }
    lines
}

fn busiest(of: usize) -> String {
    format!("(the {BUSIEST} busiest of {of} ranks; --report FILE has them all)")
}

/// Which nodes the table shows: all, or the busiest by packets, in the order of their ranks.
fn shown(all: &[Counters]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    if all.len() > WHOLE_TABLE {
        let packets = |at: &usize| {
            let counters = &all[*at];
            ["packets_sent", "packets_received", "packets_forwarded"]
                .map(|name| counters.get(name))
                .into_iter()
                .fold(0, u64::saturating_add)
        };
        order.sort_by_key(|at| std::cmp::Reverse(packets(at)));
        order.truncate(BUSIEST);
        order.sort_unstable();
    }
    order
}

/// Columns under each other, to the right.
fn align(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(String::len).max().unwrap_or(0)
        })
        .collect();
    rows.iter()
        .map(|row| {
            row.iter()
                .zip(&widths)
                .map(|(cell, &width)| format!("{cell:>width$}"))
                .collect::<Vec<_>>()
                .join("  ")
        })
        .collect()
}

/// Finds out before the job whether the report can be written after it.
pub fn check(path: &Path) -> Result<(), Stop> {
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    opened.map(drop).map_err(|error| {
        Stop::usage(format!(
            "cannot write the report to {}: {error}",
            path.display()
        ))
    })
}

/// Writes the report as JSON.
pub fn write(path: &Path, job: &JobFacts, end: &JobEnd) -> Result<(), Stop> {
    let json = serde_json::to_string_pretty(&report(job, end)).doing("write the report")?;
    std::fs::write(path, json + "\n").doing(format_args!("write {}", path.display()))
}

fn report<'a>(job: &'a JobFacts, end: &'a JobEnd) -> Report<'a> {
    let all: Vec<Counters> = end.nodes.iter().map(Counters::of).collect();
    let shape = Shape::new(job.torus, job.wraps);
    Report {
        job,
        outcome: end.outcome,
        status: end.status,
        message: end.message.as_deref(),
        seconds: end.elapsed.as_secs_f64(),
        totals: Counters::total(&all),
        ranks: end
            .nodes
            .iter()
            .zip(all)
            .map(|(node, counters)| RankReport {
                rank: node.rank,
                coordinates: [node.coord.x, node.coord.y, node.coord.z],
                state: match node.state() {
                    None => "unreadable",
                    Some(State::Off) => "off",
                    Some(State::Booting) => "booting",
                    Some(State::Running) => "running",
                    Some(State::Done) => "done",
                    Some(State::Failed) => "failed",
                },
                status: node
                    .account
                    .as_ref()
                    .ok()
                    .filter(|account| matches!(account.state, State::Done | State::Failed))
                    .map(|account| account.status),
                counters,
                links: shape
                    .iter()
                    .flat_map(|shape| links_of(shape, node))
                    .map(|(d, to, counters)| LinkReport::new(d, to, counters))
                    .collect(),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::tests::seen;
    use std::time::Duration;

    fn end(nodes: u32) -> JobEnd {
        JobEnd {
            status: 0,
            outcome: "ended",
            message: None,
            nodes: (0..nodes)
                .map(|rank| {
                    seen(rank, State::Done, |account| {
                        let mut set = |name: &str, value| {
                            let at = COUNTERS.iter().position(|c| *c == name).unwrap();
                            account.counters[at] = value;
                        };
                        set("messages_sent", 10 + u64::from(rank));
                        set("ncts_sent", 3);
                        set("peak_unexpected_bytes", 100 * u64::from(rank));
                        set("packets_sent", 1000 - u64::from(rank));
                        set("idle_ticks", 1);
                        set("run_ticks", 4);
                    })
                })
                .collect(),
            elapsed: Duration::from_millis(1500),
        }
    }

    #[test]
    fn every_column_is_a_counter_or_derived() {
        for (column, _) in COLUMNS {
            assert!(
                column == "idle_share" || COUNTERS.iter().any(|c| report_name(c) == column),
                "{column}"
            );
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_rank_and_one_for_all() {
        let lines = table(&end(3));
        assert_eq!(lines.len(), 2 + 3 + 1);
        assert!(lines[1].contains("restart") && lines[1].contains("NCTSD"));
        let cells: Vec<&str> = lines[4].split_whitespace().collect();
        assert_eq!(cells[..3], ["2", "(2,0,0)", "12"]);
        let all: Vec<&str> = lines[5].split_whitespace().collect();
        // Messages are summed, peaks are not.
        assert_eq!(all[..2], ["all", "33"]);
        assert!(all.contains(&"200") && all.contains(&"25.0"), "{all:?}");
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
    }

    #[test]
    fn links_are_shown_and_written_by_direction_and_channel() {
        let shape = Shape::new([3, 1, 1], [false, true, true]).unwrap();
        let mut end = end(3);
        for node in &mut end.nodes {
            let links = &mut node.account.as_mut().unwrap().links;
            links[Direction::XPlus as usize].channels[Vc::Bn as usize] = [70, 560, 20, 30, 16];
            links[Direction::XPlus as usize].frames = [9, 4, 8];
        }
        // A mesh of three: one link at each end, two in the middle.
        let lines = link_table(&shape, &end);
        assert_eq!(lines.len(), 2 + 4, "{lines:?}");
        let cells: Vec<&str> = lines[3].split_whitespace().collect();
        let expected = "1 X+ 2 0 0 70 0 20 30 16 9 4 8";
        assert_eq!(cells.join(" "), expected);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        let json = serde_json::to_value(report(&JobFacts::of_shape(&shape), &end)).unwrap();
        let links = &json["ranks"][1]["links"];
        assert_eq!(links.as_array().unwrap().len(), 2);
        assert_eq!(links[0]["direction"], "X+");
        assert_eq!((&links[0]["to"], &links[1]["to"]), (&2.into(), &0.into()));
        assert_eq!(links[0]["channels"]["BN"]["packets_forwarded"], 20);
        assert_eq!(links[0]["token_frames_sent"], 4);
    }

    #[test]
    fn a_big_table_shows_the_busiest() {
        let lines = table(&end(40));
        assert_eq!(lines.len(), 2 + BUSIEST + 1 + 1);
        assert!(lines[2].trim_start().starts_with("0 "));
    }

    #[test]
    fn json_has_the_same_names() {
        let end = end(2);
        let job = JobFacts::of_shape(&Shape::new([2, 1, 1], [true; 3]).unwrap());
        let json: serde_json::Value = serde_json::to_value(report(&job, &end)).unwrap();
        for (column, _) in COLUMNS {
            assert!(json["ranks"][1][column].is_number(), "{column}");
            assert!(json["totals"][column].is_number(), "{column}");
        }
        assert_eq!(json["ranks"][1]["messages"], 11);
        assert_eq!(json["ranks"][1]["coordinates"][0], 1);
        assert_eq!(json["ranks"][0]["idle_share"], 0.25);
        assert_eq!(json["totals"]["ncts"], 6);
        assert_eq!(json["totals"]["peak_unexpected_bytes"], 100);
        assert_eq!(json["torus"][0], 2);
        assert_eq!(json["seconds"], 1.5);
    }
}
