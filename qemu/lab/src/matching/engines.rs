//! The matching engines under test.
#![forbid(unsafe_code)]

use std::sync::LazyLock;

use midplane_device::matching::{EngineChoice, MatchingEngine, WithEngine};

use super::draw::Sequence;
use super::play::{Difference, play};
use super::shrink::{Counterexample, shrink};
use crate::measure::matching::overhead::{self, Overhead};
use crate::measure::matching::rig::{self, Effort, Measured};
use crate::measure::matching::traffic::Traffic;

/// All engines that a user can select.
pub static ENGINES: LazyLock<Vec<Engine>> = LazyLock::new(|| {
    let all = EngineChoice::ALL.iter();
    all.map(|choice| choice.with(Chosen)).collect()
});

struct Chosen;

impl WithEngine for Chosen {
    type Output = Engine;

    fn run<E: MatchingEngine>(self) -> Engine {
        Engine::of::<E>()
    }
}

/// A matching engine, by name.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Name for users.
    pub name: &'static str,
    play: fn(&Sequence) -> Result<(), Difference>,
    measure: fn(&Traffic, Effort) -> Measured,
    work: fn(&Traffic, u32),
    overhead: fn(u32, u32, &dyn Fn() -> usize) -> Overhead,
}

impl Engine {
    /// Creates the entry of `E`.
    pub const fn of<E: MatchingEngine>() -> Engine {
        Engine {
            name: E::NAME,
            play: play::<E>,
            measure: rig::measure::<E>,
            work: rig::work::<E>,
            overhead: overhead::overhead::<E>,
        }
    }

    /// Plays the sequence.
    ///
    /// # Errors
    /// When the engine differs from the oracle or panics; the returned sequence is shrunk.
    pub fn check(&self, sequence: &Sequence) -> Result<(), Counterexample> {
        let Err(_) = (self.play)(sequence) else {
            return Ok(());
        };
        let (sequence, difference) = shrink(sequence, self.play);
        Err(Counterexample {
            engine: self.name,
            sequence,
            difference,
        })
    }

    /// Measures times and hops of a traffic pattern.
    pub fn measure(&self, traffic: &Traffic, effort: Effort) -> Measured {
        (self.measure)(traffic, effort)
    }

    /// Runs a traffic pattern `rounds` times, for an instruction counter.
    pub fn work(&self, traffic: &Traffic, rounds: u32) {
        (self.work)(traffic, rounds);
    }

    /// Returns the memory in bytes for `entries` entries with `peers` processes; `allocated` returns the heap in use.
    pub fn overhead(&self, peers: u32, entries: u32, allocated: &dyn Fn() -> usize) -> Overhead {
        (self.overhead)(peers, entries, allocated)
    }
}
