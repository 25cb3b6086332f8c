//! Operations of a program.
#![forbid(unsafe_code)]

use midplane_device::envelope::{Pattern, Rank};

/// One operation of one rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// MPI_Isend or MPI_Issend of a message.
    Send(u32),
    /// MPI_Isend or MPI_Issend, MPI_Cancel, MPI_Wait; if it was cancelled, sent again.
    CancelSend(u32),
    /// MPI_Irecv.
    Receive(u32),
    /// MPI_Probe with the receive's pattern, then MPI_Irecv of exactly what was found.
    ProbeReceive(u32),
    /// MPI_Mprobe with the receive's pattern, so many turns of computing, then MPI_Imrecv.
    MatchedReceive(u32, u32),
    /// MPI_Irecv, MPI_Cancel, MPI_Wait; if it was cancelled, MPI_Irecv again.
    CancelReceive(u32),
    /// MPI_Irecv, so many turns of computing, MPI_Cancel and MPI_Wait, again and again until a message has come.
    PollReceive(u32, u32),
    /// MPI_Wait for a send.
    WaitSend(u32),
    /// MPI_Wait for a receive.
    WaitReceive(u32),
    /// Starts a collective.
    Collective(u32),
    /// MPI_Wait for a collective.
    WaitCollective(u32),
    /// MPI_Waitall for everything of this rank that is under way, in an order drawn at run time.
    WaitAll,
    /// MPI_Test of everything of this rank that is under way, once.
    TestAll,
    /// MPI_Iprobe, whatever it finds.
    Probe(Pattern),
    /// MPI_Irecv of something that nobody sends, MPI_Cancel, MPI_Wait.
    CancelNothing(Pattern),
    /// Computes for so many of its turns.
    Compute(u32),
}

/// A start or a wait, at its place in the global order.
pub(super) struct Event {
    pub(super) time: f64,
    pub(super) rank: Rank,
    pub(super) op: Op,
}
