//! Statistics counters. They are never reset; with 64 bits, as on most machines, they never wrap in practice.

use crate::vc::Vc;
use crate::wire::{Fifo, FrameError};

/// Counter of single events, as wide as the machine can increment with one instruction. With 32 bits, the chunks of a
/// serial line of 1,000,000 bits per second require two weeks to wrap.
#[cfg(target_pointer_width = "64")]
pub type EventCounter = u64;
/// Counter of single events, as wide as the machine can increment with one instruction.
#[cfg(not(target_pointer_width = "64"))]
pub type EventCounter = u32;

/// Returns the counter in 64 bits, as reports use it.
// The cast is a no-op only where `EventCounter` has 64 bits.
#[allow(clippy::unnecessary_cast)]
pub const fn wide(count: EventCounter) -> u64 {
    count as u64
}

/// Number of packets and their total size.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PacketCount {
    /// Packets.
    pub packets: EventCounter,
    /// Their chunks of 32 bytes, headers included.
    pub chunks: EventCounter,
}

impl PacketCount {
    pub(crate) fn add(&mut self, chunks: usize) {
        self.add_all(1, chunks);
    }

    pub(crate) fn add_all(&mut self, packets: usize, chunks: usize) {
        self.packets += packets as EventCounter;
        self.chunks += chunks as EventCounter;
    }
}

/// Counters of one virtual channel in one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ChannelStats {
    /// Packets sent over the link, injected here or forwarded.
    pub sent: PacketCount,
    /// Part of `sent` that was received over another link.
    pub forwarded: PacketCount,
    /// Packets received over the link and accepted.
    pub received: PacketCount,
    /// Maximum fill level in chunks of the buffer behind the link; it never exceeds the capacity.
    pub high_water: u16,
}

/// Frame counters of one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LinkStats {
    /// Frames sent.
    pub frames_sent: EventCounter,
    /// Part of `frames_sent` that contained tokens only.
    pub token_frames_sent: EventCounter,
    /// Frames received, including malformed ones.
    pub frames_received: EventCounter,
}

/// Counters of one FIFO pair.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FifoStats {
    /// Packets injected by the program.
    pub injected: PacketCount,
    /// Injections rejected because the FIFO was full.
    pub refused: EventCounter,
    /// Packets moved into the reception FIFO, copies of deposit packets included.
    pub delivered: PacketCount,
    /// Maximum fill level in chunks of the fullest injection FIFO.
    pub injection_high_water: u16,
    /// Maximum fill level in chunks of the reception FIFO.
    pub reception_high_water: u16,
}

/// All counters of one router.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stats {
    /// By direction, then by channel.
    pub channels: [[ChannelStats; Vc::COUNT]; 6],
    /// By direction.
    pub links: [LinkStats; 6],
    /// By FIFO pair.
    pub fifos: [FifoStats; Fifo::ALL.len()],
    /// Dynamic packets sent on the bubble channel because no dynamic channel had space.
    pub escapes: EventCounter,
    /// Copies delivered from deposit packets that continued to the next node.
    pub deposits: EventCounter,
    /// Malformed frames and packets by kind, in the order of [`FrameError::ALL`].
    pub defects: [EventCounter; FrameError::COUNT],
}

impl Default for Stats {
    /// Equals the derived implementation, but a loop initializes the arrays.
    fn default() -> Self {
        Self {
            channels: [[ChannelStats::default(); Vc::COUNT]; 6],
            links: [LinkStats::default(); 6],
            fifos: [FifoStats::default(); Fifo::ALL.len()],
            escapes: 0,
            deposits: 0,
            defects: [0; FrameError::COUNT],
        }
    }
}

impl Stats {
    /// Returns the number of defects of one kind.
    pub fn defects_of(&self, kind: FrameError) -> EventCounter {
        self.defects[kind as usize]
    }
    /// Returns the number of defects of all kinds.
    pub fn all_defects(&self) -> EventCounter {
        self.defects.iter().sum()
    }
    /// Returns the packets sent over all links.
    pub fn sent(&self) -> PacketCount {
        self.sum(|c| c.sent)
    }
    /// Returns the packets forwarded from link to link.
    pub fn forwarded(&self) -> PacketCount {
        self.sum(|c| c.forwarded)
    }
    /// Returns the packets received over all links.
    pub fn received(&self) -> PacketCount {
        self.sum(|c| c.received)
    }
    fn sum(&self, of: impl Fn(&ChannelStats) -> PacketCount) -> PacketCount {
        let mut sum = PacketCount::default();
        for channel in self.channels.as_flattened() {
            let PacketCount { packets, chunks } = of(channel);
            sum.packets += packets;
            sum.chunks += chunks;
        }
        sum
    }
}
