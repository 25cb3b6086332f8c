//! Two or three devices, and a network in which nothing moves unless the script says so.

use std::collections::VecDeque;

use msg_layer::port::BODY_BYTES;
use msg_layer::{Class, Port};
use net_torus::{Coord, Shape};

use crate::device::adi::Adi;
use crate::device::config::{Config, Memory};
use crate::device::envelope::Pattern;
use crate::device::memory::region::{BLOCK_BYTES, Blocks};
use crate::device::memory::{Span, UserMemory};
use crate::device::request::Outcome;
use crate::device::request::{Mode, RequestId};
use crate::device::send::SendTo;
use crate::device::wire::{self, Fields};

/// What a script sees go by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Seen {
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
use Seen::*;

/// Where a packet goes, its class and its body.
pub(super) type Packet = (usize, Class, Vec<u8>);

#[derive(Default)]
pub(super) struct Wires {
    pub(super) shape: Option<Shape>,
    /// Packets injected and not yet moved: class, destination, body.
    pub(super) out: Vec<(Class, Coord, Vec<u8>)>,
    pub(super) normal: VecDeque<Vec<u8>>,
    pub(super) priority: VecDeque<Vec<u8>>,
    pub(super) priority_full: bool,
    /// Normal packets that may wait to be moved.
    pub(super) normal_limit: Option<usize>,
}

impl Wires {
    pub(super) fn queue(&mut self, class: Class) -> &mut VecDeque<Vec<u8>> {
        match class {
            Class::Normal => &mut self.normal,
            Class::Priority => &mut self.priority,
        }
    }
}

impl Port for Wires {
    fn can_inject(&self, class: Class) -> bool {
        match class {
            Class::Normal => self.normal_limit.is_none_or(|limit| self.out.len() < limit),
            Class::Priority => !self.priority_full,
        }
    }
    fn has_node(&self, node: Coord) -> bool {
        self.shape.is_some_and(|shape| shape.rank(node).is_some())
    }
    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        assert!(len <= BODY_BYTES && self.has_node(dest));
        if !self.can_inject(class) {
            return false;
        }
        let mut body = vec![0; len];
        fill(&mut body);
        self.out.push((class, dest, body));
        true
    }
    fn head(&self, class: Class) -> Option<&[u8]> {
        let queue = if class == Class::Normal {
            &self.normal
        } else {
            &self.priority
        };
        queue.front().map(Vec::as_slice)
    }
    fn pop(&mut self, class: Class) {
        self.queue(class).pop_front().expect("pop follows head");
    }
}

/// Model memory: a buffer per key, and so many blocks to lend.
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
    fn lend(&mut self, count: u32) -> Option<Blocks> {
        self.1 = self.1.checked_sub(count)?;
        let blocks = crate::boxed([0; BLOCK_BYTES], count as usize)?;
        let map = crate::boxed(0, Blocks::map_words(count as usize))?;
        Some(Blocks::new(blocks, map))
    }
    fn take_back(&mut self, loan: Blocks) {
        self.1 += loan.len() as u32;
    }
}

pub(super) struct Rig {
    pub(super) adis: Vec<Adi>,
    pub(super) wires: Vec<Wires>,
    pub(super) buffers: Buffers,
}

pub(super) fn pattern(tag: i32) -> Pattern {
    Pattern {
        source: Some(0),
        tag: Some(tag),
        context: 0,
    }
}

impl Rig {
    /// `nodes` devices; the last has `blocks` blocks of MPI memory, the others plenty.
    pub(super) fn new(nodes: u16, blocks: usize) -> Rig {
        let shape = Shape::new([nodes, 1, 1], [true; 3]).unwrap();
        let adi = |rank| {
            let bytes = if rank + 1 == u32::from(nodes) {
                blocks * BLOCK_BYTES
            } else {
                1 << 16
            };
            let memory = Memory::allocate(bytes, nodes.into()).unwrap();
            let config = Config {
                shape,
                rank,
                request_slots: 1 << 12,
            };
            let mut adi = Adi::new(config, memory).unwrap();
            adi.set_eager_limit(0);
            adi
        };
        let wires = || Wires {
            shape: Some(shape),
            ..Wires::default()
        };
        Rig {
            adis: (0..nodes.into()).map(adi).collect(),
            wires: (0..nodes).map(|_| wires()).collect(),
            buffers: Buffers::default(),
        }
    }

    /// As [`Rig::new`], and messages up to `limit` bytes are sent eagerly.
    pub(super) fn eager(nodes: u16, blocks: usize, limit: usize) -> Rig {
        let mut rig = Rig::new(nodes, blocks);
        for adi in &mut rig.adis {
            adi.set_eager_limit(limit);
        }
        rig
    }

    pub(super) fn span(&mut self, bytes: Vec<u8>) -> Span {
        self.buffers.0.push(bytes);
        Span::model(
            self.buffers.0.len() - 1,
            self.buffers.0.last().unwrap().len(),
        )
    }

