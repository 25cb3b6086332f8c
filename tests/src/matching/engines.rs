//! The engines that are checked and measured.
#![forbid(unsafe_code)]

use mpi_adi::matching::{Lists, Matching};

use super::draw::Sequence;
use super::play::{Difference, play};
use super::shrink::{Counterexample, shrink};

/// All engines: a new one is one line here.
pub const ENGINES: &[Engine] = &[Engine::of::<Lists>()];

/// An engine, by name.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// What users call it.
    pub name: &'static str,
    play: fn(&Sequence) -> Result<(), Difference>,
}

impl Engine {
    /// `E`.
    pub const fn of<E: Matching>() -> Engine {
        Engine {
            name: E::NAME,
            play: play::<E>,
        }
    }

    /// Plays the sequence.
    ///
    /// # Errors
    /// When the engine differs from the oracle or panics; what is told is shrunk.
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
}
