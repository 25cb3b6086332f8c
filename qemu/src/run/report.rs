//! Report at the end of a job: a table by rank, and the same data as JSON.

pub mod page_facts;
pub mod picture;
#[cfg(test)]
mod reference;

use crate::host::error::{CliError, ErrorContext};
use crate::run::job_result::JobResult;
use crate::run::node::{StackUse, StacksUse};
use crate::run::outcome::{JobOutcome, ObservedNode};
use crate::show::file::ResultFile;
use crate::show::table::{CellText, Column, ColumnAlignment, Table};
use midplane_abi::blackboard::NodeState;
use midplane_abi::counters::{ChannelCounter, Counter, CounterInfo, LinkCounter, LinkCounters};
use net_torus::{Direction, Shape, Vc};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of nodes in a complete table; larger ones show totals and the busiest nodes.
const MAX_TABLE_RANKS: usize = 32;
/// Number of busiest nodes in such a table.
const BUSIEST_RANKS: usize = 8;

/// One of several programs of a job.
#[derive(Clone, Serialize)]
pub struct ProgramFacts {
    /// File of the program.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// First rank that runs it.
    pub first_rank: u32,
    /// Number of ranks that run it.
    pub ranks: u32,
}

/// One of several hosts of a job.
#[derive(Clone, Serialize)]
pub struct HostFacts {
    /// Name of the host.
    pub host: String,
    /// Its ranks.
    pub ranks: Vec<u32>,
}

/// Properties of the job in the report.
#[derive(Serialize)]
pub struct JobFacts {
    /// File of the program.
    pub program: String,
    /// Arguments of the program.
    pub arguments: Vec<String>,
    /// All programs, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramFacts>,
    /// All hosts, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostFacts>,
    /// Extents along X, Y, Z.
    pub torus: [u16; 3],
    /// Dimensions with wrap-around links.
    pub wraps: [bool; 3],
    pub nodes: u32,
    /// RAM of a node in bytes.
    pub node_memory: u64,
    /// Memory for incoming MPI traffic in bytes.
    pub mpi_memory: u64,
    /// Whether the program's heap provided loans of free memory to MPI.
    pub mpi_borrow: bool,
    /// Matching engine of the nodes; `None` if no node was started.
    pub matching: Option<String>,
}

impl JobFacts {
    /// Creates the properties that the machine's shape specifies.
    pub fn of_shape(shape: &Shape) -> Self {
        Self {
            program: String::new(),
            arguments: Vec::new(),
            programs: Vec::new(),
            hosts: Vec::new(),
            torus: shape.extents(),
            wraps: shape.wraps(),
            nodes: shape.nodes(),
            node_memory: 0,
            mpi_memory: 0,
            mpi_borrow: false,
            matching: None,
        }
    }
}

/// The complete report.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    job: &'a JobFacts,
    outcome: JobOutcome,
    status: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    seconds: f64,
    /// Duration in virtual time, if the nodes use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    virtual_seconds: Option<f64>,
    /// Cut links whose frames were rerouted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_links: Vec<String>,
    totals: NodeCounters,
    ranks: Vec<RankReport>,
    counters: CounterLegends,
}

#[derive(Serialize)]
struct RankReport {
    rank: u32,
    coordinates: [u8; 3],
    state: &'static str,
    status: Option<i32>,
    #[serde(flatten)]
    counters: NodeCounters,
    #[serde(flatten)]
    stacks: Option<StacksUse>,
    links: Vec<LinkReport>,
}

/// One link, seen from one end.
#[derive(Serialize)]
struct LinkReport {
    direction: &'static str,
    /// Rank at the other end.
    to: u32,
    #[serde(flatten)]
    frames: CounterValues,
    channels: BTreeMap<&'static str, CounterValues>,
}

/// Values by counter name.
type CounterValues = BTreeMap<&'static str, u64>;

impl LinkReport {
    fn new(d: Direction, to: u32, counters: &LinkCounters) -> Self {
        let frames = LinkCounter::ALL.map(|c| (c.about().name, counters.get(c)));
        let channel = |vc| {
            let value = |c: ChannelCounter| (c.about().name, counters.channel_counter(vc, c));
            (vc.name(), ChannelCounter::ALL.map(value).into())
        };
        Self {
            direction: d.name(),
            to,
            frames: frames.into(),
            channels: Vc::ALL.map(channel).into(),
        }
    }
}

