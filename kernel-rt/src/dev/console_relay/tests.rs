//! Chains of nodes over lossy lines, and the tool at their end.

use super::*;
use oorandom::Rand32;
use std::collections::VecDeque;
use std::vec::Vec;

const MS: u64 = 1_000_000;
const BAUD: u32 = 1_000_000;
/// Range of the nodes' account in their memory.
const ACCOUNT: MemoryRange = MemoryRange { start: 100, end: 1000 };

#[derive(Default)]
struct TestLines {
    /// Transmitted frames, with the line.
    sent: Vec<(usize, Vec<u8>)>,
    /// Number of further frames that each line accepts now.
    room: [usize; 6],
    memory: Vec<u8>,
}

impl RelayHost for TestLines {
    fn send(&mut self, line: usize, frame: &[u8]) -> bool {
        if self.room[line] == 0 {
            return false;
        }
        self.room[line] -= 1;
        self.sent.push((line, frame.to_vec()));
        true
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        out.copy_from_slice(&self.memory[at as usize..][..out.len()]);
    }
}

/// Data that the tool has received from a node.
#[derive(Default, Clone)]
struct ReceivedData {
    out: Vec<u8>,
    err: Vec<u8>,
    memory: Vec<u8>,
}

/// All nodes of a machine, their console at the node at `console`, on line z+.
struct TestMachine {
    shape: Shape,
    console: Coord,
    nodes: Vec<(ConsoleRelay, TestLines)>,
    told: Vec<ReceivedData>,
    heard: Option<u8>,
    /// Acknowledgements in transit to the console's node.
    answers: VecDeque<[u8; 2]>,
    random: Rand32,
    /// Lost frames in a thousand.
    loss: u32,
    now: u64,
}

impl TestMachine {
    fn new(extents: [u16; 3], console: Coord, seed: u64, loss: u32) -> Self {
        let shape = Shape::new(extents, [true, true, false]).unwrap();
        let nodes = shape.nodes();
        let node = |rank: u32| {
            let here = shape.coord(rank).unwrap();
            let line = up(&shape, here, console).unwrap_or(Direction::ZPlus);
            let memory = (0..2000u32).map(|at| (at * 7 + rank) as u8).collect();
            let lines = TestLines {
                memory,
                ..TestLines::default()
            };
            let mut chain = ConsoleRelay::new(rank as u16, line as usize, ACCOUNT, nodes, BAUD);
            chain.show(&[], 0);
            (chain, lines)
        };
        Self {
            shape,
            console,
            nodes: (0..nodes).map(node).collect(),
            told: std::vec![ReceivedData::default(); nodes as usize],
            heard: None,
            answers: VecDeque::new(),
            random: Rand32::new(seed),
            loss,
            now: 0,
        }
    }

    fn is_lost(&mut self) -> bool {
        self.random.rand_range(0..1000) < self.loss
    }

    fn receive_record(&mut self, frame: &[u8]) {
        let Some(record) = RelayRecord::read(frame) else {
            return;
        };
        if self.heard != Some(record.number) {
            self.heard = Some(record.number);
            let told = &mut self.told[usize::from(record.rank)];
            match record.said {
                RelayPayload::Output(OutputStream::Out, bytes) => told.out.extend(bytes),
                RelayPayload::Output(_, bytes) => told.err.extend(bytes),
                RelayPayload::Memory(at, bytes) => {
                    let end = at as usize + bytes.len();
                    told.memory.resize(told.memory.len().max(end), 0);
                    told.memory[at as usize..end].copy_from_slice(bytes);
                }
            }
        }
        self.answers.push_back(answer(record.number));
    }

    /// Runs a round: every node sends all it can, and each frame arrives or is lost.
    fn step(&mut self) {
        self.now += MS;
        let now = self.now;
        let console = self.shape.rank(self.console).unwrap() as usize;
        for rank in 0..self.nodes.len() {
            let (chain, lines) = &mut self.nodes[rank];
            lines.room = [2; 6];
            chain.advance(now, lines);
        }
        while let Some(answer) = self.answers.pop_front() {
            if !self.is_lost() {
                let (chain, lines) = &mut self.nodes[console];
                chain.on_frame(Direction::ZPlus as usize, &answer, now, lines);
            }
        }
        for rank in 0..self.nodes.len() {
            let here = self.shape.coord(rank as u32).unwrap();
            for (line, frame) in std::mem::take(&mut self.nodes[rank].1.sent) {
                if self.is_lost() {
                    continue;
                }
                let direction = Direction::ALL[line];
                match self.shape.neighbour(here, direction) {
                    Some(there) => {
                        let at = self.shape.rank(there).unwrap() as usize;
                        let (chain, lines) = &mut self.nodes[at];
                        chain.on_frame(direction.opposite() as usize, &frame, now, lines);
                    }
                    None => {
                        assert_eq!(rank, console, "only the console has no node behind it");
                        self.receive_record(&frame);
                    }
                }
            }
        }
    }

