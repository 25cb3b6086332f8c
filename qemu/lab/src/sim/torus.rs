//! Alternative network of a simulated job: real routers over bad links.
#![forbid(unsafe_code)]

use midplane_cluster::hands::Hands;
use midplane_cluster::random::Random;
use midplane_device::Adi;
use msg_layer::fake::StrictPort;
use net_torus::reliable::{self, Reliable};
use net_torus::sim::{Faults, Faulty, SimLink, wire_torus};
use net_torus::{Chunk, Router, Shape, Sizes, Torus};

use super::memory::Buffers;
use super::net::Carrier;

/// Times of the reliable links, in the machine's nanoseconds. The retries are so many that a link with a loss of one
/// frame in a hundred never fails.
const RELIABLE: reliable::Retry = reliable::Retry {
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

/// Memory of a [`Routers`].
pub struct RouterMemory {
    sizes: Sizes,
    chunks: Vec<Chunk>,
    windows: Vec<u8>,
}

impl RouterMemory {
    /// Allocates the memory for `nodes` nodes with these buffers.
    pub fn new(nodes: usize, sizes: Sizes) -> RouterMemory {
        RouterMemory {
            sizes,
            chunks: vec![[0; 32]; nodes * sizes.chunks()],
            windows: vec![0; nodes * LINKS * WINDOW_BYTES],
        }
    }
}

type BadLink<'m> = Reliable<'m, Faulty<SimLink>>;

/// Nodes with routers, and links that lose, corrupt, duplicate, reorder, truncate and delay one frame in a hundred
/// each.
pub struct Routers<'m> {
    nodes: Vec<Torus<'m, BadLink<'m>>>,
    now: u64,
}

impl<'m> Routers<'m> {
    /// Creates a machine in `memory`, whose faults are drawn from `seed`.
    pub fn new(shape: Shape, memory: &'m mut RouterMemory, seed: u64) -> Routers<'m> {
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
                    let bad = Faulty::new(link?, Faults::PERCENT, serial);
                    let window = windows.next().expect("a window for each link");
                    Some(Reliable::new(bad, RELIABLE, window).expect("room for a few frames"))
                });
                Torus::new(router, links).expect("links as the machine is wired")
            })
            .collect();
        Routers { nodes, now: 0 }
    }

    fn step(&mut self, node: usize) -> bool {
        self.now += STEP_NS;
        self.nodes[node].step(self.now)
    }
}

impl Carrier for Routers<'_> {
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

    fn poll(
        &mut self,
        node: usize,
        take: usize,
        inject: usize,
        adi: &mut Adi,
        memory: &mut Buffers,
    ) -> bool {
        let hands = Hands {
            router: self.nodes[node].router_mut(),
            take,
            inject,
            packets: 0,
        };
        adi.progress(&mut StrictPort::new(hands), memory)
    }
}
