//! The epochs between an origin and a target, and the model of epochs.
//!
//! Both sides of the engine count relative to the last match, and the model counts from the start. The clauses and the
//! guards of the model contain differences of numbers only. [`PairState`] therefore counts from the last done that has
//! arrived. The numbers of the operations in the channel are ghosts, as in the model: they come from the epochs whose
//! operations the packets were.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::{EpochKind, WindowSequence};
use midplane_device::rma::observe::{EpochView, WindowView};
use midplane_proofs::model::Model;
use midplane_proofs::state::State;

use super::replay::{ModelStep, check, make_step};

/// An operation or a done in the channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelItem {
    /// An operation of the epoch with this number.
    Operation(i64),
    /// The done of an epoch.
    Done,
}

/// The epochs of a pair; `dones_in` of the model is 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PairState {
    exposed: i64,
    posts_sent: i64,
    begun: i64,
    posts_in: i64,
    dones_out: i64,
    channel: Vec<ChannelItem>,
}

/// One side of a pair: its window, and its rank.
#[derive(Clone, Copy)]
pub struct PairSide<'a> {
    /// The window, before the step that is compared.
    pub before: &'a WindowView,
    /// The window behind it.
    pub after: &'a WindowView,
    /// The rank.
    pub rank: Rank,
}

/// Packets of a pair in flight, or to be sent.
#[derive(Clone, Default, Debug)]
pub struct PairPackets {
    /// From the origin to the target.
    pub channel: Vec<ChannelItem>,
    /// Grants in the other direction.
    pub grants: i64,
}

fn member_of(epoch: &EpochView, sort: EpochKind, rank: Rank) -> Option<(bool, bool)> {
    let member = epoch.members.iter().find(|member| member.rank == rank);
    let member = member.filter(|_| epoch.sort == sort)?;
    Some((member.is_told, member.has_done))
}

/// Returns the active epochs of a kind with this process: told, and done.
fn active(window: &WindowView, sort: EpochKind, rank: Rank) -> impl Iterator<Item = (bool, bool)> {
    let epochs = { window.epochs.iter() }.filter(|epoch| epoch.is_begun && !epoch.is_complete);
    epochs.filter_map(move |epoch| member_of(epoch, sort, rank))
}

fn count(items: impl Iterator<Item = bool>) -> i64 {
    items.filter(|is| *is).count() as i64
}

impl PairState {
    /// Maps the windows of an origin and a target, behind the step.
    pub fn of_windows(origin: PairSide<'_>, target: PairSide<'_>, packets: &PairPackets) -> Result<PairState, String> {
        let (origin_rank, target_rank) = (origin.rank, target.rank);
        let (origin, target) = (origin.after, target.after);
        let at_origin = origin.peers[target_rank.index() as usize];
        let at_target = target.peers[origin_rank.index() as usize];
        let exposures: Vec<_> = active(target, EpochKind::Post, origin_rank).collect();
        if exposures.windows(2).any(|pair| !pair[0].1 && pair[1].1) {
            return Err("a done counts for a later exposure epoch".into());
        }
        let dones = count(exposures.iter().map(|(_, has_done)| *has_done)) + i64::from(at_target.dones);
        let dones_out = packets
            .channel
            .iter()
            .filter(|item| **item == ChannelItem::Done)
            .count() as i64;
        let state = PairState {
            exposed: exposures.len() as i64 - dones,
            posts_sent: count(exposures.iter().map(|(is_told, _)| *is_told)) - dones,
            begun: dones_out + count(active(origin, EpochKind::Start, target_rank).map(|(is_told, _)| !is_told)),
            posts_in: dones_out + i64::from(at_origin.grants),
            dones_out,
            channel: packets.channel.clone(),
        };
        if state.posts_sent - state.posts_in != packets.grants {
            return Err(format!("{} grants are in flight: {state:?}", packets.grants));
        }
        Ok(state)
    }

