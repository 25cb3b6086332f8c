//! Explores every interleaving of the calls and packets of a job of few processes, with the production epoch engine.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::envelope::Rank;
use midplane_device::rma::OneSided;
use midplane_device::rma::epochs::ReorderFlags;
use midplane_device::rma::rules::{BrokenRule, EpochRules};
use msg_layer::header::{SHORT_BYTES, TargetOffset};
use rustc_hash::FxBuildHasher;

use super::memory::{FlatMemory, WINDOWS};
use super::random::WindowJob;
use super::script::{CallScript, ScriptCall, WRONG_BYTES, windows};
use crate::sim::setup::UnlimitedHeaps;

/// The rules, one of which may be broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleSet(pub Option<BrokenRule>);

impl EpochRules for RuleSet {
    fn is_broken(self, flaw: BrokenRule) -> bool {
        self.0 == Some(flaw)
    }
}

/// A job.
#[derive(Clone, Debug)]
pub struct EpochCase {
    /// Calls of each process.
    pub scripts: Vec<Vec<ScriptCall>>,
    /// Permitted reorderings of epochs.
    pub reorder: ReorderFlags,
    /// The broken rule.
    pub flaw: Option<BrokenRule>,
    /// Required bytes at the end: process, address, bytes.
    pub ends: Vec<(usize, usize, [u8; 2])>,
}

/// Property: no deadlock, and no resources in use at the end.
pub const END: &str = "every process comes to its end, and nothing is left";
/// Property: epochs are active concurrently only where that is allowed.
pub const BESIDE: &str = "epochs are active beside each other only where they may be";
/// Property: every packet is valid for its receiver.
pub const SENSE: &str = "every packet makes sense";

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobStep {
    /// The process makes its next call.
    Call(usize),
    /// The process transmits a packet.
    Transmit(usize),
    /// A request arrives, from the first process at the second.
    Request(usize, usize),
    /// A reply arrives.
    Answer(usize, usize),
}

#[derive(Clone, Debug)]
pub(super) struct ProcessState {
    pub(super) all: OneSided<RuleSet>,
    pub(super) script: CallScript,
    memory: FlatMemory,
    /// Its call waits, and its condition was checked without result: the check is repeated when something has moved.
    waits: bool,
}

/// A packet in flight: its argument, target location and bytes.
pub(super) type PacketData = (u16, Option<(u32, u32)>, Vec<u8>);

#[derive(Clone, Copy, Debug)]
struct InFlight {
    dest: usize,
    packet: u32,
    is_answer: bool,
}

/// A step of one process, independent of the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LocalStep {
    Call,
    Transmit,
    /// A packet arrives from this process.
    Request(usize, u32),
    Answer(usize, u32),
}

/// The process after the step, and the packet transmitted; `None`: impossible step.
type StepEffect = Result<Option<(u32, Option<InFlight>)>, &'static str>;

/// Interned states of processes, and packets; a job references them by index.
#[derive(Default)]
pub(super) struct StateTable {
    /// Disables the comparison of states: a single path is followed.
    forgets: bool,
    /// By index; with a key of the distinguishing state, which excludes the IDs of awaited replies.
    nodes: Vec<(u128, ProcessState)>,
    /// By a key of the complete state: the handling of a reply depends on the IDs, too.
    by_key: HashMap<u128, u32, FxBuildHasher>,
    pub(super) packets: Vec<PacketData>,
    by_packet: HashMap<PacketData, u32, FxBuildHasher>,
    effects: HashMap<(u32, LocalStep), StepEffect, FxBuildHasher>,
}

/// Returns a fingerprint of a value.
pub(super) fn key_of(what: impl Hash) -> u128 {
    let half = |seed: u8| {
        let mut state = DefaultHasher::new();
        (seed, &what).hash(&mut state);
        state.finish()
    };
    u128::from(half(0)) << 64 | u128::from(half(1))
}

/// Fingerprint of a value's `Debug` output.
struct DebugHash(DefaultHasher);

