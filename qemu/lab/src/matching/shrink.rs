//! Shrinks a failing sequence: delta debugging (A. Zeller and R. Hildebrandt, Simplifying and Isolating
//! Failure-Inducing Input, 2002), then simpler numbers.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fmt;

use super::draw::OpSequence;
use super::op::MatchingOp;
use super::play::EngineDifference;

/// Maximum number of plays for one counterexample.
const PLAYS: u32 = 20_000;

/// A sequence on which an engine and the oracle differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShrunkSequence {
    /// The engine.
    pub engine: &'static str,
    /// The sequence.
    pub sequence: OpSequence,
    /// The difference.
    pub difference: EngineDifference,
}

impl fmt::Display for ShrunkSequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "matching engine {}, {}: {}",
            self.engine, self.sequence.setting, self.difference
        )?;
        for (at, op) in self.sequence.ops.iter().enumerate() {
            writeln!(f, "  {at}: {op}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShrunkSequence {}

type PlayFunction = fn(&OpSequence) -> Result<(), EngineDifference>;

/// Returns a failing sequence of which no operation can be omitted, and its failure.
///
/// # Panics
/// When `sequence` does not fail.
pub fn shrink(sequence: &OpSequence, play: PlayFunction) -> (OpSequence, EngineDifference) {
    let difference = play(sequence).expect_err("a sequence that fails");
    let mut search = ShrinkSearch {
        play,
        plays: PLAYS,
        best: sequence.clone(),
        difference,
    };
    // Operations after the failure are not needed.
    let end = search.best.ops.len().min(search.difference.at + 1);
    let ops = search.best.ops[..end].to_vec();
    search.try_ops(ops);
    search.leave_out();
    search.simplify();
    search.leave_out();
    (search.best, search.difference)
}

struct ShrinkSearch {
    play: PlayFunction,
    plays: u32,
    best: OpSequence,
    difference: EngineDifference,
}

impl ShrinkSearch {
    /// Replaces the best sequence by these operations if they fail, too.
    fn try_ops(&mut self, ops: Vec<MatchingOp>) -> bool {
        let Some(left) = self.plays.checked_sub(1) else {
            return false;
        };
        self.plays = left;
        let sequence = OpSequence {
            setting: self.best.setting,
            ops,
        };
        match (self.play)(&sequence) {
            Ok(()) => false,
            Err(difference) => {
                self.best = sequence;
                self.difference = difference;
                true
            }
        }
    }

    /// Removes ever smaller parts, until none can be omitted.
    fn leave_out(&mut self) {
        let mut part = self.best.ops.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            let mut gone = false;
            while at < self.best.ops.len() {
                let mut ops = self.best.ops.clone();
                ops.drain(at..(at + part).min(ops.len()));
                if self.try_ops(ops) { gone = true } else { at += part }
            }
            if !gone || part > 1 {
                part /= 2;
            }
        }
    }

    fn simplify(&mut self) {
        for at in 0..self.best.ops.len() {
            while self.best.ops[at].simpler().into_iter().any(|simpler| {
                let mut ops = self.best.ops.clone();
                ops[at] = simpler;
                self.try_ops(ops)
            }) {}
        }
        let mut names = BTreeSet::new();
        for op in &self.best.ops {
            op.renamed(&mut |name| {
                names.insert(name);
                name
            });
        }
        for name in names {
            name.simpler().into_iter().any(|simpler| {
                let renamed = |op: &MatchingOp| op.renamed(&mut |other| if other == name { simpler } else { other });
                let ops = self.best.ops.iter().map(renamed).collect();
                self.try_ops(ops)
            });
        }
    }
}
