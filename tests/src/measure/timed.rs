//! A whole machine in virtual time: real devices and real routers, over links and processors that cost
//! what [`Costs`] says. What it measures is a function of its arguments alone.
//!
//! # The cost model
//! * A link carries one packet at a time, `link_ns_per_byte` for each of its bytes (with the frame's 16 of
//!   header); its head is at the next router `hop_ns` after it left (virtual cut-through). Routers forward
//!   without the processor, with Blue Gene/L's buffers and its bubble rule: back-pressure is real.
//! * A processor does one thing at a time. Each packet that it takes out of the network or puts into it
//!   costs `packet_ns`, with the copying of its bytes; each MPI call `call_ns`, and once more when a
//!   blocking call ends; each entry of a queue that is looked at `search_ns`; each byte that is copied from
//!   MPI memory to the program `copy_ns_per_byte`.
//! * The program's computing costs nothing, so all that is seen is MPI.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

use mpi_adi::envelope::{Pattern, Rank};
use mpi_adi::matching::Lists;
use mpi_adi::memory::{Span, UserMemory};
use mpi_adi::protocol::Sound;
use mpi_adi::request::{Mode, RequestId};
use mpi_adi::send::SendTo;
use mpi_adi::{Adi, Config, Memory, Stats};
use net_torus::chunk::Chunk;
use net_torus::link::Link;
use net_torus::router::Sizes;
use net_torus::wire::MIN_MTU;
use net_torus::{BODY_BYTES, Direction, Router, Shape, Torus};

use crate::sim::memory::{Buffers, is_message};
use crate::sim::torus::Hands;

/// What things cost, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// A byte on a link.
    pub link_ns_per_byte: f64,
    /// From one router to the next.
    pub hop_ns: u64,
    /// A packet taken or injected by a processor.
    pub packet_ns: u64,
    /// An MPI call begun, or a blocking one ended.
    pub call_ns: u64,
    /// An entry of a queue looked at.
    pub search_ns: u64,
    /// A byte copied from MPI memory to the program.
    pub copy_ns_per_byte: f64,
}

impl Costs {
    /// Blue Gene/L: links of 175 MB/s, 100 ns a hop, and software costs which add up to its half round trip
    /// of 3.3 us for a message without bytes to a neighbour (two calls and two packets; the processor
    /// copies 1.4 GB/s and follows a link of a list in 40 ns, a miss of its first cache).
    pub const BLUE_GENE: Costs = Costs {
        link_ns_per_byte: 1e3 / 175.0,
        hop_ns: 100,
        packet_ns: 800,
        call_ns: 700,
        search_ns: 40,
        copy_ns_per_byte: 0.7,
    };
}

/// The nodes to look at, and when.
type Wakes = Rc<RefCell<Vec<(u64, usize)>>>;

#[derive(Default)]
struct Wire {
    frames: VecDeque<(u64, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    busy_until: u64,
}

/// One end of a link that takes time.
struct TimedLink {
    incoming: Rc<RefCell<Wire>>,
    outgoing: Rc<RefCell<Wire>>,
    from: usize,
    to: usize,
    costs: Costs,
    now: u64,
    wakes: Wakes,
}

impl Link for TimedLink {
    fn mtu(&self) -> usize {
        MIN_MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let frame = {
            let mut wire = self.incoming.borrow_mut();
            match wire.frames.front() {
                Some(&(arrival, _)) if arrival <= self.now => wire.frames.pop_front(),
                _ => None,
            }
        };
        let Some((_, frame)) = frame else {
            return false;
        };
        f(&frame);
        self.incoming.borrow_mut().spare.push(frame);
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let mut wire = self.outgoing.borrow_mut();
        if wire.busy_until > self.now {
            return false;
        }
        let mut frame = wire.spare.pop().unwrap_or_default();
        frame.resize(MIN_MTU, 0);
        let len = f(&mut frame);
        frame.truncate(len);
        if len == 0 {
            wire.spare.push(frame);
            return false;
        }
        let takes = (len as f64 * self.costs.link_ns_per_byte) as u64;
        wire.busy_until = self.now + takes.max(1);
        let arrival = self.now + self.costs.hop_ns;
        wire.frames.push_back((arrival, frame));
        let mut wakes = self.wakes.borrow_mut();
        wakes.push((arrival, self.to));
        wakes.push((wire.busy_until, self.from));
        true
    }

    fn poll(&mut self, now_ns: u64) {
        self.now = now_ns;
    }
}

/// The program's memory; counts what is copied out of MPI memory, which comes in more than a packet's
/// bytes at once.
struct Counted {
    buffers: Buffers,
    copied: u64,
}

impl UserMemory for Counted {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        self.buffers.read(span, offset, out);
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        if bytes.len() > BODY_BYTES {
            self.copied += bytes.len() as u64;
        }
        self.buffers.write(span, offset, bytes);
    }
}

