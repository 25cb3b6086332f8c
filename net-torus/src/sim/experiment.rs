//! Configuration and results of a simulation.

use super::traffic::TrafficPattern;
use crate::coord::{Coord, Shape};
use crate::inject::RoutingMode;
use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS};
use crate::router::{BufferSizes, ConfigError};
use crate::wire::Fifo;

/// Maximum latency in ticks that is recorded; longer ones count as this value.
const LONGEST: usize = 1 << 16;

/// Configuration of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// Extents of the machine.
    pub shape: Shape,
    /// Buffers of each router.
    pub sizes: BufferSizes,
    /// Routing mode of the packets.
    pub routing: RoutingMode,
    /// Traffic pattern.
    pub traffic: TrafficPattern,
    /// Offered load as a fraction of [`TrafficPattern::limit`]; may exceed 1.
    pub load: f64,
    /// Range of packet sizes in chunks, uniformly distributed, within 1..=[`PACKET_CHUNKS`]. Priority packets are
    /// limited to [`PRIORITY_CHUNKS`](crate::profile::PRIORITY_CHUNKS).
    pub chunks: (u8, u8),
    /// Seed of all random numbers.
    pub seed: u64,
    /// Fraction (0..=1) of random packets that are priority packets.
    pub priority: f64,
    /// Packets that each node sends in total; `None` for an unlimited number.
    pub packets: Option<u32>,
}

impl SimConfig {
    /// Returns how often the smallest packet can be halved.
    pub(super) fn halvings(&self) -> u32 {
        let least = usize::from(self.chunks.0.max(1));
        let fifos = if self.priority > 0.0 { 2 } else { 1 };
        let sizes = Fifo::ALL[..fifos].iter();
        sizes.fold(least, |least, fifo| least.min(fifo.greatest())).ilog2()
    }

    /// Returns the mean packet size in chunks.
    pub(super) fn mean_chunks(&self) -> f64 {
        let (least, most) = self.chunks;
        let [normal, priority] = Fifo::ALL.map(|fifo| {
            let sizes = (least..=most).map(|size| usize::from(size).min(fifo.greatest()));
            sizes.sum::<usize>() as f64 / f64::from(most - least + 1)
        });
        normal - self.priority * (normal - priority)
    }

    /// Checks whether packets of one FIFO between two nodes keep their order.
    pub(super) fn keeps_order(&self) -> bool {
        self.routing == RoutingMode::Deterministic || !HAS_DYNAMIC
    }

    /// Returns the memory in chunks that each router requires.
    pub(super) fn heads(&self) -> usize {
        self.sizes.heads(self.halvings())
    }

    pub(super) fn is_possible(&self) -> bool {
        let (least, most) = self.chunks;
        let sizes = least > 0 && least <= most && most as usize <= PACKET_CHUNKS;
        sizes && self.load > 0.0 && (0.0..=1.0).contains(&self.priority)
    }
}

/// Error of a simulation or of its setup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SimError {
    /// The router configuration is invalid.
    Router(ConfigError),
    /// The memory is smaller than [`Network::chunks`](super::SimNetwork::chunks).
    Memory,
    /// [`SimConfig::chunks`] is not a range within 1..=[`PACKET_CHUNKS`], [`SimConfig::load`] is not a positive number, or
    /// [`SimConfig::priority`] is no fraction.
    Config,
    /// Deadlock: packets are in flight, and none can ever move again.
    Stuck {
        /// Packets that were injected and not delivered.
        packets: u64,
        /// First node, by rank, that contains some of them.
        node: Coord,
    },
    /// Not complete after the given number of ticks.
    Late {
        /// Packets that were injected and not delivered.
        packets: u64,
    },
    /// A packet was received at the wrong node, twice, corrupted or, where order is guaranteed, out of order.
    Wrong {
        /// Node that received it.
        node: Coord,
    },
}

impl core::fmt::Display for SimError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Router(e) => write!(f, "{e}"),
            Self::Memory => f.write_str("too little memory for the routers' buffers"),
            Self::Config => write!(
                f,
                "packet sizes must be 1 to {PACKET_CHUNKS} chunks, loads above 0 and fractions 0 to 1",
            ),
            Self::Stuck { packets, node } => {
                let [x, y, z] = node.axes();
                write!(f, "{packets} packets are stuck, some at ({x}, {y}, {z})")
            }
            Self::Late { packets } => write!(f, "{packets} packets have not arrived in time"),
            Self::Wrong { node } => {
                let [x, y, z] = node.axes();
                write!(f, "a wrong packet arrived at ({x}, {y}, {z})")
            }
        }
    }
}

impl core::error::Error for SimError {}

/// Latency histogram in ticks, from a packet's creation, including the time in its source's queue, to the arrival of
/// its last chunk.
#[derive(Clone)]
pub struct LatencyHistogram {
    pub(super) counts: Vec<u32>,
    total: u64,
    pub(super) sum: u64,
}

impl LatencyHistogram {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; LONGEST + 1],
            total: 0,
            sum: 0,
        }
    }
    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.sum) = (0, 0);
    }
    pub(super) fn add(&mut self, ticks: u64) {
        self.counts[(ticks as usize).min(LONGEST)] += 1;
        self.total += 1;
        self.sum += ticks;
    }
    pub(super) fn add_all(&mut self, others: &Self) {
        for (count, others) in self.counts.iter_mut().zip(&others.counts) {
            *count += others;
        }
        self.total += others.total;
        self.sum += others.sum;
    }
    /// Returns the mean, or 0 when no packet was received.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.total.max(1) as f64
    }
    /// Returns the latency within which `fraction` (0..=1) of the packets were received, at most 65,536.
    pub fn percentile(&self, fraction: f64) -> u64 {
        let wanted = (self.total as f64 * fraction).ceil() as u64;
        let mut seen = 0;
        for (ticks, &count) in self.counts.iter().enumerate() {
            seen += count as u64;
            if seen >= wanted {
                return ticks as u64;
            }
        }
        LONGEST as u64
    }
}

/// Totals since the start, or since [`Network::clear`](super::SimNetwork::clear).
#[derive(Clone, Copy, Default, Debug)]
pub struct TrafficTotals {
    /// Ticks.
    pub ticks: u64,
    /// Packets injected.
    pub injected: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Chunks delivered.
    pub delivered_chunks: u64,
    /// Packets sent over links.
    pub hops: u64,
}
