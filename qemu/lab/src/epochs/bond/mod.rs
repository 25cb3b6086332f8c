//! The bond between the epoch engine and the models of epochs and locks ([`midplane_proofs`]): each step of a job is a
//! sequence of the models' steps, and each state satisfies their invariants.
//!
//! ```text
//!   replay.rs   steps of a model
//!   locks.rs    the lock of each window of each process          `locks.model`
//!   pairs.rs    the posts and starts of each pair of processes   `epochs.model`
//!   mod.rs      follows the steps of a job
//! ```
//!
//! Epochs with MPI_MODE_NOCHECK send no grants; the models do not describe them.
#![forbid(unsafe_code)]

mod locks;
mod pairs;
mod replay;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::rc::Rc;

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::WindowSequence;
use midplane_device::rma::observe::{OperationView, WindowView};
use midplane_device::rma::rules::BrokenRule;
use midplane_device::rma::wire::{self, PacketKind, RequestHead};
use midplane_proofs::model::Model;
use rustc_hash::FxBuildHasher;

use self::locks::{LockChecker, LockInput, LockState, LockStep};
use self::pairs::{ChannelItem, PairChange, PairChecker, PairPackets, PairSide, PairState};
use super::explore::{EpochCase, JobState, JobStep, PacketData, StateTable, key_of};
use super::memory::WINDOWS;
use super::random::WindowJob;
use super::script::{ScriptCall, window_of};

/// Extent of a comparison.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct EpochBondExtent {
    /// States of the job, with the ghosts.
    pub states: u64,
    /// Steps of the job.
    pub steps: u64,
    /// Steps of the models.
    pub model_steps: u64,
    /// Different steps of locks, and of pairs.
    pub different: (usize, usize),
}

/// A step that is none of the models.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EpochBondFailure {
    /// The guard, the clause or the difference.
    pub reason: String,
    /// The step.
    pub step: JobStep,
}

impl fmt::Display for EpochBondFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at the step {:?}", self.reason, self.step)
    }
}

/// The part of a packet that concerns epochs of posts and starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PacketMeaning {
    window: usize,
    /// An operation of the epoch with this number, relative to the last done that has arrived.
    operation: Option<i64>,
    is_done: bool,
    is_post: bool,
}

impl PacketMeaning {
    fn items(self) -> impl Iterator<Item = ChannelItem> {
        let done = self.is_done.then_some(ChannelItem::Done);
        self.operation.map(ChannelItem::Operation).into_iter().chain(done)
    }
}

/// Queue of the meanings of a channel's packets, in order.
type Meanings = VecDeque<Option<PacketMeaning>>;

/// A job, and the ghosts of its packets.
#[derive(Clone)]
struct BoundJob {
    job: JobState,
    /// By sender and receiver.
    channels: Vec<Meanings>,
    /// By sender: packets that calls have created and the network has not accepted, with their destination.
    unsent: Vec<VecDeque<(usize, Option<PacketMeaning>)>>,
}

fn head_of(packet: &PacketData) -> Option<RequestHead> {
    let (_, place, bytes) = packet;
    let (head, _) = RequestHead::parse(bytes)?;
    place.is_none().then_some(head)
}

fn is_operation(kind: PacketKind) -> bool {
    use PacketKind::{Accumulate, Compare, Fetch, Get, Put};
    matches!(kind, Put | Accumulate | Fetch | Compare | Get)
}

fn lock_input(head: &RequestHead) -> Option<LockInput> {
    match (head.kind, head.operation) {
        (PacketKind::Unlock, _) => Some(LockInput::Release),
        (PacketKind::Lock, wire::SHARED) => Some(LockInput::Shared),
        (PacketKind::Lock, wire::EXCLUSIVE) => Some(LockInput::Exclusive),
        (PacketKind::Lock, wire::SHARED_BESIDE) => Some(LockInput::Beside),
        (PacketKind::Lock, wire::URGENT) => Some(LockInput::Urgent),
        _ => (head.ends == Some(PacketKind::Unlock)).then_some(LockInput::Release),
    }
}

/// Windows of a process.
type Views = Rc<Vec<WindowView>>;

