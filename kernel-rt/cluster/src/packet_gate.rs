//! Gate between a node's router and its device: it withholds the messages that the scheduler of an exploration has not
//! released.
//!
//! A network may delay any packet, so a withheld message is one that has not arrived. Messages of one source remain in
//! order. Acknowledgements, long messages' data, one-sided communication and the messages of collectives pass, unless an
//! earlier message of the same source is withheld that they must not overtake.
#![forbid(unsafe_code)]

use std::collections::VecDeque;

use midplane_device::envelope::{Envelope, Rank};
use midplane_device::wire::{CANCEL, DONE, EAGER, MERGED_BYTES, RTS, Rts};
use msg_layer::header::Header;
use msg_layer::{Port, TrafficClass};
use net_torus::{Coord, Direction, Router};

use crate::step_port::StepPort;

/// The body of a packet.
type PacketBody = Box<[u8]>;

/// A withheld message: its RTS, and the packets that must not overtake it.
struct HeldMessage {
    rts: Rts,
    packets: Vec<PacketBody>,
}

/// The gate of a node.
pub(super) struct PacketGate {
    /// Packets for the device, the oldest first.
    open: VecDeque<PacketBody>,
    /// By source: withheld messages, the oldest first.
    held: Vec<VecDeque<HeldMessage>>,
}

/// Class of a packet.
enum PacketClass {
    /// RTS of a message from this source.
    Message(usize, Rts),
    /// Data of the message from this source with this request.
    Data(usize, u32),
    /// Follows all messages of this source.
    Ordered(usize),
    /// Has no order.
    Other,
}

/// Returns whether a message belongs to the program, not to a collective operation.
fn is_of_program(rts: &Rts) -> bool {
    rts.context.is_multiple_of(2)
}

impl PacketGate {
    /// Creates the gate of a node in a machine of this many nodes.
    pub(super) fn new(nodes: usize) -> PacketGate {
        PacketGate {
            open: VecDeque::new(),
            held: (0..nodes).map(|_| VecDeque::new()).collect(),
        }
    }

    /// Receives all packets of the router.
    pub(super) fn receive(&mut self, router: &mut Router<'_>) {
        while let Some(body) = Port::head(router, TrafficClass::Normal) {
            let packet = PacketBody::from(body);
            let class = classify(router, &packet);
            Port::pop(router, TrafficClass::Normal);
            self.append(class, packet);
        }
    }

    fn append(&mut self, class: PacketClass, packet: PacketBody) {
        let behind = match class {
            PacketClass::Message(source, rts) => {
                let held = &mut self.held[source];
                if is_of_program(&rts) || !held.is_empty() {
                    let packets = vec![packet];
                    return held.push_back(HeldMessage { rts, packets });
                }
                None
            }
            PacketClass::Data(source, request) => {
                let mut held = self.held[source].iter_mut();
                held.find(|message| message.rts.request == request)
            }
            PacketClass::Ordered(source) => self.held[source].back_mut(),
            PacketClass::Other => None,
        };
        match behind {
            Some(message) => message.packets.push(packet),
            None => self.open.push_back(packet),
        }
    }

    /// Returns whether there are packets for the device.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Iterates over the sources with withheld messages.
    pub(super) fn queues(&self) -> impl Iterator<Item = SourceQueue> {
        let queues = self.held.iter().enumerate().filter(|(_, held)| !held.is_empty());
        queues.map(|(source, held)| SourceQueue {
            source,
            envelopes: { held.iter() }
                .map(|message| message.rts.envelope(Rank::new(source as u32)))
                .collect(),
            is_synchronous: held[0].rts.has_flag(Rts::SYNCHRONOUS),
            hides_collective: held.iter().any(|message| !is_of_program(&message.rts)),
        })
    }

    /// Releases the oldest `count` messages of this source, and the messages of collectives behind them.
    pub(super) fn release(&mut self, source: usize, count: usize) {
        let held = &mut self.held[source];
        for message in held.drain(..count) {
            self.open.extend(message.packets);
        }
        while let Some(message) = held.pop_front_if(|message| !is_of_program(&message.rts)) {
            self.open.extend(message.packets);
        }
    }
}

/// The withheld messages of a source.
pub(super) struct SourceQueue {
    pub(super) source: usize,
    /// Their envelopes, the oldest first.
    pub(super) envelopes: Vec<Envelope>,
    /// The send of the oldest one completes only if a receive matches.
    pub(super) is_synchronous: bool,
    /// A message of a collective operation is behind the oldest one.
    pub(super) hides_collective: bool,
}

fn classify(router: &Router<'_>, packet: &[u8]) -> PacketClass {
    let Ok((header, payload)) = Header::parse(packet) else {
        return PacketClass::Other;
    };
    let Some(source) = router.shape().rank(header.source) else {
        return PacketClass::Other;
    };
    let source = source as usize;
    match (header.handler, header.place) {
        (RTS, None) => {
            let merged = if header.argument == 0 { 0 } else { MERGED_BYTES };
            let own = payload.split_at_checked(payload.len().saturating_sub(merged));
            match own.and_then(|(own, _)| Rts::parse(own)) {
                Some((rts, _)) => PacketClass::Message(source, rts),
                None => PacketClass::Other,
            }
        }
        (EAGER, Some(place)) => PacketClass::Data(source, place.target),
        (DONE | CANCEL, None) => PacketClass::Ordered(source),
        _ => PacketClass::Other,
    }
}

/// A router as the processor of an exploration uses it during one step.
pub(super) struct GatedPort<'a, 'm> {
    pub(super) step: StepPort<'a, 'm>,
    pub(super) gate: &'a mut PacketGate,
}

impl Port for GatedPort<'_, '_> {
    const LINES: bool = true;

    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.step.inject_line(direction, hops, len, fill)
    }

    fn can_inject(&self, class: TrafficClass) -> bool {
        self.step.can_inject(class)
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.step.rank(node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.step.inject(class, dest, len, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.step.inject_unordered(dest, len, fill)
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        match class {
            TrafficClass::Priority => self.step.head(class),
            TrafficClass::Normal if self.step.take == 0 => None,
            TrafficClass::Normal => self.gate.open.front().map(|packet| &packet[..]),
        }
    }

    fn pop(&mut self, class: TrafficClass) {
        match class {
            TrafficClass::Priority => self.step.pop(class),
            TrafficClass::Normal => {
                self.step.take -= 1;
                self.step.packets += 1;
                self.gate.open.pop_front();
            }
        }
    }
}
