//! The lock of a window, and the model of locks.
//!
//! [`LockState`] is a function of the window. The lists of holders and of waiting processes, ghosts of the model, are in
//! the order of ranks. A packet determines the first step; further steps are requests of the process itself, and grants.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use midplane_device::rma::observe::WindowView;
use midplane_proofs::model::Model;
use midplane_proofs::state::State;

use super::replay::{ModelStep, check, make_step};

/// A process at the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LockPeer {
    holds: bool,
    waits: bool,
    wants_exclusive: bool,
    is_beside: bool,
}

/// The lock of a window.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockState {
    holders: i64,
    is_exclusive: bool,
    waiting: i64,
    turn: i64,
    peers: Vec<LockPeer>,
}

/// A packet for the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockInput {
    /// LOCK, shared.
    Shared,
    /// LOCK, exclusive.
    Exclusive,
    /// LOCK, shared beside others.
    Beside,
    /// LOCK, urgent.
    Urgent,
    /// UNLOCK, or an operation that ends the epoch so.
    Release,
}

/// Part of a step of the process that concerns one lock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockStep {
    /// The lock before.
    pub before: LockState,
    /// The packet, and its source.
    pub input: Option<(LockInput, i64)>,
    /// The process of the lock.
    pub own: i64,
    /// Free locks may be granted.
    pub may_grant: bool,
    /// The lock behind.
    pub after: LockState,
}

/// Maximum number of the model's steps for one step of the process.
const MAX_STEPS: usize = 5;

impl LockState {
    /// Maps the lock of a window.
    pub fn of_window(window: &WindowView) -> LockState {
        let peers = window.peers.iter().map(|peer| LockPeer {
            holds: peer.holds,
            waits: peer.waits_shared || peer.waits_exclusive || peer.waits_beside,
            wants_exclusive: peer.waits_exclusive,
            is_beside: peer.waits_beside,
        });
        LockState {
            holders: window.holders.into(),
            is_exclusive: window.is_exclusive,
            waiting: window.waiting.into(),
            turn: window.turn.into(),
            peers: peers.collect(),
        }
    }

    fn to_model<'m>(&self, model: &'m Model, me: i64) -> State<'m> {
        let mut state = State::first(model);
        let len = self.peers.len();
        let is = i64::from;
        state.set("peers", &[], len as i64);
        state.set("me", &[], me);
        state.set("holders", &[], self.holders);
        state.set("is_exclusive", &[], is(self.is_exclusive));
        state.set("waiting", &[], self.waiting);
        state.set("turn", &[], self.turn);
        let (mut holder, mut waiter) = (0, 0);
        for (rank, peer) in (0..).zip(&self.peers) {
            state.set("holds", &[rank], is(peer.holds));
            state.set("has_exclusive", &[rank], is(peer.holds && self.is_exclusive));
            state.set("waits", &[rank], is(peer.waits));
            state.set("wants_exclusive", &[rank], is(peer.wants_exclusive));
            state.set("is_beside", &[rank], is(peer.is_beside));
            if peer.holds {
                state.set("holder", &[holder], rank);
                state.set("holder_place", &[rank], holder);
                holder += 1;
            }
            if peer.waits {
                state.set("waiter", &[waiter], rank);
                state.set("waiter_place", &[rank], waiter);
                waiter += 1;
            }
        }
        resize(&mut state, len);
        state
    }

    fn is_reached(&self, state: &State<'_>) -> bool {
        let var = |name| state.get(name, &[]);
        let is_peer = |(rank, peer): (i64, &LockPeer)| {
            let of = |name| state.get(name, &[rank]) != 0;
            of("holds") == peer.holds
                && of("waits") == peer.waits
                && (!peer.waits || of("wants_exclusive") == peer.wants_exclusive && of("is_beside") == peer.is_beside)
        };
        let counts = [self.holders, self.waiting, self.turn, self.is_exclusive.into()];
        ["holders", "waiting", "turn", "is_exclusive"].map(var) == counts && (0..).zip(&self.peers).all(is_peer)
    }
}

fn resize(state: &mut State<'_>, len: usize) {
    state.set_size("peer", len);
    state.set_size("number", len + 1);
}