impl DebugHash {
    fn hash_debug(what: &impl fmt::Debug) -> u64 {
        let mut shown = DebugHash(DefaultHasher::new());
        let _ = write!(shown, "{what:?}");
        shown.0.finish()
    }
}

impl fmt::Write for DebugHash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl StateTable {
    /// Creates an empty table; with `forgets`, states are not compared.
    pub(super) fn new(forgets: bool) -> StateTable {
        StateTable {
            forgets,
            ..StateTable::default()
        }
    }

    fn node(&mut self, mut node: ProcessState) -> u32 {
        if self.forgets {
            let _ = node.all.reset_moved();
            self.nodes.push((0, node));
            return self.nodes.len() as u32 - 1;
        }
        let place = (node.script.place(), node.waits);
        let key = key_of((node.all.own_rank(), &node.all, place, &node.memory));
        let _ = node.all.reset_moved();
        let whole = key_of((key, DebugHash::hash_debug(&node.all)));
        *self.by_key.entry(whole).or_insert_with(|| {
            self.nodes.push((key, node));
            self.nodes.len() as u32 - 1
        })
    }

    fn packet(&mut self, packet: PacketData) -> u32 {
        if let Some(number) = self.by_packet.get(&packet) {
            return *number;
        }
        let number = self.packets.len() as u32;
        self.packets.push(packet.clone());
        self.by_packet.insert(packet, number);
        number
    }

    fn effect(&mut self, node: u32, step: LocalStep) -> StepEffect {
        if let Some(effect) = self.effects.get(&(node, step)) {
            return *effect;
        }
        let effect = self.apply_step(node, step);
        self.effects.insert((node, step), effect);
        effect
    }

    fn apply_step(&mut self, node: u32, step: LocalStep) -> StepEffect {
        let mut node = self.nodes[node as usize].1.clone();
        let mut out = None;
        match step {
            LocalStep::Call => {
                let is_made = node.call()?;
                if !is_made && (node.waits || node.script.is_finished()) {
                    return Ok(None);
                }
                node.waits = !is_made;
            }
            LocalStep::Transmit => {
                if let Some((dest, packet)) = node.progress() {
                    let packet = self.packet(packet);
                    out = Some(InFlight {
                        dest,
                        packet,
                        is_answer: false,
                    });
                }
            }
            LocalStep::Request(from, packet) => {
                if let Some(packet) = node.handle_request(from, &self.packets[packet as usize])? {
                    out = Some(InFlight {
                        dest: from,
                        packet: self.packet(packet),
                        is_answer: true,
                    });
                }
            }
            LocalStep::Answer(from, packet) => node.hear(from, &self.packets[packet as usize])?,
        }
        if node.all.has_conflict() {
            return Err(BESIDE);
        }
        Ok(Some((self.node(node), out)))
    }
}

impl ProcessState {
    /// Makes the next call; returns false if it must wait.
    fn call(&mut self) -> Result<bool, &'static str> {
        let ProcessState {
            all,
            script,
            memory,
            waits,
        } = self;
        if *waits {
            Ok(false)
        } else {
            script.step(all, memory, &UnlimitedHeaps)
        }
    }

    /// Runs a progress step without reception. Without progress, a waiting call sleeps until a packet arrives.
    fn progress(&mut self) -> Option<(usize, PacketData)> {
        let mut out = [0; SHORT_BYTES];
        let _ = self.all.reset_moved();
        let leaving = self.all.emit_packet(&mut self.memory, &mut out);
        self.waits &= leaving.is_none() && !self.all.reset_moved();
        let (dest, argument, place, len) = leaving?;
        let place = place.map(|place| (place.target, place.offset));
        Some((dest.index() as usize, (argument, place, out[..len].to_vec())))
    }

    /// Handles a request, and returns its reply.
    fn handle_request(&mut self, from: usize, packet: &PacketData) -> Result<Option<PacketData>, &'static str> {
        let (argument, place, bytes) = packet;
        let place = place.map(|(target, offset)| TargetOffset { target, offset });
        self.waits = false;
        let source = Rank::new(from as u32);
        let answer = self
            .all
            .handle_request(&mut self.memory, source, *argument, place, bytes);
        let answer = answer.map_err(|_| SENSE)?;
        Ok(answer.map(|answer| (answer.argument, None, answer.bytes.to_vec())))
    }

    fn hear(&mut self, from: usize, (argument, _, bytes): &PacketData) -> Result<(), &'static str> {
        let source = Rank::new(from as u32);
        self.waits = false;
        self.all
            .handle_reply(&mut self.memory, source, *argument, bytes)
            .map_err(|_| SENSE)
    }
}

