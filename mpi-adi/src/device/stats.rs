//! What a device has done.
#![forbid(unsafe_code)]

/// What the device has done, in messages unless said otherwise.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Sends started by the program.
    pub messages_sent: u64,
    /// Receives completed.
    pub messages_received: u64,
    /// RTS sent, offers made again included.
    pub rts_sent: u64,
    /// RTS received.
    pub rts_received: u64,
    /// CTS sent, those that share a packet counted each.
    pub cts_sent: u64,
    /// CTS received, those that share a packet counted each.
    pub cts_received: u64,
    /// Of the CTS sent, those that have left with another answer or with an RTS.
    pub cts_merged: u64,
    /// NCTSD sent.
    pub nctsd_sent: u64,
    /// NCTSD received.
    pub nctsd_received: u64,
    /// NCTS sent.
    pub ncts_sent: u64,
    /// NCTS received.
    pub ncts_received: u64,
    /// Restarts sent.
    pub restarts_sent: u64,
    /// Restarts received.
    pub restarts_received: u64,
    /// DONE sent: restarts that asked for nothing that was there.
    pub done_sent: u64,
    /// Posted receives looked at for restarts.
    pub named: u64,
    /// Messages whose data was sent eagerly, right behind their RTS.
    pub eager_sent: u64,
    /// Packets of eager data that were dropped because the message was refused or had no place for them;
    /// the sender sends what is wanted again.
    pub eager_dropped: u64,
    /// What the message layer counted, packets that contradict themselves or the device's state among them.
    pub layer: msg_layer::Stats,
}
