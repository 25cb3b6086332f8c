//! A node's face to the torus: the router and its six links.

use crate::coord::{Coord, Direction};
use crate::link::Link;
use crate::router::{ConfigError, Router};
use crate::wire::{Directions, MIN_MTU};

/// Frames taken from, and given to, each link in one [`Torus::step`].
pub const FRAMES_PER_STEP: usize = 8;

/// Chunks of packets that are worth a frame of their own, although the neighbour has yet to take earlier ones.
const WORTH_A_FRAME: usize = 32;

/// A router with its links.
pub struct Torus<'m, L> {
    router: Router<'m>,
    links: [Option<L>; 6],
    /// The directions in which there is a link, and how many: each step goes through them twice.
    sides: [Direction; 6],
    count: usize,
    gathers: bool,
    /// The directions in which the last frames could not go, or had better wait, for the link's sake.
    held: Directions,
}

impl<'m, L: Link> Torus<'m, L> {
    /// Joins a router to its links, by direction number; `None` where there is none (a mesh's edge, an
    /// extent of 1). Fails with [`ConfigError::Links`] when they are not the links of the router's place,
    /// and with [`ConfigError::Mtu`] when a link cannot carry the greatest packet.
    pub fn new(mut router: Router<'m>, links: [Option<L>; 6]) -> Result<Self, ConfigError> {
        let present = Direction::ALL
            .into_iter()
            .zip(&links)
            .filter(|(_, link)| link.is_some())
            .fold(Directions::NONE, |set, (d, _)| set.with(d));
        if present != router.links() {
            return Err(ConfigError::Links(present.bits()));
        }
        if links.iter().flatten().any(|link| link.mtu() < MIN_MTU) {
            return Err(ConfigError::Mtu);
        }
        let exact = Direction::ALL
            .into_iter()
            .zip(&links)
            .filter(|(_, link)| link.as_ref().is_some_and(L::is_exact))
            .fold(Directions::NONE, |set, (d, _)| set.with(d));
        router.set_exact(exact);
        let (mut sides, mut count) = ([Direction::XPlus; 6], 0);
        for side in present.iter() {
            sides[count] = side;
            count += 1;
        }
        Ok(Self {
            router,
            links,
            sides,
            count,
            gathers: false,
            held: Directions::NONE,
        })
    }

    /// Whether packets wait for others with which they share a frame while a link [is behind](Link::is_behind); at
    /// first they do not. For nodes that are woken when it no longer is.
    pub fn set_gathers(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    /// One bounded pass: at most [`FRAMES_PER_STEP`] frames from each link into the router, and as many
    /// from the router to each link. True if anything moved. After it has returned false, with no call in
    /// between, nothing will move before a link has a frame or takes one again: the node may sleep until
    /// a link's interrupt, or until [`Torus::poll_at`].
    ///
    /// `now_ns` is the node's clock in nanoseconds, from any start, never going back.
    pub fn step(&mut self, now_ns: u64) -> bool {
        self.take_frames(now_ns) | self.give_frames(now_ns)
    }

    /// The first half of a step: frames from the links. True if there were any. [`Torus::give_frames`] follows, with
    /// whatever is to leave with these frames' answers injected in between.
    pub fn take_frames(&mut self, now_ns: u64) -> bool {
        let mut moved = false;
        for &side in &self.sides[..self.count] {
            let Some(link) = &mut self.links[side as usize] else {
                continue;
            };
            link.poll(now_ns);
            let router = &mut self.router;
            let mut taken = 0;
            while taken < FRAMES_PER_STEP && link.receive(|frame| router.receive_frame(side, frame))
            {
                taken += 1;
            }
            moved |= taken > 0;
        }
        moved
    }

    /// The second half of a step: frames to the links. True if there were any.
    pub fn give_frames(&mut self, now_ns: u64) -> bool {
        if !self.router.outputs().is_empty() {
            return self.send(now_ns);
        }
        self.each_link(|link| link.poll(now_ns));
        false
    }

    /// Whether nothing will move before a packet is injected, a frame comes or a link takes one again. Right after a
    /// step.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.router.outputs().is_within(self.held) && !self.router.has_received()
    }

    /// Whether a link is behind or full, for whose sake something waits. Right after a step.
    #[inline]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a packet for `dest`, where the last one went, would not leave now, since the link [is
    /// behind](Link::is_behind) or full. Right after a step.
    #[inline]
    pub fn is_held(&self, dest: Coord) -> bool {
        self.router.last_way(dest).is_some_and(|d| self.held.has(d))
    }

