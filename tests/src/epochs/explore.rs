//! Every interleaving of the calls and packets of a job of few processes, by the real engine.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use mpi_adi::device::rma::OneSided;
use mpi_adi::device::rma::epochs::{Flaw, Reorder, Rules};
use mpi_adi::envelope::Rank;
use msg_layer::header::{Place, SHORT_BYTES};
use rustc_hash::FxBuildHasher;

use super::memory::Flat;
use super::random::Windows;
use super::script::{Call, Script, windows};
use crate::random::{Random, Stream};
use crate::sim::job::Plenty;

/// The rules, of which one may be broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken(pub Option<Flaw>);

impl Rules for Broken {
    fn breaks(self, flaw: Flaw) -> bool {
        self.0 == Some(flaw)
    }
}

/// A job.
#[derive(Clone, Debug)]
pub struct Case {
    /// What each process calls.
    pub scripts: Vec<Vec<Call>>,
    /// Which epochs may pass others.
    pub reorder: Reorder,
    /// What is broken.
    pub flaw: Option<Flaw>,
}

/// Not all processes come to their end although nothing moves any more.
pub const END: &str = "every process comes to its end, and nothing is left";
/// Epochs beside each other that must not be.
pub const BESIDE: &str = "epochs are active beside each other only where they may be";
/// A packet that its receiver cannot make sense of.
pub const SENSE: &str = "every packet makes sense";

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The process makes its next call.
    Call(usize),
    /// A packet of its leaves.
    Leave(usize),
    /// A request comes, from the first to the second.
    Request(usize, usize),
    /// An answer comes.
    Answer(usize, usize),
}

#[derive(Clone, Debug)]
struct Node {
    all: OneSided<Broken>,
    script: Script,
    memory: Flat,
}

/// A packet under way: its argument, place and bytes.
type Packet = (u16, Option<(u32, u32)>, Vec<u8>);

#[derive(Clone, Debug)]
struct Job {
    nodes: Vec<Rc<(u128, Node)>>,
    /// By sender and receiver.
    requests: Vec<VecDeque<Packet>>,
    answers: Vec<VecDeque<Packet>>,
}

/// A fingerprint.
fn key_of(what: impl Hash) -> u128 {
    let half = |seed: u8| {
        let mut state = DefaultHasher::new();
        (seed, &what).hash(&mut state);
        state.finish()
    };
    u128::from(half(0)) << 64 | u128::from(half(1))
}

fn known(node: Node) -> Rc<(u128, Node)> {
    let key = key_of((&node.all, node.script.place(), &node.memory));
    Rc::new((key, node))
}

impl Job {
    fn new(case: &Case) -> Job {
        let size = case.scripts.len();
        let node = |(rank, calls): (usize, &Vec<Call>)| {
            known(Node {
                all: windows(rank as u32, size as u32, Broken(case.flaw), case.reorder),
                script: Script::new(calls.clone()),
                memory: Flat::default(),
            })
        };
        Job {
            nodes: case.scripts.iter().enumerate().map(node).collect(),
            requests: vec![VecDeque::new(); size * size],
            answers: vec![VecDeque::new(); size * size],
        }
    }

    fn key(&self) -> u128 {
        let keys: Vec<u128> = self.nodes.iter().map(|node| node.0).collect();
        key_of((&keys, &self.requests, &self.answers))
    }

    /// The steps that may be possible.
    fn steps(&self) -> Vec<Step> {
        let size = self.nodes.len();
        let mut steps = Vec::new();
        for (rank, node) in self.nodes.iter().enumerate() {
            if !node.1.script.is_finished() {
                steps.push(Step::Call(rank));
            }
            if node.1.all.is_busy() {
                steps.push(Step::Leave(rank));
            }
        }
        for pair in 0..size * size {
            if !self.requests[pair].is_empty() {
                steps.push(Step::Request(pair / size, pair % size));
            }
            if !self.answers[pair].is_empty() {
                steps.push(Step::Answer(pair / size, pair % size));
            }
        }
        steps
    }

