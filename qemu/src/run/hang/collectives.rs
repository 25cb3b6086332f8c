//! Collectives that do not match each other, and ranks that have not called one. Free of side effects.
//!
//! Contexts of disjoint communicators may be equal, and the members of a communicator are not known. So each statement
//! follows from a wait of one rank for another one.

use crate::run::hang::calls::{BlockedCall, CollectiveScope};
use crate::run::hang::text::{self, group_ranks, join_items};
use crate::run::hang::wait_graph::WaitGraph;
use std::collections::{BTreeMap, BTreeSet};

/// A collective in which ranks are blocked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct CollectiveCall<'n> {
    scope: CollectiveScope,
    function: &'n str,
}

impl<'n> CollectiveCall<'n> {
    fn from_blocked(call: &'n BlockedCall<'_>) -> Option<Self> {
        Some(Self {
            scope: call.collective_scope()?,
            function: &call.call.function,
        })
    }

    fn name(&self) -> String {
        format!("{} of {}", self.function, text::scope(self.scope))
    }
}

/// Ranks of a collective, as indices in ascending order.
#[derive(Default, Debug)]
struct CollectiveRanks {
    members: Vec<usize>,
    /// Ranks in no such collective that they wait for.
    awaited: BTreeSet<usize>,
}

/// All collectives in which ranks are blocked.
struct Collectives<'g, 'n> {
    graph: &'g WaitGraph<'n>,
    ranks: BTreeMap<CollectiveCall<'g>, CollectiveRanks>,
}

/// Returns the collectives that can never end, with the ranks that they wait for.
pub fn describe_collectives(graph: &WaitGraph<'_>) -> Vec<String> {
    let collectives = Collectives::new(graph);
    let mismatches = collectives.mismatches();
    let mut statements: Vec<String> = { mismatches.iter() }
        .map(|mismatched| collectives.describe_mismatch(mismatched))
        .collect();
    for call in collectives.ranks.keys() {
        let mismatched = mismatches.iter().find(|mismatched| mismatched.contains(call));
        statements.extend(collectives.describe_missing(call, mismatched));
    }
    statements
}

impl<'g, 'n> Collectives<'g, 'n> {
    fn new(graph: &'g WaitGraph<'n>) -> Self {
        let mut ranks = BTreeMap::<CollectiveCall<'_>, CollectiveRanks>::new();
        for (index, call) in graph.blocked_calls() {
            if let Some(collective) = CollectiveCall::from_blocked(call) {
                ranks.entry(collective).or_default().members.push(index);
            }
        }
        for (call, ranks) in &mut ranks {
            let CollectiveRanks { members, awaited } = ranks;
            let is_other = |index: &usize| members.binary_search(index).is_err();
            match call.scope {
                CollectiveScope::AllRanks => awaited.extend((0..graph.nodes.len()).filter(is_other)),
                CollectiveScope::Communicator(_) => {
                    let waits = members.iter().flat_map(|index| graph.waits(*index));
                    awaited.extend(waits.map(|wait| wait.to).filter(is_other));
                }
            }
        }
        Self { graph, ranks }
    }

    /// Returns the collective of a rank.
    fn call_of(&self, index: usize) -> Option<CollectiveCall<'g>> {
        self.graph.blocked_call(index).and_then(CollectiveCall::from_blocked)
    }

    /// Returns the sets of collectives that wait for each other although they belong to the same communicator. The
    /// barrier network waits for each rank, so that its collectives require a wait in the other direction, too.
    fn mismatches(&self) -> Vec<BTreeSet<CollectiveCall<'g>>> {
        let mut waits = BTreeSet::new();
        for (call, ranks) in &self.ranks {
            let others = ranks.awaited.iter().filter_map(|index| self.call_of(*index));
            waits.extend(others.map(|other| (*call, other)));
        }
        let mut sets: Vec<BTreeSet<CollectiveCall<'g>>> = Vec::new();
        for (call, other) in &waits {
            if call.scope == other.scope || waits.contains(&(*other, *call)) {
                let is_joined = |set: &BTreeSet<_>| set.contains(call) || set.contains(other);
                let (joined, mut kept): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_joined);
                kept.push(joined.into_iter().flatten().chain([*call, *other]).collect());
                sets = kept;
            }
        }
        sets
    }

    fn describe_mismatch(&self, mismatched: &BTreeSet<CollectiveCall<'_>>) -> String {
        let functions: BTreeSet<&str> = mismatched.iter().map(|call| call.function).collect();
        let scopes: BTreeSet<CollectiveScope> = mismatched.iter().map(|call| call.scope).collect();
        let is_repeated = functions.len() < mismatched.len();
        let items: Vec<String> = mismatched
            .iter()
            .map(|call| {
                let members = self.members(call);
                let way = match call.scope {
                    _ if !is_repeated => "",
                    CollectiveScope::AllRanks => " by the barrier network",
                    CollectiveScope::Communicator(_) => " by messages",
                };
                format!("{} in {}{way}", text::ranks(&members, "is", "are"), call.function)
            })
            .collect();
        let scope = scopes.last().copied().unwrap_or(CollectiveScope::AllRanks);
        let advice = if functions.len() == 1 {
            ": the ranks passed different lengths or operations"
        } else {
            ""
        };
        format!(
            "collectives of {} do not match: {}{advice}",
            text::scope(scope),
            join_items(&items)
        )
    }

    /// Returns the awaited ranks that are in no collective, or in one that does not conflict.
    fn describe_missing(
        &self,
        call: &CollectiveCall<'g>,
        mismatched: Option<&BTreeSet<CollectiveCall<'g>>>,
    ) -> Vec<String> {
        let graph = self.graph;
        let ranks = &self.ranks[call];
        let members = self.members(call);
        if ranks.awaited.is_empty() {
            return vec![format!(
                "{} for each other in {}: they passed different roots or lengths, or called it a different number of \
                 times",
                text::ranks(&members, "waits", "wait"),
                call.name()
            )];
        }
        let is_named = |index: &usize| {
            let other = self.call_of(*index);
            other.is_some_and(|other| mismatched.is_some_and(|mismatched| mismatched.contains(&other)))
        };
        let missing = ranks.awaited.iter().filter(|index| !is_named(index));
        let items = missing.map(|index| (text::state(graph, *index), graph.nodes[*index].rank));
        let describe = |(state, missing): (String, Vec<u32>)| {
            let pronoun = if missing.len() == 1 { "it" } else { "they" };
            format!(
                "{} not called {}, in which {}: {pronoun} {}",
                text::ranks(&missing, "has", "have"),
                call.name(),
                text::ranks(&members, "waits", "wait"),
                text::predicate(state, missing.len())
            )
        };
        group_ranks(items).into_iter().map(describe).collect()
    }

    fn members(&self, call: &CollectiveCall<'_>) -> Vec<u32> {
        let indices = self.ranks.get(call).map_or(&[][..], |ranks| &ranks.members);
        indices.iter().map(|index| self.graph.nodes[*index].rank).collect()
    }
}