    /// Runs `f` on each link, for the board's own business (interrupts).
    #[inline(always)]
    pub fn each_link(&mut self, mut f: impl FnMut(&mut L)) {
        for &side in &self.sides[..self.count] {
            if let Some(link) = &mut self.links[side as usize] {
                f(link);
            }
        }
    }

    /// On its own, so that an idle step does not save its registers.
    #[inline(never)]
    fn send(&mut self, now_ns: u64) -> bool {
        let Self {
            router,
            links,
            held,
            gathers,
            ..
        } = self;
        *held = Directions::NONE;
        let mut moved = false;
        for d in router.links_in_turn() {
            // Looked at anew for each: what has left may have been in front of something for another link.
            if !router.outputs().has(d) {
                continue;
            }
            let Some(link) = &mut links[d as usize] else {
                continue;
            };
            for _ in 0..FRAMES_PER_STEP {
                if !router.has_output(d) {
                    break;
                }
                let waits = *gathers && link.is_behind() && !router.has_chunks(d, WORTH_A_FRAME);
                if waits || !link.transmit(|buffer| router.fill_frame(d, buffer)) {
                    *held = held.with(d);
                    break;
                }
                moved = true;
            }
        }
        self.each_link(|link| link.poll(now_ns));
        moved
    }

    /// When [`Torus::step`] is to be called even if no link has anything: the earliest [`Link::poll_at`].
    /// A node that sleeps must wake up for it.
    pub fn poll_at(&self) -> Option<u64> {
        self.links.iter().flatten().filter_map(L::poll_at).min()
    }

    /// Directions whose links have given up. Packets that must go there never will: the job is to be
    /// ended with a message that names this node and these directions.
    pub fn dead_links(&self) -> Directions {
        Direction::ALL
            .into_iter()
            .zip(&self.links)
            .filter(|(_, link)| link.as_ref().is_some_and(L::is_dead))
            .fold(Directions::NONE, |set, (d, _)| set.with(d))
    }

