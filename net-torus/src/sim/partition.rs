//! Partition of a simulated machine: nodes with consecutive ranks, and their events.
//!
//! The events at a node in a tick depend on that node alone. Their effects reach its neighbours one tick later at the
//! earliest. So the parts simulate a tick independently and exchange their events ([`PartitionMail`]) between two ticks. Within
//! a tick neither the order of the nodes nor that of a node's links affects the result. A link delivers at most one
//! packet, each link uses separate buffers, and packets at their destination are removed immediately. Hence results do
//! not depend on the partitioning.
//!
//! Only the first chunk of a packet is stored; it contains the header and all other data that the simulator reads.
//!
//! Nodes and events are processed in blocks. In each tick a router is thus loaded once into the host's caches for all
//! its events, and no sorting is necessary.

use super::experiment::{LatencyHistogram, SimConfig, SimError, TrafficTotals};
use crate::chunk::Chunk;
use crate::coord::{Coord, Direction};
use crate::inject::InjectError;
use crate::router::Router;
use crate::vc::Vc;
use crate::wire::{DirectionSet, Fifo, HEADER_BYTES, HeaderWord};
use core::cmp::Reverse;
use core::ops::Range;
use oorandom::Rand32;
use std::collections::BinaryHeap;

/// Ticks of the timing wheel, a power of two.
const WHEEL: usize = 16;
/// Bytes of a simulated packet's body: source, creation time, sequence number.
const BODY: usize = 12;

/// Nodes per block: one bit each of a word.
const BLOCK: usize = u64::BITS as usize;

/// Number of routers in a part above which prefetching is enabled.
const CACHED: usize = 512;

/// Values for no tick and no node.
const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct PacketBirth {
    /// Creation time in ticks.
    at: f64,
    dest: Coord,
    chunks: u8,
    fifo: Fifo,
}

struct TrafficSource {
    random: Rand32,
    next: Option<PacketBirth>,
    serial: u32,
}

/// Packet received over the link of a node's side.
struct LinkArrival {
    node: u32,
    side: u8,
    head: Chunk,
}

/// Grant counters from the neighbour at a node's side.
struct LinkGrant {
    node: u32,
    side: u8,
    granted: [u16; Vc::COUNT],
}

/// Events of one tick at the nodes of a block.
#[derive(Default)]
struct TickEvents {
    arrivals: Vec<LinkArrival>,
    grants: Vec<LinkGrant>,
    /// Node and direction of the links that become idle.
    idle: Vec<(u32, u8)>,
    /// Nodes that create a packet.
    births: Vec<u32>,
}

impl TickEvents {
    fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.grants.is_empty() && self.idle.is_empty() && self.births.is_empty()
    }
}

/// Events of a tick for nodes of another part.
#[derive(Default)]
pub(super) struct PartitionMail {
    /// Arrivals in the next tick.
    arrivals: Vec<LinkArrival>,
    /// Grants with their ticks.
    grants: Vec<(u64, LinkGrant)>,
}

impl PartitionMail {
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.grants.is_empty()
    }
}

#[derive(Clone, Copy)]
struct WireState {
    /// Rank of the node at the other end; [`NONE`] without a link.
    there: u32,
    /// Chunks sent since [`NetworkPartition::clear_sent`].
    sent: u32,
}

/// Next expected sequence number, by destination in the part, source and FIFO.
type SequenceTable = Vec<[u32; Fifo::ALL.len()]>;

