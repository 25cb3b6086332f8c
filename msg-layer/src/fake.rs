//! Network for tests: one node's [`Port`], in which only the test moves packets.
//!
//! ```
//! use msg_layer::fake::FakePort;
//! use msg_layer::{Port, TrafficClass};
//! use net_torus::{Coord, Shape};
//!
//! let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
//! let [here, there] = [0, 1].map(|rank| shape.coord(rank).unwrap());
//! let (mut near, mut far) = (FakePort::new(shape, here), FakePort::new(shape, there));
//! assert!(near.inject(TrafficClass::Normal, there, 5, |body| body.copy_from_slice(b"hello")));
//! for packet in near.take_sent() {
//!     far.deliver(packet.class, &packet.body);
//! }
//! assert!(far.head(TrafficClass::Normal).unwrap().starts_with(b"hello"));
//! far.pop(TrafficClass::Normal);
//! ```
//!
//! Injected packets are stored in one list. The test removes them ([`FakePort::take_sent`]), or drops, delays and reorders
//! them ([`FakePort::sent_mut`]). The test also sets the free space of the FIFOs ([`FifoSpace`]).
//!
//! It is stricter than the torus: [`StrictPort`] lists the errors of a caller for which it panics, even where the torus
//! would accept them. Received bodies end in garbage up to the end of their last chunk, as [`Port::head`] allows.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use net_torus::chunk::CHUNK_BYTES;
use net_torus::{Coord, Direction, Shape};

use crate::port::{Port, TrafficClass, inject_one};

/// Padding of a received body in its last chunk, and initial content of a body.
const GARBAGE: u8 = 0xA5;

/// An injected packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FakeSent {
    /// Traffic class.
    pub class: TrafficClass,
    /// Destination.
    pub dest: Coord,
    /// It keeps its order among the ordered packets of its class to the same destination.
    pub ordered: bool,
    /// Packet body.
    pub body: Vec<u8>,
}

/// Free space in the injection FIFO of one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FifoSpace {
    /// Maximum packets of the class that have been injected and not removed.
    Packets(usize),
    /// There is space only for the reply to a packet that the caller handles, from the first check for received packets
    /// ([`Port::head`]) until all are dequeued.
    ReplyOnly,
}

/// Queues of a node, without checks.
#[derive(Clone, Debug)]
struct NodeQueues {
    shape: Shape,
    here: Coord,
    sent: Vec<FakeSent>,
    room: [FifoSpace; 2],
    arrived: [VecDeque<Vec<u8>>; 2],
    /// The caller has checked for received packets.
    looked: Cell<bool>,
    /// A request was dequeued last, which may be replied to.
    owes_answer: bool,
    lines: usize,
}

impl NodeQueues {
    /// Checks for a reply to the last dequeued request, for which there was space at that time.
    fn has_reply_space(&mut self, class: TrafficClass) -> bool {
        let owes_answer = class == TrafficClass::Priority && core::mem::take(&mut self.owes_answer);
        owes_answer && self.room[class as usize] == FifoSpace::ReplyOnly
    }

    fn put(
        &mut self,
        class: TrafficClass,
        dest: Coord,
        ordered: bool,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        if !self.has_reply_space(class) && !self.can_inject(class) {
            return false;
        }
        let mut body = vec![GARBAGE; len];
        fill(&mut body);
        self.sent.push(FakeSent {
            class,
            dest,
            ordered,
            body,
        });
        true
    }
}

impl Port for NodeQueues {
    const LINES: bool = true;