/// A step of a job, with the states of its process.
struct Move<'a> {
    step: JobStep,
    /// The process that makes the step.
    at: usize,
    before: &'a [Views],
    after: &'a [Views],
    /// The packet that arrives: its source and head.
    arrived: Option<(usize, RequestHead)>,
    /// Its meaning.
    meaning: Option<PacketMeaning>,
    /// Epochs whose operations are sent: the window, the target and the epoch.
    operations: Vec<(usize, usize, WindowSequence)>,
}

struct EpochComparison<'m> {
    locks: LockChecker<'m>,
    pairs: PairChecker<'m>,
    known: StateTable,
    views: Vec<Option<Views>>,
    size: usize,
    extent: EpochBondExtent,
}

/// Models of the epoch engine.
#[derive(Clone, Copy)]
pub struct EpochModels<'m> {
    /// Epochs of posts and starts.
    pub epochs: &'m Model,
    /// Locks.
    pub locks: &'m Model,
}

impl<'m> EpochComparison<'m> {
    fn new(models: EpochModels<'m>, size: usize, forgets: bool) -> Self {
        EpochComparison {
            locks: LockChecker::new(models.locks),
            pairs: PairChecker::new(models.epochs),
            known: StateTable::new(forgets),
            views: Vec::new(),
            size,
            extent: EpochBondExtent::default(),
        }
    }

    fn first(&mut self, case: &EpochCase, windows: usize) -> BoundJob {
        let size = case.scripts.len();
        BoundJob {
            job: JobState::new(case, windows, &mut self.known),
            channels: vec![Meanings::new(); size * size],
            unsent: vec![VecDeque::new(); size],
        }
    }

    fn views(&mut self, job: &JobState) -> Vec<Views> {
        let views = |rank: usize| {
            let node = job.nodes[rank] as usize;
            if self.views.len() <= node {
                self.views.resize(node + 1, None);
            }
            let of = || Rc::new(job.node(&self.known, rank).all.window_views());
            self.views[node].get_or_insert_with(of).clone()
        };
        (0..job.nodes.len()).map(views).collect()
    }

    /// Returns the job after a step, or `None` if it was impossible.
    fn after(&mut self, bound: &BoundJob, step: JobStep) -> Result<Option<BoundJob>, String> {
        let Some(job) = bound.job.after(&mut self.known, step).map_err(String::from)? else {
            return Ok(None);
        };
        let mut next = BoundJob { job, ..bound.clone() };
        let (before, after) = (self.views(&bound.job), self.views(&next.job));
        let (at, from) = match step {
            JobStep::Call(at) | JobStep::Transmit(at) => (at, None),
            JobStep::Request(from, at) => (at, Some(from)),
            JobStep::Answer(_, at) => (at, None),
        };
        let arrived = from.and_then(|from| {
            let packet = *bound.job.requests[from * self.size + at].front()?;
            Some((from, head_of(&self.known.packets[packet as usize])?))
        });
        let mut made = Move {
            step,
            at,
            before: &before,
            after: &after,
            arrived,
            meaning: from.and_then(|from| next.channels[from * self.size + at].pop_front().flatten()),
            operations: Vec::new(),
        };
        made.operations = self.sent_operations(bound, &next, &made);
        self.extent.steps += 1;
        self.check_locks(&made)?;
        self.check_pairs(bound, &mut next, &made)?;
        Ok(Some(next))
    }

    /// Returns the epochs whose operations a step sends: recorded ones that advance, and that of the call itself.
    fn sent_operations(
        &self,
        bound: &BoundJob,
        next: &BoundJob,
        made: &Move<'_>,
    ) -> Vec<(usize, usize, WindowSequence)> {
        let mut sent = Vec::new();
        for (window, (before, after)) in made.before[made.at].iter().zip(made.after[made.at].iter()).enumerate() {
            for one in before.operations.iter().filter(|one| !one.is_asking) {
                let later = after.operations.iter().find(|later| later.serial == one.serial);
                if later.is_none_or(|later| later != one) {
                    sent.push((window, one.target.index() as usize, one.epoch));
                }
            }
        }
        let node = bound.job.node(&self.known, made.at);
        let is_call = made.step == JobStep::Call(made.at);
        if let Some((window, epoch, target)) = node.script.next_operation().filter(|_| is_call) {
            let now = next.job.node(&self.known, made.at);
            let is_pushed = now.all.unsent_packets().count() > node.all.unsent_packets().count();
            let serial = made.before[made.at][window].serial;
            let after = &made.after[made.at][window];
            let is_new = |one: &&OperationView| one.serial == serial;
            let is_recorded = after.serial > serial;
            let has_left = is_recorded && after.operations.iter().find(is_new).is_none_or(|one| one.sent > 0);
            if is_pushed || has_left {
                sent.push((window, target as usize, epoch));
            }
        }
        sent
    }

