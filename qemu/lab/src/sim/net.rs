//! The network of a simulated job: any behaviour that the transport's contract allows.

use std::collections::VecDeque;

use midplane_cluster::random::Random;
use midplane_device::Adi;
use msg_layer::fake::StrictPort;
use msg_layer::port::BODY_BYTES;
use msg_layer::{Port, TrafficClass};
use net_torus::{Coord, Shape};

use super::memory::NodeBuffers;

/// Network between the devices of a job.
pub trait JobNetwork {
    /// Moves a packet drawn by `random`, unless its channel is `paused`; returns whether something moved.
    fn deliver(&mut self, random: &mut Random, paused: u64) -> bool;

    /// Moves all packets that can be moved, and returns whether there were any.
    fn deliver_all(&mut self) -> bool;

    /// Runs one step of a node's device, which receives at most `take` packets and injects at most `inject`.
    fn poll(&mut self, node: usize, take: usize, inject: usize, adi: &mut Adi, memory: &mut NodeBuffers) -> bool;
}

/// Body of a packet.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PacketBody {
    len: u8,
    /// Contains its own offset, so it may arrive in any order.
    unordered: bool,
    body: [u8; BODY_BYTES],
}

impl PacketBody {
    fn bytes(&self) -> &[u8] {
        &self.body[..self.len as usize]
    }
}

/// Capacities of a node's FIFOs in packets, each at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoCapacity {
    /// Maximum number of packets of one class that a node has injected and that have not arrived.
    pub injection: usize,
    /// Maximum number of packets of one class that have arrived at a node and are not received yet.
    pub reception: usize,
}

/// Ordering guarantees of the transport beyond delivery, where they matter to the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderRules {
    /// Data packets of long messages stay in order, too.
    pub data: bool,
}

const CLASSES: [TrafficClass; 2] = [TrafficClass::Normal, TrafficClass::Priority];

fn index(class: TrafficClass) -> usize {
    match class {
        TrafficClass::Normal => 0,
        TrafficClass::Priority => 1,
    }
}

/// The packets between injection and reception, and those that have arrived.
#[derive(Clone, Debug)]
pub struct PacketNetwork {
    shape: Shape,
    nodes: usize,
    capacity: FifoCapacity,
    order: OrderRules,
    /// By class, source and destination.
    channels: Vec<VecDeque<PacketBody>>,
    /// Channels with a packet.
    active: Vec<usize>,
    /// By class and node.
    in_flight: [Vec<usize>; 2],
    arrived: [Vec<VecDeque<PacketBody>>; 2],
}

impl PacketNetwork {
    /// Creates an empty network.
    pub fn new(shape: Shape, capacity: FifoCapacity, order: OrderRules) -> Self {
        let nodes = shape.nodes() as usize;
        PacketNetwork {
            shape,
            nodes,
            capacity,
            order,
            channels: vec![VecDeque::new(); CLASSES.len() * nodes * nodes],
            active: Vec::new(),
            in_flight: [vec![0; nodes], vec![0; nodes]],
            arrived: [vec![VecDeque::new(); nodes], vec![VecDeque::new(); nodes]],
        }
    }

