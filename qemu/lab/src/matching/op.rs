//! Operations of a sequence, and their text form.
#![forbid(unsafe_code)]

use std::fmt;

use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern, Rank};

/// Environment of the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Blocks of MPI memory.
    pub blocks: u32,
    /// Processes of the job.
    pub peers: u32,
    /// Maximum number of request slots.
    pub slots: u32,
    /// Random seed of the engine.
    pub seed: u64,
}

impl fmt::Display for Setting {
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
pub enum Op {
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
    /// A matched probe: its record waits for [`Op::Finish`].
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
struct Parts(Option<u32>, Option<i32>, Context);

impl fmt::Display for Parts {
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

fn envelope(envelope: &Envelope) -> Parts {
    pattern(&envelope.pattern())
}

fn pattern(pattern: &MatchPattern) -> Parts {
    let source = pattern.source().map(Rank::index);
    Parts(source, pattern.tag(), pattern.context())
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Open(context) => write!(f, "open context {context}"),
            Op::Retire(context) => write!(f, "retire context {context}"),
            Op::Receive {
                pattern: wanted,
                bound,
            } => {
                let how = if *bound { ", slowly" } else { "" };
                write!(f, "receive {}{how}", pattern(wanted))
            }
            Op::Message {
                envelope: from,
                buffer,
            } => {
                write!(f, "message {}", envelope(from))?;
                match buffer {
                    Some(bytes) => write!(f, ", {bytes} bytes"),
                    None => f.write_str(", no buffer"),
                }
            }
            Op::Offer(from) => write!(f, "offer {}", envelope(from)),
            Op::Probe(wanted) => write!(f, "probe {}", pattern(wanted)),
            Op::Take(wanted) => write!(f, "matched probe {}", pattern(wanted)),
            Op::Finish(number) => write!(f, "finish taken record {number}"),
            Op::Cancel(number) => write!(f, "cancel posted receive {number}"),
            Op::Withdraw(number) => write!(f, "withdraw message {number}"),
            Op::Forget(source) => write!(f, "forget the first message of source {source}"),
            Op::Spare(blocks) => write!(f, "spare {blocks} blocks"),
        }
    }
}

/// An identifier in an operation that other operations may share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Name {
    /// A process.
    Source(u32),
    /// A tag.
    Tag(u32),
    /// A context.
    Context(u32),
}

impl Name {
    /// Returns simpler identifiers of the same kind, the simplest first.
    pub fn simpler(self) -> Vec<Name> {
        let below = |number: u32| (0..3).filter(move |&simpler| simpler < number);
        match self {
            Name::Source(source) => below(source).map(Name::Source).collect(),
            Name::Tag(tag) => below(tag).map(Name::Tag).collect(),
            Name::Context(context) => below(context).map(Name::Context).collect(),
        }
    }
}

impl Op {
    /// Returns a copy with each identifier replaced by the result of `rename`.
    pub fn renamed(&self, rename: &mut impl FnMut(Name) -> Name) -> Op {
        let mut number = |name| match rename(name) {
            Name::Source(number) | Name::Tag(number) | Name::Context(number) => number,
        };
        let mut pattern = |wanted: MatchPattern| {
            let source = |source: Rank| Rank::new(number(Name::Source(source.index())));
            let source = wanted.source().map(source);
            let tag = |tag| number(Name::Tag(tag as u32)) as i32;
            let tag = wanted.tag().map(tag);
            let context = number(Name::Context(wanted.context().into()));
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
            Op::Message {
                envelope: from,
                buffer,
            } => Op::Message {
                envelope: envelope(from),
                buffer,
            },
            Op::Offer(from) => Op::Offer(envelope(from)),
            Op::Receive {
                pattern: wanted,
                bound,
            } => Op::Receive {
                pattern: pattern(wanted),
                bound,
            },
            Op::Probe(wanted) => Op::Probe(pattern(wanted)),
            Op::Take(wanted) => Op::Take(pattern(wanted)),
            Op::Open(context) => Op::Open(number(Name::Context(context.into())) as Context),
            Op::Retire(context) => Op::Retire(number(Name::Context(context.into())) as Context),
            Op::Forget(source) => Op::Forget(number(Name::Source(source))),
            Op::Finish(_) | Op::Cancel(_) | Op::Withdraw(_) | Op::Spare(_) => *self,
        }
    }

    /// Returns copies with simpler numbers that no other operation shares, the simplest first.
    pub fn simpler(&self) -> Vec<Op> {
        let below = |number: u32| (0..3).filter(move |&simpler| simpler < number);
        match *self {
            Op::Receive {
                pattern,
                bound: true,
            } => vec![Op::Receive {
                pattern,
                bound: false,
            }],
            Op::Message {
                envelope,
                buffer: Some(_),
            } => vec![Op::Message {
                envelope,
                buffer: None,
            }],
            Op::Finish(number) => below(number).map(Op::Finish).collect(),
            Op::Cancel(number) => below(number).map(Op::Cancel).collect(),
            Op::Withdraw(number) => below(number).map(Op::Withdraw).collect(),
            _ => Vec::new(),
        }
    }
}
