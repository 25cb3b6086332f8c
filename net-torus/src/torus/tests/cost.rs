//! Cost of a step: the number of link calls, and frames that wait for more packets.

use super::*;
use crate::open_frames::WORTH_A_FRAME;
use crate::profile::PACKET_CHUNKS;

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

type Counted<'m> = Torus<'m, Counting>;

/// Creates a 3 x 3 x 3 machine with [`machine_over`].
fn counted(sizes: BufferSizes, memory: &mut [Chunk]) -> Vec<Counted<'_>> {
    let shape = Shape::new([3, 3, 3], [true; 3]).unwrap();
    let mut nodes = machine_over(shape, sizes, memory, |link| Counting {
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
    let mut memory = vec![[0; 32]; BufferSizes::BLUE_GENE.chunks() * 27];
    for gathers in [false, true] {
        let mut nodes = counted(BufferSizes::BLUE_GENE, &mut memory);
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
    // A full frame does not wait.
    let mut memory = vec![[0; 32]; LARGE.chunks() * 27];
    let mut nodes = counted(LARGE, &mut memory);
    let node = &mut nodes[0];
    node.set_gathers(true);
    node.links_mut()[0].as_mut().unwrap().behind = true;
    let mut sent = Vec::new();
    for _ in 0..WORTH_A_FRAME / PACKET_CHUNKS {
        let (router, dest) = (node.router_mut(), Coord { x: 1, y: 0, z: 0 });
        let fill = |body: &mut [u8]| body.fill(1);
        router.inject(Fifo::Normal, dest, BODY_BYTES, fill).unwrap();
        sent.push(node.step(0));
    }
    let (last, others) = sent.split_last().unwrap();
    assert_eq!(sent.len(), by_profile(4, 8));
    assert!(*last && others.iter().all(|sent| !sent), "{sent:?}");
}

/// Returns the cost of a step of `node`: calls of [`Link::receive`], of [`Link::transmit`], and router checks of a
/// source or of tokens.
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
    let mut memory = vec![[0; 32]; BufferSizes::BLUE_GENE.chunks() * 27];
    let mut nodes = counted(BufferSizes::BLUE_GENE, &mut memory);
    let idle = (6, 0, 0);
    assert_eq!(cost(&mut nodes[0]), idle);
    // One packet to a neighbour: one transmitted frame, with one check of one source.
    let inject = |node: &mut Counted<'_>| {
        let dest = Coord { x: 1, y: 0, z: 0 };
        let router = node.router_mut();
        router.inject(Fifo::Normal, dest, 8, |body| body.fill(1))
    };
    inject(&mut nodes[0]).unwrap();
    assert_eq!(cost(&mut nodes[0]), (6, 1, 1));
    assert_eq!(cost(&mut nodes[0]), idle);
    // One received frame: two receives on its link, and one check of tokens, which are not due yet.
    assert_eq!(cost(&mut nodes[1]), (7, 0, 1));
    nodes[1].router_mut().pop(Fifo::Normal);
    assert_eq!(cost(&mut nodes[1]), idle);
    // A full link is tried once per step, and costs one check.
    nodes[0].links_mut()[0].as_mut().unwrap().full = true;
    inject(&mut nodes[0]).unwrap();
    for _ in 0..3 {
        assert_eq!(cost(&mut nodes[0]), (6, 1, 1));
    }
    nodes[0].links_mut()[0].as_mut().unwrap().full = false;
    // Packets without tokens are checked once, and again when tokens arrive.
    while nodes[0].step(0) | inject(&mut nodes[0]).is_ok() {}
    assert!(!nodes[0].router().is_empty() && nodes[0].router().outputs().is_empty());
    assert_eq!(cost(&mut nodes[0]), idle);
    while nodes[1].step(0) {
        nodes[1].router_mut().pop(Fifo::Normal);
    }
    assert!(nodes[0].step(0), "the tokens are back");
}
