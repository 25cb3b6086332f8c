//! A whole machine of routers in virtual time.
//!
//! One tick is the time in which a link carries one chunk of 32 bytes (183 ns at Blue Gene/L's 175 MB/s).
//! A packet of n chunks keeps its link busy for n ticks. Its head is at the next router one tick after it
//! left and may leave again at once (virtual cut-through); the tokens of its buffer are back at the sender
//! one tick after its last chunk left. The routers are the very ones that run on nodes; only the frames
//! are left out.
//!
//! Everything is a function of the configuration and its seed.

use super::traffic::{Limit, Traffic};
use crate::chunk::{Chunk, PACKET_BYTES, PACKET_CHUNKS};
use crate::coord::{Coord, Direction, Shape};
use crate::inject::{InjectError, Routing};
use crate::router::{ConfigError, Router, Sizes};
use crate::vc::Vc;
use crate::wire::{Directions, Fifo, HEADER_BYTES, Packet};
use oorandom::Rand32;

/// Ticks for which events can be planned ahead, a power of two.
const WHEEL: usize = 16;
/// Latencies of more ticks are counted as this many.
const LONGEST: usize = 1 << 16;
/// Bytes of a simulated packet's body that mean something: source, birth, serial number.
const BODY: usize = 12;

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
    /// Sizes of packets in chunks, drawn evenly from this range; within 1..=8.
    pub chunks: (u8, u8),
    /// Seed of all that is random.
    pub seed: u64,
    /// Fraction (0..=1) of the packets that are priority packets, drawn at random.
    pub priority: f64,
    /// Packets that each node sends in all; `None`: without end.
    pub packets: Option<u32>,
}