/// Description of a counter in the report.
#[derive(Serialize)]
struct CounterLegend {
    name: &'static str,
    unit: &'static str,
    /// Operation that combines the ranks' values.
    total: &'static str,
    meaning: &'static str,
}

impl CounterLegend {
    fn new(about: CounterInfo) -> Self {
        Self {
            name: about.name,
            unit: about.unit.name(),
            total: about.total.name(),
            meaning: about.meaning,
        }
    }
}

/// Descriptions of the counters of ranks, links and channels.
#[derive(Serialize)]
struct CounterLegends {
    ranks: Vec<CounterLegend>,
    links: Vec<CounterLegend>,
    channels: Vec<CounterLegend>,
}

impl CounterLegends {
    fn all() -> Self {
        Self {
            ranks: Counter::ALL.map(|c| CounterLegend::new(c.about())).into(),
            links: LinkCounter::ALL.map(|c| CounterLegend::new(c.about())).into(),
            channels: ChannelCounter::ALL.map(|c| CounterLegend::new(c.about())).into(),
        }
    }
}

/// Returns a node's links: direction, rank at the other end, counters.
fn links_of<'a>(shape: &Shape, node: &'a ObservedNode) -> Vec<(Direction, u32, &'a LinkCounters)> {
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

/// Counters of one node or of all, by [`Counter`].
#[derive(Clone, PartialEq, Eq, Debug)]
struct NodeCounters([u64; Counter::COUNT]);

impl NodeCounters {
    const NONE: Self = Self([0; Counter::COUNT]);

    fn from_node(node: &ObservedNode) -> Self {
        node.account
            .as_ref()
            .map_or(Self::NONE, |account| Self(account.counters))
    }

    /// Combines the counters of all nodes.
    fn total(all: &[Self]) -> Self {
        all.iter().fold(Self::NONE, |total, one| {
            Self(Counter::ALL.map(|c| c.about().total.combine(total.get(c), one.get(c))))
        })
    }

    fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Returns the share of time in which the node slept, 0 to 1.
    fn idle_share(&self) -> f64 {
        match self.get(Counter::RunTicks) {
            0 => 0.0,
            run => (self.get(Counter::IdleTicks) as f64 / run as f64).min(1.0),
        }
    }
}

impl Serialize for NodeCounters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Counter::COUNT + 1))?;
        for counter in Counter::ALL {
            map.serialize_entry(counter.about().name, &self.get(counter))?;
        }
        map.serialize_entry("idle_share", &self.idle_share())?;
        map.end()
    }
}

/// A table row: one rank, or the total.
struct RankRow {
    name: String,
    place: String,
    counters: NodeCounters,
}

const fn rank(heading: &'static str, text: fn(&RankRow) -> String) -> Column<RankRow> {
    Column {
        heading,
        cells: ColumnAlignment::Right(0),
        text: CellText::Of(text),
    }
}

/// Number of counters with a column in the table of the ranks.
const TABLE_COUNTERS: usize = {
    let (mut at, mut count) = (0, 0);
    while at < Counter::COUNT {
        if Counter::ALL[at].views().table.is_some() {
            count += 1;
        }
        at += 1;
    }
    count
};

/// Table of the ranks: name, coordinates, the counters of the list, and the idle share.
const RANKS: Table<RankRow> = Table {
    columns: &{
        const IDLE: Column<RankRow> = rank("idle\nshare", |row| {
            format!("{:.1} %", 100.0 * row.counters.idle_share())
        });
        let mut columns = [IDLE; TABLE_COUNTERS + 3];
        columns[0] = rank("rank", |row| row.name.clone());
        columns[1] = rank("(x,y,z)", |row| row.place.clone());
        let (mut at, mut column) = (0, 2);
        while at < Counter::COUNT {
            if let Some(heading) = Counter::ALL[at].views().table {
                columns[column] = Column {
                    heading,
                    cells: ColumnAlignment::Right(0),
                    text: CellText::At(|row, counter| row.counters.0[counter].to_string(), at),
                };
                column += 1;
            }
            at += 1;
        }
        columns
    },
    keys: 2,
    gap: 2,
};