    /// Runs until nothing is in transit.
    fn run_until_quiet(&mut self) {
        for _ in 0..2_000_000 {
            let at_rest = |node: &(ConsoleRelay, TestLines)| node.0.is_done();
            if self.nodes.iter().all(at_rest) {
                return;
            }
            self.step();
        }
        panic!("it does not come to rest");
    }
}

fn at(x: u8, y: u8, z: u8) -> Coord {
    Coord { x, y, z }
}

/// All output arrives, once and in order, over lines that lose a fifth of the frames, from every node of machines of
/// several shapes, with memory in between.
#[test]
fn what_is_printed_comes_once_and_in_order() {
    for (seed, extents, console) in [
        (1, [1, 1, 1], at(0, 0, 0)),
        (2, [4, 1, 1], at(0, 0, 0)),
        (3, [3, 3, 2], at(1, 2, 1)),
    ] {
        let mut machine = TestMachine::new(extents, console, seed, 200);
        let nodes = machine.nodes.len();
        let mut expected = std::vec![ReceivedData::default(); nodes];
        for line in 0..40 {
            for (rank, expected) in expected.iter_mut().enumerate() {
                let text = std::format!("line {line} of rank {rank}, {}\n", "x".repeat(line * 3));
                let (stream, log) = match line % 5 {
                    0 => (OutputStream::Err, &mut expected.err),
                    _ => (OutputStream::Out, &mut expected.out),
                };
                let mut rest = text.as_bytes();
                while !rest.is_empty() {
                    let taken = machine.nodes[rank].0.print(stream, rest);
                    log.extend(&rest[..taken]);
                    rest = &rest[taken..];
                    if taken == 0 {
                        machine.step();
                    }
                }
                machine.nodes[rank].0.changed();
            }
        }
        machine.run_until_quiet();
        for (rank, expected) in expected.iter().enumerate() {
            let told = &machine.told[rank];
            assert!(told.out == expected.out, "rank {rank} of {extents:?}");
            assert!(told.err == expected.err, "rank {rank} of {extents:?}");
            let account = ACCOUNT.start as usize..ACCOUNT.end as usize;
            let memory = &machine.nodes[rank].1.memory;
            assert_eq!(told.memory[account.clone()], memory[account]);
        }
    }
}

/// The account's start, with the node's state, arrives last, after the memory that explains it and the output.
#[test]
fn what_explains_a_state_comes_before_it() {
    let mut machine = TestMachine::new([2, 1, 1], at(0, 0, 0), 1, 0);
    let failed = MemoryRange { start: 0, end: 60 };
    assert_eq!(machine.nodes[1].0.print(OutputStream::Out, b"last words"), 10);
    let now = machine.now;
    machine.nodes[1].0.show(&[failed], now);
    let start = ACCOUNT.start as usize;
    let mut had_all = false;
    while !machine.nodes.iter().all(|node| node.0.is_done()) {
        machine.step();
        let told = &machine.told[1];
        let has_state = told.memory.get(start).is_some_and(|byte| *byte != 0);
        let memory = &machine.nodes[1].1.memory;
        had_all = told.out == b"last words"
            && told.memory.get(..60) == Some(&memory[..60])
            && told.memory.get(start + 200..1000) == Some(&memory[start + 200..1000]);
        assert!(!has_state || had_all);
    }
    assert!(had_all);
}

/// Ranges that were sent and acknowledged are repeated soon, with the memory that explains them.
#[test]
fn a_tool_that_comes_later_is_told_the_same() {
    let mut machine = TestMachine::new([2, 1, 1], at(0, 0, 0), 1, 0);
    let failed = MemoryRange { start: 0, end: 60 };
    let now = machine.now;
    machine.nodes[1].0.show(&[failed], now);
    machine.run_until_quiet();
    let told = std::mem::take(&mut machine.told[1]);
    for _ in 0..=UNCHANGED_INTERVALS * MIN_INTERVAL_NS / MS {
        machine.step();
    }
    machine.run_until_quiet();
    assert_eq!(machine.told[1].memory, told.memory);
}

/// A tool that starts late receives all earlier output, up to the nodes' buffer capacity.
#[test]
fn nothing_is_lost_while_nobody_listens() {
    let mut machine = TestMachine::new([3, 1, 1], at(0, 0, 0), 4, 1000);
    let mut printed = 0;
    for _ in 0..5000 {
        printed += machine.nodes[2].0.print(OutputStream::Out, &[b'a'; 100]);
        machine.step();
    }
    // Its own two buffers: the outstanding record, and the next.
    assert!(printed > 300 && printed < 2 * MTU, "{printed}");
    machine.loss = 0;
    machine.run_until_quiet();
    assert_eq!(machine.told[2].out, std::vec![b'a'; printed]);
}