    fn can_inject(&self, class: TrafficClass) -> bool {
        match self.room[class as usize] {
            FifoSpace::Packets(most) => {
                let sent = self.sent.iter().filter(|packet| packet.class == class);
                sent.count() < most
            }
            FifoSpace::ReplyOnly => self.looked.get() && self.arrived.iter().any(|fifo| !fifo.is_empty()),
        }
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.shape.rank(node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.put(class, dest, true, len, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.put(TrafficClass::Normal, dest, false, len, fill)
    }

    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        let nodes = (0..hops).scan(self.here, |node, _| {
            *node = self.shape.neighbour(*node, direction)?;
            Some(*node)
        });
        let nodes: Vec<Coord> = nodes.collect();
        assert_eq!(nodes.len(), hops.into(), "nodes of a line");
        let first = self.sent.len();
        if !self.put(TrafficClass::Priority, self.here, true, len, fill) {
            return false;
        }
        let packet = self.sent.remove(first);
        let copy = |dest| FakeSent { dest, ..packet.clone() };
        self.sent.extend(nodes.into_iter().map(copy));
        self.lines += 1;
        true
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        self.looked.set(true);
        self.arrived[class as usize].front().map(Vec::as_slice)
    }

    fn pop(&mut self, class: TrafficClass) {
        self.arrived[class as usize].pop_front();
        self.owes_answer = class == TrafficClass::Normal;
    }
}

/// Port of one node, in a network that the test moves by hand. See the [module](self).
#[derive(Clone, Debug)]
pub struct FakePort(StrictPort<NodeQueues>, Option<Coord>);

impl FakePort {
    /// Creates the port of the node at `here` in a machine of this shape, with unlimited space.
    pub fn new(shape: Shape, here: Coord) -> FakePort {
        let queues = NodeQueues {
            shape,
            here,
            sent: Vec::new(),
            room: [FifoSpace::Packets(usize::MAX); 2],
            arrived: Default::default(),
            looked: Cell::new(false),
            owes_answer: false,
            lines: 0,
        };
        FakePort(StrictPort::new(queues), None)
    }

    /// Rejects unordered runs to this destination from now on, as on a link without tokens.
    pub fn reject_runs(&mut self, to: Option<Coord>) {
        self.1 = to;
    }

    /// Sets the free space of the injection FIFO of `class`.
    pub fn set_space(&mut self, class: TrafficClass, room: FifoSpace) {
        self.0.port.room[class as usize] = room;
        self.0.promised.set([false; 2]);
    }

    /// Puts a packet with these bytes, valid or not, into the reception FIFO of `class`.
    ///
    /// # Panics
    /// If the body is longer than [`TrafficClass::body_bytes`].
    pub fn deliver(&mut self, class: TrafficClass, body: &[u8]) {
        check_body(class, body.len());
        let mut body = body.to_vec();
        // The first chunk starts with the packet's header, followed by the body.
        let header = net_torus::wire::HEADER_BYTES;
        let chunks = (header + body.len()).next_multiple_of(CHUNK_BYTES);
        body.resize(chunks - header, GARBAGE);
        self.0.port.arrived[class as usize].push_back(body);
    }

    /// Returns the packets that were injected and not removed, in the order of injection.
    pub fn sent(&self) -> &[FakeSent] {
        &self.0.port.sent
    }

    /// Removes and returns all injected packets, in the order of injection. Their FIFOs are empty again.
    pub fn take_sent(&mut self) -> Vec<FakeSent> {
        core::mem::take(&mut self.0.port.sent)
    }

    /// Returns the injected packets for writing, to drop, delay, restore or reorder them.
    pub fn sent_mut(&mut self) -> &mut Vec<FakeSent> {
        &mut self.0.port.sent
    }

    /// Returns the number of packets injected along a line. [`FakePort::sent`] contains each once per node of its line.
    pub fn lines(&self) -> usize {
        self.0.port.lines
    }

    /// Returns the number of packets of `class` that were received and not dequeued.
    pub fn waiting(&self, class: TrafficClass) -> usize {
        self.0.port.arrived[class as usize].len()
    }
}

impl Port for FakePort {
    const LINES: bool = true;

    fn can_inject(&self, class: TrafficClass) -> bool {
        self.0.can_inject(class)
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.0.rank(node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.0.inject(class, dest, len, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.0.inject_unordered(dest, len, fill)
    }

    fn inject_run(&mut self, is_ordered: bool, dest: Coord, count: usize, fill: impl FnMut(&mut [u8])) -> usize {
        if !is_ordered && self.1 == Some(dest) {
            0
        } else {
            inject_one(self, is_ordered, dest, count, fill)
        }
    }

    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.0.inject_line(direction, hops, len, fill)
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        self.0.head(class)
    }

    fn pop(&mut self, class: TrafficClass) {
        self.0.pop(class);
    }
}

/// Port wrapper that panics when its caller
///
/// - injects more than [`TrafficClass::body_bytes`], or to a node that does not exist;
/// - dequeues a packet that it has not checked;
/// - dequeues a normal packet without space for the priority packet that may reply to it;
///
/// and when the port rejects a packet after [`Port::can_inject`] has returned true.
#[derive(Clone, Debug)]
pub struct StrictPort<P> {
    port: P,
    /// By class: `can_inject` has returned true, and nothing was injected since.
    promised: Cell<[bool; 2]>,
    /// By class: `head` has returned a packet since the last `pop`.
    shown: Cell<[bool; 2]>,
}

impl<P: Port> StrictPort<P> {
    /// Checks the calls to `port`.
    pub fn new(port: P) -> Self {
        Self {
            port,
            promised: Cell::default(),
            shown: Cell::default(),
        }
    }

