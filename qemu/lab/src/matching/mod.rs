//! Matching engines against an oracle: random sequences of everything that the device asks of an engine, over a real
//! request pool and a real MPI memory.
//!
//! ```text
//!   draw     a seed -> setting and operations           oracle   what each must give: two vectors, searched linearly
//!   play     operations -> engine and oracle            shrink   fewer and simpler operations that still fail
//!   engines  the list of engines                        op       an operation, and how it is written
//! ```
//! A sequence that fails is told as a script after it was shrunk. `cargo midplane soak --seed SEED --jobs 1`
//! replays the one that its seed draws.
#![forbid(unsafe_code)]

#[cfg(test)]
mod broken;
pub mod draw;
pub mod engines;
mod op;
mod oracle;
mod play;
pub mod shrink;

pub use draw::Sequence;
pub use engines::{ENGINES, Engine};
pub use op::{Op, Setting};
pub(crate) use play::blocks;
pub use play::{Difference, play};
pub use shrink::Counterexample;

/// Plays the sequence of `seed` with every engine.
///
/// # Errors
/// The first engine that differs from the oracle, with a sequence that is as short as could be found.
pub fn check(seed: u64) -> Result<Sequence, Counterexample> {
    let sequence = Sequence::draw(seed);
    for engine in ENGINES.iter() {
        engine.check(&sequence)?;
    }
    Ok(sequence)
}