/// Explains the columns of the table of the ranks, one line for each part of the folded table.
const RANKS_LEGEND: [&str; 2] = [
    "RTS: request to send; CTS: clear to send; NCTSD: data deferred; NCTS: rejected",
    "restarts: resend requests; unexp.: unexpected messages; hops: entries compared",
];

/// Returns the table's lines.
pub fn table(end: &JobResult) -> Vec<String> {
    let all: Vec<NodeCounters> = end.nodes.iter().map(NodeCounters::from_node).collect();
    let mut rows: Vec<RankRow> = shown_ranks(&all)
        .into_iter()
        .map(|at| {
            let (node, c) = (&end.nodes[at], end.nodes[at].coord);
            RankRow {
                name: node.rank.to_string(),
                place: format!("({},{},{})", c.x, c.y, c.z),
                counters: all[at].clone(),
            }
        })
        .collect();
    rows.push(RankRow {
        name: "all".into(),
        place: String::new(),
        counters: NodeCounters::total(&all),
    });
    let mut lines = RANKS.lines(&rows);
    lines.extend(RANKS_LEGEND.map(String::from));
    let again = NodeCounters::total(&all).get(Counter::LinkRetries);
    if again > 0 {
        lines.push(format!(
            "retransmitted frames, which links had lost or corrupted: {again}"
        ));
    }
    lines.extend(stacks(&end.nodes));
    lines.extend(matching(end).map(|name| format!("matching engine: {name}")));
    lines.extend(end.virtual_time.map(|time| {
        let ms = time.as_secs_f64() * 1e3;
        format!("virtual time: {ms:.6} ms")
    }));
    with_note(lines, all.len())
}

/// Returns the peak stack usage of all nodes.
fn stacks(nodes: &[ObservedNode]) -> Option<String> {
    let seen = nodes.iter().filter_map(|node| node.stacks);
    let peak = |one: StackUse, other: StackUse| {
        if other.peak_bytes > one.peak_bytes { other } else { one }
    };
    let StacksUse { program, interrupts } = seen.reduce(|one, other| StacksUse {
        program: peak(one.program, other.program),
        interrupts: peak(one.interrupts, other.interrupts),
    })?;
    Some(format!(
        "peak stack use in bytes: program {} of {}, interrupts {} of {}",
        program.peak_bytes, program.bytes, interrupts.peak_bytes, interrupts.bytes
    ))
}

/// Returns the longest run time of a node, for clocks in nanoseconds.
pub fn longest_run(nodes: &[ObservedNode]) -> Duration {
    let runs = nodes
        .iter()
        .map(|node| NodeCounters::from_node(node).get(Counter::RunTicks));
    Duration::from_nanos(runs.max().unwrap_or(0))
}

/// Returns a counter's sum or maximum over all nodes, as the counter defines.
pub fn total(end: &JobResult, counter: Counter) -> u64 {
    let values = end.nodes.iter().map(|node| NodeCounters::from_node(node).get(counter));
    values.fold(0, |one, other| counter.about().total.combine(one, other))
}

/// Returns the matching engine that the nodes report; all run the same image.
pub fn matching(end: &JobResult) -> Option<&str> {
    let accounts = end.nodes.iter().filter_map(|node| node.account.as_ref().ok());
    let mut names = accounts.map(|account| account.matching.as_str());
    names.find(|name| !name.is_empty())
}

/// A table row: one end of a link.
struct LinkRow {
    rank: u32,
    direction: Direction,
    to: u32,
    counters: LinkCounters,
}

const fn link(heading: &'static str, text: fn(&LinkRow) -> String) -> Column<LinkRow> {
    Column {
        heading,
        cells: ColumnAlignment::Right(0),
        text: CellText::Of(text),
    }
}

/// Table of the links.
const LINKS: Table<LinkRow> = Table {
    columns: &[
        link("rank", |row| row.rank.to_string()),
        link("link", |row| row.direction.name().into()),
        link("to", |row| row.to.to_string()),
        link("packets\nD0", |row| row.sent(Vc::D0)),
        link("sent\nD1", |row| row.sent(Vc::D1)),
        link("on\nBN", |row| row.sent(Vc::Bn)),
        link("\nBP", |row| row.sent(Vc::Bp)),
        link("for-\nwarded", |row| row.sum(ChannelCounter::PacketsForwarded)),
        link("packets\nreceived", |row| row.sum(ChannelCounter::PacketsReceived)),
        link("peak\nchunks", |row| row.sum(ChannelCounter::PeakChunks)),
        link("frames\nsent", |row| row.frames(LinkCounter::FramesSent)),
        link("token\nframes", |row| row.frames(LinkCounter::TokenFramesSent)),
        link("frames\nreceived", |row| row.frames(LinkCounter::FramesReceived)),
    ],
    keys: 3,
    gap: 1,
};

