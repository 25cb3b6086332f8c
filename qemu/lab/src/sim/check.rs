//! Judges what a job left behind. Knows the rules of MPI and the promises of the device, not how it works.

use std::fmt;

use midplane_device::envelope::{Pattern, Rank};
use midplane_device::recv::Probed;
use midplane_device::region::BLOCK_BYTES;
use midplane_device::{Adi, NoMemory, Outcome};
use midplane_objects::Error;

use super::memory::is_message;
use super::op::Op;
use super::program::Program;

/// What one receive got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Got {
    /// Its place among its rank's receives, in order of posting.
    pub posted: u64,
    /// What it asked for when it was posted.
    pub pattern: Pattern,
    /// What the device says of it, once it has completed.
    pub outcome: Option<Outcome>,
    /// The buffer afterwards.
    pub bytes: Vec<u8>,
    /// What a probe had said, if one had been asked.
    pub probed: Option<Probed>,
}

/// A call that could not be made for want of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Short {
    /// Whose.
    pub rank: Rank,
    /// The operation's number.
    pub at: usize,
    /// What ran out, as the call said.
    pub what: Error,
}

/// What a job did that it must not do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// Nothing moves and a program has not ended.
    Stuck {
        /// Whose.
        rank: Rank,
        /// The operation's number.
        at: usize,
        /// The operation.
        op: Op,
    },
    /// It does not come to an end.
    Endless {
        /// Choices made.
        steps: u64,
    },
    /// It could not go on for want of memory, of which there was no end.
    Short(Short),
    /// A call failed for want of memory, and what the error says ran out is not what did.
    Misnamed {
        /// Whose.
        rank: Rank,
        /// Its requests under way.
        live: u32,
        /// What the error says.
        what: NoMemory,
    },
    /// A probe found what it did not ask for.
    Probe {
        /// Whose.
        rank: Rank,
        /// What it asked for.
        pattern: Pattern,
        /// What it found.
        found: Probed,
    },
    /// A receive that nothing matches could not be cancelled.
    Cancel {
        /// Whose.
        rank: Rank,
    },
    /// The device touched a buffer that it must not touch.
    Buffer {
        /// Whose.
        rank: Rank,
        /// What it did.
        what: &'static str,
    },
    /// A receive got bytes that no message of the stated source and tag has.
    Payload {
        /// Which.
        receive: u32,
    },
    /// A receive's status is not that of the message it got.
    Status {
        /// Which.
        receive: u32,
        /// The message.
        message: u32,
    },
    /// A receive got another message than the one that MPI says.
    Wrong {
        /// Which.
        receive: u32,
        /// What it got.
        got: u32,
        /// What it must get.
        must: u32,
    },
    /// A message was received twice.
    Twice {
        /// The message.
        message: u32,
    },
    /// Two messages of one source were received in the wrong order.
    Overtaken {
        /// The receives, in order of posting.
        receives: [u32; 2],
        /// What they got.
        messages: [u32; 2],
    },
    /// A collective has failed, or has not come to what it must come to.
    Collective {
        /// Whose.
        rank: Rank,
        /// Which.
        at: u32,
        /// What is wrong.
        what: String,
    },
    /// A program waits for its windows for ever.
    Waits {
        /// Whose.
        rank: Rank,
        /// The call's number among those for windows.
        at: usize,
    },
    /// What all do to the same bytes of a window was not atomic.
    Race {
        /// What is not so.
        what: &'static str,
    },
    /// Something is left in a device after the job.
    Left {
        /// Whose.
        rank: Rank,
        /// What.
        what: &'static str,
    },
    /// MPI memory was used beyond its size.
    Budget {
        /// Whose.
        rank: Rank,
        /// Bytes used at once.
        bytes: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Stuck { rank, at, op } => {
                write!(f, "stuck: rank {rank} in operation {at}, {op:?}")
            }
            Violation::Endless { steps } => write!(f, "no end after {steps} steps"),
            Violation::Short(Short { rank, at, what }) => {
                write!(f, "no memory: rank {rank} in operation {at}, {what:?}")
            }
            Violation::Misnamed { rank, live, what } => {
                write!(
                    f,
                    "no memory: rank {rank} has {live} requests and is told {what:?}"
                )
            }
            Violation::Probe {
                rank,
                pattern,
                found,
            } => {
                write!(f, "rank {rank} probed for {pattern:?} and found {found:?}")
            }
            Violation::Cancel { rank } => write!(f, "rank {rank} could not cancel a receive"),
            Violation::Buffer { rank, what } => write!(f, "rank {rank}: {what}"),
            Violation::Payload { receive } => {
                write!(f, "receive {receive} got bytes of no message")
            }
            Violation::Status { receive, message } => {
                write!(
                    f,
                    "receive {receive} got message {message} and a status that is not its"
                )
            }
            Violation::Wrong { receive, got, must } => {
                write!(
                    f,
                    "receive {receive} got message {got} and must get message {must}"
                )
            }
            Violation::Twice { message } => write!(f, "message {message} was received twice"),
            Violation::Overtaken {
                receives: [r, s],
                messages: [m, n],
            } => {
                write!(
                    f,
                    "overtaken: receive {r} got message {m}, receive {s} (posted later) got message {n}"
                )
            }
            Violation::Collective { rank, at, what } => {
                write!(f, "collective {at} of rank {rank}: {what}")
            }
            Violation::Waits { rank, at } => {
                write!(f, "stuck: rank {rank} in call {at} for its windows")
            }
            Violation::Race { what } => write!(f, "not so: {what}"),
            Violation::Left { rank, what } => write!(f, "rank {rank} has {what} left"),
            Violation::Budget { rank, bytes } => {
                write!(f, "rank {rank} used {bytes} bytes of MPI memory")
            }
        }
    }
}