    fn check_locks(&mut self, made: &Move<'_>) -> Result<(), String> {
        for (window, (before, after)) in made.before[made.at].iter().zip(made.after[made.at].iter()).enumerate() {
            let arrived = { made.arrived.as_ref() }.filter(|(_, head)| window_of(head.window) == window);
            let step = LockStep {
                before: LockState::of_window(before),
                input: arrived.and_then(|(from, head)| Some((lock_input(head)?, *from as i64))),
                own: made.at as i64,
                may_grant: made.step == JobStep::Transmit(made.at),
                after: LockState::of_window(after),
            };
            let steps = self.locks.check(step);
            self.extent.model_steps += steps.map_err(|reason| format!("window {window} of {}: {reason}", made.at))?;
        }
        Ok(())
    }

    /// Checks the pairs of the process that makes the step, and notes what its packet means.
    fn check_pairs(&mut self, bound: &BoundJob, next: &mut BoundJob, made: &Move<'_>) -> Result<(), String> {
        let packet = self.sent_packet(bound, next, made);
        if let Some(from) = made.arrived.as_ref().map(|(from, _)| *from)
            && let Some(meaning) = made.meaning.filter(|meaning| meaning.is_done)
        {
            next.count_done(from, made.at, meaning.window, self.size);
        }
        let mut expected = Vec::new();
        for window in 0..made.before[made.at].len() {
            for other in 0..self.size {
                expected.push(self.check_pair(bound, made, (window, made.at, other), packet)?);
                if other != made.at {
                    expected.push(self.check_pair(bound, made, (window, other, made.at), None)?);
                }
            }
        }
        if let Some(packet) = packet {
            let pair =
                { expected.iter() }.find(|expected| expected.pair == (packet.meaning.window, made.at, packet.dest));
            let operation = pair.and_then(|pair| pair.operation).filter(|_| packet.is_operation);
            let meaning = PacketMeaning {
                operation,
                ..packet.meaning
            };
            match made.step {
                JobStep::Call(_) => next.unsent[made.at].push_back((packet.dest, Some(meaning))),
                _ => next.channels[made.at * self.size + packet.dest].push_back(Some(meaning)),
            }
        } else if let Some(dest) = self.sent_to(bound, next, made) {
            let unsent = next.unsent[made.at].pop_front();
            let meaning = unsent.and_then(|(_, meaning)| meaning);
            next.channels[made.at * self.size + dest].push_back(meaning);
        }
        for expected in expected {
            let (window, origin, target) = expected.pair;
            let found = self.pair(made.after, next, expected.pair)?;
            if found != expected.state {
                let expected = expected.state;
                return Err(format!(
                    "the epochs of {origin} at {target} in window {window} are {found:?}, and {expected:?} in the model"
                ));
            }
        }
        Ok(())
    }

    /// Returns the destination of the request that the step transmits.
    fn sent_to(&self, bound: &BoundJob, next: &BoundJob, made: &Move<'_>) -> Option<usize> {
        let queue = |job: &JobState, dest: usize| job.requests[made.at * self.size + dest].len();
        let has_grown = |dest: &usize| queue(&next.job, *dest) > queue(&bound.job, *dest);
        { 0..self.size }.filter(|dest| *dest != made.at).find(has_grown)
    }