/// The killer benchmark (paper 004, section 5.1): every rank but 0 sends messages of tags 1 to N by
/// MPI_Isend, then waits for all; rank 0 receives them one by one, by source, in the reverse order of
/// their tags.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Killer {
    /// The machine, a torus.
    pub extents: [u16; 3],
    /// Messages of each sender.
    pub messages: u32,
    /// Bytes of each message.
    pub bytes: usize,
    /// Bytes of MPI memory of each node.
    pub mpi_memory: usize,
    /// What things cost.
    pub costs: Costs,
}

/// What a run took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Measured {
    /// Until rank 0 had everything, in nanoseconds of virtual time.
    pub ns: u64,
    /// Part of that time in which rank 0's processor was busy.
    pub busy: f64,
    /// Packets that rank 0's processor took and injected.
    pub packets: u64,
    /// RTS that arrived at rank 0.
    pub rts: u64,
    /// NCTS that rank 0 sent.
    pub ncts: u64,
    /// restart that rank 0 sent.
    pub restarts: u64,
    /// The most bytes of MPI memory that rank 0 used.
    pub peak_bytes: usize,
}

/// Why a run did not end well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimedError {
    /// The extents are not a machine.
    Shape,
    /// Nothing moves and rank 0 waits.
    Stuck {
        /// Messages received by then.
        received: u32,
    },
    /// Rank 0 got bytes that were not sent to it so.
    Wrong {
        /// From whom.
        source: u32,
        /// Of which tag.
        tag: i32,
    },
}

impl std::fmt::Display for TimedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TimedError::Shape => f.write_str("the extents are not those of a machine"),
            TimedError::Stuck { received } => {
                write!(f, "nothing moves any more after {received} messages")
            }
            TimedError::Wrong { source, tag } => {
                write!(f, "wrong bytes from rank {source} with tag {tag}")
            }
        }
    }
}

impl std::error::Error for TimedError {}

struct Node<'m> {
    /// With the matching of the paper's device: what it searches is part of the time.
    adi: Adi<Sound, Lists>,
    torus: Torus<'m, TimedLink>,
    memory: Counted,
    busy_until: u64,
    busy_ns: u64,
    packets: u64,
    /// Messages begun: sent, or received.
    begun: u32,
    waiting: Option<(RequestId, Span)>,
    /// When it was last looked at.
    looked: Option<u64>,
}

impl Node<'_> {
    fn searched(&self) -> u64 {
        self.adi.searched()
    }
}

/// Packets that the processor injects in one go at most: an answer and something of its own.
const INJECT: usize = 2;

impl Killer {
    fn number(&self, source: u32, tag: i32) -> u32 {
        (source - 1) * self.messages + (tag as u32 - 1)
    }

    /// Runs it.
    pub fn run(&self) -> Result<Measured, TimedError> {
        let shape = Shape::new(self.extents, [true; 3]).ok_or(TimedError::Shape)?;
        let nodes = shape.nodes() as usize;
        let sizes = Sizes::BLUE_GENE;
        let mut chunks: Vec<Chunk> = vec![[0; 32]; sizes.chunks() * nodes];
        let wakes: Wakes = Rc::default();
        let mut machine = self.build(shape, sizes, &mut chunks, &wakes);
        let mut queue: BinaryHeap<Reverse<(u64, usize)>> =
            (0..nodes).map(|node| Reverse((0, node))).collect();
        let receives = (nodes as u32 - 1) * self.messages;
        let mut received = 0;
        while let Some(Reverse((now, at))) = queue.pop() {
            if machine[at].looked == Some(now) {
                continue;
            }
            machine[at].looked = Some(now);
            let again = self.look(&mut machine[at], now, at, &mut received)?;
            let node = &machine[0];
            if at == 0 && received == receives && now >= node.busy_until {
                return Ok(measured(node, now));
            }
            queue.extend(again.map(|time| Reverse((time, at))));
            queue.extend(wakes.borrow_mut().drain(..).map(Reverse));
        }
        Err(TimedError::Stuck { received })
    }