/// Explains the columns of the table of the links.
const LINKS_LEGEND: &str = "D0, D1: dynamic channels; BN, BP: bubble; chunk: 32 bytes; token: credit";

impl LinkRow {
    fn sent(&self, channel: Vc) -> String {
        let counter = ChannelCounter::PacketsSent;
        self.counters.channel_counter(channel, counter).to_string()
    }

    fn sum(&self, counter: ChannelCounter) -> String {
        self.counters.all_channels_counter(counter).to_string()
    }

    fn frames(&self, counter: LinkCounter) -> String {
        self.counters.get(counter).to_string()
    }
}

/// Returns the lines of the link table: packets sent by channel, forwarded and received, and the peak buffer usage of
/// each end.
pub fn link_table(shape: &Shape, end: &JobResult) -> Vec<String> {
    let all: Vec<NodeCounters> = end.nodes.iter().map(NodeCounters::from_node).collect();
    let ends = |at: usize| {
        let node = &end.nodes[at];
        let links = links_of(shape, node).into_iter();
        links.map(|(direction, to, counters)| LinkRow {
            rank: node.rank,
            direction,
            to,
            counters: *counters,
        })
    };
    let rows: Vec<LinkRow> = shown_ranks(&all).into_iter().flat_map(ends).collect();
    let mut lines = LINKS.lines(&rows);
    lines.push(LINKS_LEGEND.into());
    with_note(lines, all.len())
}

