//! Operations of a sequence, and their text form.
#![forbid(unsafe_code)]

use std::fmt;

use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern, Rank};

/// Environment of the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpSetting {
    /// Blocks of MPI memory.
    pub blocks: u32,
    /// Processes of the job.
    pub peers: u32,
    /// Maximum number of request slots.
    pub slots: u32,
    /// Random seed of the engine.
    pub seed: u64,
}

impl fmt::Display for OpSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} blocks, {} processes, at most {} slots, seed {}",
            self.blocks, self.peers, self.slots, self.seed
        )
    }
}

/// An operation. Every sequence is valid, so that operations can be omitted: an index of a receive or a record is taken
/// modulo their number, and the operation does nothing if there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchingOp {
    /// Opens this context for a communicator; does nothing if it is open.
    Open(Context),
    /// Checks whether this context is idle, and closes it if it is.
    Retire(Context),
    /// Starts a receive: matches a recorded message, or is posted.
    Receive {
        /// Pattern to match.
        pattern: MatchPattern,
        /// Whether the data of the matched record is still arriving.
        bound: bool,
    },
    /// A message arrives: it is matched, or recorded if there is space.
    Message {
        /// Its envelope.
        envelope: Envelope,
        /// Size of its buffer in bytes; without one, its sender keeps the data.
        buffer: Option<u32>,
    },
    /// A message arrives whose receive cannot accept it: its RTS is rejected (NCTS, no clear to send).
    Offer(Envelope),
    /// A probe.
    Probe(MatchPattern),
    /// A matched probe: its record waits for [`MatchingOp::Finish`].
    Take(MatchPattern),
    /// Uses the data of a matched record, and frees the record.
    Finish(u32),
    /// Cancels a posted receive, by its index in posting order.
    Cancel(u32),
    /// Cancels a message at its sender, by its index in arrival order.
    Withdraw(u32),
    /// Drops the first message of this source, with any context and tag.
    Forget(u32),
    /// Sets the number of blocks that the program's heap can loan.
    Spare(u32),
}

/// Fields of an envelope or a pattern, as printed in a script.
struct EnvelopeFields(Option<u32>, Option<i32>, Context);

impl fmt::Display for EnvelopeFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(source) => write!(f, "source {source}")?,
            None => f.write_str("any source")?,
        }
        match self.1 {
            Some(tag) => write!(f, ", tag {tag}")?,
            None => f.write_str(", any tag")?,
        }
        write!(f, ", context {}", self.2)
    }
}

fn envelope(envelope: &Envelope) -> EnvelopeFields {
    pattern(&envelope.pattern())
}

fn pattern(pattern: &MatchPattern) -> EnvelopeFields {
    let source = pattern.source().map(Rank::index);
    EnvelopeFields(source, pattern.tag(), pattern.context())
}

impl fmt::Display for MatchingOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchingOp::Open(context) => write!(f, "open context {context}"),
            MatchingOp::Retire(context) => write!(f, "retire context {context}"),
            MatchingOp::Receive { pattern: wanted, bound } => {
                let how = if *bound { ", slowly" } else { "" };
                write!(f, "receive {}{how}", pattern(wanted))
            }
            MatchingOp::Message { envelope: from, buffer } => {
                write!(f, "message {}", envelope(from))?;
                match buffer {
                    Some(bytes) => write!(f, ", {bytes} bytes"),
                    None => f.write_str(", no buffer"),
                }
            }
            MatchingOp::Offer(from) => write!(f, "offer {}", envelope(from)),
            MatchingOp::Probe(wanted) => write!(f, "probe {}", pattern(wanted)),
            MatchingOp::Take(wanted) => write!(f, "matched probe {}", pattern(wanted)),
            MatchingOp::Finish(number) => write!(f, "finish taken record {number}"),
            MatchingOp::Cancel(number) => write!(f, "cancel posted receive {number}"),
            MatchingOp::Withdraw(number) => write!(f, "withdraw message {number}"),
            MatchingOp::Forget(source) => write!(f, "forget the first message of source {source}"),
            MatchingOp::Spare(blocks) => write!(f, "spare {blocks} blocks"),
        }
    }
}

