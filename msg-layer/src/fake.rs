//! A network for tests: one node's [`Port`], in which nothing moves unless the test moves it.
//!
//! ```
//! use msg_layer::fake::Fake;
//! use msg_layer::{Class, Port};
//! use net_torus::{Coord, Shape};
//!
//! let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
//! let [here, there] = [0, 1].map(|rank| shape.coord(rank).unwrap());
//! let (mut near, mut far) = (Fake::new(shape), Fake::new(shape));
//! assert!(near.inject(Class::Normal, there, 5, |body| body.copy_from_slice(b"hello")));
//! for packet in near.take_sent() {
//!     far.arrive(packet.class, &packet.body);
//! }
//! assert!(far.head(Class::Normal).unwrap().starts_with(b"hello"));
//! far.pop(Class::Normal);
//! ```
//!
//! It is stricter than the torus: [`Strict`] lists what a caller must not do, and panics where the torus would
//! let it pass. Bodies that arrive end in garbage up to the end of their last chunk, as [`Port::head`] allows.
//! It has no lines ([`Port::LINES`]).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use net_torus::chunk::CHUNK_BYTES;
use net_torus::{Coord, Direction, Shape};

use crate::port::{BODY_BYTES, Class, Port};

/// What follows an arrived body in its last chunk, and what a body holds before it is written.
const GARBAGE: u8 = 0xA5;

/// A packet that was injected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Its class.
    pub class: Class,
    /// Its destination.
    pub dest: Coord,
    /// It keeps its place among the ordered packets of its class to the same destination.
    pub ordered: bool,
    /// Its body.
    pub body: Vec<u8>,
}

/// A node's queues, without checks.
#[derive(Clone, Debug)]
struct Queues {
    shape: Shape,
    sent: Vec<Sent>,
    room: [usize; 2],
    arrived: [VecDeque<Vec<u8>>; 2],
}

impl Queues {
    fn put(
        &mut self,
        class: Class,
        dest: Coord,
        ordered: bool,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        if !self.can_inject(class) {
            return false;
        }
        let mut body = vec![GARBAGE; len];
        fill(&mut body);
        self.sent.push(Sent {
            class,
            dest,
            ordered,
            body,
        });
        true
    }
}

impl Port for Queues {
    fn can_inject(&self, class: Class) -> bool {
        let sent = self.sent.iter().filter(|packet| packet.class == class);
        sent.count() < self.room[class as usize]
    }

    fn has_node(&self, node: Coord) -> bool {
        self.shape.rank(node).is_some()
    }

    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        self.put(class, dest, true, len, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.put(Class::Normal, dest, false, len, fill)
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        self.arrived[class as usize].front().map(Vec::as_slice)
    }

    fn pop(&mut self, class: Class) {
        self.arrived[class as usize].pop_front();
    }
}

/// One node's port of a network that the test moves by hand. See the [module](self).
#[derive(Clone, Debug)]
pub struct Fake(Strict<Queues>);

impl Fake {
    /// A port in a machine of this shape, with room for any number of packets.
    pub fn new(shape: Shape) -> Fake {
        Fake(Strict::new(Queues {
            shape,
            sent: Vec::new(),
            room: [usize::MAX; 2],
            arrived: Default::default(),
        }))
    }

    /// The injection FIFO of `class` holds so many packets, until [`Fake::take_sent`] takes them out.
    pub fn set_room(&mut self, class: Class, packets: usize) {
        self.0.port.room[class as usize] = packets;
        self.0.promised.set([false; 2]);
    }

    /// Puts a packet with these bytes, right or wrong, into the reception FIFO of `class`.
    ///
    /// # Panics
    /// When the body is longer than [`BODY_BYTES`].
    pub fn arrive(&mut self, class: Class, body: &[u8]) {
        assert!(body.len() <= BODY_BYTES, "a body of {} bytes", body.len());
        let mut body = body.to_vec();
        // The packet's header takes the first chunk's first bytes, the body the rest.
        let header = net_torus::wire::HEADER_BYTES;
        let chunks = (header + body.len()).next_multiple_of(CHUNK_BYTES);
        body.resize(chunks - header, GARBAGE);
        self.0.port.arrived[class as usize].push_back(body);
    }

    /// Packets that were injected and not taken out, in the order of injection.
    pub fn sent(&self) -> &[Sent] {
        &self.0.port.sent
    }

    /// Takes out all packets that were injected, in the order of injection: their FIFOs are empty again.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        core::mem::take(&mut self.0.port.sent)
    }

    /// Packets of `class` that have arrived and were not taken.
    pub fn waiting(&self, class: Class) -> usize {
        self.0.port.arrived[class as usize].len()
    }
}

impl Port for Fake {
    fn can_inject(&self, class: Class) -> bool {
        self.0.can_inject(class)
    }

    fn has_node(&self, node: Coord) -> bool {
        self.0.has_node(node)
    }

    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        self.0.inject(class, dest, len, fill)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.0.inject_unordered(dest, len, fill)
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        self.0.head(class)
    }

    fn pop(&mut self, class: Class) {
        self.0.pop(class);
    }
}

/// A port over another one, which panics when its caller
///
/// - injects more than [`BODY_BYTES`], or to a node that is not there;
/// - frees a packet that it has not looked at;
/// - takes a normal packet without room for the priority packet that may answer it;
///
/// and when the port refuses a packet after [`Port::can_inject`] has said that there is room.
#[derive(Clone, Debug)]
pub struct Strict<P> {
    port: P,
    /// By class: `can_inject` has said yes, and nothing was injected since.
    promised: Cell<[bool; 2]>,
    /// By class: `head` has shown a packet since the last `pop`.
    shown: Cell<[bool; 2]>,
}