/// No device (each with the blocks that are lent to it) used more MPI memory than it has or got a packet it could
/// not take, and if the job has `completed`, nothing is left in any.
pub fn at_rest<'a>(
    devices: impl Iterator<Item = (&'a Adi, u32)>,
    mpi_memory: usize,
    completed: bool,
) -> Result<(), Violation> {
    for (adi, lent) in devices {
        let rank = adi.rank();
        let peak = adi.region().peak_bytes();
        let size = mpi_memory / BLOCK_BYTES * BLOCK_BYTES + adi.region().peak_lent_bytes();
        if peak > size {
            return Err(Violation::Budget { rank, bytes: peak });
        }
        let left = [
            (completed && !adi.is_quiet(), "something to send"),
            (
                completed && adi.region().used_bytes() != 0,
                "MPI memory in use",
            ),
            (completed && lent != 0, "borrowed memory"),
            (
                completed && adi.region().records() != 0,
                "unexpected records",
            ),
            (completed && adi.matching().posted != 0, "posted receives"),
            (
                completed && adi.matching().unexpected != 0,
                "unexpected messages",
            ),
            (completed && adi.requests().live() != 0, "requests"),
            (
                adi.stats().layer.malformed != 0,
                "packets counted as malformed",
            ),
            (
                adi.stats().layer.unknown_handler != 0,
                "packets without a handler",
            ),
        ];
        if let Some(&(_, what)) = left.iter().find(|(is_left, _)| *is_left) {
            return Err(Violation::Left { rank, what });
        }
    }
    Ok(())
}

/// The message that a receive got, judged by its bytes and its status.
fn identify(
    program: &Program,
    number: u32,
    got: &Got,
    outcome: &Outcome,
) -> Result<u32, Violation> {
    let receive = &program.receives[number as usize];
    let bytes = &got.bytes[..outcome.bytes.min(got.bytes.len())];
    let candidates = program.messages.iter().zip(0..).filter(|(message, _)| {
        let envelope = message.envelope;
        message.dest == receive.rank
            && envelope.context == got.pattern.context()
            && envelope.source == outcome.source
            && envelope.tag == outcome.tag
    });
    let short = outcome.bytes < 4;
    let mut found = candidates
        .filter(|&(message, at)| is_message(at, bytes) && (!short || message.len == outcome.bytes));
    let (message, at) = found.next().ok_or(Violation::Payload { receive: number })?;
    let untouched = got.bytes[bytes.len()..]
        .iter()
        .all(|&b| b == super::memory::UNTOUCHED);
    let right = outcome.bytes == message.len.min(receive.capacity)
        && outcome.truncated == (message.len > receive.capacity)
        && !outcome.cancelled
        && got.pattern.matches(&message.envelope)
        && untouched
        && got
            .probed
            .is_none_or(|p| p.envelope == message.envelope && p.length as usize == message.len);
    if right {
        Ok(at)
    } else {
        Err(Violation::Status {
            receive: number,
            message: at,
        })
    }
}

/// Every message that was received was received once, as it was sent, by a receive that MPI allows it to
/// match; and if the job has `completed`, every one was.
pub fn matching(
    program: &Program,
    got: &[Option<Got>],
    sent: &[u64],
    completed: bool,
) -> Result<(), Violation> {
    let mut taken = vec![false; program.messages.len()];
    let mut pairs = Vec::new();
    for (number, got) in (0..).zip(got) {
        let done = got
            .as_ref()
            .and_then(|got| Some((got, got.outcome.as_ref()?)));
        let Some((got, outcome)) = done else {
            if completed {
                return Err(Violation::Payload { receive: number });
            }
            continue;
        };
        let message = identify(program, number, got, outcome)?;
        if std::mem::replace(&mut taken[message as usize], true) {
            return Err(Violation::Twice { message });
        }
        match program.receives[number as usize].must {
            Some(must) if must != message => {
                return Err(Violation::Wrong {
                    receive: number,
                    got: message,
                    must,
                });
            }
            _ => pairs.push((number, got, message)),
        }
    }
    // MPI-3.1 section 3.5: of two messages from one source that both match a receive, the first comes
    // first; of two receives that both match a message, the one posted first gets it.
    for &(r, got, m) in &pairs {
        for &(s, later, n) in &pairs {
            let (first, second) = (&program.messages[n as usize], &program.messages[m as usize]);
            let overtaken = program.receives[r as usize].rank == program.receives[s as usize].rank
                && got.posted < later.posted
                && first.envelope.source == second.envelope.source
                && first.envelope.context == second.envelope.context
                && sent[n as usize] < sent[m as usize]
                && got.pattern.matches(&first.envelope);
            if overtaken {
                return Err(Violation::Overtaken {
                    receives: [r, s],
                    messages: [m, n],
                });
            }
        }
    }
    Ok(())
}
