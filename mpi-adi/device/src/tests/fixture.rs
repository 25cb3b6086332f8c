//! Test fixture: two or three devices, and a network in which nothing moves without the script.

use msg_layer::TrafficClass;
use msg_layer::fake::{FakePort, FakeSent, FifoSpace};
use msg_layer::header::{Header, LONG_BYTES};
use net_torus::Shape;

use crate::adi::Adi;
use crate::config::{DeviceConfig, DeviceMemory};
use crate::envelope::{MatchPattern, Rank};
use crate::matching::EngineKind;
use crate::memory::region::{BLOCK_BYTES, BlockArray};
use crate::memory::{Span, UserMemory};
use crate::request::RequestOutcome;
use crate::request::{RequestId, SendMode};
use crate::send::SendTo;
use crate::wire::{self, ReplyFields, RestartRequest, Rts};

/// A packet as observed by a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SeenPacket {
    Rts { tag: i32, age: u8 },
    Done,
    Cancel,
    Cancelled,
    Data { offset: u32, len: usize },
    Eager { offset: u32, len: usize },
    Cts { complete: bool },
    Nctsd,
    Ncts,
    Restart { age: u8 },
}
use SeenPacket::*;

/// Returns offset and length of each packet of a long message of `len` bytes.
pub(super) fn pieces(len: usize) -> impl Iterator<Item = (u32, usize)> {
    let starts = (0..len).step_by(LONG_BYTES);
    starts.map(move |at| (at as u32, LONG_BYTES.min(len - at)))
}

/// Returns the data packets of a requested message of `len` bytes.
pub(super) fn data(len: usize) -> Vec<SeenPacket> {
    let data = |(offset, len)| Data { offset, len };
    pieces(len).map(data).collect()
}

/// A packet's destination, class and body.
pub(super) type Packet = (usize, TrafficClass, Vec<u8>);

/// Model memory: a buffer per key, and a number of blocks for loans.
#[derive(Default)]
pub(super) struct Buffers(pub(super) Vec<Vec<u8>>, pub(super) u32);

impl UserMemory for Buffers {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        out.copy_from_slice(&self.0[span.address()][offset..offset + out.len()]);
    }
    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        self.0[span.address()][offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    fn spare_blocks(&self) -> u32 {
        self.1
    }
    fn lend(&mut self, count: u32) -> Option<BlockArray> {
        self.1 = self.1.checked_sub(count)?;
        let blocks = crate::try_boxed_slice([0; BLOCK_BYTES], count as usize)?;
        let map = crate::try_boxed_slice(0, BlockArray::map_words(count as usize))?;
        Some(BlockArray::new(blocks, map))
    }
    fn return_loan(&mut self, loan: BlockArray) {
        self.1 += loan.len() as u32;
    }
}

pub(super) struct DeviceFixture {
    pub(super) adis: Vec<Adi>,
    /// Each device's view of the network.
    pub(super) wires: Vec<FakePort>,
    pub(super) buffers: Buffers,
}

pub(super) fn pattern(tag: i32) -> MatchPattern {
    MatchPattern::new(Some(Rank::new(0)), Some(tag), 0)
}

impl DeviceFixture {
    /// Creates `nodes` devices; the last has `blocks` blocks of MPI memory, the others 64 KiB.
    pub(super) fn new(nodes: u16, blocks: usize) -> DeviceFixture {
        DeviceFixture::of(Shape::new([nodes, 1, 1], [true; 3]).unwrap(), blocks)
    }

    /// Creates the devices on a machine of this shape.
    pub(super) fn of(shape: Shape, blocks: usize) -> DeviceFixture {
        DeviceFixture::with_engine(&EngineKind::STANDARD, shape, blocks)
    }

    /// Creates the devices with this matching engine.
    pub(super) fn with_engine(kind: &EngineKind, shape: Shape, blocks: usize) -> DeviceFixture {
        let nodes = shape.nodes();
        let adi = |rank| {
            let bytes = if rank + 1 == nodes {
                blocks * BLOCK_BYTES
            } else {
                1 << 16
            };
            let memory = DeviceMemory::with_engine(kind, bytes, nodes as usize).unwrap();
            let memory = memory.with_values(&shape).unwrap();
            let config = DeviceConfig {
                shape,
                rank: Rank::new(rank),
                request_slots: 1 << 12,
            };
            let mut adi = Adi::new(config, memory).unwrap();
            adi.set_eager_limit(0);
            adi
        };
        let wires = |rank| FakePort::new(shape, shape.coord(rank).expect("a node"));
        DeviceFixture {
            adis: (0..nodes).map(adi).collect(),
            wires: (0..nodes).map(wires).collect(),
            buffers: Buffers::default(),
        }
    }