    /// Node `from` sends `len` bytes, each the tag, to the last node, and steps.
    pub(super) fn send(&mut self, from: usize, tag: i32, len: usize, mode: Mode) -> RequestId {
        let span = self.span(vec![tag as u8; len]);
        let dest = self.adis.len() as u32 - 1;
        let id = self.adis[from]
            .isend(
                SendTo {
                    dest,
                    tag,
                    context: 0,
                    mode,
                },
                span,
            )
            .unwrap();
        self.step(from);
        id
    }

    /// The last node posts a receive for `len` bytes and steps; the request and its buffer's key.
    pub(super) fn post(&mut self, pattern: Pattern, len: usize) -> (RequestId, usize) {
        let span = self.span(vec![0; len]);
        let last = self.adis.len() - 1;
        let id = self.adis[last]
            .irecv(&mut self.buffers, pattern, span)
            .unwrap();
        self.step(last);
        (id, span.address())
    }

    pub(super) fn step(&mut self, node: usize) {
        while self.adis[node].progress(&mut self.wires[node], &mut self.buffers) {}
    }

    /// Takes every packet that `from` has injected: where it goes, and what they were.
    pub(super) fn injected(&mut self, from: usize) -> (Vec<Packet>, Vec<Seen>) {
        let packets: Vec<_> = self.wires[from].out.drain(..).collect();
        let seen = packets
            .iter()
            .map(|(class, _, body)| look(*class, body))
            .collect();
        let shape = self.adis[from].shape;
        let packets = packets
            .into_iter()
            .map(|(class, dest, body)| (shape.rank(dest).unwrap() as usize, class, body));
        (packets.collect(), seen)
    }

    /// Moves every packet that `from` has injected to its destination, lets the destination step, and
    /// says what they were.
    pub(super) fn moved(&mut self, from: usize) -> Vec<Seen> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].queue(class).push_back(body);
            self.step(dest);
        }
        seen
    }

    /// As [`Rig::moved`], but what goes to `except` stays under way.
    pub(super) fn moved_except(&mut self, from: usize, except: usize) {
        let (packets, _) = self.injected(from);
        let shape = self.adis[from].shape;
        for (dest, class, body) in packets {
            if dest == except {
                let dest = shape.coord(dest as u32).unwrap();
                self.wires[from].out.push((class, dest, body));
                continue;
            }
            self.wires[dest].queue(class).push_back(body);
            self.step(dest);
        }
    }

    /// As [`Rig::moved`], but all have come before the destinations look.
    pub(super) fn moved_together(&mut self, from: usize) -> Vec<Seen> {
        let (packets, seen) = self.injected(from);
        for (dest, class, body) in packets {
            self.wires[dest].queue(class).push_back(body);
        }
        for node in 0..self.adis.len() {
            self.step(node);
        }
        seen
    }

    /// Moves everything until nothing moves.
    pub(super) fn settle(&mut self) {
        while self.wires.iter().any(|wires| !wires.out.is_empty()) {
            for node in 0..self.adis.len() {
                self.moved(node);
            }
        }
    }

    pub(super) fn outcome(&mut self, node: usize, id: RequestId) -> Option<Outcome> {
        self.adis[node].test(id)
    }

    pub(super) fn assert_clean(&self) {
        for adi in &self.adis {
            assert!(adi.is_quiet());
            assert_eq!(
                (
                    adi.region.used_bytes(),
                    adi.requests.live(),
                    adi.region.records()
                ),
                (0, 0, 0)
            );
            assert_eq!(adi.stats.layer.malformed, 0);
        }
    }
}

pub(super) fn look(class: Class, body: &[u8]) -> Seen {
    let (header, bytes) = msg_layer::header::Header::parse(body).unwrap();
    match (class, header.handler) {
        (Class::Normal, wire::RTS) => {
            let merged = match header.argument {
                0 => 0,
                _ => wire::MERGED_BYTES,
            };
            let (rts, _) = wire::Rts::parse(&bytes[..bytes.len() - merged]).unwrap();
            Rts {
                tag: rts.tag,
                age: rts.age,
            }
        }
        (Class::Normal, wire::DONE) => Done,
        (Class::Normal, wire::CANCEL) => Cancel,
        (Class::Priority, wire::CANCELLED) => Cancelled,
        (Class::Normal, wire::DATA) => Data {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (Class::Normal, wire::EAGER) => Eager {
            offset: header.place.unwrap().offset,
            len: bytes.len(),
        },
        (Class::Priority, wire::CTS) => Cts {
            complete: Fields::parse(bytes).unwrap().complete,
        },
        (Class::Priority, wire::NCTSD) => Nctsd,
        (Class::Priority, wire::NCTS) => Ncts,
        (Class::Priority, wire::RESTART) => Restart {
            age: wire::Restart::parse(bytes).unwrap().age,
        },
        other => panic!("{other:?}"),
    }
}
