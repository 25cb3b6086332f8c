//! Discrete-event simulator of a machine of routers in virtual time.
//!
//! One tick is the time in which a link transmits one chunk of 32 bytes (183 ns at Blue Gene/L's 175 MB/s). A packet of
//! n chunks occupies its link for n ticks. Its head reaches the next router after one tick and may be forwarded
//! immediately (virtual cut-through). Its tokens return to the sender one tick after its last chunk was sent. The
//! routers are the production code; the simulator omits only the frames and the packet payloads.
//!
//! The result depends only on the configuration and its seed, not on the number of threads.

use super::experiment::{LatencyHistogram, SimConfig, SimError, TrafficTotals};
use super::partition::{NetworkPartition, PartitionMail};
use super::threads::run_together;
use super::traffic::LoadLimit;
use crate::chunk::{CHUNK_BYTES, Chunk, LINE_CHUNKS, in_lines};
use crate::coord::Coord;
use crate::router::Router;

/// Machine of routers in virtual time; see the module's rules.
pub struct SimNetwork<'m> {
    /// Parts of consecutive ranks, one thread each.
    parts: Vec<NetworkPartition<'m>>,
    escapes_before: u64,
    limit: LoadLimit,
    senders: u32,
}

/// Maximum machine size with a check of packet order: its table is quadratic in the number of nodes.
const ORDER_NODES: u32 = 1024;

impl<'m> SimNetwork<'m> {
    /// Returns the memory in chunks that the machine requires, [`in_lines`] included.
    pub fn chunks(config: &SimConfig) -> usize {
        config.shape.nodes() as usize * config.heads() + LINE_CHUNKS
    }

    /// Returns the bytes of the machine's routers, with that memory.
    pub fn bytes(config: &SimConfig) -> u64 {
        let state = config.shape.nodes() as usize * size_of::<Router<'_>>();
        (Self::chunks(config) * CHUNK_BYTES + state) as u64
    }

    /// Creates a machine with its routers' buffers in `memory`.
    pub fn new(config: SimConfig, memory: &'m mut [Chunk]) -> Result<Self, SimError> {
        Self::with_threads(config, memory, 1)
    }

    /// Creates a machine that uses `threads` threads, limited to 1..=number of nodes. The results are the same as for
    /// [`SimNetwork::new`].
    pub fn with_threads(config: SimConfig, memory: &'m mut [Chunk], threads: u32) -> Result<Self, SimError> {
        let SimConfig { shape, .. } = config;
        if !config.is_possible() {
            return Err(SimError::Config);
        }
        if memory.len() < Self::chunks(&config) {
            return Err(SimError::Memory);
        }
        let memory = in_lines(memory);
        let nodes = shape.nodes();
        let limit = config.traffic.limit(&shape);
        let interval = if limit.load > 0.0 {
            config.mean_chunks() / (config.load * limit.load)
        } else {
            f64::INFINITY
        };
        let each = nodes.div_ceil(threads.max(1));
        let firsts = (0..nodes).step_by(each as usize);
        let parts = firsts
            .zip(memory.chunks_mut(each as usize * config.heads()))
            .map(|(first, memory)| {
                let ranks = first..nodes.min(first + each);
                NetworkPartition::new(config, ranks, each, memory, interval)
            })
            .collect::<Result<_, _>>()?;
        let mut network = Self {
            parts,
            escapes_before: 0,
            limit,
            senders: config.traffic.senders(&shape),
        };
        if config.keeps_order() && nodes <= ORDER_NODES {
            network.check_order();
        }
        network.parts.iter_mut().for_each(NetworkPartition::grant_all);
        network.hand_over();
        network.parts.iter_mut().for_each(NetworkPartition::take_first_grants);
        Ok(network)
    }

    fn check_order(&mut self) {
        self.parts.iter_mut().for_each(NetworkPartition::check_order);
    }