    /// Creates devices that send messages up to `limit` bytes eagerly.
    pub(super) fn eager(nodes: u16, blocks: usize, limit: usize) -> DeviceFixture {
        let mut rig = DeviceFixture::new(nodes, blocks);
        for adi in &mut rig.adis {
            adi.set_eager_limit(limit);
        }
        rig
    }

    /// Limits the request slots of node 0.
    pub(super) fn limit_slots(&mut self, slots: usize) {
        self.limit_sender(1 << 16, slots);
    }

    /// Limits the MPI memory of node 0 to `blocks` blocks.
    pub(super) fn limit_blocks(&mut self, blocks: usize) {
        let eager = self.adis[0].eager_limit();
        self.limit_sender(blocks * BLOCK_BYTES, 1 << 12);
        self.adis[0].set_eager_limit(eager);
    }

    fn limit_sender(&mut self, bytes: usize, slots: usize) {
        let shape = self.adis[0].identity.shape;
        let memory = DeviceMemory::allocate(bytes, shape.nodes() as usize).unwrap();
        let config = DeviceConfig {
            shape,
            rank: Rank::new(0),
            request_slots: slots,
        };
        self.adis[0] = Adi::new(config, memory).unwrap();
    }

    pub(super) fn span(&mut self, bytes: Vec<u8>) -> Span {
        self.buffers.0.push(bytes);
        Span::model(self.buffers.0.len() - 1, self.buffers.0.last().unwrap().len())
    }

    /// Sends `len` bytes, each the tag, from node `from` to the last node, and steps.
    pub(super) fn send(&mut self, from: usize, tag: i32, len: usize, mode: SendMode) -> RequestId {
        let dest = self.adis.len() as u32 - 1;
        let to = SendTo {
            dest: Rank::new(dest),
            tag,
            context: 0,
            mode,
        };
        self.send_to(from, to, len)
    }

    /// Sends to any node, and steps.
    pub(super) fn send_to(&mut self, from: usize, to: SendTo, len: usize) -> RequestId {
        let span = self.span(vec![to.tag as u8; len]);
        let id = self.adis[from].isend(&mut self.buffers, to, span).unwrap();
        self.step(from);
        id
    }

    /// Posts a receive for `len` bytes at the last node, and steps; returns the request and its buffer's key.
    pub(super) fn post(&mut self, pattern: MatchPattern, len: usize) -> (RequestId, usize) {
        self.post_at(self.adis.len() - 1, pattern, len)
    }

    /// Posts a receive at any node, and steps.
    pub(super) fn post_at(&mut self, node: usize, pattern: MatchPattern, len: usize) -> (RequestId, usize) {
        let span = self.span(vec![0; len]);
        let id = self.adis[node].irecv(&mut self.buffers, pattern, span);
        self.step(node);
        (id.unwrap(), span.address())
    }

    /// Collects receives posted at the last node in one restart until [`DeviceFixture::speak`].
    pub(super) fn silence(&mut self) {
        self.limit(self.adis.len() - 1, TrafficClass::Priority, 0);
    }

    pub(super) fn speak(&mut self) {
        self.unlimit(self.adis.len() - 1, TrafficClass::Priority);
        self.step(self.adis.len() - 1);
    }

    /// Limits the packets of `class` that node `node` can inject until they are moved.
    pub(super) fn limit(&mut self, node: usize, class: TrafficClass, packets: usize) {
        self.wires[node].set_space(class, FifoSpace::Packets(packets));
    }

    /// Removes the limit of node `node` for `class`.
    pub(super) fn unlimit(&mut self, node: usize, class: TrafficClass) {
        self.limit(node, class, usize::MAX);
    }

    pub(super) fn step(&mut self, node: usize) {
        while self.adis[node].progress(&mut self.wires[node], &mut self.buffers) {}
    }

    /// Removes the packets that `from` has injected; returns them, and their observed form.
    pub(super) fn injected(&mut self, from: usize) -> (Vec<Packet>, Vec<SeenPacket>) {
        let packets = self.wires[from].take_sent();
        let seen = packets.iter().map(look).collect();
        let shape = self.adis[from].identity.shape;
        let rank = |packet: &FakeSent| shape.rank(packet.dest).unwrap() as usize;
        let packets = packets.into_iter();
        let packets = packets.map(|packet| (rank(&packet), packet.class, packet.body));
        (packets.collect(), seen)
    }

    /// Returns the RTSs that `node` has injected and that are still to be moved.
    pub(super) fn offers(&self, node: usize) -> Vec<Rts> {
        self.wires[node].sent().iter().filter_map(offer).collect()
    }

