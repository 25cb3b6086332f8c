//! The data that operations take and return.
#![forbid(unsafe_code)]

use core::panic::Location;

use net_torus::coord::{Coord, Shape};

pub use crate::adi::Events;
use crate::envelope::{Context, Rank};
pub use crate::fast_path::{Incoming, Outgoing, Received, Sent};
use crate::kernel::Told;
use crate::memory::Span;
use crate::request::{Concluded, Outcome, Whole};

/// Whether an operation waits until it has a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocking {
    /// It makes one step of progress at most.
    No,
    /// It waits.
    Yes,
}

/// The memory from which the request of a message is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestMemory {
    /// The program's heap, except for what is kept for calls that block.
    Shared,
    /// All of the heap, for a call that blocks until the request has finished.
    Blocking,
    /// What [`Device::reserve`](super::Device::reserve) has reserved for one message, in a call.
    Reserved,
    /// The same, in an interrupt: nothing is taken of the heap, and the host makes the next step of progress.
    ReservedInInterrupt,
}

/// A message that has been received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// Its sender, tag and context, and the bytes received.
    pub whole: Whole,
    /// It was longer than the buffer (MPI_ERR_TRUNCATE); only its beginning was kept.
    pub is_truncated: bool,
}

impl ReceivedMessage {
    /// How its request would have ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self.whole, self.is_truncated)
    }
}

/// How a request has ended, which is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// With a whole message into or out of a plain buffer.
    Whole(Whole),
    /// In another way: cancelled, truncated, or with a typed buffer.
    Other(Concluded),
}

impl Completion {
    /// How it has ended.
    pub fn outcome(&self) -> Outcome {
        match self {
            Completion::Whole(whole) => Outcome::of(*whole, false),
            Completion::Other(concluded) => concluded.outcome,
        }
    }
}

/// A look at a request's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestResult {
    /// There is no request of this name.
    Unknown,
    /// It has not finished.
    Pending,
    /// It has finished, and is freed.
    Complete(Completion),
}

/// A look at several requests: bit `i` is for the request at place `i`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CompletionSet {
    /// They have finished.
    pub finished: u64,
    /// There is none of this name.
    pub unknown: u64,
}

impl CompletionSet {
    /// Requests that one look is about at most.
    pub const MAX: usize = u64::BITS as usize;
}

/// What is known of a request, which stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestState {
    /// Its context: of a receive that has matched, its message's.
    pub context: Context,
    /// The program's buffer, if it has one.
    pub buffer: Span,
    /// How it has ended; `None`: it has not.
    pub outcome: Option<Outcome>,
    /// It is a message that has been [taken](super::Device::take) and not been received.
    pub is_taken: bool,
}

/// What is released of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// The request: it is freed, now or when it has finished.
    Request,
    /// The program's handle: the layer above keeps the name, and releases the request when it has finished.
    Handle,
}

/// How far [`Device::cancel`](super::Device::cancel) goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    /// After a step of progress it begins. The request ends soon, cancelled or complete. Does not block.
    Start,
    /// Until the request has ended, and is freed. Blocks for no longer than data under way takes to arrive.
    Finish,
    /// The same of a receive.
    FinishReceive,
}

/// Why a program ends the job.
#[derive(Clone, Copy, Debug)]
pub enum Abort<'a> {
    /// It has called MPI_Abort.
    Called,
    /// An error under MPI_ERRORS_ARE_FATAL.
    Error(FatalError<'a>),
}

/// An error that ends the job; see [`MpiError`](crate::kernel::MpiError).
#[derive(Clone, Copy, Debug)]
pub struct FatalError<'a> {
    /// The MPI name of the call.
    pub function: &'a str,
    /// The error.
    pub told: Told<&'a str>,
    /// The report says how full the heap was.
    pub is_about_memory: bool,
    /// The program's own text for the error's code.
    pub said: Option<&'a str>,
    /// The line of the program that has made the call.
    pub called_at: Option<&'a Location<'a>>,
}

/// A process's place in the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number.
    pub rank: Rank,
    /// Its node.
    pub here: Coord,
    /// The machine: a process a node.
    pub shape: Shape,
}

/// A quantity of the device or its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Nanoseconds since the start of this node; never goes back.
    Now,
    /// Nanoseconds between two values of `Now` that differ as little as possible.
    Tick,
    /// [`Kernel::patience`](crate::kernel::Kernel::patience).
    Patience,
    /// Bytes of the program's heap; 0: not known.
    Heap,
    /// Bytes of it in use; 0: not known.
    HeapUsed,
    /// Bytes of MPI memory.
    MpiMemory,
    /// Bytes of MPI memory in use, records and buffers.
    MpiMemoryUsed,
    /// Bytes of the greatest message that is sent eagerly.
    EagerLimit,
    /// The place of the matching engine in [`Choice::ALL`](crate::matching::Choice::ALL).
    Engine,
    /// Receives posted and not yet matched.
    PostedReceives,
    /// Messages recorded and not yet matched.
    UnexpectedMessages,
    /// Requests under way, or finished and not yet freed.
    Requests,
    /// Requests under way in this context.
    RequestsIn(Context),
    /// The host's counter of this index.
    Counter(usize),
}

/// What [`Device::reserve`](super::Device::reserve) does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserve {
    /// Reserves what one message needs, beside so many slots for others.
    Message {
        /// The slots.
        keep: u32,
    },
    /// The same of what is free already, for interrupts: takes nothing of the heap.
    FreeMessage,
    /// Gives back what is reserved for so many messages.
    Return {
        /// How many.
        messages: u32,
    },
    /// Changes nothing: looks whether receives have what they need.
    Check,
}