/// State of a job, as indexes into [`StateTable`].
#[derive(Clone, Debug)]
pub(super) struct JobState {
    pub(super) nodes: Vec<u32>,
    /// By sender and receiver.
    pub(super) requests: Vec<VecDeque<u32>>,
    answers: Vec<VecDeque<u32>>,
}

impl JobState {
    pub(super) fn new(case: &EpochCase, count: usize, known: &mut StateTable) -> JobState {
        let size = case.scripts.len();
        let node = |(rank, calls): (usize, &Vec<ScriptCall>)| {
            known.node(ProcessState {
                all: windows(rank as u32, size as u32, count, RuleSet(case.flaw), case.reorder),
                script: CallScript::new(calls.clone()),
                memory: FlatMemory::for_windows(count),
                waits: false,
            })
        };
        JobState {
            nodes: case.scripts.iter().enumerate().map(node).collect(),
            requests: vec![VecDeque::new(); size * size],
            answers: vec![VecDeque::new(); size * size],
        }
    }

    pub(super) fn key(&self, known: &StateTable) -> u128 {
        let key = |node: &u32| known.nodes[*node as usize].0;
        let nodes: Vec<u128> = self.nodes.iter().map(key).collect();
        key_of((nodes, &self.requests, &self.answers))
    }

    pub(super) fn node<'a>(&self, known: &'a StateTable, rank: usize) -> &'a ProcessState {
        &known.nodes[self.nodes[rank] as usize].1
    }

    pub(super) fn steps(&self, known: &StateTable) -> Vec<JobStep> {
        let size = self.nodes.len();
        let mut steps = Vec::new();
        for rank in 0..size {
            let node = self.node(known, rank);
            if !node.script.is_finished() && !node.waits {
                steps.push(JobStep::Call(rank));
            }
            if node.all.is_busy() {
                steps.push(JobStep::Transmit(rank));
            }
        }
        for pair in 0..size * size {
            if !self.requests[pair].is_empty() {
                steps.push(JobStep::Request(pair / size, pair % size));
            }
            if !self.answers[pair].is_empty() {
                steps.push(JobStep::Answer(pair / size, pair % size));
            }
        }
        steps
    }

    /// Returns the job after the step, or `None` if the step was impossible.
    pub(super) fn after(&self, known: &mut StateTable, step: JobStep) -> Result<Option<JobState>, &'static str> {
        let size = self.nodes.len();
        let mut job = self.clone();
        let (at, alone) = match step {
            JobStep::Call(at) => (at, LocalStep::Call),
            JobStep::Transmit(at) => (at, LocalStep::Transmit),
            JobStep::Request(from, at) => {
                let packet = job.requests[from * size + at].pop_front();
                (at, LocalStep::Request(from, packet.expect("a packet")))
            }
            JobStep::Answer(from, at) => {
                let packet = job.answers[from * size + at].pop_front();
                (at, LocalStep::Answer(from, packet.expect("a packet")))
            }
        };
        let Some((node, out)) = known.effect(self.nodes[at], alone)? else {
            return Ok(None);
        };
        job.nodes[at] = node;
        if let Some(out) = out {
            let ways = if out.is_answer {
                &mut job.answers
            } else {
                &mut job.requests
            };
            ways[at * size + out.dest].push_back(out.packet);
        }
        Ok(Some(job))
    }

    fn is_complete(&self, known: &StateTable) -> bool {
        (0..self.nodes.len()).all(|rank| {
            let node = self.node(known, rank);
            node.script.is_finished() && !node.all.is_busy()
        })
    }

    fn byte(&self, known: &StateTable, rank: usize, at: usize) -> u8 {
        self.node(known, rank).memory.0[at]
    }
}

