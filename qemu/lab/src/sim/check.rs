//! Checks the results of a job against the rules of MPI and the guarantees of the device, independent of its
//! implementation.

use std::fmt;

use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::recv::ProbedMessage;
use midplane_device::region::BLOCK_BYTES;
use midplane_device::{Adi, OutOfMemory, RequestOutcome};
use midplane_objects::Error;

use super::memory::is_message;
use super::op::RankOp;
use super::program::RankPrograms;

/// Result of one receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiveResult {
    /// Index among its rank's receives, in posting order.
    pub posted: u64,
    /// Its pattern when it was posted.
    pub pattern: MatchPattern,
    /// Outcome from the device, once it is complete.
    pub outcome: Option<RequestOutcome>,
    /// Contents of the buffer afterwards.
    pub bytes: Vec<u8>,
    /// Result of a preceding probe, if any.
    pub probed: Option<ProbedMessage>,
}

/// A call that failed for lack of memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryFailure {
    /// Rank of the caller.
    pub rank: Rank,
    /// Index of the operation.
    pub at: usize,
    /// The error of the call.
    pub what: Error,
}

/// Violation of a rule by a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// Deadlock: nothing moves and a program has not ended.
    Stuck {
        /// Rank of the program.
        rank: Rank,
        /// Index of the operation.
        at: usize,
        /// The operation.
        op: RankOp,
    },
    /// The job does not end.
    Endless {
        /// Number of choices made.
        steps: u64,
    },
    /// The job stopped for lack of memory although memory was unlimited.
    Short(MemoryFailure),
    /// A call failed for lack of memory, and its error names the wrong resource.
    Misnamed {
        /// Rank of the caller.
        rank: Rank,
        /// Its requests in progress.
        live: u32,
        /// The error.
        what: OutOfMemory,
    },
    /// A probe returned a message that does not match.
    Probe {
        /// Rank of the caller.
        rank: Rank,
        /// Its pattern.
        pattern: MatchPattern,
        /// The message returned.
        found: ProbedMessage,
    },
    /// A receive without a matching message could not be cancelled.
    Cancel {
        /// Rank of the receiver.
        rank: Rank,
    },
    /// The device accessed a buffer without permission.
    Buffer {
        /// Rank of the device.
        rank: Rank,
        /// Description of the access.
        what: &'static str,
    },
    /// A receive contains bytes that no message of the stated source and tag contains.
    Payload {
        /// The receive.
        receive: u32,
    },
    /// A receive's status is not that of its message.
    Status {
        /// The receive.
        receive: u32,
        /// The message.
        message: u32,
    },
    /// A receive matched a different message than MPI requires.
    Wrong {
        /// The receive.
        receive: u32,
        /// The message received.
        got: u32,
        /// The required message.
        must: u32,
    },
    /// A message was received twice.
    Twice {
        /// The message.
        message: u32,
    },
    /// Two messages of one source were received in the wrong order.
    Overtaken {
        /// The receives, in posting order.
        receives: [u32; 2],
        /// Their messages.
        messages: [u32; 2],
    },
    /// A collective failed, or returned a wrong result.
    Collective {
        /// Rank of the process.
        rank: Rank,
        /// Index of the collective.
        at: u32,
        /// Description of the error.
        what: String,
    },
    /// Deadlock: a program waits for its windows forever.
    Waits {
        /// Rank of the program.
        rank: Rank,
        /// Index of the call among those for windows.
        at: usize,
    },
    /// Concurrent updates of the same bytes of a window were not atomic.
    Race {
        /// Description of the error.
        what: &'static str,
    },
    /// A device is not empty after the job.
    Left {
        /// Rank of the device.
        rank: Rank,
        /// The resource in use.
        what: &'static str,
    },
    /// MPI memory was used beyond its size.
    Budget {
        /// Rank of the device.
        rank: Rank,
        /// Peak use in bytes.
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
            Violation::Short(MemoryFailure { rank, at, what }) => {
                write!(f, "no memory: rank {rank} in operation {at}, {what:?}")
            }
            Violation::Misnamed { rank, live, what } => {
                write!(f, "no memory: rank {rank} has {live} requests and is told {what:?}")
            }
            Violation::Probe { rank, pattern, found } => {
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
                write!(f, "receive {receive} got message {got} and must get message {must}")
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

/// Checks that no device (each with the blocks loaned to it) used more MPI memory than it owns or received an invalid
/// packet. If the job has `completed`, checks that every device is empty.
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
            (completed && adi.region().used_bytes() != 0, "MPI memory in use"),
            (completed && lent != 0, "borrowed memory"),
            (completed && adi.region().records() != 0, "unexpected records"),
            (completed && adi.matching().posted != 0, "posted receives"),
            (completed && adi.matching().unexpected != 0, "unexpected messages"),
            (completed && adi.requests().live() != 0, "requests"),
            (adi.stats().layer.malformed != 0, "packets counted as malformed"),
            (adi.stats().layer.unknown_handler != 0, "packets without a handler"),
        ];
        if let Some(&(_, what)) = left.iter().find(|(is_left, _)| *is_left) {
            return Err(Violation::Left { rank, what });
        }
    }
    Ok(())
}

/// Identifies the message of a receive by its bytes and its status.
fn identify(
    program: &RankPrograms,
    number: u32,
    got: &ReceiveResult,
    outcome: &RequestOutcome,
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
    let mut found =
        candidates.filter(|&(message, at)| is_message(at, bytes) && (!short || message.len == outcome.bytes));
    let (message, at) = found.next().ok_or(Violation::Payload { receive: number })?;
    let untouched = got.bytes[bytes.len()..].iter().all(|&b| b == super::memory::UNTOUCHED);
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

/// Checks that every received message was received once, unchanged, by a receive that MPI allows to match it. If the
/// job has `completed`, checks that every message was received.
pub fn matching(
    program: &RankPrograms,
    got: &[Option<ReceiveResult>],
    sent: &[u64],
    completed: bool,
) -> Result<(), Violation> {
    let mut taken = vec![false; program.messages.len()];
    let mut pairs = Vec::new();
    for (number, got) in (0..).zip(got) {
        let done = got.as_ref().and_then(|got| Some((got, got.outcome.as_ref()?)));
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
    // MPI-3.1 section 3.5: of two messages from one source that both match a receive, the first is received first; of
    // two receives that both match a message, the one posted first receives it.
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