    fn build<'m>(
        &self,
        shape: Shape,
        sizes: Sizes,
        chunks: &'m mut [Chunk],
        wakes: &Wakes,
    ) -> Vec<Node<'m>> {
        let nodes = shape.nodes() as usize;
        let wires: Vec<[Rc<RefCell<Wire>>; 6]> = (0..nodes).map(|_| Default::default()).collect();
        chunks
            .chunks_exact_mut(sizes.chunks())
            .zip(0..)
            .map(|(chunks, rank): (_, u32)| {
                let here = shape.coord(rank).expect("a rank of the machine");
                let router =
                    Router::new(shape, here, sizes, chunks).expect("Blue Gene/L's buffers");
                let links = Direction::ALL.map(|d| {
                    let there = shape.neighbour(here, d)?;
                    let there = shape.rank(there)? as usize;
                    Some(TimedLink {
                        incoming: wires[there][d.opposite() as usize].clone(),
                        outgoing: wires[rank as usize][d as usize].clone(),
                        from: rank as usize,
                        to: there,
                        costs: self.costs,
                        now: 0,
                        wakes: wakes.clone(),
                    })
                });
                let config = Config {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: usize::MAX,
                };
                // Nobody else receives anything.
                let mpi_memory = if rank == 0 { self.mpi_memory } else { 0 };
                let memory = Memory::with_engine(mpi_memory, nodes).expect("the host's memory");
                Node {
                    adi: Adi::with_rules(config, memory, Sound).expect("a rank of the machine"),
                    torus: Torus::new(router, links).expect("links as the machine is wired"),
                    memory: Counted {
                        buffers: Buffers::default(),
                        copied: 0,
                    },
                    busy_until: 0,
                    busy_ns: 0,
                    packets: 0,
                    begun: 0,
                    waiting: None,
                    looked: None,
                }
            })
            .collect()
    }

    /// Lets `node` do what it can at `now`; when it is to be looked at again, if it knows by itself.
    fn look(
        &self,
        node: &mut Node<'_>,
        now: u64,
        rank: usize,
        received: &mut u32,
    ) -> Result<Option<u64>, TimedError> {
        node.torus.step(now);
        if now < node.busy_until {
            return Ok(Some(node.busy_until));
        }
        let before = (node.searched(), node.memory.copied);
        let mut ns = self.compute(node, rank, received)?;
        ns += ((node.memory.copied - before.1) as f64 * self.costs.copy_ns_per_byte) as u64;
        if ns == 0 {
            let mut hands = Hands {
                router: node.torus.router_mut(),
                take: 1,
                inject: INJECT,
                packets: 0,
            };
            let moved = node.adi.progress(&mut hands, &mut node.memory);
            let packets = hands.packets;
            node.packets += packets;
            ns = packets * self.costs.packet_ns + u64::from(moved && packets == 0);
        }
        ns += (node.searched() - before.0) * self.costs.search_ns;
        node.torus.step(now);
        if ns == 0 {
            return Ok(None);
        }
        node.busy_until = now + ns;
        node.busy_ns += ns;
        Ok(Some(node.busy_until))
    }

    /// The program's next step, if it can make one: what it takes.
    fn compute(
        &self,
        node: &mut Node<'_>,
        rank: usize,
        received: &mut u32,
    ) -> Result<u64, TimedError> {
        if rank > 0 {
            if node.begun == self.messages {
                return Ok(0);
            }
            node.begun += 1;
            let tag = node.begun as i32;
            let number = self.number(rank as u32, tag);
            let span = node.memory.buffers.send(number, self.bytes);
            let to = SendTo {
                dest: Rank::new(0),
                tag,
                context: 0,
                mode: Mode::Standard,
            };
            node.adi
                .isend(&mut node.memory, to, span)
                .expect("the host's memory");
            return Ok(self.costs.call_ns);
        }
        let senders = node.adi.size() - 1;
        let place = |begun: u32| {
            let tag = (self.messages - begun / senders) as i32;
            (begun % senders + 1, tag)
        };
        if let Some((id, span)) = node.waiting {
            if node.adi.test(id).is_none() {
                return Ok(0);
            }
            node.waiting = None;
            *received += 1;
            let (source, tag) = place(node.begun - 1);
            let bytes = node.memory.buffers.give_back(span);
            if bytes.len() != self.bytes || !is_message(self.number(source, tag), &bytes) {
                return Err(TimedError::Wrong { source, tag });
            }
            return Ok(self.costs.call_ns);
        }
        if node.begun == senders * self.messages {
            return Ok(0);
        }
        let (source, tag) = place(node.begun);
        node.begun += 1;
        let pattern = Pattern::new(Some(Rank::new(source)), Some(tag), 0);
        let span = node.memory.buffers.receive(self.bytes);
        let id = node
            .adi
            .irecv(&mut node.memory, pattern, span)
            .expect("the host's memory");
        node.waiting = Some((id, span));
        Ok(self.costs.call_ns)
    }
}

fn measured(node: &Node<'_>, ns: u64) -> Measured {
    let stats: &Stats = node.adi.stats();
    Measured {
        ns,
        busy: node.busy_ns as f64 / ns.max(1) as f64,
        packets: node.packets,
        rts: stats.rts_received,
        ncts: stats.ncts_sent,
        restarts: stats.restarts_sent,
        peak_bytes: node.adi.region().peak_bytes(),
    }
}