    fn to_model<'m>(&self, model: &'m Model) -> State<'m> {
        let mut state = State::first(model);
        for (name, value) in [
            ("exposed", self.exposed),
            ("posts_sent", self.posts_sent),
            ("begun", self.begun),
            ("posts_in", self.posts_in),
            ("dones_out", self.dones_out),
            ("tail", self.channel.len() as i64),
        ] {
            state.set(name, &[], value);
        }
        let mut dones = 0;
        for (place, item) in (0..).zip(&self.channel) {
            let of = match item {
                ChannelItem::Operation(of) => *of,
                ChannelItem::Done => {
                    state.set("done_at", &[dones], place);
                    dones += 1;
                    dones - 1
                }
            };
            state.set("is_done", &[place], (*item == ChannelItem::Done).into());
            state.set("of", &[place], of);
        }
        resize(&mut state);
        state
    }

    fn of_model(state: &State<'_>) -> PairState {
        let var = |name| state.get(name, &[]);
        let base = var("dones_in");
        let item = |place| match state.get("is_done", &[place]) {
            0 => ChannelItem::Operation(state.get("of", &[place]) - base),
            _ => ChannelItem::Done,
        };
        PairState {
            exposed: var("exposed") - base,
            posts_sent: var("posts_sent") - base,
            begun: var("begun") - base,
            posts_in: var("posts_in") - base,
            dones_out: var("dones_out") - base,
            channel: (var("head")..var("tail")).map(item).collect(),
        }
    }
}

fn resize(state: &mut State<'_>) {
    let var = |name| state.get(name, &[]).max(0) as usize;
    let epochs = var("exposed").max(var("begun")) + 1;
    let places = var("tail");
    state.set_size("epoch", epochs);
    state.set_size("place", places);
}

/// Differences of two states of a pair's windows.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct PairChange {
    exposed: usize,
    posts: usize,
    posts_in: i64,
    begun: usize,
    /// Numbers of the epochs whose operations, and dones, have been sent.
    operations: Vec<i64>,
    dones: Vec<i64>,
    /// Packets that have arrived.
    arrived: Vec<ChannelItem>,
}

/// State of a process of an epoch that may be removed or not opened yet: begun, told, done.
fn stage(window: &WindowView, serial: WindowSequence, sort: EpochKind, rank: Rank) -> [bool; 3] {
    match window.epochs.iter().find(|epoch| epoch.serial == serial) {
        Some(epoch) => {
            let (is_told, has_done) = member_of(epoch, sort, rank).unwrap_or_default();
            [epoch.is_begun, is_told, has_done]
        }
        // A removed epoch is complete.
        None => [serial < window.serial; 3],
    }
}

/// Returns the epochs of a kind with this process, in order: the sequence number, and the states before and after.
fn stages(side: PairSide<'_>, sort: EpochKind, rank: Rank) -> Vec<(WindowSequence, [bool; 3], [bool; 3])> {
    let PairSide { before, after, .. } = side;
    let epochs = before.epochs.iter().chain(&after.epochs);
    let mut serials: Vec<_> = epochs
        .filter(|epoch| member_of(epoch, sort, rank).is_some())
        .map(|epoch| epoch.serial)
        .collect();
    serials.sort_unstable();
    serials.dedup();
    let of = |serial| {
        let stage = |window| stage(window, serial, sort, rank);
        (serial, stage(before), stage(after))
    };
    serials.into_iter().map(of).collect()
}