    /// The router, to look at.
    pub fn router(&self) -> &Router<'m> {
        &self.router
    }
    /// The router, to inject and receive.
    pub fn router_mut(&mut self) -> &mut Router<'m> {
        &mut self.router
    }
    /// The links, by direction number.
    pub fn links(&self) -> &[Option<L>; 6] {
        &self.links
    }
    /// The links, for the board's own business (interrupts).
    pub fn links_mut(&mut self) -> &mut [Option<L>; 6] {
        &mut self.links
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::{Chunk, MAX_QUEUE_PACKETS, PACKET_BYTES};
    use crate::coord::Shape;
    use crate::inject::{InjectError, Routing};
    use crate::reliable::{self, Reliable};
    use crate::router::Sizes;
    use crate::sim::{Faults, Faulty, SimLink, wire_torus};
    use crate::vc::Vc;
    use crate::wire::{
        BODY_BYTES, Defect, FRAME_HEADER_BYTES, Fifo, FrameRepr, HEADER_BYTES, Repr,
    };
    use std::collections::HashMap;

    type Node = Torus<'static, SimLink>;

    /// Test nodes live as long as the test process; that spares every test the borrow of their memory.
    fn memory(sizes: &Sizes) -> &'static mut [Chunk] {
        vec![[0xAA; 32]; sizes.chunks()].leak()
    }

    fn machine(shape: Shape, sizes: Sizes) -> Vec<Node> {
        let memory = vec![[0xAA; 32]; sizes.chunks() * shape.nodes() as usize].leak();
        machine_over(shape, sizes, memory, |link| link)
    }

    /// A machine whose links are made of links in memory.
    fn machine_over<'m, L: Link>(
        shape: Shape,
        sizes: Sizes,
        memory: &'m mut [Chunk],
        mut over: impl FnMut(SimLink) -> L,
    ) -> Vec<Torus<'m, L>> {
        wire_torus(&shape)
            .into_iter()
            .zip(memory.chunks_exact_mut(sizes.chunks()))
            .zip(0..)
            .map(|((links, memory), rank)| {
                let here = shape.coord(rank).unwrap();
                let router = Router::new(shape, here, sizes, memory).unwrap();
                Torus::new(router, links.map(|link| link.map(&mut over))).unwrap()
            })
            .collect()
    }

    fn step(nodes: &mut [Node]) -> bool {
        nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved)
    }

    fn body(from: u32, to: u32, serial: u32) -> Vec<u8> {
        let mut body = Vec::new();
        for word in [from, to, serial] {
            body.extend(word.to_le_bytes());
        }
        let len = 12 + (from * 7 + to * 31 + serial * 53) as usize % (BODY_BYTES - 11);
        body.resize(len, (from ^ to ^ serial) as u8);
        body
    }

    /// Every node sends `count` packets to every node, itself included; checks that each arrives once and,
    /// unless `routing` is adaptive, in order.
    fn all_to_all(shape: Shape, sizes: Sizes, fifo: Fifo, routing: Routing, count: u32) {
        let mut nodes = machine(shape, sizes);
        exchange(&mut nodes, fifo, routing, count, &format!("{sizes:?}"));
        while step(&mut nodes) {}
        for node in &nodes {
            assert!(node.router().is_empty());
            assert_eq!(node.router().stats().all_defects(), 0);
        }
    }

    fn exchange<L: Link>(
        nodes: &mut [Torus<'_, L>],
        fifo: Fifo,
        routing: Routing,
        count: u32,
        what: &str,
    ) {
        let shape = *nodes[0].router().shape();
        let n = shape.nodes();
        let mut next = vec![0u32; n as usize];
        let mut seen = HashMap::<(u32, u32), Vec<u32>>::new();
        let (mut arrived, mut idle, mut now) = (0, 0, 0);
        while arrived < n * n * count {
            let mut moved = false;
            now += 1;
            for (node, me) in nodes.iter_mut().zip(0..n) {
                let router = node.router_mut();
                while next[me as usize] < n * count {
                    let (serial, to) = (next[me as usize] / n, (next[me as usize] + me) % n);
                    let (body, dest) = (body(me, to, serial), shape.coord(to).unwrap());
                    let filled = |b: &mut [u8]| b.copy_from_slice(&body);
                    match router.inject_with(fifo, dest, body.len(), routing, filled) {
                        Ok(()) => next[me as usize] += 1,
                        Err(InjectError::Full) => break,
                        Err(other) => panic!("{other}"),
                    }
                    moved = true;
                }
                moved |= node.step(now) | node.poll_at().is_some();
                assert!(node.dead_links().is_empty(), "{what}");
                let router = node.router_mut();
                while let Some(got) = router.head(fifo) {
                    let word = |i: usize| u32::from_le_bytes(got[i..i + 4].try_into().unwrap());
                    let (from, to, serial) = (word(0), word(4), word(8));
                    assert_eq!(to, me);
                    assert_eq!(got, body(from, to, serial));
                    seen.entry((from, to)).or_default().push(serial);
                    arrived += 1;
                    router.pop(fifo);
                    moved = true;
                }
            }
            idle = if moved { 0 } else { idle + 1 };
            // A link may pause; nothing pauses for that long.
            assert!(
                idle < 100 && now < 10_000_000,
                "stuck: {shape:?} {what} {fifo:?} {routing:?}, {arrived} arrived"
            );
        }
        for serials in seen.values_mut() {
            if routing == Routing::Adaptive {
                serials.sort_unstable();
            }
            assert!(serials.iter().copied().eq(0..count), "{serials:?} {what}");
        }
    }

    const RELIABLE: reliable::Retry = reliable::Retry {
        timeout_ns: 100,
        retries: 30,
    };

    /// All to all over links with faults under the reliable layer, then the running CRCs of both ends.
    fn over_bad_links(shape: Shape, routing: Routing, seed: u64, count: u32) {
        const WINDOW: usize = 8 * 1514;
        let sizes = Sizes::BLUE_GENE;
        let mut memory = vec![[0; 32]; sizes.chunks() * shape.nodes() as usize];
        let mut windows = vec![0; 6 * WINDOW * shape.nodes() as usize];
        let mut windows = windows.chunks_exact_mut(WINDOW);
        let mut serial = seed << 16;
        let mut nodes = machine_over(shape, sizes, &mut memory, |link| {
            serial += 1;
            let bad = Faulty::new(link, Faults::PERCENT, serial);
            Reliable::new(bad, RELIABLE, windows.next().unwrap()).unwrap()
        });
        exchange(
            &mut nodes,
            Fifo::Normal,
            routing,
            count,
            &format!("seed {seed}"),
        );
        // Until the last acknowledgement is there.
        let mut now = 10_000_000;
        while nodes.iter_mut().fold(false, |moved, node| {
            now += 1;
            node.step(now) | node.poll_at().is_some() | moved
        }) {}
        for node in &nodes {
            assert_eq!(node.router().stats().all_defects(), 0, "seed {seed}");
            for d in node.router().links().iter() {
                let here = node.router().coord();
                let there = shape.rank(shape.neighbour(here, d).unwrap()).unwrap();
                let there = nodes[there as usize].links()[d.opposite() as usize].as_ref();
                let here = node.links()[d as usize].as_ref();
                assert_eq!(
                    here.unwrap().sent(),
                    there.unwrap().received(),
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn everything_arrives_once_over_bad_links() {
        for seed in 0..10 {
            let shape = Shape::new([2, 3, 1], [true; 3]).unwrap();
            over_bad_links(shape, Routing::Deterministic, seed, 20);
            over_bad_links(shape, Routing::Adaptive, seed, 20);
        }
    }

    /// Ten million packets, a thousand seeds; takes minutes.
    #[test]
    #[ignore = "takes minutes; run it with --release"]
    fn ten_million_packets_arrive_once_over_bad_links() {
        let shape = Shape::new([2, 2, 1], [true; 3]).unwrap();
        for seed in 0..500 {
            over_bad_links(shape, Routing::Deterministic, seed, 625);
            over_bad_links(shape, Routing::Adaptive, 500 + seed, 625);
        }
    }

    #[test]
    fn a_dead_link_is_reported_by_node_and_direction() {
        let shape = row(2);
        let sizes = Sizes::BLUE_GENE;
        let mut memory = vec![[0; 32]; sizes.chunks() * 2];
        let mut nodes = machine_over(shape, sizes, &mut memory, |link| {
            let window = vec![0; 4 * 1514].leak();
            Reliable::new(Faulty::new(link, Faults::default(), 0), RELIABLE, window).unwrap()
        });
        let link = nodes[1].links_mut()[Direction::XMinus as usize].as_mut();
        link.unwrap().lower_mut().cut();
        let mut now = 0;
        while nodes[0].dead_links().is_empty() {
            nodes[0].step(now);
            nodes[1].step(now);
            now = nodes[0].poll_at().map_or(now, |at| at.max(now + 1));
            assert!(now < 1_000_000, "never given up");
        }
        let dead: Vec<_> = nodes[0].dead_links().iter().collect();
        assert_eq!(dead, [Direction::XPlus]);
    }

    const LARGE: Sizes = Sizes {
        dynamic: 16,
        normal: 64,
        priority: 16,
        inject_normal: 16,
        inject_priority: 16,
        receive_normal: 64,
        receive_priority: 16,
    };

    fn shapes() -> Vec<Shape> {
        let extents = [
            [1, 1, 1],
            [2, 1, 1],
            [1, 3, 1],
            [4, 1, 1],
            [1, 1, 5],
            [2, 2, 1],
            [2, 2, 2],
            [3, 2, 1],
            [4, 4, 1],
            [3, 3, 3],
            [5, 2, 2],
            [4, 2, 3],
        ];
        let mut shapes = Vec::new();
        for e in extents {
            for wraps in [[true; 3], [false; 3], [true, false, true]] {
                shapes.push(Shape::new(e, wraps).unwrap());
            }
        }
        shapes
    }

    #[test]
    fn all_to_all_arrives_once_and_in_order_on_every_shape() {
        for shape in shapes() {
            for sizes in [Sizes::SMALLEST, Sizes::BLUE_GENE, LARGE] {
                let count = if shape.nodes() > 20 { 2 } else { 5 };
                for fifo in Fifo::ALL {
                    all_to_all(shape, sizes, fifo, Routing::Deterministic, count);
                }
            }
        }
    }

    #[test]
    fn all_to_all_adaptive_arrives_once_on_every_shape() {
        for shape in shapes() {
            let none = Sizes {
                dynamic: 0,
                ..Sizes::SMALLEST
            };
            for sizes in [none, Sizes::SMALLEST, Sizes::BLUE_GENE] {
                all_to_all(shape, sizes, Fifo::Normal, Routing::Adaptive, 3);
            }
        }
    }

    fn row(n: u16) -> Shape {
        Shape::new([n, 1, 1], [false; 3]).unwrap()
    }

    fn at(x: u8) -> Coord {
        Coord { x, y: 0, z: 0 }
    }

    #[test]
    fn full_normal_fifos_hold_up_the_injector_but_no_priority_packet() {
        let mut nodes = machine(row(3), Sizes::BLUE_GENE);
        let mut injected = 0u32;
        // No node receives at the end: everything on the way fills up, and then injection stops.
        loop {
            let result = nodes[0]
                .router_mut()
                .inject(Fifo::Normal, at(2), 240, |b| b.fill(1));
            match result {
                Ok(()) => injected += 1,
                Err(InjectError::Full) if !step(&mut nodes) => break,
                Err(InjectError::Full) => {}
                Err(other) => panic!("{other}"),
            }
            assert!(injected < 1000);
        }
        assert!(!nodes[0].router().can_inject(Fifo::Normal));
        assert!(nodes[0].router().stats().fifos[0].refused > 0);
        for serial in 0..100u8 {
            let router = nodes[0].router_mut();
            assert!(router.can_inject(Fifo::Priority));
            router
                .inject(Fifo::Priority, at(2), 1, |b| b[0] = serial)
                .unwrap();
            while step(&mut nodes) {}
            let router = nodes[2].router_mut();
            assert_eq!(router.head(Fifo::Priority), Some(&[serial][..]));
            router.pop(Fifo::Priority);
        }
        // And nothing of what waited is lost.
        let mut received = 0;
        loop {
            while nodes[2].router().head(Fifo::Normal).is_some() {
                nodes[2].router_mut().pop(Fifo::Normal);
                received += 1;
            }
            if !step(&mut nodes) {
                break;
            }
        }
        assert_eq!(received, injected);
    }

    #[test]
    fn a_packet_along_a_line_leaves_a_copy_at_every_node_of_it() {
        let shape = Shape::new([5, 2, 1], [true, false, true]).unwrap();
        for fifo in Fifo::ALL {
            for (d, hops) in [
                (Direction::XPlus, 4),
                (Direction::XMinus, 3),
                (Direction::YPlus, 1),
            ] {
                let mut nodes = machine(shape, Sizes::SMALLEST);
                let mut sent = 0u8;
                let mut got = vec![Vec::new(); nodes.len()];
                while sent < 20 || step(&mut nodes) {
                    let fill = |b: &mut [u8]| b[0] = sent;
                    let router = nodes[0].router_mut();
                    if sent < 20 && router.inject_line(fifo, d, hops, 9, fill).is_ok() {
                        sent += 1;
                    }
                    step(&mut nodes);
                    for (node, got) in nodes.iter_mut().zip(&mut got) {
                        while let Some(body) = node.router().head(fifo) {
                            assert_eq!(body.len(), 9);
                            got.push(body[0]);
                            node.router_mut().pop(fifo);
                        }
                    }
                }
                let mut on_line = vec![false; nodes.len()];
                let mut at = Coord::default();
                for _ in 0..hops {
                    at = shape.neighbour(at, d).unwrap();
                    on_line[shape.rank(at).unwrap() as usize] = true;
                }
                for (got, on_line) in got.iter().zip(on_line) {
                    let all = if on_line { 0..20 } else { 0..0 };
                    assert!(got.iter().copied().eq(all), "{fifo:?} {d:?}: {got:?}");
                }
            }
        }
        let mut nodes = machine(shape, Sizes::SMALLEST);
        let mut line = |d, hops| {
            nodes[0]
                .router_mut()
                .inject_line(Fifo::Normal, d, hops, 1, |_| {})
        };
        assert_eq!(line(Direction::XPlus, 0), Err(InjectError::OutsideTorus));
        assert_eq!(line(Direction::XPlus, 5), Err(InjectError::OutsideTorus));
        assert_eq!(line(Direction::YMinus, 1), Err(InjectError::OutsideTorus));
    }

    #[test]
    fn wrong_injections_are_told_from_full() {
        let mut nodes = machine(row(2), Sizes::SMALLEST);
        let router = nodes[0].router_mut();
        let mut called = false;
        let mut inject = |dest, len| router.inject(Fifo::Normal, dest, len, |_| called = true);
        assert_eq!(inject(at(2), 1), Err(InjectError::OutsideTorus));
        assert_eq!(inject(at(1), 249), Err(InjectError::TooLong));
        assert!(!called);
    }

    #[test]
    fn a_frame_carries_many_packets() {
        let mut nodes = machine(row(2), LARGE);
        while step(&mut nodes) {}
        let before = nodes[0].router().stats().links[0].frames_sent;
        for i in 0..16 {
            let router = nodes[0].router_mut();
            router
                .inject(Fifo::Normal, at(1), 24, |b| b.fill(i))
                .unwrap();
        }
        while step(&mut nodes) {}
        assert_eq!(nodes[0].router().stats().links[0].frames_sent, before + 1);
        assert_eq!(nodes[1].router().stats().fifos[0].delivered.packets, 16);
    }

    #[test]
    fn tokens_come_back_in_few_frames_of_their_own() {
        let mut nodes = machine(row(2), LARGE);
        for _ in 0..1000 {
            while !nodes[0].router().can_inject(Fifo::Normal) {
                step(&mut nodes);
            }
            let router = nodes[0].router_mut();
            router.inject(Fifo::Normal, at(1), 240, |_| {}).unwrap();
            while nodes[1].router().head(Fifo::Normal).is_some() {
                nodes[1].router_mut().pop(Fifo::Normal);
            }
            step(&mut nodes);
        }
        let link = nodes[1].router().stats().links[1];
        assert!(link.token_frames_sent < 1000 / 16, "{link:?}");
    }

    /// A link that counts the calls of it.
    struct Counting {
        link: SimLink,
        full: bool,
        behind: bool,
        receives: usize,
        transmits: usize,
    }

    impl Link for Counting {
        fn mtu(&self) -> usize {
            self.link.mtu()
        }

        fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
            self.receives += 1;
            self.link.receive(f)
        }

        fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
            self.transmits += 1;
            !self.full && self.link.transmit(f)
        }

        fn is_behind(&mut self) -> bool {
            self.behind
        }
    }

    /// As [`machine_over`], 3 x 3 x 3.
    fn counted(memory: &mut [Chunk]) -> Vec<Counted<'_>> {
        let shape = Shape::new([3, 3, 3], [true; 3]).unwrap();
        let mut nodes = machine_over(shape, Sizes::BLUE_GENE, memory, |link| Counting {
            link,
            full: false,
            behind: false,
            receives: 0,
            transmits: 0,
        });
        while nodes.iter_mut().fold(false, |moved, n| n.step(0) | moved) {}
        nodes
    }

    #[test]
    fn packets_for_a_neighbour_that_is_behind_share_a_frame() {
        let mut memory = vec![[0; 32]; Sizes::BLUE_GENE.chunks() * 27];
        for gathers in [false, true] {
            let mut nodes = counted(&mut memory);
            let node = &mut nodes[0];
            node.set_gathers(gathers);
            let frames = |node: &Counted<'_>| node.router().stats().links[0].frames_sent;
            let first = frames(node);
            let send = |node: &mut Counted<'_>, bytes| {
                let (router, dest) = (node.router_mut(), Coord { x: 1, y: 0, z: 0 });
                let fill = |body: &mut [u8]| body.fill(1);
                router.inject(Fifo::Normal, dest, bytes, fill).unwrap();
                node.step(0)
            };
            node.links_mut()[0].as_mut().unwrap().behind = true;
            for number in 1..=2 {
                assert_eq!(send(node, 8), !gathers);
                assert!(node.is_at_rest(), "nothing goes before the link says so");
                assert_eq!(frames(node) - first, if gathers { 0 } else { number });
            }
            node.links_mut()[0].as_mut().unwrap().behind = false;
            assert_eq!(node.step(0), gathers);
            assert_eq!(frames(node) - first, if gathers { 1 } else { 2 });
        }
        // What fills a frame does not wait.
        let mut nodes = counted(&mut memory);
        let node = &mut nodes[0];
        node.set_gathers(true);
        node.links_mut()[0].as_mut().unwrap().behind = true;
        let mut sent = Vec::new();
        for _ in 0..4 {
            let (router, dest) = (node.router_mut(), Coord { x: 1, y: 0, z: 0 });
            let fill = |body: &mut [u8]| body.fill(1);
            router.inject(Fifo::Normal, dest, BODY_BYTES, fill).unwrap();
            sent.push(node.step(0));
        }
        assert_eq!(sent, [false, false, false, true]);
    }

    type Counted<'m> = Torus<'m, Counting>;

    #[test]
    fn packets_of_a_run_arrive_in_order_among_others() {
        let sizes = Sizes {
            inject_normal: 8,
            receive_normal: 8,
            dynamic: 8,
            normal: 8,
            ..Sizes::BLUE_GENE
        };
        for extents in [[2, 1, 1], [2, 2, 1], [1, 1, 1]] {
            let shape = Shape::new(extents, [true; 3]).unwrap();
            let dest = shape.coord(shape.nodes() - 1).unwrap();
            let mut nodes = machine(shape, sizes);
            let last = nodes.len() - 1;
            let (mut sent, mut arrived) = (0u8, Vec::new());
            for count in (1..=9).cycle().take(500) {
                let router = nodes[0].router_mut();
                let fill = |body: &mut [u8]| {
                    body.fill(sent);
                    sent = sent.wrapping_add(1);
                };
                match router.inject_run(dest, count, Routing::Deterministic, fill) {
                    Ok(injected) => assert!((1..=count).contains(&injected)),
                    Err(error) => assert_eq!(error, InjectError::Full),
                }
                // Behind it one that is shorter, so that runs begin anywhere.
                if router.can_inject(Fifo::Normal) {
                    let fill = |body: &mut [u8]| body.fill(sent);
                    router.inject(Fifo::Normal, dest, 40, fill).unwrap();
                    sent = sent.wrapping_add(1);
                }
                step(&mut nodes);
                let most = count % 4;
                let taken = nodes[last]
                    .router_mut()
                    .take_run(Fifo::Normal, most, |_, body| {
                        assert!(body.iter().all(|byte| *byte == body[0]));
                        arrived.push(body[0]);
                        arrived.len() % 3 != 0
                    });
                assert!(taken <= most);
            }
            loop {
                let moved = step(&mut nodes);
                let router = nodes[last].router_mut();
                let taken = router.take_run(Fifo::Normal, 9, |_, body| {
                    arrived.push(body[0]);
                    true
                });
                if !moved && taken == 0 {
                    break;
                }
            }
            assert!(arrived.len() > 256 && arrived.len() % 256 == sent as usize);
            assert!(arrived.iter().zip(0usize..).all(|(got, i)| *got == i as u8));
            for node in &nodes {
                node.router().assert_invariants();
                assert!(node.router().is_empty() && node.router().stats().all_defects() == 0);
            }
            let injected = nodes[0].router().stats().fifos[Fifo::Normal as usize].injected;
            let delivered = nodes[last].router().stats().fifos[Fifo::Normal as usize].delivered;
            assert_eq!(
                (injected, injected.packets as usize),
                (delivered, arrived.len())
            );
        }
    }

    #[test]
    fn a_run_is_chosen_once() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let sizes = Sizes {
            normal: 8,
            ..Sizes::BLUE_GENE
        };
        let mut nodes = machine(shape, sizes);
        while step(&mut nodes) {}
        let dest = shape.coord(1).unwrap();
        let looks = [1, 3].map(|count| {
            let router = nodes[0].router_mut();
            let fill = |body: &mut [u8]| body.fill(1);
            let injected = router.inject_run(dest, count, Routing::Deterministic, fill);
            assert_eq!(injected, Ok(count));
            let before = router.looks.get();
            let mut frame = [0; 2048];
            let bytes = router.fill_frame(Direction::XPlus, &mut frame);
            let looks = router.looks.get() - before;
            let router = nodes[1].router_mut();
            router.receive_frame(Direction::XMinus, &frame[..bytes]);
            let taken = nodes[1].router_mut().take_run(Fifo::Normal, 9, |_, _| true);
            assert_eq!(taken, count);
            while step(&mut nodes) {}
            looks
        });
        assert_eq!(looks[0], looks[1]);
    }

    /// Of a run that the sender had too few tokens for, what there is room for is taken.
    #[test]
    fn a_run_without_tokens_is_an_overrun_from_where_there_is_no_room() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let mut nodes = machine(shape, Sizes::SMALLEST);
        let packet = Repr {
            hints: Directions::NONE.with(Direction::XPlus),
            deposit: false,
            dynamic: false,
            vc: Vc::Bn,
            fifo: Fifo::Normal,
            body: BODY_BYTES as u8,
            dest: shape.coord(1).unwrap(),
        };
        let mut frame = vec![0; FRAME_HEADER_BYTES + 6 * PACKET_BYTES];
        let granted = [0; Vc::COUNT];
        let header = FrameRepr {
            chunks: 48,
            granted,
        }
        .emit();
        frame[..FRAME_HEADER_BYTES].copy_from_slice(&header);
        for (i, bytes) in frame[FRAME_HEADER_BYTES..]
            .chunks_mut(PACKET_BYTES)
            .enumerate()
        {
            bytes.fill(i as u8);
            bytes[..HEADER_BYTES].copy_from_slice(&packet.emit());
        }
        let router = nodes[1].router_mut();
        router.receive_frame(Direction::XMinus, &frame);
        router.assert_invariants();
        assert_eq!(router.stats().defects_of(Defect::Overrun), 3);
        for i in 0..3 {
            assert!(
                router
                    .head(Fifo::Normal)
                    .unwrap()
                    .iter()
                    .all(|byte| *byte == i)
            );
            router.pop(Fifo::Normal);
        }
        assert!(router.is_empty());
    }

    /// What a step of `node` costs: calls of [`Link::receive`], of [`Link::transmit`], and looks of the router at a
    /// source or at tokens.
    fn cost(node: &mut Counted<'_>) -> (usize, usize, u64) {
        let calls = |node: &Counted<'_>| {
            let links = node.links().iter().flatten();
            links.fold((0, 0, node.router.looks.get()), |(r, t, looks), link| {
                (r + link.receives, t + link.transmits, looks)
            })
        };
        let before = calls(node);
        node.step(0);
        let after = calls(node);
        (after.0 - before.0, after.1 - before.1, after.2 - before.2)
    }

    #[test]
    fn a_step_looks_only_where_there_is_something() {
        let mut memory = vec![[0; 32]; Sizes::BLUE_GENE.chunks() * 27];
        let mut nodes = counted(&mut memory);
        let idle = (6, 0, 0);
        assert_eq!(cost(&mut nodes[0]), idle);
        // One packet to a neighbour: one frame out, for which one source is looked at, once.
        let inject = |node: &mut Counted<'_>| {
            let dest = Coord { x: 1, y: 0, z: 0 };
            let router = node.router_mut();
            router.inject(Fifo::Normal, dest, 8, |body| body.fill(1))
        };
        inject(&mut nodes[0]).unwrap();
        assert_eq!(cost(&mut nodes[0]), (6, 1, 1));
        assert_eq!(cost(&mut nodes[0]), idle);
        // One frame in: two receives on its link, and one look at tokens, which are not owed yet.
        assert_eq!(cost(&mut nodes[1]), (7, 0, 1));
        nodes[1].router_mut().pop(Fifo::Normal);
        assert_eq!(cost(&mut nodes[1]), idle);
        // A full link is tried once in a step, and costs one look.
        nodes[0].links_mut()[0].as_mut().unwrap().full = true;
        inject(&mut nodes[0]).unwrap();
        for _ in 0..3 {
            assert_eq!(cost(&mut nodes[0]), (6, 1, 1));
        }
        nodes[0].links_mut()[0].as_mut().unwrap().full = false;
        // Packets without tokens are looked at once, and again when tokens come.
        while nodes[0].step(0) | inject(&mut nodes[0]).is_ok() {}
        assert!(!nodes[0].router().is_empty() && nodes[0].router().outputs().is_empty());
        assert_eq!(cost(&mut nodes[0]), idle);
        while nodes[1].step(0) {
            nodes[1].router_mut().pop(Fifo::Normal);
        }
        assert!(nodes[0].step(0), "the tokens are back");
    }

    #[test]
    fn links_must_match_the_place() {
        let shape = row(3);
        let mut links = wire_torus(&shape);
        let sizes = Sizes::SMALLEST;
        let router = |x| Router::new(shape, at(x), sizes, memory(&sizes)).unwrap();
        let error = Torus::new(router(0), links.swap_remove(1)).err();
        assert_eq!(error, Some(ConfigError::Links(0b11)));
    }

    #[test]
    fn sizes_and_memory_are_checked() {
        let new = |sizes: Sizes, chunks: usize| {
            Router::new(row(2), at(0), sizes, vec![[0; 32]; chunks].leak()).err()
        };
        let good = Sizes::SMALLEST;
        assert_eq!(new(good, good.chunks()), None);
        assert_eq!(new(good, good.chunks() - 1), Some(ConfigError::Memory));
        let bad = Sizes { normal: 1, ..good };
        assert_eq!(new(bad, 10_000), Some(ConfigError::Size));
        let bad = Sizes {
            receive_normal: MAX_QUEUE_PACKETS + 1,
            ..good
        };
        assert_eq!(new(bad, 10_000), Some(ConfigError::Size));
        let outside = Router::new(row(2), at(2), good, memory(&good)).err();
        assert_eq!(outside, Some(ConfigError::Outside));
    }
}