    fn check(&self, class: TrafficClass, dest: Coord, len: usize) {
        check_body(class, len);
        assert!(self.port.rank(dest).is_some(), "no node at {dest:?}");
    }

    fn injected(&self, class: TrafficClass, injected: bool) -> bool {
        assert!(
            injected || !self.promised.get()[class as usize],
            "the port refused a {class:?} packet for which it had said that there is room"
        );
        self.promised.set([false; 2]);
        injected
    }
}

fn check_body(class: TrafficClass, len: usize) {
    let most = class.body_bytes();
    assert!(len <= most, "a {class:?} packet with a body of {len} bytes");
}

fn set(flags: &Cell<[bool; 2]>, class: TrafficClass, flag: bool) {
    let mut all = flags.get();
    all[class as usize] = flag;
    flags.set(all);
}

impl<P: Port> Port for StrictPort<P> {
    const LINES: bool = P::LINES;

    fn can_inject(&self, class: TrafficClass) -> bool {
        let can = self.port.can_inject(class);
        set(&self.promised, class, can);
        can
    }

    fn rank(&self, node: Coord) -> Option<u32> {
        self.port.rank(node)
    }

    fn inject(&mut self, class: TrafficClass, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.check(class, dest, len);
        let injected = self.port.inject(class, dest, len, fill);
        self.injected(class, injected)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.check(TrafficClass::Normal, dest, len);
        let injected = self.port.inject_unordered(dest, len, fill);
        self.injected(TrafficClass::Normal, injected)
    }

    fn inject_line(&mut self, direction: Direction, hops: u16, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        check_body(TrafficClass::Priority, len);
        let injected = self.port.inject_line(direction, hops, len, fill);
        self.promised.set([false; 2]);
        injected
    }

    fn head(&self, class: TrafficClass) -> Option<&[u8]> {
        let head = self.port.head(class);
        set(&self.shown, class, head.is_some());
        head
    }