/// Partition; see the [module](self). Node indices are relative to it.
pub(super) struct NetworkPartition<'m> {
    config: SimConfig,
    /// Nodes of every part but the last one.
    each: u32,
    /// Rank of the first node.
    first: u32,
    pub routers: Vec<Router<'m>>,
    sources: Vec<TrafficSource>,
    /// Tick of the next injection, by node.
    births: Vec<u64>,
    /// By node and direction.
    wires: Vec<[WireState; 6]>,
    /// Mask of the idle links, by node.
    idle: Vec<u8>,
    /// Nodes that may be able to move packets in the next tick, by block.
    dirty: Vec<u64>,
    /// Timing wheel: events by tick modulo [`WHEEL`], then by block.
    wheel: Vec<Vec<TickEvents>>,
    /// Packet creations beyond the wheel, the nearest first.
    later: BinaryHeap<Reverse<(u64, u32)>>,
    now: u64,
    /// Events for the nodes of each part.
    pub out: Vec<PartitionMail>,
    /// Packets injected here, less those delivered here, since the start.
    pub on_the_way: i64,
    pub totals: TrafficTotals,
    pub latencies: LatencyHistogram,
    /// Sum of hashes of (source, destination, sequence number) over injected packets, less those delivered. It is zero
    /// over all parts when each packet arrived once.
    pub balance: u64,
    /// Empty if the order is not checked.
    pub order: SequenceTable,
    /// Mean ticks between two packets of a node.
    interval: f64,
}

/// Returns the index of the channel that a packet arrives on.
fn channel(head: &Chunk) -> usize {
    usize::from(head[2] >> 3 & 3)
}

/// Returns the indices of the set bits, the lowest first.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}