/// An identifier in an operation that other operations may share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OpField {
    /// A process.
    Source(u32),
    /// A tag.
    Tag(u32),
    /// A context.
    Context(u32),
}

impl OpField {
    /// Returns simpler identifiers of the same kind, the simplest first.
    pub fn simpler(self) -> Vec<OpField> {
        let below = |number: u32| (0..3).filter(move |&simpler| simpler < number);
        match self {
            OpField::Source(source) => below(source).map(OpField::Source).collect(),
            OpField::Tag(tag) => below(tag).map(OpField::Tag).collect(),
            OpField::Context(context) => below(context).map(OpField::Context).collect(),
        }
    }
}

impl MatchingOp {
    /// Returns a copy with each identifier replaced by the result of `rename`.
    pub fn renamed(&self, rename: &mut impl FnMut(OpField) -> OpField) -> MatchingOp {
        let mut number = |name| match rename(name) {
            OpField::Source(number) | OpField::Tag(number) | OpField::Context(number) => number,
        };
        let mut pattern = |wanted: MatchPattern| {
            let source = |source: Rank| Rank::new(number(OpField::Source(source.index())));
            let source = wanted.source().map(source);
            let tag = |tag| number(OpField::Tag(tag as u32)) as i32;
            let tag = wanted.tag().map(tag);
            let context = number(OpField::Context(wanted.context().into()));
            MatchPattern::new(source, tag, context as Context)
        };
        let mut envelope = |from: Envelope| {
            let renamed = pattern(from.pattern());
            Envelope {
                source: renamed.source().unwrap_or(from.source),
                tag: renamed.tag().unwrap_or(from.tag),
                context: renamed.context(),
            }
        };
        match *self {
            MatchingOp::Message { envelope: from, buffer } => MatchingOp::Message {
                envelope: envelope(from),
                buffer,
            },
            MatchingOp::Offer(from) => MatchingOp::Offer(envelope(from)),
            MatchingOp::Receive { pattern: wanted, bound } => MatchingOp::Receive {
                pattern: pattern(wanted),
                bound,
            },
            MatchingOp::Probe(wanted) => MatchingOp::Probe(pattern(wanted)),
            MatchingOp::Take(wanted) => MatchingOp::Take(pattern(wanted)),
            MatchingOp::Open(context) => MatchingOp::Open(number(OpField::Context(context.into())) as Context),
            MatchingOp::Retire(context) => MatchingOp::Retire(number(OpField::Context(context.into())) as Context),
            MatchingOp::Forget(source) => MatchingOp::Forget(number(OpField::Source(source))),
            MatchingOp::Finish(_) | MatchingOp::Cancel(_) | MatchingOp::Withdraw(_) | MatchingOp::Spare(_) => *self,
        }
    }

    /// Returns copies with simpler numbers that no other operation shares, the simplest first.
    pub fn simpler(&self) -> Vec<MatchingOp> {
        let below = |number: u32| (0..3).filter(move |&simpler| simpler < number);
        match *self {
            MatchingOp::Receive { pattern, bound: true } => vec![MatchingOp::Receive { pattern, bound: false }],
            MatchingOp::Message {
                envelope,
                buffer: Some(_),
            } => vec![MatchingOp::Message { envelope, buffer: None }],
            MatchingOp::Finish(number) => below(number).map(MatchingOp::Finish).collect(),
            MatchingOp::Cancel(number) => below(number).map(MatchingOp::Cancel).collect(),
            MatchingOp::Withdraw(number) => below(number).map(MatchingOp::Withdraw).collect(),
            _ => Vec::new(),
        }
    }
}