    /// Exchanges the events between the parts.
    fn hand_over(&mut self) {
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                let mut mail: PartitionMail = core::mem::take(&mut self.parts[from].out[to]);
                self.parts[to].take_mail(&mut mail);
                self.parts[from].out[to] = mail;
            }
        }
    }

    /// Simulates one tick. Fails with [`SimError::Wrong`].
    pub fn tick(&mut self) -> Result<(), SimError> {
        let tick = |result: Result<_, _>, part: &mut NetworkPartition<'_>| result.and(part.tick());
        let result = self.parts.iter_mut().fold(Ok(()), tick);
        self.hand_over();
        result
    }

    /// Simulates `ticks` ticks. Fails with [`SimError::Wrong`].
    pub fn run(&mut self, ticks: u64) -> Result<(), SimError> {
        match &mut self.parts[..] {
            [part] => (0..ticks).try_for_each(|_| part.tick()),
            parts => run_together(parts, ticks),
        }
    }

    /// Runs in one thread until every source has sent its [`SimConfig::packets`] and all have arrived, at most `limit`
    /// ticks. Fails with [`SimError::Stuck`] immediately on a deadlock.
    pub fn finish(&mut self, limit: u64) -> Result<(), SimError> {
        for _ in 0..limit {
            if self.parts.iter().all(NetworkPartition::is_quiet) {
                let full = self.routers().find(|r| !r.is_empty());
                let balances = self.parts.iter().map(|part| part.balance);
                return match (full, balances.fold(0, u64::wrapping_add)) {
                    (None, 0) => Ok(()),
                    (None, _) => Err(SimError::Wrong { node: Coord::default() }),
                    (Some(router), _) => Err(SimError::Stuck {
                        packets: self.on_the_way(),
                        node: router.coord(),
                    }),
                };
            }
            self.tick()?;
        }
        Err(SimError::Late {
            packets: self.on_the_way(),
        })
    }

    fn on_the_way(&self) -> u64 {
        let packets: i64 = self.parts.iter().map(|part| part.on_the_way).sum();
        packets as u64
    }

    /// Resets the measurements but not the machine's state.
    pub fn clear(&mut self) {
        for part in &mut self.parts {
            part.totals = TrafficTotals::default();
            part.latencies.clear();
            part.clear_sent();
        }
        self.escapes_before = self.all_escapes();
    }

    fn all_escapes(&self) -> u64 {
        self.routers().map(|r| r.stats().escapes).sum()
    }

    /// Returns the totals.
    pub fn totals(&self) -> TrafficTotals {
        let mut all = TrafficTotals::default();
        for part in &self.parts {
            all.ticks = part.totals.ticks;
            all.injected += part.totals.injected;
            all.delivered += part.totals.delivered;
            all.delivered_chunks += part.totals.delivered_chunks;
            all.hops += part.totals.hops;
        }
        all
    }
    /// Returns the latencies of the delivered packets.
    pub fn latencies(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.parts.iter().for_each(|part| all.add_all(&part.latencies));
        all
    }
    /// Returns the packets that moved from a dynamic channel to the bubble channel, or stayed in it.
    pub fn escapes(&self) -> u64 {
        self.all_escapes() - self.escapes_before
    }
    /// Returns [`Traffic::limit`](super::TrafficPattern::limit) of the pattern.
    pub fn limit(&self) -> LoadLimit {
        self.limit
    }
    /// Returns the accepted load in chunks per sending node and tick.
    pub fn accepted(&self) -> f64 {
        let totals = self.totals();
        totals.delivered_chunks as f64 / totals.ticks.max(1) as f64 / self.senders.max(1) as f64
    }
    /// Returns the mean link utilization of each dimension, as a fraction of time; 0 without links.
    pub fn dimension_use(&self) -> [f64; 3] {
        let (mut used, mut links) = ([0.0; 3], [0u32; 3]);
        for (node, by_link) in self.routers().zip(self.link_use()) {
            for d in node.links().iter() {
                used[d.dimension()] += by_link[d as usize];
                links[d.dimension()] += 1;
            }
        }
        core::array::from_fn(|dim| used[dim] / links[dim].max(1) as f64)
    }
    /// Returns the utilization of each link by node and direction, as a fraction of time; 0 without a link.
    pub fn link_use(&self) -> Vec<[f64; 6]> {
        let ticks = self.totals().ticks.max(1) as f64;
        let sent = self.parts.iter().flat_map(NetworkPartition::sent);
        sent.map(|by_link| by_link.map(|chunks| f64::from(chunks) / ticks))
            .collect()
    }
    /// Disables rules, to prove that checks can fail.
    #[cfg(test)]
    pub(crate) fn set_rules(&mut self, rules: crate::router::RouterRules) {
        for router in self.parts.iter_mut().flat_map(|part| &mut part.routers) {
            router.rules = rules;
        }
    }
    /// Returns the routers, by rank.
    pub fn routers(&self) -> impl Iterator<Item = &Router<'m>> {
        self.parts.iter().flat_map(|part| &part.routers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coord::Shape;
    use crate::inject::RoutingMode;
    use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS, by_profile};
    use crate::router::BufferSizes;
    use crate::sim::TrafficPattern;

    const MAX_CHUNKS: u8 = PACKET_CHUNKS as u8;

    /// Returns the accepted load on 8 x 8 x 8 as a fraction of the limit. Without dynamic channels it is smaller:
    /// packets wait for their only route, and a turn requires space for two.
    fn measure(traffic: TrafficPattern, load: f64) -> f64 {
        let shape = Shape::new([8, 8, 8], [true; 3]).unwrap();
        let sizes = BufferSizes::BLUE_GENE;
        let all = (traffic == TrafficPattern::AllToAll).then_some(shape.nodes() - 1);
        let config = SimConfig {
            shape,
            sizes,
            routing: RoutingMode::Adaptive,
            traffic,
            load,
            chunks: (MAX_CHUNKS, MAX_CHUNKS),
            seed: 1,
            priority: 0.0,
            packets: all,
        };
        let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
        let mut network = SimNetwork::new(config, &mut memory).unwrap();
        if all.is_some() {
            // One complete exchange, including its start and end.
            network.finish(100_000).unwrap();
        } else {
            network.run(1000).unwrap();
            network.clear();
            network.run(1000).unwrap();
        }
        network.accepted() / network.limit().load
    }

    #[test]
    fn an_all_to_all_comes_near_the_limit_of_the_wires() {
        let accepted = measure(TrafficPattern::AllToAll, 2.0);
        assert!(accepted >= by_profile(0.92, 0.57), "{accepted}");
    }

    #[test]
    fn neighbours_on_all_six_links_come_near_the_limit_of_the_wires() {
        for load in [1.5, 3.0] {
            let accepted = measure(TrafficPattern::Neighbour, load);
            assert!(accepted >= 0.97, "{accepted} at {load}");
        }
    }

    #[test]
    fn uniform_traffic_comes_near_the_limit_and_does_not_fall_beyond_saturation() {
        let mut best = 0.0f64;
        for (load, least) in [
            (0.9, by_profile(0.87, 0.63)),
            (1.5, by_profile(0.85, 0.63)),
            (3.0, by_profile(0.85, 0.63)),
        ] {
            let accepted = measure(TrafficPattern::Uniform, load);
            assert!(accepted >= least, "{accepted} at {load}");
            assert!(accepted >= best * 0.98, "{accepted} at {load}, {best} before");
            best = best.max(accepted);
        }
    }

    #[test]
    fn a_seed_determines_everything_and_seeds_differ() {
        let run = |seed| {
            let shape = Shape::new([4, 4, 4], [true; 3]).unwrap();
            let sizes = BufferSizes::BLUE_GENE;
            let config = SimConfig {
                shape,
                sizes,
                routing: RoutingMode::Adaptive,
                traffic: TrafficPattern::Uniform,
                load: 0.7,
                chunks: (1, MAX_CHUNKS),
                seed,
                priority: 0.0,
                packets: None,
            };
            let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
            let mut network = SimNetwork::new(config, &mut memory).unwrap();
            network.run(2000).unwrap();
            let totals = network.totals();
            (totals.hops, totals.delivered, network.latencies().sum)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    /// The values for `full` were recorded when the simulator carried complete packets in one thread. Those for `micro`
    /// differ: its packets are shorter, hence more at the same load, and use one route only.
    #[test]
    fn neither_threads_nor_what_is_carried_change_a_result() {
        let shape = Shape::new([5, 4, 3], [true, true, false]).unwrap();
        for (routing, sizes, load, expected) in [
            (
                RoutingMode::Adaptive,
                BufferSizes::BLUE_GENE,
                0.7,
                by_profile([30_712, 9_775, 132_048], [55_959, 17_784, 558_958]),
            ),
            (
                RoutingMode::Deterministic,
                BufferSizes::SMALLEST,
                1.5,
                by_profile([19_917, 6_320, 2_848_846], [31_577, 10_056, 4_851_593]),
            ),
        ] {
            let run = |threads| {
                let config = SimConfig {
                    shape,
                    sizes,
                    routing,
                    traffic: TrafficPattern::Uniform,
                    load,
                    chunks: (1, MAX_CHUNKS),
                    seed: 1,
                    priority: 0.1,
                    packets: None,
                };
                let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
                let mut network = SimNetwork::with_threads(config, &mut memory, threads).unwrap();
                network.run(300).unwrap();
                network.clear();
                network.run(700).unwrap();
                let TrafficTotals { hops, delivered, .. } = network.totals();
                let latencies = network.latencies();
                let results = [hops, delivered, latencies.sum];
                (results, latencies.counts, network.link_use(), network.escapes())
            };
            let alone = run(1);
            assert_eq!(alone.0, expected, "{routing:?}");
            for threads in [2, 3] {
                assert!(run(threads) == alone, "{routing:?}, {threads} threads");
            }
        }
    }

    #[test]
    fn adaptive_packets_overtake_and_deterministic_ones_do_not() {
        let shape = Shape::new([4, 4, 1], [true; 3]).unwrap();
        let sizes = BufferSizes::BLUE_GENE;
        let overtaken = |routing| {
            let config = SimConfig {
                shape,
                sizes,
                routing,
                traffic: TrafficPattern::Uniform,
                load: 1.5,
                chunks: (1, MAX_CHUNKS),
                seed: 1,
                priority: 0.0,
                packets: Some(2000),
            };
            let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
            let mut network = SimNetwork::new(config, &mut memory).unwrap();
            network.check_order();
            network.finish(1_000_000)
        };
        assert_eq!(overtaken(RoutingMode::Deterministic), Ok(()));
        let has_overtaken = match overtaken(RoutingMode::Adaptive) {
            Ok(()) => false,
            Err(SimError::Wrong { .. }) => true,
            Err(other) => panic!("{other}"),
        };
        // Without dynamic channels all packets keep dimension order.
        assert_eq!(has_overtaken, HAS_DYNAMIC);
    }

    #[test]
    fn every_node_gets_a_share_of_a_flooded_machine() {
        let shape = Shape::new([8, 8, 1], [true; 3]).unwrap();
        for (routing, sizes) in [
            (RoutingMode::Deterministic, BufferSizes::SMALLEST),
            (RoutingMode::Adaptive, BufferSizes::BLUE_GENE),
        ] {
            let config = SimConfig {
                shape,
                sizes,
                routing,
                traffic: TrafficPattern::Complement,
                load: 3.0,
                chunks: (MAX_CHUNKS, MAX_CHUNKS),
                seed: 1,
                priority: 0.0,
                packets: None,
            };
            let mut memory = vec![[0; 32]; SimNetwork::chunks(&config)];
            let mut network = SimNetwork::new(config, &mut memory).unwrap();
            network.run(20_000).unwrap();
            let injected = |r: &Router<'_>| r.stats().fifos[0].injected.packets;
            let least = network.routers().map(injected).min().unwrap();
            // A link transmits 20,000 chunks in this time.
            let chunks = least * u64::from(MAX_CHUNKS);
            assert!(chunks >= 400, "{routing:?}: a node sent only {chunks} chunks");
        }
    }

    #[test]
    fn wrong_configurations_are_refused() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let good = SimConfig {
            shape,
            sizes: BufferSizes::SMALLEST,
            routing: RoutingMode::Adaptive,
            traffic: TrafficPattern::Uniform,
            load: 1.0,
            chunks: (1, MAX_CHUNKS),
            seed: 0,
            priority: 0.0,
            packets: None,
        };
        let chunks = SimNetwork::chunks(&good);
        let new = |config, chunks| SimNetwork::new(config, &mut vec![[0; 32]; chunks]).err();
        assert_eq!(new(good, chunks), None);
        assert_eq!(new(good, chunks - 1), Some(SimError::Memory));
        for (load, sizes) in [
            (0.0, (1, MAX_CHUNKS)),
            (f64::NAN, (1, MAX_CHUNKS)),
            (1.0, (0, MAX_CHUNKS)),
            (1.0, (4, 3)),
            (1.0, (1, MAX_CHUNKS + 1)),
        ] {
            let bad = SimConfig {
                load,
                chunks: sizes,
                ..good
            };
            assert_eq!(new(bad, chunks), Some(SimError::Config));
        }
    }
}