    /// The job after the step; `None`: it was not possible.
    fn after(&self, step: Step) -> Result<Option<Job>, &'static str> {
        let size = self.nodes.len();
        let mut job = self.clone();
        let at = match step {
            Step::Call(at) | Step::Leave(at) | Step::Request(_, at) | Step::Answer(_, at) => at,
        };
        let mut node = job.nodes[at].1.clone();
        let Node {
            all,
            script,
            memory,
        } = &mut node;
        let is_done = match step {
            Step::Call(_) => script.step(all, memory, &Plenty)?,
            Step::Leave(_) => {
                let mut out = [0; SHORT_BYTES];
                if let Some((dest, argument, place, len)) = all.leave(memory, &mut out) {
                    let place = place.map(|place| (place.target, place.offset));
                    let packet = (argument, place, out[..len].to_vec());
                    job.requests[at * size + dest.index() as usize].push_back(packet);
                }
                true
            }
            Step::Request(from, _) => {
                let packet = job.requests[from * size + at].pop_front();
                let (argument, place, bytes) = packet.expect("a packet");
                let place = place.map(|(target, offset)| Place { target, offset });
                let source = Rank::new(from as u32);
                let answer = all
                    .take(memory, (source, argument, place, &bytes))
                    .map_err(|_| SENSE)?;
                if let Some(answer) = answer {
                    let packet = (answer.argument, None, answer.bytes.to_vec());
                    job.answers[at * size + from].push_back(packet);
                }
                true
            }
            Step::Answer(from, _) => {
                let packet = job.answers[from * size + at].pop_front();
                let (argument, _, bytes) = packet.expect("a packet");
                let source = Rank::new(from as u32);
                all.hear(memory, (source, argument, &bytes))
                    .map_err(|_| SENSE)?;
                true
            }
        };
        if !is_done {
            return Ok(None);
        }
        if node.all.has_quarrel() {
            return Err(BESIDE);
        }
        job.nodes[at] = known(node);
        Ok(Some(job))
    }

    fn is_complete(&self) -> bool {
        let is_over =
            |node: &Rc<(u128, Node)>| node.1.script.is_finished() && !node.1.all.is_busy();
        self.nodes.iter().all(is_over)
    }
}

/// What has been found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// All holds, in so many states.
    Sound(u64),
    /// This does not hold; the steps that show it.
    Broken(&'static str, Vec<Step>),
    /// There are more states than were to be explored.
    TooMany,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Sound(states) => write!(f, "sound in {states} states"),
            Found::Broken(what, path) => write!(f, "not so: {what}, by {path:?}"),
            Found::TooMany => write!(f, "given up"),
        }
    }
}

/// Explores all states, at most `limit`.
pub fn explore(case: &Case, limit: u64) -> Found {
    let first = Job::new(case);
    let mut seen: HashSet<u128, FxBuildHasher> = HashSet::default();
    seen.insert(first.key());
    let mut path = Vec::new();
    // Of each state of the path: the step that led to it, itself, and the steps still to be followed.
    let mut stack = vec![(None, first.steps(), first, false)];
    while let Some((_, steps, job, moved)) = stack.last_mut() {
        let Some(step) = steps.pop() else {
            if !*moved && !job.is_complete() {
                return Found::Broken(END, path);
            }
            stack.pop();
            path.pop();
            continue;
        };
        match job.after(step) {
            Ok(None) => {}
            Ok(Some(next)) => {
                *moved = true;
                if !seen.insert(next.key()) {
                    continue;
                }
                if seen.len() as u64 > limit {
                    return Found::TooMany;
                }
                path.push(step);
                stack.push((Some(step), next.steps(), next, false));
            }
            Err(what) => {
                path.push(step);
                return Found::Broken(what, path);
            }
        }
    }
    Found::Sound(seen.len() as u64)
}

/// Follows one of the ways that a random job can go, drawn from the seed.
pub fn walk(windows: &Windows, flaw: Option<Flaw>, seed: u64) -> Found {
    let mut random = Random::new(seed, Stream::Schedule);
    let mut job = Job::new(&Case {
        scripts: windows.scripts.clone(),
        reorder: windows.reorder,
        flaw,
    });
    let mut taken = 0;
    loop {
        let mut steps = job.steps();
        random.shuffle(&mut steps);
        let mut moved = false;
        for step in steps {
            match job.after(step) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    (job, moved) = (next, true);
                    break;
                }
                Err(what) => return Found::Broken(what, Vec::new()),
            }
        }
        if !moved {
            let got = |rank: u32, at: usize| job.nodes[rank as usize].1.memory.0[at];
            return match (job.is_complete(), windows.check(got)) {
                (true, Ok(())) => Found::Sound(taken),
                (true, Err(what)) => Found::Broken(what, Vec::new()),
                (false, _) => Found::Broken(END, Vec::new()),
            };
        }
        taken += 1;
    }
}
