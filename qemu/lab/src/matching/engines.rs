//! The matching engines under test.
#![forbid(unsafe_code)]

use std::sync::LazyLock;

use midplane_device::matching::MatchingEngine;
use midplane_engines::{EngineChoice, WithEngine};

use super::draw::OpSequence;
use super::play::{EngineDifference, play};
use super::shrink::{ShrunkSequence, shrink};
use crate::measure::matching::fixture::{self, MatchingCost, MeasureEffort};
use crate::measure::matching::overhead::{self, HeapOverhead};
use crate::measure::matching::traffic::QueueTraffic;

/// All engines that a user can select.
pub static ENGINES: LazyLock<Vec<NamedEngine>> = LazyLock::new(|| {
    let all = EngineChoice::ALL.iter();
    all.map(|choice| choice.with(EngineSelector)).collect()
});

struct EngineSelector;

impl WithEngine for EngineSelector {
    type Output = NamedEngine;

    fn run<E: MatchingEngine>(self) -> NamedEngine {
        NamedEngine::from_engine::<E>()
    }
}

/// A matching engine, by name.
#[derive(Clone, Copy, Debug)]
pub struct NamedEngine {
    /// Name for users.
    pub name: &'static str,
    play: fn(&OpSequence) -> Result<(), EngineDifference>,
    measure: fn(&QueueTraffic, MeasureEffort) -> MatchingCost,
    work: fn(&QueueTraffic, u32),
    overhead: fn(u32, u32, &dyn Fn() -> usize) -> HeapOverhead,
}

impl NamedEngine {
    /// Creates the entry of `E`.
    pub const fn from_engine<E: MatchingEngine>() -> NamedEngine {
        NamedEngine {
            name: E::NAME,
            play: play::<E>,
            measure: fixture::measure::<E>,
            work: fixture::work::<E>,
            overhead: overhead::overhead::<E>,
        }
    }

    /// Plays the sequence.
    ///
    /// # Errors
    /// When the engine differs from the oracle or panics; the returned sequence is shrunk.
    pub fn check(&self, sequence: &OpSequence) -> Result<(), ShrunkSequence> {
        let Err(_) = (self.play)(sequence) else {
            return Ok(());
        };
        let (sequence, difference) = shrink(sequence, self.play);
        Err(ShrunkSequence {
            engine: self.name,
            sequence,
            difference,
        })
    }

    /// Measures times and hops of a traffic pattern.
    pub fn measure(&self, traffic: &QueueTraffic, effort: MeasureEffort) -> MatchingCost {
        (self.measure)(traffic, effort)
    }

    /// Runs a traffic pattern `rounds` times, for an instruction counter.
    pub fn work(&self, traffic: &QueueTraffic, rounds: u32) {
        (self.work)(traffic, rounds);
    }

    /// Returns the memory in bytes for `entries` entries with `peers` processes; `allocated` returns the heap in use.
    pub fn overhead(&self, peers: u32, entries: u32, allocated: &dyn Fn() -> usize) -> HeapOverhead {
        (self.overhead)(peers, entries, allocated)
    }
}
