//! Tests matching engines against an oracle: random sequences of all operations that the device requires of an engine,
//! over a real request pool and real MPI memory.
//!
//! ```text
//!   draw     a seed -> setting and operations           oracle   reference matcher: two vectors, searched linearly
//!   play     operations -> engine and oracle            shrink   fewer and simpler operations that still fail
//!   engines  the list of engines                        op       an operation, and its text form
//! ```
//!
//! A failing sequence is shrunk and printed as a script. `cargo midplane soak --seed SEED --jobs 1` replays the
//! sequence of its seed.
#![forbid(unsafe_code)]

#[cfg(test)]
mod broken;
pub mod draw;
pub mod engines;
mod op;
mod oracle;
mod play;
pub mod shrink;

pub use draw::OpSequence;
pub use engines::{ENGINES, NamedEngine};
pub use op::{MatchingOp, OpSetting};
pub(crate) use play::blocks;
pub use play::{EngineDifference, play};
pub use shrink::ShrunkSequence;

/// Plays the sequence of `seed` with every engine.
///
/// # Errors
/// The first engine that differs from the oracle, with the shortest sequence found.
pub fn check(seed: u64) -> Result<OpSequence, ShrunkSequence> {
    let sequence = OpSequence::draw(seed);
    for engine in ENGINES.iter() {
        engine.check(&sequence)?;
    }
    Ok(sequence)
}
