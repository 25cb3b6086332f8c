//! Argument and result types of the operations.
#![forbid(unsafe_code)]

use core::panic::Location;

use net_torus::coord::{Coord, Shape};

pub use crate::adi::EventCount;
use crate::envelope::{Context, Rank};
pub use crate::fast_path::{FastRecv, FastSend, IncomingMessage, OutgoingMessage};
use crate::kernel::ErrorRecord;
use crate::memory::Span;
use crate::request::{CompletedRequest, PlainCompletion, RequestOutcome};

/// Specifies whether an operation waits until it has a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockingMode {
    /// Performs at most one progress step.
    Nonblocking,
    /// Waits.
    Blocking,
}

/// Source of the memory for a message's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestMemory {
    /// The program's heap, except for the slots reserved for blocking calls.
    Shared,
    /// The complete heap, for a call that blocks until the request has completed.
    Blocking,
    /// The reservation by [`Device::reserve`](super::Device::reserve) for one message, in a call.
    Reserved,
    /// The reservation for one message, in an interrupt handler: allocates nothing, and performs no progress step.
    ReservedInInterrupt,
}

/// A received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// Its sender, tag and context, and the bytes received.
    pub whole: PlainCompletion,
    /// The message was longer than the buffer (MPI_ERR_TRUNCATE); the buffer contains only its beginning.
    pub is_truncated: bool,
}

impl ReceivedMessage {
    /// Returns the outcome that its request would have.
    pub fn outcome(&self) -> RequestOutcome {
        RequestOutcome::from_plain(self.whole, self.is_truncated)
    }
}

/// Outcome of a completed request, which is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestCompletion {
    /// Completed with an untruncated message into or out of a plain buffer.
    Plain(PlainCompletion),
    /// Completed in another way: cancelled, truncated, or with a typed buffer.
    Other(CompletedRequest),
}

impl RequestCompletion {
    /// Returns the outcome.
    pub fn outcome(&self) -> RequestOutcome {
        match self {
            RequestCompletion::Plain(whole) => RequestOutcome::from_plain(*whole, false),
            RequestCompletion::Other(concluded) => concluded.outcome,
        }
    }
}

/// State of a request, from a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TestResult {
    /// The request does not exist.
    Unknown,
    /// The request has not completed.
    Pending,
    /// The request has completed, and is freed.
    Complete(RequestCompletion),
}

/// States of several requests: bit `i` is for the request at index `i`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CompletionSet {
    /// Completed requests.
    pub finished: u64,
    /// Requests that do not exist.
    pub unknown: u64,
}

impl CompletionSet {
    /// Maximum number of requests in one set.
    pub const MAX: usize = u64::BITS as usize;
}

/// Properties of a request, which remains unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestState {
    /// Its context; for a matched receive, the message's.
    pub context: Context,
    /// The program's buffer, if it has one.
    pub buffer: Span,
    /// Its outcome; `None` before completion.
    pub outcome: Option<RequestOutcome>,
    /// It is a message of a [matched probe](super::Device::match_probe) that has not been received.
    pub is_taken: bool,
}

/// The released object of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseTarget {
    /// The request: freed now, or on completion.
    Request,
    /// The program's handle: the layer above keeps the ID, and releases the request after completion.
    Handle,
}

/// Extent of [`Device::cancel`](super::Device::cancel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelPhase {
    /// Starts the cancellation after a progress step. The request completes soon, cancelled or not. Does not block.
    Start,
    /// Cancels until the request has completed and is freed. Blocks only until data in flight has arrived.
    Finish,
    /// Cancels a receive until it has completed and is freed.
    FinishReceive,
}

/// Reason why a program aborts the job.
#[derive(Clone, Copy, Debug)]
pub enum AbortCause<'a> {
    /// MPI_Abort was called.
    Called,
    /// An error under MPI_ERRORS_ARE_FATAL.
    Error(FatalError<'a>),
}

/// An error that aborts the job; see [`MpiError`](crate::kernel::MpiError).
#[derive(Clone, Copy, Debug)]
pub struct FatalError<'a> {
    /// The MPI function.
    pub function: &'a str,
    /// The error.
    pub told: ErrorRecord<&'a str>,
    /// The report contains the heap fill level.
    pub is_about_memory: bool,
    /// The program's message for the error's code.
    pub said: Option<&'a str>,
    /// Source line of the call.
    pub called_at: Option<&'a Location<'a>>,
}

/// Identity of a process in the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessIdentity {
    /// Its rank.
    pub rank: Rank,
    /// Its node's coordinates.
    pub here: Coord,
    /// The machine's shape: one process per node.
    pub shape: Shape,
}

/// A measurable quantity of the device or its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MeasuredQuantity {
    /// Nanoseconds since the start of this node; monotonic.
    Now,
    /// Resolution of `Now` in nanoseconds.
    Tick,
    /// [`Kernel::patience`](crate::kernel::Kernel::patience).
    Patience,
    /// Bytes of the program's heap; 0: not known.
    Heap,
    /// Bytes of the heap in use; 0: not known.
    HeapUsed,
    /// Bytes of MPI memory.
    MpiMemory,
    /// Bytes of MPI memory in use, records and buffers.
    MpiMemoryUsed,
    /// Maximum size in bytes of an eager message.
    EagerLimit,
    /// Index of the matching engine in [`ENGINE_NAMES`](crate::matching::ENGINE_NAMES).
    Engine,
    /// Posted, unmatched receives.
    PostedReceives,
    /// Recorded, unmatched messages.
    UnexpectedMessages,
    /// Requests in flight, or completed and not yet freed.
    Requests,
    /// Requests in flight in this context.
    RequestsIn(Context),
    /// The host's counter of this index.
    Counter(usize),
}

/// Action of [`Device::reserve`](super::Device::reserve).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReserveAction {
    /// Reserves memory for one message, and keeps `keep` slots free for others.
    Message {
        /// The slots.
        keep: u32,
    },
    /// Reserves memory for one message from free slots, for interrupt handlers: allocates nothing in the heap.
    FreeMessage,
    /// Returns the reservations of `messages` messages.
    Return {
        /// Number of messages.
        messages: u32,
    },
    /// Checks whether receives have the required memory; changes nothing.
    Check,
}