fn hash(source: u32, dest: u32, serial: u32) -> u64 {
    let mut h = (source as u64) << 32 | dest as u64;
    h = (h ^ (serial as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

impl<'m> NetworkPartition<'m> {
    /// Creates the nodes with these `ranks`; `each` is the number of nodes of every part but the last one.
    pub fn new(
        config: SimConfig,
        ranks: Range<u32>,
        each: u32,
        memory: &'m mut [Chunk],
        interval: f64,
    ) -> Result<Self, SimError> {
        let SimConfig { shape, sizes, .. } = config;
        let halvings = config.halvings();
        let coords = || ranks.clone().map(|r| shape.coord(r).unwrap_or_default());
        let routers = coords()
            .zip(memory.chunks_exact_mut(config.heads()))
            .map(|(here, memory)| {
                let mut router = Router::with_heads_only(shape, here, sizes, halvings, memory)?;
                router.set_exact(router.links());
                Ok(router)
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(SimError::Router)?;
        let wires = coords().map(|here| {
            let there = |d| shape.rank(shape.neighbour(here, d)?);
            Direction::ALL.map(|d| WireState {
                there: there(d).unwrap_or(NONE),
                sent: 0,
            })
        });
        let source = |rank| TrafficSource {
            random: Rand32::new_inc(config.seed ^ (rank as u64) << 32, rank as u64),
            next: None,
            serial: 0,
        };
        let blocks = routers.len().div_ceil(BLOCK);
        let slot = || (0..blocks).map(|_| TickEvents::default()).collect();
        let mut part = Self {
            config,
            each,
            first: ranks.start,
            sources: ranks.clone().map(source).collect(),
            births: vec![NEVER; routers.len()],
            wires: wires.collect(),
            idle: coords().map(|c| shape.links(c).bits()).collect(),
            dirty: vec![0; blocks],
            wheel: (0..WHEEL).map(|_| slot()).collect(),
            later: BinaryHeap::new(),
            now: 0,
            out: (0..shape.nodes().div_ceil(each))
                .map(|_| PartitionMail::default())
                .collect(),
            on_the_way: 0,
            totals: TrafficTotals::default(),
            latencies: LatencyHistogram::new(),
            balance: 0,
            order: SequenceTable::new(),
            interval,
            routers,
        };
        for node in 0..part.routers.len() {
            part.plan(node, 0.0);
        }
        Ok(part)
    }

    /// Enables the check of packet order.
    pub fn check_order(&mut self) {
        let pairs = self.routers.len() * self.config.shape.nodes() as usize;
        self.order = vec![Default::default(); pairs];
    }

    fn rank(&self, node: usize) -> u32 {
        self.first + node as u32
    }

    /// Checks whether no event is scheduled.
    pub fn is_quiet(&self) -> bool {
        self.dirty.iter().all(|&nodes| nodes == 0)
            && self.later.is_empty()
            && self.out.iter().all(PartitionMail::is_empty)
            && self.wheel.iter().flatten().all(TickEvents::is_empty)
    }

    /// Schedules the node's next packet, after a random interval from `after`.
    fn plan(&mut self, node: usize, after: f64) {
        let rank = self.rank(node);
        let source = &mut self.sources[node];
        source.next = None;
        self.births[node] = NEVER;
        if self.interval.is_infinite() || self.config.packets.is_some_and(|n| source.serial >= n) {
            return;
        }
        // Exponential intervals: packets are created independently of each other.
        let draw = 1.0 - source.random.rand_float() as f64;
        let birth = after - draw.ln() * self.interval;
        let SimConfig { traffic, shape, .. } = &self.config;
        let dest = traffic.dest(shape, rank, source.serial, &mut source.random);
        let Some(dest) = dest else { return };
        let (least, most) = self.config.chunks;
        let chunks = source.random.rand_range(least as u32..most as u32 + 1) as u8;
        let priority = self.config.priority;
        let fifo = if priority > 0.0 && (source.random.rand_float() as f64) < priority {
            Fifo::Priority
        } else {
            Fifo::Normal
        };
        let tick = birth.ceil() as u64;
        source.next = Some(PacketBirth {
            at: birth,
            dest,
            chunks,
            fifo,
        });
        self.births[node] = tick;
        if tick > self.now {
            if tick - self.now < WHEEL as u64 {
                self.due(tick, node).births.push(node as u32);
            } else {
                self.later.push(Reverse((tick, node as u32)));
            }
        }
    }

    fn touch(&mut self, node: usize) {
        self.dirty[node / BLOCK] |= 1 << (node % BLOCK);
    }

    /// Returns the events of one of the next ticks at the node's block.
    fn due(&mut self, tick: u64, node: usize) -> &mut TickEvents {
        &mut self.wheel[tick as usize % WHEEL][node / BLOCK]
    }

    /// Returns the index of the node with this rank, or its part and its index there.
    fn place(&self, rank: u32) -> Result<usize, (usize, u32)> {
        let node = rank.wrapping_sub(self.first) as usize;
        if node < self.routers.len() {
            Ok(node)
        } else {
            Err(((rank / self.each) as usize, rank % self.each))
        }
    }

    /// Returns the chunks that the links have sent, by node and direction.
    pub fn sent(&self) -> impl Iterator<Item = [u32; 6]> {
        let of_node = |wires: &[WireState; 6]| wires.map(|wire| wire.sent);
        self.wires.iter().map(of_node)
    }

    /// Resets the counts of sent chunks.
    pub fn clear_sent(&mut self) {
        let wires = self.wires.iter_mut().flatten();
        wires.for_each(|wire| wire.sent = 0);
    }

    /// Injects the created packets of `node` while the router has free space.
    fn inject(&mut self, node: usize) {
        while self.births[node] <= self.now
            && let Some(birth) = self.sources[node].next
        {
            let (rank, serial) = (self.rank(node), self.sources[node].serial);
            let len = birth.chunks as usize * 32 - HEADER_BYTES;
            let len = len.min(birth.fifo.body_bytes());
            let result = self.routers[node].inject_with(birth.fifo, birth.dest, len, self.config.routing, |body| {
                let words = [rank, birth.at as u32, serial];
                for (bytes, word) in body.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&word.to_le_bytes());
                }
            });
            match result {
                Ok(()) => {
                    let to = self.config.shape.rank(birth.dest).unwrap_or_default();
                    self.balance = self.balance.wrapping_add(hash(rank, to, serial));
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

    /// Receives the packets in the reception FIFOs of `node`.
    fn collect(&mut self, node: usize) -> Result<(), SimError> {
        if !self.routers[node].has_received() {
            return Ok(());
        }
        Fifo::ALL.into_iter().try_for_each(|fifo| self.collect_from(node, fifo))
    }

    fn collect_from(&mut self, node: usize, fifo: Fifo) -> Result<(), SimError> {
        let rank = self.rank(node);
        while let Some(body) = self.routers[node].head(fifo) {
            let word = |i: usize| u32::from_le_bytes([body[i], body[i + 1], body[i + 2], body[i + 3]]);
            let chunks = self.routers[node].head_chunks(fifo) as u64;
            let wrong = SimError::Wrong {
                node: self.routers[node].coord(),
            };
            let nodes = self.config.shape.nodes();
            if body.len() < BODY || word(0) >= nodes {
                return Err(wrong);
            }
            let (source, birth, serial) = (word(0), word(4), word(8));
            if !self.order.is_empty() {
                let pair = node * nodes as usize + source as usize;
                let next = &mut self.order[pair][fifo as usize];
                if serial < *next {
                    return Err(wrong);
                }
                *next = serial + 1;
            }
            self.balance = self.balance.wrapping_sub(hash(source, rank, serial));
            self.totals.delivered += 1;
            self.totals.delivered_chunks += chunks;
            self.on_the_way -= 1;
            // The last chunk arrives chunks - 1 ticks after the head.
            let arrived = self.now as u32 as u64 + chunks - 1;
            self.latencies.add(arrived.saturating_sub(birth as u64));
            self.routers[node].pop(fifo);
        }
        Ok(())
    }

    /// Sends the tokens that `node` released to its neighbours, `after` ticks from now; `all` includes the initial
    /// tokens.
    fn return_tokens(&mut self, node: usize, after: u64, all: bool) {
        let released = if all {
            self.routers[node].links()
        } else {
            DirectionSet::from_bits(self.routers[node].take_released())
        };
        for d in released.iter() {
            let granted = self.routers[node].emit_grants(d);
            let there = self.wires[node][d as usize].there;
            if there == NONE {
                continue;
            }
            let (tick, side) = (self.now + after, d.opposite() as u8);
            let grant = |node| LinkGrant { node, side, granted };
            match self.place(there) {
                Ok(node) => self.due(tick, node).grants.push(grant(node as u32)),
                Err((part, node)) => self.out[part].grants.push((tick, grant(node))),
            }
        }
    }

    /// Sends all initial tokens to the neighbours, before the first tick.
    pub fn grant_all(&mut self) {
        (0..self.routers.len()).for_each(|node| self.return_tokens(node, 1, true));
    }

    /// Receives the initial tokens from all parts.
    pub fn take_first_grants(&mut self) {
        for block in 0..self.dirty.len() {
            for grant in core::mem::take(&mut self.due(1, block * BLOCK).grants) {
                self.take_grant(&grant);
            }
        }
    }

    fn take_grant(&mut self, grant: &LinkGrant) {
        let side = Direction::ALL[grant.side as usize];
        self.routers[grant.node as usize].take_grants(side, grant.granted);
    }

    /// Receives the events that another part's last tick created for nodes of this one.
    pub fn take_mail(&mut self, mail: &mut PartitionMail) {
        for arrival in mail.arrivals.drain(..) {
            let node = arrival.node as usize;
            self.due(self.now + 1, node).arrivals.push(arrival);
        }
        for (tick, grant) in mail.grants.drain(..) {
            self.due(tick, grant.node as usize).grants.push(grant);
        }
    }

    /// Simulates one tick. Fails with [`SimError::Wrong`].
    pub fn tick(&mut self) -> Result<(), SimError> {
        self.now += 1;
        self.totals.ticks += 1;
        while let Some(&Reverse((tick, node))) = self.later.peek()
            && tick <= self.now
        {
            self.later.pop();
            self.touch(node as usize);
        }
        let index = self.now as usize % WHEEL;
        let mut slot = core::mem::take(&mut self.wheel[index]);
        let mut blocks = slot.iter_mut().enumerate();
        let done = blocks.try_for_each(|(block, due)| self.run_block(block, due));
        self.wheel[index] = slot;
        done
    }

    /// Processes each node of a block that has events, once.
    fn run_block(&mut self, block: usize, due: &mut TickEvents) -> Result<(), SimError> {
        let dirty = self.wake(block, due);
        if self.routers.len() > CACHED {
            self.read_ahead(block, dirty, due);
        }
        for grant in due.grants.drain(..) {
            self.take_grant(&grant);
        }
        for arrival in due.arrivals.drain(..) {
            self.arrive(&arrival)?;
        }
        ones(dirty).try_for_each(|bit| self.run_node(block * BLOCK + bit))
    }

    /// Returns the nodes of a block that have events, and marks their idle links.
    fn wake(&mut self, block: usize, due: &mut TickEvents) -> u64 {
        // Nodes marked from now on are processed in the next tick.
        let mut dirty = core::mem::take(&mut self.dirty[block]);
        for (node, d) in due.idle.drain(..) {
            self.idle[node as usize] |= 1 << d;
            dirty |= 1 << (node as usize % BLOCK);
        }
        let arrivals = due.arrivals.iter().map(|arrival| arrival.node);
        let grants = due.grants.iter().map(|grant| grant.node);
        let nodes = due.births.drain(..).chain(grants).chain(arrivals);
        nodes.fold(dirty, |set, node| set | 1 << (node as usize % BLOCK))
    }

    /// Prefetches the state of the `dirty` nodes.
    fn read_ahead(&self, block: usize, dirty: u64, due: &TickEvents) {
        let mut sum = 0;
        let routers = || ones(dirty).map(|bit| block * BLOCK + bit);
        for node in routers() {
            sum += self.routers[node].ahead_of_look();
        }
        for grant in &due.grants {
            let side = Direction::ALL[grant.side as usize];
            sum += self.routers[grant.node as usize].ahead_of_grant(side);
        }
        let arrivals = || {
            due.arrivals.iter().map(|arrival| {
                let side = Direction::ALL[arrival.side as usize];
                (&self.routers[arrival.node as usize], side, channel(&arrival.head))
            })
        };
        for (router, side, vc) in arrivals() {
            sum += router.ahead_of_packet(side, vc);
        }
        for (router, side, vc) in arrivals() {
            sum += router.ahead_of_place(side, vc);
        }
        for node in routers() {
            sum += self.routers[node].ahead_of_links(self.idle[node]);
        }
        core::hint::black_box(sum);
    }

    fn arrive(&mut self, arrival: &LinkArrival) -> Result<(), SimError> {
        let node = arrival.node as usize;
        let router = &mut self.routers[node];
        let side = Direction::ALL[arrival.side as usize];
        let wrong = SimError::Wrong { node: router.coord() };
        let header = arrival.head.first_chunk().ok_or(wrong)?;
        let word = HeaderWord::read(header);
        word.check().map_err(|_| wrong)?;
        let accepted = router.accept(side, word, &arrival.head);
        let chunks = accepted.map_err(|_| wrong)?;
        self.collect(node)?;
        self.return_tokens(node, chunks as u64 + 1, false);
        Ok(())
    }

    /// Handles the injection and all idle links of one node.
    fn run_node(&mut self, node: usize) -> Result<(), SimError> {
        self.inject(node);
        let idle = DirectionSet::from_bits(self.idle[node]);
        let mut turns = self.routers[node].turns();
        while let Some(direction) = turns.next_of(idle) {
            let d = direction as usize;
            let mut head = Chunk::default();
            let Some(size) = self.routers[node].dequeue_for_link(direction, &mut head) else {
                if self.routers[node].is_holding(direction) {
                    self.touch(node);
                }
                continue;
            };
            let chunks = size as u64 / 32;
            self.totals.hops += 1;
            self.idle[node] &= !(1 << d);
            let wire = &mut self.wires[node][d];
            wire.sent += chunks as u32;
            let (there, side) = (wire.there, direction.opposite() as u8);
            let arrival = |node| LinkArrival { node, side, head };
            let next = self.now + 1;
            match self.place(there) {
                Ok(node) => self.due(next, node).arrivals.push(arrival(node as u32)),
                Err((part, node)) => self.out[part].arrivals.push(arrival(node)),
            }
            let idle = (node as u32, d as u8);
            self.due(self.now + chunks, node).idle.push(idle);
            self.collect(node)?;
            self.return_tokens(node, chunks + 1, false);
        }
        self.inject(node);
        Ok(())
    }
}
