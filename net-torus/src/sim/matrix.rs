//! Deadlock test: runs every small machine with the minimum legal buffers under every pattern and overload, until all
//! packets have arrived.
//!
//! A run fails on a deadlock ([`SimError::Stuck`]), when it takes longer than [`MatrixCase::bound`] ([`SimError::Late`]), and
//! when a packet is lost, duplicated, misrouted, corrupted or out of a guaranteed order ([`SimError::Wrong`]).

use super::experiment::{SimConfig, SimError};
use super::network::SimNetwork;
use super::traffic::TrafficPattern;
use crate::coord::Shape;
use crate::inject::RoutingMode;
use crate::profile::PACKET_CHUNKS;
use crate::router::{BufferSizes, THROUGH_LIMIT};

/// Extents of the machines.
pub const EXTENTS: [u16; 6] = [1, 2, 3, 4, 5, 8];
/// Offered load as a multiple of the wires' limit, and thus of saturation or more.
pub const LOAD: f64 = 1.5;
/// Fraction of priority packets.
pub const PRIORITY: f64 = 0.125;

/// Channels that exist, and their use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelSet {
    /// Adaptive routing with the minimum dynamic channels.
    Dynamic,
    /// Adaptive routing with only the escape channel.
    Escape,
    /// Deterministic routing, with a check of the order.
    Deterministic,
}

impl ChannelSet {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Dynamic, Self::Escape, Self::Deterministic];
}

/// One machine under one pattern.
#[derive(Clone, Copy, Debug)]
pub struct MatrixCase {
    /// Extents of the machine.
    pub shape: Shape,
    /// Channels of the machine.
    pub channels: ChannelSet,
    /// Traffic pattern.
    pub traffic: TrafficPattern,
}

/// Result of a successful run.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MatrixOutcome {
    /// Packets, each delivered once.
    pub packets: u64,
    /// Packets sent over links.
    pub hops: u64,
    /// Ticks until the last packet was received.
    pub ticks: u64,
}

/// Returns all cases: every machine with extents out of [`EXTENTS`], torus and mesh.
pub fn cases() -> impl Iterator<Item = MatrixCase> {
    let places = EXTENTS.len();
    let shapes = (0..places.pow(3)).flat_map(move |i| {
        let extents = [i / places / places, i / places % places, i % places].map(|e| EXTENTS[e]);
        [true, false]
            .into_iter()
            .filter_map(move |wraps| Shape::new(extents, [wraps; 3]))
    });
    shapes.flat_map(|shape| {
        ChannelSet::ALL.into_iter().flat_map(move |channels| {
            TrafficPattern::ALL.into_iter().map(move |(_, traffic)| MatrixCase {
                shape,
                channels,
                traffic,
            })
        })
    })
}

impl MatrixCase {
    fn config(&self, packets: u32, seed: u64) -> SimConfig {
        SimConfig {
            shape: self.shape,
            sizes: BufferSizes {
                dynamic: (self.channels == ChannelSet::Dynamic) as u16,
                ..BufferSizes::SMALLEST
            },
            routing: match self.channels {
                ChannelSet::Dynamic | ChannelSet::Escape => RoutingMode::Adaptive,
                ChannelSet::Deterministic => RoutingMode::Deterministic,
            },
            traffic: self.traffic,
            load: LOAD,
            chunks: (1, PACKET_CHUNKS as u8),
            seed,
            priority: PRIORITY,
            packets: Some(packets),
        }
    }

    /// Returns the maximum number of ticks for `packets` packets of each node. It is the sum of three terms:
    /// [`SLOWEST`] times the time that the wires require; the time for a node that must always yield to through
    /// traffic; and the time of one packet across the machine with a full buffer before it at each node.
    pub fn bound(&self, packets: u32) -> u64 {
        let limit = self.traffic.limit(&self.shape).load;
        // Sizes are uniformly distributed.
        let mean = (1 + PACKET_CHUNKS) as f64 / 2.0;
        let wires = if limit > 0.0 {
            mean * packets as f64 / limit
        } else {
            0.0
        };
        let hops: u64 = self.shape.extents().iter().map(|&e| e as u64).sum();
        let largest = PACKET_CHUNKS as u64;
        let last = packets as u64 * (THROUGH_LIMIT as u64 + 1) * largest;
        (SLOWEST * wires) as u64 + last + hops * 6 * 4 * largest + 1000
    }

