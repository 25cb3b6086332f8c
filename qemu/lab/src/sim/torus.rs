//! Alternative network of a simulated job: real routers over bad links.
#![forbid(unsafe_code)]

use midplane_cluster::random::Random;
use midplane_cluster::step_port::StepPort;
use midplane_device::Adi;
use msg_layer::fake::StrictPort;
use net_torus::reliable::{self, ReliableLink};
use net_torus::sim::{FaultRates, FaultyLink, SimLink, wire_torus};
use net_torus::{BufferSizes, Chunk, Router, Shape, Torus};

use super::memory::NodeBuffers;
use super::net::JobNetwork;

/// Times of the reliable links, in the machine's nanoseconds. The retries are so many that a link with a loss of one
/// frame in a hundred never fails.
const RELIABLE: reliable::RetryConfig = reliable::RetryConfig {
    timeout_ns: 100_000,
    retries: 1000,
};
/// Unacknowledged frames that a reliable link stores.
const WINDOW: usize = 4;
/// Maximum frame size of a link in memory, in bytes.
const FRAME_BYTES: usize = 1514;
const WINDOW_BYTES: usize = WINDOW * FRAME_BYTES;
const LINKS: usize = 6;
const STEP_NS: u64 = 1000;

/// Memory of a [`RouterNetwork`].
pub struct RouterMemory {
    sizes: BufferSizes,
    chunks: Vec<Chunk>,
    windows: Vec<u8>,
}

impl RouterMemory {
    /// Allocates the memory for `nodes` nodes with these buffers.
    pub fn new(nodes: usize, sizes: BufferSizes) -> RouterMemory {
        RouterMemory {
            sizes,
            chunks: vec![[0; 32]; nodes * sizes.chunks()],
            windows: vec![0; nodes * LINKS * WINDOW_BYTES],
        }
    }
}

type BadLink<'m> = ReliableLink<'m, FaultyLink<SimLink>>;

/// Nodes with routers, and links that lose, corrupt, duplicate, reorder, truncate and delay one frame in a hundred
/// each.
pub struct RouterNetwork<'m> {
    nodes: Vec<Torus<'m, BadLink<'m>>>,
    now: u64,
}

impl<'m> RouterNetwork<'m> {
    /// Creates a machine in `memory`, whose faults are drawn from `seed`.
    pub fn new(shape: Shape, memory: &'m mut RouterMemory, seed: u64) -> RouterNetwork<'m> {
        let sizes = memory.sizes;
        let mut windows = memory.windows.chunks_exact_mut(WINDOW_BYTES);
        let mut serial = seed << 8;
        let nodes = wire_torus(&shape)
            .into_iter()
            .zip(memory.chunks.chunks_exact_mut(sizes.chunks()))
            .zip(0..)
            .map(|((links, chunks), rank)| {
                let here = shape.coord(rank).expect("a rank of the machine");
                let router = Router::new(shape, here, sizes, chunks).expect("legal buffer sizes");
                let links = links.map(|link| {
                    serial += 1;
                    let bad = FaultyLink::new(link?, FaultRates::PERCENT, serial);
                    let window = windows.next().expect("a window for each link");
                    Some(ReliableLink::new(bad, RELIABLE, window).expect("room for a few frames"))
                });
                Torus::new(router, links).expect("links as the machine is wired")
            })
            .collect();
        RouterNetwork { nodes, now: 0 }
    }

    fn step(&mut self, node: usize) -> bool {
        self.now += STEP_NS;
        self.nodes[node].step(self.now)
    }
}

impl JobNetwork for RouterNetwork<'_> {
    fn deliver(&mut self, random: &mut Random, paused: u64) -> bool {
        let node = random.index(self.nodes.len());
        paused >> (node % 64) & 1 == 0 && self.step(node)
    }

    fn deliver_all(&mut self) -> bool {
        let moved = (0..self.nodes.len()).fold(false, |moved, node| self.step(node) | moved);
        // Lost frames are retransmitted after their timeout.
        let due = self.nodes.iter().filter_map(Torus::poll_at).min();
        if let (false, Some(due)) = (moved, due) {
            self.now = self.now.max(due);
        }
        moved || due.is_some()
    }

    fn poll(&mut self, node: usize, take: usize, inject: usize, adi: &mut Adi, memory: &mut NodeBuffers) -> bool {
        let hands = StepPort {
            router: self.nodes[node].router_mut(),
            take,
            inject,
            packets: 0,
        };
        adi.progress(&mut StrictPort::new(hands), memory)
    }
}