    fn pop(&mut self, class: TrafficClass) {
        assert!(
            self.shown.get()[class as usize],
            "a {class:?} packet was freed that head had not shown"
        );
        assert!(
            class == TrafficClass::Priority || self.port.can_inject(TrafficClass::Priority),
            "a request was taken without room for its answer"
        );
        set(&self.shown, class, false);
        self.port.pop(class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const THERE: Coord = Coord { x: 1, y: 0, z: 0 };

    fn fake() -> FakePort {
        FakePort::new(Shape::new([2, 1, 1], [true; 3]).unwrap(), Coord::default())
    }

    /// Returns the panic message.
    fn panics(f: impl FnOnce(&mut FakePort)) -> String {
        let mut fake = fake();
        fake.deliver(TrafficClass::Normal, b"request");
        let panic = catch_unwind(AssertUnwindSafe(|| f(&mut fake))).unwrap_err();
        match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(other) => other.downcast_ref::<&str>().unwrap().to_string(),
        }
    }

    #[test]
    fn a_callers_mistakes_panic() {
        for class in [TrafficClass::Normal, TrafficClass::Priority] {
            let len = class.body_bytes() + 1;
            let expected = format!("a {class:?} packet with a body of {len} bytes");
            let long = panics(|f| {
                f.inject(class, THERE, len, |_| ());
            });
            assert_eq!(long, expected);
            assert_eq!(panics(|f| f.deliver(class, &vec![0; len])), expected);
        }
        let len = TrafficClass::Priority.body_bytes() + 1;
        let long = panics(|f| {
            f.inject_line(Direction::XPlus, 1, len, |_| ());
        });
        assert!(long.starts_with("a Priority packet"), "{long}");
        let nowhere = Coord { x: 2, y: 0, z: 0 };
        let nowhere = panics(|f| {
            f.inject_unordered(nowhere, 1, |_| ());
        });
        assert!(nowhere.starts_with("no node at"));
        assert!(panics(|f| f.pop(TrafficClass::Normal)).contains("head had not shown"));
        let unanswerable = panics(|f| {
            f.set_space(TrafficClass::Priority, FifoSpace::Packets(0));
            assert!(f.head(TrafficClass::Normal).is_some());
            f.pop(TrafficClass::Normal);
        });
        assert!(unanswerable.contains("without room for its answer"));
    }

    /// A port that reports space but rejects the packet.
    struct FicklePort;

    impl Port for FicklePort {
        fn can_inject(&self, _: TrafficClass) -> bool {
            true
        }
        fn rank(&self, _: Coord) -> Option<u32> {
            Some(0)
        }
        fn inject(&mut self, _: TrafficClass, _: Coord, _: usize, _: impl FnOnce(&mut [u8])) -> bool {
            false
        }
        fn head(&self, _: TrafficClass) -> Option<&[u8]> {
            None
        }
        fn pop(&mut self, _: TrafficClass) {}
    }

    #[test]
    #[should_panic(expected = "for which it had said that there is room")]
    fn a_port_that_breaks_its_word_panics() {
        let mut port = StrictPort::new(FicklePort);
        assert!(!port.inject(TrafficClass::Normal, THERE, 1, |_| ()), "not asked before");
        assert!(port.can_inject(TrafficClass::Normal));
        port.inject(TrafficClass::Normal, THERE, 1, |_| ());
    }

    #[test]
    fn a_fifo_is_full_until_the_test_takes_what_was_sent() {
        let mut fake = fake();
        fake.set_space(TrafficClass::Normal, FifoSpace::Packets(2));
        assert!(fake.inject(TrafficClass::Normal, THERE, 1, |b| b[0] = 1));
        assert!(fake.inject_unordered(THERE, 1, |b| b[0] = 2));
        assert!(!fake.can_inject(TrafficClass::Normal) && fake.can_inject(TrafficClass::Priority));
        let sent = fake.take_sent();
        let seen = sent.iter().map(|p| (p.body[0], p.ordered));
        assert!(seen.eq([(1, true), (2, false)]));
        assert!(fake.inject(TrafficClass::Normal, THERE, 1, |b| b[0] = 3));
        fake.sent_mut().clear();
        assert!(fake.sent().is_empty());
    }

    #[test]
    fn there_is_room_for_the_answer_to_what_is_taken_and_for_nothing_else() {
        for class in [TrafficClass::Normal, TrafficClass::Priority] {
            let mut fake = fake();
            fake.set_space(TrafficClass::Priority, FifoSpace::ReplyOnly);
            let answer = |fake: &mut FakePort| fake.inject(TrafficClass::Priority, THERE, 1, |_| ());
            fake.deliver(class, b"taken");
            assert!(!fake.can_inject(TrafficClass::Priority) && !answer(&mut fake));
            assert!(fake.head(class).is_some() && fake.can_inject(TrafficClass::Priority));
            // Not checked again, since there was space when the request was dequeued.
            fake.pop(class);
            if class == TrafficClass::Normal {
                assert!(answer(&mut fake));
            }
            assert!(!fake.can_inject(TrafficClass::Priority) && !answer(&mut fake));
        }
    }

    #[test]
    fn a_packet_along_a_line_leaves_a_copy_at_each_node() {
        let shape = Shape::new([4, 1, 1], [true; 3]).unwrap();
        let at = |x| Coord { x, y: 0, z: 0 };
        let mut fake = FakePort::new(shape, at(2));
        let [east, ..] = Direction::ALL;
        assert!(fake.inject_line(east, 2, 1, |b| b[0] = 7));
        assert_eq!(fake.lines(), 1);
        let sent = fake.take_sent();
        let seen = sent.iter().map(|p| (p.class, p.dest, &p.body[..]));
        assert!(seen.eq([3, 0].map(|x| (TrafficClass::Priority, at(x), &[7][..]))));
        fake.set_space(TrafficClass::Priority, FifoSpace::Packets(0));
        assert!(!fake.inject_line(east, 1, 1, |_| ()));
    }
}
