//! Operations of a program.
#![forbid(unsafe_code)]

use midplane_device::envelope::{MatchPattern, Rank};

/// One operation of one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RankOp {
    /// MPI_Isend or MPI_Issend of a message.
    Send(u32),
    /// MPI_Isend or MPI_Issend, MPI_Cancel, MPI_Wait; if it was cancelled, sent again.
    CancelSend(u32),
    /// MPI_Irecv.
    Receive(u32),
    /// MPI_Probe with the receive's pattern, then MPI_Irecv of exactly the message found.
    ProbeReceive(u32),
    /// MPI_Mprobe with the receive's pattern, the given number of compute turns, then MPI_Imrecv.
    MatchedReceive(u32, u32),
    /// MPI_Irecv, MPI_Cancel, MPI_Wait; if it was cancelled, MPI_Irecv again.
    CancelReceive(u32),
    /// MPI_Irecv, the given number of compute turns, MPI_Cancel and MPI_Wait, repeated until a message is received.
    PollReceive(u32, u32),
    /// MPI_Wait for a send.
    WaitSend(u32),
    /// MPI_Wait for a receive.
    WaitReceive(u32),
    /// Starts a collective.
    Collective(u32),
    /// MPI_Wait for a collective.
    WaitCollective(u32),
    /// MPI_Waitall for all operations of this rank in progress, in an order drawn at run time.
    WaitAll,
    /// MPI_Test of every operation of this rank in progress, once.
    TestAll,
    /// MPI_Iprobe with any result.
    Probe(MatchPattern),
    /// MPI_Irecv of a message that is never sent, MPI_Cancel, MPI_Wait.
    CancelUnmatched(MatchPattern),
    /// Computes for the given number of turns.
    Compute(u32),
}

/// A start or a wait, with its position in the global order.
pub(super) struct OpEvent {
    pub(super) time: f64,
    pub(super) rank: Rank,
    pub(super) op: RankOp,
}