impl PairChange {
    /// Compares the windows of an origin and a target, each before and after. `operations`: the epochs whose operations
    /// have been sent to the target.
    pub fn between(
        origin: PairSide<'_>,
        target: PairSide<'_>,
        first: &PairState,
        operations: &[WindowSequence],
        arrived: Vec<ChannelItem>,
    ) -> PairChange {
        let is_new = |at: usize| move |stage: &&(WindowSequence, [bool; 3], [bool; 3])| !stage.1[at] && stage.2[at];
        let exposures = stages(target, EpochKind::Post, origin.rank);
        let accesses = stages(origin, EpochKind::Start, target.rank);
        let untold = { accesses.iter() }.filter(|(_, before, after)| !before[1] && (before[0] || after[0]));
        let untold: Vec<_> = untold.map(|(serial, ..)| *serial).collect();
        let number = |serial: &WindowSequence| {
            let at = untold.iter().position(|one| one == serial)?;
            Some(first.dones_out + at as i64)
        };
        let told: Vec<_> = { accesses.iter() }
            .filter(is_new(1))
            .map(|(serial, ..)| *serial)
            .collect();
        let grants = |window: &WindowView| i64::from(window.peers[target.rank.index() as usize].grants);
        PairChange {
            exposed: exposures.iter().filter(is_new(0)).count(),
            posts: exposures.iter().filter(is_new(1)).count(),
            posts_in: grants(origin.after) - grants(origin.before) + told.len() as i64,
            begun: accesses.iter().filter(is_new(0)).count(),
            operations: operations.iter().filter_map(number).collect(),
            dones: told.iter().filter_map(number).collect(),
            arrived,
        }
    }

    /// Returns the numbers of the epochs whose operations have been sent.
    pub fn operations(&self) -> &[i64] {
        &self.operations
    }

    fn is_empty(&self) -> bool {
        *self == PairChange::default()
    }

    /// Returns the model's steps, in an order in which a later one does not prevent an earlier one. In a pair of a process
    /// with itself, packets arrive immediately.
    fn steps(&self, is_self: bool) -> Vec<ModelStep> {
        let none = Vec::new;
        let mut steps: Vec<ModelStep> = Vec::new();
        for item in &self.arrived {
            let name = match item {
                ChannelItem::Operation(_) => "operation_arrives",
                ChannelItem::Done => "done_arrives",
            };
            steps.push((name, none()));
        }
        steps.extend((0..self.exposed).map(|_| ("expose", none())));
        steps.extend((0..self.posts).map(|_| ("post", none())));
        steps.extend((0..self.posts_in).map(|_| ("post_arrives", none())));
        steps.extend((0..self.begun).map(|_| ("access", none())));
        for of in &self.operations {
            steps.push(("operate", vec![*of]));
            steps.extend(is_self.then(|| ("operation_arrives", none())));
        }
        for of in &self.dones {
            steps.push(("done", vec![*of]));
            steps.extend(is_self.then(|| ("done_arrives", none())));
        }
        steps
    }
}

/// The model's state after some steps, and their number; or what fails.
type CheckedPair = Result<(PairState, u64), String>;

/// Checks steps of pairs, each once.
pub struct PairChecker<'m> {
    model: &'m Model,
    known: HashMap<(PairState, PairChange, bool), CheckedPair>,
}

impl<'m> PairChecker<'m> {
    /// Creates a checker with this model.
    pub fn new(model: &'m Model) -> Self {
        PairChecker {
            model,
            known: HashMap::new(),
        }
    }

    /// Returns the model's state after the steps, and their number.
    pub fn check(&mut self, before: PairState, change: PairChange, is_self: bool) -> CheckedPair {
        if change.is_empty() {
            return Ok((before, 0));
        }
        let key = (before, change, is_self);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.follow(&key.0, &key.1.steps(is_self));
        self.known.insert(key, found.clone());
        found
    }

    /// Returns the number of different steps.
    pub fn different(&self) -> usize {
        self.known.len()
    }

    fn follow(&self, before: &PairState, steps: &[ModelStep]) -> CheckedPair {
        let mut state = before.to_model(self.model);
        check(self.model, &state)?;
        for step in steps {
            state = make_step(self.model, &state, step, resize)?;
        }
        Ok((PairState::of_model(&state), steps.len() as u64))
    }
}