    /// Returns the packet that the step creates; `None` for one that a call has created before.
    fn sent_packet(&self, bound: &BoundJob, next: &BoundJob, made: &Move<'_>) -> Option<SentPacket> {
        let unsent = |bound: &BoundJob| bound.job.node(&self.known, made.at).all.unsent_packets().count();
        let (dest, head) = if matches!(made.step, JobStep::Call(_)) && unsent(next) > unsent(bound) {
            let all = &next.job.node(&self.known, made.at).all;
            let (dest, bytes) = all.unsent_packets().last()?;
            (dest.index() as usize, RequestHead::parse(bytes).map(|(head, _)| head)?)
        } else {
            let dest = self.sent_to(bound, next, made).filter(|_| unsent(bound) == 0)?;
            let packet = *next.job.requests[made.at * self.size + dest].back()?;
            let head = head_of(&self.known.packets[packet as usize]);
            (dest, head.unwrap_or(RequestHead::new(PacketKind::Size, 6)))
        };
        Some(SentPacket {
            dest,
            is_operation: is_operation(head.kind),
            meaning: PacketMeaning {
                window: window_of(head.window),
                operation: None,
                is_done: head.kind == PacketKind::Complete || head.ends == Some(PacketKind::Complete),
                is_post: head.kind == PacketKind::Post,
            },
        })
    }

    /// Maps the windows of a pair.
    fn pair(&self, views: &[Views], bound: &BoundJob, pair: PairIndex) -> Result<PairState, String> {
        let (window, origin, target) = pair;
        let packets = bound.packets(pair, self.size);
        let side = |rank: usize| PairSide {
            before: &views[rank][window],
            after: &views[rank][window],
            rank: Rank::new(rank as u32),
        };
        let state = PairState::of_windows(side(origin), side(target), &packets);
        state.map_err(|reason| format!("window {window}, {origin} at {target}: {reason}"))
    }

    /// Makes the model's steps of a pair.
    fn check_pair(
        &mut self,
        bound: &BoundJob,
        made: &Move<'_>,
        pair: PairIndex,
        packet: Option<SentPacket>,
    ) -> Result<ExpectedPair, String> {
        let (window, origin, target) = pair;
        let is_self = origin == target;
        let first = self.pair(made.before, bound, pair)?;
        let side = |rank: usize| PairSide {
            before: &made.before[rank][window],
            after: &made.after[rank][window],
            rank: Rank::new(rank as u32),
        };
        let is_sent = |sent: &&(usize, usize, WindowSequence)| (sent.0, made.at, sent.1) == pair;
        let operations: Vec<_> = { made.operations.iter() }.filter(is_sent).map(|sent| sent.2).collect();
        let has_packet = packet.is_some_and(|packet| {
            (packet.meaning.window, packet.dest) == (window, target) && packet.is_operation && origin == made.at
        });
        if !is_self && origin == made.at && has_packet != (operations.len() == 1) {
            return Err(format!("{} operations are in one packet", operations.len()));
        }
        let is_here = |(from, _): &(usize, RequestHead)| (*from, made.at) == (origin, target);
        let arrived = made.arrived.filter(is_here).and(made.meaning);
        let arrived = arrived.filter(|meaning| meaning.window == window);
        let items = arrived.into_iter().flat_map(PacketMeaning::items).collect();
        let change = PairChange::between(side(origin), side(target), &first, &operations, items);
        let operation = change.operations().first().copied();
        let checked = self.pairs.check(first, change, is_self);
        let (state, steps) = checked.map_err(|reason| format!("window {window}, {origin} at {target}: {reason}"))?;
        self.extent.model_steps += steps;
        Ok(ExpectedPair { pair, state, operation })
    }

    fn extent(&self) -> EpochBondExtent {
        EpochBondExtent {
            different: (self.locks.different(), self.pairs.different()),
            ..self.extent
        }
    }
}

/// Window, origin and target.
type PairIndex = (usize, usize, usize);

/// A packet that a step creates.
#[derive(Clone, Copy)]
struct SentPacket {
    dest: usize,
    is_operation: bool,
    meaning: PacketMeaning,
}

/// The state of a pair that the model requires.
struct ExpectedPair {
    pair: PairIndex,
    state: PairState,
    /// Number of the epoch whose operation was sent.
    operation: Option<i64>,
}