    /// Returns the restarts that `node` has injected and that are still to be moved.
    pub(super) fn restarts(&self, node: usize) -> Vec<RestartRequest> {
        let bytes = self.answers(node, wire::RESTART);
        bytes
            .map(|bytes| RestartRequest::parse(bytes).expect("a restart"))
            .collect()
    }

    /// Returns the replies of one kind that `node` has injected and that are still to be moved.
    pub(super) fn replies(&self, node: usize, handler: u8) -> Vec<ReplyFields> {
        let bytes = self.answers(node, handler);
        bytes
            .map(|bytes| ReplyFields::parse(bytes).expect("an answer"))
            .collect()
    }

    fn answers(&self, node: usize, handler: u8) -> impl Iterator<Item = &[u8]> {
        self.wires[node].sent().iter().filter_map(move |packet| {
            let (header, bytes) = Header::parse(&packet.body).expect("a packet");
            (packet.class == TrafficClass::Priority && header.handler == handler).then_some(bytes)
        })
    }

    /// Moves every packet that `from` has injected to its destination, steps the destination, and returns their
    /// observed form.
    pub(super) fn moved(&mut self, from: usize) -> Vec<SeenPacket> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].deliver(class, &body);
            self.step(dest);
        }
        seen
    }

    /// Moves every packet that `from` has injected, except those to `except`.
    pub(super) fn moved_except(&mut self, from: usize, except: usize) {
        let shape = self.adis[from].identity.shape;
        for packet in self.wires[from].take_sent() {
            let dest = shape.rank(packet.dest).unwrap() as usize;
            if dest == except {
                self.wires[from].sent_mut().push(packet);
                continue;
            }
            self.wires[dest].deliver(packet.class, &packet.body);
            self.step(dest);
        }
    }

    /// Moves every packet that `from` has injected before any destination steps.
    pub(super) fn moved_together(&mut self, from: usize) -> Vec<SeenPacket> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].deliver(class, &body);
        }
        for node in 0..self.adis.len() {
            self.step(node);
        }
        seen
    }

    /// Moves all packets until nothing moves.
    pub(super) fn settle(&mut self) {
        while self.wires.iter().any(|wires| !wires.sent().is_empty()) {
            for node in 0..self.adis.len() {
                self.moved(node);
            }
        }
    }

    pub(super) fn outcome(&mut self, node: usize, id: RequestId) -> Option<RequestOutcome> {
        self.adis[node].test(id)
    }

    pub(super) fn assert_clean(&self) {
        for adi in &self.adis {
            assert!(adi.is_quiet());
            assert_eq!(
                (adi.region.used_bytes(), adi.requests.live(), adi.region.records()),
                (0, 0, 0)
            );
            assert_eq!(adi.stats.layer.malformed, 0);
            assert!(adi.receiver.eager.is_empty());
            assert_eq!(adi.sender.pending.reserved_entries(), 0);
        }
    }
}

/// Returns the RTS in a packet, if it is one.
fn offer(packet: &FakeSent) -> Option<Rts> {
    let (header, bytes) = Header::parse(&packet.body).expect("a packet");
    let merged = match header.argument {
        0 => 0,
        _ => wire::MERGED_BYTES,
    };
    let is_offer = (packet.class, header.handler) == (TrafficClass::Normal, wire::RTS);
    is_offer.then(|| Rts::parse(&bytes[..bytes.len() - merged]).expect("an RTS").0)
}

fn look(packet: &FakeSent) -> SeenPacket {
    let (header, bytes) = Header::parse(&packet.body).unwrap();
    if let Some(rts) = offer(packet) {
        return SeenPacket::Rts {
            tag: rts.tag,
            age: rts.age,
        };
    }
    match (packet.class, header.handler) {
        (TrafficClass::Normal, wire::DONE) => Done,
        (TrafficClass::Normal, wire::CANCEL) => Cancel,
        (TrafficClass::Priority, wire::CANCELLED) => Cancelled,
        (TrafficClass::Normal, wire::DATA) => Data {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (TrafficClass::Normal, wire::EAGER) => Eager {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (TrafficClass::Priority, wire::CTS) => Cts {
            complete: ReplyFields::parse(bytes).unwrap().is(ReplyFields::COMPLETE),
        },
        (TrafficClass::Priority, wire::NCTSD) => Nctsd,
        (TrafficClass::Priority, wire::NCTS) => Ncts,
        (TrafficClass::Priority, wire::RESTART) => SeenPacket::Restart {
            age: RestartRequest::parse(bytes).unwrap().age,
        },
        other => panic!("{other:?}"),
    }
}