/// Result of an exploration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExploreResult {
    /// All properties hold, in this many states.
    Sound(u64),
    /// This property fails; the steps are a counterexample.
    Broken(&'static str, Vec<JobStep>),
    /// The limit of states was exceeded.
    TooMany,
}

impl fmt::Display for ExploreResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExploreResult::Sound(states) => write!(f, "sound in {states} states"),
            ExploreResult::Broken(what, path) => write!(f, "not so: {what}, by {path:?}"),
            ExploreResult::TooMany => write!(f, "given up"),
        }
    }
}

/// Explores all states, at most `limit`.
pub fn explore(case: &EpochCase, limit: u64) -> ExploreResult {
    let mut known = StateTable::default();
    let first = JobState::new(case, WINDOWS, &mut known);
    let mut seen: HashSet<u128, FxBuildHasher> = HashSet::default();
    seen.insert(first.key(&known));
    let mut path = Vec::new();
    // For each state of the path: its remaining steps, the state, and whether any step was possible.
    let mut stack = vec![(first.steps(&known), first, false)];
    while let Some((steps, job, moved)) = stack.last_mut() {
        let Some(step) = steps.pop() else {
            if let Some(what) = Some(&*job)
                .filter(|_| !*moved)
                .and_then(|job| case.wrong_end(job, &known))
            {
                return ExploreResult::Broken(what, path);
            }
            stack.pop();
            path.pop();
            continue;
        };
        match job.after(&mut known, step) {
            Ok(None) => {}
            Ok(Some(next)) => {
                *moved = true;
                if !seen.insert(next.key(&known)) {
                    continue;
                }
                if seen.len() as u64 > limit {
                    return ExploreResult::TooMany;
                }
                path.push(step);
                stack.push((next.steps(&known), next, false));
            }
            Err(what) => {
                path.push(step);
                return ExploreResult::Broken(what, path);
            }
        }
    }
    ExploreResult::Sound(seen.len() as u64)
}

impl EpochCase {
    /// Creates the case of a random job.
    pub(super) fn of_job(windows: &WindowJob, flaw: Option<BrokenRule>) -> Self {
        Self {
            scripts: windows.scripts.clone(),
            reorder: windows.reorder,
            flaw,
            ends: Vec::new(),
        }
    }

    /// Returns the property that a job violates when nothing moves any more.
    fn wrong_end(&self, job: &JobState, known: &StateTable) -> Option<&'static str> {
        if !job.is_complete(known) {
            return Some(END);
        }
        let is_there = |(rank, at, bytes): &(usize, usize, [u8; 2])| {
            let mut bytes = bytes.iter().enumerate();
            bytes.all(|(i, byte)| job.byte(known, *rank, at + i) == *byte)
        };
        (!self.ends.iter().all(is_there)).then_some(WRONG_BYTES)
    }
}

/// Follows one path of a random job, drawn from the seed.
pub fn walk(windows: &WindowJob, flaw: Option<BrokenRule>, seed: u64) -> ExploreResult {
    let mut random = Random::new(seed, RandomStream::Schedule);
    let case = EpochCase::of_job(windows, flaw);
    let mut known = StateTable::new(true);
    let mut job = JobState::new(&case, windows.count, &mut known);
    let mut taken = 0;
    loop {
        let mut steps = job.steps(&known);
        random.shuffle(&mut steps);
        let mut moved = false;
        for step in steps {
            match job.after(&mut known, step) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    (job, moved) = (next, true);
                    break;
                }
                Err(what) => return ExploreResult::Broken(what, Vec::new()),
            }
        }
        if !moved {
            let got = |rank: u32, at: usize| job.byte(&known, rank as usize, at);
            return match (case.wrong_end(&job, &known), windows.check(got)) {
                (None, Ok(())) => ExploreResult::Sound(taken),
                (Some(what), _) | (None, Err(what)) => ExploreResult::Broken(what, Vec::new()),
            };
        }
        taken += 1;
    }
}
