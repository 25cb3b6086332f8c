//! Counters. They are never reset; of 64 bits, as on most machines, they never wrap in practice.

use crate::vc::Vc;
use crate::wire::{Defect, Fifo};

/// A count of what is done one at a time: as wide as the machine counts with one instruction. Of 32 bits, chunks of a serial
/// line of 1,000,000 bits per second take two weeks to wrap.
#[cfg(target_pointer_width = "64")]
pub type Tally = u64;
/// A count of what is done one at a time: as wide as the machine counts with one instruction.
#[cfg(not(target_pointer_width = "64"))]
pub type Tally = u32;

/// The same in 64 bits, as reports have it.
// On some machines it has them.
#[allow(clippy::unnecessary_cast)]
pub const fn wide(count: Tally) -> u64 {
    count as u64
}

/// Packets and their sizes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// Packets.
    pub packets: Tally,
    /// Their chunks of 32 bytes, headers included.
    pub chunks: Tally,
}

impl Count {
    pub(crate) fn add(&mut self, chunks: usize) {
        self.add_all(1, chunks);
    }

    pub(crate) fn add_all(&mut self, packets: usize, chunks: usize) {
        self.packets += packets as Tally;
        self.chunks += chunks as Tally;
    }
}

/// One virtual channel of one direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ChannelStats {
    /// Sent over the link, whether injected here or forwarded.
    pub sent: Count,
    /// The part of `sent` that had come in over another link.
    pub forwarded: Count,
    /// Received over the link and accepted.
    pub received: Count,
    /// Most chunks ever held in the buffer behind the link; one never exceeds its capacity.
    pub high_water: u16,
}

/// One direction, frames.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LinkStats {
    /// Frames sent.
    pub frames_sent: Tally,
    /// The part of `frames_sent` that carried tokens only.
    pub token_frames_sent: Tally,
    /// Frames received, also defective ones.
    pub frames_received: Tally,
}

/// One FIFO pair.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct FifoStats {
    /// Packets taken from the program.
    pub injected: Count,
    /// Injections refused because the FIFO was full.
    pub refused: Tally,
    /// Packets put into the reception FIFO, copies of deposit packets included.
    pub delivered: Count,
    /// Most chunks ever held in the fullest injection FIFO.
    pub injection_high_water: u16,
    /// Most chunks ever held in the reception FIFO.
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
    /// Dynamic packets sent on the bubble channel because no dynamic one had room.
    pub escapes: Tally,
    /// Copies delivered of deposit packets that went on.
    pub deposits: Tally,
    /// Defective frames and packets by kind, in the order of [`Defect::ALL`].
    pub defects: [Tally; Defect::COUNT],
}

impl Default for Stats {
    /// As derived, but with arrays that are filled by a loop.
    fn default() -> Self {
        Self {
            channels: [[ChannelStats::default(); Vc::COUNT]; 6],
            links: [LinkStats::default(); 6],
            fifos: [FifoStats::default(); Fifo::ALL.len()],
            escapes: 0,
            deposits: 0,
            defects: [0; Defect::COUNT],
        }
    }
}

impl Stats {
    /// Defects of one kind.
    pub fn defects_of(&self, kind: Defect) -> Tally {
        self.defects[kind as usize]
    }
    /// Defects of all kinds.
    pub fn all_defects(&self) -> Tally {
        self.defects.iter().sum()
    }
    /// All that was sent over links.
    pub fn sent(&self) -> Count {
        self.sum(|c| c.sent)
    }
    /// All that was forwarded from link to link.
    pub fn forwarded(&self) -> Count {
        self.sum(|c| c.forwarded)
    }
    /// All that was received over links.
    pub fn received(&self) -> Count {
        self.sum(|c| c.received)
    }
    fn sum(&self, of: impl Fn(&ChannelStats) -> Count) -> Count {
        let mut sum = Count::default();
        for channel in self.channels.as_flattened() {
            let Count { packets, chunks } = of(channel);
            sum.packets += packets;
            sum.chunks += chunks;
        }
        sum
    }
}
