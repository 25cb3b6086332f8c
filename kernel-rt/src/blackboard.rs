//! The blackboard: a fixed record in the node's memory that says how the node fares.
//!
//! The node writes it, and whoever can see the node's memory reads it: the host tool through the memory
//! file behind a QEMU instance, a debug probe on a board. It needs no stream, so it can still be read
//! after the node was killed, and it says in which call a hanging node sits. It is found by the image's
//! symbol [`SYMBOL`] and is little-endian; its size and offsets are the constants below, used by both sides.

/// The image's symbol at which the blackboard stands.
pub const SYMBOL: &str = "MIDPLANE_BLACKBOARD";
/// First word of a blackboard that has been set up ("MPB1").
pub const MAGIC: u32 = u32::from_le_bytes(*b"MPB1");
/// Greatest message (UTF-8, cut at this many bytes) that an ending node leaves.
pub const MESSAGE_BYTES: usize = 512;

/// What a node is doing, written to `state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum State {
    /// Memory as it was before the kernel ran.
    Off = 0,
    /// The kernel is bringing up devices.
    Booting = 1,
    /// The program runs.
    Running = 2,
    /// The program has ended (`status` holds its exit status); the node still forwards for others.
    Done = 3,
    /// The node ended for the reason in `end`, with `message`; the job must end.
    Failed = 4,
}

/// Why a node failed, written to `end` before `state` becomes [`State::Failed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum End {
    /// Not failed.
    None = 0,
    /// A trap that the program cannot go on from: `fault_cause`, `fault_pc`, `fault_address` hold it.
    Fault = 1,
    /// The stack ran into its guard; the fault fields hold the access.
    StackOverflow = 2,
    /// A Rust panic; `message` holds place and text.
    Panic = 3,
    /// The program called `abort()`.
    Abort = 4,
    /// The program called MPI_Abort; `status` holds its code.
    MpiAbort = 5,
    /// An MPI error under MPI_ERRORS_ARE_FATAL; `message` names rank, function and class.
    MpiError = 6,
    /// The kernel could not start (devices, memory, arguments); `message` says why.
    Boot = 7,
}

/// Counters of the job report, in the order in which they stand in the blackboard and under the names
/// that the JSON report uses.
pub const COUNTERS: [&str; 24] = [
    "messages_sent",
    "messages_received",
    "rts_sent",
    "rts_received",
    "cts_sent",
    "nctsd_sent",
    "ncts_sent",
    "resend_all_sent",
    "cts_received",
    "nctsd_received",
    "ncts_received",
    "resend_all_received",
    "peak_unexpected_records",
    "peak_unexpected_bytes",
    "unexpected_records",
    "posted_receives_peak",
    "requests_peak",
    "packets_sent",
    "packets_received",
    "packets_forwarded",
    "link_defects",
    "idle_ticks",
    "run_ticks",
    "heap_peak_bytes",
];