/// Returns the names of cut links with rerouted frames, each once.
pub fn cut_links(shape: &Shape, end: &JobResult) -> Vec<String> {
    let mut names = Vec::new();
    for node in &end.nodes {
        for (d, _, counters) in links_of(shape, node) {
            if counters.get(LinkCounter::Detours) == 0 {
                continue;
            }
            let Some(there) = shape.neighbour(node.coord, d) else {
                continue;
            };
            let ends = if d.is_plus() {
                [(node.coord, d), (there, d.opposite())]
            } else {
                [(there, d.opposite()), (node.coord, d)]
            };
            let [one, other] = ends.map(|(c, d)| {
                let direction = d.name().to_lowercase();
                format!("{direction} of ({},{},{})", c.x, c.y, c.z)
            });
            let name = format!("the link {one} to {other}");
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Appends a note about omitted ranks to a table.
fn with_note(mut lines: Vec<String>, ranks: usize) -> Vec<String> {
    if ranks > MAX_TABLE_RANKS {
        lines.push(format!(
            "(the {BUSIEST_RANKS} busiest of {ranks} ranks; --report FILE writes all)"
        ));
    }
    lines
}

/// Returns the nodes of the table in rank order: all, or the busiest by packets.
fn shown_ranks(all: &[NodeCounters]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    if all.len() > MAX_TABLE_RANKS {
        let packets = |at: &usize| {
            let counters = &all[*at];
            [
                Counter::PacketsSent,
                Counter::PacketsReceived,
                Counter::PacketsForwarded,
            ]
            .map(|counter| counters.get(counter))
            .into_iter()
            .fold(0, u64::saturating_add)
        };
        order.sort_by_key(|at| std::cmp::Reverse(packets(at)));
        order.truncate(BUSIEST_RANKS);
        order.sort_unstable();
    }
    order
}

/// Writes the report as JSON.
pub fn write(file: ResultFile, job: &JobFacts, end: &JobResult) -> Result<(), CliError> {
    let json = serde_json::to_string_pretty(&report(job, end)).context("write the report")?;
    file.write(&(json + "\n"))
}

fn report<'a>(job: &'a JobFacts, end: &'a JobResult) -> Report<'a> {
    let all: Vec<NodeCounters> = end.nodes.iter().map(NodeCounters::from_node).collect();
    let shape = Shape::new(job.torus, job.wraps);
    Report {
        job,
        outcome: end.outcome,
        status: end.status,
        message: end.message.as_deref(),
        seconds: end.elapsed.as_secs_f64(),
        virtual_seconds: end.virtual_time.map(|time| time.as_secs_f64()),
        cut_links: shape.map_or(Vec::new(), |shape| cut_links(&shape, end)),
        totals: NodeCounters::total(&all),
        ranks: end
            .nodes
            .iter()
            .zip(all)
            .map(|(node, counters)| RankReport {
                rank: node.rank,
                coordinates: [node.coord.x, node.coord.y, node.coord.z],
                state: match node.state() {
                    None => "unreadable",
                    Some(NodeState::Off) => "off",
                    Some(NodeState::Booting) => "booting",
                    Some(NodeState::Running) => "running",
                    Some(NodeState::Done) => "done",
                    Some(NodeState::Failed) => "failed",
                },
                status: node
                    .account
                    .as_ref()
                    .ok()
                    .filter(|account| matches!(account.state, NodeState::Done | NodeState::Failed))
                    .map(|account| account.status),
                counters,
                stacks: node.stacks,
                links: shape
                    .iter()
                    .flat_map(|shape| links_of(shape, node))
                    .map(|(d, to, counters)| LinkReport::new(d, to, counters))
                    .collect(),
            })
            .collect(),
        counters: CounterLegends::all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outcome::tests::seen;
    use crate::show::table::WIDTH;
    use std::time::Duration;

    pub fn end(nodes: u32) -> JobResult {
        JobResult {
            calls: None,
            status: 0,
            outcome: JobOutcome::Ended,
            message: None,
            nodes: (0..nodes)
                .map(|rank| {
                    seen(rank, NodeState::Done, |account| {
                        let mut set = |counter: Counter, value| {
                            account.counters[counter as usize] = value;
                        };
                        set(Counter::MessagesSent, 10 + u64::from(rank));
                        set(Counter::NctsSent, 3);
                        set(Counter::PeakUnexpectedBytes, 100 * u64::from(rank));
                        set(Counter::PacketsSent, 1000 - u64::from(rank));
                        set(Counter::IdleTicks, 1);
                        set(Counter::RunTicks, 4);
                        set(Counter::MatchingSearches, 7);
                        set(Counter::MatchingHops, 21);
                        set(Counter::MatchingHopsPeak, 5 + u64::from(rank));
                        account.matching = "fourd".parse().unwrap();
                    })
                })
                .collect(),
            elapsed: Duration::from_millis(1500),
            virtual_time: None,
            used: None,
        }
    }

    /// Checks that a table contains all numbers and fits a terminal.
    #[track_caller]
    fn check(lines: &[String], words: &[&str]) {
        let fits = |line: &String| line.len() <= usize::from(WIDTH);
        assert!(lines.iter().all(fits), "{lines:#?}");
        for word in words {
            let has = |line: &String| line.split_whitespace().any(|cell| cell == *word);
            assert!(lines.iter().any(has), "no {word} in {lines:#?}");
        }
    }

    #[test]
    fn the_table_has_every_rank_and_all_of_them() {
        let lines = table(&end(3));
        check(
            &lines,
            &["messages", "restarts", "NCTSD", "forwarded", "12", "33", "200", "25.0"],
        );
        let cells: Vec<&str> = lines[5].split_whitespace().collect();
        assert_eq!(cells[..3], ["2", "(2,0,0)", "12"], "{lines:#?}");
        let all: Vec<&str> = lines[6].split_whitespace().collect();
        // Messages are summed, peaks are not.
        assert_eq!(all[..2], ["all", "33"], "{lines:#?}");
    }

    #[test]
    fn tables_as_they_are_printed() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let end = end(2);
        let lines = [table(&end), link_table(&shape, &end)].concat();
        insta::assert_snapshot!("tables", lines.join("\n"));
    }

    #[test]
    fn numbers_of_any_size_fit_a_terminal() {
        let mut end = end(2);
        for node in &mut end.nodes {
            let account = node.account.as_mut().unwrap();
            account.counters = [u64::MAX / 4; Counter::COUNT];
            for link in &mut account.links {
                link.frames = [u64::MAX / 64; 5];
                link.channels = [[u64::MAX / 64; 5]; Vc::COUNT];
            }
        }
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        check(&table(&end), &["4611686018427387903"]);
        check(&link_table(&shape, &end), &["288230376151711743"]);
    }

    #[test]
    fn links_are_shown_and_written_by_direction_and_channel() {
        let shape = Shape::new([3, 1, 1], [false, true, true]).unwrap();
        let mut end = end(3);
        for node in &mut end.nodes {
            let links = &mut node.account.as_mut().unwrap().links;
            links[Direction::XPlus as usize].channels[Vc::Bn as usize] = [70, 560, 20, 30, 16];
            links[Direction::XPlus as usize].frames = [9, 4, 8, 2, 0];
        }
        // A mesh of three: one link at each end, two in the middle.
        let lines = link_table(&shape, &end);
        assert_eq!(lines.len(), 2 + 4 + 1, "{lines:#?}");
        let cells: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!(cells.join(" "), "1 X+ 2 0 0 70 0 20 30 16 9 4 8");
        check(&lines, &["BN", "warded", "token"]);
        let json = serde_json::to_value(report(&JobFacts::of_shape(&shape), &end)).unwrap();
        let links = &json["ranks"][1]["links"];
        assert_eq!(links.as_array().unwrap().len(), 2);
        assert_eq!(links[0]["direction"], "X+");
        assert_eq!((&links[0]["to"], &links[1]["to"]), (&2.into(), &0.into()));
        assert_eq!(links[0]["channels"]["BN"]["packets_forwarded"], 20);
        assert_eq!(links[0]["token_frames_sent"], 4);
        assert_eq!(links[0]["retries"], 2);
        assert_eq!(json["cut_links"], serde_json::Value::Null);
    }

    #[test]
    fn a_cut_link_is_named_once_whichever_end_has_found_it() {
        let shape = Shape::new([3, 1, 1], [true; 3]).unwrap();
        let mut end = end(3);
        let detours = LinkCounter::Detours as usize;
        let found = [(0, Direction::XPlus), (1, Direction::XMinus), (2, Direction::XPlus)];
        for (rank, d) in found {
            let links = &mut end.nodes[rank].account.as_mut().unwrap().links;
            links[d as usize].frames[detours] = 1;
        }
        let names = cut_links(&shape, &end);
        let expected = [
            "the link x+ of (0,0,0) to x- of (1,0,0)",
            "the link x+ of (2,0,0) to x- of (0,0,0)",
        ];
        assert_eq!(names, expected);
        let json = serde_json::to_value(report(&JobFacts::of_shape(&shape), &end)).unwrap();
        assert_eq!(json["cut_links"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_big_table_shows_the_busiest() {
        let lines = table(&end(40));
        let ranks = |line: &&String| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        assert_eq!(lines.iter().filter(ranks).count() % BUSIEST_RANKS, 0, "{lines:#?}");
        check(&lines, &["0", "7", "all"]);
        assert!(lines.last().unwrap().contains("the 8 busiest of 40 ranks"));
        assert!(!lines.iter().any(|line| line.trim_start().starts_with("8 ")));
    }

    #[test]
    fn json_has_the_same_names() {
        let end = end(2);
        let job = JobFacts {
            matching: matching(&end).map(Into::into),
            ..JobFacts::of_shape(&Shape::new([2, 1, 1], [true; 3]).unwrap())
        };
        let json: serde_json::Value = serde_json::to_value(report(&job, &end)).unwrap();
        for (at, counter) in Counter::ALL.into_iter().enumerate() {
            let name = counter.about().name;
            assert_eq!(json["counters"]["ranks"][at]["name"], name);
            assert!(json["ranks"][1][name].is_number(), "{name}");
            assert!(json["totals"][name].is_number(), "{name}");
        }
        assert_eq!(json["ranks"][1]["messages"], 11);
        assert_eq!(json["ranks"][1]["coordinates"][0], 1);
        assert_eq!(json["ranks"][0]["idle_share"], 0.25);
        assert_eq!(json["totals"]["ncts"], 6);
        assert_eq!(json["totals"]["peak_unexpected_bytes"], 100);
        assert_eq!(json["ranks"][1]["stack"]["peak_bytes"], 3001);
        assert_eq!(json["ranks"][1]["interrupt_stack"]["bytes"], 6144);
        assert_eq!(json["matching"], "fourd");
        assert_eq!(json["totals"]["matching_hops"], 42);
        assert_eq!(json["totals"]["matching_hops_peak"], 6);
        assert_eq!(json["torus"][0], 2);
        assert_eq!(json["seconds"], 1.5);
    }
}