/// The steps that a packet may be.
fn steps_of(input: LockInput, source: i64, state: &State<'_>) -> Vec<ModelStep> {
    let place = |counter: &str, list: &str, of: &str| {
        let last = state.get(counter, &[]) - 1;
        vec![source, state.get(list, &[last]), last, state.get(of, &[source])]
    };
    match input {
        LockInput::Shared => vec![("lock_shared", vec![source]), ("wait_shared", vec![source])],
        LockInput::Exclusive => vec![("lock_exclusive", vec![source]), ("wait_exclusive", vec![source])],
        LockInput::Beside => vec![("lock_beside", vec![source]), ("wait_beside", vec![source])],
        LockInput::Urgent => vec![("urge", vec![source])],
        LockInput::Release => vec![("release", place("holders", "holder", "holder_place"))],
    }
}

/// The steps that need no packet.
fn own_steps(step: &LockStep, state: &State<'_>) -> Vec<ModelStep> {
    use LockInput::{Beside, Exclusive, Release, Shared, Urgent};
    let mut steps: Vec<ModelStep> = { [Shared, Exclusive, Beside, Urgent, Release].into_iter() }
        .flat_map(|input| steps_of(input, step.own, state))
        .collect();
    let last = state.get("waiting", &[]) - 1;
    for rank in (0..step.before.peers.len() as i64).filter(|_| step.may_grant) {
        let place = state.get("waiter_place", &[rank]);
        let values = vec![rank, state.get("waiter", &[last]), last, place];
        steps.extend(["grant", "grant_me", "grant_beside"].map(|name| (name, values.clone())));
    }
    steps
}

/// Checks steps of locks, each once.
pub struct LockChecker<'m> {
    model: &'m Model,
    known: HashMap<LockStep, Result<u64, String>>,
}

impl<'m> LockChecker<'m> {
    /// Creates a checker with this model.
    pub fn new(model: &'m Model) -> Self {
        LockChecker {
            model,
            known: HashMap::new(),
        }
    }

    /// Returns the number of the model's steps that make this step.
    pub fn check(&mut self, step: LockStep) -> Result<u64, String> {
        if step.before == step.after && step.input.is_none() {
            return Ok(0);
        }
        if let Some(known) = self.known.get(&step) {
            return known.clone();
        }
        let found = self.check_for_all(&step);
        self.known.insert(step, found.clone());
        found
    }

    /// Returns the number of different steps.
    pub fn different(&self) -> usize {
        self.known.len()
    }

    /// The theorems hold for an arbitrary waiting process `me`: each one takes its place.
    fn check_for_all(&self, step: &LockStep) -> Result<u64, String> {
        let mut most = 0;
        for me in 0..step.before.peers.len() as i64 {
            let before = step.before.to_model(self.model, me);
            check(self.model, &before)?;
            check(self.model, &step.after.to_model(self.model, me))?;
            most = self.count_steps(step, &before)?.max(most);
        }
        Ok(most)
    }

    fn count_steps(&self, step: &LockStep, before: &State<'m>) -> Result<u64, String> {
        let mut states = vec![before.clone()];
        let mut reason = None;
        let mut made = 0;
        if let Some((input, source)) = step.input {
            let is_late = input == LockInput::Urgent && before.get("holds", &[source]) != 0;
            if !is_late {
                states = self.successors(before, steps_of(input, source, before), &mut reason);
                made = 1;
            }
        }
        while made <= MAX_STEPS as u64 && !states.is_empty() {
            if states.iter().any(|state| step.after.is_reached(state)) {
                return Ok(made);
            }
            let next = { states.iter() }.flat_map(|state| self.successors(state, own_steps(step, state), &mut reason));
            states = next.collect();
            made += 1;
        }
        let reason = reason.unwrap_or("no step ends there".into());
        Err(format!("{reason}: no steps of the model lead to {:?}", step.after))
    }

    fn successors(&self, state: &State<'m>, steps: Vec<ModelStep>, reason: &mut Option<String>) -> Vec<State<'m>> {
        let mut states = Vec::new();
        let len = state.get("peers", &[]) as usize;
        for step in steps {
            match make_step(self.model, state, &step, |state| resize(state, len)) {
                Ok(next) => states.push(next),
                // That of the packet comes first.
                Err(refused) => {
                    reason.get_or_insert(refused);
                }
            }
        }
        states
    }
}