    /// Runs the case: each node sends `packets` packets, and all must arrive.
    pub fn run(&self, packets: u32, seed: u64) -> Result<MatrixOutcome, SimError> {
        let config = self.config(packets, seed);
        let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
        self.finish(SimNetwork::new(config, &mut memory)?, packets)
    }

    fn finish(&self, mut network: SimNetwork<'_>, packets: u32) -> Result<MatrixOutcome, SimError> {
        network.finish(self.bound(packets))?;
        let totals = network.totals();
        let sent = packets as u64 * self.traffic.senders(&self.shape) as u64;
        if totals.injected != sent || totals.delivered != sent {
            return Err(SimError::Late {
                packets: sent - totals.delivered,
            });
        }
        Ok(MatrixOutcome {
            packets: totals.delivered,
            hops: totals.hops,
            ticks: totals.ticks,
        })
    }
}

/// Maximum slowdown, relative to the wires, of a machine with the minimum buffers: a full ring of bubble buffers, with
/// one hole, moves one packet at a time.
pub const SLOWEST: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::HAS_DYNAMIC;
    use crate::router::RouterRules;

    /// Runs a representative subset: all small shapes, with every combination of extents.
    fn run(part: usize) {
        let mut packets = 0;
        for case in cases().filter(|case| case.shape.nodes() <= 64).skip(part).step_by(2) {
            match case.run(24, 1) {
                Ok(outcome) => packets += outcome.packets,
                Err(error) => panic!("{case:?}: {error}"),
            }
        }
        assert!(packets > 100_000, "{packets}");
    }

    // In two parts, which run in parallel.
    #[test]
    fn small_machines_with_the_smallest_buffers_never_jam_1() {
        run(0);
    }
    #[test]
    fn small_machines_with_the_smallest_buffers_never_jam_2() {
        run(1);
    }

    #[test]
    fn greater_machines_with_the_smallest_buffers_never_jam() {
        for extents in [[8, 8, 1], [5, 4, 3], [8, 3, 4]] {
            for case in cases().filter(|case| case.shape.extents() == extents) {
                if let Err(error) = case.run(24, 1) {
                    panic!("{case:?}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_check_finds_the_jams_of_a_router_without_its_rules() {
        let bubble = RouterRules {
            bubble: false,
            ..RouterRules::ALL
        };
        let escape = RouterRules {
            escape: false,
            ..RouterRules::ALL
        };
        for (rules, channels) in [
            (bubble, ChannelSet::Escape),
            (bubble, ChannelSet::Deterministic),
            (escape, ChannelSet::Dynamic),
        ] {
            let jams = |case: &MatrixCase| {
                let config = case.config(100, 1);
                let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
                let mut network = SimNetwork::new(config, &mut memory).unwrap();
                network.set_rules(rules);
                matches!(
                    case.finish(network, 100),
                    Err(SimError::Stuck { packets, .. }) if packets > 0
                )
            };
            let mut few = cases().filter(|case| case.channels == channels && case.shape.nodes() <= 32);
            // Without dynamic channels only the escape channel exists, and no rule opens it.
            let expected = rules.escape || HAS_DYNAMIC;
            assert_eq!(few.any(|case| jams(&case)), expected, "{rules:?} {channels:?}");
        }
    }

    /// `midplane sim --check` runs the same test with more packets.
    #[test]
    #[ignore = "takes minutes; run it with --release"]
    fn no_machine_with_the_smallest_buffers_jams() {
        for case in cases() {
            if let Err(error) = case.run(24, 1) {
                panic!("{case:?}: {error}");
            }
        }
    }

    #[test]
    fn the_matrix_has_every_machine() {
        let shapes: std::collections::HashSet<_> =
            cases().map(|case| (case.shape.extents(), case.shape.wraps())).collect();
        assert_eq!(shapes.len(), 2 * 216);
        assert!(cases().all(|case| case.shape.nodes() <= 512));
        assert_eq!(cases().count(), 2 * 216 * 3 * TrafficPattern::ALL.len());
    }
}
