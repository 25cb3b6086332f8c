//! What a device has done.
#![forbid(unsafe_code)]

/// A count of what is done one at a time: as wide as the machine counts with one instruction.
#[cfg(target_pointer_width = "64")]
pub type Count = u64;
/// A count of what is done one at a time: as wide as the machine counts with one instruction.
#[cfg(not(target_pointer_width = "64"))]
pub type Count = u32;

/// What the device has done, in messages unless said otherwise.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Sends started by the program.
    pub messages_sent: Count,
    /// Receives completed.
    pub messages_received: Count,
    /// RTS sent, offers made again included.
    pub rts_sent: Count,
    /// RTS received.
    pub rts_received: Count,
    /// CTS sent, those that share a packet counted each.
    pub cts_sent: Count,
    /// CTS received, those that share a packet counted each.
    pub cts_received: Count,
    /// Of the CTS sent, those that have left with another answer or with an RTS.
    pub cts_merged: Count,
    /// NCTSD sent.
    pub nctsd_sent: Count,
    /// NCTSD received.
    pub nctsd_received: Count,
    /// NCTS sent.
    pub ncts_sent: Count,
    /// NCTS received.
    pub ncts_received: Count,
    /// Restarts sent.
    pub restarts_sent: Count,
    /// Restarts received.
    pub restarts_received: Count,
    /// DONE sent: restarts that asked for nothing that was there.
    pub done_sent: Count,
    /// Posted receives looked at for restarts.
    pub named: Count,
    /// Messages whose data was sent eagerly, right behind their RTS.
    pub eager_sent: Count,
    /// Packets of eager data that were dropped because the message was refused or had no place for them;
    /// the sender sends what is wanted again.
    pub eager_dropped: Count,
    /// What the message layer counted, packets that contradict themselves or the device's state among them.
    pub layer: msg_layer::Stats,
}