impl BoundJob {
    /// Returns the packets of a pair: in flight, then those that calls have created.
    fn packets(&self, pair: PairIndex, size: usize) -> PairPackets {
        let (window, origin, target) = pair;
        let is_of_it = |meaning: &PacketMeaning| meaning.window == window;
        let flight = self.channels[origin * size + target].iter().copied().flatten();
        let unsent = { self.unsent[origin].iter() }.filter(|(dest, _)| *dest == target);
        let unsent = unsent.filter_map(|(_, meaning)| *meaning);
        let channel = flight.chain(unsent).filter(is_of_it).flat_map(PacketMeaning::items);
        let back = self.channels[target * size + origin].iter().flatten();
        let grants = back.filter(|meaning| is_of_it(meaning) && meaning.is_post).count();
        PairPackets {
            channel: channel.collect(),
            grants: grants as i64,
        }
    }

    /// Counts the epochs of a pair from the next done on.
    fn count_done(&mut self, origin: usize, target: usize, window: usize, size: usize) {
        let flight = self.channels[origin * size + target].iter_mut().flatten();
        let unsent = { self.unsent[origin].iter_mut() }.filter(|(dest, _)| *dest == target);
        let all = flight.chain(unsent.filter_map(|(_, meaning)| meaning.as_mut()));
        for meaning in all.filter(|meaning| meaning.window == window) {
            if let Some(number) = &mut meaning.operation {
                *number -= 1;
            }
        }
    }
}

fn is_checked(scripts: &[Vec<ScriptCall>]) -> bool {
    let is_unchecked = |call: &ScriptCall| matches!(call, ScriptCall::OpenUnchecked(..));
    !scripts.iter().flatten().any(is_unchecked)
}

/// Compares all steps of a job with the models, up to `limit` states. The ghosts of the packets are part of a state.
///
/// # Errors
/// The first step that is none of the models.
pub fn compare(case: &EpochCase, models: EpochModels<'_>, limit: u64) -> Result<EpochBondExtent, EpochBondFailure> {
    let mut comparison = EpochComparison::new(models, case.scripts.len(), false);
    let first = comparison.first(case, WINDOWS);
    let key = |bound: &BoundJob, known: &StateTable| key_of((bound.job.key(known), &bound.channels, &bound.unsent));
    let mut seen: HashSet<u128, FxBuildHasher> = HashSet::from_iter([key(&first, &comparison.known)]);
    let mut stack = vec![first];
    while let Some(bound) = stack.pop().filter(|_| comparison.extent.states < limit) {
        comparison.extent.states += 1;
        for step in bound.job.steps(&comparison.known) {
            match comparison.after(&bound, step) {
                Ok(None) => {}
                Ok(Some(next)) => {
                    if seen.insert(key(&next, &comparison.known)) {
                        stack.push(next);
                    }
                }
                Err(reason) => return Err(EpochBondFailure { reason, step }),
            }
        }
    }
    Ok(comparison.extent())
}

/// Compares the steps of one path of a random job with the models; `None`: the job contains MPI_MODE_NOCHECK.
///
/// # Errors
/// The first step that is none of the models.
pub fn compare_walk(
    windows: &WindowJob,
    flaw: Option<BrokenRule>,
    models: EpochModels<'_>,
    seed: u64,
) -> Result<Option<EpochBondExtent>, EpochBondFailure> {
    if !is_checked(&windows.scripts) {
        return Ok(None);
    }
    let mut random = Random::new(seed, RandomStream::Schedule);
    let case = EpochCase::of_job(windows, flaw);
    let mut comparison = EpochComparison::new(models, case.scripts.len(), true);
    let mut bound = comparison.first(&case, windows.count);
    loop {
        comparison.extent.states += 1;
        let mut steps = bound.job.steps(&comparison.known);
        random.shuffle(&mut steps);
        let mut next = None;
        for step in steps {
            let after = comparison.after(&bound, step);
            next = after.map_err(|reason| EpochBondFailure { reason, step })?;
            if next.is_some() {
                break;
            }
        }
        match next {
            Some(next) => bound = next,
            None => return Ok(Some(comparison.extent())),
        }
    }
}