    /// Checks whether no packet is in flight or waits for reception.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.arrived.iter().flatten().all(VecDeque::is_empty)
    }

    /// Checks whether a packet waits for reception at `node`.
    pub fn has_arrived(&self, node: usize) -> bool {
        self.arrived.iter().any(|class| !class[node].is_empty())
    }

    /// Delivers one packet drawn by `random`; returns false without a packet, and without space for the one drawn.
    pub fn deliver(&mut self, random: &mut Random, paused: u64) -> bool {
        if self.active.is_empty() {
            return false;
        }
        let at = random.index(self.active.len());
        let channel = self.active[at];
        if paused >> (channel % 64) & 1 != 0 {
            return false;
        }
        let overtakes = if self.order.data {
            0
        } else {
            self.overtaking(channel, random)
        };
        self.arrive(at, overtakes)
    }

    /// Returns the index of the channel's next packet: an unordered packet may overtake others (and others it).
    fn overtaking(&self, channel: usize, random: &mut Random) -> usize {
        let queue = &self.channels[channel];
        let drawn = random.index(queue.len().min(8));
        let is_first_of_its_kind = || queue.iter().take(drawn).all(|packet| packet.unordered);
        if queue[drawn].unordered || is_first_of_its_kind() {
            drawn
        } else {
            0
        }
    }

    /// Delivers every packet that has space; returns whether there were any.
    pub fn deliver_all(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.active.len() {
            let channels = self.active.len();
            if self.arrive(at, 0) {
                moved = true;
                if self.active.len() < channels {
                    continue;
                }
            } else {
                at += 1;
            }
        }
        moved
    }

    fn arrive(&mut self, at: usize, place: usize) -> bool {
        let channel = self.active[at];
        let (class, pair) = (channel / (self.nodes * self.nodes), channel % (self.nodes * self.nodes));
        let (source, dest) = (pair / self.nodes, pair % self.nodes);
        let arrived = &mut self.arrived[class][dest];
        if arrived.len() >= self.capacity.reception {
            return false;
        }
        let queue = &mut self.channels[channel];
        let packet = queue.remove(place).expect("an active channel has a packet");
        if queue.is_empty() {
            self.active.swap_remove(at);
        }
        self.in_flight[class][source] -= 1;
        arrived.push_back(packet);
        true
    }

    /// Returns the view of `node` for one step that receives at most `take` packets and injects at most `inject`.
    pub fn face(&mut self, node: usize, take: usize, inject: usize) -> NodePort<'_> {
        NodePort {
            net: self,
            node,
            take,
            inject,
        }
    }
}

impl JobNetwork for PacketNetwork {
    fn deliver(&mut self, random: &mut Random, paused: u64) -> bool {
        PacketNetwork::deliver(self, random, paused)
    }

    fn deliver_all(&mut self) -> bool {
        PacketNetwork::deliver_all(self)
    }

    fn poll(&mut self, node: usize, take: usize, inject: usize, adi: &mut Adi, memory: &mut NodeBuffers) -> bool {
        adi.progress(&mut StrictPort::new(self.face(node, take, inject)), memory)
    }
}

/// The network as seen by one node during one step.
#[derive(Debug)]
pub struct NodePort<'a> {
    net: &'a mut PacketNetwork,
    node: usize,
    take: usize,
    inject: usize,
}

impl Port for NodePort<'_> {
    fn can_inject(&self, class: TrafficClass) -> bool {
        self.inject > 0 && self.net.in_flight[index(class)][self.node] < self.net.capacity.injection
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.net.shape.rank(node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.put(class, dest, len, false, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.put(TrafficClass::Normal, dest, len, true, fill)
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        let arrived = &self.net.arrived[index(class)][self.node];
        arrived.front().filter(|_| self.take > 0).map(PacketBody::bytes)
    }

    fn pop(&mut self, class: TrafficClass) {
        self.take -= 1;
        self.net.arrived[index(class)][self.node]
            .pop_front()
            .expect("the packet that head showed");
    }
}

impl NodePort<'_> {
    fn put(
        &mut self,
        class: TrafficClass,
        dest: Coord,
        len: usize,
        unordered: bool,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        if !self.can_inject(class) {
            return false;
        }
        let dest = self.net.shape.rank(dest).expect("a packet to a node of the machine") as usize;
        let mut packet = PacketBody {
            len: u8::try_from(len).expect("a packet's length"),
            unordered,
            body: [0; BODY_BYTES],
        };
        fill(&mut packet.body[..len]);
        let nodes = self.net.nodes;
        let channel = (index(class) * nodes + self.node) * nodes + dest;
        if self.net.channels[channel].is_empty() {
            self.net.active.push(channel);
        }
        self.net.channels[channel].push_back(packet);
        self.net.in_flight[index(class)][self.node] += 1;
        self.inject -= 1;
        true
    }
}
