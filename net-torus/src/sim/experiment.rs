//! What is to be simulated, and what has come of it.

use super::traffic::Traffic;
use crate::coord::{Coord, Shape};
use crate::inject::Routing;
use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS};
use crate::router::{ConfigError, Sizes};
use crate::wire::Fifo;

/// Latencies of more ticks are counted as this many.
const LONGEST: usize = 1 << 16;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The machine.
    pub shape: Shape,
    /// Each router's buffers.
    pub sizes: Sizes,
    /// How packets are routed.
    pub routing: Routing,
    /// Who sends to whom.
    pub traffic: Traffic,
    /// Offered load as a fraction of [`Traffic::limit`]; may exceed 1.
    pub load: f64,
    /// Sizes of packets in chunks, drawn evenly from this range; within 1..=[`PACKET_CHUNKS`]. A priority packet that would
    /// be longer than [`PRIORITY_CHUNKS`](crate::profile::PRIORITY_CHUNKS) has that size.
    pub chunks: (u8, u8),
    /// Seed of all that is random.
    pub seed: u64,
    /// Fraction (0..=1) of the packets that are priority packets, drawn at random.
    pub priority: f64,
    /// Packets that each node sends in all; `None`: without end.
    pub packets: Option<u32>,
}

impl Config {
    /// How often the smallest packet can be halved.
    pub(super) fn halvings(&self) -> u32 {
        let least = usize::from(self.chunks.0.max(1));
        let fifos = if self.priority > 0.0 { 2 } else { 1 };
        let sizes = Fifo::ALL[..fifos].iter();
        sizes
            .fold(least, |least, fifo| least.min(fifo.greatest()))
            .ilog2()
    }

    /// Size of the mean packet in chunks.
    pub(super) fn mean_chunks(&self) -> f64 {
        let (least, most) = self.chunks;
        let [normal, priority] = Fifo::ALL.map(|fifo| {
            let sizes = (least..=most).map(|size| usize::from(size).min(fifo.greatest()));
            sizes.sum::<usize>() as f64 / f64::from(most - least + 1)
        });
        normal - self.priority * (normal - priority)
    }

    /// Whether packets of one FIFO from one node to another keep their order.
    pub(super) fn keeps_order(&self) -> bool {
        self.routing == Routing::Deterministic || !HAS_DYNAMIC
    }

    /// Chunks of memory that each router needs.
    pub(super) fn heads(&self) -> usize {
        self.sizes.heads(self.halvings())
    }

    pub(super) fn is_possible(&self) -> bool {
        let (least, most) = self.chunks;
        let sizes = least > 0 && least <= most && most as usize <= PACKET_CHUNKS;
        sizes && self.load > 0.0 && (0.0..=1.0).contains(&self.priority)
    }
}

/// Why a simulation cannot be set up or did not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SimError {
    /// A router refuses its configuration.
    Router(ConfigError),
    /// Less memory than [`Network::chunks`](super::Network::chunks).
    Memory,
    /// [`Config::chunks`] is not a range within 1..=[`PACKET_CHUNKS`], [`Config::load`] is not a positive number, or
    /// [`Config::priority`] is no fraction.
    Config,
    /// Packets are on their way and nothing can ever move again.
    Stuck {
        /// Packets that were injected and not delivered.
        packets: u64,
        /// The first node, by rank, that holds some of them.
        node: Coord,
    },
    /// Not finished after the given number of ticks.
    Late {
        /// Packets that were injected and not delivered.
        packets: u64,
    },
    /// A packet arrived where it was not sent to, twice, damaged or, where order is promised, out of
    /// order.
    Wrong {
        /// Where it arrived.
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

/// Latencies in ticks, from a packet's birth, the time in its source's queue included, to the arrival of
/// its last chunk.
#[derive(Clone)]
pub struct Latencies {
    pub(super) counts: Vec<u32>,
    total: u64,
    pub(super) sum: u64,
}

impl Latencies {
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
    /// The mean; 0 when nothing arrived.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.total.max(1) as f64
    }
    /// The latency within which `fraction` (0..=1) of the packets arrived, at most 65,536.
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

/// Totals since the start, or since [`Network::clear`](super::Network::clear).
#[derive(Clone, Copy, Default, Debug)]
pub struct Totals {
    /// Ticks.
    pub ticks: u64,
    /// Packets injected.
    pub injected: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Their chunks.
    pub delivered_chunks: u64,
    /// Packets sent over links.
    pub hops: u64,
}