/// None of several nodes that print forever is starved.
#[test]
fn neighbours_take_turns() {
    let mut machine = TestMachine::new([3, 3, 1], at(0, 0, 0), 4, 0);
    for _ in 0..3000 {
        for rank in 0..9 {
            machine.nodes[rank].0.print(OutputStream::Out, &[b'a'; 300]);
        }
        machine.step();
    }
    let counts: Vec<usize> = machine.told.iter().map(|told| told.out.len()).collect();
    assert!(counts.iter().all(|count| *count > 10_000), "{counts:?}");
    // Nor are their accounts.
    let account = ACCOUNT.start as usize..ACCOUNT.end as usize;
    for ((_, lines), told) in machine.nodes.iter().zip(&machine.told) {
        assert_eq!(told.memory.get(account.clone()), lines.memory.get(account.clone()));
    }
}

/// A node's accounts use at most their share of the console's line, even if they change all the time.
#[test]
fn accounts_leave_room_for_what_is_printed() {
    let part = MemoryRange { start: 0, end: 2000 };
    let mut lines = TestLines {
        memory: std::vec![1; 2000],
        ..TestLines::default()
    };
    // 100 nodes of 2,000 bytes use 2 s of the line.
    let mut chain = ConsoleRelay::new(0, 4, part, 100, BAUD);
    chain.show(&[], 0);
    let mut bytes = 0;
    for ms in 0..100_000u64 {
        chain.changed();
        lines.room = [1; 6];
        chain.advance(ms * MS, &mut lines);
        for (_, frame) in std::mem::take(&mut lines.sent) {
            bytes += frame.len();
            let number = RelayRecord::read(&frame).unwrap().number;
            chain.on_frame(4, &answer(number), ms * MS, &mut lines);
        }
        assert!(chain.next_ns() > ms * MS);
    }
    assert!((20_000..25_000).contains(&bytes), "{bytes}");
}

/// A duplicate acknowledgement duplicates no record; a notification of free space makes a rejected one arrive again.
#[test]
fn an_answer_that_is_repeated_repeats_nothing() {
    let mut lines = TestLines {
        room: [9; 6],
        memory: std::vec![0; 2000],
        ..TestLines::default()
    };
    let mut chain = ConsoleRelay::new(3, 1, ACCOUNT, 4, BAUD);
    for text in [b"a", b"b"] {
        chain.print(OutputStream::Out, text);
        chain.advance(0, &mut lines);
    }
    for _ in 0..3 {
        chain.on_frame(1, &answer(0), 0, &mut lines);
    }
    assert_eq!(lines.sent.len(), 2);
    chain.on_frame(1, &[ASK, 0], 0, &mut lines);
    assert_eq!(lines.sent.len(), 2);
    chain.on_frame(1, &[ASK, 1], 0, &mut lines);
    assert_eq!(lines.sent.len(), 3);
}

/// Neither garbage nor an acknowledgement of another record has an effect.
#[test]
fn what_is_no_answer_is_none() {
    let mut lines = TestLines {
        room: [1; 6],
        memory: std::vec![0; 2000],
        ..TestLines::default()
    };
    let mut chain = ConsoleRelay::new(3, 1, ACCOUNT, 4, BAUD);
    chain.print(OutputStream::Err, b"x");
    chain.advance(0, &mut lines);
    let sent = std::mem::take(&mut lines.sent);
    assert_eq!(sent, [(1, [RECORD, 0, 3, 0, 1, b'x'].to_vec())]);
    for frame in [&[][..], &[ANSWER], &[ANSWER, 7], &[RECORD, 1], &[9; 30]] {
        chain.on_frame(1, frame, 0, &mut lines);
    }
    chain.on_frame(0, &[ANSWER, 1], 0, &mut lines);
    chain.on_frame(77, &[RECORD, 1, 0, 0, 0], 0, &mut lines);
    assert!(!chain.is_done());
    chain.on_frame(1, &[ANSWER, 1], 0, &mut lines);
    assert!(chain.is_done());
    assert_eq!(RelayRecord::read(&[RECORD, 0, 0, 0, MEMORY, 1, 2, 3]), None);
    assert_eq!(RelayRecord::read(&[RECORD, 0, 0, 0, 9]), None);
}

/// The path upwards ends at the console, without detours, on tori and meshes.
#[test]
fn every_way_leads_to_the_console() {
    for (extents, wraps) in [([5, 4, 3], [true; 3]), ([4, 3, 2], [false; 3])] {
        let shape = Shape::new(extents, wraps).unwrap();
        let console = at(1, 2, 1);
        for rank in 0..shape.nodes() {
            let mut here = shape.coord(rank).unwrap();
            let mut hops = 0;
            while let Some(direction) = up(&shape, here, console) {
                here = shape.neighbour(here, direction).expect("a link");
                hops += 1;
            }
            assert!(here == console && hops <= 6, "{rank}: {hops}");
        }
    }
}

#[test]
fn numbers_count_on_behind_the_first() {
    assert_eq!((after(0), after(254), after(255)), (1, 255, 1));
}