impl<P: Port> Strict<P> {
    /// Watches the calls to `port`.
    pub fn new(port: P) -> Self {
        Self {
            port,
            promised: Cell::default(),
            shown: Cell::default(),
        }
    }

    fn check(&self, dest: Coord, len: usize) {
        assert!(len <= BODY_BYTES, "a body of {len} bytes");
        assert!(self.port.has_node(dest), "no node at {dest:?}");
    }

    fn injected(&self, class: Class, injected: bool) -> bool {
        assert!(
            injected || !self.promised.get()[class as usize],
            "the port refused a {class:?} packet for which it had said that there is room"
        );
        self.promised.set([false; 2]);
        injected
    }
}

fn set(flags: &Cell<[bool; 2]>, class: Class, flag: bool) {
    let mut all = flags.get();
    all[class as usize] = flag;
    flags.set(all);
}

impl<P: Port> Port for Strict<P> {
    const LINES: bool = P::LINES;

    fn can_inject(&self, class: Class) -> bool {
        let can = self.port.can_inject(class);
        set(&self.promised, class, can);
        can
    }

    fn has_node(&self, node: Coord) -> bool {
        self.port.has_node(node)
    }

    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        self.check(dest, len);
        let injected = self.port.inject(class, dest, len, fill);
        self.injected(class, injected)
    }

    fn inject_unordered(&mut self, dest: Coord, len: usize, fill: impl FnOnce(&mut [u8])) -> bool {
        self.check(dest, len);
        let injected = self.port.inject_unordered(dest, len, fill);
        self.injected(Class::Normal, injected)
    }

    fn inject_line(
        &mut self,
        direction: Direction,
        hops: u16,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        assert!(len <= BODY_BYTES, "a body of {len} bytes");
        let injected = self.port.inject_line(direction, hops, len, fill);
        self.promised.set([false; 2]);
        injected
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        let head = self.port.head(class);
        set(&self.shown, class, head.is_some());
        head
    }

    fn pop(&mut self, class: Class) {
        assert!(
            self.shown.get()[class as usize],
            "a {class:?} packet was freed that head had not shown"
        );
        assert!(
            class == Class::Priority || self.port.can_inject(Class::Priority),
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

    fn fake() -> Fake {
        Fake::new(Shape::new([2, 1, 1], [true; 3]).unwrap())
    }

    /// What the panic says.
    fn panics(f: impl FnOnce(&mut Fake)) -> String {
        let mut fake = fake();
        fake.arrive(Class::Normal, b"request");
        let panic = catch_unwind(AssertUnwindSafe(|| f(&mut fake))).unwrap_err();
        match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(other) => other.downcast_ref::<&str>().unwrap().to_string(),
        }
    }

    #[test]
    fn a_callers_mistakes_panic() {
        let long = panics(|f| {
            f.inject(Class::Normal, THERE, BODY_BYTES + 1, |_| ());
        });
        assert_eq!(long, "a body of 249 bytes");
        let nowhere = Coord { x: 2, y: 0, z: 0 };
        let nowhere = panics(|f| {
            f.inject_unordered(nowhere, 1, |_| ());
        });
        assert!(nowhere.starts_with("no node at"));
        assert!(panics(|f| f.pop(Class::Normal)).contains("head had not shown"));
        let unanswerable = panics(|f| {
            f.set_room(Class::Priority, 0);
            assert!(f.head(Class::Normal).is_some());
            f.pop(Class::Normal);
        });
        assert!(unanswerable.contains("without room for its answer"));
    }

    /// A port that says yes and does no.
    struct Fickle;

    impl Port for Fickle {
        fn can_inject(&self, _: Class) -> bool {
            true
        }
        fn has_node(&self, _: Coord) -> bool {
            true
        }
        fn inject(&mut self, _: Class, _: Coord, _: usize, _: impl FnOnce(&mut [u8])) -> bool {
            false
        }
        fn head(&self, _: Class) -> Option<&[u8]> {
            None
        }
        fn pop(&mut self, _: Class) {}
    }

    #[test]
    #[should_panic(expected = "for which it had said that there is room")]
    fn a_port_that_breaks_its_word_panics() {
        let mut port = Strict::new(Fickle);
        assert!(
            !port.inject(Class::Normal, THERE, 1, |_| ()),
            "not asked before"
        );
        assert!(port.can_inject(Class::Normal));
        port.inject(Class::Normal, THERE, 1, |_| ());
    }

    #[test]
    fn a_fifo_is_full_until_the_test_takes_what_was_sent() {
        let mut fake = fake();
        fake.set_room(Class::Normal, 2);
        assert!(fake.inject(Class::Normal, THERE, 1, |b| b[0] = 1));
        assert!(fake.inject_unordered(THERE, 1, |b| b[0] = 2));
        assert!(!fake.can_inject(Class::Normal) && fake.can_inject(Class::Priority));
        let sent = fake.take_sent();
        let seen = sent.iter().map(|p| (p.body[0], p.ordered));
        assert!(seen.eq([(1, true), (2, false)]));
        assert!(fake.inject(Class::Normal, THERE, 1, |b| b[0] = 3));
    }
}