impl Config {
    fn is_possible(&self) -> bool {
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
    /// Less memory than [`Network::chunks`].
    Memory,
    /// [`Config::chunks`] is not a range within 1..=8, [`Config::load`] is not a positive number, or
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
    /// A packet arrived where it was not sent to, twice, damaged or, with deterministic routing, out of
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
            Self::Config => f.write_str(
                "packet sizes must be 1 to 8 chunks, loads above 0 and fractions 0 to 1",
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
    counts: Vec<u32>,
    total: u64,
    sum: u64,
}

impl Latencies {
    fn new() -> Self {
        Self {
            counts: vec![0; LONGEST + 1],
            total: 0,
            sum: 0,
        }
    }
    fn clear(&mut self) {
        self.counts.fill(0);
        (self.total, self.sum) = (0, 0);
    }
    fn add(&mut self, ticks: u64) {
        self.counts[(ticks as usize).min(LONGEST)] += 1;
        self.total += 1;
        self.sum += ticks;
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

/// A packet to be injected.
#[derive(Clone, Copy)]
struct Birth {
    /// In ticks.
    at: f64,
    dest: Coord,
    chunks: u8,
    fifo: Fifo,
}

/// A node's source of packets.
struct Source {
    random: Rand32,
    next: Option<Birth>,
    serial: u32,
}

/// What happens in one tick.
#[derive(Default)]
struct Slot {
    /// Node, side, packet size in chunks; the bytes in order in `bytes`.
    arrivals: Vec<(u32, u8, u8)>,
    bytes: Vec<u8>,
    /// Node, side, the neighbour's counters.
    grants: Vec<(u32, u8, [u16; Vc::COUNT])>,
    /// Node, direction whose link becomes idle.
    idle: Vec<(u32, u8)>,
    /// Nodes with a packet to be born.
    births: Vec<u32>,
}

/// Totals since the start, or since [`Network::clear`].
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

/// A machine of routers in virtual time; the text above has the rules.
pub struct Network<'m> {
    config: Config,
    routers: Vec<Router<'m>>,
    sources: Vec<Source>,
    neighbours: Vec<[u32; 6]>,
    /// By node: links that carry nothing now.
    idle: Vec<u8>,
    /// Nodes where something may be able to move, and the same as a flag by node.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    wheel: Vec<Slot>,
    /// Births beyond the wheel, the nearest first.
    later: std::collections::BinaryHeap<core::cmp::Reverse<(u64, u32)>>,
    now: u64,
    on_the_way: u64,
    totals: Totals,
    latencies: Latencies,
    /// By node, by direction: chunks sent when [`Network::clear`] was called.
    sent_before: Vec<[u64; 6]>,
    escapes_before: u64,
    /// Sum over (source, destination, serial) of packets on their way, each hashed: zero when all of them
    /// arrived once.
    balance: u64,
    /// By destination, source and FIFO: serial number after the last that arrived, to check order; empty
    /// when the machine is too large for it or order is not promised.
    order: Vec<[u32; Fifo::ALL.len()]>,
    /// Mean ticks between two births of a node.
    interval: f64,
    limit: Limit,
    senders: u32,
}

/// Greatest machine whose packets' order is checked: the table has its square.
const ORDER_NODES: u32 = 1024;

fn hash(source: u32, dest: u32, serial: u32) -> u64 {
    let mut h = (source as u64) << 32 | dest as u64;
    h = (h ^ (serial as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

impl<'m> Network<'m> {
    /// Chunks of memory that a machine of this shape and these buffers needs.
    pub fn chunks(shape: &Shape, sizes: &Sizes) -> usize {
        shape.nodes() as usize * sizes.chunks()
    }

    /// A machine with its routers' buffers in `memory`.
    pub fn new(config: Config, memory: &'m mut [Chunk]) -> Result<Self, SimError> {
        let Config { shape, sizes, .. } = config;
        if !config.is_possible() {
            return Err(SimError::Config);
        }
        if memory.len() < Self::chunks(&shape, &sizes) {
            return Err(SimError::Memory);
        }
        let nodes = shape.nodes();
        let coords = || (0..nodes).map(|r| shape.coord(r).unwrap_or_default());
        let routers = coords()
            .zip(memory.chunks_exact_mut(sizes.chunks()))
            .map(|(here, memory)| Router::new(shape, here, sizes, memory))
            .collect::<Result<Vec<_>, _>>()
            .map_err(SimError::Router)?;
        let neighbours = coords()
            .map(|here| {
                Direction::ALL.map(|d| {
                    let there = shape.neighbour(here, d);
                    there.and_then(|c| shape.rank(c)).unwrap_or(u32::MAX)
                })
            })
            .collect();
        let limit = config.traffic.limit(&shape);
        let (least, most) = config.chunks;
        let mean = (least as f64 + most as f64) / 2.0;
        let ordered = config.routing == Routing::Deterministic && nodes <= ORDER_NODES;
        let mut network = Self {
            routers,
            sources: (0..nodes)
                .map(|rank| Source {
                    random: Rand32::new_inc(config.seed ^ (rank as u64) << 32, rank as u64),
                    next: None,
                    serial: 0,
                })
                .collect(),
            neighbours,
            idle: coords().map(|c| shape.links(c).bits()).collect(),
            dirty: Vec::new(),
            is_dirty: vec![false; nodes as usize],
            wheel: (0..WHEEL).map(|_| Slot::default()).collect(),
            later: Default::default(),
            now: 0,
            on_the_way: 0,
            totals: Totals::default(),
            latencies: Latencies::new(),
            sent_before: vec![[0; 6]; nodes as usize],
            escapes_before: 0,
            balance: 0,
            order: vec![Default::default(); if ordered { (nodes * nodes) as usize } else { 0 }],
            interval: if limit.load > 0.0 {
                mean / (config.load * limit.load)
            } else {
                f64::INFINITY
            },
            limit,
            senders: config.traffic.senders(&shape),
            config,
        };
        for node in 0..nodes as usize {
            network.exchange_grants(node);
            network.plan(node, 0.0);
        }
        Ok(network)
    }

    /// Hands every neighbour the node's tokens at once, before the first tick.
    fn exchange_grants(&mut self, node: usize) {
        for d in self.routers[node].links().iter() {
            let granted = self.routers[node].tell_grants(d);
            let there = self.neighbours[node][d as usize] as usize;
            self.routers[there].take_grants(d.opposite(), granted);
        }
        self.routers[node].take_released();
    }

    /// Draws the node's next packet, born at least one interval's draw after `after`.
    fn plan(&mut self, node: usize, after: f64) {
        let source = &mut self.sources[node];
        source.next = None;
        if self.interval.is_infinite() || self.config.packets.is_some_and(|n| source.serial >= n) {
            return;
        }
        // Exponential intervals: births are independent of one another.
        let draw = 1.0 - source.random.rand_float() as f64;
        let birth = after - draw.ln() * self.interval;
        let traffic = self.config.traffic;
        let dest = traffic.dest(
            &self.config.shape,
            node as u32,
            source.serial,
            &mut source.random,
        );
        let Some(dest) = dest else { return };
        let (least, most) = self.config.chunks;
        let chunks = source.random.rand_range(least as u32..most as u32 + 1) as u8;
        let priority = self.config.priority;
        let fifo = if priority > 0.0 && (source.random.rand_float() as f64) < priority {
            Fifo::Priority
        } else {
            Fifo::Normal
        };
        source.next = Some(Birth {
            at: birth,
            dest,
            chunks,
            fifo,
        });
        let tick = birth.ceil() as u64;
        if tick > self.now {
            if tick - self.now < WHEEL as u64 {
                self.wheel[tick as usize % WHEEL].births.push(node as u32);
            } else {
                self.later.push(core::cmp::Reverse((tick, node as u32)));
            }
        }
    }

    fn touch(&mut self, node: usize) {
        if !core::mem::replace(&mut self.is_dirty[node], true) {
            self.dirty.push(node as u32);
        }
    }

    /// Injects what has been born at `node` as far as there is room.
    fn inject(&mut self, node: usize) {
        while let Some(birth) = self.sources[node].next
            && birth.at.ceil() as u64 <= self.now
        {
            let serial = self.sources[node].serial;
            let len = birth.chunks as usize * 32 - HEADER_BYTES;
            let result = self.routers[node].inject_with(
                birth.fifo,
                birth.dest,
                len,
                self.config.routing,
                |body| {
                    let words = [node as u32, birth.at as u32, serial];
                    for (bytes, word) in body.chunks_exact_mut(4).zip(words) {
                        bytes.copy_from_slice(&word.to_le_bytes());
                    }
                },
            );
            match result {
                Ok(()) => {
                    let to = self.config.shape.rank(birth.dest).unwrap_or_default();
                    self.balance = self.balance.wrapping_add(hash(node as u32, to, serial));
                    self.totals.injected += 1;
                    self.on_the_way += 1;
                    self.sources[node].serial += 1;
                    self.plan(node, birth.at);
                }
                Err(InjectError::Full) => return,
                Err(_) => unreachable!("patterns stay inside the torus"),
            }
        }
    }

    /// Takes what has arrived in the reception FIFOs of `node`.
    fn collect(&mut self, node: usize) -> Result<(), SimError> {
        Fifo::ALL
            .into_iter()
            .try_for_each(|fifo| self.collect_from(node, fifo))
    }

    fn collect_from(&mut self, node: usize, fifo: Fifo) -> Result<(), SimError> {
        while let Some(body) = self.routers[node].head(fifo) {
            let word =
                |i: usize| u32::from_le_bytes([body[i], body[i + 1], body[i + 2], body[i + 3]]);
            let chunks = (body.len() + HEADER_BYTES).div_ceil(32) as u64;
            let wrong = SimError::Wrong {
                node: self.routers[node].coord(),
            };
            if body.len() < BODY || word(0) >= self.config.shape.nodes() {
                return Err(wrong);
            }
            let (source, birth, serial) = (word(0), word(4), word(8));
            if !self.order.is_empty() {
                let pair = node * self.routers.len() + source as usize;
                let next = &mut self.order[pair][fifo as usize];
                if serial < *next {
                    return Err(wrong);
                }
                *next = serial + 1;
            }
            self.balance = self.balance.wrapping_sub(hash(source, node as u32, serial));
            self.totals.delivered += 1;
            self.totals.delivered_chunks += chunks;
            self.on_the_way -= 1;
            // The last chunk comes in chunks - 1 ticks after the head.
            let arrived = self.now as u32 as u64 + chunks - 1;
            self.latencies.add(arrived.saturating_sub(birth as u64));
            self.routers[node].pop(fifo);
        }
        Ok(())
    }

    /// Sends the tokens that `node` has given free to its neighbours, `after` ticks from now.
    fn return_tokens(&mut self, node: usize, after: u64) {
        let released = Directions::from_bits(self.routers[node].take_released());
        for d in released.iter() {
            let granted = self.routers[node].tell_grants(d);
            let there = self.neighbours[node][d as usize];
            let slot = &mut self.wheel[(self.now + after) as usize % WHEEL];
            slot.grants.push((there, d.opposite() as u8, granted));
        }
    }

    /// One tick. Fails with [`SimError::Wrong`].
    pub fn tick(&mut self) -> Result<(), SimError> {
        self.now += 1;
        self.totals.ticks += 1;
        while let Some(&core::cmp::Reverse((tick, node))) = self.later.peek()
            && tick <= self.now
        {
            self.later.pop();
            self.touch(node as usize);
        }
        let index = self.now as usize % WHEEL;
        let mut slot = core::mem::take(&mut self.wheel[index]);
        for (node, d) in slot.idle.drain(..) {
            self.idle[node as usize] |= 1 << d;
            self.touch(node as usize);
        }
        for (node, side, granted) in slot.grants.drain(..) {
            self.routers[node as usize].take_grants(Direction::ALL[side as usize], granted);
            self.touch(node as usize);
        }
        for node in slot.births.drain(..) {
            self.touch(node as usize);
        }
        let mut bytes = &slot.bytes[..];
        for (node, side, chunks) in slot.arrivals.drain(..) {
            let (packet, rest) = bytes.split_at(chunks as usize * 32);
            bytes = rest;
            let router = &mut self.routers[node as usize];
            let accepted = Packet::new_checked(packet)
                .map_err(|(defect, _)| defect)
                .and_then(|packet| {
                    router.accept(Direction::ALL[side as usize], packet, packet.bytes())
                });
            if accepted.is_err() {
                let node = router.coord();
                return Err(SimError::Wrong { node });
            }
            self.collect(node as usize)?;
            self.return_tokens(node as usize, chunks as u64 + 1);
            self.touch(node as usize);
        }
        slot.bytes.clear();
        self.wheel[index] = slot;
        let mut dirty = core::mem::take(&mut self.dirty);
        for node in dirty.drain(..) {
            self.is_dirty[node as usize] = false;
            self.run_node(node as usize)?;
        }
        // What `run_node` has touched for the next tick stands in the new list.
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
        Ok(())
    }

    /// Injection and all idle links of one node.
    fn run_node(&mut self, node: usize) -> Result<(), SimError> {
        self.inject(node);
        let idle = Directions::from_bits(self.idle[node]);
        let in_turn = self.routers[node].links_in_turn();
        for direction in in_turn.filter(|&d| idle.has(d)) {
            let d = direction as usize;
            let mut packet = [0; PACKET_BYTES];
            let Some(size) = self.routers[node].take(direction, &mut packet) else {
                if self.routers[node].is_holding(direction) {
                    self.touch(node);
                }
                continue;
            };
            let chunks = size / 32;
            self.totals.hops += 1;
            self.idle[node] &= !(1 << d);
            let there = self.neighbours[node][d];
            let slot = &mut self.wheel[(self.now as usize + 1) % WHEEL];
            slot.arrivals.push((there, d as u8 ^ 1, chunks as u8));
            slot.bytes.extend_from_slice(&packet[..size]);
            let slot = &mut self.wheel[(self.now as usize + chunks) % WHEEL];
            slot.idle.push((node as u32, d as u8));
            self.collect(node)?;
            self.return_tokens(node, chunks as u64 + 1);
        }
        self.inject(node);
        Ok(())
    }

    /// Runs for `ticks` ticks.
    pub fn run(&mut self, ticks: u64) -> Result<(), SimError> {
        (0..ticks).try_for_each(|_| self.tick())
    }

    /// Runs until every source has sent all its packets ([`Config::packets`]) and all have arrived, at
    /// most `limit` ticks. Fails with [`SimError::Stuck`] as soon as nothing can move any more.
    pub fn finish(&mut self, limit: u64) -> Result<(), SimError> {
        for _ in 0..limit {
            let quiet = self.dirty.is_empty()
                && self.later.is_empty()
                && self.wheel.iter().all(|slot| {
                    slot.arrivals.is_empty()
                        && slot.grants.is_empty()
                        && slot.idle.is_empty()
                        && slot.births.is_empty()
                });
            if quiet {
                let full = self.routers.iter().find(|r| !r.is_empty());
                return match (full, self.balance) {
                    (None, 0) => Ok(()),
                    (None, _) => Err(SimError::Wrong {
                        node: Coord::default(),
                    }),
                    (Some(router), _) => Err(SimError::Stuck {
                        packets: self.on_the_way,
                        node: router.coord(),
                    }),
                };
            }
            self.tick()?;
        }
        Err(SimError::Late {
            packets: self.on_the_way,
        })
    }

    /// No further births: what has been injected is all there will be.
    pub fn stop(&mut self) {
        self.config.packets = Some(0);
        self.later.clear();
        for source in &mut self.sources {
            source.next = None;
        }
    }

    /// Starts measuring afresh; the machine's state stays.
    pub fn clear(&mut self) {
        self.totals = Totals::default();
        self.latencies.clear();
        self.escapes_before = self.all_escapes();
        for (before, router) in self.sent_before.iter_mut().zip(&self.routers) {
            *before = sent(router);
        }
    }

    fn all_escapes(&self) -> u64 {
        self.routers.iter().map(|r| r.stats().escapes).sum()
    }

    /// Totals.
    pub fn totals(&self) -> Totals {
        self.totals
    }
    /// Latencies of the packets delivered.
    pub fn latencies(&self) -> &Latencies {
        &self.latencies
    }
    /// Packets that changed from a dynamic channel to the bubble channel, or stayed in it.
    pub fn escapes(&self) -> u64 {
        self.all_escapes() - self.escapes_before
    }
    /// [`Traffic::limit`] of the pattern.
    pub fn limit(&self) -> Limit {
        self.limit
    }
    /// Delivered load in chunks per sending node and tick.
    pub fn accepted(&self) -> f64 {
        self.totals.delivered_chunks as f64
            / self.totals.ticks.max(1) as f64
            / self.senders.max(1) as f64
    }
    /// By dimension: fraction of time in which its links carried something, on average; 0 where there are
    /// none.
    pub fn dimension_use(&self) -> [f64; 3] {
        let (mut used, mut links) = ([0.0; 3], [0u32; 3]);
        for (node, by_link) in self.routers.iter().zip(self.link_use()) {
            for d in node.links().iter() {
                used[d.dimension()] += by_link[d as usize];
                links[d.dimension()] += 1;
            }
        }
        core::array::from_fn(|dim| used[dim] / links[dim].max(1) as f64)
    }
    /// By node and direction: fraction of time in which the link carried something; 0 where there is none.
    pub fn link_use(&self) -> Vec<[f64; 6]> {
        let ticks = self.totals.ticks.max(1) as f64;
        self.routers
            .iter()
            .zip(&self.sent_before)
            .map(|(router, before)| {
                let now = sent(router);
                core::array::from_fn(|d| (now[d] - before[d]) as f64 / ticks)
            })
            .collect()
    }
    /// Turns rules off, to see that checks can fail.
    #[cfg(test)]
    pub(crate) fn set_rules(&mut self, rules: crate::router::Rules) {
        for router in &mut self.routers {
            router.rules = rules;
        }
    }
    /// The routers, by rank.
    pub fn routers(&self) -> &[Router<'m>] {
        &self.routers
    }
}

/// Chunks that a router has sent, by direction.
fn sent(router: &Router<'_>) -> [u64; 6] {
    core::array::from_fn(|d| {
        let channels = &router.stats().channels[d];
        channels.iter().map(|c| c.sent.chunks).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepted load on 8 x 8 x 8 as a fraction of the limit.
    fn measure(traffic: Traffic, load: f64) -> f64 {
        let shape = Shape::new([8, 8, 8], [true; 3]).unwrap();
        let sizes = Sizes::BLUE_GENE;
        let all = (traffic == Traffic::AllToAll).then_some(shape.nodes() - 1);
        let config = Config {
            shape,
            sizes,
            routing: Routing::Adaptive,
            traffic,
            load,
            chunks: (8, 8),
            seed: 1,
            priority: 0.0,
            packets: all,
        };
        let mut memory = vec![[0; 32]; Network::chunks(&shape, &sizes)];
        let mut network = Network::new(config, &mut memory).unwrap();
        if all.is_some() {
            // One whole exchange, its start and its end included.
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
        let accepted = measure(Traffic::AllToAll, 2.0);
        assert!(accepted >= 0.92, "{accepted}");
    }

    #[test]
    fn neighbours_on_all_six_links_come_near_the_limit_of_the_wires() {
        for load in [1.5, 3.0] {
            let accepted = measure(Traffic::Neighbour, load);
            assert!(accepted >= 0.97, "{accepted} at {load}");
        }
    }

    #[test]
    fn uniform_traffic_comes_near_the_limit_and_does_not_fall_beyond_saturation() {
        let mut best = 0.0f64;
        for (load, least) in [(0.9, 0.87), (1.5, 0.85), (3.0, 0.85)] {
            let accepted = measure(Traffic::Uniform, load);
            assert!(accepted >= least, "{accepted} at {load}");
            assert!(
                accepted >= best * 0.98,
                "{accepted} at {load}, {best} before"
            );
            best = best.max(accepted);
        }
    }

    #[test]
    fn a_seed_determines_everything_and_seeds_differ() {
        let run = |seed| {
            let shape = Shape::new([4, 4, 4], [true; 3]).unwrap();
            let sizes = Sizes::BLUE_GENE;
            let config = Config {
                shape,
                sizes,
                routing: Routing::Adaptive,
                traffic: Traffic::Uniform,
                load: 0.7,
                chunks: (1, 8),
                seed,
                priority: 0.0,
                packets: None,
            };
            let mut memory = vec![[0; 32]; Network::chunks(&shape, &sizes)];
            let mut network = Network::new(config, &mut memory).unwrap();
            network.run(2000).unwrap();
            let totals = network.totals();
            (totals.hops, totals.delivered, network.latencies().sum)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn adaptive_packets_overtake_and_deterministic_ones_do_not() {
        let shape = Shape::new([4, 4, 1], [true; 3]).unwrap();
        let sizes = Sizes::BLUE_GENE;
        let overtaken = |routing| {
            let config = Config {
                shape,
                sizes,
                routing,
                traffic: Traffic::Uniform,
                load: 1.5,
                chunks: (1, 8),
                seed: 1,
                priority: 0.0,
                packets: Some(2000),
            };
            let mut memory = vec![[0; 32]; Network::chunks(&shape, &sizes)];
            let mut network = Network::new(config, &mut memory).unwrap();
            network.order = vec![Default::default(); 16 * 16];
            network.finish(1_000_000)
        };
        assert_eq!(overtaken(Routing::Deterministic), Ok(()));
        assert!(matches!(
            overtaken(Routing::Adaptive),
            Err(SimError::Wrong { .. })
        ));
    }

    #[test]
    fn every_node_gets_a_share_of_a_flooded_machine() {
        let shape = Shape::new([8, 8, 1], [true; 3]).unwrap();
        for (routing, sizes) in [
            (Routing::Deterministic, Sizes::SMALLEST),
            (Routing::Adaptive, Sizes::BLUE_GENE),
        ] {
            let config = Config {
                shape,
                sizes,
                routing,
                traffic: Traffic::Complement,
                load: 3.0,
                chunks: (8, 8),
                seed: 1,
                priority: 0.0,
                packets: None,
            };
            let mut memory = vec![[0; 32]; Network::chunks(&shape, &sizes)];
            let mut network = Network::new(config, &mut memory).unwrap();
            network.run(20_000).unwrap();
            let injected = |r: &Router<'_>| r.stats().fifos[0].injected.packets;
            let least = network.routers().iter().map(injected).min().unwrap();
            // 2,500 packets is what a link carries in this time.
            assert!(least >= 50, "{routing:?}: a node sent only {least} packets");
        }
    }

    #[test]
    fn wrong_configurations_are_refused() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let good = Config {
            shape,
            sizes: Sizes::SMALLEST,
            routing: Routing::Adaptive,
            traffic: Traffic::Uniform,
            load: 1.0,
            chunks: (1, 8),
            seed: 0,
            priority: 0.0,
            packets: None,
        };
        let chunks = Network::chunks(&shape, &good.sizes);
        let new = |config, chunks| Network::new(config, &mut vec![[0; 32]; chunks]).err();
        assert_eq!(new(good, chunks), None);
        assert_eq!(new(good, chunks - 1), Some(SimError::Memory));
        for (load, sizes) in [
            (0.0, (1, 8)),
            (f64::NAN, (1, 8)),
            (1.0, (0, 8)),
            (1.0, (4, 3)),
            (1.0, (1, 9)),
        ] {
            let bad = Config {
                load,
                chunks: sizes,
                ..good
            };
            assert_eq!(new(bad, chunks), Some(SimError::Config));
        }
    }
}
