//! Statistics of a device.
#![forbid(unsafe_code)]

/// Event counter: as wide as the machine increments with one instruction.
#[cfg(target_pointer_width = "64")]
pub type Count = u64;
/// Event counter: as wide as the machine increments with one instruction.
#[cfg(not(target_pointer_width = "64"))]
pub type Count = u32;

/// Counters of the device, in messages unless specified otherwise.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct DeviceStats {
    /// Sends started by the program.
    pub messages_sent: Count,
    /// Receives completed.
    pub messages_received: Count,
    /// RTS (request to send) sent, repeated ones included.
    pub rts_sent: Count,
    /// RTS received.
    pub rts_received: Count,
    /// CTS (clear to send) sent; each one counts when several share a packet.
    pub cts_sent: Count,
    /// CTS received; each one counts when several share a packet.
    pub cts_received: Count,
    /// CTS sent piggybacked on another reply or on an RTS.
    pub cts_merged: Count,
    /// NCTSD (not clear to send data) sent.
    pub nctsd_sent: Count,
    /// NCTSD received.
    pub nctsd_received: Count,
    /// NCTS (not clear to send) sent.
    pub ncts_sent: Count,
    /// NCTS received.
    pub ncts_received: Count,
    /// Restarts sent.
    pub restarts_sent: Count,
    /// Restarts received.
    pub restarts_received: Count,
    /// DONE sent: restarts that requested nothing that was pending.
    pub done_sent: Count,
    /// Posted receives checked for listing in restarts.
    pub named: Count,
    /// Messages whose data was sent eagerly, right behind their RTS.
    pub eager_sent: Count,
    /// Eager data packets dropped for lack of a buffer or after a rejection; the sender transmits wanted data again.
    pub eager_dropped: Count,
    /// Counters of the message layer, among them malformed packets and packets that contradict the device's state.
    pub layer: msg_layer::LayerStats,
}
